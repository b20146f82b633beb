"""What random programs are made of, counted.

`python tests/kinds.py 2000` prints in how many of the first 2,000 programs each kind of statement and of array occurs.
"""

from __future__ import annotations

import ast
import collections
import re
import sys
import warnings

import numpy
from programs import NAMES, Generator, Loop, Program, namespace, statements

INDICES = r"(?:np\.array\()?(\[[-\d, ]+\])"
TEXTS = {
    "view": r"^\w = \(?\w+\)?(\[[^\[\]]*:[^\[\]]*\]$|\.T$|\.transpose|\.swapaxes|\.reshape|\.view)",
    "write into a region": r"^[a-h]\[.*:.*\] [-+*/]?= ",
    "out=": r"\bout=",
    "where=": r"\bwhere=",
    "out= and where=": r"\bout=.*\bwhere=|\bwhere=.*\bout=",
    "mask": r"^[a-h]\[[^\]]* [<>=!]=? [^\]]*\] [-+*]?=",
    "fancy index": r"\w\[" + INDICES,
    "ufunc.at": r"np\.\w+\.at\(",
    "if": r"^if ",
    "while": r"^while ",
    "escape to NumPy": r"\b(host|memory)\(",
    "write from NumPy": r"^z(\[| \*=|\.fill|\.sort|\.T\[)|out=z\b|copyto\(z\b",
}


def kinds_of(program: Program) -> set[str]:
    """The kinds that are in a program, by its texts and by the arrays that it makes in NumPy. Statements that raise do
    not count."""
    found = {"loop"} if any(isinstance(part, Loop) for part in program) else set()
    space = namespace(numpy)
    for text, variables in statements(program):
        space.update(variables)
        before = {n: x.dtype for n, x in space.items() if n in NAMES and isinstance(x, numpy.ndarray)}
        try:
            exec(text, space)
        except Exception:
            continue
        found.update([kind for kind, pattern in TEXTS.items() if re.search(pattern, text, re.MULTILINE)])
        for indices in re.findall(r"(?:\w\[|\.at\(\w+, )" + INDICES, text):
            rows = ast.literal_eval(indices)
            if len(set(rows)) < len(rows):
                found.add("index that comes twice")
                if re.match(r"\w+\[.*\] [-+*]?= |.*\.at\(", text):
                    found.add("write to an index that comes twice")
        if len({before[n] for n in re.findall(r"\b[a-h]\b", text) if n in before}) > 1:
            found.add("mixed dtypes")
        for x in [space[n] for n in NAMES if isinstance(space.get(n), numpy.ndarray)]:
            found.update([x.dtype.name, *["0-d"] * (x.ndim == 0), *["empty"] * (x.size == 0)])
    return found


def count(seeds: range) -> collections.Counter[str]:
    """In how many programs each kind is."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return collections.Counter([kind for seed in seeds for kind in kinds_of(Generator(seed)())])


if __name__ == "__main__":
    for kind, number in sorted(count(range(int(sys.argv[1]))).items()):
        print(f"{kind:36} {number}")
