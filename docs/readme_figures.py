"""The figures of the README, all by one command: `make readme`.

    python docs/readme_figures.py              measure the demo with the compiler and without, and write all of them
    python docs/readme_figures.py --counts     only what is counted: NumPy's tests that pass, and names

The demo's table and the plot of it (docs/speed.svg) are of two runs of `examples/run_demo.py`, one of them with
`--no-compile`. How many of NumPy's tests pass stands in compat/report/report.md, which `make compat` writes; how many
names there are, and who computes them, is asked of lazynp itself.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import speed_plot

from compat import api

REPORT = speed_plot.ROOT / "compat" / "report" / "report.md"
MODES = {  # as the README explains them
    "auto": ("`auto`", "as users run it"),
    "graph": ("`graph`", "without the shortcut for small arrays: the engine"),
    "strict": ("strict", "as `graph`, and falling back to NumPy is an error: the accelerated share"),
}


def put(readme: str, name: str, text: str) -> str:
    """The README with this text between `<!-- name -->` and the `<!-- end -->` after it."""
    before, begin, rest = readme.partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition("<!-- end -->")
    assert begin and end, f"the README has no place for {name}"
    return before + begin + text + end + after


def demo(*options: str) -> list[dict]:
    """What a run of the demo has measured, a program each; its table is printed on the way."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figures.json"
        command = [sys.executable, str(speed_plot.ROOT / "examples" / "run_demo.py"), "--json", str(path), *options]
        subprocess.run(command, check=True)
        return json.loads(path.read_text())["programs"]


def demo_table(compiled: list[dict], interpreted: list[dict]) -> str:
    without = {entry["program"]: entry["ratio"] for entry in interpreted}
    lines = [
        "| program | size | hot | hot, no compiler | first process | second process | results |",
        "|---|---|---|---|---|---|---|",
    ]
    for entry in compiled:
        total = entry["total"]
        whole = [total["numpy"] / total[which] for which in ("first", "second")]
        ratios = [f"{ratio:.2f}" for ratio in (entry["ratio"], without[entry["program"]], *whole)]
        name = entry["program"].replace("_", " ")
        lines.append("| " + " | ".join([name, f"{entry['size']:,}", *ratios, entry["agreement"]]) + " |")
    where = f"{os.cpu_count()} cores, Python {platform.python_version()}, NumPy {np.__version__}"
    return "\n".join([*lines, "", f"Measured with {where}, at a load of {os.getloadavg()[0]:.0f}."]) + "\n"


def tests_table() -> str:
    """NumPy's tests that pass, from the last full report."""
    report = REPORT.read_text()
    lines = ["| mode | NumPy's tests that pass | |", "|---|---|---|"]
    for mode, (name, what) in MODES.items():
        row = re.search(rf"^\| {mode} \| (\d+) \| (\d+) \| \*\*(.*?)\*\* \|", report, re.MULTILINE)
        assert row, mode
        lines.append(f"| {name} | {int(row[1]):,} of {int(row[2]):,} ({row[3].replace(' %', '%')}) | {what} |")
    when = re.search(r"^NumPy .*?lazynp .*?, (\S+) ", report, re.MULTILINE)
    assert when
    return "\n".join([*lines, "", f"Counted on {when[1]}."]).replace("%", " %") + "\n"


def names_line() -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that NumPy itself is about to drop
        table = api.table()
    own, counted = api.share(table)
    missing = sum(way == "missing" for names in table.values() for way in names.values())
    return (
        f"Of NumPy's public names {missing or 'none'} is missing; of its {counted:,} functions, methods and ufuncs "
        f"{own:,} ({100 * own / counted:.0f} %) are native or composed.\n"
    )


def with_counts(readme: str) -> str:
    return put(put(readme, "tests", tests_table()), "names", names_line())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", action="store_true", help="only what is counted, which takes seconds")
    options = parser.parse_args()
    tables = None if options.counts else demo_table(demo(), demo("--no-compile"))
    readme = with_counts(speed_plot.README.read_text())
    if tables is not None:
        readme = put(readme, "demo table", tables)
    speed_plot.README.write_text(readme)
    speed_plot.main()


if __name__ == "__main__":
    main()
