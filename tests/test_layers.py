"""The import layers of the design hold: downward only, the doors apart, torch in one place, a light `import lazynp`."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import least

import lazynp
from lazynp.graph.op import registry

ROOT = Path(lazynp.__file__).parent
# What each layer may import of lazynp, beside itself and BARE. `backends` reads what an op is in machine code from its
# `Op.code`; `runtime` names the ops that its plans treat in a special way.
BELOW = {
    "graph": (),
    "tree": (),
    "errors": ("graph",),
    "leaks": ("graph", "errors", "ops", "transforms", "runtime"),
    "once": ("graph", "runtime", "doors"),
    "ops": ("graph", "tree"),
    "transforms": ("ops", "graph", "tree"),
    "backends": ("graph", "ops"),
    "runtime": ("graph", "errors", "backends", "ops"),
    "doors": ("graph", "runtime"),
    "spread": ("graph", "errors", "backends", "runtime", "ops"),
    "api": ("graph", "errors", "leaks", "once", "tree", "ops", "transforms", "backends", "runtime", "doors"),
    "numpy": ("graph", "errors", "tree", "ops", "transforms", "backends", "runtime", "doors", "api"),
    "adapters": ("graph", "errors", "tree", "ops", "transforms", "backends", "runtime", "doors", "api", "numpy"),
    "jax": ("graph", "errors", "once", "tree", "ops", "transforms", "backends", "runtime", "spread", "doors", "api"),
}
# Single files that import nothing of lazynp; `tracebacks` asks a setting, and for the C module.
BARE = (
    "away",
    "bounded",
    "coefficients",
    "config",
    "flags",
    "keyed",
    "notices",
    "owners",
    "signatures",
    "speed",
    "threads",
    "tracebacks",
)
ENGINE = ("graph", "transforms", "api")
LINES = 3500  # of the engine, so that it can be read
LIMIT = 0.050  # seconds that `import lazynp` may cost beyond `import numpy`
NUMPY = 0.045  # seconds that `import numpy` takes on an idle machine
FILES = sorted(ROOT.rglob("*.py"))


# How many names of operations stand in lists (tuples, sets, keys of dicts, arguments of one call, of a decorator) of
# files that are neither `ops/` nor a door: what code must know of an operation is a field of `Op`. A list that is new
# is to become one, and a list that is gone is to be taken out here.
GENERATORS = "the functions that write C++ of a step which is no map, each for the operations that it is given"
NOT_OPS = "no names of operations, though some are spelt like them: "
LISTS = {
    "backends/loops/calls.py": (10, GENERATORS),
    "backends/loops/control.py": (4, GENERATORS),
    "backends/loops/keyed.py": (11, GENERATORS),
    "backends/loops/matrices.py": (5, GENERATORS + "; dtypes and functions of C++"),
    "backends/loops/shapes.py": (18, GENERATORS + "; modes of a scatter"),
    "backends/loops/sums.py": (1, GENERATORS),
    "backends/loops/writer.py": (10, "which of those steps write into a carried value, or may read it before"),
    "backends/numpy/blocked.py": (2, "reductions to which NumPy's method gives a dtype"),
    "backends/numpy/namespace.py": (2, NOT_OPS + "modes of a scatter"),
    "backends/numpy/xla.py": (6, NOT_OPS + "functions of the C module"),
    "backends/torch/complex.py": (4, NOT_OPS + "what the module exports"),
    "backends/torch/keys.py": (15, "torch's text of what is drawn under keys, and the names of samplers"),
    "backends/torch/library.py": (70, "torch's functions for what is one call"),
    "backends/torch/namespace.py": (8, "torch's functions of the reductions, and what comparisons of two signs give"),
    "backends/torch/elementary.py": (3, NOT_OPS + "functions of the C library that are computed otherwise"),
    "backends/torch/shims.py": (27, NOT_OPS + "C's and Sleef's functions"),
    "backends/torch/trace.py": (4, NOT_OPS + "methods of torch's vectors"),
    "graph/op.py": (2, NOT_OPS + "fields"),
    "backends/torch/windows.py": (3, "torch's functions for slices at computed places, and for convolutions"),
    "runtime/device_loops.py": (3, "loops and branches on a device"),
    "runtime/device_steps.py": (2, "views as torch has them"),
    "runtime/jit_calls.py": (2, "views of all elements in their order"),
    "runtime/steps.py": (2, "views that may have to be copies"),
    "speed.py": (4, NOT_OPS + "NumPy's functions"),
    "spread/joining.py": (2, NOT_OPS + "ways to join"),
    "spread/layout.py": (26, "a rule for each operation of how it is split"),
}
C_LISTS = {
    "_speed.c": (29, "the ufuncs of Python's operators and of NumPy's methods that reduce"),
    "_known.h": (8, "NumPy's functions whose calls are matched, or done in steps, though they are no ops: clip, where"),
}


def name_of(path: Path) -> str:
    """`runtime` for runtime/plan.py and for a runtime.py."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Each import with its line, as an absolute dotted name. Those that only the type checker sees are left out."""
    package = ("lazynp", *path.relative_to(ROOT).parts[:-1])
    tree = ast.parse(path.read_text())
    unseen = {
        id(n)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for n in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in unseen:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            start = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, (start, node.module)))
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}"


def layer_of(imported: str) -> str | None:
    """The layer that an absolute name of lazynp belongs to; None for other packages and for `lazynp` itself."""
    parts = imported.split(".")
    return parts[1] if parts[0] == "lazynp" and len(parts) > 1 and parts[1] in (*BELOW, *BARE) else None


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_downward(path: Path) -> None:
    layer = name_of(path)
    if layer not in (*BELOW, *BARE):  # lazynp/__init__.py and __main__.py stand above all
        return
    allowed = {layer, "bounded"} if layer in ("graph", "tree", *BARE) else {layer, *BARE, *BELOW[layer]}
    if layer == "tracebacks":
        allowed |= {"config", "speed"}
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {imported}"
        for line, imported in imports(path)
        if imported.split(".")[0] == "lazynp" and layer_of(imported) not in allowed
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_torch_stays_under_its_backend(path: Path) -> None:
    if path.is_relative_to(ROOT / "backends" / "torch"):
        return
    assert not [line for line, imported in imports(path) if imported.split(".")[0] in ("torch", "jax", "jaxlib")]


def test_the_engine_can_be_read() -> None:
    lines = {p: len(p.read_text().splitlines()) for p in FILES if name_of(p) in ENGINE}
    assert sum(lines.values()) <= LINES, lines


def op_names() -> set[str]:
    for path in (ROOT / "ops").glob("*.py"):
        importlib.import_module(f"lazynp.ops.{path.stem}" if path.stem != "__init__" else "lazynp.ops")
    return {part for name in registry for part in (name, name.rpartition(".")[0]) if part}


def listed(tree: ast.AST, names: set[str]) -> int:
    """How many names of operations stand in lists of two or more, or are given to decorators."""
    count = 0
    for node in ast.walk(tree):
        given: list[ast.expr | None] = []
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            given = [*node.elts]
        elif isinstance(node, ast.Dict):
            given = [*node.keys]
        elif isinstance(node, ast.Call):
            given = [*node.args]
        elif isinstance(node, ast.FunctionDef):
            given = [a for d in node.decorator_list if isinstance(d, ast.Call) for a in d.args]
        found = sum(isinstance(x, ast.Constant) and x.value in names for x in given)
        count += found if found > 1 or isinstance(node, ast.FunctionDef) else 0
    return count


def test_no_lists_of_names_of_operations() -> None:
    names = op_names()
    outside = [p for p in FILES if name_of(p) not in ("ops", "numpy", "jax", "adapters")]
    found = {str(p.relative_to(ROOT)): listed(ast.parse(p.read_text()), names) for p in outside}
    assert {p: n for p, n in found.items() if n} == {p: n for p, (n, _) in LISTS.items()}


def test_no_lists_of_names_of_operations_in_c() -> None:
    names, found = op_names(), {}
    for path in (*ROOT.glob("*.c"), *ROOT.glob("*.h")):
        lists = re.findall(r"= *\{([^{};]*)\}", path.read_text())
        counts = [sum(x in names for x in re.findall(r'"(\w+)"', text)) for text in lists]
        found[path.name] = sum(n for n in counts if n > 1)
    assert {p: n for p, n in found.items() if n} == {p: n for p, (n, _) in C_LISTS.items()}


def test_lists_of_names_are_found() -> None:
    """The check above sees what it is to see."""
    names = {"add", "sin"}
    for text in ('X = {"add", "sin"}', 'X = {"add": 1, "sin": 2}', 'f("add", "sin")', 'X = ("add", y, "sin")'):
        assert listed(ast.parse(text), names) == 2, text
    assert listed(ast.parse('@on("add")\ndef f(): ...'), names) == 1
    assert listed(ast.parse('op.name == "add" and f("sin", "cos")'), names) == 0


def test_every_folder_says_what_lives_there() -> None:
    for folder in [ROOT, *[p for p in ROOT.rglob("*") if p.is_dir() and list(p.glob("*.py"))]]:
        assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text())), folder


def python(code: str, **variables: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | variables  # as users run it
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent, env=environment
    )
    return done.stdout.strip()


def test_import_loads_nothing_heavy() -> None:
    heavy = ("torch", "jax", "scipy", "sympy", "multiprocessing.pool", "concurrent.futures.process")
    assert python(f"import sys, lazynp; print([m for m in {heavy} if m in sys.modules])") == "[]"


@pytest.mark.alone
def test_import_time() -> None:
    """Seconds of CPU beyond NumPy's, each the least of several runs, in turns.

    Where even NumPy takes longer than it should, the machine is slow or busy, and the limit grows with it. NumPy's BLAS
    has no threads here: those that it starts wait for work without rest for a tenth of a second, while both import.
    """
    code = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"

    def seconds(module: str) -> float:
        return float(python(code.format(module), OPENBLAS_NUM_THREADS="1"))

    seconds("lazynp")  # compiles the byte code
    theirs, both = [], []

    def beyond() -> float:
        theirs.append(seconds("numpy"))
        both.append(seconds("lazynp"))
        return (min(both) - min(theirs)) / max(1.0, min(theirs) / NUMPY)

    for _ in range(4):
        beyond()
    took = least(beyond, LIMIT, 150)
    print(f"CPU time: import numpy {min(theirs) * 1e3:.0f} ms, both {min(both) * 1e3:.0f} ms")
    assert took <= LIMIT
