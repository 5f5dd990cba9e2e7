"""data_sink: several training steps in one native call.

    train = data_sink(step, dataset, sink_size=100)          train()  ->  what the hundredth step gives

The batches of a call are put into one array for each column; one compiled loop over its first axis runs the step, the
optimiser's updates included, without coming back to Python. It is the loop on the device of MindSpore's data sinking.
"""
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..common.errors import ArgumentError, ValueRangeError
from ..common.tensor import Tensor
from .jit import Jitted, jit


def data_sink(fn: Callable[..., Any], dataset: Any, sink_size: int = 1, jit_config: Any = None,
              input_signature: Any = None) -> Callable[..., Any]:
    """A function without arguments: each call runs `sink_size` steps `fn(*batch)` as one graph, and gives what the last
    one gave.

    dataset        : an iterable of batches, tuples of Tensors or arrays (or one Tensor or array), or what has
                     `create_tuple_iterator()`; after its end it begins again. Batches of one call that differ in shape
                     or dtype run as one loop for each row of equal ones
    sink_size      : the number of steps in a call, > 0
    jit_config     : a JitConfig
    input_signature: Tensors whose shapes may hold None: the declared sizes of one batch
    raises         : ValueRangeError for a sink_size that is no positive int; ArgumentError for a dataset that cannot be
                     iterated, has no batch, or has batches of different numbers of columns
    """
    if not isinstance(sink_size, int) or isinstance(sink_size, bool) or sink_size < 1:
        raise ValueRangeError(f"data_sink: sink_size is a positive int, not {sink_size!r}")
    if not callable(fn):
        raise ArgumentError(f"data_sink: takes a function or a Cell, not {type(fn).__name__}")
    batches, run = _ForEver(dataset), steps_of(fn, jit_config, input_signature)

    def sink_process():
        return run([next(batches) for _ in range(sink_size)])
    setattr(sink_process, "loop", getattr(run, "loop"))
    return sink_process


def steps_of(fn: Callable[..., Any], jit_config: Any = None, input_signature: Any = None) -> Callable[..., Any]:
    """A function of a list of batches, tuples of arrays: the steps fn(*batch) one after the other in one native call (one
    for each row of batches of equal shapes and dtypes), and what the last one gives. Arguments as `data_sink` has them."""
    step = fn.__wrapped__ if isinstance(fn, Jitted) else fn
    if input_signature is not None:
        columns = input_signature if isinstance(input_signature, (tuple, list)) else (input_signature,)
        input_signature = tuple([Tensor(shape=(None, *t.shape), dtype=t.dtype) for t in columns])

    def steps(*columns):
        result = step(*[column[0] for column in columns])
        for i in range(1, columns[0].shape[0]):
            result = step(*[column[i] for column in columns])
        return result
    run = jit(steps, jit_config=jit_config, input_signature=input_signature)

    def run_batches(batches):
        result = None
        for _, alike in itertools.groupby(batches, lambda batch: [(a.shape, a.dtype) for a in batch]):
            result = run(*[Tensor(np.stack(column)) for column in zip(*alike)])
        return result
    setattr(run_batches, "loop", run)
    return run_batches


class _ForEver:
    """The batches of a dataset as tuples of arrays, again and again. An error leaves it where it was."""

    def __init__(self, dataset):
        begin = getattr(dataset, "create_tuple_iterator", None) or getattr(dataset, "__iter__", None)
        if begin is None:
            raise ArgumentError(f"data_sink: a {type(dataset).__name__} cannot be iterated",
                                hint="an iterable of tuples of Tensors or arrays")
        self.begin = begin
        self.left, self.columns = iter(begin()), None

    def __next__(self):
        batch = next(self.left, None)
        if batch is None:
            self.left = iter(self.begin())
            batch = next(self.left, None)
        if batch is None and self.columns is None:
            raise ArgumentError("data_sink: the dataset has no batch")
        if batch is None:
            raise ArgumentError("data_sink: the dataset gives its batches once only",
                                hint="a list, or an object that can be iterated again")
        batch = tuple(batch) if isinstance(batch, (tuple, list)) else (batch,)
        self.columns = self.columns or len(batch)
        if not batch or len(batch) != self.columns:
            raise ArgumentError(f"data_sink: a batch has {len(batch)} columns, those before it {self.columns}")
        return tuple([a.asnumpy() if isinstance(a, Tensor) else np.asarray(a) for a in batch])
