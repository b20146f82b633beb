"""NumPy's own tests on lazynp, and how much of NumPy's API there is.

python -m compat run      run the tests, in all three modes or in one; `--quick`: a part
python -m compat report   write compat/report from the last runs
python -m compat check    compare the last runs with the expected failures; exit status 1 where they differ
python -m compat accept   make the failures of the last runs the expected ones
python -m compat names    the public names of each NumPy namespace, and which way lazynp has them
python -m compat fuzz     random calls of the native functions, compared with NumPy: --calls, --seed, --first, --mode
python -m compat libraries   uses of libraries, with NumPy's arrays and ours; `--modules pandas torch` for some
python -m compat suites   libraries' own tests with their import of NumPy swapped; `--modules control emcee` for some
"""

from __future__ import annotations

import argparse
import os
import sys

from . import campaign, libraries, names, report, runner, scope, suites


def main() -> int:
    """What the command line says; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m compat", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "report", "check", "accept", "names", "fuzz", "libraries", "suites"])
    parser.add_argument("--mode", action="append", choices=list(runner.MODES), help="may be given several times")
    parser.add_argument("--modules", nargs="*", metavar="TEXT", help="only modules with one of these in their path")
    parser.add_argument("--quick", action="store_true", help="only the modules of the quick part")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--missing", action="store_true", help="only modules that have not been run yet")
    parser.add_argument("--calls", type=int, default=200_000, help="fuzz: how many, in each mode")
    parser.add_argument("--seed", type=int, default=0, help="fuzz: of all calls")
    parser.add_argument("--first", type=int, default=0, help="fuzz: the number of the first call")
    args = parser.parse_args()
    if args.command == "libraries":
        return libraries.main(args.modules, args.jobs)
    if args.command == "suites":
        return suites.main(args.modules)
    modes, modules = args.mode or list(report.MODES), scope.chosen(args.modules, args.quick)
    folder = report.REPORT
    if args.quick:  # results and a report of their own
        runner.RESULTS, folder = runner.RESULTS / "quick", folder / "quick"
    if args.command == "run":
        for mode in modes:
            runner.run(mode, modules, args.jobs, not args.missing)
    elif args.command == "report":
        report.write(folder)
    elif args.command == "check":
        return 1 if report.check(modes, modules) else 0
    elif args.command == "accept":
        report.accept(modes)
    elif args.command == "fuzz":
        return 1 if campaign.run(args.calls, args.seed, args.mode or ["graph"], args.jobs, args.first) else 0
    else:
        names.names()
    return 0


if __name__ == "__main__":
    sys.exit(main())
