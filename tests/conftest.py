"""What all tests share: nothing is compiled behind their backs, but where a test is about that."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator

import pytest

os.environ.setdefault("LAZYNP_COMPILE_AT_EXIT", "0")
os.environ.setdefault("LAZYNP_COMPILE_NICE", "0")  # tests wait for the compiler: nobody is to starve it
os.environ.setdefault("LAZYNP_FULL_TRACEBACKS", "1")  # for whoever has to find out why a test fails
# JAX's compiler rounds as the processor's instructions do: in float16 it has fused multiply-adds where there is
# arithmetic of that. The oracle is to say the same everywhere.
if platform.machine() == "x86_64" and "xla_cpu_max_isa" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_max_isa=AVX2".strip()

from leftovers import Leftovers

from lazynp.config import config

COMPILING = {"test_compiler", "test_artifacts", "test_runtime", "test_examples", "test_swap", "test_loops"}


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Leftovers(config))


@pytest.fixture(autouse=True)
def _no_surprise(request: pytest.FixtureRequest) -> Iterator[None]:
    """Kernels stay interpreted in tests that do not wait for the compiler: it would take a core from them."""
    if request.node.get_closest_marker("compiles") or request.module.__name__.split(".")[-1] in COMPILING:
        yield
        return
    with config(compile_after=1e9):
        yield
