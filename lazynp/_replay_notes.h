/* Replay, cold: operations are noted, and programs made of loops that they show. See `_replay.h`. */

static inline uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

/* Of what an operation is, whatever its operands are and wherever a part begins. */
static uint32_t sign(Note const *r)
{
    uint64_t h = mix((uint64_t)r->kind, (uint64_t)(uintptr_t)r->f);
    for (int i = 0; i < r->nin; i++)
        h = mix(h, r->number[i] ? (uint64_t)(uintptr_t)r->number[i] : (uint64_t)(r->of[i].nd * 64 + r->of[i].type));
    for (int d = 0; d < r->out.nd; d++)
        h = mix(h, (uint64_t)r->out.shape[d] * 0x10001 + (uint64_t)r->out.stride[d]);
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
        return;
    }
}

/* Whether a loop of n notes has gone on for long enough, in all its visits together: a nested one ends and comes again. */
static int is_hot(uint32_t const *now, int n)
{
    uint32_t sum = 0; /* of a round, wherever it begins */
    for (int k = 0; k < n; k++)
        sum += now[-k];
    int at = place_of(sum);
    if (visits[at].sum != sum) {
        visits[at].sum = sum;
        visits[at].count = 0;
        visits[at].began = clock_ns();
    }
    visits[at].count += n;
    if (visits[at].count < evidence)
        return 0;
    idle = 0;
    return clock_ns() - visits[at].began >= wait_ns;
}

/* Whether the notes from `first` on, whose signatures are the program's, have their operands from where it has them. */
static int fits(Program const *q, long long first)
{
    long long who[2 * LONGEST];
    memset(who, 0, (size_t)q->params * sizeof *who);
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
        }
    }
    for (int j = 0; j < q->params; j++)
        for (int i = 0; i < j; i++)
            if (who[i] == who[j])
                return 0;
    return 1;
}

static void push(Note *r)
{
    long long i = position;
    uint32_t h = r->sig;
    signatures[i % RING] = signatures[i % RING + RING] = h;
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
        promising |= n >= 2 * p;
        int several = 0; /* rounds of another candidate */
        for (int j = 0; j < CANDIDATES; j++)
            several |= candidate[j].period && candidate[j].period < p && p % candidate[j].period == 0;
        if (n >= 2 * p && n % p == 0 && !candidate[c].asked && !best && !several && is_hot(now, p)) {
            candidate[c].asked = 1;
            best = p;
        }
    }
    if (!promising && open >= 0)
        look_back(i, now, since, open);
    at = place_of(h);
    for (int j = 0; j < program_count && ends[at]; j++) {
        Program *q = programs[j];
        if (!q->ready || q->bad > 20 || q->useless || q->sig[q->n - 1] != h || since < q->n || position < blocked_until)
            continue;
        int k = 0;
        while (k < q->n && now[-k] == q->sig[q->n - 1 - k])
            k++;
        if (k == q->n && fits(q, i + 1 - k)) {
            enter(q);
            if (P)
                return;
        }
    }
    if (best)
        plan(best);
}

static long long maker(PyObject *o)
{
    Handle *a = (Handle *)o;
    if (!a->at)
        a->at = --outside_ids;
    return a->at;
}

/* Under what a noted operation begins: whether there was anything else since the last one. */
static void note(int before, int kind, PyUFuncObject *f, int nin, PyObject *x, PyObject *y, Layout const *out,
                 npy_intp offset, PyObject *made)
{
    PyObject *in[2] = {x, y};
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
    r->died = 0;
    r->offset = offset;
    for (int i = 0; i < nin; i++) {
        int array = Py_TYPE(in[i]) == ndarray_type;
        r->number[i] = array ? NULL : Py_TYPE(in[i]);
        r->in[i] = array ? maker(in[i]) : 0;
        if (!array)
            continue;
        lay_out(&r->of[i], (PyArrayObject *)((Handle *)in[i])->h);
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
        rest_began = clock_ns();
    }
    push(r);
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
        if (!PyArray_IS_C_CONTIGUOUS(a) || PyArray_NDIM(a) != PyArray_NDIM(first)
            || memcmp(PyArray_DIMS(a), PyArray_DIMS(first), (size_t)PyArray_NDIM(a) * sizeof(npy_intp)))
            return 0;
    }
    return 1;
}

static int notable(PyObject *o) /* whether a program can have it as an operand */
{
    if (Py_TYPE(o) != ndarray_type)
        return !PyArray_Check(o);
    return PyArray_NDIM((PyArrayObject *)((Handle *)o)->h) <= AXES && PyArray_NDIM((PyArrayObject *)((Handle *)o)->h) > 0
           && PyArray_DESCR((PyArrayObject *)((Handle *)o)->h)->type_num < NPY_CLONGDOUBLE
           && plain_descr[PyArray_DESCR((PyArrayObject *)((Handle *)o)->h)->type_num]
                  == PyArray_DESCR((PyArrayObject *)((Handle *)o)->h)
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
    note(before, UFUNC, f, nin, x, y, &as, 0, out);
}

static void note_in_place(int before, PyUFuncObject *f, PyObject *x, PyObject *y)
{
    Layout as;
    Loop *loop = notable(x) ? loop_of(f, PyArray_DESCR((PyArrayObject *)((Handle *)x)->h)->type_num) : NULL;
    if (!loop || !loop->replayed || !notable(y)) {
        touched = 1;
        return;
    }
    lay_out(&as, (PyArrayObject *)((Handle *)x)->h);
    note(before, IN_PLACE, f, 2, x, y, &as, 0, NULL);
}

static void note_getitem(int before, PyObject *x, PyObject *out)
{
    PyArrayObject *h = (PyArrayObject *)((Handle *)x)->h, *part = (PyArrayObject *)((Handle *)out)->h;
    Layout as;
    if (!notable(x) || !notable(out) || !PyArray_SIZE(part)) {
        touched = 1;
        return;
    }
    lay_out(&as, part);
    note(before, GETITEM, NULL, 1, x, NULL, &as, PyArray_BYTES(part) - PyArray_BYTES(h), out);
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
        note(before, SETITEM, NULL, 2, x, value, &as, offset, NULL);
    else
        touched = 1;
}

/* Making programs. */

static PyObject *sizes(npy_intp const *x, int n)
{
    PyObject *out = PyTuple_New(n);
    for (int d = 0; out && d < n; d++)
        PyTuple_SET_ITEM(out, d, PyLong_FromSsize_t(x[d]));
    return out;
}

static PyObject *layout_tuple(Layout const *a)
{
    return Py_BuildValue("(NNN)", sizes(a->shape, a->nd), sizes(a->stride, a->nd),
                         Py_NewRef((PyObject *)plain_descr[a->type]));
}

static void free_program(Program *q)
{
    for (int k = 0; q->slot && k < q->n; k++)
        for (int d = 0; d < AXES + 2; d++)
            for (int i = 0; i < 3; i++)
                Py_XDECREF(q->slot[k].seen[d][i]);
    for (int k = 0; q->spare && k < q->n; k++)
        Py_XDECREF(q->spare[k]);
    Py_XDECREF(q->errors);
    void *all[] = {q->slot, q->sig, q->is, q->param, q->made, q->h, q->kept, q->spare, q->p, q->work,
                   q->numbers, q->offset, q->value, q->storage, q->run};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        PyMem_Free(all[i]);
    PyMem_Free(q);
}

/* The structure of the period that begins at `first`: for each operand a slot, or the number of a parameter. */
static int structure(long long first, int n, int (*source)[2], int (*from)[2], Param *is, int *numbers)
{
    int params = 0;
    *numbers = 0;
    for (int k = 0; k < n; k++) {
        Note *r = &ring[(first + k) % RING];
        for (int i = 0; i < r->nin; i++) {
            if (r->number[i]) {
                from[k][i] = NUMBER;
                source[k][i] = (*numbers)++;
                continue;
            }
            long long at = r->in[i];
            int made = at >= first && at < first + k
                       && (ring[at % RING].kind == UFUNC || ring[at % RING].kind == GETITEM);
            from[k][i] = made ? FROM_SLOT : FROM_MEMORY;
            int j = made ? (int)(at - first) : 0;
            if (!made) {
                while (j < params && is[j].who != at)
                    j++;
                if (j == params)
                    is[params++] = (Param){at, r->of[i], r->memory[i], r->data[i], j, 1, 0, 0};
            }
            source[k][i] = j;
        }
    }
    return params;
}

static Program *new_program(int n, int params, int numbers)
{
    Program *q = PyMem_Calloc(1, sizeof *q);
    if (!q)
        return NULL;
    q->n = n;
    q->params = params;
#define ROOM(F, COUNT) ok &= (q->F = PyMem_Calloc((size_t)(COUNT) + 1, sizeof *q->F)) != NULL;
    int ok = 1;
    ROOM(slot, n) ROOM(sig, n) ROOM(is, params) ROOM(param, params) ROOM(made, n) ROOM(h, params)
    ROOM(kept, n) ROOM(spare, n) ROOM(p, params + 3 * n + 1) ROOM(numbers, 16 * numbers) ROOM(offset, n + params) ROOM(value, n)
    ROOM(storage, n) ROOM(run, n)
#undef ROOM
    if (!ok) {
        free_program(q);
        return NULL;
    }
    return q;
}

/* Ask the planner, whose code is Python's: handlers of signals may run in it, and what they raise is for the program, not
 * for the operation that was noted. So in the main thread it is asked where Python looks for such calls. */
static int ask_now(void *nothing)
{
    PyObject *question = asked;
    asked = NULL;
    if (!question || !planner) {
        Py_XDECREF(question);
        return 0;
    }
    int was = watching;
    watching = 0;
    PyObject *with = Py_NewRef(planner), *done = PyObject_CallMethod(with, "plan", "(O)", question);
    watching = was;
    Py_DECREF(with);
    Py_DECREF(question);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int ask(PyObject *question) /* takes the reference; whether it is asked */
{
    if (asked) { /* another one waits still */
        Py_DECREF(question);
        return 0;
    }
    asked = question;
    if (PyThread_get_thread_ident() != main_thread) { /* which has all signals */
        if (ask_now(NULL) < 0)
            PyErr_WriteUnraisable(planner);
    }
    else if (Py_AddPendingCall(ask_now, NULL) < 0) {
        Py_CLEAR(asked);
        return 0;
    }
    return 1;
}

/* The place of a new program: that of one that is of no use, or was not used for the longest time. -1: there is none. */
static int place_for_program(void)
{
    int place = program_count;
    if (program_count < PROGRAMS)
        return program_count++;
    for (int j = 0; j < PROGRAMS; j++) {
        Program *q = programs[j];
        if (!q->busy && (place == PROGRAMS || (q->bad > 20 ? -1 : q->used) < (programs[place]->bad > 20 ? -1 : programs[place]->used)))
            place = j;
    }
    if (place == PROGRAMS)
        return -1;
    ends[place_of(programs[place]->sig[programs[place]->n - 1])]--;
    building -= !programs[place]->ready && programs[place]->bad != 100;
    free_program(programs[place]);
    return place;
}

/* Which parameters are parts of one memory, in this period and the one before, where it is written. */
static void find_roots(Program *q, Param const *before)
{
    for (int j = 0; j < q->params; j++)
        for (int i = 0; i < j && q->is[j].root == j; i++) {
            Param *a = &q->is[i], *b = &q->is[j];
            if (a->root != i || a->memory != b->memory || before[i].memory != before[j].memory || a->as.type != b->as.type)
                continue;
            b->root = i;
            b->apart = b->data - a->data;
            b->fixed = b->apart == before[j].data - before[i].data;
        }
    for (int j = 0; j < q->params; j++)
        q->is[q->is[j].root].written |= q->is[j].written;
    for (int j = 0; j < q->params; j++) {
        Param *b = &q->is[j];
        b->written = q->is[b->root].written;
        if (b->written)
            continue;
        b->root = j;
        b->apart = 0;
        b->fixed = 1;
    }
}

/* From the last two periods to a program, where they are alike. */
static void plan(int n)
{
    static int source[2][LONGEST][2], from[2][LONGEST][2];
    static Param is[2][2 * LONGEST];
    long long last = position - 1, cut_at = last;
    if (!planner || 3 * n > RING)
        return;
    /* It begins with something external; else it ends with a write; else anywhere. */
    int found = 0;
    for (long long i = last; i > last - n && !found; i--)
        if (ring[i % RING].kind == EXTERNAL) {
            found = 1;
            cut_at = i - 1;
        }
    for (long long i = last; i > last - n && !found; i--)
        if (ring[i % RING].kind == SETITEM || ring[i % RING].kind == IN_PLACE) {
            found = 1;
            cut_at = i;
        }
    long long first = cut_at - n + 1;
    if (first - n < cold_since)
        return;
    int numbers, more, params = structure(first, n, source[0], from[0], is[0], &numbers);
    if (structure(first - n, n, source[1], from[1], is[1], &more) != params || more != numbers
        || memcmp(source[0], source[1], (size_t)n * sizeof *source[0])
        || memcmp(from[0], from[1], (size_t)n * sizeof *from[0]))
        return;
    for (int j = 0; j < params; j++)
        if (!same_layout(&is[0][j].as, &is[1][j].as))
            return;
    for (int j = 0; j < program_count; j++) { /* known already, or being made */
        int same = programs[j]->n == n && (programs[j]->bad <= 20 || programs[j]->useless);
        for (int k = 0; k < n && same; k++)
            same = programs[j]->sig[k] == ring[(first + k) % RING].sig;
        if (same && fits(programs[j], first))
            return;
    }
    Program *q = new_program(n, params, numbers);
    if (!q)
        return;
    memcpy(q->is, is[0], (size_t)params * sizeof *q->is);
    int part = 0, work = 0;
    for (int k = 0; k < n; k++) {
        Note *r = &ring[(first + k) % RING], *b = &ring[(first + k - n) % RING];
        Slot *s = &q->slot[k];
        q->sig[k] = r->sig;
        if (r->kind == EXTERNAL && k > 0)
            part++;
        s->kind = r->kind;
        s->nin = r->nin;
        s->f = r->f;
        s->part = part;
        s->of = r->of[0];
        s->out = r->out;
        s->offset = r->offset;
        s->fixed = r->offset == b->offset;
        work += r->kind != EXTERNAL && r->kind != GETITEM;
        Loop *loop = r->f ? loop_of(r->f, r->of[r->number[0] ? 1 : 0].type) : NULL;
        s->fused = loop && loop->replayed;
        if (loop) { /* for what calls it */
            q->p[params + n + 1 + 2 * k] = (char *)r->f->functions[loop->at];
            q->p[params + n + 2 + 2 * k] = r->f->data ? (char *)r->f->data[loop->at] : NULL;
        }
        for (int i = 0; i < r->nin; i++) {
            s->from[i] = from[0][k][i];
            s->source[i] = source[0][k][i];
            s->number[i] = r->number[i];
            if (!r->number[i] && r->kind != SETITEM)
                s->type = r->of[i].type;
        }
        if (r->kind == SETITEM)
            s->type = r->of[0].type;
        if (r->kind == SETITEM || r->kind == IN_PLACE) {
            int root = k; /* whose memory is written */
            while (q->slot[root].from[0] == FROM_SLOT && (root == k || q->slot[root].kind == GETITEM))
                root = q->slot[root].source[0];
            if (q->slot[root].from[0] == FROM_MEMORY && (root == k || q->slot[root].kind == GETITEM))
                q->is[q->slot[root].source[0]].written = 1;
        }
    }
    q->parts = part + 1;
    find_roots(q, is[1]);
    /* Stored is what was still there at the end of its part, one period before (this one's may not have died yet), or is
     * read in a later one. */
    for (int k = 0; k < n; k++) {
        Slot *s = &q->slot[k];
        int end = k;
        while (end < n && q->slot[end].part == s->part)
            end++;
        long long died = ring[(first + k - n) % RING].died;
        if (s->kind == UFUNC)
            s->stored = !died || died > first - n + end;
        for (int i = 0; i < s->nin; i++)
            if (s->from[i] == FROM_SLOT) {
                int root = s->source[i];
                while (q->slot[root].kind == GETITEM && q->slot[root].from[0] == FROM_SLOT)
                    root = q->slot[root].source[0];
                if (q->slot[root].kind == UFUNC && q->slot[root].part != s->part)
                    q->slot[root].stored = 1;
            }
    }
    if (!work) {
        free_program(q);
        return;
    }
    PyObject *slots = PyList_New(0), *params_list = PyList_New(0);
    for (int k = 0; slots && k < n; k++) {
        Slot *s = &q->slot[k];
        PyObject *ins = PyList_New(0);
        for (int i = 0; ins && i < s->nin; i++) {
            PyObject *in = Py_BuildValue("(ii)", s->from[i], s->source[i]);
            if (!in || PyList_Append(ins, in) < 0)
                PyErr_Clear();
            Py_XDECREF(in);
        }
        PyObject *t = Py_BuildValue("(iONNNniiii)", s->kind, s->f ? (PyObject *)s->f : Py_None, ins,
                                    s->kind == EXTERNAL ? Py_NewRef(Py_None) : layout_tuple(&s->out),
                                    Py_NewRef((PyObject *)plain_descr[s->type]), (Py_ssize_t)s->offset, s->fixed, s->stored, s->part, s->fused);
        if (!t || PyList_Append(slots, t) < 0)
            PyErr_Clear();
        Py_XDECREF(t);
    }
    for (int j = 0; params_list && j < params; j++) {
        Param const *is = &q->is[j];
        PyObject *t = Py_BuildValue("(Nini)", layout_tuple(&is->as), is->root, (Py_ssize_t)is->apart, is->fixed);
        if (!t || PyList_Append(params_list, t) < 0)
            PyErr_Clear();
        Py_XDECREF(t);
    }
    int place = place_for_program();
    if (place < 0) {
        Py_XDECREF(slots);
        Py_XDECREF(params_list);
        free_program(q);
        return;
    }
    SAY("plan %ld n=%d params=%d numbers=%d:", programs_made + 1, n, params, numbers);
    for (int k = 0; k < n; k++)
        SAY(" %d%s%s", q->slot[k].kind, q->slot[k].f ? q->slot[k].f->name : "", q->slot[k].fixed ? "" : "~");
    SAY("\n");
    programs[place] = q;
    ends[place_of(q->sig[n - 1])]++;
    q->id = ++programs_made;
    building++;
    q->used = (long)position;
    PyObject *question = Py_BuildValue("(lNN)", q->id, slots, params_list);
    PyErr_Clear();
    if (!question || !ask(question)) {
        q->bad = 100;
        building--;
    }
}

/* The module's functions. */

/* replay_ready(number, addresses, workspace, errors): the program's functions, for each part. None: there is none. */
static PyObject *replay_ready(PyObject *module, PyObject *args)
{
    long number;
    PyObject *addresses, *errors;
    Py_ssize_t work;
    if (!PyArg_ParseTuple(args, "lOnO", &number, &addresses, &work, &errors))
        return NULL;
    Program *q = NULL;
    for (int j = 0; j < program_count; j++)
        if (programs[j]->id == number)
            q = programs[j];
    if (!q || q->ready || q->bad == 100)
        Py_RETURN_NONE;
    building--;
    SAY("ready %ld %d\n", number, addresses != Py_None);
    if (addresses == Py_None) {
        q->bad = 100;
        Py_RETURN_NONE;
    }
    if (!PyList_Check(addresses) || PyList_GET_SIZE(addresses) != q->parts || !PyTuple_Check(errors)
        || PyTuple_GET_SIZE(errors) != q->parts) {
        PyErr_SetString(PyExc_ValueError, "a function for each part, and the ufuncs that warn");
        return NULL;
    }
    for (int i = 0; i < q->parts; i++)
        q->run[i] = (Run)PyLong_AsVoidPtr(PyList_GET_ITEM(addresses, i));
    q->work = PyMem_Malloc((size_t)work + 64);
    if (PyErr_Occurred() || !q->work)
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    q->p[q->params + q->n] = (char *)(((uintptr_t)q->work + 63) & ~(uintptr_t)63);
    Py_XSETREF(q->errors, Py_NewRef(errors));
    q->ready = 1;
    Py_RETURN_NONE;
}

/* replay_on(planner, error_state, get_errors, ignoring, evidence, seconds): begin to watch; (None, ..., 0, 0): no more. */
static PyObject *replay_on(PyObject *module, PyObject *args)
{
    PyObject *with, *state, *get, *quiet;
    int least;
    double wait;
    if (!PyArg_ParseTuple(args, "OOOOid", &with, &state, &get, &quiet, &least, &wait) || settle() < 0)
        return NULL;
    evidence = least;
    wait_ns = (long long)(wait * 1e9);
    look_again();
    if (!warnings_dict) {
        PyObject *warnings = PyImport_ImportModule("warnings");
        name_filters = PyUnicode_InternFromString("filters");
        if (!warnings || !name_filters)
            return NULL;
        warnings_dict = PyModule_GetDict(warnings); /* which stays */
    }
    if (!settling_lock && !(settling_lock = PyThread_allocate_lock()))
        return PyErr_NoMemory();
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *main = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
    PyObject *ident = main ? PyObject_GetAttrString(main, "ident") : NULL;
    main_thread = ident ? PyLong_AsUnsignedLong(ident) : 0;
    Py_XDECREF(threading);
    Py_XDECREF(main);
    Py_XDECREF(ident);
    if (PyErr_Occurred())
        return NULL;
    watching = with != Py_None;
    Py_XSETREF(planner, watching ? Py_NewRef(with) : NULL);
    Py_XSETREF(error_state, watching ? Py_NewRef(state) : NULL);
    Py_XSETREF(get_errors, watching ? Py_NewRef(get) : NULL);
    Py_XSETREF(ignoring, watching ? Py_NewRef(quiet) : NULL);
    Py_CLEAR(asked);
    for (int j = 0; j < program_count; j++)
        free_program(programs[j]);
    program_count = 0;
    memset(ends, 0, sizeof ends);
    building = rest = idle = 0;
    Py_RETURN_NONE;
}

/* replay_settle(): what is pending has its value. */
static PyObject *replay_settle(PyObject *module, PyObject *nothing)
{
    if (settle() < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* replay_forked(): in the child, where the thread that was settling is not. */
static PyObject *replay_forked(PyObject *module, PyObject *nothing)
{
    settling = 0;
    settling_lock = PyThread_allocate_lock();
    main_thread = PyThread_get_thread_ident();
    if (!settling_lock)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* replay_counts(): what has happened since it was asked last. */
static PyObject *replay_counts(PyObject *module, PyObject *nothing)
{
    PyObject *out = Py_BuildValue("{slslslslsi}", "periods", periods_run, "left", times_left, "programs",
                                  programs_made - programs_asked,
                                  "refused", parts_refused, "matching", P != NULL);
    periods_run = times_left = parts_refused = 0;
    programs_asked = programs_made;
    return out;
}
