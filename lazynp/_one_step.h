/* Small programs as one C function: the body of a loop of one step, as `runtime/loops.py` has it compiled.
 *
 * `OneStep` is the base class of `runtime.one_step.OneStep`. Until `enter` has given it a function its Python methods do all.
 * Programs that take long let go of the interpreter. Short ones do not: whoever waits for it keeps it for a switch interval.
 */
#include <time.h>

enum { MOST_ARRAYS = 384 }; /* inputs, constants, results */
#define LONG 100000         /* nanoseconds from which the interpreter is let go of */

typedef int64_t (*StepFunction)(PyObject **arrays, int64_t begin, int64_t end, int64_t length, PyObject *python);

typedef struct {
    PyObject_HEAD
    StepFunction function;
    PyObject *inputs;    /* their dtypes */
    PyObject *constants; /* arrays that follow the inputs */
    PyObject *results;   /* pairs of shape and dtype */
    PyObject *spare;     /* a workspace, and what Python computes in it or None: for the next call */
    int64_t seconds;     /* nanoseconds that the last call took */
} OneStep;

static int steps_are_run = 1; /* whether compiled functions may be called here */
static long long steps_made, steps_time;

static int64_t clock_now(void)
{
    struct timespec t;
#ifdef CLOCK_MONOTONIC
    clock_gettime(CLOCK_MONOTONIC, &t);
#else
    timespec_get(&t, TIME_UTC);
#endif
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The results for inputs, which are C-contiguous arrays of the right dtypes. 0 or -1. */
static int one_step_run(OneStep *p, PyObject **inputs, PyObject **results)
{
    PyObject *arrays[MOST_ARRAYS + 1];
    Py_ssize_t n = PyTuple_GET_SIZE(p->inputs), m = PyTuple_GET_SIZE(p->constants), r = PyTuple_GET_SIZE(p->results), made;
    PyObject *room = p->spare;
    p->spare = NULL;
    if (!room && !(room = PyObject_CallMethod((PyObject *)p, "room", NULL)))
        return -1;
    memcpy(arrays, inputs, n * sizeof *arrays);
    memcpy(arrays + n, &PyTuple_GET_ITEM(p->constants, 0), m * sizeof *arrays);
    for (made = 0; made < r; made++) {
        PyObject *pair = PyTuple_GET_ITEM(p->results, made), *shape = PyTuple_GET_ITEM(pair, 0);
        npy_intp dims[NPY_MAXDIMS];
        for (Py_ssize_t d = 0; d < PyTuple_GET_SIZE(shape); d++)
            dims[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, d));
        results[made] = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(PyTuple_GET_ITEM(pair, 1)),
                                             (int)PyTuple_GET_SIZE(shape), dims, NULL, NULL, 0, NULL);
        if (!results[made])
            break;
    }
    memcpy(arrays + n + m, results, made * sizeof *arrays);
    arrays[n + m + r] = PyTuple_GET_ITEM(room, 0);
    PyObject *python = PyTuple_GET_ITEM(room, 1);
    if (python == Py_None && p->seconds > LONG)
        python = NULL;
    PyObject *constants = Py_NewRef(p->constants); /* `leave` may be called meanwhile */
    int64_t began = clock_now(), done = made == r ? p->function(arrays, 0, 1, 1, python) : -1;
    p->seconds = clock_now() - began;
    Py_DECREF(constants);
    steps_made++;
    steps_time += p->seconds;
    if (p->spare)
        Py_DECREF(room); /* another thread's has come back first */
    else
        p->spare = room;
    if (done == 1)
        return 0;
    while (made)
        Py_DECREF(results[--made]);
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_SystemError, "compiled code has failed without an error");
    return -1;
}

/* step(values) -> list of results: values are arrays, or numbers. */
static PyObject *one_step_call(OneStep *p, PyObject *values)
{
    PyObject *inputs[MOST_ARRAYS], *results[MOST_ARRAYS], *out = NULL;
    Py_ssize_t n = p->function ? PyTuple_GET_SIZE(p->inputs) : -1, k = 0;
    if (!PyList_CheckExact(values) || PyList_GET_SIZE(values) != n) {
        PyErr_SetString(PyExc_TypeError, "step(values): a list of as many values as there are inputs");
        return NULL;
    }
    for (; k < n; k++) {
        PyObject *x = PyList_GET_ITEM(values, k);
        PyArray_Descr *dtype = (PyArray_Descr *)PyTuple_GET_ITEM(p->inputs, k);
        if (PyArray_CheckExact(x) && PyArray_DESCR((PyArrayObject *)x) == dtype && PyArray_ISCARRAY_RO((PyArrayObject *)x))
            inputs[k] = Py_NewRef(x);
        else
            inputs[k] = PyArray_FromAny(x, (PyArray_Descr *)Py_NewRef(dtype), 0, 0,
                                        NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST | NPY_ARRAY_ENSUREARRAY, NULL);
        if (!inputs[k])
            break;
    }
    if (k == n && one_step_run(p, inputs, results) == 0) {
        Py_ssize_t r = PyTuple_GET_SIZE(p->results);
        out = PyList_New(r);
        for (Py_ssize_t i = 0; i < r; i++)
            if (out)
                PyList_SET_ITEM(out, i, results[i]);
            else
                Py_DECREF(results[i]);
    }
    while (k)
        Py_DECREF(inputs[--k]);
    return out;
}

/* enter(address, inputs, constants, results): from now on, call the function at that address. */
static PyObject *one_step_enter(OneStep *p, PyObject *given)
{
    unsigned long long address;
    PyObject *inputs, *constants, *results;
    if (!PyArg_ParseTuple(given, "KO!O!O!", &address, &PyTuple_Type, &inputs, &PyTuple_Type, &constants, &PyTuple_Type, &results))
        return NULL;
    int fits = PyTuple_GET_SIZE(inputs) + PyTuple_GET_SIZE(constants) + PyTuple_GET_SIZE(results) <= MOST_ARRAYS;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++)
        fits = fits && PyArray_DescrCheck(PyTuple_GET_ITEM(inputs, i));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); i++)
        fits = fits && PyArray_CheckExact(PyTuple_GET_ITEM(constants, i));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(results); i++) {
        PyObject *pair = PyTuple_GET_ITEM(results, i);
        fits = fits && PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2 && PyTuple_CheckExact(PyTuple_GET_ITEM(pair, 0))
               && PyTuple_GET_SIZE(PyTuple_GET_ITEM(pair, 0)) <= NPY_MAXDIMS && PyArray_DescrCheck(PyTuple_GET_ITEM(pair, 1));
    }
    if (!fits)
        Py_RETURN_FALSE;
    Py_XSETREF(p->inputs, Py_NewRef(inputs));
    Py_XSETREF(p->constants, Py_NewRef(constants));
    Py_XSETREF(p->results, Py_NewRef(results));
    p->function = (StepFunction)(uintptr_t)address;
    Py_RETURN_TRUE;
}

static int one_step_traverse(OneStep *p, visitproc visit, void *arg)
{
    Py_VISIT(p->spare);
    Py_VISIT(p->constants);
    return 0;
}

static int one_step_clear(OneStep *p)
{
    Py_CLEAR(p->spare);
    return 0;
}

static void one_step_dealloc(OneStep *p)
{
    PyObject_GC_UnTrack(p);
    Py_XDECREF(p->inputs);
    Py_XDECREF(p->constants);
    Py_XDECREF(p->results);
    Py_XDECREF(p->spare);
    Py_TYPE(p)->tp_free((PyObject *)p);
}

static PyMethodDef one_step_methods[] = {
    {"step", (PyCFunction)one_step_call, METH_O, "step(values): the list of results, by the compiled function."},
    {"enter", (PyCFunction)one_step_enter, METH_VARARGS,
     "enter(address, inputs, constants, results): have the function at that address called. `inputs`: their dtypes; `constants`: "
     "arrays that follow them; `results`: pairs of shape and dtype. False where there are too many."},
    {NULL}};

static PyTypeObject OneStepType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lazynp._calls.OneStepBase",
    .tp_basicsize = sizeof(OneStep),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_dealloc = (destructor)one_step_dealloc,
    .tp_traverse = (traverseproc)one_step_traverse,
    .tp_clear = (inquiry)one_step_clear,
    .tp_methods = one_step_methods,
    .tp_doc = "A small program, and the function that it was compiled to.",
};

/* allow_steps(yes): whether signatures call compiled functions; otherwise the Python object is called. */
static PyObject *allow_steps(PyObject *module, PyObject *yes)
{
    steps_are_run = PyObject_IsTrue(yes);
    Py_RETURN_NONE;
}

/* steps() -> (how many compiled functions were called here, seconds) */
static PyObject *count_steps(PyObject *module, PyObject *unused)
{
    return Py_BuildValue("Ld", steps_made, 1e-9 * (double)steps_time);
}
