/* NumPy's functions and methods that are more than their name here. Each has a number, which a public function or a method
 * of ours gets with the function that it stands for; 0: none of these.
 */

enum { ZEROS, EMPTY, ONES, FULL, LIKE, MAKERS = 2 * LIKE };                          /* LIKE + ZEROS: `zeros_like` */
enum { CONCATENATE, HSTACK, APPEND, STACK, VSTACK, COLUMN_STACK, JOINS };           /* functions that join arrays */
enum { SUM, PROD, MAX, MIN, ANY, ALL, MEAN, REDUCTIONS };
enum {
    F_AMAX = 1, F_AMIN, F_ARRAY, F_ASARRAY, F_CLIP, F_COPY, F_CUMPROD, F_CUMSUM, F_DIFF, F_DOT, F_EINSUM, F_INNER, F_NORM, F_ROLL, F_STD, F_VAR, F_VDOT,
    F_WHERE, F_MAKER, F_JOIN = F_MAKER + MAKERS, F_REDUCTION = F_JOIN + JOINS, M_REDUCTION = F_REDUCTION + REDUCTIONS,
    M_ASTYPE = M_REDUCTION + REDUCTIONS, M_CLIP, M_CONJUGATE, M_COPY, M_CUMPROD, M_CUMSUM, M_DLPACK, M_DOT, M_GETFIELD, M_RAVEL, M_RESHAPE, M_SQUEEZE,
    M_STD, M_SWAPAXES, M_TRANSPOSE, M_VAR, M_VIEW, KNOWN
};
static const char *const known_names[KNOWN] = {
    [F_AMAX] = "amax", [F_AMIN] = "amin", [F_ARRAY] = "array", [F_ASARRAY] = "asarray", [F_CLIP] = "clip", [F_COPY] = "copy",
    [F_CUMPROD] = "cumprod", [F_CUMSUM] = "cumsum", [F_DIFF] = "diff", [F_DOT] = "dot", [F_EINSUM] = "einsum", [F_INNER] = "inner", [F_NORM] = "norm", [F_ROLL] = "roll", [F_STD] = "std",
    [F_VAR] = "var", [F_VDOT] = "vdot", [F_WHERE] = "where",
    [F_MAKER] = "zeros", "empty", "ones", "full", "zeros_like", "empty_like", "ones_like", "full_like",
    [F_JOIN] = "concatenate", "hstack", "append", "stack", "vstack", "column_stack",
    [F_REDUCTION] = "sum", "prod", "max", "min", "any", "all", "mean",
    [M_REDUCTION] = "sum", "prod", "max", "min", "any", "all", "mean",
    [M_ASTYPE] = "astype", [M_CLIP] = "clip", [M_CONJUGATE] = "conjugate", [M_COPY] = "copy", [M_CUMPROD] = "cumprod", [M_CUMSUM] = "cumsum", [M_DLPACK] = "__dlpack__",
    [M_DOT] = "dot", [M_GETFIELD] = "getfield", [M_RAVEL] = "ravel", [M_RESHAPE] = "reshape", [M_SQUEEZE] = "squeeze",
    [M_STD] = "std", [M_SWAPAXES] = "swapaxes", [M_TRANSPOSE] = "transpose", [M_VAR] = "var", [M_VIEW] = "view"};
static PyObject *known[KNOWN];

/* NumPy's function without its look for `__array_function__`: `dispatch.py` has the same. */
static PyObject *undispatched(PyObject *module, const char *name)
{
    PyObject *function = PyObject_GetAttrString(module, name);
    PyObject *out = function ? PyObject_GetAttrString(function, "_implementation") : NULL;
    if (out || !function)
        Py_XDECREF(function);
    else
        PyErr_Clear();
    return out ? out : function;
}

static int take_known(PyObject *numpy)
{
    PyObject *linalg = PyObject_GetAttrString(numpy, "linalg");
    for (int k = 1; k < KNOWN && linalg; k++) {
        PyObject *in = k >= M_REDUCTION ? (PyObject *)&PyArray_Type : k == F_NORM ? linalg : numpy;
        if (!(known[k] = undispatched(in, known_names[k])))
            Py_CLEAR(linalg);
    }
    Py_XDECREF(linalg);
    return linalg ? 0 : -1;
}

static int number_known(PyObject *host)
{
    int k = KNOWN - 1;
    while (k && (!host || known[k] != host))
        k--;
    return k;
}

/* Which reduction a function or a method is; REDUCTIONS: none. */
static int reduction_known(int k)
{
    return k >= F_REDUCTION && k < M_REDUCTION + REDUCTIONS ? (k - F_REDUCTION) % REDUCTIONS : k == F_AMAX ? MAX : k == F_AMIN ? MIN : REDUCTIONS;
}
