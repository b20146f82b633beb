"""python -m compat.stubs           write the stubs that are generated
python -m compat.stubs check     what mypy, pyright and jedi make of them; --write: into docs/types.md"""

from __future__ import annotations

import argparse
import pathlib
import shutil
import sys
from collections.abc import Iterable, Sequence

from . import check, write

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "types.md"
MISSING = "a program is called pyright: pip install pyright, which brings it where there is node"


def table(head: str, rows: Iterable[Iterable[object]]) -> str:
    columns = head.split("|")
    lines = [" | ".join(map(str, row)) for row in rows]
    return "\n".join(
        f"| {line} |" for line in (" | ".join(c.strip() for c in columns), "|".join(["---"] * len(columns)), *lines)
    )


def findings(program: str | None) -> tuple[str, bool]:
    """A table of the findings, and whether all are the same."""
    rows: dict[str, list[object]] = {}
    same = True
    for name, _, theirs, ours in check.findings(program):
        rows.setdefault(name, [f"`{name}`"]).extend(
            [len(theirs), len(ours) if theirs == ours else f"{len(ours)}: {ours}"]
        )
        same = same and theirs == ours
    head = "program | mypy, NumPy or JAX | mypy, lazynp" + (
        " | pyright, NumPy or JAX | pyright, lazynp" if program else ""
    )
    return table(head, rows.values()), same


def completions() -> tuple[str, bool]:
    """A table of what jedi completes, and whether that is 95 % of the names of either library."""
    rows: list[Iterable[object]] = []
    totals: dict[str, list[Sequence[int]]] = {}
    for module, public, theirs, ours, there in check.completions():
        counts = (len(public), len(theirs & public), len(there), len(ours & public))
        rows.append((f"`{module}`", *counts, f"{counts[3] / counts[0]:.0%}"))
        totals.setdefault(module.split(".")[0], []).append(counts)
    sums = {library: [sum(column) for column in zip(*parts)] for library, parts in totals.items()}
    for library, counts in sums.items():
        rows.append((f"**all of {library}**", *counts, f"{counts[3] / counts[0]:.1%}"))
    head = "module | public names | completed, of NumPy or JAX | in lazynp | completed, of lazynp | share of all"
    return table(head, rows), all(counts[3] >= 0.95 * counts[0] for counts in sums.values())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m compat.stubs", description=__doc__)
    parser.add_argument("command", nargs="?", choices=["write", "check"], default="write")
    parser.add_argument("--write", action="store_true", help="check: write the tables into docs/types.md")
    parser.add_argument("--pyright", default=shutil.which("pyright"), help="the program")
    args = parser.parse_args()
    if args.command == "write":
        write()
        return 0
    if not args.pyright:
        print(f"without pyright: {MISSING}", file=sys.stderr)
    found, same = findings(args.pyright)
    names, enough = completions()
    print(found, names, sep="\n\n")
    if args.write and args.pyright:
        text = PAGE.read_text()
        for mark, new in (("findings", found), ("completions", names)):
            before, rest = text.split(f"<!-- {mark} -->\n")
            text = f"{before}<!-- {mark} -->\n{new}\n<!-- end -->{rest.split('<!-- end -->', 1)[1]}"
        PAGE.write_text(text)
    return 0 if same and enough else 1


if __name__ == "__main__":
    sys.exit(main())
