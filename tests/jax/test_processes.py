"""Several processes behind the JAX door, beside JAX with as many processes, and beside one process."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import subprocess
import sys
from typing import Any

import pytest
from process_cases import CASES

SCRIPT = str(pathlib.Path(__file__).with_name("process_cases.py"))
LIMIT = 240  # seconds


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def start(which: str, part: str, devices: list[int], torchrun: bool = False) -> list[subprocess.Popen[str]]:
    port, size = str(free_port()), len(devices)
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1", "XLA_FLAGS": ""}
    out = []
    for rank, n in enumerate(devices):
        told = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "RANK": str(rank), "WORLD_SIZE": str(size)}
        command = [sys.executable, SCRIPT, which, str(rank), str(size), "" if torchrun else port, str(n), part]
        out.append(
            subprocess.Popen(
                command,
                env=environment | (told if torchrun else {}),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    return out


def results(processes: list[subprocess.Popen[str]]) -> list[Any]:
    out = []
    try:
        for p in processes:
            text, errors = p.communicate(timeout=LIMIT)
            assert p.returncode == 0, errors[-3000:]
            out.append(json.loads(text.strip().splitlines()[-1]))
    finally:
        for p in processes:
            p.kill()
    return out


@pytest.fixture(scope="module")
def found() -> list[dict[str, tuple[str, str]]]:
    """By process: for each expression JAX's result and lazynp's."""
    both = [start(which, "cases", [2, 2]) for which in ("jax", "lazynp")]
    theirs, ours = results(both[0]), results(both[1])
    return [{case: (t, o) for (case, t), (_, o) in zip(*pair, strict=True)} for pair in zip(theirs, ours)]


@pytest.mark.parametrize("case", CASES)
def test_as_jax(found: list[dict[str, tuple[str, str]]], case: str) -> None:
    for process in found:
        theirs, ours = process[case]
        assert ours == theirs


def test_programs_over_three_uneven_processes_give_what_one_gives() -> None:
    """Processes with one, two and one devices, joined as torchrun says."""
    assert results(start("lazynp", "programs", [1, 2, 1], torchrun=True)) == [[], [], []]


def test_the_example_learns_as_in_one_process() -> None:
    example = pathlib.Path(__file__).parents[2] / "examples/many/data_parallel.py"
    environment = os.environ | {
        "OPENBLAS_NUM_THREADS": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
    }
    ranks = [{}, *[{"RANK": str(rank), "WORLD_SIZE": "2"} for rank in range(2)]]
    started = [
        subprocess.Popen(
            [sys.executable, str(example), "--rows", "300", "--steps", "5"],
            env=environment | rank,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in ranks
    ]
    printed = []
    for p in started:
        text, errors = p.communicate(timeout=LIMIT)
        assert p.returncode == 0, errors[-3000:]
        printed.append(text)
    assert printed[2] == ""
    alone, together = (float(text.split()[1].rstrip(",")) for text in printed[:2])
    assert abs(alone - together) < 1e-4 * alone


ALONE = """
import importlib, sys

jax = importlib.import_module(sys.argv[1])

def said(*args, **kwargs):
    try:
        jax.distributed.initialize(*args, **kwargs)
    except Exception as error:
        return type(error).__name__, str(error)

print(jax.distributed.is_initialized(), said())
print(said(f"localhost:{sys.argv[2]}"))
print(said(f"localhost:{sys.argv[2]}", 1, 0), jax.distributed.is_initialized(), jax.process_count(), jax.devices())
print(float(jax.numpy.arange(3.0).sum()), said(f"localhost:{sys.argv[2]}", 1, 0))
jax.distributed.shutdown()
print(jax.distributed.is_initialized())
"""


def test_one_process_alone() -> None:
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""}
    printed = []
    for name in ("jax", "lazynp.jax"):
        command = [sys.executable, "-c", ALONE, name, str(free_port())]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        printed.append(done.stdout.splitlines())
    assert printed[1] == printed[0]


ON_DEVICES = """
import sys
import numpy as np
import lazynp.jax as jax, lazynp.jax.numpy as jnp
from lazynp.jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from lazynp.runtime.profile import profile
jax.distributed.initialize("127.0.0.1:" + sys.argv[1], 2, int(sys.argv[2]))
here = jax.process_index()
assert [(d.id, d.platform, d.process_index) for d in jax.devices()] == [(0, "torch", 0), (1, "torch", 1)]
assert jax.local_devices() == [jax.devices()[here]] and jax.default_backend() == "torch"
try:
    jax.config.update("jax_num_cpu_devices", 2)
except RuntimeError:
    pass
else:
    raise AssertionError
rows = NamedSharding(Mesh(np.array(jax.devices()), ("rows",)), P("rows"))
whole = np.random.default_rng(0).standard_normal((600, 8)).astype("float32")
x = jax.make_array_from_process_local_data(rows, whole[300 * here : 300 * (here + 1)])
f = lambda np, x: np.sin(x - x.mean(0)) @ np.ones((8, 3), "float32")
before = profile.device_segments["torch"] + profile.device_kernels
for y in (f(jnp, x), jax.jit(lambda x: f(jnp, x))(x)):
    (part,) = y.addressable_shards
    assert part.device == jax.local_devices()[0]
    assert np.allclose(part.data, f(np, whole)[part.index], rtol=1e-4, atol=1e-5)
assert profile.device_segments["torch"] + profile.device_kernels > before + 1, profile.snapshot()
print("[]")
"""


def test_processes_compute_on_the_device_that_is_set() -> None:
    port, environment = str(free_port()), os.environ | {"LAZYNP_DEVICE": "torch", "LAZYNP_MODE": "graph"}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", ON_DEVICES, port, rank],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in "01"
    ]
    assert results(started) == [[], []]
