"""Writes the reference of both doors, a page for each module, from what the modules have: `python docs/api_pages.py`.

Sphinx runs it before it reads the pages (`conf.py`). Signatures and summaries are those that `help` shows, so that
nothing is kept in two places; the pages are in no repository.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import lazynp
import lazynp.jax
from lazynp.jax.boundaries import FOLDERS, PUBLIC
from lazynp.numpy import coverage

PAGES = Path(__file__).resolve().parent / "api"
PLAIN = (bool, int, float, complex, str, tuple, type(None))
LATER = ("example_libraries.optimizers", "example_libraries.stax", "experimental.jet", "experimental.ode")
LATER += ("experimental.rnn", "experimental.sparse", "flatten_util", "scipy.spatial.transform", "test_util")
WAYS = {
    coverage.NATIVE: "Native: an operation of the engine, or composed of such.",
    coverage.COMPOSED: "Composed: NumPy's Python code over lazynp's arrays.",
    coverage.HOST: "Host: NumPy computes it, on values.",
    coverage.SHARED: "The very object of NumPy's.",
}
HEAD = {
    "numpy": "Names of NumPy's are NumPy's in what they take, give and raise: [](../differs-numpy.md) has what is not. "
    "Below each stands who computes it.",
    "jax": "Names of JAX's are JAX's in what they take, give and raise: [](../differs-jax.md) has what is not.",
}
TITLES = {"additions": "What lazynp adds"}


def signature(f: Any) -> str:
    """`(x, axis=None)`, without types; defaults that are no plain values as three dots. Empty where there is none."""
    try:
        found = inspect.signature(f)
    except (TypeError, ValueError):
        return ""
    parameters = []
    for p in found.parameters.values():
        shown = p.default is p.empty or isinstance(p.default, PLAIN)
        parameters.append(p.replace(annotation=p.empty, default=p.default if shown else Ellipsis))
    text = str(found.replace(parameters=parameters, return_annotation=found.empty))
    return text.replace("=Ellipsis", "=...") if len(text) < 400 else "(...)"


def escaped(text: str) -> str:
    """Plain text with `code` in it, as Markdown that shows just that."""
    parts = re.sub(r":[a-z:]+:`", "`", text.replace("``", "`")).split("`")
    if len(parts) % 2 == 0:
        parts = ["'".join(parts)]
    return "`".join([re.sub(r"([\\*_{}\[\]<>#|$~^])", r"\\\1", p) if i % 2 == 0 else p for i, p in enumerate(parts)])


def summary(value: Any) -> tuple[str, str]:
    """The first paragraph of a docstring that is no signature, and the rest."""
    paragraphs = [p for p in (inspect.getdoc(value) or "").split("\n\n") if p.strip()]
    while paragraphs and re.match(r"\w+\(.*\)", paragraphs[0].split("\n")[0]):
        paragraphs = paragraphs[1:]
    if not paragraphs:
        return "", ""
    return escaped(" ".join(paragraphs[0].split())), "\n\n".join(paragraphs[1:])


def entry(module: str, name: str, value: Any, way: str = "", whole: bool = False) -> str:
    """The description of one name. `whole`: with all of its docstring, not only the first paragraph."""
    kind = "class" if isinstance(value, type) else "function" if callable(value) else "data"
    first, rest = summary(value) if kind != "data" else ("", "")
    lines = [f"`````{{py:{kind}}} {name}{signature(value) if kind != 'data' else ''}", f":module: {module}", "", first]
    if way:
        lines += ["", f"*{WAYS[way]}*"]
    if whole and rest:
        lines += ["", "```text", rest, "```"]
    return "\n".join([*lines, "`````", ""])


def numpy_pages() -> Iterator[tuple[str, list[str]]]:
    """For each namespace of NumPy's: its name here, and the entries."""
    table = coverage.table()
    for namespace, ways in table.items():
        if namespace == "numpy.ndarray":
            continue
        path = namespace.replace("numpy", "lazynp", 1)
        module = importlib.import_module("lazynp") if namespace != "numpy.emath" else None
        for part in path.split(".")[1:] if module is not None else ():
            module = getattr(module, part)
        home = module if module is not None else lazynp.emath
        found = {n: way for n, way in ways.items() if way != coverage.MISSING}
        yield path, [entry(path, n, getattr(home, n), way) for n, way in found.items()]
    own = sorted(n for n in dir(lazynp) if not n.startswith("_") and n not in table["numpy"])
    added = [n for n in own if not isinstance(getattr(lazynp, n), ModuleType)]
    yield "additions", [entry("lazynp", n, getattr(lazynp, n), whole=True) for n in added]
    methods = {n: way for n, way in table["numpy.ndarray"].items() if way != coverage.MISSING and n[0] != "_"}
    kinds = {n: "method" if callable(getattr(lazynp.ndarray, n)) else "attribute" for n in methods}
    yield (
        "lazynp.ndarray",
        [
            f"`````{{py:{kinds[n]}}} ndarray.{n}{'()' if kinds[n] == 'method' else ''}\n:module: lazynp\n\n"
            f"{summary(getattr(lazynp.ndarray, n))[0]}\n\n*{WAYS[way]}*\n`````\n"
            for n, way in methods.items()
        ],
    )


def is_public(value: Any) -> bool:
    """Whether a public module's object is part of its interface: no module, and of ours."""
    where = str(getattr(value, "__module__", None) or type(value).__module__)
    return not isinstance(value, ModuleType) and where.split(".")[0] in ("lazynp", "jax")


def jax_pages() -> Iterator[tuple[str, list[str]]]:
    """For each module behind the JAX door: its name, and the entries."""
    root = "lazynp.jax"
    for path in LATER:
        importlib.import_module(f"{root}.{path}")
    below = {n.removeprefix(f"{root}.") for n in sys.modules if n.startswith(f"{root}.")}
    folders = {n for n in below if n.split(".")[0] in FOLDERS}
    for path in ("", *sorted({*PUBLIC, *LATER, *folders})):
        name = f"{root}.{path}".rstrip(".")
        module = sys.modules[name]
        names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
        entries = [entry(name, n, getattr(module, n)) for n in sorted(names) if is_public(getattr(module, n))]
        if entries:
            yield name, entries


def write() -> None:
    """Write all pages that differ from what is there, and remove others."""
    pages = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # names that NumPy or JAX are about to drop
        doors = {"numpy": list(numpy_pages()), "jax": list(jax_pages())}
    for door, found in doors.items():
        for name, entries in found:
            head = HEAD[door] if name not in TITLES else ""
            pages[name] = "\n".join([f"# {TITLES.get(name, name)}", "", head, "", *entries])
    tree = ["```{toctree}", ":maxdepth: 1", "", *[f"{TITLES.get(n, n)} <{n}>" for n in pages], "```"]
    pages["index"] = "\n".join(["# Reference", "", "Every public name of both doors.", "", *tree, ""])
    PAGES.mkdir(exist_ok=True)
    for old in PAGES.glob("*.md"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        path = PAGES / f"{name}.md"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    write()
