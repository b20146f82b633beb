"""The core: abstract values, ops, nodes, walks over them. Imports nothing of lazynp.

`aval` (shape, dtype, weak), `op` (what an operation knows of itself), `node` (one application of an op), `walk`
(iterative traversal), `verify` (the legality of a graph, checked in tests), `show` (graphs as text), `kernel` (the
unit of compilation), `errors`.
"""
