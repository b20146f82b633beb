"""Random programs of views, writes and reads give what NumPy gives: values, dtypes, errors, and who shares memory.

`LAZYNP_PROGRAMS=20000 pytest tests/test_property_views.py -s` is the full run; with `-n` it is shared among processes.
`LAZYNP_PROGRAMS_FROM=20000` gives those after these, `LAZYNP_SEED=17 pytest …` the one program of that seed.
"""

from __future__ import annotations

from collections.abc import Iterator

import kinds
import pytest
import runs
from seeds import Seeds

import lazynp
from lazynp.backends.numpy import blocked
from lazynp.runtime import kernels, pool, segment

SEEDS = Seeds("LAZYNP_PROGRAMS", 600, blocks=20)


def check_all(seeds: range) -> None:
    differ = [text for seed in seeds if (text := runs.check(seed, lazynp))]
    print(f"{len(seeds)} programs, each in mode auto and in mode graph; {len(differ)} differ")
    assert not differ, "\n\n" + "\n\n".join(differ[:5]) + f"\n\n{len(differ)} of {len(seeds)} differ"


def forget_plans() -> None:
    segment.exact_plans.clear()
    segment.plans.clear()
    kernels.kernels.clear()


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What otherwise only large arrays see: many blocks, on many threads, and memory that is used again."""
    forget_plans()
    monkeypatch.setattr(blocked, "BLOCK_BYTES", 64)
    monkeypatch.setattr(blocked, "CACHE_BYTES", 64)
    monkeypatch.setattr(blocked, "MIN_BLOCK", 8)
    monkeypatch.setattr(blocked, "PARALLEL", 0)
    monkeypatch.setattr(pool, "SMALLEST", 1)
    yield
    forget_plans()


@pytest.mark.parametrize("block", SEEDS.blocks[::2])
def test_programs(block: int) -> None:
    check_all(SEEDS.of(block))


@pytest.mark.parametrize("block", SEEDS.blocks[1::2] or [0])
def test_programs_in_small_blocks(block: int, small_blocks: None) -> None:
    check_all(SEEDS.of(block))


def test_programs_are_of_every_kind() -> None:
    """Each kind is in one program of a hundred at least, and each dtype in one of twenty."""
    found = kinds.count(range(400))
    dtypes = ["bool", "complex64", "complex128", "float16", "float32", "float64"]
    dtypes += [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    rest = ["loop", "mixed dtypes", "0-d", "empty", "index that comes twice", "write to an index that comes twice"]
    few = {kind: found[kind] for kind in [*kinds.TEXTS, *rest] if found[kind] < 4}
    few |= {dtype: found[dtype] for dtype in dtypes if found[dtype] < 20}
    assert not few, few


def test_a_difference_is_found_and_made_small() -> None:
    """The test can fail: a lazynp whose `maximum` is `minimum` is caught, and the report is short."""

    class Broken:
        maximum = staticmethod(lazynp.minimum)

        def __getattr__(self, name: str) -> object:
            return getattr(lazynp, name)

    reports = filter(None, (runs.check(seed, Broken()) for seed in range(300)))
    assert any(text.count("\n") < 12 for text in reports)
