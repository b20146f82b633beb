"""Sphinx settings: Markdown pages, nothing imported from lazynp."""

project = "lazynp"
author = "lazynp developers"
copyright = author
extensions = ["myst_parser"]
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_theme_options = {"description": "NumPy code on a lazy engine", "page_width": "68em"}
myst_heading_anchors = 3
