"""Uses of libraries, a line each, with NumPy's array and with ours: `python -m compat libraries`.

The scripts in `uses/` are programs that import NumPy. Each runs as it is, with its import changed to lazynp's, and
unchanged under `python -m lazynp`, the latter two in the modes `auto` and `graph`; their results are compared.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types
from typing import Any

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
USES = HERE / "uses"
PAGE = ROOT / "docs" / "library-uses.md"
NUMPY, OURS = "import numpy as np\n", "import lazynp as np\n"
WAYS = {  # from its name: the import changed, `-m lazynp`, and the mode
    "import": (True, False, "auto"),
    "import, graph": (True, False, "graph"),
    "-m lazynp": (False, True, "auto"),
    "-m lazynp, graph": (False, True, "graph"),
}
SECONDS = 600


def scripts() -> list[str]:
    return [p.stem for p in sorted(USES.glob("*_.py"))]


def run(name: str, changed: bool = False, by_module: bool = False, mode: str = "auto") -> dict[str, Any]:
    """Each line's result in one of the ways; plain NumPy's by default. Raises RuntimeError where the script ends."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = USES / f"{name}.py", pathlib.Path(folder) / "out.json"
        if changed:
            path = pathlib.Path(folder) / path.name
            path.write_text(swapped((USES / path.name).read_text()))
        command = [sys.executable, *(["-m", "lazynp"] if by_module else []), str(path), str(out)]
        paths = os.pathsep.join(filter(None, [str(ROOT), str(USES), os.environ.get("PYTHONPATH", "")]))
        env = {**os.environ, "PYTHONPATH": paths, "LAZYNP_MODE": mode, "LAZYNP_COMPILE_AT_EXIT": "0"}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=SECONDS, check=False)
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
        found: dict[str, Any] = json.loads(out.read_text())
        return found


def swapped(text: str) -> str:
    """A script with its import changed."""
    if NUMPY not in text:
        raise ValueError("the script does not import NumPy")
    return text.replace(NUMPY, OURS, 1)


def differences(wanted: dict[str, Any], got: dict[str, Any]) -> dict[str, str]:
    """By line, what is not as with NumPy. A line that fails there is wrong itself."""
    return {
        line: f"{got[line]}, not {result}"
        for line, result in wanted.items()
        if result[0] == "raised" or got[line] != result
    }


def in_one_process(name: str) -> dict[str, Any]:
    """The differences in both modes, for tests: all in this process, the library being loaded before lazynp is; and
    what adapters leave behind when they are switched off."""
    sys.path[:0] = [str(USES), str(ROOT)]
    from describe import outcome  # of the scripts' folder

    def results(text: str) -> dict[str, Any]:
        module = sys.modules["uses"] = types.ModuleType("uses")
        exec(compile(text, str(USES / f"{name}.py"), "exec"), vars(module))
        return {line: outcome(use) for line, use in vars(module)["LINES"].items()}

    text = (USES / f"{name}.py").read_text()
    wanted = results(text)
    from lazynp import config

    found: dict[str, Any] = {}
    for mode in ("auto", "graph"):
        with config(mode=mode):
            found[mode] = differences(wanted, results(swapped(text)))
    found["left behind"] = left_behind(config)
    return found


def left_behind(config: Any) -> list[str]:
    """Attributes that adapters set, and that are not as before when adapters are off."""
    from lazynp.adapters.patches import Patches

    before: list[tuple[Any, str, Any]] = []
    put = Patches.put

    def noted(self: Any, owner: Any, name: str, value: Any) -> None:
        before.append((owner, name, vars(owner).get(name)))
        put(self, owner, name, value)

    config.adapters = False
    Patches.put = noted  # type: ignore[method-assign]
    config.adapters = True
    Patches.put = put  # type: ignore[method-assign]
    config.adapters = False
    return [f"{owner}.{name}" for owner, name, value in before if vars(owner).get(name) is not value]


def title(name: str) -> str:
    """What a script is about: its docstring."""
    return (USES / f"{name}.py").read_text().split('"""')[1].strip().rstrip(".")


Row = tuple[str, str, dict[str, str]]  # library, use, and what differs by way


def rows_of(name: str) -> list[Row]:
    """The lines of a script. Raises RuntimeError where it could not run."""
    wanted = run(name)
    found = {way: differences(wanted, run(name, *how)) for way, how in WAYS.items()}
    rows: list[Row] = []
    for line in wanted:
        library, use = line.split(": ", 1) if re.match(r"[\w-]+: ", line) else (title(name), line)
        rows.append((library, use, {way: found[way][line] for way in WAYS if line in found[way]}))
    return rows


def main(chosen: list[str] | None, jobs: int) -> int:
    """Print the table of all scripts, or of those whose names are given, and write the page of all; the exit status."""
    rows, failed = [], []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for future in [pool.submit(rows_of, n) for n in scripts() if not chosen or n.rstrip("_") in chosen]:
            try:
                found = future.result()
            except RuntimeError as error:
                failed.append(str(error))
                print(error, file=sys.stderr)
                continue
            rows += found
            for library, use, wrong in found:
                print(f"{library:18} {use:46} {'; '.join(f'{w}: {v[:300]}' for w, v in wrong.items()) or 'as NumPy'}")
    wrong_lines = sum(1 for *_, w in rows if w)
    libraries = len({library for library, *_ in rows})
    print(f"{len(rows)} lines, {libraries} libraries, {len(WAYS)} ways: {wrong_lines} differ")
    print(f"{len(failed)} scripts did not run")
    if not chosen and not failed:
        PAGE.write_text(page(rows))
    return 1 if wrong_lines or failed else 0


def page(rows: list[Row]) -> str:
    """The table for the documentation."""
    versions = []
    for name in ("numpy", *sorted({library for library, *_ in rows}, key=str.lower)):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions.append(f"{name} {importlib.metadata.version(PACKAGES.get(name, name))}")
    agree = sum(1 for *_, wrong in rows if not wrong)
    lines = [
        "# Uses of libraries",
        "",
        "`make libraries` writes this page. Each line is run with NumPy's arrays, with `import lazynp as np`, and",
        "unchanged under `python -m lazynp`, in the modes `auto` and `graph`; kind of type, dtype, shape and values",
        "are compared. The lines are in `compat/libraries/uses`.",
        "",
        f"{agree} of {len(rows)} lines agree in all ways. Python {sys.version.split()[0]}, {', '.join(versions)}.",
        "",
        "| library | use | |",
        "|---|---|---|",
    ]
    for library, use, wrong in rows:
        lines.append(
            f"| {library} | `{use}` | {'differs: ' + ', '.join(wrong) if wrong else 'as NumPy'} |".replace(
                "||", "\\|\\|"
            )
        )
    return "\n".join(lines) + "\n"


PACKAGES = {"OpenCV": "opencv-python-headless", "JAX": "jax", "sklearn": "scikit-learn", "skimage": "scikit-image"}

if __name__ == "__main__":
    print(json.dumps(in_one_process(sys.argv[1])))
