"""plan: how ranks would split a program, before anything runs.

    found = plan(step, Layout((4,), ("dp",)), x, y, parameters="free", memory=1 << 20)
    print(found.report())               each boxing with its bytes, the points and bytes of this rank, where Parameters would lie
"""
import dataclasses
from typing import Any

from ..common.errors import ArgumentError, ValueRangeError
from ..common.initializer import Zero
from ..common.tensor import Tensor
from ..compile.passes import Wanted, derive_graph, ends_of
from ..compile.signature import Leaves, arguments_of, declared_spec, lying, signature_of
from ..infer.specialise import specialise
from ..optim import optimise
from ..parallel import Layout
from ..parallel.machine import Machine, machine_here
from ..parallel.partition import Ends, partition
from ..parallel.report import Plan
from .jit import jit

STEPS = 12                                       # of the search for the price of memory


def plan(function: Any, layout: Layout, *args: Any, parameters: str = "fixed", memory: int | None = None,
         machine: Machine | None = None) -> Plan:
    """The Plan of function(*args) on a mesh; nothing is run, and nothing is sent.

    function   : a function or Cell, a training step for one      layout: a Layout of the mesh
    args       : as for a call; Tensor(shape=[None, 8], dtype=..) is one of any size, and bytes are functions of it
    parameters : "fixed": Parameters lie as they do; "free": where they lie is chosen too (`Plan.parameters`)
    memory     : the most bytes of Parameters on this rank, None for any; what fits is found by a price of each byte (Lagrange)
    machine    : the prices; None: those that were measured between the ranks, or round numbers
    raises     : ArgumentError, ValueRangeError; what compiling the function raises
    """
    if not isinstance(layout, Layout) or not callable(function):
        raise ArgumentError(f"plan: takes a function and a Layout, not {type(function).__name__} and {type(layout).__name__}")
    if parameters not in ("fixed", "free"):
        raise ValueRangeError(f'plan: parameters is "fixed" or "free", not {parameters!r}')
    machine = machine or machine_here()
    compiled, leaves = jit(lambda *inputs: function(*inputs)).compiled, Leaves()
    examples = tuple(map(_example, args))
    signature = declared_spec(args, signature_of((examples, {}), leaves))
    given, named = arguments_of(signature, examples, {})
    specialised = specialise(compiled.function, given, named, compiled.name, True, compiled.fallbacks)
    graph = optimise(derive_graph(specialised.graph))
    ends = ends_of(graph, Wanted("O1", placements=lying("placement", signature), updates=specialised.updates))
    if parameters == "free":
        owned = {id(p.default): p for p in graph.parameters if p.default is not None}
        updates = {number: graph.parameters[owner] if isinstance(owner, int) else owned[id(owner)]
                   for owner, number in specialised.updates}
        ends = Ends(ends.lying, ends.kept, True, open=tuple(owned.values()), updates=updates)
    ends = dataclasses.replace(ends, mesh=layout.mesh)
    found = partition(graph, machine, ends)[1]
    if memory is None or found.memory <= memory:
        return found
    price = machine.byte
    for _ in range(STEPS):
        found = partition(graph, dataclasses.replace(machine, resident=price), ends)[1]
        if found.memory <= memory:
            return found
        price *= 32
    raise ValueRangeError(f"plan: no placement of the Parameters takes {memory} bytes on this rank",
                          note=f"the least that was found: {found.memory}", hint='parameters="free", more ranks')


def _example(arg: Any) -> Any:
    """An argument of one row where its sizes are open."""
    if not isinstance(arg, Tensor) or all(type(size) is int and size >= 0 for size in arg.shape):
        return arg
    return Tensor(shape=[size if type(size) is int and size >= 0 else 1 for size in arg.shape], dtype=arg.dtype, init=Zero())
