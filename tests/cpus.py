"""Processors that the tests can be run as on, whichever this one is: `make test CPU=avx2`.

Each is the environment in which NumPy, OpenBLAS, glibc, torch and g++ use no newer instructions than it has, so it must
not be newer than the processor at hand. As a program: `python tests/cpus.py NAME COMMAND...` runs a command so.
"""

from __future__ import annotations

import os
import platform
import sys

import numpy._core._multiarray_umath as numpy_core

# name: newest of NumPy's groups of instructions, g++'s -march, OpenBLAS's core, torch's capability, oneDNN's, what
# glibc must not use. `old` is a processor without fused multiply-adds.
CPUS = {
    "old": ("X86_V2", "x86-64-v2", "Nehalem", "default", "SSE41", "AVX512F,AVX2,AVX,FMA,FMA4"),
    "avx2": ("X86_V3", "x86-64-v3", "Haswell", "avx2", "AVX2", "AVX512F,AVX512VL,AVX512BW,AVX512DQ,AVX512CD"),
    "avx512": ("X86_V4", "skylake-avx512", "SkylakeX", "avx512", "AVX512_CORE", ""),
    "native": (None, "native", "", "", "", ""),
}
# NumPy's groups, oldest first: the names of NumPy 2.4, and before it.
GROUPS = (
    ("X86_V2", ("SSE3", "SSSE3", "SSE41", "POPCNT", "SSE42")),
    ("X86_V3", ("AVX", "F16C", "FMA3", "AVX2")),
    ("X86_V4", ("AVX512F", "AVX512CD", "AVX512_SKX")),
    ("newer", ("AVX512_CLX", "AVX512_CNL", "AVX512_ICL", "AVX512_SPR")),
)


def disabled(newest: str) -> list[str]:
    """What NumPy is not to use: of the groups that it chooses from at run time, the newer ones."""
    names = [name for name, _ in GROUPS]
    newer = {n for name, members in GROUPS[names.index(newest) + 1 :] for n in (name, *members)}
    off = os.environ.get("NPY_DISABLE_CPU_FEATURES", "").split()  # by who started this process
    on = [n for n in numpy_core.__cpu_dispatch__ if n in newer and numpy_core.__cpu_features__.get(n)]
    return [*off, *on]


def environment(name: str) -> dict[str, str]:
    """What the environment of a process needs to run as on that processor. Empty where processors have other names:
    there is one."""
    newest, march, core, capability, onednn, without = CPUS[name]
    if newest is None or platform.machine() != "x86_64":
        return {}
    found = {
        "NPY_DISABLE_CPU_FEATURES": " ".join(disabled(newest)),
        "LAZYNP_MARCH": march,
        "OPENBLAS_CORETYPE": core,
        "ATEN_CPU_CAPABILITY": capability,
        "ONEDNN_MAX_CPU_ISA": onednn,
    }
    if without:
        found["GLIBC_TUNABLES"] = "glibc.cpu.hwcaps=" + ",".join([f"-{f}" for f in without.split(",")])
    return found


def has_avx512() -> bool:
    """Of what NumPy may use here."""
    return bool(numpy_core.__cpu_features__.get("AVX512DQ"))


def main(name: str, *command: str) -> None:
    if name not in CPUS:
        sys.exit(f"no processor {name!r}: {', '.join(CPUS)}")
    os.environ.update(environment(name))
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
