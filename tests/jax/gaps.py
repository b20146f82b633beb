"""What of JAX's public names is not there, each with its reason. `test_public_names.py` holds the lists to what is."""

from __future__ import annotations

import inspect

import numpy

OTHER_MACHINES = {
    "jax.cloud_tpu_init": "Google's machines",
    "jax.collect_profile": "a program that talks to XLA's profiler",
    "jax.experimental.array_serialization": "needs tensorstore",
    "jax.experimental.colocated_python": "Pathways",
    "jax.experimental.fused": "XLA's fusions on TPUs",
    "jax.experimental.jax2tf": "TensorFlow",
    "jax.experimental.mosaic": "GPU and TPU kernels",
    "jax.experimental.pallas": "GPU and TPU kernels",
    "jax.experimental.roofline": "models of TPUs",
    "jax.experimental.source_mapper": "XLA's texts",
    "jax.experimental.topologies": "XLA's compiler for machines that are not there",
    "jax.experimental.transfer": "transfers between hosts",
    "jax.extend.ifrt": "XLA's runtime",
    "jax.extend.mlir": "MLIR: there is none here",
    "jax.extend.pallas": "GPU and TPU kernels",
    "jax.interpreters": "JAX's own interpreters of jaxprs, with MLIR",
    "jax.tools": "programs for XLA's texts",
}
"""Namespaces that mean another machine or JAX's own compiler: not compared."""
NOT_YET = "not built yet"
NO_PRIMITIVES = "no operation of ours stands for it yet"
NO_TRACES = "operations are recorded in one graph, and no trace is asked how"
HELPERS = "the steps that JAX's functions are made of"
INSIDE = "a name that JAX's module imports for itself"
ONE_PROCESS = "several hosts: there is one process"
ABSENT = {
    "jax.experimental.control_deps": "the order of operations in an XLA program",
    "jax.experimental.profiler": "XLA's profiles",
    "jax.extend.lowering": "MLIR: there is none here",
    "jax.extend.sharding": "XLA's partitioner",
    "jax.extend.xla": "XLA's passes",
}
"""Namespaces that are not there."""


def words(text: str) -> set[str]:
    return set(text.split())


def primitives(text: str) -> set[str]:
    return {f"{name}_p" for name in text.split()}


MISSING: dict[str, dict[str, set[str]]] = {
    "jax.custom_derivatives": {NO_PRIMITIVES: primitives("remat_opt")},
    "jax.experimental": {
        NOT_YET: words("EArray cur_qdd primal_tangent_dtype"),
    },
    "jax.example_libraries.optimizers": {INSIDE: words("map namedtuple partial safe_map safe_zip unzip2 zip")},
    "jax.experimental.custom_partitioning": {NO_PRIMITIVES: primitives("custom_partitioning")},
    "jax.experimental.hijax": {NO_TRACES: words("AbstractRef HiPspec ShapedArray TransformedRef VJPHiPrimitive")},
    "jax.experimental.jet": {
        NO_TRACES: words(
            "JetTrace JetTracer ZeroSeries ZeroTerm call_param_updaters def_comp def_deriv deflinear defzero "
            "deriv_prop fact jet_fun jet_rules jet_subtrace linear_prop traceable zero_prop zero_series zero_term"
        ),
        INSIDE: words(
            "partial register_pytree_node safe_zip tree_flatten tree_structure tree_unflatten treedef_is_leaf "
            "unzip2 weakref_lru_cache"
        ),
    },
    "jax.experimental.mesh_utils": {ONE_PROCESS: words("device_kind_handler_dict")},
    "jax.experimental.ode": {
        INSIDE: words(
            "abs2 fit_4th_order_polynomial map partial promote_dtypes_inexact ravel_first_arg ravel_first_arg_ "
            "safe_map safe_zip zip"
        )
    },
    "jax.experimental.rnn": {
        INSIDE: words("Shape custom_vjp partial"),
        "cuDNN's": words("lstm_bwd lstm_fwd rnn_abstract_eval rnn_bwd_abstract_eval rnn_bwd_p rnn_fwd_p"),
    },
    "jax.experimental.multihost_utils": {
        ONE_PROCESS: words(
            "ProcessFailureError global_array_to_host_local_array_impl global_array_to_host_local_array_p "
            "gtl_abstract_eval host_local_array_to_global_array_impl host_local_array_to_global_array_p "
            "ltg_abstract_eval ltg_batcher"
        ),
        INSIDE: words("P lru_cache partial safe_zip tree_flatten tree_unflatten"),
    },
    "jax.experimental.scheduling_groups": {
        NO_PRIMITIVES: primitives("xla_metadata_call"),
        HELPERS: words("dce_jaxpr_xla_metadata_rule"),
        INSIDE: words(
            "FlatTree attr_get debug_info map partial safe_map safe_zip split_list subs_list tree_flatten "
            "tree_unflatten unsafe_map unsafe_zip unzip2 weakref_lru_cache zip"
        ),
    },
    "jax.experimental.sparse": {
        NO_PRIMITIVES: primitives(
            "bcoo_dot_general bcoo_dot_general_sampled bcoo_extract bcoo_fromdense bcoo_sort_indices "
            "bcoo_spdot_general bcoo_sum_duplicates bcoo_todense bcoo_transpose bcsr_dot_general "
            "bcsr_extract bcsr_fromdense bcsr_todense coo_fromdense coo_matmat coo_matvec coo_todense "
            "csr_fromdense csr_matmat csr_matvec csr_todense"
        ),
    },
    "jax.experimental.sparse.ad": {
        HELPERS: words("flatten_fun_for_sparse_ad"),
        INSIDE: words("JAXSparse api_boundary safe_zip split_list wraps"),
    },
    "jax.experimental.sparse.api": {
        INSIDE: words("Sequence partial"),
    },
    "jax.experimental.sparse.bcoo": {
        NO_PRIMITIVES: primitives(
            "bcoo_dot_general bcoo_dot_general_sampled bcoo_extract bcoo_fromdense bcoo_sort_indices "
            "bcoo_spdot_general bcoo_sum_duplicates bcoo_todense bcoo_transpose coo_spmm coo_spmv"
        ),
        HELPERS: words("BCOOProperties Buffer"),
        INSIDE: words(
            "Array CUSPARSE_DATA_DTYPES CUSPARSE_INDEX_DTYPES DotDimensionNumbers GatherDimensionNumbers "
            "GatherScatterMode JAXSparse Sequence canonicalize_axis nfold_vmap partial ranges_like remaining "
            "safe_zip split_list unzip2 vmap"
        ),
    },
    "jax.experimental.sparse.bcsr": {
        NO_PRIMITIVES: primitives("bcsr_dot_general bcsr_extract bcsr_fromdense bcsr_todense"),
        HELPERS: words("BCSRProperties"),
        INSIDE: words(
            "CuSparseEfficiencyWarning DotDimensionNumbers SparseEfficiencyWarning partial safe_zip split_list"
        ),
    },
    "jax.experimental.sparse.coo": {
        NO_PRIMITIVES: primitives("coo_fromdense coo_matmat coo_matvec coo_todense"),
        INSIDE: words("CuSparseEfficiencyWarning Sequence partial promote_dtypes"),
    },
    "jax.experimental.sparse.csr": {
        NO_PRIMITIVES: primitives("csr_fromdense csr_matmat csr_matvec csr_todense"),
        INSIDE: words("COOInfo CuSparseEfficiencyWarning partial promote_dtypes"),
    },
    "jax.experimental.sparse.linalg": {NO_PRIMITIVES: primitives("spsolve")},
    "jax.experimental.sparse.random": {
        INSIDE: words("Array split_list"),
    },
    "jax.experimental.sparse.transform": {
        NO_TRACES: words(
            "SparseTrace SparsifyEnv SparsifyValue arrays_to_spvalues bcsr_impl eval_sparse impl "
            "sparse_rules_bcoo sparse_rules_bcsr sparsify_fun sparsify_raw spvalues_to_arrays "
            "spvalues_to_avals"
        ),
        INSIDE: words(
            "bcoo_impl flatten_fun_nokwargs lift_jvp method prim safe_map safe_zip sparsify_subtrace "
            "split_list tree_map"
        ),
    },
    "jax.experimental.sparse.util": {
        INSIDE: words("DotDimensionNumbers flatten_axes safe_zip"),
    },
    "jax.extend.backend": {
        "XLA's backends": words(
            "backend_xla_version clear_in_memory_compilation_cache get_compile_options register_backend_cache "
            "register_backend_factory"
        )
    },
    "jax.extend.core": {NO_TRACES: words("AbstractToken CallPrimitive Token")},
    "jax.extend.core.primitives": {NO_PRIMITIVES: primitives("custom_lin empty2 get swap")},
    "jax.extend.linear_util": {INSIDE: words("Callable")},
    "jax.extend.source_info_util": {NO_TRACES: words("transform_name_stack")},
    "jax.ffi": {
        "XLA's custom calls": words(
            "build_ffi_lowering_function ffi_lowering include_dir pycapsule register_ffi_target_as_batch_partitionable "
            "register_ffi_type register_ffi_type_id"
        )
    },
    "jax.profiler": {
        "XLA's profiles": words(
            "ProfileData ProfileEvent ProfilePlane device_memory_profile register_subprocess "
            "save_device_memory_profile start_server stop_server"
        )
    },
    "jax.stages": {"XLA's options": words("CompilerOptions")},
}
"""Names that are not there, by namespace and reason."""
NAMES: dict[str, set[str]] = {
    "jax.experimental.sparse.ad": words("is_sparse"),
    "jax": words("host_count host_id host_ids jacobian jit remat"),
    "jax.example_libraries.stax": words("AvgPool MaxPool SumPool"),
    "jax.extend.core": words(
        "gensym nonempty_axis_env_DO_NOT_USE unsafe_am_i_under_a_jit_DO_NOT_USE unsafe_am_i_under_a_vmap_DO_NOT_USE "
        "unsafe_get_axis_names_DO_NOT_USE"
    ),
    "jax.lax": words("random_gamma_grad"),
    "jax.scipy.stats.poisson": words("entropy"),
    "jax.sharding": words("make_single_device_sharding"),
}
"""Functions whose `__name__` is another than in JAX: aliases of others, and a function that JAX itself misnames."""
MORE = "takes what JAX takes, and more"
LESS = "options of XLA's are not taken yet"
SIGNATURES: dict[str, dict[str, str]] = {
    "jax": {
        **dict.fromkeys(("checkpoint", "remat", "shard_map", "transfer_guard"), MORE),
        **dict.fromkeys(("jit", "vmap"), LESS),
    },
    "jax.debug": dict.fromkeys(("breakpoint", "print"), LESS),
    "jax.experimental.sparse.random": {"vmap": LESS},
    "jax.experimental.sparse.util": {"vmap": LESS},
    "jax.lax": {
        "dot": MORE,
        "mulhi": MORE,
        "random_gamma_grad": "JAX's says *args",
    },
    "jax.numpy": {
        "array": "JAX's says *args, to refuse them",
        **dict.fromkeys(("inner", "nanpercentile", "nanquantile", "quantile"), MORE),
        "set_printoptions": "NumPy's own function",
    },
    "jax.ref": {"swap": "JAX's says a parameter that it has for itself"},
}
if "fix_imports" in inspect.signature(numpy.save).parameters:  # of older NumPys; JAX passes NumPy's function on
    SIGNATURES["jax.numpy"] |= {"save": "without fix_imports, which was for Python 2"}
"""Functions whose parameters differ in names, kinds or defaults."""
UNLIKE: dict[str, str] = {
    r"no_tracing": "nothing is traced before it runs, so that nothing can be refused",
    r"named_call.*type\(x\)|array_(repr|str)": "the class is called Array, and not ArrayImpl",
    r"einsum_path": "a list and a text, as NumPy's; JAX's is an object of opt_einsum's",
    r"2\*\*33": "arrays of many gigabytes, which JAX describes without making them",
    r"lax\.reduce.*x\*y\+1": "a function that is not associative: the order of its calls is undefined",
    r"jnp\.cross\(A\(\(3,\)\),A\(\(3,\)\)\)": "zero exactly; XLA fuses products with sums and leaves a rounding error",
    r"^\(.*\)\(jax\.ShapeDtypeStruct": "a shape is no value: some of JAX's transformations take it by accident",
    r"repeat\(.*, -1,.*total": "negative repeats, which are meaningless where the length is given",
    r"(jit|grad)\(lambda x.*: x\[A\(.*'bool'\)": "arrays made inside jitted functions stay at hand, and can be masks",
    r"special\.expn": "1 / (n - 1) at 0, as SciPy's; JAX's is 1 / n",
}
"""Generated expressions (`expressions.py`) that are left out, as they differ for a reason."""
ACCIDENTS: dict[str, str] = {
    "Cannot lower jaxpr": "the compiler under JAX refuses what JAX has let through",
    "Invalid integer data type 'V'": "JAX's tables lack integers of 4 bits",
    "Support for narrow-width integers is platform-dependent": "what JAX's machines can do",
    "Unsupported dtype float16": "what LAPACK's functions take, of which we have the results in half precision",
    "Unsupported dtype bfloat16": "what LAPACK's functions take, of which we have the results in half precision",
    "at least one array or dtype is required": "the Jacobian of a function of nothing, or whose result is nothing",
    "safe_map() argument 2": "a loop over lists of two lengths, where the operation itself would raise another class",
    "Non-hashable static arguments": "arguments by position are looked at before it is seen that one has a wrong name",
}
"""First words of JAX's errors that no program can mean, where whatever ours do is right."""
