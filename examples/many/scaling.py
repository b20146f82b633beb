"""Runs of a program with several numbers of processes, and a plot of their speeds, for the examples beside this file.

The plot needs no library: it is an SVG with a bar for each run.
"""

import re
import subprocess


def measured(commands: dict[int, list[str]]) -> dict[int, float]:
    """Milliseconds a step, as each command prints them, by its number of processes."""
    took: dict[int, float] = {}
    for p, command in commands.items():
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found = re.search(r"([\d.]+) ms a step", text)
        assert found is not None, text
        took[p] = float(found[1])
        print(f"{p} processes: {took[p]:.2f} ms a step, {took[min(took)] / took[p]:.2f} times the first's speed")
    return took


def plot(took: dict[int, float]) -> str:
    """Bars of speed, beside the line that as many times the processes would be."""
    first, most = next(iter(took.items())), max(took)
    speeds = {p: first[1] / ms for p, ms in took.items()}
    top = max(most / first[0], *speeds.values())
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="420" height="300" font-family="sans-serif" font-size="12">'
    ]
    for k, (p, speed) in enumerate(speeds.items()):
        x, height, ideal = 60 + 70 * k, 220 * speed / top, 220 * p / first[0] / top
        parts.append(f'<rect x="{x}" y="{250 - height:.1f}" width="40" height="{height:.1f}" fill="#3a7"/>')
        parts.append(f'<path d="M{x - 8} {250 - ideal:.1f}h56" stroke="#555" stroke-dasharray="4"/>')
        parts.append(f'<text x="{x}" y="268">{p} proc.</text><text x="{x}" y="{244 - height:.1f}">{speed:.2f}x</text>')
    return "\n".join([*parts, '<text x="60" y="290">speed; dashed: as many times as processes</text></svg>\n'])
