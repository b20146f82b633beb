"""Names of `jax.numpy`, and of `jax.ops`."""

from __future__ import annotations

import importlib
from typing import Any

import jax
import numpy as np
import pytest
from agreement import disagreement, outcome

import lazynp.jax
import lazynp.jax.numpy as jnp

jax.config.update("jax_platforms", "cpu")
LIBS: dict[str, Any] = {"jax": jax, "lazynp": lazynp.jax}


@pytest.mark.parametrize("name", ("numpy", "numpy.linalg", "numpy.fft", "ops"))
def test_every_name_is_there(name: str) -> None:
    theirs, ours = (importlib.import_module(f"{lib}.{name}") for lib in ("jax", "lazynp.jax"))
    missing = [n for n in dir(theirs) if not n.startswith("_") and not hasattr(ours, n)]
    assert not missing


DROPPED = ("alltrue", "cumproduct", "fix", "in1d", "msort", "product", "round_", "row_stack", "sometrue", "trapz")


@pytest.mark.parametrize("name", DROPPED)
def test_spellings_that_jax_has_dropped_are_gone(name: str) -> None:
    assert not hasattr(jax.numpy, name)
    with pytest.raises(AttributeError):
        getattr(jnp, name)


UPDATES = {"index_update": 10, "index_add": 14, "index_mul": 40, "index_max": 10, "index_min": 4}


@pytest.mark.parametrize("name", UPDATES)
def test_updates_of_the_past(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"jax.ops.{name} is deprecated"):
        out = getattr(lazynp.jax.ops, name)(jnp.arange(5), 4, 10)
    assert out.tolist() == [0, 1, 2, 3, UPDATES[name]]


IDS = np.array([0, 2, 2, -1, 7, 3])
SEGMENTS: tuple[dict[str, Any], ...] = (
    {},
    {"num_segments": 4},
    {"num_segments": 9},
    {"num_segments": 5, "bucket_size": 2},
    {"num_segments": 4, "mode": "clip"},
    {"num_segments": -1},
)


def segmented(lib: Any, name: str, dtype: str, options: dict[str, Any]) -> Any:
    data = np.arange(12).reshape(6, 2).astype(dtype)
    return getattr(lib.ops, f"segment_{name}")(data, IDS, **options)


@pytest.mark.parametrize("name", ("sum", "prod", "max", "min"))
def test_segments(name: str) -> None:
    for dtype in ("float32", "int32", "uint8"):
        for options in SEGMENTS:
            theirs, ours = (outcome(lambda lib=lib: segmented(lib, name, dtype, options)) for lib in LIBS.values())  # noqa: B023
            assert disagreement("ops", theirs, ours) is None, (dtype, options)


def test_segments_traced() -> None:
    x, ids = jnp.arange(4.0), jnp.array([0, 1, 1, 0])
    jitted = lazynp.jax.jit(lambda x, i: lazynp.jax.ops.segment_sum(x, i, num_segments=2))
    assert jitted(x, ids).tolist() == [3, 3]
    assert lazynp.jax.grad(lambda x: jitted(x, ids)[1])(x).tolist() == [0, 1, 1, 0]
    with pytest.raises(TypeError):
        lazynp.jax.jit(lazynp.jax.ops.segment_sum)(x, ids)
    with pytest.raises(TypeError):
        lazynp.jax.ops.segment_sum([1, 2], ids)


@pytest.mark.filterwarnings("error")
def test_what_has_a_shape_is_asked_for_it_without_a_warning() -> None:
    for lib in LIBS.values():
        aval = lib.ShapeDtypeStruct((3, 2), "float32")
        assert (lib.numpy.shape(aval), lib.numpy.ndim(aval)) == ((3, 2), 2)
        with pytest.raises(DeprecationWarning):
            lib.numpy.size(aval)
        with pytest.raises(DeprecationWarning):
            lib.numpy.shape([1])
