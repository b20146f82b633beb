/* Trees of tuples, lists, dicts and None, for `_calls.c`: written down once, then matched with and built anew. */
#ifndef LAZYNP_CALLS_TREE_H
#define LAZYNP_CALLS_TREE_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

/* Kinds of nodes in the order in which they are met, and the sorted keys of each dict. ANYTHING, which `...` stands for, is
 * what somebody else compares. */

enum { LEAF, NOTHING, ANYTHING, TUPLE, LIST, DICT };

typedef struct {
    char kind;
    Py_ssize_t count;
    PyObject *keys;  /* of a dict: a sorted list */
    PyObject *model; /* of a dict: one with the keys in their order */
} Part;

typedef struct {
    Py_ssize_t count, room, leaves;
    Part *parts;
} Tree;

static void tree_free(Tree *t)
{
    for (Py_ssize_t i = 0; i < t->count; i++) {
        Py_XDECREF(t->parts[i].keys);
        Py_XDECREF(t->parts[i].model);
    }
    PyMem_Free(t->parts);
    memset(t, 0, sizeof *t);
}

static int is_leaf(PyObject *x); /* what ends a tree */

/* Add a tree like this one. 1: done; 0: it has parts that are not known here; -1: an error. */
static int tree_add(Tree *t, PyObject *x)
{
    if (t->count == t->room) {
        Py_ssize_t room = t->room ? 2 * t->room : 8;
        Part *parts = PyMem_Realloc(t->parts, room * sizeof(Part));
        if (!parts) {
            PyErr_NoMemory();
            return -1;
        }
        t->parts = parts;
        t->room = room;
    }
    Part *p = &t->parts[t->count++];
    memset(p, 0, sizeof *p);
    if (is_leaf(x)) {
        p->kind = LEAF;
        t->leaves++;
        return 1;
    }
    if (x == Py_None || x == Py_Ellipsis) {
        p->kind = x == Py_None ? NOTHING : ANYTHING;
        return 1;
    }
    if (PyTuple_CheckExact(x) || PyList_CheckExact(x)) {
        p->kind = PyTuple_CheckExact(x) ? TUPLE : LIST;
        Py_ssize_t n = p->count = PySequence_Fast_GET_SIZE(x);
        for (Py_ssize_t i = 0; i < n; i++) {
            int done = tree_add(t, PySequence_Fast_GET_ITEM(x, i));
            if (done != 1)
                return done;
        }
        return 1;
    }
    if (!PyDict_CheckExact(x))
        return 0;
    p->kind = DICT;
    PyObject *keys = p->keys = PyDict_Keys(x), *model = p->model = PyDict_Copy(x);
    if (!keys || !model)
        return -1;
    if (PyList_Sort(keys) < 0) {
        PyErr_Clear();
        return 0;
    }
    Py_ssize_t n = p->count = PyList_GET_SIZE(keys);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *key = PyList_GET_ITEM(keys, i), *value = PyDict_GetItemWithError(x, key);
        int done = value ? tree_add(t, value) : -1;
        if (done != 1)
            return done;
        if (PyDict_SetItem(model, key, Py_None) < 0)
            return -1;
    }
    return 1;
}

/* The leaves (borrowed) of an object that has the tree's form. 1: it has; 0: it has not; -1: an error. */
static int tree_match(const Tree *t, Py_ssize_t *at, PyObject *x, PyObject **leaves, Py_ssize_t *found)
{
    const Part *p = &t->parts[(*at)++];
    switch (p->kind) {
    case LEAF:
        leaves[(*found)++] = x;
        return 1;
    case NOTHING:
        return x == Py_None;
    case ANYTHING:
        return 1;
    case DICT:
        if (!PyDict_CheckExact(x) || PyDict_GET_SIZE(x) != p->count)
            return 0;
        for (Py_ssize_t i = 0; i < p->count; i++) {
            PyObject *value = PyDict_GetItemWithError(x, PyList_GET_ITEM(p->keys, i));
            int same = value ? tree_match(t, at, value, leaves, found) : PyErr_Occurred() ? -1 : 0;
            if (same != 1)
                return same;
        }
        return 1;
    default:
        if (!(p->kind == TUPLE ? PyTuple_CheckExact(x) : PyList_CheckExact(x))
            || PySequence_Fast_GET_SIZE(x) != p->count)
            return 0;
        for (Py_ssize_t i = 0; i < p->count; i++) {
            int same = tree_match(t, at, PySequence_Fast_GET_ITEM(x, i), leaves, found);
            if (same != 1)
                return same;
        }
        return 1;
    }
}

/* An object of the tree's form with these leaves, whose references it takes one by one. */
static PyObject *tree_build(const Tree *t, Py_ssize_t *at, PyObject **leaves, Py_ssize_t *used)
{
    const Part *p = &t->parts[(*at)++];
    PyObject *out;
    switch (p->kind) {
    case LEAF:
        out = leaves[*used];
        leaves[(*used)++] = NULL;
        return out;
    case NOTHING:
    case ANYTHING:
        Py_RETURN_NONE;
    case DICT:
        out = PyDict_Copy(p->model);
        for (Py_ssize_t i = 0; out && i < p->count; i++) {
            PyObject *value = tree_build(t, at, leaves, used);
            if (!value || PyDict_SetItem(out, PyList_GET_ITEM(p->keys, i), value) < 0)
                Py_CLEAR(out);
            Py_XDECREF(value);
        }
        return out;
    default:
        out = p->kind == TUPLE ? PyTuple_New(p->count) : PyList_New(p->count);
        for (Py_ssize_t i = 0; out && i < p->count; i++) {
            PyObject *value = tree_build(t, at, leaves, used);
            if (!value) {
                Py_CLEAR(out);
            } else if (p->kind == TUPLE) {
                PyTuple_SET_ITEM(out, i, value);
            } else {
                PyList_SET_ITEM(out, i, value);
            }
        }
        return out;
    }
}

#endif
