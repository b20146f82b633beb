"""What the signatures of the JAX door's functions do not say: types of parameters, by their names, and of results.

A function of arrays takes what its parameters' names say and gives an `Array`, but where these tables say otherwise.
"""

from __future__ import annotations


def words(text: str) -> list[str]:
    return text.split()


# Modules whose functions are functions of arrays.
OF_ARRAYS = ("numpy", "lax", "nn", "random", "scipy", "image", "ops")

KINDS = {
    "ArrayLike": """
        A B C E H M T Z Zxx a a1 a2 a_matrix alpha ar1 ar2 array arr arrs ary atol b base beta bias c c_matrix code_book
        concentration condition cov cval d data default df dfden dfnum dl dx e element epsilon f fill_value filt fp fs
        h idxs in1 in2 initial input key key_bits_array keys lam left lhs like_arr lmbda loc logits m mask maxval mean
        minval n nan neginf negative_slope obs on_false on_true operand p padding_value period phi pivots posinf q
        r_matrix rcond repeats rhs right rtol s sample scale scatter_indices segment_ids seq_of_zeros sigma start
        stddev stop step taus test_elements theta to_begin to_end tol u update updates v val vals values variance
        w w_vector weights where which x x0 x1 x2 xp y z append aweights fweights prepend sorter discont arys
        varargs xi query key_value_seq_lengths query_seq_lengths lower upper ind src cases init_value rtol seed
    """,
    "ArrayLike | Sequence[ArrayLike]": "arrays tup",
    "DTypeLike": "dtype preferred_element_type index_dtype new_dtype out_dtype",
    "Axis": "axis axes",
    "Shape": "shape new_shape slice_sizes",
    "Sequence[int]": "window_strides strides dimensions rhs_dilation lhs_dilation broadcast_dimensions permutation",
    "int": "num N",
    "None": "out",
}
PARAMETERS = {name: kind for kind, names in KINDS.items() for name in names.split()}
# Parameters that mean something else in some functions: type by "module.function.parameter".
ONE_PARAMETER = {
    "lax.cond.operand": "Any",
    "lax.switch.operand": "Any",
    "lax.create_token._": "Any",
    "lax.ragged_all_to_all.operand": "ArrayLike",
    "lax.rng_bit_generator.shape": "Sequence[int]",
    "numpy.array.object": "Any",
    "numpy.atleast_1d.arys": "ArrayLike",
    "numpy.block.arrays": "Any",
    "numpy.bincount.length": "int | None",
    "numpy.einsum_path.operands": "Any",
    "numpy.from_dlpack.x": "Any",
    "numpy.insert.obj": "ArrayLike | slice",
    "numpy.piecewise.condlist": "Any",
    "numpy.interp.left": "ArrayLike | str | None",
    "numpy.interp.right": "ArrayLike | str | None",
    "numpy.asarray.a": "Any",
    "numpy.astype.x": "ArrayLike",
    "numpy.sort.order": "None",
    "numpy.unravel_index.shape": "Shape",
    "numpy.cov.y": "ArrayLike | None",
    "numpy.linalg.norm.axis": "int | tuple[int, ...] | None",
    "numpy.linalg.multi_dot.arrays": "Sequence[ArrayLike]",
    "numpy.lexsort.keys": "ArrayLike | Sequence[ArrayLike]",
    "numpy.iscomplexobj.x": "Any",
    "numpy.isrealobj.x": "Any",
    "numpy.isscalar.element": "Any",
    "numpy.ndim.a": "ArrayLike",
    "numpy.fft.fft2.s": "Shape | None",
    "numpy.fft.fftn.s": "Shape | None",
    "numpy.fft.ifft2.s": "Shape | None",
    "numpy.fft.ifftn.s": "Shape | None",
    "numpy.fft.irfft2.s": "Shape | None",
    "numpy.fft.irfftn.s": "Shape | None",
    "numpy.fft.rfft2.s": "Shape | None",
    "numpy.fft.rfftn.s": "Shape | None",
    "scipy.fft.dctn.s": "Shape | None",
    "scipy.fft.idctn.s": "Shape | None",
    "scipy.stats.norm.interval.scale": "ArrayLike",
    "random.permutation.x": "int | ArrayLike",
    "random.choice.a": "int | ArrayLike",
    "random.multivariate_normal.cov": "ArrayLike",
}
# Functions of pytrees, of functions, and of names in modules of functions of arrays: their parameters are of any type
# and so are their results, unless RESULTS has them.
ANY = {
    "lax": """
        all_gather all_to_all associative_scan axis_index axis_size composite cond custom_linear_solve custom_root
        fori_loop map optimization_barrier pbroadcast pcast platform_dependent pmax pmean pmin ppermute pshuffle psum
        psum_scatter pswapaxes pvary reduce reduce_window scan stop_gradient switch while_loop with_sharding_constraint
        dce_sink
    """,
    "numpy": "finfo iinfo get_printoptions set_printoptions printoptions vectorize load save savez can_cast",
    "scipy.optimize": "minimize",
    "scipy.integrate": "",
    "scipy.sparse.linalg": "bicgstab cg gmres",
}
OF_ANYTHING = {f"{module}.{name}" for module, names in ANY.items() for name in names.split()}

_LINALG = {
    "eig": ("EigResult", ("eigenvalues", "eigenvectors")),
    "eigh": ("EighResult", ("eigenvalues", "eigenvectors")),
    "qr": ("QRResult", ("Q", "R")),
    "slogdet": ("SlogdetResult", ("sign", "logabsdet")),
    "svd": ("SVDResult", ("U", "S", "Vh")),
}
_PAIR, _TRIPLE = "tuple[Array, Array]", "tuple[Array, Array, Array]"
_ONE_OR_PAIR, _ONE_OR_TRIPLE = f"Array | {_PAIR}", f"Array | {_TRIPLE}"
RESULTS = {
    **{
        f"numpy.{name}": _PAIR
        for name in words("divmod frexp histogram modf polydiv tril_indices_from triu_indices_from")
    },
    **{f"numpy.{name}": "Array | list[Array]" for name in words("atleast_1d atleast_2d atleast_3d gradient")},
    **{f"numpy.{name}": "list[Array]" for name in words("array_split dsplit hsplit split vsplit broadcast_arrays")},
    **{f"numpy.{name}": "tuple[Array, ...]" for name in words("ix_ nonzero unravel_index unstack")},
    "numpy.average": _ONE_OR_PAIR,
    "numpy.einsum_path": "tuple[list[tuple[int, ...]], Any]",
    "numpy.finfo": "Any",
    "numpy.frompyfunc": "ufunc",
    "numpy.get_printoptions": "Any",
    "numpy.histogram2d": _TRIPLE,
    "numpy.histogramdd": "tuple[Array, list[Array]]",
    "numpy.iinfo": "Any",
    "numpy.indices": "Array | tuple[Array, ...]",
    "numpy.intersect1d": _ONE_OR_TRIPLE,
    "numpy.linspace": _ONE_OR_PAIR,
    "numpy.meshgrid": "list[Array]",
    "numpy.polyfit": "Array | tuple[Array, ...]",
    "numpy.printoptions": "Any",
    "numpy.promote_types": "np.dtype[Any]",
    "numpy.result_type": "np.dtype[Any]",
    "numpy.save": "None",
    "numpy.savez": "None",
    "numpy.set_printoptions": "None",
    "numpy.size": "int",
    "numpy.unique": "Any",
    "numpy.unique_all": "Any",
    "numpy.unique_counts": "Any",
    "numpy.unique_inverse": "Any",
    "numpy.vectorize": "Callable[..., Any]",
    "numpy.where": "Any",
    "numpy.load": "Any",
    **{f"numpy.linalg.{name}": result for name, (result, _) in _LINALG.items()},
    "numpy.linalg.lstsq": "tuple[Array, Array, Array, Array]",
    "numpy.linalg.qr": "Array | QRResult",
    "lax.approx_max_k": _PAIR,
    "lax.approx_min_k": _PAIR,
    "lax.axis_size": "int",
    "lax.axis_index": "Array",
    "lax.linalg.eig": "list[Array]",
    "lax.linalg.eigh": _PAIR,
    "lax.linalg.hessenberg": _PAIR,
    "lax.linalg.lu": _TRIPLE,
    "lax.linalg.qr": f"{_PAIR} | {_TRIPLE}",
    "lax.linalg.schur": _PAIR,
    "lax.linalg.svd": _ONE_OR_TRIPLE,
    "lax.linalg.tridiagonal": "tuple[Array, Array, Array, Array]",
    "lax.sort": "Array | tuple[Array, ...]",
    "lax.sort_key_val": _PAIR,
    "lax.split": "Sequence[Array]",
    "lax.top_k": _PAIR,
    "lax.rng_bit_generator": _PAIR,
    "lax.unstack": "tuple[Array, ...]",
    "nn.logsumexp": _ONE_OR_PAIR,
    "random.key_impl": "Any",
    "random.key_dtype": "Any",
    "scipy.cluster.vq.vq": _PAIR,
    "scipy.linalg.cho_factor": "tuple[Array, bool]",
    "scipy.linalg.eigh": _ONE_OR_PAIR,
    "scipy.linalg.eigh_tridiagonal": _ONE_OR_PAIR,
    "scipy.linalg.expm_frechet": _ONE_OR_PAIR,
    "scipy.linalg.funm": _ONE_OR_PAIR,
    "scipy.linalg.hessenberg": _ONE_OR_PAIR,
    "scipy.linalg.lu": f"{_PAIR} | {_TRIPLE}",
    "scipy.linalg.lu_factor": _PAIR,
    "scipy.linalg.polar": _PAIR,
    "scipy.linalg.qr": f"tuple[Array] | {_PAIR} | {_TRIPLE}",
    "scipy.linalg.qr_multiply": f"{_PAIR} | {_TRIPLE}",
    "scipy.linalg.rsf2csf": _PAIR,
    "scipy.linalg.schur": _PAIR,
    "scipy.linalg.svd": _ONE_OR_TRIPLE,
    "scipy.signal.csd": _PAIR,
    "scipy.signal.istft": _PAIR,
    "scipy.signal.stft": _TRIPLE,
    "scipy.signal.welch": _PAIR,
    "scipy.special.fresnel": _PAIR,
    "scipy.special.logsumexp": _ONE_OR_PAIR,
    "scipy.special.sici": _PAIR,
}
# Classes of results, of which the door has functions that make them and no name.
RESULT_CLASSES = {
    "numpy.linalg": [
        f"class {result}(NamedTuple):\n" + "".join(f"    {field}: Array\n" for field in fields)
        for result, fields in _LINALG.values()
    ]
}
# Functions whose result depends on the value of an argument, and one of NumPy's that has no signature before NumPy 2.4:
# whole stubs.
OVERLOADS = {
    "numpy.can_cast": """
def can_cast(from_: Any, to: Any, casting: str = "safe") -> builtins.bool: ...
""",
    "numpy.linalg.svd": """
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[True] = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> SVDResult: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool,
    compute_uv: Literal[False],
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array | SVDResult: ...
""",
    "numpy.linalg.qr": """
@overload
def qr(a: ArrayLike, mode: Literal["r"]) -> Array: ...
@overload
def qr(a: ArrayLike, mode: str = "reduced") -> Array | QRResult: ...
""",
    "numpy.linspace": """
@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: builtins.bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Array: ...
@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: builtins.bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = None,
    axis: int = 0,
    device: Any = None,
) -> tuple[Array, Array]: ...
""",
    "numpy.where": """
@overload
def where(
    condition: ArrayLike,
    x: None = None,
    y: None = None,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
) -> tuple[Array, ...]: ...
@overload
def where(
    condition: ArrayLike, x: ArrayLike, y: ArrayLike, /, *, size: int | None = None, fill_value: Any = None
) -> Array: ...
""",
    "numpy.average": """
@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: Literal[False] = False,
    keepdims: builtins.bool = False,
) -> Array: ...
@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    *,
    returned: Literal[True],
    keepdims: builtins.bool = False,
) -> tuple[Array, Array]: ...
""",
    **{
        f"{module}.logsumexp": """
@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: Literal[False] = False,
    where: ArrayLike | None = None,
) -> Array: ...
@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    *,
    return_sign: Literal[True],
    where: ArrayLike | None = None,
) -> tuple[Array, Array]: ...
"""
        for module in ("nn", "scipy.special")
    },
}
OPERATORS = words("add and floordiv lshift matmul mod mul or pow rshift sub truediv xor")
COMPARISONS = words("eq ne lt le gt ge")
