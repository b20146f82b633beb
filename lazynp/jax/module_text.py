"""The text of a lowered function, written from its jaxpr in the form of StableHLO, with shardings as Shardy has them.

It is there to be read: which operations there are, of which types, in which functions and loops, and how values lie. An
operation that StableHLO has no short form for is written in the general one, with the parameters of JAX's primitive.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .dtypes import issubdtype, prng_key
from .jaxpr_types import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from .mesh import AxisType
from .module_names import COLLECTIVES, COMPARED, ELEMENTWISE, GENERAL, REDUCED, SCALARS
from .sharding import NamedSharding
from .specs import PartitionSpec

UNCONSTRAINED = PartitionSpec.UNCONSTRAINED
CALLED = ("jaxpr", "call_jaxpr", "fun_jaxpr")
"""The parameters in which primitives that call a function have its jaxpr."""
FEW = 64
"""Constants of more elements are written as their bytes."""


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
        word = re.sub(r"\W", "_", wanted) or "_"
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


def type_of(aval: Any) -> str:
    """`tensor<8x2xf32>`. Keys are what they are made of."""
    if not hasattr(aval, "shape"):
        return "!stablehlo.token"
    shape, dtype = tuple(aval.shape), aval.dtype
    if issubdtype(dtype, prng_key):
        return f"tensor<{''.join([f'{n}x' for n in (*shape, 2)])}ui32>"
    dtype = np.dtype(dtype)
    return f"tensor<{''.join([f'{n}x' for n in shape])}{SCALARS.get(dtype.name, dtype.name)}>"


def number(x: Any) -> str:
    """A number as MLIR writes it."""
    if x.dtype.kind == "b":
        return "true" if x else "false"
    if x.dtype.kind in "iu":
        return str(int(x))
    if x.dtype.kind == "c":
        return f"({number(x.real)}, {number(x.imag)})"
    value = float(x)
    return f"{value:.6e}" if np.isfinite(value) else f"0x{int.from_bytes(x.tobytes(), 'little'):0{2 * x.nbytes}X}"


def dense(value: np.ndarray[Any, Any]) -> str:
    """A constant: one number for all elements that are the same, lists of few, bytes of many."""
    flat = value.reshape(-1)
    if flat.size and (flat.size == 1 or (flat == flat[0]).all()):
        return number(flat[0])
    if flat.size > FEW:
        return f'"0x{value.tobytes().hex().upper()}"'
    if value.ndim > 1:
        return f"[{', '.join([dense_rows(row) for row in value])}]"
    return dense_rows(value)


def dense_rows(value: np.ndarray[Any, Any]) -> str:
    return number(value) if not value.ndim else f"[{', '.join([dense_rows(row) for row in value])}]"


class Body:
    """The lines of one function, or of one region in it."""

    def __init__(self, module: Module, name: str, start: int = 0) -> None:
        self.module, self.name = module, name
        self.lines: list[str] = []
        self.names: dict[Any, str] = {}
        self.count = 0
        self.constants = 0
        self.arguments = start
        self.manual = False  # in a region in which all axes of the mesh are manual: nothing is said of types there

    def function(
        self, jaxpr: Jaxpr, consts: Sequence[Any], inputs: Sequence[Argument], outputs: Sequence[Argument]
    ) -> list[str]:
        """Its lines, with what takes the arguments and gives the results."""
        arguments = []
        for v, info in zip(jaxpr.invars, inputs):
            arguments.append(f"{self.argument(v)}: {type_of(v.aval)}{self.said(v.aval, info)}")
        self.equations(jaxpr, consts)
        types = [f"{type_of(v.aval)}{self.said(v.aval, info)}" for v, info in zip(jaxpr.outvars, outputs)]
        public = "public" if self.name == "main" else "private"
        several = len(types) != 1 or "{" in types[0]
        gives = f"({', '.join(types)})" if several else types[0]
        head = f"func.func {public} @{self.name}({', '.join(arguments)}) -> {gives} {{"
        return [head, *["  " + line for line in (*self.lines, self.leave("return", jaxpr.outvars))], "}"]

    def said(self, aval: Any, info: Argument) -> str:
        """What is said of an argument or a result: `{jax.result_info = "result", sdy.sharding = ...}`."""
        words = list(info.words)
        if isinstance(info.lies, NamedSharding):
            words.append(f"sdy.sharding = #sdy.sharding{self.module.lies(info.lies, len(aval.shape))}")
        return f" {{{', '.join(sorted(words))}}}" if words else ""

    def leave(self, word: str, outvars: Sequence[Any]) -> str:
        """The last line, which gives the results."""
        names = ", ".join([self.read(v) for v in outvars])
        return f"{word} {names} : {', '.join([type_of(v.aval) for v in outvars])}" if names else word

    def argument(self, v: Any) -> str:
        self.names[v] = f"%arg{self.arguments}"
        self.arguments += 1
        return self.names[v]

    def new(self) -> str:
        self.count += 1
        return f"%{self.count - 1}"

    def constant(self, value: Any, aval: Any) -> str:
        """A line with a constant."""
        value = np.asarray(value)
        word = "cst" if value.dtype.kind in "fcV" else "c"
        name = f"%{word}" if not self.constants else f"%{word}_{self.constants - 1}"
        self.constants += 1
        self.lines.append(f"{name} = stablehlo.constant dense<{dense(value)}> : {type_of(aval)}")
        return name

    def read(self, atom: Any) -> str:
        return self.constant(atom.val, atom.aval) if isinstance(atom, Literal) else self.names[atom]

    def equations(self, jaxpr: Jaxpr, consts: Sequence[Any]) -> None:
        """Lines for all equations; the names of their results are known from then on."""
        for v, value in zip(jaxpr.constvars, consts):
            keys = issubdtype(v.aval.dtype, prng_key)
            self.names[v] = "%key" if keys else self.constant(value, v.aval)
        for eqn in jaxpr.eqns:
            for v, name in zip(eqn.outvars, self.equation(eqn)):
                self.names[v] = self.held(name, v.aval, eqn.primitive.name)

    def held(self, name: str, aval: Any, primitive: str) -> str:
        """A result, with a line that says how it lies where that is part of its type."""
        lies = getattr(aval, "sharding", None)
        if self.manual or lies is None or not lies.mesh.explicit_axes or primitive in (*CALLS, *HOLDING, *REGIONS):
            return name
        return self.hold(name, aval, self.module.lies(lies, len(aval.shape), typed=True))

    def hold(self, name: str, aval: Any, lies: str) -> str:
        held = self.new()
        self.lines.append(f"{held} = sdy.sharding_constraint {name} {lies} : {type_of(aval)}")
        return held

    def write(self, eqn: JaxprEqn, text: str, types: str = "") -> list[str]:
        """A line of one operation: `%0 = stablehlo.<text> : <types>`, and the names of its results."""
        head, names = self.results(eqn)
        self.lines.append(f"{head}{text} : {types or signature(eqn)}")
        return names

    def results(self, eqn: JaxprEqn) -> tuple[str, list[str]]:
        """How the line of an operation begins, `%0:2 = `, and the names of its results."""
        several = len(eqn.outvars)
        if not several:
            return "", []
        name = self.new()
        if several == 1:
            return f"{name} = ", [name]
        return f"{name}:{several} = ", [f"{name}#{i}" for i in range(several)]

    def widened(self, atom: Any, aval: Any) -> str:
        """An operand of the result's shape."""
        name = self.read(atom)
        if tuple(atom.aval.shape) == tuple(aval.shape):
            return name
        wide = self.new()
        text = f"stablehlo.broadcast_in_dim {name}, dims = [] : ({type_of(atom.aval)}) -> "
        self.lines.append(f"{wide} = {text}{type_of(atom.aval).replace('<', '<' + sizes(aval))}")
        return self.held(wide, aval, "")

    def equation(self, eqn: JaxprEqn) -> list[str]:
        """The lines of one equation, and the names of its results."""
        primitive, p = eqn.primitive.name, eqn.params
        if primitive in ELEMENTWISE or primitive in COMPARED:
            return self.elementwise(eqn)
        if primitive in REGIONS:
            return REGIONS[primitive](self, eqn)
        inner = next((p[key] for key in CALLED if key in p), None)
        if primitive in CALLS and inner is not None:
            return self.call(eqn, inner)
        if primitive in HOLDING:
            lies = p.get("sharding", p.get("dst_sharding"))
            aval = eqn.outvars[0].aval
            text = self.module.lies(lies, len(aval.shape)) if isinstance(lies, NamedSharding) else ""
            return [self.hold(self.read(eqn.invars[0]), aval, text) if text else self.read(eqn.invars[0])]
        names = [self.read(v) for v in eqn.invars]
        short = SHORT.get(primitive)
        if short is not None:
            return self.write(eqn, short(names, eqn))
        if primitive in REDUCED and len(names) == 1:
            return self.reduction(eqn, names[0])
        word = COLLECTIVES.get(primitive) or GENERAL.get(primitive) or "custom_call"
        target = f" @{primitive}" if word == "custom_call" else ""
        return self.write(eqn, f'"stablehlo.{word}"{target}({", ".join(names)}){attributes(p)}')

    def elementwise(self, eqn: JaxprEqn) -> list[str]:
        primitive, aval = eqn.primitive.name, eqn.outvars[0].aval
        names = [self.widened(v, aval) for v in eqn.invars]
        if primitive in COMPARED:
            kind = eqn.invars[0].aval.dtype.kind
            sort = "FLOAT" if kind in "fcV" else "SIGNED" if kind == "i" else "UNSIGNED"
            wide = type_of(eqn.invars[0].aval)
            wide = wide if tuple(eqn.invars[0].aval.shape) == tuple(aval.shape) else type_of(eqn.invars[1].aval)
            text = f"stablehlo.compare {COMPARED[primitive]}, {', '.join(names)}, {sort}"
            return self.write(eqn, text, f"({wide}, {wide}) -> {type_of(aval)}")
        if primitive == "select_n":
            names = [names[0], *reversed(names[1:])]
            return self.write(
                eqn, f"stablehlo.select {', '.join(names)}", f"{type_of(eqn.invars[0].aval)}, {type_of(aval)}"
            )
        word = ELEMENTWISE[primitive]
        word = word if "." in word else f"stablehlo.{word}"
        same = all([v.aval.dtype == aval.dtype for v in eqn.invars])
        return self.write(eqn, f"{word} {', '.join(names)}", type_of(aval) if same else "")

    def reduction(self, eqn: JaxprEqn, name: str) -> list[str]:
        word, start = REDUCED[eqn.primitive.name]
        aval, out = eqn.invars[0].aval, eqn.outvars[0].aval
        scalar = type_of(aval.update(shape=()))
        first = start if start is not None else extreme(aval.dtype, word == "minimum")
        c = self.constant(np.asarray(first, aval.dtype), aval.update(shape=()))
        axes = list(eqn.params["axes"])
        text = f"stablehlo.reduce({name} init: {c}) applies stablehlo.{word} across dimensions = {axes}"
        return self.write(eqn, text, f"({type_of(aval)}, {scalar}) -> {type_of(out)}")

    def call(self, eqn: JaxprEqn, inner: Any) -> list[str]:
        """A call of a private function, which is written once for each call."""
        jaxpr, consts = taken(inner)
        name = self.module.name(str(eqn.params.get("name", eqn.primitive.name)))
        body = Body(self.module, name)
        body.manual = self.manual
        none = [Argument()] * max(len(jaxpr.invars), len(jaxpr.outvars))
        names = ", ".join([self.read(v) for v in eqn.invars])
        at = len(self.module.functions)
        lines = body.function(jaxpr, consts, none, none)
        self.module.functions[at:at] = lines
        return self.write(eqn, f"call @{name}({names})")

    def region(
        self, jaxpr: Any, outer: Sequence[str], word: str = "stablehlo.return", manual: bool = False
    ) -> list[str]:
        """The lines of a function in the place where it runs, whose arguments have these names."""
        jaxpr, consts = taken(jaxpr)
        inner = Body(self.module, self.name, self.arguments)
        inner.count, inner.constants, inner.manual = self.count, self.constants, self.manual or manual
        inner.names = {**self.names, **dict(zip(jaxpr.invars, outer))}
        inner.equations(jaxpr, consts)
        return ["  " + line for line in (*inner.lines, inner.leave(word, jaxpr.outvars))]

    def loop(self, eqn: JaxprEqn) -> list[str]:
        p = eqn.params
        names = [self.read(v) for v in eqn.invars]
        a, b = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]
        carried = [f"%iterArg_{self.count}_{i}" for i in range(len(names) - b)]
        bound = ", ".join([f"{c} = {n}" for c, n in zip(carried, names[b:])])
        types = ", ".join([type_of(v.aval) for v in eqn.outvars])
        result = self.write(eqn, f"stablehlo.while({bound})", types)
        self.lines += ["cond {", *self.region(p["cond_jaxpr"], [*names[:a], *carried]), "} do {"]
        self.lines += [*self.region(p["body_jaxpr"], [*names[a:b], *carried]), "}"]
        return result

    def scan(self, eqn: JaxprEqn) -> list[str]:
        """A loop over slices: its body is written for one of them."""
        names = [self.read(v) for v in eqn.invars]
        inner = [f"%iterArg_{self.count}_{i}" for i in range(len(names))]
        bound = ", ".join([f"{c} = {n}" for c, n in zip(inner, names)])
        said = f"{{length = {eqn.params['length']}, reverse = {str(eqn.params['reverse']).lower()}}}"
        result = self.write(eqn, f"stablehlo.while({bound}) {said}")
        self.lines += ["do {", *self.region(eqn.params["jaxpr"], inner), "}"]
        return result

    def case(self, eqn: JaxprEqn) -> list[str]:
        which, *names = [self.read(v) for v in eqn.invars]
        head, results = self.results(eqn)
        self.lines.append(f'{head}"stablehlo.case"({which}) ({{')
        for i, branch in enumerate(eqn.params["branches"]):
            self.lines += ["}, {"] * (i > 0) + self.region(branch, names)
        self.lines.append(f"}}) : ({type_of(eqn.invars[0].aval)}) -> {given(eqn)}")
        return results

    def manual_computation(self, eqn: JaxprEqn) -> list[str]:
        p = eqn.params
        jaxpr, _ = taken(p["jaxpr"])
        names = [self.read(v) for v in eqn.invars]
        inner = [self.argument(v) for v in jaxpr.invars]
        first, last = [
            ", ".join([self.manual_lies(p["mesh"], s, v) for s, v in zip(specs, some)])
            for specs, some in ((p["in_specs"], eqn.invars), (p["out_specs"], eqn.outvars))
        ]
        typed = ", ".join([f"{n}: {type_of(v.aval)}" for n, v in zip(inner, jaxpr.invars)])
        axes = braced([a for a in p["mesh"].axis_names if a in p["newly_manual_axes"]])
        head, results = self.results(eqn)
        self.lines.append(
            f"{head}sdy.manual_computation({', '.join(names)}) "
            f"in_shardings=[{first}] out_shardings=[{last}] manual_axes={axes} ({typed}) {{"
        )
        self.lines += self.region(p["jaxpr"], inner, "sdy.return", set(p["mesh"].axis_names) == p["newly_manual_axes"])
        self.lines.append(f"}} : {signature(eqn)}")
        return results

    def manual_lies(self, mesh: Any, spec: Any, v: Any) -> str:
        return self.module.lies(NamedSharding(mesh, PartitionSpec(*spec.partitions)), len(v.aval.shape))


def taken(jaxpr: Any) -> tuple[Jaxpr, Sequence[Any]]:
    return (jaxpr.jaxpr, jaxpr.consts) if isinstance(jaxpr, ClosedJaxpr) else (jaxpr, ())


def sizes(aval: Any) -> str:
    return "".join([f"{n}x" for n in aval.shape])


def signature(eqn: JaxprEqn) -> str:
    """`(tensor<2xf32>) -> tensor<2xf32>`."""
    return f"({', '.join([type_of(v.aval) for v in eqn.invars])}) -> {given(eqn)}"


def given(eqn: JaxprEqn) -> str:
    """The types of an equation's results."""
    outs = ", ".join([type_of(v.aval) for v in eqn.outvars])
    return outs if len(eqn.outvars) == 1 else f"({outs})"


def extreme(dtype: Any, high: bool) -> Any:
    """What a maximum, or a minimum, begins with."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).max if high else np.iinfo(dtype).min
    return high if dtype.kind == "b" else np.inf if high else -np.inf


def attributes(params: dict[str, Any]) -> str:
    """The parameters of a primitive that are numbers and words, as attributes of an operation in the general form."""
    said = []
    for key, x in params.items():
        if x is None or x == () or not plain(x):
            continue
        text = str(x).lower() if isinstance(x, bool) else f'"{x}"' if isinstance(x, str) else str(x).replace("'", '"')
        said.append(f"{key} = {text.replace('(', '[').replace(',)', ']').replace(')', ']')}")
    return f" <{{{', '.join(said)}}}>" if said else ""


def plain(x: Any) -> bool:
    return isinstance(x, (bool, int, float, str)) or isinstance(x, (tuple, list)) and all(map(plain, x))


def sliced(names: list[str], eqn: JaxprEqn) -> str:
    p = eqn.params
    steps = p["strides"] or (1,) * len(p["start_indices"])
    parts = [f"{a}:{b}" + (f":{c}" if c != 1 else "") for a, b, c in zip(p["start_indices"], p["limit_indices"], steps)]
    return f"stablehlo.slice {names[0]} [{', '.join(parts)}]"


def product(names: list[str], eqn: JaxprEqn) -> str:
    (left, right), (batch, other) = eqn.params["dimension_numbers"]
    text = f"batching_dims = {list(batch)} x {list(other)}, " if batch else ""
    text += f"contracting_dims = {list(left)} x {list(right)}, precision = [DEFAULT, DEFAULT]"
    return f"stablehlo.dot_general {names[0]}, {names[1]}, {text}"


SHORT = {
    "broadcast_in_dim": lambda n, e: (
        f"stablehlo.broadcast_in_dim {n[0]}, dims = {list(map(int, e.params['broadcast_dimensions']))}"
    ),
    "concatenate": lambda n, e: f"stablehlo.concatenate {', '.join(n)}, dim = {e.params['dimension']}",
    "convert_element_type": lambda n, e: f"stablehlo.convert {n[0]}",
    "dot_general": product,
    "dynamic_slice": lambda n, e: (
        f"stablehlo.dynamic_slice {', '.join(n)}, sizes = {list(map(int, e.params['slice_sizes']))}"
    ),
    "dynamic_update_slice": lambda n, e: f"stablehlo.dynamic_update_slice {', '.join(n)}",
    "iota": lambda n, e: f"stablehlo.iota dim = {e.params['dimension']}",
    "reshape": lambda n, e: f"stablehlo.reshape {n[0]}",
    "rev": lambda n, e: f"stablehlo.reverse {n[0]}, dims = {list(e.params['dimensions'])}",
    "slice": sliced,
    "squeeze": lambda n, e: f"stablehlo.reshape {n[0]}",
    "transpose": lambda n, e: f"stablehlo.transpose {n[0]}, dims = {list(map(int, e.params['permutation']))}",
}
"""By primitive an operation's text, from the names of its operands and its equation."""
REGIONS = {"while": Body.loop, "scan": Body.scan, "cond": Body.case, "shard_map": Body.manual_computation}
CALLS = frozenset(["jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "checkpoint"])
HOLDING = frozenset(["sharding_constraint", "reshard"])
