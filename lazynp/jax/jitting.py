"""`jax.jit`: a function, and how its arguments and results lie."""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import Any

from ..api.jit import jit as make_jit
from ..doors import through
from ..runtime import jit_calls
from .array import Array, door
from .config import flags
from .devices import check_backend, own, several
from .jit_places import check_places
from .specs import Unspecified
from .stages import PjitFunction


def check_apart(static: Any) -> None:
    """Raise ValueError where an argument is static and donated."""
    for name, long, fixed, gone in (
        ("argnames", "Argument names", static.names, static.donate_names),
        ("argnums", "Argument numbers", static.nums, static.donate_nums),
    ):
        both = set(fixed) & set(gone)
        if both:
            raise ValueError(
                f"static_{name} and donate_{name} cannot intersect. {long} {both} appear in both static_{name} and "
                f"donate_{name}"
            )


UNSAID: Any = Unspecified()


def jit_on_devices(
    fun: Any = UNSAID,
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    device: Any = None,
    backend: str | None = None,
    make: type[PjitFunction] = PjitFunction,
    **options: Any,
) -> Any:
    """`api.jit.jit`, of functions whose arguments and results lie on devices as the shardings say.

    These are a sharding, a PartitionSpec over the default mesh or None for each array, or prefixes of their trees.
    Where a `device` is given, all of them lie there; `backend` is the name of its platform.

    Raises: TypeError for what is no function; ValueError for a device or a backend beside the other or shardings.
    """
    if device is not None or backend is not None:
        text = "backend and device argument on jit is deprecated. Place the arguments with jax.device_put instead."
        warnings.warn(text, DeprecationWarning, stacklevel=3)
    if device is not None and backend is not None:
        raise ValueError(f"can't specify both a device and a backend for jit, got {device=} and {backend=}")
    for name, where in (("in_shardings", in_shardings), ("out_shardings", out_shardings)):
        if where is not None and (device is not None or backend is not None):
            raise ValueError(f"If backend or device is specified on jit, then {name} should not be specified.")
    check_backend(backend)
    if fun is UNSAID:
        shardings = {"in_shardings": in_shardings, "out_shardings": out_shardings}
        return functools.partial(jit_on_devices, **shardings, device=device, backend=backend, make=make, **options)
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    if any(isinstance(options.get(k), int) for k in ("static_argnames", "donate_argnames")):
        raise TypeError("'int' object is not iterable")
    made = make_jit(fun, make=make, **options)
    check_apart(made._static)
    device = own()[0] if backend is not None else device
    made._device, made._keep_unused = device if several() else None, bool(options.get("keep_unused"))
    made._inline = bool(options.get("inline"))
    if (for_compiler := options.get("compiler_options")) is not None:
        made._options = dict(for_compiler.items())
    if isinstance(in_shardings, list):  # stands for the tuple of arguments
        in_shardings = tuple(in_shardings)
    made._in, made._out = check_places(in_shardings, "in_shardings"), check_places(out_shardings, "out_shardings")
    return made


def signature_of_jit() -> inspect.Signature:
    """`jit`'s, with all its parameters by name."""
    first, *others = inspect.signature(make_jit).parameters.values()
    return inspect.Signature([first.replace(default=UNSAID), *others])


jit_on_devices.__signature__ = signature_of_jit()  # type: ignore[attr-defined]
jit_calls.bind(Array, flags)
jit = through(jit_on_devices, door)
