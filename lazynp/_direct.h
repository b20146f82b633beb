/* Elementwise operations on small arrays without NumPy's dispatch: the inner loop of the ufunc, called on the memory.
 *
 * Values are NumPy's bit for bit, since the loops are: those in the public table of the ufunc, found by the exact types
 * of the operands, given the strides that NumPy would give them. What is left out goes to NumPy, which decides all that
 * is not plain: other types, promotion, casts, orders of axes other than C's, memory that overlaps, errors of shapes.
 */
#include <fenv.h>

#include "_loops.h"
#include "_memory.h"

/* UNLOCKED: above so many elements other threads may run, as in NumPy. */
enum { AXES = 6, OPERANDS = 3, TABLE = 512, UNLOCKED = 500 };

/* The loop of a ufunc for operands of one type. `at` is -1 where there is none that is taken; `exact`: the results are
 * the same with whatever strides and lengths it is called; `tiled`: with a number it is best called on copies of it;
 * `replayed`: replay makes C++ of it, and calls NumPy's loop of any other. */
typedef struct {
    PyUFuncObject *f;
    int type, at, result, exact, tiled, replayed;
} Loop;

static Loop loops[TABLE];
static PyUFuncObject *own[256]; /* the ufuncs of NumPy's namespace: a loop of any other may set an error, or go away */
static int owned;
static PyArray_Descr *plain_descr[NPY_CLONGDOUBLE]; /* of the types that are taken: NumPy's own, of native order */

static int is_plain_type(const PyArray_Descr *descr) /* new dtypes of others have the number -1 */
{
    return (unsigned)descr->type_num < NPY_CLONGDOUBLE && plain_descr[descr->type_num] == descr;
}


static int direct_init(void)
{
    if (begin_lines() < 0)
        return -1;
    static const int taken[] = {
        NPY_BOOL, NPY_BYTE, NPY_UBYTE, NPY_SHORT, NPY_USHORT, NPY_INT, NPY_UINT, NPY_LONG, NPY_ULONG, NPY_LONGLONG,
        NPY_ULONGLONG, NPY_FLOAT, NPY_DOUBLE, NPY_CFLOAT, NPY_CDOUBLE};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (!(plain_descr[taken[i]] = PyArray_DescrFromType(taken[i])))
            return -1;
    return 0;
}

/* NumPy's namespace holds them: they stay as long as the process. */
static int find_own(PyObject *numpy)
{
    PyObject *names = PyModule_GetDict(numpy), *key, *value;
    Py_ssize_t at = 0;
    while (names && PyDict_Next(names, &at, &key, &value))
        if (Py_TYPE(value) == &PyUFunc_Type && owned < (int)(sizeof own / sizeof *own))
            own[owned++] = (PyUFuncObject *)Py_NewRef(value);
    return names ? 0 : -1;
}

static int is_own(PyUFuncObject const *f)
{
    for (int i = 0; i < owned; i++)
        if (own[i] == f)
            return 1;
    return 0;
}

static void find_loop(Loop *loop, PyUFuncObject *f, int type)
{
    loop->f = f;
    loop->type = type;
    loop->at = -1;
    if (f->core_enabled || f->nout != 1 || f->nin < 1 || f->nin > 2 || !f->functions || !f->types || f->iter_flags
        || loop_is(f, RAISES, type))
        return;
    for (int k = 0; k < f->ntypes; k++) {
        const char *t = f->types + (Py_ssize_t)k * f->nargs;
        if (t[0] != type || t[f->nin - 1] != type)
            continue;
        if (t[f->nin] >= 0 && t[f->nin] < NPY_CLONGDOUBLE && plain_descr[(int)t[f->nin]] && f->functions[k]) {
            loop->at = k;
            loop->result = t[f->nin];
            loop->exact = type < NPY_FLOAT || loop_is(f, EXACT, type);
            loop->tiled = loop_is(f, TILED, type);
            loop->replayed = loop_is(f, REPLAYED, type);
        }
        return;
    }
}

static inline Loop *loop_of(PyUFuncObject *f, int type)
{
    Loop *loop = &loops[(((uintptr_t)f >> 4) * 31 + (unsigned)type * 7) % TABLE];
    if (loop->f != f || loop->type != type) {
        if (!is_own(f))
            return NULL;
        find_loop(loop, f, type);
    }
    return loop->at < 0 ? NULL : loop;
}

/* Numbers. */

/* A Python integer in the memory of an element, 0 where the type does not have it, or not for sure. */
static int from_long(PyObject *o, int type, char *to)
{
    int over;
    long long v = PyLong_AsLongLongAndOverflow(o, &over);
    if (over || (v == -1 && PyErr_Occurred())) {
        PyErr_Clear();
        return 0;
    }
#define INTEGER(TYPE, C, LOW, HIGH) \
    case TYPE: \
        if (v < (LOW) || v > (HIGH)) \
            return 0; \
        *(C *)to = (C)v; \
        return 1;
    switch (type) {
        INTEGER(NPY_BYTE, npy_byte, SCHAR_MIN, SCHAR_MAX) INTEGER(NPY_UBYTE, npy_ubyte, 0, UCHAR_MAX)
        INTEGER(NPY_SHORT, npy_short, SHRT_MIN, SHRT_MAX) INTEGER(NPY_USHORT, npy_ushort, 0, USHRT_MAX)
        INTEGER(NPY_INT, npy_int, INT_MIN, INT_MAX) INTEGER(NPY_UINT, npy_uint, 0, (long long)UINT_MAX)
        INTEGER(NPY_LONG, npy_long, LONG_MIN, LONG_MAX) INTEGER(NPY_LONGLONG, npy_longlong, LLONG_MIN, LLONG_MAX)
        INTEGER(NPY_ULONG, npy_ulong, 0, sizeof(long) == 8 ? LLONG_MAX : (long long)ULONG_MAX)
        INTEGER(NPY_ULONGLONG, npy_ulonglong, 0, LLONG_MAX)
    }
    long long most = 1LL << (type == NPY_DOUBLE || type == NPY_CDOUBLE ? 53 : 24);
    if (v < -most || v > most)
        return 0;
    switch (type) {
        case NPY_FLOAT: *(float *)to = (float)v; return 1;
        case NPY_DOUBLE: *(double *)to = (double)v; return 1;
        case NPY_CFLOAT: ((float *)to)[0] = (float)v, ((float *)to)[1] = 0; return 1;
        case NPY_CDOUBLE: ((double *)to)[0] = (double)v, ((double *)to)[1] = 0; return 1;
    }
    return 0;
}

/* Rounded to single precision; 0 where that overflows, of which NumPy warns, or makes a zero of what is true. */
static int narrow(double v, float *to)
{
    *to = (float)v;
    return isinf(*to) ? isinf(v) : *to != 0 || v == 0;
}

static int from_complex(double re, double im, int type, char *to)
{
    if (type == NPY_CDOUBLE) {
        ((double *)to)[0] = re, ((double *)to)[1] = im;
        return 1;
    }
    return type == NPY_CFLOAT && narrow(re, (float *)to) && narrow(im, (float *)to + 1);
}

/* A number in the memory of an element of that type, as NumPy's rules for promotion say: Python's numbers are weak,
 * NumPy's are of their type. 0 where it would not stay an operation on that type, or where it is not plain. */
static Py_NO_INLINE int from_number(PyObject *o, int type, char *to)
{
    if (PyFloat_CheckExact(o)) {
        double v = PyFloat_AS_DOUBLE(o);
        switch (type) {
            case NPY_DOUBLE: *(double *)to = v; return 1;
            case NPY_FLOAT: return narrow(v, (float *)to);
            default: return from_complex(v, 0, type, to);
        }
    }
    if (PyLong_CheckExact(o))
        return type != NPY_BOOL && from_long(o, type, to);
    if (PyComplex_CheckExact(o))
        return from_complex(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o), type, to);
    if (PyBool_Check(o)) {
        if (type == NPY_BOOL)
            *to = o == Py_True;
        return type == NPY_BOOL;
    }
#define SCALAR(TYPE, NAME) \
    case TYPE: \
        if (Py_TYPE(o) != &Py##NAME##ArrType_Type) \
            return 0; \
        memcpy(to, &PyArrayScalar_VAL(o, NAME), sizeof(PyArrayScalar_VAL(o, NAME))); \
        return 1;
    switch (type) {
        SCALAR(NPY_BOOL, Bool) SCALAR(NPY_BYTE, Byte) SCALAR(NPY_UBYTE, UByte) SCALAR(NPY_SHORT, Short)
        SCALAR(NPY_USHORT, UShort) SCALAR(NPY_INT, Int) SCALAR(NPY_UINT, UInt) SCALAR(NPY_LONG, Long)
        SCALAR(NPY_ULONG, ULong) SCALAR(NPY_LONGLONG, LongLong) SCALAR(NPY_ULONGLONG, ULongLong)
        SCALAR(NPY_FLOAT, Float) SCALAR(NPY_DOUBLE, Double) SCALAR(NPY_CFLOAT, CFloat) SCALAR(NPY_CDOUBLE, CDouble)
    }
#undef SCALAR
    return 0;
}

/* Whether an index is a whole number, and which: NPY_MIN_INTP for one that is too large. */
static inline int is_index(PyObject *o, npy_intp *k)
{
    int over = 0;
    if (PyLong_CheckExact(o))
        *k = PyLong_AsLongAndOverflow(o, &over);
    else if (Py_TYPE(o) == &PyLongArrType_Type)
        *k = PyArrayScalar_VAL(o, Long);
    else if (Py_TYPE(o) == &PyIntArrType_Type)
        *k = PyArrayScalar_VAL(o, Int);
    else
        return 0;
    if (over)
        *k = NPY_MIN_INTP;
    return 1;
}

/* Where the elements are. */

/* The last axis first. */
typedef struct {
    int nd;
    npy_intp dims[AXES], strides[OPERANDS][AXES];
    char *data[OPERANDS];
} Walk;

/* The strides of an array in the walk, 0 where it is repeated. 0 if it does not broadcast to the walk's shape. */
static int lay(Walk *w, int k, PyArrayObject *a)
{
    int nd = PyArray_NDIM(a);
    npy_intp const *dims = PyArray_DIMS(a), *strides = PyArray_STRIDES(a);
    for (int i = 0; i < w->nd; i++) {
        npy_intp n = i < nd ? dims[nd - 1 - i] : 1;
        if (n != w->dims[i] && n != 1)
            return 0;
        w->strides[k][i] = n == 1 ? 0 : strides[nd - 1 - i];
    }
    return nd <= w->nd;
}

/* Whether NumPy would walk in C's order too: no operand has a step back, or a longer step in a later axis. */
static int is_c_order(Walk const *w, int count)
{
    for (int k = 0; k < count; k++) {
        npy_intp last = 0;
        for (int i = 0; i < w->nd; i++) {
            npy_intp step = w->strides[k][i];
            if (step < 0 || (step && step < last))
                return 0;
            last = step ? step : last;
        }
    }
    return 1;
}

/* Whether the elements of the output (the last operand) are apart, and each input is in other memory, or the same. */
static int is_apart(Walk const *w, int nin, npy_intp const *size)
{
    npy_intp const *out = w->strides[nin];
    npy_intp need = size[nin];
    char *low = w->data[nin], *high = low + size[nin];
    for (int i = 0; i < w->nd; i++) {
        if (w->dims[i] == 1)
            continue;
        if (out[i] < need)
            return 0;
        need = out[i] * w->dims[i];
        high += out[i] * (w->dims[i] - 1);
    }
    for (int k = 0; k < nin; k++) {
        char *from = w->data[k], *to = from + size[k];
        int same = from == low && size[k] == size[nin];
        for (int i = 0; i < w->nd; i++) {
            npy_intp step = w->strides[k][i] * (w->dims[i] - 1);
            *(step < 0 ? &from : &to) += step;
            same = same && (w->dims[i] == 1 || w->strides[k][i] == out[i]);
        }
        if (!same && from < high && low < to)
            return 0;
    }
    return 1;
}

/* Fewer axes: without those of one element, and one of two where the outer goes on where the inner ends. */
static void coalesce(Walk *w, int count)
{
    int at = 0;
    for (int i = 1; i < w->nd; i++) {
        if (w->dims[i] == 1)
            continue;
        int goes_on = w->dims[at] != 1;
        for (int k = 0; k < count && goes_on; k++)
            goes_on = w->strides[k][i] == w->strides[k][at] * w->dims[at];
        if (goes_on) {
            w->dims[at] *= w->dims[i];
            continue;
        }
        at += w->dims[at] != 1;
        w->dims[at] = w->dims[i];
        for (int k = 0; k < count; k++)
            w->strides[k][at] = w->strides[k][i];
    }
    w->nd = at + 1;
}

static void run_loop(Walk *w, int count, PyUFuncGenericFunction function, void *data)
{
    npy_intp steps[OPERANDS], index[AXES] = {0};
    char *args[OPERANDS];
    for (int k = 0; k < count; k++)
        steps[k] = w->strides[k][0];
    for (;;) {
        npy_intp n = w->dims[0];
        memcpy(args, w->data, sizeof args); /* a loop may move them */
        function(args, &n, steps, data);
        int i = 1;
        for (; i < w->nd; i++) {
            for (int k = 0; k < count; k++)
                w->data[k] += w->strides[k][i];
            if (++index[i] < w->dims[i])
                break;
            for (int k = 0; k < count; k++)
                w->data[k] -= w->strides[k][i] * w->dims[i];
            index[i] = 0;
        }
        if (i >= w->nd)
            return;
    }
}

/* A call of many short rows (points of two or three coordinates) costs more than what is done in it. So operands that do not
 * go on from row to row, as a column or one row for all does not, are copied to where they do, some thousand at a time. */
enum { SHORT = 16, COPIED = 2048 }; /* elements of a row, bytes of a copy times 8 */

static int goes_on(Walk const *w, int k, npy_intp size)
{
    return w->strides[k][0] == size && w->strides[k][1] == size * w->dims[0];
}

#define COPY(T)                                                                                                           \
    static void copy_##T(const char *from, npy_intp rows, npy_intp n, npy_intp row, npy_intp step, T *to)                \
    {                                                                                                                     \
        for (npy_intp r = 0; r < rows; r++, from += row)                                                                  \
            for (npy_intp i = 0; i < n; i++)                                                                              \
                *to++ = *(const T *)(from + i * step);                                                                    \
    }
typedef struct { npy_uint64 a, b; } two_words;
COPY(npy_uint8) COPY(npy_uint16) COPY(npy_uint32) COPY(npy_uint64) COPY(two_words)
#undef COPY

/* Whether it was done: rows are short, and the result's lie one after the other. */
static int run_short(Walk *w, int nin, npy_intp const *size, PyUFuncGenericFunction function, void *data)
{
    npy_uint64 copies[2][COPIED];
    npy_intp n = w->dims[0], most = COPIED / 2 / n, index[AXES] = {0}; /* rows at a time, of numbers of 16 bytes */
    if (w->nd < 2 || n > SHORT || w->dims[1] < 4 || nin > 2 || !goes_on(w, nin, size[nin]))
        return 0;
    for (;;) {
        for (npy_intp done = 0, rows; done < w->dims[1]; done += rows) {
            rows = w->dims[1] - done < most ? w->dims[1] - done : most;
            npy_intp steps[OPERANDS], count = rows * n;
            char *args[OPERANDS];
            for (int k = 0; k <= nin; k++) {
                npy_intp row = w->strides[k][1], step = w->strides[k][0];
                args[k] = w->data[k] + done * row;
                steps[k] = size[k];
                if (goes_on(w, k, size[k]))
                    continue;
                switch (size[k]) {
                    case 1: copy_npy_uint8(args[k], rows, n, row, step, (npy_uint8 *)copies[k]); break;
                    case 2: copy_npy_uint16(args[k], rows, n, row, step, (npy_uint16 *)copies[k]); break;
                    case 4: copy_npy_uint32(args[k], rows, n, row, step, (npy_uint32 *)copies[k]); break;
                    case 8: copy_npy_uint64(args[k], rows, n, row, step, copies[k]); break;
                    default: copy_two_words(args[k], rows, n, row, step, (two_words *)copies[k]);
                }
                args[k] = (char *)copies[k];
            }
            function(args, &count, steps, data);
        }
        int i = 2;
        for (; i < w->nd; i++) {
            for (int k = 0; k <= nin; k++)
                w->data[k] += w->strides[k][i];
            if (++index[i] < w->dims[i])
                break;
            for (int k = 0; k <= nin; k++)
                w->data[k] -= w->strides[k][i] * w->dims[i];
            index[i] = 0;
        }
        if (i >= w->nd)
            return 1;
    }
}

/* Which of two operands is one number, where the other one and the result have no gaps. -1 for neither. */
static int one_number(Walk const *w, npy_intp size)
{
    for (int k = 0; k < 2; k++)
        if (w->nd == 1 && !w->strides[k][0] && w->strides[1 - k][0] == size && w->strides[2][0] == size)
            return k;
    return -1;
}

/* With operand k, a number, repeated in memory: for loops that are vectorized for arrays only. */
static void run_tiled(Walk *w, int k, npy_intp size, PyUFuncGenericFunction function, void *data)
{
    npy_intp tile[256], part = (npy_intp)sizeof tile / size, left = w->dims[0], steps[OPERANDS] = {size, size, size};
    npy_intp need = (left < part ? left : part) * size;
    memcpy(tile, w->data[k], (size_t)size);
    for (npy_intp have = size; have < need; have *= 2)
        memcpy((char *)tile + have, tile, (size_t)(have < need - have ? have : need - have));
    for (; left > 0; left -= part) {
        char *args[OPERANDS] = {w->data[0], w->data[1], w->data[2]};
        npy_intp n = left < part ? left : part;
        args[k] = (char *)tile;
        function(args, &n, steps, data);
        w->data[1 - k] += part * size;
        w->data[2] += part * size;
    }
}

/* The ufunc. */

#define FLAGS_SEEN (FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID)

/* Which errors of floating point there were since they were forgotten. What replay would write C++ of (`plain`) is computed with the
 * registers of SSE, which have flags of their own. C's library and some loops of NumPy's tell of errors by those of the older unit,
 * and to ask for these takes as long as to add ten numbers. */
#if defined(__GNUC__) && defined(__x86_64__)
#include <xmmintrin.h>
_Static_assert(FE_INVALID == _MM_EXCEPT_INVALID && FE_DIVBYZERO == _MM_EXCEPT_DIV_ZERO && FE_OVERFLOW == _MM_EXCEPT_OVERFLOW
                   && FE_UNDERFLOW == _MM_EXCEPT_UNDERFLOW,
               "the same bits");
static inline int errors_seen(int plain) { return plain ? (int)_mm_getcsr() & FLAGS_SEEN : fetestexcept(FLAGS_SEEN); }

static inline void forget_errors(int plain)
{
    unsigned now = _mm_getcsr();
    if (!plain && fetestexcept(FLAGS_SEEN))
        feclearexcept(FLAGS_SEEN);
    else if (now & FLAGS_SEEN)
        _mm_setcsr(now & ~(unsigned)FLAGS_SEEN);
}
#else
static inline int errors_seen(int plain) { return fetestexcept(FLAGS_SEEN); }

static inline void forget_errors(int plain)
{
    if (errors_seen(plain))
        feclearexcept(FLAGS_SEEN);
}
#endif

static Py_NO_INLINE int tell_errors_in(char const *name, int raised)
{
    int told = (raised & FE_DIVBYZERO ? NPY_FPE_DIVIDEBYZERO : 0) | (raised & FE_OVERFLOW ? NPY_FPE_OVERFLOW : 0)
               | (raised & FE_UNDERFLOW ? NPY_FPE_UNDERFLOW : 0) | (raised & FE_INVALID ? NPY_FPE_INVALID : 0);
    return PyUFunc_GiveFloatingpointErrors(name, told);
}

static int tell_errors(PyUFuncObject *f, int raised) { return tell_errors_in(f->name, raised); }

/* The same for a single element. NumPy gives its loop the arrays' own steps where all have the same number of axes and the
 * output is apart from what is read, and else none: so its loops take an operation in place for a reduction, and not all
 * of them compute the same without steps. */
static int lay_single(Walk *w, PyArrayObject *const *arrays, int count, int nin, int nd, npy_intp const *size)
{
    int stepped = 1;
    for (int k = 0; k < count; k++) {
        PyArrayObject *a = arrays[k];
        if (a && PyArray_SIZE(a) != 1)
            return 0;
        int axes = a ? PyArray_NDIM(a) : 0;
        stepped = stepped && (!axes || axes == nd);
        if (count > nin && k < nin)
            stepped = stepped && (w->data[k] >= w->data[nin] + size[nin] || w->data[nin] >= w->data[k] + size[k]);
        else if (k == nin)
            stepped = stepped && (nd > 1 || !PyArray_STRIDE(a, 0) || PyArray_STRIDE(a, 0) >= size[k]);
        w->strides[k][0] = !axes ? 0 : nd == 1 ? PyArray_STRIDE(a, 0) : size[k];
    }
    w->strides[nin][0] = count > nin ? w->strides[nin][0] : size[nin];
    for (int k = 0; k <= nin && !stepped; k++)
        w->strides[k][0] = 0;
    return 1;
}

/* One step through all elements, where all arrays have the same shape and no gaps. 0 where they have not. */
static int lay_flat(Walk *w, PyArrayObject *const *arrays, int count, int nin, PyArrayObject *like, npy_intp const *size)
{
    int nd = PyArray_NDIM(like);
    w->nd = 1;
    w->dims[0] = PyArray_MultiplyList(PyArray_DIMS(like), nd);
    if (w->dims[0] == 1)
        return lay_single(w, arrays, count, nin, nd, size);
    for (int k = 0; k < count; k++) {
        PyArrayObject *a = arrays[k];
        if (!a || !PyArray_NDIM(a))
            w->strides[k][0] = 0;
        else if (PyArray_NDIM(a) == nd && (nd == 1 || PyArray_IS_C_CONTIGUOUS(a))
                 && (a == like || !memcmp(PyArray_DIMS(a), PyArray_DIMS(like), (size_t)nd * sizeof(npy_intp))))
            w->strides[k][0] = nd == 1 ? PyArray_STRIDE(a, 0) : size[k];
        else
            return 0;
    }
    w->strides[nin][0] = count > nin ? w->strides[nin][0] : size[nin];
    return 1;
}

/* The axes of the result, and the strides of each operand in them: those of `like` where that is the output. 0 where
 * the shapes do not go together, or where NumPy would take another order. */
static int lay_rows(Walk *w, PyArrayObject *const *arrays, int count, PyArrayObject *like, int given)
{
    int nd = w->nd = PyArray_NDIM(like);
    for (int i = 0; i < nd; i++)
        w->dims[i] = PyArray_DIM(like, nd - 1 - i);
    for (int k = 0; k < count && !given; k++) /* a length of 1 gives way to the other's */
        for (int i = 0, n = arrays[k] ? PyArray_NDIM(arrays[k]) : 0; i < n; i++)
            if (w->dims[i] == 1)
                w->dims[i] = PyArray_DIM(arrays[k], n - 1 - i);
    for (int k = 0; k < count; k++)
        if (!arrays[k])
            memset(w->strides[k], 0, sizeof w->strides[k]);
        else if (!lay(w, k, arrays[k]))
            return 0;
    return is_c_order(w, count);
}

/* f(*in), or f(*in, out=out), where `in` are NumPy's arrays and numbers. The result as a new reference; NULL with an
 * error set, or with none: then nothing was done, and it is for NumPy. */
static PyObject *direct(PyUFuncObject *f, PyObject *const *in, int nin, PyObject *given)
{
    PyArrayObject *arrays[OPERANDS] = {NULL}, *out = (PyArrayObject *)given, *like = NULL;
    PyArray_Descr *descr = NULL;
    npy_intp numbers[2][2], size[OPERANDS], shape[AXES], *dims; /* a complex number has room in two */
    Walk w;

    for (int k = 0; k < nin; k++)
        if (PyArray_CheckExact(in[k])) {
            PyArrayObject *a = arrays[k] = (PyArrayObject *)in[k];
            if ((descr && PyArray_DESCR(a) != descr) || !PyArray_ISALIGNED(a))
                return NULL;
            descr = PyArray_DESCR(a);
            if (!like || PyArray_NDIM(a) > PyArray_NDIM(like))
                like = a;
        }
    if (!like || !PyArray_NDIM(like)) /* NumPy makes a number of it */
        return NULL;
    int type = descr->type_num;
    Loop *found = is_plain_type(descr) ? loop_of(f, type) : NULL;
    if (!found)
        return NULL;
    for (int k = 0; k < nin; k++) {
        size[k] = PyDataType_ELSIZE(descr);
        if (!arrays[k] && !from_number(in[k], type, (char *)numbers[k]))
            return NULL;
        w.data[k] = arrays[k] ? PyArray_BYTES(arrays[k]) : (char *)numbers[k];
    }
    PyArray_Descr *made = plain_descr[found->result];
    size[nin] = PyDataType_ELSIZE(made);
    int count = nin;
    if (out) { /* of which flags below 0 say that a write is to be warned of */
        if (PyArray_DESCR(out) != made || !PyArray_ISBEHAVED(out) || PyArray_FLAGS(out) < 0
            || PyArray_NDIM(out) < PyArray_NDIM(like))
            return NULL;
        like = arrays[count++] = out;
        w.data[nin] = PyArray_BYTES(out);
    }

    int nd = PyArray_NDIM(like), flat = lay_flat(&w, arrays, count, nin, like, size);
    npy_intp total = 1;
    if (flat) {
        total = w.dims[0];
        dims = PyArray_DIMS(like);
    }
    else {
        if (nd > AXES || !found->exact || !lay_rows(&w, arrays, count, like, out != NULL))
            return NULL;
        for (int i = 0; i < nd; i++) {
            if (!out)
                w.strides[nin][i] = size[nin] * total;
            total *= shape[nd - 1 - i] = w.dims[i];
        }
        dims = shape;
        /* NumPy's iterator would fill a buffer with the rows' numbers: many rows are faster there. */
        if (found->tiled && total > UNLOCKED && nd > 1 && nin == 2 && w.dims[0] > SHORT && (!w.strides[0][0] || !w.strides[1][0]))
            return NULL;
    }
    if (!total || (out && !is_apart(&w, nin, size)))
        return NULL;
    if (out)
        Py_INCREF(out);
    else {
        out = new_array(made, nd, dims);
        if (!out)
            return NULL;
        w.data[nin] = PyArray_BYTES(out);
    }
    if (!flat)
        coalesce(&w, nin + 1);

    void *data;
    PyUFuncGenericFunction function = loop_at(f, found->at, &data);
    int tiled = found->tiled && nin == 2 && total > 32 ? one_number(&w, size[0]) : -1;
    forget_errors(found->replayed);
    PyThreadState *save = NULL;
    if (total > UNLOCKED) {
        Py_INCREF(in[0]); /* another thread may take them from their handles */
        Py_INCREF(in[nin - 1]);
        save = PyEval_SaveThread();
    }
    if (tiled >= 0)
        run_tiled(&w, tiled, size[0], function, data);
    else if (!found->exact || !run_short(&w, nin, size, function, data))
        run_loop(&w, nin + 1, function, data);
    if (save) {
        PyEval_RestoreThread(save);
        Py_DECREF(in[0]);
        Py_DECREF(in[nin - 1]);
    }
    int raised = errors_seen(found->replayed);
    if (raised && tell_errors(f, raised) < 0)
        Py_CLEAR(out);
    return (PyObject *)out;
}

/* A product of vectors and matrices of one type, by NumPy's loop of `matmul`, to which a vector is a matrix of one row or one
 * column. NULL with an error set, or with none: then it is for NumPy. */
static PyObject *direct_product(PyUFuncObject *f, PyObject *x, PyObject *y)
{
    enum { LARGE = 1 << 14 }; /* products, above which other threads may run */
    PyArrayObject *a = (PyArrayObject *)x, *b = (PyArrayObject *)y, *out = NULL;
    if (!f || !PyArray_CheckExact(x) || !PyArray_CheckExact(y) || PyArray_DESCR(a) != PyArray_DESCR(b))
        return NULL;
    int type = PyArray_TYPE(a), left = PyArray_NDIM(a), right = PyArray_NDIM(b), at = 0;
    if (!is_plain_type(PyArray_DESCR(a)) || left < 1 || left > 2 || right < 1 || right > 2
        || !PyArray_ISALIGNED(a) || !PyArray_ISALIGNED(b) || PyArray_DIM(a, left - 1) != PyArray_DIM(b, 0))
        return NULL;
    while (at < f->ntypes && f->types[3 * at] != type)
        at++;
    if (at == f->ntypes || f->types[3 * at + 1] != type || f->types[3 * at + 2] != type || !f->functions[at])
        return NULL;
    npy_intp rows = left > 1 ? PyArray_DIM(a, 0) : 1, columns = right > 1 ? PyArray_DIM(b, 1) : 1, n = PyArray_DIM(b, 0);
    npy_intp item = PyArray_ITEMSIZE(a), shape[2] = {left > 1 ? rows : columns, columns}, number[2];
    if (!rows || !columns || !n)
        return NULL;
    int made = left + right - 2;
    if (made && !(out = new_array(PyArray_DESCR(a), made, shape)))
        return NULL;
    char *args[3] = {PyArray_BYTES(a), PyArray_BYTES(b), out ? PyArray_BYTES(out) : (char *)number};
    npy_intp sizes[4] = {1, rows, n, columns};
    npy_intp steps[9] = {0, 0, 0, left > 1 ? PyArray_STRIDE(a, 0) : 0, PyArray_STRIDE(a, left - 1), PyArray_STRIDE(b, 0),
                         right > 1 ? PyArray_STRIDE(b, 1) : 0, left > 1 ? (right > 1 ? columns : 1) * item : 0, right > 1 ? item : 0};
    forget_errors(1);
    PyThreadState *save = NULL;
    Py_INCREF(a); /* another thread may take them from their handles */
    Py_INCREF(b);
    if ((double)rows * (double)columns * (double)n > LARGE)
        save = PyEval_SaveThread();
    f->functions[at](args, sizes, steps, f->data ? f->data[at] : NULL);
    if (save)
        PyEval_RestoreThread(save);
    Py_DECREF(a);
    Py_DECREF(b);
    int raised = errors_seen(1);
    if (raised && tell_errors(f, raised) < 0) {
        Py_XDECREF(out);
        return NULL;
    }
    return out ? (PyObject *)out : PyArray_Scalar(number, plain_descr[type], NULL);
}

/* Reductions of arrays in C's order: of all elements, along an axis or along neighbouring ones. */

/* What a call of one asks for. */
typedef struct {
    int which, keep, count;
    long axis[AXES]; /* as given: `count` of them; 0: all */
} Reduction;

/* What is given for `axis`: None, a number or a tuple of numbers. 0 where it is anything else. */
static int read_axes(PyObject *along, Reduction *r)
{
    int tuple = along && PyTuple_CheckExact(along);
    Py_ssize_t n = tuple ? PyTuple_GET_SIZE(along) : along && along != Py_None;
    if (n > AXES || (tuple && !n))
        return 0;
    for (r->count = 0; r->count < n; r->count++) {
        PyObject *number = tuple ? PyTuple_GET_ITEM(along, r->count) : along;
        if (!PyLong_CheckExact(number))
            return 0;
        if ((r->axis[r->count] = PyLong_AsLong(number)) == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
    }
    return 1;
}

/* The axes along which an array with nd axes is reduced, from the first on. 0 where they are no neighbours, or there are none such. */
static int are_neighbours(Reduction const *r, int nd, int *first, int *count)
{
    *first = 0;
    *count = r->count ? r->count : nd;
    for (int i = 0; i < r->count; i++) {
        long axis = r->axis[i] + (r->axis[i] < 0 ? nd : 0);
        if (!i)
            *first = (int)axis;
        if (axis < 0 || axis >= nd || axis != *first + i)
            return 0;
    }
    return nd > 0;
}

static PyObject *reduction_ufunc[REDUCTIONS];
static int in_order = -1; /* whether NumPy was found to add in the order that is taken here; -1: not looked at */
static npy_intp most_reduced; /* elements of an array in which it does: older ones add parts of BUFFERED elements */

/* Whether the reduction keeps the type, in NumPy too: sums of short integers do not. */
static int keeps_type(int which, int type)
{
    int is_float = type == NPY_FLOAT || type == NPY_DOUBLE;
    int is_long = type >= NPY_LONG && type <= NPY_ULONGLONG;
    if (which == MEAN)
        return is_float;
    if (which == ANY || which == ALL)
        return type == NPY_BOOL;
    return is_float || (which == SUM || which == PROD ? is_long : type != NPY_BOOL && type < NPY_FLOAT);
}

#include "_short.h"

/* The value to begin with: of an extreme it is the first element. */
static int begin(int which, int type, char *to, char const *from, npy_intp size)
{
    if (which == MAX || which == MIN) {
        memcpy(to, from, (size_t)size);
        return 1;
    }
    memset(to, 0, (size_t)size);
    if (which == PROD && type == NPY_FLOAT)
        *(float *)to = 1;
    else if (which == PROD && type == NPY_DOUBLE)
        *(double *)to = 1;
    else if (which == PROD && size == sizeof(long long))
        *(long long *)to = 1;
    else if (which == PROD && size == sizeof(long))
        *(long *)to = 1;
    else if (which == ALL)
        *to = 1;
    return 0;
}

/* As NumPy divides: a sum in single precision and a count make a double, which is rounded. */
static void divide(char *sums, npy_intp count, npy_intp by, int type)
{
    for (npy_intp i = 0; i < count; i++)
        if (type == NPY_DOUBLE)
            ((double *)sums)[i] /= (double)by;
        else
            ((float *)sums)[i] = (float)((double)((float *)sums)[i] / (double)by);
}

enum { BUFFERED = 8192 }; /* elements that NumPy copies to add what does not lie in one line */

/* A reduction of `outer` blocks of n rows with `inner` elements each, along the rows, in NumPy's order of adding. It is called as a
 * ufunc's loop is.
 *
 * args: the first element and the first result. sizes: outer, n, inner. steps: which reduction it is, and from one element to the next,
 * in bytes: more than an element only where there is one row. at: the place of the ufunc's loop. */
static void reduce_blocks(char **args, npy_intp const *sizes, npy_intp const *steps, void *at)
{
    int which = (int)steps[0];
    PyUFuncObject *f = (PyUFuncObject *)reduction_ufunc[which];
    intptr_t place = (intptr_t)at;
    int type = f->types[3 * place];
    npy_intp outer = sizes[0], n = sizes[1], inner = sizes[2], size = PyDataType_ELSIZE(plain_descr[type]);
    char *from = args[0], *to = args[1];
    PyUFuncGenericFunction function = f->functions[place];
    void *data = f->data ? f->data[place] : NULL;
    if (steps[1] == size && reduce_short(which, type, from, outer, n, inner, to)) {
    }
    else if (inner > 1) /* each row goes to all results of its block */
        for (npy_intp o = 0; o < outer; o++) {
            char *results = to + o * inner * size, *block = from + o * n * inner * size;
            npy_intp each[3] = {size, size, size};
            int taken = which == MAX || which == MIN;
            if (taken)
                memcpy(results, block, (size_t)(inner * size));
            else if (which == PROD || which == ALL)
                for (npy_intp i = 0; i < inner; i++)
                    begin(which, type, results + i * size, block, size);
            else
                memset(results, 0, (size_t)(inner * size));
            for (npy_intp i = taken; i < n; i++) {
                char *row[3] = {results, block + i * inner * size, results};
                function(row, &inner, each, data);
            }
        }
    else /* each result takes a row */
        for (npy_intp o = 0; o < outer; o++) {
            char *result = to + o * size, *row = from + o * n * size;
            int taken = begin(which, type, result, row, size);
            char *elements[3] = {result, row + taken * steps[1], result};
            npy_intp rest = n - taken, along[3] = {0, steps[1], 0};
            if (rest)
                function(elements, &rest, along, data);
        }
    if (which == MEAN)
        divide(to, outer * inner, n, type);
}

/* Whether elements lie in C's order with gaps between them, and NumPy reduces them like a copy without. It does not where of
 * two zeros the larger is asked for. */
static int lies_apart(PyArrayObject *a, int which)
{
    if ((which == MAX || which == MIN) && PyTypeNum_ISFLOAT(PyArray_TYPE(a)))
        return 0;
    npy_intp next = 0, total = 1;
    for (int d = PyArray_NDIM(a) - 1; d >= 0; d--) {
        npy_intp n = PyArray_DIM(a, d), stride = PyArray_STRIDE(a, d);
        total *= n;
        if (stride <= 0 || stride < next || total > BUFFERED)
            return 0;
        next = stride * n;
    }
    return PyArray_ISALIGNED(a) && PyArray_ISNOTSWAPPED(a);
}

/* The reduction of `a`: an array or NumPy's scalar. NULL with no error set where it is for NumPy, as nearly all is of which it
 * would warn. */
static PyObject *direct_reduce(Reduction const *r, PyArrayObject *a)
{
    PyArray_Descr *descr = PyArray_DESCR(a);
    int nd = PyArray_NDIM(a), type = descr->type_num, first, count;
    npy_intp const *dims = PyArray_DIMS(a);
    if (nd > AXES || !are_neighbours(r, nd, &first, &count) || !is_plain_type(descr)
        || !keeps_type(r->which, type))
        return NULL;
    if (!PyArray_ISCARRAY_RO(a)) {
        int alike = (count == 1 || count == nd) && lies_apart(a, r->which);
        PyArrayObject *copy = alike ? (PyArrayObject *)PyArray_NewCopy(a, NPY_CORDER) : NULL;
        PyObject *of_copy = copy ? direct_reduce(r, copy) : NULL;
        Py_XDECREF(copy);
        return of_copy;
    }
    Loop *found = loop_of((PyUFuncObject *)reduction_ufunc[r->which], type);
    npy_intp total = PyArray_SIZE(a), size = PyDataType_ELSIZE(descr), shape[AXES];
    if (!found || found->result != type || !total || total > most_reduced)
        return NULL;
    int made = 0;
    for (int i = 0; i < nd; i++)
        if (r->keep || i < first || i >= first + count)
            shape[made++] = i < first || i >= first + count ? dims[i] : 1;
    npy_intp number[2];
    char *args[2] = {PyArray_BYTES(a), (char *)number};
    PyObject *out = NULL;
    if (made) {
        out = (PyObject *)new_array(descr, made, shape);
        if (!out)
            return NULL;
        args[1] = PyArray_BYTES((PyArrayObject *)out);
    }
    npy_intp sizes[3] = {PyArray_MultiplyList(dims, first), PyArray_MultiplyList(dims + first, count),
                         PyArray_MultiplyList(dims + first + count, nd - first - count)};
    npy_intp steps[2] = {r->which, size};
    forget_errors(1);
    PyThreadState *save = NULL;
    if (total > UNLOCKED) {
        Py_INCREF(a);
        save = PyEval_SaveThread();
    }
    reduce_blocks(args, sizes, steps, (void *)(intptr_t)found->at);
    if (save) {
        PyEval_RestoreThread(save);
        Py_DECREF(a);
    }
    int raised = errors_seen(1);
    /* A product that becomes too small is told of as NumPy's loop does, which is mostly not at all: no second run. */
    if (raised && (raised != FE_UNDERFLOW || r->which != PROD
                   || PyUFunc_GiveFloatingpointErrors("reduce", NPY_FPE_UNDERFLOW) < 0)) {
        Py_XDECREF(out);
        return NULL;
    }
    return out ? out : PyArray_Scalar(number, descr, NULL);
}

/* Whether NumPy adds blocks of rows of that shape, with a gap between rows, in the order that `direct_reduce` does: values whose sums
 * are rounded tell. */
static int adds_alike(PyUFuncObject *add, int type, npy_intp const *shape)
{
    npy_intp gap = shape[3], dims[3] = {shape[0], shape[1], shape[2] + gap};
    PyArrayObject *a = (PyArrayObject *)PyArray_SimpleNew(3, dims, type);
    unsigned seed = 17;
    for (npy_intp i = 0; a && i < PyArray_MultiplyList(dims, 3); i++) {
        seed = seed * 1664525u + 1013904223u;
        double v = ((double)(seed >> 8) - 8e6) / 3 / (1 << (seed >> 28)); /* no sum of which is exact */
        if (type == NPY_DOUBLE)
            ((double *)PyArray_DATA(a))[i] = v;
        else
            ((float *)PyArray_DATA(a))[i] = (float)v;
    }
    dims[2] -= gap;
    PyObject *part = a ? PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(PyArray_DESCR(a)), 3, dims, PyArray_STRIDES(a),
                                              PyArray_BYTES(a), NPY_ARRAY_ALIGNED, NULL) : NULL;
    if (part && PyArray_SetBaseObject((PyArrayObject *)part, (PyObject *)a) < 0)
        Py_CLEAR(part);
    else if (!part)
        Py_XDECREF(a);
    a = (PyArrayObject *)part;
    if (a)
        PyArray_UpdateFlags(a, NPY_ARRAY_UPDATE_ALL);
    int alike = a != NULL;
    static const Reduction all[] = {{SUM, 1, 0, {0}},    {SUM, 1, 1, {0}},    {SUM, 1, 1, {1}},
                                    {SUM, 1, 1, {2}},    {SUM, 1, 2, {0, 1}}, {SUM, 1, 2, {1, 2}}};
    for (int k = 0; k < (gap ? 4 : 6) && alike; k++) {
        Reduction const *r = &all[k];
        PyObject *given = !r->count ? Py_NewRef(Py_None) : Py_BuildValue(r->count > 1 ? "(ll)" : "l", r->axis[0], r->axis[1]);
        PyObject *want = NULL, *got = NULL;
        if (given)
            want = PyObject_CallMethod((PyObject *)add, "reduce", "OOOOO", a, given, Py_None, Py_None, Py_True);
        if (want && PyArray_CheckExact(want))
            got = direct_reduce(r, a);
        PyArrayObject *x = (PyArrayObject *)want, *y = (PyArrayObject *)got;
        alike = got && PyArray_NBYTES(x) == PyArray_NBYTES(y)
                && !memcmp(PyArray_DATA(x), PyArray_DATA(y), (size_t)PyArray_NBYTES(y));
        Py_XDECREF(given);
        Py_XDECREF(want);
        Py_XDECREF(got);
    }
    Py_XDECREF(a);
    PyErr_Clear();
    return alike;
}

/* The order is no promise of NumPy's, so each version is asked before sums are taken from it. */
static void check_order(void)
{
    PyUFuncObject *add = (PyUFuncObject *)reduction_ufunc[SUM];
    static const npy_intp shapes[][4] = {{1, 1, 1003, 0}, {1, 17, 59, 0}, {1, 59, 17, 0}, {1, 300, 3, 0}, {1, 8, 8, 3}, {1, 20, 390, 1},
                                         {7, 19, 3, 0}, {5, 12, 41, 0}, {4, 3, 130, 0}, {11, 2, 5, 1}, {9, 140, 2, 0},
                                         {1, 1, BUFFERED + 900, 0}, {1, 93, 101, 0}};
    enum { LARGE = 2, SHAPES = sizeof shapes / sizeof *shapes };
    int found = add != NULL;
    most_reduced = NPY_MAX_INTP;
    in_order = 0; /* for who comes meanwhile */
    for (int i = 0; i < SHAPES && found && most_reduced > BUFFERED; i++) {
        int alike = adds_alike(add, NPY_DOUBLE, shapes[i])
                    && adds_alike(add, NPY_FLOAT, shapes[i]);
        found = alike || i >= SHAPES - LARGE;
        if (!alike)
            most_reduced = BUFFERED;
    }
    in_order = found;
}

/* Whether a reduction may be done by `direct_reduce`; REDUCTIONS is none. */
static int is_direct(int which)
{
    if (which != REDUCTIONS && in_order < 0)
        check_order();
    return which != REDUCTIONS && in_order && reduction_ufunc[which];
}
