"""shard: a function whose work is split between ranks as Layouts say; what it takes and gives is whole on every rank.

    layout = Layout((2, 2), ("dp", "mp"))
    forward = shard(net, in_strategy=(layout("dp", "None"),), parameter_plan={"dense.weight": layout("mp", "None")})

In a graph the wishes stand as `placed` nodes; the pass `partition` (mindlite/parallel) chooses the rest and writes the
collectives, behind autodiff. In eager mode a call of the function is a call of its compiled form, one entry on the tape.
"""
import functools
from typing import Any

from ..common.errors import ArgumentError, ValueRangeError
from ..common.ranks import engine
from ..common.tensor import Parameter, Tensor
from ..mindir.graph import AnfNode
from ..mindir.primitive import is_interpreting
from ..mindir.protocol import CallOf
from ..ops.collectives import place_as
from ..parallel import Layout
from ..parallel.partition import WISH
from .derivative import name_of
from .jit import jit


class Sharded:
    """What `shard` gives: called like the function, by position."""

    def __init__(self, function, ins, outs):
        self.function, self.ins, self.outs = function, ins, outs
        if hasattr(function, "__name__"):
            functools.update_wrapper(self, function, updated=())
        self.compiled = jit(self.inside)

    def inside(self, *args):
        """The function between its wishes."""
        wishes = self.ins + (None,) * (len(args) - len(self.ins))
        value = self.function(*[_wish(arg, layout) for arg, layout in zip(args, wishes)])
        if not self.outs:
            return value
        values = value if isinstance(value, tuple) else (value,)
        if len(values) < len(self.outs):
            raise ArgumentError(f"shard: {len(self.outs)} strategies for {len(values)} results")
        made = [_wish(v, layout) for v, layout in zip(values, self.outs + (None,) * (len(values) - len(self.outs)))]
        return tuple(made) if isinstance(value, tuple) else made[0]

    def __call__(self, *args):
        if len(args) < len(self.ins):
            raise ArgumentError(f"shard: {len(self.ins)} strategies for {len(args)} arguments")
        return self.inside(*args) if is_interpreting() else self.compiled(*args)

    def __mindir__(self):
        return CallOf(self.inside)

    def explain(self, details=False):
        """What was compiled, what is sent between ranks and why, as text."""
        return self.compiled.explain(details)

    def __repr__(self):
        return f"<shard {name_of(self.function)}>"


def _wish(value, layout):
    if layout is None:
        return value
    if not hasattr(value, "shape"):
        raise ArgumentError(f"shard: {layout!r} is for a Tensor, not {type(value).__name__}", hint="None where there is no wish")
    return place_as(value, layout.placement(len(value.shape)))


def shard(fn: Any, in_strategy: tuple, out_strategy: tuple | None = None, parameter_plan: dict | None = None,
          device: str = "CPU", level: int = 0) -> Sharded:
    """`fn`, a function or Cell, whose work the ranks of a mesh split between them.

    in_strategy    : a tuple with a Layout for each argument, or None where there is no wish; in place of a Layout a tuple of
                     ints, one for each axis, of which one is the number of ranks and the others are 1
    out_strategy   : the same for the results; None: no wishes
    parameter_plan : {name of a Parameter of the Cell: Layout}
    device, level  : MindSpore's, without meaning here
    result         : a function of the same arguments: Tensors that are whole, and equal, on every rank; so are its results,
                     and the gradients that pass it. What no wish decides is chosen by price, explain() tells it
    raises         : ArgumentError, ValueRangeError for what is no strategy
    """
    if not callable(fn):
        raise ArgumentError(f"shard: takes a function or a Cell, not {type(fn).__name__}")
    ins, outs = _strategies("in_strategy", in_strategy), _strategies("out_strategy", out_strategy or ())
    known = {}
    if parameter_plan is not None:
        if not isinstance(parameter_plan, dict) or not hasattr(fn, "parameters_dict"):
            raise ArgumentError("shard: parameter_plan is a dict, for the Parameters of a Cell",
                                note=f"{type(parameter_plan).__name__}, for {type(fn).__name__}")
        known = fn.parameters_dict()
    for name, strategy in (parameter_plan or {}).items():
        name = name.removeprefix("self.")
        if name not in known:
            raise ValueRangeError(f"shard: the Cell has no Parameter {name!r}", hint=", ".join(sorted(known)))
        place(known[name], _layout("parameter_plan", strategy))
    return Sharded(fn, ins, outs)


def place(param: Parameter, layout: Layout) -> None:
    """Say how graphs are to compute with a Parameter: each rank with the part that the Layout gives it.

    param  : a Parameter, a Tensor whose memory stays whole
    layout : a Layout of as many axes as it has
    """
    param.__dict__[WISH] = layout.placement(len(param.shape))


def reshard(tensor: Tensor, layout: Layout) -> Tensor:
    """The tensor in parts: each rank of the mesh has the one that the Layout gives it, as `Tensor.to_global`.

    tensor : a Tensor of any shape, sharded in any way, or whole and equal on all ranks
    layout : a Layout of as many axes as it has
    raises : ArgumentError for what is no Tensor or no Layout
    """
    if not isinstance(layout, Layout) or not isinstance(tensor, (Tensor, AnfNode)):
        raise ArgumentError(f"reshard: takes a Tensor and a Layout, not {type(tensor).__name__} and {type(layout).__name__}")
    return tensor.to_global(layout)


def _strategies(name, value):
    if not isinstance(value, tuple):
        raise ArgumentError(f"shard: {name} is a tuple of Layouts, not {type(value).__name__}")
    return tuple([None if strategy is None else _layout(name, strategy) for strategy in value])


def _layout(name, strategy):
    """A Layout, from itself or from a tuple of ints."""
    if isinstance(strategy, Layout):
        return strategy
    if not isinstance(strategy, tuple) or not all(type(n) is int for n in strategy):
        raise ArgumentError(f"shard: {name} holds Layouts and tuples of ints, not {strategy!r}")
    size = engine().size
    if any(n not in (1, size) for n in strategy) or size > 1 and strategy.count(size) > 1:
        raise ValueRangeError(f"shard: {strategy} does not split one axis between {size} ranks",
                              hint="a Layout says how several axes are split")
    return Layout((size,), ("dp",))(*["dp" if n == size and size > 1 else "None" for n in strategy])
