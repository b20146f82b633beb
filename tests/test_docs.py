"""The pages say what is so: their code runs, and their tables name every setting."""

import importlib
import json
import os
import re
import shlex
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from many import free_port

from lazynp.config import SETTINGS

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "docs")]

run_gallery = importlib.import_module("run_gallery")
speed_plot = importlib.import_module("speed_plot")
api_pages = importlib.import_module("api_pages")
readme_figures = importlib.import_module("readme_figures")


def test_how_to_add_an_op_runs() -> None:
    """In a process of its own, since the ops that the page adds would be found by the tests of all ops."""
    page = (ROOT / "docs" / "how-to-add-an-op.md").read_text()
    code = "\n".join(re.findall(r"^```python run\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    assert code.count("import") > 3
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def blocks(page: Path, language: str = "python") -> list[str]:
    """The code of a page: blocks that begin with ```python."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


OF_ITS_OWN = "how-to-add-an-op"  # which quotes the source, and has the test above
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
WITH_CODE = [page for page in PAGES if blocks(page) and page.stem != OF_ITS_OWN]
SMALLER = {  # the same in less time
    "README": [("(2000, 2000)", "(300, 300)"), ("range(1000)", "range(50)")],
    "first-minutes": [("(2000, 2000)", "(300, 300)"), ("range(300)", "range(50)")],
}


def run(code: str, folder: Path, *arguments: str, **env: str) -> str:
    """Run an interpreter, without the compiler and with warnings as errors, and return what it printed. Of
    floating-point arithmetic it warns: operations are not recorded where that is an error."""
    settings = {"PYTHONPATH": str(ROOT), "LAZYNP_COMPILE": "0", "LAZYNP_CACHE_DIR": str(folder / "cache"), **env}
    done = subprocess.run(
        [sys.executable, *(arguments or ("-W", "error", "-W", "default::RuntimeWarning", "-c", code))],
        cwd=folder,
        env={**os.environ, **settings},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "RuntimeWarning" not in done.stderr, done.stderr + done.stdout
    return done.stdout


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    """All blocks of a page, one after the other, in one process; `x.sum()  # gives 6.0` is checked."""
    text = "\n".join(blocks(page))
    for there, here in SMALLER.get(page.stem, []):
        assert there in text
        text = text.replace(there, here)
    lines = []
    for line in text.splitlines():
        code, mark, shown = line.partition("  # gives ")
        lines.append(f"assert str({code}) == {shown!r}, str({code})" if mark else line)
    # As torchrun starts the first of one process, for the page of many.
    alone = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    run("\n".join(lines), tmp_path, **(alone if "distributed.initialize" in text else {}))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "ipython")], ids=lambda page: page.stem)
def test_the_cells_of_a_page_run(page: Path, tmp_path: Path) -> None:
    pytest.importorskip("IPython", reason="IPython comes with lazynp[test]")
    cells = blocks(page, "ipython")
    code = f"""from IPython.core.interactiveshell import InteractiveShell
for cell in {cells!r}:
    InteractiveShell.instance().run_cell(cell).raise_error()"""
    printed = run("", tmp_path, "-c", code, IPYTHONDIR=str(tmp_path))  # IPython has warnings of its own
    assert re.search(r"^\d+\.\d+$", printed, re.MULTILINE)


def test_the_workflow_runs_what_is_there() -> None:
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    steps = re.findall(r"- run: (.+)", text)
    targets = {step.split()[1] for step in steps if step.startswith("make ")}
    makefile = (ROOT / "Makefile").read_text()
    assert targets == {"docs", "dist", "bench-check"} and all(f"\n{target}:" in makefile for target in targets)
    assert ".ci/run" in steps and os.access(ROOT / ".ci" / "run", os.X_OK)


def commands(page: Path) -> list[list[str]]:
    """The commands in the shell blocks of a page, without their comments and what they set in the environment."""
    lines = [line for block in blocks(page, "sh") for line in block.splitlines() if not line.startswith("#")]
    return [[w for w in shlex.split(line, comments=True) if not re.match(r"[A-Z_]+=", w)] for line in lines]


SCRIPT = "import sys\nimport numpy as np\nprint(np.ones((500, 500)).sum(), len(sys.argv))\n"


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.stem)
def test_the_commands_of_a_page_are_there(page: Path, tmp_path: Path) -> None:
    """Targets and files exist, and what starts lazynp on a script of the reader's, or asks it something, is run."""
    (tmp_path / "script.py").write_text(SCRIPT)
    for words in commands(page):
        match words:
            case ["make", target]:
                assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
            case ["python", "-m", "lazynp", *rest]:
                paths = [word for word in rest if "/" in word]
                assert all((ROOT / path).is_file() for path in paths)
                if not paths and rest != ["doctor"]:  # which has tests of its own, and an exit code
                    run("", tmp_path, *words[1:])
            case ["python", path]:
                assert (ROOT / path).is_file()
            case _:
                assert words[:1] in ([], ["pip"], ["torchrun"], ["srun"], ["export"]), words


INSIDE = ("architecture", "contributing", OF_ITS_OWN)
ELSEWHERE = {"get_loc"}  # pandas's


@pytest.mark.parametrize("page", INSIDE)
def test_names_in_the_pages_about_the_code_are_in_the_code(page: str) -> None:
    folders = [ROOT / name for name in ("lazynp", "tests", "compat", "asv_bench", "examples", "docs")]
    files = [
        p for f in folders for p in f.rglob("*") if p.suffix in (".py", ".c", ".h", ".json", ".txt", ".toml", ".md")
    ]
    files = [p for p in files if "_build" not in p.parts]
    words = {w for p in [*files, ROOT / "Makefile", ROOT / "pyproject.toml"] for w in re.findall(r"\w+", p.read_text())}
    words |= {p.stem for p in files} | {p.name.split(".")[0] for p in ROOT.glob("*")} | ELSEWHERE
    prose = re.sub(r"```.*?```", "", (ROOT / "docs" / f"{page}.md").read_text(), flags=re.DOTALL)
    named = {w for span in re.findall(r"`([^`\n]+)`", prose) for w in re.findall(r"[A-Za-z_]\w{2,}", span)}
    assert not named - words


def test_the_reference_has_each_name_once() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pages = [*api_pages.numpy_pages(), *api_pages.jax_pages()]
    head = re.compile(r"`{5}\{py:(\w+)\} ([\w.]+)(.*)\n:module: ([\w.]+)\n\n[^`]*(.*\n)+?`{5}\n")
    found = {}
    for _, entries in pages:
        for text in entries:
            match = head.fullmatch(text)
            assert match, text
            kind, name, signature, module = match.groups()[:4]
            assert found.setdefault(f"{module}.{name}", (kind, signature)) == (kind, signature)
    assert len(found) == sum(len(entries) for _, entries in pages) > 1500
    assert found["lazynp.sum"][1].startswith("(a, axis=None, dtype=None, out=None, keepdims=...")
    assert found["lazynp.jax.numpy.concatenate"] == ("function", "(arrays, axis=0, dtype=None)")
    assert found["lazynp.pi"][0] == "data" and found["lazynp.ndarray.reshape"] == ("method", "()")


def test_docstrings_are_escaped_for_markdown() -> None:
    assert api_pages.escaped("*args of ``f(x)`` and :func:`g`_") == r"\*args of `f(x)` and `g`\_"
    assert api_pages.escaped("an odd ` mark") == "an odd ' mark"


def test_the_plot_of_the_readme_is_that_of_its_table() -> None:
    drawn = speed_plot.drawing(speed_plot.rows(README.read_text()))
    assert speed_plot.PLOT.read_text() == drawn
    assert "(docs/speed.svg)" in README.read_text() and ET.fromstring(drawn).tag.endswith("svg")
    dots = [float(x) for x in re.findall(r'cx="([\d.]+)" cy="[\d.]+" r="5"', drawn)]
    assert len(dots) >= 30 and all(0 < x < speed_plot.WIDTH for x in dots)


def test_the_readme_has_the_figures_that_its_command_writes() -> None:
    """The tables that are counted as they would be written now; of names those whose number grows, nearly."""
    readme = README.read_text()
    assert readme_figures.put(readme, "tests", readme_figures.tests_table()) == readme
    shown, now = (re.search(r"methods and ufuncs [\d,]+ \((\d+) %\)", t) for t in (readme, readme_figures.names_line()))
    assert shown and now and abs(int(shown[1]) - int(now[1])) <= 5


def test_the_table_of_the_demo_is_written_from_its_figures() -> None:
    entry = {"program": "cavity_flow", "size": 1200, "ratio": 4.0, "agreement": "agrees"}
    entry["total"] = {"numpy": 3.0, "first": 1.5, "second": 1.0}
    written = readme_figures.demo_table([entry], [{"program": "cavity_flow", "ratio": 2.0}])
    assert "| cavity flow | 1,200 | 4.00 | 2.00 | 2.00 | 3.00 | agrees |\n" in written
    readme = readme_figures.put(README.read_text(), "demo table", written)
    assert [row["hot"] for row in speed_plot.rows(readme)] == ["4.00"]
    with pytest.raises(AssertionError, match="no place for figures"):
        readme_figures.put(readme, "figures", "")


@pytest.mark.parametrize("page", ["README.md", "docs/settings.md"])
def test_every_setting_is_described(page: str) -> None:
    text = (ROOT / page).read_text()
    described = set(re.findall(r"`(LAZYNP_\w+)`", text))
    assert described == {setting.env for setting in SETTINGS.values()}
    for name in SETTINGS:
        assert f"`{name}`" in text


def test_the_gallery_shows_each_program_and_what_was_measured() -> None:
    page, measured = run_gallery.PAGE.read_text(), json.loads(run_gallery.MEASURED.read_text())
    assert run_gallery.written(page, measured) == page
    for program in run_gallery.PROGRAMS:
        assert measured["programs"][program.name]["beside"] == program.beside
        assert f"../examples/gallery/{program.name}.py\n" in page and f"_build/gallery/{program.name}.png\n" in page
