"""Look inside: what every stage made of a function, and what it costs.

    ir(f, stage)         the graph after a stage, as text          kernel(f)    the source of its fused kernels
    steps(f)             all stages: nodes, seconds, what changed  memory(f)    which storage lives when, and where
    diff(f, a, b)        the difference between two stages         explain(f)   why it was compiled, what runs in Python
    view(f, path)        all of that as one HTML page              doctor()     what this machine offers

f is what `jit` gave, a Cell that ran in GRAPH_MODE, or a JitFunction; it must have been called. ir and diff take graphs too.
"""
from .stages import diff, ir, steps
from .storages import memory
from .reports import doctor, explain, kernel
from .view import view

__all__ = ["diff", "doctor", "explain", "ir", "kernel", "memory", "steps", "view"]
