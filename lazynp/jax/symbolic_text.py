"""Texts of sizes with variables: "2*a + 1, floordiv(b, 2), 4"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Variable = Callable[[str], Any]
Operations = Mapping[str, Callable[[Any, Any], Any]]
TOKEN = re.compile(r"\s*(?:(?P<NAME>[A-Za-z_]\w*)|(?P<NUMBER>\d+)|(?P<SIGN>\.\.\.|[-+*^(),]))\s*")


class Parser:
    """Reads one expression: sums of products of names, numbers, powers and calls of the operations.

    Args:
        variable: from a name to its expression. operations: of two expressions, by name.
        whole, where: the text that this one is of, and where in it, for errors.
    """

    def __init__(self, text: str, variable: Variable, operations: Operations, whole: str, where: str = "") -> None:
        self.text, self.variable, self.operations = text, variable, operations
        self.all, self.where, self.at = whole, where, 0

    def wrong(self, what: str) -> ValueError:
        done, left = self.text[: self.at], self.text[self.at :]
        return ValueError(
            f"syntax error in symbolic shape {self.all!r}{self.where}: expecting one of {what} but found "
            f"{left.strip()[:1] or 'the end'!r}. Parsed {done!r}, remaining {left!r}."
        )

    def peek(self) -> tuple[str, str]:
        found = TOKEN.match(self.text, self.at)
        if found is None:
            if self.text[self.at :].strip():
                raise self.wrong("{NAME, NUMBER}")
            return "END", ""
        return str(found.lastgroup), str(found[str(found.lastgroup)])

    def take(self, token: str | None = None) -> str:
        _, text = self.peek()
        if token is not None and text != token:
            raise self.wrong(repr(token))
        found = TOKEN.match(self.text, self.at)
        self.at = found.end() if found else len(self.text)
        return text

    def whole(self) -> Any:
        out = self.expression()
        if self.peek()[0] != "END":
            raise self.wrong("{STAR}")
        return out

    def expression(self) -> Any:
        out, sign = 0, 1
        if self.peek()[1] in ("-", "+"):
            sign = -1 if self.take() == "-" else 1
        while True:
            out = out + self.product() * sign
            if self.peek()[1] not in ("-", "+"):
                return out
            sign = -1 if self.take() == "-" else 1

    def product(self) -> Any:
        out = self.power()
        while self.peek()[1] == "*":
            self.take()
            out = out * self.power()
        return out

    def power(self) -> Any:
        out = self.factor()
        while self.peek()[1] == "^":
            self.take()
            if self.peek()[0] != "NUMBER":
                raise self.wrong("{NUMBER}")
            out = out ** int(self.take())
        return out

    def factor(self) -> Any:
        kind, text = self.peek()
        if kind == "NUMBER":
            return int(self.take())
        if text == "-":
            self.take()
            return -self.factor()
        if kind != "NAME":
            raise self.wrong("{NAME, MINUS, NUMBER}")
        self.take()
        if text in self.operations and self.peek()[1] == "(":
            self.take("(")
            a = self.expression()
            self.take(",")
            b = self.expression()
            self.take(")")
            return self.operations[text](a, b)
        return self.variable(text)


def parts_of(text: str) -> list[str]:
    """The texts between the commas that stand in no parentheses."""
    parts, depth, last = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append(text[last:i])
            last = i + 1
    return [p for p in (*parts, text[last:]) if p.strip()]
