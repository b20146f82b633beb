# Written by `python -m compat stubs`.

from . import transform as transform
