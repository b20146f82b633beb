"""Programs for `test_snippets`, one a paragraph: `np` is NumPy or lazynp, `log(...)` logs, `e(f)` what f raises."""

SNIPPETS = """
# resize keeps the flag of an array that must not be written
for make in (lambda: np.zeros(3).imag, lambda: np.arange(3.0)):
    for n in (3, 5, 2, 0):
        y = make()
        y.resize(n, refcheck=False)
        log(y.flags.writeable, y.flags.owndata, y.shape)
        e(y.__setitem__, ..., 4)
        log(y[:3])
x = np.arange(4.0)
x.flags.writeable = False
x.resize(6, refcheck=False)
e(x.__iadd__, 1)
e(x.setflags, True)
x.resize(2, refcheck=False)
log(x)
"""
