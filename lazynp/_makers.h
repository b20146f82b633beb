/* Functions that make arrays of what is none: numbers, lists, shapes. And how much `einsum` has to do. */
#include <ctype.h>

/* Whether an argument is plain, and there is no array in it. */
static int has_no_array(PyObject *o)
{
    PyTypeObject *type = Py_TYPE(o);
    if (type == &PyLong_Type || is_atom(o, type))
        return 1;
    if (type == &PyList_Type || type == &PyTuple_Type) {
        int list = type == &PyList_Type;
        PyTypeObject *known = &PyLong_Type; /* to be plain */
        for (Py_ssize_t i = 0; i < Py_SIZE(o); i++) {
            PyObject *item = list ? PyList_GET_ITEM(o, i) : PyTuple_GET_ITEM(o, i);
            if (Py_TYPE(item) == known)
                continue;
            if (!is_atom(item, Py_TYPE(item)) && !is_bare_number(item))
                return 0;
            known = Py_TYPE(item);
        }
        return 1;
    }
    if (PyType_Check(o))
        return Py_TYPE(o) == &PyType_Type; /* not a class of arrays of ours */
    return type == &PyRange_Type || PyArray_DescrCheck(o)
           || (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && PyArray_IsScalar(o, Generic) && !PyArray_IsScalar(o, Void));
}

/* A function that makes an array of what is no array (`array([1, 2])`, `zeros(3, int)`): NumPy's, called with the same
 * arguments. NULL, without an error set, where it is not that simple. */
static PyObject *made_of_none(PyObject *host, PyObject *const *args, Py_ssize_t n, PyObject *names, int flags)
{
    Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    if (limit < 0)
        return NULL;
    for (Py_ssize_t i = 0; i < n + named; i++)
        if (!has_no_array(args[i]) || (i >= n && is_word(PyTuple_GET_ITEM(names, i - n), left_names[0])))
            return NULL;
    made++;
    PyObject *value = PyObject_Vectorcall(host, args, (size_t)n, names);
    if (!value)
        return NULL;
    if (flags & BLANK && PyArray_CheckExact(value) && PyArray_SIZE((PyArrayObject *)value) > Py_MAX(limit, most_once)) {
        Py_DECREF(value);
        return NULL;
    }
    if (is_fresh(value) && PyArray_CHKFLAGS((PyArrayObject *)value, NPY_ARRAY_OWNDATA))
        return wrap(value);
    Gift gift;
    begin_gift(&gift, flags);
    PyObject *out = home_of(value, &gift);
    let_go(&gift);
    return out;
}

/* The dtype of what `full` is filled with, where nothing is cast but a whole number to floats. NULL where it is not that
 * simple. Borrowed. */
static PyArray_Descr *dtype_to_fill(PyObject *value, PyArray_Descr *given)
{
    for (int type = 0; PyArray_IsScalar(value, Number) && type < NPY_CLONGDOUBLE; type++) /* NumPy's numbers */
        if (plain_descr[type] && Py_TYPE(value) == plain_descr[type]->typeobj)
            return !given || given == plain_descr[type] ? plain_descr[type] : NULL;
    int type = PyFloat_CheckExact(value) ? NPY_DOUBLE : PyLong_CheckExact(value) ? NPY_INTP : -1;
    npy_intp whole;
    if (type < 0 || (type == NPY_INTP && !from_long(value, type, (char *)&whole)) || (given && given->type_num != NPY_DOUBLE && given->type_num != type))
        return NULL;
    return given ? given : plain_descr[type];
}

static void be_dense(Layout *as)
{
    npy_intp step = PyDataType_ELSIZE(plain_descr[as->type]);
    for (int d = as->nd - 1; d >= 0; d--) {
        as->stride[d] = step;
        step *= as->shape[d];
    }
}

/* A shape that is a number, or a tuple of numbers. */
static int read_shape(PyObject *shape, Layout *as)
{
    int tuple = PyTuple_CheckExact(shape);
    as->nd = tuple ? (int)Py_MIN(PyTuple_GET_SIZE(shape), AXES + 1) : 1;
    for (int d = 0; d < as->nd && as->nd <= AXES; d++) {
        PyObject *length = tuple ? PyTuple_GET_ITEM(shape, d) : shape;
        as->shape[d] = PyLong_CheckExact(length) ? PyLong_AsSsize_t(length) : -1;
        if (as->shape[d] == -1 && PyErr_Occurred())
            PyErr_Clear(); /* NumPy tells of it */
    }
    return as->nd > 0 && as->nd <= AXES;
}

/* The shape and type of an array in C's order, whether it has its value or not. */
static int lies_like(PyObject *o, Layout *as)
{
    Handle *a = (Handle *)o;
    if (Py_TYPE(o) != ndarray_type)
        return 0;
    if (a->pending) {
        Layout room;
        if (!P || by_others() || a->pending != VALUE || a->at < period_start)
            return 0;
        *as = *actual(P, &P->slot[a->at - period_start].out, &room);
        return 1;
    }
    PyArrayObject *h = is_there(o) ? (PyArrayObject *)a->h : NULL;
    if (!h || !PyArray_NDIM(h) || PyArray_NDIM(h) > AXES || !is_plain_type(PyArray_DESCR(h))
        || !PyArray_IS_C_CONTIGUOUS(h))
        return 0;
    lay_out(as, h);
    return 1;
}

/* `zeros(shape, dtype)`, `full_like(a, value, dtype)` and so on: small arrays, of numbers; matched or noted. NULL, without
 * an error set, where it is not that simple. */
static PyObject *filled(int which, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    static PyObject *one, *zero;
    int full = which % LIKE == FULL, before = touched;
    Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    if (limit < 0 || n < 1 + full || n > 2 + full || named > 1
        || (named && (n == 2 + full || !is_word(PyTuple_GET_ITEM(names, 0), name_dtype)))
        || (!one && !(one = PyLong_FromLong(1))) || (!zero && !(zero = PyLong_FromLong(0))))
        return NULL;
    PyObject *dtype = named ? args[n] : n == 2 + full ? args[1 + full] : Py_None, *value;
    Layout as;
    if (which < LIKE ? !read_shape(args[0], &as) : !lies_like(args[0], &as))
        return NULL;
    npy_intp size = 1;
    int fills = which % LIKE == ONES || full || which == LIKE + ZEROS; /* memory for `zeros` is zero when it comes */
    npy_intp most = spreads == Py_True || !fills ? limit : Py_MAX(limit, most_once);
    for (int d = 0; d < as.nd; d++) {
        if (as.shape[d] <= 0 || as.shape[d] > most / size)
            return NULL;
        size *= as.shape[d];
    }
    int small = size <= limit;
    PyArray_Descr *given = NULL, *descr;
    if (dtype != Py_None && (!has_no_array(dtype) || !PyArray_DescrConverter(dtype, &given))) {
        PyErr_Clear();
        return NULL;
    }
    if (which >= LIKE && !given)
        given = (PyArray_Descr *)Py_NewRef(plain_descr[as.type]);
    descr = full && which < LIKE ? dtype_to_fill(args[1], given) : given ? given : plain_descr[NPY_DOUBLE];
    if (descr && !is_plain_type(descr))
        descr = NULL;
    as.type = descr ? descr->type_num : 0;
    Py_XDECREF(given);
    char to[16];
    int truth = as.type == NPY_BOOL;
    value = which % LIKE == ZEROS ? (truth ? Py_False : zero) : which % LIKE == ONES ? (truth ? Py_True : one) : full ? args[1] : NULL;
    if (!descr || (full && !from_number(value, as.type, to))) /* or it is cast */
        return NULL;
    be_dense(&as);
    PyObject *out = P && small ? match_fill(&as, value) : NULL;
    if (out || PyErr_Occurred())
        return out;
    out = new_filled(&as, value);
    made++;
    out = out ? wrap(out) : NULL;
    if (out && small && watches() && !only_looks()) {
        note_fill(before, &as, value, out);
        looked();
    }
    return small ? out : counted_once(out);
}

/* How many elements an operand of `einsum` has by its labels: those of axes without one; -1 where the two do not go
 * together. Notes the lengths of the labels. */
static double labelled(PyObject *operand, Py_UCS1 const **text, npy_intp *length)
{
    PyObject *h = PyArray_CheckExact(operand) ? operand : is_current(operand) ? ((Handle *)operand)->h : NULL;
    int nd = h ? PyArray_NDIM((PyArrayObject *)h) : 0, at = 0, letters = 0;
    double others = 1;
    if (!h && !is_number(operand))
        return -1;
    for (Py_UCS1 const *c = *text; *c && *c != ',' && *c != '-'; c++)
        letters += isalpha(*c) != 0;
    if (letters > nd)
        return -1;
    for (; **text && **text != ',' && **text != '-'; (*text)++) {
        if (isalpha(**text))
            length[**text] = PyArray_DIM((PyArrayObject *)h, at++);
        else if (**text == '.' && (*text)[1] == '.' && (*text)[2] == '.') {
            for (int i = nd - letters; i > 0; i--)
                others *= (double)PyArray_DIM((PyArrayObject *)h, at++);
            *text += 2;
        }
        else if (**text != ' ')
            return -1;
    }
    return at == nd ? others : -1;
}

/* Whether `einsum(text, ...)` goes once through its largest operand, and no more: NumPy is through with that in less time
 * than recording it takes. */
static int is_one_pass(PyObject *const *args, Py_ssize_t n)
{
    npy_intp length[128] = {0};
    double others = 1, most = 1, all = 1;
    if (limit < 0 || n < 2 || !PyUnicode_CheckExact(args[0]) || !PyUnicode_IS_ASCII(args[0]))
        return 0;
    Py_UCS1 const *text = PyUnicode_1BYTE_DATA(args[0]);
    for (Py_ssize_t i = 1; i < n; i++) {
        double apart = labelled(args[i], &text, length);
        if (apart < 0 || (i + 1 < n && *text++ != ','))
            return 0;
        others = Py_MAX(others, apart);
        PyObject *h = Py_TYPE(args[i]) == ndarray_type ? ((Handle *)args[i])->h : PyArray_CheckExact(args[i]) ? args[i] : NULL;
        if (h)
            most = Py_MAX(most, (double)PyArray_SIZE((PyArrayObject *)h));
    }
    for (int c = 0; c < 128; c++)
        all *= length[c] ? (double)length[c] : 1;
    return all * others <= most;
}

