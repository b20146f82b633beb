/* Reductions along short axes, (30000, 3).sum(1) or (3000, 10, 3).max(1): a loop where NumPy calls its inner loop for each
 * row, with NumPy's bits. Sums add up in the order of its pairwise summation, to the zero that it begins with. Of extremes
 * only zeros of two signs and NaN depend on the order: where there are such, NumPy's own loops are called. */

enum { ROW = 128, COLUMNS = 32 }; /* longest row that is summed here: NumPy halves longer ones; most results beside each other */

#define SUMS(T)                                                                                                           \
    static inline T row_sum_##T(const T *x, npy_intp n)                                                                   \
    {                                                                                                                     \
        npy_intp i = 1;                                                                                                   \
        T sum = x[0];                                                                                                     \
        if (n >= 8) {                                                                                                     \
            T r[8];                                                                                                       \
            memcpy(r, x, sizeof r);                                                                                       \
            for (i = 8; i + 8 <= n; i += 8)                                                                               \
                for (int k = 0; k < 8; k++)                                                                               \
                    r[k] += x[i + k];                                                                                     \
            sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));                                     \
        }                                                                                                                 \
        for (; i < n; i++)                                                                                                \
            sum += x[i];                                                                                                  \
        return sum + 0;                                                                                                   \
    }                                                                                                                     \
    Py_ALWAYS_INLINE static inline void columns_##T(const T *x, npy_intp outer, npy_intp n, npy_intp inner, T *to)        \
    {                                                                                                                     \
        for (npy_intp o = 0; o < outer; o++, to += inner) {                                                               \
            T sums[COLUMNS] = {0};                                                                                        \
            for (npy_intp i = 0; i < n; i++, x += inner)                                                                  \
                for (npy_intp k = 0; k < inner; k++)                                                                      \
                    sums[k] += x[k];                                                                                      \
            memcpy(to, sums, (size_t)inner * sizeof(T));                                                                  \
        }                                                                                                                 \
    }                                                                                                                     \
    Py_ALWAYS_INLINE static inline void rows_##T(const T *x, npy_intp outer, npy_intp n, T *to)                           \
    {                                                                                                                     \
        for (npy_intp o = 0; o < outer; o++)                                                                              \
            to[o] = row_sum_##T(x + o * n, n);                                                                            \
    }                                                                                                                     \
    static void sum_##T(const T *x, npy_intp outer, npy_intp n, npy_intp inner, T *to)                                    \
    {                                                                                                                     \
        switch (inner == 1 ? -n : inner) { /* where the length is known, the code is another */                           \
            case -2: rows_##T(x, outer, 2, to); break;                                                                    \
            case -3: rows_##T(x, outer, 3, to); break;                                                                    \
            case -4: rows_##T(x, outer, 4, to); break;                                                                    \
            case 2: columns_##T(x, outer, n, 2, to); break;                                                               \
            case 3: columns_##T(x, outer, n, 3, to); break;                                                               \
            case 4: columns_##T(x, outer, n, 4, to); break;                                                               \
            default:                                                                                                      \
                if (inner == 1)                                                                                           \
                    rows_##T(x, outer, n, to);                                                                            \
                else                                                                                                      \
                    columns_##T(x, outer, n, inner, to);                                                                  \
        }                                                                                                                 \
    }
SUMS(npy_double) SUMS(npy_float) SUMS(npy_uint64)
#undef SUMS

/* Whether no extreme depends on the order. */
#define EXTREMES(T, NAME, BEYOND)                                                                                         \
    static int NAME##_##T(const T *x, npy_intp outer, npy_intp n, npy_intp inner, T *to)                                 \
    {                                                                                                                     \
        int doubtful = 0;                                                                                                 \
        for (npy_intp o = 0; o < outer; o++, to += inner, x += n * inner)                                                 \
            for (npy_intp k = 0; k < inner; k++) {                                                                        \
                T most = x[k];                                                                                            \
                int nan = most != most;                                                                                   \
                for (npy_intp i = 1; i < n; i++) {                                                                        \
                    T y = x[i * inner + k];                                                                               \
                    nan |= y != y;                                                                                        \
                    most = y BEYOND most ? y : most;                                                                      \
                }                                                                                                         \
                to[k] = most;                                                                                             \
                doubtful |= nan | (most == 0);                                                                            \
            }                                                                                                             \
        return !doubtful;                                                                                                 \
    }
EXTREMES(npy_double, largest, >) EXTREMES(npy_float, largest, >) EXTREMES(npy_double, least, <) EXTREMES(npy_float, least, <)
#undef EXTREMES

static void truth(const npy_bool *x, npy_intp outer, npy_intp n, npy_intp inner, npy_bool *to, int all)
{
    for (npy_intp o = 0; o < outer; o++, to += inner, x += n * inner)
        for (npy_intp k = 0; k < inner; k++) {
            int found = all;
            for (npy_intp i = 0; i < n; i++)
                found = all ? found & (x[i * inner + k] != 0) : found | (x[i * inner + k] != 0);
            to[k] = (npy_bool)found;
        }
}

/* The reduction of `outer` blocks of n rows with `inner` elements each, along the rows; 0 where it is left to NumPy's loops. */
static int reduce_short(int which, int type, const char *x, npy_intp outer, npy_intp n, npy_intp inner, char *to)
{
    if (outer * inner < 2 || (inner == 1 && n > ROW) || inner > COLUMNS)
        return 0;
#define OF(T, DO) DO((const T *)x, outer, n, inner, (T *)to)
    switch (which) {
        case SUM:
        case MEAN:
            if (type == NPY_DOUBLE)
                OF(npy_double, sum_npy_double);
            else if (type == NPY_FLOAT)
                OF(npy_float, sum_npy_float);
            else if (type == NPY_INT64 || type == NPY_UINT64 || type == NPY_LONGLONG || type == NPY_ULONGLONG)
                OF(npy_uint64, sum_npy_uint64);
            else
                return 0;
            break;
        case MAX:
        case MIN: {
            int before = errors_seen(1), done = 0;
            if (which == MAX)
                done = type == NPY_DOUBLE ? OF(npy_double, largest_npy_double) : type == NPY_FLOAT && OF(npy_float, largest_npy_float);
            else
                done = type == NPY_DOUBLE ? OF(npy_double, least_npy_double) : type == NPY_FLOAT && OF(npy_float, least_npy_float);
            if (!done && !(before & FE_INVALID)) /* a comparison with NaN, of which NumPy says nothing */
                feclearexcept(FE_INVALID);
            return done;
        }
        case ANY:
        case ALL: truth((const npy_bool *)x, outer, n, inner, (npy_bool *)to, which == ALL); break;
        default: return 0;
    }
#undef OF
    return 1;
}
