"""`python -m lazynp script.py`: a program's own imports of numpy give lazynp, installed libraries keep the real one.

Python's `__import__` is replaced by one that looks at the code that imports numpy. Installed are NumPy, what lies in
site-packages and the standard library; all other code is the program's own, whoever runs it: pytest, pdb, coverage,
IPython, a worker process. Code without a file (a cell, a prompt, `exec`) is what its module is. Everything else is as
with plain python: arguments, `__main__`, exit codes, tracebacks.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import functools
import importlib
import importlib.machinery
import multiprocessing.spawn
import os
import runpy
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

import numpy

from .owners import HERE, LIBRARY, OWN, folders, whose
from .speed import built

NAME = "lazynp"
real_import = builtins.__import__
real_import_module = importlib.import_module
HIDDEN = "<lazynp importlib._bootstrap>"  # of frames that `warnings` counts as little as those of the import system
MAINS = ("__main__", "__mp_main__")


QUIET = folders(HERE, os.path.dirname(numpy.__file__))


@functools.lru_cache(4096)
def is_quiet(filename: str) -> bool:
    """Whether a file is NumPy's or ours."""
    return os.path.realpath(filename).startswith(QUIET)


def is_own(frame: Any) -> bool:
    """Whether the code of a frame is the program's own.

    Code without a file is of the module in whose namespace it runs. Python's own modules import no numpy, so in one of
    theirs it is what they were given to run (`timeit`). In a namespace of no module it is of whoever runs it.
    """
    filename = frame.f_code.co_filename
    if not filename.startswith("<"):
        return whose(filename) == OWN
    if filename.startswith("<frozen "):
        return False
    scope = frame.f_globals
    name = scope.get("__name__")
    if name in MAINS:
        return True
    file = scope.get("__file__") or getattr(sys.modules.get(name), "__file__", None)
    while file is None or file.startswith("<"):
        frame = frame.f_back
        if frame is None:
            return True
        file = frame.f_code.co_filename
    return whose(file) != LIBRARY


def renamed(name: str) -> str:
    """`numpy.linalg` -> `lazynp.linalg`."""
    return NAME + name[len("numpy") :]


class Seen:
    """What was imported since the swap: whether any code got lazynp, and whose was the first that kept NumPy."""

    swapped, library = False, ""


class Program:
    """Whether a whole program runs with lazynp for NumPy (`python -m lazynp`), which then prints NumPy's names."""

    whole = False


def is_swapped(frame: Any) -> bool:
    """Whether the code of a frame, which imports numpy, gets lazynp."""
    if is_own(frame):
        Seen.swapped = True
        return True
    filename = frame.f_code.co_filename
    if not Seen.library and whose(filename) == LIBRARY and not is_quiet(filename):
        Seen.library = filename
    return False


def swapped_import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    """`__import__`."""
    if not name.startswith("numpy") or name[5:6] not in ("", ".") or level or type(fromlist) is list:
        # A list comes from C code (pickle), which then takes the module from sys.modules by the name that it gave.
        return real_import(name, globals, locals, fromlist, level)
    if not is_swapped(sys._getframe(1)):
        return real_import(name, globals, locals, fromlist, level)
    module = real_import(renamed(name), globals, locals, fromlist, 0)
    return module if fromlist else sys.modules[NAME]


def swapped_import_module(name: str, package: str | None = None) -> Any:
    """`importlib.import_module`."""
    if (name == "numpy" or name.startswith("numpy.")) and is_swapped(sys._getframe(1)):
        name = renamed(name)
    return real_import_module(name, package)


for _function in (swapped_import, swapped_import_module):
    _function.__code__ = _function.__code__.replace(co_filename=HIDDEN)


PLAIN: dict[type, type] = {}
"""Of metaclasses of arrays: what the program would have in their places, with NumPy's arrays."""


def metaclass_of(bases: tuple[Any, ...], options: dict[str, Any]) -> type | None:
    """The metaclass of a class that derives from our arrays: one that derives from theirs and from the program's, since
    NumPy's arrays have none. None where Python finds the right one, or a conflict that NumPy's have too."""
    bases = types.resolve_bases(bases)
    most = options.get("metaclass", type(bases[0]))
    if not isinstance(most, type):
        return None
    most = PLAIN.get(most, most)
    for base in bases:
        other = PLAIN.get(type(base), type(base))
        if not issubclass(most, other):
            if not issubclass(other, most):
                return None
            most = other
    arrays = next(iter(PLAIN))
    return None if issubclass(arrays, most) or issubclass(most, arrays) else combined(most, arrays)


@functools.lru_cache(256)
def combined(own: Any, arrays: Any) -> Any:
    names = {"__module__": own.__module__, "__qualname__": own.__qualname__, "__doc__": own.__doc__}
    made = type(own)(own.__name__, (own, arrays), names)
    PLAIN[made] = own
    return made


def gives_array(cls: type) -> None:
    """Have the `__array__` of a class of the program's give NumPy's array to NumPy and to libraries, which take no
    other. Who calls it by its name, in the program or here, gets what it gives."""
    function = vars(cls)["__array__"]
    if not isinstance(function, types.FunctionType) or whose(function.__code__.co_filename) == LIBRARY:
        return
    subclasses = real_import_module(f"{NAME}.numpy.subclasses")

    @functools.wraps(function)
    def __array__(*args: Any, **kwargs: Any) -> Any:
        value = function(*args, **kwargs)
        if isinstance(type(value), next(iter(PLAIN))):
            frame = sys._getframe(1)
            called = subclasses.calls_method(frame.f_code, frame.f_lasti, "__array__")
            if not called or subclasses.asker(frame) in ("numpy", "library"):
                return subclasses.to_numpy(value)
        return value

    with contextlib.suppress(TypeError, AttributeError):  # a metaclass may refuse
        cls.__array__ = __array__  # type: ignore[attr-defined]


def builder(plain: Any, arrays: type, metaclass_of: Any, finish: Any) -> Any:
    """`builtins.__build_class__` in the place of `plain`, without the C module."""

    def __build_class__(body: Any, name: str, /, *bases: Any, **options: Any) -> Any:
        if any([isinstance(type(base), type) and issubclass(type(base), arrays) for base in bases]):
            meta = metaclass_of(bases, options)
            options = options if meta is None else {**options, "metaclass": meta}
        made = plain(body, name, *bases, **options)
        if isinstance(made, type) and "__array__" in vars(made):
            finish(made)
        return made

    return __build_class__


def install(whole: bool = False) -> None:
    """Make the swap hold in this process, for what is imported from now on, and in the processes that it spawns. For a
    whole program classes of arrays print as NumPy's, and errors of names that do not exist are NumPy's."""
    Program.whole = whole
    if whole:
        real_import_module(f"{NAME}.numpy.array").ArrayType.package = "numpy"
    if builtins.__import__ is swapped_import:
        return
    builtins.__import__ = swapped_import
    PLAIN[real_import_module(f"{NAME}.numpy.array").ArrayType] = type
    make = getattr(built("_adapters"), "builder", builder)
    builtins.__build_class__ = make(builtins.__build_class__, next(iter(PLAIN)), metaclass_of, gives_array)
    importlib.import_module = swapped_import_module
    plain: Callable[..., dict[str, Any]] = multiprocessing.spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {**plain(name), NAME: Worker()}

    multiprocessing.spawn.get_preparation_data = get_preparation_data


class Worker:
    """Stands in what a spawned process is told first: unpickling it installs the swap there."""

    def __reduce__(self) -> Any:
        return install, (Program.whole,)


# --- the program ---


def without_us(found: Any) -> Any:
    """A traceback as plain python shows it: without the frames of this module."""
    kept = []
    while found is not None:
        if found.tb_frame.f_code.co_filename not in (__file__, HIDDEN):
            kept.append(found)
        found = found.tb_next
    out = None
    for t in reversed(kept):
        out = types.TracebackType(out, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return out


def run_main(run: Callable[[dict[str, Any]], Any], inspect: bool = False, **names: Any) -> None:
    """Call `run(namespace)` with a new `__main__` that has these names. Raises SystemExit where python would exit with
    an error; with `inspect`, python goes on at its prompt instead."""
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __annotations__={}, **names)
    sys.modules["__main__"] = main
    try:
        run(main.__dict__)
    except BaseException as error:
        if isinstance(error, SystemExit) and not inspect:
            raise
        own = without_us(error.__traceback__)
        show = traceback.print_exception if isinstance(error, SystemExit) else sys.excepthook
        show(type(error), error.with_traceback(own), own)
        if not inspect:
            raise SystemExit(130 if isinstance(error, KeyboardInterrupt) else 1) from None


def first_on_path(folder: str) -> None:
    """Put the folder of the program in the place of that of `-m lazynp`."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def compiled(source: str | bytes, name: str) -> types.CodeType:
    """A program's code, which has none of the `__future__` imports of this file."""
    return compile(source, name, "exec", dont_inherit=True)


def run_code(source: str, name: str, inspect: bool = False) -> None:
    """`python -c source`, or what comes from the standard input."""
    first_on_path("")
    run_main(lambda scope: exec(compiled(source, name), scope), inspect)


def run_module(name: str, inspect: bool = False) -> None:
    """`python -m name`."""
    first_on_path(os.getcwd())
    run_main(lambda scope: runpy._run_module_as_main(name), inspect)  # type: ignore[attr-defined]


def run_script(path: str, inspect: bool = False) -> None:
    """`python path`: a script, or a folder or a zip file with a `__main__`."""
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        sys.path[0] = path
        return run_main(lambda scope: runpy._run_module_as_main("__main__", False), inspect)  # type: ignore[attr-defined]
    first_on_path(os.path.dirname(os.path.realpath(path)))
    path = os.path.abspath(path)
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        print(
            f"{sys.executable}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    return run_main(
        lambda scope: exec(compiled(source, path), scope),
        inspect,
        __file__=path,
        __cached__=None,
        __loader__=loader,
    )


def say_at_exit() -> None:
    """When the program ends without a single swap, and a library imported numpy: say so, in one line."""

    def say() -> None:
        if not Seen.swapped and Seen.library:
            print(
                f"lazynp: nothing was swapped: only installed code, which keeps NumPy, imported it (first "
                f"{Seen.library}); --quiet leaves this out",
                file=sys.stderr,
            )

    atexit.register(say)


def report_at_exit(on: bool) -> None:
    """What ran where, when the program ends: printed, or written where LAZYNP_REPORT_JSON says."""
    path = os.environ.get("LAZYNP_REPORT_JSON")
    if not (on or path or os.environ.get("LAZYNP_REPORT", "") not in ("", "0")):
        return

    api = real_import_module(f"{NAME}.runtime.api")
    figures = api.profile(lines=on)
    figures.__enter__()

    def show() -> None:
        if path:
            api.report(json_path=path)
        figures.__exit__()
        if on or not path:
            print(f"lazynp:\n{figures}", file=sys.stderr)
        if on and (advice := figures.advice("the program")).items:
            print(advice, file=sys.stderr)

    atexit.register(show)
