/* A public function, or a method, on small arrays: the whole call is NumPy's own, on their memory.
 *
 * What decides is the arguments. Where all arrays among them are at hand, small and of exactly the door's class, and all
 * else is plain (numbers, strings, dtypes, slices, tuples and lists of such), NumPy's function is called once. A result
 * that it made is a fresh array of ours; one that is a view of an argument becomes a view of that argument's storage.
 * Anything else is left to the Python function, as is what only that knows: `like=`, arguments that are written to.
 */

enum { FEW_GIVEN = 32, MOST_GIVEN = 1 << 20, MOST_ARGUMENTS = 12, MOST_DEPTH = 4, MOST_OUTS = 4 };

/* What a function is like. GROWS: the result may be larger than all arguments. BLANK: a large result is made by the
 * Python function, on the device perhaps. BARE: the Python function has more named arguments than NumPy's. WRITES: into
 * its first argument. NO_COPY: into it, with `copy=False`. DRAWS: a method of a generator. WAITS: of one that may have a draw
 * under way. BY_TWIN: it asks others of its methods, and wants NumPy's arrays of them. PROTOCOL: `__array_ufunc__`.
 * LOOKS: it reads no elements and makes no arrays but views, so that arrays may be of any size. VALUES: what it gives
 * is no array, nor has any. READS: from a file, which may be any object. REDUCES: the result is smaller than the
 * arguments. SHARES: it says whether two arrays share memory. MAKES: it makes an array, mostly of what
 * is none. CREATES: the `__new__` of a class, which is to be asked first whether an argument is NumPy's array.
 * NEVER: the Python function always does it. TOUCHES: of its first argument only what the second one names. ONCE: it is one
 * call for NumPy, in which nothing can be fused, so that arrays at hand may be as large as `most_once` says. SEVERAL: it
 * is some passes, which a graph could fuse, but for arrays of up to MIDDLE times the limit nothing is won by it. `speed.py` has the same. */
enum {
    GROWS = 1, BLANK = 2, BARE = 4, WRITES = 8, NO_COPY = 16, DRAWS = 32, PROTOCOL = 64, LOOKS = 128, VALUES = 512, READS = 1024,
    REDUCES = 2048, SHARES = 4096, MAKES = 8192, CREATES = 16384, NEVER = 32768, TOUCHES = 65536,
    WAITS = 1 << 17, BY_TWIN = 1 << 18, /* ONCE = 1 << 19 */
    SEVERAL = 1 << 20, MIDDLE = 4,
    SIZED_BY = 21 /* bits above which is, where GROWS or DRAWS, the place from 1 on of the argument that says how large the result is;
                     0: each may */
};
enum { MOST_DRAWN = 1 << 14 }; /* `draws.py: LARGE` */

/* An array among the arguments as it was when NumPy got it: another thread may give the handle another view meanwhile. */
typedef struct {
    PyObject *o, *s, *b, *h; /* o is NumPy's own array where s is NULL */
} Given;

typedef struct {
    Given *at, few[FEW_GIVEN];
    int count, room, flags, nested; /* whether an array was in a list or a tuple */
    npy_intp most;  /* elements of an array */
    int large;      /* whether there is an array that is not small */
    double product; /* of all sizes and lengths that were given: what a result may grow to */
} Gift;

typedef struct {
    PyObject_HEAD
    PyObject *host;      /* NumPy's function; None where the Python function is always to do it */
    vectorcallfunc call;
    int known;           /* its number */
    int most;            /* arguments by place; one more is written to */
    int flags;
    PyObject *relevant, *implementation; /* of a dispatcher: what `__array_function__` is asked of; our function */
} Function;

typedef struct {
    PyObject_HEAD
    PyObject *host, *slow, *dict; /* host is a name where the method is a ufunc's */
    vectorcallfunc call;
    int most, flags, known;
    char reduces; /* the method `reduce` of ufuncs */
} Method;

typedef struct {
    PyObject_HEAD
    PyObject *name, *slow;
    getter get; /* NumPy's, of its array */
    void *closure;
    char transposes, plain, part; /* plain: what it says is no array, and a subclass's is that of the array it shows; part: `real`, `imag` */
} Attribute;

static PyTypeObject UfuncBase, FunctionBase;
static PyObject *returned_of, *done_once, *pinned, *no_value_type, *kind_part;
/* Names of arguments that the Python function knows what to do with. */
enum { LEFT = 4, LEFT_COPY = 3 };
static PyObject *subclass_mark, *finalize_nothing, *name_type, *name_finalize, *name_name, *name_host, *name_buffer,
    *name_wrap, *name_priority, *name_ufunc, *name_fields, *name_array_function, *details_type;
static PyObject *left_names[LEFT], *name_dunder_call, *name_drawn, *name_twin, *name_shared, *shared_drawn;
static const char *const left_words[LEFT] = {"like", "overwrite_input", "descending", "copy"};

static void begin_gift(Gift *gift, int flags)
{
    gift->at = gift->few;
    gift->count = gift->nested = 0;
    gift->flags = flags;
    gift->room = FEW_GIVEN;
    int once = spreads == Py_True || most_once <= limit ? 0 : flags & (ONCE | SEVERAL);
    gift->most = flags & LOOKS && limit >= 0 ? NPY_MAX_INTP : once & ONCE ? most_once : once ? MIDDLE * limit : limit;
    gift->large = 0;
    gift->product = 1.0;
}

static int more_room(Gift *gift)
{
    Given *more = gift->room < MOST_GIVEN ? PyMem_Malloc(sizeof *more * (size_t)gift->room * 4) : NULL;
    if (!more)
        return 0;
    memcpy(more, gift->at, sizeof *more * (size_t)gift->count);
    if (gift->at != gift->few)
        PyMem_Free(gift->at);
    gift->at = more;
    gift->room *= 4;
    return 1;
}

static void let_go(Gift *gift)
{
    for (int i = 0; i < gift->count; i++) {
        Given *g = &gift->at[i];
        Py_DECREF(g->o);
        Py_XDECREF(g->s);
        Py_XDECREF(g->b);
        Py_DECREF(g->h);
    }
    if (gift->at != gift->few)
        PyMem_Free(gift->at);
}

static PyObject *given_array(PyObject *o, PyObject *s, PyObject *b, PyObject *h, Gift *gift)
{
    if ((PyArray_SIZE((PyArrayObject *)h) > gift->most
         && !(gift->flags & REDUCES && PyArray_NBYTES((PyArrayObject *)h) <= BYTES_REDUCED * limit))
        || PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)h))
        || (gift->count == gift->room && !more_room(gift)))
        return NULL;
    Given *g = &gift->at[gift->count++];
    g->o = Py_NewRef(o);
    g->s = Py_XNewRef(s);
    g->b = Py_XNewRef(b);
    g->h = Py_NewRef(h);
    npy_intp size = PyArray_SIZE((PyArrayObject *)h);
    gift->large |= size > limit;
    gift->product *= size ? (double)size : 1.0;
    return Py_NewRef(h);
}

static int is_number(PyObject *o)
{
    return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) || PyComplex_CheckExact(o);
}

/* What has no parts, and says nothing of how large a result may be. */
static inline int is_atom(PyObject *o, PyTypeObject *type)
{
    return type == &PyFloat_Type || o == Py_None || type == &PyBool_Type || type == &PyUnicode_Type || type == &PyComplex_Type
           || type == &PyBytes_Type || o == Py_Ellipsis;
}

static PyObject *given_value(PyObject *o, Gift *gift, int depth);

static int holds_objects(Py_buffer *buffer) /* arrays of ours may be among them */
{
    return buffer->format && strchr(buffer->format, 'O');
}

/* A tuple or a list with what NumPy gets for its items: itself, where that is no other. */
static PyObject *given_items(PyObject *o, Gift *gift, int depth)
{
    int list = PyList_CheckExact(o);
    Py_ssize_t n = Py_SIZE(o), at = 0;
    PyObject *out = NULL;
    if (depth == MOST_DEPTH)
        return NULL;
    double before = gift->product;
    int counts = gift->flags & (GROWS | DRAWS);
    for (; at < n && at < Py_SIZE(o); at++) {
        PyObject *item = list ? PyList_GET_ITEM(o, at) : PyTuple_GET_ITEM(o, at);
        PyTypeObject *type = Py_TYPE(item);
        if (!out && (is_atom(item, type) || (!counts && type == &PyLong_Type)))
            continue;
        PyObject *value = given_value(item, gift, depth + 1);
        if (!value)
            break;
        if (value != item && !out) {
            gift->nested = 1;
            out = list ? PyList_New(n) : PyTuple_New(n);
            if (!out) {
                Py_DECREF(value);
                return NULL;
            }
            for (Py_ssize_t i = 0; i < at; i++) {
                PyObject *before = Py_NewRef(list ? PyList_GET_ITEM(o, i) : PyTuple_GET_ITEM(o, i));
                if (list)
                    PyList_SET_ITEM(out, i, before);
                else
                    PyTuple_SET_ITEM(out, i, before);
            }
        }
        if (!out)
            Py_DECREF(value);
        else if (list)
            PyList_SET_ITEM(out, at, value);
        else
            PyTuple_SET_ITEM(out, at, value);
    }
    if (at < n) {
        Py_XDECREF(out);
        return NULL;
    }
    if (n > (depth ? 2 : NPY_MAXDIMS)) /* no shape, nor what is added at two ends of an axis: so many elements */
        gift->product = before * (double)n;
    return out ? out : Py_NewRef(o);
}

/* Whether a storage's node has the value, which the storage has not taken from it yet. */
static int is_computed(Storage *s)
{
    if (!s->node || s->node == Py_None || (s->details && s->details != Py_None))
        return 0;
    PyObject *buffer = PyObject_GetAttr(s->node, name_buffer);
    int computed = buffer && PyArray_CheckExact(buffer);
    Py_XDECREF(buffer);
    PyErr_Clear();
    return computed;
}

/* Whether an array is at hand after its handle, which nobody has asked since its storage has its value, was brought up to
 * date. Functions that read no elements would find it as it is for ever. With an error set where a signal's handler raised
 * one meanwhile, which nobody would come upon again. */
static int is_brought_up(PyObject *o)
{
    Handle *a = (Handle *)o;
    Storage *s = (Storage *)a->s;
    int there = s && s->buf && s->buf != Py_None;
    if (!s || a->pending || a->v == host_view || (there ? a->b == s->buf || !PyArray_CheckExact(s->buf) : !is_computed(s)))
        return 0;
    PyObject *done = PyObject_CallMethodNoArgs(o, name_host);
    if (!done)
        return 0;
    Py_DECREF(done);
    return is_current(o);
}

/* What NumPy gets for an argument: a new reference. NULL where it is not plain; with an error set as in `is_brought_up`. */
static PyObject *given_value(PyObject *o, Gift *gift, int depth)
{
    PyTypeObject *type = Py_TYPE(o);
    if (type == ndarray_type) {
        Handle *a = (Handle *)o;
        return is_current(o) || is_brought_up(o) ? given_array(o, a->s, a->b, a->h, gift) : NULL;
    }
    if (type == &PyLong_Type) {
        if (gift->flags & (GROWS | DRAWS)) {
            int over;
            long long v = PyLong_AsLongLongAndOverflow(o, &over);
            gift->product *= over ? 1e30 : v > 1 ? (double)v : 1.0;
        }
        return Py_NewRef(o);
    }
    if (is_atom(o, type))
        return Py_NewRef(o);
    if (type == &PyTuple_Type || type == &PyList_Type)
        return given_items(o, gift, depth);
    if (type == &PyArray_Type)
        return given_array(o, NULL, NULL, o, gift);
    if (type == &PySlice_Type)
        return is_plain_slice(o) ? Py_NewRef(o) : NULL;
    if (PyType_Check(o))
        return PyType_IsSubtype((PyTypeObject *)o, ndarray_type) && !(gift->flags & READS) ? NULL : Py_NewRef(o);
    if (type == &PyRange_Type) { /* a shape, it may be: how large is not looked at, but of one that is too long for that */
        Py_ssize_t n = PyObject_Size(o);
        PyErr_Clear();
        gift->product = n > (depth ? 2 : NPY_MAXDIMS) ? gift->product * (double)n : 1e30;
        return Py_NewRef(o);
    }
    if (PyArray_IsScalar(o, Generic) && !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !PyArray_IsScalar(o, Void))
        return Py_NewRef(o);
    if (PyArray_DescrCheck(o) || (PyObject *)type == no_value_type
        || (PyMemoryView_Check(o) && !holds_objects(PyMemoryView_GET_BUFFER(o))))
        return Py_NewRef(o);
    if (PyCFunction_Check(o) && PyCFunction_GET_SELF(o) && PyModule_Check(PyCFunction_GET_SELF(o)))
        return Py_NewRef(o); /* `len`, say */
    if (gift->flags & READS && !PyArray_Check(o) && !PyType_IsSubtype(type, ndarray_type))
        return Py_NewRef(o);
    return NULL;
}

/* The array that has the memory which this one shows. */
static PyArrayObject *root_of(PyArrayObject *array)
{
    while (PyArray_BASE(array) && PyArray_CheckExact(PyArray_BASE(array)))
        array = (PyArrayObject *)PyArray_BASE(array);
    return array;
}

/* The axes of an array that are longer than 1, the one with the longest steps first; how many they are. */
static int sorted_axes(PyArrayObject *array, int *order)
{
    int count = 0;
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        if (PyArray_DIM(array, i) == 1)
            continue;
        int j = count++;
        for (; j && llabs(PyArray_STRIDE(array, order[j - 1])) < llabs(PyArray_STRIDE(array, i)); j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
    return count;
}

/* Whether `part`, a view of an array's memory, is an index of it where the axes of both may be exchanged, and axes of
 * length 1 added: what `runtime/views.py: part_of_view` finds again. */
static int is_index_of(PyArrayObject *part, PyArrayObject *whole)
{
    int order[NPY_MAXDIMS], axes[NPY_MAXDIMS], count = sorted_axes(part, order), left = sorted_axes(whole, axes), k = 0;
    npy_intp place = PyArray_BYTES(part) - PyArray_BYTES(whole), start[NPY_MAXDIMS];
    for (int i = 0; i < left; i++) {
        npy_intp stride = PyArray_STRIDE(whole, axes[i]);
        if (stride <= 0 || (i && stride * PyArray_DIM(whole, axes[i]) > PyArray_STRIDE(whole, axes[i - 1])))
            return 0;
        start[i] = place / stride;
        place -= start[i] * stride;
        if (start[i] < 0 || start[i] >= PyArray_DIM(whole, axes[i]))
            return 0;
    }
    if (place)
        return 0;
    for (int i = 0; i < count; i++) {
        npy_intp stride = PyArray_STRIDE(part, order[i]), n = PyArray_DIM(part, order[i]);
        while (k < left && PyArray_STRIDE(whole, axes[k]) > llabs(stride))
            k++;
        if (k == left || !stride || stride % PyArray_STRIDE(whole, axes[k]))
            return 0;
        npy_intp last = start[k] + (n - 1) * (stride / PyArray_STRIDE(whole, axes[k]));
        if (last < 0 || last >= PyArray_DIM(whole, axes[k]))
            return 0;
        k++;
    }
    return 1;
}

/* By which step NumPy's view of a C-contiguous array, or of an array whose view is known, is made of it; NULL where it
 * can not be said. Borrowed. The step's parameter is `part`. */
static PyObject *step_to(PyArrayObject *part, PyArrayObject *whole)
{
    if (PyArray_DESCR(part) != PyArray_DESCR(whole))
        return NULL;
    if (PyArray_IS_C_CONTIGUOUS(part) && PyArray_IS_C_CONTIGUOUS(whole) && PyArray_SIZE(part) == PyArray_SIZE(whole))
        return kind_reshape;
    return PyArray_SIZE(part) && is_index_of(part, whole) ? kind_part : NULL;
}

/* The `_v_` of a buffer that stays where it is, since only NumPy's own view will do. */
static PyObject *pin(Given *g)
{
    Storage *s = (Storage *)g->s;
    if (g->b != s->buf || !s->free)
        return NULL;
    int none = !s->details || s->details == Py_None;
    PyObject *known = none || is_lent(s->details, 1) ? NULL : PyObject_GetAttr(s->details, name_pin);
    PyErr_Clear();
    if (none && details_type) {
        PyObject *details = PyObject_CallOneArg(details_type, Py_True);
        if (!details)
            return NULL;
        if (g->b != s->buf || !s->free || (s->details && s->details != Py_None)) { /* another thread was here */
            Py_DECREF(details);
            return NULL;
        }
        be_seen((PyObject *)s, &s->unseen);
        Py_XSETREF(s->details, details);
    }
    else if (known != Py_True) {
        PyObject *done = PyObject_CallOneArg(pinned, g->s);
        Py_XDECREF(done);
        if (!done || g->b != s->buf)
            return NULL;
    }
    Py_XDECREF(known);
    return Py_NewRef(host_view);
}

/* A handle with this storage, buffer and NumPy's view of it. Its view is `view`, whose reference is taken, or the step of
 * a kind from there, which begins at the array `from`. */
static PyObject *view_handle(PyObject *s, PyObject *b, PyObject *h, PyObject *view, PyObject *kind, PyObject *from, PyObject *base)
{
    Handle *out = new_handle();
    if (!out) {
        Py_XDECREF(view);
        return NULL;
    }
    out->s = Py_NewRef(s);
    out->b = Py_NewRef(b);
    out->h = Py_NewRef(h);
    out->v = view;
    if (kind) {
        out->kind = kind;
        out->from = Py_NewRef(from);
        out->param = Py_NewRef(h);
    }
    out->base = Py_NewRef(base);
    return (PyObject *)out;
}

/* A handle on NumPy's view of an argument's memory: a view of its storage. NULL, without an error set, where Python has
 * to do it. */
static PyObject *shown(Given *g, PyArrayObject *part)
{
    PyArrayObject *whole = (PyArrayObject *)g->b;
    Handle *a = (Handle *)g->o;
    PyObject *view = NULL, *kind = NULL, *from = g->b;
    if (PyArray_ISWRITEABLE(part) && !((unsigned)PyArray_FLAGS(part) & WARNS_ON_WRITE) && a->v != host_view
        && PyArray_CheckExact(g->b) && PyArray_IS_C_CONTIGUOUS(whole)) {
        kind = step_to(part, whole);
        if (!kind && (a->from || (a->v && a->v != Py_None)) && a->s == g->s && g->b == a->b && g->h == a->h
            && (kind = step_to(part, (PyArrayObject *)g->h))) {
            from = g->h;
            if (begins_at(a, &view) < 0)
                return NULL;
        }
    }
    if (!kind && !(view = pin(g)))
        return NULL;
    PyObject *base = a->base && Py_TYPE(a->base) == ndarray_type ? a->base : g->o;
    return view_handle(g->s, g->b, (PyObject *)part, view, kind, from, base);
}

/* The same of memory in Fortran's order that is shown in it (`reshape(order="F")` of an array in C's): both turned round. NULL,
 * without an error set, where it is not that. */
static PyObject *hidden_columns(PyArrayObject *part, PyArrayObject *root)
{
    if (!is_fresh_transposed((PyObject *)root) || !PyArray_IS_F_CONTIGUOUS(part) || PyArray_SIZE(part) != PyArray_SIZE(root)
        || PyArray_DESCR(part) != PyArray_DESCR(root))
        return NULL;
    PyObject *dense = PyArray_Transpose(root, NULL), *turned = PyArray_Transpose(part, NULL), *out = NULL, *in_rows = NULL;
    Handle *whole = dense && turned ? (Handle *)wrap(Py_NewRef(dense)) : NULL;
    if (whole)
        in_rows = view_handle(whole->s, whole->b, turned, NULL, kind_reshape, whole->h, (PyObject *)whole);
    if (in_rows)
        out = derived((Handle *)in_rows, Py_NewRef(whole->b), Py_NewRef(turned), Py_NewRef((PyObject *)part), kind_transpose, Py_None);
    if (out) { /* its base is shown as NumPy has it */
        Handle *base = (Handle *)derived(whole, Py_NewRef(whole->b), Py_NewRef(dense), Py_NewRef((PyObject *)root), kind_transpose, Py_None);
        if (base) {
            Py_CLEAR(base->base);
            Py_XSETREF(((Handle *)out)->base, (PyObject *)base);
        }
        else
            Py_CLEAR(out);
    }
    Py_XDECREF(in_rows);
    Py_XDECREF(whole);
    Py_XDECREF(turned);
    Py_XDECREF(dense);
    return out;
}

/* A handle on NumPy's view of memory that nobody else sees, whose handle is `*whole`. NULL, without an error set, where
 * Python has to do it. */
static PyObject *hidden(PyArrayObject *part, PyArrayObject *root, PyObject **whole)
{
    if (PyArray_BASE(root) || !PyArray_ISWRITEABLE(root) || !PyArray_ISWRITEABLE(part)
        || ((unsigned)PyArray_FLAGS(part) & WARNS_ON_WRITE) || !PyArray_CHKFLAGS(root, NPY_ARRAY_OWNDATA))
        return NULL;
    if (!PyArray_IS_C_CONTIGUOUS(root))
        return hidden_columns(part, root);
    PyObject *kind = step_to(part, root);
    if (!kind && PyArray_DESCR(part) == PyArray_DESCR(root))
        return NULL;
    if (*whole && ((Handle *)*whole)->b != (PyObject *)root)
        Py_CLEAR(*whole);
    if (!*whole && !(*whole = wrap(Py_NewRef((PyObject *)root))))
        return NULL;
    Given g = {*whole, ((Handle *)*whole)->s, (PyObject *)root, (PyObject *)root};
    PyObject *view = kind ? NULL : pin(&g);
    if (!kind && !view)
        return NULL;
    return view_handle(g.s, g.b, (PyObject *)part, view, kind, g.h, *whole);
}

/* Whether a view of the same root lies in a contiguous buffer: storages may share a root that nobody sees. */
static int lies_in(PyArrayObject *part, PyObject *buffer)
{
    if (!PyArray_CheckExact(buffer) || !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)buffer))
        return 0;
    npy_intp from = PyArray_BYTES(part) - PyArray_BYTES((PyArrayObject *)buffer);
    return from >= 0 && from < PyArray_NBYTES((PyArrayObject *)buffer);
}

/* A handle on an array of NumPy's that is no container: a new reference. NULL, without an error set, for Python to do. */
static PyObject *array_home(PyObject *value, Gift *gift, PyObject **seen)
{
    PyArrayObject *array = (PyArrayObject *)value;
    for (int i = 0; i < gift->count; i++)
        if (gift->at[i].h == value)
            return gift->at[i].s ? Py_NewRef(gift->at[i].o) : NULL;
    if (!PyArray_BASE(array)) {
        if (PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISWRITEABLE(array) && PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA))
            return wrap(Py_NewRef(value));
        return is_fresh_transposed(value) ? wrap_transposed(Py_NewRef(value)) : NULL;
    }
    PyArrayObject *root = root_of(array);
    int found = 0;
    for (int i = 0; i < gift->count; i++)
        if (root_of((PyArrayObject *)gift->at[i].h) == root
            || (!PyArray_CheckExact(PyArray_BASE(array)) && gift->at[i].s && lies_in(array, gift->at[i].b))) {
            if (gift->at[i].s && lies_in(array, gift->at[i].b))
                return shown(&gift->at[i], array);
            found = 1;
        }
    return found ? NULL : hidden(array, root, seen);
}

/* What the user gets for NumPy's result. Takes the reference. */
static PyObject *home_of(PyObject *value, Gift *gift)
{
    PyObject *out = NULL, *seen = NULL; /* the handle of memory that several results share */
    if (!value)
        return NULL;
    if (PyArray_CheckExact(value))
        out = array_home(value, gift, &seen);
    else if (PyTuple_CheckExact(value) || PyList_CheckExact(value)
             || (PyTuple_Check(value) && _PyType_Lookup(Py_TYPE(value), name_fields))) {
        int list = PyList_CheckExact(value);
        Py_ssize_t n = Py_SIZE(value), at = 0;
        out = list ? PyList_New(n) : PyTuple_New(n);
        for (; out && at < n; at++) {
            PyObject *item = list ? PyList_GET_ITEM(value, at) : PyTuple_GET_ITEM(value, at), *mine;
            if (PyArray_CheckExact(item))
                mine = array_home(item, gift, &seen);
            else
                mine = PyArray_Check(item) || PyTuple_Check(item) || PyList_Check(item) ? NULL : Py_NewRef(item);
            if (!mine)
                break;
            if (list)
                PyList_SET_ITEM(out, at, mine);
            else
                PyTuple_SET_ITEM(out, at, mine);
        }
        if (out && at < n)
            Py_CLEAR(out);
        if (out && !list && !PyTuple_CheckExact(value)) /* of named ones, which take an argument each */
            Py_SETREF(out, PyObject_CallObject((PyObject *)Py_TYPE(value), out));
    }
    else if (!PyArray_Check(value) && !PyTuple_Check(value))
        return value;
    Py_XDECREF(seen);
    if (!out && !PyErr_Occurred()) {
        PyObject *given = PyList_New(gift->count);
        for (int i = 0; given && i < gift->count; i++)
            PyList_SET_ITEM(given, i, Py_NewRef(gift->at[i].o));
        out = given ? PyObject_CallFunctionObjArgs(returned_of, value, given, NULL) : NULL;
        Py_XDECREF(given);
    }
    Py_DECREF(value);
    return out;
}

static int is_word(PyObject *name, PyObject *word) /* which is interned, as names of arguments mostly are */
{
    return name == word || (!PyUnicode_CHECK_INTERNED(name) && PyUnicode_GET_LENGTH(name) == PyUnicode_GET_LENGTH(word)
                            && PyUnicode_Compare(name, word) == 0);
}

/* A result of a call on large arrays, which counts for a profile. Takes the reference. */
static PyObject *counted_once(PyObject *out)
{
    PyObject *told = out && done_once ? PyObject_CallNoArgs(done_once) : NULL;
    if (out && done_once && !told)
        Py_CLEAR(out);
    Py_XDECREF(told);
    return out;
}

#include "_makers.h"

/* Whether an argument of that name says how large the result is: `speed.py: sized_by`. */
static int is_sizing(PyObject *name)
{
    return PyUnicode_CompareWithASCIIString(name, "size") == 0 || PyUnicode_CompareWithASCIIString(name, "num") == 0
           || PyUnicode_CompareWithASCIIString(name, "shape") == 0;
}

/* Whether a function that TOUCHES its first argument reads or writes few elements of it. */
static int touches_few(PyObject *const *args, Py_ssize_t n)
{
    if (n < 2 || !is_current(args[0]) || limit < 0)
        return 0;
    PyArrayObject *h = (PyArrayObject *)((Handle *)args[0])->h, *places = places_in(args[1]);
    if (!places && PyTuple_CheckExact(args[1]))
        return is_few(h, args[1]);
    npy_intp least = PyArray_SIZE(h);
    for (int d = 0; d < PyArray_NDIM(h); d++)
        least = Py_MIN(least, PyArray_DIM(h, d));
    double count = places ? (double)PyArray_SIZE(places) : is_list_of_places(args[1]) ? (double)PyList_GET_SIZE(args[1]) : is_number(args[1]) ? 1 : NPY_INFINITY;
    return least && count * (double)(PyArray_SIZE(h) / least) <= most_of(h);
}

/* Call NumPy's function, a method of `self` if there is one. NULL, without an error set, where the call is not that
 * simple. */
static PyObject *whole(PyObject *host, PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names, int flags)
{
    Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0, done = 0;
    PyObject *vector[MOST_ARGUMENTS + 2], **to = vector + 1 + !!self, *out = NULL, *target = NULL;
    Storage *written = NULL, *several[MOST_OUTS];
    int outs = 0; /* of a tuple of several */
    Gift gift;
    begin_gift(&gift, flags);
    if (limit < 0 || n + named > MOST_ARGUMENTS || (named && flags & BARE))
        return NULL;
    if (flags & (WRITES | LAST)) {
        if (!n)
            return NULL;
        target = args[flags & LAST ? n - 1 : 0];
        if (flags & LAST && target == Py_None)
            target = NULL;
    }
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        for (int k = 0; k < (flags & NO_COPY ? LEFT : LEFT_COPY); k++)
            if (is_word(name, left_names[k]))
                return NULL;
        if (args[n + i] != Py_None && is_word(name, PyTuple_GET_ITEM(name_out, 0))) {
            if (target)
                return NULL;
            target = args[n + i];
            if (PyTuple_CheckExact(target) && PyTuple_GET_SIZE(target) == 1)
                target = PyTuple_GET_ITEM(target, 0);
            else if (PyTuple_CheckExact(target)) {
                for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(target); k++) {
                    PyObject *one = PyTuple_GET_ITEM(target, k);
                    if (one == Py_None)
                        continue;
                    if (outs == MOST_OUTS || !is_current(one) || !((Storage *)((Handle *)one)->s)->free || !at_hand(one))
                        return NULL;
                    several[outs++] = (Storage *)((Handle *)one)->s;
                }
                target = NULL;
            }
        }
    }
    int touches = flags & TOUCHES && touches_few(args, n);
    if (target && !PyArray_CheckExact(target)
        && (!is_current(target) || !((Storage *)((Handle *)target)->s)->free || !(at_hand(target) || (touches && target == args[0]))))
        return NULL;
    Py_ssize_t sizing = flags >> SIZED_BY;
    npy_intp most = gift.most;
    for (; done < n + named; done++) {
        int sizes = !sizing || (done < n ? done + 1 == sizing : is_sizing(PyTuple_GET_ITEM(names, done - n)));
        gift.flags = sizes ? flags : flags & ~(GROWS | DRAWS);
        gift.most = touches && !done ? NPY_MAX_INTP : most;
        if (!(to[done] = given_value(args[done], &gift, 0)))
            break;
    }
    gift.flags = flags;
    double room = flags & DRAWS ? MOST_DRAWN : flags & ONCE ? (double)most : limit;
    int simple = done == n + named && !(flags & (GROWS | DRAWS) && gift.product > room);
    PyObject *value = NULL;
    if (simple) {
        if (target && !PyArray_CheckExact(target)) {
            written = (Storage *)Py_NewRef(((Handle *)target)->s);
            written->busy++;
        }
        for (int k = 0; k < outs; k++)
            ((Storage *)Py_NewRef(several[k]))->busy++;
        vector[1] = self ? self : vector[1];
        made++;
        value = PyObject_Vectorcall(host, vector + 1, (size_t)(n + !!self) | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
        PyObject *plain = value == Py_NotImplemented ? PyObject_GetAttrString(host, "__wrapped__") : NULL;
        if (plain) { /* `quick.py` has left it to NumPy's function */
            Py_SETREF(value, PyObject_Vectorcall(plain, vector + 1, (size_t)(n + !!self) | PY_VECTORCALL_ARGUMENTS_OFFSET, names));
            Py_DECREF(plain);
        }
        else if (value == Py_NotImplemented)
            PyErr_Clear();
        for (int k = 0; k < outs; k++) {
            several[k]->busy--;
            Py_DECREF(several[k]);
        }
        if (written) {
            written->busy--;
            Py_DECREF(written);
        }
    }
    int same = 0; /* a list or a tuple that was given is what comes back */
    while (done > 0) {
        Py_DECREF(to[--done]);
        same |= value == args[done];
    }
    if (value && ((same && !PyArray_Check(value)) || flags & VALUES || (value == target && PyArray_CheckExact(value))))
        out = value; /* NumPy's own array, too, which it was to write into */
    else if (value && PyArray_CheckExact(value)
        && ((flags & BLANK && PyArray_SIZE((PyArrayObject *)value) > limit)
            || (gift.nested && PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)value)))))
        Py_DECREF(value); /* of objects, which may be arrays of ours */
    else
        out = home_of(value, &gift);
    int large = flags & (ONCE | SEVERAL) && (gift.large || (flags & GROWS && gift.product > (double)limit));
    let_go(&gift);
    return large ? counted_once(out) : out;
}

/* `a[key]` and `a[key] = value` by NumPy, of an array at hand with a key that is plain: lists, arrays, tuples of them. The array is small,
 * or the part. */

static void begin_part(Gift *gift, PyObject *self, PyObject *key)
{
    begin_gift(gift, 0);
    PyArrayObject *h = is_current(self) ? (PyArrayObject *)((Handle *)self)->h : NULL;
    if (h && limit >= 0 && PyArray_SIZE(h) > limit && is_few(h, key))
        gift->most = NPY_MAX_INTP;
}

static PyObject *subscript_whole(PyObject *self, PyObject *key)
{
    Gift gift;
    begin_part(&gift, self, key);
    PyObject *out = NULL, *k = NULL, *h = limit >= 0 ? given_value(self, &gift, 0) : NULL;
    if (h && (k = given_value(key, &gift, 0)))
        out = home_of(get_places(h, k), &gift);
    Py_XDECREF(k);
    Py_XDECREF(h);
    let_go(&gift);
    return out;
}

/* 1 where it is done, 0 where Python has to do it, -1 on an error. */
static int assign_whole(PyObject *self, PyObject *key, PyObject *value)
{
    Gift gift;
    begin_part(&gift, self, key);
    int done = 0;
    PyObject *k = NULL, *v = NULL, *h = given_value(self, &gift, 0);
    if (h && (k = given_value(key, &gift, 0)) && (v = given_value(value, &gift, 0)))
        done = put(self, h, k, v, NULL) < 0 ? -1 : 1;
    else if (PyErr_Occurred())
        done = -1;
    Py_XDECREF(v);
    Py_XDECREF(k);
    Py_XDECREF(h);
    let_go(&gift);
    return done;
}

#include "_composed.h"
#include "_scans.h"

/* The array that the Python function which runs was given as its first argument, if nobody but its caller's stack has it:
 * a temporary, which dies with the call. Borrowed. */
static _Thread_local PyObject *passing;

static PyObject *call_slow(PyObject *slow, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    PyObject *before = passing;
    if (n && Py_TYPE(args[0]) == ndarray_type && Py_REFCNT(args[0]) == 1)
        passing = args[0];
    inside++;
    PyObject *out = leaving(PyObject_Vectorcall(slow, args, (size_t)n, names));
    inside--;
    passing = before;
    return out;
}

static PyObject *passing_array(PyObject *module, PyObject *nothing)
{
    int dies = passing && ((Handle *)passing)->s && Py_REFCNT(((Handle *)passing)->s) == 1;
    return Py_NewRef(dies ? passing : Py_None);
}

static PyObject *shown_by_class(PyObject *o);
static int is_shared(PyObject *storage);

/* Whether two arrays of subclasses share memory: `native.py: sharing`. NULL, without an error set, for Python to do. */
static PyObject *shares_memory(PyObject *host, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    PyObject *given[2] = {NULL, NULL};
    if (n != 2 || names || !(given[0] = shown_by_class(args[0])) || !(given[1] = shown_by_class(args[1])))
        return NULL;
    PyObject *s = ((Handle *)args[0])->s, *other = ((Handle *)args[1])->s;
    if (s != other && !(is_shared(s) && is_shared(other)))
        Py_RETURN_FALSE;
    return call_held(host, given, 2, 2, NULL);
}

/* `__array_function__`, as `dispatch.py: Dispatcher` does it. */

enum { MOST_ASKED = 16 }; /* types */

static int says_nothing(PyObject *o) /* whether an argument's type has no say */
{
    PyTypeObject *type = Py_TYPE(o);
    return type == ndarray_type || type == &PyArray_Type || is_number(o) || o == Py_None || PyUnicode_CheckExact(o)
           || type == &PyTuple_Type || type == &PyList_Type;
}

/* The first argument of each type that has a say, subclasses before their bases: borrowed. How many; -1 for too many. */
static int implementing(PyObject *asked, PyObject **others)
{
    int count = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(asked); i++) {
        PyObject *o = PyTuple_GET_ITEM(asked, i);
        PyTypeObject *type = Py_TYPE(o);
        int at = 0, known = 0;
        while (at < count && !(known = Py_TYPE(others[at]) == type))
            at++;
        if (known || !_PyType_Lookup(type, name_array_function))
            continue;
        if (count == MOST_ASKED)
            return -1;
        for (at = 0; at < count && !PyType_IsSubtype(type, Py_TYPE(others[at]));)
            at++;
        memmove(others + at + 1, others + at, (size_t)(count++ - at) * sizeof *others);
        others[at] = o;
    }
    return count;
}

/* Ask them in turn. */
static PyObject *ask_others(Function *f, PyObject *const *others, int count, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    PyObject *kinds = PyTuple_New(count), *given = PyTuple_New(n), *more = PyDict_New(), *out = NULL;
    int failed = !kinds || !given || !more;
    for (int i = 0; !failed && i < count; i++)
        PyTuple_SET_ITEM(kinds, i, Py_NewRef((PyObject *)Py_TYPE(others[i])));
    for (Py_ssize_t i = 0; !failed && i < n; i++)
        PyTuple_SET_ITEM(given, i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; !failed && i < named; i++)
        failed = PyDict_SetItem(more, PyTuple_GET_ITEM(names, i), args[n + i]) < 0;
    for (int i = 0; !failed && i < count && (!out || out == Py_NotImplemented); i++) {
        PyObject *with[5] = {others[i], (PyObject *)f, kinds, given, more};
        Py_XSETREF(out, PyObject_VectorcallMethod(name_array_function, with, 5, NULL));
        failed = !out;
    }
    if (out == Py_NotImplemented) {
        PyObject *all = PyList_New(count);
        for (int i = 0; all && i < count; i++)
            PyList_SET_ITEM(all, i, Py_NewRef(others[i]));
        Py_SETREF(out, all ? PyObject_CallMethod((PyObject *)f, "refused", "OOO", all, given, more) : NULL);
        Py_XDECREF(all);
    }
    Py_XDECREF(more);
    Py_XDECREF(given);
    Py_XDECREF(kinds);
    return out;
}

/* NULL, without an error set, where Python has to do it. */
static PyObject *dispatched(Function *f, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    if (n && names && PyTuple_GET_SIZE(names) && Py_TYPE(args[0]) == &PyArray_Type)
        return NULL; /* `out`, perhaps */
    PyObject *asked = PyObject_Vectorcall(f->relevant, args, (size_t)n, names), *others[MOST_ASKED + 1], *out = NULL;
    if (asked && !PyTuple_CheckExact(asked)) /* a list is the caller's */
        Py_SETREF(asked, PySequence_Tuple(asked));
    if (!asked) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Clear(); /* which Python raises in the function's name */
        return NULL;
    }
    PyObject *usual = _PyType_Lookup(ndarray_type, name_array_function);
    int foreign = 0, theirs = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(asked) && !theirs; i++) {
        PyObject *o = PyTuple_GET_ITEM(asked, i);
        if (says_nothing(o))
            continue;
        PyObject *say = _PyType_Lookup(Py_TYPE(o), name_array_function);
        theirs = PyArray_Check(o);
        foreign |= say && say != usual;
    }
    int count = theirs ? -1 : foreign ? implementing(asked, others) : 0;
    if (count > 0)
        out = ask_others(f, others, count, args, n, names);
    Py_DECREF(asked); /* which has held the others, and would hold a temporary */
    return count ? out : call_slow(f->implementation, args, n, names);
}

static PyObject *copied(PyObject *self);

/* `array(a)`: as it lies. NULL, without an error set, where it is not that simple. */
static PyObject *plain_copy(PyObject *o)
{
    Layout as;
    PyObject *done = limit >= 0 && lies_like(o, &as) ? copied(o) : NULL;
    if (done || PyErr_Occurred())
        return done;
    PyObject *h = limit >= 0 && is_current(o) ? at_hand(o) : NULL;
    if (!h || PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)h)))
        return NULL;
    Py_INCREF(h);
    PyObject *out = PyArray_NewCopy((PyArrayObject *)h, NPY_KEEPORDER);
    Py_DECREF(h);
    return from_host(out);
}

/* A call of NumPy's function. NULL, without an error set, where it is not that simple. */
static PyObject *call_known(Function *f, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    PyObject *done = NULL;
    int k = f->known, flags = f->flags, plain = names ? 0 : (int)n;
    switch (k) {
    case 0:
        break;
    case F_ROLL:
        done = rolled(args, n, names, flags);
        break;
    case F_CUMSUM:
    case F_CUMPROD:
        done = scanned(k == F_CUMSUM ? SUM : PROD, args, n, names, 0);
        break;
    case F_DIFF:
        done = differences(args, n, names, flags);
        break;
    case F_STD:
    case F_VAR:
        done = spread_of(args, n, names, k == F_STD, flags);
        break;
    case F_NORM:
        done = euclidean_norm(args, n, names, flags);
        break;
    case F_COPY:
        done = plain == 1 && Py_TYPE(args[0]) == ndarray_type ? copied(args[0]) : NULL;
        break;
    case F_CLIP:
        if (plain == 3)
            return clipped(f->host, args, flags);
        break;
    case F_DOT:
        if (plain == 2)
            return dotted(f->host, args, flags);
        break;
    case F_INNER:
    case F_VDOT: /* of vectors, the products that `dot` makes */
        if (plain == 2 && is_small_product(args[0], args[1]) && PyArray_NDIM((PyArrayObject *)((Handle *)args[0])->h) == 1
            && PyArray_NDIM((PyArrayObject *)((Handle *)args[1])->h) == 1)
            flags |= LOOKS;
        break;
    case F_WHERE:
        if (plain == 3)
            return selected(args, flags);
        flags = plain == 1 ? REDUCES : flags; /* `nonzero` */
        break;
    case F_EINSUM: /* what makes more than its operands is a product, or fuses */
        flags = is_one_pass(args, n) ? ONCE : 0;
        break;
    default:
        if (k >= F_MAKER && k < F_MAKER + MAKERS)
            done = filled(k - F_MAKER, args, n, names);
        else if (k >= F_JOIN && k < F_JOIN + JOINS)
            return joined(k - F_JOIN, f->host, args, n, names, flags);
        else if (reduction_known(k) < REDUCTIONS)
            return reduced_whole(reduction_known(k), f->host, args, n, names, flags);
    }
    return done || PyErr_Occurred() ? done : whole(f->host, NULL, args, n, names, flags);
}

/* A call of a function that makes an array. NULL, without an error set, where it is not that simple. */
static PyObject *call_maker(Function *f, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    int k = f->known, copies = n == 1 && !names && Py_TYPE(args[0]) == ndarray_type;
    if (copies && k == F_ASARRAY)
        return Py_NewRef(args[0]); /* whether it has its value or not */
    PyObject *done = copies && k == F_ARRAY                       ? plain_copy(args[0])
                     : k >= F_MAKER && k < F_MAKER + MAKERS ? filled(k - F_MAKER, args, n, names)
                                                            : NULL;
    return done || PyErr_Occurred() ? done : made_of_none(f->host, args, n, names, f->flags);
}

static PyObject *call_function_vector(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    calls_begun += !inside;
    Function *f = (Function *)self;
    Py_ssize_t n = PyVectorcall_NARGS(count);
    PyObject *done = f->flags & MAKES ? call_maker(f, args, n, names) : NULL;
    if (done || PyErr_Occurred())
        return leaving(done);
    if (f->flags & CREATES) {
        Py_ssize_t i = 0;
        while (i < n && !PyArray_Check(args[i]))
            i++;
        if (i == n)
            return PyObject_Vectorcall(f->implementation, args, count, names);
    }
    if (f->host && f->host != Py_None && (f->flags & SHARES || n <= f->most)) {
        done = f->flags & SHARES ? shares_memory(f->host, args, n, names) : call_known(f, args, n, names);
        if (done || PyErr_Occurred())
            return leaving(done);
    }
    if (f->relevant && f->relevant != Py_None && f->implementation) {
        done = dispatched(f, args, n, names);
        if (done || PyErr_Occurred())
            return leaving(done);
    }
    PyObject *slow = PyObject_GetAttr(self, name_call);
    PyObject *out = slow ? call_slow(slow, args, n, names) : NULL;
    Py_XDECREF(slow);
    return out;
}

/* whole_call(function, args, kwargs): a public function as above, for `__array_function__`; else NotImplemented. */
static PyObject *whole_call(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    if (count != 3 || !PyObject_TypeCheck(given[0], &FunctionBase) || !PyTuple_CheckExact(given[1])
        || !PyDict_CheckExact(given[2])) {
        PyErr_SetString(PyExc_TypeError, "whole_call takes a function, a tuple and a dict");
        return NULL;
    }
    Function *f = (Function *)given[0];
    Py_ssize_t n = PyTuple_GET_SIZE(given[1]), named = PyDict_GET_SIZE(given[2]), at = 0, i = 0;
    PyObject *args[MOST_ARGUMENTS], *names = NULL, *key, *value, *done = NULL;
    if (f->host && f->host != Py_None && !(f->flags & SHARES) && n <= f->most && n + named <= MOST_ARGUMENTS) {
        for (; i < n; i++)
            args[i] = PyTuple_GET_ITEM(given[1], i);
        if (named && !(names = PyTuple_New(named)))
            return NULL;
        while (named && PyDict_Next(given[2], &at, &key, &value)) {
            PyTuple_SET_ITEM(names, i - n, Py_NewRef(key));
            args[i++] = value;
        }
        done = whole(f->host, NULL, args, n, names, f->flags);
        Py_XDECREF(names);
    }
    if (done || PyErr_Occurred())
        return done;
    Py_RETURN_NOTIMPLEMENTED;
}

/* The first call of an object; Python's next ones go to the function above. */
static PyObject *call_function(PyObject *self, PyObject *args, PyObject *kwargs)
{
    ((Function *)self)->call = call_function_vector;
    PyObject *slow = PyObject_GetAttr(self, name_call);
    PyObject *out = slow ? leaving(PyObject_Call(slow, args, kwargs)) : NULL;
    Py_XDECREF(slow);
    return out;
}

/* A method of a ufunc of NumPy's own, by its name: `reduce`, `at`, ... */
/* Axes of an operand of a slot; -1 of a number. */
static int axes_of(Slot const *s, int i)
{
    int j = s->source[i];
    return s->from[i] == FROM_SLOT ? P->slot[j].out.nd : s->from[i] == FROM_MEMORY ? P->is[j].as.nd : -1;
}

/* Axes of the second operand of the ufunc after this slot, if that works on the part that the slot makes, which has so many
 * axes more than what it is a part of; -1 otherwise. */
static int axes_beside(Slot const *s, PyUFuncObject *f)
{
    Slot const *next = s + 1;
    if (next >= P->slot + P->n || next->kind != UFUNC || next->f != f || next->nin != 2 || next->from[0] != FROM_SLOT
        || next->source[0] != s - P->slot)
        return -1;
    int n = axes_of(next, 1);
    return axes_of(s, 0) + n == s->out.nd ? n : -1;
}

/* `f.outer(a, b)` of small arrays as what it is, `f(a[..., None], b)`, which replay knows. NULL, without an error set, where it
 * is not that simple. */
static PyObject *outer_of(PyObject *self, PyUFuncObject *f, PyObject *a, PyObject *b)
{
    static PyObject *keys[AXES];
    int n = -1, known = 0;
    if (f->nin != 2 || f->nout != 1 || Py_TYPE(a) != ndarray_type || Py_TYPE(b) != ndarray_type || limit < 0)
        return NULL;
    if (P) {
        Slot *s = expect(GETITEM, NULL);
        n = s && s->how != RESHAPED ? axes_beside(s, f) : -1;
    }
    if (n < 0) {
        int before = P ? 1 : touched; /* only shapes are looked at here */
        PyArrayObject *x = (PyArrayObject *)at_hand(a), *y = (PyArrayObject *)at_hand(b);
        if (!x || !y || !is_plain_type(PyArray_DESCR(x)) || !is_plain_type(PyArray_DESCR(y)) || PyArray_SIZE(x) * PyArray_SIZE(y) > limit)
            return NULL;
        n = PyArray_NDIM(x) + PyArray_NDIM(y) <= AXES ? PyArray_NDIM(y) : -1;
        touched = before;
        known = 1;
    }
    if (n < 1 || n >= AXES)
        return NULL;
    if (!keys[n]) {
        if (!(keys[n] = PyTuple_New(n + 1)))
            return NULL;
        for (int i = 0; i <= n; i++)
            PyTuple_SET_ITEM(keys[n], i, Py_NewRef(i ? Py_None : Py_Ellipsis));
    }
    PyObject *given[2] = {PyObject_GetItem(a, keys[n]), b}, *out = NULL;
    if (given[0]) {
        out = P ? match_ufunc(f, 2, given[0], b) : NULL;
        PyObject *y = out || known || PyErr_Occurred() ? NULL : at_hand(b); /* the program's may have had other axes */
        if (!out && !PyErr_Occurred() && (known || (y && PyArray_NDIM((PyArrayObject *)y) == n)))
            out = PyObject_Vectorcall(self, given, 2, NULL);
        Py_DECREF(given[0]);
    }
    return out;
}

static PyObject *ufunc_method(Method *m, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    PyObject *f = PyObject_TypeCheck(args[0], &UfuncBase) ? ((Ufunc *)args[0])->host : NULL;
    if (!f || Py_TYPE(f) != &PyUFunc_Type || !is_own((PyUFuncObject *)f))
        return NULL;
    if (m->reduces && n == 2 && !names) {
        Reduction first = {.count = 1}; /* along the first axis */
        PyObject *quick = reduced_by(f, at_hand(args[1]), &first);
        if (quick || PyErr_Occurred())
            return from_host(quick);
    }
    if (n == 3 && !names && is_word(m->host, name_outer)) {
        PyObject *done = outer_of(args[0], (PyUFuncObject *)f, args[1], args[2]);
        if (done || PyErr_Occurred())
            return done;
    }
    if (is_word(m->host, name_accumulate)) {
        PyObject *done = scanned(scan_known(f), args + 1, n - 1, names, 1);
        if (done || PyErr_Occurred())
            return done;
    }
    static PyMethodDef at = {"at", (PyCFunction)(void (*)(void))at_places, METH_FASTCALL, NULL};
    static PyObject *at_host;
    if (is_word(m->host, name_at)) {
        if (!at_host && !(at_host = PyCFunction_New(&at, NULL)))
            return NULL;
        return whole(at_host, f, args + 1, n - 1, names, m->flags | (n == m->most + 2 ? LAST : 0));
    }
    PyObject *host = PyObject_GetAttr((PyObject *)&PyUFunc_Type, m->host); /* which makes no bound method */
    PyObject *done = host ? whole(host, f, args + 1, n - 1, names, m->flags | (n == m->most + 2 ? LAST : 0)) : NULL;
    Py_XDECREF(host);
    return done;
}

/* `a.__array_ufunc__(f, "__call__", ...)`, as NumPy asks where a number or an array of its own is the first operand. */
static PyObject *protocol_call(PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    if (n < 4 || Py_TYPE(args[1]) != &PyUFunc_Type || !is_own((PyUFuncObject *)args[1]) || !PyUnicode_CheckExact(args[2])
        || !is_word(args[2], name_dunder_call))
        return NULL;
    if (!names && n - 3 == ((PyUFuncObject *)args[1])->nin) {
        PyObject *done = simple_call(args[1], args + 3, n - 3);
        if (done || PyErr_Occurred())
            return done;
    }
    return whole(args[1], NULL, args + 3, n - 3, names, 0);
}

/* A method of a generator, none of whose draws is under way; `self` has their last in a slot, and in another NumPy's own
 * generator of the same bits, once it was made. */
static PyObject *generator_method(Method *m, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    if (m->flags & WAITS) {
        PyObject *drawn = PyObject_GetAttr(args[0], name_drawn);
        Py_XDECREF(drawn); /* which the generator holds */
        if (!drawn || (drawn != Py_None && drawn != shared_drawn)) {
            PyErr_Clear();
            return NULL;
        }
    }
    if (m->flags & WRITES && !names && n == 2 && PyList_CheckExact(args[1])) /* whatever is in it */
        return PyObject_Vectorcall(m->host, args, (size_t)n, NULL);
    if (!(m->flags & BY_TWIN))
        return whole(m->host, args[0], args + 1, n - 1, names, m->flags);
    PyObject *twin = PyObject_GetAttr(args[0], name_twin), *out;
    if (!twin || twin == Py_None) {
        PyErr_Clear();
        Py_XDECREF(twin);
        return NULL;
    }
    out = whole(m->host, twin, args + 1, n - 1, names, m->flags);
    Py_DECREF(twin);
    return out;
}

/* `a.copy()`, which is `positive(a)` where that is no other array; NULL, without an error set, where it is not that. */
static PyObject *copied(PyObject *self)
{
    int before = touched;
    if (P) {
        PyObject *out = match_ufunc((PyUFuncObject *)positive_ufunc, 1, self, NULL);
        if (out || PyErr_Occurred())
            return out;
    }
    PyArrayObject *h = (PyArrayObject *)at_hand(self), *out;
    int type = h ? PyArray_TYPE(h) : NPY_BOOL;
    if (!h || !PyArray_NDIM(h) || type == NPY_BOOL || !is_plain_type(PyArray_DESCR(h)))
        return NULL;
    int lies = PyArray_IS_C_CONTIGUOUS(h);
    if (!lies && !watches())
        return NULL;
    out = new_array(PyArray_DESCR(h), PyArray_NDIM(h), PyArray_DIMS(h));
    if (out && lies)
        memcpy(PyArray_BYTES(out), PyArray_BYTES(h), (size_t)PyArray_NBYTES(h));
    else if (out && PyArray_CopyInto(out, h) < 0)
        Py_CLEAR(out);
    return out ? noted(before, positive_ufunc, 1, self, NULL, wrap((PyObject *)out)) : NULL;
}

/* `a.astype(dtype)` of a small contiguous array, between types of numbers. NULL, without an error set, where it is not that
 * simple. */
static PyObject *cast_to(PyObject *self, PyObject *dtype)
{
    int known = dtype == (PyObject *)&PyLong_Type || dtype == (PyObject *)&PyFloat_Type || dtype == (PyObject *)&PyBool_Type
                || dtype == (PyObject *)&PyComplex_Type || PyUnicode_CheckExact(dtype) || PyArray_DescrCheck(dtype)
                || (PyType_Check(dtype) && !(((PyTypeObject *)dtype)->tp_flags & Py_TPFLAGS_HEAPTYPE)
                    && PyType_IsSubtype((PyTypeObject *)dtype, &PyGenericArrType_Type));
    PyArrayObject *h = known && is_current(self) ? (PyArrayObject *)at_hand(self) : NULL, *out = NULL;
    PyArray_Descr *descr = NULL;
    if (!h || !PyArray_NDIM(h) || !PyArray_IS_C_CONTIGUOUS(h) || !is_plain_type(PyArray_DESCR(h)))
        return NULL;
    if (!PyArray_DescrConverter(dtype, &descr)) {
        PyErr_Clear(); /* NumPy says what it is */
        return NULL;
    }
    if (is_plain_type(descr)
        && (out = new_array(descr, PyArray_NDIM(h), PyArray_DIMS(h)))) {
        Py_INCREF(h);
        if (PyArray_CopyInto(out, h) < 0)
            Py_CLEAR(out);
        Py_DECREF(h);
    }
    Py_DECREF(descr);
    return out ? from_host((PyObject *)out) : NULL;
}

static PyObject *view_method(Method *m, PyObject *const *args, Py_ssize_t n, PyObject *names);

static void reshape_noted(int before, PyObject *x, PyObject *out)
{
    if (!out || only_looks() || Py_TYPE(out) != ndarray_type || !is_there(x) || !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)((Handle *)x)->h) || !watches())
        return;
    note_getitem(before, x, out, RESHAPED);
    looked();
}

/* `a.transpose()`, `a.reshape(shape)` and `a.ravel()` as views. NULL, without an error set, where it is not that simple. */
static PyObject *quick_view(Method *m, PyObject *const *args, Py_ssize_t n)
{
    PyObject *given[2] = {args[0], n == 2 ? args[1] : NULL}, *out = NULL, *shape = NULL, *part;
    int before = touched, ours = Py_TYPE(args[0]) == ndarray_type;
    if (limit < 0)
        return NULL;
    if (n == 1 && m->known == M_TRANSPOSE)
        out = transpose(NULL, args[0]);
    else if (n > 1 && m->known == M_RESHAPE) {
        if ((n > 2 || PyLong_CheckExact(args[1])) && (shape = PyTuple_New(n - 1)))
            for (Py_ssize_t i = 1; i < n; i++)
                PyTuple_SET_ITEM(shape, i - 1, Py_NewRef(args[i]));
        given[1] = shape ? shape : given[1];
        out = P && ours && given[1] && PyTuple_CheckExact(given[1]) ? match_reshape(args[0], given[1]) : NULL;
        if (!out && !PyErr_Occurred() && given[1]) {
            out = reshape(NULL, given, 2);
            reshape_noted(before, args[0], out);
        }
    }
    else if (n == 1 && m->known == M_RAVEL) {
        out = P && ours ? match_reshape(args[0], NULL) : NULL;
        if (!out && !PyErr_Occurred() && is_plain_whole(args[0])) {
            out = (part = PyArray_Ravel((PyArrayObject *)((Handle *)args[0])->h, NPY_CORDER)) ? reshaped((Handle *)args[0], part) : NULL;
            reshape_noted(before, args[0], out);
        }
    }
    Py_XDECREF(shape);
    if (out != Py_None)
        return out;
    Py_DECREF(out);
    return NULL;
}

/* `a.squeeze(...)`, `a.swapaxes(i, j)` and `a.transpose(...)`, which exchange axes. NULL, without an error set, where it is
 * not that simple. */
static PyObject *axes_moved(Method *m, PyObject *const *args, Py_ssize_t n)
{
    PyObject *given[NPY_MAXDIMS + 1];
    Handle *a = (Handle *)args[0];
    if (limit < 0 || n > NPY_MAXDIMS || !is_current(args[0]) || a->v == host_view || PyArray_SIZE((PyArrayObject *)a->h) > limit)
        return NULL;
    for (Py_ssize_t i = 1; i < n; i++)
        if (!PyLong_CheckExact(given[i] = args[i]) && !(PyTuple_CheckExact(args[i]) && is_plain(args[i])))
            return NULL;
    PyObject *b = Py_NewRef(a->b), *h = given[0] = Py_NewRef(a->h), *part = PyObject_Vectorcall(m->host, given, (size_t)n, NULL);
    if (part == h) {
        Py_SETREF(part, Py_NewRef(args[0]));
    }
    else if (part && PyArray_CheckExact(part) && PyArray_SIZE((PyArrayObject *)part)
             && is_index_of((PyArrayObject *)part, (PyArrayObject *)h))
        return derived(a, b, h, part, kind_part, part);
    else
        Py_CLEAR(part);
    Py_DECREF(b);
    Py_DECREF(h);
    return part;
}

/* `a.view(...)`. NULL, without an error set, where it is not that simple. */
static PyObject *viewed(Method *m, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    if (n > 1 || names || !is_current(args[0]))
        return view_method(m, args, n, names);
    Handle *a = (Handle *)args[0];
    PyObject *part = PyArray_View((PyArrayObject *)a->h, NULL, NULL);
    return part ? derived(a, Py_NewRef(a->b), Py_NewRef(a->h), part, kind_index, Py_Ellipsis) : NULL;
}

/* A capsule of an array's memory, which holds the array: see `dlpack` in numpy/attributes.py. */
static PyObject *lent(Method *m, Handle *a)
{
    PyArrayObject *h = (PyArrayObject *)a->h;
    PyArray_Descr *dtype = PyArray_DESCR(h);
    Py_INCREF(dtype);
    PyObject *same = PyArray_NewFromDescr(&PyArray_Type, dtype, PyArray_NDIM(h), PyArray_DIMS(h), PyArray_STRIDES(h),
                                          PyArray_DATA(h), PyArray_FLAGS(h) & NPY_ARRAY_WRITEABLE, NULL);
    PyObject *capsule = NULL;
    if (same && PyArray_SetBaseObject((PyArrayObject *)same, Py_NewRef((PyObject *)a)) == 0)
        capsule = PyObject_CallOneArg(m->host, same);
    Py_XDECREF(same);
    return capsule;
}

static PyObject *array_method(Method *m, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    PyObject *done = NULL;
    int k = m->known, plain = names ? 0 : (int)n;
    switch (k) {
    case 0:
        break;
    case M_DLPACK: /* of memory that stays where it is: the first time Python sees to that */
        return plain == 1 && is_current(args[0]) && is_shared(((Handle *)args[0])->s) ? lent(m, (Handle *)args[0])
                                                                                      : NULL;
    case M_TRANSPOSE:
    case M_RESHAPE:
    case M_RAVEL:
        done = plain ? quick_view(m, args, n) : NULL;
        if (!done && !PyErr_Occurred() && k == M_TRANSPOSE && plain > 1)
            done = axes_moved(m, args, n);
        break;
    case M_SQUEEZE:
    case M_SWAPAXES:
        done = plain ? axes_moved(m, args, n) : NULL;
        break;
    case M_VIEW:
        done = viewed(m, args, n, names);
        break;
    case M_COPY:
        done = plain == 1 ? copied(args[0]) : NULL;
        break;
    case M_ASTYPE:
        done = plain == 2 ? cast_to(args[0], args[1]) : NULL;
        break;
    case M_CUMSUM:
    case M_CUMPROD:
        done = scanned(k == M_CUMSUM ? SUM : PROD, args, n, names, 0);
        break;
    case M_STD:
    case M_VAR:
        done = spread_of(args, n, names, k == M_STD, m->flags);
        break;
    case M_CLIP:
        if (plain == 3)
            return clipped(m->host, args, m->flags);
        break;
    case M_DOT:
        if (plain == 2)
            return dotted(known[F_DOT], args, m->flags); /* which NumPy's method calls, through its look for `__array_function__` */
        break;
    default:
        if (reduction_known(k) < REDUCTIONS)
            return reduced_whole(reduction_known(k), m->host, args, n, names, m->flags);
    }
    return done || PyErr_Occurred() ? done : whole(m->host, NULL, args, n, names, m->flags);
}

static PyObject *real_itself(PyObject *o);
static PyObject *class_field(PyObject *const *args, Py_ssize_t n);

/* Whether what a method stands for is one of NumPy's arrays, and none of ufuncs or generators. */
static int is_of_arrays(PyObject *host)
{
    int kind = Py_TYPE(host) == &PyMethodDescr_Type || Py_TYPE(host) == &PyWrapperDescr_Type;
    return kind && ((PyDescrObject *)host)->d_type == &PyArray_Type;
}

static PyObject *call_method_vector(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    calls_begun += !inside;
    Method *m = (Method *)self;
    Py_ssize_t n = PyVectorcall_NARGS(count);
    int by_place = m->most > 2 && n == m->most + 2 && PyUnicode_CheckExact(m->host); /* `out` of a ufunc's method */
    if (n && (n <= m->most + 1 || by_place) && !(m->flags & NEVER)) {
        PyObject *done = m->flags & PROTOCOL            ? protocol_call(args, n, names)
                         : m->flags & DRAWS             ? generator_method(m, args, n, names)
                         : PyUnicode_CheckExact(m->host) ? ufunc_method(m, args, n, names)
                         : Py_TYPE(args[0]) == ndarray_type ? array_method(m, args, n, names)
                         : m->known == M_VIEW ? view_method(m, args, n, names)
                         : m->known == M_CONJUGATE && n == 1 && !names ? real_itself(args[0])
                         : m->known == M_GETFIELD && !names ? class_field(args, n)
                                                                         : NULL;
        if (done || PyErr_Occurred())
            return leaving(done);
    }
    if (unbound && (!n || !PyObject_TypeCheck(args[0], &HandleBase)) && is_of_arrays(m->host))
        return called_unbound(m->host, args, n, names);
    return call_slow(m->slow, args, n, names);
}

static PyObject *get_method(PyObject *self, PyObject *of, PyObject *type)
{
    return of && of != Py_None ? PyMethod_New(self, of) : Py_NewRef(self);
}

static PyObject *new_method(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *host, *slow;
    int most, flags;
    if (!PyArg_ParseTuple(args, "OOii", &host, &slow, &most, &flags))
        return NULL;
    Method *m = (Method *)type->tp_alloc(type, 0);
    if (m) {
        m->host = Py_NewRef(host);
        m->slow = Py_NewRef(slow);
        m->call = call_method_vector;
        m->most = most;
        m->flags = flags;
        m->known = number_known(host);
        m->reduces = PyUnicode_CheckExact(host) && !PyUnicode_CompareWithASCIIString(host, "reduce");
    }
    return (PyObject *)m;
}

static PyObject *method_repr(PyObject *self)
{
    PyObject *name = PyObject_GetAttrString(self, "__name__");
    PyObject *out = name ? PyUnicode_FromFormat("<method '%U' of 'lazynp.ndarray' objects>", name) : NULL;
    Py_XDECREF(name);
    return out;
}

static PyObject *method_reduce(PyObject *self, PyObject *nothing)
{
    PyObject *name = PyObject_GetAttrString(self, "__name__"), *builtins = PyEval_GetBuiltins();
    PyObject *out = name ? Py_BuildValue("O(OO)", PyDict_GetItemString(builtins, "getattr"), ndarray_type, name) : NULL;
    Py_XDECREF(name);
    return out;
}

static PyMethodDef method_methods[] = {{"__reduce__", method_reduce, METH_NOARGS, "By its name."}, {NULL}};
static PyMemberDef method_members[] = {
    {"host", T_OBJECT, offsetof(Method, host), READONLY}, {"slow", T_OBJECT, offsetof(Method, slow), READONLY}, {NULL}};
static PyGetSetDef method_attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL}, {NULL}};
static PyMemberDef function_members[] = {
    {"most", T_INT, offsetof(Function, most)},
    {"flags", T_INT, offsetof(Function, flags)}, {"_relevant", T_OBJECT_EX, offsetof(Function, relevant)},
    {"_implementation", T_OBJECT_EX, offsetof(Function, implementation)}, {NULL}};

static PyObject *get_whole(PyObject *self, void *nothing)
{
    PyObject *host = ((Function *)self)->host;
    return Py_NewRef(host ? host : Py_None);
}

static int set_whole(PyObject *self, PyObject *host, void *nothing)
{
    Function *f = (Function *)self;
    Py_XSETREF(f->host, Py_XNewRef(host));
    f->known = number_known(host);
    return 0;
}

static PyGetSetDef function_attributes[] = {
    {"whole", get_whole, set_whole, "NumPy's function; None where ours is always to be called.", NULL}, {NULL}};

static int method_traverse(Method *self, visitproc visit, void *arg)
{
    Py_VISIT(self->host);
    Py_VISIT(self->slow);
    Py_VISIT(self->dict);
    return 0;
}

static int method_clear(Method *self)
{
    Py_CLEAR(self->host);
    Py_CLEAR(self->slow);
    Py_CLEAR(self->dict);
    return 0;
}

static void method_dealloc(Method *self)
{
    PyObject_GC_UnTrack(self);
    method_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static int function_traverse(Function *self, visitproc visit, void *arg)
{
    Py_VISIT(self->host);
    Py_VISIT(self->relevant);
    Py_VISIT(self->implementation);
    return 0;
}

static int function_clear(Function *self)
{
    Py_CLEAR(self->host);
    Py_CLEAR(self->relevant);
    Py_CLEAR(self->implementation);
    return 0;
}

static void function_dealloc(Function *self)
{
    PyObject_GC_UnTrack(self);
    function_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* Attributes: NumPy's own, where the value is at hand. */

static PyObject *shown_by_class(PyObject *o);

static PyObject *get_attribute(PyObject *self, PyObject *of, PyObject *type)
{
    Attribute *a = (Attribute *)self;
    if (!of || of == Py_None)
        return Py_NewRef(self);
    PyObject *h;
    if (a->transposes && Py_TYPE(of) == ndarray_type) {
        PyObject *out = transpose(NULL, of);
        if (out != Py_None)
            return out;
        Py_DECREF(out);
    }
    if (is_current(of)) {
        h = Py_NewRef(((Handle *)of)->h);
        PyObject *value = a->get && PyArray_CheckExact(h) ? a->get(h, a->closure) : PyObject_GetAttr(h, a->name);
        Py_DECREF(h);
        if (!value || !PyArray_Check(value))
            return value;
        Gift gift;
        begin_gift(&gift, LOOKS);
        PyObject *out = NULL;
        if ((h = given_value(of, &gift, 0)))
            out = home_of(Py_NewRef(value), &gift);
        let_go(&gift);
        Py_XDECREF(h);
        Py_DECREF(value);
        if (out || PyErr_Occurred())
            return out;
    }
    else if (a->plain && (h = shown_by_class(of))) {
        PyObject *value = a->get(Py_NewRef(h), a->closure);
        Py_DECREF(h);
        return value;
    }
    descrgetfunc get = Py_TYPE(a->slow)->tp_descr_get;
    return get(a->slow, of, type);
}

/* `a.real = value` of a small array that nobody else reads, where nothing complex is given: 1 if that was done, -1 with an
 * error set, 0 for Python to do. */
static int set_part(PyObject *name, PyObject *of, PyObject *value)
{
    PyObject *h, *given;
    if (!is_current(of) || !((Storage *)((Handle *)of)->s)->free || !(h = at_hand(of)) || !(given = operand(value)) || PyComplex_Check(given)
        || PyArray_IsScalar(given, ComplexFloating) || (PyArray_Check(given) && PyArray_ISCOMPLEX((PyArrayObject *)given)))
        return 0;
    Storage *s = (Storage *)Py_NewRef(((Handle *)of)->s);
    Py_INCREF(h);
    Py_INCREF(given);
    s->busy++;
    int failed = PyObject_SetAttr(h, name, given);
    s->busy--;
    Py_DECREF(given);
    Py_DECREF(h);
    Py_DECREF(s);
    return failed ? -1 : 1;
}

static int set_attribute(PyObject *self, PyObject *of, PyObject *value)
{
    PyObject *slow = ((Attribute *)self)->slow;
    int done = ((Attribute *)self)->part && value ? set_part(((Attribute *)self)->name, of, value) : 0;
    if (done)
        return done > 0 ? 0 : -1;
    descrsetfunc set = Py_TYPE(slow)->tp_descr_set;
    if (set)
        return set(slow, of, value);
    PyErr_SetString(PyExc_AttributeError, "readonly attribute");
    return -1;
}

static PyObject *new_attribute(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *name, *slow;
    if (!PyArg_ParseTuple(args, "UO", &name, &slow))
        return NULL;
    if (!Py_TYPE(slow)->tp_descr_get) {
        PyErr_SetString(PyExc_TypeError, "a descriptor is wanted");
        return NULL;
    }
    Attribute *a = (Attribute *)type->tp_alloc(type, 0);
    if (a) {
        a->name = Py_NewRef(name);
        a->slow = Py_NewRef(slow);
        a->transposes = PyUnicode_CompareWithASCIIString(name, "T") == 0;
        a->part = PyUnicode_CompareWithASCIIString(name, "real") == 0 || PyUnicode_CompareWithASCIIString(name, "imag") == 0;
        PyObject *host = PyDict_GetItem(PyArray_Type.tp_dict, name);
        if (host && Py_TYPE(host) == &PyGetSetDescr_Type) {
            a->get = ((PyGetSetDescrObject *)host)->d_getset->get;
            a->closure = ((PyGetSetDescrObject *)host)->d_getset->closure;
            static const char *const plain[] = {"shape", "dtype", "ndim", "size", "itemsize", "nbytes", "strides"};
            for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
                a->plain |= PyUnicode_CompareWithASCIIString(name, plain[i]) == 0;
        }
    }
    return (PyObject *)a;
}

static PyObject *attribute_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<attribute %R of 'lazynp.ndarray' objects>", ((Attribute *)self)->name);
}

static PyObject *attribute_doc(PyObject *self, void *closure)
{
    return PyObject_GetAttrString(((Attribute *)self)->slow, "__doc__");
}

static int attribute_traverse(Attribute *self, visitproc visit, void *arg)
{
    Py_VISIT(self->name);
    Py_VISIT(self->slow);
    return 0;
}

static int attribute_clear(Attribute *self)
{
    Py_CLEAR(self->name);
    Py_CLEAR(self->slow);
    return 0;
}

static void attribute_dealloc(Attribute *self)
{
    PyObject_GC_UnTrack(self);
    attribute_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef attribute_members[] = {
    {"__name__", T_OBJECT, offsetof(Attribute, name), READONLY}, {"slow", T_OBJECT, offsetof(Attribute, slow), READONLY},
    {NULL}};
static PyGetSetDef attribute_attributes[] = {{"__doc__", attribute_doc, NULL, NULL, NULL}, {NULL}};

#define OBJECT_FLAGS (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC)
static PyTypeObject FunctionBase = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lazynp._speed.FunctionBase", .tp_basicsize = sizeof(Function),
    .tp_flags = OBJECT_FLAGS | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Function, call), .tp_dealloc = (destructor)function_dealloc,
    .tp_traverse = (traverseproc)function_traverse, .tp_clear = (inquiry)function_clear,
    .tp_members = function_members, .tp_getset = function_attributes, .tp_call = call_function, .tp_doc = "Base of the public functions: their call."};
static PyTypeObject MethodType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lazynp._speed.Method", .tp_basicsize = sizeof(Method),
    .tp_flags = OBJECT_FLAGS | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Method, call), .tp_dealloc = (destructor)method_dealloc,
    .tp_traverse = (traverseproc)method_traverse, .tp_clear = (inquiry)method_clear, .tp_members = method_members,
    .tp_methods = method_methods, .tp_getset = method_attributes, .tp_repr = method_repr, .tp_new = new_method,
    .tp_call = PyVectorcall_Call, .tp_descr_get = get_method, .tp_dictoffset = offsetof(Method, dict),
    .tp_getattro = PyObject_GenericGetAttr, .tp_setattro = PyObject_GenericSetAttr,
    .tp_doc = "Method(host, slow, most, flags): NumPy's method on small arrays at hand, else `slow`."};
static PyTypeObject AttributeType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lazynp._speed.Attribute", .tp_basicsize = sizeof(Attribute),
    .tp_flags = OBJECT_FLAGS, .tp_dealloc = (destructor)attribute_dealloc,
    .tp_traverse = (traverseproc)attribute_traverse, .tp_clear = (inquiry)attribute_clear,
    .tp_members = attribute_members, .tp_getset = attribute_attributes, .tp_repr = attribute_repr, .tp_new = new_attribute,
    .tp_descr_get = get_attribute, .tp_descr_set = set_attribute,
    .tp_doc = "Attribute(name, slow): NumPy's attribute where the value is at hand, else what the descriptor `slow` says."};
