# Written by `python -m compat stubs`.
from typing import Any

def random_seed(seeds: Any, impl: Any) -> Any: ...
def seed_with_impl(impl: Any, seed: Any) -> Any: ...
threefry2x32_p: Any
threefry_prng_impl: Any
