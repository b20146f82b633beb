"""`python -m lazynp script.py`: a program's own imports of numpy give lazynp, installed libraries keep the real one.

A program's own modules are the script and what lies beside it: neither in site-packages nor in the standard library.
Their code runs with an `__import__` that says lazynp for numpy. Everything else is as with plain python: arguments,
`__main__`, exit codes, tracebacks, worker processes.
"""

from __future__ import annotations

import atexit
import builtins
import functools
import importlib
import importlib.machinery
import importlib.util
import multiprocessing.spawn
import os
import runpy
import site
import sys
import sysconfig
import types
from collections.abc import Callable, Sequence
from typing import Any

NAME = "lazynp"
real_import = builtins.__import__
real_import_module = importlib.import_module
HERE = os.path.dirname(os.path.abspath(__file__))


def installed_folders() -> tuple[str, ...]:
    """Folders whose code is not the program's own."""
    found = {sysconfig.get_path(k) for k in ("stdlib", "platstdlib", "purelib", "platlib")}
    found |= {site.getusersitepackages(), *getattr(site, "getsitepackages", list)(), HERE}
    return tuple(sorted({os.path.join(os.path.realpath(p), "") for p in found if p}))


INSTALLED = installed_folders()


def is_own(filename: str | None) -> bool:
    """Whether a file belongs to the program."""
    if not filename or filename.startswith("<"):
        return False
    if os.path.islink(filename):
        filename = os.path.realpath(filename)
    return is_own_folder(os.path.dirname(filename))


@functools.lru_cache(4096)
def is_own_folder(folder: str) -> bool:
    path = os.path.join(os.path.realpath(folder), "")
    return (
        not path.startswith(INSTALLED)
        and f"{os.sep}site-packages{os.sep}" not in path
        and f"{os.sep}dist-packages{os.sep}" not in path
    )


def renamed(name: str) -> str:
    """`numpy.linalg` -> `lazynp.linalg`."""
    return NAME + name[len("numpy") :] if name == "numpy" or name.startswith("numpy.") else name


def swapped_import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    """`__import__` of the program's own code."""
    if level == 0 and renamed(name) != name:
        if type(fromlist) is list:  # asked for by C code (pickle), which then takes it from sys.modules by that name
            return real_import(name, globals, locals, fromlist, 0)
        if not fromlist:
            real_import(renamed(name), globals, locals, (), 0)
            return sys.modules[NAME]
        return real_import(renamed(name), globals, locals, fromlist, 0)
    return real_import(name, globals, locals, fromlist, level)


def swapped_import_module(name: str, package: str | None = None) -> Any:
    """`importlib.import_module`, which looks at who calls it."""
    caller = sys._getframe(1).f_globals
    own = caller.get("__builtins__") is BUILTINS
    return real_import_module(renamed(name) if own else name, package)


BUILTINS: dict[str, Any] = {}


class OwnLoader:
    """Runs a module of the program as its own loader would, with our `__import__`."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def create_module(self, spec: Any) -> Any:
        return self.inner.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__["__builtins__"] = BUILTINS
        self.inner.exec_module(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class OwnFinder:
    """Finds the program's own modules where Python finds them."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        if fullname == NAME or fullname.startswith((f"{NAME}.", "numpy.")) or fullname == "numpy":
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None:
            return None
        if isinstance(spec.loader, importlib.machinery.SourceFileLoader) and is_own(spec.origin):
            loader: Any = OwnLoader(spec.loader)
            spec.loader = loader
        return spec  # also of what is not the program's: Python would look for it again


def install() -> None:
    """Make the swap hold in this process, for modules that are imported from now on."""
    if BUILTINS:
        return
    BUILTINS.update(vars(builtins))
    BUILTINS["__import__"] = swapped_import
    importlib.import_module = swapped_import_module
    finders: list[Any] = sys.meta_path
    at = finders.index(importlib.machinery.PathFinder) if importlib.machinery.PathFinder in finders else 0
    finders.insert(at, OwnFinder())  # in its place, behind those of built-in modules and of other import hooks
    patch_spawn()


def patch_spawn() -> None:
    """Worker processes that are spawned run the program's main module anew: with the swap too."""
    plain: Callable[..., dict[str, Any]] = multiprocessing.spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, Any]:
        data = plain(name)
        data["init_main_from_path"], data["lazynp_main"] = (
            None,
            (data.get("init_main_from_path"), data.pop("init_main_from_name", None)),
        )
        return {**data, "init_main_from_path": Marker(*data.pop("lazynp_main"))} if any(data["lazynp_main"]) else data

    multiprocessing.spawn.get_preparation_data = get_preparation_data


class Marker(str):
    """The path of the main module; unpickling it in the worker installs the swap there, before the module is run."""

    name: str | None

    def __new__(cls, path: str | None, name: str | None = None) -> Marker:
        self = super().__new__(cls, path or "")
        self.name = name
        return self

    def __reduce__(self) -> Any:
        return in_worker, (str(self), self.name)


def in_worker(path: str, name: str | None) -> Any:
    """Install the swap in a worker process, and have it run the main module as `__mp_main__`."""
    install()
    spawn: Any = multiprocessing.spawn

    def fixup(main_path: str) -> None:
        current = sys.modules["__main__"]
        spawn.old_main_modules.append(current)
        main = types.ModuleType("__mp_main__")
        content = run_module_code(name, "__mp_main__") if name else run_path_code(path, "__mp_main__")
        main.__dict__.update(content)
        sys.modules["__main__"] = sys.modules["__mp_main__"] = main

    spawn._fixup_main_from_path = fixup
    return path or name


def namespace(run_name: str, **extra: Any) -> dict[str, Any]:
    return {
        "__name__": run_name,
        "__doc__": None,
        "__package__": None,
        "__loader__": None,
        "__spec__": None,
        "__annotations__": {},
        "__builtins__": BUILTINS,
        "__cached__": None,
        **extra,
    }


def run_path_code(path: str, run_name: str) -> dict[str, Any]:
    """Execute a file in a fresh namespace; the namespace."""
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    scope = namespace(run_name, __file__=path)
    exec(code, scope)
    return scope


def run_module_code(name: str, run_name: str) -> dict[str, Any]:
    _, spec, code = runpy._get_module_details(name)  # type: ignore[attr-defined]
    scope = namespace(run_name, __file__=spec.origin, __spec__=spec, __package__=spec.parent, __loader__=spec.loader)
    exec(code, scope)
    return scope


def without_us(traceback: Any) -> Any:
    """A traceback as plain python shows it: without this file's frames."""
    kept = []
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename != __file__:
            kept.append(traceback)
        traceback = traceback.tb_next
    out = None
    for t in reversed(kept):
        out = types.TracebackType(out, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return out


def run_main(code: Any, **extra: Any) -> None:
    """Execute code as `__main__`."""
    main = types.ModuleType("__main__")
    main.__dict__.update(namespace("__main__", **extra))
    sys.modules["__main__"] = main
    try:
        exec(code, main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        own = without_us(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(own), own)
        raise SystemExit(130 if isinstance(error, KeyboardInterrupt) else 1) from None


def run_script(path: str) -> None:
    """`python script.py`."""
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        sys.path[0] = path
        return run_module("__main__")
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        print(
            f"{sys.executable}: can't open file {os.path.abspath(path)!r}: [Errno {error.errno}] {error.strerror}",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    try:
        code = compile(source, path, "exec")
    except SyntaxError as error:
        sys.excepthook(type(error), error.with_traceback(None), None)
        raise SystemExit(1) from None
    return run_main(code, __file__=path)


def run_module(name: str) -> None:
    """`python -m module`."""
    try:
        _, spec, code = runpy._get_module_details(name)  # type: ignore[attr-defined]
    except (ImportError, runpy._Error) as error:  # type: ignore[attr-defined]
        print(f"{sys.executable}: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    sys.argv[0] = spec.origin
    run_main(code, __file__=spec.origin, __spec__=spec, __package__=spec.parent, __loader__=spec.loader)


def report_at_exit(on: bool) -> None:
    """What ran where, when the program ends: printed, or written where LAZYNP_REPORT_JSON says."""
    path = os.environ.get("LAZYNP_REPORT_JSON")
    if not (on or path or os.environ.get("LAZYNP_REPORT", "") not in ("", "0")):
        return

    def show() -> None:
        api = real_import_module(f"{NAME}.runtime.api")
        if path:
            api.report(json_path=path)
        if on or not path:
            api.report()

    atexit.register(show)
