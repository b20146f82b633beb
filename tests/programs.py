"""Random programs of views, writes and reads, as text that runs on NumPy and on lazynp alike.

A program is a list of statements and of loops over statements. The generator runs each statement on NumPy as it
goes, so that it knows the shapes and can choose what fits. `runs.py` runs programs, compares them and makes small ones
out of those that differ.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import pickle
import random
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, NamedTuple

import numpy
from more_statements import SCALARS, Statements, casts

NAMES = "abcdefgh"
DTYPES = ("float64", "float64", "float64", "float32", "int64", "int64", "int32", "uint8", "bool", "complex128", "int16")
RARER = ("float16", "int8", "uint16", "uint32", "uint64", "complex64")
SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 10, 12)
MOST_ELEMENTS = 2000
ARITHMETIC = ("+", "-", "*", "+", "-", "*", "/", "//", "%")
BITS = ("&", "|", "^")
COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")
# Functions whose loops give the same bits however the operands lie in memory: NumPy's exp of a reversed array is not
# that of a forward one, nor is its abs of a complex array.
UNARY = (
    "np.sqrt",
    "np.fabs",
    "np.negative",
    "np.square",
    "np.floor",
    "np.isnan",
    "np.sign",
    "np.conj",
    "np.trunc",
    "np.signbit",
)
BINARY = (
    "np.maximum",
    "np.minimum",
    "np.add",
    "np.multiply",
    "np.subtract",
    "np.copysign",
    "np.logical_and",
    "np.less",
    "np.fmax",
)
OUT = ("np.add", "np.multiply", "np.subtract", "np.maximum", "np.less", "np.divide", "np.logical_or", "np.floor_divide")
REDUCTIONS = ("sum", "min", "max", "any", "all", "mean", "prod", "argmax", "sum", "max")


class Loop(NamedTuple):
    """The body is run `count` times, with `var` counting from 0."""

    var: str
    count: int
    body: tuple[Any, ...]


Program = tuple[Any, ...]  # of str and Loop


def memory(x: Any) -> numpy.ndarray:
    """A contiguous array's memory as bytes, by the buffer protocol: Python 3.11 does not ask for that in classes
    that are not in C (`LAZYNP_SPEED=0`)."""
    try:
        view = memoryview(x)
    except TypeError:
        view = memoryview(numpy.asarray(x))
    return numpy.frombuffer(view.cast("B"), numpy.uint8)


@functools.lru_cache(4096)
def code(text: str, mode: str = "exec") -> CodeType:
    """A statement's code: each is run several times, in the generator, on NumPy, and in each mode."""
    return compile(text, "<string>", mode)


def data(seed: int, shape: tuple[int, ...], dtype: str) -> numpy.ndarray:
    """The values that a program starts with: small, some irregular, some with NaN, infinities and negative zero."""
    return drawn(seed, shape, dtype).copy()


@functools.lru_cache(64)
def drawn(seed: int, shape: tuple[int, ...], dtype: str) -> numpy.ndarray:
    rng = numpy.random.default_rng(seed)
    whole = rng.integers(-5, 10, shape)
    kind = numpy.dtype(dtype).kind
    if kind == "b":
        return whole > 2
    if kind not in "fc":
        return whole.astype(dtype)
    x = whole / 4
    if seed % 3 == 0 and kind == "f":
        x = x + rng.standard_normal(shape)
    if seed % 5 == 0 and x.size:
        for special in (numpy.nan, numpy.inf, -numpy.inf, -0.0):
            x.flat[rng.integers(x.size)] = special
    return (x + 0.5j * rng.integers(-3, 4, shape) if kind == "c" else x).astype(dtype)


def host(x: Any) -> numpy.ndarray:
    """NumPy's array of the same memory, an object of its own: NumPy's own array would be itself, and so would get
    another shape where the array that it was made of gets one."""
    return numpy.asarray(x)[...]


def namespace(module: Any, log: Callable[[Any], Any] = lambda x: x) -> dict[str, Any]:
    """The names that a program begins with."""
    given = {"data": data, "host": host, "memory": memory, "log": log, "copy": copy, "pickle": pickle}
    return {"np": module, **given}


def statements(program: Program) -> Iterator[tuple[str, dict[str, int]]]:
    """Each statement as it is run, with the loop variables that are to be set before."""
    for part in program:
        if isinstance(part, Loop):
            for k in range(part.count):
                for text, variables in statements(part.body):
                    yield text, {part.var: k, **variables}
        else:
            yield part, {}


def lines(program: Program, indent: str = "") -> list[str]:
    """The program as a person would write it."""
    out = []
    for part in program:
        if isinstance(part, Loop):
            out.append(f"{indent}for {part.var} in range({part.count}):")
            out.extend(lines(part.body, indent + "    "))
        else:
            out.append(textwrap.indent(part, indent))
    return out


class Unfit(Exception):
    """A statement whose result C leaves undefined, or that is too large."""


class Generator(Statements):
    """One random program. Deterministic in its seed.

    Args:
        length: statements and loops; None: 4 to 24.
        outsiders: whether NumPy itself gets views of the arrays.
        exact: whether what is added up and multiplied is small whole numbers, with which any order gives the same.
    """

    def __init__(self, seed: int, length: int | None = None, outsiders: bool = True, exact: bool = False) -> None:
        self.rng = random.Random(seed)
        self.exact = exact
        self.length = length or self.rng.randint(4, 24)
        self.space = namespace(numpy)
        self.vars: list[str] = []
        self.done: list[str] = []  # statements run so far, for a new start after an unfit one
        kinds: list[tuple[int, Callable[[], str | None]]] = [
            (14, self.new_view),
            (12, self.write),
            (6, self.overlap),
            (10, self.in_place),
            (10, self.new_value),
            (5, self.out),
            (4, self.duplicate),
            (4, self.read),
            (2, self.fill),
            (3, self.read_element),
            (4, self.masked),
            (3, self.gathered),
            (3, self.rebind),
            (1, self.delete),
            (3, self.stencil),
            (2, self.whole),
            (6, self.result),
            (5, self.other_view),
            (8, self.writer),
            (3, self.cast),
            (4, self.several),
            (4, self.event),
            (2, self.branch),
            (1, self.log_scalar),
        ]
        if outsiders:
            kinds += [(1, self.outsider), (2, self.outside), (3, self.outside_write), (1, self.more_outside)]
        self.weights = [w for w, _ in kinds]
        self.kinds = [k for _, k in kinds]

    # --- choices ---

    def one(self, options: Any) -> Any:
        return self.rng.choice(options)

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def arrays(self) -> list[str]:
        return [n for n in NAMES if isinstance(self.space.get(n), numpy.ndarray)]

    def array(self) -> str:
        names = self.arrays()
        return self.one(names) if names else "a"

    def value(self, text: str) -> Any:
        if text in self.space:
            return self.space[text]
        try:
            return eval(code(text, "eval"), self.space)
        except Exception:
            return None

    def shape(self, text: str) -> tuple[int, ...]:
        value = self.value(text)
        return value.shape if isinstance(value, numpy.ndarray) else ()

    def new_name(self) -> str:
        return self.one(NAMES)

    def literal(self) -> str:
        if self.vars and self.chance(0.4):
            k = self.one(self.vars)
            return self.one(
                [k, f"{k} + 1", f"0.5 * {k}", f"-{k}", f"float({k})", f"1.0 / ({k} + 2)", f"({k} == 1)", f"2 ** {k}"]
            )
        return self.one(
            [
                "0",
                "1",
                "2",
                "3",
                "-1",
                "0.5",
                "1.5",
                "-0.25",
                "2.0",
                "True",
                "7",
                "0.1",
                "np.float32(0.3)",
                "np.int64(3)",
                "np.float64(0.7)",
                "(1+2j)",
                "-0.0",
                "np.uint8(200)",
                "float('inf')",
                *SCALARS[:4],
            ][: 13 if self.chance(0.7) else None]
        )

    def bound(self, n: int, low: int = 0) -> str:
        if self.vars and self.chance(0.35):
            k = self.one(self.vars)
            return self.one([k, f"{k} + 1", f"-{k} - 1", f"{n} - {k}"])
        return str(self.rng.randint(-n - 1 if self.chance(0.15) else low, n + 1 if self.chance(0.1) else n))

    def slice(self, n: int) -> str:
        start = "" if self.chance(0.4) else self.bound(n)
        stop = "" if self.chance(0.4) else self.bound(n)
        step = "" if self.chance(0.6) else self.one([":-1", ":2", ":-2", ":3", ":1", ":-1"])
        return f"{start}:{stop}{step}"

    def index(self, shape: tuple[int, ...]) -> str:
        parts = []
        for n in shape[: self.rng.randint(min(1, len(shape)), len(shape))]:
            if self.chance(0.15):
                parts.append("None")
            what = self.rng.random()
            if what < 0.25 and n:
                k = self.one(self.vars) if self.vars else ""
                parts.append(f"{k} % {n}" if k and self.chance(0.5) else str(self.rng.randint(-n, n - 1)))
            else:
                parts.append(":" if what < 0.4 else self.slice(n))
        if self.chance(0.12) or not parts:
            parts.insert(self.rng.randint(0, len(parts)), "..." if self.chance(0.7) or not shape else "None")
        return ", ".join(parts)

    def view_of(self, x: str) -> str:
        """The text of a view (now and then a copy, where NumPy makes one)."""
        shape = self.shape(x)
        what = self.rng.random()
        if what < 0.6 or not shape:
            return f"{x}[{self.index(shape)}]"
        if what < 0.72:
            return f"{x}.T"
        if what < 0.8:
            axes = list(range(len(shape)))
            self.rng.shuffle(axes)
            return f"{x}.transpose({', '.join(map(str, axes))})"
        if what < 0.84:
            return f"{x}.swapaxes({self.rng.randrange(len(shape))}, {self.rng.randrange(-len(shape), len(shape))})"
        if what < 0.95:
            return f"{x}.reshape({self.new_shape(shape)})"
        if what < 0.99:
            return f"{x}.{self.one(['ravel()', 'squeeze()', 'view()', 'real'])}"
        return f"np.lib.stride_tricks.as_strided({x})"  # which only NumPy can express: the memory has to stay

    def new_shape(self, shape: tuple[int, ...]) -> str:
        size = int(numpy.prod(shape))
        if size and self.chance(0.4):
            return "-1"
        if size == 0:
            return str(tuple(shape[::-1]))
        first = self.one([d for d in range(1, size + 1) if size % d == 0])
        return self.one([f"{first}, -1", f"-1, {first}", f"{first}, 1, {size // first}", f"({first}, {size // first})"])

    def fitting(self, shape: tuple[int, ...], exact: bool = False) -> str | None:
        """The text of an array that broadcasts to a shape."""
        for _ in range(6):
            x = self.array()
            text = x if self.chance(0.4) else self.view_of(x)
            value = self.value(text)
            if isinstance(value, numpy.ndarray) and (value.shape == shape if exact else broadcasts(value.shape, shape)):
                return text
        return None

    def expression(self, shape: tuple[int, ...], depth: int = 2) -> str:
        what = self.rng.random()
        if depth == 0 or what < 0.2:
            leaf = None if self.chance(0.25) else self.fitting(shape)
            return leaf or self.literal()
        first = self.fitting(shape) if self.chance(0.7) else None
        first = first or self.expression(shape, depth - 1)
        if what < 0.65:
            op = self.one(ARITHMETIC if self.chance(0.9) else BITS + COMPARISONS)
            pair = [first, self.expression(shape, depth - 1)]
            if self.chance(0.3):
                pair.reverse()
            return f"({pair[0]} {op} {pair[1]})"
        if what < 0.75:
            return f"({first}) ** {self.one(['2', '2', '2.0', '1', '2'])}"
        if what < 0.85:
            return f"{self.one(UNARY)}({first})"
        if what < 0.95:
            return f"{self.one(BINARY)}({first}, {self.expression(shape, depth - 1)})"
        return f"np.where({first} > {self.literal()}, {self.expression(shape, depth - 1)}, {first})"

    # --- statements ---

    def start(self) -> str:
        shape = tuple([self.one(SIZES) for _ in range(self.one((0, 1, 1, 1, 2, 2, 2, 2, 3)))])
        if self.chance(0.25) and self.arrays():
            shape = self.shape(self.array())
        elif self.chance(0.2):
            shape = (self.one(SIZES),) * 2
        make = (
            f"np.array(data({self.rng.randrange(1000)}, {shape}, '{self.one(RARER if self.chance(0.2) else DTYPES)}'))"
        )
        return f"{self.new_name()} = {make}"

    def new_view(self) -> str:
        text = self.view_of(self.array())
        if self.chance(0.15):
            self.space["_v"] = self.value(text)
            text = text + self.view_of("_v")[2:]
            del self.space["_v"]
        return f"{self.new_name()} = {text}"

    def write(self) -> str:
        x = self.array()
        target = f"{x}[{self.index(self.shape(x))}]"
        if self.chance(0.2):
            target = f"{self.view_of(x)}[...]"
        shape = self.shape(target)
        what = self.rng.random()
        if what < 0.3:
            return f"{target} = {self.literal()}"
        return f"{target} = {self.expression(shape, self.one((0, 0, 1, 2)))}"

    def overlap(self) -> str | None:
        x = self.array()
        shape = self.shape(x)
        if not shape:
            return None
        op = self.one(["=", "=", "=", "+=", "-=", "*="])
        axis = self.rng.randrange(len(shape))
        lead = ":, " * axis
        a, b = self.one(
            [
                ("1:", ":-1"),
                (":-1", "1:"),
                ("::-1", ":"),
                (":", "::-1"),
                ("::2", "1::2"),
                ("2:", ":-2"),
                ("1::2", "::2"),
            ]
        )
        texts = [f"{x}[{lead}{a}] {op} {x}[{lead}{b}]", f"{x}[{lead}{a}] {op} {x}[{lead}{b}] * {self.literal()}"]
        if len(shape) == 2 and shape[0] == shape[1]:
            texts += [f"{x}.T[...] {op} {x}", f"{x}[...] {op} {x}.T", f"{x} {'+=' if op == '=' else op} {x}.T"]
        if len(shape) > 1:
            texts += [f"{x}[...] {op} {x}[0]", f"{x}[{lead}0] {op} {x}[{lead}-1]"]
        return self.one(texts)

    def stencil(self) -> str | None:
        x = self.array()
        shape = self.shape(x)
        y = self.one([n for n in self.arrays() if self.shape(n) == shape] or [x])
        if len(shape) == 1:
            return f"{y}[1:-1] = 0.5 * ({x}[2:] + {x}[:-2])"
        if len(shape) == 2:
            around = f"{x}[2:, 1:-1] + {x}[:-2, 1:-1] - {x}[1:-1, 2:] - {x}[1:-1, :-2]"
            return f"{y}[1:-1, 1:-1] {self.one(['=', '+='])} 0.25 * ({around})"
        return None

    def in_place(self) -> str:
        x = self.array()
        target = x if self.chance(0.5) else f"{x}[{self.index(self.shape(x))}]"
        kind = getattr(getattr(self.value(target), "dtype", None), "kind", "f")
        ops = ["+=", "-=", "*="] + (["/=", "//=", "%=", "**="] if kind == "f" else [])
        if kind == "c" and numpy.size(self.value(target)) == 1:
            ops.remove("*=")  # NumPy takes it for a reduction, and rounds otherwise than for more elements
        ops += {
            "b": ["&=", "|=", "^="],
            "i": ["//=", "&=", "|=", "^=", "%=", "<<=", ">>="],
            "u": ["//=", "&=", ">>="],
        }.get(kind, [])
        op = self.one(ops)
        if op in ("**=", "<<=", ">>="):
            return f"{target} {op} {self.one(['2', '1', '2'])}"
        return f"{target} {op} {self.expression(self.shape(target), self.one((0, 0, 1, 2)))}"

    def new_value(self) -> str:
        return f"{self.new_name()} = {self.expression(self.shape(self.array()), self.one((1, 2, 3)))}"

    def out(self) -> str:
        x = self.array()
        target = x if self.chance(0.4) else self.view_of(x)
        shape = self.shape(target)
        first = self.fitting(shape) or self.literal()
        second = self.expression(shape, self.one((0, 1)))
        casting = ", casting='unsafe'" if self.chance(0.3) else ""
        return f"{self.one(OUT)}({first}, {second}, out={target}{casting})"

    def duplicate(self) -> str:
        x = self.array()
        if self.chance(0.3):
            x = self.view_of(x)
        return f"{self.new_name()} = " + self.one(
            [f"{x}.copy()", f"{x}.copy()", f"np.array({x})", f"{x}.astype('{self.one(DTYPES)}')", f"+{x}"]
        )

    def read(self) -> str:
        x = self.array()
        if self.chance(0.3):
            x = self.view_of(x)
        if self.chance(0.4):
            return f"log({x})"
        ndim = len(self.shape(x))
        args = ""
        if ndim and self.chance(0.6):
            args = f"axis={self.rng.randrange(-ndim, ndim)}" + (", keepdims=True" if self.chance(0.3) else "")
        whole = f"np.clip(np.trunc({x}), -1, 1)" if self.exact else x
        text = f"{whole}.{self.one(REDUCTIONS)}({args})"
        return f"{self.new_name()} = {text}" if self.chance(0.6) else f"log({text})"

    def read_element(self) -> str:
        x = self.array()
        at = [str(self.rng.randrange(-n, n)) for n in self.shape(x) if n]
        return f"log({x}[{', '.join(at)}])" if at else f"log({x})"

    def fill(self) -> str:
        x = self.array() if self.chance(0.5) else self.view_of(self.array())
        return f"{x}.fill({self.literal()})"

    def masked(self) -> str:
        x = self.array()
        shape = self.shape(x)
        masks = [n for n in self.arrays() if self.space[n].dtype == bool and self.space[n].shape == shape]
        mask = self.one(masks) if masks and self.chance(0.5) else f"{x} {self.one(COMPARISONS)} {self.literal()}"
        if mask in self.space and numpy.may_share_memory(self.space[mask], self.space[x]):
            mask = f"{mask}.copy()"  # NumPy reads a mask while it writes
        y = self.fitting(shape, exact=True) or x
        return self.one(
            [
                f"{x}[{mask}] = {self.literal()}",
                f"{x}[{mask}] = {self.literal()}",
                f"{x}[{mask}] += {self.literal()}",
                f"{x}[{mask}] = {y}[{mask}]",
                f"{self.new_name()} = {x}[{mask}]",
                f"{x}[{mask}] *= {y}[{mask}]",
            ]
        )

    def rebind(self) -> str:
        x, y = self.array(), self.array()
        return self.one(
            [f"{self.new_name()} = {x}", f"{x}, {y} = {y}, {x}", f"{x} = {x} {self.one(ARITHMETIC)} {self.literal()}"]
        )

    def delete(self) -> str | None:
        return f"del {self.array()}" if len(self.arrays()) > 3 else None

    def whole(self) -> str:
        x = self.array()
        y = self.fitting(self.shape(x)) or self.literal()
        return self.one([f"np.copyto({x}, {y})", f"{x}[...] = {y}", f"{x}.sort()", f"{x}[:] = {y}"])

    def outsider(self) -> str:
        """Real NumPy gets a view of the memory."""
        return f"z = host({self.array()})"

    def outside(self) -> str | None:
        """It writes there, or is an operand."""
        if "z" not in self.space:
            return None
        x = self.array()
        write = f"z[{self.index(numpy.shape(self.space['z']))}] = {self.literal()}"
        return self.one([write, write, f"{x}[...] = z", f"{x} += z", "log(z)", f"{self.new_name()} = {x} * z", "del z"])

    # --- the program ---

    def perform(self, text: str) -> bool:
        """Run a statement on NumPy; whether it raised nothing. Raises Unfit."""
        if self.crosses(text) or self.out_of_range(text):
            raise Unfit
        try:
            with warnings.catch_warnings(), numpy.errstate(all="ignore", invalid="warn"):
                warnings.simplefilter("ignore")
                warnings.filterwarnings("error", message=".*encountered in cast")
                exec(code(text), self.space)
        except RuntimeWarning:
            raise Unfit from None
        except (Exception, SystemError) as error:
            if isinstance(error.__cause__, RuntimeWarning):
                raise Unfit from None
            return False
        if any(
            x.size > MOST_ELEMENTS or x.ndim > 6 or x.dtype.char not in "?dfqlihBDFbeHILQ"
            for n, x in self.space.items()
            if n in NAMES and isinstance(x, numpy.ndarray)
        ):
            raise Unfit
        return True

    def crosses(self, text: str) -> bool:
        """Whether a vector is set to one that overlaps it with another stride: NumPy forgets to copy first."""
        target, _, value = (
            text.removeprefix("np.copyto(").removesuffix(")").partition(", " if "copyto" in text else " = ")
        )
        if text.startswith("np.copyto(") or target.endswith("]"):
            x, y = self.value(target), self.value(value)
            return (
                isinstance(x, numpy.ndarray)
                and isinstance(y, numpy.ndarray)
                and x.ndim == 1 == y.ndim
                and x.strides != y.strides
                and numpy.shares_memory(x, y)
            )
        return False

    def out_of_range(self, text: str) -> bool:
        """Whether floats are cast to uint32 that cannot hold them: what comes of it depends on how they lie in memory,
        and NumPy does not always warn of it, as it does of other casts that C leaves undefined."""
        if "uint32" not in text and not any(self.space[n].dtype.char == "I" for n in self.arrays()):
            return False
        try:
            tree = ast.parse(text)
        except SyntaxError:
            return False
        return any(self.overflows(value, target) for part in ast.walk(tree) for value, target in casts(part))

    def overflows(self, value: str, target: str) -> bool:
        x, y = self.value(value), self.value(target)
        dtype = numpy.dtype(y) if isinstance(y, str) else getattr(y, "dtype", None)
        if dtype is None or dtype.char != "I" or isinstance(x, str):
            return False
        x = numpy.asarray(x)
        return x.dtype.kind in "fc" and not bool(((x.real >= -(2.0**31)) & (x.real < 2.0**32)).all())

    def restart(self) -> None:
        """Bring the name space back to what the statements so far made of it."""
        for n in NAMES + "z":
            self.space.pop(n, None)
        for text in self.done:
            with contextlib.suppress(Exception):
                exec(code(text), self.space)

    def statement(self) -> str | None:
        """A statement that has been run; None if what was tried does not fit."""
        for _ in range(8):
            text = self.rng.choices(self.kinds, self.weights)[0]()
            if text is None or self.exact and ("np.add.reduce" in text or "np.sum(" in text):
                continue
            if self.perform(text) or self.chance(0.03):
                return text
        return None

    def note(self, text: str, **variables: int) -> None:
        self.done.extend([f"{k} = {v}" for k, v in variables.items()])
        self.done.append(text)

    def loop(self, var: str) -> Loop | None:
        """A block that is repeated. Every time round is run on NumPy; None if one of them does not fit."""
        count, body = self.one((2, 3, 4, 5, 7, 9, 16)), []
        self.space[var] = 0
        self.vars.append(var)
        try:
            for _ in range(self.rng.randint(1, 5)):
                text = self.statement()
                if text is not None:
                    body.append(text)
            for k in range(1, count):
                self.space[var] = k
                for text in body:
                    self.perform(text)
        finally:
            self.vars.remove(var)
        loop = Loop(var, count, tuple(body))
        for text, variables in statements((loop,)):
            self.note(text, **variables)
        return loop if body else None

    def __call__(self) -> Program:
        program: list[Any] = []
        with numpy.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(self.rng.randint(2, 4)):
                text = self.start()
                exec(code(text), self.space)
                program.append(text)
                self.done.append(text)
            while len(program) < self.length:
                try:
                    part = self.loop("k") if self.chance(0.15) else self.statement()
                except Unfit:
                    self.restart()
                    continue
                if isinstance(part, str):
                    self.note(part)
                if part is not None:
                    program.append(part)
        return tuple(program)


def fits(program: Program) -> bool:
    """Whether all results are ones that C defines, and small."""
    generator = Generator(0)
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for text, variables in statements(program):
            generator.space.update(variables)
            try:
                generator.perform(text)
            except Unfit:
                return False
    return True


def variant(program: Program, seed: int) -> Program:
    """The program with other data, and other numbers of times round its loops; now and then with other sizes, or
    without one of its statements. Most of its kernels are the same."""
    rng = random.Random(seed)
    sizes = {n: n + rng.choice((-1, 1, 1, 4)) for n in range(2, 13)} if rng.random() < 0.25 else {}

    def start(found: re.Match[str]) -> str:
        shape = ast.literal_eval(found[1])
        return f"data({rng.randrange(1000)}, {tuple([sizes.get(n, n) for n in shape])}, "

    parts: list[Any] = []
    for part in program:
        if isinstance(part, Loop):
            parts.append(part._replace(count=rng.choice((1, 2, 3, 5, 8, 16, 24))))
        else:
            parts.append(re.sub(r"data\(\d+, (\([\d, ]*\)), ", start, part))
    rest = [i for i, part in enumerate(parts) if isinstance(part, Loop) or "data(" not in part]
    if rest and rng.random() < 0.25:
        del parts[rng.choice(rest)]
    return tuple(parts)


def broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    try:
        return numpy.broadcast_shapes(shape, to) == to
    except ValueError:
        return False
