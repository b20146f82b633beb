"""`jax.lax`: the operators under `jax.numpy`, without promotion; control flow; convolutions, windows, gather and
scatter."""

from ..creation_places import place_results as _place_results
from ..exchanges import precv, psend, ragged_all_to_all
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
)
from ..sharding_constraints import with_sharding_constraint
from . import linalg
from .composites import *
from .contraction import *
from .control import *
from .convolution import *
from .elementwise import *
from .indexing import *
from .others import *
from .pieces import *
from .primitive_rules import rng_uniform
from .primitives import *
from .ragged import *
from .reductions import *
from .shapes import *
from .solves import *
from .windows import *

_place_results(globals())
