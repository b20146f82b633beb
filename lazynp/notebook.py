"""`%load_ext lazynp`: lazynp for NumPy in the cells of a notebook, and `%%lazynp`, which profiles a cell."""

from __future__ import annotations

import html
import importlib
import shlex
from typing import Any

from . import swap, tracebacks
from .config import SETTINGS, Config, config
from .runtime.api import profile


def load_ipython_extension(shell: Any) -> None:
    """From here on `import numpy as np` in a cell gives lazynp, in libraries it gives NumPy. Tracebacks end at the
    cell's line, and there is the magic `%%lazynp`. `lazynp.config` is shown as a table."""
    swap.install()
    tracebacks.install()
    tracebacks.in_ipython(shell)

    def profiled(line: str, cell: str) -> None:
        """%%lazynp [--advise] [--save FILE]: run the cell and show its profile; what to do about it; write a trace."""
        advise, path = options(line)
        with profile() as p:
            done = shell.run_cell(cell)
        if done.success:
            show(p)
            if advise:
                show(p.advice())
            if path:
                p.save(path)

    formatters = shell.display_formatter.formatters
    formatters["text/html"].for_type(Config, lambda _: settings_table())
    shell.register_magic_function(profiled, magic_kind="cell", magic_name="lazynp")


def settings_table() -> str:
    """All settings as HTML, with what they are for; those that are not as they come stand bold."""
    rows = []
    for name, setting in SETTINGS.items():
        mark = "b" if getattr(config, name) != setting.default else "span"
        cells = [name, repr(getattr(config, name)), setting.doc]
        rows.append("".join([f"<td><{mark}>{html.escape(cell)}</{mark}></td>" for cell in cells]))
    body = "".join([f"<tr>{row}</tr>" for row in rows])
    return f"<table><tr><th>setting</th><th>value</th><th></th></tr>{body}</table>"


def options(line: str) -> tuple[bool, str]:
    """What stands behind `%%lazynp`: whether to advise, and where to save. Raises ValueError for anything else."""
    words, advise, path = shlex.split(line), False, ""
    while words:
        word = words.pop(0)
        if word == "--advise":
            advise = True
        elif word == "--save" and words:
            path = words.pop(0)
        else:
            raise ValueError(f"%%lazynp knows --advise and --save FILE, not {word!r}")
    return advise, path


def show(x: Any) -> None:
    """Show it as the front end can: as tables in a notebook, as text in a terminal."""
    importlib.import_module("IPython.display").display(x)  # who is here has it
