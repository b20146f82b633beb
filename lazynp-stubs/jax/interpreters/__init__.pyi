# Written by `python -m compat stubs`.

from . import ad as ad
from . import batching as batching
from . import mlir as mlir
from . import partial_eval as partial_eval
from . import pxla as pxla
from . import xla as xla
