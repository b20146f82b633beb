"""Expressions in Python's protocols and standard library, `m` being numpy or lazynp: each gives the same twice.

Where a value is given in a C library's words, as an error's text is, only the error's type counts.
"""

DATA_MODEL = """
list(reversed(m.arange(3)))
list(reversed(m.arange(6).reshape(2, 3)))
list(reversed(m.arange(400_000) * 2))[:2]
reversed(m.array(3))
[list(x) for x in m.arange(4).reshape(2, 2)]
iter(m.array(3))
next(m.arange(3))
operator.length_hint(iter(m.arange(3)))
list(copy.copy(iter(m.arange(3))))
a(iter(m.arange(3)), next, lambda x, f: (f(x), operator.length_hint(x), list(copy.copy(x)), list(copy.deepcopy(x))))
list(pickle.loads(pickle.dumps(iter(m.arange(3)))))
len(m.array(3))
list(m.arange(0))
[x for x, in m.arange(2).reshape(2, 1)]
a(m.arange(2), m.arange(3), lambda x, y: [*x, *y])
2 in m.arange(3)
[1, 2] in m.arange(6).reshape(3, 2)
None in m.arange(3)
3 in m.array(3)
hash(m.array(3))
{m.arange(3): 1}
bool(m.array([1, 2]))
bool(m.array([]))
bool(m.array([[0]]))
bool(m.array(["a"]))
not m.array(0)
1 < m.array([1, 2]) < 3
m.array(2) and 5
int(m.array([[3]]))
int(m.array([1, 2]))
int(m.array(2.7))
int(m.array(float("nan")))
int(m.array("3"))
int(m.array(1j))
float(m.array("3.5"))
float(m.array([1.0, 2]))
complex(m.array(2 + 1j))
complex(m.array([2 + 1j]))
operator.index(m.array(3))
operator.index(m.array([3]))
operator.index(m.array(3.0))
[1, 2, 3][m.array(1)]
[1, 2, 3][m.array([1])]
"abc"[m.array(1) : m.array(3)]
range(m.array(3))
range(m.array([3]))
round(m.array(2.5))
round(m.array([1.26]), 1)
math.floor(m.array(2.5))
math.trunc(m.array([2.5]))
math.sqrt(m.array([2.25]))
math.sqrt(m.array([2.5, 3]))
math.fsum(m.arange(4.0))
math.prod(m.arange(1, 4))
math.dist(m.zeros(2), m.ones(2))
math.gcd(m.array(4), 6)
math.hypot(*m.array([3.0, 4]))
pow(m.array([2, 3]), 2, 5)
pow(2, m.arange(3), 5)
divmod(m.array([7, 8]), 3)
divmod(7, m.array([2, 3]))
divmod(m.arange(3), None)
m.arange(3) + None
None + m.arange(3)
m.arange(3) + "a"
m.arange(3) + object()
m.arange(3) == None
m.arange(3) == "a"
m.arange(3) < None
m.arange(3) == m.arange(4)
m.arange(3) != [1, 2, 3, 4]
m.arange(3) == object()
m.arange(3) @ None
m.arange(3) @ 3
3 @ m.arange(3)
[1, 2, 3] @ m.arange(3)
m.arange(3) << 1.0
m.arange(3.0) | 1
m.arange(3) ** -1
2 ** m.arange(3)
-m.array([True])
m.array([True]) - m.array([True])
~m.arange(3.0)
abs(m.array([-1]))
+m.array(["a"])
[1, 2] + m.array([1, 2])
[1] * m.array(3)
[1] * m.array([3])
"a" * m.array(3)
b"a" * m.array([2])
m.array(3) * "a"
"%d" % m.array(3)
"%d" % m.array([3])
"%s" % m.array([3, 4])
"%s %s" % m.array([3, 4])
"%5.1f" % m.array(2.25)
format(m.array([1, 2]), "")
format(m.array([1, 2]), ">10")
format(m.array(3.14159), ".2f")
format(m.array([3.14159]), ".2f")
f"{m.array([1, 2])!r:>20}"
"{0[1]} {0.T}".format(m.arange(3))
m.arange(3).__add__(None)
m.arange(3).__add__("a")
m.arange(3).__radd__([1, 2, 3])
m.arange(3).__eq__(None)
m.arange(3).__pow__(2, None)
m.arange(3).__pow__(2, 3)
m.arange(3).__pow__(2, 3, 4)
m.arange(3).__rpow__(2, None), m.arange(3).__rpow__(2, 3)
m.arange(3).__ipow__(2, None), m.arange(3).__ipow__(2, 3)
m.arange(3).__rpow__(2)
m.arange(3).__divmod__(2)
m.arange(9.0).reshape(3, 3).__imatmul__(m.eye(3))
m.arange(3).__getitem__(1)
m.arange(3).__setitem__(0, "a")
m.arange(3).__delitem__(0)
m.arange(3)[1.0]
m.arange(3)["a"]
m.arange(3)[3]
m.arange(3)[1, 1]
a(m.arange(3), 0, lambda x, y: operator.setitem(x, 5, y))
a(m.arange(3), 0, lambda x, y: operator.delitem(x, y))
m.arange(3).__copy__()
copy.deepcopy([m.arange(3)])
copy.deepcopy(m.array([[1], None], dtype=object))
[pickle.loads(pickle.dumps(m.arange(6).reshape(2, 3).T, p)).flags.f_contiguous for p in range(6)]
[pickle.loads(pickle.dumps(m.array([1, "a", None], object), p)) for p in range(6)]
pickle.loads(pickle.dumps({"a": m.float64(1), "f": m.sin, "d": m.dtype("f4"), "t": m.ndarray}))["f"](0.0)
len(a([], m.arange(9), lambda out, x: (pickle.dumps(x, 5, buffer_callback=out.append), out)[1]))
a([], m.arange(3), lambda out, x: pickle.loads(pickle.dumps(x, 5, buffer_callback=out.append), buffers=out))
m.arange(3).__reduce_ex__(2)[2][1:]
m.arange(3).__reduce__()[2][1:]
sys.getsizeof(m.arange(1000)) - sys.getsizeof(m.arange(0)) >= 8000 or "a view"
m.ndarray[int].__args__
m.ndarray[int, float].__args__
m.ndarray[int, int, int]
isinstance(m.ndarray[int], types.GenericAlias)
[isinstance(m.array([1]), getattr(collections.abc, n)) for n in collections.abc.__all__ if n != "Buffer"]
[issubclass(m.ndarray, getattr(collections.abc, n)) for n in collections.abc.__all__ if n != "Buffer"]
matched(m.arange(2))
matched(m.array(2))
m.arange(3).nothing
setattr(m.arange(3), "nothing", 1)
delattr(m.arange(3), "nothing")
[type(e(lambda: delattr(m.arange(3), n))) for n in ("shape", "T", "dtype", "strides", "flat", "real", "data", "base")]
[type(e(lambda: setattr(m.arange(3), n, 1))) for n in ("T", "size", "ndim", "base", "nbytes", "ctypes", "flags", "sum")]
[n for n in sorted(dir(N.ndarray)) if not hasattr(m.ndarray, n)]
setattr(m.arange(3), "shape", (2, 2))
setattr(m.arange(3), "dtype", "i3")
setattr(m.arange(3), "imag", 1)
a(m.arange(6), (2, 3), lambda x, s: (setattr(x, "shape", s), x)[1])
a(m.arange(6), 7, lambda x, s: (setattr(x, "flat", s), x)[1])
a(m.arange(3) + 1j, 7, lambda x, s: (setattr(x, "real", s), setattr(x, "imag", s), x)[2])
a(m.arange(3), False, lambda x, s: (setattr(x.flags, "writeable", s), operator.setitem(x, 0, 1)))
weakref.ref(m.arange(3))() is None
a(m.arange(3), None, lambda x, y: weakref.ref(x)() is x)
derived(m)
derived(m).sum()
derived(m)[1:].info
(derived(m) + 1).info
pickle.loads(pickle.dumps(m.arange(3).view(m.ndarray)))
m.arange(3).view(type(derived(m))).info
isinstance(3, m.ndarray), issubclass(int, m.ndarray), isinstance(m.arange(2), m.ndarray)
"""

BUFFERS = """
bytes(m.arange(3, dtype="u1"))
bytes(m.arange(3))
bytearray(m.arange(3))
memoryview(m.arange(3)).format
memoryview(m.arange(6).reshape(2, 3)[:, 1:]).tolist()
memoryview(m.arange(6).reshape(2, 3)).shape
memoryview(m.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])).format
memoryview(m.array(["2020"], "M8[D]"))
a(m.arange(3), 9, lambda x, y: (operator.setitem(memoryview(x), 0, y), x)[1])
a(m.broadcast_to(m.arange(3), (2, 3)), 0, lambda x, y: memoryview(x).readonly)
struct.unpack_from("q", m.arange(3), 8)
a(m.zeros(2, "i8"), 7, lambda x, y: (struct.pack_into("q", x, 8, y), x)[1])
hashlib.sha1(m.arange(3)).hexdigest()
hashlib.sha1(m.arange(6)[::2])
zlib.crc32(m.arange(3))
zlib.decompress(zlib.compress(m.arange(3)))
binascii.hexlify(m.arange(2))
base64.b64encode(m.arange(3))
array.array("d", m.arange(3.0))
array.array("d", m.arange(3))
array.array("l", m.arange(3.0))
m.asarray(array.array("d", [1, 2]))
m.frombuffer(m.arange(3))
m.frombuffer(bytearray(16), "i8")
io.BytesIO(m.arange(3)).read()
a(m.empty(3), b"a" * 24, lambda x, y: (io.BytesIO(y).readinto(x), x)[1])
(ctypes.c_int64 * 3).from_buffer(m.arange(3))[2]
ctypes.c_char.from_buffer_copy(m.arange(3, dtype="u1")).value
m.arange(3).ctypes.shape[0]
m.arange(3).ctypes.data_as(ctypes.POINTER(ctypes.c_int64))[1]
m.ndarray((2,), buffer=b"a" * 16).flags.writeable
m.ndarray((2,), buffer=b"a" * 8)
m.ndarray((2, 2), "i4", bytearray(range(16)), order="F")
N.asarray(m.arange(3)).tolist()
m.arange(3).__array__("f4").tolist()
m.arange(3).__array__(float, copy=False)
m.arange(3).__array_interface__["typestr"]
type(m.arange(3).__dlpack__()).__name__
m.arange(3).__dlpack_device__()
N.from_dlpack(m.arange(3)).tolist()
m.from_dlpack(N.arange(3))
mapped(m)
shared(m)
selected((m.arange(2),))
selected((m.array("a"),))
marshal.loads(marshal.dumps(m.arange(2))) == m.arange(2).tobytes()
"""

LIBRARY = """
sum(m.arange(4))
sum(m.arange(4).reshape(2, 2))
sum([m.ones(2), m.ones(2)])
min(m.arange(4)), max(m.arange(4)), sorted(m.array([3, 1, 2]))
min(m.arange(4).reshape(2, 2))
any(m.arange(3)), all(m.arange(3))
list(zip(m.arange(2), m.arange(2))), list(enumerate(m.arange(2)))
list(map(int, m.arange(3.0))), list(filter(None, m.arange(3)))
dict(m.arange(4).reshape(2, 2)), set(m.arange(3)), tuple(m.arange(3)), frozenset(m.arange(2))
(lambda **names: names)(**m.arange(2))
functools.reduce(operator.add, m.arange(4))
functools.singledispatch(lambda x: type(x).__name__)(m.arange(3))
operator.concat(m.arange(2), m.arange(2))
operator.iconcat(m.arange(2), m.arange(2))
operator.countOf(m.array([1, 1]), 1), operator.indexOf(m.array([1, 2]), 2)
operator.itemgetter(0, 1)(m.arange(3)), operator.attrgetter("T.shape")(m.arange(3))
operator.truth(m.array([2])), operator.not_(m.array(0))
operator.iadd(m.arange(3), 1), operator.matmul(m.eye(2), m.ones(2))
statistics.mean(m.arange(3.0)), statistics.median(m.arange(4.0)), statistics.stdev(m.arange(4.0))
random.Random(1).choice(m.arange(10))
random.Random(1).sample(m.arange(10), 3)
random.Random(1).sample(list(m.arange(10)), 3)
random.Random(1).choices(m.arange(3), m.ones(3), k=3)
a(m.arange(10), random.Random(1), lambda x, r: (r.shuffle(x), x)[1])
heapq.nsmallest(2, m.array([3, 1, 2]))
heapq.heapify(m.arange(3))
list(heapq.merge(m.arange(3), m.arange(2)))
bisect.bisect(m.arange(10), 4), bisect.bisect_left(m.arange(10) * 2, 7)
bisect.insort(m.arange(3), 1)
list(itertools.islice(m.arange(10), 3)), list(itertools.chain(m.arange(2), m.arange(2)))
list(itertools.product(m.arange(2), repeat=2)), list(itertools.accumulate(m.arange(4)))
list(itertools.pairwise(m.arange(3))), list(itertools.combinations(m.arange(3), 2))
list(itertools.compress("abc", m.array([1, 0, 1]))), list(itertools.groupby(m.array([1, 1, 2])))[0][0]
collections.Counter(m.array([1, 1, 2])), collections.deque(m.arange(3))
json.dumps(m.arange(3))
json.dumps(m.arange(3).tolist())
json.dumps({m.array(1): 1})
pprint.pformat({"a": m.arange(30)})
reprlib.repr(m.arange(3))
a(io.StringIO(), m.arange(3), lambda f, x: (csv.writer(f).writerow(x), f.getvalue())[1])
selected(m.arange(1))
",".join(m.arange(3))
",".join(map(str, m.arange(3)))
",".join(m.array(["a", "b"]))
string.Template("$a").substitute(a=m.arange(3))
string.Formatter().format("{0[1]} {0.shape}", m.arange(3))
dataclasses.asdict(dataclasses.make_dataclass("D", ["x"])(m.arange(3)))
a(dataclasses.make_dataclass("D", ["x"]), m, lambda D, m: D(m.arange(3)) == D(m.arange(3)))
types.SimpleNamespace(a=m.arange(2))
dataclasses.make_dataclass("D", [("x", object, m.arange(3))])
decimal.Decimal(m.array(3))
fractions.Fraction(m.array(3))
datetime.timedelta(m.array(3))
time.sleep(m.array(0))
chr(m.array(65)), bin(m.array(5)), hex(m.array(5))
chr(m.array([65]))
os.fspath(m.array("a"))
open(m.array("a"))
list(itertools.islice(itertools.cycle(m.arange(2)), 3))
m.__version__ < "2.4" or str(inspect.signature(m.ndarray.sum))
inspect.getdoc(m.ndarray.sum)[:20]
inspect.isroutine(m.ndarray.sum), inspect.isclass(m.ndarray), callable(m.arange(3))
str(inspect.signature(m.ndarray))
len(pydoc.render_doc(m.ndarray)) > 1000
unittest.TestCase().assertAlmostEqual(m.array(1.0), 1.0)
unittest.TestCase().assertSequenceEqual(m.arange(3), [0, 1, 2])
unittest.TestCase().assertIn(1, m.arange(3))
unittest.TestCase().assertEqual(m.arange(3), m.arange(3))
list(concurrent.futures.ThreadPoolExecutor(1).map(sum, m.arange(4).reshape(2, 2)))
contextvars.ContextVar("v", default=m.arange(2)).get()
ast.literal_eval(str(m.arange(3).tolist()))
enum.IntEnum("E", "a b")(m.array(1))
"""
