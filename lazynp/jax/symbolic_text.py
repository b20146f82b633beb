"""Texts of shapes whose sizes have variables: "2*a + 1, floordiv(b, 2), 4"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

Variable = Callable[[str], Any]
Operations = Mapping[str, Callable[[Any, Any], Any]]
TOKEN = re.compile(r"\s*(?:(?P<NAME>[A-Za-z_]\w*)|(?P<NUMBER>\d+)|(?P<SIGN>\.\.\.|[^\s]))")
SIGNS = {
    **{"...": "ELLIPSIS", "-": "MINUS", "+": "PLUS", "*": "STAR", "^": "CIRCUMFLEX"},
    **{"(": "LPAR", ")": "RPAR", ",": "COMMA", ">": "GREATER", "<": "LESS", "=": "EQUAL", "/": "SLASH", "%": "PERCENT"},
}
"""What Python's tokenizer calls signs, which is what errors say."""


class Token(NamedTuple):
    """`at`: where it begins in the text; None for the end."""

    kind: str
    text: str
    at: int | None


def tokens_of(text: str) -> list[Token]:
    found = []
    for m in TOKEN.finditer(text):
        kind = str(m.lastgroup)
        said = m[kind]
        found.append(Token(SIGNS.get(said, "ERRORTOKEN") if kind == "SIGN" else kind, said, m.start(kind)))
    return [*found, Token("ENDMARKER", "", None)]


class Parser:
    """Reads a shape: sizes, which are sums of products of names, numbers, powers and calls of the operations.

    Args:
        variable: from a name to its expression. operations: of two expressions, by name.
        like: a shape from which "_" and "..." take their sizes.
    """

    def __init__(
        self, text: str, variable: Variable, operations: Operations, like: Sequence[int | None] | None = None
    ) -> None:
        self.text, self.variable, self.operations, self.like = text, variable, operations, like
        self.tokens, self.at, self.sizes = tokens_of(text), 0, list[Any]()

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def wrong(self, what: str) -> ValueError:
        at = self.next.at
        done, left = ("", "") if at is None else (self.text[:at], self.text[at:])
        return ValueError(
            f"syntax error in symbolic shape {self.text!r} in dimension {len(self.sizes)}: {what}. Parsed '{done}', "
            f"remaining '{left}'."
        )

    def take(self, *kinds: str) -> str:
        """The text of the next token, which must be of one of these kinds."""
        if self.next.kind not in kinds:
            raise self.wrong(f"expecting one of {{{', '.join(kinds)}}} but found {self.next.kind}")
        self.at += 1
        return self.tokens[self.at - 1].text

    def whole(self) -> tuple[Any, ...]:
        """The sizes. Raises ValueError for what is no shape."""
        self.shape()
        self.take("ENDMARKER")
        return tuple(self.sizes)

    def shape(self) -> None:
        if self.next.kind == "LPAR":
            self.take("LPAR")
            self.shape()
            self.take("RPAR")
            return
        while self.next.kind not in ("ENDMARKER", "RPAR"):
            rest = self.next.kind == "ELLIPSIS"
            if rest or self.next.text == "_":
                like = self.room(not rest)
                self.at += 1
                for size in like[len(self.sizes) :] if rest else [like[len(self.sizes)]]:
                    self.add(size)
            else:
                self.add(self.sum())
            if rest or self.next.kind in ("ENDMARKER", "RPAR"):
                return
            self.take("COMMA")

    def room(self, more: bool) -> Sequence[int | None]:
        """The shape that a placeholder stands for a part of; `more`: for one more size at least."""
        done = len(self.sizes)
        if self.like is None:
            raise self.wrong("spec contains ... but no 'like' shape was given")
        if len(self.like) < done + more:
            raise self.wrong(
                f"cannot resolve placeholder '{self.next.text}' because we parsed {done} already and 'like' shape has "
                f"only {len(self.like)} dimensions"
            )
        return self.like

    def add(self, size: Any) -> None:
        like = None if self.like is None else tuple(self.like)
        if size is None:
            raise self.wrong(f"unexpected placeholder for unknown dimension; like={like}")
        if like is not None and isinstance(size, int) and size != like[len(self.sizes)]:
            raise self.wrong(f"different size {size} for known dimension; like={like}")
        self.sizes.append(size)

    def sign(self) -> int:
        return -1 if self.take("PLUS", "MINUS") == "-" else 1

    def sum(self) -> Any:
        out, sign = 0, self.sign() if self.next.kind in ("MINUS", "PLUS") else 1
        while True:
            out = out + self.product() * sign
            if self.next.kind in ("ENDMARKER", "RPAR", "COMMA"):
                return out
            sign = self.sign()

    def product(self) -> Any:
        out = self.power()
        while self.next.kind not in ("ENDMARKER", "RPAR", "COMMA", "PLUS", "MINUS"):
            self.take("STAR")
            out = out * self.power()
        return out

    def power(self) -> Any:
        out = self.factor()
        if self.next.kind == "CIRCUMFLEX":
            self.take("CIRCUMFLEX")
            out = out ** int(self.take("NUMBER"))
        return out

    def factor(self) -> Any:
        text = self.take("NAME", "MINUS", "NUMBER")
        if text == "-":
            return -int(self.take("NUMBER"))
        if text[0].isdigit():
            return int(text)
        if text not in self.operations:
            return self.variable(text)
        self.take("LPAR")
        a = self.sum()
        self.take("COMMA")
        b = self.sum()
        self.take("RPAR")
        return self.operations[text](a, b)
