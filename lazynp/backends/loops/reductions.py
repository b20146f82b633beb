"""C++ of reductions along short axes: for rows of two or three numbers a call of NumPy's loop is most of the time."""

from __future__ import annotations

from .regions import Shape
from .writer import Writer

SUM, PROD, MAX, MIN, ANY, ALL, MEAN, REDUCTIONS = range(8)  # as in `_known.h`
SHORT = 8  # from so many elements on NumPy adds up a row in another order


def are_short(which: int, shape: Shape, axis: int) -> bool:
    """Whether an array has so short rows, and is reduced along them, or, of two axes, to one of them."""
    n = shape[-1]
    simple = which in (SUM, MEAN, ANY, ALL) and type(n) is int and 0 < n < SHORT
    return simple and len(shape) > 1 and (axis > 0 or len(shape) == 2)


def put_short(w: Writer, which: int, t: str, of: str, to: str, length: int, rows: bool) -> None:
    """The elements of each row added up, or all rows together.

    It begins with a zero, which makes a zero of two negative ones, and adds in the order of the elements.

    Args:
        t: the type of the elements.
        of, to: pointers to the first element, and to the first result. `n` and `left` are variables: how many elements
            make a result, and how many results there are.
        rows: the rows are added up.
    """
    adds = which in (SUM, MEAN)
    sign = "+" if adds else "&" if which == ALL else "|"
    elements = [f"x[{k}]" if adds else f"(x[{k}] != 0)" for k in range(length)]
    if rows:
        sums = [w.name("s") for _ in elements]
        w.put("".join([f"{t} {s} = {int(which == ALL)}; " for s in sums]))
        w.put(f"for (int64_t i = 0; i < n; ++i) {{ const {t}* x = {of} + i * {length};")
        w.put("".join([f"{s} = {s} {sign} {x}; " for s, x in zip(sums, elements)]))
        w.put("}")
        w.put("".join([f"{to}[{k}] = {s}; " for k, s in enumerate(sums)]))
    else:
        w.put(f"for (int64_t i = 0; i < left; ++i) {{ const {t}* x = {of} + i * {length};")
        w.put(f"{to}[i] = {f' {sign} '.join(elements)}{f' + ({t})0' if adds else ''};")
        w.put("}")
    if which == MEAN:
        w.put(f"for (int64_t i = 0; i < left; ++i) {to}[i] = ({t})((double){to}[i] / (double)n);")
