"""What `lazynp.jax.random` draws has the same bits on every processor, with and without the C module."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import samples
from cpus import environment, has_avx512

import lazynp
import lazynp.jax as jax
from lazynp import config
from lazynp.backends.loops import build, keyed, scalar
from lazynp.backends.numpy import samplers

STORED = json.loads(samples.STORED.read_text())
SOURCES = Path(lazynp.__file__).parent
FLAGS = ("-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")  # as setup.py has them


def different(found: dict[str, str]) -> list[str]:
    assert found.keys() == STORED.keys()
    return [name for name, digest in found.items() if digest != STORED[name]]


def test_here() -> None:
    assert len(STORED) > 250
    assert not different(samples.digests())


@pytest.mark.compiles
@pytest.mark.parametrize("dtype", [np.float32])
@pytest.mark.parametrize(
    ("name", "args"),
    [("maxwell", ()), ("dirichlet", (np.linspace(0.1, 3, 5, dtype=np.float32),)), ("ball", (7, 1.5))],
)
def test_compiled(name: str, args: tuple[object, ...], dtype: np.typing.DTypeLike) -> None:
    """A sampler that sums a few numbers has the same bits where its kernels are compiled."""

    def drawn(n: int) -> bytes:
        return np.asarray(getattr(jax.random, name)(jax.random.key(3), *args, (n,), dtype=dtype)).tobytes()

    sizes = (20, 50, 3000, 77, 300)
    with config(mode="graph"), jax.enable_x64(True):
        with config(compile=False):
            expected = [drawn(n) for n in sizes]
        with config(compile=True, compile_after=0.0, deterministic=False):
            for _ in range(4):
                assert [drawn(n) for n in sizes] == expected
                lazynp.compile_wait()


@pytest.mark.parametrize(("name", "speed"), [("old", "1"), ("old", "0"), ("avx2", "1"), ("avx512", "0")])
def test_as_on_another_processor(name: str, speed: str) -> None:
    """In a process that may use no newer instructions: with `speed` 0 NumPy does all, with 1 the C module."""
    if name == "avx512" and not has_avx512():
        pytest.skip("this processor has no AVX-512")
    done = subprocess.run(
        [sys.executable, samples.__file__],
        env={**os.environ, **environment(name), "LAZYNP_SPEED": speed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not different(json.loads(done.stdout))


DRIVER = r"""
#include <stdio.h>
#include <stdlib.h>
#define target_clones(...) /* what -march says, and no more */
#include "_keyed.h"

static uint64_t digest = 14695981039346656037u;
static void add(const void *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) digest = (digest ^ ((const unsigned char *)at)[i]) * 1099511628211u;
}
#define N 3000
#define CHECK(T, RUN, SHAPE)                                       \
    for (int k = 0; k < LOOPS; k++) {                              \
        T x[N], y[N];                                              \
        for (int i = 0; i < N; i++) x[i] = SHAPE;                  \
        RUN(x, y, N);                                              \
        for (int i = 0; i < N; i++) if (y[i] != y[i]) y[i] = 1e30; \
        add(y, sizeof y);                                          \
    }

int main(void)
{
    static uint64_t words[N];
    fill(1, 2, 3, N, 64, (char *)words);
    add(words, sizeof words);
    CHECK(float, loops[k].f, (float)(((double)(words[i] >> 11) * 0x1p-52 - 1) * (i % 3 ? 1.0 : 80.0)))
    CHECK(double, loops[k].d, ((double)(words[i] >> 11) * 0x1p-52 - 1) * (i % 3 ? 1.0 : 700.0))
    double x[N], y[N], z[N];
    for (int i = 0; i < N; i++) x[i] = (double)(words[i] >> 11) * 0x1p-53, y[i] = (double)(i % 97) * 0.37;
    powers_d(x, y, z, N);
    add(z, sizeof z);
    printf("%016llx\n", (unsigned long long)digest);
    return 0;
}
"""


def built(folder: Path, compiler: str, *flags: str) -> str:
    """Where the driver is, compiled with these flags."""
    source, target = folder / "driver.c", folder / f"{compiler}{''.join(flags)}"
    source.write_text(DRIVER)
    command = [compiler, *FLAGS, *flags, f"-I{SOURCES}", str(source), "-o", str(target), "-lm"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return str(target)


def printed(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


DIGEST = "8e2dad387812fff7"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize("march", ["x86-64", "x86-64-v3", "x86-64-v4", "native"])
def test_the_c_functions_compiled_for(march: str, tmp_path: Path) -> None:
    """The arithmetic of the C module, vectorized by the compiler for each: scalars, AVX2, AVX-512, all that is here."""
    flags = Path("/proc/cpuinfo").read_text() if os.path.exists("/proc/cpuinfo") else ""
    needed = {"x86-64": " sse2", "x86-64-v3": " avx2", "x86-64-v4": " avx512dq", "native": ""}[march]
    if needed not in flags:
        pytest.skip(f"this processor is no {march}")
    assert printed(built(tmp_path, "gcc", f"-march={march}")) == DIGEST


ARM = "aarch64-linux-gnu-gcc"


@pytest.mark.skipif(not (shutil.which(ARM) and shutil.which("qemu-aarch64")), reason=f"no {ARM} or qemu-aarch64")
def test_the_c_functions_on_arm64(tmp_path: Path) -> None:
    """By a cross compiler (Debian: gcc-aarch64-linux-gnu) and an emulator (qemu-user)."""
    assert printed("qemu-aarch64", built(tmp_path, ARM, "-static")) == DIGEST


LOOPS = """
#include <cstdio>
template <class F> void put(F sample) {
    for (uint64_t i = 0; i < 4000; i++) {
        const float x = sample(unit(word<uint32_t>(7, i)));
        fwrite(&x, sizeof x, 1, stdout);
    }
}
int main() { %s }
"""


def in_cpp(folder: Path, compiler: str, *flags: str) -> np.ndarray:
    """What C++ that loops of machine code contain makes of the first words of a key, a row for each sampler."""
    calls = "\n".join([f"put([](float u) {{ return {formula}; }});" for formula in keyed.SAMPLES.values()])
    parts = (scalar.INCLUDES, scalar.WITHOUT_COMPLEX, scalar.PRELUDE, keyed.PRELUDE, LOOPS % calls)
    source, target = folder / "samples.cpp", folder / "samples"
    source.write_text("\n".join(parts))
    own = [f for f in build.FLAGS if f not in ("-shared", "-fPIC")]
    subprocess.run([compiler, *own, *flags, str(source), "-o", str(target)], check=True, capture_output=True, text=True)
    run = [*(["qemu-aarch64"] if "-static" in flags else []), str(target)]
    return np.frombuffer(subprocess.run(run, check=True, capture_output=True).stdout, np.float32).reshape(-1, 4000)


ARM_CPP = "aarch64-linux-gnu-g++"
NO_ARM = not (shutil.which(ARM_CPP) and shutil.which("qemu-aarch64"))


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        pytest.param("g++", ("-march=native",), marks=pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")),
        pytest.param(ARM_CPP, ("-static",), marks=pytest.mark.skipif(NO_ARM, reason=f"no {ARM_CPP} or qemu-aarch64")),
    ],
    ids=["here", "arm64"],
)
def test_samples_in_loops(compiler: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    """Machine code of loops has the bits of the interpreter."""
    key = np.array([7, 0], np.uint32)
    for name, found in zip(keyed.SAMPLES, in_cpp(tmp_path, compiler, *flags), strict=True):
        wanted = samplers.random_sample(key, name, np.dtype(np.float32), (4000,), True)
        np.testing.assert_array_equal(found, wanted, err_msg=name)
