"""How much of NumPy lazynp is: reports, never imported by lazynp itself.

python -m compat names    the public names of each NumPy namespace, and which way lazynp has them
"""
