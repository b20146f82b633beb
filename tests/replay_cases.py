"""Programs whose loops are replayed: functions of NumPy's namespace and a number of rounds, for `test_replay.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

Program = Callable[[Any, int], Any]
PROGRAMS: dict[str, Program] = {}


def program(f: Program) -> Program:
    PROGRAMS[f.__name__] = f
    return f


def square(np: Any, n: int = 14, seed: int = 0) -> Any:
    return np.array(numpy.random.default_rng(seed).random((n, n)))


@program
def two_arrays_in_turns(np: Any, rounds: int) -> Any:
    a, b = square(np), square(np, seed=1)
    for _ in range(rounds):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a, b = b, a
    return a, b


@program
def names_bound_anew(np: Any, rounds: int) -> Any:
    u, f = square(np), square(np, seed=1)
    for k in range(rounds):
        r = f - 0.3 * u
        u = u + 0.01 * r + 1e-4 * k * (u - f) * r
    return u, r


@program
def reads_what_it_writes(np: Any, rounds: int) -> Any:
    u = square(np)
    for _ in range(rounds):
        u[1:] = u[:-1] * 0.5 + 0.25
        u[:, ::2] += u[:, 1::2]
        u[...] = u[::-1] * 0.5
    return u


@program
def a_test_of_convergence(np: Any, rounds: int) -> Any:
    u, steps = square(np), 0
    for _ in range(rounds):
        v = u.copy()
        v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        change = np.abs(v - u).max()
        u = v
        steps += 1
        if change < 1e-12 or not (u < 2).all():
            break
    return u, np.array([float(steps), change])


@program
def a_softmax(np: Any, rounds: int) -> Any:
    x, w = square(np), square(np, seed=1)
    for _ in range(rounds):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        p = e / np.sum(e, axis=1, keepdims=True)
        x = x * 0.9 + w * (p - 1 / 14) - p.mean(axis=0)
    return x, p


@program
def new_arrays_in_each_round(np: Any, rounds: int) -> Any:
    """Of one number, or of none, which are written to, read, and kept."""
    u, kept = square(np, 12), []
    n = np.arange(12) % 5
    for k in range(rounds):
        v = np.zeros_like(u)
        v[1:-1, 1:-1] = u[2:, 1:-1] * 0.5 + u[:-2, 1:-1] * 0.25
        w = np.ones(12)
        w[k % 12] = 0.5
        e = np.empty((12, 12))
        e[:6], e[6:] = v[6:], w
        f = np.full((12,), 0.125, dtype="float64")
        seen = np.zeros(12, bool)
        seen[n > 2] = True
        n = (n + seen + np.full_like(n, 3)) % 7
        u = u * 0.5 + e * np.full((12, 12), 0.25) - np.zeros((1, 12)) + f
        if k % 5 == 0:
            kept.append(v)
    return u, n, kept


@program
def moments_norms_and_products(np: Any, rounds: int) -> Any:
    """What NumPy computes in several steps, and `dot` of matrices."""
    u, shown = square(np, 20), []
    a = u[:10] * 1.0
    f = u[2].astype("float32")
    for _ in range(rounds):
        u = (u - u.mean()) / u.std() * 0.5 + 0.1
        v = u[3] * 1.0
        shown += [np.linalg.norm(v), np.var(v, ddof=1), (f * f).std(), np.linalg.norm(f)]
        a = np.dot(a, u) * 0.1
        w = np.copy(np.dot(u, v))
        w[0] = 1.0
        u[1] = w.dot(u) * 0.1
        f = f * np.float32(0.9) + np.std(f)
    return u, a, w, f, np.array(shown)


@program
def arrays_joined(np: Any, rounds: int) -> Any:
    """Along an axis of theirs, and along a new one."""
    u, a, kept = square(np, 30)[0], square(np, 6), []
    n = np.arange(8)
    for k in range(rounds):
        u = np.concatenate([u[:1], 0.5 * (u[2:] + u[:-2]), u[-1:]])
        v = np.hstack((u[::3], a[k % 6]))
        b = np.vstack([a[1:], a[:1] * 0.5])
        a = np.concatenate((a[:, 2:], b[:, :2] + v[0]), axis=-1)
        s = np.stack([u, u * 0.25, u[::-1]])
        t = np.stack((u, v[:1] + u), axis=1)
        c = np.column_stack([s[0], t[:, 1]])
        w = np.vstack((u, s[1]))
        u = u * 0.9 + s[2] * 0.01 + c[:, 1] * 0.01 - w[1] * 0.01
        n = np.append(n[1:], n[:1] + k)
        t[0] = k
        if k % 4 == 0:
            kept += [v, t, w]
    return u, a, c, n, kept


@program
def norms_and_means(np: Any, rounds: int) -> Any:
    x, y, shown = square(np, 9), np.zeros(9), []
    for k in range(rounds):
        r = x[:, 1] - x[:, 0]
        y[k % 9 :] += (r * r).sum() * 0.01 + r[: k % 7 + 1].sum() - x[0, ::2].mean()
        shown.append(np.sqrt(np.sum(y * y)))
        x = x * (0.5 + 1 / (1 + np.amax(np.abs(y)))) - np.mean(x, 0) * x.min()
    return x, y, np.array(shown)


@program
def sums_of_parts(np: Any, rounds: int) -> Any:
    u, shown = square(np, 30), np.zeros((3, 3))
    for k in range(rounds):
        for i in range(3):
            block = u[8 * i : 8 * i + 8, k % 20 : k % 20 + 8]
            shown[i, k % 3] = block.mean() + block.max() - block[::2, 1:].min()
        u = u * 0.99 + u[1:-1, 1:-1].sum() * 1e-5 + np.sum(u[:, :-3], axis=0, keepdims=True)[:, :1] * 1e-4
        u[1:-1, 1] += u[1:-1, 2:].sum(axis=1) * 1e-4
    return u, shown


@program
def complex_numbers(np: Any, rounds: int) -> Any:
    z = np.exp(1j * np.linspace(0.0, 3.0, 48).reshape(6, 8))
    c = z * 0.3 - 0.1j
    kept = np.zeros((6, 8), "complex128")
    for k in range(rounds):
        z = z * z * (0.5 + 0.1j) + c
        kept[k % 6] = z[k % 5 + 1] - c[0]
        w = np.abs(z) * 0.25
        z[:, 1] = kept[:, k % 8]
        c *= 0.99
        c += np.conj(z) * 1e-3
    return z, c, kept, w


@program
def sums_in_single_precision(np: Any, rounds: int) -> Any:
    x = square(np, 40).astype("float32")
    i = np.arange(40)
    half = np.float32(0.5)
    for _ in range(rounds):
        i = (i * 3 + i.max() - i.min(keepdims=True)) % 41 + i.sum() % 3
        x = x * half + x.mean(1, keepdims=True) * (half - x.sum(axis=0) * np.float32(1e-3)) + (x[1] < half).any()
        x[0] = x[0] * half + (x[:, 1] * half).prod() + (x[1, :9] * half).prod()
    return x, i


@program
def moving_bounds(np: Any, rounds: int) -> Any:
    x, y = square(np, 40), square(np, 40, seed=1)
    for _ in range(3):
        for j in range(1, 40):
            y[:, j] = 0.3 * x[:, j] + 0.6 * y[:, j - 1]
            x[j] = x[j - 1] - y[j]
    return x, y


@program
def values_are_asked_for(np: Any, rounds: int) -> Any:
    u, seen = square(np), []
    for _ in range(rounds):
        old = u.copy()
        u[1:-1, 1:-1] += 0.1 * (u[1:-1, 2:] + u[1:-1, :-2] - 2 * u[1:-1, 1:-1])
        seen.append(float(np.abs(u - old).max()))
        if seen[-1] < 1e-9:
            break
    return u, seen


@program
def numbers_of_numpy(np: Any, rounds: int) -> Any:
    u = square(np)
    for k in range(rounds):
        step = 0.1 / np.max(np.abs(u))
        u = u - step * u * u + np.float64(k) * 1e-3
    return u


@program
def functions_with_their_own_loops(np: Any, rounds: int) -> Any:
    x, w = np.array(numpy.linspace(0, 2, 50)), np.array(numpy.linspace(1, 3, 50))
    for _ in range(rounds):
        y = np.sin(x) * 2 + np.exp(-x * x)
        x = np.maximum(y, 0.5) / np.sqrt(1 + w * w)
        w = np.minimum(w, x) + np.arctan2(x, w)
    return x, y, w


@program
def whole_numbers_and_masks(np: Any, rounds: int) -> Any:
    a, b = np.arange(60) % 7, np.arange(60) % 5
    f = np.ones(60, "f4")
    for k in range(rounds):
        a = (a * 3 + b) & 1023
        m = (a > b) ^ ~(b == k)
        b[1:] = a[:-1] | (b[1:] ^ k)
        f = f * np.float32(0.5) + f
        f[::2] = abs(f[1::2]) - 1
    return a, b, m, f


ODD = [0.0, -0.0, 1.5, -2.0, numpy.inf, -numpy.inf, numpy.nan, 5e-324]


@program
def choices(np: Any, rounds: int) -> Any:
    """`where`, writes by masks, and the larger one of two, of numbers of all kinds too."""
    x, y = np.array(numpy.repeat(ODD, 8)), np.array(numpy.tile(ODD, 8))
    z, m = np.array(numpy.linspace(-1, 1, 64)), np.array(numpy.arange(64) % 3 == 0)
    for k in range(rounds):
        larger, smaller = np.maximum(x, y), np.minimum(x, y)
        at_least, at_most = np.maximum(x, -0.0), np.minimum(0.0, y)
        picked = np.where(x > y, x, y)
        z = np.where(m, np.sign(x), z * 0.5) + np.where(z > 0.0, 1, -1.0)
        z[z > 1.0] = 0.25
        masked = np.where(~m, 1.0, 0.0)
        masked[m & (z < 0.0)] = -k
        m = m ^ (z > 0.3)
    return larger, smaller, at_least, at_most, picked, z, masked, m


@program
def choices_of_parts(np: Any, rounds: int) -> Any:
    """Of rows and columns, with operands that are repeated, and of whole numbers."""
    a, row = square(np), np.array(numpy.linspace(0, 1, 13))
    n, u = np.arange(14), np.arange(14, dtype="u1") * 19
    for k in range(rounds):
        a[1:, 1:] = np.where(a[1:, 1:] > row, row, a[:-1, 1:] + 0.01)
        part = a[2:5]
        part[part < 0.5] = 1
        b = np.where(a[:, :1] > a, a, 2)
        n = np.where(n > k % 9, n - 3, np.minimum(n + 5, 11)) + np.sign(n)
        n[n == 7] = -7
        u = np.maximum(u >> 1, u ^ 77)
    return a, b, n, u


@program
def results_of_their_own(np: Any, rounds: int) -> Any:
    """`out=`, of operands that are the same memory, parts, and other types."""
    u, v = square(np), square(np, seed=1)
    w, m, f = np.zeros((14, 14)), np.zeros((14, 14), bool), np.ones((14, 14), "f4")
    for _ in range(rounds):
        np.multiply(u, 0.5, out=w)
        np.add(w, v[0], w)
        np.subtract(w[1:], v[:-1], out=u[1:])
        np.add(u[:-1], u[1:], out=u[1:])
        np.greater(u, 0.5, out=m)
        np.logical_not(m, out=m)
        np.multiply(m, f, out=f)
        np.add(f, 1, out=f)
        np.exp(v, out=v)
        np.sin(v, v)
        np.arctan2(v, 2.0, out=v)
        np.negative(u, out=u)
    return u, v, w, m, f


@program
def several_types(np: Any, rounds: int) -> Any:
    """Operands that are cast before an operation, and bounds of `clip`."""
    x, f, m = square(np), square(np).astype("f4"), square(np) > 0.5
    n, b = np.array(numpy.arange(196).reshape(14, 14)), np.array(numpy.arange(14, dtype="u1"))
    odd = np.array(numpy.resize(ODD, 14))
    for k in range(rounds):
        y = x * m + n * 0.25 - f
        m = (n > x) | (y < 0.5) | (b == f)
        n += m
        n = n * b - m
        n[1:] ^= m[:-1]
        f *= m
        f += b
        x = np.clip(y, 0.1, 3) + (b < 7.5) + np.true_divide(n, 2.0)
        n = n.clip(-9, 100 - k % 3)
        z = np.clip(odd, -0.0, 1.0), np.clip(odd, 0.0, 1.0), odd.clip(-1, -0.0)
        x = np.clip(x, -1e3, 1e3)
    return x, y, m, n, f, z


@program
def shifts(np: Any, rounds: int) -> Any:
    """By any number of bits, negative ones too."""
    kinds = [numpy.arange(-40, 40).astype(f"{c}{n}") * 3 for c in "iu" for n in (1, 2, 4, 8)]
    arrays, by = [np.array(a) for a in kinds], [np.array(a // 3) for a in kinds]
    out: list[Any] = []
    for _ in range(rounds):
        out = []
        for a, b in zip(arrays, by):
            out += [a << b, a >> b, a << 3, a >> 3]
            a ^= a << 1
            a ^= a >> 1
    return out


@program
def views_of_values(np: Any, rounds: int) -> Any:
    u = square(np)
    for _ in range(rounds):
        v = u * 0.5
        row = v[2]
        row += 1
        v[:, 3] = row * 2
        left = v[:, :-1]
        u[:, 1:] = left
    return u, v, row, left


@program
def single_elements(np: Any, rounds: int) -> Any:
    u = np.array(numpy.linspace(0, 1, 30))
    for k in range(rounds):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[0] = 0.0
        u[-1] = k
    return u


@program
def now_and_then_something_else(np: Any, rounds: int) -> Any:
    u, v = square(np), square(np, seed=1)
    for k in range(rounds):
        u = u * 0.9 + v
        if k % 5 == 4:
            v = v + np.sort(u, axis=0)
        if k % 7 == 6:
            u[0] = v.sum(0)
        v *= 0.5
    return u, v


@program
def inner_loops(np: Any, rounds: int) -> Any:
    """Two that differ only in which arrays they read, neither of which ever goes on for long."""
    x, y = square(np, 20), square(np, 20, seed=1)
    for _ in range(rounds // 3):
        for t in range(1, 20):
            y[:, t] = 0.3 * x[:, t] + 0.7 * y[:, t - 1]
        for t in range(18, -1, -1):
            y[:, t] = 0.3 * y[:, t] + 0.7 * y[:, t + 1]
    return y


@program
def views_of_what_is_written(np: Any, rounds: int) -> Any:
    u, v = square(np), square(np, seed=1)
    inside, above = u[1:-1, 1:-1], u[:-2, 1:-1]
    for k in range(rounds):
        inside += 0.1 * (u[2:, 1:-1] - inside * v[1:-1, 1:-1])
        u[:, 0], u[:, -1] = u[:, 1], u[:, -2]
        v = v * 0.9 + 0.01 * k
        above *= 0.99
    return u, v


@program
def views_from_the_round_before(np: Any, rounds: int) -> Any:
    b, a, row = square(np), square(np, seed=1), None
    for k in range(rounds):
        if row is not None:
            row += a[k % 14] * 0.25
        row = b[k % 7]
        b[3 + k % 11] += 0.125 * row
        b *= 0.5
    return b, row


@program
def much_alike_in_a_round(np: Any, rounds: int) -> Any:
    def slope(x: Any, y: Any, z: Any) -> tuple[Any, ...]:
        return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 2.6667 * z

    w = [np.array(numpy.linspace(k, k + 1, 20)) for k in range(3)]
    for _ in range(rounds):
        k1 = slope(*w)
        k2 = slope(*(a + 0.001 * k for a, k in zip(w, k1)))
        k3 = slope(*(a + 0.001 * k for a, k in zip(w, k2)))
        w = [a + 0.002 * (p + 2.0 * q + r) for a, p, q, r in zip(w, k1, k2, k3)]
    return w


@program
def triangular_nests(np: Any, rounds: int) -> Any:
    """Lengths and offsets that move in the inner loop, and such that stay there and move outside."""
    n = 16
    a, b = square(np, n) + n * np.eye(n), square(np, n, seed=1)
    for i in range(n):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[j, :j]) / a[j, j]
    for k in range(n - 1):
        for i in range(k + 1, n):
            b[i, k] /= b[k, k] + 4
            b[i, k + 1 :] -= b[i, k] * b[k, k + 1 :]
    c = square(np, n, seed=2)
    for k in range(n - 1):
        c[k + 1 :, k] /= 1 + c[k, k]
        c[k + 1 :, k + 1 :] -= c[k + 1 :, k, None] * c[k, k + 1 :]
    for _ in range(rounds):
        for i in range(n):
            for k in range(i + 1, n):
                b[i] += a[k, i] * 1e-3 * b[k]
            b[i] *= 0.5
    return a, b, c


@program
def elements_that_were_just_written(np: Any, rounds: int) -> Any:
    u, seen = square(np), []
    v = u[1:-1, 2]
    for k in range(rounds):
        u[k % 14, 3] = u[(k + 1) % 14, 3] * 0.5
        u[2, k % 14] += 1.0
        seen.append((u[2, 3], v[k % 5], u[k % 14, k % 3]))
        v *= 0.75
        seen.append(v[4])
        t = u[3] + 0.25
        seen.append(t[k % 14])
    return u, v, t, seen


@program
def elements_of_what_becomes_a_view(np: Any, rounds: int) -> Any:
    """From some round on another name stands for the memory that was just written."""
    u, other, seen = square(np), square(np, seed=1), []
    view = u[:]
    for k in range(rounds):
        w = other if k < 2 * rounds // 3 else view
        u[2, 3] = k + 0.5
        seen.append(w[2, 3])
        u[4] = u[5] * 0.5 + k
        seen.append((w[4, 1], w[4] @ w[4]))
    return u, other, seen


@program
def colours_in_turns(np: Any, rounds: int) -> Any:
    """The parts of four rounds, and then the same again."""
    u, f = square(np, 12), square(np, 12, seed=1)
    for _ in range(rounds):
        for i, j in ((1, 1), (2, 2), (1, 2), (2, 1)):
            around = (
                u[i - 1 : -2 : 2, j:-1:2] + u[i + 1 :: 2, j:-1:2] + u[i:-1:2, j - 1 : -2 : 2] + u[i:-1:2, j + 1 :: 2]
            )
            u[i:-1:2, j:-1:2] = 0.25 * (around - f[i:-1:2, j:-1:2])
    return u


@program
def products(np: Any, rounds: int) -> Any:
    a, x, y = square(np, 6), np.array(numpy.linspace(0, 1, 6)), np.array(numpy.linspace(1, 2, 6))
    f, p, seen = a.copy() * 0.1, a @ a.T, []
    for k in range(rounds):
        x = f @ x + 0.1
        p = f @ p @ f.T + 0.5
        y = x @ f + y[::-1] @ p * 0.01
        s = x @ y + np.dot(x, p[k % 6]) + y.dot(p[:, 2])
        seen.append(s)
        x = x / (1.0 + abs(s))
        seen.append(x[: k % 4] @ y[: k % 4])
    return x, y, p, seen


@program
def arrays_of_several_lengths(np: Any, rounds: int) -> Any:
    """The same text on other lengths: one program for all of them."""
    out = []
    for n in (5, 9, 30, 4, 5):
        u = np.array(numpy.linspace(0, 1, n))
        for k in range(rounds // 2):
            u = u * 0.5 + k
            u[1:-1] += u[2:]
        out.append(u)
    return out


def short_rows(dtype: str, n: int) -> Any:
    def run(np: Any, rounds: int) -> Any:
        start = numpy.random.default_rng(n).standard_normal((50, n)).astype(dtype)
        start[3] = -0.0
        x, seen = np.array(start), []
        for _ in range(rounds):
            x = x - 0.01 * x.sum(axis=1)[:, None] - 0.001 * x.sum(axis=0)
            x = x - 0.01 * x.mean(axis=-1)[:, None] + 0.001 * x.mean(axis=0)
            x = x + 0.001 * np.where((x > 0).all(axis=1), 1.0, -1.0)[:, None]
            x = x + 0.001 * np.where((x > 1).any(axis=0), 1.0, -1.0)
            x = x / (1 + 0.001 * np.linalg.norm(x, axis=1))[:, None]
            x = x * (1 - 0.01 * x.std(axis=1, keepdims=True)) * (1 - 0.01 * x.var(axis=1)[:, None])
            seen.append(np.linalg.norm(x[:, 0]))
        return x, seen

    run.__name__ = f"short_rows_{dtype}_{n}"
    return program(run)


for _dtype in ("f8", "f4"):
    for _n in (2, 3, 7, 8, 9):
        short_rows(_dtype, _n)


@program
def truth_of_any_byte(np: Any, rounds: int) -> Any:
    """Truth values in memory of which some bytes are neither 0 nor 1, beside comparisons of numbers."""
    m = np.array((numpy.arange(40) % 3).astype("u1").view(bool))
    x, y, seen = np.array(numpy.linspace(0, 1, 40)), np.array(numpy.linspace(1, 0, 40).astype("f4")), []
    for k in range(rounds):
        x = (x + 0.01 * k) % 1.0
        a = m & (x < 0.5)
        b = np.where(m | (y < 0.3), x, -x) * (x < 0.7)
        c = ~m ^ (x >= y)
        n = m + (x < 0.2)
        y = y * (y < 0.9) + np.logical_and(m, x) * 0.5
        d = m.copy()
        e = np.where(x < 0.5, m, d)  # which copies bytes
        d[x > 0.9] = True
        f = np.where(y < 0.5, m, ~m) & (x < 2.0)
        seen.append((a.sum(), b.sum(), c.sum(), n.sum(), d.any()))
    return a, b, c, d, e, f, n, x, y, seen


def blocks(dtype: str, shape: tuple[int, int, int]) -> Any:
    """Reductions along middle axes and neighbouring ones, extremes among them that are zeros of two signs, or NaN."""

    def run(np: Any, rounds: int) -> Any:
        start = numpy.random.default_rng(shape[1]).standard_normal(shape).astype(dtype)
        x, seen, few = np.array(start), [], 0.05 / (shape[1] * shape[2])
        zeros = np.array(numpy.where(start > 0, 0.0, -0.0).astype(dtype))
        holes = np.array(numpy.where(start > 1.5, numpy.nan, start).astype(dtype))
        for k in range(rounds):
            x = x - few * x.sum(axis=1)[:, None] - 0.1 * few * x.sum(axis=(1, 2))[:, None, None]
            x = x - 0.001 * x.mean(axis=(0, 1), keepdims=True) + 0.001 * x.mean(axis=1, keepdims=True)
            x = x / (1.0 + 0.01 * (x.max(axis=2) - x.min(axis=2))[..., None])
            x = x * (1.0 - 0.001 * np.abs(x).max(axis=(-2, -1)))[:, None, None] + 0.001 * x.max(axis=1)[:, None]
            x = x + few * x[:, 1:].sum(axis=1)[:, None] + 0.001 * np.prod(x * 0.5, axis=1, keepdims=True)
            zeros = zeros * (1.0 + 0.1 * k)
            holes = holes * 0.999
            signs = [np.copysign(1.0, z) for z in (zeros.max(axis=1), zeros.min(axis=2), zeros.max(axis=0))]
            seen.append(signs[0] + signs[1].sum() + signs[2].sum())
            seen.append(holes.min(axis=1) + holes.max(axis=(1, 2)).mean() + holes.max(axis=(0, 1)).sum())
        return x, seen

    run.__name__ = f"blocks_{dtype}_{'_'.join(map(str, shape))}"
    return program(run)


for _dtype in ("f8", "f4"):
    for _shape in ((6, 5, 3), (2, 40, 1), (3, 9, 33), (1, 300, 1), (4, 1, 150)):
        blocks(_dtype, _shape)


@program
def outer_products(np: Any, rounds: int) -> Any:
    p, v = square(np), square(np)[0]
    for k in range(rounds):
        p[:] = np.minimum(p[:], np.add.outer(p[:, k % 14], p[k % 14, :]))
        v = np.multiply.outer(v * 0.5, p[3]).sum(axis=1) + np.subtract.outer(p[0], v)[5]
    return p, v
