"""Graph to graph: `jvp` (forward mode), `transpose` (reverse mode, and the transpose of linear graphs), `batch`,
`simplify`. Imports `ops`, `graph` and `tree`. The walks are iterative; an op's rules say all that depends on the op.
"""
