"""Boxes and arrows as SVG, in layers from above to below. For `explanation.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

LETTER, ROW, PAD, GAP, LAYER, LANE = 7.2, 16, 8, 18, 44, 9  # pixels; an arrow keeps LANE away from boxes it passes
SMALL_LETTER = 6.0
MOST_LINES, MOST_BOXES, MOST_LETTERS = 16, 200, 64
COLOURS = {  # by kind: fill and edge, which are legible on dark pages too
    "kernel": ("#fff3d6", "#b7791f"),
    "library call": ("#e3ecff", "#2b5fb8"),
    "write": ("#fde2e2", "#b83232"),
    "view": ("#f4f4f4", "#999999"),
    "array": ("#ffffff", "#666666"),
    "argument": ("#ffffff", "#666666"),
    "result": ("#e2f5e5", "#2f7d3b"),
}


class Box(NamedTuple):
    """A box.

    Attributes:
        kind: of `COLOURS`.
        title: its first line; lines: what stands in it, below.
        sources: (number of an earlier box, what stands at the arrow).
    """

    kind: str
    title: str
    lines: tuple[str, ...]
    sources: tuple[tuple[int, str], ...]


def picture(boxes: Sequence[Box], title: str) -> str:
    """The boxes, each below all that its arrows come from. Of more than 200 boxes only the title."""
    if not boxes or len(boxes) > MOST_BOXES:
        more = f" ({len(boxes)} boxes are too many for a picture)" if boxes else ""
        width = int(PAD * 2 + LETTER * len(title + more))
        return svg(width, ROW + 2 * PAD, [text(PAD, ROW, title + more, "#222")], title)
    layers = layered(boxes)
    sizes = [size(b) for b in boxes]
    wide = max(sum(sizes[b][0] + GAP for b in layer) - GAP for layer in layers)
    where: dict[int, tuple[float, float]] = {}
    y = float(PAD)
    for layer in layers:
        x = PAD + (wide - sum(sizes[b][0] + GAP for b in layer) + GAP) / 2
        for b in layer:
            where[b] = (x, y)
            x += sizes[b][0] + GAP
        y += max(sizes[b][1] for b in layer) + LAYER
    parts: list[str] = []
    left, right = 0.0, wide + 2 * PAD
    for arrow, label, ends in arrows(boxes, sizes, layers, where):
        parts += [arrow, label]
        left, right = min(left, ends[0] - PAD), max(right, ends[1] + PAD)
    for b, box in enumerate(boxes):
        parts += drawn(box, *where[b], *sizes[b])
    return svg(int(right - left), int(y - LAYER + PAD), parts, title, int(left))


def layered(boxes: Sequence[Box]) -> list[list[int]]:
    """The boxes by layer: one below the lowest of its sources; in a layer as their sources lie."""
    depth: list[int] = []
    for box in boxes:
        depth.append(1 + max([depth[s] for s, _ in box.sources], default=-1))
    users: dict[int, list[int]] = {}
    for b, box in enumerate(boxes):
        for source, _ in box.sources:
            users.setdefault(source, []).append(b)
    for b, box in enumerate(boxes):  # what is there stands just above its first reader
        if not box.sources and b in users:
            depth[b] = max(0, min(depth[u] for u in users[b]) - 1)
    layers: list[list[int]] = [[] for _ in range(max(depth) + 1)]
    place: dict[int, float] = {}
    for b in sorted(range(len(boxes)), key=lambda b: depth[b]):
        sources = [place[s] for s, _ in boxes[b].sources if s in place]
        place[b] = sum(sources) / len(sources) if sources else len(layers[depth[b]])
        layers[depth[b]].append(b)
    return [sorted(layer, key=place.__getitem__) for layer in layers if layer]


def shown(box: Box) -> list[str]:
    """The lines in a box, as far as there is room."""
    lines = [clipped(line) for line in box.lines]
    return lines if len(lines) <= MOST_LINES else [*lines[: MOST_LINES - 1], f"... {len(lines) - MOST_LINES + 1} more"]


def clipped(line: str) -> str:
    return line if len(line) <= MOST_LETTERS else line[: MOST_LETTERS - 1] + "…"


def size(box: Box) -> tuple[float, float]:
    """Width and height of a box."""
    lines = [clipped(box.title), *shown(box)]
    return max(len(line) for line in lines) * LETTER + 2 * PAD, len(lines) * ROW + 2 * PAD - 4


def drawn(box: Box, x: float, y: float, width: float, height: float) -> list[str]:
    """A box with its lines."""
    fill, edge = COLOURS[box.kind]
    dashes = ' stroke-dasharray="4 3"' if box.kind == "view" else ""
    return [
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="6" fill="{fill}" '
        f'stroke="{edge}"{dashes}/>',
        text(x + PAD, y + PAD + 9, clipped(box.title), edge if box.lines else "#222", bool(box.lines)),
        *[text(x + PAD, y + PAD + 9 + ROW * (k + 1), line, "#222") for k, line in enumerate(shown(box))],
    ]


def arrows(
    boxes: Sequence[Box],
    sizes: list[tuple[float, float]],
    layers: list[list[int]],
    where: dict[int, tuple[float, float]],
) -> Iterator[tuple[str, str, tuple[float, float]]]:
    """Each arrow, from below one box to the top of another: its path, what stands at it, and how far these reach.

    It goes straight down between the boxes of each layer that it passes, and in between it bends.
    """
    depth = {b: k for k, layer in enumerate(layers) for b in layer}
    tops = [where[layer[0]][1] for layer in layers]
    ends = [top + max(sizes[b][1] for b in layer) for top, layer in zip(tops, layers)]
    taken = [[(where[b][0], where[b][0] + sizes[b][0]) for b in layer] for layer in layers]
    for to, box in enumerate(boxes):
        for source, label in box.sources:
            x, y = where[source][0] + sizes[source][0] / 2, where[source][1] + sizes[source][1]
            last, v = where[to][0] + sizes[to][0] / 2, where[to][1] - 2
            path, at, widest = f"M{x:.0f},{y:.0f}", ((x + last) / 2, (y + v) / 2), [x, last]
            for k in range(depth[source] + 1, depth[to]):
                lane = free(taken[k], x + (last - x) / (depth[to] - k + 1))
                taken[k].append((lane, lane))
                path += f"{bend(x, y, lane, tops[k])} V{ends[k]:.0f}"
                x, y = lane, ends[k]
                if k == depth[source] + 1:  # below the first boxes that it passes, where others begin no more
                    at = (lane, y + ROW)
                widest.append(lane)
            shape = f'<path d="{path}{bend(x, y, last, v)}" fill="none" stroke="#777" marker-end="url(#lazynp-arrow)"/>'
            reach = max([*widest, at[0] + 4 + SMALL_LETTER * len(label)])
            yield shape, text(at[0] + 4, at[1], label, "#666", small=True), (min(widest), reach)


def free(taken: Sequence[tuple[float, float]], wanted: float) -> float:
    """The place nearest to the wanted one that is not in or close to what is taken; of two such the right one."""
    places = [wanted, *[place for start, end in taken for place in (start - LANE, end + LANE)]]
    good = [x for x in places if all(x <= start - LANE or x >= end + LANE for start, end in taken)]
    return min(good, key=lambda x: (round(abs(x - wanted), 1), -x))


def bend(x: float, y: float, u: float, v: float) -> str:
    """A curve that begins and ends upright."""
    middle = (y + v) / 2
    return f" C{x:.0f},{middle:.0f} {u:.0f},{middle:.0f} {u:.0f},{v:.0f}"


def text(x: float, y: float, content: str, colour: str, bold: bool = False, small: bool = False) -> str:
    """A line of text."""
    style = (' font-weight="bold"' if bold else "") + (' font-size="10"' if small else "")
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}"{style}>{escape(content)}</text>' if content else ""


def svg(width: int, height: int, parts: list[str], title: str, left: int = 0) -> str:
    """The document."""
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="{left} 0 {width} {height}" '
            'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12">',
            f"<title>{escape(title)}</title>",
            '<defs><marker id="lazynp-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#777"/></marker></defs>',
            f'<rect x="{left}" width="{width}" height="{height}" fill="#fff" rx="6"/>',
            *parts,
            "</svg>",
        ]
    )
