"""distrax: distributions, bijectors, mixtures and hidden Markov models."""

import distrax
import jax
import jax.numpy as jnp


def distributions():
    found = []
    for d in (
        distrax.Normal(jnp.zeros(3), jnp.ones(3)),
        distrax.Categorical(logits=jnp.array([0.1, 0.2, 0.7])),
        distrax.MultivariateNormalDiag(jnp.zeros(2), jnp.array([1.0, 2.0])),
        distrax.Gamma(2.0, 3.0),
    ):
        samples, logs = d.sample_and_log_prob(seed=jax.random.key(0), sample_shape=(4,))
        found += [samples, logs]
    found.append(distrax.Normal(0.0, 1.0).kl_divergence(distrax.Normal(1.0, 2.0)))
    return found


def bijectors():
    flow = distrax.Chain([distrax.ScalarAffine(1.0, 2.0), distrax.Lambda(jnp.tanh)])
    d = distrax.Transformed(distrax.Normal(0.0, 1.0), distrax.Lambda(jnp.exp))
    x = jnp.array([0.1, 0.5])
    return flow.forward_and_log_det(x), flow.inverse(flow.forward(x)), d.log_prob(x), d.sample(seed=1, sample_shape=3)


def markov():
    mixture = distrax.MixtureSameFamily(
        distrax.Categorical(probs=jnp.array([0.3, 0.7])), distrax.Normal(jnp.array([-1.0, 1.0]), jnp.ones(2))
    )
    model = distrax.HMM(
        distrax.Categorical(probs=jnp.array([0.5, 0.5])),
        distrax.Categorical(probs=jnp.array([[0.9, 0.1], [0.2, 0.8]])),
        distrax.Normal(jnp.array([-1.0, 1.0]), jnp.ones(2)),
    )
    observed = jnp.array([0.5, -1.0, 1.5, 2.0])
    forward = jax.jit(model.forward)(observed)
    return mixture.log_prob(jnp.array([0.0, 1.0])), forward, model.viterbi(observed)


PROGRAMS = (distributions, bijectors, markov)
