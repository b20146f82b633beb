"""The parts of lazynp that are built: `lazynp._speed`, the hot paths in C, `lazynp._calls`, calls of compiled
functions, `lazynp._blocks`, the interpreter of kernels, `lazynp._keyed`, the random numbers of keys,
`lazynp._adapters`, the functions of libraries that take our arrays, and `lazynp._apart`, which starts compilers. Without
a compiler the same is done in Python. All else is in pyproject.toml."""

import numpy
from setuptools import Extension, setup

# Rounding as written: GCC would make one multiply-add of a product and a sum where the processor has one.
FLAGS = ["-ffp-contract=off", "-fvisibility=hidden", "-Wno-missing-field-initializers"]

setup(
    ext_modules=[
        Extension(
            "lazynp._speed",
            ["lazynp/_speed.c"],
            depends=[
                *[f"lazynp/_{name}.h" for name in ("composed", "direct", "known", "leaving", "loops", "makers")],
                *[f"lazynp/_{name}.h" for name in ("memory", "objects", "places", "scalars", "scans", "short")],
                *[f"lazynp/_{name}.h" for name in ("clones", "strangers", "whole")],
                *[f"lazynp/_replay{part}.h" for part in ("", "_match", "_notes", "_plan")],
            ],
            include_dirs=[numpy.get_include()],
            extra_compile_args=["-O3", "-fno-plt", *FLAGS],
            optional=True,
        ),
        Extension(
            "lazynp._calls",
            ["lazynp/_calls.c"],
            depends=[f"lazynp/_{name}.h" for name in ("boundary", "calls_given", "calls_tree", "leaving", "one_step")],
            include_dirs=[numpy.get_include()],
            extra_compile_args=["-O2", *FLAGS],
            optional=True,
        ),
        Extension(
            "lazynp._blocks",
            ["lazynp/_blocks.c"],
            depends=[f"lazynp/_{name}.h" for name in ("clones", "loops", "searches", "stacks")],
            include_dirs=[numpy.get_include()],
            extra_compile_args=["-O3", *FLAGS],
            optional=True,
        ),
        Extension(
            "lazynp._keyed",
            ["lazynp/_keyed.c"],
            depends=["lazynp/_clones.h", "lazynp/_keyed.h"],
            # Loops that may be vectorized: no traps, no errno.
            extra_compile_args=["-O3", "-fno-math-errno", "-fno-trapping-math", *FLAGS],
            optional=True,
        ),
        Extension("lazynp._adapters", ["lazynp/_adapters.c"], extra_compile_args=["-O2", *FLAGS], optional=True),
        Extension("lazynp._apart", ["lazynp/_apart.c"], extra_compile_args=["-O2", *FLAGS], optional=True),
    ]
)
