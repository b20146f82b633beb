"""What a plan does on a device: the same steps, over tensors. What a device cannot do runs on the host, with its
operands copied there and its results copied back, and is counted.

A tensor in an environment is in no way different from a NumPy array there: steps may write into it in place where the
planner has found that nobody else reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..backends.support import compilable
from ..tracebacks import of_a_handler
from . import steps as S
from .device import CannotError, DeviceBuffer, arrived, download
from .device_loops import LOOPS
from .planner import Plan
from .profile import profile
from .rows import Rows


class Lost:
    """What a step was overwriting on a device when it was interrupted: nobody knows how far it came."""

    def __init__(self, step: DeviceStep) -> None:
        self.step = step

    def finish(self, env: S.Environment) -> None:
        S.fail(self.step, env, RuntimeError("interrupted while this value was being written on a device"))
        for s in self.step.drop:
            env.values[s] = None
        env.effect = None


class DeviceStep(S.Step):
    """A step of a plan on a device. `work` does it there; the host does it where that raises."""

    def __init__(self, step: Any, device: Any) -> None:
        self.step, self.device, self.drop = step, device, step.drop

    def reads(self) -> list[int]:
        return list(self.step.reads())

    def writes(self) -> list[int]:
        return list(self.step.writes())

    @property
    def name(self) -> str:
        """What a profile calls it."""
        return type(self.step).__name__.lower()

    def work(self, env: S.Environment) -> None:
        """Set what the step writes."""
        raise NotImplementedError

    def run(self, env: S.Environment) -> None:
        if self.overwrites():
            env.effect = Lost(self)
        if not self.done(env):
            self.run_on_host(env)  # which raises NumPy's error if the operands are to blame
        for s in self.drop:
            env.values[s] = None
        env.effect = None

    def overwrites(self) -> bool:
        """Whether the step writes into a value that dies with it."""
        return False

    def done(self, env: S.Environment) -> bool:
        """Do the work, if it can be done on the device."""
        try:
            if all([self.is_here(env.values[s]) for s in self.reads()]):
                self.work(env)
                return True
        except Exception as error:
            if self.device.traces or of_a_handler(error):
                raise
        return False

    def is_here(self, value: Any) -> bool:
        return self.device.holds(value) or type(value) is tuple and all(map(self.is_here, value))

    def run_on_host(self, env: S.Environment) -> None:
        """The step as it is, between a copy of its operands and one of its results."""
        values = env.values
        before = {s: values[s] for s in self.reads()}
        if any(map(self.is_here, before.values())):
            profile.device_host[self.name] += 1
        try:
            for s, value in before.items():
                values[s] = self.brought(value)
            self.step.run(env)
        finally:
            for s, value in before.items():
                values[s] = value
        for s in self.writes():
            values[s] = arrived(self.device, values[s])

    def brought(self, value: Any) -> Any:
        """A value of the environment on the host."""
        if type(value) is tuple:
            return tuple([self.brought(v) for v in value])
        if not self.is_here(value):
            return value
        return download(self.device, value, tuple(value.shape), self.device.dtype_of(value))


class View(DeviceStep):
    @property
    def name(self) -> str:
        return str(self.step.op.name)

    def work(self, env: S.Environment) -> None:
        step, device = self.step, self.device
        x = device.of_scalar(env.scalars[step.ref - S.SCALARS]) if step.source is None else env.values[step.source]
        name, moving = step.op.name, env.moving[step.i]
        if name == "slice":
            x = device.slice(x, moving[0])
        elif name == "reshape":
            x = x.reshape(moving[0])
        elif name == "broadcast_to":
            x = x.expand(moving[0])
        elif name == "transpose":
            x = x.permute(step.static["axes"])
        elif name == "bitcast":
            x = device.bitcast(x, step.static["dtype"])
        elif name not in ("alias", "stop_gradient"):
            raise CannotError
        env.values[step.at] = device.copy(x) if step.wanted else x


class Library(DeviceStep):
    """`dtype`: the result's; None where there are several."""

    def __init__(self, step: S.Library, device: Any, dtype: Any) -> None:
        super().__init__(step, device)
        self.dtype = dtype
        self.function: Any = LOOPS.get(step.op.name) or device.library.get(step.op.name)

    @property
    def name(self) -> str:
        return str(self.step.op.name)

    def work(self, env: S.Environment) -> None:
        step = self.step
        if self.function is None:
            raise CannotError
        args = [env.scalars[r - S.SCALARS] if s is None else env.values[s] for r, s in zip(step.refs, step.inputs)]
        params = {**step.static, **dict(zip(step.op.moving, env.moving[step.i]))}
        value = self.function(self.device, self.dtype, *args, **params)
        if self.dtype is not None and (
            tuple(value.shape) != env.shapes[step.i] or self.device.dtype_of(value) != self.dtype
        ):
            raise CannotError
        env.values[step.at] = self.device.own(value, args)
        profile.device_library += 1


class Write(DeviceStep):
    def overwrites(self) -> bool:
        return bool(self.step.inside)

    def work(self, env: S.Environment) -> None:
        step, device, values = self.step, self.device, env.values
        target, key = values[step.base], env.moving[step.i][0]
        value = device.of_scalar(env.scalars[step.ref - S.SCALARS]) if step.value is None else values[step.value]
        if not step.inside:
            target = device.around(target, S.parts_around(key))
        device.write(target, key, value)
        values[step.at] = target


class Kernel(DeviceStep):
    def __init__(self, step: S.KernelStep, device: Any) -> None:
        super().__init__(step, device)
        self.reason = compilable(step.kernel.spec, eager=True)

    @property
    def name(self) -> str:
        return f"kernel: {self.reason}" if self.reason else "kernel"

    def overwrites(self) -> bool:
        return any([t.write is not None and not t.spare for t in self.step.targets])

    def work(self, env: S.Environment) -> None:
        if self.reason is not None:
            raise CannotError
        step, device, values = self.step, self.device, env.values
        ins, scalars = [values[s] for s in step.ins], [env.scalars[s] for s in step.scalars]
        keys = [None if t.write is None else env.moving[t.node][0] for t in step.targets]
        regions = [None if key is None else self.region(t, key, env) for t, key in zip(step.targets, keys)]
        results, compiled = device.evaluate(step.kernel.spec, ins, scalars, env.shapes[step.space], regions)
        for t, key, result in zip(step.targets, keys, results):
            if t.write is None:
                values[t.at] = result.reshape(env.shapes[t.at - step.n_leaves]) if t.reduced else result
            elif result is not None:
                device.write(values[t.write], key, result)
        profile.device_kernels += 1
        profile.device_compiled += compiled

    def region(self, t: S.Target, key: Any, env: S.Environment) -> Any:
        """Where a result is to be written; None where that is no view. The base is the write's value from now on."""
        base = env.values[t.base]  # type: ignore[index]
        if t.spare:
            base = self.device.around(base, S.parts_around(key))
        env.values[t.write] = base  # type: ignore[index]
        view, backwards = self.device.region(base, key)
        return None if backwards else view


class Arrive(S.Step):
    """The first step: the leaves become tensors."""

    def __init__(self, n_leaves: int, device: Any) -> None:
        self.n_leaves, self.device, self.drop = n_leaves, device, []

    def run(self, env: S.Environment) -> None:
        for s in range(self.n_leaves):
            env.values[s] = arrived(self.device, env.values[s])

    def reads(self) -> list[int]:
        return []

    def writes(self) -> list[int]:
        return list(range(self.n_leaves))


class Keep(S.Step):
    """The last step: what the outputs' nodes get. `dtypes`: theirs; NumPy has several for one that torch has."""

    def __init__(self, out: tuple[int, ...], dtypes: list[Any], device: Any) -> None:
        self.out, self.dtypes, self.device, self.drop = out, dtypes, device, []

    def run(self, env: S.Environment) -> None:
        for s, dtype in zip(self.out, self.dtypes):
            env.values[s] = self.kept(env.values[s], dtype)

    def kept(self, value: Any, dtype: Any) -> Any:
        if type(value) is tuple:
            return tuple([self.kept(v, None) for v in value])
        if not self.device.holds(value):
            return value
        value = value.contiguous()
        dtype = self.device.dtype_of(value) if dtype is None else dtype
        return DeviceBuffer(tuple(value.shape), dtype, self.device, value, None)

    def reads(self) -> list[int]:
        return []

    def writes(self) -> list[int]:
        return list(self.out)


def on_device(plan: Plan, dtypes: Sequence[Any], device: Any) -> Plan:
    """A plan of the host, over tensors; `dtypes` are those of its nodes."""
    kinds: dict[Any, Any] = {S.ViewStep: View, S.Write: Write, S.KernelStep: Kernel}
    steps = [
        Library(s, device, dtypes[s.i]) if type(s) is S.Library else kinds[type(s)](s, device)
        for step in plan.steps
        for s in (step.steps if type(step) is Rows else (step,))
    ]
    keep = Keep(plan.out, [dtypes[o - plan.n_leaves] for o in plan.out], device)
    there = Plan([Arrive(plan.n_leaves, device), *steps, keep], plan.out, plan.n_leaves, plan.n_nodes, plan.shared)
    there.kept = keep.kept
    return there
