"""The expressions of `expressions.toml` on one device, and with arrays that are split over six: how an array lies
changes no value and no error, and no rule of shardings fails. `test_many_devices.py` runs this.

    python tests/jax/split_expressions.py SEED COUNT [explicit]

prints what differs. On explicit axes JAX's rules refuse some operands, which is no difference.
"""

from __future__ import annotations

import sys
from typing import Any

import expressions

import lazynp.jax
from lazynp.jax.splits import RefusedError

NOT_ALIKE = (
    "float8", "pmap", "jax.vmap", "lax.scan", "lax.map", "repeat", "lax.cond", "segment_", "fill_diagonal",
    "hyp1f1", "polyadd", "polysub",
)  # fmt: skip
"""What also says how its operands have to lie, with errors of other classes; and NaNs that NumPy cannot compare."""


class Split(expressions.Library):
    """Names of lazynp whose arrays are split along a mesh of 2 by 3 devices, each axis by the first that divides it."""

    def __init__(self, explicit: bool) -> None:
        super().__init__(lazynp.jax, False)
        kinds = lazynp.jax.sharding.AxisType
        types = (kinds.Explicit if explicit else kinds.Auto,) * 2
        self.mesh = lazynp.jax.make_mesh((2, 3), ("x", "y"), axis_types=types)

    def array(self, *args: Any, **kwargs: Any) -> Any:
        x = super().array(*args, **kwargs)
        free, spec = dict(self.mesh.shape), []
        for n in x.shape:
            spec.append(next((axis for axis, size in free.items() if n and n % size == 0), None))
            free.pop(spec[-1], None)
        where = lazynp.jax.NamedSharding(self.mesh, lazynp.jax.P(*spec))
        return lazynp.jax.device_put(x, where) if x.ndim else x


def main(seed: int, count: int, explicit: bool) -> None:
    """Print each expression that differs, and how many were tried."""
    lazynp.jax.config.update("jax_num_cpu_devices", 6)
    whole, split = expressions.Library(lazynp.jax, False), Split(explicit)
    texts = [t for t in expressions.drawn(seed, count) if not any([word in t for word in NOT_ALIKE])]
    for text in texts:
        expected, found = whole.outcome(text), split.outcome(text)
        if explicit and isinstance(found, RefusedError):
            continue
        wrong = expressions.compared(expected, found)
        if wrong is not None:
            print(f"{text.strip()}: {wrong.kind}: {wrong.text}")
    print(len(texts), "tried")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] == ["explicit"])
