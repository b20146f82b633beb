"""Whether two libraries agree on a call: structure, dtype, weak type, shape, values; or the class of the error."""

from __future__ import annotations

from typing import Any

import numpy as np

DTYPE_TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 3e-6, "complex64": 5e-6, "float64": 1e-12}
DTYPE_TOLERANCE |= {"complex128": 2e-12, "float8_e5m2": 2.6e-3, "float8_e5m2fnuz": 2.6e-3}
DTYPE_TOLERANCE |= dict.fromkeys(("float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz"), 1.3e-3)
"""Two or three units in the last place: neither library rounds every function correctly. Of those of 8 bits a unit, a
hundredfold: XLA rounds after each step of a formula."""
TOLERANCE: dict[str, tuple[float, str]] = {
    # path: (factor, reason)
    "numpy.linalg.": (300, "other pivots, other order of sums"),
    "scipy.linalg.": (300, "other pivots, other order of sums"),
    "numpy.fft.": (20, "another algorithm"),
    "scipy.special.": (60, "other approximations; neither is exact to the last bits"),
    "lax.lgamma": (20, "another approximation"),
    "lax.digamma": (20, "another approximation"),
    "lax.erf_inv": (20, "another approximation"),
    "lax.igamma": (60, "another series"),
    "lax.conv_general_dilated": (10, "another order of sums"),
    "lax.cumlogsumexp": (10, "another order of sums"),
    "numpy.var": (10, "another order of sums"),
    "numpy.std": (10, "another order of sums"),
    "numpy.nanvar": (10, "another order of sums"),
    "numpy.nanstd": (10, "another order of sums"),
    "numpy.i0": (10, "another approximation"),
    "numpy.tan": (4, "XLA's tan is several units off"),
    "numpy.power": (8, "XLA's float32 pow is several units off"),
    "numpy.float_power": (8, "XLA's float32 pow is several units off"),
    "numpy.logspace": (8, "powers, as above"),
    "numpy.geomspace": (8, "powers, as above"),
    "numpy.vander": (8, "powers, as above"),
    "lax.pow": (8, "XLA's float32 pow is several units off"),
    "nn.": (4, "compositions of approximations"),
    "random.": (8, "inverse error functions and logarithms of bit-equal uniforms"),
}
ABSOLUTE: dict[str, tuple[float, str]] = {
    "scipy.special.gammaln": (1e-6, "0 at 1 and 2, where XLA's series leaves 5e-7"),
    "scipy.special.kl_div": (3e-6, "p log(p / q) - p + q of terms up to 8, which cancel where p is near q"),
    "lax.lgamma": (1e-6, "0 at 1 and 2, where XLA's series leaves 5e-7"),
    "nn.gelu": (3e-7, "1 + tanh(y) of a y far below zero: what is left is the last bit of tanh, times x / 2"),
}
"""What single values of a function may differ by, where they come near zero by cancellation."""


class Outcome:
    """What a call came to: leaves, or an error."""

    def __init__(self, leaves: list[Any] | None, error: Exception | None = None) -> None:
        self.leaves, self.error = leaves, error


def leaves_of(out: Any) -> list[Any]:
    """The arrays and scalars of tuples, lists and named tuples, in order; None is left out."""
    if isinstance(out, (tuple, list)):
        return [leaf for x in out for leaf in leaves_of(x)]
    return [] if out is None else [out]


def outcome(run: Any) -> Outcome:
    """The leaves with their values, or the error that making them raised."""
    try:
        found = []
        for x in leaves_of(run()):
            value = np.asarray(x)
            found.append((value, getattr(x, "weak_type", None), type(x).__name__))
        return Outcome(found)
    except Exception as error:
        return Outcome(None, error)


def builtin_class(error: Exception) -> type:
    """The first class of an error's that is Python's own."""
    return next(c for c in type(error).__mro__ if c.__module__ == "builtins")


def factor_of(path: str) -> float:
    return max([f for name, (f, _) in TOLERANCE.items() if path.startswith(name)], default=1.0)


def disagreement(path: str, theirs: Outcome, ours: Outcome, factor: float | None = None) -> str | None:
    """What differs, in words; None where they agree. `factor`: of the tolerance; the table's by default."""
    if theirs.error is not None or ours.error is not None:
        if theirs.error is None:
            return f"raises {type(ours.error).__name__}: {first_line(ours.error)}"
        if ours.error is None:
            return f"does not raise {type(theirs.error).__name__}: {first_line(theirs.error)}"
        wanted, got = builtin_class(theirs.error), builtin_class(ours.error)
        same = isinstance(ours.error, wanted)
        text = f"raises {got.__name__} ({first_line(ours.error)}), not {wanted.__name__}: {first_line(theirs.error)}"
        return None if same else text
    assert theirs.leaves is not None and ours.leaves is not None
    if len(theirs.leaves) != len(ours.leaves):
        return f"{len(ours.leaves)} results, not {len(theirs.leaves)}"
    for (a, weak_a, _), (b, weak_b, _) in zip(theirs.leaves, ours.leaves):
        if a.dtype != b.dtype:
            return f"dtype {b.dtype}, not {a.dtype}"
        if a.shape != b.shape:
            return f"shape {b.shape}, not {a.shape}"
        if weak_a is not None and weak_b is not None and weak_a != weak_b:
            return f"weak_type {weak_b}, not {weak_a}"
        absolute = ABSOLUTE.get(path, (0.0, ""))[0]
        if not close(a, b, factor_of(path) if factor is None else factor, absolute):
            return f"value {b.tolist()}, not {a.tolist()}"
    return None


def close(a: np.ndarray, b: np.ndarray, factor: float, absolute: float = 0) -> bool:
    """Equal, NaN to NaN; floats within their dtype's tolerance, relative to the value and to the largest value."""
    name = a.dtype.name
    if name not in DTYPE_TOLERANCE:
        return bool(np.array_equal(a, b))
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    x, y = a.astype(wide), b.astype(wide)
    tolerance = DTYPE_TOLERANCE[name] * factor
    finite = np.abs(x[np.isfinite(x)])
    largest = finite.max(initial=0.0)
    tiny = 1e-7 if name in ("float32", "complex64") else 1e-5
    with np.errstate(all="ignore"):
        near = np.abs(x - y) <= tolerance * np.abs(x) + tolerance * largest + tiny * tolerance + absolute
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    return bool(np.all(near | same))


def first_line(error: Exception | None) -> str:
    return (str(error).splitlines() or [""])[0][:160]
