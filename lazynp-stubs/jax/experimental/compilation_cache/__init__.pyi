# Written by `python -m compat stubs`.

from . import compilation_cache as compilation_cache
