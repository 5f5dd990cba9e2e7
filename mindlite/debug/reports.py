"""What was compiled and why; the kernels; what the machine offers."""
from ..backend.doctor import report
from ..functional.derivative import Derived
from .target import compiled_of


def explain(f, details=False):
    """What of a function runs in Python and why, and why each variant was compiled; of a derivative also how tapes of
    eager mode were walked. A text.

    details : stages, kernels, library kernels, and what was not fused and why, too
    """
    return (f if isinstance(f, Derived) else compiled_of(f)).explain(details) + "\n"


def kernel(f, name=None, library=False):
    """The source of the kernels of a function, with the user's lines beside what came from them.

    name   : only this one                    library: those of libraries too, as the code that writes them
    """
    parts = []
    for number, (nodes, made) in enumerate(launches(f), 1):
        where = _locations(nodes)
        if isinstance(made, str):
            if name is None:
                parts.append(f"# {number}. {nodes[0].fn.name} runs in Python: {made}{where}")
            continue
        code = getattr(made, "kernel", made)
        if name is not None and code.name != name:
            continue
        generated = hasattr(made, "nest")
        head = f"# {number}. {code.name}{'' if generated else f': a library kernel, {code.why}'}{where}"
        parts.append(f"{head}\n{code.source.rstrip()}\n" if generated or library or name is not None else head)
    return "\n".join(parts) + "\n" if parts else "no kernels\n"


def _locations(nodes):
    """Where a kernel is launched: `   from model.py:3`, with the number of launches and each line if there are several."""
    locations = dict.fromkeys(str(node.origin.location) for node in nodes if node.origin.location is not None)
    where = f"   from {', '.join(locations)}" if locations else ""
    return where if len(nodes) == 1 else f"   launched {len(nodes)} times{where}"


def launches(f):
    """[(nodes, graph_kernel.Lowered, library Kernel or the reason why it runs in Python)] of the latest variant: each kernel
    once, with all nodes that launch it; what runs in Python stands by itself."""
    found: dict = {}
    for node, made in compiled_of(f).latest().compiled.full.lowered.kernels:
        key = id(node) if isinstance(made, str) else id(getattr(made, "kernel", made))
        found.setdefault(key, ([], made))[0].append(node)
    return list(found.values())


def doctor():
    """What this machine offers, and what would help: a table."""
    rows = report()
    width = max(len(name) for name, _, _ in rows) + 2
    lines = []
    for name, state, advice in rows:
        lines.append(f"{name:<{width}}{state}")
        if advice:
            lines.append(f"{'':<{width}}-> {advice}")
    return "\n".join(lines) + "\n"
