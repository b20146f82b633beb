"""The core: abstract values, ops, nodes, walks over them. Imports nothing of lazynp.

`aval` (shape, dtype, weak), `op` (what an operation knows of itself), `node` (one application of an op), `walk`
(iterative traversal), `show` (graphs as text), `function` (a graph as a value), `errors`. What makes a graph legal is
written down in `tests/verify.py`.
"""
