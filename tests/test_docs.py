"""The pages say what is so: their code runs, and their tables name every setting."""

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


@pytest.mark.parametrize("page", ["README.md", "docs/settings.md"])
def test_every_setting_is_described(page: str) -> None:
    text = (ROOT / page).read_text()
    described = set(re.findall(r"`(LAZYNP_\w+)`", text))
    assert described == {setting.env for setting in SETTINGS.values()}
    for name in SETTINGS:
        assert f"`{name}`" in text
