/* Calls of compiled functions, in C: finds the signature of a call's arguments and runs what was compiled for it.
 *
 * Optional: `speed.py` has the base class in Python, and everything here gives up by calling the Python method `_slow`.
 * A signature is made in Python (`runtime/jit_calls.py`) after a call that went the long way. It matches where the
 * arguments are the same tree of tuples, lists, dicts, arrays at hand and Python numbers. Small elementwise functions run
 * here as well: NumPy's own inner loops, one after the other, without its calls around them.
 */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <Python.h>
#include <stddef.h>
#include <string.h>
#include <structmember.h>
#include <time.h>
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#define MOST_LEAVES 64 /* of a call; those with more go the long way */
#define MOST_ARGS 4    /* of a step */

/* The arrays of the door: a Python class with the slots _host, _weak, _graph. */
static PyTypeObject *array_type;
static Py_ssize_t host_at, weak_at, graph_at;
static PyObject *flags, *name_fast, *name_slow, *name_delete, *ours; /* `ours`: how names of our modules begin */
/* Those of the NumPy door, by functions of `_speed`: its class, whether all that was matched has its value now, the array of
 * one that is at hand (borrowed; NULL: it is not), and a new one for a fresh array (takes the reference). */
static PyTypeObject *handle_type;
static int (*settled)(void);
static PyObject *(*lent)(PyObject *), *(*handle_of)(PyObject *);

#define FIELD(o, at) (*(PyObject **)((char *)(o) + (at)))

#include "_calls_tree.h"
#include "_leaving.h"
#include "_boundary.h"
#include "_one_step.h"
#include "_calls_given.h"

static int is_leaf(PyObject *x)
{
    return Py_TYPE(x) == array_type || Py_TYPE(x) == handle_type || PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyBool_Check(x)
           || PyComplex_CheckExact(x) || PyArray_CheckExact(x);
}

/* Signatures. */

typedef struct {
    PyTypeObject *kind;    /* the door's array, NumPy's array, or a Python number's type */
    PyArray_Descr *dtype;  /* of an array; of a number what it becomes in a step */
    PyObject *weak;        /* of the door's array: True or False */
    int ndim;
    npy_intp shape[NPY_MAXDIMS];
    int donated;
    PyObject *gone; /* of an array that is deleted: what is left of it; else NULL */
} Expected;

typedef struct {
    PyUFuncGenericFunction loop; /* NULL: a choice between two arrays, `where` */
    void *data;
    npy_intp n;
    int args; /* sources, then the target */
    int places[MOST_ARGS];
    npy_intp strides[MOST_ARGS];
} Step;

typedef struct {
    PyArray_Descr *dtype;
    PyObject *weak;
    Py_ssize_t place; /* in what `run` returns, or among the steps' places */
    Py_ssize_t first; /* of the results that are the value at this place */
    int ndim;
    npy_intp shape[NPY_MAXDIMS];
} Result;

typedef struct {
    PyObject_HEAD
    PyObject *state, *run, *constants;
    int handles;  /* whether results are the NumPy door's */
    int one_step; /* whether `run` is a OneStep, whose results stand at the places */
    int donates;  /* whether arguments are donated */
    Tree in, out; /* `in`: of the arguments by place, then of those by name */
    Fixed *fixed; /* the static arguments */
    Py_ssize_t n_fixed;
    Expected *expected;
    Result *results;
    Py_ssize_t n_steps, n_places, n_constants;
    Step *steps;
    npy_intp *offsets; /* of each place in the scratch memory; -1: an input, constant or result */
    char *scratch;
    char **pointers;
} Signature;

static void signature_dealloc(Signature *s)
{
    PyObject_GC_UnTrack(s);
    for (Py_ssize_t i = 0; s->expected && i < s->in.leaves; i++) {
        Py_XDECREF(s->expected[i].kind);
        Py_XDECREF(s->expected[i].dtype);
        Py_XDECREF(s->expected[i].weak);
        Py_XDECREF(s->expected[i].gone);
    }
    fixed_free(s->fixed, s->n_fixed);
    for (Py_ssize_t i = 0; s->results && i < s->out.leaves; i++) {
        Py_XDECREF(s->results[i].dtype);
        Py_XDECREF(s->results[i].weak);
    }
    tree_free(&s->in);
    tree_free(&s->out);
    PyMem_Free(s->expected);
    PyMem_Free(s->results);
    PyMem_Free(s->steps);
    PyMem_Free(s->offsets);
    PyMem_Free(s->scratch);
    PyMem_Free(s->pointers);
    Py_XDECREF(s->state);
    Py_XDECREF(s->run);
    Py_XDECREF(s->constants);
    PyObject_GC_Del(s);
}

static int signature_traverse(Signature *s, visitproc visit, void *arg)
{
    Py_VISIT(s->run);
    Py_VISIT(s->constants);
    for (Py_ssize_t i = 0; i < s->n_fixed; i++)
        Py_VISIT(s->fixed[i].value);
    return 0;
}

static PyTypeObject SignatureType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lazynp._calls.Signature",
    .tp_basicsize = sizeof(Signature),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_dealloc = (destructor)signature_dealloc,
    .tp_traverse = (traverseproc)signature_traverse,
    .tp_doc = "What was compiled for one form of arguments.",
};

static int same_shape(PyArrayObject *a, int ndim, const npy_intp *shape, PyArray_Descr *dtype)
{
    return PyArray_DESCR(a) == dtype && PyArray_NDIM(a) == ndim && PyArray_IS_C_CONTIGUOUS(a)
           && PyArray_ISALIGNED(a) && !memcmp(PyArray_DIMS(a), shape, ndim * sizeof(npy_intp));
}

/* Whether a leaf is what is expected; the array, or the number, is put in its place (borrowed). */
static int expected_leaf(const Expected *e, PyObject **leaf)
{
    PyObject *x = *leaf;
    if (Py_TYPE(x) != e->kind)
        return 0;
    if (e->kind == array_type) {
        PyObject *host = FIELD(x, host_at);
        if (!host || !PyArray_CheckExact(host) || FIELD(x, weak_at) != e->weak)
            return 0;
        *leaf = host;
        return same_shape((PyArrayObject *)host, e->ndim, e->shape, e->dtype);
    }
    if (e->kind == handle_type) {
        PyObject *host = lent(x);
        if (!host || !PyArray_CheckExact(host))
            return 0;
        *leaf = host;
        return same_shape((PyArrayObject *)host, e->ndim, e->shape, e->dtype);
    }
    if (PyArray_CheckExact(x))
        return same_shape((PyArrayObject *)x, e->ndim, e->shape, e->dtype);
    if (PyLong_CheckExact(x)) {
        int over;
        long long value = PyLong_AsLongLongAndOverflow(x, &over);
        return !over && value >= -2147483648LL && value <= 2147483647LL;
    }
    return 1;
}

/* Whether arguments are those of the signature; then its leaves are given, values and owners. -1: an error. What may run
 * Python code comes first: the leaves are borrowed. */
static int signature_match(Signature *s, PyObject *args, PyObject *kwargs, PyObject **leaves, PyObject **owners)
{
    Py_ssize_t at = 0, found = 0;
    int same = s->handles ? settled() : 1;
    for (Py_ssize_t i = 0; same == 1 && i < s->n_fixed; i++)
        same = fixed_match(&s->fixed[i], args, kwargs);
    if (same == 1)
        same = tree_match(&s->in, &at, args, leaves, &found);
    if (same == 1)
        same = kwargs ? tree_match(&s->in, &at, kwargs, leaves, &found) : s->in.parts[at].count == 0;
    if (same == 1 && s->donates) {
        memcpy(owners, leaves, found * sizeof *leaves);
        for (Py_ssize_t i = 0; same == 1 && i < found; i++) /* what is given away twice is an error */
            for (Py_ssize_t k = 0; s->expected[i].donated && k < found; k++)
                same = same && (k == i || owners[k] != owners[i]);
    }
    for (Py_ssize_t i = 0; same == 1 && i < found; i++)
        same = expected_leaf(&s->expected[i], &leaves[i]);
    return same;
}

/* The door's array for a fresh NumPy array. Takes the reference. */
static PyObject *wrapped(PyObject *array, PyObject *weak)
{
    PyObject *out = array ? array_type->tp_alloc(array_type, 0) : NULL;
    if (!out) {
        Py_XDECREF(array);
        return NULL;
    }
    FIELD(out, host_at) = array;
    FIELD(out, weak_at) = Py_NewRef(weak);
    FIELD(out, graph_at) = Py_NewRef(Py_None);
    return out;
}

static void choose(char **p, npy_intp n, const npy_intp *s, npy_intp size)
{
    char *c = p[0], *a = p[1], *b = p[2], *out = p[3];
#define CHOOSE(T)                                                         \
    for (npy_intp i = 0; i < n; i++, c += s[0], a += s[1], b += s[2])     \
        ((T *)out)[i] = *c ? *(T *)a : *(T *)b;                           \
    break;
    switch (size) {
    case 1: CHOOSE(npy_uint8)
    case 2: CHOOSE(npy_uint16)
    case 4: CHOOSE(npy_uint32)
    default: CHOOSE(npy_uint64)
    }
}

/* Casts that lose no kind: NumPy has no inner loops for them that may be called. */
#define CAST(F, T)                                                                                                  \
    static void cast_##F##_##T(char **p, npy_intp const *n, npy_intp const *s, void *data)                          \
    {                                                                                                               \
        char *a = p[0];                                                                                             \
        T *out = (T *)p[1];                                                                                         \
        for (npy_intp i = 0; i < *n; i++, a += s[0])                                                                \
            out[i] = (T) * (F *)a;                                                                                  \
    }
CAST(npy_bool, npy_int32)
CAST(npy_bool, npy_int64)
CAST(npy_bool, npy_float32)
CAST(npy_bool, npy_float64)
CAST(npy_int32, npy_int64)
CAST(npy_int32, npy_float32)
CAST(npy_int32, npy_float64)
CAST(npy_int64, npy_float32)
CAST(npy_int64, npy_float64)
CAST(npy_float32, npy_float64)
CAST(npy_float64, npy_float32)

static PyUFuncGenericFunction find_cast(int from, int to)
{
#define WHERE(A, F, B, T)           \
    if (from == A && to == B)       \
        return cast_##F##_##T;
    WHERE(NPY_BOOL, npy_bool, NPY_INT32, npy_int32)
    WHERE(NPY_BOOL, npy_bool, NPY_INT64, npy_int64)
    WHERE(NPY_BOOL, npy_bool, NPY_FLOAT32, npy_float32)
    WHERE(NPY_BOOL, npy_bool, NPY_FLOAT64, npy_float64)
    WHERE(NPY_INT32, npy_int32, NPY_INT64, npy_int64)
    WHERE(NPY_INT32, npy_int32, NPY_FLOAT32, npy_float32)
    WHERE(NPY_INT32, npy_int32, NPY_FLOAT64, npy_float64)
    WHERE(NPY_INT64, npy_int64, NPY_FLOAT32, npy_float32)
    WHERE(NPY_INT64, npy_int64, NPY_FLOAT64, npy_float64)
    WHERE(NPY_FLOAT32, npy_float32, NPY_FLOAT64, npy_float64)
    WHERE(NPY_FLOAT64, npy_float64, NPY_FLOAT32, npy_float32)
    return NULL;
}

static int put_number(char *to, PyArray_Descr *dtype, PyObject *x)
{
    if (dtype->type_num == NPY_FLOAT && PyFloat_CheckExact(x))
        *(float *)to = (float)PyFloat_AS_DOUBLE(x);
    else if (dtype->type_num == NPY_DOUBLE && PyFloat_CheckExact(x))
        *(double *)to = PyFloat_AS_DOUBLE(x);
    else
        return PyArray_Pack(dtype, to, x);
    return 0;
}

/* The results' arrays, by inner loops. */
static int run_steps(Signature *s, PyObject **leaves, PyObject **results)
{
    char **at = s->pointers;
    Py_ssize_t n = s->in.leaves;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (PyArray_CheckExact(leaves[i])) {
            at[i] = PyArray_BYTES((PyArrayObject *)leaves[i]);
        } else {
            at[i] = s->scratch + s->offsets[i];
            if (put_number(at[i], s->expected[i].dtype, leaves[i]) < 0)
                return -1;
        }
    }
    for (Py_ssize_t i = 0; i < s->out.leaves; i++) {
        Result *r = &s->results[i];
        if (r->first < i) {
            results[i] = Py_NewRef(results[r->first]);
            continue;
        }
        results[i] = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(r->dtype), r->ndim, r->shape, NULL,
                                          NULL, 0, NULL);
        if (!results[i])
            return -1;
        at[r->place] = PyArray_BYTES((PyArrayObject *)results[i]);
    }
    for (Py_ssize_t k = 0; k < s->n_steps; k++) {
        Step *step = &s->steps[k];
        char *args[MOST_ARGS];
        for (int i = 0; i < step->args; i++)
            args[i] = at[step->places[i]];
        if (step->loop)
            step->loop(args, &step->n, step->strides, step->data);
        else
            choose(args, step->n, step->strides, step->strides[3]);
    }
    return PyErr_Occurred() ? -1 : 0; /* a loop may have said that an integer's negative power is none */
}

/* A leaf as an array of its own type. */
static PyObject *leaf_array(const Expected *e, PyObject *leaf)
{
    if (PyArray_CheckExact(leaf))
        return Py_NewRef(leaf);
    PyObject *x = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(e->dtype), 0, NULL, NULL, NULL, 0, NULL);
    if (x && put_number(PyArray_BYTES((PyArrayObject *)x), e->dtype, leaf) < 0)
        Py_CLEAR(x);
    return x;
}

/* The results' arrays, by the compiled function of a small program. */
static int run_one_step(Signature *s, PyObject **leaves, PyObject **results)
{
    OneStep *p = (OneStep *)s->run;
    PyObject *inputs[MOST_LEAVES], *made[MOST_ARRAYS];
    Py_ssize_t n = s->in.leaves, k = 0, r = PyTuple_GET_SIZE(p->results);
    while (k < n && (inputs[k] = leaf_array(&s->expected[k], leaves[k])))
        k++;
    int fits = n == PyTuple_GET_SIZE(p->inputs);
    for (Py_ssize_t i = 0; i < s->out.leaves; i++)
        fits = fits && s->results[i].place < r;
    if (k == n && !fits)
        PyErr_SetString(PyExc_SystemError, "a signature and what was compiled do not fit together");
    int done = k == n && fits ? one_step_run(p, inputs, made) : -1;
    for (Py_ssize_t i = 0; i < s->out.leaves && done == 0; i++)
        results[i] = Py_NewRef(made[s->results[i].place]);
    for (Py_ssize_t i = 0; i < r && done == 0; i++)
        Py_DECREF(made[i]);
    while (k)
        Py_DECREF(inputs[--k]);
    return done;
}

/* The results' arrays, by a Python function from the list of values to a list in which they stand. */
static int run_function(Signature *s, PyObject **leaves, PyObject **results)
{
    Py_ssize_t n = s->in.leaves;
    PyObject *values = PyList_New(n);
    if (!values)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x = leaf_array(&s->expected[i], leaves[i]);
        if (!x) {
            Py_DECREF(values);
            return -1;
        }
        PyList_SET_ITEM(values, i, x);
    }
    PyObject *there = PyObject_CallOneArg(s->run, values);
    Py_DECREF(values);
    if (!there)
        return -1;
    for (Py_ssize_t i = 0; i < s->out.leaves; i++) {
        PyObject *x = PyList_Check(there) && s->results[i].place < PyList_GET_SIZE(there)
                          ? PyList_GET_ITEM(there, s->results[i].place) : NULL;
        if (!x || !PyArray_CheckExact(x)) {
            Py_DECREF(there);
            PyErr_SetString(PyExc_RuntimeError, "a compiled function gave no array for a result");
            return -1;
        }
        results[i] = Py_NewRef(x);
    }
    Py_DECREF(there);
    return 0;
}

static PyObject *signature_run(Signature *s, PyObject **leaves)
{
    PyObject *results[MOST_LEAVES] = {NULL}, *out = NULL;
    Py_ssize_t n = s->out.leaves, at = 0, used = 0;
    int whole = !s->n_steps && s->one_step && steps_are_run && ((OneStep *)s->run)->function;
    int failed = (whole ? run_one_step : s->n_steps ? run_steps : run_function)(s, leaves, results) < 0;
    for (Py_ssize_t i = 0; i < n && !failed; i++) {
        results[i] = s->handles ? handle_of(results[i]) : wrapped(results[i], s->results[i].weak);
        failed = !results[i];
        if (!failed && s->results[i].first < i) { /* one buffer has one node */
            PyObject *node = PyObject_GetAttrString(results[s->results[i].first], "node");
            failed = !node;
            if (node)
                Py_SETREF(FIELD(results[i], graph_at), node);
        }
    }
    if (!failed)
        out = tree_build(&s->out, &at, results, &used);
    for (Py_ssize_t i = 0; i < n; i++)
        Py_XDECREF(results[i]);
    return out;
}

/* The base class of compiled functions. */

typedef struct {
    PyObject_HEAD
    PyObject *signatures; /* a list, the Python side's */
} Callable;

/* The result for leaves, borrowed, of arguments of this signature. */
static PyObject *callable_run(Signature *s, PyObject **leaves, PyObject **owners)
{
    Py_ssize_t n = s->in.leaves;
    int done = 0;
    for (Py_ssize_t i = 0; i < n; i++) { /* a list among the arguments may be changed while this runs */
        Py_INCREF(leaves[i]);
        if (s->donates)
            Py_INCREF(owners[i]);
    }
    for (Py_ssize_t i = 0; s->donates && i < n && done == 0; i++)
        if (s->expected[i].gone)
            done = array_delete(owners[i], s->expected[i].gone);
    PyObject *out = done == 0 ? signature_run(s, leaves) : NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_DECREF(leaves[i]);
        if (s->donates)
            Py_DECREF(owners[i]);
    }
    return out;
}

static PyObject *callable_call(Callable *f, PyObject *args, PyObject *kwargs)
{
    if (f->signatures && PyList_GET_SIZE(f->signatures)) {
        PyObject *state = PyObject_GetAttr(flags, name_fast), *leaves[MOST_LEAVES], *owners[MOST_LEAVES];
        if (!state)
            return NULL;
        for (Py_ssize_t k = 0; k < PyList_GET_SIZE(f->signatures); k++) {
            Signature *s = (Signature *)PyList_GET_ITEM(f->signatures, k);
            if (Py_TYPE(s) != &SignatureType || (s->state != state && !PyLong_CheckExact(state)))
                continue;
            Py_INCREF(s); /* code of the arguments' may forget it */
            int same = s->state == state ? 1 : PyObject_RichCompareBool(s->state, state, Py_EQ);
            if (same == 1)
                same = signature_match(s, args, kwargs, leaves, owners);
            PyObject *out = same == 1 ? callable_run(s, leaves, owners) : NULL;
            Py_DECREF(s);
            if (same == 0)
                continue;
            Py_DECREF(state);
            return out;
        }
        Py_DECREF(state);
    }
    PyObject *slow = PyObject_GetAttr((PyObject *)f, name_slow);
    PyObject *out = slow ? leaving(PyObject_Call(slow, args, kwargs)) : NULL;
    Py_XDECREF(slow);
    return out;
}

static int callable_traverse(Callable *f, visitproc visit, void *arg)
{
    Py_VISIT(f->signatures);
    return 0;
}

static int callable_clear(Callable *f)
{
    Py_CLEAR(f->signatures);
    return 0;
}

static void callable_dealloc(Callable *f)
{
    PyObject_GC_UnTrack(f);
    Py_CLEAR(f->signatures);
    Py_TYPE(f)->tp_free((PyObject *)f);
}

static PyObject *get_signatures(Callable *f, void *closure)
{
    if (!f->signatures && !(f->signatures = PyList_New(0)))
        return NULL;
    return Py_NewRef(f->signatures);
}

static int set_signatures(Callable *f, PyObject *value, void *closure)
{
    if (!value || !PyList_CheckExact(value)) {
        PyErr_SetString(PyExc_TypeError, "_signatures is a list");
        return -1;
    }
    Py_XSETREF(f->signatures, Py_NewRef(value));
    return 0;
}

static PyGetSetDef callable_attributes[] = {
    {"_signatures", (getter)get_signatures, (setter)set_signatures, "The signatures that calls are compared with, in order.", NULL}, {NULL}};

static PyTypeObject CallableType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lazynp._calls.CallBase",
    .tp_basicsize = sizeof(Callable),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_dealloc = (destructor)callable_dealloc,
    .tp_traverse = (traverseproc)callable_traverse,
    .tp_clear = (inquiry)callable_clear,
    .tp_call = (ternaryfunc)callable_call,
    .tp_getset = callable_attributes,
    .tp_doc = "What a compiled function is called by.",
};

/* Making signatures. */

static int take_expected(Signature *s, PyObject *given)
{
    Py_ssize_t n = s->in.leaves;
    s->expected = PyMem_Calloc(n ? n : 1, sizeof(Expected));
    if (!s->expected || !PyTuple_CheckExact(given) || PyTuple_GET_SIZE(given) != n)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) { /* (kind, shape, dtype, weak, donated, gone) */
        Expected *e = &s->expected[i];
        PyObject *shape, *dtype, *kind, *weak, *gone;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(given, i), "OO!OOpO", &kind, &PyTuple_Type, &shape, &dtype, &weak,
                              &e->donated, &gone))
            return -1;
        if (!PyType_Check(kind) || !PyArray_DescrCheck(dtype) || PyTuple_GET_SIZE(shape) > NPY_MAXDIMS)
            return -1;
        e->kind = (PyTypeObject *)Py_NewRef(kind);
        e->dtype = (PyArray_Descr *)Py_NewRef(dtype);
        e->weak = Py_NewRef(weak);
        e->gone = gone == Py_None ? NULL : Py_NewRef(gone);
        s->donates = s->donates || e->donated;
        e->ndim = (int)PyTuple_GET_SIZE(shape);
        for (int d = 0; d < e->ndim; d++)
            e->shape[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, d));
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* Static arguments are pairs of place or name and value. */
static int take_fixed(Signature *s, PyObject *given)
{
    s->fixed = PyMem_Calloc(PyTuple_GET_SIZE(given) + 1, sizeof(Fixed));
    for (Py_ssize_t i = 0; s->fixed && i < PyTuple_GET_SIZE(given); i++, s->n_fixed++)
        if (fixed_take(&s->fixed[i], PyTuple_GET_ITEM(given, i)) < 0)
            return -1;
    return s->fixed ? 0 : -1;
}

static int take_results(Signature *s, PyObject *given)
{
    Py_ssize_t n = s->out.leaves;
    s->results = PyMem_Calloc(n ? n : 1, sizeof(Result));
    if (!s->results || !PyTuple_CheckExact(given) || PyTuple_GET_SIZE(given) != n)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) { /* (place, shape, dtype, weak) */
        Result *r = &s->results[i];
        PyObject *shape, *dtype, *weak;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(given, i), "nO!OO", &r->place, &PyTuple_Type, &shape, &dtype, &weak))
            return -1;
        if (!PyArray_DescrCheck(dtype) || PyTuple_GET_SIZE(shape) > NPY_MAXDIMS || r->place < 0)
            return -1;
        r->dtype = (PyArray_Descr *)Py_NewRef(dtype);
        r->weak = Py_NewRef(weak);
        r->ndim = (int)PyTuple_GET_SIZE(shape);
        for (int d = 0; d < r->ndim; d++)
            r->shape[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, d));
        while (s->results[r->first].place != r->place)
            r->first++;
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* The loop of a ufunc for these types (NumPy's type numbers). 1: found; 0: there is none. */
static int find_loop(PyObject *given, const int *types, int nargs, Step *step)
{
    if (!PyObject_TypeCheck(given, &PyUFunc_Type))
        return 0;
    PyUFuncObject *u = (PyUFuncObject *)given;
    if (u->nargs != nargs || u->nout != 1 || !u->functions || u->core_enabled)
        return 0;
    for (int i = 0; i < u->ntypes; i++) {
        int same = 1;
        for (int k = 0; k < nargs; k++)
            same = same && u->types[i * nargs + k] == types[k];
        if (same && u->functions[i]) {
            step->loop = u->functions[i];
            step->data = (void *)(u->data ? u->data[i] : NULL);
            return 1;
        }
    }
    return 0;
}

/* Steps are (ufunc, n, places, types, strides), sources first; without a ufunc one source is cast, of three the first
 * chooses between the others. sizes are bytes of each place that lies in scratch memory, 0 of
 * others. 1: all are there; 0: one has no loop; -1: an error. */
static int take_steps(Signature *s, PyObject *steps, PyObject *sizes, PyObject *constants)
{
    s->n_steps = PyTuple_GET_SIZE(steps);
    s->n_places = PyTuple_GET_SIZE(sizes);
    s->n_constants = PyTuple_GET_SIZE(constants);
    s->steps = PyMem_Calloc(s->n_steps ? s->n_steps : 1, sizeof(Step));
    s->offsets = PyMem_Calloc(s->n_places ? s->n_places : 1, sizeof(npy_intp));
    s->pointers = PyMem_Calloc(s->n_places ? s->n_places : 1, sizeof(char *));
    if (!s->steps || !s->offsets || !s->pointers)
        return -1;
    npy_intp total = 0;
    for (Py_ssize_t i = 0; i < s->n_places; i++) {
        npy_intp size = PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes, i));
        s->offsets[i] = total;
        total += (size + 63) / 64 * 64;
    }
    s->scratch = PyMem_Malloc(total + 64);
    if (!s->scratch || PyErr_Occurred())
        return -1;
    for (Py_ssize_t i = 0; i < s->n_places; i++)
        s->pointers[i] = s->scratch + s->offsets[i];
    for (Py_ssize_t i = 0; i < s->n_constants; i++) { /* they follow the inputs */
        PyObject *c = PyTuple_GET_ITEM(constants, i);
        if (!PyArray_CheckExact(c) || s->in.leaves + i >= s->n_places)
            return -1;
        s->pointers[s->in.leaves + i] = PyArray_BYTES((PyArrayObject *)c);
    }
    for (Py_ssize_t k = 0; k < s->n_steps; k++) {
        Step *step = &s->steps[k];
        PyObject *ufunc, *places, *types, *strides;
        int kinds[MOST_ARGS];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(steps, k), "OnO!O!O!", &ufunc, &step->n, &PyTuple_Type, &places,
                              &PyTuple_Type, &types, &PyTuple_Type, &strides))
            return -1;
        step->args = (int)PyTuple_GET_SIZE(places);
        if (step->args > MOST_ARGS || PyTuple_GET_SIZE(types) != step->args || PyTuple_GET_SIZE(strides) != step->args)
            return 0;
        for (int i = 0; i < step->args; i++) {
            step->places[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(places, i));
            step->strides[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, i));
            kinds[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(types, i));
            if (PyErr_Occurred() || step->places[i] < 0 || step->places[i] >= s->n_places)
                return -1;
        }
        if (ufunc == Py_None && step->args == 2)
            step->loop = find_cast(kinds[0], kinds[1]);
        if (ufunc == Py_None ? !step->loop && (step->args != 4 || step->strides[3] > 8)
                             : !find_loop(ufunc, kinds, step->args, step))
            return 0;
    }
    for (Py_ssize_t i = 0; i < s->out.leaves; i++)
        if (s->results[i].place >= s->n_places)
            return -1;
    return 1;
}

/* signature(state, args, kwargs, statics, expected, out, results, run, steps, sizes, constants, handles) -> Signature or None */
static PyObject *make_signature(PyObject *module, PyObject *given)
{
    PyObject *state, *args, *kwargs, *statics, *expected, *out, *results, *run, *steps, *sizes, *constants;
    int handles;
    if (!PyArg_ParseTuple(given, "OO!O!O!OOOOO!O!O!p", &state, &PyTuple_Type, &args, &PyDict_Type, &kwargs, &PyTuple_Type, &statics,
                          &expected, &out, &results, &run, &PyTuple_Type, &steps, &PyTuple_Type, &sizes, &PyTuple_Type,
                          &constants, &handles))
        return NULL;
    if (handles && !handle_type) {
        PyErr_SetString(PyExc_ValueError, "bind_handles was not called");
        return NULL;
    }
    Signature *s = PyObject_GC_New(Signature, &SignatureType);
    if (!s)
        return NULL;
    memset((char *)s + offsetof(Signature, state), 0, sizeof *s - offsetof(Signature, state));
    s->handles = handles;
    s->state = Py_NewRef(state);
    s->run = Py_NewRef(run);
    s->one_step = PyObject_TypeCheck(run, &OneStepType);
    s->constants = Py_NewRef(constants);
    PyObject_GC_Track(s);
    int done = tree_add(&s->in, args);
    if (done == 1)
        done = tree_add(&s->in, kwargs);
    if (done == 1)
        done = tree_add(&s->out, out);
    if (done == 1 && (s->in.leaves > MOST_LEAVES || s->out.leaves > MOST_LEAVES))
        done = 0;
    if (done == 1 && (take_fixed(s, statics) < 0 || take_expected(s, expected) < 0 || take_results(s, results) < 0))
        done = -1;
    if (done == 1 && PyTuple_GET_SIZE(steps))
        done = take_steps(s, steps, sizes, constants);
    if (done == 1)
        return (PyObject *)s;
    Py_DECREF(s);
    if (done == 0)
        Py_RETURN_NONE;
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "signature: arguments that do not fit together");
    return NULL;
}

static Py_ssize_t offset_of(PyTypeObject *type, const char *name)
{
    PyObject *d = PyObject_GetAttrString((PyObject *)type, name);
    Py_ssize_t at = -1;
    if (d && Py_TYPE(d) == &PyMemberDescr_Type)
        at = ((PyMemberDescrObject *)d)->d_member->offset;
    else if (d)
        PyErr_Format(PyExc_TypeError, "%s is no slot", name);
    Py_XDECREF(d);
    return at;
}

static PyObject *bind(PyObject *module, PyObject *args)
{
    PyObject *type, *where;
    if (!PyArg_ParseTuple(args, "O!O", &PyType_Type, &type, &where))
        return NULL;
    PyTypeObject *t = (PyTypeObject *)type;
    host_at = offset_of(t, "_host");
    weak_at = offset_of(t, "_weak");
    graph_at = offset_of(t, "_graph");
    if (host_at < 0 || weak_at < 0 || graph_at < 0)
        return NULL;
    Py_XSETREF(flags, Py_NewRef(where));
    Py_XSETREF(array_type, (PyTypeObject *)Py_NewRef(type));
    Py_RETURN_NONE;
}

static PyObject *bind_handles(PyObject *module, PyObject *args)
{
    PyObject *type, *where, *capsule;
    if (!PyArg_ParseTuple(args, "O!OO", &PyType_Type, &type, &where, &capsule))
        return NULL;
    void **shared = PyCapsule_GetPointer(capsule, "lazynp._speed.shared");
    if (!shared)
        return NULL;
    settled = (int (*)(void))shared[0];
    lent = (PyObject *(*)(PyObject *))shared[1];
    handle_of = (PyObject *(*)(PyObject *))shared[2];
    Py_XSETREF(flags, Py_NewRef(where));
    Py_XSETREF(handle_type, (PyTypeObject *)Py_NewRef(type));
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"bind_handles", bind_handles, METH_VARARGS,
     "bind_handles(ndarray, flags, shared): the class of the NumPy door's arrays, that object, and `_speed.shared`."},
    {"bind", bind, METH_VARARGS, "bind(Array, flags): the class of arrays, and the object with the attribute `fast`."},
    {"signature", make_signature, METH_VARARGS,
     "signature(state, args, kwargs, statics, expected, out, results, run, steps, sizes, constants, handles): see "
     "`runtime/jit_calls.py`. None where these are not simple."},
    {"show", show, METH_O, "show(by): graphs are traced to be shown by so many threads more."},
    {"allow_steps", allow_steps, METH_O, "allow_steps(yes): whether calls go to compiled functions without a call of Python."},
    {"steps", count_steps, METH_NOARGS, "steps(): how many calls of compiled functions there were, and their seconds."},
    {NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_calls", .m_size = -1, .m_methods = functions,
                                        .m_doc = "Calls of compiled functions; see `lazynp/speed.py`."};

PyMODINIT_FUNC PyInit__calls(void)
{
    import_array();
    import_umath();
    PyObject *module = PyModule_Create(&definition);
    if (!module || PyType_Ready(&SignatureType) < 0)
        return NULL;
    CallableType.tp_new = PyBaseObject_Type.tp_new;
    if (PyType_Ready(&CallableType) < 0 || PyModule_AddObjectRef(module, "CallBase", (PyObject *)&CallableType) < 0)
        return NULL;
    if (PyType_Ready(&BoundaryType) < 0 || PyModule_AddObjectRef(module, "Boundary", (PyObject *)&BoundaryType) < 0)
        return NULL;
    OneStepType.tp_new = PyBaseObject_Type.tp_new;
    if (PyType_Ready(&OneStepType) < 0 || PyModule_AddObjectRef(module, "OneStepBase", (PyObject *)&OneStepType) < 0)
        return NULL;
    name_fast = PyUnicode_InternFromString("fast");
    name_slow = PyUnicode_InternFromString("_slow");
    name_delete = PyUnicode_InternFromString("_give_away");
    ours = PyUnicode_InternFromString("lazynp.");
    return name_fast && name_slow && name_delete && ours ? module : NULL;
}
