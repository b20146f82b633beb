"""Random programs give what NumPy gives with every kernel compiled, in mode auto and in mode graph.

`LAZYNP_COMPILED=20000 pytest tests/test_property_compiled.py -s` is the full run, which `-n` shares among processes.
Kernels of so many programs cannot be built one after the other. So programs come in families (`programs.variant`),
whose members have most kernels in common, and those of many families are built together (`at_once`). A few programs
go through the compiler process, as users' programs do.
"""

from __future__ import annotations

import collections
import itertools
import logging
import os
from collections.abc import Iterator
from typing import Any

import at_once
import numpy
import pytest
import runs
from programs import Generator, Loop, Program, fits, variant

import lazynp
from lazynp.backends import artifacts
from lazynp.runtime import kernels, segment
from lazynp.runtime.chain import Chain
from lazynp.runtime.kernels import Form
from lazynp.runtime.profile import profile
from lazynp.runtime.recorder import Recorder

PROGRAMS = int(os.environ.get("LAZYNP_COMPILED", "30"))
FIRST = int(os.environ.get("LAZYNP_COMPILED_FROM", "0"))  # the first family's seed
BLOCKS = max(2, min(40, PROGRAMS // 1000))
MEMBERS = max(15, min(100, PROGRAMS // 100))  # of a family
FAMILIES = 20  # whose kernels are built together
ALONE = 5000  # of so many programs one goes through the compiler process
PATIENCE = 600.0  # seconds for the compiler on a busy machine
NOT_BUILT = "calls interpreted, not built"
LOOPING = next(seed for seed in itertools.count() if all(s["pending_nodes"] == 512 for s in runs.settings_of(seed)))
# A loop that the recorder finds, whose kernels can run in one chain.
LONG: Program = (
    "a = np.array(data(3, (12, 11), 'float64'))",
    "b = np.array(data(4, (12, 11), 'float64'))",
    Loop(
        "k",
        40,
        (
            "b[1:-1, 1:-1] = 0.25 * (a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2])",
            "b[0] = b[1] * 0.5",
            "a[1:-1, 1:-1] = 0.25 * (b[2:, 1:-1] + b[:-2, 1:-1]) + k",
        ),
    ),
)

pytestmark = [
    pytest.mark.compiles,
    pytest.mark.skipif(artifacts.compiler_path() is None, reason="no C++ compiler"),
]


class Tally(collections.Counter[str]):
    """What ran, and which way. Counts calls of kernels only while `final` is set: before, code is still to be built."""

    final = False

    def charge(self, form: Form, seconds: float, hasten: bool) -> None:
        """In place of `Form.charge`, which is called where the interpreter did what could have run compiled."""
        if self.final:
            why = "operands do not fit" if form.compiled is not None else "no code" if form.asked else "not built"
            self[f"calls interpreted, {why}"] += 1

    def __str__(self) -> str:
        return "; ".join([f"{n:,} {what}" for what, n in self.items()])


def forget() -> None:
    segment.exact_plans.clear()
    segment.plans.clear()
    kernels.kernels.clear()


@pytest.fixture
def tally(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tally]:
    """Counts calls of kernels, chains of more than one call, and loops that the recorder found."""
    made = Tally()
    settle, unrolled = Chain.settle, Recorder.unrolled

    def settled(chain: Chain) -> None:
        made["chains"] += made.final and len(chain.kept) > 1
        settle(chain)

    def found(nodes: Any) -> int:
        made["loops found"] += made.final
        return unrolled(nodes)

    monkeypatch.setattr(Form, "charge", lambda form, seconds, hasten: made.charge(form, seconds, hasten))
    monkeypatch.setattr(Chain, "settle", settled)
    monkeypatch.setattr(Recorder, "unrolled", staticmethod(found))
    forget()
    yield made
    forget()


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> at_once.Builder:
    logging.getLogger("torch.__trace").addFilter(lambda record: False)  # pytest would keep them, and show them
    return at_once.Builder(str(tmp_path_factory.mktemp("kernels")))


def family(seed: int) -> list[Program]:
    """A random program, and variants of it."""
    programs = [Generator(seed, exact=True)()]
    others = (variant(programs[0], k) for k in range(1, 4 * MEMBERS))
    programs.extend(itertools.islice(filter(fits, others), MEMBERS - 1))
    return programs


def settings_of(seed: int) -> tuple[dict[str, Any], ...]:
    """As `runs.settings_of`, but that next to nothing is so small that NumPy does it at once, and kernels are run as
    they come."""
    auto, graph = runs.settings_of(seed)
    change = {"deterministic": False, "compile_after": 1e9}
    return auto | change | {"small": seed % 3}, graph | change


def check(families: list[tuple[int, list[Program]]], builder: at_once.Builder, tally: Tally) -> list[str]:
    """Compare the programs with NumPy, every kernel compiled; reports of those that differ.

    What a few of each family need is built first. A run for which a kernel is missing is compared, and once more when
    that kernel has been built.
    """
    tally.final = False
    for seed, programs in families:
        for program, settings in itertools.product(programs[:3], settings_of(seed)):
            with lazynp.config(**settings):
                runs.run(program, lazynp)
    builder.build()
    todo = [(seed, program, settings_of(seed)) for seed, programs in families for program in programs]
    differ: list[str] = []
    reported: set[int] = set()
    tally.final = True
    for last in (False, False, True):
        again = []
        for seed, program, several in todo:
            wanted, left = runs.run(program, numpy), []
            for settings in several:
                before, compiled = collections.Counter(tally), profile.compiled
                differs = runs.difference(program, lazynp, settings, wanted)
                if differs and seed in reported:
                    differ.append(f"seed {seed}, as above")
                elif differs:
                    reported.add(seed)
                    tally.final = False
                    differ.append(runs.report(seed, program, lazynp, settings, 200))
                    tally.final = True
                elif tally[NOT_BUILT] > before[NOT_BUILT] and not last:
                    left.append(settings)
                    tally.clear()
                    tally.update(before)
                    continue
                tally["runs"] += 1
                tally["runs with compiled calls"] += profile.compiled > compiled
                tally["calls compiled"] += profile.compiled - compiled
            if left:
                again.append((seed, program, tuple(left)))
        todo = again
        builder.build()
    tally["kernels"] = builder.built
    return differ


@pytest.mark.parametrize("block", range(BLOCKS))
def test_programs(block: int, builder: at_once.Builder, tally: Tally, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other block with kernels on arrays of any size in chains, which otherwise only large arrays see."""
    if block % 2:
        monkeypatch.setattr(kernels, "LARGE", 1)
    each = -(-PROGRAMS // (BLOCKS * MEMBERS))
    first = FIRST + block * each
    differ = check([(LOOPING, [LONG])], builder, tally)
    for start in range(first, first + each, FAMILIES):
        seeds = range(start, min(start + FAMILIES, first + each))
        differ += check([(seed, family(seed)) for seed in seeds], builder, tally)
        forget()
    print(f"{tally}; {len(differ)} runs differ; no code: {builder.refused}")
    assert not differ, "\n\n" + "\n\n".join(differ[:5]) + f"\n\n{len(differ)} of {tally['runs']} runs differ"
    assert tally["calls compiled"] > tally["runs"]
    assert tally[NOT_BUILT] <= 0.01 * tally["calls compiled"]
    assert tally["loops found"]
    assert not block % 2 or tally["chains"]


@pytest.mark.parametrize("seed", [LOOPING, *range(FIRST + 1, FIRST + 1 + PROGRAMS // ALONE)])
def test_programs_through_the_compiler(seed: int) -> None:
    """With `compile_after` 0 and the compiler process: while kernels are compiled, and when they are there."""
    program = LONG if seed == LOOPING else Generator(seed, exact=True)()
    wanted = runs.run(program, numpy)
    for settings in settings_of(seed):
        forget()
        now = settings | {"compile_after": 0.0, "compile_nice": 0}
        for _ in range(4):
            with lazynp.profile() as p:
                assert not runs.difference(program, lazynp, now, wanted)
            if not p.compiles and not kernels.client().pending:
                break
            assert lazynp.compile_wait(PATIENCE)
        assert not p.compiles
        forms = [form for kernel in kernels.kernels.everything() for form in kernel.forms.values()]
        assert bool(p.compiled) == any(form.compiled is not None for form in forms)
        assert p.compiled or program is not LONG
    forget()
