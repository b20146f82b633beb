"""Keys of random numbers on a device, and what is drawn under them: Threefry-2x32 as in `backends/numpy/threefry.py`,
whose words are the same, and the samples of `backends/numpy/samplers.py`, up to rounding.

The words are held as int32, which torch and Inductor compute with everywhere, and which wrap as unsigned ones do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lazynp.backends.numpy.samplers import rounds_of_sorting
from lazynp.backends.numpy.threefry import MASK, PARITY, ROTATIONS
from lazynp.backends.torch.library import cast, need, on_torch, tensors

SIGN = -(1 << 31)


class Keys:
    """Keys: `words` has theirs as one more axis, in uint32. They are moved as arrays of their shape are."""

    __slots__ = ("words", "dtype")

    def __init__(self, words: Tensor, dtype: np.dtype[Any]) -> None:
        self.words, self.dtype = words, dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.words.shape[:-1])

    @property
    def nbytes(self) -> int:
        return int(self.words.nbytes)

    def contiguous(self) -> Keys:
        return Keys(self.words.contiguous(), self.dtype)

    def reshape(self, shape: Sequence[int]) -> Keys:
        return Keys(self.words.reshape(*shape, self.words.shape[-1]), self.dtype)

    def expand(self, shape: Sequence[int]) -> Keys:
        return Keys(self.words.expand(*shape, self.words.shape[-1]), self.dtype)

    def permute(self, axes: Sequence[int]) -> Keys:
        return Keys(self.words.permute(*axes, self.words.ndim - 1), self.dtype)


def is_key(dtype: Any) -> bool:
    """Whether a dtype is that of keys: records of words."""
    if dtype.names is None or len(dtype.names) != 1:
        return False
    words = dtype[0].subdtype
    return words is not None and words[0] == np.uint32 and len(words[1]) == 1


def words_of(array: np.ndarray) -> Any:
    """The words of an array of keys, as one more axis: a view."""
    assert array.dtype.names is not None
    return array[array.dtype.names[0]]


def halves(keys: Keys) -> tuple[Tensor, Tensor]:
    """The two words of each key, with an axis for counters."""
    need(type(keys) is Keys and keys.dtype.names == ("fry",))
    words = keys.words.view(torch.int32)
    return words[..., 0, None], words[..., 1, None]


def rotated(x: Tensor, by: int) -> Tensor:
    return (x << by) | ((x >> (32 - by)) & ((1 << by) - 1))


def hashed(k0: Tensor, k1: Tensor, x0: Tensor, x1: Tensor) -> tuple[Tensor, Tensor]:
    """Threefry-2x32 of counters under keys, which broadcast."""
    ks = (k0, k1, k0 ^ k1 ^ PARITY)
    x0, x1 = x0 + k0, x1 + k1
    for i in range(5):
        for r in ROTATIONS[i & 1]:
            x0 = x0 + x1
            x1 = rotated(x1, r) ^ x0
        x0 = x0 + ks[(i + 1) % 3]
        x1 = x1 + ks[(i + 2) % 3] + (i + 1)
    return x0, x1


def counted(keys: Keys, count: int) -> tuple[Tensor, Tensor]:
    """The hashes of the counters below `count`: shape (*keys.shape, count) each."""
    k0, k1 = halves(keys)
    index = torch.arange(count, device=k0.device)
    return hashed(k0, k1, (index >> 32).to(torch.int32), index.to(torch.int32))


def words_under(keys: Keys, count: int, width: int) -> Tensor:
    """Words of 32 bits as int32, or of 64 as int64."""
    x0, x1 = counted(keys, count)
    return x0 ^ x1 if width == 32 else (x0.to(torch.int64) << 32) | (x1.to(torch.int64) & MASK)


@on_torch("random_bits")
def random_bits(
    device: Any, dtype: Any, keys: Keys, *, width: int, partitionable: bool, shape: Sequence[int]
) -> Tensor:
    need(partitionable and width in (32, 64))
    words = words_under(keys, math.prod(shape), width)
    return words.reshape(*keys.shape, *shape).view(torch.uint32 if width == 32 else torch.uint64)


def unit(words: Tensor) -> Tensor:
    """Floats in [0, 1) of the words' width: their high bits as mantissa."""
    if words.dtype == torch.int32:
        return (((words >> 9) & 0x7FFFFF) | 0x3F800000).view(torch.float32) - 1
    return (((words >> 12) & ((1 << 52) - 1)) | 0x3FF0000000000000).view(torch.float64) - 1


def tiny(u: Tensor) -> float:
    return float(torch.finfo(u.dtype).tiny)


def normal_root(u: Tensor) -> Tensor:
    low = np.nextafter(*np.array([-1, 0], str(u.dtype).removeprefix("torch.")))
    return torch.erfinv((u * (1 - float(low)) + float(low)).clamp(min=float(low)))


def logistic(u: Tensor) -> Tensor:
    x = u.clamp(min=tiny(u))
    return torch.log(x) - torch.log1p(-x)


def laplace(u: Tensor) -> Tensor:
    low = -1 + float(torch.finfo(u.dtype).eps) / 2
    x = (u * (1 - low) + low).clamp(min=low)
    return torch.sign(x) * torch.log1p(-x.abs())


SAMPLERS: dict[str, Callable[[Tensor], Tensor]] = {
    "uniform": lambda u: u,
    "normal": lambda u: normal_root(u) * math.sqrt(2),
    "normal_root": normal_root,
    "exponential": lambda u: -torch.log1p(-u),
    "gumbel": lambda u: -torch.log(-torch.log(u.clamp(min=tiny(u)))),
    "laplace": laplace,
    "logistic": logistic,
    "log_uniform": lambda u: torch.log(torch.where(u == 0, 1.0, u)),
    "cauchy": lambda u: torch.tan(math.pi * (u * (1 - (e := float(torch.finfo(u.dtype).eps))) + e - 0.5)),
    "rayleigh": lambda u: torch.sqrt(torch.log(u) * -2),
}


@on_torch("random_sample")
def random_sample(
    device: Any, to: Any, keys: Keys, *, sampler: str, dtype: Any, partitionable: bool, shape: Sequence[int]
) -> Tensor:
    need(partitionable and dtype.name in ("float32", "float64") and sampler in SAMPLERS)
    u = unit(words_under(keys, math.prod(shape), dtype.itemsize * 8))
    return SAMPLERS[sampler](u).reshape(*keys.shape, *shape)


def on_numbers(name: str, function: Callable[[Tensor], Tensor]) -> None:
    """A function that samplers call on numbers, which the host computes with the same bits on every processor."""

    @on_torch(f"random_{name}")
    def call(device: Any, dtype: Any, x: Any) -> Tensor:
        need(dtype.name in ("float32", "float64"))
        return function(tensors(device, [x])[0])


for _name in ("exp", "erf", "log", "log1p"):
    on_numbers(_name, getattr(torch, _name))
on_numbers("erf_inv", torch.erfinv)


@on_torch("random_power")
def random_power(device: Any, dtype: Any, x: Any, y: Any) -> Tensor:
    need(dtype.name in ("float32", "float64"))
    return torch.pow(*tensors(device, [x, y]))


@on_torch("random_between")
def random_between(device: Any, dtype: Any, u: Any, low: Any, high: Any) -> Tensor:
    need(dtype.name in ("float32", "float64"))
    u, low, high = (cast(x, dtype.name) for x in tensors(device, [u, low, high]))
    return torch.maximum(low, u * (high - low) + low)


def split(keys: Keys, shape: Sequence[int]) -> Keys:
    """New keys, of shape (*keys.shape, *shape)."""
    words = torch.stack(counted(keys, math.prod(shape)), -1)
    return Keys(words.reshape(*keys.shape, *shape, 2).view(torch.uint32), keys.dtype)


@on_torch("random_split")
def random_split(device: Any, dtype: Any, keys: Keys, *, partitionable: bool, shape: Sequence[int]) -> Keys:
    need(partitionable)
    return split(keys, shape)


@on_torch("random_fold_in")
def random_fold_in(device: Any, dtype: Any, keys: Keys, data: Any) -> Keys:
    (x1,) = tensors(device, [data])
    x1 = cast(x1, "uint32").view(torch.int32)[..., None]
    x0, x1 = hashed(*halves(keys), torch.zeros_like(x1), x1)
    return Keys(torch.stack(torch.broadcast_tensors(x0[..., 0], x1[..., 0]), -1).view(torch.uint32), keys.dtype)


@on_torch("random_clone")
def random_clone(device: Any, dtype: Any, keys: Keys) -> Keys:
    return Keys(device.copy(keys.words), keys.dtype)


@on_torch("key_data")
def key_data(device: Any, dtype: Any, keys: Keys) -> Tensor:
    return keys.words


@on_torch("key_wrap")
def key_wrap(device: Any, to: Any, words: Tensor, *, dtype: Any) -> Keys:
    return Keys(words, dtype)


@on_torch("random_order")
def random_order(device: Any, to: Any, keys: Keys, *, dtype: Any, partitionable: bool, n: int) -> Tensor:
    """Sorted by random words, several times, so that hardly two are equal in all of them; a word and a place are
    sorted as one integer."""
    need(partitionable and 1 < n <= MASK)
    places = torch.arange(n, device=device.torch)
    order = places.expand(*keys.shape, n)
    for _ in range(rounds_of_sorting(n)):
        two = split(keys, (2,)).words
        keys, other = (Keys(two[..., i, :], keys.dtype) for i in range(2))
        words = (words_under(other, n, 32) ^ SIGN).to(torch.int64)  # in the order of unsigned words
        packed = torch.sort((words << 32) | places, -1).values & MASK
        order = torch.take_along_dim(order, packed, -1)
    return cast(order, dtype.name)


@on_torch("random_integers")
def random_integers(
    device: Any, to: Any, keys: Keys, low: Any, high: Any, *, dtype: Any, partitionable: bool, shape: Sequence[int]
) -> Tensor:
    """Of 32 bits: in int64, with the low bits of what wraps."""
    need(partitionable and dtype.name in ("int32", "uint32"))
    given = tensors(device, [low, high])
    need(all([x.dtype in (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8) for x in given]))
    info = np.iinfo(dtype)
    most = min(int(info.max), int(torch.iinfo(given[1].dtype).max))
    above = given[1].to(torch.int64) > most
    a, b = (x.to(torch.int64).clamp(int(info.min), int(info.max)) for x in given)
    span = torch.where(b <= a, 1, torch.where(above, b - a + 1, b - a)) & MASK

    def remainder(x: Tensor) -> Tensor:
        return torch.where(span == 0, x, torch.remainder(x, torch.where(span == 0, 1, span)))

    two = split(keys, (2,)).words
    count = math.prod(shape)
    upper, lower = (
        (words_under(Keys(two[..., i, :], keys.dtype), count, 32).to(torch.int64) & MASK).reshape(*keys.shape, *shape)
        for i in range(2)
    )
    factor = remainder(torch.full_like(span, 1 << 16))
    factor = remainder((factor * factor) & MASK)
    offset = remainder((remainder(upper) * factor + remainder(lower)) & MASK)
    found = (a + offset).to(torch.int32)
    return found if dtype.name == "int32" else found.view(torch.uint32)
