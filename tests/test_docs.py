"""The pages say what is so: their code runs, and their tables name every setting."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lazynp.config import SETTINGS

ROOT = Path(__file__).resolve().parent.parent


def test_how_to_add_an_op_runs() -> None:
    """In a process of its own, since the ops that the page adds would be found by the tests of all ops."""
    page = (ROOT / "docs" / "how-to-add-an-op.md").read_text()
    code = "\n".join(re.findall(r"^```python run\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    assert code.count("import") > 3
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def blocks(page: Path) -> list[str]:
    """The code of a page: blocks that begin with ```python."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


OF_ITS_OWN = "how-to-add-an-op"  # which quotes the source, and has the test above
PAGES = sorted(page for page in (ROOT / "docs").glob("*.md") if blocks(page) and page.stem != OF_ITS_OWN)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page: Path, tmp_path) -> None:
    """All blocks of a page, one after the other, in one process; `x.sum()  # gives 6.0` is checked."""
    lines = []
    for line in "\n".join(blocks(page)).splitlines():
        code, mark, shown = line.partition("  # gives ")
        lines.append(f"assert str({code}) == {shown!r}, str({code})" if mark else line)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(lines)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "LAZYNP_COMPILE": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", ["README.md", "docs/settings.md"])
def test_every_setting_is_described(page: str) -> None:
    text = (ROOT / page).read_text()
    described = set(re.findall(r"`(LAZYNP_\w+)`", text))
    assert described == {setting.env for setting in SETTINGS.values()}
    for name in SETTINGS:
        assert f"`{name}`" in text
