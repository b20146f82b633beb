# Written by `python -m compat stubs`.
from numpy.polynomial.polyutils import *
from numpy.polynomial.polyutils import as_series as as_series
from numpy.polynomial.polyutils import format_float as format_float
from numpy.polynomial.polyutils import getdomain as getdomain
from numpy.polynomial.polyutils import mapdomain as mapdomain
from numpy.polynomial.polyutils import mapparms as mapparms
from numpy.polynomial.polyutils import trimcoef as trimcoef
from numpy.polynomial.polyutils import trimseq as trimseq
