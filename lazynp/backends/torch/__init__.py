"""The torch backend. `namespace`, `complex`, `program`: NumPy's operations on torch values; `eager`: run them as they
are; `trace`, `wrapper`, `source`, `masks`, `translate`, `build`, `worker`: the compiler process, which turns a kernel
into a shared object.

Only what runs in the compiler process, or on a GPU, may import this package.
"""
