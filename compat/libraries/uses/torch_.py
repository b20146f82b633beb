"""torch."""

import numpy as np
import torch
from describe import main
from torch.utils.data import DataLoader


def x(dtype=np.float64):
    return np.arange(6, dtype=dtype) / 2


def t():
    return torch.arange(6, dtype=torch.float32)


def index():
    return np.array([0, 2, 2, 5])


def shared():
    a = x()
    b = torch.from_numpy(a)
    b += 1
    a[0] = 7
    return a, b


def written():
    b = t()
    b[index()] = 9
    b[x() > 2] = -1
    return b


def elsewhere():
    with torch.device("meta"):
        return [str(made.device) for made in (torch.tensor([1.0]), torch.as_tensor([1.0]), torch.asarray([1.0]))]


@torch.jit.script
def scripted(a: torch.Tensor) -> torch.Tensor:
    return a[0:2] + torch.tensor([1.0, 2.0])


def doubled(a):
    return torch.as_tensor(a)[1:] * 2 + torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])


def learned():
    a, y = np.linspace(0, 1, 20).reshape(-1, 1), np.linspace(1, 3, 20).reshape(-1, 1)
    weight, bias = torch.zeros(1, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
    for _ in range(20):
        loss = ((torch.Tensor(a) @ weight + bias - torch.Tensor(y)) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            weight -= 0.5 * weight.grad
            bias -= 0.5 * bias.grad
            weight.grad = bias.grad = None
    return [round(v, 5) for v in (weight.item(), bias.item())]


def batches():
    rows = [(np.arange(3, dtype=np.float32) + i, np.int64(i)) for i in range(5)]
    return [[part.tolist() for part in batch] for batch in DataLoader(rows, batch_size=2)]


LINES = {
    "torch.from_numpy(x)": lambda: torch.from_numpy(x()),
    "torch.from_numpy shares memory": shared,
    "torch.from_numpy(x[::2])": lambda: torch.from_numpy(x()[::2]),
    "torch.Tensor(x)": lambda: torch.Tensor(x()),
    "torch.tensor(x)": lambda: torch.tensor(x(np.float32)),
    "torch.tensor([x, x])": lambda: torch.tensor([list(x()), list(x())]),
    "torch.as_tensor(x)": lambda: torch.as_tensor(x()),
    "torch.asarray(x)": lambda: torch.asarray(x()),
    "torch.from_dlpack(x)": lambda: torch.from_dlpack(x()),
    "tensor.new_tensor(x)": lambda: t().new_tensor(x()),
    "tensor * x": lambda: t() * x(),
    "tensor + x, whole numbers": lambda: torch.arange(6) + x(np.float32),
    "x * tensor.numpy()": lambda: x() * t().numpy(),
    "tensor == x, x == tensor": lambda: (t() == x(), x() == t()),
    "torch.device('meta') beside": elsewhere,
    "torch.jit.script beside": lambda: scripted(torch.from_numpy(x())),
    "torch.compile": lambda: torch.compile(doubled, backend="eager")(torch.from_numpy(x())),
    "torch.FloatTensor(x)": lambda: torch.FloatTensor(x()),
    "tensor[indices]": lambda: t()[index()],
    "tensor[mask]": lambda: t()[x() > 1],
    "tensor[rows, columns]": lambda: t().reshape(2, 3)[np.array([0, 1]), np.array([2, 1])],
    "tensor[indices] = 9": written,
    "np.sin(tensor)": lambda: np.sin(t()),
    "np.asarray(tensor)": lambda: np.asarray(t()),
    "x[tensor of indices]": lambda: x()[torch.tensor([1, 3])],
    "DataLoader of arrays": batches,
    "gradient descent": learned,
    "tensor.numpy() + x": lambda: t().numpy() + x(),
}

if __name__ == "__main__":
    main(LINES)
