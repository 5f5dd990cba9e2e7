"""The memory plan of a function: which storage lives when, how large it is, which kernel wrote it first.

    storage       bytes      offset  lives                         first written by
          0          80           0  ##############                matmul_f32_nn_none, model.py:6
          1          80         128          ##################    fused_tanh_mul, model.py:7
    arena 256 bytes, lower bound 256
"""
from ..compile import flow as F
from .target import compiled_of

COLUMNS = 28


def memory(f):
    """The plan of the latest variant, for the sizes of its latest call. A text."""
    executable = compiled_of(f).latest().compiled.executable
    plan = executable.plan
    layout = plan.layouts.latest()
    writers = first_writers(executable.linked.program)
    end = max((s.end for s in plan.storages), default=0) + 1
    lines = [f"{'storage':>7}  {'bytes':>10}  {'offset':>10}  {'lives':<{COLUMNS}}  first written by"]
    for storage in plan.storages:
        nbytes = layout.sizes[storage.number] if layout else storage.size
        offset = layout.offsets[storage.number] if layout else "?"
        lines.append(f"{storage.number:>7}  {nbytes!s:>10}  {offset!s:>10}  {life(storage, end):<{COLUMNS}}"
                     f"  {writers.get((storage.flow, storage.register), '')}".rstrip())
    for (name, register), site in plan.sites.items():
        if not site.planned:
            lines.append(f"dynamic  %{register} of {name}: its size is known at run time only"
                         f"  {writers.get((name, register), '')}".rstrip())
    if layout is not None:
        lines.append(f"arena {layout.peak} bytes, lower bound {layout.lower_bound}")
    return "\n".join(lines) + "\n"


def life(storage, end):
    """The lifetime as a bar."""
    first = storage.start * COLUMNS // end
    last = max(first, storage.end * COLUMNS // end)
    return " " * first + "#" * (last - first + 1)


def first_writers(program):
    """{(flow, register): "kernel, file:line"} of the first kernel that gets a pointer, for each pointer."""
    found: dict = {}
    for flow in program.all_flows():
        for instruction in F.walk(flow.body):
            if isinstance(instruction, F.CallKernel):
                location = getattr(instruction.origin, "location", None)
                text = instruction.kernel.name + (f", {location}" if location is not None else "")
                for register in instruction.args:
                    found.setdefault((flow.name, register), text)
    return found
