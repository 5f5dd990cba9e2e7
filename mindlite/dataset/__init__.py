"""Data pipelines: sources, operations on rows, transforms of images, text and audio. MindSpore's `mindspore.dataset`.

    import mindlite.dataset as ds
    rows = ds.GeneratorDataset(source, ["image", "label"]).shuffle(1000).map(flip, "image").batch(32)
    for image, label in rows.create_tuple_iterator(num_epochs=2): ..

    pipeline.py   how it runs: rows are described, then computed here or in a worker process
    dataset.py    Dataset: the node, its operations as methods;  rows.py, order.py, batches.py, sources.py  the kinds of nodes
    workers.py    processes and shared memory;  draws.py  random numbers;  samplers.py, iterators.py, columns.py, callbacks.py
    files/        sources in files, one table;  line_reader.py  lines by number;  mindrecord/  MindSpore's format
    serialization.py  pipelines as JSON
    debug.py      hooks of the debug mode
    operation.py  makes operations of functions: transforms.py, vision/, text.py, audio/

This room knows nothing of the compiler; arrays become Tensors in iterators.py.
"""
import importlib

from . import config
from .batches import BatchInfo
from .callbacks import DSCallback, WaitedDSCallback
from .config import ErrorSamplesMode
from .dataset import Dataset
from .files.images import (Caltech101Dataset, Caltech256Dataset, CelebADataset, Cifar100Dataset, Cifar10Dataset, CocoDataset,
                           DIV2KDataset, EMnistDataset, FakeImageDataset, FashionMnistDataset, FlickrDataset, Flowers102Dataset,
                           Food101Dataset, ImageFolderDataset, KITTIDataset, KMnistDataset, ManifestDataset, MnistDataset,
                           OmniglotDataset, Places365Dataset, QMnistDataset, RenderedSST2Dataset, SBUDataset, STL10Dataset,
                           SUN397Dataset, SVHNDataset, SemeionDataset, USPSDataset, VOCDataset)
from .files.records import RandomDataset, Schema, TFRecordDataset
from .files.scenes import (CityscapesDataset, LFWDataset, LSUNDataset, PhotoTourDataset, SBDataset, WIDERFaceDataset)
from .files.sounds import (CMUArcticDataset, GTZANDataset, LJSpeechDataset, LibriTTSDataset, SpeechCommandsDataset,
                           TedliumDataset, YesNoDataset)
from .files.texts import (AGNewsDataset, AmazonReviewDataset, CLUEDataset, CSVDataset, CoNLL2000Dataset, DBpediaDataset,
                          EnWik9Dataset, IMDBDataset, IWSLT2016Dataset, IWSLT2017Dataset, Multi30kDataset, PennTreebankDataset,
                          SQuADDataset, SST2Dataset, SogouNewsDataset, TextFileDataset, UDPOSDataset, WikiTextDataset,
                          YahooAnswersDataset, YelpReviewDataset)
from .iterators import DictIterator, Iterator, TupleIterator, _cleanup, _set_iterator_cleanup, _unset_iterator_cleanup
from .line_reader import LineReader
from .mindrecord.reader import MindDataset
from .order import ZipDataset
from .pipeline import PipelineError
from .rows import MapDataset
from .samplers import (BuiltinSampler, DistributedSampler, IterSampler, PKSampler, RandomSampler, Sampler, SequentialSampler,
                       Shuffle, SubsetRandomSampler, SubsetSampler, WeightedRandomSampler)
from .sources import GeneratorDataset, NumpySlicesDataset, PaddedDataset
from .workers import WorkerError


_LAZY = ("transforms", "vision", "text", "audio", "serialization", "debug")
_DESCRIPTIONS = ("serialize", "deserialize", "show", "compare")          # of serialization.py


def __getattr__(name: str):
    if name in _LAZY:                            # their libraries are loaded when they are used
        return importlib.import_module("." + name, __name__)
    if name in _DESCRIPTIONS:
        return getattr(importlib.import_module(".serialization", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def zip(datasets: tuple) -> Dataset:
    """The columns of the datasets side by side, as many rows as the shortest has. datasets : a tuple of at least two"""
    return ZipDataset(datasets)


__all__ = ["AGNewsDataset", "AmazonReviewDataset", "BatchInfo", "BuiltinSampler", "CLUEDataset", "CMUArcticDataset",
           "CSVDataset", "Caltech101Dataset", "Caltech256Dataset", "CelebADataset", "Cifar100Dataset", "Cifar10Dataset",
           "CityscapesDataset", "CoNLL2000Dataset", "CocoDataset", "DBpediaDataset", "DIV2KDataset", "DSCallback", "Dataset",
           "DictIterator", "DistributedSampler", "EMnistDataset", "EnWik9Dataset", "ErrorSamplesMode", "FakeImageDataset",
           "FashionMnistDataset", "FlickrDataset", "Flowers102Dataset", "Food101Dataset", "GTZANDataset", "GeneratorDataset",
           "IMDBDataset", "IWSLT2016Dataset", "IWSLT2017Dataset", "ImageFolderDataset", "IterSampler", "Iterator",
           "KITTIDataset", "KMnistDataset", "LFWDataset", "LJSpeechDataset", "LSUNDataset", "LibriTTSDataset", "LineReader",
           "ManifestDataset", "MapDataset", "MindDataset", "MnistDataset", "Multi30kDataset", "NumpySlicesDataset",
           "OmniglotDataset", "PKSampler", "PaddedDataset", "PennTreebankDataset", "PhotoTourDataset", "PipelineError",
           "Places365Dataset", "QMnistDataset", "RandomDataset", "RandomSampler", "RenderedSST2Dataset", "SBDataset",
           "SBUDataset", "SQuADDataset", "SST2Dataset", "STL10Dataset", "SUN397Dataset", "SVHNDataset", "Sampler", "Schema",
           "SemeionDataset", "SequentialSampler", "Shuffle", "SogouNewsDataset", "SpeechCommandsDataset", "SubsetRandomSampler",
           "SubsetSampler", "TFRecordDataset", "TedliumDataset", "TextFileDataset", "TupleIterator", "UDPOSDataset",
           "USPSDataset", "VOCDataset", "WIDERFaceDataset", "WaitedDSCallback", "WeightedRandomSampler", "WikiTextDataset",
           "WorkerError", "YahooAnswersDataset", "YelpReviewDataset", "YesNoDataset", "_cleanup", "_set_iterator_cleanup",
           "_unset_iterator_cleanup", "compare", "config", "deserialize", "serialize", "show", "zip"]
