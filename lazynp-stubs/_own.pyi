# What lazynp has beside NumPy's names. Written by hand.
from collections.abc import Callable
from types import TracebackType
from typing import Any, TextIO

lazynp_version: str

class HostFallbackError(RuntimeError): ...

class profile:
    operations: int
    segments: int
    plans: int
    kernels: int
    interpreted: int
    compiled: int
    library: int
    elements: int
    bytes: int
    cache_hits: int
    device_kernels: int
    device_compiled: int
    device_library: int
    uploads: int
    downloads: int
    interpreted_seconds: float
    compiled_seconds: float
    library_seconds: float
    compiles: list[dict[str, Any]]
    refused: dict[str, int]
    host_calls: dict[tuple[str, str], int]
    points: dict[str, int]
    draws: dict[str, int]
    device_host: dict[str, int]
    device_segments: dict[str, int]
    def __init__(self) -> None: ...
    def __enter__(self) -> profile: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
    def figures(self) -> dict[str, Any]: ...

class Timing:
    name: str
    seconds: list[float]
    numpy_seconds: list[float]
    calls: int
    warm_ups: int
    compiled: int
    interpreted: int
    compiling: bool
    why: str
    @property
    def median(self) -> float: ...
    @property
    def ratio(self) -> float | None: ...

def benchmark(
    f: Callable[..., Any],
    *args: Any,
    seconds: float = 1.0,
    beside: Callable[..., Any] | bool = True,
    show: bool = True,
    **kwargs: Any,
) -> Timing: ...
def compile_wait(timeout: float | None = None) -> bool: ...
def explain(x: object) -> str: ...
def free_memory() -> int: ...
def synchronize() -> None: ...
def report(file: TextIO | None = None, json_path: str | None = None) -> None: ...
