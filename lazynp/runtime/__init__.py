"""When and where a graph runs. Imports `graph`, `ops`' names and `backends`; knows nothing of the doors.

`storage` (what arrays that share memory share), `views` (the algebra of views), `recorder` (the stream, segments,
loops), `segment` and `planner` (structure -> plan), `steps` (what a plan does), `kernels` (tiers of a kernel), `pool`
(spare buffers), `profile` (what was done).
"""
