# Written by `python -m compat stubs`.
from collections.abc import Sequence
from typing import Any
from ..stages import Compiled
from .. import Device
from ..tree_util import PyTreeDef

annotations: Any
def deserialize_and_load(serialized: bytes, in_tree: PyTreeDef, out_tree: PyTreeDef, backend: str | None = None, execution_devices: Sequence[Device] | None = None) -> Compiled: ...
def serialize(compiled: Compiled) -> tuple[bytes, PyTreeDef, PyTreeDef]: ...
