"""The example programs: right under NumPy, and under lazynp what NumPy gives, within each program's tolerance."""

import functools
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
import scipy.stats
from patience import PATIENCE

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
sys.path.insert(0, str(EXAMPLES))

run_demo = importlib.import_module("run_demo")
run_gallery = importlib.import_module("run_gallery")
gallery_child = importlib.import_module("gallery_child")


@functools.cache
def expected(name: str, scale: str) -> dict:
    """A program's results under NumPy, as arrays."""
    program = importlib.import_module(name)
    result = program.run(program.SIZES[scale], program.STEPS[scale])
    return {key: np.asarray(value) for key, value in result.items()}


def python(*arguments: str, **env: str) -> str:
    """Run an interpreter in the examples' folder, and return what it printed."""
    path = os.pathsep.join(filter(None, [str(EXAMPLES.parent), os.environ.get("PYTHONPATH", "")]))
    process = subprocess.run(
        [sys.executable, *arguments],
        cwd=EXAMPLES,
        env={**os.environ, "PYTHONPATH": path, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("artifacts"))


# At a tenth of the default size in `auto`, where small arrays would not meet the engine at all.
@pytest.mark.parametrize(("mode", "scale"), [("auto", "tenth"), ("graph", "test")])
@pytest.mark.parametrize("name", run_demo.PROGRAMS)
def test_agrees_with_numpy(name: str, mode: str, scale: str, tmp_path: Path, cache: str) -> None:
    program, path = importlib.import_module(name), tmp_path / "results.npz"
    arguments = name, str(program.SIZES[scale]), str(program.STEPS[scale]), str(path)
    python("-m", "lazynp", "demo_child.py", *arguments, LAZYNP_MODE=mode, LAZYNP_CACHE_DIR=cache)
    agreement = run_demo.compare(program.TOLERANCE, expected(name, scale), run_demo.load(path))
    assert agreement.ok, agreement.reason


@pytest.mark.parametrize("name", run_demo.PROGRAMS)
def test_runs_on_its_own_under_numpy(name: str) -> None:
    program = importlib.import_module(name)
    printed = python(f"{name}.py", "--size", str(program.SIZES["test"]), "--steps", str(program.STEPS["test"]))
    assert printed.strip()
    assert all(np.isfinite(value).all() for value in expected(name, "test").values())


def test_the_programs_know_nothing_of_lazynp() -> None:
    assert len(run_demo.PROGRAMS) >= 12
    for name in run_demo.PROGRAMS:
        text = (EXAMPLES / f"{name}.py").read_text()
        assert "lazynp" not in text
        assert "import numpy as np\n" in text


def test_black_scholes_against_scipy() -> None:
    program = importlib.import_module("black_scholes")
    spot, strike, years = program.inputs(1000)
    call, put = program.black_scholes(spot, strike, years, 0.03)
    discounted = strike * np.exp(-0.03 * years)
    np.testing.assert_allclose(call - put, spot - discounted, atol=1e-9)
    deviation = program.VOLATILITY * np.sqrt(years)
    d1 = np.log(spot / discounted) / deviation + deviation / 2
    normal = scipy.stats.norm.cdf
    np.testing.assert_allclose(call, spot * normal(d1) - discounted * normal(d1 - deviation), atol=1e-5)


def test_cholesky_is_a_factor() -> None:
    program = importlib.import_module("cholesky")
    (a,) = program.inputs(150)
    factor = program.blocked_cholesky(a.copy())
    np.testing.assert_allclose(factor @ factor.T, a, atol=1e-12)
    np.testing.assert_allclose(factor, np.linalg.cholesky(a), atol=1e-12)


def test_game_of_life_moves_a_glider() -> None:
    program = importlib.import_module("game_of_life")
    board = np.zeros((12, 12), np.uint8)
    board[1:4, 1:4] = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    walled, torus = board.copy(), board
    for _ in range(4):
        program.step_walled(walled)
        torus = program.step_torus(torus)
    moved = np.roll(board, (1, 1), axis=(0, 1))
    np.testing.assert_array_equal(walled, moved)
    np.testing.assert_array_equal(torus, moved)


def test_mandelbrot_knows_its_points() -> None:
    program = importlib.import_module("mandelbrot")
    count = program.compute(50, np.array([[0.0, -1.0, 0.25, 1.0, -2.1]], dtype=complex))["count"]
    assert count.tolist() == [[50, 50, 50, 2, 0]]


def test_the_networks_learn() -> None:
    assert importlib.import_module("mlp").run(1797, 20)["test"] > 0.9
    assert importlib.import_module("logistic_regression").run(1797, 200)["accuracy"] > 0.94


def test_heat_reaches_the_steady_state() -> None:
    """Between a wall at 0 and one at 50 degrees with insulated sides, the temperature rises linearly."""
    u = importlib.import_module("heat").run(12, 3000)["u"]
    np.testing.assert_allclose(u[:, 5], np.linspace(0.0, 50.0, 12), atol=1e-6)


TOLERANCE = {"rtol": 1e-9, "atol": 0.0, "mismatch": {"labels": 0.1}}


@pytest.mark.parametrize(
    ("key", "expected_values", "values", "ok", "bit_equal"),
    [
        ("x", [1.0, np.nan], [1.0, np.nan], True, True),
        ("x", [1.0, 2.0], [1.0 + 1e-12, 2.0], True, False),
        ("x", [1.0, 2.0], [1.0 + 1e-6, 2.0], False, False),
        ("x", [0.0], [-0.0], True, False),
        ("x", [1.0], [1], False, False),
        ("x", [1.0], [[1.0]], False, False),
        ("labels", [1] * 20, [1] * 19 + [2], True, False),
        ("labels", [1] * 20, [1] * 16 + [2] * 4, False, False),
    ],
)
def test_compare(key: str, expected_values: list, values: list, ok: bool, bit_equal: bool) -> None:
    agreement = run_demo.compare(TOLERANCE, {key: np.array(expected_values)}, {key: np.array(values)})
    assert (agreement.ok, agreement.bit_equal) == (ok, bit_equal)


def test_compare_wants_the_same_names() -> None:
    assert not run_demo.compare(TOLERANCE, {"x": np.ones(1)}, {}).ok


def test_the_demo_leaves_out_what_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    monkeypatch.delitem(sys.modules, "mlp", raising=False)
    assert run_demo.demo(["mlp"], "test", "numpy", {}, False, None) == 0
    assert "left out: it needs sklearn.datasets, which is not installed" in capsys.readouterr().out


def test_the_demo_measures_numpy_against_itself(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    arguments = "--programs", "heat,cholesky", "--scale", "test", "--no-compile", "--json", str(path)
    printed = python("run_demo.py", *arguments, LAZYNP_DEMO_ENGINE="numpy")
    assert printed.splitlines()[-1].startswith("You just saw 2 programs")
    for entry in json.loads(path.read_text())["programs"]:
        assert entry["agreement"] == "bit-equal"
        assert entry["total"]["numpy"] > entry["run"]["numpy"] > 0
        assert len(entry["rounds"]["numpy"]) == len(entry["rounds"]["lazynp"]) >= run_demo.MIN_ROUNDS


@pytest.mark.parametrize(
    "name",
    [
        "heat",
        "jacobi",
        "burgers",
        "driven_wave",
        "black_scholes",
        "nbody",
        "mandelbrot",
        "kmeans",
        "logistic_regression",
    ],
)
def test_the_jax_version_does_the_same_work(name: str) -> None:
    """The benchmarks compare lazynp with these, so they have to compute what the programs compute."""
    sys.path.insert(0, str(EXAMPLES.parent / "asv_bench"))
    program = importlib.import_module(name)
    with jax.enable_x64(True):
        compute = importlib.import_module("jax_programs").COMPUTE[name]
        arrays = [jax.numpy.array(array) for array in program.inputs(program.SIZES["test"])]
        got = {key: np.asarray(value) for key, value in compute(program.STEPS["test"], *arrays).items()}
    for key, value in got.items():
        want = expected(name, "test")[key]
        # XLA reorders sums and contracts multiplications with additions.
        np.testing.assert_allclose(value, want, rtol=1e-6, atol=1e-9)


GALLERY = {program.name: program for program in run_gallery.PROGRAMS}


@pytest.mark.parametrize("name", GALLERY)
def test_a_program_of_the_gallery_agrees_and_draws(name: str, tmp_path: Path, cache: str) -> None:
    """With few of its time steps; those of it that have none take a second."""
    program, steps = GALLERY[name], ("--steps", "12")
    with run_gallery.running(run_gallery.Child([], program.other_path, tmp_path / "other", *steps)) as other:
        figure = ("--figure", str(tmp_path / "figure.png"))
        with run_gallery.running(
            run_gallery.Child(program.as_lazynp, program.path, tmp_path / "ours", *steps, *figure)
        ) as ours:
            assert run_gallery.distance(other.results, ours.results) <= program.apart
            assert ours.ask("round") > 0
    assert (tmp_path / "figure.png").stat().st_size > 5000


def test_the_gallery_knows_when_results_differ() -> None:
    x = np.arange(3.0)
    assert run_gallery.distance({"x": x, "y": x}, {"x": x}) == 0
    assert run_gallery.distance({"x": x}, {"x": x + 0.1}) == pytest.approx(0.05)
    for got in ({}, {"x": x[1:]}, {"y": x}):
        assert run_gallery.distance({"x": x}, got) == np.inf


@pytest.mark.parametrize("name", GALLERY)
def test_a_program_of_the_gallery_is_short_and_plain(name: str) -> None:
    text = GALLERY[name].path.read_text()
    assert 20 <= len(text.splitlines()) <= 60
    assert ("import lazynp" in text) == (GALLERY[name].beside == "NumPy, by hand")
    assert sum(line == gallery_child.MARK for line in text.splitlines(keepends=True)) == 1
