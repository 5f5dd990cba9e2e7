"""A page of HTML in one file: text, code, tables, curves. No other file is needed, nothing is loaded from anywhere.

    page = Page("LeNet-5");  page.text("..");  page.code("graph", text);  page.curves("loss", {"graph": [..]})
    page.write(path)

Code that names locations of the user (`# model.py:3`) is live: pointing at a line lights up all that came from the same
location. It is light or dark as the reader's system is.
"""
import html
import math
import pathlib
import re

from ..common.files import replacing

STYLE = """
:root { color-scheme: light dark; --text: #1f2328; --soft: #59636e; --back: #ffffff; --box: #f6f8fa; --line: #d1d9e0;
        --mark: #fff3b0; --word: #0550ae; --name: #8250df; --note: #59636e; --0: #0969da; --1: #bc4c00; --2: #1a7f37;
        --3: #8250df; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --soft: #9198a1; --back: #0d1117; --box: #151b23; --line: #3d444d; --mark: #4d3f00;
          --word: #79c0ff; --name: #d2a8ff; --note: #9198a1; --0: #58a6ff; --1: #f0883e; --2: #56d364; --3: #bc8cff; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); margin: 2rem auto;
       max-width: 76rem; padding: 0 1rem; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; } p { max-width: 46rem; }
pre { background: var(--box); border: 1px solid var(--line); border-radius: 6px; padding: .8rem 1rem; overflow-x: auto;
      font: 13px/1.45 ui-monospace, Menlo, Consolas, monospace; tab-size: 4; }
pre span.row { display: block; min-height: 1.45em; width: max-content; min-width: 100%; }
pre span.row.lit { background: var(--mark); }
.w { color: var(--word); } .n { color: var(--name); } .c { color: var(--note); font-style: italic; }
details > summary { cursor: pointer; font-weight: 600; margin: .6rem 0; }
table { display: block; overflow-x: auto; margin: .8rem 0; border-collapse: collapse;
        font-variant-numeric: tabular-nums; }
td, th { padding: .25rem .9rem .25rem 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; } td.number, th.number { text-align: right; }
svg { max-width: 100%; height: auto; } svg text { fill: var(--soft); font: 12px system-ui, sans-serif; }
svg .axis { stroke: var(--line); }
"""

SCRIPT = """
document.addEventListener("mouseover", function (event) {
  var row = event.target.closest(".row[data-location]"), location = row && row.dataset.location;
  document.querySelectorAll(".row.lit").forEach(function (r) { r.classList.remove("lit"); });
  if (location) document.querySelectorAll(".row[data-location]").forEach(function (r) {
    if (r.dataset.location === location) r.classList.add("lit"); });
});
"""

# Words of Python anywhere; those of MindIR and Flows, which are prose too, only where a line or a value begins.
_WORDS = re.compile(r"(?P<c>\#(?!\d).*)|(?P<n>[%@][\w./:]+)|"
                    r"(?P<w>\b(?:return|def|for|in|if|else|while|range)\b|"
                    r"(?:^ *|(?<== ))(?:graph|block|symbols|flow|kernel|const)\b)")
_LOCATION = re.compile(r"# ([\w.\-]+:\d+)")


class Page:
    """A page: title, and what was put on it, from top to bottom."""

    def __init__(self, title):
        self.title, self.parts = title, [f"<h1>{html.escape(title)}</h1>"]

    def heading(self, text):
        """A heading."""
        self.parts.append(f"<h2>{html.escape(text)}</h2>")

    def text(self, text):
        """A paragraph."""
        self.parts.append(f"<p>{html.escape(text)}</p>")

    def code(self, summary, text, opened=True):
        """Code or a graph under a line that folds it away. opened: show it at first"""
        self.parts.append(f"<details{' open' if opened else ''}><summary>{html.escape(summary)}</summary>"
                          f"<pre>{''.join(_rows(text))}</pre></details>")

    def table(self, head, rows):
        """A table: column names (all empty: no line of them), and rows of texts and numbers. A column that holds a
        number stands to the right."""
        right = [any(_is_number(row[k]) for row in rows) for k in range(len(head))]
        lines = [_row("td", row, right) for row in rows]
        names = f"<thead>{_row('th', head, right)}</thead>" if any(head) else ""
        self.parts.append(f"<table>{names}<tbody>{''.join(lines)}</tbody></table>")

    def curves(self, label, lines, width=720, height=260):
        """Curves over 0, 1, 2, ...: {name: numbers}; numbers that are not finite leave a gap."""
        self.parts.append(curves(label, lines, width, height))

    def html(self):
        """The whole page."""
        return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(self.title)}</title>'
                f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style>'
                "</head>\n<body>"
                + "\n".join(self.parts) + f"\n<script>{SCRIPT}</script></body></html>\n")

    def write(self, path):
        """Write the page to a file, whole or not at all; returns the path."""
        path = pathlib.Path(path)
        with replacing(path) as file:
            file.write(self.html().encode())
        return path


def _base(file):
    return file.replace("\\", "/").rpartition("/")[2]


def _rows(text):
    """A span for each line of code; lines without a location of their own belong to that of the line above."""
    location = None
    for line in text.rstrip("\n").split("\n"):
        found = _LOCATION.search(line)
        if found:
            location = found.group(1)
        elif not line.startswith(" "):
            location = None
        if line.strip() in ("", "}") or line.startswith("  return"):
            location = None
        mark = f' data-location="{html.escape(location, quote=True)}"' if location else ""
        yield f'<span class="row"{mark}>{_coloured(line)}</span>'


def _coloured(line):
    parts, end = [], 0
    for match in _WORDS.finditer(line):
        parts += [html.escape(line[end:match.start()]),
                  f'<span class="{match.lastgroup}">{html.escape(match.group())}</span>']
        end = match.end()
    return "".join(parts) + html.escape(line[end:])


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _row(tag, values, right):
    """A row of cells; right: for each column, whether it stands to the right."""
    texts = [(f"{v:,}" if isinstance(v, int) else f"{v:.4g}") if _is_number(v) else html.escape(str(v)) for v in values]
    return "<tr>" + "".join(f'<{tag} class="number">{t}</{tag}>' if r else f"<{tag}>{t}</{tag}>"
                            for t, r in zip(texts, right)) + "</tr>"


def curves(label, lines, width=720, height=260):
    """An SVG picture of curves over 0, 1, 2, ...; see Page.curves."""
    left, right, top, bottom = 56, 12, 12, 34
    finite = [v for values in lines.values() for v in values if math.isfinite(v)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    low = min(low, 0.0)
    high = high if high > low else low + 1.0
    last = max(max((len(values) for values in lines.values()), default=1) - 1, 1)

    def spot(i, value):
        return (f"{left + i * (width - left - right) / last:.1f}",
                f"{top + (high - value) * (height - top - bottom) / (high - low):.1f}")
    parts = [f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
             f'aria-label="{html.escape(label, quote=True)}">']
    for k in range(5):
        value = low + (high - low) * k / 4
        _, y = spot(0, value)
        parts.append(f'<line class="axis" x1="{left}" y1="{y}" x2="{width - right}" y2="{y}"/>'
                     f'<text x="{left - 8}" y="{float(y) + 4:.1f}" text-anchor="end">{value:.3g}</text>')
    parts.append(f'<text x="{left}" y="{height - 8}">0</text>'
                 f'<text x="{width - right}" y="{height - 8}" text-anchor="end">{last}</text>')
    for number, (name, values) in enumerate(lines.items()):
        colour, pieces, points = f"var(--{number % 4})", [], []
        for i, value in enumerate(values):
            if math.isfinite(value):
                points.append(",".join(spot(i, value)))
            elif points:
                pieces.append(points)
                points = []
        dash = ' stroke-dasharray="7 5"' if number % 2 else ""
        parts += [f'<polyline points="{" ".join(p)}" fill="none" stroke="{colour}" stroke-width="1.8"{dash}/>'
                  for p in [*pieces, points] if p]
        x = left + 40 + 160 * number
        parts.append(f'<line x1="{x}" y1="{height - 12}" x2="{x + 26}" y2="{height - 12}" stroke="{colour}" '
                     f'stroke-width="2"{dash}/><text x="{x + 32}" y="{height - 8}">{html.escape(name)}</text>')
    parts.append(f'<text x="{width - right}" y="{top + 12}" text-anchor="end">{html.escape(label)}</text></svg>')
    return "".join(parts)
