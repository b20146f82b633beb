"""Statements of random programs beyond views, writes and arithmetic: what else of NumPy writes into arrays, gives
views, or takes them away from lazynp. A part of `programs.Generator`, which says what is chosen from."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from typing import Any

import numpy

SCALARS = (
    "np.float16(1.5)",
    "np.uint64(3)",
    "np.int8(-1)",
    "np.bool_(True)",
    "np.complex64(1-1j)",
    "np.uint32(7)",
    "np.longlong(2)",
    "np.array(2)",
    "np.array(0.5)",
    "[1]",
    "False",
    "300",
    "-1.0",
)
# NumPy's own `flat`, which an array made of one of our scalars has, takes our arrays as indices from NumPy 2.3 on.
LISTS_ONLY = numpy.lib.NumpyVersion(numpy.__version__) < "2.3.0"
CASTS = ("float16", "float32", "int8", "uint16", "uint32", "uint64", "complex64", "bool", "int64", "float64")
RESULTS = (
    "np.sort({x}, axis={axis})",
    "np.cumsum({x}, axis={axis})",
    "np.flip({x}, {axis})",
    "np.roll({x}, {k}, {axis})",
    "np.roll({x}, {k})",
    "np.repeat({x}, 2, axis={axis})",
    "np.concatenate([{x}, {y}], axis={axis})",
    "np.stack([{x}, {x}], axis={axis})",
    "np.tile({x}, 2)",
    "np.diff({x}, axis={axis})",
    "np.take({x}, {rows}, axis={axis})",
    "{x}.take({rows}, mode='wrap')",
    "np.unique({x})",
    "np.nonzero({x})[{first}]",
    "np.argwhere({x} > {v})",
    "np.argsort({x}, axis={axis}, kind='stable')",
    "np.clip({x}, 0, 3)",
    "{x}.round(1)",
    "np.where({x} > {v})[0]",
    "np.select([{x} > {v}, {x} == 0], [{x}, {v}], 1)",
    "np.pad({x}, 1)",
    "np.pad({x}, 1, mode='edge')",
    "np.rot90({x})",
    "np.tril({x})",
    "np.count_nonzero({x}, axis={axis})",
    "np.maximum.accumulate({x}, axis={axis})",
    "np.add.reduce({x}, axis={axis})",
    "np.minimum.reduce({x}, axis={axis}, keepdims=True)",
    "np.add.reduceat({x}, [0], axis={axis})",
    "np.multiply.outer({x}, [1, 2])",
    "np.insert({x}, 0, {v}, axis={axis})",
    "np.delete({x}, 0, axis={axis})",
    "np.append({x}, {y})",
    "np.meshgrid({x}, [1, 2])[0]",
    "np.einsum('...->...', {x})",
    "np.sum(np.clip(np.trunc({x}), -9, 9), where={m})",  # NumPy adds up run by run of the mask
    "np.max({x}, axis={axis}, initial=0, where={m}) + 0",  # of zeros either may be the greater
    "np.multiply({x}, {y}, where={m}, out=np.zeros_like({x}))",
    "np.zeros_like({x})",
    "np.full_like({x}, 3, order='{order}')",
    "np.array([{x}, {x}])",
    "np.broadcast_to({x}, (2, *{x}.shape)).copy('{order}')",
    "np.apply_along_axis(lambda v: v[::-1], {axis}, {x})",
    "np.lexsort(({x}, {x}))",
    "np.trace({x})",
    "np.ma.masked_greater({x}, {v}).filled(0)",
    "{x}.tolist() and np.array({x}.tolist())",
)
VIEWS = (
    "np.moveaxis({x}, {axis}, 0)",
    "np.rollaxis({x}, {axis})",
    "np.expand_dims({x}, {axis})",
    "{x}.diagonal()",
    "np.broadcast_to({x}, (2, *{x}.shape))",
    "{x}.ravel('{order}')",
    "{x}.reshape(-1, order='{order}')",
    "{x}.reshape({x}.shape[::-1], order='{order}')",
    "np.flipud({x})",
    "np.atleast_2d({x})",
    "np.squeeze({x})",
    "{x}.view({x}.dtype)",
    "{x}.view('u1')",
    "{x}.imag",
    "{x}.real",
    "np.asarray({x}, order='{order}')",
    "np.ascontiguousarray({x})",
    "np.split({x}, 1)[0]",
    "np.lib.stride_tricks.sliding_window_view({x}, 1, 0)",
    "np.einsum('...->...', {x})",  # not 'ii->i': of no rows and ten columns NumPy's has ten elements, of foreign memory
    "np.swapaxes({x}, 0, -1)",
    "np.broadcast_arrays({x}, {y})[0]",
)
WRITERS = (
    "np.put({x}, {rows}, {v}, mode='wrap')",
    "np.place({x}, {x} > {v}, [1, 2, 3])",
    "np.putmask({x}, {x} > {v}, {y})",
    "np.copyto({x}, {v}, where={x} > {v})",
    "np.copyto({x}, {y}, casting='unsafe')",
    "np.copyto({x}, {y}, where=np.array({m}), casting='unsafe')",  # NumPy reads a mask while it writes
    "np.fill_diagonal({x}, {v})",
    "{x}.flat[{k}::2] = {v}",
    "{x}.flat = {v}",
    "{x}.flat[{rows}] = {v}",
    "{x}.sort(axis={axis})",
    "{x}.partition(0, axis={axis})",
    "{x}.real = {v}",
    "{x}.imag = {v}",
    "np.put_along_axis({x}, np.zeros_like({x}[:1], int), {v}, 0)",
    "{x}.put([0, 0], [1, 2])",
    "{x}.itemset(0, 1)",
    "{x}.shape = -1",
    "np.add.at({x}, {rows}, {v})",
    "np.multiply.at({x}, {rows}, {v})",
    "np.maximum.at({x}, {x} > {v}, {v})",
    "np.add({x}, {v}, out={x}, where={x} > {v})",
    "np.multiply({x}, {y}, out={x}, where=np.array({m}))",
    "np.conjugate({x}, out={x}[::-1])",
    "np.subtract({x}, {v}, out={x}[::-1], where=np.array({m}))",
    "np.add({x}, {v}, out={x}, casting='unsafe')",
    "np.floor({x}, out={x})",  # not cumsum with an axis: NumPy 2.4 crashes at times where x has no axes
    "np.add.reduce({x}, axis={axis}, out={x}[0])",
    "np.clip({x}, 0, 4, out={x})",
    "np.sqrt({x}, out={x})",
    "{x}.byteswap(inplace=True)",
    "for r in {x}: r *= 2",
    "for r in np.nditer({x}, op_flags=[['readwrite']]): r[...] = r + 1",
    "np.nan_to_num({x}, copy=False)",
    "{x}[{x} > {v}] += {x}[{x} > {v}]",
    "{x}[{rows}] = {x}[{rows}][::-1]",
    "{x}[np.nonzero({x})] = {v}",
    "{x}[..., None][...] = {v}",
    "{x}[np.newaxis, ::-1] *= 2",
    "{x}.T[...] = {v}",
    "{x}.setflags(write=False)",
    "{x}.setflags(write=True)",
    "np.random.default_rng(3).shuffle({x})",
    "divmod({x}, {v}, out=({x}, {x}))",
    "np.modf({x}, out=({x}, {x}.copy()))",
    "{x} **= 2",  # a negative exponent of integers is an error at the call in NumPy, and later here
    "{x} <<= 1",
    "{x} @= np.eye({last})",
)
OUTSIDE = (
    "memoryview(host({x}))",
    "memory({x})",
    "np.asarray(memory({x}))",
    "host({x}.view())",
    "host({x}.T)",
    "host({x}[::-1])",
)
OUTSIDE_WRITES = (
    "z[...] = {v}",
    "z[...] = {v}",
    "z[1:] = z[:-1].copy()",
    "z *= 2",
    "z.fill({v})",
    "z.sort()",
    "z.T[::-1][...] = {v}",
    "np.add(z, {v}, out=z, casting='unsafe')",
    "np.copyto(z, {y}, casting='unsafe')",
    "z[z > {v}] = {v}",
)
# What programs do with arrays beside computing: copies by way of other modules, unpacking, loops over views, errors
# that are caught, several targets.
EVENTS = (
    "{n} = pickle.loads(pickle.dumps({x})).copy()",  # NumPy's without a copy has the pickle's own memory, or not
    "{n} = copy.deepcopy([{x}, {x}])[1]",
    "{n} = copy.copy({x})",
    "{n} = np.frombuffer(bytearray({x}.tobytes()), {x}.dtype)",
    "{n} = np.frombuffer(memoryview(bytearray({x}.tobytes())).toreadonly(), {x}.dtype)",
    "{n} = list({x})[-1]",
    "{n}, *_ = {x}",
    "{n} = np.array([{x}, {x}[::-1]])[1]",
    "{n} = np.lib.stride_tricks.sliding_window_view({x}, 2, -1)",
    "{n} = np.take_along_axis({x}, np.argsort({x}, {axis}, kind='stable'), {axis})",
    "{n} = np.ma.array({x}, mask={m}).filled({v})",
    "{n} = (np.ma.array({x}) + 1).data",
    "with np.errstate(all='raise'):\n    {n} = {x} / {y}",
    "with np.errstate(all='raise'):\n    np.multiply({x}, 1.5, out={x})",
    "try:\n    {x}[0] = {y}\nexcept ValueError:\n    {x}[-1] = {v}",
    "try:\n    {x}[{k}] = {v}\n    {x} += {y}\nfinally:\n    {x}[...] *= 2",
    "for v in {x}[::-1]: v += 1",
    "for v in np.array_split({x}, 2): v[...] = {v}",
    "for v, w in zip({x}, {y}): v[...] = w + 0",  # NumPy forgets to copy what overlaps with another stride
    "{x}.flat[0], {x}.flat[-1] = {x}.flat[-1], {x}.flat[0]",
    "{x}[1:], {x}[:-1] = {x}[:-1].copy(), {x}[1:].copy()",
    "{x} += {x}[..., ::-1]",
    "{x}[...] = [{v}] * len({x})",
    "{x}[()] = {v}",
    "del {x}[0]",
    "np.lib.stride_tricks.as_strided({x}, {x}.shape, {x}.strides)[...] = {v}",
    "np.put_along_axis({x}, np.argsort({x}, {axis}, kind='stable'), {v}, {axis})",
    "np.maximum.accumulate({x}, axis={axis}, out={x})",
    "np.add.at({x}.T, ({rows},), {v})",
    "{x}[np.argsort({x}, axis=None, kind='stable')] = {v}",
    "{x}.ravel('K')[::2] = {v}",
    "{x}.T.reshape(-1)[...] = {v}",
    "np.random.default_rng(5).permuted({x}, axis={axis}, out={x})",
    "memory({x})[:1] = 0",
)
TESTS = (
    "{x}.sum() > 0",
    "{x}.any()",
    "{x}.size and {x}.flat[0] > 1",
    "({x} > {v}).all()",
    "{x}.max() > 2",
    "len({x}) > 2",
)


def casts(part: ast.AST) -> Iterator[tuple[str, str]]:
    """What one part of a statement may cast, as text, and an array or a dtype that it is cast to."""
    if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Subscript):
        yield ast.unparse(part.value), ast.unparse(part.targets[0])
    if not isinstance(part, ast.Call) or not isinstance(part.func, ast.Attribute):
        return
    name, args = part.func.attr, part.args
    given = {k.arg: k.value for k in part.keywords}
    if name == "astype":
        yield ast.unparse(part.func.value), ast.unparse(args[0])
    elif name in ("copyto", "put", "putmask", "place") and len(args) > 1:
        yield ast.unparse(args[-1]), ast.unparse(args[0])
    elif name == "fill":
        yield ast.unparse(args[0]), ast.unparse(part.func.value)
    elif name in ("array", "asarray") and (len(args) > 1 or "dtype" in given):
        yield ast.unparse(args[0]), ast.unparse(given.get("dtype") or args[1])
    elif "out" in given and not isinstance(given["out"], ast.Tuple):
        kept = [k for k in part.keywords if k.arg not in ("out", "casting", "where")]
        yield ast.unparse(ast.Call(part.func, args, kept)), ast.unparse(given["out"])


class Statements:
    """Makers of statements; each gives a text, or None where nothing fits."""

    rng: random.Random
    space: dict[str, Any]

    def __getattr__(self, name: str) -> Any:  # the rest of the generator, for the type checker
        raise AttributeError(name)

    def filled(self, template: str, x: str | None = None) -> str:
        """A template with its places filled in."""
        x = x or self.array()
        shape = self.shape(x)
        n = shape[0] if shape else 1
        rows = self.rows(n)
        places = {
            "n": self.new_name(),
            "x": x,
            "y": self.fitting(shape) or self.array(),
            "m": self.fitting_mask(shape),
            "v": self.one(SCALARS) if self.chance(0.4) else self.literal(),
            "axis": self.rng.randrange(-len(shape), len(shape))
            if shape and self.chance(0.9)
            else self.rng.choice((0, -1)),
            "k": self.rng.randint(-2, 3),
            "rows": str(rows)
            if LISTS_ONLY and ".flat[" in template
            else self.one([str(rows), f"np.array({rows}, dtype=int)", f"np.array({rows}, dtype='i2')"]),
            "order": self.one("CFAK"),
            "first": self.rng.randrange(max(1, len(shape))),
            "last": shape[-1] if shape else 1,
        }
        return template.format(**places)

    def rows(self, n: int) -> list[int]:
        """Indices along an axis, now and then with one that comes twice."""
        rows = [self.rng.randrange(-n, n) for _ in range(self.rng.randint(0, 4))] if n else []
        return rows + rows[:1] if self.chance(0.3) else rows

    def fitting_mask(self, shape: tuple[int, ...]) -> str:
        masks = [
            n for n in self.arrays() if self.space[n].dtype == bool and self.space[n].shape in (shape, shape[1:], ())
        ]
        return self.one(masks) if masks else f"(np.arange({shape[-1] if shape else 1}) % 2 == 0)"

    def gathered(self) -> str | None:
        x = self.array()
        shape = self.shape(x)
        if not shape or not shape[0]:
            return None
        rows = self.rows(shape[0])
        lead = self.one([f"{rows}", f"np.array({rows}, dtype=int)"])
        if len(shape) > 1 and shape[1] and self.chance(0.4):
            lead += ", " + self.one(
                [
                    f"{[self.rng.randrange(shape[1]) for _ in rows]}",
                    str(self.rng.randrange(shape[1])),
                    self.slice(shape[1]),
                ]
            )
        value = self.one([self.literal(), self.expression(self.shape(f"{x}[{lead}]"), 1)])
        return self.one(
            [
                f"{x}[{lead}] = {value}",
                f"{x}[{lead}] = {value}",
                f"{x}[{lead}] += {value}",
                f"{self.new_name()} = {x}[{lead}]",
            ]
        )

    def several(self) -> str | None:
        """An index of arrays, repeats, new axes, an ellipsis, masks of an axis, numbers and slices in any order."""
        x = self.array()
        shape = self.shape(x)
        if not shape or 0 in shape:
            return None
        count, parts = self.rng.randint(1, 3), []
        for n in shape[: self.rng.randint(1, len(shape))]:
            rows = [self.rng.randrange(-n, n) for _ in range(count)]
            mask = [self.chance(0.5) for _ in range(n)]
            parts.append(
                self.one(
                    [
                        f"{rows}",
                        f"{rows}",
                        f"{rows[:1]}",
                        f"{[[r] for r in rows]}",
                        f"{mask}",
                        str(rows[0]),
                        self.slice(n),
                        ":",
                    ]
                )
            )
        for extra in ("None", "..."):
            if self.chance(0.4):
                parts.insert(self.rng.randint(0, len(parts)), extra)
        at = ", ".join(parts)
        value = self.one([self.literal(), self.expression(self.shape(f"{x}[{at}]"), 1)])
        return self.one(
            [
                f"{self.new_name()} = {x}[{at}]",
                f"{x}[{at}] = {value}",
                f"{x}[{at}] {self.one(['+=', '*=', '-='])} {value}",
                f"{x}[{at}] = {x}[{at}][::-1]",
                f"np.add.at({x}, np.s_[{at}], {self.one(SCALARS)})",
                f"{x}[{at}][...] = {value}",
            ]
        )

    def event(self) -> str:
        return self.filled(self.one(EVENTS), self.array() if self.chance(0.7) else f"({self.view_of(self.array())})")

    def source(self) -> str:
        """An array, or a view of one."""
        return self.array() if self.chance(0.6) else self.view_of(self.array())

    def result(self) -> str:
        return f"{self.new_name()} = {self.filled(self.one(RESULTS), self.source())}"

    def other_view(self) -> str:
        return f"{self.new_name()} = {self.filled(self.one(VIEWS), self.source())}"

    def writer(self) -> str:
        """A write. NumPy's array of an array of ours has own flags and an own shape, so none are set where the two are
        the same object in NumPy: see "What is not there yet" in docs/architecture.md."""
        text = self.filled(self.one(WRITERS), self.array() if self.chance(0.7) else f"({self.view_of(self.array())})")
        name, _, rest = text.partition(".shape" if ".shape = " in text else ".setflags")
        shown = rest and self.space.get(name.strip("()")) is self.space.get("z")
        return f"{name}.flags" if shown else text

    def cast(self) -> str:
        x = self.source()
        how = self.one(
            [
                f"{x}.astype('{self.one(CASTS)}', order='{self.one('CFAK')}')",
                f"{x}.astype('{self.one(CASTS)}', copy=False)",
                f"np.array({x}, dtype='{self.one(CASTS)}', order='{self.one('CFAK')}')",
                f"{x}.copy('{self.one('CFAK')}')",
                f"np.asarray({x}, '{self.one(CASTS)}')",
            ]
        )
        return f"{self.new_name()} = {how}"

    def branch(self) -> str | None:
        """An `if` or a `while` on a value."""
        test = self.filled(self.one(TESTS))
        makers = (self.write, self.in_place, self.new_value, self.new_view, self.writer)
        first, second = self.one(makers)(), self.one(makers)()
        if "\n" in first + second or first.startswith("for ") or second.startswith("for "):
            return None
        if self.chance(0.75):
            return f"if {test}:\n    {first}\nelse:\n    {second}"
        return f"n = 0\nwhile n < 4 and {test}:\n    n += 1\n    {first}"

    def log_scalar(self) -> str | None:
        x = self.array()
        value = self.value(x)
        if not isinstance(value, numpy.ndarray) or value.size > 50:
            return None
        if value.ndim or value.dtype.kind == "c":
            return f"log(str({x}.tolist()))"
        return self.one([f"log(float({x}))", f"log({x} + 1)", f"log({x}[()])", f"log(bool({x}))", f"log(str({x}[()]))"])

    def outside_write(self) -> str:
        """NumPy writes into memory that it has been given, now or earlier."""
        x = self.source()
        write = self.filled(self.one(OUTSIDE_WRITES), x)
        return write if "z" in self.space and self.chance(0.6) else f"z = host({x})\n{write}"

    def more_outside(self) -> str:
        return f"z = {self.filled(self.one(OUTSIDE))}"
