# Written by `python -m compat stubs`.
from numpy.lib.scimath import *
from numpy.lib.scimath import arccos as arccos
from numpy.lib.scimath import arcsin as arcsin
from numpy.lib.scimath import arctanh as arctanh
from numpy.lib.scimath import log as log
from numpy.lib.scimath import log10 as log10
from numpy.lib.scimath import log2 as log2
from numpy.lib.scimath import logn as logn
from numpy.lib.scimath import power as power
from numpy.lib.scimath import sqrt as sqrt
