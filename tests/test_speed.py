"""The optional C module: it is there where a compiler was, and the door is the same without it."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy
import pytest
from patience import least

import lazynp as np
from lazynp import speed
from lazynp.config import config

ROOT = Path(__file__).parents[1]
BUILT = list((ROOT / "lazynp").glob("_speed*" + str(sysconfig.get_config_var("EXT_SUFFIX"))))


def test_it_is_used_where_it_was_built() -> None:
    assert (speed.native is not None) == (bool(BUILT) and os.environ.get("LAZYNP_SPEED", "1") != "0")


@pytest.mark.skipif(speed.native is None, reason="the C module was not built here: the whole suite runs without it")
def test_the_door_is_the_same_without_it() -> None:
    """The tests of views, writes, indexing and errors, in a process that has the Python paths only."""
    tests = ["test_property_views.py", "test_property_indexing.py", "test_errors.py", "test_door.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *[f"tests/{t}" for t in tests]],
        env={**os.environ, "LAZYNP_SPEED": "0", "LAZYNP_PROGRAMS": "200"},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]


def test_limit_follows_the_mode() -> None:
    a = np.arange(10.0)
    with config(mode="graph"):
        b = a + 1
        assert b._s_.node is not None and b._s_.buf is None  # recorded
    assert (a + 1)._s_.buf is not None  # done at once


def test_views_of_views_written_through() -> None:
    a = np.arange(24.0)
    want = numpy.arange(24.0)
    b, c = a.reshape(2, 3, 4).T[1:, :, 0], want.reshape(2, 3, 4).T[1:, :, 0]
    b[1] += 10.0
    c[1] += 10.0
    with config(mode="graph"):
        b *= 2.0
    c *= 2.0
    assert numpy.asarray(a).tolist() == want.tolist()
    assert numpy.asarray(b).tolist() == c.tolist()


@pytest.mark.parametrize("key", [1, numpy.int64(2), slice(1, 3), None, ..., (1, slice(None)), [0, 2]])
def test_index_kinds(key: object) -> None:
    a, h = np.arange(12.0).reshape(4, 3), numpy.arange(12.0).reshape(4, 3)
    assert numpy.asarray(a[key]).tolist() == h[key].tolist()  # type: ignore[index]


def test_what_is_not_simple_goes_on_as_before() -> None:
    a = np.arange(3.0)
    with pytest.raises(TypeError):
        a + object()
    with pytest.raises(ValueError):
        a @ 2j
    with pytest.raises(ValueError):
        del a[0]
    with pytest.raises(TypeError):
        a + "x"
    assert type(numpy.float64(2.0) * a) is type(a)
    a **= 2
    assert a.tolist() == [0.0, 1.0, 4.0] and pow(a, 2).tolist() == [0.0, 1.0, 16.0]
    with pytest.raises(TypeError):
        pow(a, 2, 3)
    with pytest.raises(TypeError):
        hash(a)


FAULTS = """
import resource, numpy, lazynp
a = numpy.ones(50_000)
for _ in range(5):
    a + a
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(200):
    a + a
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(
    speed.native is None or platform.libc_ver()[0] != "glibc", reason="glibc's thresholds, which the C module sets"
)
def test_pages_of_mid_size_arrays_are_kept() -> None:
    """A temporary of 400 KB was 98 page faults, each time. The user's own settings stay."""

    def faults(**settings: str) -> int:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_"))}
        command = [sys.executable, "-c", FAULTS]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={**env, **settings}, check=True)
        return int(done.stdout)

    assert least(faults, 999, 10) < 1_000
    assert faults(MALLOC_MMAP_THRESHOLD_="65536") > 10_000
