/* What Python and NumPy's code ask of an array beside its operators: truth, numbers, whether it is an instance; and
 * `a.flat`. Each is NumPy's own answer where the array is at hand, and the Python function's where it is not. */

enum { TRUTH, INTEGER_OF, FLOAT_OF, INDEX_OF, ASKED };
static const char *const asked_names[ASKED] = {"bool", "int", "float", "index"};
static PyObject *asked_slow[ASKED], *instance_slow, *flat_get, *flat_getitem, *flat_setitem, *flat_first;
static PyTypeObject *flat_type;

static int ask_truth(PyObject *self)
{
    if (is_current(self)) {
        PyObject *h = Py_NewRef(((Handle *)self)->h);
        int out = PyArray_Type.tp_as_number->nb_bool(h);
        Py_DECREF(h);
        return out;
    }
    PyObject *value = leaving(PyObject_CallOneArg(asked_slow[TRUTH], self));
    int out = value ? PyObject_IsTrue(value) : -1;
    Py_XDECREF(value);
    return out;
}

static PyObject *ask_number(PyObject *self, int which, unaryfunc host)
{
    if (!is_current(self))
        return leaving(PyObject_CallOneArg(asked_slow[which], self));
    PyObject *h = Py_NewRef(((Handle *)self)->h), *out = host(h);
    Py_DECREF(h);
    return out;
}

static PyObject *ask_int(PyObject *self) { return ask_number(self, INTEGER_OF, PyArray_Type.tp_as_number->nb_int); }
static PyObject *ask_float(PyObject *self) { return ask_number(self, FLOAT_OF, PyArray_Type.tp_as_number->nb_float); }
static PyObject *ask_index(PyObject *self) { return ask_number(self, INDEX_OF, PyArray_Type.tp_as_number->nb_index); }

/* `isinstance(x, cls)`, where cls is the door's array or a class that derives from it. */
static PyObject *instance_check(PyObject *cls, PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);
    if (PyType_IsSubtype(type, (PyTypeObject *)cls))
        Py_RETURN_TRUE;
    if (type == &PyArray_Type)
        return PyBool_FromLong((PyTypeObject *)cls == ndarray_type);
    if (is_number(x) || PyUnicode_CheckExact(x) || PyTuple_CheckExact(x) || PyList_CheckExact(x) || x == Py_None
        || type == &PySlice_Type || PyType_IsSubtype(type, ndarray_type) || (PyArray_IsScalar(x, Generic) && !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)))
        Py_RETURN_FALSE;
    PyObject *args[2] = {cls, x};
    return PyObject_Vectorcall(instance_slow, args, 2, NULL);
}

/* `issubclass(kind, cls)` of the door's arrays: as of any other class. */
static PyObject *subclass_check(PyObject *cls, PyObject *kind)
{
    if (PyType_Check(kind))
        return PyBool_FromLong(PyType_IsSubtype((PyTypeObject *)kind, (PyTypeObject *)cls));
    return PyObject_CallMethod((PyObject *)&PyType_Type, "__subclasscheck__", "OO", cls, kind);
}

static PyMethodDef subclass_check_def = {
    "__subclasscheck__", subclass_check, METH_O, "Whether a class is this one, or derives from it."};
static PyMethodDef instance_check_def = {
    "__instancecheck__", instance_check, METH_O, "Whether an object is an array of this class, or NumPy's of that name."};

/* Flat iterators. One that was only indexed has no state, so that each index is that of a new one of NumPy's; `made` is
 * the one that was iterated over, which keeps the array's memory where it is. */

enum { MOST_FLAT = 32 }; /* axes */

typedef struct {
    PyObject_HEAD
    PyObject *owner, *made;
} Flat;

static int is_position(PyObject *key) { return PyLong_Check(key) || PyArray_IsScalar(key, Integer); }

/* What NumPy's iterator takes for a key: a position of any array, slices, arrays and lists of positions of a small one. NULL for
 * any other (borrowed). */
static PyObject *flat_key(PyObject *owner, PyObject *key)
{
    if (is_position(key))
        return key;
    if (!at_hand(owner))
        return NULL;
    return PySlice_Check(key) || (PyList_CheckExact(key) && has_no_array(key)) ? key
           : Py_TYPE(key) == ndarray_type || PyArray_CheckExact(key)           ? operand(key)
                                                                               : NULL;
}

static PyObject *flat_subscript(PyObject *self, PyObject *key)
{
    Flat *f = (Flat *)self;
    PyObject *given;
    if (f->owner && !f->made && is_current(f->owner) && (given = flat_key(f->owner, key))) {
        PyObject *it = PyArray_IterNew(((Handle *)f->owner)->h), *out = it ? PyObject_GetItem(it, given) : NULL;
        Py_XDECREF(it);
        return from_host(out);
    }
    return call_two(flat_getitem, self, key);
}

/* The next element of an iterator of NumPy's, for which the memory stays where it is. */
static PyObject *flat_next(PyObject *self)
{
    Handle *owner = (Handle *)((Flat *)self)->owner;
    PyObject *made = ((Flat *)self)->made, *out;
    if (!made && owner && is_current((PyObject *)owner)) {
        Given g = {(PyObject *)owner, owner->s, owner->b, owner->h};
        PyObject *pinned_view = pin(&g);
        if (pinned_view) {
            Py_DECREF(pinned_view);
            made = ((Flat *)self)->made = PyArray_IterNew(owner->h);
        }
        if (PyErr_Occurred())
            return NULL;
    }
    if (!made || !PyObject_TypeCheck(made, &PyArrayIter_Type))
        return PyObject_CallOneArg(flat_first, self);
    Py_INCREF(made);
    out = Py_TYPE(made)->tp_iternext(made);
    Py_DECREF(made);
    return out;
}

static int flat_assign(PyObject *self, PyObject *key, PyObject *value)
{
    Flat *f = (Flat *)self;
    PyObject *to, *given = NULL, *args[3] = {self, key, value};
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "Cannot delete iterator elements");
        return -1;
    }
    if (f->owner && !f->made && is_current(f->owner) && ((Storage *)((Handle *)f->owner)->s)->free
        && (to = flat_key(f->owner, key)) && (PyLong_CheckExact(key) || at_hand(f->owner)) && (given = at_hand(value))) {
        PyObject *it = PyArray_IterNew(((Handle *)f->owner)->h);
        int failed = it ? put(f->owner, it, to, given, NULL) : -1;
        Py_XDECREF(it);
        return failed;
    }
    PyObject *done = PyObject_Vectorcall(flat_setitem, args, 3, NULL);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* part(x, view): an array of ours on NumPy's view of an array's memory, which stays where it is; None where the view shows
 * other memory. */
static PyObject *part_of_still(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n != 2 || Py_TYPE(args[0]) != ndarray_type || !PyArray_CheckExact(args[1])) {
        PyErr_SetString(PyExc_TypeError, "an array of ours and a view are wanted");
        return NULL;
    }
    Handle *a = (Handle *)args[0];
    PyArrayObject *part = (PyArrayObject *)args[1];
    if (!is_current(args[0]) || !lies_in(part, a->b))
        Py_RETURN_NONE;
    if (args[1] == a->h)
        return Py_NewRef(args[0]);
    Given g = {args[0], a->s, a->b, a->h};
    PyObject *view = pin(&g);
    if (!view) {
        if (PyErr_Occurred())
            return NULL;
        Py_RETURN_NONE;
    }
    return view_handle(g.s, g.b, args[1], view, NULL, g.h, a->base && Py_TYPE(a->base) == ndarray_type ? a->base : args[0]);
}

/* Of a view of NumPy's, a plain array on its memory, which is an operand's; NULL without an error where it is not that. */
static PyObject *part_in(PyObject *operand, PyObject *view)
{
    if (Py_TYPE(operand) != ndarray_type || !PyArray_CheckExact(view))
        return NULL;
    PyObject *const both[] = {operand, view};
    PyObject *part = part_of_still(NULL, both, 2);
    if (part == Py_None)
        Py_CLEAR(part);
    return part;
}

/* next_parts(iterator, operands, shown): what NumPy's iterator over operands gives next, each view as a plain array; what
 * `shown._shown` makes of it where they are not all of that kind. */
static PyObject *next_parts(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n != 3 || !PyIter_Check(args[0]) || !PyList_CheckExact(args[1])) {
        PyErr_SetString(PyExc_TypeError, "an iterator, a list of operands and who shows the rest are wanted");
        return NULL;
    }
    PyObject *value = PyIter_Next(args[0]), *out = NULL;
    if (!value) {
        if (!PyErr_Occurred())
            PyErr_SetNone(PyExc_StopIteration);
        return NULL;
    }
    Py_ssize_t count = PyList_GET_SIZE(args[1]);
    if (count == 1)
        out = part_in(PyList_GET_ITEM(args[1], 0), value);
    else if (PyTuple_CheckExact(value) && PyTuple_GET_SIZE(value) == count && (out = PyTuple_New(count)))
        for (Py_ssize_t i = 0; out && i < count; i++) {
            PyObject *part = part_in(PyList_GET_ITEM(args[1], i), PyTuple_GET_ITEM(value, i));
            if (part)
                PyTuple_SET_ITEM(out, i, part);
            else
                Py_CLEAR(out);
        }
    if (!out && !PyErr_Occurred())
        out = PyObject_CallMethod(args[2], "_shown", "(O)", value);
    Py_DECREF(value);
    return out;
}

/* flat(a): `a.flat`. */
static PyObject *flat_of(PyObject *module, PyObject *owner)
{
    if (!is_there(owner) || PyArray_NDIM((PyArrayObject *)((Handle *)owner)->h) > MOST_FLAT)
        return PyObject_CallOneArg(flat_get, owner);
    Flat *f = (Flat *)flat_type->tp_alloc(flat_type, 0);
    if (f)
        f->owner = Py_NewRef(owner);
    return (PyObject *)f;
}

static int flat_traverse(Flat *self, visitproc visit, void *arg)
{
    Py_VISIT(self->owner);
    Py_VISIT(self->made);
    return 0;
}

static int flat_clear(Flat *self)
{
    Py_CLEAR(self->owner);
    Py_CLEAR(self->made);
    return 0;
}

static void flat_dealloc(Flat *self)
{
    PyObject_GC_UnTrack(self);
    flat_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef flat_members[] = {
    {"_owner", T_OBJECT, offsetof(Flat, owner)}, {"_made", T_OBJECT, offsetof(Flat, made)}, {NULL}};
static PyMappingMethods flat_mapping = {.mp_subscript = flat_subscript, .mp_ass_subscript = flat_assign};
static PyTypeObject FlatBase = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lazynp._speed.FlatBase", .tp_basicsize = sizeof(Flat),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, .tp_dealloc = (destructor)flat_dealloc,
    .tp_traverse = (traverseproc)flat_traverse, .tp_clear = (inquiry)flat_clear, .tp_members = flat_members,
    .tp_as_mapping = &flat_mapping, .tp_iter = PyObject_SelfIter, .tp_iternext = flat_next, .tp_doc = "Base of `lazynp.flatiter`: its elements."};

/* Views of subclasses: a masked array's code takes its data, and makes itself of it, at every turn. Their handles show
 * NumPy's view of a pinned buffer. */

/* The handle's own array and its storage's buffer, pinned: borrowed; NULL, without an error set, where Python has to see to
 * it. */
static PyObject *pinned_array(PyObject *o)
{
    Handle *a = (Handle *)o;
    if (touch() < 0 || !a->s || !a->h || !PyArray_CheckExact(a->h))
        return NULL;
    Storage *s = (Storage *)a->s;
    if (!s->free || !s->buf || !PyArray_CheckExact(s->buf))
        return NULL;
    if (Py_TYPE(o) == ndarray_type) {
        Given g = {o, a->s, a->b, a->h};
        if (a->b != s->buf)
            return NULL;
        PyObject *view = pin(&g);
        Py_XDECREF(view);
        return view && a->b == s->buf ? a->h : NULL;
    }
    return a->v == host_view ? a->h : NULL;
}

/* What a view of `o`, of a class, has for its base: `array.py: root`. */
static PyObject *root_of_views(PyObject *o, PyTypeObject *type)
{
    while (((Handle *)o)->base && Py_TYPE(((Handle *)o)->base) == type)
        o = ((Handle *)o)->base;
    return o;
}

static Handle *seen_handle(void)
{
    Handle *out = new_handle();
    if (out)
        be_seen((PyObject *)out, &out->unseen);
    return out;
}

/* A new array of a class, which shows NumPy's `part` of o's memory, or of its own where it does not share o's (0; -1: a plain
 * array, which nobody else has, is its base): `host.py: of_type`. Takes the reference to `part`. */
static PyObject *of_class(PyObject *o, PyTypeObject *kind, PyObject *part, int shares)
{
    PyObject *empty = NULL, *done = NULL, *whole = NULL;
    Handle *out = NULL;
    if (shares <= 0) {
        whole = wrap(Py_NewRef(part));
        done = whole ? PyObject_CallOneArg(pinned, ((Handle *)whole)->s) : NULL;
        if (done && shares < 0) /* which does not own its memory */
            Py_SETREF(part, PyArray_View((PyArrayObject *)part, NULL, NULL));
        Py_XDECREF(done);
        if (!done || !part) {
            Py_XDECREF(whole);
            Py_XDECREF(part);
            return NULL;
        }
    }
    if (kind == ndarray_type)
        out = seen_handle(); /* its base may have a dict */
    else if ((empty = PyTuple_New(0)))
        out = (Handle *)PyBaseObject_Type.tp_new(kind, empty, NULL);
    Py_XDECREF(empty);
    if (!out) {
        Py_XDECREF(whole);
        Py_DECREF(part);
        return NULL;
    }
    Storage *s = (Storage *)((Handle *)(shares > 0 ? o : whole))->s;
    out->s = Py_NewRef((PyObject *)s);
    out->b = Py_NewRef(kind == ndarray_type ? s->buf : subclass_mark);
    out->h = part;
    out->v = Py_NewRef(host_view);
    out->base = shares > 0 ? Py_NewRef(root_of_views(o, kind)) : shares < 0 ? Py_NewRef(whole) : NULL;
    Py_XDECREF(whole);
    if (kind == ndarray_type)
        return (PyObject *)out;
    PyObject *finalize = PyObject_GetAttr((PyObject *)kind, name_finalize);
    if (finalize && finalize != Py_None && finalize != finalize_nothing)
        done = PyObject_CallFunctionObjArgs(finalize, (PyObject *)out, o, NULL);
    else if (finalize)
        done = Py_NewRef(Py_None);
    Py_XDECREF(finalize);
    Py_XDECREF(done);
    if (!done)
        Py_CLEAR(out);
    return (PyObject *)out;
}

/* `o.view()` or `o.view(cls)`, without a dtype: `view_methods.py: view`. NULL, without an error set, for Python to do. */
static PyObject *class_view(PyObject *o, PyTypeObject *kind)
{
    PyObject *h = pinned_array(o), *part = h ? PyArray_View((PyArrayObject *)h, NULL, NULL) : NULL;
    return part ? of_class(o, kind, part, 1) : NULL;
}

/* `o.getfield(...)` of a subclass, which records do for their fields: `view_methods.py: view_by_host`. NULL, without an error
 * set, for Python to do. */
static PyObject *class_field(PyObject *const *args, Py_ssize_t n)
{
    PyObject *h = PyType_IsSubtype(Py_TYPE(args[0]), ndarray_type) ? pinned_array(args[0]) : NULL, *with[4] = {NULL, h};
    if (!h || n < 2 || n > 3 || !PyArray_DescrCheck(args[1]) || (n == 3 && !PyLong_CheckExact(args[2])))
        return NULL;
    with[2] = args[1];
    with[3] = n == 3 ? args[2] : NULL;
    PyObject *part = call_held(known[M_GETFIELD], with + 1, n, (size_t)n, NULL);
    return part && PyArray_CheckExact(part) ? of_class(args[0], Py_TYPE(args[0]), part, 1) : part;
}

/* `o[key]` of a subclass: `indexing.py: host_part`. NULL, without an error set, for Python to do. */
static PyObject *class_item(PyObject *o, PyObject *key)
{
    int shares = is_plain(key) || PyUnicode_CheckExact(key);
    PyObject *k = shares || is_list_of_places(key) ? key : is_current(key) ? at_hand(key) : NULL;
    PyObject *h = k && PyType_IsSubtype(Py_TYPE(o), ndarray_type) ? pinned_array(o) : NULL;
    PyObject *part = h ? by_host(get_places, h, k) : NULL;
    if (!part || !PyArray_CheckExact(part))
        return part;
    if (shares || is_fresh(part))
        return of_class(o, Py_TYPE(o), part, shares ? 1 : -1);
    Py_DECREF(part);
    return NULL;
}

/* `o[name] = value`, a field of a subclass's record array, of a value at hand: 1 where it is done, 0 where Python has to do
 * it, -1 on an error. */
static int class_assign(PyObject *o, PyObject *key, PyObject *value)
{
    PyObject *h = PyUnicode_CheckExact(key) && PyType_IsSubtype(Py_TYPE(o), ndarray_type) ? pinned_array(o) : NULL;
    PyObject *given = h && !PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)h)) ? at_hand(value) : NULL;
    return given ? (put(o, h, key, given, NULL) < 0 ? -1 : 1) : 0;
}

/* The method: its Python function does what is not that simple. */
static PyObject *view_method(Method *m, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    PyTypeObject *kind = NULL;
    if (n == 1 && !names)
        kind = Py_TYPE(args[0]);
    else if (n == 2 ? !names : n == 1 && PyTuple_GET_SIZE(names) == 1 && is_word(PyTuple_GET_ITEM(names, 0), name_type))
        kind = PyType_Check(args[1]) ? (PyTypeObject *)args[1] : NULL;
    if (!kind || !PyType_IsSubtype(kind, ndarray_type) || !PyType_IsSubtype(Py_TYPE(args[0]), ndarray_type)
        || (kind == ndarray_type && Py_TYPE(args[0]) == ndarray_type))
        return NULL;
    return class_view(args[0], kind);
}

/* `o.conjugate()` of real numbers, of a subclass: the array itself. NULL, without an error set, for Python to do. */
static PyObject *real_itself(PyObject *o)
{
    PyObject *h = PyType_IsSubtype(Py_TYPE(o), ndarray_type) ? pinned_array(o) : NULL;
    int type = h ? PyArray_TYPE((PyArrayObject *)h) : NPY_OBJECT;
    return PyTypeNum_ISNUMBER(type) && !PyTypeNum_ISCOMPLEX(type) ? Py_NewRef(o) : NULL;
}

/* What `h` says of a subclass's array that shows it, as `subclass_host` gives it: NULL, without an error set, where Python
 * has to do it. Borrowed. */
static PyObject *shown_by_class(PyObject *o)
{
    Handle *a = (Handle *)o;
    if (!PyType_IsSubtype(Py_TYPE(o), ndarray_type))
        return NULL;
    if (touch() < 0) {
        PyErr_Clear();
        return NULL;
    }
    return a->s && a->v == host_view && a->h && PyArray_CheckExact(a->h) ? a->h : NULL;
}

static int is_our_code(PyObject *globals)
{
    PyObject *name = PyDict_GetItemWithError(globals, name_name);
    return name && PyUnicode_CheckExact(name) && PyUnicode_GET_LENGTH(name) >= 6 && PyUnicode_KIND(name) == PyUnicode_1BYTE_KIND
           && !memcmp(PyUnicode_1BYTE_DATA(name), "lazynp", 6);
}

/* A ufunc of NumPy's own, with one result, on small arrays of one subclass, plain ones of ours, and numbers: what NumPy
 * computes on their memory, through our own code's `__array_wrap__`. `overrides.py: wrapper_of` says whose that is. NULL,
 * without an error set, for Python to do. */
static PyObject *class_ufunc(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    PyObject *host = ((Ufunc *)self)->host, *given[3] = {NULL}, *leader = NULL, *out = NULL;
    int plain = 0;
    if (limit < 0 || n < 1 || n > 2 || ((PyUFuncObject *)host)->nin != n || ((PyUFuncObject *)host)->nout != 1)
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyTypeObject *type = Py_TYPE(args[i]);
        if (type != ndarray_type && PyType_IsSubtype(type, ndarray_type)) {
            if ((leader && Py_TYPE(leader) != type) || !(given[i] = pinned_array(args[i]))
                || PyArray_SIZE((PyArrayObject *)given[i]) > limit || PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)given[i])))
                return NULL;
            leader = leader ? leader : args[i];
        }
        else if (PyArray_Check(args[i]) || !(given[i] = operand(args[i])))
            return NULL;
        else
            plain |= type == ndarray_type;
    }
    PyTypeObject *type = leader ? Py_TYPE(leader) : NULL;
    PyObject *make = type ? _PyType_Lookup(type, name_wrap) : NULL;
    PyObject *priority = make && plain ? _PyType_Lookup(type, name_priority) : NULL;
    if (!make || !PyFunction_Check(make) || !is_our_code(PyFunction_GET_GLOBALS(make))
        || _PyType_Lookup(type, name_ufunc) != _PyType_Lookup(ndarray_type, name_ufunc)
        || (plain && !(priority && PyLong_CheckExact(priority) && PyObject_RichCompareBool(priority, Py_False, Py_GT) == 1)))
        return NULL;
    made++;
    PyObject *value = call_held(host, given, n, (size_t)n, NULL);
    if (!value)
        return NULL;
    int scalar = !PyArray_CheckExact(value);
    if (scalar)
        Py_XSETREF(value, PyArray_FromAny(value, NULL, 0, 0, 0, NULL));
    PyObject *array = value ? from_host(value) : NULL, *all = array ? PyTuple_New(n) : NULL;
    for (Py_ssize_t i = 0; all && i < n; i++)
        PyTuple_SET_ITEM(all, i, Py_NewRef(args[i]));
    PyObject *context = all ? Py_BuildValue("OOi", self, all, 0) : NULL;
    if (context) {
        PyObject *with[5] = {NULL, leader, array, context, scalar ? Py_True : Py_False};
        out = PyObject_VectorcallMethod(name_wrap, with + 1, 4 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    }
    Py_XDECREF(context);
    Py_XDECREF(all);
    Py_XDECREF(array);
    return out;
}

/* Attributes that depend on who asks: `subclasses.py`. Our own copy of NumPy's code, the most frequent, is told what is
 * there; for all others the property decides. */
typedef struct {
    PyObject_HEAD
    PyObject *name, *slow; /* the name is None for `__class__` */
} CallerDependent;

static int asked_by_ours(PyObject *of)
{
    PyObject *names = PyEval_GetGlobals();
    if (!names || Py_TYPE(of)->tp_getattro != PyObject_GenericGetAttr) /* one of Python's would be what asks */
        return 0;
    return is_our_code(names);
}

static PyObject *get_asked(PyObject *self, PyObject *of, PyObject *type)
{
    CallerDependent *a = (CallerDependent *)self;
    if (!of || of == Py_None)
        return Py_NewRef(self);
    if (asked_by_ours(of)) {
        if (a->name == Py_None)
            return Py_NewRef((PyObject *)Py_TYPE(of));
        PyObject *dict = PyObject_GenericGetDict(of, NULL);
        PyObject *value = dict ? PyDict_GetItemWithError(dict, a->name) : NULL;
        Py_XDECREF(dict); /* which the array holds */
        if (value && !PyArray_Check(value) && !PyDict_Check(value)
            && !(PyType_Check(value) && PyType_IsSubtype((PyTypeObject *)value, &PyArray_Type)))
            return Py_NewRef(value);
    }
    if (PyErr_Occurred())
        return NULL;
    return Py_TYPE(a->slow)->tp_descr_get(a->slow, of, type);
}

static int set_asked(PyObject *self, PyObject *of, PyObject *value)
{
    PyObject *slow = ((CallerDependent *)self)->slow, *name = ((CallerDependent *)self)->name;
    PyObject *dict = value && name != Py_None ? PyObject_GenericGetDict(of, NULL) : NULL;
    if (dict) {
        int failed = PyDict_SetItem(dict, name, value);
        Py_DECREF(dict);
        return failed;
    }
    if (PyErr_Occurred())
        return -1;
    return Py_TYPE(slow)->tp_descr_set(slow, of, value);
}

static PyObject *new_asked(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *name, *slow;
    if (!PyArg_ParseTuple(args, "OO!", &name, &PyProperty_Type, &slow))
        return NULL;
    CallerDependent *a = (CallerDependent *)type->tp_alloc(type, 0);
    if (a) {
        a->name = Py_NewRef(name);
        a->slow = Py_NewRef(slow);
    }
    return (PyObject *)a;
}

static int caller_dependent_traverse(CallerDependent *self, visitproc visit, void *arg)
{
    Py_VISIT(self->name);
    Py_VISIT(self->slow);
    return 0;
}

static int caller_dependent_clear(CallerDependent *self)
{
    Py_CLEAR(self->name);
    Py_CLEAR(self->slow);
    return 0;
}

static void caller_dependent_dealloc(CallerDependent *self)
{
    PyObject_GC_UnTrack(self);
    caller_dependent_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyTypeObject CallerDependentType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lazynp._speed.CallerDependent", .tp_basicsize = sizeof(CallerDependent),
    .tp_flags = OBJECT_FLAGS, .tp_dealloc = (destructor)caller_dependent_dealloc, .tp_traverse = (traverseproc)caller_dependent_traverse,
    .tp_clear = (inquiry)caller_dependent_clear, .tp_new = new_asked, .tp_descr_get = get_asked, .tp_descr_set = set_asked,
    .tp_doc = "CallerDependent(name, property): what an instance's dict has, for our code; what the property says, for others'."};
