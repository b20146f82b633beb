/* Which of NumPy's inner loops may be called without NumPy, and on what. */
#include <string.h>

/* Powers of integers raise errors inside the loop. */
static int is_left_out(const char *name)
{
    return !name || !strcmp(name, "power") || !strcmp(name, "float_power");
}

/* NumPy's iterator copies operands into buffers where rows are short, so that loops see other strides than the arrays
 * have; and a vectorized loop for contiguous memory may round otherwise than the one for strides, or take the other
 * one of two zeros. What is listed here cannot: but which NaN comes out where two go in is left open. */
static int is_exact(const char *name, int type)
{
    static const char *const names[] = {
        "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "negative", "positive", "absolute",
        "fabs", "square", "sqrt", "reciprocal", "sign", "floor", "ceil", "trunc", "rint", "maximum", "minimum", "isnan",
        "isinf", "isfinite", "signbit", "less", "less_equal", "equal", "not_equal", "greater", "greater_equal",
        "logical_and", "logical_or", "logical_xor", "logical_not"};
    if (type < NPY_FLOAT)
        return 1;
    for (size_t i = 0; i < sizeof names / sizeof *names && type <= NPY_DOUBLE; i++)
        if (!strcmp(name, names[i]))
            return 1;
    return 0;
}

/* Loops that are vectorized for arrays only: a number is best repeated in memory. Of truth values all are such but the
 * exclusive or: adding is `or` there, multiplying `and`. */
static int is_tiled(const char *name, int type)
{
    static const char *const logical[] = {
        "add", "multiply", "logical_and", "logical_or", "bitwise_and", "bitwise_or"};
    if (!strcmp(name, "maximum") || !strcmp(name, "minimum"))
        return 1;
    if (type < NPY_FLOAT && (!strcmp(name, "fmax") || !strcmp(name, "fmin")))
        return 1;
    for (size_t i = 0; i < sizeof logical / sizeof *logical && type == NPY_BOOL; i++)
        if (!strcmp(name, logical[i]))
            return 1;
    return 0;
}
