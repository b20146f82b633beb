"""`%load_ext lazynp`, `%%lazynp`, what notebooks show, and the notebooks that come with the source."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

import lazynp as np
from lazynp.config import SETTINGS
from lazynp.notebook import options, settings_table

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
CELLS = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="NoColor")
for cell in {cells!r}:
    assert shell.run_cell(cell).success, cell
"""


def run_cells(*cells: str) -> str:
    """What cells print in a shell of their own."""
    pytest.importorskip("IPython", reason="IPython comes with lazynp[test]")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "LAZYNP_COMPILE": "0", "LAZYNP_FULL_TRACEBACKS": "0"}
    done = subprocess.run(
        [sys.executable, "-c", CELLS.format(cells=cells)], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_numpy_in_cells_is_lazynp() -> None:
    out = run_cells(
        "%load_ext lazynp",
        "import numpy as np, scipy.linalg",
        "print(np.__name__, type(np.ones(3)), scipy.linalg._misc.np.__name__)",
    )
    assert "lazynp <class 'lazynp.ndarray'> numpy" in out


def test_a_cell_is_profiled(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    out = run_cells(
        "%load_ext lazynp",
        "import numpy as np",
        f"%%lazynp --advise --save {trace}\nx = np.sin(np.linspace(0, 1, 500_000)).sum()\nprint('sum', x > 0)",
        "print(x > 0)",
    )
    assert out.count("sum True") == 1 and "where " in out and "by line" in out and "the block: " in out
    assert trace.exists()


def test_an_error_in_a_profiled_cell_is_shown_once() -> None:
    out = run_cells(
        "%load_ext lazynp",
        "import numpy as np",
        "%%lazynp\nnp.ones((500, 500)) + np.ones(3)",
    )
    assert out.count("could not be broadcast") == 1 and "by line" not in out and "arithmetic.py" not in out


def test_config_is_shown() -> None:
    assert "threads = 0" in run_cells("%load_ext lazynp", "import lazynp", "lazynp.config")


def test_words_behind_the_magic() -> None:
    assert options("") == (False, "")
    assert options("--save 'a b.json' --advise") == (True, "a b.json")
    for wrong in ("--save", "x", "--advice"):
        with pytest.raises(ValueError, match="--advise and --save"):
            options(wrong)


def test_config_is_a_table() -> None:
    with np.config(threads=1):
        text, page = repr(np.config), settings_table()
    assert len(text.splitlines()) == len(SETTINGS) and "threads = 1" in text
    assert len(list(ET.fromstring(page).iter("tr"))) == len(SETTINGS) + 1
    assert "<b>threads</b>" in page and "<b>mode</b>" not in page


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, monkeypatch: Any) -> None:
    nbformat = pytest.importorskip("nbformat", reason="it comes with lazynp[test]")
    nbclient = pytest.importorskip("nbclient", reason="it comes with lazynp[test]")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("LAZYNP_COMPILE", "0")
    book = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    shown = "".join([str(o.get("data", {}).get("text/html", "")) for c in book.cells for o in c.get("outputs", [])])
    assert "<svg" in shown and "by line" in shown


def test_there_is_one_of_each_door() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["jax_door", "numpy_door"]
