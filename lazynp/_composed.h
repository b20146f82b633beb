/* Functions that are matched in a loop, or done in steps that are: products, norms, selections, reductions, variances; and
 * those that take NumPy many calls for little: `roll`, `diff`.
 */

/* Whether `dot` of two operands is NumPy's loop of `matmul`, which gives the same bits where no axis has but one element:
 * arrays of floats in C's order, one of which is a matrix. */
static int is_matmul(PyObject *const *args)
{
    Layout as[2];
    for (int i = 0; i < 2; i++) {
        if (!lies_like(args[i], &as[i]) || as[i].nd > 2 || (as[i].type != NPY_FLOAT && as[i].type != NPY_DOUBLE))
            return 0;
        for (int d = 0; d < as[i].nd; d++)
            if (as[i].shape[d] < 2)
                return 0;
    }
    return as[0].type == as[1].type && as[0].nd + as[1].nd > 2;
}

/* Whether two arrays are matrices that have a product. */
static int are_matrices(PyObject *x, PyObject *y)
{
    return PyArray_Check(x) && PyArray_Check(y) && PyArray_NDIM((PyArrayObject *)x) == 2 && PyArray_NDIM((PyArrayObject *)y) == 2
           && PyArray_DIM((PyArrayObject *)x, 1) == PyArray_DIM((PyArrayObject *)y, 0);
}

/* NumPy's `dot`, the function or the method, of two operands: matched or noted. */
static PyObject *dotted(PyObject *host, PyObject *const *args, int flags)
{
    int before = touched;
    PyObject *out = P ? match_matrix_dot(args[0], args[1]) : NULL;
    if (!out && P && !PyErr_Occurred())
        out = match_dot(NULL, args[0], args[1]);
    if (out || PyErr_Occurred())
        return out;
    PyObject *x = at_hand(args[0]), *y = x ? at_hand(args[1]) : NULL;
    out = y && are_matrices(x, y) ? by_blas(x, y) : NULL;
    if (out || PyErr_Occurred())
        out = from_host(out);
    else if (y && is_number_array(x) && is_number_array(y)) {
        Py_INCREF(x);
        Py_INCREF(y);
        out = PyArray_MatrixProduct(x, y);
        out = from_host(out && PyArray_CheckExact(out) ? PyArray_Return((PyArrayObject *)out) : out);
        Py_DECREF(x);
        Py_DECREF(y);
    }
    else
        out = whole(host, NULL, args, 2, NULL, is_small_product(args[0], args[1]) ? flags | LOOKS : flags);
    if (out && watches())
        note_product(before, is_matmul(args) ? (PyUFuncObject *)matmul_ufunc : NULL, args[0], args[1], out, 1);
    return out;
}

/* The number that has a value, in the type of an array's elements. */
static PyObject *number_of(double value, int type)
{
    float narrow = (float)value;
    return PyArray_Scalar(type == NPY_FLOAT ? (void *)&narrow : (void *)&value, plain_descr[type], NULL);
}

/* `where(condition, x, y)`: matched or noted. */
static PyObject *selected(PyObject *const *args, int flags)
{
    int before = touched;
    PyObject *out = P ? match_where(args) : NULL;
    if (out || PyErr_Occurred())
        return out;
    out = whole(known[F_WHERE], NULL, args, 3, NULL, flags);
    if (out && watches())
        note_where(before, args, out);
    return out;
}

/* `concatenate([a, b], axis)` and so on, of few arrays: matched or noted. */
static PyObject *joined(int which, PyObject *host, PyObject *const *args, Py_ssize_t n, PyObject *names, int flags)
{
    int before = touched, append = which == APPEND, list = !append && n && PyList_CheckExact(args[0]);
    Py_ssize_t count = append ? n : list || (n && PyTuple_CheckExact(args[0])) ? Py_SIZE(args[0]) : 0;
    PyObject *along = NULL, *arrays[MOST_IN];
    if (which == CONCATENATE || which == STACK)
        along = n == 2 && !names ? args[1] : n == 1 && names && is_word(PyTuple_GET_ITEM(names, 0), name_axis) ? args[1] : NULL;
    int simple = count > 0 && count <= MOST_IN && (append ? n == 2 && !names : n + (names ? PyTuple_GET_SIZE(names) : 0) == 1 + (along != NULL))
                 && (!along || PyLong_CheckExact(along));
    for (Py_ssize_t i = 0; i < count && simple; i++) {
        arrays[i] = append ? args[i] : list ? PyList_GET_ITEM(args[0], i) : PyTuple_GET_ITEM(args[0], i);
        simple = Py_TYPE(arrays[i]) == ndarray_type;
    }
    long axis = simple && along ? PyLong_AsLong(along) : 0;
    if (axis == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        simple = 0;
    }
    PyObject *out = simple && P ? match_join(which, arrays, (int)count, axis) : NULL;
    if (out || PyErr_Occurred())
        return out;
    out = whole(host, NULL, args, n, names, flags);
    if (out && simple && watches())
        note_join(before, which, arrays, (int)count, axis, out);
    return out;
}

/* `clip(x, low, high)`, the function or the method: matched or noted. */
static PyObject *clipped(PyObject *host, PyObject *const *args, int flags)
{
    int before = touched;
    PyObject *out = P ? match_clip(args) : NULL;
    if (out || PyErr_Occurred())
        return out;
    out = whole(host, NULL, args, 3, NULL, flags);
    if (out && watches())
        note_clip(before, args, out);
    return out;
}

/* What a call of a reduction asks for. 0 where it is not that simple. */
static int reads_reduction(int which, PyObject *const *args, Py_ssize_t n, PyObject *names, Reduction *r)
{
    PyObject *along = n == 2 ? args[1] : NULL;
    r->which = which;
    r->keep = 0;
    if (n < 1 || n > 2 || !is_direct(r->which))
        return 0;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *value = args[n + i];
        if (is_word(name, name_keepdims) && PyBool_Check(value))
            r->keep = value == Py_True;
        else if (is_word(name, name_axis) && !along)
            along = value;
        else
            return 0;
    }
    return read_axes(along, r);
}

/* A reduction, the function or the method: matched or noted. NULL, without an error set, for Python to do. */
static PyObject *reduced_whole(int which, PyObject *host, PyObject *const *args, Py_ssize_t n, PyObject *names, int flags)
{
    Reduction r;
    int simple = reads_reduction(which, args, n, names, &r), before = touched;
    PyObject *out = simple && P ? match_reduction(&r, args[0]) : NULL, *x;
    if (out || PyErr_Occurred())
        return out;
    if (simple && (x = few_bytes(args[0], BYTES_REDUCED)) && PyArray_CheckExact(x)) {
        out = direct_reduce(&r, (PyArrayObject *)x);
        if (out)
            out = from_host(out);
    }
    if (!out && !PyErr_Occurred())
        out = whole(host, NULL, args, n, names, flags);
    if (out && simple && watches())
        note_reduction(before, &r, args[0], out);
    return out;
}

/* What a call of a function that reduces floats along an axis asks for. */
typedef struct {
    PyObject *axis;
    int keep, is_double;
    npy_intp count, ddof; /* elements that are reduced to one */
} Along;

/* Reads it from the second argument and those with a name. 0 where the call, or the array, is not that simple. */
static int reads_along(PyObject *const *args, Py_ssize_t n, PyObject *names, int may_ddof, Along *r)
{
    Layout as;
    *r = (Along){.axis = n == 2 && args[1] != Py_None ? args[1] : NULL};
    if (limit < 0 || n < 1 || n > 2 || !is_direct(SUM) || !lies_like(args[0], &as) || (as.type != NPY_FLOAT && as.type != NPY_DOUBLE))
        return 0;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *value = args[n + i];
        if (is_word(name, name_keepdims) && PyBool_Check(value))
            r->keep = value == Py_True;
        else if (is_word(name, name_axis) && n == 1)
            r->axis = value == Py_None ? NULL : value;
        else if (may_ddof && is_word(name, name_ddof) && PyLong_CheckExact(value))
            r->ddof = PyLong_AsSsize_t(value);
        else
            return 0;
    }
    long axis = r->axis && PyLong_CheckExact(r->axis) ? PyLong_AsLong(r->axis) : 0;
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    axis += axis < 0 ? as.nd : 0;
    npy_intp size = PyArray_MultiplyList(as.shape, as.nd);
    if ((r->axis && !PyLong_CheckExact(r->axis)) || axis < 0 || axis >= as.nd || !size || size > limit)
        return 0;
    r->is_double = as.type == NPY_DOUBLE;
    r->count = r->axis ? as.shape[axis] : size;
    return r->ddof >= 0 && r->count > r->ddof;
}

/* A sum or a mean as `r` says. */
static PyObject *along_axis(int which, PyObject *x, const Along *r, int keep, int flags)
{
    static PyObject *names;
    if (!names && !(names = PyTuple_Pack(1, name_keepdims)))
        return NULL;
    PyObject *args[3] = {x, r->axis ? r->axis : Py_None, keep ? Py_True : Py_False};
    return reduced_whole(which, known[M_REDUCTION + which], args, 2, names, flags);
}

/* The root of a float, or of an array of floats. Takes the reference. */
static PyObject *square_root(PyObject *x)
{
    PyObject *out = NULL, *h;
    int before = touched;
    if (x && PyArray_IsScalar(x, Double))
        out = number_of(sqrt(PyArrayScalar_VAL(x, Double)), NPY_DOUBLE);
    else if (x && PyArray_IsScalar(x, Float))
        out = number_of(sqrtf(PyArrayScalar_VAL(x, Float)), NPY_FLOAT);
    else if (x && Py_TYPE(x) == ndarray_type) {
        out = P ? match_ufunc((PyUFuncObject *)sqrt_ufunc, 1, x, NULL) : NULL;
        if (!out && !PyErr_Occurred() && (h = at_hand(x)) && (h = direct_one(sqrt_ufunc, h)))
            out = noted(before, sqrt_ufunc, 1, x, NULL, wrap(h));
    }
    Py_XDECREF(x);
    return out;
}

/* `linalg.norm(x)` of a vector of floats, as NumPy computes it, the root of a product; `norm(x, axis=k)`, the root of the sum
 * of products. NULL, without an error set, where it is not that simple. */
static PyObject *euclidean_norm(PyObject *const *args, Py_ssize_t n, PyObject *names, int flags)
{
    Along r;
    Layout as;
    if (n != 1 || !reads_along(args, n, names, 0, &r))
        return NULL;
    if (!r.axis) {
        PyObject *both[2] = {args[0], args[0]};
        return !r.keep && lies_like(args[0], &as) && as.nd == 1 ? square_root(dotted(known[F_DOT], both, flags)) : NULL;
    }
    PyObject *square = binary_op(args[0], args[0], MUL), *sum = NULL;
    if (square && Py_TYPE(square) == ndarray_type)
        sum = along_axis(SUM, square, &r, r.keep, flags);
    Py_XDECREF(square);
    return square_root(sum);
}

/* The squares of floats, by the ufunc that NumPy's variance calls. */
static PyObject *squared(PyObject *x)
{
    static PyObject *two;
    if (!two && !(two = PyLong_FromLong(2)))
        return NULL;
    return var_squares ? binary_op(x, two, POW) : binary_op(x, x, MUL);
}

/* `var(x)` or `std(x)` of floats, of all elements or along an axis, in the steps in which NumPy computes it: the deviations
 * from the mean, their squares, the sum of these over n - ddof, each quotient by a double that is rounded (which makes no
 * difference to the quotient of two floats). NULL, without an error set, where it is not that simple. */
static PyObject *spread_of(PyObject *const *args, Py_ssize_t n, PyObject *names, int root, int flags)
{
    Along r;
    if (!reads_along(args, n, names, 1, &r) || r.count - r.ddof > 1 << 24)
        return NULL;
    PyObject *mean = along_axis(MEAN, args[0], &r, r.axis != NULL, flags);
    int fits = mean && (r.axis ? Py_TYPE(mean) == ndarray_type : PyArray_IsScalar(mean, Floating));
    PyObject *apart = fits ? binary_op(args[0], mean, SUB) : NULL;
    PyObject *square = apart && Py_TYPE(apart) == ndarray_type ? squared(apart) : NULL;
    Py_XDECREF(apart); /* which need not be stored */
    Py_XDECREF(mean);
    PyObject *sum = square && Py_TYPE(square) == ndarray_type ? along_axis(SUM, square, &r, r.keep, flags) : NULL, *out = NULL;
    Py_XDECREF(square);
    double by = (double)(r.count - r.ddof);
    if (sum && PyArray_IsScalar(sum, Double))
        out = number_of(PyArrayScalar_VAL(sum, Double) / by, NPY_DOUBLE);
    else if (sum && PyArray_IsScalar(sum, Float))
        out = number_of((double)PyArrayScalar_VAL(sum, Float) / by, NPY_FLOAT);
    else if (sum && Py_TYPE(sum) == ndarray_type) {
        PyObject *number = PyFloat_FromDouble(by);
        out = number ? binary_op(sum, number, TRUEDIV) : NULL;
        Py_XDECREF(number);
    }
    Py_XDECREF(sum);
    return root ? square_root(out) : out;
}

/* The elements of one axis, or of all of them in C's order, moved on by `shift`. */
static PyArrayObject *rolled_array(PyArrayObject *a, npy_intp shift, int axis)
{
    npy_intp n = axis < 0 ? PyArray_SIZE(a) : PyArray_DIM(a, axis), inner = PyArray_ITEMSIZE(a);
    npy_intp outer = axis < 0 ? 1 : PyArray_MultiplyList(PyArray_DIMS(a), axis);
    for (int d = axis + 1; axis >= 0 && d < PyArray_NDIM(a); d++)
        inner *= PyArray_DIM(a, d);
    shift %= n;
    size_t row = (size_t)(n * inner), head = (size_t)((shift < 0 ? shift + n : shift) * inner);
    PyArrayObject *out = axis < 0 ? new_array(PyArray_DESCR(a), 1, &n) : new_array(PyArray_DESCR(a), PyArray_NDIM(a), PyArray_DIMS(a));
    char *to = out ? PyArray_BYTES(out) : NULL;
    char const *from = PyArray_BYTES(a);
    for (npy_intp i = 0; out && i < outer; i++, to += row, from += row) {
        memcpy(to, from + row - head, head);
        memcpy(to + head, from, row - head);
    }
    if (out && axis < 0) { /* a view of a vector, as NumPy's */
        PyArray_Dims shape = {PyArray_DIMS(a), PyArray_NDIM(a)};
        Py_SETREF(out, (PyArrayObject *)PyArray_Newshape(out, &shape, NPY_CORDER));
    }
    return out;
}

/* Numbers: one, or a tuple of them. How many; 0 for anything else. */
static int read_numbers(PyObject *o, long long *to)
{
    int tuple = PyTuple_CheckExact(o), n = tuple ? (int)PyTuple_GET_SIZE(o) : 1;
    if (n > AXES)
        return 0;
    for (int i = 0; i < n; i++) {
        PyObject *number = tuple ? PyTuple_GET_ITEM(o, i) : o;
        if (!PyLong_CheckExact(number))
            return 0;
        to[i] = PyLong_AsLongLong(number);
        if (to[i] == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
    }
    return n;
}

/* `roll(a, shift, axis=None)` by numbers, which takes NumPy ten slices for one axis. NULL, without an error set, where the
 * call is not that simple. */
static PyObject *rolled(PyObject *const *args, Py_ssize_t n, PyObject *names, int flags)
{
    PyObject *along = n + !!names == 3 ? args[2] : Py_None, *out = NULL, *h;
    long long shift[AXES], axis[AXES];
    if ((names && (n != 2 || PyTuple_GET_SIZE(names) != 1 || !is_word(PyTuple_GET_ITEM(names, 0), name_axis))) || n < 2
        || n > 3 || limit < 0 || Py_TYPE(args[0]) != ndarray_type)
        return NULL;
    int given = along != Py_None, count = read_numbers(args[1], shift);
    if (!count || (given ? read_numbers(along, axis) != count : count != 1))
        return NULL;
    Gift gift;
    begin_gift(&gift, flags);
    if ((h = given_value(args[0], &gift, 0)) && PyArray_CheckExact(h)) {
        PyArrayObject *a = (PyArrayObject *)h;
        int nd = PyArray_NDIM(a), simple = nd && PyArray_SIZE(a) && PyArray_IS_C_CONTIGUOUS(a) && !PyDataType_REFCHK(PyArray_DESCR(a));
        for (int i = 0; i < count && given; i++) {
            axis[i] += axis[i] < 0 ? nd : 0;
            simple &= axis[i] >= 0 && axis[i] < nd;
        }
        PyArrayObject *last = simple ? a : NULL;
        for (int i = 0; i < count && last; i++) {
            PyArrayObject *next = rolled_array(last, (npy_intp)shift[i], given ? (int)axis[i] : -1);
            if (last != a)
                Py_DECREF(last);
            last = next;
        }
        if (last)
            out = home_of((PyObject *)last, &gift);
    }
    Py_XDECREF(h);
    let_go(&gift);
    return out;
}

/* All but one of the elements along the last axis of a contiguous array, from the first or from the second on. */
static PyObject *all_but_one(PyArrayObject *a, int first)
{
    npy_intp shape[NPY_MAXDIMS];
    int nd = PyArray_NDIM(a);
    memcpy(shape, PyArray_DIMS(a), (size_t)nd * sizeof *shape);
    shape[nd - 1]--;
    Py_INCREF(PyArray_DESCR(a));
    PyObject *part = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(a), nd, shape, PyArray_STRIDES(a),
                                          PyArray_BYTES(a) + first * PyArray_ITEMSIZE(a), NPY_ARRAY_ALIGNED, NULL);
    if (part && PyArray_SetBaseObject((PyArrayObject *)part, Py_NewRef(a)) < 0)
        Py_CLEAR(part);
    return part;
}

/* `diff(a)`. NULL, without an error set, where the call is not that simple. */
static PyObject *differences(PyObject *const *args, Py_ssize_t n, PyObject *names, int flags)
{
    if (n != 1 || names || limit < 0 || Py_TYPE(args[0]) != ndarray_type)
        return NULL;
    Gift gift;
    begin_gift(&gift, flags);
    PyObject *h = given_value(args[0], &gift, 0), *late = NULL, *early = NULL, *out = NULL;
    PyArrayObject *a = h && PyArray_CheckExact(h) ? (PyArrayObject *)h : NULL;
    if (a && PyArray_NDIM(a) && PyArray_DIM(a, PyArray_NDIM(a) - 1) > 1 && PyArray_IS_C_CONTIGUOUS(a) && PyArray_ISALIGNED(a)
        && PyArray_TYPE(a) != NPY_BOOL && (late = all_but_one(a, 1)) && (early = all_but_one(a, 0)))
        out = direct_two(binary_ufunc[1], late, early, NULL);
    Py_XDECREF(early);
    Py_XDECREF(late);
    if (out)
        out = home_of(out, &gift);
    Py_XDECREF(h);
    let_go(&gift);
    return out;
}
