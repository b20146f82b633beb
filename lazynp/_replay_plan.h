/* Replay, cold: a program is made of two rounds that were noted. See `_replay.h`. */

static PyObject *layout_tuple(Layout const *a)
{
    return Py_BuildValue("(NNN)", sizes(a->shape, a->nd), sizes(a->stride, a->nd),
                         Py_NewRef((PyObject *)plain_descr[a->type]));
}

static void free_program(Program *q)
{
    if (left_out == q)
        look_again();
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
static int structure(long long first, int n, int (*source)[MOST_IN], int (*from)[MOST_IN], Param *is, int *numbers)
{
    int params = 0;
    *numbers = 0;
    for (int k = 0; k < n; k++) {
        Note *r = &ring[(first + k) % RING];
        for (int i = r->nin; i < MOST_IN; i++) /* rounds are compared */
            from[k][i] = source[k][i] = 0;
        for (int i = 0; i < r->nin; i++) {
            if (r->number[i]) {
                from[k][i] = NUMBER;
                source[k][i] = (*numbers)++;
                continue;
            }
            long long at = r->in[i];
            int made = at >= first && at < first + k
                       && (makes_value(ring[at % RING].kind) || ring[at % RING].kind == GETITEM);
            from[k][i] = made ? FROM_SLOT : FROM_MEMORY;
            int j = made ? (int)(at - first) : 0;
            if (!made) {
                while (j < params && is[j].who != at)
                    j++;
                if (j == params)
                    is[params++] = (Param){at, r->of[i], r->memory[i], r->data[i], j, 1, 0, 0, 0};
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
    ROOM(kept, n) ROOM(spare, n) ROOM(p, params + 3 * n + 1) ROOM(numbers, 16 * numbers) ROOM(offset, n + params + LENGTHS) ROOM(value, n)
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
static void find_roots(Program *q, Param const *before, Program const *old)
{
    for (int j = 0; j < q->params; j++)
        for (int i = 0; i < j && q->is[j].root == j; i++) {
            Param *a = &q->is[i], *b = &q->is[j];
            if (a->root != i || a->memory != b->memory || before[i].memory != before[j].memory || a->as.type != b->as.type)
                continue;
            b->root = i;
            b->apart = b->data - a->data;
            b->fixed = b->apart == before[j].data - before[i].data
                       && (!old || (old->is[j].root == i && old->is[j].fixed && old->is[j].apart == b->apart));
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
    for (int j = 0; j < q->params; j++)
        q->is[q->is[j].root].shared |= q->is[j].root != j;
}

/* A part ends before something external, after a product or a reduction that is asked for, and before an element is read of what was
 * computed or written in it. */
static void find_parts(Program *q)
{
    int part = 0, begin = 0;
    for (int k = 0; k < q->n; k++) {
        Slot *s = &q->slot[k];
        int ends = k > begin && (s->kind == EXTERNAL || is_number_now(q->slot[k - 1].kind));
        if (s->kind == READ) {
            int root = root_of_slot(q, k);
            ends |= root - q->params >= begin;
            for (int i = begin; i < k && !ends; i++)
                if (writes(q->slot[i].kind)) {
                    int written = root_of_slot(q, i);
                    ends = root == written || (root < q->params && written < q->params && q->is[root].root == q->is[written].root);
                }
        }
        if (ends) {
            part++;
            begin = k;
        }
        s->part = part;
    }
    q->parts = part + 1;
}

/* NumPy's loop of products of a type: its place, -1 if there is none. */
static int loop_of_products(int type)
{
    PyUFuncObject *matmul = (PyUFuncObject *)matmul_ufunc;
    for (int at = 0; matmul && at < matmul->ntypes; at++) {
        char const *t = matmul->types + 3 * at;
        if (t[0] == type && t[1] == type && t[2] == type)
            return matmul->functions[at] ? at : -1;
    }
    return -1;
}

/* As NumPy's `dot`, which does not tell of floating-point errors. */
static void quiet_product(char **args, npy_intp const *sizes, npy_intp const *steps, void *at)
{
    PyUFuncObject *matmul = (PyUFuncObject *)matmul_ufunc;
    int before = fetestexcept(FLAGS_SEEN), place = (int)(intptr_t)at;
    matmul->functions[place](args, sizes, steps, matmul->data ? matmul->data[place] : NULL);
    int raised = fetestexcept(FLAGS_SEEN) & ~before;
    if (raised)
        feclearexcept(raised);
}

/* The two last rounds of a loop, and what is known of it. */
typedef struct {
    int n, params, numbers;
    long long first;
    int source[2][LONGEST][MOST_IN], from[2][LONGEST][MOST_IN];
    Param is[2][MOST_IN * LONGEST];
    Program *old;                       /* of the same loop where lengths or offsets were others */
    npy_intp seen[LENGTHS][3];          /* of each length that moves: in both rounds, and in that program */
} Rounds;

/* The last note of the round that a program is best made of: one into which the fewest operands come from the round before,
 * which begins with something external, or after a write. */
static long long best_end(int n)
{
    long long last = position - 1, best = last;
    int least = 1 << 30;
    for (long long end = last; end > last - n && end - 2 * n + 1 >= cold_since; end--) {
        Note const *before = &ring[end % RING], *next = &ring[(end - n + 1) % RING];
        int cost = next->kind == EXTERNAL ? 0 : writes(before->kind) ? 1 : 2;
        for (long long k = end - n + 1; k <= end; k++)
            for (int i = 0; i < ring[k % RING].nin; i++)
                cost += 4 * (ring[k % RING].in[i] > 0 && ring[k % RING].in[i] <= end - n);
        if (cost < least) {
            least = cost;
            best = end;
        }
    }
    return best;
}

/* Whether two rounds are alike, but for lengths and offsets. */
static int are_alike(Rounds *m)
{
    int n = m->n, more;
    m->params = structure(m->first, n, m->source[0], m->from[0], m->is[0], &m->numbers);
    if (structure(m->first - n, n, m->source[1], m->from[1], m->is[1], &more) != m->params || more != m->numbers
        || memcmp(m->source[0], m->source[1], (size_t)n * sizeof *m->source[0])
        || memcmp(m->from[0], m->from[1], (size_t)n * sizeof *m->from[0]))
        return 0;
    for (int j = 0; j < m->params; j++)
        if (!same_layout(&m->is[0][j].as, &m->is[1][j].as))
            return 0;
    return 1;
}

/* Whether there is a program of this loop, or will be. Else `old` is one that lengths or offsets keep from it. */
static int is_known(Rounds *m)
{
    int n = m->n, failed = 0;
    m->old = NULL;
    for (int j = 0; j < program_count; j++) {
        Program *q = programs[j];
        int same = q->n == n;
        for (int k = 0; k < n && same; k++)
            same = q->sig[k] == ring[(m->first + k) % RING].sig;
        if (!same || !fits(q, m->first, LAYOUTS))
            continue;
        if (fits(q, m->first, AND_OFFSETS)) {
            if (q->bad != 100 || !q->general)
                return 1;
            failed = 1; /* there is no code for lengths that move so */
        }
        else
            m->old = q;
    }
    if (failed)
        m->old = NULL;
    return 0;
}

/* A length in both rounds, and in the other program: what is expected. 0 stands for that there are too many that move. */
static npy_intp length_of(Rounds *m, Program *q, npy_intp now, npy_intp before, npy_intp old, npy_intp most)
{
    if (now == before && now == old)
        return now;
    int s = 0;
    while (s < q->lengths && (m->seen[s][0] != now || m->seen[s][1] != before || m->seen[s][2] != old))
        s++;
    if (s == LENGTHS)
        return 0;
    if (s == q->lengths) {
        m->seen[s][0] = now;
        m->seen[s][1] = before;
        m->seen[s][2] = old;
        q->most[s] = most;
        q->lengths++;
    }
    else if (most < q->most[s])
        q->most[s] = most;
    return -1 - s;
}

static int find_lengths(Rounds *m, Program *q, Layout *to, Layout const *before, Layout const *old, npy_intp most)
{
    for (int d = 0; d < to->nd; d++) {
        npy_intp now = to->shape[d];
        to->shape[d] = length_of(m, q, now, before->shape[d], old ? old->shape[d] : now, most);
        if (!to->shape[d] && now)
            return 0;
    }
    return 1;
}

static npy_intp longest(Program const *q, Layout const *a)
{
    npy_intp out = 1;
    for (int d = 0; d < a->nd; d++) {
        npy_intp n = a->shape[d] < 0 ? q->most[-1 - a->shape[d]] : a->shape[d];
        out = n > out ? n : out;
    }
    return out;
}

static Layout const *operand_layout(Program const *q, int k, int i)
{
    Slot const *s = &q->slot[k];
    return s->from[i] == FROM_SLOT ? &q->slot[s->source[i]].out : s->from[i] == FROM_MEMORY ? &q->is[s->source[i]].as : NULL;
}

/* Whether lengths that move are those of all operands that they meet. */
static int lengths_agree(Program const *q)
{
    for (int k = 0; q->lengths && k < q->n; k++) {
        Slot const *s = &q->slot[k];
        int product = s->kind == DOT || (s->kind == UFUNC && (PyObject *)s->f == matmul_ufunc);
        Layout const *x = s->nin ? operand_layout(q, k, 0) : NULL, *y = s->nin > 1 ? operand_layout(q, k, 1) : NULL;
        if (s->kind == ALONG) {
            for (int d = 0; d < x->nd; d++)
                if (x->shape[d] < 0)
                    return 0;
            continue;
        }
        if (product) {
            if (x->shape[x->nd - 1] != y->shape[0] || (x->nd > 1 && s->out.shape[0] != x->shape[0])
                || (y->nd > 1 && s->out.shape[s->out.nd - 1] != y->shape[1]))
                return 0;
            continue;
        }
        for (int i = makes_value(s->kind) ? 0 : 1; i < s->nin; i++) {
            Layout const *a = operand_layout(q, k, i);
            for (int d = 1; a && d <= a->nd; d++) {
                npy_intp n = a->shape[a->nd - d];
                if (n != 1 && (d > s->out.nd || n != s->out.shape[s->out.nd - d]))
                    return 0;
            }
        }
    }
    return 1;
}

/* About what a round gains: each operation that is matched something, but for single elements, which take no longer without; and what
 * comes between costs, since the views that it is given have to be made. */
static int gain(Program const *q)
{
    int out = 0;
    for (int k = 0; k < q->n; k++) {
        Slot const *s = &q->slot[k];
        int used = 0, next = q->slot[q->n - 1].part == s->part ? 0 : s->part + 1;
        for (int j = 0; j < q->n; j++)
            for (int i = 0; i < q->slot[j].nin; i++)
                used |= q->slot[j].from[i] == FROM_SLOT && q->slot[j].source[i] == k && q->slot[j].part == s->part;
        int back = s->kind == SETITEM && s->from[1] == FROM_SLOT && q->slot[s->source[1]].kind == GETITEM; /* of `a[i] += b` */
        int before = 0; /* something external */
        for (int j = 0; j < q->n; j++)
            before |= q->slot[j].kind == EXTERNAL && q->slot[j].part == next;
        int element = s->kind == READ || (s->kind == SETITEM && !s->out.nd);
        out += s->kind == EXTERNAL ? -3 : element ? 0 : s->kind == GETITEM ? (used || !before ? 1 : -2) : back ? 0 : 2;
    }
    return out;
}

/* The slots of a program. 0: there can be none. */
static int fill(Program *q, Rounds *m)
{
    PyUFuncObject *matmul = (PyUFuncObject *)matmul_ufunc;
    Program *old = m->old;
    int n = m->n, work = 0;
    q->plain = 1;
    q->questions = (int)(ring[(m->first + n - 1) % RING].questions - ring[(m->first - 1) % RING].questions);
    memcpy(q->is, m->is[0], (size_t)m->params * sizeof *q->is);
    for (int j = 0; j < m->params; j++)
        if (!find_lengths(m, q, &q->is[j].as, &m->is[1][j].as, old ? &old->is[j].as : NULL, limit))
            return 0;
    for (int k = 0; k < n; k++) {
        Note *r = &ring[(m->first + k) % RING], *b = &ring[(m->first + k - n) % RING];
        Slot *s = &q->slot[k];
        q->sig[k] = r->sig;
        s->kind = r->kind;
        s->nin = r->nin;
        s->f = r->f;
        s->out = r->out;
        s->offset = r->offset;
        s->fixed = r->offset == b->offset && (!old || (old->slot[k].fixed && old->slot[k].offset == r->offset));
        work += r->kind != EXTERNAL && r->kind != GETITEM && r->kind != READ;
        for (int i = 0; i < r->nin; i++) {
            s->from[i] = m->from[0][k][i];
            s->source[i] = m->source[0][k][i];
            s->number[i] = r->number[i];
        }
        s->type = r->type;
        s->how = r->how;
        if (s->kind == EXTERNAL)
            continue;
        Layout const *of = operand_layout(q, k, 0);
        if (of)
            s->of = *of;
        if (!find_lengths(m, q, &s->out, &b->out, old ? &old->slot[k].out : NULL, of ? longest(q, of) : limit))
            return 0;
        for (int d = 0; s->how && (s->kind == GETITEM || s->kind == UFUNC) && d < AXES; d++)
            if ((d < s->out.nd && s->out.shape[d] < 0) || (d < s->of.nd && s->of.shape[d] < 0))
                return 0; /* lengths of turned arrays are not looked at, and of one element `dot` is another loop */
        Loop *loop = r->f ? loop_of(r->f, s->type) : NULL;
        s->fused = s->kind == WHERE || s->kind == MASKED || s->kind == CLIP || s->kind == FILL || s->kind == JOIN || (loop && loop->replayed && s->kind != TOTAL && s->kind != ALONG);
        q->plain &= !r->f || r->f == matmul || s->kind == TOTAL || s->kind == ALONG || (loop && loop->replayed);
        char **called = q->p + m->params + n + 1 + 2 * k;
        if (loop && (s->kind == TOTAL || s->kind == ALONG)) {
            called[0] = (char *)reduce_blocks;
            called[1] = (char *)(intptr_t)loop->at;
        }
        else if (loop) {
            void *data;
            called[0] = (char *)loop_at(r->f, loop->at, &data);
            called[1] = data;
        }
        else if (r->kind == DOT || r->kind == UFUNC) {
            int at = loop_of_products(s->type);
            if (at < 0)
                return 0;
            called[0] = r->f ? (char *)matmul->functions[at] : (char *)quiet_product;
            called[1] = !r->f ? (char *)(intptr_t)at : matmul->data ? (char *)matmul->data[at] : NULL;
        }
        if (!writes(r->kind))
            continue;
        int root = root_of_slot(q, k);
        if (root < m->params)
            q->is[root].written = 1;
        else
            q->writes_values = 1;
    }
    find_roots(q, m->is[1], old);
    find_parts(q);
    return work && lengths_agree(q) && gain(q) > 0;
}

/* Stored is what was still there at the end of its part, one round before (this one's may not have died yet), or is read in
 * a later one. A part that ends with a number is run in that call; others when the next operation comes. */
static void find_stored(Program *q, long long before)
{
    for (int k = 0; k < q->n; k++) {
        Slot *s = &q->slot[k];
        int end = k;
        while (end < q->n && q->slot[end].part == s->part)
            end++;
        Note const *r = &ring[(before + k) % RING];
        int at_once = is_number_now(q->slot[end - 1].kind) && !r->passing;
        if (makes_value(s->kind))
            s->stored = !r->died || r->died > before + end - at_once;
        s->stored |= is_number_now(s->kind);
        for (int i = 0; i < s->nin; i++)
            if (s->from[i] == FROM_SLOT) {
                int root = s->source[i];
                while (q->slot[root].kind == GETITEM && q->slot[root].from[0] == FROM_SLOT)
                    root = q->slot[root].source[0];
                if (makes_value(q->slot[root].kind) && q->slot[root].part != s->part)
                    q->slot[root].stored = 1;
            }
    }
}

/* What the planner is asked; NULL without memory. */
static PyObject *question_of(Program *q)
{
    PyObject *slots = PyList_New(0), *params = PyList_New(0);
    int failed = !slots || !params;
    for (int k = 0; k < q->n && !failed; k++) {
        Slot *s = &q->slot[k];
        PyObject *ins = PyList_New(0), *t;
        for (int i = 0; ins && i < s->nin; i++) {
            PyObject *in = Py_BuildValue("(ii)", s->from[i], s->source[i]);
            if (!in || PyList_Append(ins, in) < 0)
                Py_CLEAR(ins);
            Py_XDECREF(in);
        }
        t = ins ? Py_BuildValue("(iONNNniiiii)", s->kind, s->f ? (PyObject *)s->f : Py_None, ins,
                                s->kind == EXTERNAL ? Py_NewRef(Py_None) : layout_tuple(&s->out),
                                Py_NewRef((PyObject *)plain_descr[s->type]), (Py_ssize_t)s->offset, s->fixed, s->stored,
                                s->part, s->fused, s->how)
                : NULL;
        failed = !t || PyList_Append(slots, t) < 0;
        Py_XDECREF(t);
    }
    for (int j = 0; j < q->params && !failed; j++) {
        Param const *is = &q->is[j];
        PyObject *t = Py_BuildValue("(Nini)", layout_tuple(&is->as), is->root, (Py_ssize_t)is->apart, is->fixed);
        failed = !t || PyList_Append(params, t) < 0;
        Py_XDECREF(t);
    }
    PyObject *out = failed ? NULL : Py_BuildValue("(lOON)", q->id, slots, params, sizes(q->most, q->lengths));
    Py_XDECREF(slots);
    Py_XDECREF(params);
    PyErr_Clear();
    return out;
}

/* Whether most of a round is an inner loop that has a program. */
static int is_outer(int n)
{
    uint32_t const *now = signatures + (position - 1) % RING + RING;
    for (int inner = 1; inner <= n / REPEATS; inner++) {
        int alike = 0;
        for (int k = 0; k < n; k++)
            alike += now[-k] == now[-k - inner];
        if (alike * 8 < n * 7)
            continue;
        for (int j = 0; j < program_count; j++) {
            Program *q = programs[j];
            for (int k = 0; k < n && q->n == inner && q->bad <= 20 && !q->useless; k++)
                if (now[-k] == q->sig[0])
                    return 1;
        }
    }
    return 0;
}

/* Whether a program of such a round, wherever it begins, was of no use for arrays as large. */
static int is_useless(int n)
{
    uint32_t const *first = signatures + (position - 1) % RING + RING - (n - 1);
    for (int j = 0; j < program_count; j++) {
        Program *q = programs[j];
        for (int from = 0; from < n && q->useless && q->n == n; from++) {
            int k = 0;
            while (k < n && first[k] == q->sig[(from + k) % n])
                k++;
            if (k == n && position - n - from >= cold_since && fits(q, position - n - from, AND_LENGTHS))
                return 1;
        }
    }
    return 0;
}

/* Whether nothing moves between two rounds of so many notes. */
static int is_steady(int n)
{
    for (long long k = position - n; k < position; k++) {
        Note const *a = &ring[k % RING], *b = &ring[(k - n) % RING];
        int part = a->kind == GETITEM || a->kind == SETITEM;
        if (part && (a->offset != b->offset || memcmp(a->out.shape, b->out.shape, (size_t)a->out.nd * sizeof(npy_intp))))
            return 0;
    }
    return 1;
}

/* A few rounds together, where what moves comes back after them: the colours of a grid, say. Then nothing moves. */
static int steady_round(int n)
{
    for (int more = 1; more <= COLOURS; more++)
        if (more * n < LONGEST && 3 * more * n <= RING && position - cold_since > 2 * more * n && is_steady(more * n))
            return more * n;
    return n;
}

/* From the last two rounds to a program, where they are alike. */
static void plan(int n)
{
    static Rounds m;
    if (!planner || 3 * n > RING || is_outer(n))
        return;
    n = m.n = steady_round(n);
    if (is_useless(n))
        return;
    m.first = best_end(n) - n + 1;
    if (m.first - n < cold_since || !are_alike(&m) || is_known(&m))
        return;
    Program *q = new_program(n, m.params, m.numbers);
    if (!q)
        return;
    q->general = m.old != NULL;
    if (!fill(q, &m)) {
        free_program(q);
        return;
    }
    find_stored(q, m.first - n);
    int place = place_for_program();
    if (place < 0) {
        free_program(q);
        return;
    }
    SAY("plan %ld n=%d params=%d numbers=%d lengths=%d:", programs_made + 1, n, q->params, m.numbers, q->lengths);
    for (int k = 0; k < n; k++)
        SAY(" %d%s%s", q->slot[k].kind, q->slot[k].f ? q->slot[k].f->name : "", q->slot[k].fixed ? "" : "~");
    SAY("\n");
    programs[place] = q;
    look_wait = REST_NS;
    ends[place_of(q->sig[n - 1])]++;
    q->id = ++programs_made;
    building++;
    q->used = (long)position;
    PyObject *question = question_of(q);
    if (!question || !ask(question)) {
        q->bad = 100;
        building--;
    }
}

/* How many of a program's slots are also those of another, a part of it, that comes again and again. */
static int covered(Program const *q, Program const *part)
{
    int found = 0, alike = 0;
    for (int at = 0; at < q->n; at++) {
        int k = 0;
        while (k < part->n && part->sig[k] == q->sig[(at + k) % q->n])
            k++;
        found |= k == part->n;
        alike += q->sig[at] == q->sig[(at + part->n) % q->n];
    }
    return found ? alike + 1 : 0;
}

/* There is code for a round now. Of two programs, one of which is a part of the other, the part is kept if it is an inner
 * loop that takes nearly all of the other. Else the part waits until it has come more often than it does in the other: then
 * it is a loop of its own, somewhere else in the program. */
static void prefer(Program *q)
{
    for (int j = 0; j < program_count; j++) {
        Program *other = programs[j], *whole = other->n > q->n ? other : q, *part = whole == q ? other : q;
        int alike = whole->n > part->n && other->ready && !other->useless ? covered(whole, part) : 0;
        if (alike && part->n * REPEATS <= whole->n && alike * 8 >= whole->n * 7)
            whole->useless = 1;
        else if (alike)
            part->behind = Py_MAX(part->behind, alike + part->n);
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
    idle = 0; /* and not to rest now, since notes were of no use while it was built */
    if (rest) {
        look_again();
        stretch.without = 0;
        stretch.began = 0;
    }
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
    programs_ready++;
    prefer(q);
    Py_RETURN_NONE;
}

/* replay_on(planner, error_state, get_errors, ignoring, evidence, seconds, trials): begin to watch; (None, ..., 0, 0, 0): no more. */
static PyObject *replay_on(PyObject *module, PyObject *args)
{
    PyObject *with, *state, *get, *quiet;
    int least, often;
    double wait;
    if (!PyArg_ParseTuple(args, "OOOOidi", &with, &state, &get, &quiet, &least, &wait, &often) || settle() < 0)
        return NULL;
    trials = Py_MIN(often, MOST_TRIALS);
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
    memset(links, 0, sizeof links);
    memset(visits, 0, sizeof visits);
    entered_by = NULL;
    left_last = 0;
    building = rest = idle = 0;
    memset(&stretch, 0, sizeof stretch);
    looks_until = 0;
    look_wait = REST_NS;
    look_next = clock_ns() + look_wait;
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
    if (left_out || stretch.without) /* a thread's clock begins anew */
        look_again();
    stretch.without = 0;
    stretch.began = 0;
    if (P)
        P->tried_since = 0;
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

/* replay_pace(): of the operations that were matched, how many have run; the programs that were asked for, those that are
 * being made, and those that there were; the operators, indices, functions and methods that the program has called: since
 * the beginning. */
static PyObject *replay_pace(PyObject *module, PyObject *nothing)
{
    return Py_BuildValue("(llill)", operations_run, programs_made, building, programs_ready, calls_begun);
}
