"""Compiled modules of the program, which ask for NumPy's own type, take our arrays."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sysconfig

import numpy
import pytest
from test_adapters import python

from lazynp import owners

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("g++")
SOURCE = r"""
#include <Python.h>
#include <numpy/arrayobject.h>

static PyObject *total(PyObject *self, PyObject *args)
{
    PyArrayObject *a;
    double sum = 0;
    if (!PyArg_ParseTuple(args, "O!", &PyArray_Type, &a))
        return NULL;
    for (npy_intp i = 0; i < PyArray_SIZE(a); i++)
        sum += *(double *)PyArray_GETPTR1(a, i);
    return PyFloat_FromDouble(sum);
}

static PyObject *halve(PyObject *self, PyObject *args)
{
    PyArrayObject *a;
    if (!PyArg_ParseTuple(args, "O!", &PyArray_Type, &a))
        return NULL;
    for (npy_intp i = 0; i < PyArray_SIZE(a); i++)
        *(double *)PyArray_GETPTR1(a, i) /= 2;
    Py_RETURN_NONE;
}

static PyObject *halve_of(PyObject *nothing, PyObject *args)
{
    PyObject *self, *rest = PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args));
    return PyArg_ParseTuple(args, "OO", &self, &args) ? halve(self, rest) : NULL;
}

static PyMethodDef of_self = {"halve", halve_of, METH_VARARGS, ""};
static PyMethodDef of_class[] = {{"total", total, METH_VARARGS, "The sum."}, {NULL}};
static PyType_Slot slots[] = {{Py_tp_methods, of_class}, {0, NULL}};
static PyType_Spec spec = {"NAME.Summer", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, slots};
static PyTypeObject Fixed = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "NAME.Fixed", .tp_basicsize = sizeof(PyObject),
                             .tp_methods = of_class, .tp_new = PyType_GenericNew};
typedef struct { PyObject_HEAD double made, sum; } Keeping;
static int keep(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"values", NULL};
    PyArrayObject *a;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!", names, &PyArray_Type, &a))
        return -1;
    ((Keeping *)self)->sum = PyFloat_AsDouble(total(self, PyTuple_Pack(1, a)));
    return 0;
}
static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *self = type->tp_alloc(type, 0);
    if (self && keep(self, args, kwargs) < 0)
        return NULL;
    ((Keeping *)self)->made = ((Keeping *)self)->sum;
    return self;
}
static PyObject *added(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *more = total(self, args);
    return more ? PyFloat_FromDouble(PyFloat_AsDouble(more) + ((Keeping *)self)->sum + ((Keeping *)self)->made) : NULL;
}
static PyTypeObject Keeper = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "NAME.Keeper", .tp_basicsize = sizeof(Keeping),
                              .tp_init = keep, .tp_new = make, .tp_call = added, .tp_flags = Py_TPFLAGS_BASETYPE};
static PyTypeObject Lower = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "NAME.Lower", .tp_basicsize = sizeof(Keeping),
                             .tp_base = &Keeper, .tp_flags = Py_TPFLAGS_BASETYPE};
static PyObject *same(PyObject *self, PyObject *x) { return Py_NewRef(x); }
static PyObject *helped(PyObject *self, PyObject *nothing)
{
    PyObject *function = PyObject_GetAttrString(self, "helper"), *given = PyObject_CallFunction(function, "i", 4);
    return given ? total(self, PyTuple_Pack(1, given)) : NULL;
}
static PyMethodDef functions[] = {
    {"helped", helped, METH_NOARGS, ""},
    {"same", same, METH_O, ""},
    {"total", total, METH_VARARGS, "The sum."}, {"halve", halve, METH_VARARGS, ""}, {NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "NAME", "", -1, functions};

PyMODINIT_FUNC PyInit_NAME(void)
{
    import_array();
    PyObject *module = PyModule_Create(&definition);
    PyObject *summer = PyType_FromSpec(&spec), *halving = PyInstanceMethod_New(PyCFunction_New(&of_self, NULL));
    PyObject_SetAttrString(summer, "halve", halving); /* as pybind11 makes its methods */
    PyModule_AddObject(module, "Summer", summer);
    PyType_Ready(&Fixed);
    PyModule_AddObject(module, "Fixed", (PyObject *)&Fixed);
    PyType_Ready(&Keeper);
    PyModule_AddObject(module, "Keeper", (PyObject *)&Keeper);
    PyType_Ready(&Lower);
    PyModule_AddObject(module, "Lower", (PyObject *)&Lower);
    PyObject *other = PyImport_ImportModule("part_in_python"); /* as `from part_in_python import helper` of Cython */
    if (other)
        PyModule_AddObject(module, "helper", PyObject_GetAttrString(other, "helper"));
    else
        PyErr_Clear();
    return module;
}
"""
USE = """
{imports}
import pickle
import compiled_part
import lazynp.speed
import numpy
in_c = lazynp.speed.native is not None
from compiled_part import total
x = np.arange(6.0)
y = x * 2
assert total(y) == 30.0 == compiled_part.Summer().total(y[::1]) and total(x[::2]) == 6.0
compiled_part.Summer().halve(x)
assert x.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5] and total(numpy.ones(3)) == 3.0
assert total.__doc__ == "The sum." and pickle.loads(pickle.dumps(total)) is total
assert compiled_part.helped() == 6.0 and compiled_part.helper.__name__ == "helper"
class Below(compiled_part.Keeper):
    def __init__(self, values):
        super().__init__(values)
class Further(compiled_part.Lower):
    pass
for kind in (compiled_part.Keeper, compiled_part.Lower, Below, Further) if in_c else ():
    assert kind(x)(x) == 22.5 == kind(values=x).__call__(x) and kind(numpy.ones(2))(y[:1]) == 4.0
    assert type(compiled_part.Lower.__new__(compiled_part.Lower, x)) is compiled_part.Lower
assert compiled_part.same(x) is x and (not in_c or compiled_part.Fixed().total(x) == 7.5)
np.config.adapters = False
try:
    compiled_part.total(x)
except TypeError as error:
    print("refused")
for kind in (compiled_part.Keeper, compiled_part.Lower, Below, Further):
    try:
        kind(x)
    except TypeError as error:
        assert "must be numpy.ndarray" in str(error)
    else:
        print("taken", kind)
np.config.adapters = "extensions"
print(compiled_part.total(x))
"""

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Where the compiled module lies."""
    path = tmp_path_factory.mktemp("extensions")
    (path / "compiled_part.c").write_text(SOURCE.replace("NAME", "compiled_part"))
    (path / "part_in_python.py").write_text(
        "import sys\ndef helper(n): return sys.modules['lazynp'].arange(float(n))\n"
    )
    where = [f"-I{sysconfig.get_path('include')}", f"-I{numpy.get_include()}"]
    out = "compiled_part" + str(sysconfig.get_config_var("EXT_SUFFIX"))
    if not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists():
        pytest.skip("Python's headers are not installed")
    subprocess.run([str(COMPILER), "-shared", "-fPIC", *where, "-o", out, "compiled_part.c"], cwd=path, check=True)
    return path


@pytest.mark.parametrize("imports", ["import lazynp as np", "import compiled_part\nimport lazynp as np"])
def test_whichever_is_loaded_first(folder: pathlib.Path, imports: str) -> None:
    assert python(USE.format(imports=imports), folder).split() == ["refused", "7.5"]


def test_a_program_that_is_swapped(folder: pathlib.Path) -> None:
    (folder / "program.py").write_text(USE.format(imports="import numpy as np"))
    code = "import runpy, sys; sys.argv = ['lazynp', 'program.py']; runpy.run_module('lazynp', run_name='__main__')"
    assert python(code, folder).split() == ["refused", "7.5"]


def test_a_package_of_installed_libraries_is_left_alone(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    inside = tmp_path / "site-packages"
    inside.mkdir()
    for file in folder.glob("compiled_part.*.so"):
        shutil.copy(file, inside)
    code = f"""
    import sys
    sys.path.insert(0, {str(inside)!r})
    import lazynp as np
    import compiled_part
    try:
        compiled_part.total(np.ones(3))
    except TypeError:
        print("refused")
    """
    assert python(code, tmp_path) == "refused"


def test_nothing_is_found_twice() -> None:
    """What is no extension module is loaded as it would be without us."""
    code = """
    import lazynp
    import json.tool, wave, xml.dom
    print(type(wave.__loader__).__name__, type(json.tool.__spec__.loader).__name__, xml.dom.__path__ is not None)
    """
    assert python(code).split() == ["SourceFileLoader", "SourceFileLoader", "True"]


@pytest.mark.parametrize("first", ["import scipy.linalg as linalg; linalg.cholesky([[2.0]])", "import lazynp"])
def test_routines_of_f2py_leave_alone_what_they_are_not_to_write(first: str) -> None:
    """They take what is no `numpy.ndarray` for copied when they have an array of it."""
    code = f"""
    {first}
    import numpy
    import lazynp as np
    import scipy.linalg as linalg
    from scipy.linalg import blas, lapack

    for module in (numpy, np):
        a, b = module.array([[4.0, 1.0], [1.0, 3.0]], order="F"), module.array([1.0, 2.0])
        results = [lapack.dpotrf(a), lapack.dgetrf(a)[0], lapack.dgesv(a, b)[2], blas.dgemv(2.0, a, b, y=b, beta=1.0)]
        results += [linalg.get_lapack_funcs(("potrf",), (numpy.ones((2, 2)),))[0](a)[0], blas.dscal(2.0, b)]
        print(a.tolist(), [x.tolist() for x in (results[0][0], *results[1:])], b.tolist())
    """
    ours, theirs = python(code).splitlines()
    assert ours == theirs


def test_routines_are_put_back() -> None:
    code = """
    import lazynp as np
    import scipy.linalg
    from scipy.linalg import _fblas, _flapack

    def kinds():
        return [type(f).__module__ for f in (_fblas.dgemm, _flapack.dpotrf, scipy.linalg.lapack.dpotrf)]

    on = kinds()
    np.config.adapters = False
    off = kinds()
    np.config.adapters = True
    print(on == kinds() == ["lazynp._adapters"] * 3, off == ["builtins"] * 3)
    """
    assert python(code) == "True True"


def test_what_an_installer_has_put_somewhere_is_a_library(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pip install --target` makes a folder like any other, but for what it notes of each package."""
    for name in ("installed", "own"):
        (tmp_path / name / "package").mkdir(parents=True)
        monkeypatch.syspath_prepend(tmp_path / name)
    (tmp_path / "installed" / "package-1.0.dist-info").mkdir()
    found = {name: owners.whose(str(tmp_path / name / "package" / "code.so")) for name in ("installed", "own")}
    assert found == {"installed": owners.LIBRARY, "own": owners.OWN}
