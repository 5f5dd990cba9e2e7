"""What became of a function, as text: the answer first, the rest on demand.

    step: 2 graphs, 41 call(s); Python runs what is listed below
      in Python:
        train.py:12: z = np.sort(y.asnumpy())
            asnumpy() leaves the Tensors; 41 crossing(s), 12 us each; instead: ..
      variant 0: (x: f32[32, 784])
        because: first call; 40 call(s)
        compiled in 0.412 s
      explain(details=True) tells 31 lines more: stages, kernels, libraries, what was not fused and why

The first line counts the graphs and what Python runs. Then comes all that Python runs, with its reason and its cure, then
each variant with the reason for it. `details` adds the stages' seconds and sizes, the library kernels, unrolled loops, and
the operators that stand in no fused kernel.
"""
from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..common.device import name_of
from ..common.location import Location
from ..infer.fallback import Site
from .flow import CallKernel, Copy, Instruction
from .reasons import show_call
from .variant import Variant

if TYPE_CHECKING:
    from .jit import JitFunction


def explain(f: JitFunction, details: bool = False) -> str:
    """The text about a JitFunction.

    details : add stages, nodes, kernels, libraries, unrolled loops, and what was not fused and why
    """
    in_python = python_lines(f)
    if not f.variants and not in_python:
        return f"{f.name}: not compiled yet; call it, or have its file read by `python -m mindlite check`"
    lines = [headline(f, in_python)]
    if in_python:
        lines += ["  in Python:", *[f"    {line}" for line in in_python]]
    more = 0
    for number, variant in enumerate(f.variants):
        lines += variant_lines(f, number, variant)
        inside = detail_lines(f, variant)
        more += len(inside)
        if details:
            lines += inside
    for variant, why in f.history:
        lines.append(f"  waiting: {show_call(variant.signature, f.names)}, because {why.text}")
    if f.trees.refused:
        lines.append(f"  no tree is data, each structure has a graph: {f.trees.refused}")
    if more and not details:
        lines.append(f"  explain(details=True) tells {more} line(s) more: stages, kernels, libraries, what was not fused and why")
    return "\n".join(lines)


def headline(f: JitFunction, in_python: list[str]) -> str:
    """How many graphs and calls there are, and whether Python runs anything."""
    n = len(f.variants)
    graphs = f"{n} graph{'' if n == 1 else 's'}, {sum(v.calls for v in f.variants)} call(s)" if n else "no graph"
    return f"{f.name}: {graphs}; {'Python runs what is listed below' if in_python else 'nothing runs in Python'}"


def python_lines(f: JitFunction) -> list[str]:
    """All that Python runs: whole calls, calls that ran again, statements between parts of a graph."""
    lines = []
    for signature, (location, reason, _) in f.in_python.items():
        lines.append(f"every call {show_call(signature, f.names)}: {location or 'somewhere'}: {reason}")
    lines += site_lines([site for variant in f.variants for site in variant.compiled.specialised.sites])
    if f.runs_in_python:
        lines.append(f"{f.runs_in_python} call(s) ran statement by statement, to see what Python code gives")
    described = {location for location, _, _ in f.in_python.values()}
    for location, (why, count) in f.refused.items():
        if location not in described:
            lines.append(f"{location or 'somewhere'}: {count} call(s) for which there was no graph: {why}")
    for location, (message, count) in f.run_twice.items():
        lines.append(f"{location}: {count} call(s) ran again in Python: {message}")
    if f.met_hooks:
        lines.append(f"{f.met_hooks} call(s) ran in Python: an argument by which it differentiates has hooks")
    return lines


def site_lines(sites: Iterable[Site]) -> list[str]:
    """Lines on Python code in graphs: where, what, why, what it has cost, what to do."""
    found: dict[tuple[Location | None, str, str], tuple[int, float]] = {}
    for site in sites:
        runs, seconds = found.get((site.location, site.reason, site.cure), (0, 0.0))
        found[site.location, site.reason, site.cure] = runs + site.runs, seconds + site.seconds
    lines: list[str] = []
    before = None
    for (location, reason, cure), (runs, seconds) in found.items():
        heading, text = str(location or "somewhere"), location.source().strip() if location is not None else ""
        if heading != before:
            lines.append(f"{heading}: {text}" if text else f"{heading}:")
            before = heading
        cost = f"; {runs} crossing(s), {1e6 * seconds / runs:.0f} us each" if runs else ""
        lines.append(f"    {reason}{cost}" + (f"; instead: {cure}" if cure else ""))
    return lines


def variant_lines(f: JitFunction, number: int, variant: Variant) -> list[str]:
    """What a variant is for, why it was compiled, and what its user did not get as wanted."""
    compiled = variant.compiled
    lines = [f"  variant {number}: {show_call(variant.signature, f.names)}",
             f"    because: {variant.reason.text}; {variant.calls} call(s)"]
    if variant.reason.cure:
        lines.append(f"    cure: {variant.reason.cure}")
    lines.append(f"    {'taken from the disk' if compiled.from_disk else 'compiled'} in {variant.seconds:.3f} s")
    if compiled.not_cached:
        lines.append(f"    not cached on the disk: {compiled.not_cached}")
    if compiled.plan is not None:
        lines += [f"    {line}" for line in compiled.plan.report().splitlines()]
    return lines + [f"    {location or 'somewhere'}: {note}" for location, note in compiled.notes]


def detail_lines(f: JitFunction, variant: Variant) -> list[str]:
    """How a variant was made and of what."""
    compiled = variant.compiled
    seconds = ", ".join(f"{stage} {t:.3f}" for stage, t in compiled.seconds.items())
    counts = " -> ".join(f"{stage} {n}" for stage, n in compiled.nodes.items())
    plan = compiled.executable.plan
    lines = [f"    seconds: {seconds}", f"    nodes: {counts}",
             f"    kernels: {len(f.kernels(variant))}, storages: {len(plan.storages)}"]
    lines += copy_lines(compiled.executable.linked.places)
    lines += library_lines(compiled.executable.linked.places)
    lines += [f"    {location or 'somewhere'}: {reason}" for location, reason in dict.fromkeys(compiled.specialised.reasons)]
    return lines + [f"    {line}" for line in compiled.unfused]


def copy_lines(instructions: Iterable[Instruction]) -> list[str]:
    """Which copies go between devices, and the lines that cause them."""
    lines = []
    for copy in instructions:
        if isinstance(copy, Copy):
            at = copy.origin.location if copy.origin is not None else None
            text = at.source().strip() if at is not None else ""
            waits = f": the {name_of(None)} waits" if copy.to is None else ""
            lines.append(f"    copy from {name_of(copy.source)} to {name_of(copy.to)}{waits}"
                         + (f"; {at}: {text}" if at is not None else ""))
    return lines


def library_lines(instructions: Iterable[Instruction]) -> list[str]:
    """Which library kernels are launched, how often, and why these."""
    kernels = [i.kernel for i in instructions if isinstance(i, CallKernel) and i.kernel.why]
    counted = collections.Counter((kernel.name, kernel.why) for kernel in kernels)
    return [f"    {name}, {count} launch(es): {why}" for (name, why), count in counted.items()]
