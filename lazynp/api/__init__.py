"""User functions to graphs: tracing, `jit`, `grad`, `vmap`, custom rules, control flow, callbacks.

Works on functions written through either door: `lazynp.doors` knows the doors' arrays, which register themselves there.
Imports all layers below, and no door.
"""

from ..runtime import execute
