/* Products of stacks of small matrices. BLAS, which NumPy calls for each, takes longer to be called than to multiply.
 * Each element is a sum in the order of the inner axis, by fused multiply-adds or without them; which of the two gives
 * BLAS's bits, or whether neither does, is found by trying: `backends/numpy/products.py`.
 */
#include "_clones.h"

enum { EDGE = 8 }; /* rows and columns of the largest matrix */

typedef struct {
    npy_intp count, a, b, c, m, k, n, rows_a, columns_a, rows_b, columns_b; /* bytes from one to the next but for sizes */
} Stack;

/* One product, of matrices without gaps, and how a matrix with gaps becomes one without. */
#define PRODUCT(T, NAME, STEP)                                                                                          \
    INLINE void NAME##_rows(const T *a, const T *b, T *c, npy_intp m, npy_intp k, npy_intp n)                           \
    {                                                                                                                   \
        for (npy_intp i = 0; i < m; i++) {                                                                              \
            T sum[EDGE] = {0};                                                                                          \
            for (npy_intp l = 0; l < k; l++) {                                                                          \
                T x = a[i * k + l];                                                                                     \
                for (npy_intp j = 0; j < n; j++) sum[j] = STEP;                                                         \
            }                                                                                                           \
            for (npy_intp j = 0; j < n; j++) c[i * n + j] = sum[j];                                                     \
        }                                                                                                               \
    }                                                                                                                   \
    INLINE const T *NAME##_dense(const char *from, npy_intp row, npy_intp column, npy_intp m, npy_intp n, T *to)        \
    {                                                                                                                   \
        if (column == sizeof(T) && row == n * (npy_intp)sizeof(T)) return (const T *)from;                              \
        for (npy_intp i = 0; i < m; i++)                                                                                \
            for (npy_intp j = 0; j < n; j++) to[i * n + j] = *(const T *)(from + i * row + j * column);                 \
        return to;                                                                                                      \
    }                                                                                                                   \
    CLONES static void NAME(const Stack *s, const char *a, const char *b, char *c)                                      \
    {                                                                                                                   \
        npy_intp m = s->m, k = s->k, n = s->n;                                                                          \
        for (npy_intp i = 0; i < s->count; i++, a += s->a, b += s->b, c += s->c) {                                      \
            T left[EDGE * EDGE], right[EDGE * EDGE], *out = (T *)c;                                                     \
            const T *x = NAME##_dense(a, s->rows_a, s->columns_a, m, k, left);                                          \
            const T *y = NAME##_dense(b, s->rows_b, s->columns_b, k, n, right);                                         \
            switch (n) {                                                                                                \
            case 1: NAME##_rows(x, y, out, m, k, 1); break;                                                             \
            case 2: m == 2 && k == 2 ? NAME##_rows(x, y, out, 2, 2, 2) : NAME##_rows(x, y, out, m, k, 2); break;        \
            case 3: m == 3 && k == 3 ? NAME##_rows(x, y, out, 3, 3, 3) : NAME##_rows(x, y, out, m, k, 3); break;        \
            case 4: m == 4 && k == 4 ? NAME##_rows(x, y, out, 4, 4, 4) : NAME##_rows(x, y, out, m, k, 4); break;        \
            case 5: NAME##_rows(x, y, out, m, k, 5); break;                                                             \
            case 6: NAME##_rows(x, y, out, m, k, 6); break;                                                             \
            case 7: NAME##_rows(x, y, out, m, k, 7); break;                                                             \
            default: NAME##_rows(x, y, out, m, k, 8);                                                                   \
            }                                                                                                           \
        }                                                                                                               \
    }

PRODUCT(double, fused_d, fma(x, b[l * n + j], sum[j]))
PRODUCT(float, fused_f, fmaf(x, b[l * n + j], sum[j]))
PRODUCT(double, plain_d, sum[j] + x * b[l * n + j])
PRODUCT(float, plain_f, sum[j] + x * b[l * n + j])

static PyObject *stacked_product(PyObject *module, PyObject *args)
{
    PyArrayObject *a, *b, *c;
    int fused;
    if (!PyArg_ParseTuple(args, "O!O!O!p", &PyArray_Type, &a, &PyArray_Type, &b, &PyArray_Type, &c, &fused)) return NULL;
    int nd = PyArray_NDIM(c) - 2, type = PyArray_TYPE(c);
    int good = nd >= 1 && nd <= AXES && PyArray_NDIM(a) == nd + 2 && PyArray_NDIM(b) == nd + 2 && PyArray_IS_C_CONTIGUOUS(c)
               && (type == NPY_DOUBLE || type == NPY_FLOAT) && PyArray_TYPE(a) == type && PyArray_TYPE(b) == type
               && PyArray_ISALIGNED(a) && PyArray_ISALIGNED(b) && PyArray_ISNOTSWAPPED(a) && PyArray_ISNOTSWAPPED(b);
    for (int i = 0; good && i < nd; i++)
        good = PyArray_DIM(a, i) == PyArray_DIM(c, i) && PyArray_DIM(b, i) == PyArray_DIM(c, i);
    if (!good) return PyErr_Format(PyExc_ValueError, "bad arguments of stacked_product");
    Stack s = {PyArray_DIM(c, nd - 1),        PyArray_STRIDE(a, nd - 1), PyArray_STRIDE(b, nd - 1), PyArray_STRIDE(c, nd - 1),
               PyArray_DIM(a, nd),            PyArray_DIM(a, nd + 1),    PyArray_DIM(b, nd + 1),    PyArray_STRIDE(a, nd),
               PyArray_STRIDE(a, nd + 1),     PyArray_STRIDE(b, nd),     PyArray_STRIDE(b, nd + 1)};
    if (s.m > EDGE || s.k > EDGE || s.n > EDGE || s.k != PyArray_DIM(b, nd) || s.m != PyArray_DIM(c, nd)
        || s.n != PyArray_DIM(c, nd + 1))
        return PyErr_Format(PyExc_ValueError, "bad matrices of stacked_product");
    if (!PyArray_SIZE(c)) Py_RETURN_NONE;
    const char *x = PyArray_BYTES(a), *y = PyArray_BYTES(b);
    char *z = PyArray_BYTES(c);
    npy_intp at[AXES] = {0}; /* the place on the axes before the last of the stack */
    Py_BEGIN_ALLOW_THREADS
    for (int axis = nd - 1; axis >= 0;) {
        if (type == NPY_DOUBLE) fused ? fused_d(&s, x, y, z) : plain_d(&s, x, y, z);
        else fused ? fused_f(&s, x, y, z) : plain_f(&s, x, y, z);
        z += s.count * s.c;
        for (axis = nd - 2; axis >= 0; axis--) {
            x += PyArray_STRIDE(a, axis);
            y += PyArray_STRIDE(b, axis);
            if (++at[axis] < PyArray_DIM(c, axis)) break;
            x -= at[axis] * PyArray_STRIDE(a, axis);
            y -= at[axis] * PyArray_STRIDE(b, axis);
            at[axis] = 0;
        }
    }
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}
