"""Sizes with variables, beside JAX: their texts, what is known of them, the shapes of operations on arrays of such
sizes, and functions that are exported for them."""

from __future__ import annotations

import importlib
from typing import Any

import jax
import numpy as np
import pytest
from agreement import close

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
LIBRARIES = jax, lazynp.jax
EXPRESSIONS = """
a + 1
2*a
a*b - b
a - b
3 - a
-a
(a + 1)*(b + 2)
a**2 - a*a
a//2
a % 2
(2*a + 1)//2
(2*a + 1) % 2
(2*a + 3*b)//2
(a*b)//b
divmod(a, -2)
7//a
7 % a
max_dim(a, b)
max_dim(a, 1)
min_dim(a, 3)
min_dim(a, 0)
a*1
a*0
a == a
a == b
a != b
a == 0
a >= 1
a > 0
0 < a
2*a >= a
a + b >= 2
a*b >= 1
a // 2 >= 0
a % 3 <= 2
max_dim(a, 3) >= 3
min_dim(a, 3) <= 3
a < b
a > 3
a - b >= 0
bool(a)
int(a)
isinstance(a, int)
hash(a) == hash(a + 0)
is_symbolic_dim(a), is_symbolic_dim(3)
[str(n) for n in symbolic_shape('a, 2*a + b, floordiv(a, 2), mod(a, b), max(a, b), min(a, 3), a^2, 4')]
symbolic_shape('(a, b,)')
symbolic_shape('a, ...', like=(1, 2, 3))
symbolic_shape('a, _', like=(1, 2))
symbolic_shape(None, like=(1, 2))
symbolic_shape('a, 3', like=(1, 2))
symbolic_shape('a', like=(1, 2))
symbolic_shape('a, _')
symbolic_shape('a, ...')
symbolic_shape('a b')
symbolic_shape('a, 1a')
symbolic_shape('a, (b')
symbolic_shape('a', constraints=['a > b'])
symbolic_shape('a', constraints='a >= 2')
symbolic_shape('a, b') == symbolic_shape('a, b')
symbolic_shape('a')[0] + a
symbolic_shape('a', scope=a.scope)[0] == a
[a >= b for a, b in [symbolic_shape('a, b', constraints=['a >= b'])]]
[b <= a + 1 for a, b in [symbolic_shape('a, b', constraints=['a >= b'])]]
[(a <= 8, a < 9, a > 3) for a, in [symbolic_shape('a', constraints=['a <= 8', 'a >= 4'])]]
[(str(b), b - 2 * a) for a, b in [symbolic_shape('a, b', constraints=['b == 2*a'])]]
[a % 2 for a, in [symbolic_shape('a', constraints=['mod(a, 2) == 0'])]]
""".strip().splitlines()
SHAPES = """
x[0]
x[-1]
x[1:, :-1]
x[:2]
x[::-1]
x[::2]
x[None, ..., None]
x[jnp.array([0, -1])]
jnp.take(x, jnp.array([0]), axis=1)
x.at[0].set(1.0)
x.at[:, 1:].add(1.0)
x + 1
x + jnp.ones((1, 1))
x @ x.T
x.sum(0)
x.mean()
jnp.var(x, 1)
jnp.argmax(x)
jnp.cumsum(x)
jnp.sort(x, 0)
x.reshape(-1)
x.reshape(b, a)
x.reshape((a, 1, -1))
jnp.concatenate([x, jnp.ones((2, b))])
jnp.stack([x, x], 1)
jnp.repeat(x, 2, axis=0)
jnp.tile(x, (2, 3))
jnp.pad(x, ((1, 0), (0, 2)))
jnp.roll(x, 1)
jnp.broadcast_to(x, (3, a, b))
jnp.eye(a)
jnp.tri(a, b)
jnp.full((a,), 3)
jnp.arange(a)
jnp.arange(2, a + 2)
jnp.arange(a, dtype='float32') * 2
lax.iota('int32', a)
lax.broadcasted_iota('int32', (a, b), 0)
jnp.outer(x[0], x[1])
jnp.einsum('ij,kj->ik', x, x)
jax.nn.softmax(x)
lax.top_k(x, 1)[0]
jnp.diff(x, axis=0)
jnp.split(jnp.concatenate([x, x]), 2)[0]
jnp.split(x, 2)[0]
jnp.zeros(lax.broadcast_shapes((1, b), (a, 1)))
jax.vmap(jnp.sum)(x)
lax.map(jnp.sin, x)
lax.scan(lambda c, v: (c + v, c), jnp.zeros(b), x)
lax.fori_loop(0, a, lambda i, c: c + x[i], jnp.zeros(b))
lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x))[1]
jax.random.normal(jax.random.key(0), (a, b))
jnp.array([a, 1])
x * a
x / a
jnp.sqrt(a)
jax.grad(lambda y: jnp.sum(jnp.sin(y)))(x)
x.reshape(3)
x + x.T
jnp.ones((a, b - 1)) @ x
jnp.zeros(3) if a > 3 else x
""".strip().splitlines()


def names_of(j: Any) -> dict[str, Any]:
    module = importlib.import_module(f"{j.__name__}.export")
    scope = module.SymbolicScope()
    a, b = module.symbolic_shape("a, b", scope=scope)
    return {
        **{"jax": j, "jnp": j.numpy, "lax": j.lax, "a": a, "b": b, "export": module},
        **{"max_dim": j.core.max_dim, "min_dim": j.core.min_dim},
        **{"symbolic_shape": module.symbolic_shape, "is_symbolic_dim": module.is_symbolic_dim},
    }


def outcome(j: Any, text: str, names: Any = None) -> Any:
    """The text of a value, or the class of its error."""
    try:
        return str(eval(text, names or names_of(j)))
    except Exception as error:
        kinds = [c.__name__ for c in type(error).__mro__ if c.__module__.partition(".")[0] in ("builtins", "jax")]
        return type(error).__name__ if j is lazynp.jax else kinds[0]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text: str) -> None:
    wanted, got = (outcome(j, text) for j in LIBRARIES)
    assert got == wanted


@pytest.mark.parametrize("text", SHAPES)
def test_shapes(text: str) -> None:
    found = []
    for j in LIBRARIES:
        names = names_of(j)
        names["x"] = j.ShapeDtypeStruct((names["a"], names["b"]), "float32")
        found.append(outcome(j, f"jax.tree.map(lambda v: v.shape, jax.eval_shape(lambda x: {text}, x))", names))
    wanted, got = found
    assert got == wanted or {got, wanted} == {"IncompatibleShapesError", "TypeError"}


FUNCTIONS = """
x @ x.T
x[1:, ::-1] * x.shape[0]
(jnp.mean(x), jnp.var(x, 0), jax.nn.softmax(x))
jnp.concatenate([x, jnp.ones((2, x.shape[1]))])
lax.scan(lambda c, v: (c + v, c * v), jnp.zeros(x.shape[1]), x)
lax.fori_loop(0, x.shape[0], lambda i, c: c + x[i], jnp.zeros(x.shape[1]))
jax.vmap(jnp.cumsum)(x)
jnp.arange(x.shape[1]) + x[jnp.array([0, -1])]
jax.random.normal(jax.random.key(0), x.shape)
jnp.pad(x, 1).reshape(-1)
lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x)
jnp.where(x > 1, x, x.shape[0] // 2)
jnp.full(x.shape, x.shape[0])
(jnp.median(x), jnp.percentile(x, 30, axis=0))
jax.random.randint(jax.random.key(0), x.shape, 0, 9)
jax.random.choice(jax.random.key(0), x, (2,))
lax.reshape(x, (x.shape[1], x.shape[0], 1))
jnp.broadcast_to(x, jnp.broadcast_shapes((1, x.shape[1]), (x.shape[0], 1)))
""".strip().splitlines()


@pytest.mark.parametrize("text", FUNCTIONS)
def test_exported(text: str) -> None:
    """Calls with two shapes, and of what was stored and loaded again."""
    found = []
    for j in LIBRARIES:
        names = names_of(j)
        f = eval(f"lambda x: {text}", names)
        exported = names["export"].export(j.jit(f))(j.ShapeDtypeStruct((names["a"], names["b"]), "float32"))
        calls = [exported.call]
        if j is lazynp.jax:
            calls.append(names["export"].deserialize(exported.serialize()).call)
        inputs = [np.arange(n, dtype="float32").reshape(s) - 2 for n, s in ((6, (2, 3)), (12, (4, 3)))]
        found.append([[np.asarray(leaf) for x in inputs for leaf in jax.tree.leaves(call(x))] for call in calls])
    (wanted,), ours = found
    for got in ours:
        for x, y in zip(wanted, got, strict=True):
            assert x.dtype == y.dtype and x.shape == y.shape and close(x, y, 10)


def test_derivative_of_an_exported_function() -> None:
    found = []
    for j in LIBRARIES:
        names = names_of(j)
        spec = j.ShapeDtypeStruct((names["a"], names["b"]), "float32")
        exported = names["export"].export(j.jit(lambda x, j=j: j.numpy.sin(x).sum()))(spec)
        x = np.ones((2, 3), "float32")
        within = names["export"].export(j.jit(lambda y, e=exported: e.call(y.T)))(spec)
        found.append((str(exported.vjp().in_avals), np.asarray(j.grad(exported.call)(x)), np.asarray(within.call(x))))
    assert found[0][0] == found[1][0]
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-6)
    np.testing.assert_allclose(found[0][2], found[1][2], rtol=1e-6)


WRONG = {
    "another size": ("a, a", (), (2, 3)),
    "a remainder": ("2*a, b", (), (3, 3)),
    "no size": ("a, b", (), (0, 3)),
    "a size below one": ("a + 3, b", (), (3, 3)),
    "too large": ("a, b", ["a <= 4"], (5, 3)),
    "an odd one": ("a, b", ["mod(a, 2) == 0"], (3, 3)),
    "a constant": ("a, 3", (), (2, 2)),
    "a rank": ("a, b", (), (2,)),
    "no solution": ("a*b, 3", (), (2, 3)),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_sizes(name: str) -> None:
    spec, constraints, shape = WRONG[name]
    texts = []
    for j in LIBRARIES:
        export = importlib.import_module(f"{j.__name__}.export")
        sizes = export.symbolic_shape(spec, constraints=constraints)
        with pytest.raises(ValueError) as error:
            export.export(j.jit(lambda x: x.sum()))(j.ShapeDtypeStruct(sizes, "float32")).call(
                np.ones(shape, "float32")
            )
        texts.append(str(error.value).partition("Using")[0].split())
    if name not in ("an odd one", "no solution"):  # JAX says what it makes of a constraint, and has names in no order
        assert texts[0] == texts[1]


def test_structs() -> None:
    args = np.ones((2, 3), "float32"), {"x": np.ones(3, "float32"), "y": np.ones((1, 3), "float32")}
    wanted, got = (
        str(
            importlib.import_module(f"{j.__name__}.export").symbolic_args_specs(
                args, ("a, ...", {"x": "_", "y": "b, _"})
            )
        )
        for j in LIBRARIES
    )
    assert got == wanted


def test_structs_share_a_scope() -> None:
    """Variables of one name are the same in all arguments; those of two scopes do not meet."""
    args = np.ones((2, 3), "float32"), np.ones(2, "float32")
    for j in LIBRARIES:
        export = importlib.import_module(f"{j.__name__}.export")
        for options in ({"scope": export.SymbolicScope(["a >= 2"])}, {"constraints": ["a >= 2"]}):
            specs = export.symbolic_args_specs(args, ("a, b", "a"), **options)
            exported = export.export(j.jit(lambda x, y: x + y[:, None]))(*specs)
            np.testing.assert_array_equal(exported.call(*args), 2)
            assert specs[1].shape[0] >= 2
        with pytest.raises(ValueError, match="different lengths of tuple at key path"):
            export.symbolic_args_specs(args, ("a, b",))
        sizes = [export.symbolic_shape(t) for t in ("a", "b")]
        with pytest.raises(ValueError, match="Invalid mixing of symbolic scopes"):
            export.export(j.jit(lambda x, y: x + y))(*[j.ShapeDtypeStruct(s, "float32") for s in sizes])


def test_another_tree_than_was_exported() -> None:
    texts = []
    for j in LIBRARIES:
        export = importlib.import_module(f"{j.__name__}.export")
        call = export.export(j.jit(lambda a, *, k: a["x"] + k))({"x": 1.0}, k=1.0).call
        for args, kwargs in ((({"x": 1.0},), {"k": [1.0]}), (({"y": 1.0}, 2.0), {"k": 1.0})):
            with pytest.raises(ValueError) as error:
                call(*args, **kwargs)
            texts.append(str(error.value).split("\n")[0] + str(error.value.args[0].count("   - ")))
    assert texts[:2] == texts[2:]
