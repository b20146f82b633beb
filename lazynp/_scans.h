/* Cumulative sums, products and extremes: `cumsum`, `maximum.accumulate` and their kin. NumPy calls its inner loop for each line
 * with the result as an operand, so that each element waits until the one before has been stored and is loaded again. Here it stays
 * in a register, and rows are added to rows. Elements are taken in NumPy's order, so bits are NumPy's. */

#include "_clones.h"

/* Sums of whole numbers, which wrap round: four at a time, of which only the last waits for what is before. */
#define FOUR_AT_ONCE                                                                                                      \
    for (; i + 4 <= n; i += 4) {                                                                                          \
        npy_uint64 one = x[i], two = one + x[i + 1], three = two + x[i + 2], four = three + x[i + 3];                     \
        to[i] = so_far + one;                                                                                             \
        to[i + 1] = so_far + two;                                                                                         \
        to[i + 2] = so_far + three;                                                                                       \
        so_far = to[i + 3] = so_far + four;                                                                               \
    }

/* `outer` blocks of n rows with `inner` elements each, along the rows; `to` may be `x`. */
#define SCAN(T, NAME, STEP, AHEAD)                                                                                            \
    CLONES static int NAME##_##T(const T *x, npy_intp outer, npy_intp n, npy_intp inner, T *to)                           \
    {                                                                                                                     \
        int doubtful = 0;                                                                                                 \
        for (npy_intp o = 0; o < outer; o++, x += n * inner, to += n * inner) {                                           \
            if (inner == 1) {                                                                                             \
                T so_far = to[0] = x[0];                                                                                  \
                npy_intp i = 1;                                                                                           \
                AHEAD                                                                                                     \
                for (; i < n; i++) {                                                                                      \
                    T next = x[i];                                                                                        \
                    STEP                                                                                                  \
                    to[i] = so_far;                                                                                       \
                }                                                                                                         \
                continue;                                                                                                 \
            }                                                                                                             \
            if (to != x)                                                                                                  \
                memcpy(to, x, (size_t)inner * sizeof(T));                                                                 \
            for (npy_intp i = inner; i < n * inner; i++) {                                                                \
                T so_far = to[i - inner], next = x[i];                                                                    \
                STEP                                                                                                      \
                to[i] = so_far;                                                                                           \
            }                                                                                                             \
        }                                                                                                                 \
        return !doubtful;                                                                                                 \
    }
#define ADD_UP so_far = so_far + next;
#define MULTIPLY_UP so_far = so_far * next;
#define LARGEST_UP so_far = next > so_far ? next : so_far;
#define LEAST_UP so_far = next < so_far ? next : so_far;
/* Which NaN, and which of two zeros, is for NumPy to say. */
#define IN_DOUBT doubtful |= so_far != so_far || next != next || (next == 0 && so_far == 0);
SCAN(npy_double, add_up, ADD_UP, ) SCAN(npy_float, add_up, ADD_UP, ) SCAN(npy_uint64, add_up, ADD_UP, FOUR_AT_ONCE)
SCAN(npy_double, multiply_up, MULTIPLY_UP, ) SCAN(npy_float, multiply_up, MULTIPLY_UP, ) SCAN(npy_uint64, multiply_up, MULTIPLY_UP, )
SCAN(npy_int64, largest_up, LARGEST_UP, ) SCAN(npy_uint64, largest_up, LARGEST_UP, )
SCAN(npy_int64, least_up, LEAST_UP, ) SCAN(npy_uint64, least_up, LEAST_UP, )
SCAN(npy_double, largest_up, IN_DOUBT LARGEST_UP, ) SCAN(npy_float, largest_up, IN_DOUBT LARGEST_UP, )
SCAN(npy_double, least_up, IN_DOUBT LEAST_UP, ) SCAN(npy_float, least_up, IN_DOUBT LEAST_UP, )
#undef SCAN
#undef FOUR_AT_ONCE
#undef ADD_UP
#undef MULTIPLY_UP
#undef LARGEST_UP
#undef LEAST_UP
#undef IN_DOUBT

/* 0 where there is no loop, or where NumPy has to do it. */
static int scan_rows(int which, int type, const void *x, npy_intp outer, npy_intp n, npy_intp inner, void *to)
{
    int is_unsigned = PyTypeNum_ISUNSIGNED(type);
#define OF(T, NAME) NAME##_##T((const T *)x, outer, n, inner, (T *)to)
#define FLOATS(NAME) type == NPY_DOUBLE ? OF(npy_double, NAME) : type == NPY_FLOAT ? OF(npy_float, NAME)
    switch (which) {
        case SUM: return FLOATS(add_up) : OF(npy_uint64, add_up);
        case PROD: return FLOATS(multiply_up) : OF(npy_uint64, multiply_up);
        case MAX: return FLOATS(largest_up) : is_unsigned ? OF(npy_uint64, largest_up) : OF(npy_int64, largest_up);
        case MIN: return FLOATS(least_up) : is_unsigned ? OF(npy_uint64, least_up) : OF(npy_int64, least_up);
        default: return 0;
    }
#undef FLOATS
#undef OF
}

/* The type of the result; -1 where it is for NumPy. */
static int type_of_scan(int which, int type)
{
    if (type == NPY_DOUBLE || type == NPY_FLOAT || (type >= NPY_LONG && type <= NPY_ULONGLONG && sizeof(long) == sizeof(npy_int64)))
        return type;
    if ((which != SUM && which != PROD) || !(PyTypeNum_ISINTEGER(type) || PyTypeNum_ISBOOL(type)) || sizeof(long) != sizeof(npy_int64))
        return -1;
    return PyTypeNum_ISUNSIGNED(type) ? NPY_ULONG : NPY_LONG;
}

/* `along`: NULL: the first axis; None: all elements in a row; or a number. NULL, without an error set, where it is for NumPy: of what
 * does not lie in C's order the result would not either, and what has to be warned of is told by NumPy. */
static PyObject *direct_scan(int which, PyArrayObject *a, PyObject *along)
{
    PyArray_Descr *descr = PyArray_DESCR(a);
    int nd = PyArray_NDIM(a), type = which <= MIN && is_plain_type(descr) ? type_of_scan(which, descr->type_num) : -1;
    npy_intp total = PyArray_SIZE(a), sizes[3] = {1, total, 1};
    int lies = PyArray_ISCARRAY_RO(a), in_a_row = along == Py_None || nd == 1;
    if (type < 0 || nd < 1 || !total || !(lies || nd == 1) || !PyArray_ISALIGNED(a) || !(!along || along == Py_None || PyLong_CheckExact(along)))
        return NULL;
    if (along != Py_None) {
        long axis = along ? PyLong_AsLong(along) : 0;
        if (axis == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return NULL;
        }
        axis += axis < 0 ? nd : 0;
        if (axis < 0 || axis >= nd)
            return NULL;
        for (int d = 0; d < nd && nd > 1; d++) {
            if (PyArray_DIM(a, d) < 2)
                return NULL; /* whose strides may be any */
            sizes[d < axis ? 0 : d > axis ? 2 : 1] = d == axis ? PyArray_DIM(a, d) : sizes[d < axis ? 0 : 2] * PyArray_DIM(a, d);
        }
    }
    int same = lies && type == descr->type_num;
    PyArray_Descr *made = plain_descr[type];
    PyObject *out = same ? (PyObject *)new_array(made, in_a_row ? 1 : nd, in_a_row ? &total : PyArray_DIMS(a))
                         : PyArray_FromArray(a, (PyArray_Descr *)Py_NewRef(made), NPY_ARRAY_CARRAY | NPY_ARRAY_ENSURECOPY | NPY_ARRAY_FORCECAST);
    if (out && !same && in_a_row && nd > 1)
        Py_SETREF(out, PyArray_Ravel((PyArrayObject *)out, NPY_CORDER));
    if (!out)
        return NULL;
    PyThreadState *save = NULL;
    void *to = PyArray_DATA((PyArrayObject *)out);
    Py_INCREF(a);
    forget_errors(1);
    if (total > UNLOCKED)
        save = PyEval_SaveThread();
    int done = scan_rows(which, type, same ? PyArray_DATA(a) : to, sizes[0], sizes[1], sizes[2], to);
    if (save)
        PyEval_RestoreThread(save);
    Py_DECREF(a);
    int raised = errors_seen(1);
    if (raised && done && (raised & FLAGS_SEEN) == FE_UNDERFLOW) { /* of which hardly anybody wants to be told */
        if (tell_errors_in("accumulate", FE_UNDERFLOW) < 0)
            Py_CLEAR(out);
    }
    else if (raised || !done) {
        feclearexcept(FE_ALL_EXCEPT);
        Py_CLEAR(out);
    }
    return out;
}

/* The one of `reduction_ufunc` that a ufunc is, as `which`; REDUCTIONS: none that there are scans of. */
static int scan_known(PyObject *f)
{
    int which = 0;
    while (which < REDUCTIONS && reduction_ufunc[which] != f)
        which++;
    return which;
}

/* A ufunc's scan of an array of NumPy's, as large as it may be. */
static PyObject *scan_array(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    /* given: (ufunc, array, axis) */
    PyObject *out = n == 3 && PyArray_CheckExact(given[1]) ? direct_scan(scan_known(given[0]), (PyArrayObject *)given[1], given[2]) : NULL;
    if (!out && !PyErr_Occurred())
        Py_RETURN_NOTIMPLEMENTED;
    return out;
}

/* A scan of an array of ours that is small; NULL, without an error set, where it is not that simple. */
static PyObject *scanned(int which, PyObject *const *args, Py_ssize_t n, PyObject *names, int by_ufunc)
{
    PyObject *along = by_ufunc ? NULL : Py_None; /* what is meant where none is given */
    if (n == 2 && !names)
        along = args[1];
    else if (n == 1 && names && PyTuple_GET_SIZE(names) == 1 && is_word(PyTuple_GET_ITEM(names, 0), name_axis))
        along = args[1];
    else if (n != 1 || names)
        return NULL;
    if (by_ufunc && along == Py_None)
        return NULL;
    PyObject *x = which <= MIN && Py_TYPE(args[0]) == ndarray_type ? at_hand(args[0]) : NULL;
    PyObject *out = x && PyArray_CheckExact(x) ? direct_scan(which, (PyArrayObject *)x, along) : NULL;
    return out ? from_host(out) : NULL;
}
