/* What Python and NumPy's code ask of an array beside its operators: truth, numbers, whether it is an instance; and
 * `a.flat`. Each is NumPy's own answer where the array is at hand, and the Python function's where it is not. */

enum { TRUTH, INTEGER_OF, FLOAT_OF, INDEX_OF, ASKED };
static const char *const asked_names[ASKED] = {"bool", "int", "float", "index"};
static PyObject *asked_slow[ASKED], *instance_slow, *flat_get, *flat_getitem, *flat_setitem;
static PyTypeObject *flat_type;

static int ask_truth(PyObject *self)
{
    if (is_current(self)) {
        PyObject *h = Py_NewRef(((Handle *)self)->h);
        int out = PyArray_Type.tp_as_number->nb_bool(h);
        Py_DECREF(h);
        return out;
    }
    PyObject *value = PyObject_CallOneArg(asked_slow[TRUTH], self);
    int out = value ? PyObject_IsTrue(value) : -1;
    Py_XDECREF(value);
    return out;
}

static PyObject *ask_number(PyObject *self, int which, unaryfunc host)
{
    if (!is_current(self))
        return PyObject_CallOneArg(asked_slow[which], self);
    PyObject *h = Py_NewRef(((Handle *)self)->h), *out = host(h);
    Py_DECREF(h);
    return out;
}

static PyObject *ask_int(PyObject *self) { return ask_number(self, INTEGER_OF, PyArray_Type.tp_as_number->nb_int); }
static PyObject *ask_float(PyObject *self) { return ask_number(self, FLOAT_OF, PyArray_Type.tp_as_number->nb_float); }
static PyObject *ask_index(PyObject *self) { return ask_number(self, INDEX_OF, PyArray_Type.tp_as_number->nb_index); }

/* `isinstance(x, cls)`, where cls is the door's array or a class that derives from it. */
static PyObject *instance_check(PyObject *cls, PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);
    if (PyType_IsSubtype(type, (PyTypeObject *)cls))
        Py_RETURN_TRUE;
    if (type == &PyArray_Type)
        return PyBool_FromLong((PyTypeObject *)cls == ndarray_type);
    if (is_number(x) || PyUnicode_CheckExact(x) || PyTuple_CheckExact(x) || PyList_CheckExact(x) || x == Py_None
        || type == &PySlice_Type || (PyArray_IsScalar(x, Generic) && !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)))
        Py_RETURN_FALSE;
    PyObject *args[2] = {cls, x};
    return PyObject_Vectorcall(instance_slow, args, 2, NULL);
}

static PyMethodDef instance_check_def = {
    "__instancecheck__", instance_check, METH_O, "Whether an object is an array of this class, or NumPy's of that name."};

/* Flat iterators. One that was only indexed has no state, so that each index is that of a new one of NumPy's; `made` is
 * the one that was iterated over, which keeps the array's memory where it is. */

enum { MOST_FLAT = 32 }; /* axes */

typedef struct {
    PyObject_HEAD
    PyObject *owner, *made;
} Flat;

static int is_position(PyObject *key)
{
    return PyLong_CheckExact(key) || PySlice_Check(key) || PyArray_IsScalar(key, Integer);
}

static PyObject *flat_subscript(PyObject *self, PyObject *key)
{
    Flat *f = (Flat *)self;
    if (f->owner && !f->made && is_position(key) && is_current(f->owner)) {
        PyObject *it = PyArray_IterNew(((Handle *)f->owner)->h), *out = it ? PyObject_GetItem(it, key) : NULL;
        Py_XDECREF(it);
        return from_host(out);
    }
    return call_two(flat_getitem, self, key);
}

static int flat_assign(PyObject *self, PyObject *key, PyObject *value)
{
    Flat *f = (Flat *)self;
    PyObject *given = NULL, *args[3] = {self, key, value};
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "Cannot delete iterator elements");
        return -1;
    }
    if (f->owner && !f->made && is_position(key) && is_current(f->owner) && ((Storage *)((Handle *)f->owner)->s)->free
        && (PyLong_CheckExact(key) || at_hand(f->owner)) && (given = at_hand(value))) {
        PyObject *it = PyArray_IterNew(((Handle *)f->owner)->h);
        int failed = it ? put(f->owner, it, key, given) : -1;
        Py_XDECREF(it);
        return failed;
    }
    PyObject *done = PyObject_Vectorcall(flat_setitem, args, 3, NULL);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* flat(a): `a.flat`. */
static PyObject *flat_of(PyObject *module, PyObject *owner)
{
    if (!is_there(owner) || PyArray_NDIM((PyArrayObject *)((Handle *)owner)->h) > MOST_FLAT)
        return PyObject_CallOneArg(flat_get, owner);
    Flat *f = (Flat *)flat_type->tp_alloc(flat_type, 0);
    if (f)
        f->owner = Py_NewRef(owner);
    return (PyObject *)f;
}

static int flat_traverse(Flat *self, visitproc visit, void *arg)
{
    Py_VISIT(self->owner);
    Py_VISIT(self->made);
    return 0;
}

static int flat_clear(Flat *self)
{
    Py_CLEAR(self->owner);
    Py_CLEAR(self->made);
    return 0;
}

static void flat_dealloc(Flat *self)
{
    PyObject_GC_UnTrack(self);
    flat_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef flat_members[] = {
    {"_owner", T_OBJECT, offsetof(Flat, owner)}, {"_made", T_OBJECT, offsetof(Flat, made)}, {NULL}};
static PyMappingMethods flat_mapping = {.mp_subscript = flat_subscript, .mp_ass_subscript = flat_assign};
static PyTypeObject FlatBase = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lazynp._speed.FlatBase", .tp_basicsize = sizeof(Flat),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, .tp_dealloc = (destructor)flat_dealloc,
    .tp_traverse = (traverseproc)flat_traverse, .tp_clear = (inquiry)flat_clear, .tp_members = flat_members,
    .tp_as_mapping = &flat_mapping, .tp_doc = "Base of `lazynp.flatiter`: its elements."};
