"""Dtypes, strings, dates, files, testing."""

import numpy as np
import numpy.ma as ma
import numpy.testing as npt
from numpy.lib.stride_tricks import sliding_window_view

people = np.array([("Ada", 36), ("Alan", 41)], dtype=[("name", "U10"), ("age", "i4")])
ages = people["age"].astype(np.float64)
masked = ma.masked_greater(ages, 40)
print(masked.filled(0.0), masked.count())
windows = sliding_window_view(np.arange(10), 3)
days = np.arange(np.datetime64("2026-01-01"), np.datetime64("2026-02-01"))
npt.assert_allclose(windows.sum(axis=1), np.convolve(np.arange(10), np.ones(3), "valid"))
np.save("ages.npy", ages)
text = np.char.upper(people["name"])
np.float65(3.0)  # no such type
ages.astype("float64", copying=True)  # no such argument
npt.assert_equals(1, 1)  # no such function
npt.assert_allclose(ages)  # an argument missing
with np.errstate(divide="whatever"):  # no such word
    print(ages / 0)
np.int32(3).items()  # no such method
