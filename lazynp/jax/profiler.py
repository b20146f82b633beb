"""`jax.profiler`: what ran, and when, as `lazynp.profile` follows it, written where JAX writes its traces."""

from __future__ import annotations

import contextlib
import functools
import gzip
import json
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..runtime.api import profile
from .absent import absent

__all__ = [
    "ProfileOptions",
    "StepTraceAnnotation",
    "TraceAnnotation",
    "annotate_function",
    "start_trace",
    "stop_trace",
    "trace",
]
FILE = "lazynp-profile.txt"
__getattr__ = absent(
    __name__,
    {
        "start_server stop_server register_subprocess": "there is no server that other programs could ask for a "
        "profile. `with trace(folder):` writes one",
        "device_memory_profile save_device_memory_profile": "arrays are NumPy's memory, which tracemalloc knows. "
        "`lazynp.profile` shows how much there is at most",
        "ProfileData ProfileEvent ProfilePlane": "traces are JSON files, which any program can read",
    },
)
FIRST_LANE = 100  # of annotations: the lanes before are those of `lazynp.profile`


class ProfileOptions:
    """What XLA's tracers are to record. There are none here, so that nothing but the attributes' names is looked at."""

    __slots__ = (
        *("advanced_configuration", "duration_ms", "enable_hlo_proto", "host_tracer_level", "include_dataset_ops"),
        *("python_tracer_level", "raise_error_on_start_failure", "repository_path", "session_id", "start_timestamp_ns"),
    )

    def __init__(self) -> None:
        self.advanced_configuration: dict[str, Any] = {}
        self.duration_ms = self.start_timestamp_ns = 0
        self.python_tracer_level, self.host_tracer_level = 1, 2
        self.enable_hlo_proto = self.include_dataset_ops = True
        self.raise_error_on_start_failure = False
        self.repository_path = self.session_id = ""


class Running(NamedTuple):
    """A trace that is under way.

    Attributes:
        folder: where it goes. figures: what is counted. begun: seconds of `time.perf_counter`.
        perfetto: whether a file by the name that Perfetto's users look for is wanted, too.
        named: what was annotated: name, start, end, thread, and what is said of it.
    """

    folder: Path
    figures: profile
    begun: float
    perfetto: bool
    named: list[tuple[str, float, float, int, dict[str, Any]]]


running: list[Running] = []
"""The trace that is under way."""


def start_trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> None:
    """Begin to trace what runs.

    Args:
        log_dir: the folder that `stop_trace` writes to.
        create_perfetto_trace: whether to write `perfetto_trace.json.gz` beside the trace.
        profiler_options: what XLA's tracers are to record; there are none here.
    Raises: RuntimeError where a trace is under way; NotImplementedError for `create_perfetto_link`, for which JAX
        starts a server.
    """
    if create_perfetto_link:
        raise NotImplementedError("create_perfetto_link: open the file that is written with https://ui.perfetto.dev")
    if running:
        raise RuntimeError("Profile has already been started. Only one profile may be run at a time.")
    figures = profile()
    figures.__enter__()
    running.append(Running(Path(log_dir), figures, time.perf_counter(), create_perfetto_trace, []))


def stop_trace() -> None:
    """Write what ran since `start_trace`, as a trace for Perfetto and chrome://tracing in
    `log_dir/plugins/profile/<time>/<host>.trace.json.gz`, and as a summary in `log_dir/lazynp-profile.txt`.

    Raises: RuntimeError where no trace is under way.
    """
    if not running:
        raise RuntimeError("No profile started")
    made = running.pop()
    made.figures.__exit__(None, None, None)
    folder = made.folder / "plugins" / "profile" / time.strftime("%Y_%m_%d_%H_%M_%S")
    folder.mkdir(parents=True, exist_ok=True)
    text = gzip.compress(json.dumps(events_of(made)).encode())
    (folder / f"{platform.node()}.trace.json.gz").write_bytes(text)
    if made.perfetto:
        (folder / "perfetto_trace.json.gz").write_bytes(text)
    (made.folder / FILE).write_text(f"{made.figures}\n")


def events_of(made: Running) -> dict[str, Any]:
    """What ran in the trace event format: what `lazynp.profile` saw, and a lane of annotations for each thread."""
    try:
        found: dict[str, Any] = json.loads(made.figures.trace_text())
    except RuntimeError:  # of profiles in one another only the outermost follows what runs when
        found = {"displayTimeUnit": "ms", "traceEvents": []}
    pid, threads = os.getpid(), sorted({thread for *_, thread, _ in made.named})
    for thread in threads:
        lane = {"ph": "M", "name": "thread_name", "pid": pid, "tid": FIRST_LANE + threads.index(thread)}
        found["traceEvents"].append({**lane, "args": {"name": "annotations"}})
    for name, start, end, thread, said in made.named:
        found["traceEvents"].append(
            {
                "ph": "X",
                "name": name,
                "cat": "annotation",
                "ts": round(1e6 * (start - made.begun), 3),
                "dur": round(1e6 * (end - start), 3),
                "pid": pid,
                "tid": FIRST_LANE + threads.index(thread),
                "args": {k: str(v) for k, v in said.items()},
            }
        )
    return found


@contextlib.contextmanager
def trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Iterator[None]:
    """`start_trace`, then `stop_trace` at the end of the block."""
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


class TraceAnnotation:
    """`with TraceAnnotation(name):` a name in the trace for what runs in the block. `kwargs`: what is said of it."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        self.name, self.said, self.start = name, kwargs, 0.0

    @staticmethod
    def is_enabled() -> bool:
        """Whether a trace is being made."""
        return bool(running)

    def set_metadata(self, **kwargs: Any) -> None:
        """Say more of it, in the block."""
        self.said.update(kwargs)

    def __enter__(self) -> TraceAnnotation:
        self.start = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        for made in running:
            begun = max(self.start, made.begun)
            made.named.append((self.name, begun, time.perf_counter(), threading.get_ident(), self.said))


class StepTraceAnnotation(TraceAnnotation):
    """`with StepTraceAnnotation("train", step_num=n):` a name for a step of a program."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)


def annotate_function(func: Callable[..., Any], name: str | None = None, **decorator_kwargs: Any) -> Callable[..., Any]:
    """The function, whose calls have a name in the trace. `decorator_kwargs`: what is said of them."""
    shown = name or str(getattr(func, "__qualname__", None) or getattr(func, "__name__", "function"))

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(shown, **decorator_kwargs):
            return func(*args, **kwargs)

    return wrapper
