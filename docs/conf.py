"""Sphinx settings: Markdown pages, nothing imported from lazynp. First the gallery's programs draw their
figures, `pictures.py` those of real runs, `api_pages.py` writes the reference, and asv its pages of what was measured
at earlier commits, each in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

project = "lazynp"
author = "lazynp developers"
copyright = author
extensions = ["myst_parser"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "lazynp"
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_show_sphinx = False
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3


def draw_gallery(_: Any) -> None:
    """Each program runs under lazynp, in a process of its own; figures that are newer than their program are kept."""
    run = HERE.parent / "examples" / "run_gallery.py"
    subprocess.run([sys.executable, str(run), "--figures", str(HERE / "_build" / "gallery")], check=True)


def draw_pictures(_: Any) -> None:
    """What `explain` and `profile` show of a program that runs for it."""
    folders = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, str(HERE / "pictures.py"), str(HERE / "_build" / "pictures")]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": folders})


def write_reference(_: Any) -> None:
    """A page for each module of both doors, in `docs/api`."""
    subprocess.run([sys.executable, str(HERE / "api_pages.py")], check=True)


def publish_benchmarks(app: Any, error: Exception | None) -> None:
    """What is kept in `asv_bench/history`, as pages that `performance.md` links to. asv orders it by the commits of a
    checkout, so that a source distribution has no such pages."""
    if error or app.builder.name != "html":
        return
    bench, pages = HERE.parent / "asv_bench", Path(app.outdir) / "asv"
    command = [sys.executable, "-m", "asv", "publish", "--config", "history.conf.json", "--html-dir", str(pages)]
    said = "no history of commits here"
    if (HERE.parent / ".git").exists():
        done = subprocess.run(command, cwd=bench, capture_output=True, text=True, check=False)
        if not done.returncode:
            return
        said = (done.stderr or done.stdout)[-2000:]
    print(f"no pages of earlier commits: {said}", file=sys.stderr)
    pages.mkdir(exist_ok=True)
    (pages / "index.html").write_text("<p>These pages are made where the repository's history is.</p>\n")


def setup(app: Any) -> None:
    app.connect("builder-inited", draw_gallery)
    app.connect("builder-inited", draw_pictures)
    app.connect("builder-inited", write_reference)
    app.connect("build-finished", publish_benchmarks)
