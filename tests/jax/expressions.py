"""Expressions in JAX's names, drawn from the grids of `expressions.toml`, evaluated by JAX and by lazynp and compared:
structure, dtype, shape, weak type, value, or the error's class; and how near its message is.

    python tests/jax/expressions.py --count 50000 --seed 1

prints what differs, by function and kind. JAX evaluates most of them abstractly (`eval_shape`), which compiles nothing
and so is ten times as fast; `--values` has it compute all of them.
"""

from __future__ import annotations

import argparse
import collections
import difflib
import importlib
import random
import re
import sys
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import ml_dtypes
import numpy as np
from agreement import close
from gaps import ACCIDENTS, UNLIKE

import lazynp.jax

MODULES = (
    "api_util", "custom_derivatives", "dlpack", "dtypes", "errors", "flatten_util", "image", "lax.linalg", "nn", "ops",
    "nn.initializers", "numpy.fft", "numpy.linalg", "random", "scipy.cluster.vq", "scipy.fft", "scipy.integrate",
    "scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.optimize", "scipy.signal", "scipy.sparse.linalg",
    "scipy.spatial.transform", "scipy.special", "scipy.stats", "test_util", "tree", "tree_util",
)  # fmt: skip
NAME = re.compile(r"\{(\w+)\}")


class Grid(NamedTuple):
    """A text with names in braces, and for each name the texts that may stand there."""

    count: int
    text: str
    choices: dict[str, list[str]]

    def draw(self, rng: random.Random) -> str:
        """One expression."""
        text = self.text
        while NAME.search(text):
            text = NAME.sub(lambda found: rng.choice(self.choices[found[1]]), text)
        return text


def grids() -> list[Grid]:
    with (Path(__file__).parent / "expressions.toml").open("rb") as file:
        read = tomllib.load(file)
    return [Grid(g["count"], g["text"], {**read["shared"], **g.get("choices", {})}) for g in read["grid"]]


def drawn(seed: int, count: int) -> list[str]:
    """About that many expressions, each once, from all grids as their counts say, in an order of their own."""
    rng, found = random.Random(seed), grids()
    share = count / sum(g.count for g in found)
    out = []
    for g in found:
        wanted = share * g.count
        number = int(wanted) + (rng.random() < wanted % 1)
        out += [g.draw(rng) for _ in range(number)]
    rng.shuffle(out)
    return list(dict.fromkeys(out))


# --- Evaluation -------------------------------------------------------------------------------------------------------


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


def numbers(shape: tuple[int, ...] = (), dtype: str = "float32", kind: str = "d", seed: int = 0) -> np.ndarray:
    """Normal numbers in that dtype. kind: "p" positive, "u" within 0.9 of 0, "q" from 0.1 to 0.9, "n" with infinities
    and NaN, "z" with zeros."""
    rng, to = np.random.RandomState(seed + 13 * len(shape) + sum(shape)), dtype_of(dtype)
    if to == np.bool_:
        return np.asarray(rng.rand(*shape) < 0.5)
    x = np.asarray(3 * rng.randn(*shape))
    if kind == "p":
        x = np.abs(x) + 0.5
    elif kind in "uq":
        x = np.asarray(rng.uniform(-0.9 if kind == "u" else 0.1, 0.9, shape))
    elif kind == "n":
        x = np.where(rng.rand(*shape) < 0.4, rng.choice([np.nan, np.inf, -np.inf, 0.0], shape), x)
    elif kind == "z":
        x = np.where(rng.rand(*shape) < 0.4, 0, x)
    if to.kind == "c":
        return np.asarray(x + 3j * rng.randn(*shape)).astype(to)
    if "int" in dtype:
        x = np.clip(np.nan_to_num(np.abs(x) if dtype[0] == "u" else x, posinf=7, neginf=-7), -8, 7)
    return x.astype(to)


class Library:
    """The names that expressions use, of JAX or of lazynp. `abstract`: whether arrays and results have no values."""

    def __init__(self, root: Any, abstract: bool) -> None:
        self.root, self.abstract = root, abstract and root is jax
        self.with_values = Library(root, False) if self.abstract else self
        for name in MODULES:
            importlib.import_module(f"{root.__name__}.{name}")
        parts = {"jnp": root.numpy, "lax": root.lax, "random": root.random, "nn": root.nn, "jsp": root.scipy}
        parts |= {"jax": root, "tree_util": root.tree_util, "np": np, "collections": collections, "N": numbers}
        helpers = {
            "A": self.array,
            "W": root.numpy.asarray,
            "key": self.key,
            "jit": root.jit,
            "jv": self.jv,
            "vj": self.vj,
        }
        if self.abstract:
            helpers["W"] = lambda x: self.concrete(root.numpy.asarray, x)
        self.names = {**parts, **helpers, "operator": importlib.import_module("operator")}

    def concrete(self, f: Any, *args: Any) -> Any:
        with self.root.ensure_compile_time_eval():
            return f(*args)

    def array(self, *args: Any, **kwargs: Any) -> Any:
        x = numbers(*args, **kwargs)
        return self.concrete(self.root.numpy.asarray, x) if self.abstract else self.root.numpy.asarray(x)

    def key(self, seed: int = 0) -> Any:
        return self.root.random.key(seed)

    def jv(self, f: Any, *args: Any) -> Any:
        one = self.root.numpy.asarray
        return self.root.jvp(f, args, tuple([one(np.full(np.shape(a), 0.5, np.result_type(a))) for a in args]))

    def vj(self, f: Any, *args: Any) -> Any:
        out, pullback = self.root.vjp(f, *args)
        return out, pullback(self.root.tree.map(lambda v: self.root.numpy.ones(v.shape, v.dtype), out))

    def evaluate(self, text: str) -> Any:
        """The value of an expression; of a statement (a `with`) what it assigns to `out`."""
        names = dict(self.names)
        if not text.endswith("\n"):
            return eval(text, names)
        exec(text, names)
        return names["out"]

    def outcome(self, text: str) -> Any:
        """The result, taken apart; or the error."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                if not self.abstract or text.endswith("\n"):
                    return self.described(self.evaluate(text))
                return self.described_abstractly(text)
            except Exception as error:
                return error

    def described_abstractly(self, text: str) -> Any:
        """Without values, where that can be; an expression that needs them is evaluated with them."""
        found: list[Any] = []
        errors = jax.errors
        try:
            jax.eval_shape(lambda: found.append(self.described(self.evaluate(text))))
            return found[0]
        except (
            errors.ConcretizationTypeError,
            errors.TracerArrayConversionError,
            errors.UnexpectedTracerError,
            errors.NonConcreteBooleanIndexError,
        ):
            return self.described(self.evaluate(text))

    def described(self, x: Any) -> Any:
        """A result as plain tuples."""
        root = self.root
        if isinstance(x, root.Array):
            if root.numpy.issubdtype(x.dtype, root.dtypes.prng_key):
                return ("key", str(x.dtype), tuple(x.shape))
            traced = isinstance(x, root.core.Tracer)
            return ("array", str(x.dtype), tuple(x.shape), x.aval.weak_type, None if traced else np.array(x))
        if isinstance(x, (np.ndarray, np.generic)):
            return ("array", str(x.dtype), x.shape, None, np.asarray(x))
        if isinstance(x, (tuple, list)):
            return ("sequence", [self.described(v) for v in x])
        if isinstance(x, dict):
            return ("dict", sorted([(repr(k), self.described(v)) for k, v in x.items()], key=lambda item: item[0]))
        plain = x is None or isinstance(x, (bool, int, float, complex, str))
        return ("value", x) if plain else ("object", type(x).__name__)


# --- Comparison -------------------------------------------------------------------------------------------------------


def accidental(error: Exception) -> bool:
    """Whether an error of JAX's comes from below it, or by accident."""
    return (
        type(error).__name__ == "MLIRError" or repr(error) == "KeyError(8)" or any(t in str(error) for t in ACCIDENTS)
    )


class Difference(NamedTuple):
    """In what two outcomes differ. kind: "value", "raises", "does not raise", "class" or "message"."""

    kind: str
    text: str


def compared(theirs: Any, ours: Any) -> Difference | None:
    """What differs; None where they agree, or where it is the compiler under JAX that refuses."""
    if isinstance(theirs, Exception) and accidental(theirs):
        return None
    if isinstance(theirs, Exception) and isinstance(ours, Exception):
        wanted = next(c.__name__ for c in type(theirs).__mro__ if c.__module__.startswith(("builtins", "jax")))
        if wanted not in [c.__name__ for c in type(ours).__mro__]:
            return Difference(
                "class", f"{type(ours).__name__} ({first_line(ours)}), not {wanted} ({first_line(theirs)})"
            )
        texts = [re.sub("0x[0-9a-f]+", "0x", str(x).replace("lazynp.jax", "jax")) for x in (theirs, ours)]
        words = [t.splitlines()[0] if t else "" for t in texts]
        near = words[1].startswith(words[0]) or difflib.SequenceMatcher(None, *words, autojunk=False).ratio() > 0.8
        return None if near else Difference("message", f"{words[1]!r}, not {words[0]!r}")
    if isinstance(theirs, Exception):
        return Difference("does not raise", f"{type(theirs).__name__}: {first_line(theirs)}")
    if isinstance(ours, Exception):
        return Difference("raises", f"{type(ours).__name__}: {first_line(ours)}")
    return next((Difference("value", text) for text in differences(theirs, ours)), None)


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:200]


def differences(a: Any, b: Any) -> Iterator[str]:
    """What differs between two results."""
    if a[0] != b[0]:
        if {a[0], b[0]} != {"array", "value"}:  # JAX returns some Python scalars as they came
            yield f"{b[0]}, not {a[0]}"
    elif a[0] in ("sequence", "dict"):
        if len(a[1]) != len(b[1]):
            yield f"{len(b[1])} parts, not {len(a[1])}"
        for x, y in zip(a[1], b[1]):
            yield from differences(x, y) if a[0] == "sequence" else differences(x[1], y[1])
    elif a[0] == "array":
        for what, x, y in zip(("dtype", "shape", "weak type"), a[1:4], b[1:4]):
            if x != y and x is not None and y is not None:
                yield f"{what} {y}, not {x}"
                return
        if a[4] is not None and b[4] is not None and not close(a[4], b[4], 100):
            yield f"{b[4].tolist()}, not {a[4].tolist()}"
    elif a[0] != "object" and not np.array_equal(a[1:], b[1:]) and a != b:
        yield f"{b[1:]}, not {a[1:]}"


def difference(text: str, theirs: Library, ours: Library) -> Difference | None:
    """What differs in an expression, with values where that has been asked for or a difference has been found."""
    own = ours.outcome(text)
    found = compared(theirs.outcome(text), own)
    if found is None or found.kind == "message" or not theirs.abstract:
        return found
    return compared(theirs.with_values.outcome(text), own)


def known(text: str) -> bool:
    """Whether an expression is among those that differ for a reason."""
    return any(re.search(pattern, text) for pattern in UNLIKE)


def function_of(text: str) -> str:
    """The last function of JAX's that an expression names."""
    return (re.findall(r"(?:jnp|lax|jax|nn|random|jsp)(?:\.\w+)+", text) or [text[:20]])[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--values", action="store_true", help="JAX computes values too")
    parser.add_argument("--only", default="", help="a regular expression that an expression has to have")
    args = parser.parse_args()
    jax.config.update("jax_platforms", "cpu")
    theirs, ours = Library(jax, not args.values), Library(lazynp.jax, False)
    texts = [t for t in drawn(args.seed, args.count) if re.search(args.only, t) and not known(t)]
    groups: dict[tuple[str, str], list[tuple[str, str]]] = collections.defaultdict(list)
    for number, text in enumerate(texts, 1):
        found = difference(text, theirs, ours)
        if found is not None:
            groups[found.kind, function_of(text)].append((text, found.text))
        if number % 1000 == 0:
            print(f"{number} of {len(texts)}", file=sys.stderr)
            jax.clear_caches()
    for (kind, name), cases in sorted(groups.items(), key=lambda item: (item[0][0], -len(item[1]))):
        print(f"{kind}: {name}, {len(cases)} times, such as\n    {cases[0][0].strip()}\n    {cases[0][1]}")
    kinds = collections.Counter([kind for (kind, _), cases in groups.items() for _ in cases])
    print(f"{len(texts)} expressions; that differ: {dict(kinds)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
