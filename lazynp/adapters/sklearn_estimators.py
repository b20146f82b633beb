"""scikit-learn: parameters of estimators, for some of which NumPy's own type is asked when they are fitted."""

from __future__ import annotations

import functools
from typing import Any

from .patches import Patches, numpy_of


def adapt(base: Any, patches: Patches) -> None:
    validate = base.BaseEstimator._validate_params

    @functools.wraps(validate)
    def _validate_params(self: Any) -> None:
        for name, value in self.get_params(deep=False).items():
            taken = numpy_of(value)
            if taken is not value:
                setattr(self, name, taken)
        validate(self)

    patches.put(base.BaseEstimator, "_validate_params", _validate_params)
