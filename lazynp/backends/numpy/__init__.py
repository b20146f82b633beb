"""The backend that always works: NumPy's kernels, block by block in cache and on all cores, bit-equal to NumPy."""
