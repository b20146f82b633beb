"""Text that is broken into lines where it is too long, as jaxprs are printed.

A document is a string or a tuple: of documents one after the other, or one that `group`, `nest`, `line`, `styled` or
`noted` made.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

WIDTH = 80
Doc = Any
STYLES = {"keyword": ("\x1b[34;1m", "\x1b[39;22m"), "type": ("\x1b[35m", "\x1b[39m")}


class Part:
    """A document with a role.

    Attributes:
        kind: "group": on one line where it fits. "nest": lines that begin in it are `value` columns further in. "line":
            a line's end, or the text `value` in a group that fits. "style": of that style. "note": its first line has
            the remark `value`.
    """

    __slots__ = ("kind", "doc", "value")

    def __init__(self, kind: str, doc: Doc, value: Any = None) -> None:
        self.kind, self.doc, self.value = kind, doc, value


def group(*docs: Doc) -> Part:
    """On one line, where there is room for it."""
    return Part("group", docs)


def nest(columns: int, *docs: Doc) -> Part:
    """With its lines further in."""
    return Part("nest", docs, columns)


def line(flat: str = " ") -> Part:
    """The end of a line, or this text where the group is on one."""
    return Part("line", "", flat)


def styled(style: str, *docs: Doc) -> Part:
    """In a colour, where there are some."""
    return Part("style", docs, style)


def noted(doc: Doc, remark: str | None) -> Doc:
    """With a remark beside its line."""
    return doc if remark is None else Part("note", (doc,), remark)


def joined(separator: Doc, docs: Iterable[Doc]) -> list[Doc]:
    """Documents with something between them."""
    out: list[Doc] = []
    for doc in docs:
        out += [separator, doc] if out else [doc]
    return out


def width_of(doc: Doc, limit: int) -> int:
    """How many columns a document takes on one line; more than the limit where it never fits."""
    total, stack = 0, [doc]
    while stack and total <= limit:
        top = stack.pop()
        if isinstance(top, str):
            total += limit + 1 if "\n" in top else len(top)
        elif isinstance(top, Part):
            total += len(top.value) if top.kind == "line" else 0
            stack.append(top.doc)
        else:
            stack.extend(reversed(top))
    return total


class Page:
    """Lines that are being written. `color`: whether styles are written as escape codes for terminals."""

    def __init__(self, color: bool) -> None:
        self.color = color
        self.lines: list[str] = [""]
        self.notes: list[list[str]] = [[]]
        self.column = 0

    def write(self, text: str) -> None:
        first, *rest = text.split("\n")
        self.lines[-1] += first
        self.column += len(first)
        for row in rest:
            self.lines.append(row)
            self.notes.append([])
            self.column = len(row)

    def put(self, doc: Doc, indent: int, flat: bool) -> None:
        if isinstance(doc, str):
            self.write(doc)
        elif not isinstance(doc, Part):
            for d in doc:
                self.put(d, indent, flat)
        elif doc.kind == "line":
            self.write(doc.value if flat else "\n" + " " * indent)
        elif doc.kind == "style" and self.color:
            before, after = STYLES[doc.value]
            self.lines[-1] += before
            self.put(doc.doc, indent, flat)
            self.lines[-1] += after
        else:
            if doc.kind == "note":
                self.notes[-1].append(doc.value)
            inner = indent + doc.value if doc.kind == "nest" else indent
            room = WIDTH - self.column
            self.put(doc.doc, inner, flat or doc.kind == "group" and width_of(doc.doc, max(room, 0)) <= room)

    def text(self) -> str:
        """The lines, with remarks in a column of their own behind them."""
        if not any(self.notes):
            return "\n".join(self.lines)
        wide = max(map(len, self.lines))
        rows = []
        for row, notes in zip(self.lines, self.notes):
            rows.append(f"{row:<{wide}} # {notes[0]}" if notes else row)
            rows += [f"{'':<{wide}} # {n}" for n in notes[1:]]
        return "\n".join(rows)


def laid_out(doc: Doc, color: bool = False) -> str:
    """A document as text."""
    page = Page(color)
    page.put(doc, 0, False)
    return page.text()
