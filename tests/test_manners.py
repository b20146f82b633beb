"""What lazynp does beside computing: what it says never raises, and what it leaves of NumPy and Python is as it was."""

from __future__ import annotations

import ast
import json
import os
import pathlib
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from lazynp import notices

ROOT = pathlib.Path(__file__).parents[1]


def python(source: str, *flags: str, folder: Any = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, *flags, "-c", textwrap.dedent(source)],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PYTHONPATH": paths, **env},
    )  # fmt: skip


# --- messages ---

COMPUTES = """
    import lazynp as np
    import warnings
    if {filter}: warnings.simplefilter("error")
    np.seterr(all="ignore")  # else such a filter has everything done at once
    u = np.ones((700, 700))
    for _ in range(12):
        u[1:-1] = 0.5 * (u[2:] + u[:-2])
        print(u.mean(), end=" ")
"""


@pytest.mark.parametrize(
    ("lack", "way"),
    [
        ("compiler", "-W error"),
        ("compiler", "PYTHONWARNINGS"),
        ("compiler", "simplefilter"),
        ("folder", "-W error"),
        ("home", "-W error"),
    ],
)
def test_no_message_raises(lack: str, way: str, tmp_path: pathlib.Path) -> None:
    """Without a compiler, with a folder that is refused, without a home: the message, and the values."""
    env = {"LAZYNP_CACHE_DIR": str(tmp_path / "cache")}
    if lack == "compiler":
        env |= {"PATH": "", "CXX": "", "LAZYNP_COMPILE_AFTER": "0"}
    elif lack == "folder":
        (tmp_path / "cache").mkdir()
        (tmp_path / "cache").chmod(0o777)
    else:
        (tmp_path / "file").write_text("")
        env |= {"LAZYNP_CACHE_DIR": "", "HOME": str(tmp_path / "file"), "XDG_CACHE_HOME": str(tmp_path / "file")}
    flags = ["-W", "error"] if way == "-W error" else []
    env |= {"PYTHONWARNINGS": "error"} if way == "PYTHONWARNINGS" else {}
    done = python(COMPUTES.format(filter=way == "simplefilter"), *flags, **env)
    assert done.returncode == 0 and done.stdout.split() == ["1.0"] * 12, done.stderr
    assert done.stderr.startswith("lazynp: ") and "Traceback" not in done.stderr


def test_notify(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(RuntimeWarning, match="told") as caught:
        notices.notify("told")
    assert caught[0].filename == __file__

    def fails(*args: Any) -> None:
        raise OSError

    monkeypatch.setattr("warnings.warn", fails)
    notices.notify("told again")
    assert capsys.readouterr().err == "lazynp: told again\n"
    monkeypatch.setattr("sys.stderr", None)
    notices.notify("to nobody")


def test_a_notice_at_the_end_of_a_program_points_to_no_line_of_ours() -> None:
    code = "import atexit, lazynp.notices as n; atexit.register(n.notify, 'told')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "lazynp:0: RuntimeWarning: told\n"


def test_all_messages_are_notices() -> None:
    """Below the doors, where a message comes in the middle of a computation, all go through `notify`."""
    for path in (ROOT / "lazynp").rglob("*.py"):
        if path.relative_to(ROOT / "lazynp").parts[0] in ("backends", "runtime", "transforms", "ops", "graph"):
            calls = [n.func for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
            assert not [c for c in calls if ast.unparse(c) in ("warnings.warn", "warn")], path


# --- what importing lazynp leaves as it was ---

STATE = """
    import sys, gc, copyreg, warnings, signal, locale, os, threading, atexit, builtins, codecs, json, pickle, decimal
    import numpy, numpy.ma, numpy.linalg, numpy.fft, numpy.random, numpy.polynomial, numpy.testing, numpy.rec
    import logging, multiprocessing.spawn, tempfile, random

    def described(value):
        return f"{{type(value).__name__}} {{id(value)}}"

    def state():
        found = {{f"sys.modules[{{n!r}}]": id(m) for n, m in list(sys.modules.items()) if n.split(".")[0] == "numpy"}}
        for n, m in list(sys.modules.items()):
            if n.split(".")[0] == "numpy":
                names = vars(m).keys() - {{"__warningregistry__"}}
                found |= {{f"{{n}}.{{k}}": described(vars(m)[k]) for k in names}}
        for kind in (numpy.ndarray, numpy.ma.MaskedArray, numpy.matrix, numpy.recarray, numpy.ufunc, numpy.dtype):
            found |= {{f"{{kind}}.{{k}}": described(v) for k, v in vars(kind).items()}}
        found |= {{f"builtins.{{k}}": described(v) for k, v in vars(builtins).items() if k != "_"}}
        found |= {{f"copyreg {{k}}": described(v) for k, v in copyreg.dispatch_table.items()}}
        found["warnings"] = list(map(str, warnings.filters)), described(warnings.showwarning), described(warnings.warn)
        found["gc"] = gc.isenabled(), gc.get_threshold(), gc.get_debug(), len(gc.callbacks)
        found["gc, frozen"] = gc.get_freeze_count() > 1000  # fewer are Python 3.12's own
        found["numpy settings"] = str(numpy.get_printoptions()), numpy.geterr(), numpy.geterrcall(), numpy.getbufsize()
        found["random"] = str(numpy.random.get_state()), random.getstate()[1][:9]
        found["signals"] = [described(signal.getsignal(s)) for s in sorted(signal.valid_signals())]
        found["limits"] = sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits()
        found["locale"] = locale.setlocale(locale.LC_ALL), os.getcwd(), os.umask(os.umask(0o77) or 0o22)
        found["environ"] = dict(os.environ)
        found["threads"] = threading.active_count(), threading.getprofile(), threading.gettrace(), sys.gettrace()
        found["hooks"] = [described(getattr(sys, n)) for n in ("excepthook", "displayhook", "unraisablehook")]
        found["path"] = sys.path, sys.path_hooks and len(sys.path_hooks), sys.argv, sys.flags.__repr__()
        found["streams"] = [described(s) for s in (sys.stdin, sys.stdout, sys.stderr)]
        found["spawn"] = described(multiprocessing.spawn.get_preparation_data), logging.root.level, tempfile.tempdir
        found["decimal"] = str(decimal.getcontext())
        return found

    x = {{"a": numpy.arange(3.0), "m": numpy.ma.array([1, 2], mask=[0, 1]), "u": numpy.add, "f": numpy.sum,
          "s": numpy.float64(1), "d": numpy.dtype("f4"), "x": numpy.matrix([1]), "r": numpy.random.default_rng(0)}}
    old = pickle.dumps(x)
    def kinds(data):
        return {{k: f"{{type(v).__module__}}.{{type(v).__name__}}" for k, v in pickle.loads(data).items()}}
    wanted = kinds(old)
    {prepare}
    before = state()
    {act}
    after = state()
    changed = {{k for k in before.keys() | after.keys() if before.get(k) != after.get(k)}}
    loaded = {{k for k in changed - before.keys() if k.startswith(("numpy.", "sys.modules"))}}  # more of NumPy
    print(json.dumps(sorted(changed - loaded)))
    assert kinds(old) == wanted and kinds(pickle.dumps(x)) == wanted and pickle.dumps(x) == old
"""
WAYS = {
    "import": ("", "import lazynp"),
    "without gc": ("gc.disable()", "import lazynp"),
    "frozen": ("gc.freeze()", "import lazynp"),
    "used": ("", "import lazynp as np, lazynp.jax; (np.ones((9, 9)) * 2).sum(); np.ma.array([1]).sum()"),
    "fails": (
        "sys.modules['lazynp.numpy.ufunc'] = None",
        "try: import lazynp\n    except ImportError: pass\n    else: raise SystemError",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_import_leaves_all_as_it_was(way: str) -> None:
    prepare, act = WAYS[way]
    done = python(STATE.format(prepare=prepare, act=act))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


def test_import_collects_no_garbage() -> None:
    """Nothing made there becomes garbage: to look for some takes a tenth of what the import adds to NumPy's."""
    python("import lazynp")  # for a source that is new is compiled before its first line runs
    done = python("""
        import gc, numpy
        found = []
        gc.collect()  # of what NumPy has made there is nearly enough for a collection, or not: by chance
        gc.callbacks.append(lambda phase, info: found.append((phase, info)))
        import lazynp
        print(found)
    """)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
