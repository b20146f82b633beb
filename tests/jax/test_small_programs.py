"""Small programs of the kinds that JAX's own tests have, beside JAX: what each gives in `out`, or its error's class,
and its words where a section says so."""

from __future__ import annotations

import re
from pathlib import Path

import jax
import pytest
from expressions import Library, compared

import lazynp.jax

jax.config.update("jax_platforms", "cpu")
LIBRARIES = Library(jax, False), Library(lazynp.jax, False)
SECTIONS = re.split(r"^\[(.*)\]\n", (Path(__file__).parent / "small_programs.txt").read_text(), flags=re.M)[1:]
PROGRAMS = [
    pytest.param(text.strip() + "\n", name.endswith(", in words"), id=f"{name} {i}")
    for name, texts in zip(SECTIONS[::2], SECTIONS[1::2])
    for i, text in enumerate(texts.split("\n---\n"))
]


@pytest.mark.parametrize(("text", "in_words"), PROGRAMS)
def test_as_in_jax(text: str, in_words: bool) -> None:
    found = compared(*[library.outcome(f"out = None\n{text}") for library in LIBRARIES])
    assert found is None or found.kind == "message" and not in_words, found
