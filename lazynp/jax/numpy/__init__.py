"""`jax.numpy`: NumPy's functions on immutable arrays, with JAX's dtypes, promotion and errors."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

import numpy as _np

from .. import at as _at
from .. import dtypes as _dtypes
from .. import indexing as _indexing
from ..array import Array as ndarray
from ..creation_places import place_results as _place_results
from ..dtypes import can_cast, finfo, iinfo, isdtype, promote_types
from . import elementwise as _elementwise
from . import fft, linalg
from . import methods as _methods
from . import operators as _operators
from . import types as _types
from . import ufunc as _ufunc
from .creation import (
    arange,
    array,
    asarray,
    astype,
    copy,
    empty,
    empty_like,
    eye,
    from_dlpack,
    frombuffer,
    fromfile,
    fromiter,
    fromstring,
    full,
    full_like,
    identity,
    linspace,
    logspace,
    ones,
    ones_like,
    tri,
    zeros,
    zeros_like,
)
from .joining import (
    append,
    array_split,
    block,
    column_stack,
    concat,
    concatenate,
    dsplit,
    dstack,
    hsplit,
    hstack,
    split,
    stack,
    unstack,
    vsplit,
    vstack,
)
from .matrices import (
    c_,
    diag,
    diag_indices,
    diag_indices_from,
    diagflat,
    diagonal,
    fill_diagonal,
    fromfunction,
    indices,
    ix_,
    mask_indices,
    meshgrid,
    mgrid,
    ogrid,
    r_,
    trace,
    tril,
    tril_indices,
    tril_indices_from,
    triu,
    triu_indices,
    triu_indices_from,
    vander,
)
from .misc import (
    allclose,
    array_equal,
    array_equiv,
    array_repr,
    array_str,
    geomspace,
    iscomplex,
    iscomplexobj,
    isreal,
    isrealobj,
    isscalar,
    iterable,
    load,
    packbits,
    save,
    savez,
    unpackbits,
)
from .namespace_info import __array_api_version__, __array_namespace_info__
from .nan_reductions import nanmax, nanmean, nanmin, nanprod, nanstd, nansum, nanvar
from .polynomial import poly, polyadd, polyder, polydiv, polyfit, polyint, polymul, polysub, polyval, roots, trim_zeros
from .products import (
    cross,
    dot,
    einsum,
    einsum_path,
    inner,
    kron,
    matmul,
    matvec,
    outer,
    tensordot,
    vdot,
    vecdot,
    vecmat,
)
from .reductions import (
    all,
    amax,
    amin,
    argmax,
    argmin,
    count_nonzero,
    cumprod,
    cumsum,
    cumulative_prod,
    cumulative_sum,
    max,
    mean,
    min,
    nanargmax,
    nanargmin,
    nancumprod,
    nancumsum,
    prod,
    ptp,
    std,
    sum,
    var,
)
from .reductions import any_ as any
from .rounding import angle, around, nan_to_num
from .rounding import round_ as round
from .select import (
    apply_along_axis,
    apply_over_axes,
    argwhere,
    choose,
    compress,
    delete,
    extract,
    flatnonzero,
    insert,
    nonzero,
    piecewise,
    place,
    put,
    put_along_axis,
    ravel_multi_index,
    select,
    take,
    take_along_axis,
    unravel_index,
    where,
)
from .shape import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    expand_dims,
    flip,
    fliplr,
    flipud,
    matrix_transpose,
    moveaxis,
    ndim,
    permute_dims,
    ravel,
    repeat,
    reshape,
    resize,
    roll,
    rollaxis,
    rot90,
    shape,
    size,
    squeeze,
    swapaxes,
    tile,
    transpose,
)
from .signal import bartlett, blackman, convolve, correlate, hamming, hanning, kaiser, pad
from .sorting import (
    argpartition,
    argsort,
    digitize,
    intersect1d,
    isin,
    lexsort,
    partition,
    searchsorted,
    setdiff1d,
    setxor1d,
    sort,
    sort_complex,
    union1d,
    unique,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from .statistics import (
    average,
    bincount,
    corrcoef,
    cov,
    diff,
    ediff1d,
    gradient,
    histogram,
    histogram2d,
    histogram_bin_edges,
    histogramdd,
    interp,
    median,
    nanmedian,
    nanpercentile,
    nanquantile,
    percentile,
    quantile,
    trapezoid,
    unwrap,
)
from .ufunc import frompyfunc, ufunc, vectorize


def issubdtype(arg1: _Any, arg2: _Any) -> bool:
    """Whether a dtype is another, or below it in NumPy's hierarchy of types."""
    return _dtypes.issubdtype(arg1, arg2)


def result_type(*args: _Any) -> _Any:
    """The dtype that arrays, scalars and dtypes promote to. Raises TypePromotionError where there is none."""
    return _dtypes.result_type(*args)


globals().update(_elementwise.table)
globals().update(_ufunc.ufuncs)
globals().update(_types.scalar_types)
get_printoptions, set_printoptions, printoptions = _np.get_printoptions, _np.set_printoptions, _np.printoptions
index_exp, s_ = _np.index_exp, _np.s_
ComplexWarning = _np.exceptions.ComplexWarning
dtype = _np.dtype
newaxis = None
e, pi, inf, nan, euler_gamma = _np.e, _np.pi, _np.inf, _np.nan, _np.euler_gamma
generic, number, inexact, floating, complexfloating = (
    _np.generic,
    _np.number,
    _np.inexact,
    _np.floating,
    _np.complexfloating,
)
integer, signedinteger, unsignedinteger, character, flexible, object_ = (
    _np.integer,
    _np.signedinteger,
    _np.unsignedinteger,
    _np.character,
    _np.flexible,
    _np.object_,
)

_place_results(globals())

if _TYPE_CHECKING:
    __getattr__: _Any  # the names that come from tables
