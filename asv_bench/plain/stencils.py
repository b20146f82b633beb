"""Stencils in one, two and three dimensions, tests of convergence, and time steps from a maximum."""

from .program import cubes, program, side, squares, vectors


@program("1-D stencil", vectors(1), steps=(20_000, 1_500, 40))
def heat_rod(np, steps, u):
    """A rod with one hot and one insulated end; two arrays that change places."""
    new = u.copy()
    for _ in range(steps):
        new[1:-1] = u[1:-1] + 0.25 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        new[0] = 1.0
        new[-1] = new[-2]
        u, new = new, u
    return u


@program("1-D stencil", vectors(2), steps=(10_000, 1_200, 25), tolerance=1e-9)
def wave_string(np, steps, u, speed):
    """A string with clamped ends; a new array in each step."""
    before = u.copy()
    courant = 0.25 + 0.5 * speed[1:-1]
    for _ in range(steps):
        after = np.zeros_like(u)
        after[1:-1] = 2.0 * u[1:-1] - before[1:-1] + courant * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        before, u = u, after
    return u


@program("1-D stencil", vectors(1), steps=(2_500, 400, 8), tolerance=1e-9)
def limited_advection(np, steps, u):
    """Second-order advection around a ring, with a slope limiter that selects by masks."""
    courant = 0.4
    for _ in range(steps):
        left = u - np.roll(u, 1)
        right = np.roll(u, -1) - u
        slope = np.where(left * right > 0.0, np.sign(left) * np.minimum(np.abs(left), np.abs(right)), 0.0)
        flux = courant * (u + 0.5 * (1.0 - courant) * slope)
        u = u - (flux - np.roll(flux, 1))
    return u


@program("2-D stencil", squares(2), steps=(4_000, 800, 20))
def red_black(np, steps, u, f):
    """Gauss-Seidel in chequerboard order: slices with a step of two, written in place."""
    for _ in range(steps):
        for first in (0, 1):
            for i0, j0 in ((1, 1 + first), (2, 2 - first)):
                u[i0:-1:2, j0:-1:2] = 0.25 * (
                    u[i0 - 1 : -2 : 2, j0:-1:2]
                    + u[i0 + 1 :: 2, j0:-1:2]
                    + u[i0:-1:2, j0 - 1 : -2 : 2]
                    + u[i0:-1:2, j0 + 1 :: 2]
                    - 0.001 * f[i0:-1:2, j0:-1:2]
                )
    return u


@program("2-D stencil", squares(3), steps=(5_000, 600, 15))
def fields_2d(np, steps, ex, ey, hz):
    """Electromagnetic waves on a staggered grid, with a source on one side."""
    for k in range(steps):
        ey[0, :] = k % 50 * 0.02
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def laplacian(a):
    return a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2] - 4.0 * a[1:-1, 1:-1]


@program("2-D stencil", squares(2, "float32"), steps=(3_000, 400, 12), tolerance=1e-3)
def gray_scott(np, steps, u, v):
    """Two substances that react and diffuse, in single precision; boundaries are copied from inside."""
    inner_u, inner_v = u[1:-1, 1:-1], v[1:-1, 1:-1]
    v *= 0.5
    for _ in range(steps):
        reaction = inner_u * inner_v * inner_v
        grown_u = 0.16 * laplacian(u) - reaction + 0.06 * (1.0 - inner_u)
        grown_v = 0.08 * laplacian(v) + reaction - 0.09 * inner_v
        inner_u += grown_u
        inner_v += grown_v
        for w in (u, v):
            w[0, :], w[-1, :] = w[1, :], w[-2, :]
            w[:, 0], w[:, -1] = w[:, 1], w[:, -2]
    return u, v


@program("3-D stencil", cubes(2), steps=(3_000, 300, 6))
def layered_heat(np, steps, u, k):
    """Heat in a solid whose conductivity changes from place to place."""
    kx = 0.05 * (k[1:, :, :] + k[:-1, :, :])
    ky = 0.05 * (k[:, 1:, :] + k[:, :-1, :])
    kz = 0.05 * (k[:, :, 1:] + k[:, :, :-1])
    for _ in range(steps):
        x = kx * (u[1:, :, :] - u[:-1, :, :])
        y = ky * (u[:, 1:, :] - u[:, :-1, :])
        z = kz * (u[:, :, 1:] - u[:, :, :-1])
        u[1:-1, 1:-1, 1:-1] += (
            (x[1:, 1:-1, 1:-1] - x[:-1, 1:-1, 1:-1])
            + (y[1:-1, 1:, 1:-1] - y[1:-1, :-1, 1:-1])
            + (z[1:-1, 1:-1, 1:] - z[1:-1, 1:-1, :-1])
        )
    return u


@program("3-D stencil", cubes(2), steps=(2_000, 300, 6), tolerance=1e-4)
def filtered_diffusion(np, steps, field, coefficient):
    """Horizontal diffusion of a weather model: a Laplacian, and fluxes cut to zero where they would sharpen: that is
    decided by signs, which another last bit may turn."""
    coefficient = 0.025 * coefficient
    for _ in range(steps):
        lap = 4.0 * field[1:-1, 1:-1] - field[2:, 1:-1] - field[:-2, 1:-1] - field[1:-1, 2:] - field[1:-1, :-2]
        fx = lap[1:, 1:-1] - lap[:-1, 1:-1]
        fx = np.where(fx * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0.0, 0.0, fx)
        fy = lap[1:-1, 1:] - lap[1:-1, :-1]
        fy = np.where(fy * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0.0, 0.0, fy)
        field[2:-2, 2:-2] -= coefficient[2:-2, 2:-2] * (fx[1:, :] - fx[:-1, :] + fy[:, 1:] - fy[:, :-1])
    return field


@program("convergence test", squares(1), steps=(8_000, 1_000, 20))
def plate(np, steps, u):
    """A heated plate, relaxed until no point changes by more than a bound: a value is asked for in each step."""
    u[0, :], u[-1, :] = 1.0, 0.0
    for _ in range(steps):
        old = u.copy()
        u[1:-1, 1:-1] = 0.25 * (old[2:, 1:-1] + old[:-2, 1:-1] + old[1:-1, 2:] + old[1:-1, :-2])
        change = np.abs(u - old).max()
        if change < 1e-14:
            break
    return u


def apply_stencil(np, x):
    """(5 + Laplacian) of a grid with zeros around it."""
    y = 5.0 * x
    y[1:, :] -= x[:-1, :]
    y[:-1, :] -= x[1:, :]
    y[:, 1:] -= x[:, :-1]
    y[:, :-1] -= x[:, 1:]
    return y


@program("convergence test", squares(1), steps=(60, 60, 15))
def conjugate_gradients(np, steps, b):
    """Conjugate gradients without a matrix, until the residual is small."""
    x = np.zeros_like(b)
    r = b.copy()
    p = r.copy()
    before = np.sum(r * r)
    for _ in range(steps):
        q = apply_stencil(np, p)
        alpha = before / np.sum(p * q)
        x += alpha * p
        r -= alpha * q
        now = np.sum(r * r)
        if np.sqrt(now) < 1e-13 * b.size:
            break
        p = r + (now / before) * p
        before = now
    return x


@program("time step from a maximum", vectors(2), steps=(1_500, 200, 3), tolerance=1e-8)
def shock_tube(np, steps, density, pressure):
    """The Euler equations in one dimension, Lax and Friedrichs' fluxes, until a time is reached."""
    gamma = 1.4
    n = density.shape[0]
    state = np.zeros((3, n))
    state[0] = 1.0 + 0.1 * density
    state[0, n // 2 :] *= 0.125
    state[2] = (1.0 + 0.1 * pressure) / (gamma - 1.0)
    state[2, n // 2 :] *= 0.1
    dx = 1.0 / n
    t, end, k = 0.0, 0.2, 0
    while t < end and k < steps:
        velocity = state[1] / state[0]
        p = (gamma - 1.0) * (state[2] - 0.5 * state[1] * velocity)
        fastest = np.max(np.abs(velocity) + np.sqrt(gamma * p / state[0]))
        dt = min(0.45 * dx / fastest, end - t)
        flux = np.stack([state[1], state[1] * velocity + p, (state[2] + p) * velocity])
        between = 0.5 * (flux[:, 1:] + flux[:, :-1]) - 0.5 * fastest * (state[:, 1:] - state[:, :-1])
        state[:, 1:-1] -= dt / dx * (between[:, 1:] - between[:, :-1])
        t += dt
        k += 1
    return state


@program("time step from a maximum", squares(1), steps=(2_000, 300, 6), tolerance=1e-8)
def shallow_water(np, steps, bump):
    """Waves in a basin with walls; the step follows the fastest wave."""
    h = 1.0 + 0.1 * bump
    u, v = np.zeros_like(h), np.zeros_like(h)
    for _ in range(steps):
        dt = 0.2 / np.sqrt(9.81 * h.max())
        u[1:-1, :] -= dt * 9.81 * 0.5 * (h[2:, :] - h[:-2, :])
        v[:, 1:-1] -= dt * 9.81 * 0.5 * (h[:, 2:] - h[:, :-2])
        hu, hv = h * u, h * v
        h[1:-1, 1:-1] -= dt * 0.5 * (hu[2:, 1:-1] - hu[:-2, 1:-1] + hv[1:-1, 2:] - hv[1:-1, :-2])
        h[0, :], h[-1, :] = h[1, :], h[-2, :]
        h[:, 0], h[:, -1] = h[:, 1], h[:, -2]
        h *= 1.0 - 1e-4
        u *= 0.99
        v *= 0.99
    return h, u, v


@program(
    "time step from a maximum",
    lambda rng, size: (rng.standard_normal((side(size), side(size))),),
    steps=(3_000, 250, 6),
)
def level_set(np, steps, phi):
    """A front that moves outwards: Godunov's upwind gradient, and a step from the largest speed."""
    for _ in range(steps):
        xm = np.maximum(phi[1:-1, 1:-1] - phi[:-2, 1:-1], 0.0)
        xp = np.minimum(phi[2:, 1:-1] - phi[1:-1, 1:-1], 0.0)
        ym = np.maximum(phi[1:-1, 1:-1] - phi[1:-1, :-2], 0.0)
        yp = np.minimum(phi[1:-1, 2:] - phi[1:-1, 1:-1], 0.0)
        gradient = np.sqrt(xm**2 + xp**2 + ym**2 + yp**2)
        phi[1:-1, 1:-1] -= 0.3 / (1.0 + gradient.max()) * gradient
    return phi
