"""`jax.lax`: the operators under `jax.numpy`, without promotion; control flow; convolutions, windows, gather and
scatter."""

from ..parallel import (
    all_gather,
    all_to_all,
    axis_index,
    axis_size,
    pbroadcast,
    pcast,
    pmax,
    pmean,
    pmin,
    ppermute,
    pshuffle,
    psum,
    psum_scatter,
    pswapaxes,
    pvary,
)
from .contraction import *  # noqa: F403
from .control import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .indexing import *  # noqa: F403
from .reductions import *  # noqa: F403
from .shapes import *  # noqa: F403
