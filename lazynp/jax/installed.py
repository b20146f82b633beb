"""`install()`: from then on `import jax` anywhere in the process gives `lazynp.jax`, in installed libraries too.

A finder at the head of `sys.meta_path` answers for `jax` and its submodules with the modules of this package, the same
objects under both names. `jaxlib` is answered for with a module that has the versions which libraries ask for.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from .version import __version__, __version_info__

OURS = __package__


def own_name(name: str) -> str:
    """`lazynp.jax.numpy` for `jax.numpy`, and for `jax._src.numpy`: libraries import from JAX's private modules what
    public ones of the same name have. What these have not is in `private`."""
    if name != "jax._src" and not name.startswith("jax._src."):
        return OURS + name.removeprefix("jax")
    private = f"{OURS}.private{name.removeprefix('jax._src')}"
    return private if is_there(private) else OURS + name.removeprefix("jax._src")


def is_there(name: str) -> bool:
    """Whether there is a module of that name."""
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


class Loader(importlib.abc.Loader):
    """Gives a module that is there, or is imported now, under its other name; it keeps its own spec."""

    def __init__(self) -> None:
        self.own: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(own_name(spec.name))
        self.own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.own


class VersionLoader(importlib.abc.Loader):
    """`jaxlib` and `jaxlib.version`: versions, and nothing else."""

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(__version__=__version__, __version_info__=__version_info__)
        if module.__name__ == "jaxlib":
            vars(module)["__path__"] = []


class Finder(importlib.abc.MetaPathFinder):
    """Answers for `jax` and `jaxlib`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in ("jaxlib", "jaxlib.version"):
            return ModuleSpec(fullname, VersionLoader(), is_package=fullname == "jaxlib")
        if fullname != "jax" and not fullname.startswith("jax."):
            return None
        return ModuleSpec(fullname, Loader()) if is_there(own_name(fullname)) else None


finder = Finder()


def install() -> None:
    """Let `import jax` give `lazynp.jax`, everywhere in this process. Once installed, it stays.

    Raises: ImportError where JAX itself was imported before: its modules would be mixed with ours.
    """
    if finder in sys.meta_path:
        return
    theirs = [m for m in ("jax", "jaxlib") if m in sys.modules]
    if theirs:
        raise ImportError(
            f"lazynp.jax.install() comes too late: {theirs[0]} has been imported. Call it before anything imports JAX, "
            "or run the program by `python -m lazynp --jax`"
        )
    sys.meta_path.insert(0, finder)
