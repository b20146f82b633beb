"""Every public name of every public namespace of JAX is there, under its own name and with JAX's signature; what is not
is listed with its reason, and the lists are exact: what is built later is struck off."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from types import ModuleType
from typing import Any

import jax
import pytest
from gaps import ABSENT, MISSING, NAMES, OTHER_MACHINES, SIGNATURES

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
assert lazynp.jax.__version__ == jax.__version__
SKIPPED, COMPARED = 16, 95  # namespaces: 13 and 109 with JAX 0.10.2 on a machine without accelerators


def is_public(name: str) -> bool:
    return not any(part.startswith("_") for part in name.split("."))


def namespaces() -> list[str]:
    """All that can be imported here, without those of other machines."""
    found = [m.name for m in pkgutil.walk_packages(jax.__path__, "jax.", onerror=lambda name: None)]
    return ["jax", *[n for n in found if is_public(n) and not n.startswith(tuple(OTHER_MACHINES))]]


def imported(name: str) -> Any:
    """The module; None where it cannot be imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError:
            return None


def is_empty(theirs: Any) -> bool:
    """Whether there is nothing to compare: JAX itself cannot import it here, or it has no names of its own."""
    return theirs is None or not names_of(theirs)


def names_of(module: ModuleType) -> list[str]:
    """Public names, without modules, which are namespaces of their own."""
    out = []
    for name in dir(module):
        value = getattr(module, name, None)
        typing = getattr(value, "__module__", "") in ("typing", "__future__")
        if not name.startswith("_") and not isinstance(value, ModuleType) and not typing:
            out.append(name)
    return out


def parameters(f: Any) -> list[tuple[Any, Any, bool]] | None:
    """Name, kind and whether there is a default, of each parameter; None where Python does not know."""
    try:
        found = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return None
    return [(p.name if p.kind != p.POSITIONAL_ONLY else None, p.kind, p.default is not p.empty) for p in found]


@pytest.mark.parametrize("name", namespaces())
def test_namespace(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = imported(name)
        if is_empty(theirs):
            pytest.skip("JAX itself cannot import it here, or it has no names of its own")
        ours = imported(name.replace("jax", "lazynp.jax", 1))
        assert (ours is None) == (name in ABSENT)
        if ours is None:
            return
        public = names_of(theirs)
        missing = {n for n in public if not hasattr(ours, n)}
        assert missing == set().union(*MISSING.get(name, {}).values())
        functions = [n for n in public if n not in missing and inspect.isroutine(getattr(theirs, n))]
        pairs = {n: (getattr(theirs, n), getattr(ours, n)) for n in functions}
        assert {n for n, (a, b) in pairs.items() if a.__name__ != getattr(b, "__name__", "")} == NAMES.get(name, set())
        known = {n for n, (a, b) in pairs.items() if (want := parameters(a)) is not None and want != parameters(b)}
        assert known == set(SIGNATURES.get(name, {}))


def test_few_namespaces_are_skipped() -> None:
    """So that a JAX which cannot be imported does not make all of it pass."""
    skipped = [n for n in namespaces() if is_empty(imported(n))]
    assert len(skipped) <= SKIPPED and len(namespaces()) - len(skipped) >= COMPARED, skipped
