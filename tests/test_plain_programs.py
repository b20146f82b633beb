"""The programs that `make bench-programs` times give NumPy's results behind lazynp, and so do their texts in JAX."""

from __future__ import annotations

import importlib
import json
import math
import sys
import warnings
from pathlib import Path

import jax
import numpy
import pytest

import lazynp

BENCH = Path(__file__).resolve().parent.parent / "asv_bench"
sys.path.insert(0, str(BENCH))

plain = importlib.import_module("plain")
program_table = importlib.import_module("program_table")


def expected(name: str, size: int = plain.TINY) -> list[numpy.ndarray]:
    program = plain.PROGRAMS[name]
    return plain.as_arrays(program.compute(numpy, program.steps_at(size), *program.inputs(size)))


def lazily(name: str, size: int) -> list[numpy.ndarray]:
    program = plain.PROGRAMS[name]
    inputs = [lazynp.array(a) if isinstance(a, numpy.ndarray) else a for a in program.inputs(size)]
    return plain.as_arrays(program.compute(lazynp, program.steps_at(size), *inputs))


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("name", plain.PROGRAMS)
def test_gives_what_numpy_gives(name: str, mode: str) -> None:
    with lazynp.config(mode=mode):
        got = lazily(name, plain.TINY)
    assert plain.apart(expected(name), got) <= plain.PROGRAMS[name].tolerance


def test_there_are_programs_of_all_kinds() -> None:
    kinds = " ".join(program.kind for program in plain.PROGRAMS.values())
    for kind in (
        "1-D stencil", "2-D stencil", "3-D stencil", "row recurrence", "column recurrence", "cholesky", "lu", "trmm",
        "syrk", "convolution over pixels", "dynamic programming", "Floyd-Warshall", "Kalman filter", "particles, norms",
        "neighbours by index", "histogram", "convergence test", "time step from a maximum", "fft", "correlation",
        "covariance", "mask", "random draws", "bit operations", "complex fractal", "softmax by hand", "layers by hand",
    ):  # fmt: skip
        assert kind in kinds
    assert len(plain.PROGRAMS) >= 40


def test_the_texts_know_nothing_of_lazynp() -> None:
    for module in plain.MODULES:
        assert "lazynp" not in Path(module.__file__).read_text()


@pytest.mark.parametrize("size", plain.SIZES)
def test_main_arrays_have_about_the_size(size: int) -> None:
    """Of the largest input; some programs make their main array themselves, or have the input of all steps at once."""
    inside = {"alignment", "knapsack", "viterbi", "kalman", "kalman_tracks", "lennard_jones"}
    for name in plain.PROGRAMS.keys() - inside:
        largest = max(a.size for a in plain.PROGRAMS[name].inputs(size) if isinstance(a, numpy.ndarray))
        assert 0.3 * size < largest < 1.7 * size, name


@pytest.fixture(scope="module")
def by_hand() -> dict:
    before = jax.config.jax_enable_x64
    texts = importlib.import_module("plain.by_hand").BY_HAND
    jax.config.update("jax_enable_x64", True)  # as the import does, the first one
    yield texts
    jax.config.update("jax_enable_x64", before)


def test_texts_in_jax_have_the_results_of_numpys(by_hand: dict) -> None:
    """Shapes and dtypes of all; the values are compared by the table, and for some below."""
    assert len(by_hand) >= 20
    for name, text in by_hand.items():
        program = plain.PROGRAMS[name]
        inputs = [jax.numpy.array(a) for a in program.inputs(plain.TINY)]
        got = jax.eval_shape(lambda *a, text=text, program=program: text(program.steps_at(plain.TINY), *a), *inputs)
        got = got if isinstance(got, tuple) else (got,)
        assert [(g.shape, g.dtype) for g in got] == [(w.shape, w.dtype) for w in expected(name)], name


@pytest.mark.parametrize("name", ["heat_rod", "plate", "thomas", "cholesky_columns", "xorshift", "springs"])
def test_a_text_in_jax_gives_what_numpy_gives(name: str, by_hand: dict) -> None:
    program = plain.PROGRAMS[name]
    inputs = [jax.numpy.array(a) for a in program.inputs(plain.TINY)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of buffers that cannot be donated at this size
        got = plain.as_arrays(by_hand[name](program.steps_at(plain.TINY), *inputs))
    assert plain.apart(expected(name), got) <= program.tolerance


@pytest.mark.parametrize(
    ("want", "have", "distance"),
    [
        ([1.0, 4.0], [1.0, 4.0], 0.0),
        ([1.0, 4.0], [1.0, 5.0], 0.25),
        ([1, 2], [1, 3], math.inf),
        ([1.0], [1], math.inf),
        ([1.0], [[1.0]], math.inf),
        ([1.0], [math.nan], math.inf),
        ([0.0, 0.0], [0.0, 1e-3], math.inf),
    ],
)
def test_how_far_results_are_apart(want: list, have: list, distance: float) -> None:
    assert plain.apart([numpy.array(want)], [numpy.array(have)]) == distance
    assert plain.apart([numpy.array(want)], []) == math.inf


def row(name: str, size: int, lazynp_: float, jax_: float | None = None) -> dict:
    ratios = {"lazynp": lazynp_} | ({} if jax_ is None else {"jax": jax_})
    return {"program": name, "size": size, "ratios": ratios}


def test_the_verdict_has_means_and_what_is_slow() -> None:
    rows = [row("a", 1000, 0.5, 2.0), row("b", 1000, 8.0), row("c", 30_000, 3.0, 4.0), row("d", 30_000, 3.0, 9.0)]
    lines = program_table.verdict(rows, {"c"}).splitlines()
    assert lines[0].split(":")[1].startswith(" lazynp 2.00 of NumPy's speed")
    assert lines[0].endswith("1 under 0.9") and lines[1].strip() == "a 0.50"
    assert lines[2].endswith("1 programs: lazynp 0.50, JAX 2.00")
    assert lines[4].endswith("0 under 0.9")
    assert lines[5].endswith("2 programs: lazynp 3.00, JAX 6.00")
    assert lines[6].endswith("1 programs: lazynp 3.00, JAX 9.00")


def test_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "figures.json"
    monkeypatch.setenv("LAZYNP_CACHE_DIR", str(tmp_path / "cache"))
    arguments = [
        "--quick",
        "--programs",
        "syrk_rows",
        "--sizes",
        "100",
        "--libraries",
        "numpy,lazynp",
        "--json",
        str(path),
    ]
    monkeypatch.setattr(sys, "argv", ["program_table.py", *arguments])
    assert program_table.main() == 0
    (only,) = json.loads(path.read_text())["rows"]
    assert only["differ"] == [] and only["apart"]["lazynp"] <= plain.PROGRAMS["syrk_rows"].tolerance
    assert len(only["seconds"]["numpy"]) == len(only["seconds"]["lazynp"]) == 3
    assert only["ratios"]["lazynp"] > 0
    assert "syrk_rows" in capsys.readouterr().out


def test_a_wrong_result_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong:
        program = plain.PROGRAMS["heat_rod"]

        def __init__(self, value: float) -> None:
            self.value = value

        def results(self, size: int) -> list[numpy.ndarray]:
            return [numpy.array([self.value])]

        def ask(self, do: str, **named: object) -> float:
            return 0.01

    children = {"numpy": Wrong(1.0), "lazynp": Wrong(1.001)}
    got = program_table.measure(children, 100, 0.01, 2, 0.0)
    assert got["differ"] == ["lazynp"] and got["ratios"] == {}
    assert "DIFFERS: lazynp" in program_table.printed(got, ["numpy", "lazynp"], set())
