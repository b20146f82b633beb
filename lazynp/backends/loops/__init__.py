"""Loops as machine code: bodies on small arrays, written as C++ (`source`, with the arithmetic of `scalar`), built by
g++ (`build`) and kept in the artifact cache. Needs no torch."""
