"""awkward, sparse, CVXPY, PyAMG, DEAP."""

import awkward as ak
import cvxpy as cp
import numpy as np
import pyamg
import sparse
from deap import base, creator, tools
from describe import main


def x():
    return np.linspace(0.1, 3, 12)


def a():
    return x().reshape(3, 4)


def coo():
    return sparse.COO(np.array([[0, 1], [1, 2]]), np.array([1.0, 2.0]), shape=(3, 4))


def least_squares():
    v, weights = cp.Variable(4), cp.Parameter(4, nonneg=True)
    weights.value = np.arange(1.0, 5)
    target = x()[:3]
    cp.Problem(cp.Minimize(cp.sum_squares(a() @ v - target) + cp.sum(cp.multiply(weights, cp.square(v))))).solve(
        solver=cp.CLARABEL
    )
    return np.asarray(v.value).round(5)


def individuals():
    if not hasattr(creator, "Least"):
        creator.create("Least", base.Fitness, weights=(-1.0,))
        creator.create("Individual", np.ndarray, fitness=creator.Least)
    one, other = creator.Individual(x()[:3]), creator.Individual(x()[3:6])
    one.fitness.values = (np.sum(one),)
    children = tools.cxTwoPoint(one, other)
    return one.fitness.values, [np.asarray(c).size for c in children], len(tools.selBest([one], 1))


def poisson():
    matrix, right = pyamg.gallery.poisson((6, 6), format="csr"), np.linspace(0, 1, 36)
    solver = pyamg.ruge_stuben_solver(matrix)
    step = np.zeros(36)
    pyamg.relaxation.relaxation.jacobi(matrix, step, right)
    return solver.solve(right, tol=1e-10).round(6), step, pyamg.krylov.cg(matrix, right, x0=np.zeros(36))[0].round(4)


LINES = {
    "awkward: from_numpy": lambda: ak.to_list(ak.from_numpy(a())),
    "awkward: Array of a dict": lambda: ak.to_list(ak.Array({"x": np.arange(3), "y": x()[:3]})),
    "awkward: array[mask], arithmetic": lambda: ak.to_list(
        (ak.from_numpy(a()) + np.arange(4.0))[np.array([True, False, True])]
    ),
    "awkward: unflatten, where": lambda: (
        ak.to_list(ak.unflatten(np.arange(6), np.array([1, 2, 3]))),
        ak.to_list(ak.where(x() > 1, x(), 0)),
    ),
    "sparse: COO, todense": lambda: coo().todense(),
    "sparse: from_numpy": lambda: sparse.COO.from_numpy(a() * (a() > 1)).todense(),
    "sparse: matrix products": lambda: (coo() @ a().T, sparse.tensordot(coo(), a().T, axes=1)),
    "sparse: s * x, s[places]": lambda: ((coo() * np.ones(4)).todense(), coo()[np.array([0, 2])].todense()),
    "CVXPY: least squares with a Parameter": least_squares,
    "CVXPY: shapes of x * v, x @ v, v >= x": lambda: [
        e.shape for v in [cp.Variable(4)] for e in (np.arange(4.0) * v, a() @ v, v >= np.ones(4))
    ],
    "PyAMG: solve, jacobi, cg": poisson,
    "DEAP: individuals that are arrays": individuals,
}

if __name__ == "__main__":
    main(LINES)
