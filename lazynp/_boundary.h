/* A public function as users call it: what it raises leaves our frames behind (`_leaving.h`). All else about it is the
 * function's own, which is its `__wrapped__`. `known` is what may know the arguments, and is asked first: what it gives that
 * is of the type `cold` is told how long the function took. `shown` is called in its place while graphs are traced to be
 * shown (`showing`: by how many threads). See `tracebacks.py: bounded`.
 */
typedef struct {
    PyObject_HEAD
    PyObject *function, *known, *cold, *shown, *weak;
    vectorcallfunc call;
} Boundary;

static PyTypeObject BoundaryType;
static long showing;

/* A plain function of ours that one of ours returned, such as what `make_jaxpr(f)` gives, with a boundary of its own;
 * anything else as it is. Takes the reference over, and gives one. */
static PyObject *returned(PyObject *out)
{
    if (!PyFunction_Check(out))
        return out;
    PyObject *module = PyDict_GetItemString(PyFunction_GET_GLOBALS(out), "__name__");
    if (!module || !PyUnicode_Check(module) || PyUnicode_Find(module, ours, 0, PY_SSIZE_T_MAX, 1) != 0)
        return out;
    PyObject *bounded = PyObject_CallOneArg((PyObject *)&BoundaryType, out);
    Py_DECREF(out);
    return bounded;
}

/* What is known of a call, or what the function gives. */
static PyObject *known_or_called(Boundary *f, PyObject *const *args, size_t n, PyObject *names)
{
    PyObject *found = PyObject_Vectorcall(f->known, args, n & ~PY_VECTORCALL_ARGUMENTS_OFFSET, names), *out, *done;
    if (!found || (PyObject *)Py_TYPE(found) != f->cold)
        return found;
    struct timespec began, ended;
    clock_gettime(CLOCK_MONOTONIC, &began);
    out = PyObject_Vectorcall(f->function, args, n, names);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    if (out) {
        done = PyObject_CallMethod(found, "took", "d", (double)(ended.tv_sec - began.tv_sec) + 1e-9 * (double)(ended.tv_nsec - began.tv_nsec));
        if (!done)
            Py_CLEAR(out);
        Py_XDECREF(done);
    }
    Py_DECREF(found);
    return out;
}

static PyObject *boundary_call(PyObject *self, PyObject *const *args, size_t n, PyObject *names)
{
    Boundary *f = (Boundary *)self;
    PyObject *out;
    if (showing && f->shown)
        out = PyObject_Vectorcall(f->shown, args, n, names);
    else
        out = f->known ? known_or_called(f, args, n, names) : PyObject_Vectorcall(f->function, args, n, names);
    if (!out)
        return leaving(NULL);
    if (!PyTuple_CheckExact(out) || Py_REFCNT(out) > 1)
        return returned(out);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(out); i++) { /* `ravel_pytree` gives a function beside its array */
        PyObject *item = returned(Py_NewRef(PyTuple_GET_ITEM(out, i)));
        if (!item) {
            Py_DECREF(out);
            return NULL;
        }
        PyObject *before = PyTuple_GET_ITEM(out, i);
        PyTuple_SET_ITEM(out, i, item);
        Py_DECREF(before);
    }
    return out;
}

static PyObject *boundary_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *function, *known = Py_None, *cold = Py_None, *shown = Py_None;
    if (!PyArg_ParseTuple(args, "O|OOO", &function, &known, &cold, &shown))
        return NULL;
    Boundary *f = (Boundary *)type->tp_alloc(type, 0);
    if (f) {
        f->function = Py_NewRef(function);
        f->known = known != Py_None ? Py_NewRef(known) : NULL;
        f->cold = cold != Py_None ? Py_NewRef(cold) : NULL;
        f->shown = shown != Py_None ? Py_NewRef(shown) : NULL;
        f->call = boundary_call;
    }
    return (PyObject *)f;
}

/* show(by): graphs are traced to be shown by so many threads more. */
static PyObject *show(PyObject *self, PyObject *by)
{
    long more = PyLong_AsLong(by);
    if (more == -1 && PyErr_Occurred())
        return NULL;
    showing += more;
    Py_RETURN_NONE;
}

/* As a function of Python it is bound where it is found in a class. */
static PyObject *boundary_get(PyObject *self, PyObject *of, PyObject *type)
{
    return of && of != Py_None ? PyMethod_New(self, of) : Py_NewRef(self);
}

static PyObject *boundary_getattr(PyObject *self, PyObject *name)
{
    PyObject *out = PyObject_GenericGetAttr(self, name);
    if (out || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return out;
    PyErr_Clear();
    return PyObject_GetAttr(((Boundary *)self)->function, name);
}

static int boundary_setattr(PyObject *self, PyObject *name, PyObject *value)
{
    PyObject *function = ((Boundary *)self)->function;
    return value ? PyObject_SetAttr(function, name, value) : PyObject_DelAttr(function, name);
}

static PyObject *boundary_repr(PyObject *self)
{
    return PyObject_Repr(((Boundary *)self)->function);
}

static PyObject *boundary_own(PyObject *self, void *name)
{
    return PyObject_GetAttrString(((Boundary *)self)->function, name);
}

static PyObject *boundary_reduce(PyObject *self, PyObject *unused)
{
    PyObject *module = PyImport_ImportModule("lazynp.tracebacks");
    PyObject *out = module ? PyObject_CallMethod(module, "reduced", "O", ((Boundary *)self)->function) : NULL;
    Py_XDECREF(module);
    return out;
}

static int boundary_traverse(Boundary *f, visitproc visit, void *arg)
{
    Py_VISIT(f->function);
    Py_VISIT(f->known);
    Py_VISIT(f->cold);
    Py_VISIT(f->shown);
    return 0;
}

static void boundary_dealloc(Boundary *f)
{
    PyObject_GC_UnTrack(f);
    if (f->weak)
        PyObject_ClearWeakRefs((PyObject *)f);
    Py_XDECREF(f->function);
    Py_XDECREF(f->known);
    Py_XDECREF(f->cold);
    Py_XDECREF(f->shown);
    Py_TYPE(f)->tp_free((PyObject *)f);
}

/* What every type has, and so is not looked for at the function. */
static PyGetSetDef boundary_own_fields[] = {
    {"__doc__", boundary_own, NULL, NULL, "__doc__"},
    {"__module__", boundary_own, NULL, NULL, "__module__"},
    {"__dict__", boundary_own, NULL, NULL, "__dict__"},
    {NULL}};
static PyMemberDef boundary_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(Boundary, function), READONLY, "The function."}, {NULL}};
static PyMethodDef boundary_methods[] = {{"__reduce__", boundary_reduce, METH_NOARGS, "By its place."}, {NULL}};

static PyTypeObject BoundaryType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lazynp._calls.Boundary", .tp_basicsize = sizeof(Boundary),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Boundary, call), .tp_call = PyVectorcall_Call, .tp_new = boundary_new,
    .tp_dealloc = (destructor)boundary_dealloc, .tp_traverse = (traverseproc)boundary_traverse,
    .tp_weaklistoffset = offsetof(Boundary, weak), .tp_descr_get = boundary_get, .tp_repr = boundary_repr,
    .tp_getattro = boundary_getattr, .tp_setattro = boundary_setattr, .tp_getset = boundary_own_fields,
    .tp_members = boundary_members, .tp_methods = boundary_methods};
