/* Which of NumPy's inner loops may be called without NumPy, and on what. */

/* Of each ufunc that the table of operations has masks of the numbers of types: see `Op.code` and `ops/code.py`.
 *
 * NumPy's iterator copies operands into buffers where rows are short, so that loops see other strides than the arrays
 * have; and a vectorized loop for contiguous memory may round otherwise than the one for strides, or take the other
 * one of two zeros. Those that are EXACT cannot: but which NaN comes out where two go in is left open. Loops that are
 * vectorized for arrays only are TILED: a number is best repeated in memory. */
enum { RAISES, REPLAYED, EXACT, TILED, READS_GAPS, WRITES_GAPS };
static PyObject *known_loops;

static int loop_is(PyUFuncObject *f, int what, int type)
{
    PyObject *masks = known_loops ? PyDict_GetItemWithError(known_loops, (PyObject *)f) : NULL;
    if (!masks)
        PyErr_Clear();
    return masks && type >= 0 && type < 32 && PyLong_AsUnsignedLong(PyTuple_GET_ITEM(masks, what)) >> type & 1;
}

/* Loops of NumPy's that are wrong for some steps: `ops/code.py: gaps`. What READS_GAPS wrongly is called for each element where
 * the steps are those. What WRITES_GAPS as if there were none writes next to them, and what it wrote is copied. */
typedef struct {
    PyUFuncGenericFunction loop;
    void *data;
    npy_intp size; /* of an element */
} Careful;
enum { MOST_CAREFUL = 64, WRITTEN_APART = 512 };
static Careful careful[MOST_CAREFUL];

static void each_apart(char **args, npy_intp const *n, npy_intp const *steps, void *data)
{
    Careful const *of = data;
    npy_intp one = 1;
    if ((steps[0] != of->size * of->size && steps[0] != -of->size * of->size) || steps[1] == of->size) {
        of->loop(args, n, steps, of->data);
        return;
    }
    for (npy_intp i = 0; i < *n; i++) {
        char *at[2] = {args[0] + i * steps[0], args[1] + i * steps[1]};
        of->loop(at, &one, steps, of->data);
    }
}

static void truths_apart(char **args, npy_intp const *n, npy_intp const *steps, void *data)
{
    Careful const *of = data;
    npy_bool truths[WRITTEN_APART];
    npy_intp dense[2] = {steps[0], 1};
    if (steps[1] == 1) {
        of->loop(args, n, steps, of->data);
        return;
    }
    for (npy_intp i = 0; i < *n; i += WRITTEN_APART) {
        npy_intp count = *n - i < WRITTEN_APART ? *n - i : WRITTEN_APART;
        char *at[2] = {args[0] + i * steps[0], (char *)truths}, *to = args[1] + i * steps[1];
        of->loop(at, &count, dense, of->data);
        for (npy_intp k = 0; k < count; k++)
            to[k * steps[1]] = (char)truths[k];
    }
}

/* A ufunc's loop that may be called with any steps. */
static PyUFuncGenericFunction loop_at(PyUFuncObject *f, npy_intp at, void **data)
{
    int type = f->types[at * f->nargs], k = 0, writes = loop_is(f, WRITES_GAPS, type);
    *data = f->data ? f->data[at] : NULL;
    npy_intp size = type == NPY_FLOAT ? (npy_intp)sizeof(float) : type == NPY_DOUBLE ? (npy_intp)sizeof(double)
                    : type == NPY_INT || type == NPY_UINT ? (npy_intp)sizeof(int) : type == NPY_LONG || type == NPY_ULONG ? (npy_intp)sizeof(long)
                    : type == NPY_LONGLONG || type == NPY_ULONGLONG ? (npy_intp)sizeof(long long) : 0;
    if (!size || f->nargs != 2 || !(writes || loop_is(f, READS_GAPS, type)))
        return f->functions[at];
    while (k < MOST_CAREFUL && careful[k].loop && (careful[k].loop != f->functions[at] || careful[k].data != *data || careful[k].size != size))
        k++;
    if (k == MOST_CAREFUL)
        return f->functions[at];
    careful[k] = (Careful){f->functions[at], *data, size};
    *data = &careful[k];
    return writes ? truths_apart : each_apart;
}
