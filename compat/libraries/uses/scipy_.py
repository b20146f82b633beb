"""SciPy and scikit-learn."""

import numpy as np
import scipy
from describe import main
from sklearn import cluster, decomposition, linear_model, metrics, model_selection, preprocessing, tree


def x():
    return np.linspace(0.1, 3, 20)


def a():
    return np.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]])


def data():
    return np.sin(np.arange(80.0)).reshape(20, 4), (np.arange(20) % 3 == 0).astype(int)


LINES = {
    "scipy: linalg.solve": lambda: scipy.linalg.solve(a(), a()[0]),
    "scipy: linalg.lu, in place": lambda: scipy.linalg.lu(a(), overwrite_a=True),
    "scipy: linalg.expm": lambda: scipy.linalg.expm(a() / 4),
    "scipy: optimize.minimize": lambda: scipy.optimize.minimize(lambda v: np.sum((v - 1) ** 2), np.zeros(3)).x.round(4),
    "scipy: optimize.curve_fit": lambda: scipy.optimize.curve_fit(lambda t, m: m * t, x(), 2 * x())[0],
    "scipy: optimize.least_squares": lambda: scipy.optimize.least_squares(lambda v: a() @ v - 1, np.zeros(3)).x.round(
        6
    ),
    "scipy: integrate.solve_ivp": lambda: scipy.integrate.solve_ivp(lambda t, y: -y, (0, 1), np.ones(2)).y,
    "scipy: integrate.quad": lambda: scipy.integrate.quad(lambda t: np.exp(-t), 0, 1)[0],
    "scipy: interpolate.CubicSpline": lambda: scipy.interpolate.CubicSpline(x(), np.sin(x()))(x() + 0.01),
    "scipy: fft.rfft": lambda: scipy.fft.rfft(x()),
    "scipy: signal.fftconvolve": lambda: scipy.signal.fftconvolve(x(), x()),
    "scipy: signal.lfilter": lambda: scipy.signal.lfilter(np.ones(3) / 3, np.array([1.0]), x()),
    "scipy: ndimage.gaussian_filter": lambda: scipy.ndimage.gaussian_filter(a(), 1),
    "scipy: ndimage.label": lambda: scipy.ndimage.label(a() > 0),
    "scipy: sparse.csr_array @ x": lambda: scipy.sparse.csr_array(a()) @ a()[0],
    "scipy: sparse.csr_array[mask]": lambda: scipy.sparse.csr_array(a())[np.array([0, 2])].toarray(),
    "scipy: sparse from coordinates": lambda: scipy.sparse.coo_array(
        (x()[:3], (np.array([0, 1, 2]), np.array([0, 1, 1]))), shape=(3, 3)
    ).toarray(),
    "scipy: x @ sparse": lambda: a()[0] @ scipy.sparse.csr_array(a()),
    "scipy: spatial.KDTree.query": lambda: scipy.spatial.KDTree(a()).query(a()[:2], 2),
    "scipy: spatial.distance.cdist": lambda: scipy.spatial.distance.cdist(a(), a()),
    "scipy: special.gammaln(x)": lambda: scipy.special.gammaln(x()),
    "scipy: stats.norm.cdf, describe": lambda: (scipy.stats.norm.cdf(x()), scipy.stats.describe(x()).variance),
    "scipy: stats.ttest_ind": lambda: scipy.stats.ttest_ind(x(), x() + 1).pvalue,
    "scipy: io.savemat": lambda: (lambda f: (scipy.io.savemat(f, {"x": x()}), scipy.io.loadmat(f)["x"])[1])(
        __import__("io").BytesIO()
    ),
    "scipy: cluster.vq.kmeans2": lambda: scipy.cluster.vq.kmeans2(
        x().reshape(-1, 1), x()[:2].reshape(-1, 1), minit="matrix"
    ),
    "sklearn: LogisticRegression": lambda: linear_model.LogisticRegression().fit(*data()).predict_proba(data()[0]),
    "sklearn: Ridge": lambda: linear_model.Ridge().fit(data()[0], data()[0][:, 0]).coef_,
    "sklearn: StandardScaler": lambda: preprocessing.StandardScaler().fit_transform(data()[0]),
    "sklearn: OneHotEncoder": lambda: preprocessing.OneHotEncoder().fit_transform(data()[1].reshape(-1, 1)).toarray(),
    "sklearn: PCA": lambda: decomposition.PCA(2).fit_transform(data()[0]).round(9),
    "sklearn: KMeans": lambda: cluster.KMeans(2, n_init=1, random_state=0).fit_predict(data()[0]),
    "sklearn: DecisionTree": lambda: tree.DecisionTreeClassifier(random_state=0).fit(*data()).predict(data()[0]),
    "sklearn: train_test_split": lambda: model_selection.train_test_split(*data(), random_state=0),
    "sklearn: cross_val_score": lambda: model_selection.cross_val_score(linear_model.Ridge(), *data(), cv=3),
    "sklearn: confusion_matrix": lambda: metrics.confusion_matrix(data()[1], data()[1][::-1]),
}

if __name__ == "__main__":
    main(LINES)
