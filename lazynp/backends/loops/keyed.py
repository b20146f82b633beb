"""Keyed randomness in C++: threefry, and the samplers without parameters in float32, with the bits of
`backends.numpy.threefry` and `backends.numpy.xla`, where the formulas are explained.

A key is one uint64, its first word the low half. What is not here (the original form of threefry, float64) Python does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .program import Step, Unsupported
from .scalar import converted, ctype
from .shapes import in_memory, unrolled
from .writer import Place, Shape, State, Writer, emits, size_of

PRELUDE = """\
INLINE void hash(uint64_t key, uint32_t& x0, uint32_t& x1) {
    const uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32), k2 = k0 ^ k1 ^ 0x1BD11BDAu;
    const uint32_t ks[3] = {k0, k1, k2};
    x0 += k0; x1 += k1;
#define ROUND(r) x0 += x1; x1 = (x1 << r | x1 >> (32 - r)) ^ x0;
#define FIVE(i, a, b, c, d) ROUND(a) ROUND(b) ROUND(c) ROUND(d) x0 += ks[(i + 1) % 3]; x1 += ks[(i + 2) % 3] + i + 1;
    FIVE(0, 13, 15, 26, 6) FIVE(1, 17, 29, 16, 24) FIVE(2, 13, 15, 26, 6) FIVE(3, 17, 29, 16, 24) FIVE(4, 13, 15, 26, 6)
}
INLINE uint64_t hashed(uint64_t key, uint64_t i) {
    uint32_t x0 = (uint32_t)(i >> 32), x1 = (uint32_t)i;
    hash(key, x0, x1);
    return x0 | (uint64_t)x1 << 32;
}
template <class T> INLINE T word(uint64_t key, uint64_t i) {
    const uint64_t h = hashed(key, i);
    if constexpr (sizeof(T) == 8) return h << 32 | h >> 32;
    else return (T)(h ^ h >> 32);
}
template <class T> INLINE T between(T u, T low, T high) { return maximum<T>(low, std::fma(u, T(high - low), low)); }
INLINE float unit(uint32_t w) { return bitcast<float>(w >> 9 | 0x3F800000u) - 1.0f; }
INLINE float xla_log(float x) {
    const uint32_t i = bitcast<uint32_t>(x);
    float m = bitcast<float>((i & 0x7FFFFFu) | 0x3F000000u);
    const bool low = m < 0.707106781186547524f;
    m = (low ? m + m : m) - 1.0f;
    const float n = (float)((int32_t)(i >> 23) - 126 - low), m2 = m * m, m3 = m2 * m;
    float y = std::fma(std::fma(7.0376836292e-2f, m, -1.1514610310e-1f), m, 1.1676998740e-1f);
    const float y1 = std::fma(std::fma(-1.2420140846e-1f, m, 1.4249322787e-1f), m, -1.6668057665e-1f);
    const float y2 = std::fma(std::fma(2.0000714765e-1f, m, -2.4999993993e-1f), m, 3.3333331174e-1f);
    y = std::fma(std::fma(std::fma(y, m3, y1), m3, y2), m3, n * -2.12194440e-4f);
    y = (std::fma(m2, -0.5f, m) + y) + n * 0.693359375f;
    y = x == INFINITY ? INFINITY : y;
    y = x < 1.17549435e-38f ? -INFINITY : y;
    return x >= 0.0f ? y : x <= -0.0f || x != x ? NAN : y;
}
INLINE float xla_log1p(float x) {
    float p = 4.5270000862445199635215e-5f, q = 1.0f;
    const float x2 = x * x;
    p = std::fma(p, x, 4.9854102823193375972212e-1f); q = std::fma(q, x, 1.5062909083469192043167e1f);
    p = std::fma(p, x, 6.5787325942061044846969e0f); q = std::fma(q, x, 8.3047565967967209469434e1f);
    p = std::fma(p, x, 2.9911919328553073277375e1f); q = std::fma(q, x, 2.2176239823732856465394e2f);
    p = std::fma(p, x, 6.0949667980987787057556e1f); q = std::fma(q, x, 3.0909872225312059774938e2f);
    p = std::fma(p, x, 5.7112963590585538103336e1f); q = std::fma(q, x, 2.1642788614495947685003e2f);
    p = std::fma(p, x, 2.0039553499201281259648e1f); q = std::fma(q, x, 6.0118660497603843919306e1f);
    const float small = x + std::fma(x2, -0.5f, (x * x2) * (p / q)), large = xla_log(x + 1.0f);
    return std::fabs(x) < 0.41421356237309504880f ? small : large;
}
INLINE float xla_erf_inv(float x) {
    float w = -xla_log1p(-x * x);
    const bool near = w < 5.0f;
    w = near ? w - 2.5f : std::sqrt(w) - 3.0f;
    float y = near ? 2.81022636e-08f : -0.000200214257f;
    y = std::fma(y, w, near ? 3.43273939e-07f : 0.000100950558f);
    y = std::fma(y, w, near ? -3.5233877e-06f : 0.00134934322f);
    y = std::fma(y, w, near ? -4.39150654e-06f : -0.00367342844f);
    y = std::fma(y, w, near ? 0.00021858087f : 0.00573950773f);
    y = std::fma(y, w, near ? -0.00125372503f : -0.0076224613f);
    y = std::fma(y, w, near ? -0.00417768164f : 0.00943887047f);
    y = std::fma(y, w, near ? 0.246640727f : 1.00167406f);
    y = std::fma(y, w, near ? 1.50140941f : 2.83297682f) * x;
    return std::fabs(x) == 1.0f ? x * INFINITY : y;
}
INLINE float positive(float u) { return u < 1.17549435e-38f ? 1.17549435e-38f : u; }
INLINE float normal_root(float u) { return xla_erf_inv(between<float>(u, -0x1.fffffep-1f, 1.0f)); }
INLINE float laplace(float u) {
    const float x = between<float>(u, -0x1.fffffep-1f, 1.0f);
    return (x > 0 ? 1.0f : x < 0 ? -1.0f : x) * xla_log1p(-std::fabs(x));
}
INLINE int32_t integer(uint64_t key, uint64_t i, int32_t low, int32_t high) {
    const uint32_t span = high <= low ? 1u : (uint32_t)high - (uint32_t)low;
    const uint32_t a = word<uint32_t>(hashed(key, 0), i), b = word<uint32_t>(hashed(key, 1), i);
    uint32_t factor = (1u << 16) % span;
    factor = factor * factor % span;
    return (int32_t)((uint32_t)low + (a % span * factor + b % span) % span);
}
"""
SAMPLES = {  # from a number u in [0, 1)
    "uniform": "u",
    "normal": "normal_root(u) * 1.41421356237309504880f",
    "normal_root": "normal_root(u)",
    "exponential": "-xla_log1p(-u)",
    "gumbel": "-xla_log(-xla_log(positive(u)))",
    "laplace": "laplace(u)",
    "logistic": "xla_log(positive(u)) - xla_log1p(-positive(u))",
    "log_uniform": "xla_log(u == 0 ? 1.0f : u)",
    "rayleigh": "std::sqrt(xla_log(u) * -2.0f)",
}


def elements(
    w: Writer, state: State, s: Step, formula: Callable[[list[str], str, list[str]], str], inner: Shape | None = None
) -> Place:
    """A result element by element: `formula(operands there, number of the element under its key, index)`.

    `inner`: how many axes of the result belong to each key; the operands have the axes before these, or all.
    """
    value = state.body.values[s.outs[0]]
    out = w.fresh(value, state.wanted.get(s.outs[0]))
    places = [w.place(state, a) for a in s.args]
    n = 0 if inner is None else len(inner)
    outer = value.shape[: len(value.shape) - n]
    key = w.aligned(places[0], outer) if places else None
    others = [w.aligned(p, value.shape) for p in places[1:]]
    w.required.add("keyed")

    def one(index: list[str]) -> None:
        first = "" if key is None else key.at(index)

        def each(rest: list[str]) -> None:
            strides = [str(size_of(inner[i + 1 :])) for i in range(n)] if inner is not None else []
            number = " + ".join([f"{i} * {t}" for i, t in zip(rest, strides)]) or "0"
            full = [*index, *rest]
            w.put(f"{out.at(full)} = {formula([first, *[p.at(full) for p in others]], number, full)};")

        w.each(inner or (), each)

    unrolled(w, outer, one)
    return out


def partitionable(s: Step) -> Shape:
    """The shape under each key. Raises Unsupported for the original form of threefry."""
    if not s.params["partitionable"]:
        raise Unsupported("the original form of threefry")
    return tuple(s.params["shape"])


@emits("random_split")
def split(w: Writer, state: State, s: Step) -> Place:
    return elements(w, state, s, lambda x, i, _: f"hashed({x[0]}, {i})", partitionable(s))


@emits("random_bits")
def bits(w: Writer, state: State, s: Step) -> Place:
    t = ctype(state.body.values[s.outs[0]].dtype)
    return elements(w, state, s, lambda x, i, _: f"word<{t}>({x[0]}, {i})", partitionable(s))


@emits("random_sample")
def sample(w: Writer, state: State, s: Step) -> Place:
    text = SAMPLES.get(s.params["sampler"])
    if text is None or s.params["dtype"] != np.float32:
        raise Unsupported(f"samples of {s.params['sampler']}, {s.params['dtype']}")
    return elements(
        w,
        state,
        s,
        lambda x, i, _: f"([](float u) {{ return {text}; }})(unit(word<uint32_t>({x[0]}, {i})))",
        partitionable(s),
    )


@emits("random_integers")
def integers(w: Writer, state: State, s: Step) -> Place:
    if {state.body.values[a].dtype for a in (*s.args[1:], *s.outs)} != {"int32"}:
        raise Unsupported("random integers of several types")
    return elements(w, state, s, lambda x, i, _: f"integer({x[0]}, {i}, {x[1]}, {x[2]})", partitionable(s))


@emits("random_fold_in")
def fold_in(w: Writer, state: State, s: Step) -> Place:
    return elements(w, state, s, lambda x, *_: f"hashed({x[0]}, (uint32_t){x[1]})")


@emits("random_between")
def between(w: Writer, state: State, s: Step) -> Place:
    dtype = state.body.values[s.outs[0]].dtype
    if dtype not in ("float32", "float64"):
        raise Unsupported(f"random_between of {dtype}")
    kinds = [state.body.values[a].dtype for a in s.args]
    return elements(
        w,
        state,
        s,
        lambda x, *_: f"between<{ctype(dtype)}>({', '.join(converted(v, k, dtype) for v, k in zip(x, kinds))})",
    )


@emits("random_erf_inv")
def erf_inv(w: Writer, state: State, s: Step) -> Place:
    if state.body.values[s.outs[0]].dtype != "float32":
        raise Unsupported("random_erf_inv of float64")
    return elements(w, state, s, lambda x, *_: f"xla_erf_inv({x[0]})")


@emits("random_seed")
def seed(w: Writer, state: State, s: Step) -> Place:
    wide = state.body.values[s.args[0]].dtype in ("int64", "uint64")
    high = (lambda x: f"(uint32_t)((uint64_t){x} >> 32)") if wide else lambda x: "0u"
    return elements(w, state, s, lambda x, *_: f"({high(x[0])} | (uint64_t)(uint32_t){x[0]} << 32)")


@emits("random_clone")
def clone(w: Writer, state: State, s: Step) -> Place:
    return w.place(state, s.args[0])


@emits("key_data")
def data(w: Writer, state: State, s: Step) -> Place:
    return elements(w, state, s, lambda x, i, _: f"(uint32_t)({x[0]} >> 32 * ({i}))", (2,))


@emits("key_wrap")
def wrap(w: Writer, state: State, s: Step) -> Place:
    p, value = in_memory(w, w.place(state, s.args[0])), state.body.values[s.outs[0]]
    out = w.fresh(value, state.wanted.get(s.outs[0]))
    unrolled(
        w,
        value.shape,
        lambda i: w.put(f"{out.at(i)} = {p.at([*i, '0'])} | (uint64_t){p.at([*i, '1'])} << 32;"),
    )
    return out
