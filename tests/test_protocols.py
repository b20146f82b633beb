"""Python's protocols and standard library with arrays: as with NumPy's."""

from __future__ import annotations

import array
import ast
import base64
import binascii
import bisect
import collections
import collections.abc
import concurrent.futures
import contextlib
import contextvars
import copy
import csv
import ctypes
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import hashlib
import heapq
import inspect
import io
import itertools
import json
import marshal
import math
import mmap
import operator
import os
import pickle
import pprint
import pydoc
import random
import re
import reprlib
import sqlite3
import statistics
import string
import struct
import sys
import time
import types
import unittest
import warnings
import weakref
import zlib
from multiprocessing import shared_memory
from typing import Any

import numpy
import pytest
from protocol_cases import BUFFERS, DATA_MODEL, LIBRARY

import lazynp
from lazynp.config import config
from lazynp.speed import native

MODULES = {
    x.__name__: x
    for x in (
        array, ast, base64, binascii, bisect, collections, concurrent, contextvars, copy, csv, ctypes, dataclasses,
        datetime, decimal, enum, fractions, functools, hashlib, heapq, inspect, io, itertools, json, marshal, math,
        operator, os, pickle, pprint, pydoc, random, reprlib, statistics, string, struct, sys, time, types,
        unittest, weakref, zlib,
    )
}  # fmt: skip


def matched(x: Any) -> str:
    match x:
        case [first, *_]:
            return f"sequence {first}"
    return "no sequence"


def error_of(f: Any) -> Exception | None:
    try:
        f()
    except Exception as error:
        return error
    return None


# Without the C modules a Python class has no buffer before Python 3.12.
NO_BUFFER = native is None and sys.version_info < (3, 12)
ELEMENTS = "bytearray(m.arange(3))"  # takes the elements then, as Python does with any sequence: README, Limits
CLASSES: dict[str, type] = {}


def derived(m: Any) -> Any:
    """An array of a subclass with an attribute."""
    if m.__name__ not in CLASSES:

        class Derived(m.ndarray):
            def __new__(cls, values: Any, info: Any) -> Any:
                self = m.asarray(values).view(cls)
                self.info = info
                return self

            def __array_finalize__(self, parent: Any) -> None:
                self.info = getattr(parent, "info", "none")

        CLASSES[m.__name__] = Derived
    return CLASSES[m.__name__]([1, 2, 3], "of the first")


def mapped(m: Any) -> list[int]:
    """An array over a memory map."""
    with mmap.mmap(-1, 16) as memory:
        x = m.ndarray((2,), "i8", buffer=memory)
        x[:] = [3, 4]
        seen = list(struct.unpack("qq", memory[:]))
        del x
    return seen


def shared(m: Any) -> list[int]:
    """An array over shared memory, which can be closed when the array is gone."""
    memory = shared_memory.SharedMemory(create=True, size=16)
    try:
        x = m.ndarray((2,), "i8", buffer=memory.buf)
        x[:] = m.arange(2) + 1
        del x
        return list(struct.unpack("qq", memory.buf[:16]))
    finally:
        memory.close()
        memory.unlink()


def selected(values: Any) -> Any:
    """What a database makes of values."""
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        return base.execute("select ?", values).fetchone()


def shown(expression: str, m: Any) -> str:
    """What an expression gives: its representation, or its error's type."""
    scope = {**MODULES, "m": m, "N": numpy, "matched": matched, "derived": derived, "mapped": mapped, "shared": shared}
    scope["selected"] = selected
    scope |= {"a": lambda x, y, f: f(x, y), "e": error_of}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            text = repr(eval(expression, scope))
        except Exception as error:
            text = type(error).__name__
    return re.sub("0x[0-9a-f]+", "", text).replace("lazynp", "numpy")


@pytest.mark.parametrize("mode", ["auto", "graph"])
@pytest.mark.parametrize("expression", [x for t in (DATA_MODEL, BUFFERS, LIBRARY) for x in t.split("\n")[1:-1]])
def test_protocols(expression: str, mode: str) -> None:
    if native is None and expression.startswith("operator.") and "concat" in expression:
        pytest.skip("a Python class cannot refuse to be concatenated")
    wanted = shown(expression, numpy)
    with config(mode=mode):
        given = shown(expression, lazynp)
    if NO_BUFFER and expression in BUFFERS and given != wanted:  # then it has to be an error
        assert given in ("TypeError", "ValueError", "ProgrammingError") or expression == ELEMENTS
    else:
        assert given == wanted
