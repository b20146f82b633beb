"""standard library."""

import array
import base64
import bisect
import collections
import concurrent.futures
import copy
import csv
import ctypes
import dataclasses
import datetime
import decimal
import fractions
import functools
import hashlib
import heapq
import io
import itertools
import json
import marshal
import math
import mmap
import multiprocessing
import operator
import os
import pickle
import pprint
import random
import shelve
import socket
import sqlite3
import statistics
import struct
import tempfile
import zlib

import numpy as np
from describe import main

KEPT = tempfile.TemporaryDirectory()
FOLDER = KEPT.name


def x():
    return np.array([3.0, 1.0, 2.5, 5.0])


def k():
    return np.array([2, 0, 1])


def m():
    return np.arange(6).reshape(2, 3)


def shuffled():
    rng, a = random.Random(3), np.arange(10)
    rng.shuffle(a)
    return a, rng.choice(x()), rng.sample(list(x()), 2), rng.choices(x(), k=3)


def written():
    with tempfile.TemporaryFile() as f:
        x().tofile(f)
        f.seek(0)
        return np.fromfile(f)


def read_into():
    a = np.zeros(4)
    io.BytesIO(x().tobytes()).readinto(a)
    return a, a + 1


def through_socket():
    left, right = socket.socketpair()
    a = np.zeros(4)
    with left, right:
        left.sendall(x())
        right.recv_into(a)
    return a


def mapped():
    with open(os.path.join(FOLDER, "m"), "w+b") as f:
        f.write(bytes(32))
        f.flush()
        with mmap.mmap(f.fileno(), 32) as memory:
            a = np.frombuffer(memory)
            a[:] = x()
            b = np.array(a)
            del a
            memory.flush()
        f.seek(0)
        return f.read(), b


def in_database():
    with sqlite3.connect(":memory:") as db:
        db.execute("create table t (a blob, b real)")
        db.execute("insert into t values (?, ?)", (x(), float(x()[0])))
        return db.execute("select * from t").fetchall()


def on_shelf():
    with shelve.open(os.path.join(FOLDER, "s")) as shelf:
        shelf["x"] = x()
        return shelf["x"]


def c_sum():
    a = x()
    p = a.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    p[0] = 10.0
    view = (ctypes.c_double * 4).from_buffer(a)
    view[1] = 20.0
    return a, a * 2


def to_csv():
    out = io.StringIO()
    csv.writer(out).writerows(m())
    csv.writer(out).writerow(x())
    return out.getvalue()


@dataclasses.dataclass
class Point:
    x: object
    n: int = 0


def dates():
    d = np.array(["2020-01-01T12:00", "2021-05-06T01:02"], "M8[s]")
    return d.tolist(), d[0].item() + datetime.timedelta(1), np.array([datetime.date(2020, 1, 2)], "M8[D]")


def work(a):
    return a.sum() + 1


def in_processes():
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        return list(pool.map(work, [x(), m()]))


def in_threads():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(work, [x(), m()]))


def matched():
    match x():
        case [*_]:
            return "a sequence"
        case np.ndarray(shape=(4,)):
            return "an array"
    return "neither"


def views():
    a = m()
    v = memoryview(a)
    w = memoryview(x()).cast("B")
    return v.tolist(), v.shape, v.format, len(w), bytes(v[1:]), bytearray(a), v.readonly


LINES = {
    "pickle": lambda: pickle.loads(pickle.dumps(x())),
    "pickle, protocol 5 out of band": lambda: (
        lambda b: pickle.loads(pickle.dumps(x(), 5, buffer_callback=b.append), buffers=b)
    )([]),
    "pickle of a view, a mask": lambda: pickle.loads(pickle.dumps((m().T, m() > 2))),
    "copy.copy, deepcopy": lambda: (copy.copy(x()), copy.deepcopy({"a": [x()]})),
    "json of x.tolist()": lambda: json.dumps({"x": x().tolist(), "n": int(k()[0])}),
    "json with default": lambda: json.dumps({"x": x()}, default=lambda a: a.tolist()),
    "struct.pack(*x)": lambda: struct.pack("4d", *x()),
    "struct.unpack_from(x)": lambda: struct.unpack_from("d", x(), 8),
    "struct.pack_into(x)": lambda: (lambda a: (struct.pack_into("d", a, 0, 9.0), a)[1])(x()),
    "array.array('d', x)": lambda: array.array("d", x()).tolist(),
    "np.array(array.array)": lambda: np.array(array.array("i", [1, 2])),
    "memoryview": views,
    "bytes, bytearray": lambda: (bytes(x()), bytearray(x())),
    "io.BytesIO(x)": lambda: io.BytesIO(x()).getvalue(),
    "readinto(x)": read_into,
    "statistics": lambda: (statistics.mean(x()), statistics.median(x()), statistics.stdev(x())),
    "random.shuffle, choice, sample": shuffled,
    "bisect": lambda: (bisect.bisect(np.sort(x()), 2.0), bisect.bisect_left([1, 2, 3], k()[0])),
    "itertools": lambda: (
        list(itertools.accumulate(x())),
        list(itertools.chain(x(), k())),
        list(itertools.product(k(), k()))[:3],
    ),
    "itertools.compress, groupby": lambda: (
        list(itertools.compress("abcd", x() > 2)),
        [int(g) for g, _ in itertools.groupby(np.sort(k()))],
    ),
    "functools.reduce": lambda: functools.reduce(operator.add, [x(), x(), x()]),
    "functools.reduce over elements": lambda: functools.reduce(operator.mul, x()),
    "math.sqrt, fsum, prod": lambda: (math.sqrt(x()[0]), math.fsum(x()), math.prod(k() + 1), math.dist(x(), x() * 2)),
    "math.floor, ceil, isclose": lambda: (math.floor(x()[2]), math.ceil(x()[2]), math.isclose(x()[0], 3)),
    "operator.itemgetter, index": lambda: (
        operator.itemgetter(1, 2)(x()),
        operator.index(k()[0]),
        operator.matmul(x(), x()),
    ),
    "operator.iadd": lambda: operator.iadd(x(), x()),
    "operator.contains, countOf, indexOf": lambda: (
        operator.contains(x(), 1.0),
        operator.countOf(x(), 1.0),
        operator.indexOf(x(), 2.5),
    ),
    "operator.length_hint": lambda: (operator.length_hint(x()), len(x())),
    "heapq": lambda: (heapq.nlargest(2, x()), list(heapq.merge(np.sort(x()), np.sort(k())))),
    "sorted, reversed": lambda: (sorted(x()), list(reversed(x()))),
    "reversed rows": lambda: [row.tolist() for row in reversed(m())],
    "sum, min, max, any, all": lambda: (sum(x()), min(x()), max(x(), key=lambda v: -v), any(x() > 4), all(x() > 4)),
    "sum of arrays": lambda: sum([x(), x()]),
    "zip, enumerate, map": lambda: (list(zip(x(), k())), list(enumerate(k())), list(map(float, k()))),
    "abs, round, divmod, pow": lambda: (abs(-x()), round(x()[2]), divmod(x(), 2), pow(x(), 2)),
    "unpacking": lambda: (lambda a, *b: (a, b))(*x()),
    "csv.writer": to_csv,
    "sqlite3": in_database,
    "ctypes": c_sum,
    "shelve": on_shelf,
    "multiprocessing": in_processes,
    "concurrent.futures threads": in_threads,
    "fractions, decimal": lambda: (
        fractions.Fraction(x()[2]),
        fractions.Fraction(int(k()[0]), 3),
        decimal.Decimal(x()[2]),
    ),
    "format, f-strings, %": lambda: (
        f"{x()[0]:.2f}",
        f"{x()}",
        "%s %d" % (x(), k()[0]),
        f"{x()[1]:g}",
        f"{x()!r:>40}",
    ),
    "'%.1f %.1f' % tuple(x)": lambda: "%.1f %.1f %.1f %.1f" % tuple(x()),
    "pprint": lambda: pprint.pformat({"x": x()}),
    "dataclasses": lambda: (dataclasses.asdict(Point(x())), dataclasses.replace(Point(x()), n=1).n, repr(Point(x()))),
    "hashlib": lambda: (hashlib.sha256(x()).hexdigest(), hashlib.md5(m().copy()).hexdigest()),
    "zlib, base64": lambda: (zlib.crc32(x()), zlib.decompress(zlib.compress(x())), base64.b64encode(x())),
    "socket": through_socket,
    "mmap": mapped,
    "tofile, fromfile": written,
    "int.from_bytes, to_bytes": lambda: (int.from_bytes(k()[:1].astype("u1"), "big"), int(k()[0]).to_bytes(2, "big")),
    "range indexed by elements": lambda: (range(10)[k()[0]], list(range(k()[0])), "abc"[k()[2]], [1, 2, 3][k()[0]]),
    "slices by elements": lambda: ("abcdef"[k()[2] : k()[0]], list(range(9))[:: k()[0]]),
    "list * element, bytes(n)": lambda: ([0] * int(k()[0]), bytes(int(k()[0])), [1, 2] * 2),
    "float, int, complex, bool of 0-d": lambda: (
        float(x()[:1].sum()),
        int(np.array(3)),
        complex(np.array(2.0)),
        bool(np.array([1])),
    ),
    "datetime": dates,
    "collections.Counter, deque": lambda: (dict(collections.Counter(k().tolist())), list(collections.deque(x(), 2))),
    "set and dict of elements": lambda: (sorted(set(x())), {v: i for i, v in enumerate(k())}, 2 in {*k()}),
    "in, not in": lambda: (1.0 in x(), 9 not in k(), [1, 2] in m()[:, :2]),
    "isinstance(element, float)": lambda: (
        isinstance(x()[0], float),
        isinstance(k()[0], int),
        isinstance(x(), np.ndarray),
    ),
    "match statement": matched,
    "hash of elements, unhashable x": lambda: (hash(x()[0]) == hash(3.0), x().__hash__ is None),
    "weakref": lambda: __import__("weakref").ref(x())() is None,
    "sys.getsizeof": lambda: __import__("sys").getsizeof(np.zeros(100)) > 800,
    "marshal of bytes": lambda: marshal.loads(marshal.dumps(x().tobytes())),
    "contextlib, with errstate": lambda: np.errstate(all="ignore").__enter__() is None,
    "os.write": lambda: (lambda p: (os.write(p[1], x()), os.read(p[0], 99), os.close(p[0]), os.close(p[1]))[:2])(
        os.pipe()
    ),
    "str.join, repr": lambda: (", ".join(map(str, k())), repr(m())),
    "types: subclass of ndarray": lambda: type("Sub", (np.ndarray,), {})((2,), int).shape,
}

if __name__ == "__main__":
    main(LINES)
