"""What a plan does, on the host: views, kernels, writes into regions, library calls, over an environment of NumPy
arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import starmap
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ..backends.numpy import parts
from ..backends.numpy.namespace import xp
from ..graph.op import Op
from ..ops.shape import as_index, key_shape
from ..tracebacks import name_line
from .chain import Chain
from .faults import of_values
from .kernels import Call, Kernel
from .pool import pool
from .profile import profile

SCALARS = 1 << 40
parts.memory.empty = pool.empty
region_shape = key_shape


class Failure:
    """In place of a value that could not be computed."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Environment:
    """The arrays of one run: leaves, then nodes; and what may differ between runs.

    An array is there from when it has been computed until a step overwrites it or nobody needs it any more: so what an
    exception leaves is right at any time, but for the step that `effect` names.

    Attributes:
        effect: of the step that is overwriting a value, what it does; `finish` does the rest of it.
        spared: whether kernels are not to be compiled for what they cost, since one in the place of several will be.
    """

    __slots__ = ("values", "scalars", "moving", "shapes", "sites", "chain", "effect", "spared")

    def __init__(self, segment: Any, buffers: list[Any], n_nodes: int, chain: Chain | None = None) -> None:
        self.chain = chain
        self.effect: Any = None
        self.spared = False
        self.values: list[Any] = [*buffers, *[None] * n_nodes]
        self.scalars, self.moving, self.shapes, self.sites = (
            segment.scalars,
            segment.moving,
            segment.shapes,
            segment.sites,
        )


class Step:
    """One thing to do. `drop`: slots of which it is the last reader."""

    drop: list[int]

    def parts(self, env: Environment) -> Iterable[Step]:
        """What is to be run."""
        return (self,)

    def run(self, env: Environment) -> None:
        raise NotImplementedError

    def reads(self) -> list[int]:
        raise NotImplementedError

    def writes(self) -> list[int]:
        raise NotImplementedError


def fail(step: Step, env: Environment, error: BaseException) -> None:
    """Note the error in place of what a step would have made."""
    for s in step.writes():
        env.values[s] = Failure(error)


def run_all(steps: list[Any], env: Environment) -> None:
    """Run steps in order. What values are to blame for is noted in place of what would have been made of them; any
    other error is raised, from between two steps or out of one."""
    failed = False
    for whole in steps:
        for step in whole.parts(env):
            if failed and failed_before(step, env):
                continue
            try:
                step.run(env)
            except Exception as error:
                if not of_values(error, step):
                    raise
                failed = True
                fail(step, env, error)


def failed_before(step: Step, env: Environment) -> bool:
    """Whether something that a step reads has failed; it has failed then, too."""
    for s in step.reads():
        if type(env.values[s]) is Failure:
            fail(step, env, env.values[s].error)
            return True
    return False


COPIES = frozenset({"reshape", "bitcast"})  # views that are copies of what does not lie in one piece
NARROW, AT_ONCE = 4, 1 << 13  # elements of the rows that are copied by columns, and rows of which this is done in turn


def copy_all(out: np.ndarray, x: Any) -> None:
    """`out` becomes x, of its shape. NumPy would begin anew with each row of two to four elements (of `repeat`, or of a
    matrix of few rows that is transposed)."""
    narrow = x.ndim > 1 and 1 < x.shape[-1] <= NARROW and x.strides[-1] != x.itemsize and x.shape[0] > 1
    if not narrow:
        np.copyto(out, x)
        return
    rows = max(1, AT_ONCE // max(1, math.prod(x.shape[1:-1])))
    for start in range(0, x.shape[0], rows):
        to, block = out[start : start + rows], x[start : start + rows]
        for k in range(x.shape[-1]):
            np.copyto(to[..., k], block[..., k])


class ViewStep(Step):
    """A view of a value; a copy where the view itself is wanted."""

    def __init__(self, i: int, n_leaves: int, op: Op, static: tuple[Any, ...], ref: int, wanted: bool) -> None:
        self.i, self.at, self.op, self.wanted, self.ref = i, n_leaves + i, op, wanted, ref
        self.source = None if ref >= SCALARS else ~ref if ref < 0 else n_leaves + ref
        self.static = dict(zip(op.static, static))
        self.drop = []

    def run(self, env: Environment) -> None:
        values = env.values
        x = env.scalars[self.ref - SCALARS] if self.source is None else values[self.source]
        if self.op.name == "slice":
            view = x[(*as_index(env.moving[self.i][0]), ...)]
        elif self.wanted and self.op.name == "reshape" and type(x) is np.ndarray:
            view = x  # which may have to be copied: below, and not twice
        else:
            if env.chain is not None and self.op.name in COPIES and type(x) is np.ndarray and not x.flags.c_contiguous:
                env.chain.settle()  # it may have to copy
            view = self.op.lower(xp, x, **self.static, **dict(zip(self.op.moving, env.moving[self.i])))
        if self.wanted:
            if env.chain is not None:
                env.chain.settle()
            fresh = pool.empty(env.shapes[self.i], view.dtype)
            copy_all(fresh if fresh.shape == view.shape else fresh.reshape(view.shape), view)
            view = fresh
        values[self.at] = view
        for s in self.drop:
            values[s] = None

    def reads(self) -> list[int]:
        return [] if self.source is None else [self.source]

    def writes(self) -> list[int]:
        return [self.at]


class Library(Step):
    """Anything that is one call."""

    def __init__(self, i: int, n_leaves: int, op: Op, static: tuple[Any, ...], refs: tuple[int, ...]) -> None:
        self.i, self.at, self.op, self.refs = i, n_leaves + i, op, refs
        self.inputs = [None if r >= SCALARS else ~r if r < 0 else n_leaves + r for r in refs]
        self.static = dict(zip(op.static, static))
        self.drop = []

    def run(self, env: Environment) -> None:
        values = env.values
        args = [env.scalars[r - SCALARS] if s is None else values[s] for r, s in zip(self.refs, self.inputs)]
        params = {**self.static, **dict(zip(self.op.moving, env.moving[self.i]))}
        profile.library += 1
        if env.chain is not None:
            env.chain.settle()
        start = perf_counter()
        with np.errstate(all="ignore"):
            try:
                value = self.op.lower(xp, *args, **params)
            except Exception as error:
                name_line(error, env.sites[self.i])
                raise
        values[self.at] = own(value, args)
        profile.library_seconds += perf_counter() - start
        for s in self.drop:
            values[s] = None

    def reads(self) -> list[int]:
        return [s for s in self.inputs if s is not None]

    def writes(self) -> list[int]:
        return [self.at]


def own(value: Any, args: list[Any]) -> Any:
    """A result that shares no memory with the inputs, nor with other results of the op, as a C-contiguous array."""
    if type(value) is tuple or type(value) is list:
        results: list[Any] = []
        for v in value:
            results.append(own(v, [*args, *results]))
        return tuple(results)
    value = np.asarray(value)
    if not value.flags.c_contiguous:
        return np.ascontiguousarray(value)
    alias = value.base is not None or any(value is a for a in args)
    if alias and any(np.may_share_memory(value, a) for a in args if type(a) is np.ndarray):
        return value.copy()
    return value


class Copy:
    """A value written into a region of an array that dies with it."""

    __slots__ = ("step", "target", "region", "value", "chain", "taken", "done")

    def __init__(self, step: Write, target: Any, region: Any, value: Any, chain: Chain | None) -> None:
        self.step, self.target, self.region, self.value, self.chain = step, target, region, value, chain
        self.taken: list[int] = []  # a 1: by the chain
        self.done: list[None] = []

    def run(self) -> None:
        if self.chain is None or not self.chain.copy(self.region, self.value, self.taken):
            self.done.extend(starmap(np.copyto, ((self.region, self.value),)))  # in C: no signal comes between

    def finish(self, env: Environment) -> None:
        if not self.done and 1 not in self.taken:
            self.run()
        self.step.commit(env, self.target)


class Write(Step):
    """base with a region replaced by a value that is there: in the base's buffer, or in a new one."""

    def __init__(self, i: int, n_leaves: int, base: int, ref: int, inside: bool) -> None:
        self.i, self.at, self.base, self.ref, self.inside = i, n_leaves + i, base, ref, inside
        self.value = None if ref >= SCALARS else ~ref if ref < 0 else n_leaves + ref
        self.drop = []

    def run(self, env: Environment) -> None:
        values = env.values
        target = values[self.base]
        key = env.moving[self.i][0]
        value = env.scalars[self.ref - SCALARS] if self.value is None else values[self.value]
        if not self.inside:
            target = copy_rest(target, key, env.chain)
        copy = Copy(self, target, target[(*as_index(key), ...)], value, env.chain)
        if self.inside:
            env.effect = copy
        copy.run()
        self.commit(env, target)

    def commit(self, env: Environment, target: Any) -> None:
        env.values[self.at] = target
        for s in self.drop:
            env.values[s] = None
        env.effect = None

    def reads(self) -> list[int]:
        return [self.base] if self.value is None else [self.base, self.value]

    def writes(self) -> list[int]:
        return [self.at]


def copy_rest(base: np.ndarray, key: Any, chain: Chain | None) -> np.ndarray:
    """A new array with base's elements outside the region of a key; those inside are not set."""
    out = pool.empty(base.shape, base.dtype)
    for part in parts_around(key):
        if chain is None or not chain.copy(out[part], base[part], []):
            out[part] = base[part]
    return out


def parts_around(key: Any) -> Iterator[tuple[slice, ...]]:
    """Indices of the parts that the region of a key leaves; of some regions with steps, of all of it."""
    region: list[slice] = []
    for k in key:
        if k is None:
            continue
        start, count, step = (k, 1, 1) if type(k) is int else k
        if step < 0:
            start, step = start + (count - 1) * step, -step
        if step != 1 and count > 1:
            start = count = 0
        yield (*region, slice(0, start))
        yield (*region, slice(start + count, None))
        region.append(slice(start, start + count))


class Target(NamedTuple):
    """Where a kernel's result goes: a new array, or a region of a base, in its buffer or (spare) in a new one."""

    at: int
    dtype: Any
    write: int | None  # slot of the write
    node: int | None  # its node
    spare: bool
    base: int | None
    reduced: bool


class Overwrite(NamedTuple):
    """A kernel whose results overwrite values that die with it. `made`: what the environment gets then."""

    step: KernelStep
    made: list[Any]
    call: Call

    def finish(self, env: Environment) -> None:
        self.call.finish()
        self.step.commit(env, self.made)


class KernelStep(Step):
    """A kernel on arrays of the environment."""

    def __init__(
        self,
        kernel: Kernel,
        ins: list[int],
        scalars: list[int],
        targets: list[Target],
        members: list[int],
        reusable: list[int],
        n_leaves: int,
    ) -> None:
        space = members[0]
        self.kernel, self.ins, self.scalars, self.targets, self.space = kernel, ins, scalars, targets, space
        self.reusable, self.n_leaves = reusable, n_leaves
        self.chained = all(t.write is not None for t in targets)
        self.members = members
        self.written = [t.at if t.write is None else t.write for t in targets]
        self.drop = []

    def run(self, env: Environment) -> None:
        values = env.values
        shape = env.shapes[self.space]
        ins = [values[s] for s in self.ins]
        outs, made, overwrites = [], [], False
        for t in self.targets:
            if t.write is None:
                out_shape = env.shapes[t.at - self.n_leaves] if t.reduced else shape
                out = self.takeover(values, shape, t.dtype) if self.reusable else None
                overwrites = overwrites or out is not None
                whole = out = pool.empty(out_shape, t.dtype) if out is None else out
            else:
                assert t.base is not None and t.node is not None
                key = env.moving[t.node][0]
                whole = values[t.base]
                overwrites = overwrites or not t.spare
                if t.spare:
                    whole = copy_rest(whole, key, env.chain)
                out = whole[(*as_index(key), ...)]
            outs.append(out)
            made.append(whole)
        chain = env.chain
        if chain is not None and not self.chained:
            chain.settle()
            chain = None
        scalars = [env.scalars[s] for s in self.scalars]
        if overwrites:
            env.effect = effect = Overwrite(self, made, Call(self.kernel, ins, scalars, outs, shape, chain, env.spared))
            effect.call.run()
        else:
            self.kernel.run(ins, scalars, outs, shape, chain, env.spared)
        self.commit(env, made)

    def commit(self, env: Environment, made: list[Any]) -> None:
        for s, value in zip(self.written, made):
            env.values[s] = value
        for s in self.drop:
            env.values[s] = None
        env.effect = None

    def takeover(self, values: list[Any], shape: tuple[int, ...], dtype: Any) -> Any:
        """The array of an input that nobody reads after this, if the result fits it."""
        for s in self.reusable:
            if s in self.drop:
                x = values[s]
                if x.shape == shape and x.dtype == dtype and x.flags.c_contiguous and x.flags.writeable:
                    return x
        return None

    def reads(self) -> list[int]:
        return [*self.ins, *[t.base for t in self.targets if t.base is not None]]

    def writes(self) -> list[int]:
        return self.written
