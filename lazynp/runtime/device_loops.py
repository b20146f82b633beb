"""Loops and branches on a device: the body is a plan there, which is run step by step.

A loop over small values is none of the device's business: each of its operations would wait for a launch, where the
host runs machine code (`loops.py`). So it goes to the host, but in mode "graph".
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..config import config
from ..graph.function import Function
from ..graph.walk import toposort
from .device import CannotError, DeviceBuffer
from .execute import Program, runner
from .loops import LARGE


class Body:
    """A function on a device, from tensors to tensors; those it is given from `first` to `last` it may overwrite."""

    def __init__(self, function: Function, device: Any, first: int = 0, last: int = 0) -> None:
        self.inputs, self.device = function.inputs, device
        self.outputs, self.first, self.last = function.outputs, first, last
        given = [first <= k < last and n not in function.outputs for k, n in enumerate(function.inputs)]
        self.program: Program = runner(function, device, given)

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        device, found = self.device, self.program(values)
        out: list[Any] = []
        taken = set(map(id, [*values[: self.first], *values[self.last :]]))
        for x, n in zip(found, self.outputs):
            x = tensor_of(device, x, n.dtype)
            if id(x) in taken:  # what it is given, or gives twice: who overwrites one would overwrite both
                x = device.copy(x)
            taken.add(id(x))
            out.append(x)
        return out


bodies: weakref.WeakKeyDictionary[Function, dict[Any, Body]] = weakref.WeakKeyDictionary()


def body_of(function: Function, device: Any, first: int = 0, last: int = 0) -> Body:
    """The function, ready to run on a device."""
    if device.traces:  # it is compiled by itself
        raise CannotError
    if config.mode != "graph":
        nodes = toposort([*function.outputs, *function.effects])
        if max([a.nbytes for n in nodes for a in (n.outs or (n.aval,))], default=0) < LARGE:
            raise CannotError
    if function.effects:
        raise CannotError
    made = bodies.setdefault(function, {})
    key = (device.name, config.mode, first, last)
    if key not in made:
        made[key] = Body(function, device, first, last)
    return made[key]


def tensor_of(device: Any, x: Any, dtype: Any) -> Any:
    """A value as a tensor of that dtype. Raises CannotError for what no tensor can hold."""
    if isinstance(x, DeviceBuffer):
        x = x.on(device)
    if device.holds(x):
        return x
    x = np.asarray(x).astype(dtype, copy=False)
    if not device.can_hold(x):
        raise CannotError
    return device.of_scalar(x) if not x.ndim else device.upload(x)


def scan(
    device: Any, _: Any, *args: Any, body: Function, n_consts: int, n_carry: int, reverse: bool, length: int
) -> tuple[Any, ...]:
    """`lax.scan`'s loop. What is carried is overwritten where the body does so."""
    run = body_of(body, device, n_consts, n_consts + n_carry)
    given = [tensor_of(device, x, n.dtype) for x, n in zip(args, body.inputs)]
    consts, carry, xs = given[:n_consts], given[n_consts : n_consts + n_carry], given[n_consts + n_carry :]
    carry = [device.copy(x) for x in carry]
    ys = [device.blank((length, *n.shape), n.dtype) for n in body.outputs[n_carry:]]
    for t in range(length):
        i = length - 1 - t if reverse else t
        out = run([*consts, *carry, *[device.slice(x, (i,)) for x in xs]])
        carry = out[:n_carry]
        for y, value in zip(ys, out[n_carry:]):
            device.write(y, (i,), value)
    return (*carry, *ys)


def while_(
    device: Any, _: Any, *args: Any, cond: Function, body: Function, n_cond: int, n_body: int
) -> tuple[Any, ...]:
    """`lax.while_loop`: the condition's value is waited for in each round."""
    step = body_of(body, device, n_body, len(body.inputs))
    test = body_of(cond, device)
    reads = [tensor_of(device, x, n.dtype) for x, n in zip(args, cond.inputs[:n_cond])]
    given = [tensor_of(device, x, n.dtype) for x, n in zip(args[n_cond:], body.inputs)]
    consts, state = given[:n_body], [device.copy(x) for x in given[n_body:]]
    while bool(test([*reads, *state])[0]):
        state = step([*consts, *state])
    return tuple(state)


def cond(device: Any, _: Any, *args: Any, branches: tuple[Function, ...]) -> tuple[Any, ...]:
    """`lax.switch`: one branch is run."""
    function = branches[int(args[0])]
    run = body_of(function, device)
    return tuple(run([tensor_of(device, x, n.dtype) for x, n in zip(args[1:], function.inputs)]))


LOOPS = {"scan": scan, "while": while_, "cond": cond}
