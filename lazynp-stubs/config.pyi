# Written by `python -m compat stubs`.
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

class Config:
    mode: str
    small: int
    compile: bool
    compile_after: float
    chain: bool
    compile_at_exit: bool
    compile_nice: int
    cache_dir: str
    cache_bytes: int
    threads: int
    pending_nodes: int
    pending_bytes: int
    replay: bool
    pool_bytes: int
    deterministic: bool
    strict: bool
    full_tracebacks: bool
    adapters: bool | str
    device: str
    spread_size: int
    gather_bytes: int
    peer_timeout: float
    spread_check: bool
    def __call__(
        self,
        *,
        mode: str = ...,
        small: int = ...,
        compile: bool = ...,
        compile_after: float = ...,
        chain: bool = ...,
        compile_at_exit: bool = ...,
        compile_nice: int = ...,
        cache_dir: str = ...,
        cache_bytes: int = ...,
        threads: int = ...,
        pending_nodes: int = ...,
        pending_bytes: int = ...,
        replay: bool = ...,
        pool_bytes: int = ...,
        deterministic: bool = ...,
        strict: bool = ...,
        full_tracebacks: bool = ...,
        adapters: bool | str = ...,
        device: str = ...,
        spread_size: int = ...,
        gather_bytes: int = ...,
        peer_timeout: float = ...,
        spread_check: bool = ...,
    ) -> AbstractContextManager[Config]: ...
    def watch(self, watcher: Callable[[str, Any], None]) -> None: ...

SETTINGS: dict[str, Any]
config: Config
