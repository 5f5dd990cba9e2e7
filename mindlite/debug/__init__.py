"""Look inside: what every stage made of a function, and what it costs.

    ir(f, stage)         the graph after a stage, as text          kernel(f)    the source of its fused kernels
    steps(f)             all stages: nodes, seconds, what changed  memory(f)    which storage lives when, and where
    diff(f, a, b)        the difference between two stages         explain(f)   why it was compiled, what runs in Python
    line(f, number)      what one line of the program became        doctor()     what this machine offers
    python(f)            its optimised graph, say a gradient, as Python
    source(f, *args)     a gradient as a module to read and run, below the user's lines; also `ms.ad.source`
    view(f, path)        all of that as one HTML page              Page(title)  a page of one's own

f is what `jit` gave, a Cell that ran in GRAPH_MODE, or a JitFunction; it must have been called. ir and diff take graphs too.
"""
from .stages import diff, ir, steps
from .storages import memory
from .lines import Line, line
from .page import Page
from .gradient_source import source
from .python_code import python
from .reports import doctor, explain, kernel
from .view import view

__all__ = ["Line", "Page", "diff", "doctor", "explain", "ir", "kernel", "line", "memory", "python", "source",
           "steps", "view"]
