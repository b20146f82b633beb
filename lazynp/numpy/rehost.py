"""NumPy's own Python layer, executed a second time over another C module.

A module of the installed NumPy that lazynp has not itself is executed again, from the byte code that Python has of
it, as `lazynp.…`. Its `__import__` is ours: what it imports from numpy is the second copy, and a compiled module is
replaced by the counterparts of its objects. Nothing of NumPy is copied or changed.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from .. import speed
from ..threads import at_fork
from ..tracebacks import leave
from . import counterparts, dispatch, functions, native, standard, subclasses, ufunc
from .array import ArrayType
from .files import PICKLE
from .host import public_module
from .line_warnings import WARNINGS

NAME = "lazynp"
ROOT = os.path.dirname(os.path.dirname(__file__))
OWN = frozenset({name.partition(".")[0] for name in os.listdir(ROOT) if not name.startswith("_")} | {"__main__"})
# The same objects in both: errors, dtypes and scalar types, settings, and what has no arrays in it.
SHARED = (
    "exceptions",
    "dtypes",
    "version",
    "__config__",
    "_globals",
    "_distributor_init",
    "_expired_attrs_2_0",
    "_pytesttester",
    "_utils._inspect",
    "_utils._conversions",
    "_utils._convertions",
    "_core._exceptions",
    "_core._dtype",
    "_core._dtype_ctypes",
    "_core._string_helpers",
    "_core._type_aliases",
    "_core._machar",
    "_core._internal",
    "_core._ufunc_config",
    "_core.printoptions",
    "_core._rational_tests",
    "_core._struct_ufunc_tests",
    "_core._umath_tests",
    "_core._operand_flag_tests",
    "_core.numerictypes",
    "_core.getlimits",
    "typing",
    "_typing",
    "f2py",
    "random._pickle",
    "random._common",
    "random._bounded_integers",
)
# Names in these lists that not every supported NumPy has: the first that has them, and the first that has them no more.
SINCE = {"_utils._conversions": (2, 5)}
UNTIL = {"_core._machar": (2, 4), "_utils._convertions": (2, 5)}
EMPTY = ("_core._add_newdocs", "_core._add_newdocs_scalars")  # they write docstrings into compiled objects
REPLACED: dict[str, dict[str, Any]] = {
    "_core.overrides": {
        "array_function_dispatch": dispatch.array_function_dispatch,
        "ARRAY_FUNCTIONS": dispatch.array_functions,
        "array_function_from_dispatcher": dispatch.array_function_from_dispatcher,
    },
    "linalg._linalg": {"LinAlgError": numpy.linalg.LinAlgError},
    "lib._stride_tricks_impl": {"as_strided": native.as_strided},
    "_utils": {"set_module": dispatch.set_module},
    "_core.records": {"record": numpy.record},  # a scalar type
}
# Functions that are no dispatchers, and done by NumPy's own where their arguments are small.
PLAIN_FUNCTIONS = {
    "_core.numeric": ("full", "identity", "indices", "ones"),
    "_core.strings": (
        *("count", "endswith", "find", "index", "lstrip", "rfind", "rindex", "rstrip", "startswith", "strip"),
    ),
    "lib._twodim_base_impl": ("eye", "mask_indices", "tri", "tril_indices", "triu_indices"),
    "lib._index_tricks_impl": ("diag_indices",),
    "lib._npyio_impl": ("loadtxt",),
    "lib._function_base_impl": ("bartlett", "blackman", "hamming", "hanning", "kaiser"),
    "fft._helper": ("fftfreq", "rfftfreq"),
}
RENAMES = ("_core.multiarray", "_core.umath", "_core.strings")
RENAMED_KINDS = (ufunc.ufunc, counterparts.Builtin, types.FunctionType, type)
SKIPPED = frozenset({"__name__", "__spec__", "__loader__", "__package__", "__path__", "__builtins__"})


def redirected(
    name: str,
    globals: Any = None,
    locals: Any = None,
    fromlist: Any = (),
    level: int = 0,
    original: Callable[..., Any] = builtins.__import__,
) -> Any:
    """`__import__` in re-hosted code: numpy is lazynp."""
    if level == 0 and (name == "numpy" or name.startswith("numpy.")):
        name = NAME + name[len("numpy") :]
        if not fromlist:
            original(name, globals, locals, (), 0)
            return sys.modules[NAME]
    if name == "copyreg":
        return CopyReg
    if name == "warnings" and not fromlist:
        return WARNINGS
    if name == "pickle" and not fromlist:
        return PICKLE
    return original(name, globals, locals, fromlist, level)


class CopyReg:
    """What re-hosted code gets for `copyreg`, whose table is everybody's: our classes say by `__reduce__` how they are
    pickled, and those that we share with NumPy stay as it has registered them."""

    @staticmethod
    def pickle(kind: type, *functions: Any) -> None:
        """Register nothing."""


BUILTINS = {**vars(builtins), "__import__": redirected}


class Finder:
    """Finds and executes the second copies."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        if not fullname.startswith("lazynp.") or fullname[len("lazynp.") :].split(".", 1)[0] in OWN:
            return None
        spec = self.found("numpy" + fullname[len(NAME) :], path)
        if spec is None:
            return None
        package = spec.submodule_search_locations is not None
        loader: Any = self  # without importlib's base class: its module takes 7 ms
        ours = importlib.machinery.ModuleSpec(fullname, loader, origin=spec.origin, is_package=package)
        ours.loader_state = spec
        if package:
            ours.submodule_search_locations = list(spec.submodule_search_locations or ())
        return ours

    def found(self, name: str, path: Sequence[str] | None) -> Any:
        """Where NumPy has a module; None where it has none. `path`: of the package, which is that of ours, but for
        the outermost. Nothing is imported: Python holds its import lock here, and a thread that imports would wait for
        it while we wait for what that thread imports."""
        there = sys.modules.get(name)
        if there is not None and there.__spec__ is not None:
            return there.__spec__
        path = numpy.__path__ if name.count(".") == 1 else path
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path)
            if spec is not None:
                return spec
        return None

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        assert module.__spec__ is not None
        spec = module.__spec__.loader_state
        name = spec.name[len("numpy.") :]
        if spec.origin:
            module.__file__ = spec.origin
        if (
            name in EMPTY
            or spec.loader is None
            or not hasattr(spec.loader, "exec_module")
            or package_without_code(spec)
        ):
            return
        if any(name == s or name.startswith(s + ".") for s in SHARED):
            copy(module, importlib.import_module(spec.name), shared)
        elif isinstance(spec.loader, importlib.machinery.ExtensionFileLoader):
            convert = (
                importlib.import_module("lazynp.numpy.random").counterpart
                if name.startswith("random.")
                else counterparts.counterpart
            )
            copy(module, importlib.import_module(spec.name), convert)
        else:
            execute(module, spec)
            module.__dict__.update(REPLACED.get(name, {}))
            standard.extend(name, module)
            functions.extend(name, module)
            for function in PLAIN_FUNCTIONS.get(name, ()):
                plain, public = module.__dict__[function], dispatch.Function(module.__dict__[function])
                module.__dict__[function] = public
                if plain in dispatch.array_functions:
                    dispatch.array_functions.add(public)
            if name.startswith("polynomial."):
                whole_polynomials(module)
            if name == "_core":
                for part in ("_exceptions", "_string_helpers", "_type_aliases", "_internal", "_dtype"):
                    importlib.import_module(f"{NAME}._core.{part}")
            if name == "ma.core":
                mask_dtypes(module)
                if speed.native is None:
                    scalar_views(module)
                subclasses.take_theirs(module)
            if name == "linalg._linalg" and speed.native is None:
                own_wrappers(module)
            if name in RENAMES:
                rename(module)

    def get_code(self, fullname: str) -> Any:
        """For `python -m lazynp.…`."""
        spec: Any = importlib.util.find_spec("numpy" + fullname[len(NAME) :])
        return spec.loader.get_code(spec.name)


def shared(name: str, value: Any) -> Any:
    """What a module that both have shows: the same object, but for a public function that it has from another module
    (`numerictypes` has those for business days)."""
    if type(value) is not dispatch.dispatched:
        return value
    return getattr(sys.modules.get(f"{NAME}._core.multiarray"), name, value)


def whole_polynomials(module: types.ModuleType) -> None:
    """Have NumPy's functions for polynomials called where all is small, by methods that are these functions too."""
    public = {}
    for name in getattr(module, "__all__", ()):
        plain = module.__dict__[name]
        if type(plain) is types.FunctionType:
            public[plain] = module.__dict__[name] = dispatch.Function(plain)
    for kind in filter(lambda value: isinstance(value, type), list(vars(module).values())):
        for name, value in list(vars(kind).items()):
            if isinstance(value, staticmethod) and value.__func__ in public:
                setattr(kind, name, staticmethod(public[value.__func__]))


def package_without_code(spec: Any) -> bool:
    """A folder that is a namespace package."""
    return spec.origin is None


def own_wrappers(linalg: Any) -> None:
    """Have the function that most of `linalg` begins with wrap results in our arrays where it is given NumPy's, whose
    `__array_wrap__` refuses ours without our C module (`strangers.wrap`)."""
    as_given = linalg._makearray
    linalg._makearray = lambda a: as_given(linalg.asarray(a) if type(a) is numpy.ndarray else a)


def mask_dtypes(core: Any) -> None:
    """Have a masked array that is given another dtype give it to a mask that is a record, too."""
    cls = core.MaskedArray

    def set_dtype(self: Any, dtype: Any) -> None:
        record = isinstance(self._mask, numpy.void)
        if record:
            self._mask = core.np.array(self._mask)
        original_dtype(self, dtype)
        if record and not self._mask.ndim:
            self._mask = self._mask[()]

    if "_set_dtype" in vars(cls):  # from NumPy 2.5 on
        original_dtype = cls._set_dtype
        cls._set_dtype = functools.wraps(original_dtype)(set_dtype)
    else:
        original_dtype = cls.dtype.fset
        cls.dtype = property(cls.dtype.fget, set_dtype, doc=cls.dtype.__doc__)


def scalar_views(core: Any) -> None:
    """Methods of MaskedArray that call `.view(type(self))` of a NumPy scalar, which knows only NumPy's own classes
    without our C module (`strangers.view`).

    Where the result is a scalar, they work on one row, and give its one element.
    """
    cls = core.MaskedArray

    def reduction(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def method(self: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
            out = (
                args[1] if name == "var" and len(args) > 1 else args[0] if name != "var" and args else kwargs.get("out")
            )
            if not self.ndim:
                kwargs.pop("keepdims", None)  # of no axes
            keep = kwargs.get("keepdims", False)
            if out is not None or keep not in (False, numpy._NoValue) or axis is not None and self.ndim > 1:
                return original(self, axis, *args, **kwargs)
            if axis not in (None, 0, -1) or not self.size and name not in ("all", "any"):
                return original(self, axis, *args, **kwargs)
            return original(one_row(self), 1, *args, **kwargs)[0]

        return method

    def one_row(self: Any) -> Any:
        return (self if self.ndim else self.view(cls)).reshape(1, -1)

    def rounded(self: Any, decimals: Any = 0, out: Any = None) -> Any:
        if out is None and not self.ndim:
            row = original_round(one_row(self), decimals)
            return row[0, 0] if row[0, 0] is core.masked else row.reshape(())
        return original_round(self, decimals, out)

    def take(self: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
        if out is None and numpy.ndim(indices) == 0 and (axis is None or self.ndim == 1):
            return original_take(self, [indices], axis, None, mode)[0]
        return original_take(self, indices, axis, out, mode)

    def getitem(self: Any, index: Any) -> Any:
        value = self.dataiter[index]
        if isinstance(value, core.ndarray):
            return original_getitem(self, index)
        mask = None if self.maskiter is None else self.maskiter[index]
        if isinstance(mask, numpy.void):
            return core.mvoid(value, mask=mask, hardmask=self.ma._hardmask)
        return core.masked if mask else value

    original_take, original_getitem, original_round = cls.take, core.MaskedIterator.__getitem__, cls.round
    cls.round = functools.wraps(original_round)(rounded)
    cls.take = functools.wraps(original_take)(take)
    core.MaskedIterator.__getitem__ = getitem
    for name in ("all", "any", "max", "min", "ptp", "var"):
        setattr(cls, name, reduction(name, getattr(cls, name)))


def rename(module: types.ModuleType) -> None:
    """NumPy's code said of our objects that they are from numpy: pickle has to find them."""
    for value in vars(module).values():
        if type(value) in RENAMED_KINDS and counterparts.is_ours(value) and str(value.__module__).startswith("numpy"):
            value.__module__ = public_module(value.__module__)


def execute(module: types.ModuleType, spec: Any) -> None:
    """NumPy's module code, in our module."""
    module.__dict__["__builtins__"] = BUILTINS
    loader = spec.loader
    if not hasattr(loader, "get_code"):  # a test runner has put its own in place
        loader = importlib.machinery.SourceFileLoader(spec.name, spec.origin)
    if (original := sys.modules.get(spec.name)) is not None:  # a warning is given once, whichever copy gives it
        module.__dict__["__warningregistry__"] = original.__dict__.setdefault("__warningregistry__", {})
    exec(loader.get_code(spec.name), module.__dict__)


def copy(module: types.ModuleType, source: types.ModuleType, convert: Callable[[str, Any], Any]) -> None:
    for key, value in vars(source).items():
        if key not in SKIPPED:
            module.__dict__[key] = convert(key, value)


def install(namespace: dict[str, Any]) -> None:
    """Put the finder in place, and NumPy's names into lazynp's namespace."""
    if not any(isinstance(f, Finder) for f in sys.meta_path):
        sys.meta_path.insert(0, Finder())
    kept = {k: namespace[k] for k in ("__doc__", "__file__", "__builtins__", "__spec__", "__path__")}
    spec: Any = numpy.__spec__
    namespace["__builtins__"] = BUILTINS
    exec(spec.loader.get_code("numpy"), namespace)
    namespace.update(kept)


class Imports:
    """Modules that are loaded when they are first asked for: no process forks in the middle of that, since its child
    would wait for ever for the thread that is loading."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.held: list[bool] = []  # of the forks under way: a signal's handler may fork in the middle of one

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(self, *error: object) -> None:
        self.lock.release()

    def before_fork(self) -> None:
        # What is loaded may wait for what this thread has. `map`: no signal's handler runs between the two.
        self.held.extend(map(self.lock.acquire, [True], [PATIENCE]))

    def after_fork(self) -> None:
        if self.held.pop():
            self.lock.release()


PATIENCE = 10.0  # seconds
imports = Imports()
at_fork(5, imports.before_fork, imports.after_fork, imports.after_fork)
LATE = ("jax", "jnp", "swap")
TRANSFORMATIONS = frozenset(
    {
        "associative_scan",
        "checkpoint",
        "closure_convert",
        "cond",
        "custom_gradient",
        "custom_jvp",
        "custom_vjp",
        "fori_loop",
        "grad",
        "hessian",
        "jacfwd",
        "jacobian",
        "jacrev",
        "jit",
        "jvp",
        "linear_transpose",
        "linearize",
        "remat",
        "scan",
        "stop_gradient",
        "switch",
        "value_and_grad",
        "vjp",
        "vmap",
        "while_loop",
    }
)


def lazily(numpy_getattr: Callable[[str], Any], name: str) -> Callable[[str], Any]:
    """The package's `__getattr__`: NumPy's (its rarely used submodules), and before it our own."""

    def getattr_(attribute: str) -> Any:
        try:
            with imports:
                if attribute in LATE:
                    if attribute == "jnp":
                        return importlib.import_module(f"{name}.jax.numpy")
                    return importlib.import_module(f"{name}.{attribute}")
                if attribute in TRANSFORMATIONS:
                    return importlib.import_module(f"{name}.numpy.transformations").TABLE[attribute]
                return numpy_getattr(attribute)
        except AttributeError as error:
            if error.args and type(error.args[0]) is str:
                error.args = (error.args[0].replace(f"module {name!r}", f"module {ArrayType.package!r}", 1),)
            leave(error)
            raise

    getattr_.__name__ = getattr_.__qualname__ = "__getattr__"
    return getattr_
