# Written by `python -m compat stubs`.
from collections.abc import Callable
from typing import Any

from . import buffer_callback as buffer_callback
from . import checkify as checkify
from . import compilation_cache as compilation_cache
from . import compute_on as compute_on
from . import custom_partitioning as custom_partitioning
from . import hijax as hijax
def io_callback(callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, sharding: Any = None, ordered: bool = False, **kwargs: Any) -> Any: ...
from . import jet as jet
from . import layout as layout
from . import mesh_utils as mesh_utils
from . import multihost_utils as multihost_utils
from . import ode as ode
from . import pjit as pjit
from . import random as random
from . import rnn as rnn
from . import scheduling_groups as scheduling_groups
from . import serialize_executable as serialize_executable
from . import shard_alike as shard_alike
from . import shard_map as shard_map
from . import sparse as sparse
from . import xla_metadata as xla_metadata
