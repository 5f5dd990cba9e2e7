"""What the compiler writes into the program of a rank, beside collectives: its part of a pipeline, collectives that run beside
kernels, memory in which sums are made where they are read, and whose program it is. No user writes them.
"""
import numpy as np

from ..common.errors import GradientError, RankError
from ..common.ranks import engine, kinds_of, packed, unpacked
from ..mindir.abstract import AbstractAny, AbstractTuple
from ..mindir.primitive import bprop_rule, eval_rule, expand_rule, find_primitive, infer_rule, primitive
from .collectives import TRAITS, all_reduce, all_reduce_coalesced


# ---------------------------------------------------------------- in_stages

@primitive(traits=TRAITS | {"message"})
def in_stages(*xs, schedule, gives, weights, gradients=True):
    """This rank's part of a pipeline (nn/pipeline_graph.py), forwards and backwards: a tuple of the loss, the gradients of the
    weights, and the new values of what it assigns.

    xs        : the arguments of the pipeline, this rank's weights, what it assigns, what else it reads
    schedule  : writes it in smaller operators: schedule.write(xs, gradients) -> a tuple of nodes
    gives     : the AbstractTuple of the results      weights: (number of the first weight among xs, how many there are)
    gradients : False: nobody reads them, and nothing runs backwards; zeros stand in their places
    raises    : GradientError where a gradient of an argument is wanted, RankError
    """


@infer_rule(in_stages)
def in_stages_infer(*xs, schedule, gives, weights, gradients):
    return gives


@expand_rule(in_stages)
def in_stages_expand(*xs, schedule, gives, weights, gradients):
    return schedule.write(xs, gradients)


@bprop_rule(in_stages)
def in_stages_bprop(*xs, out, dout, schedule, gives, weights, gradients):
    first, count = weights
    of_weights = [slope * dout[0] for slope in out[1:1 + count]]
    return (*[no_gradient(x) if x.dtype.is_differentiable else None for x in xs[:first]], *of_weights,
            *[None] * (len(xs) - first - count))


@primitive(traits={"message"})
def no_gradient(x):
    """The gradient of an argument of a pipeline, like x, which nobody computes. raises : GradientError where it is wanted"""


@infer_rule(no_gradient)
def no_gradient_infer(x):
    return x


@expand_rule(no_gradient)
def no_gradient_expand(x):
    raise GradientError("PipelineCell: over ranks there are gradients of Parameters, none of inputs")


# ---------------------------------------------------------------- begin, finish

@primitive(traits=TRAITS | {"message"})
def begin(*xs, operator, settings):
    """Begin a collective beside the program (parallel/overlap.py writes it, into graphs of kernels). Gives what `finish` takes.

    xs : its operands, which may change afterwards      operator: its name      settings: its attributes
    """


@infer_rule(begin)
def begin_infer(*xs, operator, settings):
    return AbstractAny()


@eval_rule(begin)
def begin_eval(*xs, operator, settings):
    here, prim = engine(), find_primitive(operator)
    if prim is all_reduce_coalesced or prim is all_reduce:               # the copy is that in which the sum is made
        mine, kind, shapes = packed(xs), kinds_of(xs), [x.shape for x in xs]

        def reduced():
            made = unpacked(here.all_reduce(mine, settings["reduction"], settings["group"], owned=True, kind=kind), shapes)
            return tuple(made) if prim is all_reduce_coalesced else made[0]
        return here.begin(reduced)
    run, (x,) = eval_rule[prim], [x.copy() for x in xs]
    return here.begin(lambda: run(x, **settings))


@primitive(traits=TRAITS | {"message"})
def finish(began, *, abstract):
    """What a collective that was begun gives: a tensor, or a tuple, of this abstract. raises : RankError"""


@infer_rule(finish)
def finish_infer(began, *, abstract):
    return abstract


@eval_rule(finish)
def finish_eval(began, *, abstract):
    return began.wait()


# ---------------------------------------------------------------- open_window, read_window

@primitive(traits=TRAITS | {"message"})
def open_window(*, like, group):
    """Memory that the ranks of a machine share (parallel/windows.py writes it, into graphs of kernels): (the window, a tensor
    for each of `like`, that may be filled for `read_window`).

    like : AbstractTensors of one dtype and of known sizes
    """


@infer_rule(open_window)
def open_window_infer(*, like, group):
    return AbstractTuple((AbstractAny(), *like))


@eval_rule(open_window)
def open_window_eval(*, like, group):
    window = engine().open_window(tuple([x.shape for x in like]), like[0].dtype.numpy, group)
    return (window, *window.mine)


@primitive(traits=TRAITS | {"message"})
def read_window(window, *xs, group):
    """All ranks' xs, those of the first rank first: an all_reduce whose readers fold. Nothing is copied where xs are in the
    memory that `open_window` gave, and where they are read.

    raises : RankError
    """


@infer_rule(read_window)
def read_window_infer(window, *xs, group):
    return AbstractTuple(xs * len(group))


@eval_rule(read_window)
def read_window_eval(window, *xs, group):
    return tuple(engine().read_window(window, [np.asarray(x, order="C") for x in xs], group))


# ---------------------------------------------------------------- on_rank

@primitive(traits=TRAITS | {"message"})
def on_rank(*, rank, size):
    """Nothing, on this rank of a world of that size: the program behind it is that rank's. Gives an empty tuple.

    raises : RankError elsewhere
    """


@infer_rule(on_rank)
def on_rank_infer(*, rank, size):
    return AbstractTuple(())


@eval_rule(on_rank)
def on_rank_eval(*, rank, size):
    if (engine().rank, engine().size) != (rank, size):
        raise RankError(f"this function was compiled for rank {rank} of {size}, and is called on rank {engine().rank} of "
                        f"{engine().size}", hint="let each rank make its own: jit inside of what SimWorld.run calls")
    return ()
