"""`jax.example_libraries.stax`: layers of networks as pairs of functions.

A layer is `(init, apply)`: `init(key, shape of the input)` -> (shape of the output, parameters), and
`apply(parameters, input, rng=key)` -> output.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ...tracebacks import bound_all as _bound_all
from .. import lax, random
from .. import numpy as jnp
from ..nn import elu, gelu, leaky_relu, log_softmax, relu, selu, sigmoid, softmax, softplus, standardize
from ..nn.initializers import glorot_normal, normal, ones, zeros

__all__ = [
    "AvgPool",
    "BatchNorm",
    "Conv",
    "Conv1DTranspose",
    "ConvTranspose",
    "Dense",
    "Dropout",
    "Elu",
    "Exp",
    "FanInConcat",
    "FanInSum",
    "FanOut",
    "Flatten",
    "Gelu",
    "GeneralConv",
    "GeneralConvTranspose",
    "Identity",
    "LeakyRelu",
    "LogSoftmax",
    "MaxPool",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "SumPool",
    "Tanh",
    "elementwise",
    "elu",
    "gelu",
    "glorot",
    "glorot_normal",
    "leaky_relu",
    "log_softmax",
    "logsoftmax",
    "normal",
    "ones",
    "parallel",
    "randn",
    "relu",
    "selu",
    "serial",
    "shape_dependent",
    "sigmoid",
    "softmax",
    "softplus",
    "standardize",
    "zeros",
]
Layer = tuple[Callable[..., Any], Callable[..., Any]]
glorot, randn, logsoftmax = glorot_normal, normal, log_softmax
# JAX's defaults: the biases of dense layers have a standard deviation of 0.01, those of convolutions one of 1e-6.
DENSE_WEIGHTS, DENSE_BIAS, CONV_BIAS = glorot_normal(), normal(), normal(1e-6)


def without_parameters(apply: Callable[[Any], Any], shape: Callable[[Any], Any] = lambda s: s) -> Layer:
    """A layer that is a function of its input."""
    return (lambda rng, input_shape: (shape(input_shape), ())), (lambda params, inputs, **kwargs: apply(inputs))


# --- Dense and convolutional layers -----------------------------------------------------------------------------------


def Dense(out_dim: int, W_init: Any = DENSE_WEIGHTS, b_init: Any = DENSE_BIAS) -> Layer:
    """Inputs times weights, plus biases."""

    def init(rng: Any, input_shape: Any) -> Any:
        of_weights, of_biases = random.split(rng)
        weights = W_init(of_weights, (input_shape[-1], out_dim))
        return (*input_shape[:-1], out_dim), (weights, b_init(of_biases, (out_dim,)))

    return init, lambda params, inputs, **kwargs: jnp.dot(inputs, params[0]) + params[1]


def convolution(
    names: Sequence[str], count: int, window: Sequence[int], W_init: Any, b_init: Any, out_shape: Any, convolve: Any
) -> Layer:
    """A layer of a convolution. `names`: the axes of input, kernel and output, a letter each."""
    given, kernel, result = names
    weights_of = W_init or glorot_normal(kernel.index("I"), kernel.index("O"))

    def init(rng: Any, input_shape: Any) -> Any:
        sizes = {"O": count, "I": input_shape[given.index("C")]}
        rest = iter(window)
        kernel_shape = [sizes[c] if c in sizes else next(rest) for c in kernel]
        of_weights, of_biases = random.split(rng)
        weights = weights_of(of_weights, kernel_shape)
        biases = b_init(of_biases, [count if c == "C" else 1 for c in result])
        return out_shape(input_shape, kernel_shape), (weights, biases)

    return init, lambda params, inputs, **kwargs: convolve(inputs, params[0]) + params[1]


def GeneralConv(
    dimension_numbers: Any,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Any = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = CONV_BIAS,
) -> Layer:
    """A convolution, with biases."""
    one = (1,) * len(filter_shape)
    steps = strides or one
    return convolution(
        dimension_numbers,
        out_chan,
        filter_shape,
        W_init,
        b_init,
        lambda a, k: lax.conv_general_shape_tuple(a, k, steps, padding, dimension_numbers),
        lambda x, w: lax.conv_general_dilated(x, w, steps, padding, one, one, dimension_numbers=dimension_numbers),
    )


def GeneralConvTranspose(
    dimension_numbers: Any,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Any = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = CONV_BIAS,
) -> Layer:
    """A transposed convolution, with biases."""
    steps = strides or (1,) * len(filter_shape)
    return convolution(
        dimension_numbers,
        out_chan,
        filter_shape,
        W_init,
        b_init,
        lambda a, k: lax.conv_transpose_shape_tuple(a, k, steps, padding, dimension_numbers),
        lambda x, w: lax.conv_transpose(x, w, steps, padding, dimension_numbers=dimension_numbers),
    )


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def BatchNorm(
    axis: Any = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Any = zeros,
    gamma_init: Any = ones,
) -> Layer:
    """Inputs of mean 0 and variance 1 along the axes; then scaled and moved by parameters."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init(rng: Any, input_shape: Any) -> Any:
        shape = tuple([n for i, n in enumerate(input_shape) if i not in axes])
        of_beta, of_gamma = random.split(rng)
        beta = beta_init(of_beta, shape) if center else ()
        return input_shape, (beta, gamma_init(of_gamma, shape) if scale else ())

    def apply(params: Any, x: Any, **kwargs: Any) -> Any:
        key = tuple([None if i in axes else slice(None) for i in range(jnp.ndim(x))])
        out = standardize(x, axes, epsilon=epsilon)
        out = params[1][key] * out if scale else out
        return out + params[0][key] if center else out

    return init, apply


# --- Layers without parameters ----------------------------------------------------------------------------------------


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A function of each element."""
    return without_parameters(lambda x: fun(x, **fun_kwargs))


Tanh, Relu, Exp, Softplus, Sigmoid = map(elementwise, (jnp.tanh, relu, jnp.exp, softplus, sigmoid))
Elu, LeakyRelu, Selu, Gelu = map(elementwise, (elu, leaky_relu, selu, gelu))
LogSoftmax, Softmax = (elementwise(f, axis=-1) for f in (log_softmax, softmax))
Flatten = without_parameters(lambda x: jnp.reshape(x, (x.shape[0], -1)), lambda s: (s[0], math.prod(s[1:])))
Identity = without_parameters(lambda x: x)
FanInSum = without_parameters(sum, lambda shapes: shapes[0])


def FanOut(num: int) -> Layer:
    """The input, so many times."""
    return without_parameters(lambda x: [x] * num, lambda s: [s] * num)


def FanInConcat(axis: int = -1) -> Layer:
    """The inputs, joined."""

    def joined(shapes: Any) -> Any:
        at = axis % len(shapes[0])
        return (*shapes[0][:at], sum([s[at] for s in shapes]), *shapes[0][at + 1 :])

    return without_parameters(lambda xs: jnp.concatenate(xs, axis), joined)


def pooling(reducer: Any, initial: float, averaged: bool = False) -> Callable[..., Layer]:
    """What makes layers that reduce windows."""

    def make(window_shape: Any, strides: Any = None, padding: Any = "VALID", spec: Any = None) -> Layer:
        """Windows of these sizes, reduced. `spec`: the axes' letters, with N for examples and C for channels."""
        steps = tuple(strides or (1,) * len(window_shape))
        others = sorted((0, len(window_shape) + 1) if spec is None else (spec.index("N"), spec.index("C")))
        window, moves = list(window_shape), list(steps)
        for i in others:
            window.insert(i, 1)
            moves.insert(i, 1)

        def shape(input_shape: Any) -> Any:
            pads = lax.padtype_to_pads(input_shape, window, moves, padding)
            one = (1,) * len(window)
            return lax.reduce_window_shape_tuple(input_shape, window, moves, pads, one, one)

        def apply(x: Any) -> Any:
            out = lax.reduce_window(x, initial, reducer, window, moves, padding)
            if not averaged:
                return out
            inside = jnp.ones([n for i, n in enumerate(x.shape) if i not in others], x.dtype)
            counts = lax.reduce_window(inside, 0.0, lax.add, window_shape, steps, padding)
            return out / jnp.expand_dims(counts, others)

        return without_parameters(apply, shape)

    return make


MaxPool, SumPool, AvgPool = pooling(lax.max, -math.inf), pooling(lax.add, 0.0), pooling(lax.add, 0.0, True)


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Elements are kept with that probability, where `mode` is "train". Raises ValueError without a key."""

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError(
                "Dropout layer requires apply_fun to be called with a PRNG key argument. That is, instead of "
                "`apply_fun(params, inputs)`, call it like `apply_fun(params, inputs, rng)` where `rng` is a PRNG key "
                "(e.g. from `jax.random.key`)."
            )
        if mode != "train":
            return inputs
        return jnp.where(random.bernoulli(rng, rate, inputs.shape), inputs / rate, 0)

    return (lambda rng, input_shape: (input_shape, ())), apply


# --- Layers of layers -------------------------------------------------------------------------------------------------


def serial(*layers: Layer) -> Layer:
    """One layer after the other."""

    def init(rng: Any, input_shape: Any) -> Any:
        params = []
        for layer_init, _ in layers:
            rng, own = random.split(rng)
            input_shape, found = layer_init(own, input_shape)
            params.append(found)
        return input_shape, params

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.pop("rng", None)
        rngs = (None,) * len(layers) if rng is None else random.split(rng, len(layers))
        for (_, layer), found, own in zip(layers, params, rngs):
            inputs = layer(found, inputs, rng=own, **kwargs)
        return inputs

    return init, apply


def parallel(*layers: Layer) -> Layer:
    """Each layer on its own input: a list of inputs, a list of outputs."""

    def init(rng: Any, input_shape: Any) -> Any:
        rngs = random.split(rng, len(layers))
        found = [layer_init(own, s) for (layer_init, _), own, s in zip(layers, rngs, input_shape)]
        return tuple([s for s, _ in found]), tuple([p for _, p in found])

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.pop("rng", None)
        rngs = (None,) * len(layers) if rng is None else random.split(rng, len(layers))
        rows = zip(layers, params, inputs, rngs)
        return [layer(found, x, rng=own, **kwargs) for (_, layer), found, x, own in rows]

    return init, apply


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """The layer that `make_layer` gives for the input's shape."""
    return (
        lambda rng, input_shape: make_layer(input_shape)[0](rng, input_shape),
        lambda params, inputs, **kwargs: make_layer(inputs.shape)[1](params, inputs, **kwargs),
    )


_bound_all(globals())
