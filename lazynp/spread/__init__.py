"""Many processes: rows of large arrays spread over the processes that run the same script; see docs/many-processes.md.

Nothing here is loaded by `import lazynp`. `group.py` joins the processes and passes messages between them.
"""
