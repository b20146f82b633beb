"""Libraries that check for `numpy.ndarray` itself: one file each, which makes them take our arrays.

Each file has a function `adapt(library, patches)`, which is called when both lazynp and the library are loaded,
whichever came first. It uses the library's own extension point where there is one, else it wraps named entry points, so
that arrays of ours arrive as NumPy's that share their memory (see `patches`). Compiled modules that have no file here
are adapted by `extensions`. `config.adapters` switches them; docs/libraries.md lists them.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
import warnings
from collections.abc import Sequence
from importlib.machinery import ExtensionFileLoader
from typing import TYPE_CHECKING, Any

from ..config import config
from ..owners import OWN, whose

if TYPE_CHECKING:
    from .patches import Patches

# What is loaded -> the file here that adapts it. The name without dots is what `config.adapters` calls it.
ADAPTERS = {
    "awkward": "public_names",
    "bottleneck": "bottleneck",
    "cv2": "cv2",
    "cvxpy.interface": "public_functions",
    "dask.array": "dask",
    "deap.creator": "deap",
    "gymnasium.spaces": "gymnasium",
    "h5py": "h5py",
    "jax": "jax",
    "lightgbm": "lightgbm",
    "netCDF4": "netcdf4",
    "networkx.convert": "public_functions",
    "numba": "numba",
    "numexpr": "numexpr",
    "pandas": "pandas",
    "polars": "polars",
    "pyamg.krylov": "public_names",
    "pyamg.multilevel": "public_names",
    "pyamg.relaxation.relaxation": "public_names",
    "pyamg.util.linalg": "public_functions",
    "pyarrow": "pyarrow",
    "scipy.linalg": "scipy_matrices",
    "scipy.linalg.interpolative": "public_functions",
    "scipy.ndimage": "public_functions",
    "scipy.optimize": "scipy_optimize",
    "scipy.sparse": "scipy_sparse",
    "scipy.sparse.linalg": "scipy_linear",
    "skimage.measure._marching_cubes_lewiner": "public_functions",
    "skimage.segmentation._watershed": "public_functions",
    "skimage.transform.hough_transform": "public_functions",
    "skimage.util.shape": "public_functions",
    "sklearn.base": "sklearn_estimators",
    "sklearn.cluster": "public_functions",
    "sklearn.covariance": "public_functions",
    "sklearn.decomposition": "public_functions",
    "sklearn.feature_extraction.image": "public_functions",
    "sklearn.linear_model": "public_functions",
    "sklearn.model_selection": "sklearn_grids",
    "sklearn.utils.class_weight": "public_functions",
    "statsmodels.base.data": "public_functions",
    "sparse": "sparse",
    "sympy.core.sympify": "sympy",
    "tables": "tables",
    "torch": "torch",
    "torch.utils.data": "torch_data",
    "xarray": "xarray",
}
EXTENSIONS = "extensions"  # the file for compiled modules that are not in the table, and its name in `config.adapters`
FORTRAN = "fortran"  # the type of what f2py makes, in each module one of its own
applied: dict[str, Patches] = {}
with_routines: dict[str, None] = {}  # compiled modules with routines of f2py's, in the order in which they were loaded
finding: set[str] = set()  # being looked for, by us
running: set[str] = set()  # whose code is running


def wanted(library: str) -> bool:
    """Whether the setting asks for the adapter of what is loaded under this name."""
    setting = config.adapters
    return setting if isinstance(setting, bool) else called(library) in names(setting)


def called(library: str) -> str:
    """What the setting calls it."""
    return library.split(".")[0] if library in ADAPTERS else EXTENSIONS


def names(setting: str) -> list[str]:
    return [n.strip() for n in setting.split(",") if n.strip()]


def allowed(setting: bool | str) -> None:
    """Raise ValueError where the setting names a library that has no adapter."""
    known = sorted({EXTENSIONS, *map(called, ADAPTERS)})
    unknown = [] if isinstance(setting, bool) else [n for n in names(setting) if n not in known]
    if unknown:
        raise ValueError(f"adapters={setting!r}: no adapter for {', '.join(unknown)}; there are: {', '.join(known)}")


def adapt(library: str, module: types.ModuleType | None = None) -> None:
    """Adapt a library that is loaded. One that is not as it should be stays as it is, with a warning."""
    if library in applied or not wanted(library):
        return
    patches = applied[library] = importlib.import_module(f"{__name__}.patches").Patches()
    try:
        file = ADAPTERS.get(library, EXTENSIONS)
        importlib.import_module(f"{__name__}.{file}").adapt(module or sys.modules[library], patches)
    except Exception as error:
        restore(library)
        tell(f"lazynp cannot adapt {library} ({type(error).__name__}: {error}): give it numpy.asarray(x)")


def tell(message: str) -> None:
    """Warn, and never raise in the program's import."""
    try:
        warnings.warn(message, stacklevel=2)
    except Warning:
        print(message, file=sys.stderr)


def restore(library: str) -> None:
    """Leave a library as it was."""
    found = applied.pop(library, None)
    if found is not None:
        found.undo()


def changed(name: str, value: Any) -> None:
    """Follow the setting, for what is loaded already."""
    if name != "adapters":
        return
    for library in dict.fromkeys([*ADAPTERS, *loaded_extensions(), *with_routines]):
        if not wanted(library):
            restore(library)
        elif is_loaded(library):
            adapt(library)


def loaded_extensions() -> list[str]:
    """The compiled modules that are loaded and are the program's own. Of others there are many."""
    return [
        name for name, m in list(sys.modules.items()) if name not in ADAPTERS and is_own(getattr(m, "__spec__", None))
    ]


def is_own(spec: Any) -> bool:
    """Whether what was found is the program's own compiled module."""
    compiled = isinstance(getattr(spec, "loader", None), ExtensionFileLoader) and spec.origin
    return bool(compiled) and whose(spec.origin) == OWN


def is_loaded(library: str) -> bool:
    """Whether a module is there, and its code has run to the end."""
    module = sys.modules.get(library)
    return module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False)


class Finder:
    """Notices that a library, or a compiled module, is imported: finds it as Python does, and has it adapted once its
    code has run."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        if fullname in finding or not wanted(fullname):
            return None
        finding.add(fullname)
        try:
            for finder in sys.meta_path:
                find = None if finder is self else getattr(finder, "find_spec", None)
                spec = None if find is None else find(fullname, path, target)
                if spec is not None:
                    break
            else:
                return None
        finally:
            finding.discard(fullname)
        if fullname in ADAPTERS and hasattr(spec.loader, "exec_module"):
            spec.loader = Loader(spec.loader)
        elif type(spec.loader) is ExtensionFileLoader:
            spec.loader = ExtensionLoader(spec.loader.name, spec.loader.path)
        return spec


class Loader:
    """A library's own loader, and its adapter after it."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def create_module(self, spec: Any) -> Any:
        return self.inner.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self.inner
        module.__loader__ = self.inner
        name = module.__name__
        if name in running:  # cv2 loads its compiled module under its own name, and takes all that it has
            return self.inner.exec_module(module)
        running.add(name)
        try:
            self.inner.exec_module(module)
        finally:
            running.discard(name)
        applied.pop(name, None)  # loaded anew: nothing of it is adapted yet
        adapt(name, module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class ExtensionLoader(ExtensionFileLoader):
    """Python's loader of a compiled module, and the adapter after it where the module is the program's own or has
    routines of f2py's."""

    def exec_module(self, module: types.ModuleType) -> None:
        super().exec_module(module)
        spec, plain = module.__spec__, ExtensionFileLoader(self.name, self.path)
        module.__loader__ = plain
        if spec is not None:
            spec.loader = plain
        applied.pop(self.name, None)  # loaded anew: nothing of it is adapted yet
        if FORTRAN in {type(value).__name__ for value in vars(module).values()}:
            with_routines[self.name] = None
        if self.name in with_routines or is_own(spec):
            adapt(self.name, module)


def install() -> None:
    """Adapt what is loaded, and from now on what will be."""
    config.guard("adapters", allowed)
    config.watch(changed)
    finder: Any = Finder()
    sys.meta_path.insert(0, finder)
    changed("adapters", config.adapters)
