"""`jax.config`: switches by JAX's names, and a context manager for each that a thread may want to change.

    config.update("jax_enable_x64", True)
    with enable_x64(True): ...

Inside the package: `from .config import flags`, then `flags.enable_x64`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..flags import FLAGS, WITHOUT_PREFIX, Override, add_flag, flags, set_flag
from .devices import check_count

__all__ = ["Config", "config", "flags"]


def plain(name: str) -> str:
    """A switch's name without `jax_`. Raises AttributeError for what is none."""
    short = name.removeprefix("jax_")
    if short not in FLAGS or (short == name) != (short in WITHOUT_PREFIX):
        raise AttributeError(f"Unrecognized config option: {name}")
    return short


def full(name: str) -> str:
    """The name that users write."""
    return name if name in WITHOUT_PREFIX else f"jax_{name}"


class UserConfig:
    """A setting of the user's: `with context(value): ...`; functions are compiled once for each value that they are
    called under."""

    def __init__(self, default_value: Any) -> None:
        self._name = f"user_context_{len(FLAGS)}"
        add_flag(self._name, default_value)

    @property
    def value(self) -> Any:
        """The value that holds in this thread."""
        return getattr(flags, self._name)

    def __call__(self, new_value: Any) -> Override:
        return Override(self._name, new_value)


def make_user_context(default_value: Any = None) -> UserConfig:
    """A new setting, for what a program's functions depend on besides their arguments.

    Raises: TypeError, when it is set, for a value that cannot be hashed.
    """
    hash(default_value)
    return UserConfig(default_value)


class Config:
    """The switches: `config.update(name, value)`, `config.jax_enable_x64`, `config.read(name)`, `config.values`."""

    def update(self, name: str, value: Any) -> None:
        """Set a switch for the whole process.

        Raises: AttributeError where there is none of that name, ValueError or TypeError for a value it cannot have,
        RuntimeError for a number of devices once they are in use.
        """
        short = plain(name)
        if short == "num_cpu_devices":
            check_count(value)
        set_flag(short, value)

    def read(self, name: str) -> Any:
        """The value that holds in this thread."""
        return getattr(flags, plain(name))

    @property
    def x64_enabled(self) -> bool:
        """`jax_enable_x64`."""
        return bool(flags.enable_x64)

    def __getattr__(self, name: str) -> Any:
        return self.read(name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a switch is set by config.update({name!r}, value)")

    @property
    def values(self) -> dict[str, Any]:
        """All switches by JAX's names."""
        return {full(name): getattr(flags, name) for name in FLAGS if not name.startswith("user_context_")}

    def parse_flags_with_absl(self) -> None:
        """Nothing: absl's command line is not read."""

    config_with_absl = parse_flags_with_absl


config = Config()


def switch(name: str, *default: Any) -> Callable[..., Override]:
    """A context manager `name(value)` that sets one switch for this thread."""
    make: Any = partial(Override, name)

    def manager(new_val: Any = default[0] if default else None) -> Override:
        return make(new_val)

    manager.__name__ = manager.__qualname__ = name
    manager.__doc__ = f"`with {name}(value):` sets `jax_{name}` for this thread; `{name}(value)(f)` while f runs."
    return manager


enable_x64 = switch("enable_x64", True)
debug_nans = switch("debug_nans", True)
debug_infs = switch("debug_infs", True)
debug_key_reuse = switch("debug_key_reuse", True)


def disable_jit(disable: bool = True) -> Override:
    """`with disable_jit():` runs functions as they stand, without `jit`, in this thread."""
    return Override("disable_jit", bool(disable))


explain_cache_misses = switch("explain_cache_misses", True)
log_compiles = switch("log_compiles", True)
no_tracing = switch("no_tracing", True)
no_execution = switch("no_execution", True)
enable_checks = switch("enable_checks", True)
enable_custom_prng = switch("enable_custom_prng", True)
check_tracer_leaks = checking_leaks = switch("check_tracer_leaks", True)
default_device = switch("default_device")
default_matmul_precision = switch("default_matmul_precision")
default_prng_impl = switch("default_prng_impl", "threefry2x32")
legacy_prng_key = switch("legacy_prng_key", "allow")
numpy_dtype_promotion = switch("numpy_dtype_promotion", "standard")
numpy_rank_promotion = switch("numpy_rank_promotion", "allow")
threefry_partitionable = switch("threefry_partitionable", True)
softmax_custom_jvp = switch("softmax_custom_jvp", True)
allow_f16_reductions = switch("allow_f16_reductions", True)
auto_pcast = switch("auto_pcast", True)
remove_size_one_mesh_axis_from_type = switch("remove_size_one_mesh_axis_from_type", True)
jax2tf_associative_scan_reductions = switch("jax2tf_associative_scan_reductions", True)
array_garbage_collection_guard = switch("array_garbage_collection_guard")
thread_guard = switch("thread_guard", True)
transfer_guard = switch("transfer_guard")
transfer_guard_host_to_device = switch("transfer_guard_host_to_device")
transfer_guard_device_to_device = switch("transfer_guard_device_to_device")
transfer_guard_device_to_host = switch("transfer_guard_device_to_host")
