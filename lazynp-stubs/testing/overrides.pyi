# Written by `python -m compat stubs`.
from numpy.testing.overrides import *
from numpy.testing.overrides import allows_array_function_override as allows_array_function_override
from numpy.testing.overrides import allows_array_ufunc_override as allows_array_ufunc_override
from numpy.testing.overrides import get_overridable_numpy_array_functions as get_overridable_numpy_array_functions
from numpy.testing.overrides import get_overridable_numpy_ufuncs as get_overridable_numpy_ufuncs
