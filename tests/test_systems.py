"""Systems that lack what Linux, or glibc, has: nothing of it is needed to import lazynp, to compute or to compile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lazynp.backends import gcc

ROOT = Path(__file__).resolve().parent.parent
HIDDEN = """
import builtins, importlib.abc, os, sys

class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in ("fcntl", "resource", "pwd", "grp"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
for name in ("fcntl", "resource", "pwd", "grp"):
    sys.modules.pop(name, None)
for name in (
    "sched_getaffinity", "sched_setaffinity", "register_at_fork", "fork", "nice", "getuid", "geteuid", "killpg",
    "setsid", "sysconf", "getloadavg", "posix_fallocate", "memfd_create", "statvfs", "pidfd_open", "setpriority",
):
    if hasattr(os, name):
        delattr(os, name)
opened = open

def without_proc(file, *args, **kwargs):
    if isinstance(file, str) and file.startswith(("/proc", "/sys")):
        raise FileNotFoundError(file)
    return opened(file, *args, **kwargs)

builtins.open = without_proc
"""
PROGRAM = """
import warnings
import numpy
import lazynp as np
import lazynp.jax as jax, lazynp.jax.numpy as jnp
from lazynp import doctor

warnings.simplefilter("ignore")  # that nothing is compiled, where torch is missing

def formula(np):
    x = np.linspace(0.1, 5.0, 400_000)
    return np.log(x) * np.sqrt(x) + np.exp(-x) / x

assert numpy.asarray(formula(np)).tobytes() == formula(numpy).tobytes()
assert np.grad(lambda x: (x[1:] * x[:-1]).sum())(np.arange(4.0)).tolist() == [1, 2, 4, 2]
assert jax.jit(jax.vmap(lambda x: jnp.dot(x, x)))(jnp.ones((2, 3))).tolist() == [3, 3]
with np.profile() as p:
    formula(np).sum()
assert p.wall > 0 and np.free_memory() >= 0
with np.config(compile_after=0.0):
    formula(np).sum()
    assert np.compile_wait(120)
assert doctor.manage_cache(["info"]) == 0
"""


def test_programs_run_without_what_only_linux_has(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "LAZYNP_CACHE_DIR": str(tmp_path), "LAZYNP_COMPILE_NICE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN + PROGRAM], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert str(tmp_path) in done.stdout


def test_the_compiler_process_and_compilers_without_what_only_unix_has(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = pytest.importorskip("lazynp.backends.torch.worker", reason="torch compiles")
    monkeypatch.delattr(os, "nice")
    monkeypatch.delattr(os, "killpg")
    worker.give_way(5)
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stderr=subprocess.PIPE)
    gcc._kill(process, True)
    assert process.returncode
