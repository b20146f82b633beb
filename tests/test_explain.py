"""`explain`: the pending graph as text, and as a picture with a box for each kernel."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

import lazynp as np
import lazynp.jax as jax
import lazynp.jax.numpy as jnp
from lazynp.runtime.profile import difference, profile

N = 500


def pending() -> Any:
    a = np.linspace(0.0, 1.0, N * N).reshape(N, N) + 0.5
    return np.sin(a) * 2 + (a @ a)


def corners(path: str) -> list[tuple[float, float]]:
    """Points along what is drawn by M, C and V: ten on each piece."""
    found, (x, y) = [], (0.0, 0.0)
    for letter, numbers in re.findall(r"([MCV])([^MCV]+)", path):
        given = [float(number) for number in re.split("[ ,]", numbers.strip())]
        ends = [(x, given[0])] * 3 if letter == "V" else list(zip(given[::2], given[1::2]))
        for t in (0.1 * k for k in range(1, 11)) if letter != "M" else ():
            shares = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3]
            found.append(tuple(sum(s * p[k] for s, p in zip(shares, [(x, y), *ends])) for k in (0, 1)))
        x, y = ends[-1]
    return found


def boxes(svg: str) -> int:
    return svg.count("<rect") - 1  # the first is the paper


def test_the_text_has_each_operation_under_its_kernel() -> None:
    e = np.explain(pending())
    lines = e.splitlines()
    assert lines[0].startswith(f"{e.operations} operations: {len(e.kernels)} kernels, 1 library call")
    kernel = next(i for i, text in enumerate(lines) if text.startswith("kernel 1 over"))
    assert lines[kernel + 1].startswith("  %") and any("matmul" in text for text in lines)
    assert lines[-1].startswith("return %")
    assert sum(len(g.nodes) for g in e.groups) == e.operations
    assert e == str(e) == repr(e) and "sin" in e


def test_nothing_is_computed() -> None:
    x = pending()
    before = profile.segments
    np.explain(x)
    np.explain(lambda v: v * 2)(x)
    assert profile.segments == before


def test_it_is_what_runs() -> None:
    np.synchronize()
    x = pending()
    e = np.explain(x)
    before = profile.snapshot()
    x.block_until_ready()
    ran = difference(profile.snapshot(), before)
    assert ran["library"] == sum(g.kind == "library call" for g in e.groups)
    assert ran["interpreted"] + ran["compiled"] == len(e.kernels)
    assert ran["operations"] == e.operations


def test_bytes_that_are_read_and_written() -> None:
    a = np.ones((N, N)) + 1
    a.block_until_ready()
    e = np.explain(a * 2 + a)
    assert (e.reads, e.writes) == (N * N * 8, N * N * 8)


def test_writes_into_regions() -> None:
    x = pending()
    x[1:5] = 0
    e = np.explain(x)
    assert [g.kind for g in e.groups][-1] == "write" and "set" in e
    u = np.zeros((N, N))
    u[1:-1] = 0.5 * (u[2:] + u[:-2])
    e = np.explain(u)
    assert "set" in [n.op.name for g in e.kernels for n in g.nodes]


def test_values() -> None:
    for x in (3, 2.5, "text", np.ones(3), jnp.ones(3) + 1):
        e = np.explain(x)
        assert e.operations == 0 and not e.groups and "<svg" in e.svg
    assert np.explain(3) == "int: a value, nothing pending"


def test_several_arrays_share_their_operations() -> None:
    x = pending()
    y = x + 1
    alone, both = np.explain(y), np.explain([x, y])
    assert alone.operations == both.operations and both.splitlines()[-1].count("%") == 2


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, np.jit, lambda f: jax.jit(jax.grad(f))])
def test_functions(wrap: Any) -> None:
    def f(x: Any) -> Any:
        return ((x * 2 + 1) ** 2).sum()

    e = np.explain(wrap(f))(jnp.ones(5))
    assert e.operations >= 2 and len(e.kernels) >= 1
    assert "argument" in e.svg or e.svg.count("%0") >= 1
    assert np.explain(f).__name__ == "f"


def test_a_function_is_explained_before_anything_was_transformed() -> None:
    code = "import lazynp as np; print(np.explain(np.sin)(np.ones(3)))"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "%1 = sin %0" in done.stdout, done.stderr


def test_choices_that_only_derivatives_need_are_left_out() -> None:
    bounds = jnp.float32(0.0), jnp.float32(0.5)
    x = jnp.linspace(-1.0, 1.0, N, dtype=jnp.float32)
    text = str(np.explain(jax.jit(jax.lax.clamp))(bounds[0], x, bounds[1]))
    assert text.count(" = where ") == 3, text


def test_functions_of_what_they_capture_and_of_names() -> None:
    w = jnp.ones((N, N)) * 2

    def f(x: Any, *, scale: float) -> Any:
        return {"y": x @ w * scale}

    e = np.explain(jax.jit(f))(jnp.ones((N, N)), scale=2.0)
    assert [g.kind for g in e.groups if g.kind != "kernel"] == ["library call"] and e.groups[-1].kind == "kernel"


@pytest.mark.parametrize("case", [lambda: pending(), lambda: np.ones(3), lambda: np.fft.fft(pending()).real])
def test_the_picture_is_a_drawing(case: Any) -> None:
    e = np.explain(case())
    root = ET.fromstring(e.svg)
    assert root.tag.endswith("svg") and float(root.attrib["width"]) > 0
    leaves = {i for g in e.groups for n in g.nodes for i in n.inputs if i.value is None and i.op is None}
    if e.groups:
        assert boxes(e.svg) == len(e.groups) + len(leaves) + 1
    assert e._repr_html_() == e.html and e.svg in e.html


def test_a_box_stands_below_all_that_it_reads() -> None:
    from lazynp.explanation import boxes_of
    from lazynp.picture import layered

    drawn = boxes_of(np.explain(pending()))
    depth = {b: k for k, layer in enumerate(layered(drawn)) for b in layer}
    assert sorted(depth) == list(range(len(drawn)))
    assert all(depth[source] < depth[b] for b, box in enumerate(drawn) for source, _ in box.sources)


def test_arrows_go_round_the_boxes_that_they_pass() -> None:
    """An array that is read at once and again three layers below: nothing of its second arrow is behind a box."""
    a = np.sort(pending().ravel())
    svg = ET.fromstring(np.explain(np.sort(np.cumsum(a) * 2 + 1) - a).svg)
    paper, *boxes = [[float(r.attrib.get(k, 0)) for k in ("x", "y", "width", "height")] for r in svg if "rect" in r.tag]
    paths = [path.attrib["d"] for path in svg if path.tag.endswith("path")]
    assert any(" V" in path for path in paths)
    for path in paths:
        for (left, top, width, height), (u, v) in itertools.product(boxes, corners(path)):
            assert not (left < u < left + width and top < v < top + height), path
            assert paper[0] <= u <= paper[0] + paper[2]


def test_a_large_graph_is_shortened() -> None:
    def f(x: Any) -> Any:
        for _ in range(120):
            x = np.cumsum(x * 0.5)
        return x

    e = np.explain(f)(np.ones(9))
    assert "too many for a picture" in e.svg and len(e.svg) < 2000
