"""Plain NumPy text in several processes with a device each: right values, and rows stay on the device.

On the device "torch", which is torch's operations in main memory, and on GPUs where there are some.
"""

from __future__ import annotations

import pytest
from many import ROOT, free_port, right, run
from patience import PATIENCE
from test_spread import FUNCTIONS, LESS, LOCAL, RANDOM, SMALL, WHOLE

torch = pytest.importorskip("torch", reason="torch, whose operations the devices run, is not installed")
pytest.importorskip("torch.distributed", reason="processes are joined by torch, which is an extra")
GPUS = torch.cuda.device_count()
CUDA = pytest.mark.skipif(not GPUS, reason="torch.cuda.device_count() is 0")

# A stencil whose rows stay where they are; a fit that reads the same data in each step, and makes small results.
STAY = """
from lazynp.runtime.recorder import recorder
from lazynp.spread.buffer import Spread, spreading
device = np.config.device
def sweep(np, u, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
u, v = np.zeros((240, 240)), numpy.zeros((240, 240))
u[0], v[0], u[:, -1], v[:, -1] = 100.0, 100.0, 50.0, 50.0
sweep(np, u, 4)
recorder.flush()
before = spreading().counts["exchanges"]
with np.profile() as p:
    sweep(np, u, 24)
    recorder.flush()
assert (p.uploads, p.downloads, p.device_host) == STAYS, p
assert p.device_segments[device] > 0 and p.device_kernels > 0, p
assert 1 <= spreading().counts["exchanges"] - before <= 12 and not spreading().counts["gathers"]
assert type(u._node_().buffer) is Spread and type(u._node_().buffer.array).__name__ == "Tensor"
sweep(numpy, v, 28)
with np.profile() as p:
    total = float(u.sum())
assert p.downloads <= 1, p  # of a part of the sum
assert numpy.allclose(total, v.sum()) and numpy.allclose(numpy.asarray(u), v, rtol=1e-13, atol=1e-13)

data, wanted = numpy.random.default_rng(0).standard_normal((900, 20)), numpy.arange(900.0)
def fit(np, x, y, steps):
    w = np.zeros(20)
    for _ in range(steps):
        w = w - 1e-3 * (x.T @ (x @ w - y))
    return w
x, y = np.array(data), np.array(wanted)
fit(np, x, y, 1)
with np.profile() as p:
    w = numpy.asarray(fit(np, x, y, 10))
assert p.uploads <= 25 and p.downloads <= 12, p  # the weights, and their gradients
assert numpy.allclose(w, fit(numpy, data, wanted, 10), rtol=1e-10)
print("right")
"""

DTYPES = """
rng = numpy.random.default_rng(1)
for name in "bool int8 uint16 uint32 int64 uint64 float16 float32 float64 longdouble complex64 complex128".split():
    a = rng.integers(0, 2 if name == "bool" else 40, (120, 12)).astype(name)
    for text in ("a[1:] + a[:-1]|a.T + a.T|a.reshape(-1)[7:]|a[::-2]|a.sum(0)|numpy.sort(a.reshape(-1))|a.cumsum(0)|"
                 "numpy.maximum.accumulate(a)|a[a[:, 0] > 0]|a[5, 3]|a.T @ a").split("|"):
        want = eval(text, {"a": a, "numpy": numpy})
        got = eval(text.replace("numpy", "np"), {"a": np.array(a) * a.dtype.type(1), "np": np})
        assert numpy.asarray(got).dtype == want.dtype, (name, text)
        assert numpy.allclose(numpy.asarray(got), want, rtol=1e-2 if name == "float16" else 1e-5), (name, text)
x = np.array(numpy.arange(6000.0).reshape(60, 100)) * 2
for other in ("cpu", np.config.device, "cpu"):  # what lies on a device is found from elsewhere
    x = x[::-1] + 1
    with np.config(device=other):
        x = x + x[:, ::-1].T.T
    assert x[3, 4] == numpy.asarray(x)[3, 4]
print("right", float(x.sum()))
"""

each = [(e, local) for text, local in ((LOCAL, True), (WHOLE, False)) for e in text.replace("\n", "|").split("|")]
SEEDS = "range(1170, 1182)"  # among them pieces of one element, with strides
PROGRAMS = (
    RANDOM.replace("TESTS", repr(str(ROOT / "tests"))).replace("range(PROGRAMS)", SEEDS).replace("PROGRAMS", "12")
)
VALUES = "np.config.small, np.config.spread_size = 20, 100\n" + FUNCTIONS.replace("EXPRESSIONS", repr(each[::2]))


# What GPUs do otherwise, with devices in main memory: processes that share one, and sends that are only queued.
WAYS = """
import warnings
from lazynp.backends.torch import processes
from lazynp.spread.buffer import spreading
def program():
    x = np.array(numpy.arange(60000.0).reshape(600, 100)) * 2
    y = (x[1:] - x[:-1]).T + x.T[:, ::-1][:, 1:]
    return numpy.asarray(y), x[7, 5], numpy.asarray(np.array(x)[numpy.arange(599, -1, -7)])
def told():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with np.profile() as p:
            results = program()
            program()
    assert all(numpy.array_equal(a, b) for a, b in zip(results, wanted))
    return [str(w.message) for w in said], p.uploads, p.downloads
with np.config(device="cpu"):
    wanted = program()
said, up, down = told()
assert not said, said
transport = group.group().transport
transport.place_of = lambda device: "the same"
spreading().memories.clear()
said, more_up, more_down = told()
assert more_up > up and more_down > down  # what is exchanged
assert said == (["2 processes share a device: what they exchange goes through main memory"] if rank == 0 else []), said
del transport.place_of
spreading().memories.clear()
processes.Queued.wait = lambda self, limit: [work.wait(limit) for work in self.works]
class Queues(processes.Link):
    queues = property(lambda self: True, lambda self, value: None)
class Plain(processes.Link):
    def __init__(self, *args):
        super().__init__(*args)
        self.__class__ = Queues
processes.Link = Plain
assert told() == ([], up, down)
assert transport.links[-1].queues
print("right")
"""


@pytest.mark.parametrize("size", [2, 3])
def test_values_that_stay_on_a_device(size: int, tmp_path) -> None:
    parts = [STAY.replace("STAYS", "(0, 0, {})"), VALUES, *([WAYS, DTYPES, LESS] if size == 2 else [PROGRAMS])]
    out = right(size, "\n".join(parts), tmp_path, timeout=PATIENCE, LAZYNP_DEVICE="torch", **SMALL)
    assert out.count("right") == len(parts)


FAULTY = """
import time
group.group().timeout = 2.0
u = np.zeros((100, 100))
u[0] = 100.0
for step in range(40):
    u[1:-1] = 0.5 * (u[2:] + u[:-2])
    if step == 20 and rank == 1:
        FAULT
print("the end", float(u.sum()))
"""


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("u += 1", "DivergedError: the processes have come to run different programs"),
        ("group.group().cross = lambda *args: time.sleep(6)", "LostError: rank 1 has not come to an exchange"),
    ],
    ids=["diverges", "stalls after its header"],
)
def test_faults_are_told_as_they_are_without_a_device(fault: str, says: str, tmp_path) -> None:
    done = run(2, FAULTY.replace("FAULT", fault), tmp_path, LAZYNP_DEVICE="torch", **SMALL)
    assert done[0].status == 1 and says in done[0].errors and "the end" not in done[0].out, done[0].errors[-1500:]


ITSELF = """
import datetime, torch
from lazynp.backends.torch.processes import Transport
from lazynp.runtime.device import device_of
transport = Transport("127.0.0.1:PORT", 0, 1, 30.0)
link, _ = transport.link(device_of("cuda"), 30.0)
limit = datetime.timedelta(seconds=10)
for dtype in (torch.float64, torch.complex64, torch.bool, torch.uint16):
    x = (torch.arange(4096, device="cuda") % 2).to(dtype)
    y = torch.zeros_like(x.view(torch.uint8)).view(dtype)
    for _, work in link.begin(link.operations({0: [x[:1000], x[1000:]]}, {0: [y[:1000], y[1000:]]})):
        work.wait(limit)
    assert torch.equal(x.view(torch.uint8), y.view(torch.uint8)), dtype
transport.close()
print("right")
"""


@CUDA
def test_a_gpu_sends_to_itself(tmp_path) -> None:
    assert "right" in right(1, ITSELF.replace("PORT", str(free_port())), tmp_path)


def on_gpus(start: str, stays: bool, folder) -> None:
    """The programs on two processes; `stays`: nothing of a stencil goes through main memory."""
    stay = STAY if stays else STAY.replace("assert (p.uploads, p.downloads, p.device_host) == STAYS, p", "")
    parts = [
        f"import os\n{start}\nnp.config.device = 'cuda'",
        stay.replace("STAYS", "(0, 0, {})"),
        DTYPES,
        LESS,
        VALUES,
    ]
    assert right(2, "\n".join(parts), folder, **SMALL).count("right") == len(parts) - 1


@CUDA
def test_processes_that_share_a_gpu(tmp_path) -> None:
    on_gpus("os.environ['LOCAL_RANK'] = '0'", False, tmp_path)


@CUDA
def test_processes_that_share_a_gpu_and_take_it_for_two(tmp_path) -> None:
    """NCCL refuses that, unless both say that they are on machines of their own; then it sends by sockets."""
    names = {"LOCAL_RANK": "'0'", "NCCL_HOSTID": "str(rank)", "NCCL_SOCKET_IFNAME": "'lo'"}
    on_gpus("\n".join([f"os.environ['{name}'] = {value}" for name, value in names.items()]), True, tmp_path)


@pytest.mark.skipif(GPUS < 2, reason="torch.cuda.device_count() is less than 2")
def test_processes_with_a_gpu_each(tmp_path) -> None:
    on_gpus("os.environ['LOCAL_RANK'] = str(rank)", True, tmp_path)
