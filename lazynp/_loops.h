/* Which of NumPy's inner loops may be called without NumPy, and on what. */

/* Of each ufunc that the table of operations has masks of the numbers of types: see `Op.code` and `ops/code.py`.
 *
 * NumPy's iterator copies operands into buffers where rows are short, so that loops see other strides than the arrays
 * have; and a vectorized loop for contiguous memory may round otherwise than the one for strides, or take the other
 * one of two zeros. Those that are EXACT cannot: but which NaN comes out where two go in is left open. Loops that are
 * vectorized for arrays only are TILED: a number is best repeated in memory. */
enum { RAISES, REPLAYED, EXACT, TILED };
static PyObject *known_loops;

static int loop_is(PyUFuncObject *f, int what, int type)
{
    PyObject *masks = known_loops ? PyDict_GetItemWithError(known_loops, (PyObject *)f) : NULL;
    if (!masks)
        PyErr_Clear();
    return masks && type >= 0 && type < 32 && PyLong_AsUnsignedLong(PyTuple_GET_ITEM(masks, what)) >> type & 1;
}

/* NumPy's loops of `negative` for 32 and 64 bits, before 2.5, read an input as if it had no gaps where it has steps of as many
 * elements as an element has bytes, and the output has steps, too: `numpy.negative(x[:, 0], out=x[:, 0])` of eight float64 a
 * row is wrong. There each element is a call of its own. */
typedef struct {
    PyUFuncGenericFunction loop;
    void *data;
    npy_intp size; /* of an element */
} Negative;
static Negative negatives[NPY_CLONGDOUBLE];

static void negative_each(char **args, npy_intp const *n, npy_intp const *steps, void *data)
{
    Negative const *of = data;
    npy_intp one = 1;
    if (steps[0] != of->size * of->size || steps[1] == of->size) {
        of->loop(args, n, steps, of->data);
        return;
    }
    for (npy_intp i = 0; i < *n; i++) {
        char *at[2] = {args[0] + i * steps[0], args[1] + i * steps[1]};
        of->loop(at, &one, steps, of->data);
    }
}

/* A ufunc's loop that may be called with any steps. */
static PyUFuncGenericFunction loop_at(PyUFuncObject *f, npy_intp at, void **data)
{
    int type = f->types[at * f->nargs];
    *data = f->data ? f->data[at] : NULL;
    npy_intp size = type == NPY_FLOAT ? 4 : type == NPY_DOUBLE ? 8 : type == NPY_INT || type == NPY_UINT ? 4
                    : type == NPY_LONG || type == NPY_ULONG ? (npy_intp)sizeof(long)
                    : type == NPY_LONGLONG || type == NPY_ULONGLONG ? 8 : 0;
    if (!size || f->nargs != 2 || strcmp(f->name, "negative"))
        return f->functions[at];
    negatives[type] = (Negative){f->functions[at], *data, size};
    *data = &negatives[type];
    return negative_each;
}
