"""Random programs whose loops are replayed give what NumPy gives: values, errors, who shares memory.

Each loop counts as known after it has come three times, and its program is compiled before it goes on.
`LAZYNP_REPLAYED=5000 pytest tests/test_property_replay.py -s` is the full run; `LAZYNP_SEED=17 pytest …` one program.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest
import replay_programs
import runs
from programs import Generator, Loop, Program
from seeds import Seeds

import lazynp
from lazynp.backends import artifacts
from lazynp.config import config
from lazynp.runtime import periods, replay
from lazynp.speed import native

SEEDS = Seeds("LAZYNP_REPLAYED", 60, blocks=10)
SETTINGS = {"mode": "auto", "deterministic": True}

pytestmark = [
    pytest.mark.skipif(native is None, reason="replay is part of the C module"),
    pytest.mark.skipif(artifacts.compiler_path() is None, reason="there is no C++ compiler"),
]


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(periods, "MOST", 1 << 30)  # each program has its own library
    yield
    replay.switch(config.replay)


def longer(program: Program) -> Program:
    """With loops of more rounds."""
    return tuple([p._replace(count=p.count + 7, body=longer(p.body)) if isinstance(p, Loop) else p for p in program])


def check(seed: int) -> str:
    replay.switch(True, 0, 0, replay.DirectPlanner, 3 * (seed % 2))  # forgets the programs of before
    program = longer(Generator(seed)())
    wanted = runs.run(program, numpy)
    return runs.report(seed, program, lazynp, SETTINGS) if runs.difference(program, lazynp, SETTINGS, wanted) else ""


@pytest.mark.parametrize("block", SEEDS.blocks)
def test_programs(block: int, replayed: None) -> None:
    seeds = SEEDS.of(block)
    native.replay_counts()
    differ = [text for seed in seeds if (text := check(seed))]
    counts = native.replay_counts()
    print(f"{len(seeds)} programs, {counts}; {len(differ)} differ")
    assert not differ, "\n\n" + "\n\n".join(differ[:5]) + f"\n\n{len(differ)} of {len(seeds)} differ"


@pytest.mark.parametrize("block", SEEDS.blocks)
@pytest.mark.filterwarnings("ignore")
def test_loops(block: int, replayed: None) -> None:
    seeds = SEEDS.of(block)
    native.replay_counts()
    differ = []
    for seed in seeds:
        replay.switch(True, 0, 0, replay.DirectPlanner, 3 * (seed % 2))
        if text := replay_programs.difference(seed, lazynp):
            differ.append(text)
    counts = native.replay_counts()
    print(f"{len(seeds)} loops, {counts}; {len(differ)} differ")
    assert not differ, "\n\n" + "\n\n".join(differ[:3]) + f"\n\n{len(differ)} of {len(seeds)} differ"
    assert SEEDS.one is not None or counts["periods"] > len(seeds), counts  # timing leaves out rounds


@pytest.mark.parametrize("block", SEEDS.blocks)
@pytest.mark.filterwarnings("ignore")
def test_transposed_views(block: int, replayed: None) -> None:
    seeds = SEEDS.of(block)
    native.replay_counts()
    differ = []
    for seed in seeds:
        replay.switch(True, 0, 0, replay.DirectPlanner, 3 * (seed % 2))
        differ += [text for rounds in (2, 9, 30) if (text := replay_programs.turned_differently(seed, lazynp, rounds))]
    counts = native.replay_counts()
    assert not differ, "\n\n" + "\n\n".join(differ[:3]) + f"\n\n{len(differ)} differ"
    assert SEEDS.one is not None or counts["periods"] > 4 * len(seeds), counts
