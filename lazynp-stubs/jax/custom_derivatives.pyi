# Written by `python -m compat stubs`.

from .._transformations import closure_convert as closure_convert
from .._transformations import custom_gradient as custom_gradient
from .._transformations import custom_jvp as custom_jvp
from .._transformations import custom_vjp as custom_vjp
