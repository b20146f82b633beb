"""Classes that see what is done to their arrays: their `__array_ufunc__`, `__array_wrap__` and `__array_function__` are
called as often, in the order and with what NumPy calls them; and results are of the same class."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp
from lazynp.config import config

OPERATORS = """
u+1; 1+u; u-u; u*2; u/2; u//2; u%2; u**2; u**0.5; u**-1; u**1; u**0; u**3; 2**u; u**u; -u; +u; abs(u); u<1; u==u;
u!=2; u@u; divmod(u,2); ~(u>1); round(u)
"""
UFUNCS = """
m.sqrt(u); m.add(u,1); m.modf(u); m.frexp(u); m.add.reduce(u); m.add.accumulate(u); m.multiply.outer(u,u);
m.add.reduceat(u,[0,1]); m.maximum(u,u); m.where(u>1,u,0)
"""
METHODS = """
u.sum(); u.sum(axis=0); u.prod(); u.mean(); u.mean(axis=0); u.std(); u.var(); u.std(axis=0); u.max(); u.min();
u.argmax(); u.argmin(axis=0); u.any(); u.all(); u.cumsum(); u.cumprod(); u.round(); u.round(1); u.clip(0,1);
u.clip(min=1); u.conj(); u.copy(); u.astype(int); u.dot(u); u.trace() if u.ndim>1 else 0; u.sort(); u.argsort();
u.take([0]); u.repeat(2); u.ravel(); u.flatten(); u.reshape(-1); u.transpose(); u.T; u.squeeze(); u.swapaxes(0,0);
u.diagonal() if u.ndim>1 else 0; u.nonzero(); u.searchsorted(1) if u.ndim==1 else 0; u.compress([True]); u.tolist();
u.item(0); u.view(); u.real; u.imag; u.partition(0); u.argpartition(0); u.byteswap(); u.fill(2); u.put([0],5);
u.getfield('f8')
"""
PARTS = """
u[0]; u[0:1]; u[[0]]; u[u>1]; u[...]; u[None]; u[()]; u[0:0]; u.flat[0]; u.flat[:1]; list(u.flat)[0]; list(u)[0]
"""
FUNCTIONS = """
m.sum(u); m.mean(u); m.std(u); m.var(u); m.prod(u); m.max(u); m.any(u); m.cumsum(u); m.round(u); m.clip(u,0,1);
m.sort(u); m.argsort(u); m.median(u); m.average(u); m.ptp(u); m.diff(u); m.concatenate([u,u]); m.stack([u,u]);
m.vstack([u,u]); m.hstack([u,u]); m.zeros_like(u); m.ones_like(u); m.full_like(u,2); m.empty_like(u).shape;
m.copy(u); m.array(u); m.array(u,subok=True); m.asanyarray(u); m.asarray(u); m.ravel(u); m.reshape(u,-1);
m.transpose(u); m.squeeze(u); m.expand_dims(u,0); m.atleast_2d(u); m.broadcast_to(u,u.shape,subok=True);
m.broadcast_arrays(u,u,subok=True); m.tile(u,2); m.repeat(u,2); m.roll(u,1); m.flip(u); m.rot90(u) if u.ndim>1 else
0; m.take(u,[0]); m.unique(u); m.histogram(u,2); m.dot(u,u); m.inner(u,u); m.outer(u,u); m.kron(u,u);
m.tensordot(u,u,1); m.einsum('...,...',u,u); m.vdot(u,u); m.matmul(u,u); m.linalg.norm(u); m.fft.fft(u);
m.percentile(u,50); m.nansum(u); m.nanmean(u); m.nanmax(u); m.isnan(u); m.nan_to_num(u); m.isclose(u,u);
m.allclose(u,u); m.array_equal(u,u); m.gradient(u); m.trapezoid(u); m.interp(u,[0,1],[0,1]);
m.convolve(u.ravel(),u.ravel()); m.digitize(u,[1,2]); m.searchsorted([1,2],u); m.bincount(u.astype(int).ravel());
m.cross(u,u) if u.shape[-1]==3 else 0; m.triu(u) if u.ndim>1 else 0; m.diag(u); m.pad(u,1); m.append(u,1);
m.insert(u,0,1); m.delete(u,0); m.select([u>1],[u]); m.piecewise(u,[u>1],[5]); m.vectorize(lambda v:v*2)(u);
m.apply_along_axis(lambda v:v.sum(),0,u); m.meshgrid(u,u); m.real(u); m.imag(u); m.angle(u); m.sign(u);
m.logaddexp(u,u); m.cov(u); m.corrcoef(u); m.polyval([1,2],u); m.block([u,u]); m.split(u,1); m.array_split(u,2);
m.isin(u,[1]); m.count_nonzero(u); m.nonzero(u); m.argwhere(u); m.extract(u>1,u); m.compress([True],u);
m.moveaxis(u,0,0); m.fmax(u,1); m.ediff1d(u); m.trim_zeros(u.ravel()); m.lexsort((u,)); m.partition(u,0);
m.quantile(u,0.5); m.cumulative_sum(u.ravel()); m.vecdot(u,u); m.astype(u,int); m.permute_dims(u);
m.matrix_transpose(u) if u.ndim>1 else 0; m.linalg.inv(u[:2,:2]) if u.ndim>1 else 0;
m.linalg.solve(u[:2,:2],u[:2,0]) if u.ndim>1 else 0; m.linalg.det(u[:2,:2]) if u.ndim>1 else 0;
m.linalg.svd(u[:2,:2]) if u.ndim>1 else 0; m.linalg.eigh(u[:2,:2]) if u.ndim>1 else 0
"""
WRITES = """
u+=1; u-=u; u*=2; u/=2; u//=1; u%=2; u**=2; u**=0.5; u**=3; u@=m.eye(u.shape[-1]); u[0]=5; u[u>1]=0; u[...]+=1;
u[0]+=1; u.flat=3; m.add(u,1,out=u); m.add(1,1,out=u); m.sqrt(u,out=u); m.add.at(u,[0],1); m.copyto(u,1);
m.put(u,[0],1); m.putmask(u,u>1,0); m.place(u,u>1,[0]); m.sum(u,axis=0,out=u[0]) if u.ndim>1 else 0;
m.clip(u,0,1,out=u); m.cumsum(u,axis=0,out=u); m.round(u,out=u); m.mean(u,axis=0,keepdims=True);
m.modf(u,out=(u,None)); m.dot(u,2,out=u); m.fill_diagonal(u,1) if u.ndim>1 else 0
"""
SHAPES = {"numbers": (), "rows": (4,), "tables": (2, 3)}
Log = list[tuple[Any, ...]]


def with_ufunc(m: Any, log: Log) -> type:
    class Asked(m.ndarray):
        def __array_ufunc__(self, f: Any, method: str, *given: Any, out: Any = None, **kwargs: Any) -> Any:
            log.append((f.__name__, method, sorted(kwargs), out is not None, [type(x).__name__ for x in given]))
            plain = [x.view(m.ndarray) if isinstance(x, Asked) else x for x in given]
            if out:
                kwargs["out"] = tuple(x.view(m.ndarray) if isinstance(x, Asked) else x for x in out)
            value = getattr(f, method)(*plain, **kwargs)
            return value.view(Asked) if isinstance(value, m.ndarray) else value

    return Asked


def with_wrap(m: Any, log: Log) -> type:
    class Wrapping(m.ndarray):
        def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
            told = context and (context[0].__name__, len(context[1]), context[2])
            log.append((type(array).__name__, array.shape, told, return_scalar))
            return super().__array_wrap__(array, context, return_scalar)

    return Wrapping


def with_function(m: Any, log: Log) -> type:
    class Called(m.ndarray):
        def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
            log.append((function.__name__, len(args), sorted(kwargs)))
            return super().__array_function__(function, types, args, kwargs)

    return Called


def without_any(m: Any, log: Log) -> type:
    class Plain(m.ndarray):
        pass

    return Plain


def shown(m: Any, value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [shown(m, v) for v in value]
    if isinstance(value, m.ndarray):
        return type(value).__name__, str(value.dtype), value.shape, repr(m.asarray(value).tolist())
    return type(value).__name__, repr(value)


def outcomes(m: Any, kind: Callable[[Any, Log], type], shape: tuple[int, ...], text: str) -> list[Any]:
    found = []
    for line in " ".join(text.split("\n")).split(";"):
        log: Log = []
        values = 1.5 + m.arange(float(numpy.prod(shape, dtype=int))).reshape(shape)
        names = {"m": m, "u": values.view(kind(m, log))}
        log.clear()
        try:
            try:
                value = eval(line.strip(), names)
            except SyntaxError:
                exec(line.strip(), names)
                value = names["u"]
            found.append((line, shown(m, value), log))
        except Exception as error:
            found.append((line, type(error).__name__, str(error).replace("lazynp", "numpy"), log))
    return found


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [with_ufunc, with_wrap, with_function, without_any])
@pytest.mark.parametrize("text", [OPERATORS, UFUNCS, METHODS, PARTS, FUNCTIONS, WRITES], ids=lambda t: t[1:9])
def test_hooks(text: str, kind: Callable[[Any, Log], type], shape: str, mode: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = outcomes(numpy, kind, SHAPES[shape], text)
        with config(mode=mode):
            assert outcomes(lazynp, kind, SHAPES[shape], text) == wanted
