/* Elements and rows of an array that a mask or arrays of whole numbers name: reading and writing them.
 *
 * What NumPy gives, in less time: of a mask it looks for runs, which random masks do not have, and of rows (`points[near]`)
 * it makes an iterator each. Here is what numerical programs write: one mask over the first axes, or one to four arrays of
 * equal shape for them, of an array of numbers whose rows behind those axes have no gaps; for a write also behind whole axes. All else is left to NumPy, its
 * errors among it, so everything is looked at before the first element is written. */

enum { MOST_PLACES = 4, AT_ONCE = 256, ROW_BYTES = 512, FEW = 64, RARE = 20, MOSTLY = 52, FREES = 1 << 20 }; /* of FREES elements on others may run meanwhile */

typedef struct {
    PyArrayObject *keys[MOST_PLACES]; /* one mask, or as many arrays of whole numbers */
    int lead, count, axes;            /* whole axes before; how many arrays; axes that they stand for */
    npy_intp row, found;              /* bytes of what is found at a place; how many are found */
} Places;

static int is_number_array(PyObject *o)
{
    return PyArray_CheckExact(o) && (PyArray_TYPE((PyArrayObject *)o) < NPY_OBJECT || PyArray_TYPE((PyArrayObject *)o) == NPY_HALF)
           && PyArray_ISALIGNED((PyArrayObject *)o);
}

/* `:`, of a whole axis. */
static int is_whole(PyObject *o)
{
    PySliceObject *s = (PySliceObject *)o;
    return PySlice_Check(o) && s->start == Py_None && s->stop == Py_None && s->step == Py_None;
}

/* What a key names of an array: 1, or 0 where it is not one of those above. */
static int are_places(PyObject *o, PyObject *key, Places *p)
{
    PyArrayObject *h = (PyArrayObject *)o;
    PyObject *const *given = PyTuple_CheckExact(key) ? &PyTuple_GET_ITEM(key, 0) : &key;
    Py_ssize_t n = PyTuple_CheckExact(key) ? PyTuple_GET_SIZE(key) : 1;
    for (p->lead = 0; n > 1 && is_whole(given[0]); n--, given++)
        if (!is_number_array(o) || p->lead >= PyArray_NDIM(h) || !PyArray_DIM(h, p->lead++))
            return 0;
    if (n < 1 || n > MOST_PLACES || !is_number_array(o))
        return 0;
    for (int i = 0; i < n; i++) {
        if (!PyArray_CheckExact(given[i]) || !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)given[i]))
            return 0;
        p->keys[i] = (PyArrayObject *)given[i];
    }
    PyArrayObject *first = p->keys[0];
    int is_mask = PyArray_TYPE(first) == NPY_BOOL;
    p->count = (int)n;
    p->axes = is_mask ? PyArray_NDIM(first) : (int)n;
    if ((is_mask && n > 1) || !PyArray_NDIM(first) || p->lead + p->axes > PyArray_NDIM(h))
        return 0;
    p->row = PyArray_ITEMSIZE(h);
    for (int i = PyArray_NDIM(h) - 1; i >= p->lead + p->axes; i--) {
        if (PyArray_DIM(h, i) != 1 && PyArray_STRIDE(h, i) != p->row)
            return 0;
        p->row *= PyArray_DIM(h, i);
    }
    if (!p->row)
        return 0;
    if (is_mask) {
        int last = p->lead + p->axes - 1;
        if (!PyArray_CompareLists(PyArray_DIMS(first), PyArray_DIMS(h) + p->lead, p->axes)
            || (PyArray_DIM(h, last) != 1 && PyArray_STRIDE(h, last) != p->row))
            return 0;
        p->found = PyArray_CountNonzero(first);
        return 1;
    }
    for (int i = 0; i < n; i++) {
        PyArrayObject *k = p->keys[i];
        if (!PyTypeNum_ISINTEGER(PyArray_TYPE(k)) || PyArray_TYPE(k) == NPY_ULONG || PyArray_TYPE(k) == NPY_ULONGLONG || !PyArray_ISBEHAVED_RO(k) || !PyArray_SAMESHAPE(k, first))
            return 0;
    }
    p->found = PyArray_SIZE(first);
    int plain = n == 1 && p->row == PyArray_ITEMSIZE(h) && PyArray_ITEMSIZE(first) == sizeof(npy_intp);
    return !plain || p->lead || p->found <= FEW; /* many elements by one array NumPy finds as fast */
}

/* 64 bytes of a mask, each 0 or 1, as bits: of eight bytes the product has one in each of its highest bits. */
static inline npy_uint64 as_bits(const unsigned char *m)
{
    npy_uint64 bits = 0, w;
    for (int i = 0; i < 8; i++) {
        memcpy(&w, m + 8 * i, 8);
#if NPY_BYTE_ORDER == NPY_BIG_ENDIAN
        w = __builtin_bswap64(w);
#endif
        bits |= (w & 0x0101010101010101u) * 0x0102040810204080u >> 56 << 8 * i;
    }
    return bits;
}

/* What 64 bytes of a mask name: 0, nothing; 1, all, each byte being 1; -1, other. */
static inline int which(const unsigned char *m)
{
    npy_uint64 w[8], any = 0, all = -1ull;
    memcpy(w, m, sizeof w);
    for (int i = 0; i < 8; i++) {
        any |= w[i];
        all &= w[i];
    }
    return !any ? 0 : any == 0x0101010101010101u && all == any ? 1 : -1;
}

/* Rows of a run that a mask names: out of `x` to `v`, or into `x`, where v moves on by `step` or, at 0, is one row for all.
 * At most `room`; the number of those that were found. */
#define RUN(T)                                                                                                            \
    static npy_intp read_run_##T(const T *x, const unsigned char *m, npy_intp n, T *v, npy_intp room)                    \
    {                                                                                                                     \
        npy_intp i = 0, k = 0;                                                                                            \
        for (; i + 64 <= n && k + 64 <= room; i += 64) {                                                                  \
            int some = which(m + i);                                                                                      \
            if (some > 0)                                                                                                 \
                memcpy(v + k, x + i, 64 * sizeof(T));                                                                     \
            npy_uint64 bits = some < 0 ? as_bits(m + i) : 0;                                                              \
            if (__builtin_popcountll(bits) < RARE)                                                                        \
                for (; bits; bits &= bits - 1)                                                                            \
                    v[k++] = x[i + __builtin_ctzll(bits)];                                                                \
            else                                                                                                          \
                for (int j = 0; j < 64; j++) {                                                                            \
                    v[k] = x[i + j];                                                                                      \
                    k += m[i + j] != 0;                                                                                   \
                }                                                                                                         \
            k += some > 0 ? 64 : 0;                                                                                       \
        }                                                                                                                 \
        for (; i < n && k < room; i++)                                                                                    \
            if (i + 64 <= n && !which(m + i))                                                                             \
                i += 63;                                                                                                  \
            else if (m[i])                                                                                                \
                v[k++] = x[i];                                                                                            \
        return k;                                                                                                         \
    }                                                                                                                     \
    static npy_intp write_run_##T(T *x, const unsigned char *m, npy_intp n, const T *v, npy_intp room, int step)         \
    {                                                                                                                     \
        npy_intp i = 0, k = 0;                                                                                            \
        for (int some; i + 64 <= n && k < room; i += 64) {                                                                \
            if (!(some = which(m + i)))                                                                                   \
                continue;                                                                                                 \
            int all = some > 0 && k + 64 <= room;                                                                         \
            npy_uint64 bits = all ? 0 : as_bits(m + i);                                                                   \
            T one = v[k * step];                                                                                          \
            if (all && step)                                                                                              \
                memcpy(x + i, v + k, 64 * sizeof(T));                                                                     \
            for (int j = 0; all && !step && j < 64; j++)                                                                 \
                x[i + j] = one;                                                                                           \
            k += all ? 64 : 0;                                                                                            \
            if (__builtin_popcountll(bits) < MOSTLY)                                                                      \
                for (; bits && k < room; bits &= bits - 1)                                                                \
                    x[i + __builtin_ctzll(bits)] = v[k++ * step];                                                         \
            else                                                                                                          \
                for (npy_intp j = i, end; j < i + 64 && k < room; j = end + 1) {                                          \
                    npy_uint64 left = ~bits & -1ull << (j - i);                                                           \
                    for (end = left ? i + __builtin_ctzll(left) : i + 64; j < end && k < room; j++)                       \
                        x[j] = v[k++ * step];                                                                             \
                }                                                                                                         \
        }                                                                                                                 \
        for (; i < n && k < room; i++)                                                                                    \
            if (m[i])                                                                                                     \
                x[i] = v[k++ * step];                                                                                     \
        return k;                                                                                                         \
    }
RUN(npy_uint8) RUN(npy_uint16) RUN(npy_uint32) RUN(npy_uint64) RUN(two_words)
#undef RUN

static npy_intp run(char *x, const unsigned char *m, npy_intp n, char *v, npy_intp room, npy_intp row, int step, int writes)
{
#define OF(T)                                                                                                             \
    return writes ? write_run_##T((T *)x, m, n, (const T *)v, room, step) : read_run_##T((const T *)x, m, n, (T *)v, room);
    switch (row) {
        case 1: OF(npy_uint8)
        case 2: OF(npy_uint16)
        case 4: OF(npy_uint32)
        case 8: OF(npy_uint64)
        case 16: OF(two_words)
    }
#undef OF
    npy_intp k = 0;
    for (npy_intp i = 0; i < n && k < room; i++)
        if (m[i]) {
            char *a = x + i * row, *b = v + k++ * row * step;
            memcpy(writes ? a : b, writes ? b : a, (size_t)row);
        }
    return k;
}

/* All that a mask names, run after run along its last axes, as many as have no gaps; the number of rows. */
static npy_intp by_mask(PyArrayObject *h, const Places *p, char *x, char *v, int step, int writes)
{
    PyArrayObject *mask = p->keys[0];
    int outer = p->axes - 1;
    npy_intp n = PyArray_DIM(mask, outer), at[NPY_MAXDIMS] = {0}, done = 0;
    npy_intp const *strides = PyArray_STRIDES(h) + p->lead, *dims = PyArray_DIMS(h) + p->lead;
    for (; outer > 0 && (n == 0 || strides[outer - 1] == n * p->row); outer--)
        n *= PyArray_DIM(mask, outer - 1);
    const unsigned char *m = PyArray_DATA(mask), *end = m + PyArray_SIZE(mask);
    for (; m < end; m += n) {
        done += run(x, m, n, v + done * p->row * step, p->found - done, p->row, step, writes);
        for (int i = outer - 1; i >= 0; i--) {
            x += strides[i];
            if (++at[i] < dims[i])
                break;
            x -= at[i] * strides[i];
            at[i] = 0;
        }
    }
    return done;
}

enum { TAKEN, WRITTEN, ADDED, SUBTRACTED }; /* what is done with rows */

#define ADD_ROWS(T)                                                                                                       \
    static void add_rows_##T(char *x, const npy_intp *far, npy_intp n, const T *v, npy_intp row, int step, int how)      \
    {                                                                                                                     \
        npy_intp length = row / (npy_intp)sizeof(T);                                                                      \
        for (npy_intp i = 0; i < n; i++)                                                                                  \
            for (npy_intp k = 0; k < length; k++) {                                                                       \
                T *to = (T *)(x + far[i]) + k, y = v[i * length * step + k];                                              \
                *to = how == ADDED ? *to + y : *to - y;                                                                    \
            }                                                                                                             \
    }
ADD_ROWS(npy_double) ADD_ROWS(npy_float) ADD_ROWS(npy_uint64) ADD_ROWS(npy_uint32)
#undef ADD_ROWS

/* Rows at some distances from x; `type` is that of what is added. */
static void move_rows(char *x, const npy_intp *far, npy_intp n, char *v, npy_intp row, int type, int step, int how)
{
    int writes = how == WRITTEN;
    if (how > WRITTEN) {
#define OF(T) add_rows_##T(x, far, n, (const T *)v, row, step, how)
        switch (type) {
            case NPY_DOUBLE: OF(npy_double); return;
            case NPY_FLOAT: OF(npy_float); return;
            case NPY_INT32: case NPY_UINT32: OF(npy_uint32); return;
            default: OF(npy_uint64); return; /* the types that `at_places` takes are of 4 or 8 bytes */
        }
#undef OF
    }
#define ROWS(SIZE)                                                                                                        \
    if (writes)                                                                                                           \
        for (npy_intp i = 0; i < n; i++)                                                                                  \
            memcpy(x + far[i], v + i * (SIZE) * step, SIZE);                                                              \
    else                                                                                                                  \
        for (npy_intp i = 0; i < n; i++)                                                                                  \
            memcpy(v + i * (SIZE), x + far[i], SIZE);
    switch (row) {
        case 1: ROWS(1) return;
        case 2: ROWS(2) return;
        case 4: ROWS(4) return;
        case 8: ROWS(8) return;
        case 12: ROWS(12) return;
        case 16: ROWS(16) return;
        case 24: ROWS(24) return;
        case 32: ROWS(32) return;
        default: ROWS((size_t)row)
    }
#undef ROWS
}

/* Adds the distances of the places that n numbers name on an axis; whether all are on it. */
#define FAR(T)                                                                                                            \
    static int far_##T(const T *key, npy_intp n, npy_intp length, npy_intp stride, npy_intp *far)                        \
    {                                                                                                                     \
        npy_intp wrong = 0;                                                                                               \
        for (npy_intp j = 0; j < n; j++) {                                                                                \
            npy_intp place = key[j];                                                                                      \
            place += place < 0 ? length : 0;                                                                              \
            wrong |= (npy_uintp)place >= (npy_uintp)length;                                                               \
            far[j] += place * stride;                                                                                     \
        }                                                                                                                 \
        return !wrong;                                                                                                    \
    }
FAR(npy_int64) FAR(npy_int32) FAR(npy_uint32) FAR(npy_int16) FAR(npy_uint16) FAR(npy_int8) FAR(npy_uint8)
#undef FAR

/* The distances of n places, from one of those on that arrays of numbers name; whether all are places of the array. */
static int places_from(npy_intp i, npy_intp n, PyArrayObject *h, const Places *p, npy_intp *far)
{
    memset(far, 0, (size_t)n * sizeof *far);
    for (int k = 0; k < p->count; k++) {
        int size = (int)PyArray_ITEMSIZE(p->keys[k]), sign = PyTypeNum_ISSIGNED(PyArray_TYPE(p->keys[k])), inside;
        npy_intp length = PyArray_DIM(h, p->lead + k), stride = PyArray_STRIDE(h, p->lead + k);
        const char *key = PyArray_BYTES(p->keys[k]) + i * size;
#define OF(T) far_##T((const T *)key, n, length, stride, far)
        switch (size) {
            case 1: inside = sign ? OF(npy_int8) : OF(npy_uint8); break;
            case 2: inside = sign ? OF(npy_int16) : OF(npy_uint16); break;
            case 4: inside = sign ? OF(npy_int32) : OF(npy_uint32); break;
            default: inside = OF(npy_int64);
        }
#undef OF
        if (!inside)
            return 0;
    }
    return 1;
}

static int by_numbers(PyArrayObject *h, const Places *p, char *x, char *v, int step, int how)
{
    npy_intp some[AT_ONCE], at_once = how ? p->found : AT_ONCE; /* before a write all are looked at */
    npy_intp *far = at_once > AT_ONCE ? malloc((size_t)at_once * sizeof *far) : some;
    int inside = far != NULL;
    for (npy_intp i = 0, n; inside && i < p->found; i += n) {
        n = p->found - i < at_once ? p->found - i : at_once;
        if ((inside = places_from(i, n, h, p, far)))
            move_rows(x, far, n, v + i * p->row * step, p->row, PyArray_TYPE(h), step, how);
    }
    if (far != some)
        free(far);
    return inside;
}

/* Whether all that the key names was moved, for each index of the whole axes before. */
static int move_places(PyArrayObject *h, const Places *p, char *v, int step, int how)
{
    int mask = PyArray_TYPE(p->keys[0]) == NPY_BOOL, whole = 1;
    npy_intp at[NPY_MAXDIMS] = {0}, times = PyArray_MultiplyList(PyArray_DIMS(h), p->lead);
    PyThreadState *others = PyArray_SIZE(p->keys[0]) * times > FREES ? PyEval_SaveThread() : NULL;
    char *x = PyArray_BYTES(h);
    for (npy_intp k = 0; k < times && whole; k++, v += p->found * p->row * step) {
        whole = mask ? by_mask(h, p, x, v, step, how) == p->found : by_numbers(h, p, x, v, step, how);
        for (int i = p->lead - 1; i >= 0; i--) {
            x += PyArray_STRIDE(h, i);
            if (++at[i] < PyArray_DIM(h, i))
                break;
            x -= at[i] * PyArray_STRIDE(h, i);
            at[i] = 0;
        }
    }
    if (others)
        PyEval_RestoreThread(others);
    return whole;
}

/* `h[key]` as NumPy gives it. */
static PyObject *get_found(PyObject *h, PyObject *key, Places p)
{
    PyArrayObject *a = (PyArrayObject *)h, *first = p.keys[0];
    int mask = PyArray_TYPE(first) == NPY_BOOL, lead = mask ? 1 : PyArray_NDIM(first), rest = PyArray_NDIM(a) - p.axes;
    npy_intp shape[NPY_MAXDIMS];
    if (lead + rest > NPY_MAXDIMS)
        return PyObject_GetItem(h, key);
    for (int i = 0; i < lead; i++)
        shape[i] = mask ? p.found : PyArray_DIM(first, i);
    for (int i = 0; i < rest; i++)
        shape[lead + i] = PyArray_DIM(a, p.axes + i);
    Py_INCREF(PyArray_DESCR(a));
    PyObject *out = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(a), lead + rest, shape, NULL, NULL, 0, NULL);
    if (!out || move_places(a, &p, PyArray_DATA((PyArrayObject *)out), 1, TAKEN))
        return out;
    Py_DECREF(out); /* numbers that are no places, or a mask of other bytes than 0 and 1 */
    return PyObject_GetItem(h, key);
}

static PyObject *get_places(PyObject *h, PyObject *key)
{
    Places p;
    if (!are_places(h, key, &p) || p.lead) /* of which NumPy's result is in another order in memory */
        return PyObject_GetItem(h, key);
    return get_found(h, key, p);
}

/* The same where that is few elements; else NULL, without an error set. */
static PyObject *get_few(PyObject *h, PyObject *key)
{
    Places p;
    int few = are_places(h, key, &p) && !p.lead && (double)p.found * (double)p.row <= most_of((PyArrayObject *)h) * (double)PyArray_ITEMSIZE((PyArrayObject *)h);
    return few ? get_found(h, key, p) : NULL;
}

/* Whether two arrays may have memory in common. */
static int may_meet(PyArrayObject *a, PyArrayObject *b)
{
    char *low[2], *high[2];
    for (int k = 0; k < 2; k++) {
        PyArrayObject *x = k ? b : a;
        low[k] = high[k] = PyArray_BYTES(x);
        for (int i = 0; i < PyArray_NDIM(x); i++) {
            npy_intp far = (PyArray_DIM(x, i) - 1) * PyArray_STRIDE(x, i);
            low[k] += far < 0 ? far : 0;
            high[k] += far > 0 ? far : 0;
        }
        high[k] += PyArray_ITEMSIZE(x);
    }
    return low[0] < high[1] && low[1] < high[0];
}

/* Whether the value of a write is one number, of which a row is put into `item`, or an array with a row for each place: step
 * is 0 or 1. 0 where NumPy has to look at it. */
static int is_written(PyArrayObject *a, PyObject *value, const Places *p, char *item, char **v, int *step)
{
    *step = 0;
    *v = item;
    if (p->row <= ROW_BYTES && PyArray_ISNOTSWAPPED(a) && from_number(value, PyArray_TYPE(a), item)) {
        for (npy_intp size = PyArray_ITEMSIZE(a), k = size; k < p->row; k += size)
            memcpy(item + k, item, (size_t)size);
        return 1;
    }
    PyArrayObject *x = (PyArrayObject *)value;
    if (!is_number_array(value) || !PyArray_IS_C_CONTIGUOUS(x) || !PyArray_EquivTypes(PyArray_DESCR(x), PyArray_DESCR(a)) || may_meet(a, x))
        return 0;
    int mask = PyArray_TYPE(p->keys[0]) == NPY_BOOL, some = mask ? 1 : PyArray_NDIM(p->keys[0]), behind = p->lead + p->axes;
    npy_intp const *is = PyArray_DIMS(x), *dims = PyArray_DIMS(a);
    if (PyArray_NDIM(x) != p->lead + some + PyArray_NDIM(a) - behind || !PyArray_CompareLists(is, dims, p->lead)
        || !PyArray_CompareLists(is + p->lead + some, dims + behind, PyArray_NDIM(a) - behind)
        || (mask ? is[p->lead] != p->found : !PyArray_CompareLists(is + p->lead, PyArray_DIMS(p->keys[0]), some)))
        return 0;
    *v = PyArray_DATA(x);
    *step = 1;
    return 1;
}

/* What is written, or added, to places of an array: 1 where it was done, 0 where NumPy has to do it. */
static int change_places(PyObject *h, PyObject *key, PyObject *value, int how)
{
    Places p;
    PyArrayObject *a = (PyArrayObject *)h;
    _Alignas(16) char item[ROW_BYTES];
    char *v;
    int step;
    if (!are_places(h, key, &p) || !PyArray_ISWRITEABLE(a) || (unsigned)PyArray_FLAGS(a) & WARNS_ON_WRITE
        || (how > WRITTEN && PyArray_TYPE(p.keys[0]) == NPY_BOOL) || !is_written(a, value, &p, item, &v, &step))
        return 0;
    for (int i = 0; i < p.count; i++)
        if (may_meet(a, p.keys[i]))
            return 0;
    return move_places(a, &p, v, step, how);
}

/* `h[key] = value` as NumPy does it. */
static int set_places(PyObject *h, PyObject *key, PyObject *value)
{
    if (is_whole(key) && is_number_array(h) && is_number_array(value) && PyArray_ISWRITEABLE((PyArrayObject *)h)
        && !((unsigned)PyArray_FLAGS((PyArrayObject *)h) & WARNS_ON_WRITE) && PyArray_NDIM((PyArrayObject *)h)
        && PyArray_TYPE((PyArrayObject *)h) == PyArray_TYPE((PyArrayObject *)value)
        && PyArray_SAMESHAPE((PyArrayObject *)h, (PyArrayObject *)value))
        return PyArray_CopyInto((PyArrayObject *)h, (PyArrayObject *)value); /* without a view of all of it */
    return change_places(h, key, value, WRITTEN) ? 0 : PyObject_SetItem(h, key, value);
}

/* Whether it is an array of at least two dimensions, or what NumPy makes one of. -1: an error is set. */
static int has_two_axes(PyObject *key)
{
    if (PyTuple_CheckExact(key))
        return PyTuple_GET_SIZE(key) == 1 && !PyTuple_Check(PyTuple_GET_ITEM(key, 0)) ? has_two_axes(PyTuple_GET_ITEM(key, 0)) : 0;
    if (PyArray_Check(key) || !PyList_Check(key))
        return PyArray_Check(key) && PyArray_NDIM((PyArrayObject *)key) > 1;
    PyObject *made = PyArray_FROM_O(key);
    int found = made ? PyArray_NDIM((PyArrayObject *)made) > 1 : -1;
    Py_XDECREF(made);
    return found;
}

/* The value for NumPy's `f.at(x, key, value)`. NumPy's loop for vectors reads behind a value of one dimension where the key has
 * more and repeats it; one of two dimensions it repeats rightly. */
static PyObject *repeated_value(PyObject *x, PyObject *key, PyObject *value)
{
    int many = PyArray_Check(x) && PyArray_NDIM((PyArrayObject *)x) == 1 && (PyArray_Check(value) || PyList_Check(value) || PyTuple_Check(value)) ? has_two_axes(key) : 0;
    if (many <= 0)
        return many ? NULL : Py_NewRef(value);
    PyArrayObject *v = (PyArrayObject *)PyArray_FROM_O(value);
    if (!v || PyArray_NDIM(v) != 1)
        return (PyObject *)v;
    npy_intp shape[] = {1, PyArray_DIM(v, 0)};
    PyArray_Dims row = {shape, 2};
    PyObject *out = PyArray_Newshape(v, &row, NPY_ANYORDER);
    Py_DECREF(v);
    return out;
}

/* at_places(f, x, key, *value): `f.at(x, key, *value)`. */
static PyObject *at_places(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n == 4 && PyArray_CheckExact(args[1]) && PyArray_NDIM((PyArrayObject *)args[1]) > 1) { /* vectors have a loop in NumPy */
        int how = args[0] == binary_ufunc[0] ? ADDED : args[0] == binary_ufunc[1] ? SUBTRACTED : TAKEN, type = PyArray_TYPE((PyArrayObject *)args[1]);
        int known = type == NPY_DOUBLE || type == NPY_FLOAT || type == NPY_INT32 || type == NPY_UINT32 || type == NPY_INT64
                    || type == NPY_UINT64 || type == NPY_LONGLONG || type == NPY_ULONGLONG;
        if (PyArray_IsPythonScalar(args[3])) /* which is not weak here */
            known = type == (PyFloat_CheckExact(args[3]) ? NPY_DOUBLE : PyLong_CheckExact(args[3]) ? NPY_LONG : NPY_OBJECT);
        forget_errors(1);
        if (how && known && PyArray_ISNOTSWAPPED((PyArrayObject *)args[1]) && change_places(args[1], args[2], args[3], how)) {
            int raised = type == NPY_DOUBLE || type == NPY_FLOAT ? errors_seen(1) : 0;
            if (raised && tell_errors_in("at", raised) < 0)
                return NULL;
            Py_RETURN_NONE;
        }
    }
    PyObject *at = n ? PyObject_GetAttrString(args[0], "at") : NULL;
    PyObject *value = at && n == 4 ? repeated_value(args[1], args[2], args[3]) : NULL, *out = NULL;
    if (value)
        out = PyObject_Vectorcall(at, (PyObject *[]){args[1], args[2], value}, 3, NULL);
    else if (at && n != 4)
        out = PyObject_Vectorcall(at, args + 1, (size_t)n - 1, NULL);
    Py_XDECREF(value);
    Py_XDECREF(at);
    return out;
}

static PyObject *get_places_of(PyObject *module, PyObject *args)
{
    PyObject *h, *key;
    return PyArg_ParseTuple(args, "O!O", &PyArray_Type, &h, &key) ? get_places(h, key) : NULL;
}

static PyObject *set_places_of(PyObject *module, PyObject *args)
{
    PyObject *h, *key, *value;
    if (!PyArg_ParseTuple(args, "O!OO", &PyArray_Type, &h, &key, &value) || set_places(h, key, value) < 0)
        return NULL;
    Py_RETURN_NONE;
}
