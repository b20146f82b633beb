"""`jax.debug`: printing and calling back from traced functions."""

from __future__ import annotations

import builtins
import pdb
from collections.abc import Callable, Sequence
from typing import Any

from .array import as_node
from .callback import debug_callback as callback
from .callback import debug_log as log
from .callback import debug_print as print
from .effects import DebugEffect, OrderedDebugEffect
from .sharding import Sharding, default_sharding
from .spreading import sharding_at

__all__ = [
    "DebugEffect",
    "OrderedDebugEffect",
    "breakpoint",
    "callback",
    "inspect_array_sharding",
    "log",
    "print",
    "visualize_array_sharding",
    "visualize_sharding",
]


def breakpoint(**kwargs: Any) -> None:
    """Stop in Python's debugger when the function is traced. Values under differentiation are there to look at; those
    of `jit` and `vmap` are not."""
    pdb.set_trace()


def inspect_array_sharding(value: Any, *, callback: Callable[[Any], None]) -> None:
    """Call back with the array's sharding; of a traced one with that which was found for it, when it is traced."""
    node = as_node(value)
    callback(sharding_at(node) or default_sharding(node.ndim) if node.trace else value.sharding)


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Draw how an array of one or two axes lies on devices: see `visualize_sharding`. Of a traced one, when it is
    traced."""

    def draw(sharding: Sharding) -> None:
        visualize_sharding(arr.shape, sharding, **kwargs)

    inspect_array_sharding(arr, callback=draw)


def visualize_sharding(
    shape: Sequence[int],
    sharding: Sharding,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: Any = None,
) -> None:
    """Print a drawing of the parts of an array of one or two axes, with the devices that have them. It has no colours,
    as JAX's has none where no terminal shows them.

    Args:
        scale: how large it is. min_width, max_width: of a part, in characters.

    Raises: ValueError for other numbers of axes.
    """
    if len(shape) not in (1, 2):
        raise ValueError("`visualize_sharding` only works for shapes with 1 and 2 dimensions.")
    high = int(10 * scale)
    wide = int(high * (shape[1] if len(shape) == 2 else 1) / shape[0]) * 2.5  # a character is so many times as high
    owners: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for device, index in sharding.devices_indices_map(tuple(shape)).items():
        spans = [s.indices(n)[:2] for s, n in zip(index, shape)]
        owners.setdefault(tuple([*[(0, 0)] * (2 - len(spans)), *spans]), []).append(device.id)
    rows = sorted({vertical for vertical, _ in owners})
    columns = sorted({horizontal for _, horizontal in owners})
    kind = next(iter(sharding.device_set)).platform.upper()
    cells: list[list[list[str]]] = [[[] for _ in columns] for _ in rows]
    for (vertical, horizontal), numbers in owners.items():
        text = f"{kind} {','.join(map(str, sorted(numbers)))}"
        width = int((horizontal[1] - horizontal[0]) / shape[-1] * wide)
        height = int((vertical[1] - vertical[0]) / shape[0] * high)
        lines = cell(text, min(max(width, min_width), max_width) - 2, height - 2)
        cells[rows.index(vertical)][columns.index(horizontal)] = lines
    builtins.print(table(cells))


def cell(text: str, width: int, height: int) -> list[str]:
    """The lines of a part, at least so wide and with so many empty ones around the text."""
    left, more = divmod(max(width - len(text), 0), 2)
    above, below = divmod(max(height, 0), 2)
    line = f"{' ' * left}{text}{' ' * (left + more)}"
    empty = " " * len(line)
    return [*[empty] * above, line, *[empty] * (above + below)]


def table(cells: list[list[list[str]]]) -> str:
    """Rows of cells, as wide as the widest of their columns and as high as the highest of their rows, with lines."""
    widths = [max([len(c[0]) for c in column]) for column in zip(*cells)]
    bars = ["\u2500" * n for n in widths]
    middle = "\n\u251c" + "\u253c".join(bars) + "\u2524\n"
    body = []
    for row in cells:
        lines = zip(*[[line.center(n) for line in c] for c, n in zip(row, widths)])
        body.append("\n".join(["\u2502" + "\u2502".join(line) + "\u2502" for line in lines]))
    return "\u250c" + "\u252c".join(bars) + "\u2510\n" + middle.join(body) + "\n\u2514" + "\u2534".join(bars) + "\u2518"
