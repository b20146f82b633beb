"""The libraries under test, and what it takes to have a value from each."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
LIBRARIES = ("numpy", "lazynp", "jax")

# asv has only its own folder on the path: neither a checkout that is not installed, nor the examples.
for folder in (ROOT / "asv_bench", EXAMPLES, ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def namespace(library: str) -> ModuleType:
    """The module that stands for `np`. Raises NotImplementedError, which asv shows as n/a, where there is none."""
    try:
        if library == "jax":
            jax = importlib.import_module("jax")
            jax.config.update("jax_enable_x64", True)  # the same work as NumPy
            return importlib.import_module("jax.numpy")
        return importlib.import_module(library)
    except ImportError as error:
        raise NotImplementedError(f"{library} is not installed") from error


def waiter(library: str) -> Callable[[], None]:
    """Block until background compiles are done, where there are such."""
    return namespace(library).compile_wait if library == "lazynp" else lambda: None


def demander(library: str) -> Callable:
    """A function that returns once the value of its argument, a fresh result, exists."""
    if library == "jax":
        return lambda result: result.block_until_ready()
    if library == "lazynp":
        return lambda result: result.__array__()
    return lambda result: result


def element_demander(library: str) -> Callable:
    """The same for an array that goes on being written to: a NumPy array taken from it would share its memory."""
    if library == "lazynp":
        return lambda result: result.item(0)
    return demander(library)
