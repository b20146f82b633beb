"""Control flow behind the JAX door: `api.control` with this door's arrays."""

from __future__ import annotations

from ...api import control
from ...api.handles import through
from ..array import door
from .call import public

associative_scan = public(through(control.associative_scan, door))
cond = public(through(control.cond, door))
fori_loop = public(through(control.fori_loop, door))
map = public(through(control.map, door))
scan = public(through(control.scan, door))
switch = public(through(control.switch, door))
while_loop = public(through(control.while_loop, door))

__all__ = ["associative_scan", "cond", "fori_loop", "map", "scan", "switch", "while_loop"]
