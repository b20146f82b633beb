# Written by `python -m compat stubs`.
from numpy.random.bit_generator import *
from numpy.random.bit_generator import BitGenerator as BitGenerator
from numpy.random.bit_generator import ISeedSequence as ISeedSequence
from numpy.random.bit_generator import ISpawnableSeedSequence as ISpawnableSeedSequence
from numpy.random.bit_generator import SeedSequence as SeedSequence
from numpy.random.bit_generator import SeedlessSeedSequence as SeedlessSeedSequence
