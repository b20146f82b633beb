"""Sharding rules of `custom_partitioning`: which axes of operands and results are the same one, and are split alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

BATCHING = "…"

Axes = tuple[Any, ...]


class CompoundFactor(tuple[str, ...]):
    """An axis that is made of several factors, the outermost first. Raises ValueError for fewer than two."""

    def __new__(cls, *factors: str) -> CompoundFactor:
        if len(factors) < 2:
            raise ValueError("A compound factor should contain at least two factors")
        for f in factors:
            if not isinstance(f, str):
                raise ValueError(f"Each element of CompoundFactor must be a str, but got {type(f)}")
            if is_batching(f):
                raise ValueError("Ellipsis can't be used in a compound factor")
            check_factor(f)
        return super().__new__(cls, factors)

    def __init__(self, *factors: str) -> None:
        pass


class ArrayMapping(tuple[Any, ...]):
    """A factor, or a `CompoundFactor`, for each axis of an array; `BATCHING` first for any number of axes."""

    def __new__(cls, *dim_mappings: str | CompoundFactor) -> ArrayMapping:
        for i, d in enumerate(dim_mappings):
            if not isinstance(d, (str, CompoundFactor)):
                raise ValueError(f"Each element of ArrayMapping must be a str or CompoundFactor, but got {type(d)}")
            if isinstance(d, str):
                if is_batching(d):
                    if i:
                        raise ValueError("Ellipsis can only be used at the beginning of a dimension")
                else:
                    check_factor(d)
        return super().__new__(cls, dim_mappings)

    def __init__(self, *dim_mappings: str | CompoundFactor) -> None:
        pass


def is_batching(factor: str) -> bool:
    """Whether it stands for any number of axes: an ellipsis, with a number where there are several such groups."""
    return factor == BATCHING or factor.startswith(BATCHING) and factor[1:].isdigit()


def check_factor(name: str) -> None:
    """Raise ValueError for what is no name of a factor: a letter, and then letters, digits and underscores."""
    if not name or not name[0].isalpha():
        raise ValueError(f"Factor names have to start with a letter, but got '{name[:1]}'")
    wrong = next((c for c in name if not (c.isalnum() or c == "_")), None)
    if wrong is not None:
        raise ValueError(f"Unknown character '{wrong}'")


class SdyShardingRule:
    """How operands and results are split together.

    Axes with the same factor are split along the same mesh axes. Of the factors some may be summed over
    (`reduction_factors`), some have to be whole (`need_replication_factors`), some may be split at a cost
    (`permutation_factors`). The sizes of those that make no axis alone are given.

    Raises: ValueError for a factor that is not in the rule, and for a size that is missing or not wanted.
    """

    def __init__(
        self,
        operand_mappings: tuple[ArrayMapping, ...],
        result_mappings: tuple[ArrayMapping, ...],
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ) -> None:
        dims = [d for mapping in operand_mappings + result_mappings for d in mapping]
        alone = {d for d in dims if isinstance(d, str)}
        used = alone | {f for d in dims if not isinstance(d, str) for f in d}
        for f in factor_sizes:
            if f not in used:
                raise ValueError(f"Factor {f} is not used in the rule, but size is provided")
        for f in sorted(used):
            if f not in alone and f not in factor_sizes:
                raise ValueError(f"Factor {f} is only used in compound factors; must specify its size")
            if f in alone and f in factor_sizes:
                raise ValueError(f"Factor {f} represents a whole dimension; do not specify its size")
        seen: set[str] = set()
        kinds = (
            ("reduction_factors", reduction_factors),
            ("need_replication_factors", need_replication_factors),
            ("permutation_factors", permutation_factors),
        )
        for kind, factors in kinds:
            if not isinstance(factors, tuple):
                raise ValueError(f"{kind} must be a tuple of factors")
            if len(factors) > len(set(factors)):
                raise ValueError(f"{kind} contains duplicated factors")
            for f in factors:
                if f not in used:
                    raise ValueError(f"Factor {f} in {kind} is not used in the rule")
                if f in seen:
                    raise ValueError(
                        f"Factor {f} can only be in one of the reduction, need replication, or permutation factor sets."
                    )
                seen.add(f)
        self.operand_mappings, self.result_mappings, self.factor_sizes = operand_mappings, result_mappings, factor_sizes
        self.reduction_factors, self.need_replication_factors = reduction_factors, need_replication_factors
        self.permutation_factors = permutation_factors

    def __str__(self) -> str:
        names = ("reduction_factors", "need_replication_factors", "permutation_factors")
        special = "".join([f" {name}={getattr(self, name)}" for name in names if getattr(self, name)])
        return f"SdyShardingRule({self.operand_mappings}, {self.result_mappings}, {self.factor_sizes}{special})"


def parse(rule: str, **options: Any) -> SdyShardingRule:
    """A rule from a text like `"... i (j k), k -> ... i"`. Raises ValueError for what is none."""
    if not isinstance(rule, str):
        raise TypeError(f"rule must be a str, but got {type(rule)}")
    special = ("reduction_factors", "need_replication_factors", "permutation_factors")
    sizes = {name: n for name, n in options.items() if name not in special}
    if not all([isinstance(n, int) for n in sizes.values()]):
        raise TypeError(f"factor_sizes must be a dict of str to int, but got {sizes}")
    if BATCHING in rule:
        raise ValueError(f"Unknown character '{BATCHING}'")
    text = rule.replace("...", BATCHING)
    if "." in text:
        raise ValueError("Character '.' must be used inside ellipsis '...'")
    sides = text.split("->")
    if len(sides) != 2:
        raise ValueError(f"There is no -> in rule: '{text}'")
    operands, results = [tuple(map(array_of, side.split(","))) for side in sides]
    return SdyShardingRule(operands, results, **options)


def array_of(text: str) -> ArrayMapping:
    """What a rule says of one array."""
    dims: list[Any] = []
    inner: list[str] | None = None
    for word in text.replace("(", " ( ").replace(")", " ) ").replace(BATCHING, f" {BATCHING}").split():
        if word == "(":
            if inner is not None:
                raise ValueError("Compound factors should be one level, nested brackets are not allowed")
            inner = []
        elif word == ")":
            if inner is None:
                raise ValueError("Brackets are not balanced")
            if len(inner) < 2:
                raise ValueError(f"Brackets should contain at least two factors in rule: '{text.strip()}'")
            dims.append(CompoundFactor(*inner))
            inner = None
        else:
            (dims if inner is None else inner).append(word)
    if inner is not None:
        raise ValueError(f"Brackets are not balanced in rule: '{text.strip()}'")
    return ArrayMapping(*dims)


def factors_of(mapping: ArrayMapping, ndim: int) -> list[tuple[Any, ...]]:
    """The factors of each axis of an array. Raises ValueError where it has another number of axes."""
    named = [d for d in mapping if not (isinstance(d, str) and is_batching(d))]
    rest = ndim - len(named)
    if rest < 0 or rest and len(named) == len(mapping):
        raise ValueError(f"Sharding rule {mapping} has {len(named)} dimensions, but the value has rank {ndim}")
    group = [((mapping[0], i),) for i in range(rest)] if len(named) < len(mapping) else []
    return [*group, *[(d,) if isinstance(d, str) else tuple(d) for d in named]]


def splits_by(
    rule: SdyShardingRule, operands: Sequence[tuple[Axes, ...]], result_ranks: Sequence[int]
) -> tuple[list[tuple[Axes, ...]], list[tuple[Axes, ...]]]:
    """How operands and results lie, of operands that come split so: each factor along the axes of the first that has
    it split, each mesh axis along one factor.

    Raises: ValueError where the rule speaks of another number of operands or results.
    """
    for what, mappings, n in (
        ("operands", rule.operand_mappings, len(operands)),
        ("results", rule.result_mappings, len(result_ranks)),
    ):
        if len(mappings) != n:
            raise ValueError(f"Sharding rule has {len(mappings)} {what}, but the operation has {n} {what}")
    takes = [factors_of(m, len(split)) for m, split in zip(rule.operand_mappings, operands)]
    gives = [factors_of(m, n) for m, n in zip(rule.result_mappings, result_ranks)]
    along: dict[Any, Axes] = {}
    taken: set[Any] = set()
    for factors, split in zip(takes, operands):
        for fs, axes in zip(factors, split):
            if axes and fs[0] not in along and fs[0] not in rule.need_replication_factors and not taken & set(axes):
                along[fs[0]] = axes
                taken |= set(axes)
    lie = [[tuple([along.get(fs[0], ()) for fs in factors]) for factors in side] for side in (takes, gives)]
    return lie[0], lie[1]
