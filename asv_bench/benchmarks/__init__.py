"""Benchmarks for asv: `micro` (one operation), `programs` (the examples), `latency` (processes).

The library (NumPy, lazynp, JAX) is a parameter of each benchmark, so that what stands in one table was measured the
same way. asv runs them one after the other; `../interleaved.py` takes turns, for claims that are ratios.
"""
