/* Replay, cold: operations are noted, and programs made of loops that they show. See `_replay.h`. */

static inline uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

/* Of what an operation is, whatever its operands are, wherever a part begins, and however long it is. */
static uint32_t sign(Note const *r)
{
    uint64_t h = mix((uint64_t)r->kind, (uint64_t)(uintptr_t)r->f);
    for (int i = 0; i < r->nin; i++)
        h = mix(h, r->number[i] ? (uint64_t)(uintptr_t)r->number[i] : (uint64_t)(r->of[i].nd * 64 + r->of[i].type));
    h = mix(h, (uint64_t)(r->out.nd * 64 + r->out.type + (r->how << 16)));
    for (int d = 0; d < r->out.nd && (r->kind == GETITEM || r->kind == SETITEM); d++)
        h = mix(h, (uint64_t)r->out.stride[d]);
    return (uint32_t)(h >> 32) | 1;
}

static unsigned char ends[LAST_SEEN]; /* how many programs end with a signature that has its place there */

static inline int place_of(uint32_t sig) { return (int)((sig * 2654435761u) >> 22); }

static void plan(int period);

/* A distance at which the notes before this one repeat too: of the few last at which as many ended alike, since a round
 * may have several such. Into candidate c. */
static void look_back(long long i, uint32_t const *now, long long since, int c)
{
    int distance = 0;
    for (int step = 0; step < ALIKE; step++) {
        int more = same_before[(i - distance) % RING], k = 0, known = 0;
        distance += more;
        if (!more || distance >= LONGEST || distance + ENOUGH >= since)
            return;
        while (k < ENOUGH && now[-k] == now[-k - distance])
            k++;
        for (int j = 0; j < CANDIDATES; j++)
            known |= candidate[j].period == distance;
        if (k < ENOUGH || known)
            continue;
        candidate[c].period = distance;
        candidate[c].count = k;
        candidate[c].asked = 0;
        candidate[c].begins = -1;
        return;
    }
}

/* Whether a loop of n notes has gone on for long enough, in all its visits together: a nested one ends and comes again. */
static int is_hot(uint32_t const *now, int n)
{
    uint32_t sum = 0; /* which begins at the same place in each visit, mostly */
    for (int k = 0; k < n; k++)
        sum = sum * 31 + now[-k];
    Visits *v = &visits[place_of(sum)];
    if (v->sum != sum) {
        memset(v, 0, sizeof *v);
        v->sum = sum;
        v->began = clock_ns();
    }
    v->count += n;
    uint32_t asked = v->asked;
    if (v->count < evidence)
        return 0;
    if (asked <= OFTEN)
        idle = 0;
    if (clock_ns() - v->began < wait_ns)
        return 0;
    v->asked++;
    return asked <= OFTEN || !(asked & (asked - 1));
}

/* How many notes from now a period of p should begin: where the least memory is held by results of the round before, which
 * each round would have to store. */
static int best_beginning(int p)
{
    npy_intp least = -1;
    int best = 0;
    for (int ahead = 0; ahead < p; ahead++) {
        long long at = position - p + ahead; /* the same place, one round before */
        npy_intp held = 0;
        for (long long k = at - p; k < at; k++) {
            Note const *r = &ring[k % RING];
            if (makes_value(r->kind) && (!r->died || r->died > at))
                held += PyArray_MultiplyList(r->out.shape, r->out.nd) * PyDataType_ELSIZE(plain_descr[r->out.type]);
        }
        if (least < 0 || held < least) {
            least = held;
            best = ahead;
        }
    }
    return best;
}

static int is_long(npy_intp *lengths, npy_intp expected, npy_intp n)
{
    if (expected >= 0)
        return expected == n;
    npy_intp *length = &lengths[-1 - expected];
    if (*length < 0)
        *length = n;
    return *length == n;
}

static int are_long(npy_intp *lengths, Layout const *expected, Layout const *as)
{
    for (int d = 0; d < as->nd; d++)
        if (!is_long(lengths, expected->shape[d], as->shape[d]))
            return 0;
    return 1;
}

/* What of the notes is to be a program's: where operands come from and how they lie; lengths, too; offsets, too. */
enum { LAYOUTS, AND_LENGTHS, AND_OFFSETS };

/* Whether the notes from `first` on, whose signatures are the program's, are what it takes as given. */
static int fits(Program const *q, long long first, int what)
{
    long long who[MOST_IN * LONGEST];
    npy_intp lengths[LENGTHS];
    memset(who, 0, (size_t)q->params * sizeof *who);
    for (int i = 0; i < LENGTHS; i++)
        lengths[i] = -1;
    for (int k = 0; k < q->n; k++) {
        Slot const *s = &q->slot[k];
        Note const *r = &ring[(first + k) % RING];
        for (int i = 0; i < s->nin; i++) {
            int j = s->source[i];
            if (s->from[i] == FROM_SLOT && r->in[i] != first + j)
                return 0;
            if (s->from[i] != FROM_MEMORY)
                continue;
            if (who[j] && r->in[i] != who[j])
                return 0;
            who[j] = r->in[i];
            if (!same_layout(&q->is[j].as, &r->of[i]) || (what >= AND_LENGTHS && !are_long(lengths, &q->is[j].as, &r->of[i])))
                return 0;
        }
        if (s->kind == EXTERNAL)
            continue;
        if (what >= AND_LENGTHS && !are_long(lengths, &s->out, &r->out))
            return 0;
        if (what == AND_OFFSETS && s->fixed && (s->kind == GETITEM || s->kind == SETITEM) && s->offset != r->offset)
            return 0;
    }
    for (int j = 0; j < q->params; j++)
        for (int i = 0; i < j; i++)
            if (who[i] == who[j])
                return 0;
    return 1;
}

static Program *program_of(long id)
{
    for (int j = 0; j < program_count; j++)
        if (programs[j]->id == id)
            return programs[j];
    return NULL;
}

static Link *link_after(long long since, uint32_t sig)
{
    return &links[mix(mix((uint64_t)left_last, (uint64_t)since), sig) % LINKS];
}

/* The notes since a program was left, the last of which is the one before a round of q: next time it is entered there. */
static void learn_link(Program *q, long long since, uint32_t sig)
{
    Link *k = link_after(since, sig);
    if (k->left == left_last && k->sig == sig && k->since == since && k->to == q->id)
        return; /* and it was of no use */
    *k = (Link){left_last, q->id, sig, (int)since, 4};
}

/* Enter the program that began here the last times. */
static void follow_link(long long since, uint32_t sig)
{
    Link *k = link_after(since, sig);
    if (k->left != left_last || k->sig != sig || k->since != since || k->score < 0 || position < looks_until)
        return;
    Program *q = program_of(k->to);
    if (!q || !q->ready || q->bad > 20 || q->useless)
        return;
    enter(q);
    if (P)
        entered_by = k;
}

/* For how many notes rounds of n, or of a part of that, have followed one another. */
static long long in_succession(int n)
{
    long long most = 0;
    for (int c = 0; c < CANDIDATES; c++)
        if (candidate[c].period && n % candidate[c].period == 0)
            most = Py_MAX(most, candidate[c].count);
    return most;
}

static void push(Note *r)
{
    long long i = position;
    uint32_t h = r->sig;
    signatures[i % RING] = signatures[i % RING + RING] = h;
    r->questions = questions;
    uint32_t const *now = signatures + i % RING + RING;
    position++;
    int best = 0, open = -1, promising = 0;
    long long since = position - cold_since;
    uint32_t recent = 0;
    for (int k = 0; k < ENOUGH; k++)
        recent = recent * 31 + now[-k];
    int at = place_of(recent);
    same_before[i % RING] = last_seen[at].sig == recent && i - last_seen[at].at < LONGEST ? (int)(i - last_seen[at].at) : 0;
    last_seen[at].sig = recent;
    last_seen[at].at = i;
    for (int c = 0; c < CANDIDATES; c++) {
        int p = candidate[c].period;
        if (p && (since <= p || now[-p] != h))
            p = candidate[c].period = 0;
        if (!p) {
            open = c;
            continue;
        }
        long long n = ++candidate[c].count;
        promising |= n >= 2 * p && n >= SHORTEST;
        int several = 0; /* rounds of another candidate */
        for (int j = 0; j < CANDIDATES; j++)
            several |= candidate[j].period && candidate[j].period < p && p % candidate[j].period == 0 && candidate[j].count >= p;
        if (n < 2 * p || n < SHORTEST || candidate[c].asked || best || several)
            continue;
        if (candidate[c].begins < 0 && n % p == 0 && is_hot(now, p))
            candidate[c].begins = best_beginning(p);
        if (candidate[c].begins == n % p) {
            candidate[c].asked = 1;
            best = p;
        }
    }
    if (!promising && open >= 0)
        look_back(i, now, since, open);
    at = place_of(h);
    for (int j = ends[at] ? program_count - 1 : -1; j >= 0; j--) { /* the most general first */
        Program *q = programs[j];
        if (!q->ready || q->bad > 20 || q->useless || q->sig[q->n - 1] != h || since < q->n || position < blocked_until || position < looks_until
            || (q->behind && in_succession(q->n) <= q->behind))
            continue;
        int k = 0;
        while (k < q->n && now[-k] == q->sig[q->n - 1 - k])
            k++;
        if (k == q->n && fits(q, i + 1 - k, AND_OFFSETS)) {
            enter(q);
            if (P && left_last && since > k && since - k <= LINKED)
                learn_link(q, since - k, now[-k]);
            if (P)
                return;
        }
    }
    if (since <= LINKED && left_last)
        follow_link(since, h);
    if (!P && best)
        plan(best);
}

static long long maker(PyObject *o)
{
    Handle *a = (Handle *)o;
    if (!a->at)
        a->at = --outside_ids;
    return a->at;
}

/* `before`: whether there was anything else since the last operation. `type`: of the ufunc's loop; -1: of the operands. */
static void note_how(int before, int kind, PyUFuncObject *f, int nin, PyObject *const *in, Layout const *out, npy_intp offset,
                     PyObject *made, int type, int how)
{
    if (settling || (P && settle() < 0)) { /* in the middle of what is not matched, something that could be */
        PyErr_Clear();
        return;
    }
    if (before && position > cold_since && ring[(position - 1) % RING].kind != EXTERNAL) {
        Note *e = &ring[position % RING];
        memset(e, 0, sizeof *e);
        e->sig = 7;
        push(e);
        if (P)
            return; /* a period ended with it */
    }
    Note *r = &ring[position % RING];
    r->kind = kind;
    r->f = f;
    r->nin = nin;
    r->type = type;
    r->how = how;
    r->died = r->passing = 0;
    r->offset = offset;
    for (int i = 0; i < nin; i++) {
        int array = Py_TYPE(in[i]) == ndarray_type;
        r->number[i] = array ? NULL : Py_TYPE(in[i]);
        r->in[i] = array ? maker(in[i]) : 0;
        if (!array)
            continue;
        if (is_number_now(kind) && Py_REFCNT(in[i]) == 1 && r->in[i] > 0 && position - r->in[i] < RING)
            ring[r->in[i] % RING].passing = 1;
        lay_out(&r->of[i], (PyArrayObject *)((Handle *)in[i])->h);
        if (type < 0 && (kind != SETITEM || !i))
            r->type = r->of[i].type;
        r->memory[i] = ((Handle *)in[i])->s;
        r->data[i] = PyArray_BYTES((PyArrayObject *)((Handle *)in[i])->h);
    }
    r->out = *out;
    r->sig = sign(r);
    if (made)
        ((Handle *)made)->at = position;
    touched = 0;
    if (++idle > IDLE && !building) {
        idle = 0;
        rest = IDLE / 4;
        rest_until = clock_ns() + REST_NS;
    }
    push(r);
    if (trials && !P && !left_out)
        end_with_notes();
}

static void note(int before, int kind, PyUFuncObject *f, int nin, PyObject *const *in, Layout const *out, npy_intp offset,
                 PyObject *made, int type)
{
    note_how(before, kind, f, nin, in, out, offset, made, type, 0);
}

/* Whether a period may have an operation: one of which C++ is made, or whose loop goes through all elements at once. y may
 * be x. */
static int may_be_replayed(PyUFuncObject *f, PyObject *x, PyObject *y)
{
    PyObject *in[2] = {x, y};
    PyArrayObject *first = (PyArrayObject *)((Handle *)(Py_TYPE(x) == ndarray_type ? x : y))->h;
    Loop *loop = loop_of(f, PyArray_DESCR(first)->type_num);
    if (!loop || loop->replayed)
        return loop != NULL;
    for (int i = 0; i < 2; i++) {
        PyArrayObject *a = Py_TYPE(in[i]) == ndarray_type ? (PyArrayObject *)((Handle *)in[i])->h : first;
        if (!PyArray_IS_C_CONTIGUOUS(a) || PyArray_NDIM(a) != PyArray_NDIM(first) || PyArray_TYPE(a) != PyArray_TYPE(first)
            || memcmp(PyArray_DIMS(a), PyArray_DIMS(first), (size_t)PyArray_NDIM(a) * sizeof(npy_intp)))
            return 0;
    }
    return 1;
}

static int notable(PyObject *o) /* whether a program can have it as an operand */
{
    if (Py_TYPE(o) != ndarray_type)
        return !PyArray_Check(o);
    return is_ours((Handle *)o) && PyArray_NDIM((PyArrayObject *)((Handle *)o)->h) <= AXES && PyArray_NDIM((PyArrayObject *)((Handle *)o)->h) > 0
           && is_plain_type(PyArray_DESCR((PyArrayObject *)((Handle *)o)->h))
           && PyArray_ISALIGNED((PyArrayObject *)((Handle *)o)->h);
}

static void note_ufunc(int before, PyUFuncObject *f, int nin, PyObject *x, PyObject *y, PyObject *out)
{
    if (!notable(x) || (nin > 1 && !notable(y)) || !notable(out) || !may_be_replayed(f, x, nin > 1 ? y : x)) {
        touched = 1;
        return;
    }
    Layout as;
    lay_out(&as, (PyArrayObject *)((Handle *)out)->h);
    note(before, UFUNC, f, nin, (PyObject *[]){x, y}, &as, 0, out, -1);
}

/* The type of the loop that NumPy took for operands of several types, which are cast to it; -1: that is not known. y may be
 * NULL. */
static int loop_type(PyUFuncObject *f, PyObject *x, PyObject *y, int result)
{
    PyObject *in[2] = {x, y};
    int types[2] = {-1, -1}, type = -1;
    char number[16];
    for (int i = 0; i < 2 && in[i]; i++)
        if (Py_TYPE(in[i]) == ndarray_type) {
            if (!is_there(in[i]) || !notable(in[i]))
                return -1;
            types[i] = PyArray_TYPE((PyArrayObject *)((Handle *)in[i])->h);
            if (PyTypeNum_ISCOMPLEX(types[i]))
                return -1;
        }
    if (types[0] >= 0 && types[1] >= 0) {
        PyArray_Descr *both = PyArray_PromoteTypes(plain_descr[types[0]], plain_descr[types[1]]);
        if (!both) {
            PyErr_Clear();
            return -1;
        }
        type = both->type_num;
        Py_DECREF(both);
        if (PyTypeNum_ISFLOAT(type) && !PyTypeNum_ISFLOAT(types[0]) && !PyTypeNum_ISFLOAT(types[1]))
            return -1; /* comparisons have loops of both integers */
    }
    else if (!y)
        type = types[0];
    else {
        int array = types[0] >= 0 ? types[0] : types[1];
        PyObject *o = types[0] >= 0 ? y : x;
        if (array < 0 || Py_TYPE(o) == ndarray_type)
            return -1;
        type = from_number(o, array, number) ? array : array < NPY_FLOAT && PyFloat_Check(o) ? NPY_DOUBLE : result;
        if (type >= NPY_CLONGDOUBLE || !PyArray_CanCastSafely(array, type) || !from_number(o, type, number))
            return -1;
    }
    Loop *loop = type < NPY_CLONGDOUBLE && plain_descr[type] ? loop_of(f, type) : NULL;
    return loop && loop->replayed && loop->result == result ? type : -1;
}

/* The same for what NumPy's dispatch has done: operands of other shapes or types, say, or in another order. y may be NULL. */
static void note_host_ufunc(int before, PyUFuncObject *f, PyObject *x, PyObject *y, PyObject *out)
{
    PyArrayObject *h = Py_TYPE(out) == ndarray_type && is_there(out) && notable(out) ? (PyArrayObject *)((Handle *)out)->h : NULL;
    int type = f && h && PyArray_IS_C_CONTIGUOUS(h) && PyArray_SIZE(h) ? loop_type(f, x, y, PyArray_TYPE(h)) : -1;
    Layout as;
    if (type < 0) {
        touched = 1;
        return;
    }
    lay_out(&as, h);
    note(before, UFUNC, f, 1 + (y != NULL), (PyObject *[]){x, y}, &as, 0, out, type);
}

/* f(*args, out=out) was done. */
static void note_into(int before, PyUFuncObject *f, int n, PyObject *const *args, PyObject *out)
{
    PyArrayObject *h = Py_TYPE(out) == ndarray_type && is_there(out) && notable(out) ? (PyArrayObject *)((Handle *)out)->h : NULL;
    PyObject *y = n > 1 ? args[1] : NULL, *in[3] = {out, args[0], y};
    int type = h && PyArray_SIZE(h) ? loop_type(f, args[0], y, PyArray_TYPE(h)) : -1;
    Layout as;
    for (int i = 1; i <= n && h && type < 0; i++) { /* a loop of NumPy's, perhaps */
        PyArrayObject *a = Py_TYPE(in[i]) == ndarray_type && is_there(in[i]) ? (PyArrayObject *)((Handle *)in[i])->h : NULL;
        Loop *loop = a && is_plain_type(PyArray_DESCR(a)) ? loop_of(f, PyArray_TYPE(a)) : NULL;
        if (!loop || loop->result != PyArray_TYPE(h) || !PyArray_SAMESHAPE(a, h) || !PyArray_IS_C_CONTIGUOUS(h))
            continue;
        int same = y && Py_TYPE(args[0]) == Py_TYPE(y) ? PyArray_TYPE(a) == PyArray_TYPE((PyArrayObject *)((Handle *)in[3 - i])->h) : 1;
        char number[16];
        for (int k = 1; k <= n; k++)
            same &= Py_TYPE(in[k]) == ndarray_type || from_number(in[k], PyArray_TYPE(a), number);
        if (same && notable(args[0]) && (!y || notable(y)) && may_be_replayed(f, args[0], y ? y : args[0]))
            type = PyArray_TYPE(a);
    }
    if (type < 0) {
        touched = 1;
        return;
    }
    lay_out(&as, h);
    note(before, INTO, f, n + 1, in, &as, 0, NULL, type);
}

static void note_in_place(int before, PyUFuncObject *f, PyObject *x, PyObject *y)
{
    Layout as;
    Loop *loop = notable(x) ? loop_of(f, PyArray_DESCR((PyArrayObject *)((Handle *)x)->h)->type_num) : NULL;
    if (!loop || loop->result != loop->type || !notable(y) || !may_be_replayed(f, x, y)) {
        touched = 1;
        return;
    }
    lay_out(&as, (PyArrayObject *)((Handle *)x)->h);
    note(before, IN_PLACE, f, 2, (PyObject *[]){x, y}, &as, 0, NULL, as.type);
}

/* The same for what NumPy's dispatch has done: with operands that overlap, say. */
static void note_host_in_place(int before, PyUFuncObject *f, PyObject *x, PyObject *y)
{
    int type = is_there(x) ? PyArray_TYPE((PyArrayObject *)((Handle *)x)->h) : -1;
    if (type >= 0 && Py_TYPE(y) == ndarray_type && PyArray_SIZE((PyArrayObject *)((Handle *)x)->h) && loop_type(f, x, y, type) == type)
        note_in_place(before, f, x, y);
    else
        touched = 1;
}

static void note_getitem(int before, PyObject *x, PyObject *out, int how)
{
    PyArrayObject *h = (PyArrayObject *)((Handle *)x)->h, *part = (PyArrayObject *)((Handle *)out)->h;
    Layout as;
    if (!notable(x) || !notable(out) || !PyArray_SIZE(part)) {
        touched = 1;
        return;
    }
    lay_out(&as, part);
    note_how(before, GETITEM, NULL, 1, &x, &as, PyArray_BYTES(part) - PyArray_BYTES(h), out, -1, how);
}

static void note_read(int before, PyObject *x, PyArrayObject *h, PyObject *key)
{
    Layout of, as;
    npy_intp offset;
    if (is_there(x) && (PyArrayObject *)((Handle *)x)->h == h && notable(x)) {
        lay_out(&of, h);
        if (cut(&of, key, &offset, &as) && !as.nd) {
            note(before, READ, NULL, 1, &x, &as, offset, NULL, -1);
            return;
        }
    }
    touched = 1;
}

/* x @ y, or NumPy's function `dot`: of vectors (f is NULL then), or (`dot`) of what `matmul` multiplies alike. */
static void note_product(int before, PyUFuncObject *f, PyObject *x, PyObject *y, PyObject *out, int dot)
{
    Layout as = {0};
    int type = Py_TYPE(x) == ndarray_type && is_there(x) ? PyArray_TYPE((PyArrayObject *)((Handle *)x)->h) : -1;
    int ours = Py_TYPE(y) == ndarray_type && is_there(y) && (type == NPY_FLOAT || type == NPY_DOUBLE) && notable(x) && notable(y);
    PyArrayObject *a = ours ? (PyArrayObject *)((Handle *)x)->h : NULL, *b = ours ? (PyArrayObject *)((Handle *)y)->h : NULL;
    as.type = type;
    if (!ours || PyArray_TYPE(b) != type || PyArray_NDIM(a) > 2 || PyArray_NDIM(b) > 2 || !PyArray_SIZE(a) || !PyArray_SIZE(b))
        touched = 1;
    else if (PyArray_NDIM(a) == 1 && PyArray_NDIM(b) == 1)
        note(before, DOT, f, 2, (PyObject *[]){x, y}, &as, 0, NULL, -1);
    else if (f && Py_TYPE(out) == ndarray_type && is_there(out) && notable(out)) {
        lay_out(&as, (PyArrayObject *)((Handle *)out)->h);
        note_how(before, UFUNC, f, 2, (PyObject *[]){x, y}, &as, 0, out, -1, dot);
    }
    else
        touched = 1;
}

static int may_note_setitem(PyObject *x, PyObject *value)
{
    char number[16];
    if (!notable(x) || !notable(value))
        return 0;
    PyArray_Descr *descr = PyArray_DESCR((PyArrayObject *)((Handle *)x)->h);
    return Py_TYPE(value) == ndarray_type ? PyArray_DESCR((PyArrayObject *)((Handle *)value)->h) == descr
                                          : from_number(value, descr->type_num, number);
}

/* h[key] = value was done. */
static void note_setitem(int before, PyObject *x, PyArrayObject *h, PyObject *key, PyObject *value)
{
    Layout of, as;
    npy_intp offset;
    lay_out(&of, h);
    if (!is_there(x) || (PyArrayObject *)((Handle *)x)->h != h)
        return;
    if (!cut(&of, key, &offset, &as)) {
        touched = 1;
        return;
    }
    if (PyArray_MultiplyList(as.shape, as.nd))
        note(before, SETITEM, NULL, 2, (PyObject *[]){x, value}, &as, offset, NULL, -1);
    else
        touched = 1;
}

/* A reduction was done of elements that NumPy adds in C's order. */
static void note_reduction(int before, Reduction const *r, PyObject *x, PyObject *out)
{
    PyUFuncObject *f = (PyUFuncObject *)reduction_ufunc[r->which];
    PyArrayObject *a = Py_TYPE(x) == ndarray_type && is_there(x) && notable(x) ? (PyArrayObject *)((Handle *)x)->h : NULL;
    int type = a ? PyArray_TYPE(a) : -1, nd = a ? PyArray_NDIM(a) : 0, how = a ? how_of(r, nd) : -1, count = how / REDUCTIONS / AXES;
    Loop *loop = how >= 0 && PyArray_SIZE(a) && keeps_type(r->which, type) ? loop_of(f, type) : NULL;
    int lies = loop && loop->result == type
               && (PyArray_IS_C_CONTIGUOUS(a) || (nd == 1 && PyArray_STRIDE(a, 0) > 0)
                   || ((count == 1 || count == nd) && lies_apart(a, r->which)));
    Layout as = {.type = type};
    if (lies && count == nd && !r->keep) {
        note_how(before, TOTAL, f, 1, &x, &as, 0, NULL, -1, how);
        return;
    }
    PyArrayObject *h = lies && Py_TYPE(out) == ndarray_type && is_there(out) && notable(out) ? (PyArrayObject *)((Handle *)out)->h : NULL;
    if (!h || !PyArray_IS_C_CONTIGUOUS(h) || PyArray_TYPE(h) != type) {
        touched = 1;
        return;
    }
    lay_out(&as, h);
    note_how(before, ALONG, f, 1, &x, &as, 0, out, -1, how);
}

/* Whether a choice of `where` has the type of its result, as it is. */
static int is_choice(PyObject *o, int type)
{
    char number[16];
    return Py_TYPE(o) == ndarray_type ? is_there(o) && notable(o) && PyArray_TYPE((PyArrayObject *)((Handle *)o)->h) == type
                                      : from_number(o, type, number);
}

static int is_mask(PyObject *o)
{
    return Py_TYPE(o) == ndarray_type && is_there(o) && notable(o) && PyArray_TYPE((PyArrayObject *)((Handle *)o)->h) == NPY_BOOL;
}

static void note_where(int before, PyObject *const *args, PyObject *out)
{
    Layout as;
    PyArrayObject *h = Py_TYPE(out) == ndarray_type && is_there(out) && notable(out) ? (PyArrayObject *)((Handle *)out)->h : NULL;
    if (!h || !PyArray_IS_C_CONTIGUOUS(h) || !PyArray_SIZE(h) || !is_mask(args[0]) || !is_choice(args[1], PyArray_TYPE(h))
        || !is_choice(args[2], PyArray_TYPE(h)) || PyTypeNum_ISCOMPLEX(PyArray_TYPE(h))) {
        touched = 1;
        return;
    }
    lay_out(&as, h);
    note(before, WHERE, NULL, 3, args, &as, 0, out, as.type);
}

/* An array was made of one number, or of none: NULL. */
static void note_fill(int before, Layout const *as, PyObject *number, PyObject *out)
{
    char to[16];
    if (!notable(out) || (number && !from_number(number, as->type, to)))
        touched = 1;
    else
        note(before, FILL, NULL, number != NULL, &number, as, 0, out, as->type);
}

/* Arrays were joined. */
static void note_join(int before, int which, PyObject *const *arrays, int n, long axis, PyObject *out)
{
    Layout as;
    int known = notable(out) && is_there(out) && PyArray_IS_C_CONTIGUOUS((PyArrayObject *)((Handle *)out)->h);
    if (known)
        lay_out(&as, (PyArrayObject *)((Handle *)out)->h);
    int nd = n && is_there(arrays[0]) ? PyArray_NDIM((PyArrayObject *)((Handle *)arrays[0])->h) : 0;
    int how = known && nd ? how_joined(which, axis, nd) : -1;
    for (int i = 0; i < n && how >= 0; i++) {
        PyArrayObject *h = is_there(arrays[i]) && notable(arrays[i]) ? (PyArrayObject *)((Handle *)arrays[i])->h : NULL;
        if (!h || PyArray_NDIM(h) != nd || PyArray_TYPE(h) != as.type || !PyArray_SIZE(h))
            how = -1;
    }
    if (how < 0)
        touched = 1;
    else
        note_how(before, JOIN, NULL, n, arrays, &as, 0, out, as.type, how);
}

/* clip(x, low, high) was done, whose bounds are numbers. */
static void note_clip(int before, PyObject *const *args, PyObject *out)
{
    Layout as;
    char low[16], high[16];
    PyArrayObject *h = Py_TYPE(out) == ndarray_type && is_there(out) && notable(out) ? (PyArrayObject *)((Handle *)out)->h : NULL;
    int type = h ? PyArray_TYPE(h) : NPY_BOOL;
    if (!h || type == NPY_BOOL || PyTypeNum_ISCOMPLEX(type) || !PyArray_IS_C_CONTIGUOUS(h) || !PyArray_SIZE(h)
        || Py_TYPE(args[0]) != ndarray_type || !is_choice(args[0], type) || Py_TYPE(args[1]) == ndarray_type
        || Py_TYPE(args[2]) == ndarray_type || !from_number(args[1], type, low) || !from_number(args[2], type, high)
        || is_nan(type, low) || is_nan(type, high)) {
        touched = 1;
        return;
    }
    lay_out(&as, h);
    note(before, CLIP, NULL, 3, args, &as, 0, out, type);
}

/* Whether h[mask] = number, of one shape, may be noted. */
static int may_note_masked(PyObject *x, PyArrayObject *h, PyObject *mask, PyObject *number)
{
    char to[16];
    PyArrayObject *m = is_mask(mask) ? (PyArrayObject *)((Handle *)mask)->h : NULL;
    return m && is_there(x) && notable(x) && ((Handle *)x)->s != ((Handle *)mask)->s && Py_TYPE(number) != ndarray_type && PyArray_NDIM(m) == PyArray_NDIM(h) && PyArray_SIZE(h)
           && !memcmp(PyArray_DIMS(m), PyArray_DIMS(h), (size_t)PyArray_NDIM(h) * sizeof(npy_intp))
           && !PyTypeNum_ISCOMPLEX(PyArray_TYPE(h)) && from_number(number, PyArray_TYPE(h), to);
}

static void note_masked(int before, PyObject *x, PyArrayObject *h, PyObject *mask, PyObject *number)
{
    Layout as;
    if (!is_there(x) || (PyArrayObject *)((Handle *)x)->h != h)
        return;
    lay_out(&as, h);
    note(before, MASKED, NULL, 3, (PyObject *[]){x, mask, number}, &as, 0, NULL, as.type);
}
