"""The JAX door: `import lazynp.jax as jax`. Immutable arrays with JAX's dtypes, weak types and promotion, keyed
randomness, JAX's names for the transformations of `api`. Imports all layers below, never the NumPy door."""

from . import (
    ad_checkpoint,
    api_util,
    core,
    custom_batching,
    custom_derivatives,
    debug,
    distributed,
    dlpack,
    dtypes,
    errors,
    experimental,
    export,
    ffi,
    image,
    interpreters,
    lax,
    lib,
    memory,
    monitoring,
    nn,
    numpy,
    ops,
    profiler,
    random,
    ref,
    scipy,
    sharding,
    stages,
    tree,
    tree_util,
    typing,
)
from .array import Array
from .assembling import (
    make_array_from_callback,
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
)
from .boundaries import close_doors as _close_doors
from .callback import effects_barrier, pure_callback
from .config import (
    allow_f16_reductions,
    array_garbage_collection_guard,
    auto_pcast,
    check_tracer_leaks,
    checking_leaks,
    config,
    debug_infs,
    debug_key_reuse,
    debug_nans,
    default_device,
    default_matmul_precision,
    default_prng_impl,
    disable_jit,
    enable_checks,
    enable_custom_prng,
    enable_x64,
    explain_cache_misses,
    jax2tf_associative_scan_reductions,
    legacy_prng_key,
    log_compiles,
    make_user_context,
    no_execution,
    no_tracing,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    remove_size_one_mesh_axis_from_type,
    softmax_custom_jvp,
    thread_guard,
    threefry_partitionable,
    transfer_guard,
    transfer_guard_device_to_device,
    transfer_guard_device_to_host,
    transfer_guard_host_to_device,
)
from .derivatives import (
    checkpoint,
    checkpoint_policies,
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_vjp,
    fwd_and_bwd,
    grad,
    hessian,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
    remat,
    value_and_grad,
    vjp,
)
from .devices import (
    Device,
    default_backend,
    device_count,
    devices,
    host_count,
    host_id,
    host_ids,
    local_device_count,
    local_devices,
    process_count,
    process_index,
    process_indices,
)
from .dtypes import float0
from .environment import print_environment_info
from .explicit_axes import reshard
from .gradient_refs import ad
from .installed import install
from .jaxpr import ShapeDtypeStruct, eval_shape, make_jaxpr
from .jitting import jit
from .mapping import shard_map, smap
from .names import clear_caches, ensure_compile_time_eval, named_call, named_scope, typeof, vmap
from .per_device import pmap
from .placement import block_until_ready, copy_to_host_async, device_get, device_put, live_arrays
from .ref import Ref, empty_ref, free_ref, freeze, new_ref
from .sharding import NamedSharding, Shard, make_mesh, set_mesh
from .sharding import PartitionSpec as P
from .slices import ds
from .version import __version__, __version_info__

_close_doors(__name__)
