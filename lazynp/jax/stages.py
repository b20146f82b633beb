"""`jax.jit`, and the stages on the way from a function to what runs: `f.trace(...).lower().compile()`."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np

from ..api.jit import Call, Entry, Jit
from ..api.jit import jit as make_jit
from ..config import config
from ..doors import through
from ..graph.show import show
from ..runtime import dispatch
from ..runtime.kernels import compile_wait
from ..signatures import HOLE, leaf_names, name_of
from ..tree import flatten, unflatten
from .array import Array, door
from .config import flags
from .jaxpr import ClosedJaxpr, closed, node_of, structs
from .tree_util import PyTreeDef


class ArgInfo:
    """An argument of a traced function."""

    def __init__(self, shape: tuple[int, ...], dtype: Any, donated: bool) -> None:
        self.shape, self.dtype, self.donated = shape, dtype, donated

    def __repr__(self) -> str:
        return f"ArgInfo(shape={self.shape}, dtype={self.dtype.name}, donated={self.donated})"


class Stage:
    """What the stages have in common."""

    def __init__(self, jitted: Jit, call: Call, entry: Entry) -> None:
        self._jitted, self._call, self._entry = jitted, call, entry

    @property
    def fun_name(self) -> str:
        return name_of(self._jitted._fun)

    @property
    def in_tree(self) -> PyTreeDef:
        return PyTreeDef(self._call.structure)

    @property
    def out_tree(self) -> PyTreeDef:
        return PyTreeDef(self._entry.out)

    @property
    def in_avals(self) -> Any:
        return unflatten(self._call.structure, list(self._entry.function.in_avals))

    @property
    def out_info(self) -> Any:
        """Types of the result."""
        return structs(self._entry.out, self._entry.function.outputs)

    out_avals = out_info

    @property
    def args_info(self) -> Any:
        """Types of the arguments, and which are donated."""
        donated = self._call.donated or (False,) * len(self._call.nodes)
        infos = [ArgInfo(n.shape, n.dtype, d) for n, d in zip(self._call.nodes, donated)]
        return unflatten(self._call.structure, infos)

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        return tuple([i for i, d in enumerate(self._call.donated) if d])


class Traced(Stage):
    """A function that was traced for arguments of some types."""

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """Its graph."""
        return closed(self._entry.function, self._entry.since)

    def lower(self, **options: Any) -> Lowered:
        """The next stage."""
        return Lowered(self._jitted, self._call, self._entry)


class Lowered(Stage):
    """A function that is ready to be compiled."""

    def as_text(self, dialect: str | None = None, **options: Any) -> str:
        """The graph, a line a node."""
        return show(self._entry.function.outputs)

    def compiler_ir(self, dialect: str | None = None) -> str:
        return self.as_text()

    def cost_analysis(self) -> dict[str, float]:
        """Bytes read and written, and elements computed, if every operation went through memory."""
        return costs(self._entry)

    def compile(self, compiler_options: Any = None) -> Compiled:
        """Have all kernels compiled, and wait for them: the function is run once, on zeros, unless it has effects."""
        function = self._entry.function
        if self._entry.pure and not function.effects:
            with config(compile_after=0.0):
                zeros = [np.zeros(n.shape, n.dtype) for n in function.inputs]
                self._entry.program(zeros)[0].warm(zeros)
            compile_wait()
        return Compiled(self._jitted, self._call, self._entry)


class Compiled(Stage):
    """A function that runs for arguments of the types it was compiled for."""

    def as_text(self) -> str:
        return show(self._entry.function.outputs)

    def cost_analysis(self) -> dict[str, float]:
        return costs(self._entry)

    def memory_analysis(self) -> None:
        """Nothing is known before it runs."""

    def runtime_executable(self) -> Any:
        return self._entry.function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result. Raises TypeError for arguments of other types."""
        filled = list(args)
        for at, _ in self._call.statics:
            if type(at) is int:
                filled.insert(at, HOLE)
        leaves, structure = flatten((tuple(filled), kwargs))
        if structure != self._call.structure:
            raise TypeError(
                f"Function compiled with input pytree does not match the input pytree it was called with: it was "
                f"compiled with {PyTreeDef(self._call.structure)} and called with {PyTreeDef(structure)}"
            )
        nodes = [door.as_node(x) for x in leaves]
        for i, (got, want) in enumerate(zip(nodes, self._entry.function.inputs)):
            if (got.shape, got.dtype) != (want.shape, want.dtype):
                names = leaf_names(self._jitted._fun, tuple(filled), kwargs)
                raise TypeError(
                    f"Argument types differ from the types for which this computation was compiled. Perhaps you are "
                    f"calling the compiled executable with a different enable_x64 mode than when it was AOT compiled? "
                    f"The mismatches are:\nArgument {names[i]!r} compiled with {want.aval} and called with {got.aval}"
                )
        call = self._call._replace(leaves=leaves, nodes=nodes)
        return self._jitted._run(call, self._entry, args, kwargs)

    call = __call__


def costs(entry: Entry) -> dict[str, float]:
    nodes = [n for n in entry.function.outputs if n.dtype is not None]
    return {"bytes accessed": float(sum(n.aval.nbytes for n in (*nodes, *entry.function.inputs)))}


class PjitFunction(Jit):
    """A jitted function, with its stages."""

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._fun)

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace it for these arguments, arrays or `ShapeDtypeStruct`s."""
        call = self._take_apart(args, kwargs, node_of)
        return Traced(self, call, self._entry(call))

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace it for these arguments, and lower it."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The types of the result."""
        return self.trace(*args, **kwargs).out_info

    def __repr__(self) -> str:
        return f"<PjitFunction of {self._fun!r}>"


dispatch.bind(Array, flags)
jit = through(functools.partial(make_jit, make=PjitFunction), door)
Wrapped = PjitFunction
