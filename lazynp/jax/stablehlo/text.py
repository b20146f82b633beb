"""The text of a lowered function, written from its jaxpr in the form of StableHLO, with shardings as Shardy has them.

Tests have XLA parse, compile and run modules, so that other compilers can too. What StableHLO has no operation for
(factorizations, callbacks, a few functions) is a `custom_call` of `lazynp.<primitive>`, which only says what it is.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import issubdtype, prng_key
from ..jaxpr_types import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from ..mesh import AxisType
from ..sharding import NamedSharding
from ..specs import PartitionSpec
from ..tree_util import tree_unflatten
from . import collectives, keys, places, rules
from .builder import (
    Builder,
    Rule,
    Shape,
    Value,
    dense,
    element,
    form,
    listed,
    number,
    quoted,
    tensor,
    type_of,
    types_of,
)

RULES: dict[str, Rule] = {**rules.RULES, **places.RULES, **keys.RULES, **collectives.RULES}
UNCONSTRAINED = PartitionSpec.UNCONSTRAINED
CALLED = ("jaxpr", "call_jaxpr", "fun_jaxpr")
"""The parameters in which primitives that call a function have its jaxpr."""


class Argument(NamedTuple):
    """What the text says of an argument or a result: how it lies (None: that is not said), and in which words."""

    lies: Any = None
    words: tuple[str, ...] = ()


def module_text(
    name: str, closed: ClosedJaxpr, inputs: Sequence[Argument], outputs: Sequence[Argument], keep_unused: bool
) -> str:
    """The module of a function: `main`, which takes the arguments that are used, or all, and what it calls."""
    module = Module()
    main = Body(module, "main")
    jaxpr = closed.jaxpr
    if not keep_unused:
        used = {v for v in jaxpr.outvars if isinstance(v, Var)}.union(
            *[{v for v in eqn.invars if isinstance(v, Var)} for eqn in jaxpr.eqns]
        )
        inputs = [info for v, info in zip(jaxpr.invars, inputs) if v in used]
        jaxpr = jaxpr.replace(invars=[v for v in jaxpr.invars if v in used], debug_info=None)
    inside = main.function(jaxpr, closed.consts, inputs, outputs)
    count = max([1, *[lies.num_devices for lies, _ in (*inputs, *outputs) if lies is not None], *module.sizes])
    word = re.sub(r"[^\w.-]", "_", name).strip("_") if name != "<lambda>" else "_lambda"
    lines = [
        f"module @jit_{word} attributes {{mhlo.num_partitions = {count} : i32, mhlo.num_replicas = 1 : i32}} {{",
        *["  " + line for line in (*module.mesh_lines(), *inside, *module.functions)],
        "}",
    ]
    return "\n".join(lines) + "\n"


def arguments_of(
    types: Sequence[Any], lies: Sequence[Any], donated: Sequence[bool], results: Sequence[Any]
) -> list[Argument]:
    """What is said of arguments: how they lie, and which result takes the buffer of one that is donated.

    `results`: the types of the results, with the shardings that are asked for.
    """
    free = list(range(len(results)))
    found = []
    for aval, place, gone in zip(types, lies, donated):
        words: tuple[str, ...] = ()
        fits = [i for i in free if (results[i].shape, results[i].dtype) == (aval.shape, aval.dtype)] if gone else []
        anywhere = place is not None and place.num_devices > 1 and any([r.sharding is None for r in results])
        if gone and anywhere:
            words = ("jax.buffer_donor = true",)
        elif fits and results[fits[0]].sharding in (None, place):
            words = (f"tf.aliasing_output = {fits[0]} : i32",)
            free.remove(fits[0])
        found.append(Argument(place, words))
    return found


def asked_for(lies: Any, out_shardings: Any) -> Any:
    """How a result lies, where `out_shardings` or its type says so in full."""
    whole = out_shardings is not None or not isinstance(lies, NamedSharding) or not lies.mesh.auto_axes
    return lies if whole else None


class Module:
    """What the functions of a module share: the meshes that they name, their own names, and their text."""

    def __init__(self) -> None:
        self.meshes: dict[tuple[tuple[str, int], ...], str] = {}
        self.functions: list[str] = []
        self.named: Counter[str] = Counter()
        self.mesh: Any = None  # of the `shard_map` that is being written

    @property
    def sizes(self) -> list[int]:
        """How many devices each mesh has."""
        return [int(np.prod([size for _, size in axes])) for axes in self.meshes]

    def mesh_lines(self) -> Iterator[str]:
        for axes, name in self.meshes.items():
            sizes = ", ".join([f'"{axis}"={size}' for axis, size in axes])
            long = ", ".join([f'{{name = "{axis}", size = {size} : i64}}' for axis, size in axes])
            yield f"sdy.mesh {name} = <[{sizes}]> {{stablehlo.mesh = {{axes = [{long}]}}}}"

    def lies(self, sharding: NamedSharding, ndim: int, typed: bool = False) -> str:
        """`<@mesh, [{"x"}, {}]>`. `typed`: it is part of a type, and says nothing of the mesh's Auto axes."""
        axes = tuple(sharding.mesh.shape.items())
        known = len(self.meshes)
        name = self.meshes.setdefault(axes, "@mesh" if not known else f"@mesh_{known - 1}")
        kinds = dict(zip(sharding.mesh.axis_names, sharding.mesh.axis_types))
        opens = typed and AxisType.Auto in kinds.values()
        parts = [*sharding.spec.partitions, *[None] * (ndim - len(sharding.spec.partitions))]
        text = f"<{name}, [{', '.join([dimension(part, opens) for part in parts])}]"
        used = {axis for part in parts if part not in (None, UNCONSTRAINED) for axis in axes_in(part)}
        kept = [a for a, k in kinds.items() if opens and k == AxisType.Explicit and a not in used]
        for word, some in (("replicated", kept), ("unreduced", sorted(sharding.spec.unreduced))):
            if some:
                text += f", {word}={braced(some)}"
        return text + ">"

    def name(self, wanted: str) -> str:
        """A name for a private function that no other one has."""
        word = re.sub(r"[^\w.]", "_", wanted) or "_"
        self.named[word] += 1
        return word if self.named[word] == 1 else f"{word}_{self.named[word] - 2}"


def axes_in(part: Any) -> tuple[str, ...]:
    """The mesh's axes that one entry of a spec names."""
    return part if isinstance(part, tuple) else (part,)


def braced(axes: Sequence[str]) -> str:
    return "{" + ", ".join([f'"{axis}"' for axis in axes]) + "}"


def dimension(part: Any, opens: bool) -> str:
    """How one dimension is split: `{"x"}`; `{?}`, where that is left to the compiler."""
    if part is UNCONSTRAINED:
        return "{?}"
    words = [f'"{axis}"' for axis in ([] if part is None else axes_in(part))]
    return "{" + ", ".join([*words, *["?"] * opens]) + "}"


class Body(Builder):
    """The lines of one function, or of one region in it."""

    def __init__(self, module: Module, name: str) -> None:
        super().__init__()
        self.module, self.name = module, name
        self.values: dict[Any, Value] = {}
        self.result: Any = None  # the type of what is being computed
        self.manual = False  # in a region in which all axes of the mesh are manual: nothing is said of types there

    def function(
        self, jaxpr: Jaxpr, consts: Sequence[Any], inputs: Sequence[Argument], outputs: Sequence[Argument]
    ) -> list[str]:
        """Its lines, with what takes the arguments and gives the results."""
        arguments = []
        for v, info in zip(jaxpr.invars, inputs):
            arguments.append(f"{self.argument(v).name}: {type_of(v.aval)}{self.said(v.aval, info)}")
        self.equations(jaxpr, consts)
        types = [f"{type_of(v.aval)}{self.said(v.aval, info)}" for v, info in zip(jaxpr.outvars, outputs)]
        public = "public" if self.name == "main" else "private"
        several = len(types) != 1 or "{" in types[0]
        gives = f"({', '.join(types)})" if several else types[0]
        head = f"func.func {public} @{self.name}({', '.join(arguments)}) -> {gives} {{"
        self.leave("return", jaxpr.outvars)
        return [head, *["  " + line for line in self.lines], "}"]

    def said(self, aval: Any, info: Argument) -> str:
        """What is said of an argument or a result: `{jax.result_info = "result", sdy.sharding = ...}`."""
        words = list(info.words)
        if isinstance(info.lies, NamedSharding):
            words.append(f"sdy.sharding = #sdy.sharding{self.module.lies(info.lies, len(aval.shape))}")
        return f" {{{', '.join(sorted(words))}}}" if words else ""

    def leave(self, word: str, outvars: Sequence[Any]) -> None:
        """The last line, which gives the results."""
        xs = [self.read(v) for v in outvars]
        self.lines.append(f"{word} {listed(xs)} : {', '.join([x.type for x in xs])}" if xs else word)

    def argument(self, v: Any) -> Value:
        self.values[v] = Value(f"%arg{self.arguments}", *form(v.aval))
        self.arguments += 1
        return self.values[v]

    def read(self, atom: Any) -> Value:
        if not isinstance(atom, Literal):
            return self.values[atom]
        if issubdtype(atom.aval.dtype, prng_key):
            return self.constant(words(atom.val), np.uint32)
        return self.constant(atom.val, atom.aval.dtype)

    def equations(self, jaxpr: Jaxpr, consts: Sequence[Any]) -> None:
        """Lines for all equations; the values of their results are known from then on."""
        for v, value in zip(jaxpr.constvars, consts):
            keys = issubdtype(v.aval.dtype, prng_key)
            self.values[v] = self.constant(words(value) if keys else value, form(v.aval)[1])
        for eqn in jaxpr.eqns:
            for v, x in zip(eqn.outvars, self.equation(eqn)):
                self.values[v] = self.held(x, v.aval, eqn.primitive.name)

    def held(self, x: Value, aval: Any, primitive: str) -> Value:
        """A result, with a line that says how it lies where that is part of its type."""
        lies = getattr(aval, "sharding", None)
        if self.manual or lies is None or not lies.mesh.explicit_axes or primitive in (*CALLS, *HOLDING, *REGIONS):
            return x
        return self.hold(x, self.module.lies(lies, len(aval.shape), typed=True))

    def widened(self, x: Value, shape: Shape) -> Value:
        wide = super().widened(x, shape)
        return wide if wide is x or self.result is None else self.held(wide, self.result, "")

    def hold(self, x: Value, lies: str) -> Value:
        return self.line(f"sdy.sharding_constraint {x.name} {lies}", x.type, x.shape, x.dtype)

    def equation(self, eqn: JaxprEqn) -> list[Value]:
        """The lines of one equation, and its results."""
        primitive, p = eqn.primitive.name, eqn.params
        if primitive in REGIONS:
            return REGIONS[primitive](self, eqn)
        inner = next((p[key] for key in CALLED if key in p), None)
        if primitive in CALLS and inner is not None:
            return self.call(inner, str(p.get("name", primitive)), [self.read(v) for v in eqn.invars])
        if primitive == "custom_linear_solve":  # the second function solves
            return self.call(p["functions"][1], primitive, [self.read(v) for v in eqn.invars])
        if primitive in HOLDING:
            lies = p.get("sharding", p.get("dst_sharding"))
            x = self.read(eqn.invars[0])
            return [self.hold(x, self.module.lies(lies, x.ndim)) if isinstance(lies, NamedSharding) else x]
        return self.operation(eqn, [self.read(v) for v in eqn.invars])

    def operation(self, eqn: JaxprEqn, xs: Sequence[Value]) -> list[Value]:
        """By its rule; where there is none, or not for these parameters, as a call of what only has a name."""
        rule = RULES.get(eqn.primitive.name)
        kept, self.result = len(self.lines), eqn.outvars[0].aval if eqn.outvars else None
        try:
            if rule is not None:
                made = rule(self, eqn, *xs)
                return [made] if isinstance(made, Value) else list(made)
        except NotImplementedError:
            del self.lines[kept:]
        params = {k: x for k, x in eqn.params.items() if x is not None and plain(x)}
        said = ", ".join([f"{key} = {x}" for key, x in params.items()])
        return self.custom(f"lazynp.{eqn.primitive.name}", xs, [form(v.aval) for v in eqn.outvars], said)

    def call(self, inner: Any, name: str, xs: Sequence[Value]) -> list[Value]:
        """A call of a private function, which is written once for each call."""
        word = "func.call" if self.depth else "call"
        return self.given(f"{word} @{self.function_of(inner, name)}({listed(xs)})", xs, taken(inner)[0].outvars)

    def function_of(self, inner: Any, name: str) -> str:
        """The name of a private function, whose text is written."""
        jaxpr, consts = taken(inner)
        body = Body(self.module, self.module.name(name))
        body.manual = self.manual
        none = [Argument()] * max(len(jaxpr.invars), len(jaxpr.outvars))
        at = len(self.module.functions)
        lines = body.function(jaxpr, consts, none, none)
        self.module.functions[at:at] = lines
        return body.name

    def given(self, text: str, xs: Sequence[Value], outvars: Sequence[Any]) -> list[Value]:
        """A line of an operation that gives results of these types, and the results."""
        head, found = self.several([form(v.aval) for v in outvars])
        given = types_of(found) if len(found) == 1 else f"({types_of(found)})"
        self.lines.append(f"{head}{text} : ({types_of(xs)}) -> {given}")
        return found

    def composite(self, eqn: JaxprEqn) -> list[Value]:
        """An operation under a name of the user's, with the function that says what it does."""
        p, xs = eqn.params, [self.read(v) for v in eqn.invars]
        told = [f"{key} = {attribute(tree_unflatten(tree, leaves))}" for key, leaves, tree in sorted(p["attributes"])]
        words = [f"composite_attributes = {{{', '.join(told)}}}"] if told else []
        words.append(f"decomposition = @{self.function_of(p['jaxpr'], p['name'])}")
        words += [f"version = {p['version']} : i32"] if p["version"] else []
        text = f'stablehlo.composite "{p["name"]}" {listed(xs)}'.rstrip()
        return self.given(f"{text} {{{', '.join(words)}}}", xs, eqn.outvars)

    def several(self, results: Sequence[tuple[Any, Any]]) -> tuple[str, list[Value]]:
        """How the line of an operation with so many results begins, `%0:2 = `, and the results."""
        if not results:
            return "", []
        name = self.new()
        if len(results) == 1:
            return f"{name} = ", [Value(name, *results[0])]
        return f"{name}:{len(results)} = ", [Value(f"{name}#{i}", *result) for i, result in enumerate(results)]

    def inside(self, jaxpr: Any, outer: Sequence[Value]) -> list[Value]:
        """The results of a function whose equations are written here, on these operands."""
        jaxpr, consts = taken(jaxpr)
        before = self.values
        self.values = {**before, **dict(zip(jaxpr.invars, outer))}
        self.equations(jaxpr, consts)
        found = [self.read(v) for v in jaxpr.outvars]
        self.values = before
        return found

    def repeat(
        self,
        carried: Sequence[Value],
        condition: Callable[[list[Value]], Value],
        body: Callable[[list[Value]], Sequence[Value]],
    ) -> list[Value]:
        """A loop, from its first values."""
        head, results = self.several([(x.shape, x.dtype) for x in carried])
        names = [f"%iterArg_{self.count}_{i}" for i in range(len(carried))]
        inner = [Value(name, x.shape, x.dtype) for name, x in zip(names, carried)]
        bound = ", ".join([f"{i.name} = {x.name}" for i, x in zip(inner, carried)])
        self.lines.append(f"{head}stablehlo.while({bound}) : {types_of(carried)}")
        self.lines += ["cond {", *indented(self.block(lambda: [condition(inner)])), "} do {"]
        self.lines += [*indented(self.block(lambda: body(inner))), "}"]
        return results

    def loop(self, eqn: JaxprEqn) -> list[Value]:
        p = eqn.params
        xs = [self.read(v) for v in eqn.invars]
        a, b = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]
        return self.repeat(
            xs[b:],
            lambda inner: self.inside(p["cond_jaxpr"], [*xs[:a], *inner])[0],
            lambda inner: self.inside(p["body_jaxpr"], [*xs[a:b], *inner]),
        )

    def scan(self, eqn: JaxprEqn) -> list[Value]:
        """A loop over slices: its number, what is carried, and the results so far."""
        p = eqn.params
        xs = [self.read(v) for v in eqn.invars]
        n, k, length = p["num_consts"], p["num_carry"], int(p["length"])
        consts, carried, slices = xs[:n], xs[n : n + k], xs[n + k :]
        outs = [form(v.aval) for v in eqn.outvars[k:]]
        zeros = [self.broadcast(self.constant(0, dtype), shape) for shape, dtype in outs]
        if not length:
            return [*carried, *zeros]
        start = self.constant(0, np.int32)

        def body(inner: list[Value]) -> list[Value]:
            number, state, done = inner[0], inner[1 : k + 1], inner[k + 1 :]
            last = self.constant(length - 1, np.int32)
            at = self.binary("subtract", last, number) if p["reverse"] else number
            found = self.inside(p["jaxpr"], [*consts, *state, *[self.row(x, at) for x in slices]])
            rows = [self.put_row(x, row, at) for x, row in zip(done, found[k:])]
            return [self.binary("add", number, self.constant(1, np.int32)), *found[:k], *rows]

        found = self.repeat(
            [start, *carried, *zeros],
            lambda inner: self.compare("LT", inner[0], self.constant(length, np.int32)),
            body,
        )
        return found[1:]

    def row(self, x: Value, at: Value) -> Value:
        """The slice of an array along its first axis."""
        zeros = [self.constant(0, at.dtype) for _ in range(x.ndim - 1)]
        sizes = [1, *x.shape[1:]]
        text = f"stablehlo.dynamic_slice {listed([x, at, *zeros])}, sizes = {sizes}"
        return self.reshape(self.short(text, [x, at, *zeros], sizes, x.dtype), x.shape[1:])

    def put_row(self, x: Value, row: Value, at: Value) -> Value:
        zeros = [self.constant(0, at.dtype) for _ in range(x.ndim - 1)]
        operands = [x, self.reshape(row, (1, *row.shape)), at, *zeros]
        return self.short(f"stablehlo.dynamic_update_slice {listed(operands)}", operands, x.shape, x.dtype)

    def case(self, eqn: JaxprEqn) -> list[Value]:
        which, *xs = [self.read(v) for v in eqn.invars]
        which = self.convert(which, np.int32)
        head, results = self.several([form(v.aval) for v in eqn.outvars])
        self.lines.append(f'{head}"stablehlo.case"({which.name}) ({{')
        for i, branch in enumerate(eqn.params["branches"]):
            self.lines += ["}, {"] * (i > 0) + indented(self.block(functools.partial(self.inside, branch, xs)))
        given = types_of(results)
        self.lines.append(f"}}) : ({which.type}) -> {given if len(results) == 1 else f'({given})'}")
        return results

    def manual_computation(self, eqn: JaxprEqn) -> list[Value]:
        p = eqn.params
        jaxpr, _ = taken(p["jaxpr"])
        xs = [self.read(v) for v in eqn.invars]
        inner = [Value(f"%arg{self.arguments + i}", *form(v.aval)) for i, v in enumerate(jaxpr.invars)]
        first, last = [
            ", ".join([self.manual_lies(p["mesh"], s, v) for s, v in zip(specs, some)])
            for specs, some in ((p["in_specs"], eqn.invars), (p["out_specs"], eqn.outvars))
        ]
        typed = ", ".join([f"{x.name}: {x.type}" for x in inner])
        axes = braced([a for a in p["mesh"].axis_names if a in p["newly_manual_axes"]])
        head, results = self.several([form(v.aval) for v in eqn.outvars])
        self.lines.append(
            f"{head}sdy.manual_computation({listed(xs)}) "
            f"in_shardings=[{first}] out_shardings=[{last}] manual_axes={axes} ({typed}) {{"
        )
        before = self.manual, self.module.mesh
        self.manual = self.manual or set(p["mesh"].axis_names) == p["newly_manual_axes"]
        self.module.mesh = p["mesh"]
        self.lines += indented(self.block(lambda: self.inside(p["jaxpr"], inner), "sdy.return", len(inner)))
        self.manual, self.module.mesh = before
        given = types_of(results)
        self.lines.append(f"}} : ({types_of(xs)}) -> {given if len(results) == 1 else f'({given})'}")
        return results

    def manual_lies(self, mesh: Any, spec: Any, v: Any) -> str:
        return self.module.lies(NamedSharding(mesh, PartitionSpec(*spec.partitions)), len(v.aval.shape))


def indented(lines: Sequence[str]) -> list[str]:
    return ["  " + line for line in lines]


def words(keys: Any) -> np.ndarray[Any, Any]:
    """What keys are made of."""
    held = np.asarray(getattr(keys, "_base_array", keys))
    return held[held.dtype.names[0]] if held.dtype.names else held


def taken(jaxpr: Any) -> tuple[Jaxpr, Sequence[Any]]:
    return (jaxpr.jaxpr, jaxpr.consts) if isinstance(jaxpr, ClosedJaxpr) else (jaxpr, ())


def attribute(x: Any, listed: bool = False) -> str:
    """A value as an attribute: numbers, words, types, arrays, and trees of them. `listed`: in a list, which leaves out
    the types of 64 bits."""
    x = getattr(x, "val", x)
    if isinstance(x, dict):
        return "{" + ", ".join([f"{key} = {attribute(v)}" for key, v in sorted(x.items())]) + "}"
    if isinstance(x, (list, tuple)):
        return "[" + ", ".join([attribute(v, True) for v in x]) + "]"
    if isinstance(x, str):
        return f'"{quoted(x)}"'
    if isinstance(x, np.dtype):
        return element(x)
    if isinstance(x, np.ndarray):
        return f"dense<{dense(x)}> : {tensor(x.shape, x.dtype)}"
    if not isinstance(x, np.generic):
        x = np.bool_(x) if isinstance(x, bool) else np.int64(x) if isinstance(x, int) else np.float64(x)
    kind = element(x.dtype)
    return number(x) if kind == "i1" or listed and kind in ("i64", "f64") else f"{number(x)} : {kind}"


def plain(x: Any) -> bool:
    return isinstance(x, (bool, int, float, str)) or isinstance(x, (tuple, list)) and all(map(plain, x))


REGIONS = {
    "composite": Body.composite,
    "cond": Body.case,
    "scan": Body.scan,
    "shard_map": Body.manual_computation,
    "while": Body.loop,
}
CALLS = frozenset(
    ["jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "checkpoint", "remat2"]
)
HOLDING = frozenset(["sharding_constraint", "reshard"])
