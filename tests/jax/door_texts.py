"""Random programs in NumPy's names, as text for lazynp and as text for JAX: what they have in common is the result.

A program is a function `f(x, m, q)` of a vector, a matrix and a square matrix to one number, in NumPy's text with its
views, its writes in place and `out=`. JAX's text is the same but for the writes. `program(seed)` draws one.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

INPUTS = {"x": (6,), "m": (4, 6), "q": (4, 4)}
STEPS = 5  # statements in a program
PLACE = re.compile(r"\{(\w+)\}")
# What may stand in a text, beside the names of `CHOICES`. A: any array, B: another of that shape, C: one that
# broadcasts with A, V: a vector, W: another of its length, M: a matrix, Q: a square matrix, r: the result; of the first
# array in the text n: its length, k: an index into it, ax: one of its axes, size: its number of elements; c: a number.
NAMES = "ABCVWMQ"
CHOICES = {
    "mode": ["edge", "reflect", "symmetric", "wrap", "constant", "mean", "maximum", "minimum", "linear_ramp"],
    "norm": ["backward", "ortho", "forward"],
    "method": ["linear", "lower", "higher", "midpoint", "nearest"],
    "part": ["full", "same", "valid"],
    "binary": ["add", "subtract", "multiply", "maximum", "minimum"],
    "reduction": ["sum", "mean", "max", "min", "prod", "std", "var", "median", "ptp", "nansum", "nanmean", "nanmax"],
    "nan": ["nanmin", "nanstd", "nanvar", "nanmedian", "nanprod"],
    "smooth": ["sin", "cos", "tanh", "arctan", "arcsinh", "square", "sinc", "negative", "expm1", "positive", "exp2"],
    "above": ["sqrt", "log", "log2", "log10", "log1p", "cbrt", "reciprocal", "arccosh", "i0"],
    "rough": ["abs", "absolute", "fabs", "floor", "rint", "sign", "trunc", "ceil", "round"],
    "two": ["hypot", "arctan2", "logaddexp", "fmax", "fmin", "copysign", "logaddexp2", "maximum", "minimum"],
    "order": ["C", "F"],
}


class Template(NamedTuple):
    """A statement: NumPy's text and JAX's, and whether it needs values, so that only derivatives see through it."""

    numpy: str
    jax: str
    values: bool


def template(line: str) -> Template:
    """Of a line `NumPy => JAX`, or one text for both; with `!` before it, if it needs values."""
    theirs, arrow, other = line.partition(" => ")
    text = theirs.removeprefix("! ").strip()
    return Template(text, other.strip() if arrow else text, theirs.startswith("!"))


def read() -> tuple[list[list[Template]], list[float]]:
    """The templates of `door_texts.txt` by their groups, and how often each group is drawn from."""
    groups, shares = list[list[Template]](), list[float]()
    for line in (Path(__file__).parent / "door_texts.txt").read_text().splitlines():
        if line.startswith("["):
            groups.append([])
            shares.append(float(line.strip("[]").split()[1]))
        elif line:
            groups[-1].append(template(line))
    return groups, shares


GROUPS, SHARES = read()
TEMPLATES = [t for group in GROUPS for t in group]


class Program(NamedTuple):
    """A function's text for NumPy and for JAX, and the arrays that it is evaluated at."""

    numpy: str
    jax: str
    arrays: tuple[np.ndarray, ...]
    values: bool  # whether a statement needs values
    templates: tuple[Template, ...]

    def function(self, library: Any, jax: bool = False) -> Any:
        """The function that the text defines, over a library with NumPy's names."""
        scope: dict[str, Any] = {"np": library}
        exec(self.jax if jax else self.numpy, scope)
        return scope["f"]


def fits(kind: str, v: np.ndarray, first: np.ndarray, vector: np.ndarray | None) -> bool:
    """Whether an array is of a kind, beside the first one of the text and its vector."""
    if min(v.shape) < (2 if kind == "M" else 3):
        return False
    if kind == "B":
        return v.shape == first.shape
    if kind == "C":
        return v.ndim <= first.ndim and all([n in (1, m) for n, m in zip(v.shape[::-1], first.shape[::-1])])
    if kind in "VW":
        return v.ndim == 1 and len(v) >= 5 and (kind == "V" or vector is not None and v.shape == vector.shape)
    if kind in "MQ":
        return v.ndim == 2 and v.shape[0] <= v.shape[1] and (kind == "M" or v.shape[0] == v.shape[1])
    return True


def chosen(template: Template, values: dict[str, np.ndarray], draw: np.random.Generator) -> dict[str, str] | None:
    """What stands in a template's places; None where no array is of the kind."""
    found: dict[str, str] = {}
    for kind in dict.fromkeys(PLACE.findall(template.numpy)):
        if kind not in NAMES:
            continue
        first = values[next(iter(found.values()))] if found else np.empty(0)
        vector = values[found["V"]] if "V" in found else None
        names = [n for n, v in values.items() if fits(kind, v, first, vector)]
        if not names:
            return None
        found[kind] = names[min(int(draw.geometric(0.4)) - 1, len(names) - 1)]  # the last made come first
    first = values[next(iter(found.values()))]
    found |= {name: str(draw.choice(options)) for name, options in CHOICES.items()}
    found |= {"n": str(len(first)), "k": str(draw.integers(len(first))), "size": str(first.size)}
    found |= {"ax": str(draw.integers(-first.ndim, first.ndim)), "c": str(round(float(draw.uniform(0.3, 1.7)), 2))}
    return found


def determined(text: str, name: str, values: dict[str, np.ndarray], value: np.ndarray) -> bool:
    """Whether what a statement gives hardly changes with its operands. Which eigenvectors belong to an eigenvalue that
    comes twice, say of `y + y.T` with `y = np.outer(x, x)`, mathematics does not say, and no two libraries agree."""

    def moved(x: np.ndarray) -> np.ndarray:
        return x + 1e-9 * np.cos(np.arange(x.size)).reshape(x.shape) if x.dtype.kind == "f" else x.copy()

    scope: dict[str, Any] = {"np": np, **{k: moved(v) for k, v in values.items()}}
    with np.errstate(all="ignore"):
        exec(text, scope)
    other = scope[name]
    return bool(other.shape == value.shape and np.allclose(other, value, rtol=1e-4, atol=1e-4))


def program(seed: int, steps: int = STEPS) -> Program:
    """The program of a seed: each statement uses the arrays before it, and the result adds up the last ones."""
    draw = np.random.default_rng(seed)
    arrays = tuple(draw.uniform(0.2, 1.3, s) * draw.choice([-1, 1], s) for s in INPUTS.values())
    values = dict(zip(reversed(INPUTS), reversed(arrays)))
    theirs, ours = list[str](), list[str]()
    made, needs, used = 0, False, list[Template]()
    while made < steps:
        group = GROUPS[draw.choice(len(GROUPS), p=SHARES)]
        template = group[draw.integers(len(group))]
        filled = chosen(template, values, draw)
        if filled is None:
            continue
        filled["r"] = f"y{made}"
        text, other = (PLACE.sub(lambda found, f=filled: f[found[1]], t) for t in template[:2])
        scope: dict[str, Any] = {"np": np, **{k: v.copy() for k, v in values.items()}}
        with np.errstate(all="ignore"):
            exec(text, scope)
        value = scope[filled["r"]]
        if not (isinstance(value, np.ndarray) and value.ndim and 2 <= value.size <= 150 and np.isfinite(value).all()):
            continue
        if not determined(text, filled["r"], values, value):
            continue
        more = ""
        if np.abs(value).max() > 4:
            more, value = f"; {filled['r']} = np.tanh({filled['r']} / {np.abs(value).max():.2f}) * 2", None
            exec(more[2:], scope)
        theirs.append(text + more)
        ours.append(other + more)
        values = {filled["r"]: scope[filled["r"]], **values}
        made, needs = made + 1, needs or template.values
        used.append(template)
    total = " + ".join(f"({y} * np.cos(np.arange({values[y].size}.0)).reshape({y}.shape)).sum()" for y in values)
    head = "def f(x, m, q):\n    "
    text, other = (head + "\n    ".join([*lines, f"return {total}"]) for lines in (theirs, ours))
    return Program(text, other, arrays, needs, tuple(used))
