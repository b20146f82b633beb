/* Functions of libraries that take our arrays, as `adapters/patches.py` makes them in Python: an argument of ours, also
 * in a list, a tuple or a dict, arrives as NumPy's array. What counts here is the call that has no such argument, which
 * is all but every one: it costs a look at each argument's type. Optional, as all C modules are. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *inner, *dict, *weak;
    PyObject *convert; /* (args, kwargs, changes) -> (args, kwargs) as the library is given them; NULL: only arrays are converted */
    vectorcallfunc call;
} Adapted;

enum { LONG_LIST = 64 }; /* as LONG in patches.py */
static PyTypeObject *handle;
static PyObject *numpy_of, *give_back, *leaves;

/* Whether there is an array of ours among some objects: 1, 0, -1 with an error set. Runs no Python code but a hash's. */
static int any_ours(PyObject *const *given, Py_ssize_t n);

static int has_ours(PyObject *x)
{
    int found = 0;
    if (!PyList_CheckExact(x) && !PyTuple_CheckExact(x) && !PyDict_CheckExact(x))
        return PyType_IsSubtype(Py_TYPE(x), handle);
    if (Py_EnterRecursiveCall(" while arrays are looked for"))
        return -1;
    if (PyDict_CheckExact(x)) {
        PyObject *key, *value;
        Py_ssize_t at = 0;
        while (!found && PyDict_Next(x, &at, &key, &value))
            found = has_ours(value);
    }
    else {
        Py_ssize_t n = PySequence_Fast_GET_SIZE(x);
        PyObject **items = PySequence_Fast_ITEMS(x);
        int plain = n > LONG_LIST ? PySet_Contains(leaves, (PyObject *)Py_TYPE(items[0])) : 0;
        found = plain ? (plain < 0 ? -1 : 0) : any_ours(items, n);
    }
    Py_LeaveRecursiveCall();
    return found;
}

static int any_ours(PyObject *const *given, Py_ssize_t n)
{
    int found = 0;
    for (Py_ssize_t i = 0; i < n && !found; i++)
        found = has_ours(given[i]);
    return found;
}

/* The arguments as the library is given them, new references in `given`; lists and dicts that were copied in `changes`. */
static int convert_all(Adapted *self, PyObject *const *args, Py_ssize_t n, Py_ssize_t all, PyObject *names, PyObject *changes,
                       PyObject **given)
{
    if (!self->convert) {
        for (Py_ssize_t i = 0; i < all; i++)
            if (!(given[i] = PyObject_CallFunctionObjArgs(numpy_of, args[i], changes, NULL)))
                return -1;
        return 0;
    }
    PyObject *plain = PyTuple_New(n), *named = PyDict_New(), *made = NULL;
    int failed = !plain || !named;
    for (Py_ssize_t i = 0; i < all && !failed; i++)
        if (i < n)
            PyTuple_SET_ITEM(plain, i, Py_NewRef(args[i]));
        else
            failed = PyDict_SetItem(named, PyTuple_GET_ITEM(names, i - n), args[i]) < 0;
    if (!failed)
        made = PyObject_CallFunctionObjArgs(self->convert, plain, named, changes, NULL);
    Py_XDECREF(plain);
    Py_XDECREF(named);
    failed = !made || !PyArg_ParseTuple(made, "O!O!", &PyTuple_Type, &plain, &PyDict_Type, &named);
    for (Py_ssize_t i = 0; i < all && !failed; i++) {
        given[i] = i < n ? PyTuple_GetItem(plain, i) : PyDict_GetItemWithError(named, PyTuple_GET_ITEM(names, i - n));
        Py_XINCREF(given[i]);
        failed = !given[i];
    }
    Py_XDECREF(made);
    return failed ? -1 : 0;
}

/* The call with each argument converted. What it gives back of them is the argument itself, as `out=` arrays are. It is
 * made from here, so that no Python frame stands between the user's and the library's: by `stacklevel` a library's warning
 * counts frames. */
static PyObject *call_converted(Adapted *self, PyObject *const *args, Py_ssize_t n, Py_ssize_t all, PyObject *names)
{
    PyObject **given = PyMem_Calloc((size_t)all + 1, sizeof(PyObject *)), *changes = PyList_New(0), *out = NULL;
    if (!given || !changes) {
        PyMem_Free(given);
        Py_XDECREF(changes);
        return PyErr_NoMemory();
    }
    if (convert_all(self, args, n, all, names, changes, given + 1) == 0)
        out = PyObject_Vectorcall(self->inner, given + 1, (size_t)n | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
    if (PyList_GET_SIZE(changes)) {
        PyObject *kind, *error, *trace;
        PyErr_Fetch(&kind, &error, &trace);
        PyObject *done = PyObject_CallOneArg(give_back, changes);
        if (!done)
            Py_CLEAR(out);
        if (done || kind)
            PyErr_Restore(kind, error, trace);
        Py_XDECREF(done);
    }
    Py_DECREF(changes);
    for (Py_ssize_t i = 0; i < all; i++) {
        if (out && out == given[i + 1])
            Py_SETREF(out, Py_NewRef(args[i]));
        Py_XDECREF(given[i + 1]);
    }
    PyMem_Free(given);
    return out;
}

static PyObject *call_vector(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    Py_ssize_t n = PyVectorcall_NARGS(count), all = n + (names ? PyTuple_GET_SIZE(names) : 0);
    int found = ((Adapted *)self)->convert ? 1 : any_ours(args, all);
    if (found)
        return found < 0 ? NULL : call_converted((Adapted *)self, args, n, all, names);
    return PyObject_Vectorcall(((Adapted *)self)->inner, args, count, names);
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *inner, *dict, *convert = Py_None;
    if (!PyArg_ParseTuple(args, "OO!|O", &inner, &PyDict_Type, &dict, &convert))
        return NULL;
    Adapted *self = (Adapted *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->inner = Py_NewRef(inner);
    self->dict = Py_NewRef(dict);
    self->convert = convert == Py_None ? NULL : Py_NewRef(convert);
    self->call = call_vector;
    return (PyObject *)self;
}

static int traverse(Adapted *self, visitproc visit, void *arg)
{
    Py_VISIT(self->inner);
    Py_VISIT(self->dict);
    Py_VISIT(self->convert);
    return 0;
}

static int clear(Adapted *self)
{
    Py_CLEAR(self->inner);
    Py_CLEAR(self->dict);
    Py_CLEAR(self->convert);
    return 0;
}

static void dealloc(Adapted *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weak)
        PyObject_ClearWeakRefs((PyObject *)self);
    clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* `f[types]`: one of the functions that Cython made of a text for several types, adapted as they are together. */
static PyObject *subscript(Adapted *self, PyObject *key)
{
    PyObject *chosen = PyObject_GetItem(self->inner, key), *dict = chosen ? PyDict_New() : NULL;
    PyObject *out = dict ? PyObject_CallFunctionObjArgs((PyObject *)Py_TYPE(self), chosen, dict, self->convert, NULL) : NULL;
    Py_XDECREF(dict);
    Py_XDECREF(chosen);
    return out;
}
static PyMappingMethods as_mapping = {.mp_subscript = (binaryfunc)subscript};

/* Everything else is the library's own function: its code, its defaults, its text. */
static PyObject *get_attribute(PyObject *self, PyObject *name)
{
    PyObject *out = PyObject_GenericGetAttr(self, name);
    if (out || !PyErr_ExceptionMatches(PyExc_AttributeError) || !((Adapted *)self)->inner)
        return out;
    PyErr_Clear();
    return PyObject_GetAttr(((Adapted *)self)->inner, name);
}

static PyObject *represent(Adapted *self) { return PyObject_Repr(self->inner); }

/* `inspect.isfunction` and its like take it for what it stands for. */
static PyObject *get_class(Adapted *self, void *closure) { return Py_NewRef((PyObject *)Py_TYPE(self->inner)); }

/* Pickled as the library's function is: by its name, where it is looked up. */
static PyObject *reduce(Adapted *self, PyObject *nothing)
{
    if (PyFunction_Check(self->inner))
        return PyObject_GetAttrString(self->inner, "__qualname__");
    return PyObject_CallMethod(self->inner, "__reduce__", NULL);
}

/* A copy of a function is the function. */
static PyObject *same(PyObject *self, PyObject *memo) { return Py_NewRef(self); }

static PyObject *bind_method(PyObject *self, PyObject *object, PyObject *type)
{
    return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

static PyGetSetDef attributes[] = {{"__class__", (getter)get_class, NULL, NULL, NULL},
                                   {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
                                   {NULL}};
static PyMethodDef methods[] = {{"__reduce__", (PyCFunction)reduce, METH_NOARGS, NULL},
                                {"__copy__", same, METH_NOARGS, NULL}, {"__deepcopy__", same, METH_O, NULL}, {NULL}};

#define ADAPTED(NAME, MORE, GET) \
    {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lazynp._adapters." NAME, .tp_basicsize = sizeof(Adapted), \
     .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | (MORE), \
     .tp_new = make, .tp_dealloc = (destructor)dealloc, .tp_traverse = (traverseproc)traverse, \
     .tp_clear = (inquiry)clear, .tp_as_mapping = &as_mapping, .tp_repr = (reprfunc)represent, .tp_call = PyVectorcall_Call, \
     .tp_vectorcall_offset = offsetof(Adapted, call), .tp_dictoffset = offsetof(Adapted, dict), \
     .tp_weaklistoffset = offsetof(Adapted, weak), .tp_getattro = get_attribute, .tp_setattro = PyObject_GenericSetAttr, \
     .tp_getset = attributes, .tp_methods = methods, .tp_descr_get = (GET)}
static PyTypeObject Function = ADAPTED("Function", 0, NULL);
static PyTypeObject Method = ADAPTED("Method", Py_TPFLAGS_METHOD_DESCRIPTOR, bind_method);

/* set_in_class(cls, name, value=None): an attribute of a class in C whose methods Python code cannot change; without a
 * value it is removed. */
static PyObject *set_in_class(PyObject *module, PyObject *args)
{
    PyTypeObject *cls;
    PyObject *name, *value = NULL;
    if (!PyArg_ParseTuple(args, "O!U|O", &PyType_Type, &cls, &name, &value))
        return NULL;
    if (!cls->tp_dict) {
        PyErr_SetString(PyExc_TypeError, "the class has no attributes of its own");
        return NULL;
    }
    if ((value ? PyDict_SetItem(cls->tp_dict, name, value) : PyDict_DelItem(cls->tp_dict, name)) < 0)
        return NULL;
    PyType_Modified(cls);
    Py_RETURN_NONE;
}

/* --- classes in C: what stands in their slots --- */

typedef struct {
    PyTypeObject *type;
    initproc init;
    newfunc make;
    ternaryfunc call;
} Slots;
static Slots *kept;
static Py_ssize_t kept_count;

/* What a class, or the nearest of its bases, had in its slots: in a line of bases one alone is adapted. */
static Slots *slots_of(PyTypeObject *type)
{
    for (; type; type = type->tp_base)
        for (Py_ssize_t i = 0; i < kept_count; i++)
            if (kept[i].type == type)
                return &kept[i];
    return NULL;
}

/* Arguments with NumPy's arrays for ours, new references; -1 with an error set. */
static int converted(PyObject **args, PyObject **kwargs)
{
    int found = any_ours(&PyTuple_GET_ITEM(*args, 0), PyTuple_GET_SIZE(*args));
    if (!found && *kwargs)
        found = has_ours(*kwargs);
    if (found < 0)
        return -1;
    Py_INCREF(*args);
    Py_XINCREF(*kwargs);
    if (!found)
        return 0;
    PyObject *plain = PyObject_CallOneArg(numpy_of, *args), *named = *kwargs ? PyObject_CallOneArg(numpy_of, *kwargs) : NULL;
    Py_DECREF(*args);
    if (!plain || (*kwargs && !named)) {
        Py_XDECREF(plain);
        Py_XDECREF(*kwargs);
        return -1;
    }
    Py_XDECREF(*kwargs);
    *args = plain;
    *kwargs = named;
    return 0;
}

static int init_slot(PyObject *self, PyObject *args, PyObject *kwargs)
{
    initproc init = slots_of(Py_TYPE(self))->init;
    if (converted(&args, &kwargs) < 0)
        return -1;
    int done = init(self, args, kwargs);
    Py_DECREF(args);
    Py_XDECREF(kwargs);
    return done;
}

static PyObject *new_slot(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    newfunc make = slots_of(type)->make;
    if (converted(&args, &kwargs) < 0)
        return NULL;
    PyObject *made = make(type, args, kwargs);
    Py_DECREF(args);
    Py_XDECREF(kwargs);
    return made;
}

static PyObject *call_slot(PyObject *self, PyObject *args, PyObject *kwargs)
{
    ternaryfunc call = slots_of(Py_TYPE(self))->call;
    if (converted(&args, &kwargs) < 0)
        return NULL;
    PyObject *out = call(self, args, kwargs);
    Py_DECREF(args);
    Py_XDECREF(kwargs);
    return out;
}

/* Put functions into the slots of a class and of those that have them from it, where others stand. */
static int replace_slots(PyTypeObject *type, const Slots *old, const Slots *new)
{
    if (old->init && type->tp_init == old->init)
        type->tp_init = new->init;
    if (old->make && type->tp_new == old->make)
        type->tp_new = new->make;
    if (old->call && type->tp_call == old->call)
        type->tp_call = new->call;
    PyType_Modified(type);
    PyObject *below = PyObject_CallMethod((PyObject *)type, "__subclasses__", NULL);
    int failed = !below || !PyList_Check(below);
    for (Py_ssize_t i = 0; !failed && i < PyList_GET_SIZE(below); i++)
        failed = replace_slots((PyTypeObject *)PyList_GET_ITEM(below, i), old, new) < 0;
    Py_XDECREF(below);
    return failed ? -1 : 0;
}

static const Slots ours = {NULL, init_slot, new_slot, call_slot};

/* adapt_slots(cls): its objects are made and called with our arrays, too; whether it was changed. Not where a base has been
 * adapted, whose slots its own call. */
static PyObject *adapt_slots(PyObject *module, PyObject *arg)
{
    PyTypeObject *type = (PyTypeObject *)arg, *base = PyType_Check(arg) ? type->tp_base : NULL;
    if (!base || type->tp_vectorcall || slots_of(type))
        Py_RETURN_FALSE;
    Slots old = {type, type->tp_init != base->tp_init ? type->tp_init : NULL,
                 type->tp_new != base->tp_new ? type->tp_new : NULL, type->tp_call != base->tp_call ? type->tp_call : NULL};
    Slots *more = PyMem_Realloc(kept, (size_t)(kept_count + 1) * sizeof(Slots));
    if (!more)
        return PyErr_NoMemory();
    kept = more;
    kept[kept_count++] = old;
    Py_INCREF(type);
    return replace_slots(type, &old, &ours) < 0 ? NULL : Py_NewRef(Py_True);
}

/* restore_slots(cls): as they were. */
static PyObject *restore_slots(PyObject *module, PyObject *arg)
{
    for (Py_ssize_t i = 0; i < kept_count; i++)
        if ((PyObject *)kept[i].type == arg) {
            Slots old = kept[i];
            if (replace_slots(old.type, &ours, &old) < 0)
                return NULL;
            kept[i] = kept[--kept_count];
            Py_DECREF(arg);
            break;
        }
    Py_RETURN_NONE;
}

/* adapted(function, attributes, convert=None): the function for our arrays too, bound to objects where the function itself
 * is. convert: makes of a tuple and a dict of arguments those that the function is given. */
static PyObject *adapted(PyObject *module, PyObject *args)
{
    if (!handle) {
        PyErr_SetString(PyExc_RuntimeError, "bind comes first");
        return NULL;
    }
    PyObject *inner = PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, 0) : NULL;
    return PyObject_Call((PyObject *)(inner && Py_TYPE(inner)->tp_descr_get ? &Method : &Function), args, NULL);
}

/* bind(handle, numpy_of, give_back, leaves): the class of our arrays, how one is converted, what is done with copied lists
 * and dicts after a call, what a long list is not looked into. */
static PyObject *bind(PyObject *module, PyObject *args)
{
    PyObject *type, *function, *after, *set;
    if (!PyArg_ParseTuple(args, "O!OOO!", &PyType_Type, &type, &function, &after, &PyFrozenSet_Type, &set))
        return NULL;
    Py_XSETREF(handle, (PyTypeObject *)Py_NewRef(type));
    Py_XSETREF(numpy_of, Py_NewRef(function));
    Py_XSETREF(give_back, Py_NewRef(after));
    Py_XSETREF(leaves, Py_NewRef(set));
    Py_RETURN_NONE;
}

/* --- classes of the program that derive from our arrays, see `swap.py` --- */

static PyObject *plain_build, *metaclass_of, *finish, *name_array;
static PyTypeObject *array_type;

/* A class that was made, or NULL: one with an `__array__` of its own is looked at. */
static PyObject *finished(PyObject *made)
{
    if (!made || !PyType_Check(made))
        return made;
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *dict = PyType_GetDict((PyTypeObject *)made);
#else
    PyObject *dict = Py_XNewRef(((PyTypeObject *)made)->tp_dict);
#endif
    int has = dict ? PyDict_Contains(dict, name_array) : 0;
    Py_XDECREF(dict);
    PyObject *done = has > 0 ? PyObject_CallOneArg(finish, made) : NULL;
    if (has < 0 || (has && !done))
        Py_CLEAR(made);
    Py_XDECREF(done);
    return made;
}

/* Python's `__build_class__`, where a base is a class of our arrays with the metaclass that `metaclass_of` says. In C, since
 * bodies and metaclasses look at the frame that called them. */
static PyObject *build_class(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    Py_ssize_t i = 2, named = names ? PyTuple_GET_SIZE(names) : 0;
    while (i < n && !PyType_IsSubtype(Py_TYPE(args[i]), array_type))
        i++;
    if (i >= n)
        return finished(PyObject_Vectorcall(plain_build, args, n, names));
    PyObject *bases = PyTuple_New(n - 2), *all = PyTuple_New(n), *options = PyDict_New(), *result = NULL;
    if (!bases || !all || !options)
        goto done;
    for (i = 0; i < n; i++) {
        PyTuple_SET_ITEM(all, i, Py_NewRef(args[i]));
        if (i > 1)
            PyTuple_SET_ITEM(bases, i - 2, Py_NewRef(args[i]));
    }
    for (i = 0; i < named; i++)
        if (PyDict_SetItem(options, PyTuple_GET_ITEM(names, i), args[n + i]) < 0)
            goto done;
    PyObject *meta = PyObject_CallFunctionObjArgs(metaclass_of, bases, options, NULL);
    if (!meta)
        goto done;
    if (meta == Py_None || PyDict_SetItemString(options, "metaclass", meta) == 0)
        result = PyObject_Call(plain_build, all, options);
    Py_DECREF(meta);
done:
    Py_XDECREF(bases);
    Py_XDECREF(all);
    Py_XDECREF(options);
    return finished(result);
}

/* builder(plain, type, metaclass_of, finish): what to use for `plain`, which is `builtins.__build_class__`. finish: what is
 * called with a class that has an `__array__` of its own. */
static PyObject *builder(PyObject *module, PyObject *args)
{
    static PyMethodDef method = {"__build_class__", (PyCFunction)(void (*)(void))build_class, METH_FASTCALL | METH_KEYWORDS,
                                 "See Python's own."};
    PyObject *plain, *type, *function, *last;
    if (!PyArg_ParseTuple(args, "OO!OO", &plain, &PyType_Type, &type, &function, &last))
        return NULL;
    if (!name_array && !(name_array = PyUnicode_InternFromString("__array__")))
        return NULL;
    Py_XSETREF(finish, Py_NewRef(last));
    Py_XSETREF(plain_build, Py_NewRef(plain));
    Py_XSETREF(array_type, (PyTypeObject *)Py_NewRef(type));
    Py_XSETREF(metaclass_of, Py_NewRef(function));
    return PyCFunction_New(&method, NULL);
}

static PyMethodDef functions[] = {{"adapted", adapted, METH_VARARGS, NULL}, {"bind", bind, METH_VARARGS, NULL},
                                  {"set_in_class", set_in_class, METH_VARARGS, NULL}, {"adapt_slots", adapt_slots, METH_O, NULL},
                                  {"restore_slots", restore_slots, METH_O, NULL},
                                  {"builder", builder, METH_VARARGS, NULL}, {NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_adapters", .m_size = -1,
                                        .m_methods = functions, .m_doc = "See `lazynp/adapters/patches.py`."};

PyMODINIT_FUNC PyInit__adapters(void)
{
    if (PyType_Ready(&Function) < 0 || PyType_Ready(&Method) < 0)
        return NULL;
    return PyModule_Create(&definition);
}
