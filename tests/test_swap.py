"""`python -m lazynp`: a program runs as with plain python, with lazynp for numpy."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap
import zipfile

import pytest
from patience import PATIENCE

ROOT = pathlib.Path(__file__).parents[1]


def run(folder, *args, plain=False, given=None, **env):
    """Run a command line in a folder, as `python …` or `python -m lazynp …`."""
    command = [sys.executable, *([] if plain else ["-m", "lazynp"]), *args]
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        command,
        cwd=folder,
        input=given,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "PYTHONPATH": paths, **env},
    )


def write(folder, **files) -> None:
    for name, source in files.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(source))


KINDS = """
    import sys, numpy, numpy as np, numpy.random as r, importlib
    from numpy.linalg import norm
    from numpy import fft, ones
    import helper
    print(type(np.ones(2)).__module__, numpy is np, type(r.rand(2)).__module__, norm(np.ones(4)), end=" ")
    print(type(ones(2)).__module__, fft.__name__)
    print(helper.kind(), importlib.import_module("numpy").__name__, importlib.import_module("numpy.linalg").__name__)
    import scipy.linalg
    print(type(scipy.linalg.inv(np.eye(2))).__module__, sys.modules["numpy"].__name__, __name__, __file__, sys.argv)
"""


PRINTED = """
    import numpy as np
    class Own(np.ndarray): pass
    print(type(np.ones(2)), Own, type(np.rec.array([(1,)], dtype=[("a", int)])), type(np.ma.masked))
    try: np.nosuch
    except AttributeError as error: print(error)
    a = np.arange(6.0).reshape(2, 3)
    try: a.resize(3, 3)
    except ValueError as error: print(error)
"""


def test_classes_and_missing_names_print_as_numpy_s(tmp_path) -> None:
    write(tmp_path, s=PRINTED)
    ours, plain = run(tmp_path, "s.py"), run(tmp_path, "s.py", plain=True)
    assert (ours.returncode, ours.stdout) == (0, plain.stdout), ours.stderr


METACLASSES = """
    import numpy as np
    class Meta(type):
        def __new__(meta, name, bases, names, flag=0):
            print(meta.__name__, name)
            return super().__new__(meta, name, bases, {**names, "flag": flag})
        def __init__(cls, name, bases, names, flag=0):
            super().__init__(name, bases, names)
        def __call__(cls, *args):
            print("call", *args)
            return super().__call__(*args)
    class Plain(metaclass=Meta): pass
    class Array(np.ndarray, metaclass=Meta, flag=3): pass
    class Both(Plain, np.ma.MaskedArray): pass
    class Derived(Array): pass
    class Third(type): pass
    for refused in ((Array,), (Plain,)):
        try:
            class Neither(*refused, metaclass=Third): pass
        except TypeError as error:
            print(str(error)[:19])
    x = np.arange(3.0).view(Derived)
    print(repr(x + 1), x.flag, Array.flag, isinstance(Derived, Meta), isinstance(x, Array), Both([1, 2], [0, 1]))
    print(Array((0, 2)).shape, type(Plain) is Meta, isinstance(np.ones(2), Array))
"""


def test_classes_of_arrays_with_a_metaclass(tmp_path) -> None:
    """NumPy's arrays have none, and ours do: a program's own would be in conflict with it."""
    write(tmp_path, s=METACLASSES)
    ours, plain = run(tmp_path, "s.py"), run(tmp_path, "s.py", plain=True)
    assert (ours.returncode, ours.stdout) == (0, plain.stdout), ours.stderr


CONTAINERS = """
    import operator
    import numpy as np
    import scipy.linalg, scipy.signal
    class Plain:
        def __array__(self, dtype=None, copy=None):
            return np.arange(4.0)
    class Sized(Plain):
        def __len__(self): return 4
        def __getitem__(self, i): return np.arange(4.0)[i]
    class Kept(Plain):
        def __init__(self): self.values = np.arange(4.0)
        def __array__(self, dtype=None, copy=None): return self.values
    class Asked(Plain):
        def __array__(self, dtype=None, copy=None): return super().__array__(dtype, copy) + 1
    for x in (Plain(), Sized(), Kept(), Asked()):
        print(scipy.linalg.norm(x), scipy.linalg.expm(np.diag(x)).sum(), np.float64(2) * x, np.int64(2) <= x)
        print(np.bool_(True) & (x == x), np.float64(2).clip(x, 3), np.random.default_rng(0).normal(x))
        print(np.ones(4) + x, np.full(4, x), [*np.asarray(x)], np.array([x, x]).shape, scipy.signal.detrend(x).shape)
        held = np.empty(2, object)
        try: held[0] = x
        except TypeError as error: print(error)
        print(isinstance(x.__array__(), np.ndarray), x.__array__().tolist())
    kept = Kept()
    np.asarray(kept)[0] = 5
    scipy.linalg.inv(np.eye(2), overwrite_a=True)
    print(kept.values, np.shares_memory(np.asarray(kept), kept.values), Plain.__array__.__name__)
"""


def test_containers_of_the_program_are_arrays_to_numpy_and_libraries(tmp_path) -> None:
    """What their `__array__` gives is an array of ours, which NumPy's code takes for none."""
    write(tmp_path, s=CONTAINERS)
    ours, plain = run(tmp_path, "s.py"), run(tmp_path, "s.py", plain=True)
    assert (ours.returncode, ours.stdout) == (0, plain.stdout), ours.stderr


def test_imports(tmp_path) -> None:
    write(tmp_path, s=KINDS, helper="import numpy as np\ndef kind(): return type(np.zeros(1)).__module__\n")
    done = run(tmp_path, "s.py", "a", "--b")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "lazynp True lazynp 2.0 lazynp lazynp.fft",
        "lazynp lazynp lazynp.linalg",
        f"numpy numpy __main__ {tmp_path / 's.py'} ['s.py', 'a', '--b']",
    ]


def test_module_and_code(tmp_path) -> None:
    write(
        tmp_path,
        mod="import numpy, sys; print(numpy.ones(2).__class__.__module__, __name__, sys.argv[1:], __spec__.name)",
    )
    done = run(tmp_path, "-m", "mod", "x")
    assert done.stdout.strip() == "lazynp __main__ ['x'] mod", done.stderr
    done = run(tmp_path, "-c", "import numpy, sys; print(numpy.ones(2).__class__.__module__, sys.argv)", "y")
    assert done.stdout.strip() == "lazynp ['-c', 'y']", done.stderr


def test_package(tmp_path) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text("from . import inner\nprint(inner.kind())\n")
    (package / "inner.py").write_text("import numpy as np\ndef kind(): return type(np.zeros(1)).__module__\n")
    done = run(tmp_path, "-m", "pack")
    assert done.stdout.strip() == "lazynp", done.stderr


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("raise SystemExit(3)", 3),
        ("import sys; sys.exit('message')", 1),
        ("1/0", 1),
        ("x = (", 1),
        ("import nothing_here", 1),
        ("pass", 0),
    ],
)
def test_exit_codes_and_tracebacks(tmp_path, source, code) -> None:
    write(tmp_path, s=f"import numpy\n{source}\n")
    ours, theirs = run(tmp_path, "s.py"), run(tmp_path, "s.py", plain=True)
    assert ours.returncode == theirs.returncode == code
    assert ours.stderr.replace(str(tmp_path) + os.sep, "") == theirs.stderr.replace(str(tmp_path) + os.sep, "")


def test_missing_script(tmp_path) -> None:
    done = run(tmp_path, "nothing.py")
    assert done.returncode == 2 and "can't open file" in done.stderr
    assert run(tmp_path, "-m", "nothing_at_all").returncode == 1
    assert run(tmp_path).returncode == 2
    assert run(tmp_path, "--help").returncode == 0


SCRIPT = """
    import numpy, numpy as np
    def kind():
        '''
        >>> import numpy; numpy.__name__
        'lazynp'
        '''
        return type(np.ones(2)).__module__
    def test_kind(): assert kind() == "lazynp"
    if __name__ == "__main__":
        print("kind:", kind(), numpy.__name__)
"""
COMMAND = "import numpy; print('kind:', numpy.__name__, numpy.linalg.__name__)"
RUNNERS = [
    # arguments, standard input, what it prints
    ("-m pytest -q -p no:cacheprovider test_s.py", None, "1 passed"),
    ("-m unittest test_u.py", None, "OK"),
    ("-m pdb s.py", f"{COMMAND}\nq\n", "kind: lazynp lazynp.linalg"),
    ("-m cProfile s.py", None, "kind: lazynp lazynp"),
    ("-m doctest -v s.py", None, "1 passed"),
    ("-m timeit -n1 -r1 -s import_numpy print('kind:',numpy.__name__)", None, "kind: lazynp"),
    ("-", COMMAND, "kind: lazynp lazynp.linalg"),
    ("-i s.py", "print(kind())\n" + COMMAND, "kind: lazynp lazynp.linalg"),
    ("-i -c raise_SystemExit(3)", COMMAND, "kind: lazynp lazynp.linalg"),
    ("folder", None, "kind: lazynp lazynp"),
    ("archive.zip", None, "kind: lazynp lazynp"),
    ("--version", None, "lazynp 0.1.0 (NumPy "),
    ("-m coverage run --data-file=d s.py", None, "kind: lazynp lazynp"),
    ("-m IPython --simple-prompt", "%run s.py\n", "kind: lazynp lazynp"),
    ("-m IPython --simple-prompt", COMMAND, "kind: lazynp lazynp.linalg"),
]


@pytest.mark.parametrize(("args", "given", "wanted"), RUNNERS)
def test_runners(tmp_path, args, given, wanted) -> None:
    """Whoever runs the program's code."""
    for library in ("coverage", "IPython"):
        if library in args:
            pytest.importorskip(library, reason="it comes with lazynp[test]")
    test = (
        "import unittest, numpy\nclass T(unittest.TestCase):\n    def test(self): assert numpy.__name__ == 'lazynp'\n"
    )
    write(tmp_path, s=SCRIPT, test_s=SCRIPT, test_u=test)
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder", __main__=SCRIPT)
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.write(tmp_path / "s.py", "__main__.py")
    done = run(tmp_path, *[a.replace("_", " ", a.count("_") * ("import" in a or "raise" in a)) for a in args.split()],
               given=given, IPYTHONDIR=str(tmp_path))  # fmt: skip
    assert wanted in done.stdout + done.stderr, done.stdout + done.stderr
    assert "nothing was swapped" not in done.stderr


DYNAMIC = """
    import code, importlib, runpy, threading, timeit, helper
    names = [__import__("numpy").__name__, importlib.import_module("numpy.linalg").__name__]
    exec("import numpy as q; names.append(q.__name__)")
    exec("import numpy; names.append(numpy.__name__)", {"names": names})
    exec(compile("import numpy; names.append(numpy.__name__)", "<made>", "exec"), {"names": names, "__name__": "made"})
    names.append(runpy.run_path("helper.py")["np"].__name__)
    names.append(importlib.reload(helper).np.__name__)
    code.InteractiveInterpreter({"names": names}).runsource("import numpy; names.append(numpy.__name__)")
    timeit.timeit("names.append(numpy.__name__)", "import numpy", number=1, globals={"names": names})
    thread = threading.Thread(target=lambda: names.append(__import__("numpy").__name__))
    thread.start(), thread.join()
    print(names)
    import pickle, numpy, sys, scipy.linalg
    theirs = sys.modules["numpy"]
    print(type(pickle.loads(pickle.dumps(theirs.ones(1)))).__module__, type(scipy.linalg.inv([[1.0]])).__module__)
"""


def test_dynamic_code(tmp_path) -> None:
    write(tmp_path, s=DYNAMIC, helper="import numpy as np\n")
    done = run(tmp_path, "s.py")
    names = ["lazynp", "lazynp.linalg", *["lazynp"] * 8]
    assert done.stdout.splitlines() == [str(names), "numpy numpy"], done.stderr


def test_nothing_swapped(tmp_path) -> None:
    """What keeps NumPy is told, in one line."""
    write(tmp_path, s="import scipy.linalg\n", t="import scipy.linalg, numpy\n")
    done = run(tmp_path, "s.py")
    assert done.stderr.count("\n") == 1 and "scipy" in done.stderr and done.stderr.startswith("lazynp: nothing was")
    assert not run(tmp_path, "--quiet", "s.py").stderr and not run(tmp_path, "t.py").stderr
    done = run(tmp_path, "-x", "s.py")
    assert done.returncode == 2 and "unknown option -x" in done.stderr


def test_warnings_of_imports(tmp_path) -> None:
    """A module's warning to whoever imports it (`stacklevel=2`) names the import's line."""
    write(tmp_path, s="\nimport old\n", old="import warnings\nwarnings.warn('old', UserWarning, stacklevel=2)\n")
    assert run(tmp_path, "s.py").stderr == run(tmp_path, "s.py", plain=True).stderr


WORKERS = """
    import multiprocessing as mp, pickle, sys, numpy as np
    def kind(n): return type(np.ones(n)).__module__, float(np.arange(n).sum())
    if __name__ == "__main__":
        assert pickle.loads(pickle.dumps(kind)) is kind
        with mp.get_context(sys.argv[1]).Pool(1) as pool:
            print(pool.map(kind, [2, 3]))
"""


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_workers(tmp_path, method) -> None:
    write(tmp_path, s=WORKERS)
    done = run(tmp_path, "s.py", method)
    assert done.stdout.strip() == "[('lazynp', 1.0), ('lazynp', 3.0)]", done.stderr


def test_report(tmp_path) -> None:
    write(tmp_path, s="import numpy as np\na = np.ones((500, 500))\nprint((a * 2 + 1).sum())\n")
    done = run(tmp_path, "--report", "s.py")
    assert done.stdout.strip() == "750000.0" and "operations" in done.stderr
    done = run(tmp_path, "s.py", LAZYNP_REPORT_JSON=str(tmp_path / "r.json"))
    assert done.returncode == 0 and json.loads((tmp_path / "r.json").read_text())["operations"] >= 3


NOTES = """
    import dataclasses, numpy as np
    @dataclasses.dataclass
    class Grid:
        values: np.ndarray
        size: "int" = 3
    print([isinstance(kind, type) for kind in Grid.__annotations__.values()], Grid.__annotations__)
"""


@pytest.mark.parametrize("way", ["script", "code", "input"])
def test_annotations_are_evaluated_as_without_lazynp(tmp_path, way) -> None:
    write(tmp_path, notes=NOTES)
    source = textwrap.dedent(NOTES)
    args, given = {"script": (["notes.py"], None), "code": (["-c", source], None), "input": (["-"], source)}[way]
    found, wanted = (run(tmp_path, *args, given=given, plain=plain) for plain in (False, True))
    assert found.stdout == wanted.stdout
    assert found.returncode == 0, found.stderr
