"""g++: C++ source to a shared object that needs no torch. Nothing here imports torch either: its headers are compiled
ahead while it is being loaded.

No -ffast-math: `+ - * / sqrt` and all integer operations are bit-equal to NumPy's, NaN, infinities and signed zeros are
kept. `-fno-math-errno` and `-fno-trapping-math` change no result. `-z defs` makes any symbol that libm, libmvec and
libgomp do not have an error here, instead of one at load time.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import subprocess
import threading
from typing import NamedTuple

from lazynp.backends.artifacts import Artifacts, compiler_path, march, torch_version
from lazynp.backends.torch.shims import prelude

FLAGS = (
    "-O3",
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
TIMEOUT = 300  # seconds that g++ may take
DEFINES = ("-DTORCH_INDUCTOR_CPP_WRAPPER", "-DSTANDALONE_TORCH_HEADER", "-DC10_USING_CUSTOM_GENERATED_MACROS")
# What Inductor's headers call a machine, and what g++ defines for code on it, the best first.
CAPABILITIES = {
    "AVX512": ("__AVX512F__", "__AVX512BW__", "__AVX512DQ__", "__AVX512VL__", "__FMA__"),
    "AVX2": ("__AVX2__", "__FMA__", "__F16C__"),
}


class BuildError(Exception):
    """g++ failed; the text is the end of what it said."""


class Toolchain(NamedTuple):
    compiler: str
    capability: str  # AVX512, AVX2 or DEFAULT
    flags: tuple[str, ...]


def toolchain() -> Toolchain | None:
    """None without a compiler, or without torch's headers."""
    compiler, torch = compiler_path(), importlib.util.find_spec("torch")
    if compiler is None or torch is None or torch.origin is None:
        return None
    capability = _capability(compiler)
    macros = [f"-DCPU_CAPABILITY={capability}", f"-DCPU_CAPABILITY_{capability}"] if capability != "DEFAULT" else []
    root = os.path.join(os.path.dirname(torch.origin), "include")
    includes = [f"-I{root}", f"-I{os.path.join(root, 'torch', 'csrc', 'api', 'include')}"]
    return Toolchain(compiler, capability, (*FLAGS, march(), *DEFINES, *macros, *includes))


def _capability(compiler: str) -> str:
    """The best that this processor has and this compiler knows, by what it defines for code on it."""
    command = [compiler, march(), "-dM", "-E", "-x", "c++", os.devnull]
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False).stdout
    except subprocess.TimeoutExpired:
        return "DEFAULT"
    defined = {line.split()[1] for line in text.splitlines() if line.startswith("#define ")}
    return next((name for name, needed in CAPABILITIES.items() if defined.issuperset(needed)), "DEFAULT")


class Header(NamedTuple):
    """The prelude: `ahead` is the file beside which g++ finds it precompiled, `plain` the text alone. `thread`: what
    compiles it, if it has to be."""

    text: str
    ahead: str
    plain: str
    thread: threading.Thread | None = None


def precompile(tools: Toolchain, cache: Artifacts, scratch: str) -> Header:
    """Start compiling the prelude ahead, in a thread: with that, g++ spends a second less on each kernel.

    What is compiled takes about 150 MB, and lies in the cache if that is large enough, else in `scratch`. Of several
    processes one compiles it; until it is there, and where that fails, the plain header serves.
    """
    text = prelude(tools.capability)
    name = "prelude-" + hashlib.sha256((text + repr(tools) + torch_version()).encode()).hexdigest()[:16]
    folder = cache.folder if cache.usable and cache.limit >= SHARED_FROM else scratch
    header = Header(text, os.path.join(folder, name + ".h"), os.path.join(scratch, "plain-prelude.h"))
    if not os.path.exists(header.ahead + ".gch"):
        thread = threading.Thread(target=_precompile_once, args=(tools, cache, name, header), daemon=True)
        thread.start()
        header = header._replace(thread=thread)
    return header


def _precompile_once(tools: Toolchain, cache: Artifacts, name: str, header: Header) -> None:
    with cache.lock(name) as mine:
        if mine and not os.path.exists(header.ahead + ".gch"):
            _precompile(tools, header)


def _precompile(tools: Toolchain, header: Header) -> None:
    partial = os.path.join(os.path.dirname(header.ahead), f".tmp-{os.getpid()}-prelude")
    try:
        with open(partial, "w") as file:
            file.write(header.text)
        os.replace(partial, header.ahead)
        flags = [f for f in tools.flags if f != "-shared"]
        done = subprocess.run(
            [tools.compiler, *flags, "-x", "c++-header", header.ahead, "-o", partial],
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
        if done.returncode == 0:
            os.replace(partial, header.ahead + ".gch")
    except (OSError, subprocess.TimeoutExpired):
        pass  # a disk that is full: the plain header serves
    finally:
        with contextlib.suppress(OSError):
            os.unlink(partial)


def build(tools: Toolchain, header: Header, source: str, target: str) -> None:
    """Compile `source` into `target`. The source file lies beside it for the time of the build."""
    path = target + ".cpp"
    with open(path, "w") as file:
        file.write(source)
    try:
        ahead = os.path.exists(header.ahead + ".gch")
        error = _compile(tools, header.ahead, path, target) if ahead else "not compiled ahead"
        if error is not None:
            if not os.path.exists(header.plain):
                with open(header.plain, "w") as file:
                    file.write(header.text)
            error = _compile(tools, header.plain, path, target)
            if error is None and ahead:  # it was what is compiled ahead that failed
                with contextlib.suppress(OSError):
                    os.unlink(header.ahead + ".gch")
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
