"""`advise`: what kept a function from being faster, in order of seconds, with its line and what to do about it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from html import escape
from typing import Any, NamedTuple

from .config import config
from .owners import OWN, whose
from .profile_report import place, seconds_text
from .runtime.api import profile
from .runtime.kernels import compile_wait
from .timing import synchronize
from .tracebacks import boundary
from .tracing import (
    COMPILED,
    COPIES,
    HOST,
    INTERPRETED,
    KERNELS,
    LIBRARY,
    PLANNING,
    PROGRAM,
    RECORDING,
    TRACING,
    Line,
    Trace,
    state_of,
    text_at,
)

LEAST = 0.03  # of the time: what is less is left out
ROUNDS = 3  # values that a line asks for in one call, from which on it is a loop
MOST = 10  # entries
PATIENCE = 60.0  # seconds that compilers are waited for


class Item(NamedTuple):
    """Something that took time.

    Attributes:
        seconds: of one call, that it concerns: not all of them can be saved.
        line: file and line; None where it is no line's.
        what, remedy: sentences.
    """

    seconds: float
    line: Line | None
    what: str
    remedy: str


class Advice:
    """What `advise` has found: `items`, the most expensive first; printed, and shown by notebooks.

    Attributes:
        name: of the function.
        first, wall: seconds of the first call, and of one after warming up; None where only a block was profiled.
        profile: the profile that it comes from.
    """

    def __init__(self, name: str, items: list[Item], wall: float, first: float | None, profile: Any) -> None:
        self.name, self.items, self.wall, self.first, self.profile = name, items, wall, first, profile

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def headline(self) -> str:
        """The times."""
        if self.first is None:
            return f"{self.name}: {seconds_text(self.wall)}"
        return f"{self.name}: {seconds_text(self.wall)} a call; the first took {seconds_text(self.first)}"

    def share(self, item: Item) -> str:
        """How much of a call that is; nothing for what is no part of one."""
        return f" ({item.seconds / self.wall:.0%})" if item.seconds <= self.wall else ""

    def __str__(self) -> str:
        lines = [self.headline()]
        for k, item in enumerate(self.items, 1):
            where = "" if item.line is None else f"  {place(item.line)}  {text_at(item.line).strip()[:70]}"
            lines += [f"{k}. {seconds_text(item.seconds)}{self.share(item)}{where}", f"   {item.what}"]
            lines.append(f"   -> {item.remedy}")
        if not self.items:
            lines.append("nothing that lazynp could tell you about")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [
            f"<li><b>{seconds_text(i.seconds)}</b>{self.share(i)} "
            f"<code>{escape(place(i.line) + ' ' + text_at(i.line).strip() if i.line else '')}</code><br/>"
            f"{escape(i.what)}<br/>→ {escape(i.remedy)}</li>"
            for i in self.items
        ]
        return f"<p>{escape(self.headline())}</p><ol>{''.join(rows)}</ol>"


@boundary
def advise(f: Callable[..., Any], *args: Any, seconds: float = 1.0, show: bool = True, **kwargs: Any) -> Advice:
    """Call `f(*args, **kwargs)` some times, and say what keeps it from being faster, in order of seconds.

    The first call is timed apart; then compilers are waited for, and calls are profiled.

    Args:
        f: a function. It is called several times with the same arguments, into which it may write.
        seconds: how long to look, after warming up.
        show: whether to print it.

    Returns:
        The `Advice`. Raises what f raises.
    """
    first = timed(f, args, kwargs)
    with config(compile_nice=0):  # the program waits for the compiler: it need not be polite
        begun = time.perf_counter()
        while time.perf_counter() - begun < seconds:
            timed(f, args, kwargs)
        compile_wait(PATIENCE)
    calls = 0
    with profile() as p:
        begun = time.perf_counter()
        while not calls or time.perf_counter() - begun < seconds:
            timed(f, args, kwargs)
            calls += 1
    found = Advice(getattr(f, "__name__", type(f).__name__), items_of(p, calls, first), p.wall / calls, first, p)
    if show:
        print(found)
    return found


def timed(f: Callable[..., Any], args: Any, kwargs: Any) -> float:
    """Seconds of a call, its results computed."""
    begun = time.perf_counter()
    result = f(*args, **kwargs)
    synchronize()
    took = time.perf_counter() - begun
    del result
    return took


def items_of(p: Any, calls: int = 1, first: float = 0.0) -> list[Item]:
    """What a profile of so many calls says."""
    trace: Trace = p._times
    wall = trace.wall / calls
    found = [
        *asked(trace, calls),
        *by_line(trace, p, calls),
        *interpreted(trace, calls),
        *whole(trace, p, calls, first),
    ]
    found = sorted([item for item in found if item.seconds >= LEAST * wall], key=lambda item: -item.seconds)[:MOST]
    if first > 1.5 * wall and first - wall > 0.05:  # which is no part of the time of a call
        found.append(
            Item(
                first - wall,
                None,
                f"The first call took {seconds_text(first)}: kernels are interpreted and functions are traced then.",
                "Nothing has to be done in the next process: what was compiled is in the cache (python -m lazynp cache "
                "info). A short program that runs once pays it; np.compile_wait() waits for compilers.",
            )
        )
    return found


def asked(trace: Trace, calls: int) -> Iterator[Item]:
    """Lines that ask for a value in each round of a loop."""
    for line, (times, seconds) in trace.demands.items():
        rounds = times / calls
        if rounds >= ROUNDS:
            yield Item(
                seconds / calls,
                line,
                f"A value is asked for {rounds:.0f} times: what is pending runs each time, and nothing fuses across.",
                "Ask every tenth round, or never: np.where for a choice, np.while_loop under np.jit for a loop that "
                "ends by itself.",
            )


def by_line(trace: Trace, p: Any, calls: int) -> Iterator[Item]:
    """Time that lines take themselves."""
    names: dict[str, list[str]] = {}
    for name, site in p.host_calls:
        names.setdefault(site, []).append(name)
    for line, by in trace.lines.items():
        host = names.get(f"{line[0]}:{line[1]}", [])
        for category, seconds in by.items():
            if category == HOST and host:
                yield Item(
                    seconds / calls,
                    line,
                    f"NumPy does {', '.join(host)} here: the engine has no operation for it, or for this dtype.",
                    "Do it once, outside of loops, or on an array of numbers; config.strict makes an error of it, to "
                    "find the others.",
                )
            elif category in SAYINGS and (category != PROGRAM or whose(line[0]) == OWN):  # a library is as it is
                yield Item(seconds / calls, line, *SAYINGS[category])


SAYINGS = {
    PROGRAM: (
        "Python's own work: your code, another library, or operations on small arrays.",
        "A loop over elements: write it with whole arrays, or as np.fori_loop or np.scan in a function under np.jit. "
        "Many small arrays: stack them to one, or use np.vmap.",
    ),
    RECORDING: (
        "lazynp's Python, which records operations one by one.",
        "np.jit around the function that is called often: its Python runs once for each signature. Or larger arrays.",
    ),
    HOST: (
        "The Python of NumPy's own functions, or NumPy on small arrays.",
        "Many small arrays: stack them to one, as most functions take stacks (np.linalg.solve, for one). np.jit around "
        "it, where it is called often.",
    ),
    COPIES: (
        "Arrays are written in parts, or copied first, since somebody still holds the old value.",
        "Let go of the old array and of views of it before writing (del, or a function of its own); write with one "
        "assignment instead of several.",
    ),
    LIBRARY: (
        "A library call, which is as fast as NumPy's.",
        "Fewer or smaller ones: np.linalg.solve(a, b) for inv(a) @ b, np.partition for sort, one product of stacked "
        "matrices for many. float32 takes half, where it is accurate enough.",
    ),
}


WAITING = "Kernels run interpreted, and wait for the compiler."


def interpreted(trace: Trace, calls: int) -> Iterator[Item]:
    """Kernels that are not compiled, by why."""
    lines = {line: by.get(KERNELS, 0.0) for line, by in trace.lines.items()}
    line = max(lines, key=lines.__getitem__, default=None)
    reasons: dict[tuple[str, str], float] = {}
    for (kernel, tier), use in trace.kernels.items():
        if tier == INTERPRETED:
            state, why = state_of(kernel)
            key = state, why if state in ("refused", "rejected", "failed") else ""
            reasons[key] = reasons.get(key, 0.0) + use.seconds
    for (state, why), seconds in reasons.items():
        if why:
            remedy = "Another dtype or function, if that will do: float32 or float64 for float16, for example."
            yield Item(seconds / calls, line, f"Kernels run interpreted, and are {state}: {why}.", remedy)
        else:
            yield Item(
                seconds / calls,
                line,
                WAITING if state.startswith("queued") else "Kernels run interpreted: they have not cost enough yet.",
                "np.jit asks for compiled code at once, LAZYNP_COMPILE_AFTER=0 does everywhere; the next process has "
                "it. On a busy machine LAZYNP_COMPILE_NICE=0. Where nothing is ever compiled: python -m lazynp doctor.",
            )


def whole(trace: Trace, p: Any, calls: int, first: float) -> Iterator[Item]:
    """What is no line's. Where there was no first call before, a function that is traced once is as it should be."""
    if trace.seconds[TRACING] and (first or trace.times[TRACING] > 1):
        times = trace.times[TRACING] / calls
        yield Item(
            trace.seconds[TRACING] / calls,
            None,
            f"Jitted functions are traced anew {times:.3g} times in a call.",
            "Define the function and its np.jit once, outside of loops; give numbers that change as arrays, not as "
            "static arguments; keep to few shapes.",
        )
    if trace.seconds[PLANNING]:
        yield Item(
            trace.seconds[PLANNING] / calls,
            None,
            f"{p.plans / calls:.3g} plans are made in a call: its operations or their sizes are others each time.",
            "The same operations in the same order in each round; sizes that grow (np.append) as an array of full "
            "length, with slices of it written.",
        )
    if trace.seconds[COMPILED] and p.bytes:
        speed = sum(u.needed for (_, tier), u in trace.kernels.items() if tier == COMPILED) / trace.seconds[COMPILED]
        yield Item(
            trace.seconds[COMPILED] / calls,
            None,
            f"Compiled kernels, which work through {speed / 1e9:.3g} GB/s of memory.",
            "Near the memory's speed only fewer bytes help: float32 for float64, fewer passes. Below it threads do "
            "(config.threads).",
        )
