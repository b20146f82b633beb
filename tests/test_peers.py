"""`asv_bench/benchmarks/peers.py` times the same work in all libraries: their results are NumPy's, at a small size."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest

import lazynp.jax

jax, numba, torch = [pytest.importorskip(n, reason="it comes with lazynp[test]") for n in ("jax", "numba", "torch")]
for _name in ("autograd", "numexpr"):
    pytest.importorskip(_name, reason="it comes with lazynp[test]")

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "asv_bench"))

peers = importlib.import_module("benchmarks.peers")

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch's own, while it is loaded
CASES = [(w, library) for w, makers in peers.WORKLOADS.items() for library in makers if library != "numpy"]


@pytest.fixture(autouse=True)
def _not_compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """By numba and torch, which takes them seconds for each, and changes no result. Whole types are JAX's setting.

    Torch has one thread: where two of its threads call a function of MKL's for the first time, one of them may be given
    the loop of low accuracy (https://github.com/pytorch/pytorch/issues/188792). Code that torch compiles calls no MKL.
    """
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    doors = [(door, door.config.jax_enable_x64) for door in (jax, lazynp.jax)]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.compiler.set_stance("force_eager"):
        yield
    torch.set_num_threads(threads)
    for door, whole in doors:
        door.config.update("jax_enable_x64", whole)


@pytest.mark.parametrize(("workload", "library"), CASES)
def test_results_are_numpys(workload: str, library: str) -> None:
    wanted = numpy.asarray(peers.thunk(workload, "numpy", 4096)())
    found = numpy.asarray(peers.thunk(workload, library, 4096)())
    assert found.dtype == wanted.dtype
    assert peers.agrees(found, wanted)


def test_what_a_library_does_not_do_is_no_figure() -> None:
    with pytest.raises(NotImplementedError, match="does not do this"):
        peers.thunk("scan", "numexpr")
    with pytest.raises(NotImplementedError, match="is not installed"):
        peers.module("no_such_library")


def test_what_a_library_does_not_do_is_no_failure_of_its_benchmark() -> None:
    """asv takes NotImplementedError of `setup` for "n/a", and that of the benchmark itself for a failure."""
    for benchmark in (peers.Peers(), peers.PeersMemory()):
        with pytest.raises(NotImplementedError, match="autograd does not do this"):
            benchmark.setup("stencil", "autograd")
    peers.PeersMemory().setup("stencil", "numba")
