"""pyarrow."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from describe import main


def x():
    return np.arange(6.0).reshape(2, 3)


def stored():
    out = pa.BufferOutputStream()
    pa.ipc.write_tensor(pa.Tensor.from_numpy(x()), out)
    return np.asarray(pa.ipc.read_tensor(pa.BufferReader(out.getvalue())).to_numpy())


LINES = {
    "pa.array(x)": lambda: pa.array(x()[0]).to_pylist(),
    "pa.array(x, mask=m)": lambda: pa.array(x()[0], mask=x()[0] > 1).to_pylist(),
    "pa.array(dates)": lambda: pa.array(np.array(["2020-01-01"], "M8[D]")).to_pylist(),
    "pa.chunked_array([x])": lambda: pa.chunked_array([x()[0], x()[1]]).to_pylist(),
    "pa.table({name: x})": lambda: pa.table({"a": x()[0]}).to_pydict(),
    "pa.Tensor.from_numpy(x)": lambda: pa.Tensor.from_numpy(x()).to_numpy(),
    "isinstance(tensor, pa.Tensor)": lambda: isinstance(pa.Tensor.from_numpy(x()), pa.Tensor),
    "pa.ipc.write_tensor": stored,
    "pa.SparseCOOTensor.from_dense_numpy": lambda: pa.SparseCOOTensor.from_dense_numpy(x()).to_tensor().to_numpy(),
    "pa.SparseCSRMatrix.from_dense_numpy": lambda: pa.SparseCSRMatrix.from_dense_numpy(x()).to_tensor().to_numpy(),
    "pa.py_buffer(x)": lambda: pa.py_buffer(x()).to_pybytes(),
    "pa.FixedSizeListArray": lambda: pa.FixedSizeListArray.from_arrays(pa.array(x().ravel()), 3).to_pylist(),
    "array.take(k)": lambda: pa.array([5, 6, 7]).take(pa.array(np.array([2, 0]))).to_pylist(),
    "pc.is_in(values)": lambda: pc.is_in(pa.array([1.0, 9.0]), pa.array(x()[0])).to_pylist(),
    "array.to_numpy() + x": lambda: pa.array([1.0, 2.0, 3.0]).to_numpy() + x(),
    "np.asarray(pa.array)": lambda: np.asarray(pa.array([1, 2])),
    "pa.Table.from_arrays": lambda: pa.Table.from_arrays([pa.array(x()[0])], ["a"]).to_pydict(),
    "pa.RecordBatch.from_arrays([x])": lambda: pa.RecordBatch.from_arrays([x()[0]], ["a"]).to_pydict(),
}

if __name__ == "__main__":
    main(LINES)
