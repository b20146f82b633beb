"""Ray marching: a scene is a distance function, a pixel is a function of its position, an image is its `vmap`.

Hart, "Sphere tracing" (1996), and the notes of Inigo Quilez on signed distance functions. Surface normals are
the `grad` of the distance, shadows a second march; the loop is a `fori_loop`, so that one compiled function draws any
image.
"""

import argparse
import time
from functools import partial

import numpy as np
from drawing import write_png

import lazynp.jax as jax
import lazynp.jax.numpy as jnp

LIGHT = (0.6, 0.7, -0.4)


def norm(v):
    return jnp.sqrt(jnp.sum(v**2))


def normalized(v):
    return v / norm(v)


def distance(p):
    """From a point to the scene: a ball, a ring around it, a floor; joined smoothly."""
    ball = norm(p - jnp.asarray([0.0, 0.1, 0.0])) - 0.8
    ring = jnp.hypot(jnp.hypot(p[0], p[2]) - 1.4, p[1] + 0.2) - 0.25
    floor = p[1] + 0.8
    k = 8.0
    return -jax.nn.logsumexp(-k * jnp.stack([ball, ring, floor])) / k


def march(origin, direction, steps):
    """How far along the ray the scene is met."""

    def body(_, t):
        return t + distance(origin + t * direction)

    return jax.lax.fori_loop(0, steps, body, 0.0)


def shadow(point, light, steps):
    """1 in the light, towards 0 where something comes near the ray to it."""

    def body(_, state):
        t, darkest = state
        d = distance(point + t * light)
        return t + jnp.clip(d, 0.02, 0.2), jnp.minimum(darkest, 8.0 * d / t)

    _, darkest = jax.lax.fori_loop(0, steps, body, (0.05, 1.0))
    return jnp.clip(darkest, 0.0, 1.0)


def colour(origin, target, steps, xy):
    """The colour of the pixel at xy, each from -1 to 1."""
    forward = normalized(target - origin)
    right = normalized(jnp.cross(jnp.asarray([0.0, 1.0, 0.0]), forward))
    up = jnp.cross(forward, right)
    ray = normalized(xy[0] * right + xy[1] * up + 1.6 * forward)
    t = march(origin, ray, steps)
    point = origin + t * ray
    normal = normalized(jax.grad(distance)(point))
    light = normalized(jnp.asarray(LIGHT))
    diffuse = jnp.maximum(jnp.dot(normal, light), 0.0) * shadow(point + 0.01 * normal, light, steps)
    shine = jnp.maximum(jnp.dot(normal, normalized(light - ray)), 0.0) ** 32
    surface = 0.5 + 0.4 * jnp.cos(2.0 * point[1] + jnp.asarray([0.0, 1.0, 2.0]))
    lit = surface * (0.2 + 0.8 * diffuse) + 0.4 * shine * diffuse
    sky = jnp.asarray([0.6, 0.75, 0.9])
    fog = 1.0 - jnp.exp(-0.002 * jnp.minimum(t, 100.0) ** 2)
    return jnp.sqrt(jnp.clip(lit * (1 - fog) + sky * fog, 0.0, 1.0))


@partial(jax.jit, static_argnames="steps")
def image(origin, target, x, y, steps):
    """The image, (y, x, 3)."""
    pixel = partial(colour, origin, target, steps)
    return jax.vmap(lambda b: jax.vmap(lambda a: pixel(jnp.stack([a, b])))(x))(y)


def run(width: int = 320, height: int = 200, steps: int = 40) -> dict:
    """Draw the scene."""
    x = jnp.linspace(-1.0, 1.0, width)
    y = jnp.linspace(1.0, -1.0, height) * height / width
    origin, target = jnp.asarray([2.0, 1.6, -3.2]), jnp.asarray([0.0, 0.0, 0.0])
    return {"image": np.asarray(image(origin, target, x, y, steps))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=320)
    parser.add_argument("--height", type=int, default=200)
    parser.add_argument("--picture", default="ray_marching.png")
    options = parser.parse_args()
    start = time.perf_counter()
    result = run(options.width, options.height)
    write_png(options.picture, result["image"])
    print(f"{options.width} x {options.height} pixels in {time.perf_counter() - start:.2f} s: {options.picture}")


if __name__ == "__main__":
    main()
