"""The modules whose functions users call: what these raise ends at the user's line (`lazynp.tracebacks.bounded`).

Functions of ours call one another without a boundary: they have imported one another before `close_doors` runs, as the
last thing that importing `lazynp.jax` does. Public modules that are imported later call `bound_all` themselves.
"""

from __future__ import annotations

import sys

from ..tracebacks import bound_all, bound_methods, bounded
from .at import IndexUpdateRef
from .hot_calls import Cold, KnownCall
from .jitted_names import jitted_of
from .linear_maps import LinearMap
from .random.keys import PRNGKeyArray
from .references import At, Ref, TransformedRef
from .shown_calls import ShownCall

PUBLIC = (
    "ad_checkpoint", "api_util", "core", "custom_batching", "custom_derivatives", "debug", "distributed", "dlpack",
    "dtypes", "errors", "experimental", "experimental.checkify", "experimental.mesh_utils",
    "experimental.shard_map", "export", "ffi", "image", "lax", "lax.linalg", "monitoring", "nn", "nn.initializers",
    "numpy", "numpy.fft", "numpy.linalg", "ops", "profiler", "random", "ref", "sharding", "stages", "tree",
    "tree_util",
)  # fmt: skip
FOLDERS = ("scipy", "interpreters")
"""Packages all of whose modules are public."""
OBJECTS = (PRNGKeyArray, IndexUpdateRef, Ref, At, TransformedRef, LinearMap)
"""Classes without a public name, whose objects users have."""


def close_doors(package: str) -> None:
    """Have the errors of all public functions that have been imported leave this package, and those of methods but for
    the arrays' operators and NumPy's methods, which see to it themselves."""
    but = (f"{package}.numpy.methods", f"{package}.numpy.operators")
    public = []
    for name, module in list(sys.modules.items()):
        path = name.removeprefix(f"{package}.")
        if name == package or (path != name and (path in PUBLIC or path.split(".")[0] in FOLDERS)):
            public.append(vars(module))
            for function, said in jitted_of(path, vars(module)):
                known = KnownCall(function) if said.hot else None
                bounded(function, known, Cold, ShownCall(function, said.shown) if said.shown else None)
    for names in public:
        bound_all(names, but)
    for cls in OBJECTS:
        bound_methods(cls)
