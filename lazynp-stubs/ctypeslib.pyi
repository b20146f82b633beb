# Written by `python -m compat stubs`.
from numpy.ctypeslib import *
from numpy.ctypeslib import as_array as as_array
from numpy.ctypeslib import as_ctypes as as_ctypes
from numpy.ctypeslib import as_ctypes_type as as_ctypes_type
from numpy.ctypeslib import c_intp as c_intp
from numpy.ctypeslib import load_library as load_library
from numpy.ctypeslib import ndpointer as ndpointer
