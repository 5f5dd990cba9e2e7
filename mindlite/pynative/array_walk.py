"""A tape that is walked entry by entry, on the elements of its Tensors: no Tensor is made for what flows between two entries.

    entry: (number 3 -> 5, saved y)         given = [y's elements, flows.take(5)];   flows.add(3, its gradient)
"""
import numpy as np

from .. import ops
from ..common.storage import DeviceArray, ShardedArray, elsewhere
from ..common.tensor import Tensor
from .products import Rows

LARGE = 1 << 12                                  # elements of a sum that is worth a look at who owns it


class Flowing(dict):
    """{number of a value: the elements of what has flowed to it}, or a number.

    owned : numbers of values whose sums, large ones, were made here: nobody else has them, so the next one is added in place
    rows  : products that have to be added (products.py)
    """

    def __init__(self, seeds=()):
        super().__init__()
        self.owned, self.rows = set(), Rows()
        for number, cotangent in seeds:
            self.add(number, elements_of(cotangent))

    def add(self, number, flow):
        """Add to what has flowed to a value."""
        before = self.get(number)
        if before is None:
            self[number] = flow
        elif type(before) is type(flow) is np.ndarray and before.shape == flow.shape and before.dtype is flow.dtype and (
                number in self.owned or before.size < LARGE and before.dtype.isbuiltin == 1):
            self[number] = np.asarray(np.add(before, flow, before if number in self.owned else None))
        else:
            self.owned.discard(number)
            self[number] = made = elements_of(ops.add(tensor_of(before), tensor_of(flow)))
            if type(made) is np.ndarray and made.size >= LARGE:
                self.owned.add(number)

    def take(self, number):
        """What has flowed to a value, which goes on from here; None if nothing has."""
        if number in self.rows.pairs:
            self.add(number, self.rows.product(number))
        self.owned.discard(number)
        return self.pop(number, None)

    def add_results(self, operation, arrays, numbers):
        """Run the operation of a Backward whose products wait, and add what it gives to these numbers."""
        inner, results = operation.waiting
        outs = inner.run_quietly(arrays)

        def operand(place, transposed):
            kind, index = place
            array = (outs if kind == "result" else arrays)[index]
            return array.T if transposed else array
        for number, (kind, *parts) in zip(numbers, results):
            made = outs[parts[0]] if kind == "result" else self.rows.enter(number, *[operand(*part) for part in parts])
            if made is not None:
                self.add(number, made)


def by_arrays(live, seeds, wrt, last=False):
    """The gradients of entries that are graphs, operation by operation; nothing is recorded. Arguments as of `gradients`."""
    flows = Flowing(seeds)
    take, add = flows.take, flows.add
    with np.errstate(all="ignore"):                          # inf and NaN are results
        for entry in live:
            backward, outputs = entry.backward, entry.outputs
            douts = [take(outputs[i]) for i in backward.seeds]
            missing = [i for i, dout in enumerate(douts) if dout is None]
            if missing:
                if len(missing) == len(douts):
                    continue
                for i in missing:
                    douts[i] = np.zeros(backward.douts[i].shape, backward.douts[i].dtype.numpy)
            operation = backward.operation
            given = arrays_of(entry.saved, douts)
            if given is None:                                # numbers, or elements elsewhere
                found = operation.run([*map(elements_of, entry.saved), *douts])
            elif operation.waiting is not None:
                flows.add_results(operation, given, entry.inputs)
                found = ()
            else:
                found = operation.run_quietly(given)
            if last:
                entry.saved = ()
            for number, gradient in zip(entry.inputs, found):
                if gradient is not None:
                    add(number, gradient)
        for number in list(flows.rows.pairs):
            add(number, flows.rows.product(number))
    return [None if found is None else tensor_of(found) for found in map(flows.get, wrt)]


def arrays_of(saved, douts):
    """The ndarrays of what an entry has saved, and cotangents; None where one is a number or lies elsewhere."""
    if elsewhere.used:
        arrays = [elements_of(value) for value in saved]
    else:
        try:
            arrays = [value.host_array for value in saved]
        except AttributeError:                               # a number
            return None
    arrays += douts
    for array in arrays:
        if type(array) is not np.ndarray:
            return None
    return arrays


def elements_of(value):
    """The elements of a Tensor; a number stays one."""
    return value.elements if isinstance(value, Tensor) else value


def tensor_of(value):
    """A Tensor around elements; a number stays one."""
    if isinstance(value, np.generic):
        value = np.asarray(value)
    return Tensor.of_elements(value) if isinstance(value, (np.ndarray, DeviceArray, ShardedArray)) else value
