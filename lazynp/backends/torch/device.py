"""A device of torch's: tensors, views of them, writes into them, kernels on them.

Tensors have NumPy's dtypes. The wide unsigned ones, with which torch computes nothing, are moved as the signed ones of
their width.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lazynp.backends.kernel import Instr, KernelSpec
from lazynp.backends.support import KIND
from lazynp.backends.torch import eager, library, windows
from lazynp.backends.torch.fused import FMA
from lazynp.backends.torch.hot import Hot, compiler
from lazynp.backends.torch.keys import Keys, is_key, words_of
from lazynp.backends.torch.library import bits
from lazynp.config import config

DTYPES = {name: getattr(torch, name) for name in KIND}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
SCALARS_KEPT = 4096
COPIED_WHOLE = 1 << 24  # bytes: of a larger base only the part outside a region is copied


class Device:
    """Where tensors are.

    Attributes:
        name: as `config.device` has it: "torch" is the CPU. hot: its compiled kernels.
        traces: whether its tensors have no values.
        library: name of an op -> function of this device, the result's dtype, tensors and parameters.
    """

    library = windows.TABLE

    traces = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.torch = torch.device("cpu" if name == "torch" else mine() if name == "cuda" else name)
        if self.torch.type == "cuda":
            if not torch.cuda.is_available():
                raise RuntimeError(f"device {name!r}: torch.cuda.is_available() is False")
            if (self.torch.index or 0) >= torch.cuda.device_count():
                raise RuntimeError(f"device {name!r}: torch.cuda.device_count() is {torch.cuda.device_count()}")
            if self.torch.index and name == "cuda":
                torch.cuda.set_device(self.torch)  # for who names none
        self.hot = Hot(name, self.torch.type == "cuda")
        self.scalar: Callable[[bytes, str], Tensor] = functools.lru_cache(SCALARS_KEPT)(self._scalar)
        FMA["wanted"] = False  # it gives NumPy's last bit on the CPU, and is an operator of its own

    @property
    def kind(self) -> str:
        """What it is, by its maker's name."""
        return str(torch.cuda.get_device_name(self.torch)) if self.torch.type == "cuda" else self.name

    def bare(self, x: Any) -> Any:
        """The tensor of a value: of keys their words."""
        return x.words if type(x) is Keys else x

    def dressed(self, x: Any, dtype: Any) -> Any:
        """The value of a dtype, of the tensor that `bare` gave."""
        return Keys(x, dtype) if is_key(dtype) else x

    def free_memory(self) -> None:
        """Give back the memory that torch keeps for tensors to come."""
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def wait(self) -> None:
        """Until all that was begun is done: a GPU's operations are queued."""
        if self.torch.type == "cuda":
            torch.cuda.synchronize(self.torch)

    # --- values -------------------------------------------------------------------------------------------------------

    def can_hold(self, x: Any) -> bool:
        """Whether torch has an array's dtype, or it is one of keys."""
        return x.dtype.name in DTYPES or is_key(x.dtype)

    def holds(self, x: Any) -> bool:
        """Whether a value is a tensor, or keys, which are on this device then."""
        return type(x) is Tensor or type(x) is Keys

    def dtype_of(self, x: Tensor | Keys) -> np.dtype[Any]:
        if type(x) is Keys:
            return x.dtype
        return dtype_named(NAMES[x.dtype])

    def blank(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
        """A tensor whose values are not set."""
        if is_key(dtype):
            return self.dressed(
                torch.empty((*shape, dtype.itemsize // 4), dtype=torch.uint32, device=self.torch), dtype
            )
        return torch.empty(shape, dtype=DTYPES[dtype.name], device=self.torch)

    def upload(self, array: np.ndarray) -> Tensor:
        """A tensor that shares no memory with the array."""
        if is_key(array.dtype):
            return self.dressed(self.upload(np.array(words_of(array))), array.dtype)
        here = self.torch.type == "cpu"
        if here or not array.flags.c_contiguous or not array.flags.writeable:
            array = np.array(array, order="C")
        return as_tensor(array).to(self.torch)

    def download(self, x: Tensor, out: np.ndarray) -> None:
        if type(x) is Keys:
            words = np.empty(x.words.shape, np.uint32)
            self.download(x.words, words)
            words_of(out)[...] = words
            return
        bits(as_tensor(out)).copy_(bits(x))

    def of_scalar(self, value: Any) -> Tensor:
        """A Python or NumPy scalar, in NumPy's dtype for it; what is a tensor already, as it is."""
        if isinstance(value, Tensor):
            return value
        value = np.asarray(value)
        return self.scalar(value.tobytes(), value.dtype.name)

    def _scalar(self, data: bytes, dtype: str) -> Tensor:
        value = np.frombuffer(data, dtype_named(dtype))[0]
        if dtype == "bfloat16" or DTYPES[dtype] in library.SIGNED:
            return self.upload(np.asarray(value))
        return torch.full((), value.item(), dtype=DTYPES[dtype], device=self.torch)  # no wait for a copy

    # --- views and writes ---------------------------------------------------------------------------------------------

    def region(self, x: Tensor, key: Sequence[Any]) -> tuple[Tensor, list[int]]:
        """The view of a basic key, and its axes that go backwards: torch has no negative strides."""
        sizes, strides, offset = [], [], x.storage_offset()
        backwards = []
        steps = zip(x.shape, x.stride())
        for k in key:
            if k is None:
                sizes.append(1)
                strides.append(1)
                continue
            _, stride = next(steps)
            start, count, step = (k, 1, 1) if type(k) is int else k
            if count < 2:
                step = 1
            elif step < 0:
                start, step = start + (count - 1) * step, -step
                backwards.append(len(sizes))
            if count:
                offset += start * stride
            if type(k) is not int:
                sizes.append(count)
                strides.append(stride * step)
        for n, stride in steps:
            sizes.append(n)
            strides.append(stride)
        return x.as_strided(sizes, strides, offset), backwards

    def slice(self, x: Any, key: Sequence[Any]) -> Any:
        if type(x) is Keys:
            return Keys(self.slice(x.words, key), x.dtype)
        view, backwards = self.region(x, key)
        return bits(view).flip(backwards).view(x.dtype) if backwards else view

    def bitcast(self, x: Tensor, dtype: np.dtype[Any]) -> Tensor:
        """The same bytes as another dtype of that size."""
        library.need(dtype.itemsize == x.element_size())
        return x.contiguous().view(DTYPES[dtype.name])

    def copy(self, x: Tensor) -> Tensor:
        """A contiguous tensor of its own."""
        if type(x) is Keys:
            return self.dressed(self.copy(x.words), x.dtype)
        return bits(x).clone(memory_format=torch.contiguous_format).view(x.dtype)

    def dense(self, x: Tensor) -> Tensor:
        """The tensor, or a copy where it is not contiguous."""
        return bits(x.resolve_conj().resolve_neg()).contiguous().view(x.dtype)

    def paste(self, target: Tensor, source: Tensor) -> None:
        """The target's values become the source's, of the same shape and dtype."""
        bits(target).copy_(bits(source))

    def take(self, x: Tensor, places: Tensor) -> Tensor:
        """The rows at these places along the first axis."""
        return bits(x)[places].view(x.dtype)

    def put(self, x: Tensor, places: Tensor, rows: Tensor) -> None:
        """The rows at these places along the first axis become others."""
        bits(x)[places] = bits(rows)

    def around(self, x: Tensor, parts: Iterable[Sequence[Any]]) -> Tensor:
        """A copy of those parts at least: the others will be written."""
        if x.nbytes < COPIED_WHOLE:
            return self.copy(x)
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        for part in parts:
            bits(out)[part] = bits(x)[part]
        return out

    def write(self, x: Tensor, key: Sequence[Any], value: Tensor) -> None:
        """x[key] = value, in place."""
        if type(x) is Keys:
            return self.write(x.words, key, self.bare(value))
        view, backwards = self.region(x, key)
        value = library.cast(value, NAMES[x.dtype])
        if self.memory(value) == self.memory(x):  # torch copies in any order
            value = self.copy(value)
        if backwards:
            value = bits(value).expand(view.shape).flip(backwards).view(x.dtype)
        bits(view).copy_(bits(value))

    def own(self, value: Any, args: Sequence[Any]) -> Any:
        """A result, or several, that share no memory with the operands, nor with each other."""
        taken = {self.memory(self.bare(a)) for a in args if isinstance(a, (Tensor, Keys))}
        return tuple([self.apart(v, taken) for v in value]) if type(value) is tuple else self.apart(value, taken)

    def apart(self, x: Tensor, taken: set[int]) -> Tensor:
        """A contiguous tensor that shares no memory with what is taken; its memory is, from now on."""
        if type(x) is Keys:
            return self.dressed(self.apart(x.words, taken), x.dtype)
        x = x.resolve_conj().resolve_neg()
        shares = x.numel() and self.memory(x) in taken
        x = self.copy(x) if shares else bits(x).contiguous().view(x.dtype)
        taken.add(self.memory(x))
        return x

    def memory(self, x: Tensor) -> int:
        """A number for the memory that a tensor shares with its views."""
        return int(x.untyped_storage().data_ptr())

    def apart_from(self, operands: Sequence[Tensor], regions: Sequence[Tensor | None]) -> list[Tensor | None]:
        """The regions that share no memory with an operand, nor with each other: they can be written at any time."""
        if not any(r is not None for r in regions):
            return list(regions)
        taken = {self.memory(x) for x in operands}
        out: list[Tensor | None] = []
        for r in regions:
            memory = 0 if r is None else self.memory(r)
            out.append(None if memory in taken else r)
            taken.add(memory)
        return out

    # --- kernels ------------------------------------------------------------------------------------------------------

    def compile(self, steps: Callable[[Any], Callable[..., Any]], like: Sequence[Tensor], done: Any) -> None:
        """Have a graph compiled as one piece, in the background. `done` is called with the code, unless there is none.

        Args:
            steps: makes the function of tensors for a device on which it is traced.
            like: tensors of the arguments' shapes and dtypes.
        """
        if self.hot.enabled and config.compile:
            without = compiler().without_values(like)
            whole = importlib.import_module("lazynp.backends.torch.whole")
            self.hot.piece(lambda: whole.compiled(self, steps(whole.Tracing(self)), without), done)

    def spec_of(self, name: str, like: Tensor) -> KernelSpec:
        """The kernel of a ufunc with two operands that has their dtype and rank."""
        d = NAMES[like.dtype]
        return KernelSpec((d, d), (), (Instr(name, (0, 1), (d, d), d),), (2,), like.ndim)

    def evaluate(
        self,
        spec: KernelSpec,
        ins: Sequence[Tensor],
        scalars: Sequence[Any],
        shape: tuple[int, ...],
        regions: Sequence[Tensor | None],
    ) -> tuple[list[Tensor | None], bool]:
        """A kernel's results over a space of that shape, each a tensor of its own, and whether compiled code ran.

        That may put results where they will be needed, into `regions`; it gives None for them.
        """
        operands = [x.expand(shape) for x in ins]
        constants = [self.constant(value, dtype) for value, dtype in zip(scalars, spec.scalars)]
        reduced = [i.params[1] if i.op == "reduce" else () for i in spec.body]
        if any(reduced):
            constants = [c.expand(shape) for c in constants]
        regions = self.apart_from(operands, regions)
        kernel = self.hot.wanted(spec)
        found = None if kernel is None else self.hot.run(kernel, spec, operands, constants, regions)
        compiled = found is not None
        if found is None:
            found = list(eager.evaluate(spec, operands, constants, self.torch))
        first = len(spec.inputs) + len(spec.scalars)
        taken = {self.memory(x) for x in (*ins, *constants)}
        for n, (x, number) in enumerate(zip(found, spec.outputs)):
            if x is not None:
                over = reduced[number - first] if number >= first else ()
                found[n] = self.apart(x.expand([1 if a in over else m for a, m in enumerate(shape)]), taken)
        return found, compiled

    def constant(self, value: Any, dtype: str) -> Tensor:
        """A scalar in the dtype of a kernel's loop."""
        if isinstance(value, Tensor):
            return library.cast(value, dtype)
        with np.errstate(all="ignore"):
            array = np.asarray(value).astype(dtype_named(dtype))
        return self.scalar(array.tobytes(), dtype)


def mine() -> str:
    """The GPU of this process: of several that a launcher has started on this machine, each has the next one."""
    number = int(os.environ.get("LOCAL_RANK", "0")) if int(os.environ.get("WORLD_SIZE", "1")) > 1 else 0
    return f"cuda:{number % max(1, torch.cuda.device_count())}"


@functools.cache
def dtype_named(name: str) -> np.dtype[Any]:
    return np.dtype(library.bfloat16()) if name == "bfloat16" else np.dtype(name)


def as_tensor(array: np.ndarray) -> Tensor:
    """A tensor over a contiguous array's memory."""
    name = array.dtype.name
    if name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array.view(np.dtype(name)))


def single_threaded() -> None:
    """OpenMP's threads do not survive a fork."""
    torch.set_num_threads(1)


os.register_at_fork(after_in_child=single_threaded)
