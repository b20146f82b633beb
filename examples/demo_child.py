"""One program of the demo in a process of its own: started by `run_demo.py`, which talks to it in lines of JSON.

    python demo_child.py PROGRAM SIZE STEPS RESULTS.npz              under NumPy
    python -m lazynp demo_child.py PROGRAM SIZE STEPS RESULTS.npz    the same under lazynp

It runs the program once, as a user would, says how long that took, and writes the results down. Then it takes
commands from its standard input: `round` times the program's loop once more, `wait` blocks until lazynp has compiled
what it wanted to. The end of the input ends the process.
"""

import importlib
import json
import sys
import time

import numpy as np


def emit(**event: object) -> None:
    print(json.dumps(event), flush=True)


def demand(result: dict) -> None:
    """Ask for the values, as writing or plotting them would: a lazy result is not a result."""
    for value in result.values():
        value.__array__()


def compile_wait() -> None:
    """Let background compiles finish. Under plain NumPy there are none."""
    lazynp = sys.modules.get("lazynp")
    if lazynp is not None:
        lazynp.compile_wait()


def timed_round(program, size: int, steps: int) -> float:
    """Seconds of the loop alone. One element of each input is read first, so that making them is not in it."""
    arrays = program.inputs(size)
    for array in arrays:
        array[(0,) * array.ndim].item()
    start = time.perf_counter()
    demand(program.compute(steps, *arrays))
    return time.perf_counter() - start


def main() -> None:
    name, size, steps, path = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    program = importlib.import_module(name)
    start = time.perf_counter()
    result = program.run(size, steps)
    demand(result)
    emit(seconds=time.perf_counter() - start, at=time.time())
    np.savez(path, **result)
    del result
    emit(saved=path)
    for command in sys.stdin:
        if command.strip() == "round":
            emit(seconds=timed_round(program, size, steps))
        else:
            start = time.perf_counter()
            compile_wait()
            emit(seconds=time.perf_counter() - start)


if __name__ == "__main__":
    main()
