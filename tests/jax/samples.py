"""Digests of what `lazynp.jax.random` draws. They are stored in `samples.json`, so that each machine checks its bits
against all others', with no JAX beside it. As a program it prints them; with `--write` it stores them.

Left out are samplers that factor matrices (`orthogonal`, `multivariate_normal`): their last bits are LAPACK's.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from random_cases import FLOATS, OTHERS, Case

import lazynp.jax as jax

STORED = Path(__file__).with_name("samples.json")
FACTORING = ("orthogonal", "multivariate_normal")
DTYPES: tuple[Any, ...] = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)
LARGE = tuple([Case(n, ((3000,),)) for n in ("uniform", "normal", "exponential", "gumbel", "cauchy", "logistic")])
MORE = (
    *LARGE,
    *[Case("gamma", (a, (500,))) for a in (0.05, 0.7, 3.0, 900.0)],
    Case("truncated_normal", (-2.0, 2.0, (1000,))),
    Case("pareto", (1.5, (500,))),
    Case("weibull_min", (2.0, 0.7, (500,))),
    Case("lognormal", (1.5, (500,))),
    Case("generalized_normal", (0.8, (500,))),
    Case("ball", (3, 1.5, (100,))),
)


def digest(x: Any) -> str:
    """Of shape, dtype and bits; which NaN it is depends on the processor."""
    x = np.asarray(x)
    parts = x.view(x.real.dtype) if x.dtype.kind == "c" else x
    if parts.dtype.kind not in "biu":
        parts = np.where(np.isnan(parts.astype(np.float64)), np.asarray(np.nan, parts.dtype), parts)
    text = f"{x.shape} {x.dtype} ".encode() + np.ascontiguousarray(parts).tobytes()
    return hashlib.sha256(text).hexdigest()[:16]


def digests() -> dict[str, str]:
    """By sampler, arguments and dtype."""
    found: dict[str, str] = {}

    def add(case: Case, seed: int, **kwargs: Any) -> None:
        key = jax.random.key(seed)
        name = f"{case} {np.dtype(kwargs['dtype']).name}" if kwargs else str(case)
        found[name] = digest(getattr(jax.random, case.name)(key, *case.args, **case.kwargs, **kwargs))

    with jax.enable_x64(True):
        for case in (*FLOATS, *MORE):
            if case.name not in FACTORING:
                for dtype in DTYPES:
                    narrow = any(isinstance(a, np.ndarray) for a in case.args) and np.dtype(dtype).itemsize < 4
                    if not narrow:  # their parameters are float32, and some samplers do not narrow them
                        add(case, 7, dtype=dtype)
        for case in (*OTHERS, Case("lognormal", (0.5, (99,)), {"dtype": np.complex64})):
            if case.name not in FACTORING:
                add(case, 8)
        with jax.threefry_partitionable(False):
            for case in (Case("normal", ((99,),)), Case("gamma", (0.7, (99,))), Case("poisson", (30.0, (99,)))):
                found[f"original {case}"] = digest(getattr(jax.random, case.name)(jax.random.key(9), *case.args))
    return found


if __name__ == "__main__":
    text = json.dumps(digests(), indent=0, sort_keys=True) + "\n"
    if "--write" in sys.argv:
        STORED.write_text(text)
    else:
        sys.stdout.write(text)
