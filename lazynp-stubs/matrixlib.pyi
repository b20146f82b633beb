# Written by `python -m compat stubs`.
from numpy.matrixlib import *
from numpy.matrixlib import asmatrix as asmatrix
from numpy.matrixlib import bmat as bmat
from numpy.matrixlib import matrix as matrix
