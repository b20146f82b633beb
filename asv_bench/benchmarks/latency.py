"""What a user waits for before anything is hot: importing, a first result, a second process. Each in a new process."""

import os
import subprocess
import sys
import tempfile

from . import libraries

# Lines for a script file, since that is what `python -m lazynp` takes.
HEAT = """
import sys
sys.path.insert(0, sys.argv[1])
import heat
heat.run(heat.SIZES["tenth"], heat.STEPS["tenth"])["u"].mean().item()
if "wait" in sys.argv:
    sys.modules["lazynp"].compile_wait()
"""
JAX_HEAT = """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
import heat
import jax
import jax.numpy as jnp
import jax_programs
jax.config.update("jax_enable_x64", True)
arrays = [jnp.array(array) for array in heat.inputs(heat.SIZES["tenth"])]
jax_programs.compute_heat(heat.STEPS["tenth"], *arrays)["u"].mean().item()
"""


class Processes:
    """A script in a folder of its own, with an artifact cache beside it that is empty at first."""

    params = libraries.LIBRARIES
    param_names = ("library",)
    number = 1
    repeat = 5
    warmup_time = 0.0
    processes = 1
    timeout = 300.0

    def setup(self, library: str) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="lazynp-bench-")
        libraries.namespace(library)
        self.script = os.path.join(self.folder.name, "script.py")
        with open(self.script, "w") as file:
            file.write(JAX_HEAT if library == "jax" else HEAT)

    def teardown(self, library: str) -> None:
        self.folder.cleanup()

    def python(self, *arguments: str) -> None:
        path = os.pathsep.join(filter(None, [str(libraries.ROOT), os.environ.get("PYTHONPATH", "")]))
        env = {**os.environ, "PYTHONPATH": path, "LAZYNP_CACHE_DIR": os.path.join(self.folder.name, "cache")}
        subprocess.run([sys.executable, *arguments], env=env, check=True, stdout=subprocess.DEVNULL)

    def heat(self, library: str, *more: str) -> None:
        """The heat equation at 632 x 632, 200 steps."""
        door = ["-m", "lazynp"] if library == "lazynp" else []
        self.python(*door, self.script, str(libraries.EXAMPLES), str(libraries.ROOT / "asv_bench"), *more)


class First(Processes):
    def time_import(self, library: str) -> None:
        self.python("-c", "import jax.numpy" if library == "jax" else f"import {library}")

    def time_result(self, library: str) -> None:
        self.heat(library)


class Second(Processes):
    """The cache was filled by a process before."""

    def setup(self, library: str) -> None:
        super().setup(library)
        self.heat(library, *(["wait"] if library == "lazynp" else []))

    def time_result(self, library: str) -> None:
        self.heat(library)
