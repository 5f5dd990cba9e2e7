"""The ratios of a benchmark as an SVG picture: a bar for each row on a logarithmic axis, its goal as a stroke.

    python bench/plot.py bench/results/bench.json > ratios.svg
"""
import json
import math
import sys
from xml.sax.saxutils import escape

LEFT, WIDTH, HEIGHT, TOP = 430, 420, 18, 40               # of the axis, of a row, of the head, in pixels
LOW, HIGH = 0.02, 5.0                                     # the ends of the axis
MET, MISSED, PLAIN = "#4a8f5a", "#c2573f", "#8a8a8a"


def ratio(measured, what="median"):
    """mindlite's time by the best peer's; None without a peer. NumPy is no peer but a mark."""
    peers = [m[what] for name, m in measured.items() if not name.startswith(("mindlite", "numpy")) and what in m]
    return measured["mindlite"][what] / min(peers) if peers and what in measured.get("mindlite", ()) else None


def place(value):
    """Where a ratio stands on the axis, in pixels."""
    inside = min(max(value, LOW), HIGH)
    return LEFT + WIDTH * math.log(inside / LOW) / math.log(HIGH / LOW)


def svg(ratios, goals):
    """The picture of {row: ratio}; rows without a goal are grey."""
    height = TOP + HEIGHT * len(ratios) + 10
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 60}" height="{height}" '
             'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>',
             f'<text x="{LEFT}" y="14">mindlite\'s time by the best peer\'s; a stroke is the goal</text>']
    for mark in (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5):
        x = place(mark)
        lines += [f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{height}" stroke="#dddddd"/>',
                  f'<text x="{x:.1f}" y="{TOP - 12}" text-anchor="middle">{mark}</text>']
    for number, (name, value) in enumerate(ratios.items()):
        y, goal = TOP + HEIGHT * number, goals.get(name)
        colour = PLAIN if goal is None else MET if value <= goal else MISSED
        lines += [f'<text x="{LEFT - 6}" y="{y + 12}" text-anchor="end">{escape(name)}</text>',
                  f'<rect x="{LEFT}" y="{y + 3}" width="{place(value) - LEFT:.1f}" height="{HEIGHT - 6}" '
                  f'fill="{colour}"/>',
                  f'<text x="{place(value) + 4:.1f}" y="{y + 12}">{value:.2f}</text>']
        if goal is not None:
            x = place(goal)
            lines.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y + 1}" y2="{y + HEIGHT - 1}" stroke="black"/>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def main():
    """Read bench.json, print the picture."""
    with open(sys.argv[1]) as file:
        result = json.load(file)
    ratios = {name: ratio(measured) for name, measured in result["rows"].items()}
    print(svg({name: r for name, r in ratios.items() if r is not None}, result["goals"]), end="")


if __name__ == "__main__":
    main()
