"""Faults at every line, as SQLite's tests inject them: `python -m tests.faults --help`.

A program is run once to count the lines of lazynp that are executed, then again and again, and each time the next of
these lines raises: short memory, Ctrl-C, what a signal handler raises, a failing disk, a stack that is too deep. The
program catches that as an interactive user would, and reads its arrays: each must be what the program has without a
fault before the statement that failed, or after it. Each run stands in a process of its own, forked from one that has
imported everything; what hangs is killed and counted.

Lines at which `with` is left are passed over: the interpreter calls a lock's `__exit__` there, and no signal handler or
error can come between, but only a tracing function.
"""

from __future__ import annotations

import argparse
import collections
import dis
import functools
import os
import pickle
import re
import select
import signal
import sys
import textwrap
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy

import lazynp
import lazynp.jax
import lazynp.jax.numpy as jnp
from lazynp.runtime.kernels import kernels
from lazynp.runtime.segment import exact_plans, plans

FOLDER = os.path.dirname(os.path.abspath(lazynp.__file__)) + os.sep
ARRAYS = (numpy.ndarray, lazynp.ndarray, jnp.ndarray, numpy.generic)
FINE = frozenset({"raised", "swallowed", "not reached"})
SECONDS = 60  # until a run counts as one that hangs


class HandlerError(RuntimeError):
    """What a signal handler raises."""


FAULTS: tuple[type[BaseException], ...] = (MemoryError, KeyboardInterrupt, HandlerError, OSError, RecursionError)


class Program(NamedTuple):
    """Statements, one a line (`for i in 2: ...` stands for the rest of its line, with i = 0 and 1).

    Attributes:
        text: the statements. `np` is the door's module, `jnp` and `jax` the other door's.
        tier: "interpreted", "compiled" (machine code that was built before), or "loaded" (the same, not loaded yet).
        mode: of evaluation.
    """

    text: str
    tier: str = "interpreted"
    mode: str = "graph"

    @property
    def statements(self) -> list[str]:
        out: list[str] = []
        for line in textwrap.dedent(self.text).strip().splitlines():
            loop = re.fullmatch(r"for (\w) in (\d+): (.*)", line)
            if loop is None:
                out.append(line)
            else:
                out += [re.sub(rf"\b{loop[1]}\b", str(k), loop[3]) for k in range(int(loop[2]))]
        return out


PROGRAMS = {
    "chain of operations": Program("""
        a = np.arange(600.0).reshape(20, 30)
        b = np.sin(a) * 2 + 1
        c = (b - a) / (b + 3)
        d = np.where(c > 0, b, c)
        e = d[1:] - d[:-1]
        f = e.sum(axis=0)
        g = f + b[0]
        r = g.max()
        """),
    "written in place": Program("""
        u = np.arange(800.0).reshape(20, 40)
        v = u[::2]
        v += 1
        u[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1]
        u *= 0.5
        v[0] = 7
        w = u.T
        w[3] -= 2
        u[1:] = u[:-1]
        s = u.sum()
        """),
    "stencil": Program("""
        u = np.zeros((40, 40))
        u[20, 20] = 1000
        for i in 6: u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        s = u.sum()
        """),
    "loop that is found": Program("""
        x = np.arange(500.0)
        v = np.ones(500)
        for i in 40: v -= 0.01 * x; x += 0.01 * v
        e = (x * x + v * v).sum()
        """),
    "large loop": Program("""
        u = np.arange(202500.0).reshape(450, 450)
        k = u * 0.001
        for i in 12: u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] - 2 * u[1:-1, 1:-1] + u[:-2, 1:-1]) + k[1:-1, 1:-1]
        s = u[::50].sum()
        """),
    "masks": Program("""
        z = np.linspace(-2, 2, 400)
        m = np.abs(z) < 1
        z[m] = z[m] ** 2 + 3
        n = z > 2
        z[n] -= 1
        z[~m] = 0
        p = z[m] * 2
        s = p.sum()
        """),
    "reductions": Program("""
        a = np.arange(900.0).reshape(30, 30)
        b = a * 0.5
        m = b.mean(axis=1)
        v = ((b - m[:, None]) ** 2).sum(axis=1)
        q = np.argmax(b, axis=0)
        c = np.cumsum(v)
        t = (b > 3).any()
        s = b.std()
        """),
    "library": Program("""
        a = np.arange(400.0).reshape(20, 20) + 100 * np.eye(20)
        b = a @ a.T
        x = np.linalg.solve(a, b[0])
        y = np.sort(b.ravel())
        f = np.fft.fft(x)
        g = np.concatenate([x, y[:10]])
        h = np.linalg.inv(a) @ b
        i = g[np.array([1, 2, 3])]
        """),
    "several at once": Program("""
        a = np.arange(300.0)
        b = a + 1
        c = a * 2
        a += 5
        d = np.modf(a / 7)[0]
        b -= c
        q = np.divmod(b, 3)[1]
        c[10:20] = b[:10]
        e = np.stack([a, b, c])
        """),
    "dtypes": Program("""
        a = np.arange(200, dtype=np.int32)
        b = (a % 7).astype(np.float32)
        c = b * 1.5 + a
        d = a * 1j
        e = d.real + c
        k = a << 2
        a //= 3
        b[::2] = a[::2]
        """),
    "jit": Program("""
        f = jax.jit(lambda x, y: (jnp.sin(x) * y, (x + y).sum()))
        x = jnp.arange(5000.0)
        y = jnp.ones(5000)
        z, t = f(x, y)
        w = z + x
        u, t = f(w, y)
        """),
    "grad": Program("""
        x = jnp.linspace(0, 1, 300)
        g = jax.grad(lambda x: (jnp.tanh(x) ** 2).sum())(x)
        h = jax.vmap(lambda a: a * g[0])(x)
        v, k = jax.value_and_grad(lambda x: jnp.dot(x, x))(h)
        """),
    "draws": Program("""
        r = np.random.default_rng(3)
        a = r.standard_normal(200000)
        b = a * 2
        c = r.random(200000)
        b += c
        s = b.sum()
        """),
    "scan": Program("""
        x = jnp.arange(64.0)
        c, y = jax.lax.scan(lambda c, x: (c * 0.5 + x, c - x), 0.0, x)
        n = jax.lax.fori_loop(0, 50, lambda i, v: v + i * x[0] + 1, x)
        w = jax.lax.while_loop(lambda v: v[0] < 40, lambda v: v * 2 + 1, x)
        z = w + n
        """),
    "jnp": Program("""
        x = jnp.arange(200000.0)
        y = jnp.sin(x) + 1
        z = y.at[10:20].set(0.0)
        k = jax.random.normal(jax.random.key(1), (1000,))
        m = jnp.where(z > 1, z, y)
        s = m.sum()
        t = jnp.sort(k) + s
        """),
    "fork": Program("""
        a = np.arange(1000.0)
        b = a * 3
        b[5:] += a[5:]
        p = __import__("os").fork() or __import__("os")._exit(0)
        __import__("os").waitpid(p, 0)
        c = b - a
        """),
    "small arrays at once": Program(
        """
        a = np.arange(10.0)
        b = a + 1
        a[2:5] = b[2:5] * 2
        b += a
        c = b.reshape(2, 5).sum(axis=1)
        a[a > 5] = 0
        d = np.sort(a)
        """,
        mode="auto",
    ),
    "large arrays": Program(
        """
        a = np.arange(500000.0)
        b = np.sqrt(a) + a
        b[1:] -= b[:-1]
        c = b.reshape(500, 1000)
        c *= 0.5
        d = c.sum(axis=0)
        a[:1000] = d
        """,
        mode="auto",
    ),
    "compiled": Program(
        """
        u = np.arange(160000.0).reshape(400, 400)
        k = u * 0.001
        for i in 6: u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]) + k[1:-1, 1:-1]
        v = np.sqrt(u) * 2 + k
        v *= v
        s = v.sum(axis=0)
        """,
        "compiled",
    ),
    "loaded": Program(
        """
        a = np.arange(200000.0)
        b = np.sin(a) * 2 + 1
        a *= b
        c = a - b
        """,
        "loaded",
    ),
}


@functools.cache
def passed_over(code: types.CodeType) -> frozenset[int]:
    """The lines with which a `with` statement begins: at its end they are executed again."""
    entries = [i.positions for i in dis.get_instructions(code) if i.opname == "BEFORE_WITH"]
    return frozenset([p.lineno for p in entries if p is not None and p.lineno is not None])


class Injector:
    """Counts the lines of lazynp; at line number `at` it raises."""

    def __init__(self, at: int, fault: type[BaseException]) -> None:
        self.at, self.fault, self.count, self.place = at, fault, 0, ""
        self.seen: set[tuple[int, int]] = set()

    def call(self, frame: Any, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith(FOLDER):
            return None
        inside: set[int] = set()

        def line(frame: Any, event: str, arg: Any) -> Any:
            if event != "line":
                return line
            number = frame.f_lineno
            if number in passed_over(frame.f_code):
                if number in inside:
                    inside.discard(number)
                    return line
                inside.add(number)
            self.count += 1
            if self.count == self.at:
                sys.settrace(None)
                self.place = f"{frame.f_code.co_filename.removeprefix(FOLDER)}:{number}"
                raise self.fault("injected")
            return line

        return line

    def __enter__(self) -> Injector:
        sys.settrace(self.call)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)


def state_of(names: dict[str, Any]) -> dict[str, Any]:
    """The values of a program's variables, as NumPy's."""
    return {k: numpy.array(v) for k, v in names.items() if k.islower() and isinstance(v, ARRAYS)}


def namespace() -> dict[str, Any]:
    return {"np": lazynp, "jnp": jnp, "jax": lazynp.jax}


def states(p: Program) -> list[dict[str, Any]]:
    """What a program leaves after each statement, without faults."""
    names, out = namespace(), [{}]
    for statement in p.statements:
        exec(statement, names)
        out.append(state_of(names))
    return out


def same(a: Any, b: Any) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and bool(numpy.allclose(a, b, rtol=1e-11, atol=0, equal_nan=True))


def run_with_fault(p: Program, at: int, fault: type[BaseException], wanted: list[dict[str, Any]]) -> Outcome:
    """The program with a fault at line number `at`, and what its arrays are then."""
    names, injector, raised = namespace(), Injector(at, fault), None
    done = 0
    try:
        with injector:
            for statement in p.statements:
                exec(statement, names)
                done += 1
    except BaseException as error:
        raised = error
    if not injector.place:
        return Outcome("not reached", "", injector.count)
    if raised is not None and not isinstance(raised, fault):
        return Outcome("another error", f"{injector.place}: {type(raised).__name__}: {raised}", at)
    problem = look(names, wanted[done : done + 2] if raised is not None else wanted[-1:])
    if problem is None and raised is None:
        return Outcome("swallowed", injector.place, at)
    if problem is None:
        return Outcome("raised", injector.place, at)
    kind, what = problem
    statement = p.statements[min(done, len(p.statements) - 1)]
    return Outcome(kind, f"{injector.place}: {fault.__name__} in {statement}: {what}", at)


def look(names: dict[str, Any], allowed: list[dict[str, Any]]) -> tuple[str, str] | None:
    """What is wrong with the arrays: each is to be as before the statement, or as after it, and to be computed with."""
    for name in [k for k, v in names.items() if k.islower() and isinstance(v, ARRAYS)]:
        try:
            value = numpy.array(names[name])
            more = numpy.array(names[name] + names[name])
        except BaseException as error:
            return "unreadable", f"{name}: {type(error).__name__}: {error}"
        if not any(name in state and same(value, state[name]) for state in allowed):
            return "wrong", name
        if not same(more, value + value):
            return "wrong", f"{name} + {name}"
    return None


class Outcome(NamedTuple):
    """kind: of what happened; where; and the number of the line (of "not reached": how many lines there are)."""

    kind: str
    where: str
    line: int


def in_child(call: Callable[[], Outcome], seconds: float = SECONDS) -> Outcome:
    """Run it in a forked process; "hang" where it does not end, "died" where it ends without a word."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():  # Python warns of forks beside threads, which lazynp promises to bear
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid == 0:
        try:
            warnings.simplefilter("ignore")
            os.close(reader)
            with os.fdopen(writer, "wb") as out, open(os.devnull, "w") as sys.stderr:
                pickle.dump(call(), out)
        finally:
            os._exit(0)
    os.close(writer)
    try:
        ready, _, _ = select.select([reader], [], [], seconds)
        with os.fdopen(os.dup(reader), "rb") as given:
            return pickle.load(given) if ready else Outcome("hang", "", 0)
    except EOFError:
        return Outcome("died", "", 0)
    finally:
        os.close(reader)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def campaign(p: Program, points: int, shift: int = 0) -> Iterator[tuple[int, type[BaseException], Outcome]]:
    """The outcomes of about so many faults, spread over all lines of the program (0: at each line each fault)."""
    with lazynp.config(mode=p.mode, compile=p.tier != "interpreted", compile_after=0.0):
        wanted = states(p)
        if p.tier != "interpreted":
            lazynp.compile_wait(SECONDS)
            wanted = states(p)
        if p.tier != "compiled":
            forget()
        lines = in_child(lambda: run_with_fault(p, sys.maxsize, MemoryError, wanted)).line
        chosen = range(1, lines + 1) if not points else sorted({1 + (k * lines) // points for k in range(points)})
        for k, at in enumerate(chosen):
            for fault in FAULTS if not points else (FAULTS[(k + shift) % len(FAULTS)],):
                yield at, fault, in_child(lambda at=at, fault=fault: run_with_fault(p, at, fault, wanted))


def forget() -> None:
    """Forget plans and kernels, so that the lines that make them are executed, too."""
    exact_plans.clear()
    plans.clear()
    kernels.clear()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=200, help="of each program; 0: every line, with every fault")
    parser.add_argument("--programs", default="", help="those whose names match")
    args = parser.parse_args()
    total: collections.Counter[str] = collections.Counter()
    for number, (name, p) in enumerate(PROGRAMS.items()):
        if not re.search(args.programs, name):
            continue
        counts: collections.Counter[str] = collections.Counter()
        for at, fault, outcome in campaign(p, args.points, number):
            counts[outcome.kind] += 1
            if outcome.kind not in FINE:
                print(f"  {name}, line {at}, {fault.__name__}: {outcome.kind}: {outcome.where}", flush=True)
        total += counts
        print(f"{name}: {dict(counts)}", flush=True)
    print(f"{total.total():,} faults in {len(PROGRAMS)} programs: {dict(total)}")
    return 1 if set(total) - FINE else 0


if __name__ == "__main__":
    sys.exit(main())
