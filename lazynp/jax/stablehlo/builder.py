"""Lines of StableHLO: values with their types, constants, and the operations that the rules of `rules` are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...doors import FLOAT0
from ..dtypes import issubdtype, prng_key
from .names import SCALARS

FEW = 64
"""Constants of more elements are written as their bytes."""
Shape = tuple[int, ...]


class Value(NamedTuple):
    """What a line of a module computes: its name there, and its type. Keys are the words that they are made of."""

    name: str
    shape: Shape
    dtype: np.dtype[Any]

    @property
    def type(self) -> str:
        return tensor(self.shape, self.dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)


def tensor(shape: Sequence[int], dtype: Any) -> str:
    """`tensor<8x2xf32>`."""
    return f"tensor<{''.join([f'{n}x' for n in shape])}{element(dtype)}>"


def element(dtype: Any) -> str:
    """The type of an element: `f32`."""
    name = np.dtype(dtype).name
    return SCALARS.get(name, name)


def form(aval: Any) -> tuple[Shape, np.dtype[Any]]:
    """The shape and the dtype that a value has in a module."""
    if issubdtype(aval.dtype, prng_key):
        return (*aval.shape, aval.dtype.itemsize // 4), np.dtype(np.uint32)
    if aval.dtype == FLOAT0:
        return tuple(map(int, aval.shape)), np.dtype(bool)
    return tuple(map(int, aval.shape)), np.dtype(aval.dtype)


def type_of(aval: Any) -> str:
    """The type of a value; that of a token for what has no shape."""
    return tensor(*form(aval)) if hasattr(aval, "shape") else "!stablehlo.token"


def number(x: Any) -> str:
    """A number as MLIR writes it: with as many digits as it takes to get it back."""
    if x.dtype.kind == "b":
        return "true" if x else "false"
    if x.dtype.kind in "iu" or x.dtype.name in ("int2", "int4", "uint2", "uint4"):
        return str(int(x))
    if x.dtype.kind == "c":
        return f"({number(x.real)}, {number(x.imag)})"
    value = float(x)
    if not math.isfinite(value):
        return f"0x{int.from_bytes(x.tobytes(), 'little'):0{2 * x.nbytes}X}"
    short = f"{value:.6e}"
    if x.dtype.type(float(short)) == x:
        return short
    text = f"{value:.{17 if x.nbytes == 8 else 9}g}"
    digits, e, power = text.partition("e")
    return f"{digits}{'' if '.' in digits else '.0'}{e}{power}"


def dense(value: np.ndarray[Any, Any]) -> str:
    """A constant: one number for all elements that are the same, lists of few, bytes of many."""
    flat = value.reshape(-1)
    if not flat.size:
        return ""
    if flat.size == 1 or flat.tobytes() == flat[:1].tobytes() * flat.size:
        return number(flat[0])
    if flat.size <= FEW:
        return rows(value)
    return f'"0x{flat.tobytes().hex().upper()}"'


def rows(value: np.ndarray[Any, Any]) -> str:
    return number(value[()]) if not value.ndim else f"[{', '.join([rows(row) for row in value])}]"


def array(values: Sequence[Any], kind: str = "i64") -> str:
    """`array<i64: 1, 2>`, as attributes have it."""
    said = [str(v).lower() if isinstance(v, bool) else str(int(v)) for v in values]
    return f"array<{kind}: {', '.join(said)}>" if said else f"array<{kind}>"


def matrix(values: Sequence[Sequence[int]], columns: int = 2) -> str:
    """`dense<[[0, 1]]> : tensor<1x2xi64>`."""
    said = ", ".join([str([int(n) for n in row]) for row in values])
    return f"dense<[{said}]> : tensor<{len(values)}x{columns}xi64>"


def listed(xs: Sequence[Value]) -> str:
    return ", ".join([x.name for x in xs])


def types_of(xs: Sequence[Value]) -> str:
    return ", ".join([x.type for x in xs])


def quoted(text: str) -> str:
    """A text as it stands between quotation marks."""
    return text.replace("\\", "\\\\").replace('"', "\\22").replace("\n", "\\0A")


Rule = Callable[..., Any]
"""Takes the lines under construction, an equation, and its operands; gives its result, or a list of them. Raises
NotImplementedError for parameters that it does not know."""


class Rules(dict[str, Rule]):
    """By primitive how it is written. Calling it with names gives a decorator that registers a rule."""

    def __call__(self, *names: str) -> Callable[[Rule], Rule]:
        def register(f: Rule) -> Rule:
            self.update(dict.fromkeys(names, f))
            return f

        return register


class Builder:
    """Lines under construction. Each method writes one operation, or a few, and gives what it computes."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = self.constants = self.arguments = self.depth = 0

    def new(self) -> str:
        self.count += 1
        return f"%{self.count - 1}"

    def line(self, text: str, types: str, shape: Sequence[int], dtype: Any) -> Value:
        """A line with one result: `%0 = <text> : <types>`."""
        name = self.new()
        self.lines.append(f"{name} = {text} : {types}")
        return Value(name, tuple(shape), np.dtype(dtype))

    def short(self, text: str, xs: Sequence[Value], shape: Sequence[int], dtype: Any) -> Value:
        """The same, with the types of the operands and of the result."""
        return self.line(text, f"({', '.join([x.type for x in xs])}) -> {tensor(shape, dtype)}", shape, dtype)

    def general(
        self,
        word: str,
        xs: Sequence[Value],
        results: Sequence[tuple[Sequence[int], Any]],
        attributes: str = "",
        regions: Sequence[Sequence[str]] = (),
    ) -> list[Value]:
        """An operation in the general form, with what it computes in regions."""
        name, several = (self.new() if results else ""), len(results)
        head = f"{name}{f':{several}' if several > 1 else ''} = " if several else ""
        text = f'{head}"{word}"({", ".join([x.name for x in xs])}){f" <{{{attributes}}}>" if attributes else ""}'
        gives = ", ".join([tensor(shape, dtype) for shape, dtype in results])
        types = f"({', '.join([x.type for x in xs])}) -> {gives if several == 1 else f'({gives})'}"
        if regions:
            self.lines.append(text + " ({")
            for i, region in enumerate(regions):
                self.lines += ["}, {"] * (i > 0) + ["  " + line for line in region]
            self.lines.append(f"}}) : {types}")
        else:
            self.lines.append(f"{text} : {types}")
        names = [name] if several == 1 else [f"{name}#{i}" for i in range(several)]
        return [Value(n, tuple(shape), np.dtype(dtype)) for n, (shape, dtype) in zip(names, results)]

    def region(self, dtypes: Sequence[Any], compute: Callable[..., Sequence[Value]]) -> list[str]:
        """The lines of a function of numbers, as reductions, sorts and scatters have it."""
        xs = [Value(f"%arg{self.arguments + i}", (), np.dtype(dtype)) for i, dtype in enumerate(dtypes)]
        lines = self.block(lambda: compute(*xs), arguments=len(xs))
        return [f"^bb0({', '.join([f'{x.name}: {x.type}' for x in xs])}):", *lines]

    def block(
        self, compute: Callable[[], Sequence[Value]], word: str = "stablehlo.return", arguments: int = 0
    ) -> list[str]:
        """The lines of a region, which gives what `compute` does. Names in it are used anew after it, as MLIR does."""
        before = self.lines, self.count, self.constants, self.arguments, self.depth
        self.lines, self.arguments, self.depth = [], self.arguments + arguments, self.depth + 1
        xs = compute()
        self.lines.append(f"{word} {listed(xs)} : {types_of(xs)}" if xs else word)
        inner = self.lines
        self.lines, self.count, self.constants, self.arguments, self.depth = before
        return inner

    def constant(self, value: Any, dtype: Any) -> Value:
        value = np.asarray(value)
        value = np.zeros(value.shape, bool) if value.dtype == FLOAT0 else value.astype(dtype)
        word = "cst" if value.dtype.kind in "fcV" else "c"
        name = f"%{word}" if not self.constants else f"%{word}_{self.constants - 1}"
        self.constants += 1
        made = Value(name, value.shape, value.dtype)
        self.lines.append(f"{name} = stablehlo.constant dense<{dense(value)}> : {made.type}")
        return made

    def full(self, value: Any, like: Value) -> Value:
        """A number, of the shape and the dtype of a value."""
        return self.broadcast(self.constant(value, like.dtype), like.shape)

    def broadcast(self, x: Value, shape: Sequence[int], dims: Sequence[int] | None = None) -> Value:
        """Broadcast as NumPy does, or with each axis at the one that `dims` names."""
        shape = tuple(shape)
        if dims is None and x.shape == shape:
            return x
        dims = range(len(shape) - x.ndim, len(shape)) if dims is None else dims
        text = f"stablehlo.broadcast_in_dim {x.name}, dims = {[int(d) for d in dims]}"
        return self.short(text, [x], shape, x.dtype)

    def widened(self, x: Value, shape: Shape) -> Value:
        """An operand of an elementwise operation, of the result's shape."""
        return self.broadcast(x, shape)

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        return x if x.shape == tuple(shape) else self.short(f"stablehlo.reshape {x.name}", [x], shape, x.dtype)

    def convert(self, x: Value, dtype: Any) -> Value:
        """Cast as NumPy does: of a complex number the real part, and truth is what is not zero."""
        dtype = np.dtype(dtype)
        if x.dtype == dtype:
            return x
        if x.dtype.kind == "c" and dtype.kind not in "cb":
            x = self.unary("real", x)
        if dtype.kind == "b":
            return self.compare("NE", x, self.full(0, x))
        return x if x.dtype == dtype else self.short(f"stablehlo.convert {x.name}", [x], x.shape, dtype)

    def unary(self, word: str, x: Value) -> Value:
        if word in ("real", "imag", "abs") and x.dtype.kind == "c":
            return self.short(f"stablehlo.{word} {x.name}", [x], x.shape, f"f{x.dtype.itemsize // 2}")
        if word.startswith("chlo."):
            return self.line(f"{word} {x.name}", f"{x.type} -> {x.type}", x.shape, x.dtype)
        if word == "is_finite":
            return self.short(f"stablehlo.{word} {x.name}", [x], x.shape, bool)
        return self.line(f"stablehlo.{word} {x.name}", x.type, x.shape, x.dtype)

    def binary(self, word: str, x: Value, y: Value) -> Value:
        if word.startswith("chlo."):
            return self.line(f"{word} {x.name}, {y.name}", f"{x.type}, {y.type} -> {x.type}", x.shape, x.dtype)
        dtype = np.dtype(f"c{2 * x.dtype.itemsize}") if word == "complex" else x.dtype
        types = x.type if dtype == x.dtype else tensor(x.shape, dtype)
        return self.line(f"stablehlo.{word} {x.name}, {y.name}", types, x.shape, dtype)

    def compare(self, word: str, x: Value, y: Value, total: bool = False) -> Value:
        sort = "FLOAT" if x.dtype.kind in "fcV" else "SIGNED" if x.dtype.kind == "i" else "UNSIGNED"
        sort = "TOTALORDER" if total and sort == "FLOAT" else sort
        text = f"stablehlo.compare {word}, {x.name}, {y.name}, {sort}"
        return self.short(text, [x, y], x.shape, bool)

    def select(self, condition: Value, x: Value, y: Value) -> Value:
        """x where the condition holds, else y."""
        text = f"stablehlo.select {condition.name}, {x.name}, {y.name}"
        return self.line(text, f"{condition.type}, {x.type}", x.shape, x.dtype)

    def iota(self, axis: int, shape: Sequence[int], dtype: Any) -> Value:
        return self.line(f"stablehlo.iota dim = {axis}", tensor(shape, dtype), shape, dtype)

    def transpose(self, x: Value, axes: Sequence[int]) -> Value:
        axes = [int(a) for a in axes]
        if axes == list(range(x.ndim)):
            return x
        return self.short(f"stablehlo.transpose {x.name}, dims = {axes}", [x], [x.shape[a] for a in axes], x.dtype)

    def reverse(self, x: Value, axes: Sequence[int]) -> Value:
        return self.line(f"stablehlo.reverse {x.name}, dims = {list(axes)}", x.type, x.shape, x.dtype)

    def slice(self, x: Value, starts: Sequence[int], limits: Sequence[int], steps: Sequence[int] = ()) -> Value:
        steps = steps or [1] * x.ndim
        parts = [f"{a}:{b}" + (f":{c}" if c != 1 else "") for a, b, c in zip(starts, limits, steps)]
        shape = [max(0, -(-(b - a) // c)) for a, b, c in zip(starts, limits, steps)]
        return self.short(f"stablehlo.slice {x.name} [{', '.join(parts)}]", [x], shape, x.dtype)

    def part(self, x: Value, axis: int, start: int, limit: int) -> Value:
        """A slice along one axis."""
        starts, limits = [0] * x.ndim, list(x.shape)
        starts[axis], limits[axis] = start, limit
        return self.slice(x, starts, limits)

    def concatenate(self, xs: Sequence[Value], axis: int) -> Value:
        if len(xs) == 1:
            return xs[0]
        shape = list(xs[0].shape)
        shape[axis] = sum([x.shape[axis] for x in xs])
        text = f"stablehlo.concatenate {', '.join([x.name for x in xs])}, dim = {axis}"
        return self.short(text, xs, shape, xs[0].dtype)

    def pad(self, x: Value, fill: Value, low: Sequence[int], high: Sequence[int], between: Sequence[int]) -> Value:
        shape = [n + max(n - 1, 0) * c + a + b for n, a, b, c in zip(x.shape, low, high, between)]
        text = (
            f"stablehlo.pad {x.name}, {fill.name}, low = {list(low)}, high = {list(high)}, interior = {list(between)}"
        )
        return self.short(text, [x, fill], shape, x.dtype)

    def reduce(self, word: str, x: Value, start: Any, axes: Sequence[int]) -> Value:
        """A reduction by one operation."""
        first = self.constant(start, x.dtype)
        text = (
            f"stablehlo.reduce({x.name} init: {first.name}) applies stablehlo.{word} across dimensions = {list(axes)}"
        )
        return self.short(text, [x, first], [n for a, n in enumerate(x.shape) if a not in axes], x.dtype)

    def custom(
        self, target: str, xs: Sequence[Value], results: Sequence[tuple[Sequence[int], Any]], said: str
    ) -> list[Value]:
        """What StableHLO has no operation for: a call of a function of this name, with parameters as text."""
        attributes = f'call_target_name = "{target}"' + (f', backend_config = "{quoted(said)}"' if said else "")
        return self.general("stablehlo.custom_call", xs, results, attributes)
