"""What comes back of what was given: arguments themselves, weak types of cotangents, blocks by `jax.ds`, cotangents
that go to references; and how errors are worded. Beside JAX's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import lazynp.jax

BOTH = (lazynp.jax, jax)
ROWS = np.arange(12, dtype=np.int32).reshape(3, 4)
Check = Callable[[Any], Any]


def described(x: Any) -> Any:
    """Types, dtypes, weak types and values."""
    if isinstance(x, (tuple, list)):
        return [type(x).__name__, *map(described, x)]
    if isinstance(x, BOTH_ARRAYS):
        return "array", str(x.dtype), x.weak_type, np.asarray(x).round(5).tolist()
    if isinstance(x, (int, float)):  # JAX has subclasses of these
        return "number", x
    return type(x).__name__, np.asarray(x).tolist() if isinstance(x, (np.ndarray, np.generic)) else x


BOTH_ARRAYS = tuple([j.Array for j in BOTH])


def outcome(check: Check, j: Any) -> Any:
    try:
        return described(check(j))
    except Exception as error:
        return next(c for c in type(error).__mro__ if c.__module__ == "builtins").__name__


GIVEN_BACK: dict[str, Check] = {
    "jvp": lambda j: j.jvp(lambda x: (x, x * 2, 3), (3.0,), (1.0,))[0],
    "tangents": lambda j: j.jvp(lambda x, y: (y, x), (3.0, np.ones(2, "f4")), (1.0, np.ones(2, "f4"))),
    "jvp, aux": lambda j: j.jvp(lambda x: (x * 2, x), (3.0,), (1.0,), has_aux=True),
    "vjp": lambda j: j.vjp(lambda x: (x, x * 2, 3), 3.0)[0],
    "vjp, aux": lambda j: j.vjp(lambda x: (x * 2, {"a": x}), 3.0, has_aux=True)[2]["a"],
    "linearize": lambda j: j.linearize(lambda x: x, np.float32(3))[0],
    "value": lambda j: j.value_and_grad(lambda x: x)(3.0),
    "value and aux": lambda j: j.value_and_grad(lambda x, y: (x * y, (y, x)), has_aux=True)(3.0, 2.0),
    "aux": lambda j: j.grad(lambda x: (x * 2, x), has_aux=True)(3.0),
    "by name": lambda j: j.value_and_grad(lambda x, *, k: (x * k, k), has_aux=True)(3.0, k=2.0),
    "traced": lambda j: j.jit(lambda x: j.vjp(lambda y: y, x)[0])(3.0),
    "carried": lambda j: j.lax.fori_loop(0, 3, lambda i, c: (c[0], c[1] + 1, c[2]), (1, 2.0, True)),
    "carried, rows": lambda j: j.lax.scan(lambda c, x: ((c[0], c[1] + x), c[0]), (1, 0.0), ROWS[0])[0],
    "carried while": lambda j: j.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1], c[2]), (0, 5.0, 1j)),
    "read by the condition": lambda j: j.lax.while_loop(lambda c: c[0] < c[1], lambda c: (c[0] + 1, c[1]), (0, 5)),
    "exchanged": lambda j: j.lax.fori_loop(0, 3, lambda i, c: (c[1], c[0]), (1, 2)),
    "carried in jit": lambda j: j.jit(lambda x: j.lax.fori_loop(0, 3, lambda i, c: c, (x, 2.0)))(1),
    "gradient of what is carried": lambda j: j.grad(lambda x: j.lax.fori_loop(0, 3, lambda i, c: c, x) * x)(3.0),
    "checkpoint": lambda j: j.checkpoint(lambda x: (x, x * 2, 3, 4.0))(1.5),
    "gradient of checkpoint": lambda j: j.grad(lambda x: j.checkpoint(lambda x, y: (x, y))(x, 2.0)[0] * x)(3.0),
    "no function": lambda j: j.vjp(3, 1.0),
    "no tuple": lambda j: j.jvp(lambda x: x, 1.0, 1.0),
}
ONE = np.float32(1)
COTANGENTS: dict[str, Check] = {
    **{
        name: lambda j, f=f: [j.vjp(lambda x: f(j, x), 2.0)[1](ct)[0] for ct in (j.numpy.float32(1),)]
        for name, f in {
            "product": lambda j, x: x * 2.0,
            "sine": lambda j, x: j.numpy.sin(x),
            "of another type": lambda j, x: x * j.numpy.float32(2),
            "power": lambda j, x: x**2,
            "branch": lambda j, x: j.lax.cond(x > 0, lambda y: y * 2.0, lambda y: y, x),
            "jitted": lambda j, x: j.jit(lambda y: y * 2.0)(x),
            "maximum": lambda j, x: j.numpy.maximum(x, 0.0),
        }.items()
    },
    "weak": lambda j: j.vjp(lambda x: x * 2.0, 2.0)[1](1.0),
    "gradient": lambda j: j.grad(lambda x: x * 2.0)(2.0),
}
BLOCKS: dict[str, Check] = {
    "rows": lambda j: j.numpy.asarray(ROWS)[j.ds(1, 2)],
    "traced start": lambda j: j.jit(lambda x, i: x[j.ds(i, 2)])(ROWS, 1),
    "stride": lambda j: j.jit(lambda x, i: x[j.ds(i, 2, 2)])(ROWS, 0),
    "columns of a row": lambda j: j.jit(lambda x, i: x[0, j.ds(i, 2)])(ROWS, 1),
    "beside an array": lambda j: j.jit(lambda x, i: x[np.array([0, 1]), j.ds(i, 2)])(ROWS, 1),
    "two": lambda j: j.jit(lambda x, i: x[j.ds(i, 1), j.ds(i, 2)])(ROWS, 1),
    "behind an ellipsis": lambda j: j.jit(lambda x, i: x[..., j.ds(i, 2)])(ROWS, 1),
    "new axis": lambda j: j.jit(lambda x, i: x[None, j.ds(i, 2)])(ROWS, 1),
    "from the end": lambda j: j.jit(lambda x, i: x[j.ds(i, 2)])(ROWS, -1),
    "beyond the end": lambda j: j.jit(lambda x, i: x[j.ds(i, 2)])(ROWS, 2),
    "too large": lambda j: j.numpy.asarray(ROWS)[j.ds(0, 5)],
    "the first": lambda j: j.numpy.asarray(ROWS)[j.ds(2)],
    "all": lambda j: j.numpy.asarray(ROWS)[j.ds(None)],
    "set": lambda j: j.jit(lambda x, i: x.at[j.ds(i, 2)].set(0))(j.numpy.asarray(ROWS), 1),
    "added": lambda j: j.jit(lambda x, i: x.at[j.ds(i, 2), 1].add(10))(j.numpy.asarray(ROWS), 1),
    "set outside": lambda j: j.jit(lambda x, i: x.at[j.ds(i, 2)].set(0))(j.numpy.asarray(ROWS), 2),
    "set from the end": lambda j: j.jit(lambda x, i: x.at[j.ds(i, 2)].set(0))(j.numpy.asarray(ROWS), -2),
    "got": lambda j: j.jit(lambda x, i: x.at[j.ds(i, 2)].get())(j.numpy.asarray(ROWS), 1),
    "gradient": lambda j: j.grad(lambda x: (x[j.ds(1, 2)] ** 2).sum())(j.numpy.arange(4.0)),
    "mapped": lambda j: j.vmap(lambda i: j.numpy.asarray(ROWS)[0, j.ds(i, 2)])(np.arange(3)),
    "mapped writes": lambda j: j.vmap(lambda i: j.numpy.asarray(ROWS)[0].at[j.ds(i, 2)].set(9))(np.arange(4)),
    "text": lambda j: [str(j.ds(1, 2)), str(j.ds(2)), str(j.ds(None)), j.ds(1, 2) == j.ds(1, 2)],
    "leaves": lambda j: [j.tree.leaves(j.ds(1, 2)), j.tree.map(lambda x: x, j.ds(1, 2)) == j.ds(1, 2)],
    "from a slice": lambda j: str(type(j.ds(1, 2)).from_slice(slice(1, 3), 5)),
    "hash": lambda j: hash(j.ds(1, 2)),
    "backwards": lambda j: j.ds(1, 2, -1),
    "traced size": lambda j: j.jit(lambda x, n: x[j.ds(0, n)])(ROWS, 2),
}


@pytest.mark.parametrize(
    ("table", "name"), [(t, n) for t in (GIVEN_BACK, COTANGENTS, BLOCKS) for n in t], ids=lambda x: str(x)[:20]
)
def test_as_in_jax(table: dict[str, Check], name: str) -> None:
    ours, theirs = (outcome(table[name], j) for j in BOTH)
    assert ours == theirs


def test_arrays_that_loops_hand_on_are_the_callers() -> None:
    """A loop's carry that its body leaves alone is the array that was given."""
    x, lax = lazynp.jax.numpy.arange(3.0), lazynp.jax.lax
    assert lax.fori_loop(0, 3, lambda i, c: c, x) is x
    assert lax.scan(lambda c, _: (c, None), x, None, length=2)[0] is x


def test_a_slice_is_a_tree() -> None:
    """A traced start is a leaf."""
    for j in BOTH:
        assert j.jit(lambda i, j=j: len(j.tree.leaves(j.ds(i, 2))))(1) == 1
        assert j.jit(lambda s: s.start + s.size)(j.ds(1, 2)) == 3


def test_cotangents_go_to_references() -> None:
    x = np.arange(3, dtype=np.float32)
    results: list[Any] = []
    for j in BOTH:
        ref = j.new_ref(j.numpy.ones(3))
        _, back = j.vjp(lambda x, y: (x * y).sum(), x, 2.0)
        got = [
            back.with_refs(j.ad.GradValue(), j.ad.GradValue())(1.0),
            repr(back.with_refs(ref, j.ad.DontWant())(1.0)),
            back.with_refs(j.ad.DontWant(), j.ad.GradValue())(1.0)[1],
        ]
        _, of_tree = j.vjp(lambda d: (d["a"] * d["b"]).sum(), {"a": x, "b": x})
        out = of_tree.with_refs({"a": ref, "b": j.ad.GradValue()})(1.0)[0]

        def f(x: Any, ref: Any, j: Any = j) -> None:
            j.vjp(lambda x: (x**2).sum(), x)[1].with_refs(ref)(1.0)

        j.jit(f)(x, ref)
        results.append([*map(described, [*got[0], *got[1:], out["b"], ref[...]]), repr(out["a"]), str(back.in_tree)])
        with pytest.raises(Exception):  # noqa: B017  JAX's is of no narrower class
            back.with_refs(ref)(1.0)
    assert results[0] == results[1]


WORDED: dict[str, tuple[Check, str]] = {
    "sizes": (
        lambda j: j.vmap(lambda x, y: x)(np.ones(2, "f4"), np.ones(3, "f4")),
        r"had size 2: axis 0 of argument x of type float32\[2\];\n  \* one axis had size 3: axis 0 of argument y of",
    ),
    "most sizes": (
        lambda j: j.vmap(lambda x, y, z: x)(np.ones(2, "f4"), np.ones(3, "f4"), np.ones(2, "f4")),
        r"\* most axes \(2 of them\) had size 2, e.g. axis 0 of argument x of type float32\[2\];",
    ),
    "tangents' shapes": (
        lambda j: j.jvp(lambda x: x, (np.ones(2, "f4"),), (np.ones(3, "f4"),)),
        r"^jvp called with different primal and tangent shapes;Got primal shape \(2,\) and tangent shape as \(3,\)",
    ),
    "tangents' types": (
        lambda j: j.jvp(lambda x: x, (1.0,), (1,)),
        r"in case of int/bool primal dtype the tangent dtype must be float0.Got primal dtype float32 and so",
    ),
    "tangents of a map": (
        lambda j: j.linearize(lambda x: x, 1.0)[1](np.ones(2, "f4")),
        "linearized function called on tangent values inconsistent with the original primal values:\n",
    ),
    "no pair": (lambda j: j.lax.scan(lambda c, x: c, 0, np.ones(2)), r"must be a pair, got ~int32\[\]\."),
    "another tree": (lambda j: j.tree.structure([1, 2]).flatten_up_to((1, 2)), r"^Expected list, got \(1, 2\)\.$"),
    "registered": (
        lambda j: j.tree_util.register_pytree_node(tuple, lambda x: (x, None), lambda d, c: c),
        r"^Duplicate custom PyTreeDef type registration for <class 'tuple'>\.$",
    ),
    "static and donated": (
        lambda j: j.jit(lambda x: x, static_argnums=0, donate_argnums=0),
        "static_argnames and donate_argnames cannot intersect. Argument names {'x'} appear in both",
    ),
    "unsorted": (lambda j: j.tree.leaves({1: 1, "a": 2}), "Comparator raised exception while sorting"),
}


def rules(j: Any, reverse: bool, *given: Any) -> Any:
    """The derivative of a function with these rules, which have names."""
    for f, name in zip(given, ("fwd", "bwd") if reverse else ("jvp",)):
        f.__name__ = f"foo_{name}"
    foo = (j.custom_vjp if reverse else j.custom_jvp)(lambda x: x)
    (foo.defvjp if reverse else foo.defjvp)(*given)
    return j.grad(foo)(1.0)


WORDED |= {
    "fwd, no pair": (
        lambda j: rules(j, True, lambda x: x, lambda r, ct: (ct,)),
        r"Custom VJP fwd rule foo_fwd for function <lambda> must produce a pair \(list or tuple of length two\) where "
        r"the first element represents the primal output",
    ),
    "bwd, no tuple": (
        lambda j: rules(j, True, lambda x: (x, None), lambda r, ct: ct),
        r"got bwd output structure PyTreeDef\(\*\) for primal input structure PyTreeDef\(\(\*,\)\)\.",
    ),
    "bwd, another tree": (
        lambda j: rules(j, True, lambda x: (x, None), lambda r, ct: ([ct],)),
        r"got bwd output structure PyTreeDef\(\(\[\*\],\)\) for primal input structure PyTreeDef\(\(\*,\)\)\.",
    ),
    "bwd, another shape": (
        lambda j: rules(j, True, lambda x: (x, None), lambda r, ct: (np.ones(2, "f4"),)),
        r"at output\[0\] the bwd rule produced an output of type float32\[2\] corresponding to an input of type "
        r"float32\[\], so the shapes do not match",
    ),
    "jvp, no pair": (
        lambda j: rules(j, False, lambda p, t: p[0]),
        "Custom JVP rule foo_jvp for function <lambda> must produce a pair",
    ),
    "jvp, another tree": (
        lambda j: rules(j, False, lambda p, t: (p[0], (t[0], t[0]))),
        r"foo_jvp for function <lambda> must produce primal and tangent outputs with equal container \(pytree\) "
        r"structures, but got PyTreeDef\(\*\) and PyTreeDef\(\(\*, \*\)\) respectively\.",
    ),
    "jvp, another shape": (
        lambda j: rules(j, False, lambda p, t: (p[0], np.ones(2, "f4"))),
        r"Expected float32\[\] \(tangent type of float32\[\]\) but got float32\[2\]\.",
    ),
    "forward through reverse": (
        lambda j: j.jvp(with_reverse_rule(j), (1.0,), (1.0,)),
        r"can't apply forward-mode autodiff \(jvp\) to a custom_vjp function\.",
    ),
    "masked": (lambda j: j.numpy.sin(np.ma.array([1.0], mask=[0])), "numpy masked arrays are not supported"),
    "in a checkpoint": (
        lambda j: j.checkpoint(lambda x: x if x > 0 else 1)(2.0),
        "while tracing the function <lambda> at .* for checkpoint / remat",
    ),
}


def with_reverse_rule(j: Any) -> Any:
    f = j.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda r, ct: (ct,))
    return f


def test_a_branch_without_results_in_jit() -> None:
    """Branches that only print have no results, and run under jit."""
    for j in BOTH:
        seen: list[Any] = []
        f = j.jit(lambda x, j=j, s=seen: j.lax.cond(x > 0, lambda: j.debug.callback(s.append, x), lambda: None))
        f(2.0)
        f(-2.0)
        j.effects_barrier()
        assert [float(x) for x in seen] == [2.0]


@pytest.mark.parametrize("dtype", ["float32", "int32", "float16", "bool", "complex64"])
@pytest.mark.parametrize("kind", ["fft", "ifft", "rfft"])
def test_transforms_of_all_kinds(kind: str, dtype: str) -> None:
    ours, theirs = (outcome(lambda j: j.lax.fft(j.numpy.ones(4, dtype), kind, (4,)), j) for j in BOTH)
    assert ours == theirs


@pytest.mark.parametrize("name", WORDED)
def test_words_that_users_match(name: str) -> None:
    check, text = WORDED[name]
    for j in BOTH:
        with pytest.raises((ValueError, TypeError), match=text):
            check(j)


def test_derivative_outside_of_the_domain() -> None:
    for x in (-4.5, 0.5, 2.0):
        ours, theirs = (float(j.grad(j.numpy.arccosh)(np.float32(x))) for j in BOTH)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


UNMAPPED: dict[str, Any] = {
    "a number": lambda j, x: j.vmap(lambda x: 3, out_axes=None)(x),
    "numbers among others": lambda j, x: j.vmap(lambda x: (x, 3.5, {"a": True}), out_axes=(0, None, None))(x),
    "of NumPy": lambda j, x: j.vmap(lambda x: [np.float32(2), np.arange(2)], out_axes=None)(x),
    "an argument": lambda j, x: j.vmap(lambda x, y: (x, y, y * 2), in_axes=(0, None), out_axes=(0, None, None))(x, 2),
    "an array": lambda j, x: j.vmap(lambda x: j.numpy.float32(2), out_axes=None)(x),
    "in two": lambda j, x: j.vmap(j.vmap(lambda x: 3, out_axes=None), out_axes=None)(x[None]),
    "in jit": lambda j, x: j.jit(j.vmap(lambda x: 3, out_axes=None))(x),
    "mapped": lambda j, x: j.vmap(lambda x: 3)(x),
}


@pytest.mark.parametrize("name", UNMAPPED)
def test_results_without_a_mapped_axis_are_what_the_function_returned(name: str) -> None:
    found = [
        [
            (v, v.dtype, v.weak_type) if isinstance(v, j.Array) else (v, type(v))
            for v in j.tree.leaves(UNMAPPED[name](j, x))
        ]
        for j in (jax, lazynp.jax)
        for x in [j.numpy.arange(3.0)]
    ]
    assert str(found[0]) == str(found[1])


def ruled(j: Any, kind: str, f: Callable[..., Any], **options: Any) -> Any:
    """A function with a rule, which says nothing."""
    made = getattr(j, kind)(f, **options)
    made.defvjp(f, f) if kind == "custom_vjp" else made.defjvp(lambda p, t: (p, t))
    return made


OF_NUMPY: dict[str, Callable[[Any, str], Any]] = {
    "computed with": lambda j, k: [ruled(j, k, lambda x: x * 2)(x) for x in (np.arange(3.0), np.arange(2), 2.0)],
    "given back": lambda j, k: ruled(j, k, lambda x, y: (x, y))(np.arange(3.0), {"a": np.float64(1), "b": 2}),
    "fixed": lambda j, k: ruled(j, k, lambda x, n: (x * n, n), nondiff_argnums=1)(np.arange(3.0), np.float64(2)),
    "a text": lambda j, k: ruled(j, k, lambda x: x)("a"),
    "a text as result": lambda j, k: ruled(j, k, lambda x: "a")(1.0),
    "checkpoint": lambda j, k: [j.checkpoint(lambda x: x)(x) for x in (np.arange(3.0), np.float32(2), 2.0)],
}


@pytest.mark.parametrize("name", OF_NUMPY)
@pytest.mark.parametrize("kind", ["custom_jvp", "custom_vjp"])
def test_functions_with_rules_see_numpy_s_arrays_in_jax_s_dtypes(name: str, kind: str) -> None:
    def found(j: Any) -> Any:
        try:
            leaves = j.tree.leaves(OF_NUMPY[name](j, kind))
        except TypeError:
            return TypeError
        return [
            (isinstance(x, j.Array), np.asarray(x).tolist(), isinstance(x, (int, float)) or x.dtype) for x in leaves
        ]

    assert found(lazynp.jax) == found(jax)
