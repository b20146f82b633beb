"""Libraries that check for NumPy's own type take our arrays, by the adapters, and are as they were without them."""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import subprocess
import sys
import textwrap
from typing import Any

import numpy
import pytest
from patience import PATIENCE

import lazynp as np
from lazynp import adapters
from lazynp.adapters.patches import Patches, adapted, numpy_of
from lazynp.config import config

ROOT = pathlib.Path(__file__).parents[1]
# Of the scripts in compat/libraries/uses those whose libraries are installed with the tests; `make libraries` runs all.
SCRIPTS = ("cv2", "dask", "files", "jax", "numba", "pandas", "polars", "science", "torch")


def python(code: str, folder: Any = ROOT, **env: str) -> str:
    """What a program prints, in a process of its own."""
    paths = os.pathsep.join([str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": paths, **env},
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


@pytest.mark.parametrize("script", SCRIPTS)
def test_uses_of_libraries(script: str) -> None:
    """Each line gives what it gives with NumPy's arrays, in both modes, in a process where the library came first; and
    with the adapters off, the library is as it was."""
    code = f"import json; from compat import libraries; print(json.dumps(libraries.in_one_process('{script}_')))"
    found = json.loads(python(code, OPENBLAS_NUM_THREADS="1").splitlines()[-1])
    assert found == {"auto": {}, "graph": {}, "left behind": []}


LIBRARY = """
    import numpy
    count = 0

    def taken(x, *more, **named):
        '''What bottleneck might do.'''
        if not isinstance(x, numpy.ndarray):
            raise TypeError(f"expected numpy.ndarray, got {type(x).__module__}")
        return x

    nanmean = taken
"""


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """Where a library stands that has an adapter, and is ours to look into."""
    (tmp_path / "bottleneck.py").write_text(textwrap.dedent(LIBRARY))
    return tmp_path


@pytest.mark.parametrize("first", ["lazynp as np, bottleneck", "bottleneck, lazynp as np"])
def test_whichever_is_loaded_first(folder: pathlib.Path, first: str) -> None:
    code = f"""
        import {first}
        x = np.arange(3.0)
        y = bottleneck.taken(x)
        y[0] = 5
        print(type(y).__module__, x[0], bottleneck.taken.__doc__, type(bottleneck.__spec__.loader).__name__)
    """
    assert python(code, folder) == "numpy 5.0 What bottleneck might do. SourceFileLoader"


def test_a_library_that_is_loaded_again(folder: pathlib.Path) -> None:
    code = """
        import importlib, lazynp as np, bottleneck
        importlib.reload(bottleneck)
        print(type(bottleneck.taken(np.arange(3.0))).__module__)
    """
    assert python(code, folder) == "numpy"


@pytest.mark.parametrize("setting", ["0", "numba, dask"])
def test_switched_off_by_the_environment(folder: pathlib.Path, setting: str) -> None:
    code = """
        import lazynp as np, bottleneck
        print(hasattr(bottleneck.taken, "__wrapped__"))
        with np.config(adapters="bottleneck"):
            print(type(bottleneck.taken(np.arange(3.0))).__module__)
        print(hasattr(bottleneck.taken, "__wrapped__"))
    """
    assert python(code, folder, LAZYNP_ADAPTERS=setting).split() == ["False", "numpy", "False"]


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="no adapter for nothing; there are: bottleneck, cv2"):
        config.adapters = "numba,nothing"
    with pytest.raises(ValueError, match="adapters"):
        config.adapters = 3  # type: ignore[assignment]


def test_a_library_that_has_changed_is_left_alone(tmp_path: pathlib.Path) -> None:
    """An adapter that does not find what it wraps says so, and the library works as it does without it."""
    (tmp_path / "netCDF4.py").write_text("class Variable: pass\nclass Dataset: pass\ndef stored(x): return x\n")
    code = """
        import warnings, lazynp as np
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            import netCDF4
        print(netCDF4.stored(3), hasattr(netCDF4.stored, "__wrapped__"), [str(w.message) for w in told])
        warnings.simplefilter("error")
        del __import__("sys").modules["netCDF4"]
        import netCDF4
    """
    shown = python(code, tmp_path)
    assert shown.startswith("3 False ['lazynp cannot adapt netCDF4 (AttributeError"), shown


def test_nothing_of_an_adapter_is_loaded_without_its_library() -> None:
    code = "import sys, lazynp; print([m for m in sys.modules if m.startswith('lazynp.adapters')])"
    assert python(code) == "['lazynp.adapters']"


# --- the wrapper ---


def test_arguments_that_hold_no_array_are_the_same_objects() -> None:
    for x in ([1, 2], (1, "a"), {"a": 1}, [[1.0], (2,)], {}, [], "text", numpy.arange(3), slice(1, 2), object()):
        assert numpy_of(x) is x


def test_arrays_in_containers_share_their_memory() -> None:
    x = np.arange(4.0)
    found = numpy_of({"a": [x, (x[1:], 1)], "b": x})
    assert type(found["a"][0]) is numpy.ndarray and type(found["a"][1][0]) is numpy.ndarray
    found["a"][1][0][0] = 9
    found["b"][0] = 7
    assert x.tolist() == [7, 9, 2, 3] and (x + 1).tolist() == [8, 10, 3, 4]


def test_a_pending_array_is_computed_and_shared() -> None:
    with config(mode="graph"):
        x = np.arange(1000.0) * 2
        adapted(lambda a: a.__setitem__(0, 5))(x)
        assert (x + 1)[0] == 6 and x.sum() == 1000 * 999 + 5


def test_methods_of_all_kinds_are_wrapped_and_put_back() -> None:
    class Base:
        __module__ = "library.base"

        def inherited(self, a: Any) -> Any:
            return type(a)

    class Real(Base):
        __module__ = "library.main"

        def __init__(self, a: Any = None) -> None:
            self.a = a

        def __getitem__(self, key: Any) -> Any:
            return type(key)

        @classmethod
        def of(cls, a: Any) -> Any:
            return cls(a)

        @staticmethod
        def stat(a: Any, *, b: Any = None) -> Any:
            return type(a), type(b)

        def nothing(self) -> Any:
            return 1

        def _private(self, a: Any) -> Any:
            return type(a)

    before = {**vars(Real), **vars(Base)}
    patches, x = Patches(), np.arange(3)
    patches.methods(Real, skip=("skipped",))
    real = Real.of(x)
    assert type(real.a) is numpy.ndarray and real[x] is numpy.ndarray and real[x, 1:] is tuple
    assert real.inherited(x) is numpy.ndarray and Real.stat(x, b=x) == (numpy.ndarray, numpy.ndarray)
    assert vars(Real)["nothing"] is before["nothing"] and real._private(x) is np.ndarray
    patches.methods(Real)  # once more: nothing is wrapped twice
    assert not hasattr(Real.stat.__wrapped__, "__wrapped__")  # type: ignore[attr-defined]
    patches.undo()
    assert {**vars(Real), **vars(Base)} == before


# --- what needs no adapter ---


class Ufunc:
    """A library's own ufunc: asks `__array_ufunc__` of what is no NumPy array, as numba's do."""

    __name__ = "plus"

    def __call__(self, a: Any, b: Any, out: Any = None) -> Any:
        for x in (a, b, out):
            if not isinstance(x, (numpy.ndarray, float)) and hasattr(x, "__array_ufunc__"):
                return x.__array_ufunc__(self, "__call__", a, b, **({} if out is None else {"out": out}))
        assert type(a) is numpy.ndarray
        return numpy.add(a, b, out=out)


def test_a_ufunc_of_a_library_is_given_numpy_arrays() -> None:
    x, out = np.arange(3.0), np.zeros(3)
    plus: Any = Ufunc()
    # The real ones check in C, where an array of ours is none; the metaclass says so here.
    value = type(x).__array_ufunc__(x, plus, "__call__", x, 1.0)
    assert type(value) is np.ndarray and value.tolist() == [1, 2, 3]
    assert type(x).__array_ufunc__(x, plus, "__call__", x, 1.0, out=out) is out
    assert out.tolist() == [1, 2, 3]


class Indices:
    """An array of somebody's, which is no index as a whole."""

    def __init__(self, values: Any) -> None:
        self.values = numpy.array(values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> numpy.ndarray:
        return self.values

    def __index__(self) -> int:
        return int(operator_index(self.values))


def operator_index(values: numpy.ndarray) -> int:
    if values.size != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(values[0])


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize(
    "key", [Indices([1, 3]), (Indices([1, 0]), 1), Indices([2]), Indices([True, False, True, True])]
)
def test_an_array_of_somebody_is_an_index(mode: str, key: Any) -> None:
    theirs = numpy.arange(12.0).reshape(4, 3)
    with config(mode=mode):
        ours = np.array(theirs) + 0
        assert ours[key].tolist() == theirs[key].tolist()
        ours[key], theirs[key] = -1, -1
        assert ours.tolist() == theirs.tolist()


def test_documented() -> None:
    """Each adapter has its line in the docs, and its setting a name there."""
    page = (ROOT / "docs" / "libraries.md").read_text()
    for library in adapters.ADAPTERS:
        assert f"`{library}`" in page, library
        assert importlib.util.find_spec(f"lazynp.adapters.{adapters.ADAPTERS[library]}"), library
