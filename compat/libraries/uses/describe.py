"""What the scripts beside this share: each line's result as plain data, so that runs can be compared.

`python script.py OUT` runs all lines, and writes a JSON object from a line's name to its result, or to the error that
it raised, to the file OUT.
"""

import json
import re
import sys
import traceback
import warnings


def described(x):
    """A result as lists and strings: the kind of its type, dtype, shape and values."""
    kind = type(x).__name__
    if isinstance(x, dict):
        return [kind, [[described(k), described(v)] for k, v in x.items()]]
    if hasattr(x, "compute") and hasattr(x, "dask"):
        return [kind, str(x.dtype), described(x.compute())]
    if hasattr(x, "iloc"):
        values = x.to_dict("list") if hasattr(x, "columns") else x.to_list()
        return [kind, str(x.dtypes), described(list(x.index)), described(values)]
    if hasattr(x, "mask") and hasattr(x, "fill_value"):
        return [kind, str(x.dtype), repr(x.tolist())]
    if hasattr(x, "dtype") and hasattr(x, "shape") and hasattr(x, "tolist"):
        return ["ndarray" if kind == "memmap" else kind, str(x.dtype), list(x.shape), repr(x.tolist())]
    if isinstance(x, (list, tuple)):
        return [kind, [described(v) for v in x]]
    return [kind, re.sub(r"0x[0-9a-f]{6,}", "0x", repr(x))]


def outcome(line):
    """What a line gives, or which error."""
    try:
        return described(line())
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return ["raised", type(error).__name__, str(error)[:200], f"{where.filename}:{where.lineno}"]


def main(lines):
    warnings.simplefilter("ignore")
    found = {name: outcome(line) for name, line in lines.items()}
    with open(sys.argv[1], "w") as out:
        json.dump(found, out)
