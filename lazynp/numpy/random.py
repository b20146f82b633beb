"""`lazynp.random`: NumPy's own generators, bit-exact, giving arrays of ours.

`Generator` and `RandomState` are subclasses of NumPy's. The functions of the module draw from NumPy's own global
state, so that a seed given here also holds for installed libraries. Bit generators and seed sequences are NumPy's as
they are.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import numpy.random as source
from numpy.random import mtrand
from numpy.random.bit_generator import ISeedSequence, ISpawnableSeedSequence

from .. import speed
from ..runtime.profile import profile
from ..tracebacks import boundary, bounded
from .array import Handle, Writes, ndarray
from .counterparts import Signature
from .dispatch import Function
from .draws import BITS as BIT_GENERATOR
from .draws import SHARED, ahead, in_turn
from .elements import element
from .host import PLAIN, host_function, public_module, to_host, unwrap, wrap_result
from .line_warnings import as_line

INPLACE = frozenset({"shuffle"})
OUT_PLACE = {"random": 2, "standard_normal": 2, "standard_exponential": 3, "standard_gamma": 3}
# Methods that ask others of self, and want NumPy's arrays of them: NumPy's own generator is asked.
BY_TWIN = {source.Generator: frozenset({"choice"}), source.RandomState: frozenset({"choice", "permutation"})}
STATE = frozenset({"seed", "get_state", "set_state"})  # methods of RandomState that draw nothing


def method_of(name: str, host: Callable[..., Any], by_twin: bool = False) -> Callable[..., Any]:
    """A method that draws: plain arguments go to NumPy as they are. by_twin: NumPy's own generator is asked."""
    own = vars(source.Generator).get(name) is host
    place = OUT_PLACE.get(name, sys.maxsize) if own else sys.maxsize

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        profile.draws[name] += 1
        if len(args) == place + 1 and "out" not in kwargs:
            args, kwargs = args[:place], {**kwargs, "out": args[place]}
        if own:
            drawn = self._drawn
            if drawn is not SHARED and (args or kwargs or drawn is not None):
                value = ahead(self, name, host, args, kwargs)
                if value is not None:
                    return value
        if by_twin:
            self = twin(self)
        if not kwargs and PLAIN.issuperset(map(type, args)):
            value = as_line(host, self, *args)
            return value if type(value) in PLAIN else shown(value)
        ours: list[Any] = []
        values = [to_host(element(a), ours) for a in args]
        named = {k: to_host(element(v), ours) for k, v in kwargs.items()}
        out = kwargs.get("out")
        with Writes() as to:
            if name in INPLACE and args:
                if isinstance(args[0], Handle) and type(args[0]) is not ndarray:
                    return shuffled(self, host, *args, **kwargs)
                values[0] = to(args[0])
                if not isinstance(args[0], (ndarray, list)):
                    return shuffled_sequence(self, host, values, named)
            if out is not None:
                named["out"] = to(out)
            value = as_line(host, self, *values, **named)
        return out if out is not None else shown(value, ours)

    call.__name__, call.__doc__ = name, host.__doc__
    call.__qualname__ = getattr(host, "__qualname__", name)
    call.__wrapped__ = host  # type: ignore[attr-defined]
    return call


def sized(host: Callable[..., Any]) -> int:
    """Which argument of a method that draws is the size, by its signature, which begins its text."""
    signature = re.match(r"\s*\w+\(([^)]*)\)", host.__doc__ or "")
    return speed.sized_by([part.partition("=")[0].strip() for part in signature[1].split(",")]) if signature else 0


def twin(self: Any) -> Any:
    """NumPy's own generator on the same bits, which one of ours keeps."""
    if type(self) in BY_TWIN:
        return self
    made = getattr(self, "_twin", None)
    if made is None:
        of_numpy = isinstance(self, source.Generator)
        made = source.Generator(BIT_GENERATOR.__get__(self)) if of_numpy else source.RandomState(self._bit_generator)
        self._twin = made
    return made


def shuffled_sequence(self: Any, host: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Something else than an array or a list: NumPy's warning is of the caller's line."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        host(self, *args, **kwargs)
    for warning in said:
        warnings.warn(warning.message, stacklevel=3 + (self is mtrand._rand))


def shuffled(self: Any, host: Callable[..., Any], x: Any, axis: int = 0) -> None:
    """A subclass is shuffled through its own indexing, which a masked array needs; in the order that NumPy draws."""
    if isinstance(self, source.RandomState) and x.ndim == 1 and x.dtype.hasobject:
        warnings.warn(OBJECTS, UserWarning, stacklevel=3 + (self is mtrand._rand))
    places = numpy.arange(x.shape[axis])
    host(self, places)
    turned = x.swapaxes(0, axis)
    turned[...] = turned[places]


OBJECTS = (
    "Shuffling a one dimensional array subclass containing objects gives incorrect results for most array "
    "subclasses.  Please use the new random number API instead: "
    "https://numpy.org/doc/stable/reference/random/index.html\nThe new API fixes this issue. This version will not "
    "be fixed due to stability guarantees of the API."
)


def shuffle(x: Any) -> None:
    """See `numpy.random.shuffle`."""
    RandomState.shuffle(mtrand._rand, x)


shuffle.__doc__, shuffle.__signature__ = mtrand.shuffle.__doc__, inspect.signature(mtrand.shuffle)  # type: ignore[attr-defined]


def reduced(self: Any) -> Any:
    """Pickling: NumPy's state, our class."""
    base: Any = source.Generator if isinstance(self, source.Generator) else source.RandomState
    if base is source.Generator:
        in_turn(self)
    _, args, *rest = base.__reduce__(self)
    return (generator_of if base is source.Generator else type(self), args, *rest)


def generator_of(bits: Any = "MT19937", *_: Any) -> Any:
    """A generator from its pickled state; old pickles have the name of the bit generator."""
    return Generator(BITS[bits]() if isinstance(bits, str) else bits)


def subclass(base: Any) -> Any:
    """A generator class whose methods take and give arrays of ours."""
    table: dict[str, Any] = {
        "__module__": public_module(base.__module__),
        "__doc__": base.__doc__,
        "__slots__": ("_twin",),
        "__init__": restarted,
        "__reduce__": reduced,
    }
    waits = base is source.Generator
    if waits:
        table |= {"__slots__": ("_twin", "_drawn"), "__init__": started, "bit_generator": property(bit_generator)}
    for name in dir(base):
        if not name.startswith("_") and callable(getattr(base, name)):
            by_twin = name in BY_TWIN[base]
            method = method_of(name, getattr(base, name), by_twin)
            if name in vars(base) and name not in STATE:
                flags = speed.DRAWS | sized(getattr(base, name)) | (speed.WRITES if name in INPLACE else 0)
                flags |= (speed.WAITS if waits else 0) | (speed.BY_TWIN if by_twin else 0)
                place = OUT_PLACE.get(name, speed.MOST) if waits else speed.MOST
                method = speed.method(getattr(base, name), method, place, flags)
            else:
                method = bounded(method)
            table[name] = method
    return made_class(base, table)


def started(self: Any, bit_generator: Any) -> None:
    """A generator's `__init__`; `_drawn` is its last draw that may still be under way."""
    source.Generator.__init__(self, bit_generator)
    self._drawn, self._twin = SHARED, None


def restarted(self: Any, *args: Any, **kwargs: Any) -> None:
    """A RandomState's `__init__`."""
    source.RandomState.__init__(self, *args, **kwargs)
    self._twin = None


def bit_generator(self: Any) -> Any:
    """See `numpy.random.Generator.bit_generator`."""
    in_turn(self)
    self._drawn = SHARED
    return BIT_GENERATOR.__get__(self)


class Kind(type):
    """NumPy's own objects count as instances of our subclasses."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.__mro__[1]) if cls in OURS else type.__instancecheck__(cls, instance)


OURS: set[Any] = set()
speed.tell(shared_drawn=SHARED)


def made_class(base: Any, table: dict[str, Any]) -> Any:
    cls = Kind(base.__name__, (base,), table)
    cls.__signature__ = Signature(cls, base)  # type: ignore[attr-defined]
    OURS.add(cls)
    return cls


class Seeds(ISeedSequence):
    """What a bit generator, in C, is given for a sequence of seeds whose states are arrays of ours: NumPy's arrays."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def generate_state(self, n_words: int, dtype: Any = numpy.uint32) -> Any:
        return to_host(self.given.generate_state(n_words, dtype), [])

    def __reduce__(self) -> Any:
        return (type(self), (self.given,))


class SpawningSeeds(Seeds, ISpawnableSeedSequence):
    """The same, of a sequence that has children: bit generators that are made of these get Seeds of their own."""

    def spawn(self, n_children: int) -> Any:
        return self.given.spawn(n_children)


def for_bits(seed: Any) -> Any:
    """A bit generator's seed, as its C code takes it."""
    if not isinstance(seed, ISeedSequence) or type(seed) is source.SeedSequence:
        return to_host(seed, [])
    return (SpawningSeeds if isinstance(seed, ISpawnableSeedSequence) else Seeds)(seed)


def given_seeds(self: Any) -> Any:
    """See `numpy.random.BitGenerator.seed_seq`."""
    seeds = source.BitGenerator.seed_seq.__get__(self)
    return seeds.given if isinstance(seeds, Seeds) else seeds


def seeded(base: Any) -> Any:
    """A bit generator, or SeedSequence, that takes arrays of ours and gives them."""
    convert = for_bits if issubclass(base, source.BitGenerator) else unwrap

    @boundary
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        base.__init__(self, *map(convert, args), **{k: convert(v) for k, v in kwargs.items()})

    def get_state(self: Any) -> Any:
        return shown(base.state.__get__(self))

    def set_state(self: Any, value: Any) -> None:
        base.state.__set__(self, to_host(value, []))

    table: dict[str, Any] = {"__module__": public_module(base.__module__), "__doc__": base.__doc__, "__init__": init}
    if isinstance(getattr(base, "state", None), types.GetSetDescriptorType):
        table["state"] = property(get_state, set_state, doc=base.state.__doc__)
    if convert is for_bits:
        table["seed_seq"] = property(given_seeds, doc=source.BitGenerator.seed_seq.__doc__)
    for name in ("random_raw", "generate_state"):
        if hasattr(base, name):
            table[name] = method_of(name, getattr(base, name))
    return made_class(base, table)


def shown(x: Any, given: Any = ()) -> Any:
    """What NumPy gave, a state perhaps, with arrays of ours. given: those that it got."""
    return {k: shown(v, given) for k, v in x.items()} if isinstance(x, dict) else wrap_result(x, list(given))


BITS = {
    name: seeded(getattr(source, name)) for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64", "SeedSequence")
}
Generator, RandomState = subclass(source.Generator), subclass(source.RandomState)


def shared_state() -> Any:
    """NumPy's global state, `mtrand._rand`, as one of ours: what is drawn from either is drawn from both."""
    names = [n for n in dir(RandomState) if not n.startswith("_") and callable(getattr(RandomState, n))]
    table: dict[str, Any] = {n: staticmethod(functools.partial(getattr(RandomState, n), mtrand._rand)) for n in names}
    table["_bit_generator"] = property(lambda self: mtrand._rand._bit_generator)
    table["__reduce__"] = lambda self: (RandomState, *reduced(mtrand._rand)[1:])
    return made_class(RandomState, {"__module__": RandomState.__module__, **table})(mtrand._rand._bit_generator)


@boundary
def default_rng(seed: Any = None) -> Any:
    """See `numpy.random.default_rng`."""
    if issubclass(type(seed), Generator):
        return seed
    if isinstance(seed, (source.BitGenerator, source.Generator, source.RandomState)):
        return Generator(source.default_rng(seed).bit_generator)
    made = Generator(BITS["PCG64"](seed))
    made._drawn = None
    return made


default_rng.__doc__ = source.default_rng.__doc__
default_rng.__module__ = "lazynp.random"
default_rng.__signature__ = inspect.signature(source.default_rng)  # type: ignore[attr-defined]
TABLE = {
    **BITS,
    "Generator": Generator,
    "RandomState": RandomState,
    "default_rng": default_rng,
    "_rand": shared_state(),
}


def drawing(function: Any, name: str) -> Any:
    """A function of the module: a 0-d subclass among its arguments is asked for its number."""
    drawn = host_function(function, f"random.{name}", counted=False)

    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and PLAIN.issuperset(map(type, args)):
            return drawn(*args)
        return drawn(*map(element, args), **{k: element(v) for k, v in kwargs.items()})

    functools.update_wrapper(call, drawn)
    call.__wrapped__ = function  # type: ignore[attr-defined]
    return call


FUNCTIONS = {
    key
    for key, value in vars(mtrand).items()
    if not key.startswith("_") and not isinstance(value, type) and callable(value)
}
made: dict[str, Any] = {}


def counterpart(key: str, value: Any) -> Any:
    """What stands for an attribute of one of NumPy's compiled random modules."""
    if key in TABLE:
        return TABLE[key]
    if key in FUNCTIONS and not isinstance(value, types.ModuleType):
        if key not in made:
            made[key] = shuffle if key in INPLACE else Function(drawing(value, key), value, speed.DRAWS | sized(value))
            made[key].__module__ = "lazynp.random"
        return made[key]
    return value
