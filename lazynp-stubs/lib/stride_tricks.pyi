# Written by `python -m compat stubs`.
from numpy.lib.stride_tricks import *
from numpy.lib.stride_tricks import as_strided as as_strided
from numpy.lib.stride_tricks import sliding_window_view as sliding_window_view
