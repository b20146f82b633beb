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

from lazynp.backends import gcc
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
DEFINES = ("-DTORCH_INDUCTOR_CPP_WRAPPER", "-DSTANDALONE_TORCH_HEADER", "-DC10_USING_CUSTOM_GENERATED_MACROS")
# What Inductor's headers call a machine, and what g++ defines for code on it, the best first.
CAPABILITIES = {
    "AVX512": ("__AVX512F__", "__AVX512BW__", "__AVX512DQ__", "__AVX512VL__", "__FMA__"),
    "AVX2": ("__AVX2__", "__FMA__", "__F16C__"),
}


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
        text = subprocess.run(command, capture_output=True, text=True, timeout=gcc.TIMEOUT, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return "DEFAULT"
    defined = {line.split()[1] for line in text.splitlines() if line.startswith("#define ")}
    return next((name for name, needed in CAPABILITIES.items() if defined.issuperset(needed)), "DEFAULT")


class Header:
    """What every kernel includes, compiled ahead: with that, g++ spends a second less on each.

    It takes about 150 MB, and is an entry of the cache if that is large enough, else a file of this process. Of several
    processes one compiles it; until it is there, and where that fails, the plain text serves.

    Attributes:
        thread: what looks it up or compiles it; None: it could not be started.
    """

    def __init__(self, tools: Toolchain, cache: Artifacts) -> None:
        self.tools, self.cache = tools, cache
        self.text = prelude(tools.capability)
        self.key = hashlib.sha256(("prelude" + self.text + repr(tools) + torch_version()).encode()).hexdigest()
        self.shared = cache.writable and cache.limit >= SHARED_FROM
        self.compiled: str | None = None  # the file that g++ has made of it
        self.thread: threading.Thread | None = threading.Thread(target=self._find, daemon=True)
        try:
            self.thread.start()
        except RuntimeError:  # no more threads
            self.thread = None

    def _find(self) -> None:
        with contextlib.suppress(OSError, gcc.BuildError):
            if not self._look():
                with self.cache.lock(self.key) as mine:
                    if mine and not self._look():
                        self._compile()

    def _look(self) -> bool:
        entry = self.cache.get(self.key) if self.shared else None
        if entry is not None:
            self.compiled = entry.path
        return self.compiled is not None

    def _compile(self) -> None:
        scratch = self.cache.scratch_path()
        plain, target = self.plain(scratch), os.path.join(scratch, "made.gch")
        flags = [f for f in self.tools.flags if f != "-shared"]
        gcc.run([self.tools.compiler, *flags, "-x", "c++-header", plain, "-o", target], scratch)
        entry = self.cache.put(self.key, target, {}) if self.shared else None
        self.compiled = target if entry is None else entry.path

    def plain(self, scratch: str) -> str:
        """The path of the text alone."""
        return self._written(os.path.join(scratch, "plain.h"))

    def ahead(self, scratch: str) -> str | None:
        """The path of the text beside which g++ finds what is compiled; None: there is nothing yet."""
        compiled, path = self.compiled, os.path.join(scratch, "prelude.h")
        if compiled is None:
            return None
        try:
            if not os.path.exists(path + ".gch"):
                os.link(compiled, path + ".gch")  # it stays, whoever makes room in the cache
        except OSError:  # removed, or a file system without links
            return None
        return self._written(path)

    def _written(self, path: str) -> str:
        if not os.path.exists(path):
            partial = f"{path}-{threading.get_ident()}"
            with open(partial, "w") as file:
                file.write(self.text)
            os.replace(partial, path)
        return path

    def drop(self, scratch: str) -> None:
        """It does not serve: go on without."""
        self.compiled = None
        self.cache.remove(self.key)
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(scratch, "prelude.h.gch"))


def build(tools: Toolchain, header: Header, source: str, target: str) -> None:
    """Compile `source` into `target`, in whose folder temporary files may lie. Raises `BuildError`, and OSError."""
    path, scratch = target + ".cpp", os.path.dirname(target)
    with open(path, "w") as file:
        file.write(source)
    try:
        ahead = header.ahead(scratch)
        if ahead is not None:
            try:
                return _compile(tools, ahead, path, target)
            except gcc.BuildError:
                _compile(tools, header.plain(scratch), path, target)
                header.drop(scratch)  # it was what is compiled ahead that failed
        else:
            _compile(tools, header.plain(scratch), path, target)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _compile(tools: Toolchain, header: str, path: str, target: str) -> None:
    command = [tools.compiler, *tools.flags, "-include", header, path, "-o", target, *LIBRARIES]
    gcc.run(command, os.path.dirname(target))
