"""Stubs of the NumPy door: each name of NumPy's own stubs, re-exported, and lazynp's own names beside them.

A star would do for mypy and pyright, but not for editors that complete with jedi. So names are listed, those that all
supported versions of NumPy have, and a star brings what the installed one has beyond them.
"""

from __future__ import annotations

import ast
import pathlib

import numpy

from lazynp.config import SETTINGS, Config

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "lazynp-stubs"
MODULES = (
    *("", "char", "ctypeslib", "dtypes", "exceptions", "fft", "lib", "lib.array_utils", "lib.format"),
    *("lib.introspect", "lib.mixins", "lib.npyio", "lib.recfunctions", "lib.scimath", "lib.stride_tricks", "linalg"),
    *("ma", "ma.core", "ma.extras", "ma.mrecords", "matlib", "matrixlib", "polynomial", "polynomial.chebyshev"),
    *("polynomial.hermite", "polynomial.hermite_e", "polynomial.laguerre", "polynomial.legendre"),
    *(
        "polynomial.polynomial",
        "polynomial.polyutils",
        "random",
        "random.bit_generator",
        "random.mtrand",
        "rec",
        "strings",
        "testing",
    ),
    *("rec", "strings", "testing", "testing.overrides", "typing", "version"),
)
# Names that not every supported NumPy has: the star brings them.
VARYING = {
    "": {
        *("complex160", "complex512", "distutils", "float256", "float80", "in1d", "int128", "int256", "row_stack"),
        *("trapz", "uint128", "uint256"),
    },
    "dtypes": {"register_dlpack_dtype"},
    "lib": {"format"},
    "lib.format": {"GROWTH_AXIS_MAX_DIGITS", "drop_metadata", "isfileobj"},
    "ma.core": {"get_fill_value", "get_masked_subclass", "mask_rowcols", "shrink_mask"},
    "ma.mrecords": {"openfile"},
    "polynomial.chebyshev": {"chebvalfromroots", "chebvalnd"},
    "polynomial.hermite": {"hermvalfromroots", "hermvalnd"},
    "polynomial.hermite_e": {"hermevalfromroots", "hermevalnd"},
    "polynomial.laguerre": {"lagvalfromroots", "lagvalnd"},
    "polynomial.legendre": {"legvalfromroots", "legvalnd"},
    "polynomial.polynomial": {"polyvalnd"},
    "random": {"get_bit_generator", "set_bit_generator"},
    "strings": {"slice"},
    "testing": {"BLAS_SUPPORTS_FPE", "IS_64BIT", "extbuild"},
}
DUNDERS = ("__version__", "__array_api_version__", "__array_namespace_info__")


def source(module: str) -> pathlib.Path:
    """NumPy's stub of a module, or its code where there is no stub (`numpy.typing`)."""
    place = pathlib.Path(numpy.__file__).parent.joinpath(*module.split("."))
    files = (place / "__init__.pyi", place.with_suffix(".pyi"), place / "__init__.py", place.with_suffix(".py"))
    return next(file for file in files if file.is_file())


def statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements, with those of both branches of each `if`."""
    return [
        inner
        for outer in body
        for inner in (statements(outer.body + outer.orelse) if isinstance(outer, ast.If) else [outer])
    ]


def exported(module: str) -> set[str]:
    """The names that a stub exports: `__all__` where it has one, definitions, and imports of the form `a as a`."""
    names: set[str] = set()
    for statement in statements(ast.parse(source(module).read_text()).body):
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.ImportFrom(names=aliases):
                names.update(alias.name for alias in aliases if alias.asname == alias.name)
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=elements) | ast.Tuple(elts=elements)):
                names.update(e.value for e in elements if isinstance(e, ast.Constant))
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
    return {n for n in names if not n.startswith("_")} | (set(DUNDERS) & names if not module else set())


def stub(module: str) -> str:
    """The text of a stub that re-exports one of NumPy's."""
    name = f"numpy.{module}" if module else "numpy"
    names = sorted(exported(module) - VARYING.get(module, set()) - {"test"})
    listed = "".join(f"from {name} import {n} as {n}\n" for n in names)
    return f"from {name} import *\n{listed}"


def stubs() -> dict[str, str]:
    """The text of each stub of the NumPy door, by its path."""
    texts = {}
    for module in MODULES:
        package = any(other.startswith(module + ".") for other in MODULES) or not module
        path = module.replace(".", "/")
        texts[f"{path}/__init__.pyi".lstrip("/") if package else f"{path}.pyi"] = stub(module)
    texts["__init__.pyi"] += own_names()
    texts["config.pyi"] = settings()
    return texts


def own_names() -> str:
    """What lazynp has beside NumPy's names."""
    names = {
        "_own": defined("_own.pyi") - {"Advice", "Explanation", "Item", "Timing"},
        "_transformations": defined("_transformations.pyi") - {"Jit"},
    }
    lines = [f"from .{module} import {n} as {n}\n" for module in names for n in sorted(names[module])]
    return (
        "from . import jax as jax\nfrom . import swap as swap\nfrom .config import config as config\n"
        "from .jax import numpy as jnp\n" + "".join(lines)
    )


def defined(stub: str) -> set[str]:
    """The public names that a stub written by hand defines."""
    body = ast.parse((FOLDER / stub).read_text()).body
    names = {s.name for s in body if isinstance(s, (ast.FunctionDef, ast.ClassDef))}
    names |= {s.target.id for s in body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)}
    return {n for n in names if not n.startswith("_")}


def settings() -> str:
    """The stub of `lazynp.config`: every setting with its type."""
    kinds = {name: Config.__annotations__[name] for name in SETTINGS}
    fields = "".join(f"    {name}: {kind}\n" for name, kind in kinds.items())
    options = "".join(f"        {name}: {kind} = ...,\n" for name, kind in kinds.items())
    return (
        "from collections.abc import Callable\nfrom contextlib import AbstractContextManager\n"
        f"from typing import Any\n\nclass Config:\n{fields}"
        f"    def __call__(\n        self,\n        *,\n{options}    ) -> AbstractContextManager[Config]: ...\n"
        "    def watch(self, watcher: Callable[[str, Any], None]) -> None: ...\n\n"
        "SETTINGS: dict[str, Any]\nconfig: Config\n"
    )
