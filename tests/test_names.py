"""Every public name of NumPy exists, with the same kind of object."""

import importlib
import importlib.util
import inspect
import os
import subprocess
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp
from compat import scope
from lazynp.numpy import methods, random, recorded, reduce, rehost, ufunc
from lazynp.numpy.supported import NEWEST, OLDEST, VERSION

MODULES = [
    "numpy",
    "numpy.linalg",
    "numpy.fft",
    "numpy.random",
    "numpy.ma",
    "numpy.ma.core",
    "numpy.ma.extras",
    "numpy.ma.mrecords",
    "numpy.polynomial",
    "numpy.polynomial.polynomial",
    "numpy.polynomial.chebyshev",
    "numpy.polynomial.hermite",
    "numpy.polynomial.hermite_e",
    "numpy.polynomial.laguerre",
    "numpy.polynomial.legendre",
    "numpy.polynomial.polyutils",
    "numpy.testing",
    "numpy.lib",
    "numpy.lib.stride_tricks",
    "numpy.lib.scimath",
    "numpy.lib.format",
    "numpy.lib.npyio",
    "numpy.lib.mixins",
    "numpy.lib.introspect",
    "numpy.lib.array_utils",
    "numpy.lib.recfunctions",
    "numpy.lib.user_array",
    "numpy.char",
    "numpy.rec",
    "numpy.strings",
    "numpy.ctypeslib",
    "numpy.dtypes",
    "numpy.exceptions",
    "numpy.matlib",
    "numpy.typing",
    "numpy.version",
]


# numexpr writes a ufunc of its own into NumPy's namespace when something (pandas) imports it.
ADDED = {"expm1x"}


@pytest.mark.parametrize("name", MODULES)
def test_names(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = importlib.import_module(name)
        ours = importlib.import_module("lazynp" + name[len("numpy") :])
        missing = [n for n in dir(theirs) if not n.startswith("_") and n not in ADDED and not hasattr(ours, n)]
        assert not missing
        for n in getattr(theirs, "__all__", ()):
            a, b = getattr(theirs, n), getattr(ours, n)
            assert callable(a) == callable(b), n
            assert isinstance(a, type) == isinstance(b, type), n


def test_all_names_of_the_package() -> None:
    assert set(numpy.__all__) <= set(lazynp.__all__)


def test_ndarray_attributes() -> None:
    missing = set(dir(numpy.ndarray)) - set(dir(lazynp.ndarray))
    assert not missing


def test_ufunc_attributes() -> None:
    missing = {n for n in dir(numpy.ufunc) if not n.startswith("_") or n.startswith("__") and n.endswith("__")} - set(
        dir(lazynp.add)
    )
    assert not missing


def test_all_ufuncs() -> None:
    ufuncs = [n for n in dir(numpy) if isinstance(getattr(numpy, n), numpy.ufunc) and n not in ADDED]
    assert len(ufuncs) >= 100
    for n in ufuncs:
        ours = getattr(lazynp, n)
        theirs = getattr(numpy, n)
        assert isinstance(ours, lazynp.ufunc), n
        for attribute in ("nin", "nout", "nargs", "ntypes", "types", "identity", "signature", "__name__", "__doc__"):
            assert getattr(ours, attribute) == getattr(theirs, attribute), (n, attribute)


def test_former_names_are_errors() -> None:
    for name in ("float", "int", "Inf", "cumproduct", "in1d_"):
        with pytest.raises(AttributeError):
            getattr(lazynp, name)


def test_coverage_table() -> None:
    from lazynp.numpy import coverage

    table = coverage.table()
    ways = [way for names in table.values() for way in names.values()]
    assert "missing" not in ways
    functions = [way for way in ways if way != "shared"]
    assert sum(way in ("native", "composed") for way in functions) / len(functions) >= 0.65
    assert (table["numpy"]["add"], table["numpy"]["mean"], table["numpy.ndarray"]["tolist"]) == ("native",) * 3
    assert (table["numpy"]["tril"], table["numpy"]["moveaxis"], table["numpy"]["result_type"]) == (
        "composed",
        "composed",
        "native",
    )
    assert (table["numpy"]["busday_count"], table["numpy.ndarray"]["setfield"], table["numpy.random"]["normal"]) == (
        "host",
    ) * 3
    assert (table["numpy"]["lexsort"], table["numpy.ndarray"]["choose"], table["numpy"]["packbits"]) == ("native",) * 3
    assert table["numpy"]["apply_along_axis"] != table["numpy"]["is_busday"] == "host"
    assert table["numpy"]["unravel_index"] == "native"


def test_this_numpy_is_a_tested_one() -> None:
    """Where it is newer: mend what fails with it, then raise NEWEST."""
    assert OLDEST <= VERSION <= NEWEST


IMPORT = """
import numpy, sys
numpy.__version__ = {version!r}
import lazynp as np
import lazynp.jax
print((np.arange(3.0) + 1).tolist())
"""


NUMPYS = [("2.5.9", ""), ("2.6.0", ""), ("3.0.0.dev0", "error"), ("2.1.3", "ignore:lazynp is tested with")]


@pytest.mark.parametrize(("version", "settings"), NUMPYS)
def test_another_numpy_gives_one_warning(version: str, settings: str, tmp_path: Path) -> None:
    """It names the line of the import, is no error under `-W error`, and can be silenced."""
    script = tmp_path / "script.py"
    script.write_text(IMPORT.format(version=version))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": settings}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "[1.0, 2.0, 3.0]\n"
    silent = version == "2.5.9" or settings.startswith("ignore")
    assert done.stderr.count("lazynp is tested with NumPy 2.2 to 2.5") == (not silent)
    if not silent and not settings:
        assert done.stderr.startswith(f"{script}:4: UserWarning: ")


def test_lists_of_modules_fit_the_numpy_that_runs() -> None:
    """A name that NumPy has not, or has again, is a name that no longer says what it was meant to say."""
    wrong = []
    for name in (*rehost.SHARED, *rehost.EMPTY, *rehost.REPLACED, *rehost.RENAMES):
        there = importlib.util.find_spec(f"numpy.{name}") is not None
        wanted = rehost.SINCE.get(name, VERSION) <= VERSION < rehost.UNTIL.get(name, (99,))
        wrong += [(name, there)] if there != wanted else []
    assert not wrong
    assert {*rehost.SINCE, *rehost.UNTIL} <= {*rehost.SHARED}


def test_lists_of_names_fit_the_numpy_that_runs() -> None:
    for module, names in rehost.REPLACED.items():
        assert not [n for n in names if not hasattr(importlib.import_module(f"numpy.{module}"), n)], module
    of_arrays = [methods.VIEWS, methods.MAKERS, methods.WRITES, methods.HOST, methods.WRITERS, reduce.TABLE]
    for table in (*of_arrays, recorded.TABLE):
        assert not [n for n in table if not hasattr(numpy.ndarray, n)]
    assert not [n for n in ufunc.ENGINE if not isinstance(ufunc.UMATH.get(n), numpy.ufunc)]
    assert not [n for n in random.TABLE if not hasattr(numpy.random, n) and not hasattr(numpy.random.mtrand, n)]


def test_the_modules_of_numpys_own_tests_are_there() -> None:
    gone = {"distutils"} if sys.version_info >= (3, 12) else set()
    assert {n for n in scope.LEFT_OUT if not (scope.ROOT / n).exists()} == gone
    assert not [n for n in (*scope.QUICK, *scope.SHORT) if not (scope.ROOT / n).is_file()]


EXTENDED = {"argsort", "sort", "fftfreq", "rfftfreq"}  # which have parameters of the array API that NumPy has not yet
PLACES = ("", ".linalg", ".fft", ".random", ".ma", ".char", ".strings", ".rec", ".lib.stride_tricks", ".polynomial")


OLD_MASKED = hasattr(numpy.ma.core, "get_object_signature")  # puts signatures before texts, of functions in Python only


def introspected(function: Any) -> list[Any]:
    try:
        signature = str(inspect.signature(function))
    except (TypeError, ValueError) as error:
        signature = type(error).__name__
    kinds = (types.BuiltinFunctionType, types.FunctionType, type)
    return [signature, function.__doc__, inspect.isroutine(function), isinstance(function, kinds)]


def otherwise_introspected(place: str) -> list[str]:
    """What is said otherwise of a module's functions than of NumPy's."""
    found, module, ours = [], importlib.import_module("numpy" + place), importlib.import_module("lazynp" + place)
    for name in sorted(vars(module)):
        host = getattr(module, name)
        if name.startswith("_") or name in EXTENDED or not callable(host) or not hasattr(ours, name):
            continue
        wanted, got = introspected(host), introspected(getattr(ours, name))
        if wanted[0] == "(*args, **kwargs)" or "ValueError" in wanted[0] or isinstance(host, type):
            wanted[0] = got[0]  # ours may say more
        if not isinstance(host, (types.BuiltinFunctionType, type)):
            wanted[3] = got[3]
        before = f"{name}("
        if place == ".ma" and OLD_MASKED and str(wanted[1]).startswith(before) > str(got[1]).startswith(before):
            wanted[1] = wanted[1].partition("\n")[2]
        found += [] if got == wanted else [f"{name}: {got}, {wanted}"]
    return found


def test_what_inspect_and_help_say() -> None:
    """In a process of its own: some libraries write NumPy's documentation anew."""
    code = (
        "import sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import lazynp.jax, test_names\n"
        "for place in test_names.PLACES:\n"
        "    print(*test_names.otherwise_introspected(place), sep='\\n', end='')\n"
        "print('all looked at')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.stdout.strip() == "all looked at", done


def signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except ValueError:
        return None


def test_signatures_of_generators() -> None:
    for kind in ("Generator", "RandomState", "MT19937", "PCG64", "SeedSequence"):
        host, ours = getattr(numpy.random, kind), getattr(lazynp.random, kind)
        assert signature(host) in (signature(ours), None)  # older NumPy's have none
        for name in vars(host):
            if not name.startswith("_") and callable(getattr(host, name)):
                assert signature(getattr(host, name)) in (signature(getattr(ours, name)), None), name
    for name in ("normal", "integers", "shuffle", "choice"):
        wanted = signature(getattr(numpy.random.default_rng(0), name))
        assert wanted in (signature(getattr(lazynp.random.default_rng(0), name)), None)


def test_what_an_array_has_has_numpy_s_docstrings() -> None:
    names = [n for n in dir(numpy.ndarray) if not n.startswith("__")]
    assert [n for n in names if getattr(lazynp.ndarray, n).__doc__ != getattr(numpy.ndarray, n).__doc__] == []
