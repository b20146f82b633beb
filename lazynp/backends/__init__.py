"""Graph -> callable. `kernel` (the unit of compilation), `numpy` (oracle and interpreter of cold kernels), `torch`
(Inductor, in a process of its own; eager on other devices), `artifacts` (the disk cache), `compiler` (the client of the
compiler process). Imports only `graph`.
"""
