/* Arguments of a call that are more than values, for `_calls.c`: static ones, which are compared, and those given away. */

typedef struct {
    PyObject *name; /* NULL: it is given by place */
    Py_ssize_t place;
    PyObject *value;
    Py_hash_t hash;
} Fixed;

static void fixed_free(Fixed *fixed, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_XDECREF(fixed[i].name);
        Py_XDECREF(fixed[i].value);
    }
    PyMem_Free(fixed);
}

/* A pair of place or name and value. 0 or -1. */
static int fixed_take(Fixed *f, PyObject *pair)
{
    PyObject *key, *value;
    if (!PyArg_ParseTuple(pair, "OO", &key, &value))
        return -1;
    if (!PyUnicode_CheckExact(key) && (f->place = PyLong_AsSsize_t(key)) < 0)
        return -1;
    if ((f->hash = PyObject_Hash(value)) == -1)
        return -1;
    f->name = PyUnicode_CheckExact(key) ? Py_NewRef(key) : NULL;
    f->value = Py_NewRef(value);
    return 0;
}

/* Whether this static argument has that value, as keys of a dict are compared, and its type. Runs code of the value's. */
static int fixed_match(const Fixed *f, PyObject *args, PyObject *kwargs)
{
    PyObject *x = NULL;
    if (f->name)
        x = kwargs ? PyDict_GetItemWithError(kwargs, f->name) : NULL;
    else if (f->place < PyTuple_GET_SIZE(args))
        x = PyTuple_GET_ITEM(args, f->place);
    if (!x || Py_TYPE(x) != Py_TYPE(f->value))
        return PyErr_Occurred() ? -1 : 0;
    Py_INCREF(x);
    Py_hash_t hash = PyObject_Hash(x);
    int same = hash == f->hash ? PyObject_RichCompareBool(f->value, x, Py_EQ) : 0;
    if (hash == -1) {
        same = PyErr_ExceptionMatches(PyExc_TypeError) ? 0 : -1; /* it does not hash: for `_slow` to say */
        if (same == 0)
            PyErr_Clear();
    }
    Py_DECREF(x);
    return same;
}

/* What the method `_give_away` of the door's arrays does: at once where nothing was made of one in the graph. 0 or -1. */
static int array_delete(PyObject *x, PyObject *gone)
{
    if (FIELD(x, graph_at) == Py_None) {
        Py_SETREF(FIELD(x, weak_at), Py_NewRef(gone));
        Py_XSETREF(FIELD(x, host_at), Py_NewRef(Py_None));
        return 0;
    }
    PyObject *done = PyObject_CallMethodNoArgs(x, name_delete);
    Py_XDECREF(done);
    return done ? 0 : -1;
}
