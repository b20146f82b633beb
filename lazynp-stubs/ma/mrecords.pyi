# Written by `python -m compat stubs`.
from numpy.ma.mrecords import *
from numpy.ma.mrecords import MaskedRecords as MaskedRecords
from numpy.ma.mrecords import addfield as addfield
from numpy.ma.mrecords import fromarrays as fromarrays
from numpy.ma.mrecords import fromrecords as fromrecords
from numpy.ma.mrecords import fromtextfile as fromtextfile
from numpy.ma.mrecords import mrecarray as mrecarray
