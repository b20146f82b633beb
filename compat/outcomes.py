"""How each test of a run of pytest went."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTEST = ("-m", "pytest", "-q", "-W", "ignore", "-p", "no:cacheprovider")


def python(
    args: Sequence[str], seconds: float, folder: str | None = None, paths: Sequence[str] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run Python, with lazynp's own checkout before all else that can be imported, and `paths` after it. Raises
    subprocess.TimeoutExpired."""
    path = os.pathsep.join(filter(None, [str(ROOT), *paths, os.environ.get("PYTHONPATH", "")]))
    env = {**os.environ, **variables, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, timeout=seconds, env=env, check=False, cwd=folder
    )


def read(file: Path) -> dict[str, str]:
    """By test, "passed", "skipped" or the message of its failure: what pytest wrote as JUnit's XML."""
    out: dict[str, str] = {}
    for case in ElementTree.parse(file).iter("testcase"):
        name = f"{case.get('classname', '')}::{case.get('name')}"
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        if bad is not None:
            out[name] = ((bad.get("message") or "").splitlines() or ["error"])[0][:160]
        else:
            out[name] = "skipped" if case.find("skipped") is not None else "passed"
    return out


def outcomes(
    args: Sequence[str],
    seconds: float,
    before: Sequence[str] = (),
    folder: str | None = None,
    paths: Sequence[str] = (),
    **variables: str,
) -> dict[str, str]:
    """By test, how it went.

    Args:
        args: pytest's.
        seconds: the most that it may take.
        before: what Python runs pytest by, such as `-m lazynp`.
        folder: the working directory.
        paths: folders that modules are looked for in.
        variables: of the environment.

    Raises: RuntimeError where pytest ends without results, subprocess.TimeoutExpired.
    """
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / "results.xml"
        where = [f"--rootdir={scratch}", f"--junitxml={target}"]
        done = python([*before, *PYTEST, *where, *args], seconds, folder, paths, **variables)
        if not target.exists():
            raise RuntimeError((done.stderr or done.stdout)[-2000:])
        return read(target)
