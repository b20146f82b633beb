"""g++: C++ source to a shared object that needs no torch.

No -ffast-math: `+ - * / sqrt` and all integer operations are bit-equal to NumPy's, NaN, infinities and signed zeros are
kept. `-fno-math-errno` and `-fno-trapping-math` change no result. `-z defs` makes any symbol that libm, libmvec and libgomp
do not have an error here, instead of one at load time.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from typing import NamedTuple

import torch
from torch._inductor import cpu_vec_isa

from lazynp.backends.artifacts import compiler_path
from lazynp.backends.torch.shims import prelude

FLAGS = ("-O3", "-march=native", "-std=c++20", "-fopenmp", "-fPIC", "-shared", "-DNDEBUG", "-ffp-contract=off", "-fwrapv",
         "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden", "-fno-plt", "-w", "-pipe")
LIBRARIES = ("-Wl,--as-needed", "-Wl,-z,defs", "-lmvec", "-lm", "-lgomp")
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


def precompiled(tools: Toolchain, folder: str) -> str:
    """The path of the prelude, compiled ahead: without it each build parses 200,000 lines of headers.

    Kept in `folder`, private to this worker. If it cannot be compiled ahead, the plain header serves.
    """
    text = prelude(tools.capability)
    name = hashlib.sha256((text + repr(tools)).encode()).hexdigest()[:16]
    header = os.path.join(folder, f"prelude-{name}.h")
    if not os.path.exists(header):
        with open(header, "w") as file:
            file.write(text)
        flags = [f for f in tools.flags if f != "-shared"]
        partial = f"{header}.{os.getpid()}"
        done = subprocess.run([tools.compiler, *flags, "-x", "c++-header", header, "-o", partial], capture_output=True,
                              timeout=TIMEOUT, check=False)
        if done.returncode == 0:
            os.replace(partial, header + ".gch")
    return header


def build(tools: Toolchain, header: str, source: str, target: str) -> None:
    """Compile `source` into `target`. The source file lies beside it for the time of the build."""
    path = target + ".cpp"
    with open(path, "w") as file:
        file.write(source)
    command = [tools.compiler, *tools.flags, "-include", header, path, "-o", target, *LIBRARIES]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(str(error)) from error
    finally:
        if not os.environ.get("LAZYNP_KEEP_SOURCE"):
            os.unlink(path)
    if done.returncode != 0:
        raise BuildError(f"{os.path.basename(tools.compiler)} exits with {done.returncode}: {done.stderr[-800:]}")
