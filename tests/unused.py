"""What lazynp has for nothing: `make lint` runs this, and fails where there is any.

Two kinds: functions, methods and classes that nothing uses, and functions that stand in two files, word for word.

vulture looks for names that nobody mentions, in lazynp or in what uses it here. Users reach what is public, so the
names in the stubs are in use; what is reached by name alone, from elsewhere, is listed below.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from vulture.core import Vulture

HERE = Path(__file__).parent.parent
USERS = ("lazynp", "tests", "asv_bench", "compat", "docs", "examples")
KINDS = {"class", "function", "method", "property"}
RULES = ["@emits", "@RULES", "@*.defjvp", "@*.defvjp"]
"""Decorators that put a function where it is found."""
SHORT = 22
"""Functions of so many parts in Python's syntax may stand twice: `return x if test(x) else y`."""
BY_NAME = {
    "__buffer__": "`memoryview`, from Python 3.12 on",
    "__dir__": "Python asks a module for it",
    "_missing_": "enumerations ask for it",
    "reducer_override": "`pickle.Pickler` asks for it",
    "lpmn": "a function of JAX's that is there until it is removed",
    "load_ipython_extension": "IPython's %load_ext",
    "manage_cache": "`lazynp.__main__.COMMANDS`",
    "enable_external_loop": "nditer has it in NumPy",
    "remove_axis": "nditer has it in NumPy",
    "getfield": "ndarray has it in NumPy",
    "add_type": "JAX's sets of effects have it, and libraries call it",
    "register_node": "JAX's registries of trees have it",
    "register_dataclass_node": "JAX's registries of trees have it",
    "_sort_indices": "JAX's COO has it",
    "include_frame": "a module of JAX's that libraries import has it",
    "api_boundary": "a module of JAX's that libraries import has it",
    "filter_traceback": "a module of JAX's that libraries import has it",
}


def public() -> set[str]:
    """All names that the stubs say are there."""
    names = set()
    for path in (HERE / "lazynp-stubs").rglob("*.pyi"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, ast.alias):
                names.add(node.asname or node.name)
            elif isinstance(node, ast.Name):
                names.add(node.id)
    return names


def twins() -> list[list[str]]:
    """Where functions stand whose text is the same, but for names of their own and what they are annotated with."""
    found: dict[str, list[str]] = {}
    for path in sorted((HERE / "lazynp").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                text = "\n".join([", ".join([a.arg for a in node.args.args]), *map(ast.dump, body)])
                if sum(1 for part in body for _ in ast.walk(part)) > SHORT:
                    found.setdefault(text, []).append(f"{path.relative_to(HERE)}:{node.lineno}")
    return [places for places in found.values() if len(places) > 1]


def main() -> int:
    """Print what is there for nothing; how many these are."""
    found = Vulture(ignore_decorators=RULES)
    found.scavenge([str(HERE / name) for name in USERS])
    found.used_names.update(public())
    unused = [x for x in found.get_unused_code() if x.typ in KINDS and x.filename.is_relative_to(HERE / "lazynp")]
    for item in unused:
        if item.name not in BY_NAME:
            print(f"{item.filename.relative_to(HERE)}:{item.first_lineno}: {item.message}")
    closed = BY_NAME.keys() - {item.name for item in unused}
    for name in sorted(closed):
        print(f"tests/unused.py: {name} is used, or gone: take it off BY_NAME")
    for places in (same := twins()):
        print(f"the same function in {', '.join(places)}")
    return len(same) + len(closed) + sum(item.name not in BY_NAME for item in unused)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
