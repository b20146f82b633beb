/* Methods where the array is NumPy's own, which Python's part does: `strangers.py`.
 *
 * `np.ndarray.flatten(x)` of our class may be given NumPy's array, `x.view(kind)` of NumPy's array, or scalar, a class of
 * ours, which NumPy takes for a dtype, and `x.__array_wrap__(a)` an array of ours, which it refuses. So these two methods
 * look for what is ours first, and are NumPy's for all else. */

static PyTypeObject HandleBase;
static PyObject *unbound, *view_of_theirs, *wrap_by_theirs;

/* A method of ndarray that was called with no array of ours as its self. */
static PyObject *called_unbound(PyObject *host, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    Py_ssize_t all = n + (names ? PyTuple_GET_SIZE(names) : 0);
    PyObject **with = PyMem_New(PyObject *, (size_t)all + 1), *out;
    if (!with)
        return PyErr_NoMemory();
    with[0] = host;
    if (all)
        memcpy(with + 1, args, sizeof *with * (size_t)all);
    out = PyObject_Vectorcall(unbound, with, (size_t)n + 1, names);
    PyMem_Free(with);
    return out;
}

static int is_class_of_ours(PyObject *o)
{
    return PyType_Check(o) && PyType_IsSubtype((PyTypeObject *)o, &HandleBase);
}

#define VIEW(KIND)                                                                                                       \
    static PyCFunction KIND##_host;                                                                                      \
    static PyObject *KIND##_fast(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)                   \
    {                                                                                                                    \
        Py_ssize_t all = n + (names ? PyTuple_GET_SIZE(names) : 0);                                                      \
        for (Py_ssize_t i = 0; i < all; i++)                                                                             \
            if (is_class_of_ours(args[i])) {                                                                             \
                PyObject *with[3] = {self};                                                                              \
                if (all > 2)                                                                                             \
                    break;                                                                                               \
                memcpy(with + 1, args, sizeof *with * (size_t)all);                                                      \
                return PyObject_Vectorcall(view_of_theirs, with, (size_t)n + 1, names);                                  \
            }                                                                                                            \
        return ((_PyCFunctionFastWithKeywords)(void (*)(void))KIND##_host)(self, args, n, names);                        \
    }                                                                                                                    \
    static PyObject *KIND##_plain(PyObject *self, PyObject *args, PyObject *named)                                       \
    {                                                                                                                    \
        PyObject *name, *value;                                                                                          \
        Py_ssize_t at = 0;                                                                                               \
        int found = 0;                                                                                                   \
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)                                                          \
            found |= is_class_of_ours(PyTuple_GET_ITEM(args, i));                                                        \
        while (named && PyDict_Next(named, &at, &name, &value))                                                          \
            found |= is_class_of_ours(value);                                                                            \
        if (!found || PyTuple_GET_SIZE(args) + (named ? PyDict_GET_SIZE(named) : 0) > 2)                                 \
            return ((PyCFunctionWithKeywords)(void (*)(void))KIND##_host)(self, args, named);                            \
        PyObject *first = PyTuple_Pack(1, self), *with = first ? PySequence_Concat(first, args) : NULL;                  \
        PyObject *out = with ? PyObject_Call(view_of_theirs, with, named) : NULL;                                        \
        Py_XDECREF(first);                                                                                               \
        Py_XDECREF(with);                                                                                                \
        return out;                                                                                                      \
    }                                                                                                                    \
    static void KIND##_take(PyTypeObject *type)                                                                          \
    {                                                                                                                    \
        PyObject *method = PyObject_GetAttrString((PyObject *)type, "view");                                             \
        PyMethodDef *def = method && Py_TYPE(method) == &PyMethodDescr_Type ? ((PyMethodDescrObject *)method)->d_method  \
                                                                            : NULL;                                      \
        int fast = def && def->ml_flags == (METH_FASTCALL | METH_KEYWORDS);                                              \
        if (fast || (def && def->ml_flags == (METH_VARARGS | METH_KEYWORDS))) {                                          \
            KIND##_host = def->ml_meth;                                                                                  \
            def->ml_meth = fast ? (PyCFunction)(void (*)(void))KIND##_fast : (PyCFunction)(void (*)(void))KIND##_plain;  \
        }                                                                                                                \
        PyErr_Clear();                                                                                                   \
        Py_XDECREF(method);                                                                                              \
    }
VIEW(array)
VIEW(scalar)

static PyCFunction wrap_host;

static PyObject *wrap_plain(PyObject *self, PyObject *args)
{
    if (!PyTuple_GET_SIZE(args) || !PyObject_TypeCheck(PyTuple_GET_ITEM(args, 0), &HandleBase))
        return wrap_host(self, args);
    PyObject *first = PyTuple_Pack(1, self), *with = first ? PySequence_Concat(first, args) : NULL;
    PyObject *out = with ? PyObject_Call(wrap_by_theirs, with, NULL) : NULL;
    Py_XDECREF(first);
    Py_XDECREF(with);
    return out;
}

static void take_methods(void) /* once in a process */
{
    static int done;
    if (done++)
        return;
    PyObject *method = PyObject_GetAttrString((PyObject *)&PyArray_Type, "__array_wrap__");
    if (method && Py_TYPE(method) == &PyMethodDescr_Type && ((PyMethodDescrObject *)method)->d_method->ml_flags == METH_VARARGS) {
        wrap_host = ((PyMethodDescrObject *)method)->d_method->ml_meth;
        ((PyMethodDescrObject *)method)->d_method->ml_meth = wrap_plain;
    }
    Py_XDECREF(method);
    array_take(&PyArray_Type);
    scalar_take(&PyGenericArrType_Type);
}
