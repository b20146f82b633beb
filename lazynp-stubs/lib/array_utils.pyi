# Written by `python -m compat stubs`.
from numpy.lib.array_utils import *
from numpy.lib.array_utils import byte_bounds as byte_bounds
from numpy.lib.array_utils import normalize_axis_index as normalize_axis_index
from numpy.lib.array_utils import normalize_axis_tuple as normalize_axis_tuple
