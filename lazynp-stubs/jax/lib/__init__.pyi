# Written by `python -m compat stubs`.

