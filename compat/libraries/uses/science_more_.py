"""statsmodels, networkx, sympy, astropy, shapely, PyWavelets."""

import networkx as nx
import numpy as np
import pywt
import shapely
import statsmodels.api as sm
import sympy
from astropy import units
from astropy.table import Table
from describe import main


def x():
    return np.linspace(0.1, 3, 12)


def a():
    return x().reshape(3, 4)


def adjacency():
    g = nx.from_numpy_array((a() @ a().T > 8).astype(int))
    return sorted(g.edges), nx.to_numpy_array(g)


LINES = {
    "statsmodels: OLS": lambda: sm.OLS(np.sin(x()), sm.add_constant(x())).fit().params,
    "statsmodels: GLM": lambda: sm.GLM((x() > 1).astype(float), sm.add_constant(x() % 0.7)).fit().params.round(6),
    "statsmodels: acf": lambda: sm.tsa.acf(x()),
    "statsmodels: KDE": lambda: sm.nonparametric.KDEUnivariate(x()).fit().density[:5],
    "networkx: from_numpy_array": adjacency,
    "networkx: spring_layout": lambda: nx.spring_layout(nx.path_graph(3), seed=0, iterations=3)[0].round(6),
    "networkx: pagerank": lambda: sorted(nx.pagerank(nx.from_numpy_array(a() @ a().T)).values()),
    "sympy: lambdify(x)": lambda: sympy.lambdify("t", sympy.sin(sympy.Symbol("t")) ** 2, "numpy")(x()),
    "sympy: Matrix(x)": lambda: str(sympy.Matrix(np.arange(4).reshape(2, 2)).det()),
    "astropy: x * unit": lambda: (x() * units.m).to(units.km).value,
    "astropy: Quantity arithmetic": lambda: ((x() * units.m) / (x() * units.s)).value,
    "astropy: np.sqrt(quantity)": lambda: np.sqrt(x() * units.m**2).value,
    "astropy: Table": lambda: np.asarray(Table({"a": x(), "b": np.arange(12)})["a"]),
    "shapely: points(x)": lambda: shapely.get_x(shapely.points(x(), x() * 2)),
    "shapely: LineString, area": lambda: (
        shapely.LineString(a()[:, :2]).length,
        shapely.Polygon(np.array([[0, 0], [1, 0], [1, 1]])).area,
    ),
    "shapely: contains_xy": lambda: shapely.contains_xy(shapely.box(0, 0, 1, 1), x(), x()),
    "PyWavelets: dwt": lambda: pywt.dwt(x(), "db1"),
    "PyWavelets: wavedec2": lambda: pywt.wavedec2(np.ones((4, 4)) * x()[:4], "haar", level=1)[0],
}

if __name__ == "__main__":
    main(LINES)
