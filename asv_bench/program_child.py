"""One program of the suite on one library, in a process of its own, which `program_table.py` starts.

    python program_child.py PROGRAM numpy|lazynp|jax

A line of JSON on the standard input is answered by one on the standard output. The end of the input ends the process.
"""

import functools
import importlib
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy
import plain
from benchmarks import libraries


class Side:
    """The program with its inputs, which are made anew for each run: the programs write into them."""

    def __init__(self, name: str, library: str) -> None:
        self.program, self.library = plain.PROGRAMS[name], library
        self.module = libraries.namespace(library)
        self.wait: Callable[[], Any] = libraries.waiter(library)
        self.compute, self.ready = functools.partial(self.program.compute, self.module), lambda result: result
        if library == "jax":
            self.compute = importlib.import_module("plain.by_hand").BY_HAND[name]
            self.ready = importlib.import_module("jax").block_until_ready

    def inputs(self, size: int) -> list:
        made = [self.module.array(a) if isinstance(a, numpy.ndarray) else a for a in self.program.inputs(size)]
        if self.library == "lazynp":
            for array in made:
                if hasattr(array, "item"):
                    array.item(0)  # it is there
        return self.ready(made)

    def run(self, size: int) -> tuple[float, list[numpy.ndarray]]:
        """Seconds until the values of all results are there, and these values."""
        arrays, steps = self.inputs(size), self.program.steps_at(size)
        start = time.perf_counter()
        values = plain.as_arrays(self.ready(self.compute(steps, *arrays)))
        return time.perf_counter() - start, values

    def warm(self, size: int, seconds: float) -> int:
        """Run for so long, and until nothing is being compiled in the background any more; how many runs."""
        runs, spent, waited = 0, 0.0, 1.0
        while (spent < seconds or waited > 0.01) and spent < 10.0 * seconds:
            spent += self.run(size)[0]
            start = time.perf_counter()
            self.wait()
            waited = time.perf_counter() - start
            runs += 1
        return runs

    def answer(self, do: str, size: int, **named: Any) -> Any:
        if do == "warm":
            return self.warm(size, named["seconds"])
        if do == "time":
            return sum(self.run(size)[0] for _ in range(named["repeats"]))
        values = self.run(size)[1]
        numpy.savez(named["path"], *values)
        return None


def main() -> None:
    warnings.simplefilter("ignore")
    side = Side(*sys.argv[1:3])
    for line in sys.stdin:
        print(json.dumps(side.answer(**json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
