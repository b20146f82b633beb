"""Read Inductor's output code: a strict parser for the few statement forms that a fused C++ program consists of.

Anything else (a library call, an unknown name, a fallback) raises `Unexpected`, and the kernel is not compilable.
"""

from __future__ import annotations

import ast
from typing import NamedTuple


class Unexpected(Exception):
    """The output code holds something that has no C form here."""


class Kernel(NamedTuple):
    types: tuple[str, ...]  # C types of the arguments
    source: str


class Buffer(NamedTuple):
    """Scratch memory: elements (a C expression) and dtype."""

    name: str
    elements: str
    dtype: str


class Call(NamedTuple):
    kernel: str
    args: tuple[str, ...]  # C expressions: names of operands and buffers, or sizes


class Program(NamedTuple):
    kernels: dict[str, Kernel]
    args: tuple[str, ...]  # names of the operands
    steps: tuple[Buffer | Call, ...]


_IGNORED_CALLS = ("assert_size_stride", "assert_alignment")
_OPERATORS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
DTYPES = {
    "float64": "double",
    "float32": "float",
    "bool": "bool",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "uint8": "uint8_t",
}


def parse(code: str, symbols: frozenset[str]) -> Program:
    """`symbols`: the names of sizes and strides that the caller defines."""
    module = ast.parse(code)
    kernels: dict[str, Kernel] = {}
    body: list[ast.stmt] | None = None
    for statement in module.body:
        if isinstance(statement, ast.Assign) and _called(statement.value).startswith("async_compile."):
            name = _name(statement.targets[0])
            kernels[name] = _kernel(statement.value)
        if isinstance(statement, ast.FunctionDef) and statement.name == "call":
            body = statement.body
        if isinstance(statement, ast.ClassDef) and statement.name == "Runner":
            body = next((f.body for f in statement.body if isinstance(f, ast.FunctionDef) and f.name == "call"), body)
    if body is None:
        raise Unexpected("no call function")
    return _Reader(kernels, symbols).read(body)


def _called(node: ast.AST) -> str:
    """The dotted name that a call calls, or an empty text."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def _name(node: ast.AST) -> str:
    if not isinstance(node, ast.Name):
        raise Unexpected(ast.unparse(node))
    return node.id


def _kernel(node: ast.AST) -> Kernel:
    if not isinstance(node, ast.Call) or _called(node) != "async_compile.cpp_pybinding" or len(node.args) != 2:
        raise Unexpected(_called(node))
    return Kernel(tuple(ast.literal_eval(node.args[0])), ast.literal_eval(node.args[1]))


class _Reader:
    def __init__(self, kernels: dict[str, Kernel], symbols: frozenset[str]) -> None:
        self.kernels, self.symbols = kernels, symbols
        self.args: tuple[str, ...] = ()
        self.steps: list[Buffer | Call] = []
        self.alias: dict[str, str] = {}  # buffer name -> the buffer it is another name of
        self.shapes: set[str] = set()  # names that hold an operand's sizes or strides

    def read(self, body: list[ast.stmt]) -> Program:
        for statement in body:
            self.statement(statement)
        if not self.args:
            raise Unexpected("no arguments")
        return Program(self.kernels, self.args, tuple(self.steps))

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, (ast.Delete, ast.Pass)):
            return
        if isinstance(node, ast.Return):
            if node.value is None or ast.unparse(node.value) != "()":
                raise Unexpected(ast.unparse(node))
        elif isinstance(node, ast.Expr):
            self.expression(node.value)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            self.assign(node.targets[0], node.value)
        else:
            raise Unexpected(ast.unparse(node))

    def expression(self, node: ast.expr) -> None:
        name = _called(node)
        if name in self.kernels and isinstance(node, ast.Call):
            kernel = self.kernels[name]
            if len(node.args) != len(kernel.types) or node.keywords:
                raise Unexpected(ast.unparse(node))
            args = tuple(self.argument(a, t) for a, t in zip(node.args, kernel.types))
            self.steps.append(Call(name, args))
        elif name not in _IGNORED_CALLS and name != "args.clear":
            raise Unexpected(ast.unparse(node))

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        text = ast.unparse(value)
        if text == "args":
            elements = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
            self.args = tuple(_name(e) for e in elements)
            return
        name, called = _name(target), _called(value)
        if called.endswith((".size", ".stride")) and called.rsplit(".", 1)[0] in self.args:
            self.shapes.add(name)
        elif isinstance(value, ast.Subscript) and ast.unparse(value.value) in self.shapes or name in self.symbols:
            if name not in self.symbols:
                raise Unexpected(f"symbol {name}")
        elif called == "empty_strided_cpu" and isinstance(value, ast.Call) and len(value.args) == 3:
            self.buffer(name, *value.args)
        elif isinstance(value, ast.Name):
            self.alias[name] = self.pointer(value)
        elif called == "reinterpret_tensor" and isinstance(value, ast.Call) and ast.unparse(value.args[-1]) == "0":
            self.alias[name] = self.pointer(value.args[0])
        else:
            raise Unexpected(ast.unparse(target) + " = " + text)

    def buffer(self, name: str, shape: ast.expr, strides: ast.expr, dtype: ast.expr) -> None:
        """Elements of a strided buffer: 1 + sum of (size - 1) * stride."""
        kind = ast.unparse(dtype).removeprefix("torch.")
        if kind not in DTYPES or not isinstance(shape, ast.Tuple) or not isinstance(strides, ast.Tuple):
            raise Unexpected(ast.unparse(dtype))
        terms = [f"({self.size(n)} - 1) * {self.size(s)}" for n, s in zip(shape.elts, strides.elts, strict=True)]
        self.steps.append(Buffer(name, " + ".join(["1", *terms]), kind))
        self.alias[name] = name

    def argument(self, node: ast.expr, kind: str) -> str:
        return self.pointer(node) if "*" in kind else self.size(node)

    def pointer(self, node: ast.expr) -> str:
        name = _name(node)
        if name in self.args:
            return name
        if name not in self.alias:
            raise Unexpected(f"pointer {name}")
        return self.alias[name]

    def size(self, node: ast.expr) -> str:
        """A C expression over the symbols."""
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return f"INT64_C({node.value})"
        if isinstance(node, ast.Name) and node.id in self.symbols:
            return node.id
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return f"({self.size(node.left)} {_OPERATORS[type(node.op)]} {self.size(node.right)})"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return f"(-{self.size(node.operand)})"
        raise Unexpected(f"size {ast.unparse(node)}")
