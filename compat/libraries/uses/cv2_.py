"""OpenCV."""

import cv2
import numpy as np
from describe import main


def image():
    return (np.arange(256, dtype=np.uint8).reshape(16, 16) * 7) % 251


def color():
    return np.stack([image(), image().T, image()[::-1]], axis=-1)


def points():
    return np.array([[2, 2], [12, 3], [8, 13]], dtype=np.int32)


def drawn():
    a = np.zeros((16, 16), np.uint8)
    cv2.line(a, (0, 0), (15, 15), 255)
    cv2.polylines(a, [points()], True, 99)
    cv2.fillPoly(a[8:], [points() // 2], 17)
    return a, a + 1


def filtered():
    k = cv2.KalmanFilter(2, 1)
    k.transitionMatrix = np.array([[1, 1], [0, 1]], np.float32)
    k.statePost = np.ones((2, 1), np.float32)
    return k.predict(), k.transitionMatrix


def into():
    out = np.zeros((16, 16), np.uint8)
    cv2.GaussianBlur(image(), (3, 3), 0, dst=out)
    return out


LINES = {
    "GaussianBlur": lambda: cv2.GaussianBlur(image(), (3, 3), 0),
    "GaussianBlur into dst": into,
    "resize": lambda: cv2.resize(image(), (8, 8)),
    "cvtColor": lambda: cv2.cvtColor(color(), cv2.COLOR_BGR2GRAY),
    "lines and polygons drawn": drawn,
    "threshold": lambda: cv2.threshold(image(), 100, 255, cv2.THRESH_BINARY),
    "filter2D with a kernel": lambda: cv2.filter2D(image().astype(np.float32), -1, np.ones((3, 3)) / 9),
    "warpAffine": lambda: cv2.warpAffine(image(), np.array([[1.0, 0, 2], [0, 1, 1]]), (16, 16)),
    "findContours": lambda: len(cv2.findContours((image() > 100).astype(np.uint8), 1, 2)[0]),
    "imencode, imdecode": lambda: cv2.imdecode(cv2.imencode(".png", color())[1], 1),
    "split, merge": lambda: cv2.merge(list(cv2.split(color()))),
    "addWeighted of a view": lambda: cv2.addWeighted(image()[::2], 0.5, image()[1::2], 0.5, 0),
    "calcHist": lambda: cv2.calcHist([image()], [0], None, [8], [0, 256]),
    "minMaxLoc": lambda: cv2.minMaxLoc(image()),
    "solve": lambda: cv2.solve(np.array([[2.0, 0], [0, 4]]), np.array([[1.0], [2]])),
    "boundingRect": lambda: cv2.boundingRect(points()),
    "UMat(x)": lambda: cv2.UMat(image()).get(),
    "CLAHE (a class)": lambda: cv2.createCLAHE().apply(image()),
    "KalmanFilter (its attributes)": filtered,
    "Canny": lambda: cv2.Canny(image(), 50, 100),
    "cv2.norm": lambda: cv2.norm(image().astype(float)),
}

if __name__ == "__main__":
    main(LINES)
