"""lazynp: NumPy's arrays, evaluated when their value is needed, fused and compiled.

    import lazynp as np

The names here are NumPy's; see its documentation. lazynp's own: `config`, `explain`, `profile`, `compile_wait`,
`synchronize`, `benchmark`, `free_memory`, `report`, `HostFallbackError`, and `lazynp_version` (`__version__` is that of
the NumPy whose API this is, since programs ask for it).
"""

import gc as _gc
import importlib as _importlib

lazynp_version = "0.1.0"  # the one place: pyproject.toml reads it from here

_collecting = _gc.isenabled()
_gc.disable()  # nothing made here becomes garbage; looking for some is a seventh of what this adds to NumPy's import
try:
    from .numpy import rehost as _rehost

    _rehost.install(globals())

    from . import adapters as _adapters
    from .config import config
    from .numpy.array import ndarray as _ndarray
    from .numpy.host import HostFallbackError
    from .numpy.supported import check as _check
    from .runtime import replay as _replay
    from .runtime.api import compile_wait, free_memory, profile, report

    _numpy_getattr, _numpy_dir = globals()["__getattr__"], globals()["__dir__"]
    _LATER = {
        "advise": "advice",
        "benchmark": "timing",
        "distribute": "spread.start",
        "explain": "explanation",
        "synchronize": "timing",
    }
    _ALSO = {"load_ipython_extension": "notebook"}  # which IPython asks for

    def _late(name: str) -> object:
        """What is loaded when it is asked for, and NumPy's rare modules."""
        where = _LATER.get(name) or _ALSO.get(name)
        return _numpy_getattr(name) if where is None else getattr(_importlib.import_module(f"{__name__}.{where}"), name)

    __getattr__ = _rehost.lazily(_late, __name__)

    def __dir__() -> list[str]:
        """The public names: NumPy's, and lazynp's own, those that are loaded when they are asked for among them."""
        late = {*_rehost.LATE, *_rehost.TRANSFORMATIONS, *_LATER}
        return sorted({*_numpy_dir(), *late} - (_rehost.OWN - {"config", "jax", "swap"}))

    def _block_until_ready(self: _ndarray) -> _ndarray:
        """This array, once its value is computed."""
        return _importlib.import_module(f"{__name__}.timing").block_until_ready(self)

    _ndarray.block_until_ready = _block_until_ready  # type: ignore[attr-defined]
    _adapters.install()
    _replay.install()

    if _gc.get_freeze_count() < 1000:  # Python 3.12 starts with 375; a program that froze its own has all of NumPy's
        _gc.freeze()  # the two together make all of it old at once, which a collection would take 10 ms to do
        _gc.unfreeze()
finally:
    if _collecting:
        _gc.enable()
_check()
del _gc, _collecting, _check
