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
