"""`python -m lazynp script.py args…`, `… -m module args…`, `… -c code args…`: run a NumPy program on lazynp.
`python -m lazynp doctor`, `… cache`: look at this machine, and at the compiled kernels on it."""

from __future__ import annotations

import code
import gc
import importlib
import os
import platform
import sys

from . import __version__, lazynp_version, swap, tracebacks

USAGE = """usage: python -m lazynp [options] (script.py | folder | file.zip | -m module | -c code | -) [args...]
       python -m lazynp doctor                  versions, compiler, cache, threads; what is slow, and how to mend it
       python -m lazynp cache [info|clear|path] the compiled kernels on disk

A program runs with lazynp for NumPy; installed libraries keep NumPy. Runners work: `python -m lazynp -m pytest`.

  --processes P  in P processes, which share the work of large arrays: see `lazynp.distribute`
  --report    when it ends, print what ran where, and advice
  --jax       `import jax` gives lazynp.jax, in installed libraries too; NumPy stays NumPy
  --quiet     do not say that nothing was swapped
  -i          go on at Python's prompt when it has ended
  --version   print the versions"""

COMMANDS = {"doctor": "doctor", "cache": "manage_cache"}  # functions of `lazynp.doctor`, which is loaded for them alone


def split(args: list[str]) -> tuple[set[str], list[str]]:
    """Our options, and the rest of the command line."""
    given: set[str] = set()
    while args and args[0] in ("--report", "--jax", "--quiet", "-q", "-i"):
        given.add(args.pop(0))
    if args and args[0][:2] in ("-m", "-c") and len(args[0]) > 2:
        args[:1] = [args[0][:2], args[0][2:]]
    return given, args


def refuse(message: str) -> None:
    print(*filter(None, (message, USAGE)), sep="\n", file=sys.stderr)
    raise SystemExit(2)


def several(args: list[str], given: list[str]) -> None:
    """Run the rest of the command line in several processes."""
    if len(args) < 2 or not args[0].isdecimal() or args[0] == "0":
        refuse("--processes takes how many, and a program")
    raise SystemExit(importlib.import_module("lazynp.spread.launch").launch(int(args[0]), [*given, *args[1:]]))


def main() -> None:
    """Run what the command line says."""
    given, args = split(sys.argv[1:])
    if args and args[0] == "--processes":
        several(args[1:], sorted(given))
    if args and args[0] in ("-h", "--help"):
        print(USAGE)
        return
    if args and args[0] in ("-V", "--version"):
        print(f"lazynp {lazynp_version} (NumPy {__version__}, Python {platform.python_version()})")
        return
    if not args:
        refuse("")
    if args[0] in COMMANDS and not given:  # a file of that name is ./doctor
        raise SystemExit(getattr(importlib.import_module("lazynp.doctor"), COMMANDS[args[0]])(args[1:]))
    if args[0] in ("-m", "-c") and len(args) < 2:
        refuse(f"argument expected for the {args[0]} option")
    if args[0].startswith("-") and args[0] not in ("-m", "-c", "-"):
        refuse(f"unknown option {args[0]}; options of Python's stand before -m lazynp")
    gc.freeze()  # NumPy and lazynp stay: while the program imports its libraries, each collection need not look at them
    if "--jax" in given:
        from .jax import install  # the other door is loaded only by who wants it

        install()
    else:
        swap.install(whole=True)
    tracebacks.install()
    swap.report_at_exit("--report" in given)
    if not given & {"--quiet", "-q", "--jax"}:
        swap.say_at_exit()
    if os.environ.pop("LAZYNP_LAUNCHED", None):
        importlib.import_module("lazynp.spread.start").distribute()
    inspect = "-i" in given or args[0] == "-" and sys.stdin.isatty()
    run(args, inspect)
    if inspect and sys.stdin.isatty():
        os.environ["PYTHONINSPECT"] = "1"  # which Python looks at now
    elif inspect:
        code.interact("", local=vars(sys.modules["__main__"]), exitmsg="")


def run(args: list[str], inspect: bool) -> None:
    """Run the program, with its `sys.argv`."""
    kind = args[0]
    if kind in ("-m", "-c"):
        sys.argv = [kind, *args[2:]]
        (swap.run_module if kind == "-m" else lambda *a: swap.run_code(a[0], "<string>", a[1]))(args[1], inspect)
        return
    sys.argv = args
    if kind != "-":
        swap.run_script(kind, inspect)
    else:
        swap.run_code("" if sys.stdin.isatty() else sys.stdin.read(), "<stdin>", inspect)


if __name__ == "__main__":
    main()
