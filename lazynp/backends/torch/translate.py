"""A kernel to C++: Inductor's lowering, and what is written around it.

The part of the compiler process that needs torch.
"""

from __future__ import annotations

import functools
from typing import Any

from lazynp.backends.artifacts import fused_products
from lazynp.backends.kernel import Geometry, KernelSpec
from lazynp.backends.support import compilable
from lazynp.backends.torch import planar, source, trace, wrapper
from lazynp.backends.torch.fused import FMA


@functools.cache
def _prepare() -> None:
    trace.install()
    FMA["wanted"] = fused_products()


def translate(spec: KernelSpec, geometry: Geometry, capability: str) -> tuple[str, dict[str, Any]]:
    """The C++ source, for vectors of that capability (see `build.Toolchain`), and what the main process has to know.
    Raises where there is none."""
    _prepare()
    trace.OPTIONS["cpp.simdlen"] = trace.VECTOR_BITS.get(capability, 1)
    reason = compilable(spec)
    if reason is not None:
        raise wrapper.Unexpected(reason)
    length = planar.block(spec, geometry)
    traced = trace.trace(spec, planar.in_blocks(geometry, length) if length else geometry, planar=length > 0)
    program = wrapper.parse(traced.code, frozenset(traced.symbols))
    text, alias_safe = source.generate(spec, geometry, traced, program)
    return text, {"alias_safe": alias_safe, "guards": [str(g) for g in traced.guards]}
