# Written by `python -m compat stubs`.

from . import cluster as cluster
from . import fft as fft
from . import integrate as integrate
from . import interpolate as interpolate
from . import linalg as linalg
from . import ndimage as ndimage
from . import signal as signal
from . import sparse as sparse
from . import special as special
from . import stats as stats
