"""One program of the gallery in a process of its own: started by `run_gallery.py`, which says which library it gets.

    python gallery_child.py PROGRAM.py --results X.npz              under the libraries that it imports
    python -m lazynp gallery_child.py PROGRAM.py --results X.npz    under lazynp
    python -m lazynp gallery_child.py PROGRAM.py --figure X.png     its figure is drawn

A program's text has two parts, which a line `# %% The figure` separates: one that computes, and one that draws what was
computed. The first is run once, and what the second draws is written down. Then `round` on the standard input has it
run once more, and `wait` blocks until lazynp has compiled what it wanted to. Answers are lines of JSON. `--steps 20` is
for tests: a number of time steps in the place of the one in the text.
"""

import argparse
import ast
import contextlib
import io
import json
import sys
import time
import types
from pathlib import Path

import numpy as np

MARK = "# %% The figure\n"


def shorten(tree: ast.Module, steps: int) -> None:
    """Have `n, steps = 300, 1000` give so many steps."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            for target, value in zip(node.targets[0].elts, getattr(node.value, "elts", ())):
                if isinstance(target, ast.Name) and target.id == "steps":
                    value.value = steps


def parts(path: Path, steps: int | None = None) -> tuple[types.CodeType, types.CodeType | None, list[str]]:
    """The code that computes, the code that draws, and the names of what the second takes from the first. A text
    without the second gives all of its names that are not functions or modules."""
    computing, mark, drawing = path.read_text().partition(MARK)
    tree = ast.parse(computing)
    drawn = ast.parse("\n" * (computing.count("\n") + 1) + drawing)
    if steps is not None:
        shorten(tree, steps)
    made = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    read = {node.id for node in ast.walk(drawn) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    names = sorted(made & read if mark else made)
    return compile(tree, str(path), "exec"), compile(drawn, str(path), "exec") if mark else None, names


def emit(**event: object) -> None:
    print(json.dumps(event), flush=True)


def compute(code: types.CodeType, drawn: list[str]) -> tuple[float, dict]:
    """Seconds that the first part took, and all its names; what is drawn has its value: a lazy result is no result."""
    names: dict = {"__name__": "__main__"}
    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, names)
        for name in drawn:
            if hasattr(names.get(name), "__array__"):
                names[name].__array__()
    return time.perf_counter() - start, names


def compile_wait() -> None:
    lazynp = sys.modules.get("lazynp")
    if lazynp is not None:
        lazynp.compile_wait()


def draw(code: types.CodeType, names: dict, target: str) -> None:
    """Run the second part, and keep what it would show."""
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    plt.show = lambda: None
    exec(code, names)
    plt.savefig(target, dpi=90)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=Path)
    parser.add_argument("--results")
    parser.add_argument("--figure")
    parser.add_argument("--steps", type=int)
    options = parser.parse_args()
    computing, drawing, drawn = parts(options.program, options.steps)
    seconds, names = compute(computing, drawn)
    if options.results:
        arrays = {name: np.asarray(names[name]) for name in drawn if name in names}
        np.savez(options.results, **{name: a for name, a in arrays.items() if a.dtype.kind in "biufc"})
    if options.figure and drawing is not None:
        draw(drawing, names, options.figure)
    names.clear()
    emit(seconds=seconds)
    for command in sys.stdin:
        if command.strip() == "round":
            emit(seconds=compute(computing, drawn)[0])
        else:
            start = time.perf_counter()
            compile_wait()
            emit(seconds=time.perf_counter() - start)


if __name__ == "__main__":
    main()
