"""Programs in which `tests/faults.py` raises errors, line by line."""

from __future__ import annotations

import re
import textwrap
from typing import NamedTuple


class Program(NamedTuple):
    """Statements, one a line (`for i in 2: ...` stands for the rest of its line, with i = 0 and 1).

    Attributes:
        text: the statements. `np` is the door's module, `jnp` and `jax` the other door's.
        tier: "interpreted", "compiled" (machine code that was built before), or "loaded" (the same, not loaded yet).
        mode: of evaluation.
        scene: what it plays in, see `fault_scenes`. anew: whether it is run anew for each fault, which takes longer,
            and threads can take part in it.
    """

    text: str
    tier: str = "interpreted"
    mode: str = "graph"
    scene: str = ""
    anew: bool = False

    @property
    def statements(self) -> list[str]:
        out: list[str] = []
        for line in textwrap.dedent(self.text).strip().splitlines():
            loop = re.fullmatch(r"for (\w) in (\d+): (.*)", line)
            if loop is None:
                out.append(line)
            else:
                out += [re.sub(rf"\b{loop[1]}\b", str(k), loop[3]) for k in range(int(loop[2]))]
        return out


PROGRAMS = {
    "chain of operations": Program("""
        a = np.arange(600.0).reshape(20, 30)
        b = np.sin(a) * 2 + 3
        c = (b - a) / (b + 3)
        d = np.where(c > 0, b, c)
        e = d[1:] - d[:-1]
        f = e.sum(axis=0)
        g = f + b[0]
        r = g.max()
        """),
    "written in place": Program("""
        u = np.arange(800.0).reshape(20, 40)
        v = u[::2]
        v += 1
        u[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1]
        u *= 0.5
        v[0] = 7
        w = u.T
        w[3] -= 2
        u[1:] = u[:-1]
        s = u.sum()
        """),
    "stencil": Program("""
        u = np.zeros((40, 40))
        u[20, 20] = 1000
        for i in 6: u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        s = u.sum()
        """),
    "loop that is found": Program("""
        x = np.arange(500.0)
        v = np.ones(500)
        for i in 40: v -= 0.01 * x; x += 0.01 * v
        e = (x * x + v * v).sum()
        """),
    "large loop": Program("""
        u = np.arange(202500.0).reshape(450, 450)
        k = u * 0.001
        for i in 12: u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] - 2 * u[1:-1, 1:-1] + u[:-2, 1:-1]) + k[1:-1, 1:-1]
        s = u[::50].sum()
        """),
    "masks": Program("""
        z = np.linspace(-2, 2, 400)
        m = np.abs(z) < 1
        z[m] = z[m] ** 2 + 3
        n = z > 2
        z[n] -= 1
        z[~m] = 0
        p = z[m] * 2
        s = p.sum()
        """),
    "reductions": Program("""
        a = np.arange(900.0).reshape(30, 30)
        b = a * 0.5
        m = b.mean(axis=1)
        v = ((b - m[:, None]) ** 2).sum(axis=1)
        q = np.argmax(b, axis=0)
        c = np.cumsum(v)
        t = (b > 3).any()
        s = b.std()
        """),
    "library": Program("""
        a = np.arange(400.0).reshape(20, 20) + 100 * np.eye(20)
        b = a @ a.T
        x = np.linalg.solve(a, b[0])
        y = np.sort(b.ravel())
        f = np.fft.fft(x)
        g = np.concatenate([x, y[:10]])
        h = np.linalg.inv(a) @ b
        i = g[np.array([1, 2, 3])]
        """),
    "several at once": Program("""
        a = np.arange(300.0)
        b = a + 1
        c = a * 2
        a += 5
        d = np.modf(a / 7)[0]
        b -= c
        q = np.divmod(b, 3)[1]
        c[10:20] = b[:10]
        e = np.stack([a, b, c])
        """),
    "dtypes": Program("""
        a = np.arange(200, dtype=np.int32)
        b = (a % 7).astype(np.float32)
        c = b * 1.5 + a
        d = a * 1j
        e = d.real + c
        k = a << 2
        a //= 3
        b[::2] = a[::2]
        """),
    "jit": Program("""
        f = jax.jit(lambda x, y: (jnp.sin(x) * y, (x + y).sum()))
        x = jnp.arange(5000.0)
        y = jnp.ones(5000)
        z, t = f(x, y)
        w = z + x
        u, t = f(w, y)
        """),
    "grad": Program("""
        x = jnp.linspace(0, 1, 300)
        g = jax.grad(lambda x: (jnp.tanh(x) ** 2).sum())(x)
        h = jax.vmap(lambda a: a * g[0])(x)
        v, k = jax.value_and_grad(lambda x: jnp.dot(x, x))(h)
        """),
    "draws": Program(
        """
        r = np.random.default_rng(3)
        a = r.standard_normal(200000)
        b = a * 2
        c = r.random(200000)
        b += c
        s = b.sum()
        """,
        anew=True,
    ),
    "scan": Program("""
        x = jnp.arange(64.0)
        c, y = jax.lax.scan(lambda c, x: (c * 0.5 + x, c - x), 0.0, x)
        n = jax.lax.fori_loop(0, 50, lambda i, v: v + i * x[0] + 1, x)
        w = jax.lax.while_loop(lambda v: v[0] < 40, lambda v: v * 2 + 1, x)
        z = w + n
        """),
    "jnp": Program("""
        x = jnp.arange(200000.0)
        y = jnp.sin(x) + 1
        z = y.at[10:20].set(0.0)
        k = jax.random.normal(jax.random.key(1), (1000,))
        m = jnp.where(z > 1, z, y)
        s = m.sum()
        t = jnp.sort(k) + s
        """),
    "fork": Program(
        """
        a = np.arange(1000.0)
        b = a * 3
        b[5:] += a[5:]
        p = __import__("os").fork() or __import__("os")._exit(0)
        __import__("os").waitpid(p, 0)
        c = b - a
        """,
        anew=True,  # where the process forked in the middle of a fork, the program's child would be another's
    ),
    "small arrays at once": Program(
        """
        a = np.arange(10.0)
        b = a + 1
        a[2:5] = b[2:5] * 2
        b += a
        c = b.reshape(2, 5).sum(axis=1)
        a[a > 5] = 0
        d = np.sort(a)
        e = np.where(d > 0, d, c[0])
        f = np.stack([e, b]).std(axis=1)
        g = np.ma.masked_less(e, 2).sum()
        h = np.einsum("i,j->ij", a, d)
        h[[1, 2]] += np.arange(250000.0)[3]
        k = np.random.default_rng(1).permutation(a)
        """,
        mode="auto",
    ),
    "large arrays": Program(
        """
        a = np.arange(500000.0)
        b = np.sqrt(a) + a
        b[1:] -= b[:-1]
        c = b.reshape(500, 1000)
        c *= 0.5
        d = c.sum(axis=0)
        a[:1000] = d
        """,
        mode="auto",
        anew=True,
    ),
    "compiled": Program(
        """
        u = np.arange(250000.0).reshape(500, 500)
        k = u * 0.001
        for i in 6: u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]) + k[1:-1, 1:-1]
        v = np.sqrt(u) * 2 + k
        v *= v
        s = v.sum(axis=0)
        """,
        "compiled",
    ),
    "loaded": Program(
        """
        a = np.arange(200000.0)
        b = np.sin(a) * 2 + 3
        a *= b
        c = a - b
        """,
        "loaded",
    ),
    "loops in machine code": Program(
        """
        x = jnp.arange(64.0)
        n = jax.lax.fori_loop(0, 50, lambda i, v: jnp.sin(v) * 0.5 + i, x)
        c, y = jax.lax.scan(lambda c, x: (c * 0.5 + x, c - x), 0.0, x)
        w = jax.lax.while_loop(lambda v: v[0] < 40, lambda v: v * 2 + 1, n)
        z = w + n
        """,
        "compiled",
    ),
    "files of compiled kernels": Program(
        """
        cache = artifacts.Artifacts(folder, 60_000)
        first = cache.put(keys[0], built(0), {"n": 0})
        none = cache.put(keys[1], None, {"n": 1})
        found = cache.get(keys[0]), cache.get(keys[1])
        lock = cache.lock(keys[6])
        mine = lock.__enter__()
        mine = lock.__exit__(None, None, None)
        for i in 3: again = cache.put(keys[2 + i], built(2 + i), {"n": 2 + i})
        again = artifacts.Artifacts(folder, 60_000)
        again.remove(keys[1])
        gone = again.get(keys[1])
        again.scratch.close()
        """,
        scene="files",
    ),
    "compiling": Program(
        """
        a = np.arange(200000.0)
        b = np.sin(a) * 2 + 3
        s = b[:5].sum()
        w = np.compile_wait(10)
        c = np.sin(b) * 2 + 3
        t = c[:5].sum()
        """,
        "compiled",
        scene="compiling",
    ),
    "compiler process": Program(
        """
        cache = artifacts.Artifacts(folder)
        asked = worker.Requests(requests, leave)
        status = worker.serve(asked, answers, cache)
        """,
        "compiled",
        scene="worker",
    ),
}
