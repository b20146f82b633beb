"""g++: C++ source to a shared object that needs no torch.

No -ffast-math: `+ - * / sqrt` and all integer operations are bit-equal to NumPy's, NaN, infinities and signed zeros are
kept. `-fno-math-errno` and `-fno-trapping-math` change no result. `-z defs` makes any symbol that libm, libmvec and
libgomp do not have an error here, instead of one at load time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import time
from typing import NamedTuple

import torch
from torch._inductor import cpu_vec_isa

from lazynp.backends.artifacts import Artifacts, compiler_path
from lazynp.backends.torch.shims import prelude

FLAGS = (
    "-O3",
    "-march=native",
    "-std=c++20",
    "-fopenmp",
    "-fPIC",
    "-shared",
    "-DNDEBUG",
    "-ffp-contract=off",
    "-fwrapv",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fvisibility=hidden",
    "-fno-plt",
    "-w",
    "-pipe",
)
LIBRARIES = ("-Wl,--as-needed", "-Wl,-z,defs", "-lmvec", "-lm", "-lgomp")
SHARED_FROM = 600 << 20  # bytes that the cache must be allowed to hold for the precompiled header to lie in it
WAIT_FOR_HEADER = 60.0  # seconds to wait for another process to compile it
TIMEOUT = 300  # seconds that g++ may take


class BuildError(Exception):
    """g++ failed; the text is the end of what it said."""


class Toolchain(NamedTuple):
    compiler: str
    capability: str  # AVX512, AVX2 or DEFAULT
    flags: tuple[str, ...]


def toolchain() -> Toolchain | None:
    """None without a compiler."""
    compiler = compiler_path()
    if compiler is None:
        return None
    isa = cpu_vec_isa.pick_vec_isa()
    macros = [isa.build_macro()] if isinstance(isa.build_macro(), str) else list(isa.build_macro())
    macros = [m for m in macros if m]
    capability = next((c for c in ("AVX512", "AVX2") if any(c in m for m in macros)), "DEFAULT")
    root = os.path.join(os.path.dirname(torch.__file__), "include")
    includes = [f"-I{root}", f"-I{os.path.join(root, 'torch', 'csrc', 'api', 'include')}"]
    defines = ["-DTORCH_INDUCTOR_CPP_WRAPPER", "-DSTANDALONE_TORCH_HEADER", "-DC10_USING_CUSTOM_GENERATED_MACROS"]
    arch = isa.build_arch_flags().split() if hasattr(isa, "build_arch_flags") else []
    return Toolchain(compiler, capability, (*FLAGS, *defines, *(f"-D{m}" for m in macros), *arch, *includes))


def precompiled(tools: Toolchain, cache: Artifacts, scratch: str) -> str:
    """The path of the prelude, compiled ahead: without it each build parses 200,000 lines of headers, for seconds.

    It takes about 150 MB, and lies in the cache if that is large enough, else in `scratch`. Of several processes one
    compiles it, and the others wait. If it cannot be compiled ahead, the plain header serves.
    """
    text = prelude(tools.capability)
    name = "prelude-" + hashlib.sha256((text + repr(tools) + torch.__version__).encode()).hexdigest()[:16]
    folder = cache.folder if cache.usable and cache.limit >= SHARED_FROM else scratch
    header = os.path.join(folder, name + ".h")
    end = time.monotonic() + WAIT_FOR_HEADER
    while not os.path.exists(header + ".gch") and time.monotonic() < end:
        with cache.lock(name) as mine:
            if mine:
                if not os.path.exists(header + ".gch"):
                    _precompile(tools, text, header)
                break
        time.sleep(0.05)
    return header


def _precompile(tools: Toolchain, text: str, header: str) -> None:
    partial = os.path.join(os.path.dirname(header), f".tmp-{os.getpid()}-prelude")
    try:
        with open(partial, "w") as file:
            file.write(text)
        os.replace(partial, header)
        flags = [f for f in tools.flags if f != "-shared"]
        done = subprocess.run(
            [tools.compiler, *flags, "-x", "c++-header", header, "-o", partial],
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
        if done.returncode == 0:
            os.replace(partial, header + ".gch")
    except (OSError, subprocess.TimeoutExpired):
        pass  # a disk that is full: the header itself may still have been written
    finally:
        with contextlib.suppress(OSError):
            os.unlink(partial)


def build(tools: Toolchain, header: str, source: str, target: str) -> None:
    """Compile `source` into `target`. The source file lies beside it for the time of the build."""
    path = target + ".cpp"
    with open(path, "w") as file:
        file.write(source)
    try:
        error = _compile(tools, header, path, target)
        if error is not None:  # perhaps for the precompiled header's sake: once more without one
            plain = os.path.join(os.path.dirname(target), "plain-prelude.h")
            with open(plain, "w") as file:
                file.write(prelude(tools.capability))
            error = _compile(tools, plain, path, target)
            if error is None:
                with contextlib.suppress(OSError):
                    os.unlink(header + ".gch")
    finally:
        if not os.environ.get("LAZYNP_KEEP_SOURCE"):
            os.unlink(path)
    if error is not None:
        raise BuildError(error)


def _compile(tools: Toolchain, header: str, path: str, target: str) -> str | None:
    """None, or what went wrong."""
    command = [tools.compiler, *tools.flags, "-include", header, path, "-o", target, *LIBRARIES]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return f"not done after {TIMEOUT} s"
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    return f"exit status {done.returncode}: " + ("; ".join(errors[:4]) or done.stderr[-400:])
