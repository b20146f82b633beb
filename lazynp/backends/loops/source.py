"""C++ for a whole loop: elementwise steps over one shape share a loop nest, views are index arithmetic, values of one
element are variables, other values lie in a workspace that the caller gives.

`int64_t run(char** arrays, int64_t begin, int64_t end, int64_t length, void* python)`: of a scan steps begin to end (of
`length`). The arrays are NumPy's objects: what all steps read and what is walked along, constants, the
carry, the stacked results, a workspace. Of a while loop, as long as the condition holds, `end` steps at most; the
number of steps that were made is returned. The carry is read and overwritten, so that a loop can be left and entered
again between any two steps. `python(k)` does the k-th step that has no C++; without such steps `python` is null, and
the loop lets go of the interpreter. The caller asks for as many steps as may go by without a look for signals; loops
inside of a step look themselves, where they may take long. Where a handler or `python` has raised, -1 is returned, with
the exception set.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from ..exact import SUM
from . import calls, keyed, matrices, sums  # noqa: F401  they know how to write their steps
from .control import Carry, step, test
from .libraries import declarations
from .program import Loop, Site, Value
from .scalar import INCLUDES, PRELUDE, WITH_COMPLEX, WITHOUT_COMPLEX, ctype
from .writer import Place, Writer, dense

WATCH = """\
#include <time.h>
extern "C" {
void* PyEval_SaveThread(void);
void PyEval_RestoreThread(void*);
int PyErr_CheckSignals(void);
void* PyObject_CallFunction(void*, const char*, ...);
void Py_DecRef(void*);
}
// The steps of inner loops are counted, to look at the clock every 10 ms or so, and for signals every 50 ms.
struct Watch {
    void* const python;
    void* thread;
    int64_t stride = 1, seen, checked;
    explicit Watch(void* python) : python(python), thread(python ? nullptr : PyEval_SaveThread()) {
        seen = checked = now();
    }
    ~Watch() { if (thread) PyEval_RestoreThread(thread); }
    static int64_t now() {
        timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * 1000 + t.tv_nsec / 1000000;
    }
    // After how many steps to look again; -1 if a signal handler has raised.
    __attribute__((noinline, cold)) int64_t look() {
        const int64_t t = now(), since = t - seen;
        if (since < 5) stride = std::min<int64_t>(2 * stride, 1 << 24);
        else if (since > 20) stride = std::max<int64_t>(1, stride / 4);
        seen = t;
        if (t - checked < 50) return stride;
        checked = t;
        if (thread) PyEval_RestoreThread(thread);
        const bool raised = PyErr_CheckSignals() != 0;
        if (thread) thread = PyEval_SaveThread();
        return raised ? -1 : stride;
    }
    bool call(int64_t step) {
        void* const made = PyObject_CallFunction(python, "L", (long long)step);
        if (made) Py_DecRef(made);
        return made;
    }
};
"""
COMPLEX = re.compile(r"\bcfloat\b|\bcdouble\b|std::complex")
CHAPTERS = {"keyed": keyed.PRELUDE, "exact": SUM, "matrices": matrices.PRELUDE, "sums": sums.PRELUDE}


class Source(NamedTuple):
    """The text, the bytes of workspace that it needs, the arrays to pass after the inputs, and the steps for Python."""

    text: str
    workspace: int
    arrays: list[np.ndarray]
    sites: list[Site]


def generate(loop: Loop) -> Source:
    """The C++ of a loop. Raises Unsupported."""
    body = loop.bodies[-1]
    a, b = loop.counts
    scanning = loop.kind == "scan"
    first = a if scanning else b
    n_carry = b if scanning else body.n_inputs - b
    rows = range(first + n_carry, body.n_inputs)
    count = body.n_inputs - n_carry if scanning else a + b
    w = Writer(count)
    given = (
        [body.values[i] for i in range(first)]
        if scanning
        else [
            *[loop.bodies[0].values[i] for i in range(a)],
            *[body.values[i] for i in range(b)],
        ]
    )
    inputs = [argument(w, k, v) for k, v in enumerate(given)]
    carry = Carry(w, [body.values[i] for i in range(first, first + n_carry)])
    outside = [given_carry(w, k, v) for k, v in enumerate(carry.values)]
    carry.begin(outside)
    w.put("int64_t t = begin;")
    w.put("Watch watch(python);")
    w.put("int64_t left = 1;")
    w.put("for (; t < end; ++t) {")
    if scanning:
        w.put(f"const int64_t i = {'length - 1 - t' if loop.reverse else 't'};")
        xs = [walked(w, first + k, body.values[r], "i") for k, r in enumerate(rows)]
        ys = [stacked(w, k, body.values[o]) for k, o in enumerate(body.outputs[n_carry:])]
        step(w, body, inputs, carry, xs, [(y, "i") for y in ys])
    else:
        test(w, loop.bodies[0], inputs[:a], carry)
        step(w, body, inputs[a:], carry, [], [])
    w.put("}")
    for source, target in zip(carry.places(), outside):
        w.copy(source, target)
    n_ys = len(body.outputs) - n_carry if scanning else 0
    head = "char** arrays, int64_t begin, int64_t end, int64_t length, void* python"
    body_text = "\n".join(
        [
            *[CHAPTERS[k] for k in sorted(w.required)],
            f'extern "C" __attribute__((visibility("default"))) int64_t run({head}) {{',
            *handed(count + len(w.arrays), n_carry, n_ys),
            *w.lines,
            "return t;",
            "}\n",
        ]
    )
    numbers = WITH_COMPLEX if COMPLEX.search(body_text) else WITHOUT_COMPLEX
    text = "\n".join([INCLUDES, numbers, declarations(), PRELUDE, WATCH, body_text])
    return Source(text, w.workspace, w.arrays, w.sites)


def handed(*counts: int) -> list[str]:
    """The places of the arrays' elements: an array object has the pointer to them right after its head."""
    lines, k = [], 0
    for name, n in zip(("in", "carry", "ys"), counts):
        places = [f"*(char**)(arrays[{i}] + {object.__basicsize__})" for i in range(k, k + n)]
        lines.append(f"char* const {name}[] = {{{', '.join([*places, 'nullptr'])}}};")
        k += n
    lines.append(
        f"char* const ws = (char*)((*(uintptr_t*)(arrays[{k}] + {object.__basicsize__}) + 63) & ~(uintptr_t)63);"
    )
    return lines


def argument(w: Writer, k: int, v: Value) -> Place:
    """What all steps read: a variable where it is one element."""
    t, name = ctype(v.dtype), w.name("in")
    if v.size == 1:
        w.put(f"const {t} {name} = *(const {t}*)in[{k}];")
        return Place(name, (0,) * len(v.shape), v.shape, v.dtype, True)
    w.put(f"const {t}* const {name} = (const {t}*)in[{k}];")
    return Place(name, dense(v.shape), v.shape, v.dtype)


def given_carry(w: Writer, k: int, v: Value) -> Place:
    name = w.name("g")
    w.put(f"{ctype(v.dtype)}* const {name} = ({ctype(v.dtype)}*)carry[{k}];")
    return Place(name, dense(v.shape), v.shape, v.dtype)


def walked(w: Writer, k: int, v: Value, i: str) -> Place:
    """Element i of an array that is walked along."""
    t, name = ctype(v.dtype), w.name("x")
    w.put(f"const {t}* const {name} = (const {t}*)in[{k}] + {i} * {v.size};")
    if v.size == 1:
        return Place(f"{name}[0]", (0,) * len(v.shape), v.shape, v.dtype, True)
    return Place(name, dense(v.shape), v.shape, v.dtype)


def stacked(w: Writer, k: int, v: Value) -> Place:
    """Where all steps' results of one kind go, a new axis first (its length does not matter here)."""
    t, name = ctype(v.dtype), w.name("s")
    w.put(f"{t}* const {name} = ({t}*)ys[{k}];")
    return Place(name, (v.size, *dense(v.shape)), (1, *v.shape), v.dtype)
