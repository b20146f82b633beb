"""`python -m lazynp [--report] script.py args…`, `… -m module args…`, `… -c code args…`: run a NumPy program on
lazynp, unchanged."""

from __future__ import annotations

import gc
import sys

from . import swap

USAGE = "usage: python -m lazynp [--report] (script.py | -m module | -c code) [args...]"


def main() -> None:
    """Run what the command line says."""
    args = sys.argv[1:]
    report = False
    while args and args[0] == "--report":
        report, args = True, args[1:]
    if not args or args[0] in ("-h", "--help"):
        print(USAGE, file=sys.stdout if args else sys.stderr)
        raise SystemExit(0 if args else 2)
    gc.freeze()  # NumPy and lazynp stay: while the program imports its libraries, each collection need not look at them
    swap.install()
    swap.report_at_exit(report)
    if args[0] in ("-m", "-c"):
        if len(args) < 2:
            print(USAGE, file=sys.stderr)
            raise SystemExit(2)
        flag, what, *rest = args
        sys.argv = [flag, *rest]
        sys.path.insert(0, "") if sys.path[:1] != [""] else None
        if flag == "-m":
            swap.run_module(what)
        else:
            swap.run_main(compile(what, "<string>", "exec"))
    else:
        sys.argv = args
        swap.run_script(args[0])


if __name__ == "__main__":
    main()
