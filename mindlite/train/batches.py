"""MindSpore's DatasetHelper: the batches of a dataset as tuples of Tensors, for loops that are written by hand."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..common.checks import check_value_type
from ..common.dtype import dtype
from ..common.errors import ArgumentError, ValueRangeError
from ..common.tensor import Tensor


class DatasetHelper:
    """Iterate over the batches of a dataset; each iteration is one pass.

    dataset           : what has `create_tuple_iterator` and `get_dataset_size`
    dataset_sink_mode : False; `mindlite.data_sink` runs several steps in one native call
    sink_size         : -1, as all batches of the dataset are iterated over
    epoch_num         : int, how many passes there will be
    raises            : ArgumentError, ValueRangeError for other arguments
    """

    def __init__(self, dataset: Any, dataset_sink_mode: bool = True, sink_size: int = -1, epoch_num: int = 1) -> None:
        check_value_type("dataset_sink_mode", dataset_sink_mode, bool, "DatasetHelper")
        check_value_type("sink_size", sink_size, int, "DatasetHelper")
        if sink_size < -1 or sink_size == 0:
            raise ValueRangeError(f"DatasetHelper: sink_size is -1 or above 0, not {sink_size}")
        if dataset_sink_mode:
            raise ValueRangeError("DatasetHelper: dataset_sink_mode=True is not here",
                                  hint="dataset_sink_mode=False; or ms.data_sink(step, dataset, sink_size)")
        if not hasattr(dataset, "create_tuple_iterator"):
            raise ArgumentError(f"DatasetHelper: a dataset is wanted, not {type(dataset).__name__}")
        self.dataset = dataset
        self._batches = dataset.create_tuple_iterator(num_epochs=epoch_num)

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        return (tuple(row) for row in self._batches)

    def sink_size(self) -> int:
        """How many batches a pass has."""
        return self.dataset.get_dataset_size()

    def types_shapes(self) -> tuple[list, list]:
        """(the dtypes of the columns, their shapes)"""
        return [dtype(kind) for kind in self.dataset.output_types()], self.dataset.output_shapes()
