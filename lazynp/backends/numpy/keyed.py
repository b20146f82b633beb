"""Keyed randomness in NumPy's array namespace: importing this module makes the lowerings of `ops.random` work.

It stands apart since the NumPy door has no use for it, and ml_dtypes need not be loaded there.
"""

from __future__ import annotations

from .namespace import xp
from .rejection import random_binomial, random_gamma, random_poisson
from .samplers import (
    random_between,
    random_bits,
    random_function,
    random_integers,
    random_order,
    random_power,
    random_sample,
)
from .threefry import key_fold_in, key_seed, key_split

OWN = (
    key_fold_in,
    key_seed,
    key_split,
    random_between,
    random_binomial,
    random_bits,
    random_function,
    random_gamma,
    random_integers,
    random_order,
    random_poisson,
    random_power,
    random_sample,
)
vars(xp).update({f.__name__: f for f in OWN})
