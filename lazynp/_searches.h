/* numpy.searchsorted of many keys in a short table: the steps of a binary search of several keys at once, without
 * branches, which the processor guesses wrong half of the time where keys come in no order. */

enum { KEYS = 64 };

/* `BELOW` tells whether an element of the table lies before a key; the place is how many do. */
#define SEARCH(T, NAME, BELOW)                                                                                          \
    CLONES static void NAME(const T *table, int32_t n, const T *keys, npy_intp *out, npy_intp count)                    \
    {                                                                                                                   \
        for (npy_intp start = 0; start < count; start += KEYS, keys += KEYS, out += KEYS) {                             \
            int32_t at[KEYS] = {0}, many = count - start < KEYS ? (int32_t)(count - start) : KEYS;                      \
            T key[KEYS] = {0};                                                                                          \
            for (int i = 0; i < many; i++) key[i] = keys[i];                                                            \
            for (int32_t left = n; left > 1; left -= left / 2) {                                                        \
                int32_t half = left / 2;                                                                                \
                const T *middle = table + half - 1;                                                                     \
                for (int i = 0; i < KEYS; i++) at[i] += half & -(int32_t)BELOW(middle[at[i]], key[i]);                  \
            }                                                                                                           \
            for (int i = 0; i < KEYS; i++) at[i] += (int32_t)BELOW(table[at[i]], key[i]);                               \
            for (int i = 0; i < many; i++) out[i] = at[i];                                                              \
        }                                                                                                               \
    }
#define LESS(x, key) (x < key)
#define LESS_NAN(x, key) (!(x >= key)) /* of a table without NaN: a key that is NaN comes last */
#define NOT_ABOVE(x, key) (!(x > key))
SEARCH(double, search_left_d, LESS_NAN)
SEARCH(float, search_left_f, LESS_NAN)
SEARCH(int64_t, search_left_l, LESS)
SEARCH(int32_t, search_left_i, LESS)
SEARCH(double, search_right_d, NOT_ABOVE)
SEARCH(float, search_right_f, NOT_ABOVE)
SEARCH(int64_t, search_right_l, NOT_ABOVE)
SEARCH(int32_t, search_right_i, NOT_ABOVE)

#define FINEST 1e30
#define MOST_EVEN (1 << 20)
/* numpy.histogram: how many keys lie in each bin, which begins at its edge and ends before the next one; the last one has
 * both. `even`: all bins have one width, so that a key's is found by a product, right but for the one beside. counts has a
 * place more, for keys in no bin. Keys are counted in
 * two tables in turn, so that none waits for the one before it in its bin. */
#define TALLY(T, NAME)                                                                                                  \
    CLONES static void NAME(const T *edges, int32_t n, int even, const T *keys, npy_intp count, int64_t *counts)        \
    {                                                                                                                   \
        T first = edges[0], last = edges[n], scale = (T)(n / ((double)last - (double)first)), top = (T)(n - 1);         \
        even = even && scale > 0 && scale <= FINEST && n <= MOST_EVEN; /* else the product may be off by more */        \
        for (npy_intp start = 0; start < count; start += KEYS, keys += KEYS) {                                          \
            int32_t at[KEYS], many = count - start < KEYS ? (int32_t)(count - start) : KEYS;                            \
            T key[KEYS];                                                                                                \
            for (int i = 0; i < many; i++) key[i] = keys[i];                                                            \
            for (int i = many; i < KEYS; i++) key[i] = first;                                                           \
            if (even)                                                                                                   \
                for (int i = 0; i < KEYS; i++) {                                                                        \
                    T place = (key[i] - first) * scale;                                                                 \
                    place = place > 0 ? place : 0;                                                                      \
                    at[i] = (int32_t)(place < top ? place : top);                                                       \
                }                                                                                                       \
            else {                                                                                                      \
                for (int i = 0; i < KEYS; i++) at[i] = 0;                                                               \
                for (int32_t left = n; left > 1; left -= left / 2) {                                                    \
                    int32_t half = left / 2;                                                                            \
                    const T *middle = edges + half;                                                                     \
                    for (int i = 0; i < KEYS; i++) at[i] += half & -(int32_t)(middle[at[i]] <= key[i]);                 \
                }                                                                                                       \
            }                                                                                                           \
            for (int i = 0; i < KEYS; i++) {                                                                            \
                int32_t place = at[i] - ((int32_t)(key[i] < edges[at[i]]) & (int32_t)(at[i] > 0));                      \
                place += (int32_t)(key[i] >= edges[place + 1]) & (int32_t)(place < n - 1);                              \
                int32_t outside = (int32_t)((key[i] >= first) & (key[i] <= last)) - 1;                                  \
                at[i] = (place & ~outside) | (n & outside);                                                             \
            }                                                                                                           \
            for (int i = 0; i < many; i++) counts[at[i] + (i & 1) * (n + 1)]++;                                         \
        }                                                                                                               \
    }
TALLY(double, tally_d)
TALLY(float, tally_f)

/* tally(edges, keys, counts, even, kind): n + 1 edges that ascend, and twice n + 1 counts, to which is added. */
static PyObject *tally(PyObject *module, PyObject *args)
{
    Py_buffer edges, keys, counts;
    int even, kind;
    if (!PyArg_ParseTuple(args, "y*y*w*pC", &edges, &keys, &counts, &even, &kind)) return NULL;
    Py_ssize_t size = kind == 'd' ? 8 : 4, n = edges.len / size - 1;
    int good = n > 0 && n < 1 << 30 && counts.len == 16 * (n + 1) && (kind == 'd' || kind == 'f');
    if (good) {
        Py_BEGIN_ALLOW_THREADS
        if (kind == 'd') tally_d(edges.buf, (int32_t)n, even, keys.buf, keys.len / 8, counts.buf);
        else tally_f(edges.buf, (int32_t)n, even, keys.buf, keys.len / 4, counts.buf);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&edges);
    PyBuffer_Release(&keys);
    PyBuffer_Release(&counts);
    if (!good) return PyErr_Format(PyExc_ValueError, "bad arguments of tally");
    Py_RETURN_NONE;
}

/* search(table, keys, out, right, kind): buffers without gaps; the table ascends, has 1 to 2**30 elements and no NaN. */
static PyObject *search(PyObject *module, PyObject *args)
{
    Py_buffer table, keys, out;
    int right, kind;
    if (!PyArg_ParseTuple(args, "y*y*w*pC", &table, &keys, &out, &right, &kind)) return NULL;
    Py_ssize_t size = kind == 'd' || kind == 'l' ? 8 : kind == 'f' || kind == 'i' ? 4 : 0, n = size ? table.len / size : 0;
    int good = n > 0 && n <= 1 << 30 && out.len / (Py_ssize_t)sizeof(npy_intp) == keys.len / size;
    if (good) {
        Py_BEGIN_ALLOW_THREADS
        npy_intp count = keys.len / size;
#define BY(T, letter)                                                                                                   \
    (right ? search_right_##letter : search_left_##letter)((const T *)table.buf, (int32_t)n, keys.buf, out.buf, count)
        if (kind == 'd') BY(double, d);
        else if (kind == 'f') BY(float, f);
        else if (kind == 'l') BY(int64_t, l);
        else BY(int32_t, i);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&table);
    PyBuffer_Release(&keys);
    PyBuffer_Release(&out);
    if (!good) return PyErr_Format(PyExc_ValueError, "bad arguments of search");
    Py_RETURN_NONE;
}
