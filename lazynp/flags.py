"""The switches of the JAX door that tracing and execution look at: a value for the process, others for a thread.

`flags.enable_x64` is an attribute lookup: the thread's own value where a context manager is open, else the process's.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, NamedTuple


class Flag(NamedTuple):
    """A switch.

    Attributes:
        default: its value where neither the environment nor the program says another.
        allowed: the values that it may have; empty: any of the default's type.
        valid: says what is wrong with a value, where no list of them does.
        traced: whether graphs depend on it, so that `jit` traces once for each value.
    """

    default: Any
    allowed: tuple[Any, ...] = ()
    traced: bool = False
    valid: Callable[[Any], str | None] | None = None


def names_device(value: Any) -> str | None:
    """What is wrong with a value of `jax_default_device`: it is a device, or the name of a platform. The class of
    devices lies in a higher layer, so it is asked for its name."""
    if value is None or type(value).__name__ == "Device" or type(value) is str and value in ("cpu", "gpu", "tpu"):
        return None
    return (
        "jax.default_device must be passed either a Device object (e.g. `jax.devices('cpu')[0]`) or a platform name "
        f"string like 'cpu' or 'gpu', got: {value!r}"
    )


PROMOTIONS = ("standard", "strict")
CHECKS = ("ignore", "raise")
PRECISIONS = (
    *(None, "default", "high", "highest", "bfloat16", "tensorfloat32", "float32"),
    *("ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY", "ANY_F8_ANY_F8_ANY_FAST_ACCUM"),
    *("F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16", "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6"),
    *("BF16_BF16_F32_X9", "TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64"),
)
GUARDS = (None, "allow", "log", "disallow", "log_explicit", "disallow_explicit")
FLAGS: dict[str, Flag] = {
    "enable_x64": Flag(False, traced=True),
    "numpy_dtype_promotion": Flag("standard", PROMOTIONS, traced=True),
    "numpy_rank_promotion": Flag("allow", ("allow", "warn", "raise"), traced=True),
    "default_matmul_precision": Flag(None, PRECISIONS, traced=True),
    "threefry_partitionable": Flag(True, traced=True),
    "default_prng_impl": Flag(
        "threefry2x32",
        ("threefry2x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32", "threefry4x32"),
        traced=True,
    ),
    "random_seed_offset": Flag(0, traced=True),
    "enable_custom_prng": Flag(False, traced=True),
    "legacy_prng_key": Flag("allow", ("allow", "warn", "error"), traced=True),
    "high_dynamic_range_gumbel": Flag(False, traced=True),
    "debug_key_reuse": Flag(False, traced=True),
    "error_checking_behavior_oob": Flag("ignore", CHECKS, traced=True),
    "error_checking_behavior_nan": Flag("ignore", CHECKS),
    "error_checking_behavior_divide": Flag("ignore", CHECKS),
    "softmax_custom_jvp": Flag(False, traced=True),
    "allow_f16_reductions": Flag(True),
    "debug_nans": Flag(False),
    "debug_infs": Flag(False),
    "disable_jit": Flag(False),
    "explain_cache_misses": Flag(False),
    "log_compiles": Flag(False),
    "no_tracing": Flag(False),
    "no_execution": Flag(False),
    "enable_checks": Flag(False),
    "check_tracer_leaks": Flag(False, traced=True),
    "default_device": Flag(None, (None, Any), valid=names_device),
    "platforms": Flag("cpu"),
    "platform_name": Flag("", (None, Any)),
    "transfer_guard": Flag(None, GUARDS),
    "transfer_guard_host_to_device": Flag(None, GUARDS),
    "transfer_guard_device_to_device": Flag(None, GUARDS),
    "transfer_guard_device_to_host": Flag(None, GUARDS),
    "traceback_filtering": Flag("auto", ("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto")),
    "compilation_cache_dir": Flag(None),
    "enable_compilation_cache": Flag(True),
    "persistent_cache_min_compile_time_secs": Flag(1.0),
    "persistent_cache_min_entry_size_bytes": Flag(0),
    "num_cpu_devices": Flag(-1),
    "cpu_enable_async_dispatch": Flag(True),
    "use_direct_linearize": Flag(True),
    "auto_pcast": Flag(True),
    "remove_size_one_mesh_axis_from_type": Flag(False),
    "jax2tf_associative_scan_reductions": Flag(False),
    "array_garbage_collection_guard": Flag(None, (None, "allow", "log", "fatal")),
    "thread_guard": Flag(False),
    "log_checkpoint_residuals": Flag(False),
    "debug_log_modules": Flag(""),
    "logging_level": Flag("NOTSET", (None, "NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")),
    "pprint_use_color": Flag(True),
}
LEVELS = ("UNKNOWN", "O0", "O1", "O2", "O3")
FOR_XLA: dict[str, Any] = {
    **dict.fromkeys(
        (
            *("bcoo_cusparse_lowering", "check_static_indices", "check_vma", "compilation_cache_check_contents"),
            *("compilation_cache_expect_pgle", "compilation_cache_include_metadata_in_key", "custom_vjp3"),
            *("debug_leaked_clients_on_clear_backends", "disable_bwd_checks", "disable_vmap_shmap_error"),
            *("disallow_mesh_context_manager", "distributed_debug", "eager_constant_folding", "enable_pgle"),
            *("enable_recoverability", "experimental_unsafe_xla_runtime_errors", "mosaic_allow_hlo"),
            *("export_ignore_forward_compatibility", "pallas_enable_debug_checks", "pallas_poison_buffers"),
            *("ragged_dot_use_gpu_pallas_triton_lowering", "raise_persistent_cache_errors", "refs_to_pins", "remat3"),
            *("remove_custom_partitioning_ptr_from_cache_key", "scan3", "share_binary_between_hosts"),
            *("threefry_gpu_kernel_lowering", "use_emit_pipeline_primitive", "use_simplified_jaxpr_constants"),
        ),
        False,
    ),
    **dict.fromkeys(
        (
            *("compiler_enable_remat_pass", "enable_preemption_service", "include_full_tracebacks_in_locations"),
            *("jax2tf_default_native_serialization", "mutable_array_checks", "pallas_use_mosaic_gpu"),
            *("ragged_dot_use_ragged_dot_instruction", "use_shardy_partitioner"),
        ),
        True,
    ),
    **{"captured_constants_report_frames": 0, "captured_constants_warn_bytes": 2_000_000_000},
    **{"compilation_cache_max_size": -1, "cpu_get_global_topology_timeout_minutes": 5},
    **{"cpu_get_local_topology_timeout_minutes": 2, "embedded_constants_max_bytes": 32},
    **{"export_calling_convention_version": 10, "pgle_aggregation_percentile": 90, "pgle_profiling_runs": 3},
    **{"serialization_version": 0, "share_binary_between_hosts_timeout_ms": 1_200_000},
    **{"traceback_in_locations_limit": 100, "xla_profile_version": 0},
    **{"exec_time_optimization_effort": 0.0, "memory_fitting_effort": 0.0},
    **{"hlo_source_file_canonicalization_regex": None, "source_url_schema": None},
    "persistent_cache_enable_xla_caches": "xla_gpu_per_fusion_autotune_cache_dir",
}
CHOICES_FOR_XLA = {
    "cpu_collectives_implementation": ("gloo", "mpi", "megascale", None),
    "explicit_x64_dtypes": ("warn", "error", "allow"),
    "memory_fitting_level": ("O2", *LEVELS),
    "optimization_level": LEVELS,
    "send_traceback_to_runtime": ("off", "on", "full"),
    "use_magma": ("auto", "off", "on"),
}
UNCHECKED_FOR_XLA: dict[str, Any] = {
    **dict.fromkeys(("cuda_visible_devices", "oneapi_visible_devices", "rocm_visible_devices"), "all"),
    **dict.fromkeys(("backend_target", "dump_ir_to", "mock_gpu_topology", "xla_backend"), ""),
    **dict.fromkeys(("cross_host_transfer_socket_address", "cross_host_transport_addresses"), ""),
    **dict.fromkeys(("cross_host_transfer_timeout_seconds", "cross_host_transfer_transfer_size"), None),
    **dict.fromkeys(("check_proxy_envs", "include_debug_info_in_dumps", "sort_devices_by_process_index"), True),
    **dict.fromkeys(("disable_most_optimizations", "pallas_verbose_errors"), False),
    **{"dump_ir_modes": "stablehlo", "force_dcn_cross_host_transfers": False, "mock_num_gpu_processes": 0},
    **{"pjrt_client_create_options": None, "tracer_error_num_traceback_frames": 5},
    "compiler_detailed_logging_min_ops": 10,
}
FLAGS.update({name: Flag(default) for name, default in FOR_XLA.items()})
FLAGS.update({name: Flag(allowed[0], allowed) for name, allowed in CHOICES_FOR_XLA.items()})
FLAGS.update({name: Flag(default, (None, Any)) for name, default in UNCHECKED_FOR_XLA.items()})
WITHOUT_PREFIX = (
    *("check_vma", "eager_constant_folding", "jax2tf_associative_scan_reductions"),
    *("jax2tf_default_native_serialization", "mock_num_gpu_processes"),
)
"""By name, without the `jax_` that users write before it (but before these). Those that steer only XLA are accepted and
have no effect."""
CAREFUL = (
    *("disable_jit", "debug_nans", "debug_infs", "no_execution", "debug_key_reuse"),
    *("transfer_guard", "transfer_guard_host_to_device"),
)
states: dict[Any, int] = {}
watchers: list[Callable[[Any], None]] = []
"""Called with what changed: the class `Flags` for the process, the thread's own `flags` for a thread."""
TRACED = [name for name, flag in FLAGS.items() if flag.traced]


class Flags(threading.local):
    """The values, as attributes. The class holds the process's, an instance the thread's own.

    Attributes:
        state: a number for the values that graphs depend on.
        fast: the same; None while calls of compiled functions need care (`CAREFUL`, or a mesh is set).
        on_mesh: whether a mesh of devices is set, on which results of calls lie.
        elsewhere: whether a device is set, where calls run, so that they have to look for arrays there.
        on_host: whether `jax_default_device` says that what is computed now is computed on the host, wherever else.
    """

    state: int
    fast: int | None
    on_mesh = elsewhere = on_host = False

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"Unrecognized config option: {name}")


flags = Flags()


def check(name: str, value: Any) -> Any:
    """The value, if that flag may have it. Raises AttributeError for an unknown flag, ValueError for a wrong value."""
    flag = FLAGS.get(name)
    if flag is None:
        raise AttributeError(f"Unrecognized config option: jax_{name}")
    wrong = flag.valid(value) if flag.valid is not None else None
    if wrong is not None:
        raise ValueError(wrong)
    if flag.allowed:
        if flag.allowed[-1] is not Any and value not in flag.allowed:
            allowed = "None or in " * (None in flag.allowed) or "in "
            names = [a for a in flag.allowed if a is not None]
            raise ValueError(
                f"new enum value must be {allowed}{names}, got {value} of type {type(value)}. It is that of jax_{name}."
            )
        return value
    kind = type(flag.default)
    if kind is bool:
        return bool(value)
    kinds: Any = {int: int, float: (float, int)}.get(kind, str)
    if value is not None and flag.valid is None and not isinstance(value, kinds):
        what = "string" if kinds is str else kind.__name__
        raise ValueError(
            f"new {what} config value must be None or of type {what}, got {value!r} of type {type(value)}."
        )
    return value


def refresh(target: Any) -> None:
    """Work the keys out anew, of the process (the class) or of this thread."""
    values = tuple([getattr(target, name) for name in TRACED])
    target.state = states.setdefault(values, len(states))
    careful = target.on_mesh or target.elsewhere or any([getattr(target, name) for name in CAREFUL])
    target.fast = None if careful else target.state
    for watcher in watchers:
        watcher(target)


def add_flag(name: str, default: Any) -> None:
    """A switch of the user's, which compiled functions are told apart by."""
    FLAGS[name] = Flag(default, (None, Any), traced=True)
    TRACED.append(name)
    setattr(Flags, name, default)
    refresh(Flags)
    if "state" in vars(flags):
        refresh(flags)


def set_flag(name: str, value: Any) -> None:
    """Change a flag for the process. A thread inside a context manager of it keeps its own value."""
    setattr(Flags, name, check(name, value))
    refresh(Flags)
    if "state" in vars(flags):
        refresh(flags)


def on_mesh(yes: bool) -> None:
    """Say for this thread whether a mesh of devices is set."""
    if flags.on_mesh != yes:
        flags.on_mesh = yes
        refresh(flags)


def elsewhere(yes: bool) -> None:
    """Say whether a device is set, where arrays may be."""
    if Flags.elsewhere != yes:
        Flags.elsewhere = yes
        refresh(Flags)
        if "state" in vars(flags):
            refresh(flags)


class Override:
    """`with Override(name, value):` sets a flag for this thread; `Override(name, value)(f)` while f runs."""

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value = name, check(name, value)
        self.before: list[Any] = []

    def __enter__(self) -> None:
        own = vars(flags)
        self.before.append(own.get(self.name, Override))
        own[self.name] = self.value
        refresh(flags)

    def __exit__(self, *error: object) -> None:
        own, before = vars(flags), self.before.pop()
        if before is Override:
            del own[self.name]
        else:
            own[self.name] = before
        refresh(flags)

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        def under(*args: Any, **kwargs: Any) -> Any:
            with Override(self.name, self.value):
                return f(*args, **kwargs)

        under.__wrapped__ = f  # type: ignore[attr-defined]
        under.__name__ = getattr(f, "__name__", "under")
        return under


def from_environment(name: str) -> Any:
    """A flag's first value: what `JAX_<NAME>` says, else its default."""
    text, default = os.environ.get(f"JAX_{name.upper()}"), FLAGS[name].default
    if text is None or name in ("platforms", "platform_name"):
        return default
    if type(default) is bool:
        return text.strip().lower() in ("y", "yes", "t", "true", "on", "1")
    return type(default)(text) if type(default) in (int, float) else text


for _name in FLAGS:
    setattr(Flags, _name, from_environment(_name))
refresh(Flags)
