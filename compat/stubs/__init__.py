"""The stubs of `lazynp-stubs`: `python -m compat stubs` writes those that can be generated.

A package of their own (PEP 561), not files beside the code: most modules of the NumPy door have no file, since they are
NumPy's, executed again, and the code itself is checked by mypy as it is. Those without
the line below at their top are written by hand. All others come from here: the NumPy door re-exports NumPy's stubs
name by name (`numpy_door`), the JAX door is what the modules have at run time (`jax_door`).
"""

from __future__ import annotations

import pathlib

from . import jax_door, numpy_door

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "lazynp-stubs"
HEADER = "# Written by `python -m compat stubs`.\n"


def generated() -> dict[str, str]:
    """The text of each generated stub, by its path below `lazynp-stubs`."""
    return {path: HEADER + text for path, text in (numpy_door.stubs() | jax_door.stubs()).items()}


def stale() -> list[str]:
    """The stubs that are not what would be written now, and those that nothing writes any more."""
    texts = generated()
    there = {p.relative_to(FOLDER).as_posix(): p.read_text() for p in FOLDER.rglob("*.pyi")}
    there = {path: text for path, text in there.items() if path in texts or text.startswith(HEADER)}
    return sorted(path for path in texts.keys() | there.keys() if texts.get(path) != there.get(path))


def write() -> None:
    """Write all stubs that are generated, and remove those that are no more."""
    texts = generated()
    for path in stale():
        file = FOLDER / path
        if path not in texts:
            file.unlink()
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(texts[path])
        print(f"wrote lazynp-stubs/{path}")
