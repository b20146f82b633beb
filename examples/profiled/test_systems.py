"""Tests of a solver, as a project has them: 20,000 small systems, one after the other."""

import numpy as np
import pytest


def systems(n):
    rng = np.random.default_rng(0)
    return rng.normal(size=(20000, n, n)) + 3 * n * np.eye(n), rng.normal(size=(20000, n))


def residuals(a, b):
    worst = 0.0
    for k in range(len(a)):
        x = np.linalg.solve(a[k], b[k])
        worst = max(worst, np.abs(a[k] @ x - b[k]).max())
    return worst


@pytest.mark.parametrize("n", [2, 4, 6, 8, 10])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_residuals_are_small(n, scale):
    a, b = systems(n)
    assert residuals(scale * a, scale * b) < 1e-12 * scale * 100
