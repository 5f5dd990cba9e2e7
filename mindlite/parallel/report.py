"""The Plan: what was chosen for a program of many ranks, as an object that one can print, compare and draw."""
import difflib
import html
from dataclasses import field

from ..common.records import dataclass
from .machine import typical

STYLE = ("body{font:14px sans-serif}table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #ccc;padding:2px 6px;"
         "text-align:left}.bar{background:#48a;height:10px;min-width:1px}td:last-child{min-width:120px}")


@dataclass
class Plan:
    """What was chosen for one program, on this rank.

    boxings : (Location, what, Placement before, after, Steps) in order       whole: {name: how often it was computed in whole}
    results : {number: (Placement, whole shape)} of those that lie in parts
    wholes  : {number of a parameter of which this rank has a part: the shape of the whole}
    points  : (points of this rank, of the whole program), OPEN for an open size; seconds: the price    exact: no plan is cheaper
    parameters: {Parameter: Placement} that were chosen                       memory : bytes of Parameters on this rank
    buckets : all_reduces of `boxings` that travel as one (parallel/buckets.py)
    """
    mesh: object
    boxings: list = field(default_factory=list)
    whole: dict = field(default_factory=dict)
    chosen: list = field(default_factory=list)
    buckets: list = field(default_factory=list)
    results: dict = field(default_factory=dict)
    wholes: dict = field(default_factory=dict)
    parameters: dict = field(default_factory=dict)
    memory: int = 0
    points: tuple = (0, 0)
    seconds: float = 0.0
    exact: bool = True

    @property
    def sent(self):
        """{operator: [calls, bytes]} that this rank sends in one run, as `Engine.sent` counts them; Dims where sizes are open."""
        found: dict = {}
        for *_, steps_ in self.boxings:
            for step in steps_:
                if step.operator:
                    entry = found.setdefault(step.operator, [0, 0])
                    entry[0] += 1
                    entry[1] += step.nbytes
        for bucket in self.buckets:
            found["all_reduce"][0] -= bucket.count - 1
            found["all_reduce"][1] += bucket.nbytes - bucket.alone
        return found

    def report(self):
        """The Plan as text."""
        mine, of_all = self.points
        lines = [f"mesh {self.mesh}; this rank computes {mine} of {of_all} points ({mine / max(of_all, 1):.0%}); "
                 f"sends {sum(n for _, n in self.sent.values())} bytes in {sum(n for n, _ in self.sent.values())} collectives"
                 + (f", has {self.memory} bytes of Parameters" if self.memory else "")
                 + ("" if self.exact else "; not proved to be the cheapest")]
        for location, what, have, want, steps_ in self.boxings:
            path = ", ".join(f"{step.operator or 'local'} {step.nbytes} B" for step in steps_)
            lines.append(f"  {location or ''} {what}: {have} -> {want}  {path}")
        lines += [f"  {bucket.count} all_reduces travel as one: {bucket.nbytes} B" for bucket in self.buckets]
        lines += [f"  {param.name} : {param.dtype.short}{list(param.shape)} lies {placement}"
                  for param, placement in self.parameters.items()]
        if self.whole:
            lines.append("  computed in whole on each rank: " + ", ".join(
                f"{name} ({n})" for name, n in sorted(self.whole.items())))
        return "\n".join(lines) + "\n"

    def diff(self, other):
        """What another Plan does otherwise, as lines of a unified diff from this report to its; "" where both say the same."""
        mine, theirs = self.report().splitlines(True), other.report().splitlines(True)
        return "".join(difflib.unified_diff(mine, theirs, "before", "after", n=0))

    def html(self):
        """The Plan as a page: who sends what, with a bar as long as its share of the bytes, and where Parameters lie."""
        head, *_ = self.report().splitlines()
        total = max(typical(sum(nbytes for _, nbytes in self.sent.values())), 1)
        rows = []
        for location, what, have, want, steps_ in self.boxings:
            for step in steps_:
                cells = (location or "", what, f"{have} \u2192 {want}", step.operator or "local",
                         f"{step.nbytes:,}" if isinstance(step.nbytes, int) else str(step.nbytes))
                bar = f'<td><div class="bar" style="width:{100 * typical(step.nbytes) / total:.1f}%"></div></td>'
                rows.append("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in cells) + bar + "</tr>")
        params = [f"<tr><td>{html.escape(param.name)}</td><td>{list(param.shape)}</td><td>{placement}</td></tr>"
                  for param, placement in self.parameters.items()]
        wholes = ", ".join(f"{html.escape(name)} ({n})" for name, n in sorted(self.whole.items())) or "nothing"
        return (f"<!doctype html><meta charset='utf-8'><title>plan</title><style>{STYLE}</style><p>{html.escape(head)}</p>"
                "<table><tr><th>line</th><th>value</th><th>placement</th><th>by</th><th>bytes</th><th>share</th></tr>"
                f"{''.join(rows)}</table><table><tr><th>Parameter</th><th>shape</th><th>lies</th></tr>{''.join(params)}</table>"
                f"<p>Computed in whole on each rank: {wholes}</p>")
