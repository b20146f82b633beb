# Written by `python -m compat stubs`.
from numpy.lib.npyio import *
from numpy.lib.npyio import DataSource as DataSource
from numpy.lib.npyio import NpzFile as NpzFile
