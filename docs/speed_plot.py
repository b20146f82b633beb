"""The README's plot: the table of the demo that the README has, drawn as docs/speed.svg. `make readme` writes both.

The drawing brings its background and two sets of colours, so that it can be read on light pages and on dark ones.
"""

import math
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README, PLOT = ROOT / "README.md", ROOT / "docs" / "speed.svg"
SERIES = (("hot", "hot: later rounds, compiled code"), ("first process", "first process: empty cache, start included"))
LEFT, RIGHT, TOP, ROW, BOTTOM, WIDTH = 145, 24, 82, 22, 34, 520  # narrow, so that a telephone shows letters
LEAST, MOST = 0.8, 25.0  # ends of the axis, which is logarithmic
TICKS = (1, 2, 5, 10, 20)

STYLE = """
  .card { fill: #ffffff; stroke: #d0d7de }
  text { fill: #1f2328; font: 13px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif }
  .small { font-size: 12px }
  .line { stroke: #d8dee4 }
  .one { stroke: #1f2328; stroke-width: 1.5 }
  .a { fill: #0969da }
  .b { fill: #bc4c00 }
  .join { stroke: #8c959f; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #30363d }
    text { fill: #e6edf3 }
    .line { stroke: #21262d }
    .one { stroke: #e6edf3 }
    .a { fill: #58a6ff }
    .b { fill: #f0883e }
    .join { stroke: #6e7681 }
  }
"""


def rows(readme: str) -> list[dict[str, str]]:
    """The lines of the table that follows `<!-- demo table -->`, by column, the fastest first."""
    lines = re.findall(r"^\|(.*)\|$", readme.partition("<!-- demo table -->")[2].partition("<!-- end -->")[0], re.M)
    cells = [[cell.strip() for cell in line.split("|")] for line in lines]
    found = [dict(zip(cells[0], row)) for row in cells[2:]]
    return sorted(found, key=lambda row: -float(row["hot"]))


def at(ratio: float) -> float:
    """Where a ratio is on the axis."""
    return LEFT + (WIDTH - LEFT - RIGHT) * math.log(ratio / LEAST) / math.log(MOST / LEAST)


def drawing(table: list[dict[str, str]]) -> str:
    bottom = TOP + ROW * len(table)
    height = bottom + BOTTOM
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        ' role="img" aria-labelledby="title">',
        '<title id="title">Speed of the example programs under lazynp, relative to NumPy</title>',
        f"<style>{STYLE}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        '<text x="16" y="25" font-weight="600">NumPy\'s time over lazynp\'s, on two cores (logarithmic)</text>',
    ]
    for (_, label), mark, y in zip(SERIES, "ab", (44, 63)):
        out.append(
            f'<circle class="{mark}" cx="22" cy="{y}" r="5"/><text class="small" x="33" y="{y + 4}">{label}</text>'
        )
    for tick in TICKS:
        kind, label = ("one", "NumPy") if tick == 1 else ("line", f"{tick} ×")
        out.append(f'<line class="{kind}" x1="{at(tick):.1f}" x2="{at(tick):.1f}" y1="{TOP}" y2="{bottom}"/>')
        out.append(f'<text class="small" x="{at(tick):.1f}" y="{bottom + 18}" text-anchor="middle">{label}</text>')
    for i, row in enumerate(table):
        y = TOP + ROW * i + ROW / 2
        places = [at(float(row[name])) for name, _ in SERIES]
        out.append(f'<text x="{LEFT - 14}" y="{y + 4:g}" text-anchor="end">{row["program"]}</text>')
        out.append(f'<line class="join" x1="{min(places):.1f}" x2="{max(places):.1f}" y1="{y:g}" y2="{y:g}"/>')
        for mark, x in reversed(list(zip("ab", places))):
            out.append(f'<circle class="{mark}" cx="{x:.1f}" cy="{y:g}" r="5"/>')
    return "\n".join([*out, "</svg>"]) + "\n"


def main() -> None:
    PLOT.write_text(drawing(rows(README.read_text())))
    print(PLOT)


if __name__ == "__main__":
    main()
