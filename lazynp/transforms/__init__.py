"""Graph to graph: `jvp` (forward mode), `transpose` (reverse mode, and the transpose of linear graphs), `batch`,
`simplify`. Imports `ops`, `graph` and `tree`. The walks are iterative; an op's rules say all that depends on the op.
"""

from ..ops.rewrites import rewrites
from . import batch, jvp, simplify, transpose

rewrites.differentiable, rewrites.jvp, rewrites.transpose = jvp.differentiable, jvp.jvp, transpose.transpose
rewrites.batch, rewrites.simplify = batch.batch, simplify.simplify
