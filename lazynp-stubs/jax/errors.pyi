# Written by `python -m compat stubs`.
from typing import Any

ConcretizationTypeError: Any
InconclusiveDimensionOperation: Any
JAXIndexError: Any
JAXTypeError: Any
JaxRuntimeError: Any
JaxprTypeError: Any
KeyReuseError: Any
NonConcreteBooleanIndexError: Any
TracerArrayConversionError: Any
TracerBoolConversionError: Any
TracerIntegerConversionError: Any
UnexpectedTracerError: Any
