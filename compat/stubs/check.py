"""What mypy, pyright and jedi make of the stubs, beside NumPy and JAX: `python -m compat types`.

The programs of `programs/` are those of a user, with a user's slips. They are checked as they stand, and with lazynp
imported instead: the findings, a line and a rule each, should be the same. jedi completes a dot after each module.
"""

from __future__ import annotations

import importlib
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator

from . import FOLDER

PROGRAMS = pathlib.Path(__file__).parent / "programs"
NUMPY_MODULES = (
    *("", "linalg", "fft", "random", "ma", "polynomial", "testing", "strings", "char", "rec", "lib", "typing"),
    *("dtypes", "exceptions", "ctypeslib"),
)
JAX_MODULES = (
    *("", "numpy", "numpy.linalg", "numpy.fft", "lax", "lax.linalg", "nn", "nn.initializers", "random", "scipy"),
    *("scipy.special", "scipy.linalg", "scipy.stats", "scipy.stats.norm", "scipy.signal", "tree", "tree_util"),
    *("sharding", "typing", "image", "ops", "dtypes", "errors", "debug"),
)
Finding = tuple[int, str]


def swapped(source: str) -> str:
    """A program with lazynp imported: its lines keep their numbers. NumPy beside JAX stays NumPy."""
    with_jax = re.search(r"^import jax\b", source, re.MULTILINE)
    rules = [
        (r"^import jax$", "import lazynp.jax as jax"),
        (r"^import jax\.([\w.]+) as", r"import lazynp.jax.\1 as"),
        (r"^from jax\b", "from lazynp.jax"),
    ]
    if not with_jax:
        rules = [(r"^import numpy\b", "import lazynp"), (r"^from numpy\b", "from lazynp")]
    for pattern, new in rules:
        source = re.sub(pattern, new, source, flags=re.MULTILINE)
    return source


def laid_out(folder: pathlib.Path) -> list[str]:
    """Write each program twice, and beside them the stubs as they would be installed; the names of the programs."""
    (folder / "site").mkdir()
    (folder / "site" / "lazynp").symlink_to(FOLDER)
    names = sorted(path.stem for path in PROGRAMS.glob("*.py"))
    for name in names:
        source = (PROGRAMS / f"{name}.py").read_text()
        (folder / f"{name}.py").write_text(source)
        (folder / f"{name}_lazynp.py").write_text(swapped(source))
    return names


def mypy(folder: pathlib.Path, *what: str) -> dict[str, list[Finding]]:
    """What mypy finds, by file; `what`: files, or options that name packages and modules."""
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", "--check-untyped-defs"]
    (folder / "mypy.ini").write_text("[mypy]\nmypy_path = site\n")
    options = ["--config-file", "mypy.ini", "--python-executable", sys.executable, "--cache-dir", ".mypy_cache"]
    done = subprocess.run([*command, *options, *what], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stdout + done.stderr)
    found: dict[str, list[Finding]] = {}
    for file, line, rule in re.findall(r"^([\w./-]+\.pyi?):(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.MULTILINE):
        found.setdefault(file, []).append((int(line), rule))
    return {file: sorted(findings) for file, findings in found.items()}


def pyright(folder: pathlib.Path, files: list[str], program: str) -> dict[str, list[Finding]]:
    """What pyright finds in each file. A condition that it calls always true, and the like, are no errors."""
    settings = {"include": files, "extraPaths": ["site"], "reportMissingModuleSource": "none"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [program, "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found: dict[str, list[Finding]] = {}
    for one in json.loads(done.stdout)["generalDiagnostics"]:
        if one["severity"] == "error":
            name = pathlib.Path(one["file"]).name
            found.setdefault(name, []).append((one["range"]["start"]["line"] + 1, one.get("rule", "syntax")))
    return {file: sorted(findings) for file, findings in found.items()}


def findings(pyright_program: str | None = None) -> Iterator[tuple[str, str, list[Finding], list[Finding]]]:
    """Program, checker, what it finds with NumPy or JAX, and what with lazynp."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        programs = laid_out(folder)
        files = [f"{p}{end}.py" for p in programs for end in ("", "_lazynp")]
        checkers = {"mypy": mypy(folder, *files)}
        if pyright_program:
            checkers["pyright"] = pyright(folder, files, pyright_program)
        for program in programs:
            for checker, found in checkers.items():
                yield program, checker, found.get(f"{program}.py", []), found.get(f"{program}_lazynp.py", [])


# In a process that has loaded neither library, as an editor's.
COMPLETE = """
import json, sys
import jedi
from jedi.api.environment import InterpreterEnvironment

root, *modules = sys.argv[1:]
project = jedi.Project(root, sys_path=[root, *sys.path[1:]], smart_sys_path=False)
found = {}
for module in modules:
    script = jedi.Script(f"import {module} as m\\nm.", project=project, environment=InterpreterEnvironment())
    found[module] = [c.name for c in script.complete(2, 2) if not c.name.startswith("_")]
print(json.dumps(found))
"""


def completed(*modules: str) -> dict[str, set[str]]:
    """The public names that jedi completes after `import module as m; m.`, of each module."""
    command = [sys.executable, "-c", COMPLETE, str(FOLDER.parent), *modules]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {module: set(names) for module, names in json.loads(done.stdout).items()}


def public(module: str) -> set[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = dir(importlib.import_module(module))
    return {name for name in names if not name.startswith("_")}


def completions() -> Iterator[tuple[str, set[str], set[str], set[str], set[str]]]:
    """Module of NumPy or JAX; its public names; those that jedi completes of it; those that it completes of ours; and
    of the public names those that are there at run time in ours."""
    pairs = [(f"numpy.{m}", f"lazynp.{m}") for m in NUMPY_MODULES] + [
        (f"jax.{m}", f"lazynp.jax.{m}") for m in JAX_MODULES
    ]
    pairs = [(theirs.rstrip("."), ours.rstrip(".")) for theirs, ours in pairs]
    found = completed(*itertools.chain(*pairs))
    for theirs, ours in pairs:
        names = public(theirs)
        there = {name for name in names if hasattr(importlib.import_module(ours), name)}
        yield theirs, names, found[theirs], found[ours], there
