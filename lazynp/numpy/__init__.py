"""The NumPy door: `ndarray`, the ufuncs, and every public name of NumPy. Imports what is below it, never the
other door.

`array` (the handle), `index` (keys), `record` (handles to nodes and back), `operators`, `ufunc`; `rehost` executes
NumPy's own Python modules over `counterparts` of its compiled ones.
"""
