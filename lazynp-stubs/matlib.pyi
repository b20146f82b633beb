# Written by `python -m compat stubs`.
from numpy.matlib import *
from numpy.matlib import empty as empty
from numpy.matlib import eye as eye
from numpy.matlib import identity as identity
from numpy.matlib import ones as ones
from numpy.matlib import rand as rand
from numpy.matlib import randn as randn
from numpy.matlib import repmat as repmat
from numpy.matlib import zeros as zeros
