"""The folder of compiled code, which `lazynp.config.cache_dir` names too."""

from __future__ import annotations

from ....config import config

FIRST = config.cache_dir
__all__ = ["reset_cache", "set_cache_dir"]


def set_cache_dir(path: str) -> None:
    """Keep compiled code in this folder."""
    config.cache_dir = str(path)


def reset_cache() -> None:
    """Keep compiled code where it was kept when this module was imported."""
    config.cache_dir = FIRST
