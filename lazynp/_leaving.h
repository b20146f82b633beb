/* What a Python function of ours gives, on its way to whoever called: an error leaves our frames behind, as
 * `tracebacks.py` has it. */
static PyObject *leaving(PyObject *out)
{
    static PyObject *leave;
    if (out)
        return out;
    PyObject *type, *error, *trace, *done = NULL;
    PyErr_Fetch(&type, &error, &trace);
    if (!trace && !(error && PyExceptionInstance_Check(error) && ((PyBaseExceptionObject *)error)->context)) {
        PyErr_Restore(type, error, trace); /* no frame of Python's has seen it yet */
        return NULL;
    }
    PyErr_NormalizeException(&type, &error, &trace);
    if (trace)
        PyException_SetTraceback(error, trace);
    PyObject *module = leave ? NULL : PyImport_ImportModule("lazynp.tracebacks");
    if (module) {
        leave = PyObject_GetAttrString(module, "leave");
        Py_DECREF(module);
    }
    if (leave && (done = PyObject_CallOneArg(leave, error))) {
        Py_DECREF(done);
        Py_XSETREF(trace, PyException_GetTraceback(error));
        PyErr_Restore(type, error, trace);
        return NULL;
    }
    Py_XDECREF(type); /* what `leave` raised, an interrupt say, goes first */
    Py_XDECREF(error);
    Py_XDECREF(trace);
    return NULL;
}
