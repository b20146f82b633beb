"""What of JAX's public names is not there, each with its reason. `test_public_names.py` holds the lists to what is."""

from __future__ import annotations

OTHER_MACHINES = {
    "jax.cloud_tpu_init": "Google's machines",
    "jax.collect_profile": "a program that talks to XLA's profiler",
    "jax.experimental.array_serialization": "needs tensorstore",
    "jax.experimental.buffer_callback": "XLA's buffers",
    "jax.experimental.colocated_python": "Pathways",
    "jax.experimental.custom_partitioning": "XLA's partitioner",
    "jax.experimental.fused": "XLA's fusions on TPUs",
    "jax.experimental.jax2tf": "TensorFlow",
    "jax.experimental.mosaic": "GPU and TPU kernels",
    "jax.experimental.pallas": "GPU and TPU kernels",
    "jax.experimental.roofline": "models of TPUs",
    "jax.experimental.serialize_executable": "XLA's executables",
    "jax.experimental.source_mapper": "XLA's texts",
    "jax.experimental.topologies": "XLA's compiler for machines that are not there",
    "jax.experimental.transfer": "transfers between hosts",
    "jax.extend.ifrt": "XLA's runtime",
    "jax.extend.mlir": "MLIR: there is none here",
    "jax.extend.pallas": "GPU and TPU kernels",
    "jax.interpreters": "JAX's own interpreters of jaxprs, with MLIR",
    "jax.lib": "XLA's client",
    "jax.tools": "programs for XLA's texts",
}
"""Namespaces that mean another machine or JAX's own compiler: not compared."""
NOT_YET = "not built yet"
NO_PRIMITIVES = "a jaxpr is a view of our graph: primitives are not objects that can be bound yet"
ONE_PROCESS = "several hosts: there is one process"
ABSENT = {
    "jax.api_util": NO_PRIMITIVES,
    "jax.custom_batching": NOT_YET,
    "jax.distributed": ONE_PROCESS,
    "jax.example_libraries.optimizers": NOT_YET,
    "jax.example_libraries.stax": NOT_YET,
    "jax.experimental.checkify": NOT_YET,
    "jax.experimental.compilation_cache": "XLA's cache; ours is LAZYNP_CACHE_DIR",
    "jax.experimental.compilation_cache.compilation_cache": "XLA's cache; ours is LAZYNP_CACHE_DIR",
    "jax.experimental.compute_on": "host and device parts of one XLA program",
    "jax.experimental.control_deps": "the order of operations in an XLA program",
    "jax.experimental.hijax": NO_PRIMITIVES,
    "jax.experimental.jet": NOT_YET,
    "jax.experimental.layout": "XLA's layouts",
    "jax.experimental.multihost_utils": ONE_PROCESS,
    "jax.experimental.ode": NOT_YET,
    "jax.experimental.profiler": "XLA's profiles",
    "jax.experimental.random": NOT_YET,
    "jax.experimental.rnn": NOT_YET,
    "jax.experimental.scheduling_groups": "XLA's scheduler",
    "jax.experimental.shard_alike": "XLA's partitioner",
    "jax.experimental.xla_metadata": "XLA's texts",
    "jax.export": NOT_YET,
    "jax.extend": NO_PRIMITIVES,
    "jax.extend.backend": NO_PRIMITIVES,
    "jax.extend.core": NO_PRIMITIVES,
    "jax.extend.core.primitives": NO_PRIMITIVES,
    "jax.extend.linear_util": NO_PRIMITIVES,
    "jax.extend.lowering": NO_PRIMITIVES,
    "jax.extend.random": NO_PRIMITIVES,
    "jax.extend.sharding": NO_PRIMITIVES,
    "jax.extend.source_info_util": NO_PRIMITIVES,
    "jax.extend.xla": NO_PRIMITIVES,
    "jax.ffi": "XLA's custom calls",
    "jax.ref": NOT_YET,
    "jax.scipy.spatial.transform": NOT_YET,
    **{
        f"jax.experimental.sparse{part}": NOT_YET
        for part in ("", ".ad", ".api", ".bcoo", ".bcsr", ".coo", ".csr", ".linalg", ".random", ".transform", ".util")
    },
}
"""Namespaces that are not there."""


def words(text: str) -> set[str]:
    return set(text.split())


def primitives(text: str) -> set[str]:
    return {f"{name}_p" for name in text.split()}


MISSING: dict[str, dict[str, set[str]]] = {
    "jax": {
        NOT_YET: words(
            "Ref ad auto_pcast ds empty_ref free_ref freeze fwd_and_bwd live_arrays make_user_context memory new_ref "
            "print_environment_info remove_size_one_mesh_axis_from_type"
        ),
        "TensorFlow": words("jax2tf_associative_scan_reductions"),
    },
    "jax.ad_checkpoint": {NOT_YET: words("Offloadable Recompute Saveable print_saved_residuals")},
    "jax.core": {NO_PRIMITIVES: words("ParamDict Trace eval_context max_dim min_dim")},
    "jax.custom_derivatives": {
        NOT_YET: words("CustomVJPPrimal SymbolicZero custom_vjp_primal_tree_values linear_call zero_from_primal"),
        NO_PRIMITIVES: primitives("custom_jvp_call custom_vjp_call remat_opt"),
    },
    "jax.debug": {NO_PRIMITIVES: words("DebugEffect OrderedDebugEffect"), NOT_YET: words("visualize_sharding")},
    "jax.experimental": {
        NOT_YET: words("EArray cur_qdd primal_tangent_dtype"),
    },
    "jax.experimental.mesh_utils": {ONE_PROCESS: words("create_hybrid_device_mesh device_kind_handler_dict")},
    "jax.lax": {
        NOT_YET: words(
            "RaggedDotDimensionNumbers precv psend ragged_all_to_all ragged_dot_general rng_bit_generator rng_uniform "
            "scaled_dot stage"
        ),
        NO_PRIMITIVES: primitives(
            "abs acos acosh add after_all all_gather all_to_all and approx_top_k argmax argmin asin asinh atan2 "
            "atan atanh axis_index bessel_i0e bessel_i1e bitcast_convert_type broadcast_in_dim cbrt ceil clamp "
            "clz complex concatenate cond conj conv_general_dilated convert_element_type copy cos cosh "
            "create_token cumlogsumexp cummax cummin cumprod cumsum dce_sink device_put digamma div dot_general "
            "dynamic_slice dynamic_update_slice eq eq_to erf_inv erf erfc exp2 exp expm1 fft floor gather ge gt "
            "igamma_grad_a igamma igammac imag integer_pow iota is_finite le le_to lgamma linear_solve log1p log "
            "logistic lt lt_to max min mul mulhi ne neg nextafter not optimization_barrier or pad pmax pmin "
            "polygamma population_count pow ppermute psum ragged_all_to_all real reduce_and reduce_max reduce_min "
            "reduce_or reduce reduce_precision reduce_prod reduce_sum reduce_window_max reduce_window_min "
            "reduce_window reduce_window_sum reduce_xor regularized_incomplete_beta rem reshape rev "
            "rng_bit_generator rng_uniform round rsqrt scan scatter_add scatter_max scatter_min scatter_mul "
            "scatter scatter_sub select_and_gather_add select_and_scatter_add select_and_scatter select_n "
            "sharding_constraint shift_left shift_right_arithmetic shift_right_logical sign sin sinh slice sort "
            "split sqrt square squeeze stack stage stop_gradient sub tan tanh tile top_k transpose unstack while "
            "xor zeta"
        ),
    },
    "jax.lax.linalg": {
        NO_PRIMITIVES: primitives(
            "cholesky cholesky_update eig eigh hessenberg householder_product lu lu_pivots_to_permutation ormqr qr "
            "schur svd symmetric_product triangular_solve tridiagonal tridiagonal_solve"
        )
    },
    "jax.nn": {NOT_YET: words("get_scaled_dot_general_config scaled_dot_general scaled_matmul")},
    "jax.profiler": {
        "XLA's profiles": words(
            "ProfileData ProfileEvent ProfileOptions ProfilePlane device_memory_profile register_subprocess "
            "save_device_memory_profile start_server stop_server"
        )
    },
    "jax.random": {NO_PRIMITIVES: primitives("random_gamma")},
    "jax.scipy.special": {NOT_YET: words("hyp2f1")},
    "jax.sharding": {NOT_YET: words("AbstractDevice ManualAxisType auto_axes explicit_axes reshard")},
    "jax.stages": {"XLA's options": words("CompilerOptions")},
}
"""Names that are not there, by namespace and reason."""
NAMES: dict[str, set[str]] = {
    "jax": words("host_count host_id host_ids jacobian jit remat reshard smap"),
    "jax.lax": words("random_gamma_grad"),
    "jax.scipy.stats.poisson": words("entropy"),
    "jax.sharding": words("make_single_device_sharding"),
}
"""Functions whose `__name__` is another than in JAX: aliases of others, and a function that JAX itself misnames."""
MORE = "takes what JAX takes, and more"
LESS = "options of XLA's are not taken yet"
SIGNATURES: dict[str, dict[str, str]] = {
    "jax": {
        **dict.fromkeys(("checkpoint", "remat", "disable_jit", "make_jaxpr", "shard_map", "transfer_guard"), MORE),
        **dict.fromkeys(("jit", "make_array_from_single_device_arrays", "reshard", "smap", "vmap"), LESS),
    },
    "jax.debug": dict.fromkeys(("breakpoint", "print"), LESS),
    "jax.dlpack": {"from_dlpack": "positional and by keyword alone, as NumPy's"},
    "jax.experimental.mesh_utils": {"create_device_mesh": MORE},
    "jax.lax": {
        "dot": MORE,
        "mulhi": MORE,
        "pcast": MORE,
        "random_gamma_grad": "JAX's says *args",
    },
    "jax.numpy": {
        "array": "JAX's says *args, to refuse them",
        **dict.fromkeys(("empty_like", "inner", "nanpercentile", "nanquantile", "quantile"), MORE),
        "set_printoptions": "NumPy's own function",
    },
    "jax.profiler": dict.fromkeys(("annotate_function", "start_trace", "trace"), MORE),
}
"""Functions whose parameters differ in names, kinds or defaults."""
