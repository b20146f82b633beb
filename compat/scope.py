"""What is run: the test modules inside the installed NumPy, less those named here, each with its reason."""

from __future__ import annotations

import os
import pathlib
import re

import numpy

ROOT = pathlib.Path(os.environ.get("LAZYNP_COMPAT_ROOT", pathlib.Path(numpy.__file__).parent))  # another for the tests
PACKAGES = ("_core", "lib", "linalg", "fft", "random", "polynomial", "ma", "matrixlib", "testing", ".")

BUILDS = "builds a C or Cython extension against NumPy's headers"
BINARIES = "inspects NumPy's own binaries: no array that a user makes takes part"
LEFT_OUT = {
    "f2py": "a Fortran compiler's front end, not an array library",
    "distutils": "builds packages, and is gone from Python 3.12 on",
    "typing": "checks NumPy's stubs with mypy",
    "_pyinstaller": "builds a frozen program",
    "_core/tests/test_array_interface.py": BUILDS,
    "_core/tests/test_cython.py": BUILDS,
    "_core/tests/test_limited_api.py": BUILDS,
    "_core/tests/test_mem_policy.py": BUILDS,
    "random/tests/test_extending.py": BUILDS,
    "_core/tests/test_cpu_dispatcher.py": BINARIES,
    "_core/tests/test_cpu_features.py": BINARIES,
    "_core/tests/test_extint128.py": BINARIES,
    "_core/tests/test_hashtable.py": BINARIES,
    "_core/tests/test_simd.py": BINARIES,
    "_core/tests/test_simd_module.py": BINARIES,
    "tests/test_configtool.py": "runs the program numpy-config",
    "tests/test_numpy_config.py": BINARIES,
    "tests/test_scripts.py": "runs the program f2py",
}
# A part that takes little and touches much: for CI, and while working.
QUICK = (
    "_core/tests/test_array_coercion.py",
    "_core/tests/test_einsum.py",
    "_core/tests/test_errstate.py",
    "_core/tests/test_function_base.py",
    "_core/tests/test_getlimits.py",
    "_core/tests/test_indexing.py",
    "_core/tests/test_item_selection.py",
    "_core/tests/test_longdouble.py",
    "_core/tests/test_nep50_promotions.py",
    "_core/tests/test_overrides.py",
    "_core/tests/test_protocols.py",
    "_core/tests/test_records.py",
    "_core/tests/test_shape_base.py",
    "fft/tests/test_helper.py",
    "fft/tests/test_pocketfft.py",
    "lib/tests/test_arraysetops.py",
    "lib/tests/test_function_base.py",
    "lib/tests/test_histograms.py",
    "lib/tests/test_index_tricks.py",
    "lib/tests/test_mixins.py",
    "lib/tests/test_shape_base.py",
    "lib/tests/test_stride_tricks.py",
    "lib/tests/test_twodim_base.py",
    "lib/tests/test_type_check.py",
    "linalg/tests/test_regression.py",
    "ma/tests/test_subclassing.py",
    "matrixlib/tests/test_defmatrix.py",
    "polynomial/tests/test_polynomial.py",
    "random/tests/test_seed_sequence.py",
)

# Of these the modules that take seconds: for the project's own tests.
SHORT = (
    "_core/tests/test_errstate.py",
    "_core/tests/test_indexing.py",
    "_core/tests/test_nep50_promotions.py",
    "_core/tests/test_overrides.py",
    "_core/tests/test_records.py",
    "_core/tests/test_shape_base.py",
    "fft/tests/test_helper.py",
    "lib/tests/test_index_tricks.py",
    "lib/tests/test_mixins.py",
    "lib/tests/test_stride_tricks.py",
    "lib/tests/test_twodim_base.py",
    "ma/tests/test_subclassing.py",
    "matrixlib/tests/test_defmatrix.py",
)


# Words in a test's source or among its parameters by which it is about more than numbers.
OTHER_DTYPES = re.compile(
    r"\bobject(_|\b)|\bobj(ect)?_?arr|\bstr_?\b|\bbytes_?\b|\bunicode|StringDType|"  # objects and text
    r"datetime64|timedelta64|\bNaT\b|isnat|busday|"  # dates
    r"\bvoid\b|\brec(ord|array|functions|ord_arrays)?\b|names=|fields|formats|structured|\[\(b?['\"]|"  # structures
    r"['\"][<>|=]?\d*[OSUVaMm]\d*(\[\w+\])?['\"]|typecodes\[['\"]All['\"]\]|b['\"]|['\"][<>|=]?[SUV]\d+"
)
NUMERIC_KINDS = "biufc"
NUMERIC = (
    "A test is of numeric dtypes unless its source or its parameters name objects, text, dates or structures: "
    "`compat/scope.py: OTHER_DTYPES` is the pattern. Nor is a test that strict mode stops at an array of such."
)


# Among parameters, which stand without quotes, the codes too: `O`, `U10`, `M8[s]`.
OTHER_PARAMETERS = re.compile(r"(?<!\w)([OSUV]\d*|[mM]8(\[\w+\])?)(?!\w)")


def is_numeric(source: str, name: str) -> bool:
    """Whether a test, of which this is the source and the name with its parameters, is of numeric dtypes alone."""
    parameters = name.partition("[")[2].replace("-", " ")
    found = OTHER_DTYPES.search(source) or OTHER_DTYPES.search(parameters) or OTHER_PARAMETERS.search(parameters)
    return found is None


def modules() -> list[str]:
    """Paths of the test modules in scope, relative to NumPy's folder."""
    found = [p for package in PACKAGES for p in (ROOT / package / "tests").glob("test_*.py")]
    return sorted(set(p.relative_to(ROOT).as_posix() for p in found) - LEFT_OUT.keys())


def chosen(patterns: list[str] | None, quick: bool) -> list[str]:
    """The modules whose path has one of the patterns in it; of the quick part only, if asked."""
    every = [m for m in modules() if not quick or m in QUICK]
    return [m for m in every if not patterns or any(p in m for p in patterns)]
