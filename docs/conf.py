"""Sphinx settings: Markdown pages, nothing imported from lazynp. First the gallery's programs draw their
figures, `pictures.py` those of real runs, and `api_pages.py` writes the reference, each in a process of its own."""

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
html_theme = "alabaster"
html_static_path = ["static"]
html_css_files = ["narrow.css"]
html_theme_options = {
    "description": "NumPy code on a lazy engine",
    "page_width": "1140px",
    "code_font_size": "0.76em",
    "body_max_width": "none",
}
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


def setup(app: Any) -> None:
    app.connect("builder-inited", draw_gallery)
    app.connect("builder-inited", draw_pictures)
    app.connect("builder-inited", write_reference)
