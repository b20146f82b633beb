"""The one part of lazynp that is built: `lazynp._speed`, the hot paths in C. Without a compiler the same is done in
Python. All else is in pyproject.toml."""

import numpy
from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "lazynp._speed",
            ["lazynp/_speed.c"],
            include_dirs=[numpy.get_include()],
            extra_compile_args=["-O2", "-fvisibility=hidden", "-Wno-missing-field-initializers"],
            optional=True,
        )
    ]
)
