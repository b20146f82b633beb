"""Boxes and arrows as SVG, in layers from above to below. For `explanation.py`."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

LETTER, ROW, PAD, GAP, LAYER = 7.2, 16, 8, 18, 44  # pixels
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
    parts = [arrow(where, sizes, source, b, label) for b, box in enumerate(boxes) for source, label in box.sources]
    for b, box in enumerate(boxes):
        parts += drawn(box, *where[b], *sizes[b])
    return svg(int(wide + 2 * PAD), int(y - LAYER + PAD), parts, title)


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


def arrow(
    where: dict[int, tuple[float, float]], sizes: list[tuple[float, float]], source: int, to: int, label: str
) -> str:
    """An arrow from below one box to the top of another."""
    x, y = where[source][0] + sizes[source][0] / 2, where[source][1] + sizes[source][1]
    u, v = where[to][0] + sizes[to][0] / 2, where[to][1]
    bend = (v - y) / 2
    aside = 0.0 if v - y < 1.5 * LAYER else min(bend, 160) * (1 if u >= x else -1)  # past what lies between
    points = [(x, y), (x + aside, y + bend), (u + aside, v - bend), (u, v - 2)]
    start, *others = [f"{a:.0f},{b:.0f}" for a, b in points]
    line = f'<path d="M{start} C{" ".join(others)}" fill="none" stroke="#777" marker-end="url(#lazynp-arrow)"/>'
    return line + text((x + u) / 2 + aside * 0.75 + 4, (y + v) / 2, label, "#666", small=True)


def text(x: float, y: float, content: str, colour: str, bold: bool = False, small: bool = False) -> str:
    """A line of text."""
    style = (' font-weight="bold"' if bold else "") + (' font-size="10"' if small else "")
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}"{style}>{escape(content)}</text>' if content else ""


def svg(width: int, height: int, parts: list[str], title: str) -> str:
    """The document."""
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12">',
            f"<title>{escape(title)}</title>",
            '<defs><marker id="lazynp-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#777"/></marker></defs>',
            f'<rect width="{width}" height="{height}" fill="#fff" rx="6"/>',
            *parts,
            "</svg>",
        ]
    )
