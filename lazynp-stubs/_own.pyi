# What lazynp has beside NumPy's names. Written by hand.
from collections.abc import Callable, Iterator
from os import PathLike
from types import TracebackType
from typing import Any, NamedTuple, TextIO, overload

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
    html: str
    wall: float
    seconds: dict[str, float]
    lines: dict[tuple[str, int], float]
    demands: dict[tuple[str, int], tuple[int, float]]
    def __init__(self, *, lines: bool = True) -> None: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def __enter__(self) -> profile: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
    def advice(self, name: str = ...) -> Advice: ...
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

class Item(NamedTuple):
    seconds: float
    line: tuple[str, int] | None
    what: str
    remedy: str

class Advice:
    name: str
    items: list[Item]
    wall: float
    first: float | None
    profile: profile
    def __iter__(self) -> Iterator[Item]: ...
    def __len__(self) -> int: ...
    def headline(self) -> str: ...

def advise(f: Callable[..., Any], *args: Any, seconds: float = 1.0, show: bool = True, **kwargs: Any) -> Advice: ...

class Explanation(str):
    groups: list[Any]
    operations: int
    reads: int
    writes: int
    @property
    def kernels(self) -> list[Any]: ...
    @property
    def svg(self) -> str: ...
    @property
    def html(self) -> str: ...

@overload
def explain(x: Callable[..., Any]) -> Callable[..., Explanation]: ...  # type: ignore[overload-overlap]
@overload
def explain(x: object) -> Explanation: ...
def free_memory() -> int: ...
def synchronize() -> None: ...
def distribute() -> None: ...
def report(file: TextIO | None = None, json_path: str | None = None) -> None: ...
