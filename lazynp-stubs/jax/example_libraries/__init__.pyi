# Written by `python -m compat stubs`.

from . import optimizers as optimizers
from . import stax as stax
