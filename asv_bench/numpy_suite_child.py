"""NumPy's own benchmarks in one process: `numpy_suite.py` starts it, with plain Python and with `python -m lazynp`.

    python numpy_suite_child.py BENCHMARKS              under NumPy
    python -m lazynp numpy_suite_child.py BENCHMARKS    the same under lazynp: its `import numpy` is swapped

BENCHMARKS is the folder of that name from NumPy's source distribution. A line of JSON on the standard input is answered
by one on the standard output. The text of each `time_` method is changed before it is compiled: what its statements
compute is handed to `computed`, since an array that nobody asks for would never be computed here. Under NumPy there is
a `computed`, too, so that both sides pay for the call.
"""

import ast
import gc
import importlib
import inspect
import itertools
import json
import math
import random
import sys
import time
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE = "numpy_benchmarks"
LEFT_OUT = {"bench_import": "it starts processes that import NumPy by name"}
LOOKED_AT = 100_000  # elements of a result
COMPILING = 30.0  # seconds at most that are waited for background compiles
lazynp = sys.modules.get("lazynp")
Array = np.ndarray if lazynp is None else sys.modules["lazynp.speed"].HandleBase  # `isinstance` costs the same of both
taken: list | None = None  # what the calls hand over, while results are looked at


def numpys(value: Any, *written: Any) -> None:
    """The counterpart of `ours` below, which does as much for NumPy's arrays: their values are there."""
    if isinstance(value, Array):
        if value.ndim is None:
            value.__array__()
    elif value is None:
        for x in written:
            numpys(x)
    elif isinstance(value, (tuple, list)) and value and isinstance(value[0], Array):
        for x in value:
            numpys(x)
    if taken is not None:
        taken.append((value, *written))


def ours(value: Any, *written: Any) -> None:
    """Have the value computed; of a call without a value, what it may have written into: its arguments.

    Whether the memory is there already is read from a private attribute: every public way costs as much as many of the
    calls that are timed.
    """
    if isinstance(value, Array):
        if value._s_.buf is None:
            value.__array__()
    elif value is None:
        for x in written:
            ours(x)
    elif isinstance(value, (tuple, list)) and value and isinstance(value[0], Array):
        for x in value:
            ours(x)
    if taken is not None:
        taken.append((value, *written))


def call(value: ast.expr, written: list[ast.expr]) -> ast.Expr:
    return ast.Expr(ast.Call(ast.Name("computed", ast.Load()), [value, *written], []))


def plain(node: ast.expr) -> bool:
    """Whether reading it once more is harmless: `a`, `self.a`."""
    return isinstance(node, ast.Name) or isinstance(node, ast.Attribute) and plain(node.value)


def may_write(node: ast.expr) -> list[ast.expr]:
    """What a call may write into: the object whose method it is, and its arguments."""
    if not isinstance(node, ast.Call):
        return []
    receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    return [x for x in (*receiver, *node.args, *(k.value for k in node.keywords)) if plain(x)]


class Computing(ast.NodeTransformer):
    """Hands what the statements of one function compute to `computed`."""

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        return node if isinstance(node.value, ast.Constant) else call(node.value, may_write(node.value))

    def visit_Return(self, node: ast.Return) -> Any:
        return node if node.value is None else [call(node.value, []), ast.Return()]

    def assigned(self, node: Any, targets: list[ast.expr]) -> list[ast.stmt]:
        """The statement, and after it what it wrote: of `a[i] = v` it is `a`, and of `a, b = f()` both."""
        flat = itertools.chain(*(t.elts if isinstance(t, (ast.Tuple, ast.List)) else [t] for t in targets))
        bases = [t.value if isinstance(t, ast.Subscript) else t for t in flat]
        read = [ast.parse(ast.unparse(base), mode="eval").body for base in bases if plain(base)]
        return [node, *(call(base, []) for base in read)]

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        return self.assigned(node, node.targets)

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        return self.assigned(node, [node.target])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node  # one inside is called by a statement outside

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return node


def instrumented(text: str, path: str) -> types.CodeType:
    """The code of a module whose `time_` methods have their results computed."""
    tree = ast.parse(text, path)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("time_"):
            visited = [Computing().visit(statement) for statement in node.body]
            node.body = [s for part in visited for s in (part if isinstance(part, list) else [part])]
    return compile(ast.fix_missing_locations(tree), path, "exec")


def stand_in_for_asv() -> None:
    """One class is all that NumPy's benchmarks import of asv, which need not be installed here."""
    try:
        importlib.import_module("asv_runner.benchmarks.mark")
    except ImportError:
        for name in ("asv_runner", "asv_runner.benchmarks", "asv_runner.benchmarks.mark"):
            sys.modules[name] = types.ModuleType(name)
        sys.modules["asv_runner.benchmarks.mark"].SkipNotImplemented = NotImplementedError  # type: ignore[attr-defined]


class Suite:
    """The modules with benchmarks, and the one that is being timed."""

    def __init__(self, folder: Path) -> None:
        stand_in_for_asv()
        self.folder, self.modules = folder, {}
        package = types.ModuleType(PACKAGE)  # its own __init__ prints what processor this is
        package.__path__ = [str(folder)]
        sys.modules[PACKAGE] = package
        common = importlib.import_module(f"{PACKAGE}.common")
        common.CACHE_ROOT = Path("data").resolve()  # in the folder that this process runs in
        self.run: Any = None
        self.instance: Any = None
        self.parameters: tuple = ()

    def module(self, name: str) -> types.ModuleType:
        if name not in self.modules:
            path = self.folder / f"{name}.py"
            module = types.ModuleType(f"{PACKAGE}.{name}")
            module.__file__, module.__package__ = str(path), PACKAGE
            module.computed = numpys if lazynp is None else ours  # type: ignore[attr-defined]
            sys.modules[module.__name__] = module
            exec(instrumented(path.read_text(), str(path)), module.__dict__)
            self.modules[name] = module
        return self.modules[name]

    def classes(self, name: str) -> Iterator[type]:
        module = self.module(name)
        for value in list(vars(module).values()):
            if inspect.isclass(value) and value.__module__ == module.__name__ and not value.__name__.startswith("_"):
                yield value

    def list(self, most: int) -> list:
        """[module, class, method, number of the parameters, their text] of all; of many parameters so many, spread."""
        found: list = []
        for path in sorted(self.folder.glob("bench_*.py")):
            if path.stem in LEFT_OUT:
                continue
            for cls in self.classes(path.stem):
                every = combinations(cls)
                some = sorted({round(k * (len(every) - 1) / max(1, most - 1)) for k in range(most)})
                for method in sorted(m for m in dir(cls) if m.startswith("time_")):
                    numbers = range(len(every)) if len(every) <= most else some
                    found += [[path.stem, cls.__name__, method, k, ", ".join(map(short, every[k]))] for k in numbers]
        return found

    def begin(self, item: list, seconds: float) -> Any:
        """Set one up and run it for so long; digests of its results and seconds of a call, or why it is left out."""
        global taken
        module, cls, method, number, _ = item
        self.instance = getattr(self.module(module), cls)()
        self.parameters = combinations(type(self.instance))[number]
        np.random.seed(1)  # both sides draw the same inputs, whatever they have drawn while they were timed
        random.seed(1)
        try:
            self.hook("setup")
        except NotImplementedError:
            return {"skipped": "NumPy's suite leaves it out"}
        self.run = getattr(self.instance, method)
        taken = []
        try:
            once = spent = self.time(1)  # the least of all: a call that another process interrupts says nothing
            results = [digest(value) for value in itertools.islice(itertools.chain(*taken), 100)]
        finally:
            taken = None
        while spent < seconds:
            last = self.time(1)
            once, spent = min(once, last), spent + last
        hot = lazynp is None or lazynp.compile_wait(COMPILING)
        return {"once": once, "results": results, "hot": hot}

    def time(self, number: int, clock: str = "wall") -> float:
        """Seconds of so many calls, of the program's time or of all processors'."""
        run, parameters = self.run, self.parameters
        now = time.perf_counter if clock == "wall" else time.process_time
        gc.disable()
        start = now()
        for _ in itertools.repeat(None, number):
            run(*parameters)
        seconds = now() - start
        gc.enable()
        return seconds

    def end(self) -> None:
        if self.instance is not None:
            self.hook("teardown")
        self.run = self.instance = None

    def hook(self, name: str) -> None:
        getattr(self.instance, name, lambda *parameters: None)(*self.parameters)


def combinations(cls: Any) -> list[tuple]:
    """All combinations of a class's parameters; one, of none, where it has none."""
    params = getattr(cls, "params", [])
    if params and not isinstance(params[0], (list, tuple)):
        params = [params]
    return list(itertools.product(*params))


def short(value: Any) -> str:
    text = value.__name__ if hasattr(value, "__name__") else " ".join(repr(value).split())
    return text if len(text) <= 24 else text[:21] + "..."


def digest(value: Any) -> Any:
    """What two processes can compare of a result: shape, dtype, and a sum of magnitudes, of large arrays of some
    elements; None of what is no array."""
    if not isinstance(value, (np.ndarray, np.generic)):
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        return [list(array.shape), str(array.dtype), 0.0]
    with np.errstate(all="ignore"):
        some = array.reshape(-1)[:: array.size // LOOKED_AT + 1]
        some = some.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
        total = float(np.abs(some[np.isfinite(some)]).sum())
    return [list(array.shape), str(array.dtype), total if math.isfinite(total) else -1.0]


def main() -> None:
    warnings.simplefilter("ignore")
    suite = Suite(Path(sys.argv[1]))
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = getattr(suite, asked.pop("do"))(**asked)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
