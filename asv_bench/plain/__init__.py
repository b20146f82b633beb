"""Programs in plain NumPy text, as their users write them: what `../program_table.py` runs.

Each takes the module as its first argument, so that one text runs on NumPy and on lazynp. `by_hand` has the same
programs in JAX, most of them; it is imported only where JAX is wanted.
"""

from . import images, nests, particles, recurrences, stencils
from .program import PROGRAMS, SIZES, TINY, Program, apart, as_arrays

__all__ = ["MODULES", "PROGRAMS", "SIZES", "TINY", "Program", "apart", "as_arrays"]

MODULES = (stencils, recurrences, nests, images, particles)  # importing them fills PROGRAMS
