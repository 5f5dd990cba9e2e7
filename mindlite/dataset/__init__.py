"""Data pipelines: sources, operations on rows, transforms of images, text and audio. MindSpore's `mindspore.dataset`.

    import mindlite.dataset as ds
    rows = ds.GeneratorDataset(source, ["image", "label"]).shuffle(1000).map(flip, "image").batch(32)
    for image, label in rows.create_tuple_iterator(num_epochs=2): ..

    pipeline.py   how it runs: rows are described, then computed here or in a worker process
    dataset.py    Dataset: the node, its operations as methods;  rows.py, order.py, batches.py, sources.py  the kinds of nodes
    workers.py    processes and shared memory;  draws.py  random numbers;  samplers.py, iterators.py, columns.py, callbacks.py

This room knows nothing of the compiler; arrays become Tensors in iterators.py.
"""
import importlib

from . import config
from .batches import BatchInfo
from .callbacks import DSCallback, WaitedDSCallback
from .config import ErrorSamplesMode
from .dataset import Dataset
from .iterators import DictIterator, Iterator, TupleIterator, _cleanup, _set_iterator_cleanup, _unset_iterator_cleanup
from .order import ZipDataset
from .pipeline import PipelineError
from .rows import MapDataset
from .samplers import (BuiltinSampler, DistributedSampler, IterSampler, PKSampler, RandomSampler, Sampler, SequentialSampler,
                       Shuffle, SubsetRandomSampler, SubsetSampler, WeightedRandomSampler)
from .sources import GeneratorDataset, NumpySlicesDataset, PaddedDataset
from .workers import WorkerError


_LAZY = ("transforms", "vision", "text", "audio")


def __getattr__(name: str):
    if name in _LAZY:                            # their libraries are loaded when they are used
        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def zip(datasets: tuple) -> Dataset:
    """The columns of the datasets side by side, as many rows as the shortest has. datasets : a tuple of at least two"""
    return ZipDataset(datasets)


__all__ = ["BatchInfo", "BuiltinSampler", "DSCallback", "Dataset", "DictIterator", "DistributedSampler", "ErrorSamplesMode",
           "GeneratorDataset", "IterSampler", "Iterator", "MapDataset", "NumpySlicesDataset", "PKSampler", "PaddedDataset",
           "PipelineError", "RandomSampler", "Sampler", "SequentialSampler", "Shuffle", "SubsetRandomSampler", "SubsetSampler",
           "TupleIterator", "WaitedDSCallback", "WeightedRandomSampler", "WorkerError", "_cleanup", "_set_iterator_cleanup",
           "_unset_iterator_cleanup", "config", "zip"]
