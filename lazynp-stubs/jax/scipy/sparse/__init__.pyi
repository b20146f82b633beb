# Written by `python -m compat stubs`.

from . import linalg as linalg
