"""The programs of examples/jax, under lazynp and, with their two import lines changed back, under JAX."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

jax.config.update("jax_platforms", "cpu")
FOLDER = Path(__file__).resolve().parents[2] / "examples" / "jax"
sys.path.insert(0, str(FOLDER))
BACK = {
    "import lazynp.jax as jax\n": "import jax\n",
    "import lazynp.jax.numpy as jnp\n": "import jax.numpy as jnp\n",
}
# Small enough for the tests; and how far results may be apart: float32, over this many steps.
PROGRAMS: dict[str, tuple[dict[str, Any], float]] = {
    "digits": ({"epochs": 1, "sizes": [784, 64, 64, 10]}, 1e-3),
    "adam": ({"steps": 30}, 2e-3),
    "gaussian_process": ({"points": 20, "steps": 20}, 5e-3),
    "ode": ({"steps": 60, "fits": 20}, 2e-3),
    "newton": ({}, 1e-2),
    "hmc": ({"chains": 3, "samples": 10}, 1e-2),
    "ray_marching": ({"width": 24, "height": 16}, 2e-2),
}

# What roundings alone leave of a zero, each processor others: the gradient (a mean of numbers of about 1) at its root.
RESIDUES = {("newton", "norm"): 1e-6}

# XLA's CPU compiler (jaxlib 0.10.2) gets the normals of the jitted picture wrong: op by op, for one pixel, or where the
# distance is a result too, JAX has our values. So JAX draws it without that `jit`.
NOT_COMPILED = {"ray_marching": '@partial(jax.jit, static_argnames="steps")\n'}


def program(name: str, under_jax: bool) -> types.ModuleType:
    """The program's module, with its text as it is or with the import lines changed back."""
    text = (FOLDER / f"{name}.py").read_text()
    if under_jax:
        for line, other in BACK.items():
            assert text.count(line) == 1, f"{name} lacks {line!r}"
            text = text.replace(line, other)
        assert "lazynp" not in text
        text = text.replace(NOT_COMPILED.get(name, "\0"), "")
    module = types.ModuleType(f"{name}_{'jax' if under_jax else 'lazynp'}")
    exec(compile(text, f"{name}.py", "exec"), vars(module))
    return module


@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_jax(name: str) -> None:
    options, tolerance = PROGRAMS[name]
    wanted = program(name, under_jax=True).run(**options)
    got = program(name, under_jax=False).run(**options)
    assert wanted.keys() == got.keys()
    for key, value in wanted.items():
        assert got[key].shape == value.shape, key
        assert got[key].dtype == value.dtype, key
        size = np.abs(value).max(initial=0.0)
        slack = RESIDUES.get((name, key), tolerance * size)
        np.testing.assert_allclose(got[key], value, rtol=tolerance, atol=slack, err_msg=key)


def test_a_program_runs_as_a_script(tmp_path: Path) -> None:
    """The smallest picture, drawn by the script, is a PNG file."""
    path = os.pathsep.join([str(FOLDER.parents[1]), os.environ.get("PYTHONPATH", "")])
    arguments = ["ray_marching.py", "--width", "12", "--height", "8", "--picture", str(tmp_path / "scene.png")]
    done = subprocess.run(
        [sys.executable, *arguments], cwd=FOLDER, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "12 x 8 pixels" in done.stdout
    assert (tmp_path / "scene.png").read_bytes().startswith(b"\x89PNG")
