/* Replay: in a known loop an operation is matched, not done; a period runs as compiled code.
 *
 * Cold, an operation on small arrays is done at once, and noted in a ring. Where the ring repeats itself, Python makes a
 * program of one period (`runtime/replay.py`), in the background. Once it is there, an operation is only compared with
 * the slot that is expected next: same ufunc, operands made by the expected slots, or in memory with the expected
 * layout; numbers and offsets of views go to the argument block; a handle without a value is returned. At the end of a
 * part, the program's function computes what was matched.
 *
 * A part ends at the end of the period, and before anything that is not matched: whoever looks at a handle or a storage
 * comes through `touch` first, C code by `is_current`, Python by the members of both. If it was expected there (EXTERNAL),
 * the part is run; if not, what was matched is done one by one, and the loop is cold again. So nobody sees an array that
 * is not up to date, nor a handle without a value. Storages whose memory is known outside are never part of a program.
 */

enum { LENGTHS = 16 }; /* that move, in a program */
enum { MOST_TRIALS = 16, FIRST_RUNS = 4, TRIAL = 16 }; /* how often a program is timed, for how many rounds at most; the first of a long visit
                                                  do not count, in which memory is made */
enum { RING = 1024, CANDIDATES = 6, LONGEST = 256, PROGRAMS = 64, LAST_SEEN = 1024, PATIENCE = 64, SPARED = 4096 };
enum { /* what a slot does. READ, DOT and TOTAL give a number at once: an element, a product of two vectors, a reduction */
    EXTERNAL,
    UFUNC,
    IN_PLACE,
    GETITEM,
    SETITEM,
    READ,
    DOT,
    WHERE, /* where(condition, x, y) */
    MASKED, /* x[mask] = number: of x, the mask and the number */
    CLIP, /* clip(x, number, number) */
    INTO, /* a ufunc with `out`, which is the first operand */
    TOTAL, /* a reduction of all elements */
    ALONG, /* one along an axis, or of all elements where axes are kept */
    FILL,  /* a new array of one number; of none: whatever is in memory */
    JOIN   /* arrays one after the other along the axis `how` */
};
enum { MOST_IN = 3 }; /* operands */
enum { NO_OPERAND, FROM_SLOT, FROM_MEMORY, NUMBER };        /* where an operand is from */
enum { REAL, VALUE, VIEW };                                 /* Handle.pending */

typedef struct {
    int nd, type;
    npy_intp shape[AXES], stride[AXES]; /* in bytes. A length that moves from round to round is -1 - its number */
} Layout;

typedef struct { /* an operation that was done */
    int kind, nin, type, how; /* type: of the ufunc's loop, and of numbers; how: of a reduction, see `how_of` */
    PyUFuncObject *f;
    long long in[MOST_IN]; /* who made the operand: a position in the stream, a negative number for anything else; 0: a number */
    PyTypeObject *number[MOST_IN];
    Layout of[MOST_IN], out; /* `out` of GETITEM and SETITEM: the part of the first operand */
    void const *memory[MOST_IN]; /* the operands' storages, to compare only */
    char const *data[MOST_IN];
    npy_intp offset;
    long long died, questions; /* questions: to `watches`, until then */
    uint32_t sig;
    int passing; /* its value is held by the call only that gave a number of it */
} Note;

typedef struct { /* an array in memory that a period uses */
    long long who; /* its handle, as in Note.in */
    Layout as;
    void const *memory;
    char const *data;
    int root, fixed, written, shared; /* the first one in the same memory as one that is written; whether always as far from it;
                                         whether it has others */
    npy_intp apart;           /* in bytes, from that one */
} Param;

typedef struct { /* an operation that is expected */
    int kind, nin, type, how, from[MOST_IN], source[MOST_IN], fixed, stored, part, fused;
    PyUFuncObject *f;
    PyTypeObject *number[MOST_IN];
    Layout of, out;              /* of the first operand, and of the result or part */
    npy_intp offset;
    PyObject *seen[AXES + 2][3]; /* what the key was made of last time, where that is the offset */
    int seen_count, seen_tuple;
} Slot;

typedef int (*Run)(char **p, npy_intp const *offsets, char const *numbers);

typedef struct Program {
    int n, params, parts, ready, bad, busy, failed, entries, useless; /* useless: of a round that is an inner loop's, say */
    int short_visits;            /* one after the other */
    int writes_values;           /* that it has made, not only what was there */
    int behind;                  /* it is a part of another one's round, too: so many notes may be its own there */
    long id, used;               /* the number that the planner has; when it was entered last */
    Slot *slot;
    uint32_t *sig;
    Param *is;                   /* each parameter */
    Handle **param, **made;
    PyArrayObject **h, **kept;   /* the parameters' arrays; the values that were stored in this period */
    PyArrayObject **spare;       /* where values go that are stored for nobody */
    char **p, *work, *numbers;
    npy_intp *offset;            /* of each slot's part, then of each parameter from its root, then lengths that move */
    npy_intp most[LENGTHS];      /* how long such may be */
    long long known[LENGTHS];    /* the period in which it was seen last */
    int plain;                   /* in all that it calls errors are seen as `errors_seen` says */
    int lengths, general;        /* how many there are; whether another program was the example, too */
    PyObject **value;            /* of what was done one by one */
    Storage **storage;           /* for values, made ahead */
    int done;
    Run *run;
    PyObject *errors;            /* for each part the ufuncs that warn of a division by zero, overflow, invalid values */
    long runs, all_runs;         /* periods since it was entered, and before */
    float with[MOST_TRIALS], without[MOST_TRIALS]; /* nanoseconds of a round as a program, and of one that was done: see `weigh` */
    int trials, trials_without, spoiled, questions, last_runs; /* questions: to `watches`, in a round */
    long long tried_since, later[2]; /* when a visit began that is timed, 0: none is; when FIRST_RUNS and twice as many were over */
} Program;

static Note ring[RING];
enum { PART, TRANSPOSED, RESHAPED }; /* `how` of GETITEM */
enum { TRIES = 16, WORTH = 4 }; /* entries after which each should have matched so many operations, in the mean */
enum { FEW_RUNS = 4 }; /* time after time: a longer loop is looked for now and then, of which the program may do a part */
static long long look_next, look_wait; /* when, and how long after that again; in nanoseconds */
/* Where a program was entered: after which one was left, how many notes, and the last of them. So a nested loop is entered
 * with its first operation. */
enum { LINKS = 256, LINKED = 32 };
typedef struct { long left, to; uint32_t sig; int since, score; } Link;
static Link links[LINKS], *entered_by;
static long left_last;
enum { COLOURS = 4 }; /* rounds of which a program may be made together */
enum { SHORTEST = 8 }; /* notes of one visit of a loop: fewer are taken for a part of a longer round */
enum { REPEATS = 6 }; /* rounds of an inner loop, for which one around it is not unrolled */
enum { ALIKE = 8, ENOUGH = 6 }; /* places that are looked back at, how many notes are alike */
static uint32_t signatures[2 * RING];
static int same_before[RING]; /* how far back the notes ended like this last; 0: too far */
static struct { uint32_t sig; long long at; } last_seen[LAST_SEEN]; /* by the last notes together */
/* Distances at which notes repeat. begins: after how many of `count` notes, modulo the period, a program would begin; -1: not
 * looked at yet. */
static struct { int period, asked, begins; long long count; } candidate[CANDIDATES];
typedef struct { uint32_t sum, asked; long long count, began; } Visits;
static Visits visits[LAST_SEEN]; /* of loops, by a round */
enum { OFTEN = 4 }; /* that a loop is looked at while nothing comes of it; then each time twice as rarely */
static Program *programs[PROGRAMS];
enum { IDLE = 4096, REST_NS = 50000000 }; /* notes without use, and for how long there are none then */
static long long rest_until; /* by the clock */
static int trials; /* of each program */
static int program_count, building, watching, rest, idle, evidence, cursor, part_start, settling, patience;
static long long wait_ns; /* for how long a loop has to go on before a program is made for it */
static long long position = 1, cold_since = 1, period_start, outside_ids, blocked_until, looks_until;
static PyObject *planner, *asked;          /* makes programs; what it is to be asked */
static unsigned long main_thread;
static PyObject *error_state, *get_errors; /* NumPy's context variable, and its function that reads it */
static PyObject *ignoring;                /* a value of it under which nothing warns */
static PyObject *usual_errors;          /* its value that was found to be one under which nothing raises */
static PyObject *warnings_dict, *name_filters; /* the namespace of `warnings`, which may make errors of warnings */
static PyObject *usual_filters, *first_filter; /* its filters that were found not to, and the first of them */
static Py_ssize_t filter_count;
static unsigned long settling_thread;
static PyThread_type_lock settling_lock;
static Handle *views[LONGEST]; /* matched views that are still there */
static int view_count, views_alive;
static PyObject *called_with[2]; /* while the number is asked for that a slot gives at once */
static long periods_run, times_left, programs_made, programs_asked, parts_refused;
static long operations_run, programs_ready, calls_begun; /* since the beginning, for `replay_pace` */
static int inside; /* how many functions in Python are being called, whose own calls are not the program's */

#ifdef TRACE_REPLAY /* for who works on this: CFLAGS=-DTRACE_REPLAY python setup.py build_ext --inplace */
#define SAY(...) fprintf(stderr, __VA_ARGS__)
#else
#define SAY(...) (void)0
#endif
static PyObject *derived(Handle *a, PyObject *b, PyObject *h, PyObject *part, PyObject *kind, PyObject *param);
static int cut(Layout const *of, PyObject *key, npy_intp *offset, Layout *out);
static int settle(void);

static inline int makes_value(int kind) { return kind == UFUNC || kind == WHERE || kind == CLIP || kind == ALONG || kind == FILL || kind == JOIN; }
static inline int is_number_now(int kind) { return kind == DOT || kind == TOTAL; }
static inline int writes(int kind) { return kind == SETITEM || kind == IN_PLACE || kind == MASKED || kind == INTO; }

static void lay_out(Layout *to, PyArrayObject *a)
{
    npy_intp const *shape = PyArray_DIMS(a), *stride = PyArray_STRIDES(a);
    int nd = to->nd = PyArray_NDIM(a);
    to->type = PyArray_DESCR(a)->type_num;
    for (int d = 0; d < nd; d++) {
        to->shape[d] = shape[d];
        to->stride[d] = stride[d];
    }
}

/* Whether an axis of n elements is one that is expected: if its length moves, whether it is so long wherever it comes in
 * this period. */
static inline int is_length(Program *q, npy_intp expected, npy_intp n)
{
    if (expected >= 0)
        return expected == n;
    int number = (int)(-1 - expected);
    npy_intp *length = q->offset + q->n + q->params + number;
    if (q->known[number] == period_start)
        return *length == n;
    if (n > q->most[number])
        return 0;
    q->known[number] = period_start;
    *length = n;
    return 1;
}

static inline int are_lengths(Program *q, Layout const *as, npy_intp const *shape)
{
    for (int d = 0; d < as->nd; d++)
        if (!is_length(q, as->shape[d], shape[d]))
            return 0;
    return 1;
}

/* The lengths of this period. */
static Layout const *actual(Program const *q, Layout const *as, Layout *room)
{
    int moves = 0;
    for (int d = 0; d < as->nd; d++)
        moves |= as->shape[d] < 0;
    if (!moves)
        return as;
    *room = *as;
    for (int d = 0; d < as->nd; d++)
        if (as->shape[d] < 0)
            room->shape[d] = q->offset[q->n + q->params - 1 - as->shape[d]];
    return room;
}

static int is_laid_out(Program *q, PyArrayObject *a, Layout const *as)
{
    return PyArray_NDIM(a) == as->nd && PyArray_DESCR(a) == plain_descr[as->type]
           && !memcmp(PyArray_STRIDES(a), as->stride, (size_t)as->nd * sizeof(npy_intp)) && PyArray_ISALIGNED(a)
           && are_lengths(q, as, PyArray_DIMS(a));
}

/* But for the lengths. */
static int same_layout(Layout const *a, Layout const *b)
{
    return a->nd == b->nd && a->type == b->type && !memcmp(a->stride, b->stride, (size_t)a->nd * sizeof(npy_intp));
}

/* Whether an array may be an operand of a program: its memory is nobody else's. */
static int is_ours(Handle *a)
{
    Storage *s = (Storage *)a->s;
    return s->free && (!s->details || s->details == Py_None || is_lent(s->details, 0)) && PyArray_CheckExact(a->h)
           && PyArray_ISWRITEABLE((PyArrayObject *)a->h);
}

/* What is running: entering and leaving. */

static Program *left_out; /* while it is timed what it would have done */
static long long left_out_since, questions; /* questions: to `watches`, so far */
static unsigned long timed_thread; /* which of them began that, or the visit that is timed */

static void look_again(void)
{
    rest = 0;
    left_out = NULL;
    memset(candidate, 0, sizeof candidate);
    cold_since = position;
}

static long long clock_ns(void)
{
    struct timespec t;
    return timespec_get(&t, TIME_UTC) ? t.tv_sec * 1000000000LL + t.tv_nsec : 0;
}

/* Of this thread's own work, where the system knows it: others do not count. */
static long long work_ns(void)
{
#ifdef CLOCK_THREAD_CPUTIME_ID
    struct timespec t;
    if (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
        return t.tv_sec * 1000000000LL + t.tv_nsec;
#endif
    return clock_ns();
}

static int compare_floats(void const *a, void const *b)
{
    float x = *(float const *)a, y = *(float const *)b;
    return (x > y) - (x < y);
}

static float median(float *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, compare_floats);
    return x[n / 2];
}

/* Whether a round takes less time as a program, the calls in between with it: where values are asked for at once, little is left to
 * gain. A program's first visits are timed, and by turns the same operations without it, which are not noted then. Medians are
 * compared, since now and then something else comes between; nothing is timed while a program is made, which shares the interpreter. */
static void weigh(Program *q)
{
    if (q->trials == trials && q->trials_without == trials) {
        q->useless |= median(q->with, trials) > median(q->without, trials);
        SAY("  weighed: %g ns, without %g\n", (double)q->with[trials / 2], (double)q->without[trials / 2]);
    }
}

/* Another thread has gone on with what was timed, each of which has a clock of its own. Where that comes again and again, nothing is
 * said of the program. */
static void spoil(Program *q)
{
    if (++q->spoiled > trials)
        q->trials = q->trials_without = MOST_TRIALS;
}

/* A visit is over, or as much of it as is timed. Where its end was noticed late, after other work of the thread's, the rounds up to
 * the last time that was taken count. */
static void end_trial(Program *q, int matched)
{
    int first = FIRST_RUNS, times = q->runs >= TRIAL ? 0 : q->runs >= 2 * first ? 2 : q->runs >= first;
    long long begin = q->runs >= 2 * first ? q->later[0] : q->tried_since;
    long long took = (times ? q->later[times - 1] : work_ns()) - begin;
    long operations = (times ? first : q->runs >= TRIAL ? q->runs - first : q->runs) * (long)q->n + (times ? 0 : matched);
    q->tried_since = 0;
    if (timed_thread != PyThread_get_thread_ident())
        spoil(q);
    else if (!building && operations > 0 && took > 0 && q->trials < trials) {
        q->with[q->trials++] = (float)took * (float)q->n / (float)operations;
        weigh(q);
    }
}

/* Whether all of it pays: to note an operation costs as much as a small one itself, and where loops are short and many, that may be
 * more than they gain. So stretches with notes, and the programs that are entered there, are timed by turns with stretches without;
 * if these take less time for as many operations, nothing is noted for a while, in which most of the time goes by. A stretch with
 * notes is timed from where a program is entered, and may end with a round of it. A loop that is called now and then has other work of
 * the thread's before it and after it: so that stretches of both kinds have that as often, one without notes begins where the one
 * before it ended, their lengths vary, and those that took most are not looked at. */
enum { STRETCH = 2048, STRETCHES = 8, MOST_WAITING = 4096 };

static struct {
    int without, turns, visits;   /* whether nothing is noted in this one; how many there were of each; visits that began in it */
    int over;                     /* whether it was counted: the next one begins when the program is left */
    int counted[2];               /* how many were, with notes and without */
    long length;                  /* in operations */
    unsigned varied;              /* what the next length is made of */
    long long began, questions;   /* at its beginning */
    long long next, waiting;      /* the question at which is timed again; how many stretches lie between */
    float took[2][2 * STRETCHES]; /* nanoseconds an operation, of each that was counted */
    unsigned long thread;
} stretch;

/* The next rounds are done without the program, and not noted. */
static void leave_out(Program *q)
{
    q->last_runs = Py_MAX(1, Py_MIN(q->runs, FIRST_RUNS));
    rest = q->last_runs * q->questions;
    stretch.began = 0;
    left_out = q;
    timed_thread = PyThread_get_thread_ident();
    left_out_since = work_ns();
}

static void enter(Program *q);

/* What was left out ends with a round, and the program goes on there: were that noted, an inner loop of it might get a program of its
 * own, and be entered first ever after. */
static void end_left_out(void)
{
    Program *q = left_out;
    long long took = work_ns() - left_out_since;
    look_again();
    if (timed_thread != PyThread_get_thread_ident())
        spoil(q);
    else if (took > 0) {
        q->without[q->trials_without++] = (float)took / (float)q->last_runs;
        weigh(q);
        if (!P && !q->useless && q->ready)
            enter(q);
    }
}

static void begin_stretch(int without)
{
    stretch.without = without;
    stretch.visits = stretch.over = 0;
    stretch.varied = stretch.varied * 1664525u + 1013904223u; /* Knuth's constants */
    stretch.length = STRETCH / 2 + (stretch.varied >> 16) % STRETCH;
    stretch.began = work_ns();
    stretch.questions = questions;
    stretch.thread = PyThread_get_thread_ident();
}

/* From now on as many stretches are not timed as `waiting` says. */
static void rest_from_timing(void)
{
    stretch.turns = 0;
    memset(stretch.counted, 0, sizeof stretch.counted);
    stretch.next = questions + stretch.waiting * STRETCH;
    stretch.began = 0;
}

static int count_stretch(void)
{
    long long took = work_ns() - stretch.began, answered = questions - stretch.questions;
    int *n = &stretch.counted[stretch.without];
    if (stretch.thread != PyThread_get_thread_ident() || took <= 0 || answered <= 0 || *n == 2 * STRETCHES)
        return 0;
    stretch.took[stretch.without][(*n)++] = (float)took / (float)answered;
    return 1;
}

/* Nanoseconds an operation in the half of the stretches that took least. */
static float usual_stretch(int without)
{
    float *took = stretch.took[without], sum = 0;
    int n = stretch.counted[without], half = (n + 1) / 2;
    qsort(took, (size_t)n, sizeof *took, compare_floats);
    for (int i = 0; i < half; i++)
        sum += took[i];
    return half ? sum / (float)half : 0;
}

static void begin_without_notes(void)
{
    begin_stretch(1);
    rest = stretch.length;
}

/* After an operation was noted, outside of programs: a stretch with notes is over, perhaps. */
static void end_with_notes(void)
{
    if (!stretch.began) {
        if (questions >= stretch.next)
            begin_stretch(0);
        return;
    }
    if (!stretch.over && questions - stretch.questions < stretch.length)
        return;
    if (stretch.over || (stretch.visits && !building && count_stretch()))
        begin_without_notes();
    else
        begin_stretch(0);
}

/* After a round. */
static void end_with_round(void)
{
    if (!stretch.began || stretch.without || stretch.over || questions - stretch.questions < stretch.length)
        return;
    if (building || !count_stretch())
        begin_stretch(0);
    else
        stretch.over = 1;
}

static void end_without_notes(void)
{
    int counted = count_stretch();
    stretch.without = 0;
    look_again();
    if (!counted || ++stretch.turns < STRETCHES) {
        begin_stretch(0);
        return;
    }
    float with = usual_stretch(0), without = usual_stretch(1);
    SAY("  stretches: %g ns an operation, without notes %g\n", with, without);
    if (with > without) {
        rest = IDLE / 4;
        rest_until = clock_ns() + (long long)(16 * STRETCHES * STRETCH * (with + without));
        stretch.waiting = 0;
    }
    else
        stretch.waiting = Py_MIN(MOST_WAITING, 2 * stretch.waiting + 128);
    rest_from_timing();
}

/* Whether to note an operation. Where no loop is found for long, nothing is noted for a while. */
static inline int watches(void)
{
    questions += watching;
    if (!watching || !rest)
        return watching;
    if (!--rest) {
        if (left_out)
            end_left_out();
        else if (stretch.without)
            end_without_notes();
        else if (clock_ns() < rest_until)
            rest = IDLE / 4;
        else
            look_again();
    }
    return 0;
}

/* Let go of what a period has held. Python code may run at each of these, so that they are taken out before. */
static void forget(Program *q)
{
    PyObject *gone[MOST_IN * LONGEST + 3 * LONGEST];
    int count = 0;
    for (int j = 0; j < q->params; j++) {
        gone[count++] = (PyObject *)q->param[j];
        q->param[j] = NULL;
        q->h[j] = NULL;
    }
    for (int k = 0; k < q->n; k++) {
        gone[count++] = (PyObject *)q->kept[k];
        gone[count++] = (PyObject *)q->storage[k];
        gone[count++] = q->value[k];
        q->kept[k] = NULL;
        q->storage[k] = NULL;
        q->value[k] = NULL;
    }
    q->done = 0;
    for (int i = 0; i < count; i++)
        Py_XDECREF(gone[i]);
}

/* Whether the filters of warnings let a RuntimeWarning be a warning. */
static int may_warn(PyObject *filters)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters); i++) {
        PyObject *f = PyList_GET_ITEM(filters, i); /* (action, message, category, module, line) */
        if (!PyTuple_CheckExact(f) || PyTuple_GET_SIZE(f) < 4)
            return 0;
        PyObject *category = PyTuple_GET_ITEM(f, 2);
        if (!PyType_Check(category)
            || !PyType_IsSubtype((PyTypeObject *)PyExc_RuntimeWarning, (PyTypeObject *)category))
            continue;
        PyObject *action = PyTuple_GET_ITEM(f, 0);
        if (!PyUnicode_Check(action) || !PyUnicode_CompareWithASCIIString(action, "error"))
            return 0;
        if (PyTuple_GET_ITEM(f, 1) == Py_None && PyTuple_GET_ITEM(f, 3) == Py_None)
            return 1;
    }
    return 1;
}

/* Whether NumPy's error state is "ignore" or "warn" for all. */
static int is_quiet(void)
{
    PyObject *said = PyObject_CallNoArgs(get_errors), *key, *value; /* a function in C: no handler of signals runs */
    Py_ssize_t at = 0;
    int quiet = said && PyDict_CheckExact(said);
    while (quiet && PyDict_Next(said, &at, &key, &value))
        if (PyUnicode_Check(value))
            quiet = !PyUnicode_CompareWithASCIIString(value, "ignore") || !PyUnicode_CompareWithASCIIString(value, "warn");
    if (!said)
        PyErr_Clear();
    Py_XDECREF(said);
    return quiet;
}

/* Whether floating-point errors at most warn, by NumPy's error state and the filters of warnings: what raises has to do so
 * where it happens. */
static int errors_are_usual(void)
{
    PyObject *now = NULL, *filters = PyDict_GetItemWithError(warnings_dict, name_filters);
    if (!filters || !PyList_CheckExact(filters) || PyContextVar_Get(error_state, Py_None, &now) < 0 || !now) {
        PyErr_Clear();
        return 0;
    }
    PyObject *first = PyList_GET_SIZE(filters) ? PyList_GET_ITEM(filters, 0) : Py_None;
    int usual = now == usual_errors && filters == usual_filters && first == first_filter
                && PyList_GET_SIZE(filters) == filter_count;
    if (!usual && may_warn(filters) && is_quiet()) {
        usual = 1;
        Py_XSETREF(usual_errors, Py_NewRef(now));
        Py_XSETREF(usual_filters, Py_NewRef(filters));
        Py_XSETREF(first_filter, Py_NewRef(first));
        filter_count = PyList_GET_SIZE(filters);
    }
    Py_DECREF(now);
    return usual;
}

/* Whether NumPy's error state is the one that was found usual last: for each operation, which may stand in a context of
 * its own. */
static inline int same_errors(void)
{
    PyObject *now = NULL;
    int same = PyContextVar_Get(error_state, Py_None, &now) == 0 && now == usual_errors;
    Py_XDECREF(now);
    return same;
}

static void enter(Program *q)
{
    if (q->busy || views_alive || !errors_are_usual())
        return;
    if (!building && q->trials_without < trials && q->trials_without <= q->trials) {
        leave_out(q);
        return;
    }
    SAY("enter %ld n=%d at %lld (cold %lld)\n", q->id, q->n, position, position - cold_since);
    P = q;
    idle = 0;
    if (stretch.began && !stretch.without && !stretch.visits && !stretch.over)
        begin_stretch(0);
    stretch.visits++;
    cursor = part_start = 0;
    period_start = position;
    patience = PATIENCE;
    memset(q->known, 0, sizeof q->known);
    q->busy = 1;
    q->runs = 0;
    q->used = (long)position;
    q->tried_since = !building && q->trials < trials ? work_ns() : 0;
    timed_thread = PyThread_get_thread_ident();
}

/* Leave a program of which nothing is pending. */
static void leave(void)
{
    Program *q = P;
    P = NULL;
    look_again();
    if (!q)
        return;
    SAY("leave %ld runs=%ld cursor=%d/%d expected kind %d part_start=%d\n", q->id, q->runs, cursor, q->n, cursor < q->n ? q->slot[cursor].kind : -1, part_start);
    memset(q->made, 0, (size_t)q->n * sizeof *q->made);
    if (q->tried_since)
        end_trial(q, cursor);
    q->all_runs += q->runs;
    left_last = q->id;
    if (entered_by) {
        entered_by->score += q->runs ? entered_by->score < 8 : -3;
        entered_by = NULL;
    }
    else
        q->failed = q->runs ? 0 : q->failed + 1; /* of a loop that begins like another one, perhaps */
    if (++q->entries >= TRIES && q->all_runs * q->n < (long)q->entries * WORTH)
        q->useless = 1;
    q->short_visits = q->runs < FEW_RUNS ? q->short_visits + 1 : 0;
    long long now = q->short_visits >= TRIES ? clock_ns() : 0;
    if (now && now >= look_next) {
        looks_until = position + RING;
        look_next = now + look_wait;
        look_wait = Py_MIN(2 * look_wait, 64LL * REST_NS);
    }
    if (q->failed)
        blocked_until = position + ((long long)q->n << (q->failed < 6 ? q->failed : 6));
    forget(q);
    for (int k = 0; k < q->n; k++)
        if (q->spare[k] && PyArray_NBYTES(q->spare[k]) > SPARED)
            Py_CLEAR(q->spare[k]); /* NumPy's, of nobody else */
    q->busy = 0;
}

/* What was matched, with a value. */

/* The storage that the value of slot k will have, if its handle is still there. */
static int make_room(Program *q, int k)
{
    return !q->made[k] || q->storage[k] || (q->storage[k] = new_storage()) ? 0 : -1;
}

static void give_value(Program *q, int k, PyArrayObject *array)
{
    Handle *o = q->made[k];
    if (!o)
        return;
    Storage *s = q->storage[k];
    s->buf = Py_NewRef(array);
    s->free = 1;
    o->s = (PyObject *)s;
    o->b = Py_NewRef(array);
    o->h = Py_NewRef(array);
    o->pending = REAL;
    q->storage[k] = NULL;
    q->made[k] = NULL;
}

/* A part of NumPy's array, as indexing makes it; a new reference. */
static PyObject *array_part(PyArrayObject *whole, Layout const *as, npy_intp offset)
{
    PyArray_Descr *descr = plain_descr[as->type];
    Py_INCREF(descr);
    PyObject *part = PyArray_NewFromDescr(&PyArray_Type, descr, as->nd, as->shape, as->stride,
                                          PyArray_BYTES(whole) + offset, NPY_ARRAY_WRITEABLE, NULL);
    if (part && PyArray_SetBaseObject((PyArrayObject *)part, Py_NewRef(whole)) < 0)
        Py_CLEAR(part);
    if (part)
        PyArray_UpdateFlags((PyArrayObject *)part, NPY_ARRAY_UPDATE_ALL);
    return part;
}

static PyObject *sizes(npy_intp const *x, int n)
{
    PyObject *out = PyTuple_New(n);
    for (int d = 0; out && d < n; d++)
        PyTuple_SET_ITEM(out, d, PyLong_FromSsize_t(x[d]));
    return out;
}

/* Whether a matched view's key says another shape: (kind_reshape, shape). */
static int is_reshape(PyObject *key)
{
    return PyTuple_CheckExact(key) && PyTuple_GET_SIZE(key) == 2 && PyTuple_GET_ITEM(key, 0) == kind_reshape;
}

/* A matched view becomes one like any other. */
static int resolve(Handle *v)
{
    PyObject *parent = v->base, *key = v->v, *found = NULL;
    Layout of, as;
    npy_intp offset;
    v->pending = REAL;
    v->base = v->v = NULL;
    if (is_there(parent)) {
        PyArrayObject *h = (PyArrayObject *)((Handle *)parent)->h;
        lay_out(&of, h);
        if (key == kind_transpose) {
            PyObject *part = PyArray_Transpose(h, NULL);
            found = part ? derived((Handle *)parent, Py_NewRef(((Handle *)parent)->b), Py_NewRef(h), part, kind_transpose, Py_None) : NULL;
        }
        else if (is_reshape(key)) {
            PyObject *part = PyArray_Reshape(h, PyTuple_GET_ITEM(key, 1));
            found = part ? derived((Handle *)parent, Py_NewRef(((Handle *)parent)->b), Py_NewRef(h), part, kind_reshape, part) : NULL;
        }
        else if (cut(&of, key, &offset, &as)) {
            PyObject *part = array_part(h, &as, offset);
            found = part ? derived((Handle *)parent, Py_NewRef(((Handle *)parent)->b), Py_NewRef(h), part, kind_index, key) : NULL;
        }
    }
    if (!found) {
        v->base = parent;
        v->v = key;
        v->pending = VIEW;
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_SystemError, "a matched view has lost its array");
        return -1;
    }
    Handle *from = (Handle *)found;
#define MOVE(F) v->F = from->F, from->F = NULL;
    MOVE(s) MOVE(b) MOVE(h) MOVE(v) MOVE(base) MOVE(from) MOVE(param)
#undef MOVE
    v->kind = from->kind;
    Py_DECREF(found);
    Py_DECREF(parent);
    Py_DECREF(key);
    return 0;
}

static int resolve_view(int i)
{
    Handle *v = (Handle *)Py_NewRef(views[i]);
    int failed = resolve(v);
    if (!failed) {
        views[i] = NULL;
        views_alive--;
    }
    Py_DECREF(v);
    return failed;
}

static int resolve_views(void)
{
    for (int i = 0; i < view_count; i++)
        if (views[i] && resolve_view(i) < 0)
            return -1;
    view_count = 0;
    return 0;
}

static void forget_handle(Handle *o) /* it dies */
{
    if (o->pending == VALUE) {
        if (P)
            P->made[o->slot] = NULL;
    }
    else if (o->pending == VIEW) {
        views[o->slot] = NULL;
        if (!--views_alive)
            view_count = 0;
    }
    else if (o->at > 0 && watching && !P && position - o->at < RING)
        ring[o->at % RING].died = position + touched; /* while somebody looked at it, perhaps */
    o->at = 0;
    o->pending = REAL;
}

/* What a reduction of an array with nd axes is: REDUCTIONS more for each axis before those along which it goes, and AXES times that
 * for each of these. -1: there is none such. */
static int how_of(Reduction const *r, int nd)
{
    int first, count;
    return are_neighbours(r, nd, &first, &count) ? r->which + REDUCTIONS * (first + AXES * count) : -1;
}

/* The reduction of slot s by NumPy. */
static PyObject *reduced_as(Slot const *s, PyObject *x)
{
    int first = s->how / REDUCTIONS % AXES, count = s->how / REDUCTIONS / AXES;
    PyObject *along = PyTuple_New(count), *names = PyTuple_Pack(2, name_axis, name_keepdims);
    for (int i = 0; i < count && along; i++) {
        PyObject *axis = PyLong_FromLong(first + i);
        if (axis)
            PyTuple_SET_ITEM(along, i, axis);
        else
            Py_CLEAR(along);
    }
    PyObject *args[3] = {x, along, s->out.nd == s->of.nd ? Py_True : Py_False};
    PyObject *out = along && names ? PyObject_Vectorcall(known[M_REDUCTION + s->how % REDUCTIONS], args, 1, names) : NULL;
    Py_XDECREF(along);
    Py_XDECREF(names);
    return out;
}

enum { STACKED = 8 };

/* The axis along which arrays with nd axes are joined, with STACKED where it is a new one; -1: not without another shape first. */
static int how_joined(int which, long axis, int nd)
{
    int stacked = which == STACK || (nd == 1 && which >= STACK);
    axis = which == CONCATENATE || which == STACK ? axis : which == HSTACK ? nd > 1 : which == COLUMN_STACK;
    axis += axis < 0 ? nd + stacked : 0;
    return axis < 0 || axis >= nd + stacked || (which == APPEND && nd > 1) ? -1 : (int)axis + stacked * STACKED;
}

/* The arrays of slot s, joined by NumPy. */
static PyObject *joined_as(Slot const *s, PyObject *const *in)
{
    int axis = s->how % STACKED;
    PyObject *arrays = PyTuple_New(s->nin);
    for (int i = 0; arrays && i < s->nin; i++)
        PyTuple_SET_ITEM(arrays, i, Py_NewRef(in[i]));
    PyObject *out = !arrays            ? NULL
                    : s->how < STACKED ? PyArray_Concatenate(arrays, axis)
                                       : PyObject_CallFunction(known[F_JOIN + STACK], "Oi", arrays, axis);
    Py_XDECREF(arrays);
    return out;
}

/* A new array of one number, or of none where that is NULL. */
static PyObject *new_filled(Layout const *as, PyObject *number)
{
    PyArrayObject *out = new_array(plain_descr[as->type], as->nd, as->shape);
    int zero = number && (number == Py_False || (PyLong_CheckExact(number) && PyObject_Not(number) == 1));
    if (out && zero)
        memset(PyArray_BYTES(out), 0, (size_t)PyArray_NBYTES(out));
    else if (out && number && PyArray_FillWithScalar(out, number) < 0)
        Py_CLEAR(out);
    return (PyObject *)out;
}

/* Slot k by NumPy, from the values of the slots before. */
static int do_slot(Program *q, int k)
{
    Slot *s = &q->slot[k];
    PyObject *in[MOST_IN] = {NULL, NULL, NULL}, *out = NULL;
    int missing = 0, failed = 0, earlier = k < part_start;
    Layout room;
    if (s->kind == EXTERNAL || s->kind == READ || is_number_now(s->kind))
        return 0;
    if (earlier && s->kind != GETITEM) {
        q->value[k] = Py_XNewRef(q->kept[k]);
        return 0;
    }
    for (int i = 0; i < s->nin; i++) {
        if (s->from[i] == FROM_SLOT)
            in[i] = Py_XNewRef(q->value[s->source[i]]);
        else if (s->from[i] == FROM_MEMORY)
            in[i] = q->param[s->source[i]] ? Py_XNewRef(q->param[s->source[i]]->h) : NULL;
        else if (s->from[i] == NUMBER)
            in[i] = PyArray_Scalar(q->numbers + 16 * s->source[i], plain_descr[s->type], NULL);
        missing |= !in[i];
    }
    if (missing) { /* of an earlier part: a view of what nobody holds any more */
        failed = !earlier;
        if (failed && !PyErr_Occurred())
            PyErr_SetString(PyExc_SystemError, "a matched operation has lost its operand");
    }
    else if (s->kind == GETITEM)
        failed = !(q->value[k] = array_part((PyArrayObject *)in[0], actual(q, &s->out, &room), q->offset[k]));
    else if (s->kind == SETITEM) {
        PyObject *to = array_part((PyArrayObject *)in[0], actual(q, &s->out, &room), q->offset[k]);
        failed = !to || PyObject_SetItem(to, Py_Ellipsis, in[1]) < 0;
        Py_XDECREF(to);
    }
    else if (s->kind == MASKED)
        failed = PyObject_SetItem(in[0], in[1], in[2]) < 0;
    else if (!(failed = make_room(q, k) < 0)) {
        PyObject *args[4] = {NULL, in[0], in[1], in[1]};
        int count = s->nin;
        if (s->kind == IN_PLACE)
            args[1 + count++] = in[0];
        if (s->kind == INTO) {
            args[1] = in[1];
            args[2] = count == 2 ? in[0] : in[2];
            args[3] = in[0];
        }
        out = s->kind == JOIN ? joined_as(s, in)
              : s->kind == FILL ? new_filled(actual(q, &s->out, &room), in[0])
              : s->kind == WHERE ? PyArray_Where(in[0], in[1], in[2])
              : s->kind == ALONG ? reduced_as(s, in[0])
              : s->kind == CLIP ? PyObject_CallMethod(in[0], "clip", "OO", in[1], in[2])
                               : PyObject_Vectorcall((PyObject *)s->f, args + 1, (size_t)count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        failed = !out || !PyArray_CheckExact(out);
        if (!failed && makes_value(s->kind))
            give_value(q, k, (PyArrayObject *)out);
        q->value[k] = failed ? NULL : Py_NewRef(out);
    }
    Py_XDECREF(out);
    for (int i = 0; i < MOST_IN; i++)
        Py_XDECREF(in[i]);
    return failed ? -1 : 0;
}

/* Do what was matched and not run one by one. After an error it can go on from there. Where floating-point errors raise
 * by now, they are ignored here: what was matched came before. */
static int one_by_one(Program *q)
{
    PyObject *token = NULL, *filters = PyDict_GetItemWithError(warnings_dict, name_filters);
    int failed = 0;
    if (!same_errors() || !filters || !PyList_CheckExact(filters) || !may_warn(filters))
        failed = !(token = PyContextVar_Set(error_state, ignoring));
    for (; q->done < cursor && !failed; q->done += !failed)
        failed = do_slot(q, q->done) < 0;
    if (token) {
        PyObject *type, *error, *trace;
        PyErr_Fetch(&type, &error, &trace);
        if (PyContextVar_Reset(error_state, token) < 0)
            PyErr_Clear();
        PyErr_Restore(type, error, trace);
        Py_DECREF(token);
    }
    return failed ? -1 : 0;
}

static int by_others(void) /* another thread settles: wait; this one, further up: go on */
{
    unsigned long me = PyThread_get_thread_ident();
    while (settling && settling_thread != me) {
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(settling_lock, WAIT_LOCK);
        PyThread_release_lock(settling_lock);
        Py_END_ALLOW_THREADS
    }
    return settling;
}

static void begin_settling(void)
{
    settling = 1;
    settling_thread = PyThread_get_thread_ident();
    PyThread_acquire_lock(settling_lock, NOWAIT_LOCK);
}

static void end_settling(void)
{
    settling = 0;
    PyThread_release_lock(settling_lock);
}

static int resolve_all(void) /* and whoever comes meanwhile waits */
{
    begin_settling();
    int failed = resolve_views();
    end_settling();
    return failed;
}

/* Something else came than was expected: all that was matched gets its value, and the loop is cold. -1 with an error set:
 * not all could be done; the next one to look goes on. */
static int settle(void)
{
    if (!P || by_others() || !P)
        return 0;
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    begin_settling();
    times_left++;
    int failed = one_by_one(P) < 0 || resolve_views() < 0;
    if (!failed)
        leave();
    end_settling();
    if (failed) {
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(trace);
        return -1;
    }
    PyErr_Restore(type, error, trace);
    return 0;
}

/* Whose memory the first operand of a slot has: a parameter's number, or that of all of them and a slot's. */
static int root_of_slot(Program const *q, int k)
{
    Slot const *s = &q->slot[k];
    while (s->from[0] == FROM_SLOT && q->slot[s->source[0]].kind == GETITEM)
        s = &q->slot[s->source[0]];
    return s->from[0] == FROM_SLOT ? q->params + s->source[0] : s->source[0];
}

/* Point to the parameters that are bound. 0: what is written is not apart from all else, but for what was so when the
 * program was made. */
static int place_params(Program *q)
{
    for (int j = 0; j < q->params; j++) {
        int from = j;
        if (q->is[j].root != j)
            continue;
        if (!q->is[j].shared) {
            q->p[j] = q->param[j] ? PyArray_BYTES(q->h[j]) : NULL;
            continue;
        }
        for (int i = q->params - 1; i >= j; i--) /* the root, or one that is always as far from it, or any other */
            if (q->param[i] && q->is[i].root == j && (i == j || q->is[i].fixed || from == j))
                from = i;
        if (q->param[from])
            q->p[j] = PyArray_BYTES(q->h[from]) - (q->is[from].fixed ? q->is[from].apart : 0);
    }
    for (int j = 0; j < q->params; j++) {
        Param const *is = &q->is[j];
        if (!q->param[j])
            continue;
        npy_intp apart = q->offset[q->n + j] = PyArray_BYTES(q->h[j]) - q->p[is->root];
        if (is->fixed && apart != is->apart)
            return 0;
        for (int i = 0; i < q->params && is->written; i++)
            if (q->param[i] && q->is[i].root != is->root && q->param[i]->s == q->param[j]->s)
                return 0;
        for (int k = 0; k < part_start && (is->written || q->writes_values); k++) /* a view that something external has made of a value */
            if (q->kept[k] && ((Storage *)q->param[j]->s)->buf == (PyObject *)q->kept[k])
                return 0;
    }
    return 1;
}

/* Tell of floating-point errors, of a ufunc or under a name: Python code may run. -1 with an error set: a filter makes errors of warnings. */
static int warn(PyObject *errors, int raised) /* takes the reference */
{
    static const int flags[3] = {FE_DIVBYZERO, FE_OVERFLOW, FE_INVALID};
    int failed = 0;
    for (int i = 0; i < 3 && !failed; i++) {
        PyObject *f = raised & flags[i] ? PyTuple_GET_ITEM(errors, i) : Py_None;
        if (PyUnicode_Check(f)) /* a reduction */
            failed = tell_errors_in(PyUnicode_AsUTF8(f), flags[i]) < 0;
        else if (f != Py_None)
            failed = tell_errors((PyUFuncObject *)f, flags[i]) < 0;
    }
    Py_DECREF(errors);
    return failed ? -1 : 0;
}

/* Whether an array is an operand of what is being called, and only the caller's stack has it. */
static inline int dies_now(Handle *o) { return Py_REFCNT(o) == 1 && ((PyObject *)o == called_with[0] || (PyObject *)o == called_with[1]); }

/* Run the part that ends at the cursor. `raised`: its floating-point errors, for `warn`. 0: it cannot be run so; nothing
 * was done. */
static int run_part(Program *q, int *raised)
{
    int part = q->slot[part_start].part;
    for (int j = 0; j < q->params; j++) {
        Handle *a = q->param[j];
        if (!a)
            continue;
        if (!is_there((PyObject *)a) || (PyArrayObject *)a->h != q->h[j] || !is_ours(a))
            return SAY("  param %d changed\n", j), 0;
    }
    for (int k = part_start; k < cursor; k++)
        if (q->made[k] && !q->slot[k].stored && !dies_now(q->made[k])) { /* somebody holds what the program does not store */
            SAY("  slot %d held, not stored\n", k);
            parts_refused++;
            q->bad++;
            return 0;
        }
    if (!place_params(q)) { /* which the loop will hardly change */
        SAY("  not apart\n");
        q->useless = 1;
        return 0;
    }
    for (int k = part_start; k < cursor; k++) {
        Slot *s = &q->slot[k];
        if (!s->stored)
            continue;
        PyArrayObject **where = q->made[k] ? &q->kept[k] : &q->spare[k];
        Layout room;
        Layout const *out = actual(q, &s->out, &room);
        if (out == &room && *where && memcmp(PyArray_DIMS(*where), out->shape, (size_t)out->nd * sizeof(npy_intp)))
            Py_CLEAR(*where);
        if (make_room(q, k) < 0
            || (!*where && !(*where = new_array(plain_descr[out->type], out->nd, out->shape)))) {
            PyErr_Clear();
            return 0;
        }
        q->p[q->params + k] = PyArray_BYTES(*where);
        if (where == &q->spare[k])
            q->kept[k] = (PyArrayObject *)Py_NewRef(*where); /* a later part may read it */
    }
    forget_errors(q->plain);
    q->run[part](q->p, q->offset, q->numbers);
    *raised = errors_seen(q->plain) & (FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID);
    if (*raised)
        forget_errors(q->plain);
    for (int k = part_start; k < cursor; k++)
        if (q->made[k] && q->slot[k].stored)
            give_value(q, k, q->kept[k]);
    part_start = cursor;
    return 1;
}

static inline void advance(void) /* a slot was matched */
{
    cursor++;
    position++;
    patience = PATIENCE;
}

/* Run what was matched of the current part, if anything was; what `warn` is to be given, NULL for nothing. */
static int run_rest(Program *q, PyObject **errors, int *raised)
{
    int part = cursor > part_start ? q->slot[part_start].part : 0;
    *errors = NULL;
    *raised = 0;
    if (part_start < cursor && !run_part(q, raised))
        return 0;
    if (*raised)
        *errors = Py_NewRef(PyTuple_GET_ITEM(q->errors, part));
    return 1;
}

/* All of the period was matched, and something comes: now is seen which values somebody holds. -1 with an error set: a
 * warning is an error, or there is no memory; what was matched stays matched. */
static int finish(void)
{
    Program *q = P;
    PyObject *errors;
    int raised;
    if (!run_rest(q, &errors, &raised))
        return settle();
    cursor = part_start = 0;
    period_start = position;
    q->runs++;
    periods_run++;
    operations_run += q->n;
    questions += q->questions;
    end_with_round();
    int turn = 0;
    if (q->tried_since && (q->runs == FIRST_RUNS || q->runs == 2 * FIRST_RUNS))
        q->later[q->runs > FIRST_RUNS] = work_ns();
    if (q->tried_since && q->runs == TRIAL) {
        end_trial(q, 0);
        turn = !building && q->trials_without < trials;
    }
    forget(q);
    if (P == q && !cursor && (turn || stretch.over || q->useless || !errors_are_usual())) {
        if (settle() < 0) {
            Py_XDECREF(errors);
            return -1;
        }
        if (turn && !P && !left_out && !q->useless)
            leave_out(q);
        else if (stretch.over && !P)
            begin_without_notes();
    }
    return errors ? warn(errors, raised) : 0;
}

/* Something that was expected: all is to have its value. -1 with an error set. */
static int catch_up(void)
{
    Program *q = P;
    PyObject *errors;
    int raised;
    if (!run_rest(q, &errors, &raised))
        return settle();
    if (resolve_all() < 0) {
        Py_XDECREF(errors);
        return -1;
    }
    return errors ? warn(errors, raised) : 0;
}

/* Somebody looks at an array. -1 with an error set: it has no value yet. */
static Py_NO_INLINE int touch_slowly(void)
{
    if (by_others() || !P)
        return 0;
    if (P->done) /* not all could be done when it was tried last */
        return settle();
    Program *q = P;
    if (cursor == q->n && finish() < 0)
        return -1;
    if (P != q)
        return 0;
    if (cursor == part_start && !views_alive) /* nothing is pending */
        return --patience < 0 ? settle() : 0;
    return cursor < q->n && q->slot[cursor].kind == EXTERNAL ? catch_up() : settle();
}
