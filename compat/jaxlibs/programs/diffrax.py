"""diffrax: an ordinary differential equation, its derivative, a stochastic one."""

import diffrax
import jax
import jax.numpy as jnp


def field(t, y, args):
    prey, hunters = y
    a, b, c, d = args
    return jnp.stack([a * prey - b * prey * hunters, -c * hunters + d * prey * hunters])


ARGS = (1.1, 0.4, 0.4, 0.1)


def ordinary():
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Tsit5(),
        t0=0.0,
        t1=5.0,
        dt0=0.1,
        y0=jnp.array([10.0, 10.0]),
        args=ARGS,
        saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 5.0, 6)),
        stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-4),
    )
    return solution.ys, solution.stats["num_steps"]


def derivative():
    def last(y0):
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(field), diffrax.Heun(), t0=0.0, t1=1.0, dt0=0.1, y0=y0, args=ARGS
        )
        return solution.ys[-1].sum()

    return jax.grad(last)(jnp.array([10.0, 5.0]))


def stochastic():
    noise = diffrax.VirtualBrownianTree(0.0, 1.0, tol=1e-2, shape=(), key=jax.random.key(0))
    terms = diffrax.MultiTerm(
        diffrax.ODETerm(lambda t, y, args: -y), diffrax.ControlTerm(lambda t, y, args: 0.1 * jnp.ones(()), noise)
    )
    return diffrax.diffeqsolve(terms, diffrax.Euler(), t0=0.0, t1=1.0, dt0=0.05, y0=jnp.ones(())).ys


PROGRAMS = (ordinary, derivative, stochastic)
