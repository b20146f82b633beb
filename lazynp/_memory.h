/* Memory for results, which begins with a line of the processor's cache: a vector of 64 bytes that crosses lines, as nearly
 * all do in malloc's memory, takes twice the time. What malloc gave, and the size, stand before it.
 *
 * Below FEW_BYTES NumPy keeps spare memory, above MANY_BYTES it asks for huge pages. TRACED is the domain by which NumPy
 * tells tracemalloc of memory. */
#include <stdint.h>

enum { LINE = 64, FEW_BYTES = 512, MANY_BYTES = 1 << 22, TRACED = 389047 };

typedef struct {
    void *raw;
    size_t size;
} Before;

enum { AROUND = LINE + sizeof(Before) };

static void *in_lines(char *raw, size_t n)
{
    if (!raw)
        return NULL;
    char *lines = (char *)(((uintptr_t)raw + AROUND - 1) & ~(uintptr_t)(LINE - 1));
    ((Before *)lines)[-1] = (Before){raw, n};
    return lines;
}

static void *lines_malloc(void *Py_UNUSED(context), size_t n)
{
    return in_lines(n > SIZE_MAX - AROUND ? NULL : malloc(n + AROUND), n);
}

static void *lines_calloc(void *Py_UNUSED(context), size_t count, size_t size)
{
    if (size && count > (SIZE_MAX - AROUND) / size)
        return NULL;
    return in_lines(calloc(1, count * size + AROUND), count * size);
}

static void lines_free(void *Py_UNUSED(context), void *lines, size_t Py_UNUSED(n))
{
    if (lines)
        free(((Before *)lines)[-1].raw);
}

static void *lines_realloc(void *context, void *lines, size_t n)
{
    char *moved = lines_malloc(context, n);
    if (moved && lines) {
        size_t before = ((Before *)lines)[-1].size;
        memcpy(moved, lines, before < n ? before : n);
        lines_free(context, lines, before);
    }
    return moved;
}

static PyDataMem_Handler lines_handler = {
    "lazynp_lines", 1, {NULL, lines_malloc, lines_calloc, lines_realloc, lines_free}};
static PyObject *lines_capsule; /* by which NumPy knows it; NULL until `begin_lines` */

static int begin_lines(void)
{
    lines_capsule = PyCapsule_New(&lines_handler, "mem_handler", NULL);
    return lines_capsule ? 0 : -1;
}

/* A fresh array, whose elements are not set. */
static PyArrayObject *new_array(PyArray_Descr *descr, int nd, npy_intp const *dims)
{
    npy_intp n = PyArray_MultiplyList(dims, nd) * PyDataType_ELSIZE(descr);
    int many = n >= FEW_BYTES && n < MANY_BYTES && !PyDataType_REFCHK(descr);
    void *memory = many ? lines_malloc(NULL, (size_t)n) : NULL;
    Py_INCREF(descr);
    PyArrayObject *out = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, nd, dims, NULL, memory,
                                                               memory ? NPY_ARRAY_CARRAY : 0, NULL);
    if (!memory)
        return out;
    if (!out) {
        lines_free(NULL, memory, (size_t)n);
        return NULL;
    }
    ((PyArrayObject_fields *)out)->mem_handler = Py_NewRef(lines_capsule);
    PyArray_ENABLEFLAGS(out, NPY_ARRAY_OWNDATA);
    PyTraceMalloc_Track(TRACED, (uintptr_t)memory, (size_t)n);
    return out;
}
