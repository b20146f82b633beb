/* The hot paths of the NumPy door, in C: operators, indexing and ufunc calls on small arrays whose values are there.
 *
 * Optional: `speed.py` has the same base classes in Python, and every function here gives up by calling the Python one
 * that `bind` was given. So nothing is decided here but whether an operation is simple: the operands are at hand, small,
 * and of exactly the door's class, or plain numbers. NumPy then computes, or only its inner loop (`_direct.h`), and the
 * result gets a handle.
 *
 * Threads: what happens between two calls into NumPy or Python is one step for all others, since they need the GIL.
 * NumPy may let go of it. So what it gets is held by a reference of ours, since another thread may give a handle
 * another view meanwhile; and a storage whose buffer it writes into is noted as busy: see `runtime/storage.py`.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <Python.h>
#include <stddef.h>
#include <structmember.h>
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <numpy/ufuncobject.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#if defined(__GLIBC__) || defined(__APPLE__)
#include <dlfcn.h>
#include <execinfo.h>
#endif

#include "_known.h"
#include "_direct.h"
#include "_leaving.h"

typedef struct {
    PyObject_HEAD
    PyObject *buf, *node, *reads, *details, *weak;
    int busy;
    char free, unseen; /* unseen: by the collector of garbage, as it holds nothing but NumPy's arrays, and C's handles */
} Storage;

typedef struct {
    PyObject_HEAD
    PyObject *s, *b, *h, *v, *base, *weak;
    PyObject *from, *param; /* of a view by a step that nobody has looked at: what `_v_` is made of, see `view_of` */
    PyObject *kind;         /* borrowed; v is what the step begins at */
    long long at;      /* of what replay knows: where in the stream of operations it was made; 0: not known */
    int pending, slot; /* a value or a view that was only matched: see `_replay.h` */
    char unseen;
} Handle;

typedef struct {
    PyObject_HEAD
    PyObject *host;
    vectorcallfunc call;
    char warns_of_places; /* whether NumPy may warn of an `out` by position, at the user's line */
} Ufunc;

#define WARNS_ON_WRITE (1u << 31) /* NumPy's flag of `broadcast_arrays`, which is in no public header */

enum { ADD, SUB, MUL, TRUEDIV, FLOORDIV, MOD, LSHIFT, RSHIFT, AND, OR, XOR, POW, MATMUL, BINARIES };
static const char *const binary_names[BINARIES] = {
    "add", "sub", "mul", "truediv", "floordiv", "mod", "lshift", "rshift", "and", "or", "xor", "pow", "matmul"};
enum { NEG, POS, ABS, INVERT, UNARIES };
static const char *const unary_names[UNARIES] = {"neg", "pos", "abs", "invert"};
static const char *const compare_names[6] = {"lt", "le", "eq", "ne", "gt", "ge"};  /* in the order of Py_LT ... Py_GE */

static PyTypeObject *ndarray_type, *storage_type;
static PyObject *forward[BINARIES], *reflected[BINARIES], *inplace[BINARIES], *unary[UNARIES], *compare[6];
static PyObject *getitem, *setitem, *delitem, *length, *exported, *swallowed, *host_view, *returned, *kind_index;
static PyObject *kind_transpose;
static PyObject *kind_reshape, *name_view, *name_call, *name_out;
/* NumPy's ufuncs of the operators, in the same order. NULL where the operator is more than its ufunc. */
static const char *const binary_ufunc_names[BINARIES] = {
    "add", "subtract", "multiply", "true_divide", "floor_divide", "remainder", "left_shift", "right_shift",
    "bitwise_and", "bitwise_or", "bitwise_xor", NULL, NULL};
static const char *const unary_ufunc_names[UNARIES] = {"negative", "positive", "absolute", "invert"};
static const char *const compare_ufunc_names[6] = {
    "less", "less_equal", "equal", "not_equal", "greater", "greater_equal"};
static PyObject *binary_ufunc[BINARIES], *unary_ufunc[UNARIES], *compare_ufunc[6], *square_ufunc, *positive_ufunc, *matmul_ufunc, *sqrt_ufunc, *whole_product;
static PyObject *name_ddof, *name_at, *name_outer, *name_accumulate;
static PyObject *spreads; /* True where the rows of large arrays are spread over processes */
static int var_squares; /* whether NumPy's variance calls `square`, which is what overflows then; older ones multiply */
/* The ufuncs that NumPy's reductions reduce by. */
static const char *const reduction_ufunc_names[REDUCTIONS] = {
    "add", "multiply", "maximum", "minimum", "logical_or", "logical_and", "add"};
static PyObject *name_axis, *name_keepdims, *name_dtype;
static npy_intp limit = -1, most_once = -1; /* elements that are small, and that a function which is ONCE takes */

/* Handles. */

static struct Program *P; /* that is replayed */
static int touched;       /* whether anything but a noted operation has looked at an array since the last one */
static int touch_slowly(void);

/* Before anybody looks at a handle or a storage: what was matched and concerns it is done. -1 with an error set. */
static inline int touch(void)
{
    touched = 1;
    return P ? touch_slowly() : 0;
}

static int is_there(PyObject *o) /* for what does not ask for the values: shapes, and replay itself */
{
    Handle *a = (Handle *)o;
    return Py_TYPE(o) == ndarray_type && a->s && a->h && a->b == ((Storage *)a->s)->buf && PyArray_Check(a->h);
}

static int is_current(PyObject *o)
{
    if (Py_TYPE(o) != ndarray_type)
        return 0;
    if (touch() < 0) {
        PyErr_Clear(); /* Python's function comes upon it again */
        return 0;
    }
    return is_there(o);
}

/* What NumPy takes for an operand that is at hand: the view of a small array, a number. NULL for any other (borrowed). */
static PyObject *at_hand(PyObject *o)
{
    if (is_current(o)) {
        PyObject *h = ((Handle *)o)->h;
        return PyArray_SIZE((PyArrayObject *)h) <= limit ? h : NULL;
    }
    if (PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) || PyComplex_CheckExact(o)
        || PyArray_IsScalar(o, Number) || PyArray_IsScalar(o, Bool))
        return limit >= 0 ? o : NULL;
    return NULL;
}

/* The same for an operand that may be NumPy's own array, too. */
static inline PyObject *operand(PyObject *o)
{
    if (!PyArray_CheckExact(o)) /* a subclass of a NumPy scalar may have an answer of its own */
        return PyArray_IsScalar(o, Generic) && PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_HEAPTYPE) ? NULL : at_hand(o);
    if (PyArray_SIZE((PyArrayObject *)o) > limit || PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)o)))
        return NULL;
    if (touch() >= 0)
        return o;
    PyErr_Clear(); /* as in `is_current` */
    return NULL;
}

/* What an operation costs NumPy goes by bytes, and of narrow elements there may be as many bytes as a small array of float64
 * has: of these, what `direct` does with a result that is no wider is done at once, too. A reduction writes nothing, and
 * may have four times as many. */
enum { BYTES = 8, BYTES_GROWN = 12, BYTES_REDUCED = 32 };

/* Whether two small operands, the outer product of two vectors say, make a result that is not: it is better recorded, so
 * that what is done with it is one pass with what makes it. */
static int grows(PyObject *x, PyObject *y)
{
    if (!PyArray_Check(x) || !PyArray_Check(y))
        return 0;
    PyArrayObject *a = (PyArrayObject *)x, *b = (PyArrayObject *)y;
    if (PyArray_SIZE(a) * PyArray_SIZE(b) <= limit)
        return 0;
    int m = PyArray_NDIM(a), n = PyArray_NDIM(b);
    npy_intp size = 1;
    for (int i = 1; i <= m || i <= n; i++) {
        npy_intp d = i <= m ? PyArray_DIM(a, m - i) : 1;
        size *= d == 1 && i <= n ? PyArray_DIM(b, n - i) : d;
    }
    npy_intp wide = Py_MAX(PyArray_ITEMSIZE(a), PyArray_ITEMSIZE(b));
    return size > limit && size * wide > BYTES_GROWN * limit;
}

/* A matrix of whole numbers or booleans that is not tiny. NumPy has plain loops for their products. */
enum { TINY = 400, TINY_MASK = 4000 };

static int is_whole_matrix(PyObject *o)
{
    if (!PyArray_Check(o)) return 0;
    PyArrayObject *a = (PyArrayObject *)o;
    return PyArray_NDIM(a) > 1 && (PyArray_ISINTEGER(a) ? PyArray_SIZE(a) > TINY : PyArray_ISBOOL(a) && PyArray_SIZE(a) > TINY_MASK);
}

/* The product of two of them by `backends/numpy/products.py`. NULL, without an error set, of any others. */
static PyObject *by_blas(PyObject *x, PyObject *y)
{
    return whole_product && is_whole_matrix(x) && is_whole_matrix(y) ? PyObject_CallFunctionObjArgs(whole_product, x, y, NULL) : NULL;
}

static PyObject *few_bytes(PyObject *o, int most)
{
    if (Py_TYPE(o) != ndarray_type)
        return at_hand(o);
    return is_current(o) && PyArray_NBYTES((PyArrayObject *)((Handle *)o)->h) <= most * limit ? ((Handle *)o)->h : NULL;
}

static PyObject *direct_narrow(PyObject *ufunc, int nin, PyObject *a, PyObject *b, PyObject *out)
{
    PyObject *in[2] = {few_bytes(a, BYTES), NULL};
    if (!ufunc || !in[0] || (nin > 1 && !(in[1] = few_bytes(b, BYTES))))
        return NULL;
    PyObject *array = PyArray_CheckExact(in[0]) ? in[0] : in[1];
    if (!array || !PyArray_CheckExact(array) || !is_plain_type(PyArray_DESCR((PyArrayObject *)array)))
        return NULL;
    Loop *loop = loop_of((PyUFuncObject *)ufunc, PyArray_TYPE((PyArrayObject *)array));
    if (!loop || PyDataType_ELSIZE(plain_descr[loop->result]) > PyArray_ITEMSIZE((PyArrayObject *)array))
        return NULL;
    return direct((PyUFuncObject *)ufunc, in, nin, out);
}

/* Handles and storages of exactly the door's classes are kept when they die, and used again, past Python's allocation and
 * deallocation of an instance; a handle together with its storage, where both die at once. Those that only C code has
 * written to are in no cycle, so the collector of garbage does not see them: not before Python sets one of their members. */
enum { KEPT = 256 };
static PyObject *kept_handles[KEPT], *kept_storages[KEPT], *kept_pairs[KEPT];
static int handles_kept, storages_kept, pairs_kept;

static long long made; /* handles, and calls that were NumPy's as a whole: for the compatibility report */

/* Python code does not run meanwhile: the collector of garbage waits. */
static PyObject *allocated(PyTypeObject *type)
{
    int collects = PyGC_Disable();
    PyObject *made = type->tp_alloc(type, 0);
    if (collects)
        PyGC_Enable();
    if (made)
        PyObject_GC_UnTrack(made);
    return made;
}

static inline PyObject *again(PyObject *kept) /* which has its type, and a reference to it */
{
    Py_SET_REFCNT(kept, 1);
    return kept;
}

static Handle *new_handle(void)
{
    made++;
    Handle *out = (Handle *)(handles_kept ? again(kept_handles[--handles_kept]) : allocated(ndarray_type));
    if (out)
        out->unseen = 1;
    return out;
}

static Storage *new_storage(void)
{
    Storage *out = (Storage *)(storages_kept ? again(kept_storages[--storages_kept]) : allocated(storage_type));
    if (out)
        out->unseen = 1;
    return out;
}

/* From now on the collector of garbage sees it. */
static void be_seen(PyObject *o, char *unseen)
{
    if (*unseen) {
        *unseen = 0;
        PyObject_GC_Track(o);
    }
}

/* A handle with a storage that nobody else has, both empty. */
static Handle *new_pair(void)
{
    if (pairs_kept) {
        made++;
        return (Handle *)again(kept_pairs[--pairs_kept]);
    }
    Storage *s = new_storage();
    Handle *a = s ? new_handle() : NULL;
    if (a)
        a->s = (PyObject *)s;
    else
        Py_XDECREF(s);
    return a;
}

/* A handle on a fresh array that nobody else has. Takes the reference. */
static PyObject *wrap(PyObject *array)
{
    Handle *a = new_pair();
    if (!a) {
        Py_DECREF(array);
        return NULL;
    }
    ((Storage *)a->s)->buf = array;
    ((Storage *)a->s)->free = 1;
    a->b = Py_NewRef(array);
    a->h = Py_NewRef(array);
    return (PyObject *)a;
}

/* What `_v_` says of a handle's view: NULL or None where it is all of its storage, HOST_VIEW, a View, or a tuple that is a
 * step from one of these, or from another step: (what it begins at, its array, kind, parameter). C code makes steps
 * without a tuple: one is made here, when somebody looks. Borrowed; -1 with an error set. */
static int view_of(Handle *a, PyObject **view)
{
    if (a->from) {
        PyArrayObject *part = a->kind == kind_reshape ? (PyArrayObject *)a->param : NULL;
        PyObject *from = Py_NewRef(a->from), *view = Py_XNewRef(a->v);
        PyObject *param = part ? PyArray_IntTupleFromIntp(PyArray_NDIM(part), PyArray_DIMS(part)) : Py_NewRef(a->param);
        PyObject *step = param ? PyTuple_Pack(4, view ? view : Py_None, from, a->kind, param) : NULL;
        int failed = !step;
        if (step && a->from == from) { /* else somebody was here while memory was allocated */
            Py_XSETREF(a->v, Py_NewRef(step));
            Py_CLEAR(a->from);
            Py_CLEAR(a->param);
        }
        Py_XDECREF(step);
        Py_XDECREF(param);
        Py_XDECREF(view);
        Py_DECREF(from);
        if (failed)
            return -1;
    }
    *view = a->v;
    return 0;
}

/* What a step from a's view begins at: a step on a step can wait; on more than one of them it would grow with a loop's
 * rounds. A new reference, NULL for None; -1 with an error set. */
static int begins_at(Handle *a, PyObject **view)
{
    PyObject *first = a->from ? a->v : a->v && PyTuple_CheckExact(a->v) ? PyTuple_GET_ITEM(a->v, 0) : NULL;
    if (first && PyTuple_CheckExact(first)) {
        *view = PyObject_CallMethodNoArgs((PyObject *)a, name_view);
        return *view ? 0 : -1;
    }
    if (view_of(a, view) < 0)
        return -1;
    Py_XINCREF(*view);
    return 0;
}

static PyObject *name_pin, *name_lent; /* members of `storage.py: StorageDetails` */

/* Whether buffers are all that a storage is pinned for, which it is now, or was until they were given back. */
static int is_lent(PyObject *details, int now)
{
    PyObject *lent = PyObject_GetAttr(details, name_lent), *pin = PyObject_GetAttr(details, name_pin);
    int is = lent && lent != Py_None && pin == (now ? Py_True : Py_False);
    Py_XDECREF(lent);
    Py_XDECREF(pin);
    PyErr_Clear();
    return is;
}

/* How many elements of an array are few: `BYTES`. */
static inline double most_of(PyArrayObject *a) { return (double)limit * Py_MAX(1.0, (double)BYTES / (double)Py_MAX(1, PyArray_ITEMSIZE(a))); }

#include "_places.h"
#include "_replay.h"
#include "_replay_match.h"
#include "_replay_notes.h"
#include "_replay_plan.h"

/* NumPy's operator on two operands, which are kept while it runs. */
static PyObject *by_host(binaryfunc host, PyObject *x, PyObject *y)
{
    Py_INCREF(x);
    Py_INCREF(y);
    PyObject *out = host(x, y);
    Py_DECREF(x);
    Py_DECREF(y);
    return out;
}

static int is_fresh(PyObject *value)
{
    return PyArray_CheckExact(value) && PyArray_IS_C_CONTIGUOUS((PyArrayObject *)value)
           && !PyArray_BASE((PyArrayObject *)value) && PyArray_ISWRITEABLE((PyArrayObject *)value);
}

static int is_fresh_transposed(PyObject *value)
{
    PyArrayObject *a = (PyArrayObject *)value;
    return PyArray_CheckExact(value) && PyArray_IS_F_CONTIGUOUS(a) && PyArray_NDIM(a) > 1 && PyArray_SIZE(a) && !PyArray_BASE(a)
           && PyArray_ISWRITEABLE(a) && PyArray_CHKFLAGS(a, NPY_ARRAY_OWNDATA) && kind_transpose;
}

/* The handle of such an array: a storage's value is C-contiguous, so it is the transposed view of one. Takes the
 * reference. */
static PyObject *wrap_transposed(PyObject *array)
{
    PyObject *dense = PyArray_Transpose((PyArrayObject *)array, NULL);
    Handle *whole = dense ? (Handle *)wrap(dense) : NULL;
    if (!whole) {
        Py_DECREF(array);
        return NULL;
    }
    PyObject *out = derived(whole, Py_NewRef(whole->b), Py_NewRef(whole->h), array, kind_transpose, Py_None);
    if (out)
        Py_CLEAR(((Handle *)out)->base); /* it owns its memory */
    Py_DECREF(whole);
    return out;
}

/* What the user gets for NumPy's fresh result: a handle on an array, a number as it is. Takes the reference. */
static PyObject *from_host(PyObject *value)
{
    if (!value || (!PyArray_CheckExact(value) && !PyTuple_CheckExact(value)))
        return value;
    if (is_fresh(value))
        return wrap(value);
    if (is_fresh_transposed(value))
        return wrap_transposed(value);
    if (PyTuple_CheckExact(value) && PyTuple_GET_SIZE(value) == 2 && is_fresh(PyTuple_GET_ITEM(value, 0))
        && is_fresh(PyTuple_GET_ITEM(value, 1))) {
        PyObject *a = wrap(Py_NewRef(PyTuple_GET_ITEM(value, 0)));
        PyObject *b = a ? wrap(Py_NewRef(PyTuple_GET_ITEM(value, 1))) : NULL, *both = b ? PyTuple_Pack(2, a, b) : NULL;
        Py_XDECREF(a);
        Py_XDECREF(b);
        Py_DECREF(value);
        return both;
    }
    PyObject *out = PyObject_CallOneArg(returned, value);
    Py_DECREF(value);
    return out;
}

/* Operators. */

static PyObject *power(PyObject *a, PyObject *b) { return PyNumber_Power(a, b, Py_None); }
static PyObject *inplace_power(PyObject *a, PyObject *b) { return PyNumber_InPlacePower(a, b, Py_None); }

static binaryfunc const host_binary[BINARIES] = {
    PyNumber_Add, PyNumber_Subtract, PyNumber_Multiply, PyNumber_TrueDivide, PyNumber_FloorDivide, PyNumber_Remainder,
    PyNumber_Lshift, PyNumber_Rshift, PyNumber_And, PyNumber_Or, PyNumber_Xor, power, PyNumber_MatrixMultiply};
static binaryfunc const host_inplace[BINARIES] = {
    PyNumber_InPlaceAdd, PyNumber_InPlaceSubtract, PyNumber_InPlaceMultiply, PyNumber_InPlaceTrueDivide,
    PyNumber_InPlaceFloorDivide, PyNumber_InPlaceRemainder, PyNumber_InPlaceLshift, PyNumber_InPlaceRshift,
    PyNumber_InPlaceAnd, PyNumber_InPlaceOr, PyNumber_InPlaceXor, inplace_power, PyNumber_InPlaceMatrixMultiply};

static PyObject *call_two(PyObject *function, PyObject *a, PyObject *b)
{
    PyObject *args[2] = {a, b};
    if (!function)
        Py_RETURN_NOTIMPLEMENTED;
    return leaving(PyObject_Vectorcall(function, args, 2, NULL));
}

/* See `direct`; NULL where there is no ufunc too. */
static PyObject *direct_two(PyObject *ufunc, PyObject *x, PyObject *y, PyObject *out)
{
    PyObject *in[2] = {x, y};
    return ufunc ? direct((PyUFuncObject *)ufunc, in, 2, out) : NULL;
}

static PyObject *direct_one(PyObject *ufunc, PyObject *x)
{
    return ufunc ? direct((PyUFuncObject *)ufunc, &x, 1, NULL) : NULL;
}

static int is_two(PyObject *y)
{
    int overflow;
    return PyLong_CheckExact(y) && PyLong_AsLongAndOverflow(y, &overflow) == 2;
}

/* What NumPy makes of `a ** 2` too, where a has floats. NULL where it is not that. */
static PyObject *direct_square(PyObject *x, PyObject *y)
{
    if (!is_two(y) || !PyArray_CheckExact(x) || !PyTypeNum_ISFLOAT(PyArray_TYPE((PyArrayObject *)x)))
        return NULL;
    return direct_one(square_ufunc, x);
}

/* What was done by the inner loop of a ufunc is noted. Gives the result back. */
static inline PyObject *noted(int before, PyObject *ufunc, int nin, PyObject *x, PyObject *y, PyObject *out)
{
    if (out && watches())
        note_ufunc(before, (PyUFuncObject *)ufunc, nin, x, y, out);
    return out;
}

/* Whether a product of two arrays of floats makes something small of what is at hand, however large that is: then nothing
 * is gained by waiting. */
static int is_small_product(PyObject *a, PyObject *b)
{
    if (limit < 0 || spreads == Py_True || Py_TYPE(a) != ndarray_type || Py_TYPE(b) != ndarray_type || !is_current(a) || !is_current(b))
        return 0;
    PyArrayObject *x = (PyArrayObject *)((Handle *)a)->h, *y = (PyArrayObject *)((Handle *)b)->h;
    int nx = PyArray_NDIM(x), ny = PyArray_NDIM(y), type = PyArray_TYPE(x);
    if (nx < 1 || nx > 2 || ny < 1 || ny > 2 || (type != NPY_FLOAT && type != NPY_DOUBLE) || type != PyArray_TYPE(y))
        return 0;
    npy_intp n = PyArray_DIM(x, nx - 1), most = limit;
    return n && n == PyArray_DIM(y, 0) && PyArray_SIZE(x) / n * (PyArray_SIZE(y) / n) <= most;
}

/* Whether it is a short list or tuple of numbers, which NumPy takes as it is beside an array that is at hand and has few
 * elements, so that the result is small, too. */
enum { MOST_LISTED = 32, MOST_BESIDE = 2000 };

static int is_listed(PyObject *o, PyObject *h)
{
    if ((!PyList_CheckExact(o) && !PyTuple_CheckExact(o)) || Py_SIZE(o) > MOST_LISTED || !h || !PyArray_CheckExact(h)
        || PyArray_SIZE((PyArrayObject *)h) > MOST_BESIDE)
        return 0;
    for (Py_ssize_t i = 0; i < Py_SIZE(o); i++) {
        PyObject *n = PySequence_Fast_GET_ITEM(o, i);
        if (!PyLong_CheckExact(n) && !PyFloat_CheckExact(n) && !PyBool_Check(n) && !PyComplex_CheckExact(n)
            && !(PyArray_IsScalar(n, Number) && !PyType_HasFeature(Py_TYPE(n), Py_TPFLAGS_HEAPTYPE)))
            return 0;
    }
    return 1;
}

static PyObject *binary_op(PyObject *a, PyObject *b, int i)
{
    calls_begun += !inside;
    int before = touched, square = i == POW && is_two(b);
    PyObject *ufunc = square ? square_ufunc : binary_ufunc[i];
    if (P && ufunc) {
        PyObject *out = match_ufunc((PyUFuncObject *)ufunc, 2 - square, a, b);
        if (out || PyErr_Occurred())
            return out;
    }
    if (P && i == MATMUL && matmul_ufunc) {
        PyObject *out = match_product(a, b);
        if (out || PyErr_Occurred())
            return out;
    }
    PyObject *x = at_hand(a), *y = x ? operand(b) : NULL;
    if (y && i != MATMUL && grows(x, y))
        return PyObject_TypeCheck(a, ndarray_type) ? call_two(forward[i], a, b) : call_two(reflected[i], b, a);
    if (y && i == MATMUL) {
        PyObject *out = by_blas(x, y);
        out = out || PyErr_Occurred() ? out : direct_product((PyUFuncObject *)matmul_ufunc, x, y);
        out = from_host(out || PyErr_Occurred() ? out : by_host(host_binary[i], x, y));
        if (out && matmul_ufunc && watches())
            note_product(before, (PyUFuncObject *)matmul_ufunc, a, b, out, 0);
        return out;
    }
    if (y) {
        PyObject *out = i == POW ? direct_square(x, y) : direct_two(binary_ufunc[i], x, y, NULL);
        if (out)
            return noted(before, ufunc, 2 - square, a, b, wrap(out));
        out = PyErr_Occurred() ? NULL : from_host(by_host(host_binary[i], x, y));
        if (out && ufunc && !square && watches())
            note_host_ufunc(before, (PyUFuncObject *)ufunc, a, b, out);
        return out;
    }
    if (i == MATMUL && is_small_product(a, b))
        return from_host(by_host(host_binary[i], ((Handle *)a)->h, ((Handle *)b)->h));
    if (x && is_listed(b, x))
        return from_host(by_host(host_binary[i], x, b));
    if (!x && is_listed(a, y = at_hand(b)))
        return from_host(by_host(host_binary[i], a, y));
    if (i != POW && i != MATMUL) {
        PyObject *out = direct_narrow(ufunc, 2, a, b, NULL);
        if (out || PyErr_Occurred())
            return out ? noted(before, ufunc, 2, a, b, wrap(out)) : NULL;
    }
    return PyObject_TypeCheck(a, ndarray_type) ? call_two(forward[i], a, b) : call_two(reflected[i], b, a);
}

static PyObject *inplace_op(PyObject *a, PyObject *b, int i)
{
    calls_begun += !inside;
    int before = touched;
    if (P && binary_ufunc[i]) {
        PyObject *out = match_in_place((PyUFuncObject *)binary_ufunc[i], a, b);
        if (out || PyErr_Occurred())
            return out;
    }
    if (is_current(a) && ((Storage *)((Handle *)a)->s)->free) {
        PyObject *x = at_hand(a), *y = x ? operand(b) : NULL;
        /* A subclass of a NumPy scalar may have an answer of its own, which need not be the array. */
        if (y && !(PyArray_IsScalar(b, Generic) && PyType_HasFeature(Py_TYPE(b), Py_TPFLAGS_HEAPTYPE))) {
            PyObject *out = i == MATMUL ? NULL : direct_two(binary_ufunc[i], x, y, x);
            if (out && watches())
                note_in_place(before, (PyUFuncObject *)binary_ufunc[i], a, b);
            if (!out && !PyErr_Occurred()) {
                Storage *s = (Storage *)Py_NewRef(((Handle *)a)->s);
                s->busy++;
                out = by_host(host_inplace[i], x, y);
                s->busy--;
                Py_DECREF(s);
                if (out && binary_ufunc[i] && watches())
                    note_host_in_place(before, (PyUFuncObject *)binary_ufunc[i], a, b);
            }
            if (!out)
                return NULL;
            Py_DECREF(out);
            return Py_NewRef(a);
        }
        PyObject *out = y || i == POW || i == MATMUL ? NULL : direct_narrow(binary_ufunc[i], 2, a, b, ((Handle *)a)->h);
        if (out && watches())
            note_in_place(before, (PyUFuncObject *)binary_ufunc[i], a, b);
        if (out || PyErr_Occurred()) {
            Py_XDECREF(out);
            return out ? Py_NewRef(a) : NULL;
        }
    }
    return call_two(inplace[i], a, b);
}

#define BINARY(NAME, I) \
    static PyObject *NAME(PyObject *a, PyObject *b) { return binary_op(a, b, I); } \
    static PyObject *inplace_##NAME(PyObject *a, PyObject *b) { return inplace_op(a, b, I); }
BINARY(op_add, ADD) BINARY(op_sub, SUB) BINARY(op_mul, MUL) BINARY(op_truediv, TRUEDIV) BINARY(op_floordiv, FLOORDIV)
BINARY(op_mod, MOD) BINARY(op_lshift, LSHIFT) BINARY(op_rshift, RSHIFT) BINARY(op_and, AND) BINARY(op_or, OR)
BINARY(op_xor, XOR) BINARY(op_matmul, MATMUL)

static PyObject *op_pow(PyObject *a, PyObject *b, PyObject *modulus)
{
    if (modulus != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    return binary_op(a, b, POW);
}

static PyObject *inplace_op_pow(PyObject *a, PyObject *b, PyObject *modulus) /* at which NumPy does not look here */
{
    return inplace_op(a, b, POW);
}

static unaryfunc const host_unary[UNARIES] = {PyNumber_Negative, PyNumber_Positive, PyNumber_Absolute, PyNumber_Invert};

static PyObject *unary_op(PyObject *a, int i)
{
    calls_begun += !inside;
    int before = touched;
    if (P && unary_ufunc[i]) {
        PyObject *out = match_ufunc((PyUFuncObject *)unary_ufunc[i], 1, a, NULL);
        if (out || PyErr_Occurred())
            return out;
    }
    PyObject *x = at_hand(a), *out = x ? direct_one(unary_ufunc[i], x) : direct_narrow(unary_ufunc[i], 1, a, NULL, NULL);
    if (out || PyErr_Occurred())
        return out ? noted(before, unary_ufunc[i], 1, a, NULL, wrap(out)) : NULL;
    if (!x)
        return leaving(PyObject_CallOneArg(unary[i], a));
    Py_INCREF(x);
    out = host_unary[i](x);
    Py_DECREF(x);
    return from_host(out);
}

static PyObject *op_neg(PyObject *a) { return unary_op(a, NEG); }
static PyObject *op_pos(PyObject *a) { return unary_op(a, POS); }
static PyObject *op_abs(PyObject *a) { return unary_op(a, ABS); }
static PyObject *op_invert(PyObject *a) { return unary_op(a, INVERT); }

static PyObject *op_compare(PyObject *a, PyObject *b, int i)
{
    calls_begun += !inside;
    int before = touched;
    if (P && compare_ufunc[i]) {
        PyObject *out = match_ufunc((PyUFuncObject *)compare_ufunc[i], 2, a, b);
        if (out || PyErr_Occurred())
            return out;
    }
    PyObject *x = at_hand(a), *y = x ? operand(b) : NULL;
    if (y && grows(x, y))
        return call_two(compare[i], a, b);
    if (y) {
        PyObject *out = direct_two(compare_ufunc[i], x, y, NULL);
        if (out || PyErr_Occurred())
            return out ? noted(before, compare_ufunc[i], 2, a, b, wrap(out)) : NULL;
        Py_INCREF(x);
        Py_INCREF(y);
        out = PyObject_RichCompare(x, y, i);
        Py_DECREF(x);
        Py_DECREF(y);
        out = from_host(out);
        if (out && compare_ufunc[i] && watches())
            note_host_ufunc(before, (PyUFuncObject *)compare_ufunc[i], a, b, out);
        return out;
    }
    if (x && (PyUnicode_CheckExact(b) || PyBytes_CheckExact(b) || is_listed(b, x))) { /* NumPy's, in one call */
        Py_INCREF(x);
        PyObject *out = PyObject_RichCompare(x, b, i);
        Py_DECREF(x);
        return from_host(out);
    }
    PyObject *out = direct_narrow(compare_ufunc[i], 2, a, b, NULL);
    if (out || PyErr_Occurred())
        return out ? noted(before, compare_ufunc[i], 2, a, b, wrap(out)) : NULL;
    return call_two(compare[i], a, b);
}

/* Indexing. */

static int is_plain_one(PyObject *key)
{
    return PyLong_CheckExact(key) || PySlice_Check(key) || key == Py_None || key == Py_Ellipsis;
}

static int is_plain(PyObject *key)
{
    if (!PyTuple_CheckExact(key))
        return is_plain_one(key);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++)
        if (!is_plain_one(PyTuple_GET_ITEM(key, i)))
            return 0;
    return 1;
}

/* A handle on a view of a's view, by a step that is looked at when it is needed: for the parameter see `view_of`. `part` is
 * NumPy's view of h, a's view of the buffer b as both were when part was made. Takes the references to b, h and `part`. */
static PyObject *derived(Handle *a, PyObject *b, PyObject *h, PyObject *part, PyObject *kind, PyObject *param)
{
    PyObject *view = NULL;
    Handle *out = begins_at(a, &view) < 0 ? NULL : new_handle();
    if (!out) {
        Py_XDECREF(view);
        Py_DECREF(h);
        Py_DECREF(part);
        Py_DECREF(b);
        return NULL;
    }
    out->s = Py_NewRef(a->s);
    out->b = b;
    out->h = part;
    out->v = view;
    if (view == host_view)
        Py_DECREF(h);
    else {
        out->from = h;
        out->kind = kind;
        out->param = Py_NewRef(param);
    }
    out->base = Py_NewRef(a->base && Py_TYPE(a->base) == ndarray_type ? a->base : (PyObject *)a);
    return (PyObject *)out;
}

static PyObject *subscript_whole(PyObject *self, PyObject *key);
static PyObject *class_item(PyObject *o, PyObject *key);
static int class_assign(PyObject *o, PyObject *key, PyObject *value);
static int assign_whole(PyObject *self, PyObject *key, PyObject *value);

/* Elements and parts that are looked at, and numbers that are written, one after the other with nothing else between: a
 * loop of nothing else has nothing to compute, and noting them would cost more than they do. */
enum { MOST_LOOKS = 64 };
static int looks;
static long long looked_at;

static inline int only_looks(void)
{
    if (position != looked_at)
        looks = 0;
    return looks > MOST_LOOKS;
}

static inline void looked(void)
{
    looks++;
    looked_at = position;
}

/* Where the element is that a key of whole numbers names; NULL where it names none. */
static char *element_at(PyArrayObject *h, PyObject *key)
{
    int tuple = PyTuple_CheckExact(key), nd = PyArray_NDIM(h);
    char *at = PyArray_BYTES(h);
    if (nd != (tuple ? PyTuple_GET_SIZE(key) : 1))
        return NULL;
    for (int i = 0; i < nd; i++) {
        npy_intp n = PyArray_DIM(h, i), k;
        if (!is_index(tuple ? PyTuple_GET_ITEM(key, i) : key, &k) || k < -n || k >= n)
            return NULL;
        at += (k < 0 ? k + n : k) * PyArray_STRIDE(h, i);
    }
    return at;
}

/* Whether elements may be read and written where they are. */
static inline int has_plain_elements(PyArrayObject *a)
{
    return is_plain_type(PyArray_DESCR(a)) && PyArray_ISALIGNED(a);
}

/* NumPy's number for an element. */
static PyObject *element(char const *at, int type)
{
#define SCALAR(TYPE, NAME) \
    case TYPE: \
        if ((out = Py##NAME##ArrType_Type.tp_alloc(&Py##NAME##ArrType_Type, 0))) \
            memcpy(&PyArrayScalar_VAL(out, NAME), at, sizeof(PyArrayScalar_VAL(out, NAME))); \
        return out;
    PyObject *out;
    switch (type) {
        SCALAR(NPY_DOUBLE, Double)
        SCALAR(NPY_FLOAT, Float)
        SCALAR(NPY_LONG, Long)
        case NPY_BOOL: PyArrayScalar_RETURN_BOOL_FROM_LONG(*at);
        default: return PyArray_Scalar((void *)at, plain_descr[type], NULL);
    }
#undef SCALAR
}

/* Whether the bounds and the step of a slice are Python's own integers, if they are given: nothing of the user's runs for them. */
static int is_plain_slice(PyObject *o)
{
    PySliceObject *s = (PySliceObject *)o;
    return (s->start == Py_None || PyLong_CheckExact(s->start)) && (s->stop == Py_None || PyLong_CheckExact(s->stop))
           && (s->step == Py_None || PyLong_CheckExact(s->step));
}

static int is_list_of_places(PyObject *key)
{
    int yes = PyList_CheckExact(key);
    for (Py_ssize_t i = 0; yes && i < PyList_GET_SIZE(key); i++)
        yes = PyLong_CheckExact(PyList_GET_ITEM(key, i));
    return yes;
}

/* The array that stands in a key, where it is there. */
static PyArrayObject *places_in(PyObject *o)
{
    return is_current(o) ? (PyArrayObject *)((Handle *)o)->h : PyArray_CheckExact(o) ? (PyArrayObject *)o : NULL;
}

/* A key with Python's integers for NumPy's, where it does not name one element; NULL where it has none of NumPy's, or others
 * than integers, slices and new axes. */
static PyObject *with_integers(PyObject *self, PyObject *key)
{
    PyArrayObject *h = (PyArrayObject *)((Handle *)self)->h;
    int ndim = h && PyArray_CheckExact(h) ? PyArray_NDIM(h) : -1, foreign = 0, others = 0;
    if (Py_TYPE(self) != ndarray_type)
        return NULL;
    if (!PyTuple_CheckExact(key)) {
        PyObject *out = ndim > 1 && PyArray_IsScalar(key, Integer) ? PyNumber_Index(key) : NULL;
        PyErr_Clear(); /* a difference of times, of which NumPy tells */
        return out;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(key);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(key, i);
        if (PyLong_CheckExact(item))
            continue;
        if (PyArray_IsScalar(item, Integer))
            foreign = 1;
        else if (is_plain_one(item))
            others = 1;
        else
            return NULL;
    }
    PyObject *out = foreign && (others || n != ndim) ? PyTuple_New(n) : NULL;
    for (Py_ssize_t i = 0; out && i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(key, i), *plain = PyArray_IsScalar(item, Integer) ? PyNumber_Index(item) : Py_NewRef(item);
        if (plain)
            PyTuple_SET_ITEM(out, i, plain);
        else
            Py_CLEAR(out);
    }
    PyErr_Clear();
    return out;
}

static PyObject *subscript_by(PyObject *self, PyObject *key);

static PyObject *subscript(PyObject *self, PyObject *key)
{
    PyObject *plain = PyTuple_CheckExact(key) || PyArray_IsScalar(key, Integer) ? with_integers(self, key) : NULL;
    PyObject *out = subscript_by(self, plain ? plain : key);
    Py_XDECREF(plain);
    return out;
}

static PyObject *subscript_by(PyObject *self, PyObject *key)
{
    calls_begun += !inside;
    int before = touched;
    if (P) {
        PyObject *out = match_index(self, key);
        if (out || PyErr_Occurred())
            return out;
    }
    if (is_current(self)) {
        Handle *a = (Handle *)self;
        char *at = has_plain_elements((PyArrayObject *)a->h) ? element_at((PyArrayObject *)a->h, key) : NULL;
        if (at) {
            PyObject *out = element(at, PyArray_TYPE((PyArrayObject *)a->h));
            if (out && watches() && !only_looks()) {
                note_read(before, self, (PyArrayObject *)a->h, key);
                looked();
            }
            return out;
        }
        if (is_plain(key) || (PyArray_IsScalar(key, Integer) && PyArray_NDIM((PyArrayObject *)a->h) == 1)) {
            PyObject *b = Py_NewRef(a->b), *h = Py_NewRef(a->h), *part = PyObject_GetItem(h, key);
            if (part && PyArray_CheckExact(part)) {
                PyObject *out = derived(a, b, h, part, kind_index, key);
                if (out && watches() && !only_looks()) {
                    note_getitem(before, self, out, PART);
                    looked();
                }
                return out;
            }
            if (part && watches() && !only_looks()) {
                note_read(before, self, (PyArrayObject *)h, key);
                looked();
            }
            Py_DECREF(b);
            Py_DECREF(h);
            return part;
        }
        PyArrayObject *k = limit >= 0 ? places_in(key) : NULL;
        if (k) { /* integers or booleans: NumPy's fresh array */
            int small = at_hand(self) && PyArray_SIZE(k) <= limit;
            PyObject *part = by_host(small ? get_places : get_few, a->h, (PyObject *)k);
            if (part && PyArray_CheckExact(part) && PyArray_BASE((PyArrayObject *)part))
                Py_DECREF(part);
            else if (part || PyErr_Occurred())
                return from_host(part);
            else if (!small && PyArray_TYPE(k) == NPY_BOOL && PyArray_IS_C_CONTIGUOUS(k) && PyArray_IS_C_CONTIGUOUS((PyArrayObject *)a->h))
                return call_two(getitem, self, key); /* many, which were counted */
        }
        PyObject *out = subscript_whole(self, key);
        if (out || PyErr_Occurred())
            return out;
    }
    else if (Py_TYPE(self) != ndarray_type) {
        PyObject *out = class_item(self, key);
        if (out || PyErr_Occurred())
            return out;
    }
    return call_two(getitem, self, key);
}

static inline int is_bare_number(PyObject *o)
{
    return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyComplex_CheckExact(o)
           || (!PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_HEAPTYPE) && PyArray_IsScalar(o, Number));
}

/* Elements `step` bytes apart, each `size` bytes, all the same. */
static void fill_line(char *at, npy_intp n, npy_intp step, char const *item, npy_intp size)
{
#define FILL_AS(T)                                   \
    {                                                \
        T x;                                         \
        memcpy(&x, item, sizeof x);                  \
        for (npy_intp i = 0; i < n; i++, at += step) \
            memcpy(at, &x, sizeof x);                \
        return;                                      \
    }
    if (step == size && n > 16) { /* what is written is copied on, out of the nearest cache */
        npy_intp most = n * size, done = size;
        memcpy(at, item, (size_t)size);
        for (; done < most && done <= 2048; done *= 2)
            memcpy(at + done, at, (size_t)(done < most - done ? done : most - done));
        for (npy_intp block = done; done < most; done += block)
            memcpy(at + done, at, (size_t)(block < most - done ? block : most - done));
        return;
    }
    switch (size) {
        case 1: FILL_AS(npy_uint8)
        case 2: FILL_AS(npy_uint16)
        case 4: FILL_AS(npy_uint32)
        case 8: FILL_AS(npy_uint64)
        default:
            for (npy_intp i = 0; i < n; i++, at += step)
                memcpy(at, item, (size_t)size);
    }
#undef FILL_AS
}

/* `a[key] = number` of a part that a plain key names, where the number needs no cast. 0: that is for NumPy. */
static int fill_part(PyArrayObject *a, PyObject *key, PyObject *number)
{
    long long item[2];
    Layout of, part;
    npy_intp offset, at[AXES] = {0}, size = PyDataType_ELSIZE(PyArray_DESCR(a));
    if (PyArray_NDIM(a) > AXES || !from_number(number, PyArray_TYPE(a), (char *)item))
        return 0;
    lay_out(&of, a);
    if (!cut(&of, key, &offset, &part))
        return 0;
    int last = part.nd - 1;
    char *line = PyArray_BYTES(a) + offset;
    if (last < 0)
        memcpy(line, item, (size_t)size);
    for (int d = 0; d <= last; d++)
        if (!part.shape[d])
            return 1;
    for (; last > 0 && part.stride[last - 1] == part.shape[last] * part.stride[last]; last--) { /* lines that follow one another */
        part.shape[last - 1] *= part.shape[last];
        part.stride[last - 1] = part.stride[last];
    }
    while (last >= 0) {
        fill_line(line, part.shape[last], part.stride[last], (char const *)item, size);
        int d = last - 1;
        while (d >= 0 && ++at[d] == part.shape[d]) {
            line -= (part.shape[d] - 1) * part.stride[d];
            at[d--] = 0;
        }
        if (d < 0)
            return 1;
        line += part.stride[d];
    }
    return 1;
}

/* `h[key] = value` by NumPy, h being the view of an array at hand that is free, or its flat iterator; elements by a plain key and a number
 * that needs no cast are written here. `at`: where the one element is that the key names, if it does. */
static int put(PyObject *self, PyObject *h, PyObject *key, PyObject *value, char *at)
{
    PyArrayObject *a = (PyArrayObject *)h;
    if (PyArray_CheckExact(h) && has_plain_elements(a) && PyArray_ISWRITEABLE(a) && PyArray_FLAGS(a) >= 0) { /* no flat iterator */
        long long item[2]; /* of a number that needs a cast, a part may be there already */
        if (at && from_number(value, PyArray_TYPE(a), (char *)item)) {
            memcpy(at, item, (size_t)PyDataType_ELSIZE(PyArray_DESCR(a)));
            return 0;
        }
        if (!at && is_plain(key) && fill_part(a, key, value))
            return 0;
    }
    else
        at = NULL; /* NumPy says what is wrong with it */
    Storage *s = (Storage *)Py_NewRef(((Handle *)self)->s);
    Py_INCREF(h);
    Py_INCREF(key);
    Py_INCREF(value);
    s->busy++;
    int failed = at && is_bare_number(value) ? PyArray_Pack(PyArray_DESCR(a), at, value) : set_places(h, key, value);
    s->busy--;
    Py_DECREF(value);
    Py_DECREF(key);
    Py_DECREF(h);
    Py_DECREF(s);
    return failed;
}

/* The same, noted. */
static int put_noted(int before, PyObject *self, PyObject *h, PyObject *key, PyObject *value, PyObject *given, char *at)
{
    int notes = may_note_setitem(self, value);
    Py_INCREF(h);
    int failed = put(self, h, key, given, at);
    if (!failed && notes) {
        note_setitem(before, self, (PyArrayObject *)h, key, value);
        if (PyArray_IsAnyScalar(value))
            looked();
    }
    Py_DECREF(h);
    return failed;
}

static int put_masked(int before, PyObject *self, PyObject *h, PyObject *mask, PyObject *number)
{
    Py_INCREF(h);
    int failed = put(self, h, ((Handle *)mask)->h, number, NULL);
    if (!failed)
        note_masked(before, self, (PyArrayObject *)h, mask, number);
    Py_DECREF(h);
    return failed;
}

/* Whether a key takes so few elements of an array, which may be large, that to read or write them is best done at once; NumPy tells what
 * is wrong with one that has too many axes. */
static int is_few(PyArrayObject *h, PyObject *key)
{
    PyObject *const *keys = PyTuple_CheckExact(key) ? &PyTuple_GET_ITEM(key, 0) : &key;
    Py_ssize_t n = PyTuple_CheckExact(key) ? PyTuple_GET_SIZE(key) : 1, given = 0;
    PyArrayObject *first = NULL, *places;
    for (Py_ssize_t k = 0; k < n; k++) {
        if (PySlice_Check(keys[k]) ? is_plain_slice(keys[k]) : PyLong_CheckExact(keys[k]) || is_list_of_places(keys[k]))
            given++;
        else if ((places = places_in(keys[k])))
            given += PyArray_TYPE(places) == NPY_BOOL ? PyArray_NDIM(places) : 1;
        else if (keys[k] != Py_Ellipsis && keys[k] != Py_None)
            return 0;
    }
    int d = 0, nd = PyArray_NDIM(h);
    double count = 1;
    for (Py_ssize_t k = 0; k < n && d < nd; k++) {
        if (PySlice_Check(keys[k])) {
            Py_ssize_t start, stop, step;
            if (PySlice_Unpack(keys[k], &start, &stop, &step) < 0) {
                PyErr_Clear();
                return 0;
            }
            count *= (double)PySlice_AdjustIndices(PyArray_DIM(h, d++), &start, &stop, step);
        }
        else if (PyLong_CheckExact(keys[k]))
            d++;
        else if (PyList_CheckExact(keys[k])) {
            d++;
            count *= (double)PyList_GET_SIZE(keys[k]);
        }
        else if (keys[k] == Py_Ellipsis)
            for (Py_ssize_t whole = nd - given; whole > 0 && d < nd; whole--)
                count *= (double)PyArray_DIM(h, d++);
        else if ((places = places_in(keys[k]))) {
            int mask = PyArray_TYPE(places) == NPY_BOOL;
            d += mask ? PyArray_NDIM(places) : 1;
            if (mask)
                count *= (double)PyArray_CountNonzero(places);
            else if (!first || !PyArray_SAMESHAPE(first, places)) /* several are broadcast */
                count *= (double)PyArray_SIZE(places);
            first = first ? first : places;
        }
    }
    while (d < nd)
        count *= (double)PyArray_DIM(h, d++);
    return count <= most_of(h);
}

static int assign_by(PyObject *self, PyObject *key, PyObject *value);

static int assign(PyObject *self, PyObject *key, PyObject *value)
{
    PyObject *plain = PyTuple_CheckExact(key) || PyArray_IsScalar(key, Integer) ? with_integers(self, key) : NULL;
    int failed = assign_by(self, plain ? plain : key, value);
    Py_XDECREF(plain);
    return failed;
}

static int assign_by(PyObject *self, PyObject *key, PyObject *value)
{
    calls_begun += !inside;
    int before = touched;
    if (P && value) {
        int done = match_setitem(self, key, value);
        if (!done && P && !PyErr_Occurred() && Py_TYPE(key) == ndarray_type)
            done = match_masked(self, key, value);
        if (done || PyErr_Occurred())
            return done > 0 ? 0 : -1;
    }
    if (value && limit >= 0 && is_current(self) && ((Storage *)((Handle *)self)->s)->free) {
        PyObject *h = ((Handle *)self)->h, *given = NULL;
        if (PyFloat_CheckExact(value) || PyLong_CheckExact(value) || PyBool_Check(value) || PyArray_IsScalar(value, Number)
            || PyArray_IsScalar(value, Bool))
            given = value;
        else if (is_current(value) && PyArray_TYPE((PyArrayObject *)h) != NPY_OBJECT) /* which holds the handle itself */
            given = ((Handle *)value)->h;
        char *at = given && has_plain_elements((PyArrayObject *)h) ? element_at((PyArrayObject *)h, key) : NULL;
        if (at || (given && is_plain(key))) {
            if (at || PyArray_SIZE((PyArrayObject *)h) <= limit)
                return watches() && !only_looks() ? put_noted(before, self, h, key, value, given, at) : put(self, h, key, given, at);
            if (is_few((PyArrayObject *)h, key))
                return watches() ? put_noted(before, self, h, key, value, given, at) : put(self, h, key, given, at);
        }
        else if (given == value && given && is_current(key) && PyArray_SIZE((PyArrayObject *)h) <= limit)
            return watches() && may_note_masked(self, (PyArrayObject *)h, key, value)
                       ? put_masked(before, self, h, key, value) : put(self, h, ((Handle *)key)->h, given, NULL);
        int done = assign_whole(self, key, value);
        if (done)
            return done < 0 ? -1 : 0;
    }
    else if (value && limit >= 0 && Py_TYPE(self) != ndarray_type) {
        int done = class_assign(self, key, value);
        if (done)
            return done < 0 ? -1 : 0;
    }
    PyObject *args[3] = {self, key, value};
    PyObject *done = leaving(PyObject_Vectorcall(value ? setitem : delitem, args, value ? 3 : 2, NULL));
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static Py_ssize_t size_of(PyObject *self)
{
    if (is_there(self) && PyArray_NDIM((PyArrayObject *)((Handle *)self)->h) > 0)
        return PyArray_DIM((PyArrayObject *)((Handle *)self)->h, 0);
    PyObject *n = leaving(PyObject_CallOneArg(length, self));
    Py_ssize_t out = n ? PyLong_AsSsize_t(n) : -1;
    Py_XDECREF(n);
    return out;
}

/* `a.T` of an array at hand: None if it is not. */
static PyObject *transpose(PyObject *module, PyObject *self)
{
    int before = touched;
    PyObject *out = P && Py_TYPE(self) == ndarray_type ? match_transpose(self) : NULL;
    if (out || PyErr_Occurred())
        return out;
    if (!is_current(self) || ((Handle *)self)->v == host_view)
        Py_RETURN_NONE;
    PyObject *b = Py_NewRef(((Handle *)self)->b), *h = Py_NewRef(((Handle *)self)->h);
    PyObject *part = PyArray_Transpose((PyArrayObject *)h, NULL);
    if (part) {
        out = derived((Handle *)self, b, h, part, kind_transpose, Py_None);
        if (out && watches() && !only_looks()) {
            note_getitem(before, self, out, TRANSPOSED);
            looked();
        }
        return out;
    }
    Py_DECREF(b);
    Py_DECREF(h);
    return NULL;
}

/* The handle of `part`, which NumPy has made of an array at hand by giving it another shape; None where it is a copy, or the
 * array itself. Takes the reference to it. */
static PyObject *reshaped(Handle *a, PyObject *part)
{
    if (part != a->h && PyArray_DATA((PyArrayObject *)part) == PyArray_DATA((PyArrayObject *)a->h))
        return derived(a, Py_NewRef(a->b), Py_NewRef(a->h), part, kind_reshape, part);
    Py_DECREF(part);
    Py_RETURN_NONE;
}

static int is_plain_whole(PyObject *o) /* whether an array is at hand and contiguous, as its buffer is */
{
    Handle *a = (Handle *)o;
    return is_current(o) && a->v != host_view && PyArray_IS_C_CONTIGUOUS((PyArrayObject *)a->h)
           && PyArray_SIZE((PyArrayObject *)a->h) && PyArray_IS_C_CONTIGUOUS((PyArrayObject *)a->b);
}

/* `a.reshape(shape)` of a C-contiguous array at hand: None if it is not that simple. */
static PyObject *reshape(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    /* given: (self, shape), a tuple or an int */
    if (n != 2 || !is_plain_whole(given[0]))
        Py_RETURN_NONE;
    if (!PyLong_CheckExact(given[1]) && !(PyTuple_CheckExact(given[1]) && is_plain(given[1])))
        Py_RETURN_NONE;
    PyObject *part = PyArray_Reshape((PyArrayObject *)((Handle *)given[0])->h, given[1]);
    return part ? reshaped((Handle *)given[0], part) : NULL;
}

/* `a.shape` where the value is at hand, else None. */
static PyObject *shape(PyObject *module, PyObject *self)
{
    if (!is_there(self))
        Py_RETURN_NONE;
    PyArrayObject *h = (PyArrayObject *)((Handle *)self)->h;
    return PyArray_IntTupleFromIntp(PyArray_NDIM(h), PyArray_DIMS(h));
}

/* A handle on a fresh NumPy array. */
static PyObject *fresh(PyObject *module, PyObject *array)
{
    return from_host(Py_NewRef(array));
}

static PyObject *wrap_array(PyObject *module, PyObject *array)
{
    return wrap(Py_NewRef(array));
}

/* A method of NumPy's on an array at hand, with arguments that are plain: NotImplemented if it is not so simple. */
static int is_simple(PyObject *o)
{
    if (PyTuple_CheckExact(o)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); i++)
            if (!PyLong_CheckExact(PyTuple_GET_ITEM(o, i)))
                return 0;
        return 1;
    }
    return o == Py_None || PyLong_CheckExact(o) || PyBool_Check(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o)
           || PyArray_DescrCheck(o)
           || (PyType_Check(o) && o != (PyObject *)ndarray_type);
}

/* One of NumPy's methods that reduce, by `direct_reduce`. NULL, without an error set, where it is not that simple. */
static PyObject *reduced_along(PyObject *host, PyObject *x, PyObject *along, int keepdims)
{
    Reduction r = {.which = reduction_known(number_known(host)), .keep = keepdims};
    return is_direct(r.which) && read_axes(along, &r) ? direct_reduce(&r, (PyArrayObject *)x) : NULL;
}

/* The same for the arguments of a call, which may be an axis and keepdims. */
static PyObject *reduced(PyObject *host, PyObject *x, PyObject *args, PyObject *kwargs)
{
    Py_ssize_t count = args ? PyTuple_GET_SIZE(args) : 0, at = 0;
    PyObject *along = count == 1 ? PyTuple_GET_ITEM(args, 0) : NULL, *key, *value;
    int keepdims = 0;
    if (count > 1)
        return NULL;
    while (PyDict_Next(kwargs, &at, &key, &value))
        if (key == name_keepdims && PyBool_Check(value))
            keepdims = value == Py_True;
        else if (key == name_axis && !along)
            along = value;
        else
            return NULL;
    return reduced_along(host, x, along, keepdims);
}

static PyObject *method(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    /* given: (NumPy's method, self, args, kwargs) */
    PyObject *x = n == 4 && is_current(given[1]) ? at_hand(given[1]) : NULL;
    if (!x || !PyTuple_CheckExact(given[2]) || !PyDict_CheckExact(given[3]) || PyTuple_GET_SIZE(given[2]) > 4)
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *quick = reduced(given[0], x, given[2], given[3]);
    if (quick || PyErr_Occurred())
        return from_host(quick);
    PyObject *args[6] = {NULL, x}, *key, *value;
    Py_ssize_t count = PyTuple_GET_SIZE(given[2]), at = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        args[i + 2] = PyTuple_GET_ITEM(given[2], i);
        if (!is_simple(args[i + 2]))
            Py_RETURN_NOTIMPLEMENTED;
    }
    while (PyDict_Next(given[3], &at, &key, &value))
        if (!is_simple(value))
            Py_RETURN_NOTIMPLEMENTED;
    Py_INCREF(x);
    PyObject *out = PyObject_VectorcallDict(given[0], args + 1, (size_t)(count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                            PyDict_GET_SIZE(given[3]) ? given[3] : NULL);
    int shared = out && PyArray_CheckExact(out) && (out == x || PyArray_BASE((PyArrayObject *)out));
    Py_DECREF(x);
    if (shared) {
        Py_DECREF(out);
        Py_RETURN_NOTIMPLEMENTED;
    }
    return from_host(out);
}

/* A function that reduces, as the method of that name: NotImplemented if it is not so simple. */
static PyObject *reduce(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    /* given: (NumPy's method, array, kwargs) */
    PyObject *x = n == 3 && is_current(given[1]) && PyDict_CheckExact(given[2]) ? at_hand(given[1]) : NULL;
    PyObject *out = x ? reduced(given[0], x, NULL, given[2]) : NULL;
    if (out || PyErr_Occurred())
        return from_host(out);
    Py_RETURN_NOTIMPLEMENTED;
}

/* A ufunc's reduction of a NumPy array, as `r` says; NULL, without an error set, where it is not that simple. */
static PyObject *reduced_by(PyObject *f, PyObject *x, Reduction *r)
{
    for (r->which = 0; r->which < REDUCTIONS && reduction_ufunc[r->which] != f;)
        r->which++;
    return x && is_direct(r->which) && PyArray_CheckExact(x) ? direct_reduce(r, (PyArrayObject *)x) : NULL;
}

/* A ufunc's reduction of an array of NumPy's, as large as it may be. */
static PyObject *reduce_array(PyObject *module, PyObject *const *given, Py_ssize_t n)
{
    /* given: (ufunc, array, axes, keepdims) */
    Reduction r = {.keep = n == 4 && given[3] == Py_True};
    PyObject *out = n == 4 && PyTuple_CheckExact(given[2]) && read_axes(given[2], &r) ? reduced_by(given[0], given[1], &r) : NULL;
    if (!out && !PyErr_Occurred())
        Py_RETURN_NOTIMPLEMENTED;
    return out;
}

/* frames_of(thread, most): where a thread's Python code is, innermost first: (code, line or None, place in the code, name of
 * the module or None). All is looked at while nothing else runs: frames of a thread that goes on meanwhile are not to be
 * followed, above all those that torch's compiler evaluates. */
static PyObject *frames_of(PyObject *module, PyObject *args)
{
    unsigned long thread;
    Py_ssize_t most;
    if (!PyArg_ParseTuple(args, "kn", &thread, &most))
        return NULL;
    PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    while (state && state->thread_id != thread)
        state = PyThreadState_Next(state);
    PyObject *out = PyList_New(0);
    int collects = PyGC_Disable(); /* which calls whatever finalizers there are */
    PyFrameObject *frame = out && state ? PyThreadState_GetFrame(state) : NULL, *back;
    for (; frame; frame = back) {
        int line = PyFrame_GetLineNumber(frame);
        PyObject *globals = PyFrame_GetGlobals(frame), *name = PyDict_GetItemString(globals, "__name__");
        PyObject *item = Py_BuildValue("(NNiO)", (PyObject *)PyFrame_GetCode(frame),
                                       line > 0 ? PyLong_FromLong(line) : Py_NewRef(Py_None), PyFrame_GetLasti(frame),
                                       name ? name : Py_None);
        Py_DECREF(globals);
        int failed = !item || PyList_Append(out, item) < 0;
        Py_XDECREF(item);
        back = failed || PyList_GET_SIZE(out) >= most ? NULL : PyFrame_GetBack(frame);
        Py_DECREF(frame);
        if (failed)
            Py_CLEAR(out);
    }
    if (collects)
        PyGC_Enable();
    return out;
}

/* Ufuncs. */

/* NumPy's call; its n operands are kept while it runs. */
static PyObject *call_held(PyObject *host, PyObject *const *given, Py_ssize_t n, size_t count, PyObject *names)
{
    for (Py_ssize_t i = 0; i < n; i++)
        Py_INCREF(given[i]);
    PyObject *out = PyObject_Vectorcall(host, given, count, names);
    for (Py_ssize_t i = 0; i < n; i++)
        Py_DECREF(given[i]);
    return out;
}

enum { LAST = 256, ONCE = 1 << 19 }; /* beside the flags of `_whole.h`: what is written into is the last argument by place, if not None */
static PyObject *whole(PyObject *host, PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names, int flags);

/* A call of one or two operands by the inner loop of a ufunc of NumPy's own, matched or noted. NULL with no error set if it
 * is not that simple. */
static PyObject *simple_call(PyObject *host, PyObject *const *args, Py_ssize_t n)
{
    PyObject *given[2] = {NULL, NULL}, *done;
    int before = touched;
    if (n < 1 || n > 2)
        return NULL;
    if (P) {
        done = match_ufunc((PyUFuncObject *)host, (int)n, args[0], args[n - 1]);
        if (done || PyErr_Occurred())
            return done;
    }
    for (Py_ssize_t i = 0; i < n && (!i || given[0]); i++)
        given[i] = operand(args[i]);
    if (given[1] && grows(given[0], given[1]))
        return NULL;
    done = given[n - 1] ? direct((PyUFuncObject *)host, given, (int)n, NULL)
                        : direct_narrow(host, (int)n, args[0], args[n - 1], NULL);
    return done ? noted(before, host, (int)n, args[0], args[n - 1], wrap(done)) : NULL;
}

/* A call with operands at hand, and at most `out`. NULL with no error set if it is not that. */
static PyObject *call_at_hand(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *out)
{
    PyObject *host = ((Ufunc *)self)->host, *given[5], *done = NULL;
    int before = touched;
    if (!host || !n || n > 3 || !PyObject_TypeCheck(host, &PyUFunc_Type) || n != ((PyUFuncObject *)host)->nin)
        return NULL;
    int plain = Py_TYPE(host) == &PyUFunc_Type && n <= 2;
    if (plain && !out) {
        done = simple_call(host, args, n);
        if (done || PyErr_Occurred())
            return done;
    }
    if (plain && out && P) {
        done = match_into((PyUFuncObject *)host, (int)n, args, out);
        if (done || PyErr_Occurred())
            return done;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!(given[i + 1] = operand(args[i]))) {
            if (!plain || !out || !is_current(out) || !((Storage *)((Handle *)out)->s)->free || !few_bytes(out, BYTES))
                return NULL;
            done = direct_narrow(host, (int)n, args[0], args[n - 1], ((Handle *)out)->h);
            Py_XDECREF(done);
            return done ? Py_NewRef(out) : NULL;
        }
    }
    size_t count = (size_t)n | PY_VECTORCALL_ARGUMENTS_OFFSET;
    if (!out) {
        if (n == 2 && ((PyUFuncObject *)host)->nout == 1 && !((PyUFuncObject *)host)->core_enabled && grows(given[1], given[2]))
            return NULL;
        done = host == matmul_ufunc ? by_blas(given[1], given[2]) : NULL;
        done = from_host(done || PyErr_Occurred() ? done : call_held(host, given + 1, n, count, NULL));
        if (done && plain && watches())
            note_host_ufunc(before, (PyUFuncObject *)host, args[0], n > 1 ? args[1] : NULL, done);
        return done;
    }
    if (((PyUFuncObject *)host)->nout != 1 || !is_current(out) || !((Storage *)((Handle *)out)->s)->free
        || !at_hand(out))
        return NULL;
    given[n + 1] = ((Handle *)out)->h;
    done = plain ? direct((PyUFuncObject *)host, given + 1, (int)n, given[n + 1]) : NULL;
    if (!done && !PyErr_Occurred()) {
        Storage *s = (Storage *)Py_NewRef(((Handle *)out)->s);
        s->busy++;
        done = call_held(host, given + 1, n + 1, count, name_out);
        s->busy--;
        Py_DECREF(s);
    }
    if (done && plain && watches())
        note_into(before, (PyUFuncObject *)host, (int)n, args, out);
    Py_XDECREF(done);
    return done ? Py_NewRef(out) : NULL;
}

static PyObject *class_ufunc(PyObject *self, PyObject *const *args, Py_ssize_t n);

/* Has NumPy warn, if its version does, that `out` is given by position, at the line that calls; 0 with an error set. */
static int warn_of_place(PyObject *host)
{
    PyObject *zero = PyLong_FromLong(0), *out = PyArray_ZEROS(0, NULL, NPY_LONG, 0);
    PyObject *done = zero && out ? PyObject_CallFunctionObjArgs(host, zero, zero, out, NULL) : NULL;
    Py_XDECREF(zero);
    Py_XDECREF(out);
    Py_XDECREF(done);
    return done != NULL;
}

static PyObject *call_ufunc_vector(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    calls_begun += !inside;
    Py_ssize_t n = PyVectorcall_NARGS(count), named = names ? PyTuple_GET_SIZE(names) : 0;
    PyObject *host = ((Ufunc *)self)->host;
    int plain = host && Py_TYPE(host) == &PyUFunc_Type;
    if (plain && !named && limit >= 0 && n == ((PyUFuncObject *)host)->nin && n <= 2 && is_bare_number(args[0])
        && is_bare_number(args[n - 1])) /* NumPy's numbers come of it */
        return from_host(PyObject_Vectorcall(host, args, (size_t)n, NULL));
    int known = plain && is_own((PyUFuncObject *)host);
    Py_ssize_t nin = known ? ((PyUFuncObject *)host)->nin : n;
    int by_place = n == nin + 1 && ((PyUFuncObject *)host)->nout == 1; /* `out` */
    if (by_place && !named && ((Ufunc *)self)->warns_of_places) {
        by_place = 0;
        if (Py_TYPE(args[nin]) == ndarray_type) {
            if (!warn_of_place(host))
                return NULL;
            n = nin; /* from here on it is given by name */
            names = name_out;
            named = 1;
        }
    }
    if (!named || (named == 1 && n == nin && PyTuple_GET_ITEM(names, 0) == PyTuple_GET_ITEM(name_out, 0))) {
        PyObject *out = named ? args[n] : by_place && args[nin] != Py_None ? args[nin] : NULL;
        if (out && PyTuple_CheckExact(out) && PyTuple_GET_SIZE(out) == 1 && !by_place)
            out = PyTuple_GET_ITEM(out, 0);
        PyObject *done = call_at_hand(self, args, by_place ? nin : n, out);
        if (done || PyErr_Occurred())
            return done;
    }
    PyObject *x = known && n == 2 && nin == 2 && !named ? operand(args[0]) : NULL, *y = x ? operand(args[1]) : NULL;
    if (known && (n == nin || by_place) && !(y && grows(x, y))) {
        int once = ((PyUFuncObject *)host)->nout == 2 && strcmp(((PyUFuncObject *)host)->name, "frexp") == 0 ? ONCE : 0; /* of whose results no kernel is faster */
        PyObject *done = whole(host, NULL, args, n, names, once | (by_place ? LAST : 0));
        if (!done && !PyErr_Occurred() && !named && !by_place)
            done = class_ufunc(self, args, n);
        if (done || PyErr_Occurred())
            return done;
    }
    PyObject *slow = PyObject_GetAttr(self, name_call);
    PyObject *out = slow ? leaving(PyObject_Vectorcall(slow, args, (size_t)n, names)) : NULL;
    Py_XDECREF(slow);
    return out;
}

static PyObject *call_ufunc(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Py_ssize_t named = kwargs ? PyDict_GET_SIZE(kwargs) : 0;
    PyObject *given = named == 1 ? PyDict_GetItemWithError(kwargs, PyTuple_GET_ITEM(name_out, 0)) : NULL;
    ((Ufunc *)self)->call = call_ufunc_vector; /* by which Python calls from now on */
    if (!named || given) {
        PyObject *done = call_at_hand(self, &PyTuple_GET_ITEM(args, 0), PyTuple_GET_SIZE(args), given);
        if (done || PyErr_Occurred())
            return done;
    }
    PyObject *slow = PyObject_GetAttr(self, name_call);
    PyObject *out = slow ? leaving(PyObject_Call(slow, args, kwargs)) : NULL;
    Py_XDECREF(slow);
    return out;
}

#include "_strangers.h"
#include "_whole.h"
#include "_objects.h"
#include "_scalars.h"

/* Types. */

#define OBJECTS_STORAGE(V) V(buf) V(node) V(reads) V(details)
#define OBJECTS_HANDLE(V) V(s) V(b) V(h) V(v) V(base) V(from) V(param)
#define VISIT(F) Py_VISIT(self->F);
#define CLEAR(F) Py_CLEAR(self->F);

static int storage_traverse(Storage *self, visitproc visit, void *arg) { OBJECTS_STORAGE(VISIT) return 0; }
static int storage_clear(Storage *self) { OBJECTS_STORAGE(CLEAR) return 0; }
static int handle_traverse(Handle *self, visitproc visit, void *arg) { OBJECTS_HANDLE(VISIT) return 0; }
static int handle_clear(Handle *self) { OBJECTS_HANDLE(CLEAR) return 0; }
static int ufunc_traverse(Ufunc *self, visitproc visit, void *arg) { VISIT(host) return 0; }
static int ufunc_clear(Ufunc *self) { CLEAR(host) return 0; }

static void storage_dealloc(Storage *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weak)
        PyObject_ClearWeakRefs((PyObject *)self);
    storage_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static void handle_dealloc(Handle *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weak)
        PyObject_ClearWeakRefs((PyObject *)self);
    forget_handle(self);
    handle_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* What `tp_dealloc` is of the door's own classes, which Python makes, and whose subclasses come here too. */
static void release(PyObject *self, PyTypeObject *own_type, PyObject **kept, int *count)
{
    PyTypeObject *type = Py_TYPE(self);
    if (type == own_type && *count < KEPT) {
        kept[(*count)++] = self;
        return;
    }
    type->tp_free(self);
    Py_DECREF(type);
}

/* How much memory NumPy's small arrays have had that died: the C library keeps it, for `mallopt` says so, and nobody sees
 * when. After so many bytes Python is told, which gives pages back once the program has paused. */
enum { NOTED = 1 << 16, MUCH = 1 << 26 };
static long long freed, freed_told;
static int telling;
static PyObject *much_freed;

static int tell_freed(void *nothing)
{
    PyObject *done = much_freed ? PyObject_CallNoArgs(much_freed) : Py_NewRef(Py_None);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* freed_bytes(): the number of such bytes so far; after the next many Python is told again. */
static PyObject *freed_bytes(PyObject *module, PyObject *nothing)
{
    freed_told = freed;
    telling = 0;
    return PyLong_FromLongLong(freed);
}

static inline void count_freed(Storage *s)
{
    if (s->buf && PyArray_CheckExact(s->buf) && PyArray_NDIM((PyArrayObject *)s->buf)
        && PyArray_NBYTES((PyArrayObject *)s->buf) >= NOTED && PyArray_CHKFLAGS((PyArrayObject *)s->buf, NPY_ARRAY_OWNDATA)) {
        freed += PyArray_NBYTES((PyArrayObject *)s->buf);
        if (freed - freed_told > MUCH && !telling && much_freed)
            telling = Py_AddPendingCall(tell_freed, NULL) == 0;
    }
}

static void door_storage_dealloc(Storage *self)
{
    count_freed(self);
    if (!self->unseen)
        PyObject_GC_UnTrack(self);
    if (self->weak)
        PyObject_ClearWeakRefs((PyObject *)self);
    storage_clear(self);
    self->busy = self->free = self->unseen = 0;
    release((PyObject *)self, storage_type, kept_storages, &storages_kept);
}

static void door_handle_dealloc(Handle *self)
{
    if (!self->unseen)
        PyObject_GC_UnTrack(self);
    if (self->weak)
        PyObject_ClearWeakRefs((PyObject *)self);
    forget_handle(self);
    Storage *s = (Storage *)self->s;
    int pair = self->unseen && s && Py_REFCNT(s) == 1 && s->unseen && !s->weak && !s->node && !s->details && !s->busy;
    if (pair) {
        count_freed(s);
        self->s = NULL; /* which code that runs now does not see */
        s->free = 0;
        Py_CLEAR(s->buf);
        Py_CLEAR(s->reads);
    }
    if (!pair || self->v || self->base || self->from) /* else the two are all that it has */
        handle_clear(self);
    else {
        Py_CLEAR(self->b);
        Py_CLEAR(self->h);
    }
    if (pair && pairs_kept < KEPT) {
        self->s = (PyObject *)s;
        kept_pairs[pairs_kept++] = (PyObject *)self;
        return;
    }
    if (pair)
        Py_DECREF(s);
    self->unseen = 0;
    release((PyObject *)self, ndarray_type, kept_handles, &handles_kept);
}

static void ufunc_dealloc(Ufunc *self)
{
    PyObject_GC_UnTrack(self);
    ufunc_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* What Python sees of a handle and of a storage: nobody gets at them past `touch`. */
static PyObject *get_object(PyObject *self, void *offset)
{
    if (touch() < 0)
        return NULL;
    PyObject *value = *(PyObject **)((char *)self + (Py_ssize_t)offset);
    return Py_NewRef(value ? value : Py_None);
}

static int set_object(PyObject *self, PyObject *value, void *offset)
{
    if (touch() < 0)
        return -1;
    PyObject **where = (PyObject **)((char *)self + (Py_ssize_t)offset);
    if (Py_TYPE(self) == storage_type)
        be_seen(self, &((Storage *)self)->unseen);
    else if (Py_TYPE(self) == ndarray_type)
        be_seen(self, &((Handle *)self)->unseen);
    Py_XSETREF(*where, Py_XNewRef(value));
    return 0;
}

static PyObject *get_view(PyObject *self, void *nothing)
{
    PyObject *view;
    if (touch() < 0 || view_of((Handle *)self, &view) < 0)
        return NULL;
    return Py_NewRef(view ? view : Py_None);
}

static int set_view(PyObject *self, PyObject *value, void *nothing)
{
    if (set_object(self, value, (void *)offsetof(Handle, v)) < 0)
        return -1;
    Py_CLEAR(((Handle *)self)->from);
    Py_CLEAR(((Handle *)self)->param);
    return 0;
}

static PyObject *get_free(PyObject *self, void *nothing)
{
    return touch() < 0 ? NULL : PyBool_FromLong(((Storage *)self)->free);
}

static int set_free(PyObject *self, PyObject *value, void *nothing)
{
    int yes = touch() < 0 || !value ? -1 : PyObject_IsTrue(value);
    if (yes >= 0)
        ((Storage *)self)->free = (char)yes;
    else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "free cannot be deleted");
    return yes < 0 ? -1 : 0;
}

#define OBJECT(NAME, TYPE, FIELD) {NAME, get_object, set_object, NULL, (void *)offsetof(TYPE, FIELD)}
static PyGetSetDef storage_attributes[] = {
    OBJECT("buf", Storage, buf), OBJECT("node", Storage, node), OBJECT("reads", Storage, reads),
    OBJECT("details", Storage, details), {"free", get_free, set_free}, {NULL}};
static PyMemberDef storage_members[] = {{"busy", T_INT, offsetof(Storage, busy)}, {NULL}};
static PyGetSetDef handle_attributes[] = {
    OBJECT("_s_", Handle, s), OBJECT("_b_", Handle, b), OBJECT("_h_", Handle, h),
    {"_v_", get_view, set_view}, OBJECT("_base_", Handle, base), {NULL}};
static PyMemberDef ufunc_members[] = {
    {"host", T_OBJECT, offsetof(Ufunc, host)}, {"warns_of_places", T_BOOL, offsetof(Ufunc, warns_of_places)}, {NULL}};

/* Whether it is NumPy that asks for a buffer, for an array of its own: it takes any object's buffer before it asks for
 * `__array__`, and a buffer has no class and no mask. `memoryview(x)` and NumPy ask with the same flags, through the same
 * function of Python's, and are the same to all that Python's C interface shows: the frame of Python code that is running
 * is in the middle of a call for both. Nor would it do to refuse first and to see who goes on: only NumPy does. So the
 * stack is asked one precise question, who called PyMemoryView_FromObject; where a probe says that it does not answer it
 * (symbols differ), whether NumPy is near; and where there is no stack to be read, it counts as NumPy: a refused buffer
 * is an error, a lost mask is not. All this is for subclasses that NumPy has too. */
#if defined(__GLIBC__) || defined(__APPLE__)
static int called_by_numpy(int precise)
{
    Dl_info numpy, found;
    void *frames[8];
    int count = backtrace(frames, 8);
    if (count < 4 || !dladdr((void *)&PyArray_Type, &numpy))
        return 1;
    for (int i = 0; i < count; i++) {
        if (!dladdr((char *)frames[i] - 1, &found))
            continue;
        if (precise && found.dli_saddr == (void *)PyMemoryView_FromObject)
            return i + 1 < count && dladdr((char *)frames[i + 1] - 1, &found) && found.dli_fbase == numpy.dli_fbase;
        if (!precise && found.dli_fbase == numpy.dli_fbase)
            return 1;
    }
    return 0;
}

static int probed;

static int probe_buffer(PyObject *self, Py_buffer *view, int flags)
{
    probed = called_by_numpy(1);
    view->obj = NULL;
    PyErr_SetString(PyExc_BufferError, "a probe");
    return -1;
}

static PyBufferProcs probe_procs = {.bf_getbuffer = probe_buffer};
static PyTypeObject Probe = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lazynp._speed.Probe",
                             .tp_basicsize = sizeof(PyObject), .tp_flags = Py_TPFLAGS_DEFAULT,
                             .tp_as_buffer = &probe_procs};

/* Whether the precise question is answered: NumPy is given an object whose buffer asks it. */
static int is_precise(void)
{
    static int known = -1;
    if (known < 0) {
        PyObject *probe = PyType_Ready(&Probe) < 0 ? NULL : PyObject_New(PyObject, &Probe);
        PyObject *array = probe ? PyArray_FromAny(probe, NULL, 0, 0, 0, NULL) : NULL;
        known = array && probed;
        PyErr_Clear();
        Py_XDECREF(array);
        Py_XDECREF(probe);
    }
    return known;
}

static int asked_by_numpy(int flags)
{
    return (flags & PyBUF_FULL_RO) == PyBUF_FULL_RO && called_by_numpy(is_precise());
}
#else
static int asked_by_numpy(int flags) { return (flags & PyBUF_FULL_RO) == PyBUF_FULL_RO; }
#endif

static _Thread_local PyObject *refused; /* the array that NumPy asks for its interfaces next, by its address */

/* refused_to_numpy(a): whether it is NumPy that goes on asking, after the buffer, for a's array interface. */
static PyObject *refused_to_numpy(PyObject *module, PyObject *self) { return PyBool_FromLong(refused == self); }

/* forget_refused(): NumPy asks for `__array__`, or has asked for all before it. */
static PyObject *forget_refused(PyObject *module, PyObject *nothing)
{
    refused = NULL;
    Py_RETURN_NONE;
}

/* Whether a buffer is in its place, and known to somebody outside: what `exported` sees to. */
static int is_shared(PyObject *storage)
{
    Storage *s = (Storage *)storage;
    if (!s->free || !s->details || s->details == Py_None)
        return 0;
    PyObject *pin = PyObject_GetAttr(s->details, name_pin), *shared = PyObject_GetAttr(s->details, name_shared);
    int out = pin == Py_True && shared == Py_True;
    Py_XDECREF(pin);
    Py_XDECREF(shared);
    PyErr_Clear();
    return out;
}

/* Whether NumPy's buffer of an array has its strides: of a contiguous one they are made anew, and those of axes of one
 * element may be others then. */
static int keeps_strides(PyArrayObject *array)
{
    int nd = PyArray_NDIM(array), c_order = PyArray_IS_C_CONTIGUOUS(array);
    npy_intp step = PyArray_ITEMSIZE(array);
    if (!c_order && !PyArray_IS_F_CONTIGUOUS(array))
        return 1;
    for (int i = 0; i < nd; i++) {
        int axis = c_order ? nd - 1 - i : i;
        if (PyArray_STRIDE(array, axis) != step)
            return 0;
        step *= PyArray_DIM(array, axis);
    }
    return 1;
}

/* Not of one that warns when it is written to, whose buffer is read-only, nor of one whose strides are made anew, as they
 * are where there are no elements, nor of records and raw bytes, whose names, padding and titles get lost, nor of a
 * dtype's metadata, nor of dtypes that no protocol names: NumPy is to get those from `__array__`.
 * `attributes.py: buffer_says_all`. */
static int buffer_says_all(PyArrayObject *array)
{
    PyArray_Descr *dtype = PyArray_DESCR(array);
    return PyArray_NBYTES(array) != 0 && !((unsigned)PyArray_FLAGS(array) & WARNS_ON_WRITE) && dtype->type_num != NPY_VOID
           && dtype->kind != 'T' && (unsigned)dtype->type_num < NPY_USERDEF && !PyDataType_METADATA(dtype) && keeps_strides(array);
}

/* NumPy drops what is raised while it asks for a buffer: that is kept for when it asks for `__array__`. Here, since a
 * handler of signals may raise before Python's function has begun. */
static void keep_error(void)
{
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    if (trace)
        PyException_SetTraceback(error, trace);
    if (PyObject_SetAttrString(swallowed, "error", error) < 0)
        PyErr_Clear();
    PyErr_Restore(type, error, trace);
}

/* What a buffer has of ours: the array that it shows, since the handle may show another one while it is in use. And where
 * buffers are all that the storage is pinned for, its details, which count them (`storage.py: StorageDetails.lent`). */
typedef struct {
    PyObject *array, *details;
} Lent;

/* One buffer more, or less, that pins a storage. Plain members of a class of ours: nobody else runs meanwhile. 0: it is
 * not pinned for buffers alone. -1: an error. */
static int count_lent(PyObject *details, int more)
{
    PyObject *was = PyObject_GetAttr(details, name_lent), *now = NULL;
    int counts = was ? was != Py_None : -1;
    if (counts > 0) {
        long n = PyLong_AsLong(was) + more;
        PyObject *pinned = n > 0 ? Py_True : Py_False;
        if (!(now = PyLong_FromLong(n)) || PyObject_SetAttr(details, name_lent, now) < 0
            || PyObject_SetAttr(details, name_pin, pinned) < 0 || PyObject_SetAttr(details, name_shared, pinned) < 0)
            counts = -1;
    }
    Py_XDECREF(was);
    Py_XDECREF(now);
    return counts;
}

/* The buffer protocol: NumPy's buffer of the array that `exported` pins and shares. */
static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    PyObject *array = NULL;
    int plain = Py_TYPE(self) == ndarray_type, numpy = 0;
    if (plain && is_current(self) && is_shared(((Handle *)self)->s))
        array = Py_NewRef(((Handle *)self)->h);
    else if (exported) {
        numpy = !plain && asked_by_numpy(flags);
        array = numpy ? PyObject_CallFunctionObjArgs(exported, self, Py_True, NULL) : PyObject_CallOneArg(exported, self);
    }
    if (!array && swallowed && PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_BufferError))
        keep_error();
    if (array && plain && !buffer_says_all((PyArrayObject *)array) && asked_by_numpy(flags)) {
        numpy = 1;
        Py_CLEAR(array);
        PyErr_SetString(PyExc_BufferError, "the buffer does not say all of the array");
    }
    refused = array || !numpy ? NULL : self;
    Lent *lent = array ? PyMem_Malloc(sizeof *lent) : NULL;
    if (!lent || PyObject_GetBuffer(array, view, flags) < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(array ? PyExc_MemoryError : PyExc_BufferError, "no buffer");
        Py_XDECREF(array);
        PyMem_Free(lent);
        view->obj = NULL;
        return -1;
    }
    Py_XSETREF(view->obj, Py_NewRef(self));
    PyObject *details = plain ? ((Storage *)((Handle *)self)->s)->details : NULL;
    int counts = details && details != Py_None ? count_lent(details, 1) : 0;
    *lent = (Lent){array, counts > 0 ? Py_NewRef(details) : NULL};
    view->internal = lent;
    if (counts < 0)
        PyErr_Clear(); /* it stays pinned */
    if (counts > 0 && ((Handle *)self)->b != ((Storage *)((Handle *)self)->s)->buf) {
        PyBuffer_Release(view); /* given back and written anew by other threads, before this one was counted */
        return get_buffer(self, view, flags);
    }
    return 0;
}

static void release_buffer(PyObject *self, Py_buffer *view)
{
    Lent *lent = view->internal;
    if (!lent)
        return;
    view->internal = NULL;
    if (lent->details) {
        PyObject *type, *error, *trace;
        PyErr_Fetch(&type, &error, &trace);
        if (count_lent(lent->details, -1) < 0)
            PyErr_Clear();
        PyErr_Restore(type, error, trace);
        Py_DECREF(lent->details);
    }
    Py_DECREF(lent->array);
    PyMem_Free(lent);
}

static PyBufferProcs handle_buffer = {.bf_getbuffer = get_buffer, .bf_releasebuffer = release_buffer};

/* The buffer of an array of the JAX door: that of NumPy's array, read-only, which its method `_buffer` gives. NumPy drops
 * what is raised here, be it Ctrl-C, and asks `__array__` next: what is not computed yet is computed there. */
static int lend_buffer(PyObject *self, Py_buffer *view, int flags)
{
    view->obj = NULL;
    PyObject *host = PyObject_GetAttrString(self, "_host"), *array = NULL;
    if (host == Py_None && asked_by_numpy(flags))
        PyErr_SetString(PyExc_BufferError, "not computed yet");
    else if (host)
        array = PyObject_CallMethod(self, "_buffer", NULL);
    int failed = !array || PyObject_GetBuffer(array, view, flags) < 0;
    Py_XDECREF(host);
    Py_XDECREF(array);
    return failed ? -1 : 0;
}

static PyBufferProcs lender_buffer = {.bf_getbuffer = lend_buffer};
static PyNumberMethods handle_number = {
    .nb_add = op_add, .nb_subtract = op_sub, .nb_multiply = op_mul, .nb_true_divide = op_truediv,
    .nb_floor_divide = op_floordiv, .nb_remainder = op_mod, .nb_lshift = op_lshift, .nb_rshift = op_rshift,
    .nb_and = op_and, .nb_or = op_or, .nb_xor = op_xor, .nb_power = op_pow, .nb_matrix_multiply = op_matmul,
    .nb_inplace_add = inplace_op_add, .nb_inplace_subtract = inplace_op_sub, .nb_inplace_multiply = inplace_op_mul,
    .nb_inplace_true_divide = inplace_op_truediv, .nb_inplace_floor_divide = inplace_op_floordiv,
    .nb_inplace_remainder = inplace_op_mod, .nb_inplace_lshift = inplace_op_lshift,
    .nb_inplace_rshift = inplace_op_rshift, .nb_inplace_and = inplace_op_and, .nb_inplace_or = inplace_op_or,
    .nb_inplace_xor = inplace_op_xor, .nb_inplace_power = inplace_op_pow,
    .nb_inplace_matrix_multiply = inplace_op_matmul,
    .nb_negative = op_neg, .nb_positive = op_pos, .nb_absolute = op_abs, .nb_invert = op_invert, .nb_bool = ask_truth,
    .nb_int = ask_int, .nb_float = ask_float, .nb_index = ask_index};
static PyMappingMethods handle_mapping = {.mp_length = size_of, .mp_subscript = subscript, .mp_ass_subscript = assign};
/* The sequence protocol, which `reversed`, `bisect` and C code ask for. Python's own iterator has added the length. */

/* NumPy's error behind the last of n items, with which each iteration ends: rows of one length one after the other. */
static void no_more(Py_ssize_t n)
{
    static PyObject *text;
    static Py_ssize_t text_of;
    if (!text || text_of != n) {
        PyObject *made = PyUnicode_FromFormat("index %zd is out of bounds for axis 0 with size %zd", n, n);
        if (!made)
            return;
        Py_XSETREF(text, made);
        text_of = n;
    }
    PyErr_SetObject(PyExc_IndexError, text);
}

static PyObject *item_at(PyObject *self, Py_ssize_t i)
{
    if (is_current(self) && PyArray_NDIM((PyArrayObject *)((Handle *)self)->h)) {
        PyArrayObject *h = (PyArrayObject *)((Handle *)self)->h;
        npy_intp n = PyArray_DIM(h, 0);
        if (i == n)
            return no_more(n), NULL;
        if (PyArray_NDIM(h) == 1 && i >= 0 && i < n && has_plain_elements(h))
            return element(PyArray_BYTES(h) + i * PyArray_STRIDE(h, 0), PyArray_TYPE(h));
        if (PyArray_NDIM(h) == 1) {
            Py_INCREF(h);
            PyObject *out = PyArray_Type.tp_as_sequence->sq_item((PyObject *)h, i);
            Py_DECREF(h);
            return out;
        }
    }
    PyObject *key = PyLong_FromSsize_t(i);
    if (key && !P && is_current(self)) { /* a row: as in `subscript` */
        int before = touched;
        Handle *a = (Handle *)self;
        PyObject *b = Py_NewRef(a->b), *h = Py_NewRef(a->h), *part = PyArray_Type.tp_as_sequence->sq_item(h, i), *out = NULL;
        if (part && PyArray_CheckExact(part))
            out = derived(a, b, h, part, kind_index, key);
        else {
            out = part;
            Py_DECREF(b);
            Py_DECREF(h);
        }
        if (out && out != part && watches() && !only_looks()) {
            note_getitem(before, self, out, PART);
            looked();
        }
        Py_DECREF(key);
        return out;
    }
    PyObject *out = !key ? NULL : Py_TYPE(self) == ndarray_type ? subscript(self, key) : PyObject_GetItem(self, key);
    Py_XDECREF(key);
    return out;
}

static int assign_at(PyObject *self, Py_ssize_t i, PyObject *value)
{
    PyObject *key = PyLong_FromSsize_t(i);
    int done = !key ? -1 : value ? PyObject_SetItem(self, key, value) : PyObject_DelItem(self, key);
    Py_XDECREF(key);
    return done;
}

static PyObject *concatenated(PyObject *self, PyObject *other)
{
    npy_intp none = 0;
    PyObject *numpy = PyArray_SimpleNew(1, &none, NPY_BOOL);
    PyObject *out = numpy ? PySequence_Concat(numpy, other) : NULL; /* which is NumPy's error */
    Py_XDECREF(numpy);
    return out;
}

/* set_type_name(type, name): the name in Python's messages of errors ("'numpy.ndarray' object is not callable"), where a class
 * that Python made has no module. `__name__` stays. */
static PyObject *set_type_name(PyObject *module, PyObject *args)
{
    PyObject *type, *name;
    if (!PyArg_ParseTuple(args, "O!U:set_type_name", &PyType_Type, &type, &name))
        return NULL;
    const char *text = PyUnicode_AsUTF8(name);
    if (text == NULL)
        return NULL;
    if (((PyTypeObject *)type)->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        Py_INCREF(name); /* for good: the text is its */
        ((PyTypeObject *)type)->tp_name = text;
    }
    Py_RETURN_NONE;
}

/* count(): how often this module made a handle, or had NumPy do a whole call. */
static PyObject *count_made(PyObject *module, PyObject *nothing) { return PyLong_FromLongLong(made); }

/* iterator(a): Python's own, of sequences. */
static PyObject *iterator(PyObject *module, PyObject *self) { return PySeqIter_New(self); }

static getiterfunc iterate_slowly; /* the door's `__iter__` */

static PyObject *iterate(PyObject *self)
{
    return is_there(self) && PyArray_NDIM((PyArrayObject *)((Handle *)self)->h) ? PySeqIter_New(self) : iterate_slowly(self);
}

static PySequenceMethods handle_sequence = {
    .sq_length = size_of, .sq_item = item_at, .sq_ass_item = assign_at, .sq_concat = concatenated};

#define FLAGS (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC)
static PyTypeObject StorageBase = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lazynp._speed.StorageBase", .tp_basicsize = sizeof(Storage),
    .tp_flags = FLAGS, .tp_dealloc = (destructor)storage_dealloc, .tp_traverse = (traverseproc)storage_traverse,
    .tp_clear = (inquiry)storage_clear, .tp_members = storage_members, .tp_getset = storage_attributes,
    .tp_weaklistoffset = offsetof(Storage, weak),
    .tp_doc = "Base of `lazynp.runtime.storage.Storage`."};
static PyTypeObject HandleBase = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lazynp._speed.HandleBase", .tp_basicsize = sizeof(Handle),
    .tp_flags = FLAGS, .tp_dealloc = (destructor)handle_dealloc, .tp_traverse = (traverseproc)handle_traverse,
    .tp_clear = (inquiry)handle_clear, .tp_getset = handle_attributes, .tp_weaklistoffset = offsetof(Handle, weak),
    .tp_as_number = &handle_number, .tp_as_mapping = &handle_mapping, .tp_as_sequence = &handle_sequence,
    .tp_as_buffer = &handle_buffer, .tp_richcompare = op_compare, .tp_hash = PyObject_HashNotImplemented,
    .tp_doc = "Base of `lazynp.ndarray`: its hot paths."};
static PyTypeObject LenderBase = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lazynp._speed.LenderBase", .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, .tp_as_buffer = &lender_buffer,
    .tp_doc = "Base of `lazynp.jax.Array`: its buffer."};
static PyTypeObject UfuncBase = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lazynp._speed.UfuncBase", .tp_basicsize = sizeof(Ufunc),
    .tp_flags = FLAGS | Py_TPFLAGS_HAVE_VECTORCALL, .tp_vectorcall_offset = offsetof(Ufunc, call),
    .tp_dealloc = (destructor)ufunc_dealloc, .tp_traverse = (traverseproc)ufunc_traverse,
    .tp_clear = (inquiry)ufunc_clear, .tp_members = ufunc_members, .tp_call = call_ufunc,
    .tp_doc = "Base of `lazynp.ufunc`: its call."};

/* The module. */

static int take(PyObject *table, const char *kind, const char *name, PyObject **where)
{
    PyObject *functions = PyDict_GetItemString(table, kind);
    PyObject *found = functions ? PyDict_GetItemString(functions, name) : NULL;
    if (found)
        Py_XSETREF(*where, Py_NewRef(found));
    return 0;
}

/* bind(table): the door's classes, and the Python functions that do what is not simple: {kind: {name: object}}. */
static PyObject *bind(PyObject *module, PyObject *table)
{
    if (!PyDict_Check(table)) {
        PyErr_SetString(PyExc_TypeError, "bind takes a dict");
        return NULL;
    }
    for (int i = 0; i < BINARIES; i++) {
        take(table, "forward", binary_names[i], &forward[i]);
        take(table, "reflected", binary_names[i], &reflected[i]);
        take(table, "inplace", binary_names[i], &inplace[i]);
    }
    for (int i = 0; i < UNARIES; i++)
        take(table, "unary", unary_names[i], &unary[i]);
    for (int i = 0; i < 6; i++)
        take(table, "forward", compare_names[i], &compare[i]);
    for (int i = 0; i < ASKED; i++)
        take(table, "asked", asked_names[i], &asked_slow[i]);
    if (!known_loops) { /* what was looked up while lazynp was imported knew nothing of them */
        take(table, "other", "loops", &known_loops);
        if (known_loops)
            memset(loops, 0, sizeof loops);
    }
    take(table, "other", "instance", &instance_slow);
    take(table, "other", "spreads", &spreads);
    take(table, "other", "subclass_mark", &subclass_mark);
    take(table, "other", "finalize_nothing", &finalize_nothing);
    take(table, "other", "whole_product", &whole_product);
    take(table, "other", "flatiter", (PyObject **)&flat_type);
    take(table, "flat", "get", &flat_get);
    take(table, "flat", "getitem", &flat_getitem);
    take(table, "flat", "setitem", &flat_setitem);
    take(table, "flat", "first", &flat_first);
    take(table, "other", "getitem", &getitem);
    take(table, "other", "setitem", &setitem);
    take(table, "other", "delitem", &delitem);
    take(table, "other", "len", &length);
    take(table, "other", "exported", &exported);
    take(table, "other", "swallowed", &swallowed);
    take(table, "other", "much_freed", &much_freed);
    take(table, "other", "host_view", &host_view);
    take(table, "other", "returned", &returned);
    take(table, "other", "index", &kind_index);
    take(table, "other", "transpose", &kind_transpose);
    take(table, "other", "reshape", &kind_reshape);
    take(table, "other", "part", &kind_part);
    take(table, "other", "returned_of", &returned_of);
    take(table, "other", "done_once", &done_once);
    take(table, "other", "pinned", &pinned);
    take(table, "other", "details", &details_type);
    take(table, "other", "shared_drawn", &shared_drawn);
    take(table, "other", "no_value", &no_value_type);
    take(table, "other", "unbound", &unbound);
    take(table, "other", "view", &view_of_theirs);
    take(table, "other", "wrap", &wrap_by_theirs);
    if (wrap_by_theirs)
        take_methods();
    static const char *const called[] = {"ufunc", "dispatcher", "function", "builtin", "creator"};
    for (int i = 0; i < 5; i++) { /* classes that inherit the offset, and before Python 3.12 not the flag */
        PyTypeObject *type = NULL;
        take(table, "other", called[i], (PyObject **)&type);
        if (type) {
            type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
            PyType_Modified(type);
            Py_DECREF(type);
        }
    }
    take(table, "other", "ndarray", (PyObject **)&ndarray_type);
    take(table, "other", "storage", (PyObject **)&storage_type);
    if (storage_type)
        storage_type->tp_dealloc = (destructor)door_storage_dealloc;
    if (ndarray_type) {
        ndarray_type->tp_dealloc = (destructor)door_handle_dealloc;
        leave_to_arrays();
        /* A class made in Python does not inherit these: its `__add__` is that of numbers, its `__getitem__` that of
         * mappings. */
        ndarray_type->tp_as_sequence->sq_item = item_at;
        if (ndarray_type->tp_iter != iterate) /* this may be called again */
            iterate_slowly = ndarray_type->tp_iter;
        ndarray_type->tp_iter = iterate;
        ndarray_type->tp_as_sequence->sq_concat = ndarray_type->tp_as_sequence->sq_inplace_concat = concatenated;
    }
    Py_RETURN_NONE;
}

static PyObject *set_limit(PyObject *module, PyObject *args)
{
    Py_ssize_t small, once;
    if (!PyArg_ParseTuple(args, "nn", &small, &once) || settle() < 0)
        return NULL;
    limit = small;
    most_once = once;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"bind", bind, METH_O, "bind(table): {kind: {name: object}}, the classes and the Python functions to fall back on."},
    {"passing", passing_array, METH_NOARGS,
     "passing(): the array that dies with the call of a public function which runs, and its storage with it; or None."},
    {"set_type_name", set_type_name, METH_VARARGS, "set_type_name(type, name): what Python's messages of errors call a class."},
    {"set_limit", set_limit, METH_VARARGS,
     "set_limit(n, m): arrays of up to n elements are small; -1: none is. Up to m a function that is ONCE takes."},
    {"get_places", get_places_of, METH_VARARGS, "get_places(x, key): x[key] of a NumPy array."},
    {"at_places", (PyCFunction)(void (*)(void))at_places, METH_FASTCALL, "at_places(f, x, key, *value): f.at(x, key, *value)."},
    {"set_places", set_places_of, METH_VARARGS, "set_places(x, key, value): x[key] = value."},
    {"transpose", transpose, METH_O, "transpose(a): the handle of a.T where a is at hand, else None."},
    {"reshape", (PyCFunction)(void (*)(void))reshape, METH_FASTCALL,
     "reshape(a, shape): the handle of a.reshape(shape) where a is at hand and C-contiguous, else None."},
    {"shape", shape, METH_O, "shape(a): a.shape where a is at hand, else None."},
    {"fresh", fresh, METH_O, "fresh(array): the handle of a NumPy array that nobody else has; anything else as it is."},
    {"wrap", wrap_array, METH_O, "wrap(array): the handle of a NumPy array, for its buffer as it is."},
    {"method", (PyCFunction)(void (*)(void))method, METH_FASTCALL,
     "method(host, a, args, kwargs): NumPy's method on a small array at hand, else NotImplemented."},
    {"reduce", (PyCFunction)(void (*)(void))reduce, METH_FASTCALL,
     "reduce(host, a, kwargs): NumPy's method on a small array at hand by its inner loop, else NotImplemented."},
    {"scan_array", (PyCFunction)(void (*)(void))scan_array, METH_FASTCALL,
     "scan_array(ufunc, x, axis): ufunc.accumulate of a NumPy array, with its bits; NotImplemented where NumPy has to do it."},
    {"reduce_array", (PyCFunction)(void (*)(void))reduce_array, METH_FASTCALL,
     "reduce_array(ufunc, x, axes, keepdims): ufunc.reduce of a NumPy array, with its bits; NotImplemented where NumPy has to do it."},
    {"whole_call", (PyCFunction)(void (*)(void))whole_call, METH_FASTCALL,
     "whole_call(function, args, kwargs): a public function on small arrays at hand by NumPy's, else NotImplemented."},
    {"count", count_made, METH_NOARGS,
     "count(): how often this module made a handle, or had NumPy do a whole call: for the compatibility report."},
    {"replay_on", replay_on, METH_VARARGS,
     "replay_on(planner, error_state, get_errors, ignoring, evidence, seconds, trials): note operations, and replay loops."},
    {"replay_ready", replay_ready, METH_VARARGS,
     "replay_ready(number, addresses, workspace, errors): the functions of a program's parts; None: there are none."},
    {"replay_settle", replay_settle, METH_NOARGS, "replay_settle(): what is pending has its value."},
    {"replay_forked", replay_forked, METH_NOARGS, "replay_forked(): after a fork, in the child."},
    {"freed_bytes", freed_bytes, METH_NOARGS, "freed_bytes(): of small arrays that have died."},
    {"frames_of", frames_of, METH_VARARGS, "frames_of(thread, most): where a thread is: (code, line or None, place, module or None)."},
    {"replay_pace", replay_pace, METH_NOARGS, "replay_pace(): operations run, programs asked for, being made, made."},
    {"replay_counts", replay_counts, METH_NOARGS, "replay_counts(): what replay has done since it was asked last."},
    {"iterator", iterator, METH_O, "iterator(a): iterates over a's items by their number."},
    {"flat", flat_of, METH_O, "flat(a): a.flat."},
    {"part", (PyCFunction)(void (*)(void))part_of_still, METH_FASTCALL, "part(x, view): x's array on a view of its memory, or None."},
    {"next_parts", (PyCFunction)(void (*)(void))next_parts, METH_FASTCALL,
     "next_parts(iterator, operands, shown): what NumPy's iterator over operands gives next, as ours."},
    {"refused_to_numpy", refused_to_numpy, METH_O,
     "refused_to_numpy(a): whether NumPy was refused a's buffer, and goes on asking for its other interfaces."},
    {"forget_refused", forget_refused, METH_NOARGS, "forget_refused(): NumPy has asked for all of them."},
    {NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_speed", .m_size = -1, .m_methods = functions,
                                        .m_doc = "The hot paths of the NumPy door; see `lazynp/speed.py`."};

static int find_ufuncs(PyObject *numpy, const char *const *names, PyObject **where, int count)
{
    for (int i = 0; i < count; i++) {
        if (names[i] && !(where[i] = PyObject_GetAttrString(numpy, names[i])))
            return -1;
        if (names[i] && Py_TYPE(where[i]) != &PyUFunc_Type)
            Py_CLEAR(where[i]);
    }
    return 0;
}

/* The ufuncs of the operators; one that was exchanged for something else is not taken. */
static int take_ufuncs(void)
{
    static const char *const square_name = "square", *const positive_name = "positive", *const matmul_name = "matmul", *const sqrt_name = "sqrt";
    PyObject *numpy = PyImport_ImportModule("numpy");
    int failed = !numpy || find_own(numpy) < 0 || find_ufuncs(numpy, binary_ufunc_names, binary_ufunc, BINARIES) < 0
                 || find_ufuncs(numpy, unary_ufunc_names, unary_ufunc, UNARIES) < 0
                 || find_ufuncs(numpy, compare_ufunc_names, compare_ufunc, 6) < 0
                 || find_ufuncs(numpy, &square_name, &square_ufunc, 1) < 0
                 || find_ufuncs(numpy, &positive_name, &positive_ufunc, 1) < 0
                 || find_ufuncs(numpy, &matmul_name, &matmul_ufunc, 1) < 0 || find_ufuncs(numpy, &sqrt_name, &sqrt_ufunc, 1) < 0
                 || take_known(numpy) < 0 || !(name_ddof = PyUnicode_InternFromString("ddof"))
                 || !(name_at = PyUnicode_InternFromString("at"))
                 || !(name_outer = PyUnicode_InternFromString("outer"))
                 || !(name_accumulate = PyUnicode_InternFromString("accumulate"))
                 || find_ufuncs(numpy, reduction_ufunc_names, reduction_ufunc, REDUCTIONS) < 0;
    Py_XDECREF(numpy);
    PyObject *methods = failed ? NULL : PyImport_ImportModule("numpy._core._methods");
    PyObject *var = methods ? PyObject_GetAttrString(methods, "_var") : NULL, *code = var ? PyObject_GetAttrString(var, "__code__") : NULL;
    PyObject *names = code ? PyObject_GetAttrString(code, "co_names") : NULL, *square = PyUnicode_FromString(square_name);
    var_squares = names && square ? PySequence_Contains(names, square) > 0 : 0;
    PyErr_Clear(); /* it is another one's, or no Python code */
    Py_XDECREF(methods);
    Py_XDECREF(var);
    Py_XDECREF(code);
    Py_XDECREF(names);
    Py_XDECREF(square);
    return failed ? -1 : 0;
}

/* For `_calls.c`; see there. */
static int all_settled(void)
{
    if (touch() == 0)
        return 1;
    PyErr_Clear(); /* the long way comes upon it again */
    return 0;
}

static PyObject *lent_array(PyObject *o) { return limit >= 0 && is_current(o) ? ((Handle *)o)->h : NULL; }
static void *shared[3];

PyMODINIT_FUNC PyInit__speed(void)
{
    import_array();
    import_umath();
    if (direct_init() < 0 || take_ufuncs() < 0)
        return NULL;
#ifdef __GLIBC__
    /* By default glibc gives the pages of arrays of a few hundred KB back when they are freed, and the next operation
     * faults them in again: see "Pages" in docs/architecture.md. The first is what its threshold grows to by itself once
     * an array of 32 MB was freed; the keeper of `runtime/pool.py` gives pages back. Who sets them in the environment knows better. */
    if (!getenv("MALLOC_MMAP_THRESHOLD_") && !getenv("MALLOC_TRIM_THRESHOLD_") && !getenv("GLIBC_TUNABLES")) {
        mallopt(M_MMAP_THRESHOLD, 32 << 20);
        mallopt(M_TRIM_THRESHOLD, 256 << 20);
    }
#endif
    PyTypeObject *types[] = {
        &StorageBase, &HandleBase, &UfuncBase, &FunctionBase, &FlatBase, &LenderBase, &MethodType, &AttributeType,
        &CallerDependentType};
    const char *names[] = {
        "StorageBase", "HandleBase", "UfuncBase", "FunctionBase", "FlatBase", "LenderBase", "Method", "Attribute",
        "CallerDependent"};
    enum { BASES = 6, TYPES = 9 };
    PyObject *module = PyModule_Create(&definition);
    if (!module)
        return NULL;
    for (int i = 0; i < BASES; i++)
        types[i]->tp_new = PyBaseObject_Type.tp_new; /* so that object.__new__ makes them too */
    if (PyModule_AddIntMacro(module, AXES) < 0 || PyModule_AddIntMacro(module, REDUCTIONS) < 0)
        return NULL;
    for (int i = 0; i < TYPES; i++)
        if (PyType_Ready(types[i]) < 0 || PyModule_AddObjectRef(module, names[i], (PyObject *)types[i]) < 0)
            return NULL;
    PyObject *check = PyDescr_NewMethod(&PyType_Type, &instance_check_def);
    if (!check || PyModule_AddObject(module, "instance_check", check) < 0)
        return NULL;
    if (!(check = PyDescr_NewMethod(&PyType_Type, &subclass_check_def)) || PyModule_AddObject(module, "subclass_check", check) < 0)
        return NULL;
    shared[0] = (void *)all_settled;
    shared[1] = (void *)lent_array;
    shared[2] = (void *)from_host;
    if (PyModule_AddObject(module, "shared", PyCapsule_New(shared, "lazynp._speed.shared", NULL)) < 0)
        return NULL;
    name_view = PyUnicode_InternFromString("_view_");
    name_call = PyUnicode_InternFromString("_call");
    name_pin = PyUnicode_InternFromString("pin");
    name_dunder_call = PyUnicode_InternFromString("__call__");
    name_shared = PyUnicode_InternFromString("shared");
    name_lent = PyUnicode_InternFromString("lent");
    name_drawn = PyUnicode_InternFromString("_drawn");
    name_twin = PyUnicode_InternFromString("_twin");
    name_type = PyUnicode_InternFromString("type");
    name_finalize = PyUnicode_InternFromString("__array_finalize__");
    name_name = PyUnicode_InternFromString("__name__");
    name_host = PyUnicode_InternFromString("_host_");
    name_buffer = PyUnicode_InternFromString("buffer");
    name_wrap = PyUnicode_InternFromString("__array_wrap__");
    name_fields = PyUnicode_InternFromString("_fields");
    name_array_function = PyUnicode_InternFromString("__array_function__");
    name_priority = PyUnicode_InternFromString("__array_priority__");
    name_ufunc = PyUnicode_InternFromString("__array_ufunc__");
    if (!name_pin || !name_lent || !name_dunder_call || !name_drawn || !name_twin || !name_shared || !name_type || !name_finalize || !name_name || !name_host || !name_buffer
        || !name_wrap || !name_priority || !name_ufunc || !name_fields || !name_array_function)
        return NULL;
    for (int i = 0; i < LEFT; i++)
        if (!(left_names[i] = PyUnicode_InternFromString(left_words[i])))
            return NULL;
    name_axis = PyUnicode_InternFromString("axis");
    if (!(name_dtype = PyUnicode_InternFromString("dtype")))
        return NULL;
    name_keepdims = PyUnicode_InternFromString("keepdims");
    PyObject *out = PyUnicode_InternFromString("out"); /* as in calls: names of arguments are compared by identity */
    name_out = out ? PyTuple_Pack(1, out) : NULL;
    Py_XDECREF(out);
    return name_view && name_call && name_out ? module : NULL;
}
