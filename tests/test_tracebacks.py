"""What a user sees of an error: his own line and the error, wherever the traceback is printed."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import os
import pickle
import re
import subprocess
import sys
import textwrap
import traceback
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
import lazynp.jax as jax
import lazynp.jax.numpy as jnp
from lazynp.config import config
from lazynp.jax import flatten_util
from lazynp.jax.boundaries import PUBLIC
from lazynp.jax.experimental import checkify, sparse
from lazynp.speed import calls
from lazynp.tracebacks import bounds, is_own, leave, trimmed

LARGE, SMALL = 500, 3
PRINTED = 10  # lines of a traceback, at most


@pytest.fixture(autouse=True)
def _short() -> Iterator[None]:
    with config(full_tracebacks=False):
        yield


def positive(x: Any) -> Any:
    if x.sum() > 0:
        return x
    return -x


def adds_more(x: Any) -> Any:
    return x + jnp.ones(x.shape[0] + 1)


def reads_too_far(x: Any) -> Any:
    x[1:3] = np.ones((7, 5))


Case = Callable[[int], Any]
CASES: dict[str, Case] = {
    "shape": lambda n: np.ones((n, n)) + np.ones(n + 1),
    "shape_in_place": lambda n: np.ones((n, n)).__iadd__(np.ones(n + 1)),
    "shape_ufunc": lambda n: np.hypot(np.ones((n, n)), np.ones(n + 1)),
    "shape_out": lambda n: np.add(np.ones(n), 1, out=np.ones((n, n + 1))[:, :1]),
    "dtype": lambda n: np.ones((n, n)) & 1.5,
    "dtype_ufunc": lambda n: np.bitwise_and(np.ones((n, n)), 1),
    "matmul": lambda n: np.ones((n, n)) @ np.ones(n + 1),
    "reshape": lambda n: np.ones((n, n)).reshape(7),
    "concatenate": lambda n: np.concatenate([np.ones((n, n)), np.ones(3)]),
    "index": lambda n: np.ones((n, n))[n],
    "assignment": lambda n: reads_too_far(np.ones((n, n))),
    "take": lambda n: np.take(np.ones((n, n)), [n * n]),
    "einsum": lambda n: np.einsum("ij,jk", np.ones((n, n)), np.ones((n + 1, n))),
    "bool": lambda n: bool(np.ones((n, n)) > 0),
    "axis": lambda n: np.ones((n, n)).sum(axis=5),
    "keyword": lambda n: np.sum(np.ones((n, n)), axes=0),
    "singular": lambda n: np.linalg.inv(np.zeros((n, n))),
    "singular_solve": lambda n: np.linalg.solve(np.zeros((n, n)), np.ones(n)),
    "not_definite": lambda n: np.linalg.cholesky(-np.eye(n)),
    "traced_if": lambda n: np.jit(positive)(np.ones((n, n))),
    "traced_vmap": lambda n: np.vmap(positive)(np.ones((n, n))),
    "traced_grad": lambda n: np.grad(lambda x: (x + np.ones(n + 1)).sum())(np.ones(n)),
    "grad_of_array": lambda n: np.grad(lambda x: x * 2)(np.ones(n)),
    "jax_shape": lambda n: jnp.ones((n, n)) + jnp.ones(n + 1),
    "jax_function": lambda n: jnp.arctan2(jnp.ones((n, n)), jnp.ones(n + 1)),
    "jax_dtype": lambda n: jnp.bitwise_and(jnp.ones((n, n)), 1.5),
    "jax_lax": lambda n: jax.lax.add(jnp.ones((n, n)), jnp.ones(n + 1)),
    "jax_matmul": lambda n: jnp.ones((n, n)) @ jnp.ones(n + 1),
    "jax_dot": lambda n: jnp.dot(jnp.ones((n, n)), jnp.ones(n + 1)),
    "jax_axis": lambda n: jnp.sum(jnp.ones((n, n)), axis=5),
    "jax_reshape": lambda n: jnp.ones((n, n)).reshape(7),
    "jax_index": lambda n: jnp.ones((n, n))[0, 1, 2],
    "jax_zeros": lambda n: jnp.zeros(n, dtype="none"),
    "jax_if": lambda n: jax.jit(positive)(jnp.ones((n, n))),
    "name": lambda n: getattr(np, "arrange"),  # noqa: B009
    "jax_name": lambda n: getattr(jnp, "arrange"),  # noqa: B009
    "jax_scan": lambda n: jax.lax.scan(lambda c, x: (c > 0, x), 1.0, jnp.ones(n)),
    "jax_while": lambda n: jax.lax.while_loop(lambda c: c, lambda c: c, 1.0),
    "jax_cond": lambda n: jax.lax.cond(True, lambda: 1, lambda: 2.0),
    "jax_vmap": lambda n: jax.vmap(jnp.add)(jnp.ones(n), jnp.ones(n + 1)),
    "jax_grad": lambda n: jax.grad(lambda x: x * 2)(jnp.ones(n)),
    "jax_static": lambda n: jax.jit(lambda x, k: x, static_argnums=1)(1.0, [n]),
    "seed": lambda n: np.random.default_rng("text"),
    "save": lambda n: np.profile().save("nowhere"),
    "explain": lambda n: np.explain(positive)(np.ones((n, n))),
    "benchmark": lambda n: np.benchmark(reads_too_far, np.ones((n, n)), show=False),
    "advise": lambda n: np.advise(reads_too_far, np.ones((n, n)), show=False),
}


# Plain functions of Python, methods, and functions that were returned: their outermost frame is C's.
BOUNDED: dict[str, Case] = {
    "concatenate": lambda n: jnp.concatenate([jnp.ones(n), jnp.ones((n, n))]),
    "linspace": lambda n: jnp.linspace(0, 1, "n"),  # type: ignore[arg-type]
    "linalg": lambda n: jnp.linalg.norm(jnp.ones(n), ord="none"),
    "fft": lambda n: jnp.fft.fft(jnp.ones(n), axis=5),
    "lax": lambda n: jax.lax.dynamic_slice(jnp.ones(n), (0,), (n + 1,)),
    "lax_arguments": lambda n: jax.lax.add(jnp.ones(n)),  # which `inspect` is asked about
    "random": lambda n: jax.random.choice(jax.random.key(0), n, (n + 1,), replace=False),
    "nn": lambda n: jax.nn.softmax(jnp.ones(n), axis=4),
    "initializer": lambda n: jax.nn.initializers.he_normal()(jax.random.key(0), (n,)),
    "scipy": lambda n: jax.scipy.linalg.expm(jnp.ones(n)),
    "stats": lambda n: jax.scipy.stats.beta.pdf(jnp.ones(n)),
    "image": lambda n: jax.image.resize(jnp.ones(n), (n,), "none"),
    "tree": lambda n: jax.tree.map(lambda a, b: a, {"a": n}, [n]),
    "scalar_type": lambda n: jnp.float32([jnp.ones(n), jnp.ones(n + 1)]),
    "rule": lambda n: jax.custom_jvp("none", nondiff_argnames=("x",)),  # type: ignore[arg-type]
    "spec": lambda n: jax.ShapeDtypeStruct((n,), "none"),
    "float": lambda n: float(jnp.ones((n, n))),
    "iteration": lambda n: list(jnp.ones(n).sum()),
    "attribute": lambda n: jnp.ones(n).nothing,
    "item_assignment": lambda n: jnp.ones(n).__setitem__(0, 1),
    "at": lambda n: jnp.ones(n).at[0].set(jnp.ones(n)),
    "key": lambda n: bool(jax.random.key(n)),
    "pullback": lambda n: jax.vjp(jnp.sin, jnp.ones(n))[1](jnp.ones(n + 1)),
    "linear_map": lambda n: jax.linearize(jnp.sin, jnp.ones(n))[1](jnp.ones(n + 1)),
    "sparse": lambda n: sparse.BCOO.fromdense(jnp.ones(n)) @ jnp.ones((n + 1, n)),
    "ravel": lambda n: flatten_util.ravel_pytree({"a": "text"}),
    "sharding": lambda n: jax.sharding.reshard(jnp.ones(n), n),
    "choice": lambda n: np.random.default_rng(0).choice(n, n + 1, replace=False),
    "old_choice": lambda n: np.random.RandomState(0).choice(n, n + 1, replace=False),
    "jaxpr": lambda n: jax.make_jaxpr(adds_more)(jnp.ones(n)),
    "checkpoint": lambda n: jax.checkpoint(adds_more)(jnp.ones(n)),
    "vectorize": lambda n: jnp.vectorize(adds_more, signature="(n)->(m)")(jnp.ones(n)),
    "named_call": lambda n: jax.named_call(adds_more)(jnp.ones(n)),
    "unravel": lambda n: flatten_util.ravel_pytree({"a": jnp.ones(n)})[1](jnp.ones(n + 1)),
    "sparsify": lambda n: sparse.sparsify(adds_more)(jnp.ones(n)),
    "checked": lambda n: checkify.checkify(adds_more)(jnp.ones(n)),
}


def caught(f: Case, n: int) -> BaseException:
    try:
        f(n)
    except Exception as error:
        return error
    raise AssertionError("no error")


@pytest.mark.parametrize("n", [SMALL, LARGE])
@pytest.mark.parametrize("name", CASES)
def test_only_the_users_lines(name: str, n: int) -> None:
    error = caught(CASES[name], n)
    assert {f.filename for f in traceback.extract_tb(error.__traceback__)} == {__file__}
    text = traceback.format_exception(error)
    assert "During handling" not in "".join(text) and "direct cause" not in "".join(text)


@pytest.mark.skipif(calls is None, reason="without the C module plain functions keep their frames")
@pytest.mark.parametrize("name", BOUNDED)
def test_plain_functions_keep_no_frame(name: str) -> None:
    for f in (BOUNDED[name], jax.jit(BOUNDED[name], static_argnums=0)):
        error = caught(f, 4)
        assert {t.filename for t in traceback.extract_tb(error.__traceback__)} == {__file__}


@pytest.mark.skipif(calls is None, reason="without the C module plain functions keep their frames")
def test_every_public_function_has_a_boundary() -> None:
    left = [
        f"{path}.{name}"
        for path in PUBLIC
        for name, f in vars(sys.modules[f"lazynp.jax.{path}"]).items()
        if not name.startswith("_") and is_own(f)
    ]
    assert not left and len(bounds) > 900


@pytest.mark.skipif(calls is None, reason="without the C module plain functions stand for themselves")
def test_a_bounded_function_is_as_the_function() -> None:
    f, plain = jnp.concatenate, inspect.unwrap(jnp.concatenate)
    assert (f.__name__, f.__doc__, f.__module__) == (plain.__name__, plain.__doc__, plain.__module__)
    assert inspect.signature(f) == inspect.signature(plain) and inspect.isroutine(f)
    assert inspect.getsource(f).startswith("def concatenate(")
    assert repr(f) == repr(plain) and weakref.ref(f)() is f
    for g in (f, jax.lax.scan, jnp.linalg.norm, jax.tree.map):
        assert pickle.loads(pickle.dumps(g)) is g and copy.deepcopy(g) is g

    class Layer:
        turned = jnp.flip

    assert functools.wraps(f)(lambda x: x).__name__ == "concatenate"
    with pytest.raises(TypeError, match=r"flip requires ndarray or scalar arguments, got .*Layer"):
        Layer().turned()


def test_frames_of_callbacks_are_kept() -> None:
    def broken(*args: Any) -> Any:
        raise ValueError("mine")

    for f in (
        lambda: jax.tree.map(broken, {"a": 1}),
        lambda: jnp.vectorize(broken)(jnp.ones(3)),
        lambda: jax.lax.scan(broken, 0.0, jnp.ones(3)),
        lambda: jnp.apply_along_axis(broken, 0, jnp.ones(3)),
        lambda: jax.scipy.optimize.minimize(broken, jnp.ones(3), method="BFGS"),
    ):
        with pytest.raises(ValueError, match="mine") as info:
            f()
        assert [t.name for t in traceback.extract_tb(info.value.__traceback__)][-1] == "broken"


@pytest.mark.parametrize("name", ["shape", "singular", "traced_if", "jax_shape", "jax_if"])
def test_everything_where_it_is_asked_for(name: str) -> None:
    with config(full_tracebacks=True):
        error = caught(CASES[name], LARGE)
    files = [f.filename for f in traceback.extract_tb(error.__traceback__)]
    assert len(files) > 4 and any(os.sep + "lazynp" + os.sep in f for f in files)


def test_errors_of_the_users_own_functions_keep_their_lines() -> None:
    def broken(x: Any) -> Any:
        raise ValueError("mine")

    for f in (lambda: np.jit(broken)(1.0), lambda: np.apply_along_axis(broken, 0, np.ones((LARGE, 9)))):
        try:
            f()
        except ValueError as error:
            assert [t.name for t in traceback.extract_tb(error.__traceback__)][-1] == "broken"


def test_a_cause_that_is_said_stays_without_our_frames() -> None:
    with pytest.raises(TypeError) as info:
        jax.nn.initializers.normal()(jax.random.key(0), "text")
    assert isinstance(info.value.__cause__, TypeError) and info.value.__cause__.__traceback__ is None


def test_the_error_of_a_callback_shows_the_users_frames_only() -> None:
    with pytest.raises(RuntimeError) as info:
        str(jax.jit(called_back)(jnp.ones(3)))
    files = re.findall(r'File "(.*?)"', str(info.value))
    assert files == [__file__]


def test_a_function_that_is_returned_is_as_it_was() -> None:
    made = jax.make_jaxpr(adds_more)
    assert made.__name__ == "make_jaxpr(adds_more)" and callable(made) and inspect.isroutine(made)
    assert jax.jit(jax.checkpoint(lambda x: 2 * x))(jnp.ones(3)).tolist() == [2, 2, 2]
    dropped = weakref.ref(made)
    del made
    gc.collect()
    assert dropped() is None


def test_the_users_context_is_kept() -> None:
    with pytest.raises(ValueError) as info:
        try:
            {}["key"]
        except KeyError:
            np.ones((LARGE, LARGE)) + np.ones(3)
    assert type(info.value.__context__) is KeyError


def test_a_users_context_without_a_traceback_is_kept() -> None:
    with pytest.raises(ValueError) as info:
        try:
            {}["key"]
        except KeyError as error:
            error.__traceback__ = None
            np.ones((LARGE, LARGE)) + np.ones(3)
    assert type(info.value.__context__) is KeyError


ALWAYS = RuntimeError("always")


def raises_always(x: Any) -> Any:
    raise ALWAYS


def test_a_callback_that_raises_one_error_again_and_again_has_one_note() -> None:
    for _ in range(3):
        with pytest.raises(RuntimeError, match="always"):
            str(jax.pure_callback(raises_always, jax.ShapeDtypeStruct((3,), "float32"), jnp.ones(3)) + 1)
    assert len(getattr(ALWAYS, "__notes__", [])) <= 1


def test_a_traceback_without_our_frames_is_left_as_it_is() -> None:
    try:
        int("x")
    except ValueError as error:
        before = error.__traceback__
        assert trimmed(before) is before
        leave(error)
        assert error.__traceback__ is before


def singular(x: Any) -> Any:
    return np.linalg.inv(x).sum()


def says_no(x: Any) -> Any:
    raise RuntimeError("no")


def called_back(x: Any) -> Any:
    return jax.pure_callback(says_no, jax.ShapeDtypeStruct(x.shape, "float32"), x)


LATER: dict[str, tuple[Callable[[], Any], Callable[..., Any]]] = {
    "jit": (lambda: np.jit(singular)(np.zeros((LARGE, LARGE))), singular),
    "jit_small": (lambda: np.jit(singular)(np.zeros((3, 3))), singular),
    "grad": (lambda: str(np.grad(singular)(np.zeros((LARGE, LARGE)))), singular),
    "vmap": (lambda: str(np.vmap(singular)(np.zeros((5, 90, 90)))), singular),
    "scan": (lambda: str(np.scan(lambda c, x: (c, singular(x)), 1.0, np.zeros((5, 90, 90)))), singular),
    "callback_jit": (lambda: jax.jit(called_back)(jnp.ones(3)), called_back),
}


@pytest.mark.parametrize("name", LATER)
def test_a_value_that_is_computed_later_names_its_line(name: str) -> None:
    run, recorded = LATER[name]
    line = f"recorded at {__file__}:{recorded.__code__.co_firstlineno + 1}"
    for _ in range(2):
        with pytest.raises((numpy.linalg.LinAlgError, RuntimeError)) as info:
            run()
        assert info.value.__notes__ == [line]


def test_an_error_that_is_raised_again_forgets_who_asked_before() -> None:
    x = np.vmap(singular)(np.zeros((5, 90, 90)))

    def first() -> None:
        str(x)

    for f in (first, lambda: str(x)):
        with pytest.raises(numpy.linalg.LinAlgError) as info:
            f()
    assert "first" not in [t.name for t in traceback.extract_tb(info.value.__traceback__)]


SCRIPT = """
import sys
import lazynp as np
import lazynp.jax as jax, lazynp.jax.numpy as jnp

def positive(x):
    if x.sum() > 0:
        return x
    return -x

def work(n):
    {}

work({})
"""
PROGRAMS = {
    "shape": "np.ones((n, n)) + np.ones(n + 1)",
    "dtype": "np.ones((n, n)) & 1.5",
    "singular": "np.linalg.inv(np.zeros((n, n)))",
    "traced_if": "np.jit(positive)(np.ones((n, n)))",
    "axis": "np.ones((n, n)).sum(axis=5)",
    "jax_if": "jax.jit(positive)(jnp.ones((n, n)))",
    "jax_key": "jax.random.normal('key')",
}


def printed(*command: str, **more: str) -> list[str]:
    env = {**os.environ, "LAZYNP_FULL_TRACEBACKS": "0", "LAZYNP_COMPILE": "0", **more}
    done = subprocess.run([sys.executable, *command], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    return done.stderr.splitlines()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_script_prints_ten_lines(name: str, tmp_path: Any) -> None:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(PROGRAMS[name], LARGE if name != "axis" else SMALL))
    lines = [line for line in printed(str(path)) if line.strip(" ~^")]  # Python 3.13 marks calls, too
    assert len(lines) <= PRINTED
    entries = [line for line in lines if line.startswith("  File ")]
    assert entries and all(str(path) in e for e in entries)


PLAIN = """import threading
import numpy as np
import lazynp.jax.numpy as jnp

def work():
    jnp.concatenate([jnp.ones(3), jnp.ones((3, 3))])

thread = threading.Thread(target=work)
thread.start()
thread.join()
np.load("nowhere.npy")
"""


@pytest.mark.parametrize("speed", ["0", "1"])
def test_lazynp_as_a_program_hides_the_frames_of_plain_functions_too(speed: str, tmp_path: Any) -> None:
    path = tmp_path / "script.py"
    path.write_text(PLAIN)
    lines = printed("-m", "lazynp", str(path), LAZYNP_SPEED=speed)
    entries = [line for line in lines if line.startswith("  File ") and "threading.py" not in line]
    assert [e.partition(", ")[2] for e in entries] == ["line 6, in work", "line 11, in <module>"]


def test_a_cell_of_ipython_shows_the_users_lines() -> None:
    pytest.importorskip("IPython", reason="IPython comes with lazynp[test]")
    code = textwrap.dedent("""
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance(colors="NoColor")
        shell.run_cell("import lazynp.tracebacks as t; t.install(); import lazynp.jax.numpy as jnp")
        shell.run_cell("jnp.concatenate([jnp.ones(3), jnp.ones((3, 3))])")
        """)
    env = {**os.environ, "LAZYNP_FULL_TRACEBACKS": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    assert "Cell In" in done.stdout and "Error" in done.stdout and "joining.py" not in done.stdout
