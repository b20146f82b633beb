"""StableHLO: the text of a lowered function as a module that other compilers take, written from its jaxpr."""

from .text import Argument, arguments_of, asked_for, module_text

__all__ = ["Argument", "arguments_of", "asked_for", "module_text"]
