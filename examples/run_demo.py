"""The demo: each program of this folder under NumPy and under lazynp, in separate processes, in one table.

    python examples/run_demo.py                        all programs at their default sizes
    python examples/run_demo.py --programs heat,mlp    some of them
    python examples/run_demo.py --scale tenth          a tenth of the elements
    python examples/run_demo.py --no-compile           the compiler switched off; results must be bit-equal then
    python examples/run_demo.py --plans                plans and compiles after 100 and after 1,000 iterations

Three processes per program: NumPy; lazynp with an empty artifact cache (`first`); lazynp once more (`second`). Their
totals are seconds from starting the interpreter to its end, imports included; waiting for background compiles, and
writing the results down for the comparison, are not in them. The NumPy process and the second lazynp process then
take turns at running the program's loop again, and the medians make the steady state.

The environment variable LAZYNP_DEMO_ENGINE=numpy puts NumPy in lazynp's place: a check of this harness itself.
"""

import argparse
import contextlib
import dataclasses
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
PROGRAMS = (
    "heat", "jacobi", "burgers", "cavity_flow", "driven_wave", "black_scholes", "monte_carlo", "mandelbrot",
    "game_of_life", "image_filters", "nbody", "kmeans", "logistic_regression", "mlp", "cholesky",
)  # fmt: skip
# Programs in which a scalar changes each time round or slice bounds move, and a size at which 1,000 rounds are quick.
PLAN_SIZES = {"driven_wave": 250, "image_filters": 120, "logistic_regression": 600, "mlp": 160, "cholesky": 160}
ROUNDS_SECONDS = 1.0  # NumPy's share of the steady state
AHEAD_SECONDS = 0.4  # of rounds that are not measured
MIN_ROUNDS, MAX_ROUNDS = 3, 7


class ProgramFailed(Exception):
    """The process of a program ended before it was told to."""


class Process:
    """A program in a process of its own (see demo_child.py), and when it was started."""

    def __init__(self, engine: str, name: str, size: int, steps: int, folder: Path, tag: str, env: dict) -> None:
        self.results = folder / f"{name}-{tag}.npz"
        self.report = folder / f"{name}-{tag}.json"
        self.errors = folder / f"{name}-{tag}.stderr"
        path = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH", "")]))
        command = [sys.executable, *(["-m", "lazynp"] if engine == "lazynp" else []), str(HERE / "demo_child.py")]
        self.started = time.time()
        with open(self.errors, "w") as errors:
            self.process = subprocess.Popen(
                [*command, name, str(size), str(steps), str(self.results)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **env, "PYTHONPATH": path, "LAZYNP_REPORT_JSON": str(self.report)},
            )
        ran = self.event()
        self.event()  # the results are written
        self.seconds = ran["seconds"]
        self.until_result = ran["at"] - self.started

    def event(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            self.process.kill()
            self.process.wait()
            raise ProgramFailed(self.errors.read_text().strip() or f"exit code {self.process.returncode}")
        return json.loads(line)

    def ask(self, command: str) -> dict:
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.event()

    def finish(self) -> float:
        """End the process. Its total in seconds: until the result was there, and from being told to end to the end."""
        told = time.time()
        self.process.communicate()
        if self.process.returncode:
            raise ProgramFailed(self.errors.read_text().strip() or f"exit code {self.process.returncode}")
        return self.until_result + time.time() - told

    def read_report(self) -> dict:
        return json.loads(self.report.read_text()) if self.report.exists() else {}


@dataclasses.dataclass
class Agreement:
    """How far two sets of results are apart: `fraction` is of elements outside the tolerance, in the worst array."""

    ok: bool
    bit_equal: bool
    fraction: float
    reason: str = ""

    def __str__(self) -> str:
        if not self.ok:
            return f"DIFFERS: {self.reason}"
        if self.bit_equal:
            return "bit-equal"
        return "agrees" if self.fraction == 0 else f"agrees but for {self.fraction:.0e}"


def compare(tolerance: dict, expected: dict, got: dict) -> Agreement:
    """Compare results as a program's TOLERANCE asks.

    `rtol` and `atol` are those of np.allclose; `mismatch` allows in the arrays it names a fraction of elements
    outside of them. Shapes and dtypes have to be the same.
    """
    bit_equal, worst = True, 0.0
    if sorted(expected) != sorted(got):
        return Agreement(False, False, 1.0, f"{sorted(expected)} against {sorted(got)}")
    for key, want in expected.items():
        have = got[key]
        if (want.shape, want.dtype) != (have.shape, have.dtype):
            reason = f"{key} is {have.dtype}{list(have.shape)}, not {want.dtype}{list(want.shape)}"
            return Agreement(False, False, 1.0, reason)
        bit_equal = bit_equal and want.tobytes() == have.tobytes()
        apart = ~np.isclose(have, want, rtol=tolerance["rtol"], atol=tolerance["atol"], equal_nan=True)
        fraction = float(apart.mean())
        worst = max(worst, fraction)
        if fraction > tolerance.get("mismatch", {}).get(key, 0.0):
            return Agreement(False, False, fraction, f"{fraction:.1e} of {key}")
    return Agreement(True, bit_equal, worst)


def load(path: Path) -> dict:
    with np.load(path) as archive:
        return dict(archive)


def steady_state(numpy: Process, lazynp: Process) -> tuple[list[float], list[float]]:
    """Seconds of the loop in both processes, which take turns so that a busy moment of the machine hits both."""
    # Rounds ahead: the loop was compiled for `run`, and may begin differently when it starts from ready inputs; and of
    # short rounds several are needed before their kernels have cost what makes them worth compiling.
    lazynp.ask("wait")
    spent, waited, rounds = 0.0, True, 0
    while (spent < AHEAD_SECONDS or waited) and rounds < MAX_ROUNDS:
        spent += lazynp.ask("round")["seconds"]
        waited = lazynp.ask("wait")["seconds"] > 0.01
        rounds += 1
    plain, lazy = [], []
    while len(plain) < MIN_ROUNDS or (sum(plain) < ROUNDS_SECONDS and len(plain) < MAX_ROUNDS):
        plain.append(numpy.ask("round")["seconds"])
        lazy.append(lazynp.ask("round")["seconds"])
    return plain, lazy


def await_compiler(cache: str, limit: float = 30.0) -> None:
    """Wait for the compiler that goes on after a process has ended: in real life the second run comes later."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        commands = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                commands.append(path.read_bytes())
        if not any(cache.encode() in command and b"worker" in command for command in commands):
            return
        time.sleep(0.05)


def touch_memory() -> None:
    """Have the operating system find half a gigabyte of pages before the first process of a program needs them.

    On a virtual machine the first process to use memory that has lain idle pays for it (Black-Scholes here: 2.4 s,
    and 1.4 s when run again), whichever library it uses.
    """
    np.ones(1 << 26)


def measure(name: str, scale: str, engine: str, env: dict, folder: Path, exact: bool) -> dict:
    """All that the table says of one program, and more for the JSON file."""
    program = importlib.import_module(name)
    size, steps = program.SIZES[scale], program.STEPS[scale]
    env = {**env, "LAZYNP_CACHE_DIR": str(folder / f"{name}-cache")}
    running: list[Process] = []

    def start(which: str, tag: str) -> Process:
        running.append(Process(which, name, size, steps, folder, tag, env))
        return running[-1]

    touch_memory()
    try:
        first = start(engine, "first")
        first.ask("wait")
        first_total = first.finish()
        await_compiler(env["LAZYNP_CACHE_DIR"])
        numpy = start("numpy", "numpy")
        second = start(engine, "second")
        plain, lazy = steady_state(numpy, second)
        numpy_total, second_total = numpy.finish(), second.finish()
    finally:
        for process in running:
            process.process.kill()
            process.process.wait()
    agreements = [compare(program.TOLERANCE, load(numpy.results), load(p.results)) for p in (first, second)]
    worse = min(agreements, key=lambda a: (a.ok, a.bit_equal, -a.fraction))
    if exact and worse.ok and not worse.bit_equal:
        worse = Agreement(False, False, worse.fraction, "not bit-equal")
    for process in running:
        process.results.unlink()
    return {
        "program": name,
        "size": size,
        "steps": steps,
        "ok": worse.ok,
        "agreement": str(worse),
        "tolerance": program.TOLERANCE,
        "total": {"numpy": numpy_total, "first": first_total, "second": second_total},
        "run": {"numpy": numpy.seconds, "first": first.seconds, "second": second.seconds},
        "rounds": {"numpy": plain, "lazynp": lazy},
        "steady": {"numpy": statistics.median(plain), "lazynp": statistics.median(lazy)},
        "ratio": statistics.median(plain) / statistics.median(lazy),
        "reports": {"first": first.read_report(), "second": second.read_report()},
    }


HEADER = f"""\
{"":35s} |  total, seconds        | steady state, seconds  | first process  | second process
{"program":20s}{"size":>9s}{"steps":>6s} | NumPy   first  second  | NumPy  lazynp   ratio  | plans compiles \
| compiled/interpreted   hits  host | result"""


def counted(number: object) -> str:
    return "-" if number is None else f"{number:,}" if number < 1e5 else f"{number / 1e3:,.0f}k"


def row(entry: dict) -> str:
    total, steady = entry["total"], entry["steady"]
    first, second = entry["reports"]["first"], entry["reports"]["second"]
    tiers = second.get("kernels", {})
    compiles = len(first["compiles"]) if "compiles" in first else None
    return (
        f"{entry['program']:20s}{entry['size']:9,d}{entry['steps']:6d} "
        f"|{total['numpy']:6.2f}{total['first']:8.2f}{total['second']:8.2f}  "
        f"|{steady['numpy']:6.3f}{steady['lazynp']:8.3f}{entry['ratio']:7.2f}x "
        f"|{counted(first.get('plans')):>6s}{counted(compiles):>9s} "
        f"|{counted(tiers.get('compiled')):>9s}/{counted(tiers.get('interpreted')):<11s}"
        f"{counted(second.get('cache_hits')):>6s}{counted(second.get('host_calls')):>6s} | {entry['agreement']}"
    )


def verdict(entries: list[dict], seconds: float, what: str) -> str:
    """What the user just saw: which bounds were missed, and one sentence."""
    lines = []
    late = [e["program"] for e in entries if e["total"]["first"] > 1.2 * e["total"]["numpy"] + 1.0]
    slow = [
        e["program"]
        for e in entries
        if e["total"]["second"] > 1.05 * e["total"]["numpy"] and e["total"]["numpy"] >= 1.0
    ]
    below = [e["program"] for e in entries if e["ratio"] < 0.9]
    lines.append(f"first run over 1.2 x NumPy's total plus one second: {', '.join(late) or 'none'}")
    lines.append(f"second process over 1.05 x NumPy's total of a second or more: {', '.join(slow) or 'none'}")
    lines.append(f"steady state under 0.9 x NumPy: {', '.join(below) or 'none'}")
    ratios = [e["ratio"] for e in entries]
    agree = sum(e["ok"] for e in entries)
    results = "with the same results" if agree == len(entries) else f"of which ONLY {agree} gave the same results"
    mean, least, most = statistics.geometric_mean(ratios), min(ratios), max(ratios)
    number = f"{len(entries)} program{'s' if len(entries) > 1 else ''}"
    lines.append(
        f"You just saw {number} in plain NumPy text run unchanged on {what} in {seconds / 60:.1f} minutes, "
        f"{results}, {mean:.2f} times as fast as NumPy once hot (geometric mean; from {least:.2f} to {most:.2f})."
    )
    return "\n".join(lines)


def demo(names: list[str], scale: str, engine: str, env: dict, exact: bool, path: str | None) -> int:
    """Run the programs, print the table line by line as it comes, and return the exit code."""
    begin, entries, failed = time.time(), [], []
    print(HEADER, flush=True)
    for number, name in enumerate(names, 1):
        if sys.stdout.isatty():
            print(f"{name}: {number} of {len(names)} ...", end="\r", flush=True)
        with tempfile.TemporaryDirectory(prefix="lazynp-demo-", ignore_cleanup_errors=True) as folder:
            try:
                entries.append(measure(name, scale, engine, env, Path(folder), exact))
                print(row(entries[-1]), flush=True)
            except ModuleNotFoundError as error:  # scikit-learn's digits, which lazynp itself does not need
                print(f"{name:20s} left out: it needs {error.name}, which is not installed", flush=True)
            except ProgramFailed as error:
                failed.append({"program": name, "error": str(error)})
                print(f"{name:20s} FAILED: {str(error).splitlines()[-1]}", flush=True)
    print()
    for failure in failed:
        print(f"--- {failure['program']}\n{failure['error']}\n")
    if path:
        setting = {"scale": scale, "engine": engine, "env": env, "seconds": time.time() - begin}
        Path(path).write_text(json.dumps({**setting, "programs": entries, "failed": failed}, indent=1))
    if entries:
        print(verdict(entries, time.time() - begin, engine))
    return int(bool(failed) or not all(e["ok"] for e in entries))


def report_after(name: str, size: int, steps: int, engine: str, env: dict) -> dict:
    """lazynp's report of one run with an artifact cache that was empty."""
    with tempfile.TemporaryDirectory(prefix="lazynp-demo-", ignore_cleanup_errors=True) as folder:
        settings = {**env, "LAZYNP_CACHE_DIR": str(Path(folder) / "cache")}
        process = Process(engine, name, size, steps, Path(folder), "plans", settings)
        try:
            process.ask("wait")
            process.finish()
        finally:
            process.process.kill()
            process.process.wait()
        return process.read_report()


def count_plans(names: list[str], iterations: list[int], engine: str, env: dict) -> int:
    """Print how many plans and compiles each program needed after so many iterations; 1 if a number of plans grew."""
    columns = "".join(f"{f'{k:,} iterations':>24s}" for k in iterations)
    print(f"{'program':20s}{'size':>9s}{columns}    (plans, compiles)", flush=True)
    code = 0
    for name in names:
        size = PLAN_SIZES.get(name) or importlib.import_module(name).SIZES["test"]
        try:
            reports = [report_after(name, size, steps, engine, env) for steps in iterations]
        except ProgramFailed as error:
            print(f"{name:20s} FAILED: {error}", flush=True)
            code = 1
            continue
        plans = {report.get("plans") for report in reports}
        same = len(plans) == 1 and None not in plans
        code = code if same else 1
        pairs = [f"{counted(r.get('plans'))}, {len(r.get('compiles', ()))}" for r in reports]
        cells = "".join(f"{pair:>24s}" for pair in pairs)
        remark = "no report" if None in plans else "the same" if same else "NOT the same"
        print(f"{name:20s}{size:9,d}{cells}    {remark}", flush=True)
    return code


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", help="names separated by commas; all by default")
    parser.add_argument("--scale", choices=("default", "tenth", "test"), default="default")
    parser.add_argument("--mode", choices=("auto", "graph", "eager"), default="auto", help="LAZYNP_MODE")
    parser.add_argument("--no-compile", action="store_true", help="the interpreter tier alone (LAZYNP_COMPILE=0)")
    parser.add_argument("--json", metavar="PATH", help="write all figures there")
    parser.add_argument("--plans", action="store_true", help="count plans and compiles instead")
    parser.add_argument("--iterations", default="100,1000", help="for --plans, separated by commas")
    options = parser.parse_args()
    engine = os.environ.get("LAZYNP_DEMO_ENGINE", "lazynp")
    env = {"LAZYNP_MODE": options.mode, "LAZYNP_COMPILE": "0" if options.no_compile else "1"}
    names = options.programs.split(",") if options.programs else list(PLAN_SIZES if options.plans else PROGRAMS)
    unknown = sorted(set(names) - set(PROGRAMS))
    if unknown:
        parser.error(f"no such program: {', '.join(unknown)}; there are {', '.join(PROGRAMS)}")
    if options.plans:
        return count_plans(names, [int(k) for k in options.iterations.split(",")], engine, env)
    return demo(names, options.scale, engine, env, options.no_compile, options.json)


if __name__ == "__main__":
    sys.exit(main())
