# Written by `python -m compat stubs`.

from . import backend as backend
from . import core as core
from . import linear_util as linear_util
from . import random as random
from . import source_info_util as source_info_util
