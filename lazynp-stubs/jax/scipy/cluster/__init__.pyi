# Written by `python -m compat stubs`.

from . import vq as vq
