"""Random loops of the kind that is replayed: arithmetic on arrays, views and parts of them, a branch now and then."""

from __future__ import annotations

import random
from typing import Any

import numpy

N, M = 6, 5
ARRAYS = {"a": (N, M), "b": (N, M), "c": (N, M), "x": (M,), "y": (M,)}
BINARY = ("+", "-", "*")
UNARY = (
    "abs({})",
    "-{}",
    "np.sqrt(abs({}))",
    "np.sin({})",
    "np.tanh({})",
    "np.floor({} * 4)",
    "np.exp(-abs({}))",
    "{}.copy()",
)
ROWS = (":", "1:", ":-1", "::2", "1:-1", "::-1", "k % 4:k % 4 + 2", "2:")
LENGTHS = {":": N, "1:": N - 1, ":-1": N - 1, "::2": 3, "1:-1": N - 2, "::-1": N, "k % 4:k % 4 + 2": 2, "2:": N - 2}


class Loop:
    """The text of a function of NumPy's namespace and a number of rounds, with its values after each few of them."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.dtype = self.r.choice(["float64"] * 4 + ["float32", "float32", "int64", "int32", "uint8"])
        self.whole = not self.dtype.startswith("float")
        self.views: dict[str, tuple[int, ...]] = {}

    def text(self) -> str:
        lines = ["def program(np, make, log, rounds):"]
        for seed, (name, shape) in enumerate(ARRAYS.items()):
            lines.append(f"    {name} = np.array(make({shape}, {self.dtype!r}, {seed}))")
        lines += ["    s = 0.5" if not self.whole else "    s = 2", "    for k in range(rounds):"]
        for _ in range(self.r.randint(1, 7)):
            lines += self.statement("        ")
        if self.r.random() < 0.3:
            lines.append(f"        if k % {self.r.randint(2, 9)} == 1:")
            lines += self.statement("            ")
        lines.append(f"    log({', '.join(ARRAYS)}, s)")
        return "\n".join(lines)

    def statement(self, indent: str) -> list[str]:
        r = self.r
        name = r.choice(list(ARRAYS))
        shape = ARRAYS[name]
        kind = r.randint(0, 12)
        if kind <= 2:
            out = [f"{name} = {self.expression(shape, 2)}"]
        elif kind <= 4:
            out = [f"{name} {r.choice(['+=', '-=', '*='])} {self.expression(shape, 1)}"]
        elif kind <= 7 and len(shape) == 2:
            rows, like = r.choice(ROWS), r.choice(ROWS)
            n = LENGTHS[rows]
            same = [k for k, v in LENGTHS.items() if v == n]
            source = f"{r.choice('abc')}[{r.choice(same)}]"
            more = f"{r.choice('abc')}[{r.choice(same)}]"
            out = [f"{name}[{rows}] {r.choice(['=', '=', '+=', '*='])} {self.half()} * {source} + {more}"]
            del like
        elif kind == 8:
            column = r.choice(["0", "-1", "k % 5", "2"])
            if len(shape) == 2:
                other = r.choice(["(k + 1) % 5", "1", "k % 5"])
                out = [f"{name}[:, {column}] = {r.choice('abc')}[:, {other}] * {self.half()} + {name}[:, {other}]"]
            else:
                out = [f"{name}[{column}] = {r.choice(['k', '0', 's'])}"]
        elif kind == 9:
            a, b = r.sample("abc", 2)
            out = [f"{a}, {b} = {b}, {a}"]
        elif kind == 10:
            out = [f"s = {r.choice(['float', ''])}(np.max(abs({name}))) % 3", f"{name} = {name} * s"]
            if self.whole:
                out = [f"s = int({name}.max()) % 3", f"{name} = {name} * s"]
        elif kind == 11:
            out = [f"v = {name}[{r.choice(['1:', '::2', ':-1'])}]", f"v {r.choice(['+=', '*='])} {self.number()}"]
        else:
            out = [
                r.choice(
                    [
                        f"{name}[{name} > {self.number()}] = {self.number()}",
                        f"{name} = np.where({name} > {self.number()}, {name}, {self.expression(shape, 0)})",
                        f"{name} = np.maximum({name}, {self.expression(shape, 0)})",
                        "a = a.T.copy().T",
                        "b = b + c.sum(1)[:, None]" if not self.whole else "b = b + c",
                        "x = x + a[2]",
                        "x[1:] = x[:-1]",
                        "y = np.float64(0.5) * y" if not self.whole else "y = y + y",
                    ]
                )
            ]
        return [indent + line for line in out]

    def half(self) -> str:
        return "1" if self.whole else self.r.choice(["0.5", "0.25", "s", "1e-3"])

    def number(self) -> str:
        return self.r.choice(
            ["1", "2", "3"]
            if self.whole
            else ["0.5", "0.1", "1", "s", "-0.25", "np.float64(0.3)"][: 5 + (self.dtype == "float64")]
        )

    def expression(self, shape: tuple[int, ...], depth: int) -> str:
        r = self.r
        if depth == 0 or r.random() < 0.2:
            names = [n for n, s in ARRAYS.items() if s == shape]
            if len(shape) == 2 and r.random() < 0.15:
                return r.choice("xy")
            return r.choice(names)
        if r.random() < 0.25:
            inner = self.expression(shape, depth - 1)
            choice = r.choice(UNARY[:2] + UNARY[-1:] if self.whole else UNARY)
            return choice.format(f"({inner})")
        if r.random() < 0.3:
            return f"({self.expression(shape, depth - 1)} {r.choice(BINARY)} {self.number()})"
        return f"({self.expression(shape, depth - 1)} {r.choice(BINARY)} {self.expression(shape, depth - 1)})"


def make(shape: tuple[int, ...], dtype: str, seed: int) -> numpy.ndarray:
    r = numpy.random.default_rng(seed)
    return r.random(shape).astype(dtype) if dtype.startswith("float") else r.integers(0, 9, shape).astype(dtype)


def run(text: str, np: Any, rounds: int) -> Any:
    """What the program shows at its end, or the type of its error."""
    space: dict[str, Any] = {}
    exec(text, space)
    shown: list[Any] = []

    def log(*values: Any) -> None:
        shown.extend([numpy.array(numpy.asarray(v)) for v in values])

    try:
        space["program"](np, make, log, rounds)
    except Exception as error:
        shown.append(type(error))
    return shown


def same(x: Any, y: Any) -> bool:
    if isinstance(x, type) or isinstance(y, type):
        return x is y
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.dtype.kind != "f":
        return x.tobytes() == y.tobytes()
    nan = numpy.isnan(x)
    return bool((nan == numpy.isnan(y)).all()) and x[~nan].tobytes() == y[~nan].tobytes()


def difference(seed: int, np: Any, rounds: int = 24) -> str:
    """Empty where np shows what NumPy shows."""
    text = Loop(seed).text()
    wanted, got = run(text, numpy, rounds), run(text, np, rounds)
    if len(wanted) == len(got) and all([same(x, y) for x, y in zip(wanted, got)]):
        return ""
    return f"seed {seed}\n{text}\nNumPy: {wanted}\nlazynp: {got}"
