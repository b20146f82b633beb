/* Replay, hot: an operation is compared with the slot that is expected next. See `_replay.h`. */

static Slot *expect(int kind, PyUFuncObject *f)
{
    if (by_others() || !P || (P->done && settle() <= 0) || (cursor == P->n && (finish() < 0 || !P)))
        return NULL;
    Slot *s = &P->slot[cursor];
    if (s->kind == EXTERNAL) { /* which may be nothing at all */
        Slot *next = s + 1;
        if (next->kind != kind || next->f != f)
            return NULL;
        if (touch_slowly() < 0 || !P)
            return NULL;
        cursor++, position++;
        part_start = cursor;
        return next;
    }
    return s->kind == kind && s->f == f ? s : NULL;
}

/* A view of an earlier period that nobody has looked at yet. */
static int is_left_view(PyObject *o)
{
    Handle *a = (Handle *)o;
    return Py_TYPE(o) == ndarray_type && a->pending == VIEW && a->at < period_start && !((Handle *)a->base)->pending;
}

static int bind_param(int j, PyObject *o)
{
    Program *q = P;
    Handle *a = (Handle *)o;
    if (is_left_view(o)) {
        begin_settling(); /* so that it is done as where nothing is replayed */
        int failed = resolve_view(a->slot) < 0;
        end_settling();
        if (failed)
            return 0;
    }
    if (q->param[j]) /* memory that has become known outside is not written late, nor read late */
        return (PyObject *)q->param[j] == o && is_ours(a);
    if (Py_TYPE(o) != ndarray_type || a->pending || !is_there(o) || !is_ours(a)
        || !is_laid_out(q, (PyArrayObject *)a->h, &q->is[j].as))
        return 0;
    for (int i = 0; i < q->params; i++)
        if ((PyObject *)q->param[i] == o) /* two names of one array, which were two when the program was made */
            return 0;
    q->param[j] = (Handle *)Py_NewRef(o);
    q->h[j] = (PyArrayObject *)a->h;
    return 1;
}

/* Where the elements of slot k's value begin: of an earlier part, or a view of what is in memory. */
static char *beginning(Program *q, int k)
{
    Slot *s = &q->slot[k];
    if (s->kind != GETITEM)
        return q->kept[k] ? PyArray_BYTES(q->kept[k]) : NULL;
    char *of = s->from[0] == FROM_SLOT                ? beginning(q, s->source[0])
               : s->from[0] == FROM_MEMORY && q->h[s->source[0]] ? PyArray_BYTES(q->h[s->source[0]])
                                                      : NULL;
    return of ? of + q->offset[k] : NULL;
}

/* Whether an array is what a slot of an earlier part has made, as it was then, and nobody else has its memory now. */
static int is_still(PyObject *o, int k)
{
    Handle *a = (Handle *)o;
    if (a->pending) /* a view that nobody has looked at */
        return a->pending == VIEW;
    return is_there(o) && is_ours(a) && is_laid_out(P, (PyArrayObject *)a->h, &P->slot[k].out)
           && PyArray_BYTES((PyArrayObject *)a->h) == beginning(P, k);
}

static inline int matches(Slot const *s, int i, PyObject *o)
{
    switch (s->from[i]) {
        case NUMBER: return Py_TYPE(o) == s->number[i] && from_number(o, s->type, P->numbers + 16 * s->source[i]);
        case FROM_SLOT:
            return Py_TYPE(o) == ndarray_type && ((Handle *)o)->at == period_start + s->source[i]
                   && (s->source[i] >= part_start || is_still(o, s->source[i]));
        default: return bind_param(s->source[i], o);
    }
}

/* A handle on what the slot that was matched will give. */
static PyObject *matched_value(void)
{
    Handle *o = new_handle(); /* nothing else happens meanwhile: see `again` */
    if (!o)
        return NULL;
    o->at = position;
    o->pending = VALUE;
    o->slot = cursor;
    P->made[cursor] = o;
    advance();
    return (PyObject *)o;
}

static PyObject *match_ufunc(PyUFuncObject *f, int nin, PyObject *x, PyObject *y)
{
    Slot *s = expect(UFUNC, f);
    if (!s || s->nin != nin || !same_errors() || !matches(s, 0, x) || (nin > 1 && !matches(s, 1, y)))
        return NULL;
    return matched_value();
}

static PyObject *match_where(PyObject *const *args)
{
    Slot *s = expect(WHERE, NULL);
    return s && matches(s, 0, args[0]) && matches(s, 1, args[1]) && matches(s, 2, args[2]) ? matched_value() : NULL;
}

/* A new array of one number; of none: NULL. */
static PyObject *match_fill(Layout const *as, PyObject *number)
{
    Slot *s = expect(FILL, NULL);
    return s && s->nin == (number != NULL) && same_layout(as, &s->out) && are_lengths(P, &s->out, as->shape)
                   && (!number || matches(s, 0, number))
               ? matched_value()
               : NULL;
}

/* Arrays one after the other along an axis, as `how_joined` has it. */
static PyObject *match_join(int which, PyObject *const *arrays, int n, long axis)
{
    Slot *s = expect(JOIN, NULL);
    if (!s || s->nin != n || s->how != how_joined(which, axis, s->out.nd - s->how / STACKED))
        return NULL;
    for (int i = 0; i < n; i++)
        if (!matches(s, i, arrays[i]))
            return NULL;
    return matched_value();
}

static int is_nan(int type, char const *number)
{
    return type == NPY_DOUBLE ? isnan(*(double const *)number) : type == NPY_FLOAT && isnan(*(float const *)number);
}

static PyObject *match_clip(PyObject *const *args)
{
    Slot *s = expect(CLIP, NULL);
    if (!s || !matches(s, 0, args[0]) || !matches(s, 1, args[1]) || !matches(s, 2, args[2])
        || is_nan(s->type, P->numbers + 16 * s->source[1]) || is_nan(s->type, P->numbers + 16 * s->source[2]))
        return NULL;
    return matched_value();
}

/* f(*args, out=out), of one or two. */
static PyObject *match_into(PyUFuncObject *f, int n, PyObject *const *args, PyObject *out)
{
    Slot *s = expect(INTO, f);
    if (!s || s->nin != n + 1 || !same_errors() || !matches(s, 0, out) || !matches(s, 1, args[0])
        || (n > 1 && !matches(s, 2, args[1])))
        return NULL;
    advance();
    return Py_NewRef(out);
}

/* x[mask] = number. Whether it was matched; if not, there may be an error. */
static int match_masked(PyObject *x, PyObject *mask, PyObject *number)
{
    Slot *s = expect(MASKED, NULL);
    if (!s || !matches(s, 0, x) || !matches(s, 1, mask) || !matches(s, 2, number))
        return 0;
    advance();
    return 1;
}

/* What the slot that was matched gives at once, and so all before it. NULL, without an error set, where it cannot be run so. */
static PyObject *number_now(Slot *s, PyObject *x, PyObject *y)
{
    Program *q = P;
    PyObject *errors;
    int raised, k = cursor;
    advance();
    called_with[0] = x;
    called_with[1] = y;
    int run = run_rest(q, &errors, &raised);
    called_with[0] = called_with[1] = NULL;
    if (!run) {
        cursor--;
        position--;
        settle();
        return NULL;
    }
    PyObject *out = PyArray_Scalar(PyArray_BYTES(q->kept[k]), plain_descr[s->out.type], NULL);
    if (errors && warn(errors, raised) < 0)
        Py_CLEAR(out);
    return out;
}

/* A product of matrices or vectors. */
static PyObject *match_dot(PyUFuncObject *f, PyObject *x, PyObject *y)
{
    Slot *s = expect(DOT, f);
    return s && same_errors() && matches(s, 0, x) && matches(s, 1, y) ? number_now(s, x, y) : NULL;
}

/* `dot` where it was seen that `matmul` multiplies such operands alike. */
static PyObject *match_matrix_dot(PyObject *x, PyObject *y)
{
    Slot *s = expect(UFUNC, (PyUFuncObject *)matmul_ufunc);
    return s && s->how && same_errors() && matches(s, 0, x) && matches(s, 1, y) ? matched_value() : NULL;
}

static int has_elements(Program const *q, Layout const *as)
{
    Layout room;
    as = actual(q, as, &room);
    for (int d = 0; d < as->nd; d++)
        if (!as->shape[d])
            return 0;
    return 1;
}

/* A reduction: a number, or an array. */
static PyObject *match_reduction(Reduction const *r, PyObject *x)
{
    PyUFuncObject *f = (PyUFuncObject *)reduction_ufunc[r->which];
    Slot *s = expect(TOTAL, f);
    if (!s && P)
        s = expect(ALONG, f);
    if (!s || !same_errors() || s->how != how_of(r, s->of.nd) || (r->keep && s->of.nd) != (s->kind == ALONG && s->out.nd == s->of.nd)
        || !matches(s, 0, x) || !has_elements(P, &s->of))
        return NULL;
    return s->kind == TOTAL ? number_now(s, x, NULL) : matched_value();
}
static PyObject *match_product(PyObject *x, PyObject *y)
{
    PyObject *out = match_ufunc((PyUFuncObject *)matmul_ufunc, 2, x, y);
    return out || PyErr_Occurred() || !P ? out : match_dot((PyUFuncObject *)matmul_ufunc, x, y);
}

static PyObject *match_in_place(PyUFuncObject *f, PyObject *x, PyObject *y)
{
    Slot *s = expect(IN_PLACE, f);
    if (!s || !same_errors() || !matches(s, 0, x) || !matches(s, 1, y))
        return NULL;
    advance();
    return Py_NewRef(x);
}

/* Whether a key is made of the same objects as last time. */
static int is_seen(Slot const *s, PyObject *key)
{
    int tuple = PyTuple_CheckExact(key), m = tuple ? (int)PyTuple_GET_SIZE(key) : 1;
    if (!s->seen_count || m != s->seen_count || tuple != s->seen_tuple)
        return 0;
    for (int d = 0; d < m; d++) {
        PyObject *o = tuple ? PyTuple_GET_ITEM(key, d) : key, *const *was = s->seen[d];
        if (PySlice_Check(o)) {
            PySliceObject *c = (PySliceObject *)o;
            if (c->start != was[0] || c->stop != was[1] || c->step != was[2])
                return 0;
        }
        else if (o != was[0] || was[1])
            return 0;
    }
    return 1;
}

static void remember(Slot *s, PyObject *key)
{
    int tuple = PyTuple_CheckExact(key), m = tuple ? (int)PyTuple_GET_SIZE(key) : 1;
    if (m > AXES + 2)
        return;
    s->seen_count = m;
    s->seen_tuple = tuple;
    for (int d = 0; d < m; d++) {
        PyObject *o = tuple ? PyTuple_GET_ITEM(key, d) : key;
        PySliceObject *c = PySlice_Check(o) ? (PySliceObject *)o : NULL;
        Py_XSETREF(s->seen[d][0], Py_NewRef(c ? c->start : o));
        Py_XSETREF(s->seen[d][1], Py_XNewRef(c ? c->stop : NULL));
        Py_XSETREF(s->seen[d][2], Py_XNewRef(c ? c->step : NULL));
    }
}

/* Whether a slice's bound is a number: `__index__` of anything else is Python code, which may look at arrays, and may give
 * another number next time. */
static int is_bound(PyObject *o)
{
    return o == Py_None || PyLong_CheckExact(o)
           || (PyArray_IsScalar(o, Integer) && !(Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE));
}

/* A plain key as an offset, and the layout of the part. 0 for anything else. No Python code runs. */
static int cut(Layout const *of, PyObject *key, npy_intp *offset, Layout *out)
{
    int tuple = PyTuple_CheckExact(key), m = tuple ? (int)PyTuple_GET_SIZE(key) : 1, axes = 0, at = 0, dots = 0;
    for (int d = 0; d < m; d++) {
        PyObject *o = tuple ? PyTuple_GET_ITEM(key, d) : key;
        axes += o != Py_None && o != Py_Ellipsis;
        dots += o == Py_Ellipsis;
    }
    if (axes > of->nd || dots > 1)
        return 0;
    *offset = 0;
    out->nd = 0;
    out->type = of->type;
    for (int d = 0; d <= m; d++) {
        PyObject *o = d == m ? (dots ? NULL : Py_Ellipsis) : tuple ? PyTuple_GET_ITEM(key, d) : key;
        int whole = o == Py_Ellipsis ? of->nd - axes : 0;
        if (!o)
            break;
        if (out->nd + whole > AXES)
            return 0;
        for (int i = 0; i < whole; i++, at++) {
            out->shape[out->nd] = of->shape[at];
            out->stride[out->nd++] = of->stride[at];
        }
        if (o == Py_Ellipsis)
            continue;
        if (o != Py_None && at >= of->nd)
            return 0;
        npy_intp n = o == Py_None ? 1 : of->shape[at], stride = o == Py_None ? 0 : of->stride[at];
        npy_intp i;
        if (is_index(o, &i)) {
            i += i < 0 ? n : 0;
            if (i < 0 || i >= n)
                return 0;
            *offset += i * stride;
            at++;
            continue;
        }
        if (out->nd == AXES)
            return 0;
        if (PySlice_Check(o)) {
            Py_ssize_t start, stop, step;
            PySliceObject *c = (PySliceObject *)o;
            if (!is_bound(c->start) || !is_bound(c->stop) || !is_bound(c->step))
                return 0;
            if (PySlice_Unpack(o, &start, &stop, &step) < 0) {
                PyErr_Clear();
                return 0;
            }
            n = PySlice_AdjustIndices(n, &start, &stop, step);
            if (n > 0)
                *offset += start * stride;
            stride *= step;
        }
        else if (o != Py_None)
            return 0;
        at += o != Py_None;
        out->shape[out->nd] = n;
        out->stride[out->nd++] = stride;
    }
    return out->nd <= AXES;
}

static int matches_key(Slot *s, PyObject *key)
{
    npy_intp offset;
    Layout out;
    if (s->seen_count && is_seen(s, key)) {
        P->offset[cursor] = s->offset;
        return 1;
    }
    Layout room, kept;
    if (!cut(actual(P, &s->of, &room), key, &offset, &out) || !same_layout(&out, &s->out)
        || (s->fixed && offset != s->offset) || !are_lengths(P, &s->out, out.shape))
        return 0;
    if (s->fixed && actual(P, &s->out, &kept) == &s->out)
        remember(s, key);
    P->offset[cursor] = offset;
    return 1;
}

/* A handle on the part of an array that the slot which was matched takes. */
static PyObject *matched_view(PyObject *self, PyObject *key)
{
    if (view_count == LONGEST) {
        int kept = 0;
        for (int i = 0; i < view_count; i++)
            if (views[i]) {
                views[i]->slot = kept;
                views[kept++] = views[i];
            }
        view_count = kept;
    }
    Handle *o = view_count < LONGEST ? new_handle() : NULL;
    if (!o)
        return NULL;
    o->at = position;
    o->pending = VIEW;
    o->base = Py_NewRef(self);
    o->v = Py_NewRef(key);
    o->slot = view_count;
    views[view_count++] = o;
    views_alive++;
    advance();
    return (PyObject *)o;
}

static PyObject *match_getitem(PyObject *self, PyObject *key)
{
    Slot *s = expect(GETITEM, NULL);
    return s && s->how == PART && matches(s, 0, self) && matches_key(s, key) ? matched_view(self, key) : NULL;
}

static PyObject *match_transpose(PyObject *self)
{
    Slot *s = expect(GETITEM, NULL);
    if (!s || s->how != TRANSPOSED || !matches(s, 0, self))
        return NULL;
    P->offset[cursor] = 0;
    return matched_view(self, kind_transpose);
}

/* An array in C's order in the shape that is expected, of which one length may be given as -1. `shape`: a tuple; NULL: one
 * axis. */
static PyObject *match_reshape(PyObject *self, PyObject *shape)
{
    Slot *s = expect(GETITEM, NULL);
    int nd = !shape ? 1 : PyTuple_CheckExact(shape) ? (int)PyTuple_GET_SIZE(shape) : -1, open = 0;
    if (!s || s->how != RESHAPED || s->out.nd != nd || !matches(s, 0, self))
        return NULL;
    for (int d = 0; shape && d < nd; d++) {
        PyObject *length = PyTuple_GET_ITEM(shape, d);
        long n = PyLong_CheckExact(length) ? PyLong_AsLong(length) : -2;
        PyErr_Clear();
        open += n == -1;
        if (open > 1 || (n != -1 && n != s->out.shape[d]))
            return NULL;
    }
    if (!s->seen[0][0]) {
        PyObject *lengths = sizes(s->out.shape, nd);
        s->seen[0][0] = lengths ? PyTuple_Pack(2, kind_reshape, lengths) : NULL;
        Py_XDECREF(lengths);
    }
    P->offset[cursor] = 0;
    return s->seen[0][0] ? matched_view(self, s->seen[0][0]) : NULL;
}

/* Whether the memory that a slot reads is known to be written by nothing pending: the program does not expect it to be that
 * of a parameter that is written and has another root. */
static int reads_apart(Program *q, int slot)
{
    int j = root_of_slot(q, slot);
    for (int i = 0; j < q->params && i < q->params; i++)
        if (q->param[i] && q->is[i].written && q->is[i].root != q->is[j].root && q->param[i]->s == q->param[j]->s)
            return 0;
    return 1;
}

/* The element at a key of numbers: what is pending is run before only if it may write there. */
static PyObject *match_read(PyObject *self, PyObject *key)
{
    Slot *s = expect(READ, NULL);
    npy_intp offset;
    Layout element, room;
    if (!s || !matches(s, 0, self) || !cut(actual(P, &s->of, &room), key, &offset, &element) || element.nd
        || !reads_apart(P, cursor))
        return NULL;
    Program *q = P;
    PyObject *errors = NULL;
    int raised = 0, k = s->source[0];
    if (part_start < cursor && q->slot[part_start].part != s->part && !run_rest(q, &errors, &raised)) {
        settle();
        return NULL;
    }
    char *at = s->from[0] == FROM_SLOT ? beginning(q, k) : PyArray_BYTES(q->h[k]);
    PyObject *out = at ? PyArray_Scalar(at + offset, plain_descr[s->out.type], NULL) : NULL;
    if (out)
        advance();
    if (errors && warn(errors, raised) < 0)
        Py_CLEAR(out);
    return out;
}

static PyObject *match_index(PyObject *self, PyObject *key)
{
    PyObject *out = match_getitem(self, key);
    return out || PyErr_Occurred() || !P ? out : match_read(self, key);
}

/* Whether it was matched; if not, there may be an error. */
static int match_setitem(PyObject *self, PyObject *key, PyObject *value)
{
    Slot *s = expect(SETITEM, NULL);
    if (!s || !matches(s, 0, self) || !matches(s, 1, value) || !matches_key(s, key))
        return 0;
    advance();
    return 1;
}
