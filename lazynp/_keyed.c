/* The random numbers of keys, for Python: what `_keyed.h` computes, on buffers. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "_keyed.h"

/* Buffers are C-contiguous; their lengths are checked. */

static PyObject *py_apply(PyObject *self, PyObject *args)
{
    int which, size;
    Py_buffer x, out;
    if (!PyArg_ParseTuple(args, "iiy*w*", &which, &size, &x, &out)) return NULL;
    int good = which >= 0 && which < LOOPS && (size == 4 || size == 8) && x.len == out.len;
    if (good) {
        Loop loop = size == 4 ? loops[which].f : loops[which].d;
        Py_BEGIN_ALLOW_THREADS
        loop(x.buf, out.buf, x.len / size);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&x);
    PyBuffer_Release(&out);
    if (!good) return PyErr_Format(PyExc_ValueError, "bad arguments of apply");
    Py_RETURN_NONE;
}

static PyObject *py_power(PyObject *self, PyObject *args)
{
    int size;
    Py_buffer x, y, out;
    if (!PyArg_ParseTuple(args, "iy*y*w*", &size, &x, &y, &out)) return NULL;
    int good = (size == 4 || size == 8) && x.len == out.len && y.len == out.len;
    if (good) {
        Py_ssize_t n = out.len / size;
        Py_BEGIN_ALLOW_THREADS
        if (size == 4) powers_f(x.buf, y.buf, out.buf, n);
        else powers_d(x.buf, y.buf, out.buf, n);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&x);
    PyBuffer_Release(&y);
    PyBuffer_Release(&out);
    if (!good) return PyErr_Format(PyExc_ValueError, "bad arguments of power");
    Py_RETURN_NONE;
}

static PyObject *py_fill(PyObject *self, PyObject *args)
{
    Py_buffer keys, out;
    unsigned long long first;
    Py_ssize_t n;
    int width;
    if (!PyArg_ParseTuple(args, "y*Kniw*", &keys, &first, &n, &width, &out)) return NULL;
    Py_ssize_t count = keys.len / 8;
    int good = (width == 8 || width == 16 || width == 32 || width == 64) && n >= 0 && out.len == count * n * (width / 8);
    if (good) {
        const uint32_t *k = keys.buf;
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t i = 0; i < count; i++)
            fill(k[2 * i], k[2 * i + 1], first, n, width, (char *)out.buf + i * n * (width / 8));
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&keys);
    PyBuffer_Release(&out);
    if (!good) return PyErr_Format(PyExc_ValueError, "bad arguments of fill");
    Py_RETURN_NONE;
}

static PyObject *py_hash(PyObject *self, PyObject *args)
{
    Py_buffer k0, k1, x0, x1;
    if (!PyArg_ParseTuple(args, "y*y*w*w*", &k0, &k1, &x0, &x1)) return NULL;
    Py_ssize_t n = x0.len / 4;
    int one = k0.len == 4 && k1.len == 4, good = x1.len == x0.len && (one || (k0.len == x0.len && k1.len == x0.len));
    if (good) {
        Py_BEGIN_ALLOW_THREADS
        if (one) hash_one_key(*(uint32_t *)k0.buf, *(uint32_t *)k1.buf, x0.buf, x1.buf, n);
        else hash_keys(k0.buf, k1.buf, x0.buf, x1.buf, n);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&k0);
    PyBuffer_Release(&k1);
    PyBuffer_Release(&x0);
    PyBuffer_Release(&x1);
    if (!good) return PyErr_Format(PyExc_ValueError, "bad arguments of hash");
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"apply", py_apply, METH_VARARGS, "apply(which, itemsize, x, out): an elementwise function, by its number."},
    {"power", py_power, METH_VARARGS, "power(itemsize, x, y, out): x to the y."},
    {"fill", py_fill, METH_VARARGS, "fill(keys, first, n, width, out): n words under each key, from a counter on."},
    {"hash", py_hash, METH_VARARGS, "hash(k0, k1, x0, x1): threefry of the counters, in place, under one key or one each."},
    {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "lazynp._keyed", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__keyed(void) { return PyModule_Create(&module); }
