"""How jaxprs are printed."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..flags import flags
from .jaxpr_layout import Doc, group, joined, laid_out, line, nest, noted, styled
from .specs import UNSPECIFIED

NOT_KEPT = "the lines that equations come from are not kept: jaxprs are printed without source_info"
HIDDEN: dict[str, dict[str, Any]] = {
    "broadcast_in_dim": {"shape": ..., "sharding": None, "broadcast_dimensions": ()},
    "convert_element_type": {"sharding": None},
    "dot_general": {"out_sharding": None, "precision": None},
    "jit": {
        "compiler_options_kvs": (),
        "ctx_mesh": ...,
        "donated_invars": False,
        "in_layouts": None,
        "in_shardings": UNSPECIFIED,
        "inline": False,
        "keep_unused": False,
        "out_layouts": None,
        "out_shardings": UNSPECIFIED,
    },
    "reshard": {"concrete_mesh": ..., "dst_sharding": ...},
    "custom_jvp_call": {"num_consts": ...},
    "custom_vjp_call": {"num_consts": ..., "out_trees": ...},
}
"""By primitive which parameters are not printed: those that have this value (or a tuple of it), `...`: any."""
NO_ACCURACY = frozenset(
    ["cbrt", "cos", "exp", "exp2", "expm1", "log", "log1p", "logistic", "rsqrt", "sin", "sqrt", "tan", "tanh"]
)
UNSAID = {"accuracy": None, "out_dtype": None}
RENAMED = {"jvp_jaxpr_fun": "jvp", "fwd_jaxpr_thunk": "fwd"}


class Style(NamedTuple):
    """How a jaxpr is printed: see `Jaxpr.pretty_print`."""

    print_shapes: bool = True
    custom_pp_eqn_rules: bool = True
    name_stack: bool = False
    print_effects: bool = False


class Names:
    """Names of variables in one text, given in the order in which they are met: a, b, ..., z, ba, bb, ...; and those of
    graphs that stand in front of it, since it has them more than once."""

    def __init__(self, style: Style = Style()) -> None:  # noqa: B008
        self.known: dict[Any, str] = {}
        self.shared: dict[Any, str] = {}
        self.given, self.style = 0, style

    def __call__(self, atom: Any) -> str:
        if not hasattr(atom, "unused"):
            return literal_text(atom)
        if atom.unused:
            return "_"
        name = self.known.get(atom)
        while name is None:
            name, k = "", self.given
            self.given += 1
            while True:
                name, k = chr(ord("a") + k % 26) + name, k // 26
                if not k:
                    break
            if name in self.shared.values():
                name = None
        self.known[atom] = name
        return name

    def typed(self, atom: Any) -> Doc:
        """A variable with its type."""
        return (self(atom), styled("type", f":{aval_text(atom.aval)}")) if self.style.print_shapes else self(atom)


def aval_text(aval: Any) -> str:
    """`f32[2,3]`."""
    return str(aval.str_short(short_dtypes=True))


def literal_text(atom: Any) -> str:
    """A constant with its type: `1.0:f32[]`."""
    return f"{np.asarray(atom.val).astype(atom.aval.dtype).item()}:{aval_text(atom.aval)}"


def several(docs: Sequence[Doc], separator: str = "") -> Doc:
    """Names one after the other, over several lines where they are too many."""
    return nest(2, *joined((separator, group(line())), docs))


def is_graph(value: Any) -> bool:
    """Whether it is a jaxpr, or one with its constants."""
    return hasattr(value, "eqns")


def open_graph(value: Any) -> Any:
    """The jaxpr, without constants."""
    return getattr(value, "jaxpr", value)


def graphs_in(eqn: Any) -> Iterator[Any]:
    """The jaxprs among an equation's parameters."""
    for value in eqn.params.values():
        for v in value if isinstance(value, (tuple, list)) else (value,):
            if is_graph(v):
                yield open_graph(v)


def is_shown(name: str, key: str, value: Any, style: Style) -> bool:
    """Whether a parameter is printed."""
    hidden = HIDDEN.get(name, UNSAID)
    if not style.custom_pp_eqn_rules or key not in hidden:
        return True
    usual = hidden[key]
    if usual is ... or value is usual or type(value) is tuple and type(usual) is tuple and value == usual:
        return False
    return not (isinstance(value, tuple) and all([v is usual for v in value]))


def order_of(name: str, key: str) -> tuple[bool, str]:
    """Where a parameter stands: the name of a call is first."""
    return not (key == "name" and name in HIDDEN), key


def shown_params(eqn: Any, style: Style) -> list[tuple[str, Any]]:
    """What is printed of an equation's parameters."""
    name, params = eqn.primitive.name, dict(eqn.params)
    if name in ("custom_jvp_call", "custom_vjp_call") and style.custom_pp_eqn_rules and "call_jaxpr" in params:
        info = params["call_jaxpr"].debug_info
        params["name"] = "unknown" if info is None else info.func_name
    if name == "dot_general" and style.custom_pp_eqn_rules:
        params["dimension_numbers"] = tuple([tuple(map(list, pair)) for pair in params["dimension_numbers"]])
    if name == "broadcast_in_dim" and style.custom_pp_eqn_rules:
        dims = tuple(map(int, params.get("broadcast_dimensions", ())))
        params["broadcast_dimensions"] = dims
        if params.get("sharding") is not None:
            return sorted(params.items())
    pairs = [(k, v) for k, v in params.items() if is_shown(name, k, v, style)]
    return sorted(pairs, key=lambda pair: order_of(name, pair[0]))


def equation(eqn: Any, names: Names) -> Doc:
    """An equation."""
    name = eqn.primitive.name
    if name in ("get", "swap", "addupdate") and hasattr(eqn.invars[0].aval, "inner_aval"):
        return reference_equation(eqn, names)
    inner = open_graph(eqn.params["jaxpr"]) if name == "jit" and "jaxpr" in eqn.params else None
    if inner is not None and inner not in names.shared:
        named_alike(eqn, inner, names)
    left = [several([names.typed(v) for v in eqn.outvars]), " = "] if eqn.outvars else []
    params = shown_params(eqn, names.style)
    pairs = [(f"{RENAMED.get(k, k)}=", value_doc(v, names)) for k, v in params]
    inside = group("[", nest(2, line(""), *joined(line(), pairs)), line(""), "]") if pairs else ""
    right = several([names(v) for v in eqn.invars])
    scopes = str(eqn.source_info.name_stack)
    return noted((*left, name, inside, " ", right), f"[{scopes}]" if names.style.name_stack else None)


def reference_equation(eqn: Any, names: Names) -> Doc:
    """An equation that reads or writes a reference."""
    ref, *operands = eqn.invars
    n = eqn.params["n"]
    results = [names.typed(v) for v in eqn.outvars if eqn.primitive.name == "get" or not v.unused]
    indices = [names(v) for v in operands[:n]]
    part = [names(ref), "[", eqn.params["tree"].text.format(*indices), "]"]
    if eqn.primitive.name == "get":
        return (*results, " <- ", *part)
    value = names(operands[n])
    if eqn.primitive.name == "addupdate":
        return (*part, " += ", value)
    return (*results, ", ", *part, " <- ", *part, ", ", value) if results else (*part, " <- ", value)


def named_alike(eqn: Any, inner: Any, names: Names) -> None:
    """Give the variables of a call's graph the names of those that stand for them outside."""
    for v, atom in zip(inner.invars, eqn.invars):
        if hasattr(atom, "unused"):
            names.known[v] = names(atom)
    arguments = set(inner.invars)
    for v, out in zip(inner.outvars, eqn.outvars):
        if hasattr(v, "unused") and v not in arguments:
            names.known[v] = names(out)


def value_doc(value: Any, names: Names) -> Doc:
    """A parameter."""
    if is_graph(value):
        graph = open_graph(value)
        return names.shared.get(graph) or graph_doc(graph, names)
    if isinstance(value, tuple) and value and all([is_graph(v) for v in value]):
        rows = [value_doc(v, names) for v in value]
        return group("(", nest(2, line(""), *joined(line(), rows)), line(""), ")")
    if isinstance(value, (np.dtype, type)):
        return np.dtype(value).name
    if isinstance(value, str):
        return value
    if isinstance(value, frozenset):
        return f"frozenset({{{', '.join(sorted(map(repr, value)))}}})"
    wrapped = getattr(value, "f_transformed", None) is not None
    text = getattr(value.f, "__name__", "unnamed") if wrapped else str(value)
    return re.sub(r"(?<= at )0x[0-9a-f]+", lambda m: "0x" + "X" * (len(m[0]) - 2), text)


def graph_doc(graph: Any, names: Names) -> Doc:
    """A jaxpr."""
    constants = several([names.typed(v) for v in graph.constvars])
    arguments = several([names.typed(v) for v in graph.invars])
    head = ["{ ", styled("keyword", "lambda "), nest(2, constants), "; ", nest(2, arguments), ". "]
    rows = [equation(e, names) for e in graph.eqns]
    body = styled("keyword", "let", nest(4, line())), nest(4, *joined((line("; ")), rows))
    outs = [names(v) for v in graph.outvars]
    results = ["(", several(outs, ","), "," if len(outs) == 1 else "", ")"]
    effects = [f" : {{ {', '.join(sorted(map(str, graph.effects)))} }}"] if names.style.print_effects else []
    return group(*head, *body, nest(2, line()), styled("keyword", "in "), *results, *effects, " }")


def shared_graphs(graph: Any) -> list[tuple[str, Any]]:
    """The graphs of calls that stand more than once in a graph, each with a name, those that need others first."""
    calls: dict[Any, str] = {}
    count: Counter[Any] = Counter()
    queue = [graph]
    while queue:
        now = queue.pop(0)
        for e in now.eqns:
            for inner in graphs_in(e):
                new = inner not in count
                count[inner] += 1
                if new:
                    queue.append(inner)
                if e.primitive.name == "jit":
                    calls.setdefault(inner, str(e.params.get("name", "jaxpr")))
    taken: Counter[str] = Counter()
    found = []
    for inner, name in calls.items():
        if count[inner] > 1:
            plain = name.strip("<>")
            found.append((f"{plain}{taken[plain] or ''}", inner))
            taken[plain] += 1
    return found


def graph_text(graph: Any, style: Style, color: bool = False) -> str:
    """A jaxpr as text, with the graphs that it has more than once in front."""
    names = Names(style)
    shared = shared_graphs(graph)
    names.shared = {inner: name for name, inner in shared}
    fronts: list[Doc] = []
    for name, inner in shared:
        fronts.append(
            (styled("keyword", "let "), name, " = ", graph_doc(inner, names), styled("keyword", " in"), line())
        )
    return laid_out((*fronts, graph_doc(graph, names)), color)


def equation_text(eqn: Any) -> str:
    """An equation as text."""
    return laid_out(equation(eqn, Names())).rstrip()


def pretty(
    self: Any,
    *,
    source_info: bool = False,
    print_shapes: bool = True,
    custom_pp_eqn_rules: bool = True,
    name_stack: bool = False,
    print_effects: bool = False,
    use_color: bool | None = None,
) -> str:
    """The text.

    Args:
        print_shapes: with the types of variables. custom_pp_eqn_rules: without parameters that have their usual value.
        name_stack: with the scopes of each equation beside it. print_effects: with what it does besides its results.
        use_color: with escape codes for terminals; None: where the flag `jax_pprint_use_color` is set and the output
            is one.

    Raises: NotImplementedError for `source_info`: where equations come from is not kept.
    """
    if source_info:
        raise NotImplementedError(NOT_KEPT)
    color = use_color if use_color is not None else flags.pprint_use_color and is_terminal()
    return graph_text(open_graph(self), Style(print_shapes, custom_pp_eqn_rules, name_stack, print_effects), color)


def is_terminal() -> bool:
    """Whether what is printed goes to a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()
