"""Random loops of the kind that is replayed: arithmetic on arrays and parts of them, nests, a branch now and then."""

from __future__ import annotations

import random
from typing import Any

import numpy
from runs import same

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
        lines += ["    i = np.arange(6)"]
        lines += ["    s = 0.5" if not self.whole else "    s = 2", "    known = [a[:], b[:], c[:], a[::-1], b[1:]]"]
        lines += ["    for k in range(rounds):", f"        v = known[k // {self.r.randint(5, 12)} % 5]"]
        for _ in range(self.r.randint(1, 7)):
            lines += self.statement("        ") if self.r.random() < 0.75 else self.nest("        ")
        if self.r.random() < 0.3:
            lines.append(f"        if k % {self.r.randint(2, 9)} == 1:")
            lines += self.statement("            ")
        lines.append(f"    log({', '.join(ARRAYS)}, s, i)")
        return "\n".join(lines)

    def nest(self, indent: str) -> list[str]:
        """A loop in the loop, whose bounds move: elements, parts of rows and columns, products."""
        r = self.r
        bounds = r.choice([f"{M}", f"1, {M}", "k % 5 + 1", f"k % 3, {M}", f"{M - 1}, 0, -1", "3"])
        i = r.choice(["i", "i", "k % 5"])
        end = "i" if i != "i" else r.choice(["k % 5", "i", "i", "k % 4 + 1"])
        part = r.choice([f":{end}", f"{end}:", f":{end} + 1", f":{M}", "1:", "::2", f"{end}::-1"])
        a, b, c = (r.choice("abc") for _ in range(3))
        divided = f"({a}[{i}, 2] + {self.number()}) / 4" if not self.whole else f"{a}[{i}, 2] * 2"
        product = r.choice(["{} @ {}", "np.dot({}, {})", "{}.dot({})"])
        lines = [
            [f"{a}[{i}, {part}] = {self.half()} * {b}[{i}, {part}] + {c}[0, {part}]"],
            [f"{a}[{i}, {part}] {r.choice(['+=', '-=', '*='])} {b}[k % 6, {i}] * {self.half()}"],
            [f"{a}[{i}, 1] {r.choice(['+=', '=', '*='])} {b}[{i}, k % 5] * {self.half()} - {c}[0, 0]"],
            [f"{a}[{i}, 2] = {divided}"],
            [f"{a}[{i}, 3] = {product.format(f'{b}[{i}, {part}]', f'{c}[1, {part}]')} % 7"],
            [f"{a}[1, {i}] = {product.format(f'{b}[:{end}, 1]', f'{c}[:{end}, 2]')} % 5"],
            [f"{a}[:{end}, 1:] -= {b}[:{end}, 0, None] * {c}[1, 1:] * {self.half()}"],
            [f"{a}[{end}:, :{M}] = {b}[{end}:, :{M}] * {self.number()}"],
            [f"t = {b}[:, {part}] * {self.half()}", f"{a}[:, {part}] = t + {c}[0, {part}]"],
            [f"t = abs({b}[{i}, {part}])", "x[:len(t)] = t", "s = int(x[1]) % 3" if self.whole else f"s = x[{i}] % 3"],
            [f"x[{i}] = x[{i} - 1] * {self.half()} + y[{i}]" if i == "i" else f"x[{i}] = y[{i}]"],
            [f"{a}[{i}, 2] = k % 3", f"{b}[{i}, 1] = v[{i} % 3, 2] + v[{i} % 3, 1]"],
            [f"{a}[{i}] = {b}[{i}] + {c}[1]", f"{b}[2, {i}] = v[{i} % 3, 3] * {self.half()}"],
            [f"{a}[1:3, {i}] += v[:2, {i}]", f"{c}[{i}, 0] = v[1, {i}]"],
            [f"y = {b}[:{M}] @ x * 0.1" if not self.whole else f"y = y + {b}[{i}]"],
        ]
        body = [line for _ in range(r.randint(1, 3)) for line in r.choice(lines)]
        return [f"{indent}for i in range({bounds}):", *[f"{indent}    {line}" for line in body]]

    def statement(self, indent: str) -> list[str]:
        r = self.r
        name = r.choice(list(ARRAYS))
        shape = ARRAYS[name]
        kind = r.randint(0, 19)
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
            out = [f"w = {name}[{r.choice(['1:', '::2', ':-1'])}]", f"w {r.choice(['+=', '*='])} {self.number()}"]
        elif kind <= 14:
            out = self.chosen(name, shape)
        elif kind <= 17:
            out = self.reduced(name, shape)
        elif kind == 18:
            out = self.made(name, shape)
        else:
            out = [
                r.choice(
                    [
                        "a = a.T.copy().T",
                        "b = b + c.sum(1)[:, None]" if not self.whole else "b = b + c",
                        "x = x + a[2]",
                        "x[1:] = x[:-1]",
                        "y = np.float64(0.5) * y" if not self.whole else "y = y + y",
                    ]
                )
            ]
        return [indent + line for line in out]

    def made(self, name: str, shape: tuple[int, ...]) -> list[str]:
        """A new array of one number, or of whatever is in memory, which is written to."""
        r = self.r
        number = self.number() if r.random() < 0.5 else "0"
        new = r.choice(
            [
                f"np.zeros({shape}, {self.dtype!r})",
                f"np.zeros_like({r.choice([name, f'({self.expression(shape, 1)})', f'{name}[:]'])})",
                f"np.ones_like({name})",
                f"np.full({shape}, {number}, dtype={self.dtype!r})",
                f"np.full_like({name}, {number})",
            ]
        )
        other = r.choice([n for n, like in ARRAYS.items() if like == shape])
        lines = [
            [f"t = {new}", f"t[1:] = {name}[:-1] * {self.half()}", f"{name} = {name} - t * {self.half()}"],
            [f"t = {new}", f"t += {self.expression(shape, 1)}", f"{name}, {other} = t, {name}"],
            [f"{name} = {name} * {self.half()} + {new}"],
            [f"t = np.empty_like({name})", f"t[1:] = {name}[1:]", f"t[0] = {other}[-1]", f"{name} = t"],
            [f"t = np.empty({shape}, {self.dtype!r})", f"t[...] = {other}", f"t[::2] -= {number}", f"{other} = t"],
            [f"t = {new}", f"t[{name} > {self.number()}] = {self.number()}", f"{name} = {name} + t"],
            [f"{name} = np.concatenate([{name}[1:], {other}[:1] * {self.half()}])"],
            [f"t = np.stack(({name}, {other + ' * 2'}, {other}))", "t[1] = t[0]", f"{name} = t[k % 3] * {self.half()}"],
            [f"{name} = np.concatenate(({name}[..., 2:], {other}[..., :2]), axis={r.choice(['-1', len(shape) - 1])})"],
        ]
        return r.choice(lines)

    def chosen(self, name: str, shape: tuple[int, ...]) -> list[str]:
        """By truth values: `where`, writes by masks, the larger one of two, and shifts."""
        r = self.r
        mask = r.choice(
            [
                f"{name} > {self.number()}",
                f"{self.expression(shape, 1)} < {name}",
                f"({name} > 1) & ({name} != {self.expression(shape, 0)})",
                f"~({name} <= {self.number()})",
            ]
        )
        first, second = (r.choice([self.number(), self.expression(shape, r.randint(0, 1))]) for _ in range(2))
        if self.whole and not {first, second} - {"0", "1", "2", "3", "s"}:
            first = name
        lines = [
            [f"{name}[{mask}] = {self.number()}"],
            [f"m = {mask}", f"{name} = np.where(m, {first}, {second})", f"{name}[m] = {self.number()}"],
            [f"{name} = np.where({mask}, {first}, {second}) * {self.half()} + {name}"],
            [f"{name}[:] = np.where({mask}, {first}, {second})"],
            [f"{name} = {r.choice(['np.maximum', 'np.minimum'])}({name}, {second})"],
            [f"{name} -= np.sign({name}) * {self.half()}" if self.dtype != "uint8" else f"{name} += np.sign({name})"],
        ]
        if len(shape) == 2:
            lines += [
                [f"{name}[1:, 1:] = np.where({name}[1:, 1:] > {name}[:-1, 1:], 1, {name}[1:, :-1])"],
                [f"w = {name}[1:]", f"w[w > {self.number()}] = {self.number()}"],
                [f"{name} = np.where(({mask})[0], {name}, {second})"],
            ]
        other = r.choice([n for n, like in ARRAYS.items() if like == shape])
        lines += [
            [f"np.{r.choice(['add', 'multiply', 'subtract'])}({name}, {second}, out={other})"],
            [f"np.negative({name}, {other})" if self.dtype != "uint8" else f"np.square({name}, {other})"],
            [f"{name} = np.clip({name}, {r.choice(['-1', '0', '0.5'][: 3 - self.whole])}, {r.choice(['1', '5'])})"],
            [f"m = {mask}", f"{name} = {name} * m + {second}", f"{name} -= m" if self.dtype != "uint8" else "m = ~m"],
            [f"{name} = {name} + ({mask}) * i[{':, None' if len(shape) == 2 else ':5'}] * 0.25"],
            [f"i = (i * 3 + ({mask}).{'T[0]' if len(shape) == 2 else 'repeat(2)[:6]'}) % 11"],
        ]
        if not self.whole:
            lines += [
                [f"np.{r.choice(['sin', 'exp', 'tanh'])}({name} * -0.1, out={other})"],
                [f"np.arctan2({name}, {second}, {name})"],
                [f"{name} = np.where(i[{':, None' if len(shape) == 2 else ':5'}] > 3, {name}, i[0] * {self.number()})"],
            ]
        if len(shape) == 2:
            lines += [[f"np.add({name}[1:], {name}[:-1], out={name}[{r.choice(['1:', ':-1'])}])"]]
        if self.whole:
            lines += [
                [f"{name} {r.choice(['<<=', '>>=', '^='])} {r.choice(['1', '3', '9', '0'])}"],
                [f"{name} = ({name} << 2) ^ ({name} >> {self.expression(shape, 0)})"],
            ]
        return r.choice(lines)

    def reduced(self, name: str, shape: tuple[int, ...]) -> list[str]:
        """By reductions to a number, or along an axis."""
        r = self.r
        of = r.choice([name, self.expression(shape, 1), f"abs({name} - {self.expression(shape, 0)})"])
        which = r.choice(["sum", "max", "min", "max", "prod"] + ["mean"] * (not self.whole))
        part = f"{r.choice('abc')}[{r.choice(ROWS)}, {r.choice([':-1', '1:', '::2', 'k % 3:k % 3 + 2'])}]"
        total = r.choice([f"np.{which}({of})", f"({of}).{which}()", f"({of}).{which}(None)", f"{part}.{which}()"])
        lines = [
            [f"s = {total} % 3"],
            [f"s = {total} % 3", f"{name} = {name} * {self.half()} + s"],
            [f"if {total} > {self.number()}:", f"    {name} = {name} * {self.half()}"],
            [f"if ({of} > {self.number()}).{r.choice(['any', 'all'])}():", f"    {name} -= {self.number()}"],
            [f"t = {total}", "x[k % 5] = t % 7", "y = y + t % 2"],
        ]
        if self.dtype != "uint8":  # whose sums are wider
            lines += [[f"x[{r.choice('01')}] = (y[{r.choice(['k % 4:', '::2', '::-1', ':k % 4 + 1'])}]).{which}() % 5"]]
        if len(shape) == 2:
            keep = r.choice(
                ["axis=1, keepdims=True", "1, keepdims=True", "axis=0, keepdims=True", "keepdims=True", "axis=-2"]
            )
            cast = f".astype({self.dtype!r})" if self.dtype == "uint8" else ""
            lines += [
                [f"{name} = {name} - (({of}).{which}({keep}) % 4){cast}"],
                [f"{name} = {name} * {self.half()} + (np.{which}({of}, {keep}) % 4){cast}"],
                [f"x = (np.{which}({of}, axis=0) % 6){cast}"],
                [f"{name}[:, k % 5] = ({of}).{which}(axis=1) % 5"],
                [f"e = {of}", "e = e - e.max(axis=1, keepdims=True)", f"x = x + (e.{which}(axis=0) % 3){cast}"],
            ]
        return r.choice(lines)

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


def difference(seed: int, np: Any, rounds: int = 24) -> str:
    """Empty where np shows what NumPy shows."""
    text = Loop(seed).text()
    wanted, got = run(text, numpy, rounds), run(text, np, rounds)
    if len(wanted) == len(got) and all([same(x, y) for x, y in zip(wanted, got)]):
        return ""
    return f"seed {seed}\n{text}\nNumPy: {wanted}\nlazynp: {got}"


TURNED = """
a = a.T * 0.5 + a * 0.4
b = a.T + b * 0.3
a = 0.5 * (a + a.T)
a.T[1:] = a.T[:-1] * 0.5 + 0.1
a.T[...] -= a * 0.1
a[...] = a.T * 0.9
a += a.T * 0.1
x = a.T @ x * 0.1 + 0.3
x = x @ a.T * 0.1 + 0.2
a = (a @ b.T) * 0.1
a = (a.T @ b) * 0.1 + 0.1
b = np.where(a.T > 0.3, a, b.T)
b = np.maximum(a.T, b)
x = a.T[0] * 0.5 + x * 0.5
a.T[2] = x * 0.5
x = a.T.sum(axis=0) * 0.1
x = x + a.T.mean(axis=1) * 0.1
s = a.T.sum() * 0.01; a = a * 0.9 + s
t = a.T; t += 0.01; a = a * 0.9
t = a.T; a = a * 0.5; t[0] = 0.7; b = b * 0.5 + t
y = a[1:4].T * 0.5; a[1:4] = y.T + 0.01
a = a.transpose() * 0.8 + 0.1
c = a.T.copy(); a = a * 0.5 + c * 0.4
a = np.sqrt(abs(a.T))
t = b.T; b[1] = x; a = a * 0.5 + t * 0.3
z = a.T.T; z[0] = x * 0.3
a = np.concatenate([a.T[:2], b[2:]])
w = x.T * 0.5; x = w + 0.1
t = a.T; kept += [t][k % 7 :]; a = a * 0.9
a = a.T
a, b = b.T, a
a = -a.T * 0.5 + 0.2
b[:, 1] = a.T[3]; b[2:].T[0] = 0.1 * x[2:]
a = a * 0.9 + x.T * 0.05
i = k % 4 + 2; b[:, :i] = a[:i].T * 0.5 + b[:, :i] * 0.3
a = (a.reshape(-1) * 0.9).reshape(6, 6)
x = a.ravel()[k % 3 : k % 3 + 6] * 0.5 + x * 0.4
q = a.reshape(4, 9); q[1] = 0.3; a = a * 0.9
a[...] = a.reshape(9, 4).T.reshape(6, 6) * 0.5
b = b + x.reshape(6, 1) * x.reshape((1, 6)) * 0.1
q = (a + b).reshape(3, 12); a = q[:, ::2].sum(axis=0).reshape(-1, 1) * a * 0.1
""".strip().splitlines()


def turned(seed: int) -> str:
    """The text of a loop with transposed views, of square matrices: `run(np, a, b, x, rounds)`."""
    r = random.Random(seed)
    lines = [line for _ in range(r.randint(1, 5)) for line in r.choice(TURNED).split("; ")]
    lines += ["a = a / (1 + abs(a).max())", "b = b * 0.9 + 0.01"]
    body = "".join([f"        {line}\n" for line in lines])
    begin = "    kept, y, t, z, w, c = [], x, a, a, x, a\n    for k in range(rounds):\n"
    return f"def run(np, a, b, x, rounds):\n{begin}{body}    return [a, b, x, y, t, z, w, c, *kept]\n"


def turned_differently(seed: int, np: Any, rounds: int) -> str:
    """The text where the values, the layouts or the flags differ from NumPy's."""
    space: dict[str, Any] = {}
    exec(turned(seed), space)
    arrays = [numpy.random.default_rng(seed).random(shape) for shape in ((6, 6), (6, 6), (6,))]
    with numpy.errstate(all="ignore"):
        wanted = space["run"](numpy, *[x.copy() for x in arrays], rounds)
        found = space["run"](np, *[np.array(x) for x in arrays], rounds)

    def alike(x: Any, y: Any) -> bool:
        flags = [(z.strides, z.flags.owndata, z.flags.c_contiguous) for z in (x, y)]
        return same(numpy.asarray(x), numpy.asarray(y)) and flags[0] == flags[1]

    fits = len(wanted) == len(found) and all(map(alike, wanted, found))
    return "" if fits else f"seed {seed}\n{turned(seed)}"
