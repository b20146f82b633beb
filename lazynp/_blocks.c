/* The interpreter's blocks in C: a kernel's instructions on one block of memory after the other, by as many threads as
 * call `work`, without the GIL between. Each instruction is the inner loop of NumPy's ufunc, a cast or a select.
 *
 * Optional: `backends/numpy/blocked.py` does the same through NumPy's ufuncs, and does all that is left out here.
 */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <Python.h>
#include <fenv.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include "_loops.h"

/* SHORT: rows of fewer elements are NumPy's, which copies them together. WHOLE: elements that fill registers of any kind;
 * MOST: of so many times the elements asked for may a block be for their sake. REGISTER: to which scratch memory is
 * aligned; APART: bytes between two buffers, whose addresses would otherwise agree in the bits by which the processor
 * tells whether a load must wait for a store. NUMBER: bytes of the largest number. UNLOCKED: elements times steps above
 * which other threads may run. */
enum { AXES = 8, OPERANDS = 4, SHORT = 16, WHOLE = 64, MOST = 8, REGISTER = 64, APART = 320, NUMBER = 32, UNLOCKED = 4096 };
enum { LOOP, CAST, SELECT };

#include "_stacks.h"
#include "_searches.h"

typedef struct {
    int kind, count, at[OPERANDS]; /* count: of operands, the result as the last one */
    int exact, tiled;
    PyUFuncGenericFunction loop;
    void *data;
} Step;

typedef struct {
    int type, scratch; /* -1: an input, or a result that never is anything else, or a scalar that need not be repeated */
    npy_intp size;
} Value;

typedef struct {
    PyObject_HEAD
    int inputs, scalars, values, steps, buffers, exact;
    npy_intp widest;
    Value *value;
    Step *step;
    PyObject *held; /* the ufuncs */
} Plan;

/* How a step goes through a block, the last axis first; the outermost length is for one element of the split axis. */
typedef struct {
    int nd;
    npy_intp dims[AXES], strides[OPERANDS][AXES];
} Walk;

typedef struct {
    char *data; /* NULL: in scratch memory */
    npy_intp strides[AXES];
} Place;

typedef struct {
    PyObject_HEAD
    Plan *plan;
    PyObject *held; /* the arrays */
    int nd, axis;
    npy_intp dims[AXES], part, parts, blocks, buffer; /* parts: of the split axis; buffer: bytes of one of scratch */
    Place *place;
    Walk *walk;
    char *numbers; /* the scalars, NUMBER bytes each */
    atomic_llong next;
} Job;

/* Casts and selects. */

#define TYPES(X) \
    X(NPY_BOOL, npy_bool) X(NPY_BYTE, npy_byte) X(NPY_UBYTE, npy_ubyte) X(NPY_SHORT, npy_short) \
    X(NPY_USHORT, npy_ushort) X(NPY_INT, npy_int) X(NPY_UINT, npy_uint) X(NPY_LONG, npy_long) X(NPY_ULONG, npy_ulong) \
    X(NPY_LONGLONG, npy_longlong) X(NPY_ULONGLONG, npy_ulonglong) X(NPY_FLOAT, float) X(NPY_DOUBLE, double)

/* A bool may be any byte, in memory that was viewed as one: all but 0 are true. */
#define VALUE(FROM, V) ((FROM) == NPY_BOOL ? (V) != 0 : (V))

/* Where both have no gaps the compiler knows the steps. A bool is an int on its way, which goes to all types in vector
 * registers; no element depends on another one, though bytes may be anybody's memory for C. */
#define EACH(FROM, S, T, EXPRESSION) \
    if (sp == sizeof(S) && sq == sizeof(T)) \
        _Pragma("GCC ivdep") for (npy_intp i = 0; i < n; i++) \
        { \
            __typeof__(VALUE(FROM, *(S const *)p)) v = VALUE(FROM, ((S const *)p)[i]); \
            ((T *)q)[i] = (T)(EXPRESSION); \
        } \
    else \
        for (npy_intp i = 0; i < n; i++) { \
            S v = (S)VALUE(FROM, *(S const *)(p + i * sp)); \
            *(T *)(q + i * sq) = (T)(EXPRESSION); \
        }

#define PAIRS(FROM, S, T) \
    for (npy_intp i = 0; i < n; i++) { \
        T *pair = (T *)(q + i * sq); \
        pair[0] = (T)VALUE(FROM, *(S const *)(p + i * sp)), pair[1] = 0; \
    }

#define FROM_TYPE(NAME, S) \
    static void from_##NAME(int to, char const *p, npy_intp sp, char *q, npy_intp sq, npy_intp n) \
    { \
        switch (to) { \
            case NPY_BOOL: EACH(NAME, S, npy_bool, v != 0) break; \
            case NPY_BYTE: EACH(NAME, S, npy_byte, v) break; \
            case NPY_UBYTE: EACH(NAME, S, npy_ubyte, v) break; \
            case NPY_SHORT: EACH(NAME, S, npy_short, v) break; \
            case NPY_USHORT: EACH(NAME, S, npy_ushort, v) break; \
            case NPY_INT: EACH(NAME, S, npy_int, v) break; \
            case NPY_UINT: EACH(NAME, S, npy_uint, v) break; \
            case NPY_LONG: EACH(NAME, S, npy_long, v) break; \
            case NPY_ULONG: EACH(NAME, S, npy_ulong, v) break; \
            case NPY_LONGLONG: EACH(NAME, S, npy_longlong, v) break; \
            case NPY_ULONGLONG: EACH(NAME, S, npy_ulonglong, v) break; \
            case NPY_FLOAT: EACH(NAME, S, float, v) break; \
            case NPY_DOUBLE: EACH(NAME, S, double, v) break; \
            case NPY_CFLOAT: PAIRS(NAME, S, float) break; \
            case NPY_CDOUBLE: PAIRS(NAME, S, double) break; \
        } \
    }
TYPES(FROM_TYPE)

static int casts(int from, int to)
{
    return from >= 0 && from <= NPY_DOUBLE && to >= 0
           && (to <= NPY_DOUBLE || to == NPY_CFLOAT || to == NPY_CDOUBLE);
}

static void cast(int from, int to, char const *p, npy_intp sp, char *q, npy_intp sq, npy_intp n)
{
    if (from == NPY_BOOL && to == NPY_BOOL) /* keeps its byte */
        from = to = NPY_UBYTE;
    if (to == NPY_BOOL && from == NPY_DOUBLE && sp == sizeof(double) && sq == 1) { /* some bit but the sign's */
        _Pragma("GCC ivdep") for (npy_intp i = 0; i < n; i++) q[i] = ((uint64_t const *)p)[i] << 1 != 0;
        return;
    }
    switch (from) {
#define CASE(NAME, S) case NAME: from_##NAME(to, p, sp, q, sq, n); break;
        TYPES(CASE)
    }
}

typedef struct {
    uint64_t low, high;
} Sixteen;

/* No element depends on another one: the result may be the memory of an operand. */
#define SELECT_OF(T, C, A, B, R) \
    _Pragma("GCC ivdep") for (npy_intp i = 0; i < n; i++) \
    { \
        T u = *(T const *)(a + i * (A)), v = *(T const *)(b + i * (B)); \
        *(T *)(out + i * (R)) = c[i * (C)] ? u : v; \
    }
#define SELECT_SIZE(T) \
    case sizeof(T): { \
        enum { Z = sizeof(T) }; \
        if (sc == 1 && so == Z && sa == Z && sb == Z) \
            SELECT_OF(T, 1, Z, Z, Z) \
        else if (sc == 1 && so == Z && !sa && sb == Z) \
            SELECT_OF(T, 1, 0, Z, Z) \
        else if (sc == 1 && so == Z && sa == Z && !sb) \
            SELECT_OF(T, 1, Z, 0, Z) \
        else \
            SELECT_OF(T, sc, sa, sb, so) \
        break; \
    }

static void select_each(npy_intp size, char **args, npy_intp const *steps, npy_intp n)
{
    char const *c = args[0], *a = args[1], *b = args[2];
    char *out = args[3];
    npy_intp sc = steps[0], sa = steps[1], sb = steps[2], so = steps[3];
    switch (size) {
        SELECT_SIZE(uint8_t) SELECT_SIZE(uint16_t) SELECT_SIZE(uint32_t) SELECT_SIZE(uint64_t) SELECT_SIZE(Sixteen)
    }
}

/* Plans. */

static void plan_dealloc(Plan *self)
{
    PyMem_Free(self->value);
    PyMem_Free(self->step);
    Py_XDECREF(self->held);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* The loop of a ufunc for exactly these types; 0 where there is none that can be called from here. */
static int find_loop(Step *s, PyUFuncObject *f, Value const *value)
{
    int integer = 1;
    for (int k = 0; k < s->count; k++)
        integer = integer && value[s->at[k]].type < NPY_FLOAT;
    if (f->core_enabled || f->nout != 1 || f->nargs != s->count || !f->functions || !f->types || f->iter_flags
        || (integer && loop_is(f, RAISES, value[s->at[0]].type)))
        return 0;
    for (int i = 0; i < f->ntypes; i++) {
        const char *t = f->types + (Py_ssize_t)i * f->nargs;
        int k = 0;
        while (k < s->count && t[k] == value[s->at[k]].type)
            k++;
        if (k < s->count)
            continue;
        s->loop = loop_at(f, i, &s->data);
        s->exact = t[0] < NPY_FLOAT || loop_is(f, EXACT, t[0]);
        s->tiled = loop_is(f, TILED, t[0]);
        return s->loop != NULL;
    }
    return 0;
}

/* What is not of the kinds done here; 0 without an error set. */
static int take_step(Plan *self, Step *s, PyObject *given)
{
    PyObject *what, *at;
    int result;
    if (!PyArg_ParseTuple(given, "OO!i", &what, &PyTuple_Type, &at, &result))
        return -1;
    Py_ssize_t count = PyTuple_GET_SIZE(at);
    if (count < 1 || count >= OPERANDS)
        return 0;
    s->count = (int)count + 1;
    for (Py_ssize_t k = 0; k <= count; k++) {
        long v = k < count ? PyLong_AsLong(PyTuple_GET_ITEM(at, k)) : result;
        if (v < 0 || v >= self->values) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "plan: no such value");
            return -1;
        }
        s->at[k] = (int)v;
    }
    Value const *value = self->value;
    s->exact = 1;
    if (PyObject_TypeCheck(what, &PyUFunc_Type)) {
        s->kind = LOOP;
        return find_loop(s, (PyUFuncObject *)what, value);
    }
    if (count == 1) {
        s->kind = CAST;
        return casts(value[s->at[0]].type, value[s->at[1]].type);
    }
    s->kind = SELECT;
    return count == 3 && value[s->at[0]].type == NPY_BOOL && value[s->at[1]].type == value[s->at[3]].type
           && value[s->at[2]].type == value[s->at[3]].type && value[s->at[3]].size <= (npy_intp)sizeof(Sixteen);
}

static int is_scalar(Plan const *self, int v)
{
    return v >= self->inputs && v < self->inputs + self->scalars;
}

static PyTypeObject PlanType;

static PyObject *make_plan(PyObject *module, PyObject *args)
{
    PyObject *dtypes, *scratch, *steps;
    int inputs, scalars;
    if (!PyArg_ParseTuple(args, "O!O!iiO!", &PyTuple_Type, &dtypes, &PyTuple_Type, &scratch, &inputs, &scalars,
                          &PyTuple_Type, &steps))
        return NULL;
    Plan *self = (Plan *)PlanType.tp_alloc(&PlanType, 0);
    if (!self)
        return NULL;
    self->inputs = inputs;
    self->scalars = scalars;
    self->values = (int)PyTuple_GET_SIZE(dtypes);
    self->steps = (int)PyTuple_GET_SIZE(steps);
    self->widest = 1;
    self->held = Py_NewRef(steps);
    self->value = PyMem_Calloc((size_t)self->values + 1, sizeof(Value));
    self->step = PyMem_Calloc((size_t)self->steps + 1, sizeof(Step));
    int done = 1;
    if (!self->value || !self->step || PyTuple_GET_SIZE(scratch) != self->values || inputs < 0 || scalars < 0
        || inputs + scalars > self->values) {
        PyErr_SetString(PyExc_ValueError, "plan: arguments that do not fit together");
        done = -1;
    }
    for (int v = 0; v < self->values && done == 1; v++) {
        PyObject *d = PyTuple_GET_ITEM(dtypes, v);
        long at = PyLong_AsLong(PyTuple_GET_ITEM(scratch, v));
        if (!PyArray_DescrCheck(d) || (at < 0 && PyErr_Occurred())) {
            PyErr_SetString(PyExc_TypeError, "plan: a dtype and a number for each value");
            done = -1;
            break;
        }
        Value *value = &self->value[v];
        value->type = ((PyArray_Descr *)d)->type_num;
        value->size = PyDataType_ELSIZE((PyArray_Descr *)d);
        value->scratch = (int)at;
        if (value->type == NPY_OBJECT || (value->type > NPY_CLONGDOUBLE && value->type != NPY_HALF)
            || value->size > NUMBER)
            done = 0;
        if (at >= self->buffers)
            self->buffers = (int)at + 1;
        if (value->size > self->widest)
            self->widest = value->size;
    }
    self->exact = 1;
    for (int i = 0; i < self->steps && done == 1; i++) {
        done = take_step(self, &self->step[i], PyTuple_GET_ITEM(steps, i));
        self->exact = self->exact && self->step[i].exact;
        for (int k = 0; k < self->step[i].count && done == 1 && self->step[i].tiled; k++) {
            Value *value = &self->value[self->step[i].at[k]];
            if (is_scalar(self, self->step[i].at[k]) && value->scratch < 0)
                value->scratch = self->buffers++;
        }
    }
    if (done == 1)
        return (PyObject *)self;
    Py_DECREF(self);
    if (done == 0)
        Py_RETURN_NONE;
    return NULL;
}

/* Jobs. */

static void job_dealloc(Job *self)
{
    PyMem_Free(self->place);
    PyMem_Free(self->walk);
    PyMem_Free(self->numbers);
    Py_XDECREF(self->held);
    Py_XDECREF(self->plan);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* Where an array lies in the space, the outer axis first; 0 where it is none that can be taken. */
static int put(Job *self, int v, PyObject *o, int is_result, Py_ssize_t const *shape, int nd, int *axis_of)
{
    if (!PyArray_Check(o))
        return 0;
    PyArrayObject *a = (PyArrayObject *)o;
    int type = PyArray_DESCR(a)->type_num;
    if (PyArray_NDIM(a) > nd || !PyArray_ISALIGNED(a) || !PyArray_ISNOTSWAPPED(a)
        || (type != self->plan->value[v].type && !PyArray_EquivTypenums(type, self->plan->value[v].type))
        || (is_result && !PyArray_ISWRITEABLE(a)))
        return 0;
    Place *place = &self->place[v];
    place->data = PyArray_BYTES(a);
    for (int i = 0; i < nd; i++) {
        int k = i - (nd - PyArray_NDIM(a));
        npy_intp n = k < 0 ? 1 : PyArray_DIM(a, k);
        if (n != shape[i] && (n != 1 || is_result))
            return 0;
        if (axis_of[i] >= 0)
            place->strides[axis_of[i]] = n == 1 ? 0 : PyArray_STRIDE(a, k);
    }
    return 1;
}

/* Fewer axes: one of two where the outer goes on where the inner ends, for all arrays. */
static void coalesce(Job *self)
{
    int at = 0, values = self->plan->values;
    for (int i = 1; i < self->nd; i++) {
        int goes_on = 1;
        for (int v = 0; v < values && goes_on; v++) {
            npy_intp *s = self->place[v].strides;
            goes_on = !self->place[v].data || s[at] == s[i] * self->dims[i];
        }
        at += !goes_on;
        self->dims[at] = goes_on ? self->dims[at] * self->dims[i] : self->dims[i];
        for (int v = 0; v < values; v++)
            self->place[v].strides[at] = self->place[v].strides[i];
    }
    self->nd = at + 1;
}

/* Which axis is split, and into what: the inner ones go whole into a block of about so many elements. What a loop does at
 * the end, where a register is not full, it may not do elsewhere: of an array without gaps it is then given whole ones. */
static void split(Job *self, npy_intp elements)
{
    npy_intp inner = 1;
    self->axis = self->nd - 1;
    while (self->axis > 0 && inner * self->dims[self->axis] <= elements)
        inner *= self->dims[self->axis--];
    npy_intp n = self->dims[self->axis], rows = 1;
    self->part = elements / inner < 1 ? 1 : elements / inner;
    while (rows * inner % WHOLE)
        rows *= 2;
    if (!self->plan->exact && !self->axis && rows * inner <= MOST * elements)
        self->part = self->part < rows ? rows : self->part / rows * rows;
    self->part = self->part < n ? self->part : n;
    self->parts = (n + self->part - 1) / self->part;
    self->blocks = self->parts;
    for (int i = 0; i < self->axis; i++)
        self->blocks *= self->dims[i];
    npy_intp bytes = self->part * inner * self->plan->widest;
    self->buffer = (bytes + REGISTER - 1) / REGISTER * REGISTER + APART;
}

/* The walk of a step; 0 where its loop must not be given strides, or would be called for too little. */
static int lay(Job *self, Step const *s, Walk *w)
{
    Plan *plan = self->plan;
    int at = 0;
    for (int i = 0; i < self->nd - self->axis; i++) {
        int from = self->nd - 1 - i;
        npy_intp strides[OPERANDS] = {0}, n = from == self->axis ? 1 : self->dims[from];
        for (int k = 0; k < s->count; k++) {
            int v = s->at[k];
            if (self->place[v].data)
                strides[k] = self->place[v].strides[from];
            else if (plan->value[v].scratch >= 0) {
                strides[k] = plan->value[v].size;
                for (int j = from + 1; j < self->nd; j++)
                    strides[k] *= self->dims[j];
            }
        }
        int goes_on = i > 0;
        for (int k = 0; k < s->count && goes_on; k++)
            goes_on = strides[k] == w->strides[k][at] * w->dims[at];
        if (goes_on) {
            w->dims[at] *= n;
            continue;
        }
        at += i > 0;
        w->dims[at] = n;
        for (int k = 0; k < s->count; k++)
            w->strides[k][at] = strides[k];
    }
    w->nd = at + 1;
    if (at && w->dims[0] < SHORT)
        return 0;
    if (s->exact)
        return 1;
    for (int k = 0; k < s->count; k++) {
        int v = s->at[k];
        if (!is_scalar(plan, v) && (w->nd > 1 || w->strides[k][0] != plan->value[v].size))
            return 0;
    }
    return 1;
}

static PyTypeObject JobType;

/* A scalar in the memory of an element. NumPy warns of numbers that single precision does not hold: not here. */
static int put_number(PyObject *number, int type, char *to)
{
    if (type == NPY_FLOAT && PyFloat_Check(number)) {
        *(float *)to = (float)PyFloat_AS_DOUBLE(number);
        return 0;
    }
    if (type == NPY_CFLOAT && (PyComplex_Check(number) || PyFloat_Check(number))) {
        ((float *)to)[0] = (float)PyComplex_RealAsDouble(number);
        ((float *)to)[1] = (float)PyComplex_ImagAsDouble(number);
        return 0;
    }
    if (type == NPY_DOUBLE && PyFloat_Check(number)) {
        *(double *)to = PyFloat_AS_DOUBLE(number);
        return 0;
    }
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    int done = descr ? PyArray_Pack(descr, to, number) : -1;
    Py_XDECREF(descr);
    return done;
}

static int fill_job(Job *self, PyObject *ins, PyObject *numbers, PyObject *results, PyObject *dims, npy_intp elements)
{
    Plan *plan = self->plan;
    Py_ssize_t shape[NPY_MAXDIMS];
    int axis_of[NPY_MAXDIMS], nd = (int)PyTuple_GET_SIZE(dims);
    if (nd > NPY_MAXDIMS || PyTuple_GET_SIZE(ins) != plan->inputs || PySequence_Size(numbers) != plan->scalars)
        return 0;
    for (int i = 0; i < nd; i++) {
        shape[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(dims, i));
        if (shape[i] < 1)
            return PyErr_Occurred() ? -1 : 0;
        axis_of[i] = shape[i] == 1 ? -1 : self->nd++;
        if (self->nd > AXES)
            return 0;
        if (axis_of[i] >= 0)
            self->dims[axis_of[i]] = shape[i];
    }
    if (!self->nd) /* one element */
        self->dims[self->nd++] = 1;
    for (int v = 0; v < plan->inputs; v++)
        if (!put(self, v, PyTuple_GET_ITEM(ins, v), 0, shape, nd, axis_of))
            return 0;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(results, &at, &key, &value)) {
        long v = PyLong_AsLong(key);
        if (v < plan->inputs + plan->scalars || v >= plan->values)
            return PyErr_Occurred() ? -1 : 0;
        if (!put(self, (int)v, value, 1, shape, nd, axis_of))
            return 0;
    }
    for (int i = 0; i < plan->steps; i++) {
        int v = plan->step[i].at[plan->step[i].count - 1];
        if (!self->place[v].data && plan->value[v].scratch < 0)
            return 0;
    }
    for (int k = 0; k < plan->scalars; k++) {
        PyObject *number = PySequence_GetItem(numbers, k);
        int done = number ? put_number(number, plan->value[plan->inputs + k].type, self->numbers + (size_t)k * NUMBER) : -1;
        Py_XDECREF(number);
        if (done < 0) { /* a comparison may be with an integer that the type does not have */
            PyErr_Clear();
            return 0;
        }
    }
    coalesce(self);
    split(self, elements);
    for (int i = 0; i < plan->steps; i++)
        if (!lay(self, &plan->step[i], &self->walk[i]))
            return 0;
    return 1;
}

static PyObject *plan_job(Plan *plan, PyObject *args)
{
    PyObject *ins, *numbers, *results, *shape;
    Py_ssize_t elements;
    if (!PyArg_ParseTuple(args, "O!OO!O!n", &PyTuple_Type, &ins, &numbers, &PyDict_Type, &results, &PyTuple_Type, &shape,
                          &elements))
        return NULL;
    Job *self = (Job *)JobType.tp_alloc(&JobType, 0);
    if (!self)
        return NULL;
    self->plan = (Plan *)Py_NewRef(plan);
    self->place = PyMem_Calloc((size_t)plan->values + 1, sizeof(Place));
    self->walk = PyMem_Calloc((size_t)plan->steps + 1, sizeof(Walk));
    self->numbers = PyMem_Calloc((size_t)plan->scalars + 1, NUMBER);
    self->held = PyTuple_Pack(2, ins, results);
    atomic_init(&self->next, 0);
    int done = -1;
    if (self->place && self->walk && self->numbers && self->held)
        done = fill_job(self, ins, numbers, results, shape, elements < 1 ? 1 : elements);
    else if (!PyErr_Occurred())
        PyErr_NoMemory();
    if (done == 1)
        return (PyObject *)self;
    Py_DECREF(self);
    if (done == 0)
        Py_RETURN_NONE;
    return NULL;
}

static void run_step(Plan const *plan, Step const *s, Walk const *w, char **data, npy_intp extent)
{
    npy_intp steps[OPERANDS], index[AXES] = {0}, last = w->dims[w->nd - 1] * extent;
    for (int k = 0; k < s->count; k++)
        steps[k] = w->strides[k][0];
    for (;;) {
        npy_intp n = w->nd == 1 ? last : w->dims[0];
        char *args[OPERANDS];
        memcpy(args, data, sizeof args); /* a loop may move them */
        if (s->kind == LOOP)
            s->loop(args, &n, steps, s->data);
        else if (s->kind == SELECT)
            select_each(plan->value[s->at[3]].size, args, steps, n);
        else
            cast(plan->value[s->at[0]].type, plan->value[s->at[1]].type, args[0], steps[0], args[1], steps[1], n);
        int i = 1;
        for (; i < w->nd; i++) {
            npy_intp end = i == w->nd - 1 ? last : w->dims[i];
            for (int k = 0; k < s->count; k++)
                data[k] += w->strides[k][i];
            if (++index[i] < end)
                break;
            for (int k = 0; k < s->count; k++)
                data[k] -= w->strides[k][i] * end;
            index[i] = 0;
        }
        if (i >= w->nd)
            return;
    }
}

/* One block: where each value lies, then the steps. */
static void run_block(Job *self, long long b, char *scratch, char **at)
{
    Plan const *plan = self->plan;
    npy_intp start = (npy_intp)(b % self->parts) * self->part, left = self->dims[self->axis] - start;
    npy_intp extent = left < self->part ? left : self->part, row = (npy_intp)(b / self->parts), index[AXES];
    for (int i = self->axis - 1; i >= 0; i--) {
        index[i] = row % self->dims[i];
        row /= self->dims[i];
    }
    for (int v = 0; v < plan->values; v++) {
        Place const *place = &self->place[v];
        if (place->data) {
            at[v] = place->data + start * place->strides[self->axis];
            for (int i = 0; i < self->axis; i++)
                at[v] += index[i] * place->strides[i];
        }
        else if (plan->value[v].scratch >= 0)
            at[v] = scratch + plan->value[v].scratch * self->buffer;
        else if (is_scalar(plan, v))
            at[v] = self->numbers + (size_t)(v - plan->inputs) * NUMBER;
    }
    for (int i = 0; i < plan->steps; i++) {
        Step const *s = &plan->step[i];
        char *data[OPERANDS];
        for (int k = 0; k < s->count; k++)
            data[k] = at[s->at[k]];
        run_step(plan, s, &self->walk[i], data, extent);
    }
}

/* Scalars that are repeated in memory. */
static void fill(Job const *self, char *scratch)
{
    Plan const *plan = self->plan;
    for (int k = 0; k < plan->scalars; k++) {
        Value const *value = &plan->value[plan->inputs + k];
        if (value->scratch < 0)
            continue;
        char *to = scratch + value->scratch * self->buffer;
        npy_intp need = (self->buffer - APART) / plan->widest * value->size;
        memcpy(to, self->numbers + (size_t)k * NUMBER, (size_t)value->size);
        for (npy_intp have = value->size; have < need; have *= 2)
            memcpy(to + have, to, (size_t)(have < need - have ? have : need - have));
    }
}

static PyObject *job_work(Job *self, PyObject *args)
{
    PyObject *given;
    Py_buffer view;
    long long most = LLONG_MAX;
    if (!PyArg_ParseTuple(args, "O|L", &given, &most) || PyObject_GetBuffer(given, &view, PyBUF_WRITABLE) < 0)
        return NULL;
    char **at = PyMem_Malloc(((size_t)self->plan->values + 1) * sizeof *at);
    if (!at)
        PyErr_NoMemory();
    else if (view.len < self->buffer * self->plan->buffers + REGISTER)
        PyErr_SetString(PyExc_ValueError, "work: scratch memory is too small");
    if (PyErr_Occurred()) {
        PyMem_Free(at);
        PyBuffer_Release(&view);
        return NULL;
    }
    char *scratch = (char *)(((uintptr_t)view.buf + REGISTER - 1) / REGISTER * REGISTER);
    npy_intp work = self->plan->steps;
    for (int i = 0; i < self->nd; i++)
        work *= self->dims[i];
    PyThreadState *save = work > UNLOCKED ? PyEval_SaveThread() : NULL;
    fill(self, scratch);
    long long done = 0;
    for (; done < most; done++) {
        long long b = atomic_fetch_add(&self->next, 1);
        if (b >= self->blocks)
            break;
        run_block(self, b, scratch, at);
    }
    feclearexcept(FE_ALL_EXCEPT);
    if (save)
        PyEval_RestoreThread(save);
    PyMem_Free(at);
    PyBuffer_Release(&view);
    return PyLong_FromLongLong(done);
}

static PyObject *job_need(Job *self, void *closure)
{
    return PyLong_FromSsize_t(self->buffer * self->plan->buffers + REGISTER);
}

static PyObject *job_blocks(Job *self, void *closure)
{
    return PyLong_FromSsize_t(self->blocks);
}

static PyMethodDef plan_methods[] = {
    {"job", (PyCFunction)plan_job, METH_VARARGS,
     "job(inputs, scalars, results, shape, elements): the plan on these arrays, in blocks of about so many elements; None "
     "where they lie so that it cannot be done here. results: by the number of the value."},
    {NULL}};
static PyMethodDef job_methods[] = {
    {"work", (PyCFunction)job_work, METH_VARARGS,
     "work(scratch, most=all): do blocks until none is left, or so many; whether there may be more. scratch has `need` "
     "bytes."},
    {NULL}};
static PyGetSetDef job_attributes[] = {{"need", (getter)job_need, NULL, "bytes of scratch memory", NULL},
                                       {"blocks", (getter)job_blocks, NULL, "how many there are", NULL},
                                       {NULL}};
static PyTypeObject PlanType = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lazynp._blocks.Plan",
                                .tp_basicsize = sizeof(Plan), .tp_flags = Py_TPFLAGS_DEFAULT,
                                .tp_dealloc = (destructor)plan_dealloc, .tp_methods = plan_methods};
static PyTypeObject JobType = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lazynp._blocks.Job",
                               .tp_basicsize = sizeof(Job), .tp_flags = Py_TPFLAGS_DEFAULT,
                               .tp_dealloc = (destructor)job_dealloc, .tp_methods = job_methods,
                               .tp_getset = job_attributes};
static PyObject *bind(PyObject *module, PyObject *loops)
{
    Py_XSETREF(known_loops, Py_NewRef(loops));
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"stacked_product", stacked_product, METH_VARARGS,
     "stacked_product(a, b, out, fused): numpy.matmul of stacks that were broadcast, of float32 or float64, of matrices with "
     "at most 8 rows and columns, into one without gaps. See `_stacks.h`."},
    {"search", search, METH_VARARGS,
     "search(table, keys, out, right, kind): numpy.searchsorted of keys in a short table without NaN, all without gaps and "
     "of one kind (d, f, l, i). See `_searches.h`."},
    {"tally", tally, METH_VARARGS,
     "tally(edges, keys, counts, even, kind): numpy.histogram of keys, added to counts. See `_searches.h`."},
    {"bind", bind, METH_O, "bind(loops): what is known of the loops of NumPy's ufuncs, as `_loops.h` has it."},
    {"plan", make_plan, METH_VARARGS,
     "plan(dtypes, scratch, inputs, scalars, steps): a kernel. For each value its dtype and the number of its scratch "
     "buffer, or -1; a step is (ufunc or None for a cast or a select, operands, result). None where a step cannot be done "
     "here."},
    {NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_blocks", .m_size = -1,
                                        .m_methods = functions,
                                        .m_doc = "The interpreter's blocks; see `backends/numpy/blocked.py`."};

PyMODINIT_FUNC PyInit__blocks(void)
{
    import_array();
    import_umath();
    if (PyType_Ready(&PlanType) < 0 || PyType_Ready(&JobType) < 0) return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module && (PyModule_AddIntMacro(module, AXES) < 0 || PyModule_AddIntMacro(module, EDGE) < 0)) Py_CLEAR(module);
    return module;
}
