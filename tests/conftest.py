"""What all tests share: nothing is compiled behind their backs, but where a test is about that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("LAZYNP_COMPILE_AT_EXIT", "0")
os.environ.setdefault("LAZYNP_COMPILE_NICE", "0")  # tests wait for the compiler: nobody is to starve it
os.environ.setdefault("LAZYNP_FULL_TRACEBACKS", "1")  # for whoever has to find out why a test fails

import oracle
from leftovers import Leftovers

from lazynp.config import config
from lazynp.numpy import line_warnings
from lazynp.runtime import kernels, pace

# Warnings are errors in these tests, for which every operation would be done at once. See the fixture `filters_count`.
MAKE_ERRORS = line_warnings.make_errors
line_warnings.make_errors = lambda filters: False

COMPILING = {"test_compiler", "test_artifacts", "test_runtime", "test_examples", "test_swap", "test_loops"}


JAX = Path(__file__).parent / "jax"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", choices=("jax", "others"), help="only the tests below tests/jax, or only the others")


def is_left_out(path: Path, part: str | None) -> bool:
    below = path == JAX or JAX in path.parents
    return part == "others" and below or part == "jax" and path.is_file() and not below


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A process that runs both parts keeps what both load and compile, which is much with JAX beside us."""
    return is_left_out(collection_path, config.getoption("--part")) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The same for files that the command names."""
    out = [item for item in items if is_left_out(item.path, config.getoption("--part"))]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if not is_left_out(item.path, config.getoption("--part"))]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Leftovers(config))
    if "PYTEST_XDIST_WORKER" not in os.environ:
        oracle.shrink()


@pytest.fixture(autouse=True)
def _no_surprise(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kernels stay interpreted in tests that do not wait for the compiler: it would take a core from them. Those that
    do wait run what it made, also on a busy machine, where it may seem slower than the interpreter."""
    if request.node.get_closest_marker("compiles") or request.module.__name__.split(".")[-1] in COMPILING:
        if not (request.node.get_closest_marker("races") or request.node.get_closest_marker("alone")):
            monkeypatch.setattr(kernels.Race, "next", lambda race, n: kernels.COMPILED)
        yield
        return
    with config(compile_after=1e9):
        yield


@pytest.fixture(autouse=True)
def _same_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is recorded does not depend on what other tests have asked for."""
    monkeypatch.setattr(pace, "DEMANDS", 1 << 40)
    pace.trials.demands = 0


@pytest.fixture
def filters_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of filters that make errors of warnings."""
    monkeypatch.setattr(line_warnings, "make_errors", MAKE_ERRORS)
    monkeypatch.setattr(line_warnings, "filtered", [None, 0, False, False])
