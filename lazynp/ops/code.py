"""What generated code and the C modules have to know of an elementwise operation: the fields of `Op.code`.

Kinds of loops are NumPy's letters for kinds of dtypes, one after the other: "b", "i", "u", "f", "c".
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

BITS = "biu"
REAL, NUMBER, ALL = "biuf", "iuf", "biufc"
ALL_KINDS = frozenset(ALL)
TYPES = {"b": "?", "i": "bhilq", "u": "BHILQ", "f": "fd", "c": "FD"}
LIGHT, HEAVY = 0.1, 3.0  # nanoseconds an element, about, of what is one instruction and of what is a function


class Code:
    """How an operation is computed by machine code.

    Attributes:
        compiled: the kinds of loops of which kernels are compiled; "-uint64" after them takes out that dtype.
        cost: nanoseconds an element, about, when compiled.
        c: C++ of the result by kind of loop, where {0}, {1}, {2} are the operands, {T} the loop's type, {D} that of
            the result, {U} the unsigned integer of the loop's width, {W} that width in bits, less one, and {F} the
            letter at the end of C's functions of floats. By a dtype's name: of that dtype. "mixed": of int64 with
            uint64, for which NumPy has loops. "quiet": of floats, with no floating-point error that NumPy has not.
        libm: C's function of floats that computes it, where one does, by the name of that for doubles.
        errors: of floats, the floating-point errors that there may be: "d" for division by zero, "o" for overflow,
            "i" for invalid operands.
        replayed: the kinds of loops of which replay writes C++. It calls NumPy's loop for all others.
        exact: whether NumPy's loops of floats give the same bits whatever the strides they are called with. (A
            vectorized loop for contiguous memory may round otherwise, or take the other one of two zeros. Which NaN
            comes out where two go in is left open.) Of integers all do.
        tiled: the kinds whose loops in NumPy are vectorized for arrays only, so that a number is best repeated in
            memory.
        raises: whether NumPy's loop may raise an error.
        gaps: what may have none in memory, since NumPy's loops are wrong then. "in": an input of 32 or 64 bits whose
            steps are as many elements as an element has bytes, where the output has gaps, too (before NumPy 2.5).
            "out": an output, of floats.
        moves: whether it takes elements as they are, but for a cast: of one operand, or as the first one says of one of
            the two others. The C modules do that themselves, without a loop of NumPy's.
    """

    __slots__ = ("compiled", "cost", "c", "libm", "errors", "replayed", "exact", "tiled", "raises", "gaps", "moves")

    def __init__(
        self,
        compiled: str = "",
        cost: float = LIGHT,
        *,
        libm: str = "",
        errors: str = "",
        replayed: str = "",
        exact: bool = False,
        tiled: str = "",
        raises: bool = False,
        gaps: str = "",
        moves: bool = False,
        **c: str,
    ) -> None:
        """`c`: C++ by several kinds at once, as in `Code("biuf", biuf="({0} < {1})")`."""
        self.compiled, self.cost, self.libm, self.errors = compiled, cost, libm, errors
        self.replayed, self.exact, self.tiled = replayed, exact, tiled
        self.raises, self.gaps, self.moves = raises, gaps, moves
        self.c = {k: text for kinds, text in c.items() for k in (kinds if ALL_KINDS.issuperset(kinds) else [kinds])}

    def loops(self) -> tuple[int, ...]:
        """What C modules have to know of NumPy's loops: bits by the numbers of types, as `_loops.h` has them."""
        kinds = (ALL if self.raises else "", self.replayed, "f" if self.exact else "", self.tiled)
        gaps = ("iuf" if self.gaps == "in" else "", "f" if self.gaps == "out" else "")
        return tuple([mask(k) for k in (*kinds, *gaps)])


@functools.cache
def mask(kinds: str) -> int:
    """A bit for each of the types of these kinds, but for those of floats that C has not, or not everywhere."""
    return sum([1 << np.dtype(c).num for kind in kinds for c in TYPES[kind]])


def arithmetic(compiled: str, **fields: Any) -> Code:
    """Of what is an instruction or a few, and exact."""
    return Code(compiled, replayed=REAL, exact=True, **fields)


def mathematics(libm: str, **c: Any) -> Code:
    """Of a function of C's library that takes a while, and rounds as it likes."""
    return Code("f", HEAVY, libm=libm, **c)


def rounding(libm: str, compiled: str, **c: Any) -> Code:
    """Of a function of C's library that is exact."""
    return Code(compiled, libm=libm, quiet=f"__builtin_{libm}{{F}}({{0}})", exact=True, replayed="f", **c)


def comparison(sign: str, mixed: str, quiet: str = "", compiled: str = REAL, **c: Any) -> Code:
    """Of a comparison. NumPy's say nothing of NaN; C's of what is less or greater do."""
    text = f"({{0}} {sign} {{1}})"
    return arithmetic(compiled, biuf=text, mixed=mixed, quiet=quiet, **c)
