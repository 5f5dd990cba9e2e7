"""Samplers: which samples of a source are read, in which order.

    RandomSampler(num_samples=2).indices(5, SeededPass(1, 0))      array([3, 4])

A sampler is a function from the number of samples (and what random orders depend on: mersenne.py) to an array of indices. With a
child it chooses among what the child has chosen.
"""
from __future__ import annotations

import enum
import itertools
import math
import os
from typing import Any, Iterable, Iterator

import numpy as np

from ..common.errors import ArgumentError, MindliteError, ValueRangeError
from . import config
from .mersenne import Mersenne, SeededPass


class Shuffle(str, enum.Enum):
    """How far samples are moved: among all, among files, among all but within their file's place, or not at all."""
    FALSE = "false"
    GLOBAL = "global"
    PARTIAL = "partial"
    FILES = "files"
    INFILE = "infile"
    ADAPTIVE = "adaptive"


class SampleIndexError(MindliteError, RuntimeError):
    """A sampler that asks for a sample that does not exist."""


def _ints(**values: Any) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise ArgumentError(f"{name} must be integer but was: {value}.")


def _count(value: Any) -> None:
    if value is None:
        return
    _ints(num_samples=value)
    if not 0 <= value < 2 ** 63:
        raise ValueRangeError(f"num_samples exceeds the boundary between 0 and {2 ** 63 - 1}(INT64_MAX)!")


class BuiltinSampler:
    """Base of samplers. num_samples : how many at most, None or 0 for all"""
    needs_labels = False

    def __init__(self, num_samples: int | None = None) -> None:
        _count(num_samples)
        self.num_samples = num_samples
        self.child_sampler: BuiltinSampler | None = None

    def choose(self, size: int, order: SeededPass, labels: np.ndarray | None = None) -> np.ndarray:
        """Indices in [0, size), without regard to the child and to num_samples."""
        raise NotImplementedError

    def indices(self, size: int, order: SeededPass, labels: np.ndarray | None = None) -> np.ndarray:
        """The chosen samples of a source of `size`."""
        below = None if self.child_sampler is None else self.child_sampler.indices(size, order, labels)
        if below is not None:
            size, labels = len(below), None if labels is None else labels[below]
        found = np.asarray(self.choose(size, order, labels), np.int64)
        if self.num_samples:
            found = found[:self.num_samples]
        if len(found) and not (0 <= found.min() and found.max() < size):
            raise SampleIndexError(f"Sample ID ({found[(found < 0) | (found >= size)][0]}) is out of bound, expected range "
                                   f"[0, {size - 1}]", note=f"of {type(self).__name__}")
        return found if below is None else below[found]

    def count(self, size: int) -> int:
        """How many samples `indices` gives for a source of `size`."""
        return len(self.indices(size, SeededPass(0, 0), None))

    def _at_most(self, size: int) -> int:
        """How many samples there are, where all of the child's are chosen and `num_samples` is the limit."""
        below = size if self.child_sampler is None else self.child_sampler.count(size)
        return min(self.num_samples or below, below)

    def add_child(self, sampler: BuiltinSampler) -> None:
        """Choose among the samples that `sampler` chooses. raises : RuntimeError if there is a child already"""
        if self.child_sampler is not None:
            raise RuntimeError("Cannot add child sampler, this sampler already has a child.")
        self.child_sampler = sampler

    def wants_labels(self) -> bool:
        """True if this sampler, or one below it, chooses by the classes of samples."""
        return self.needs_labels or (self.child_sampler is not None and self.child_sampler.wants_labels())

    def get_child(self) -> BuiltinSampler | None:
        """The child, or None."""
        return self.child_sampler

    def get_num_samples(self) -> int | None:
        """How many samples are chosen at most; None for all."""
        if self.child_sampler is None:
            return self.num_samples
        below = self.child_sampler.get_num_samples()
        return below if self.num_samples is None else self.num_samples if below is None else min(below, self.num_samples)

    def is_shuffled(self) -> bool:
        """True if the order is random, here or in the child."""
        return self.child_sampler is not None and self.child_sampler.is_shuffled()

    def is_sharded(self) -> bool:
        """True if only a shard is chosen, here or in the child."""
        return self.child_sampler is not None and self.child_sampler.is_sharded()


class SequentialSampler(BuiltinSampler):
    """Samples in their order. start_index : the first; num_samples : how many"""

    def __init__(self, start_index: int | None = None, num_samples: int | None = None) -> None:
        if start_index is not None:
            _ints(start_index=start_index)
        super().__init__(num_samples)
        self.start_index = start_index

    def choose(self, size, order, labels=None):
        start = self.start_index or 0
        if not 0 <= start < max(size, 1):
            raise RuntimeError(f"Invalid parameter, start_index must be less than num_rows, but got start_index: {start}, "
                               f"num_rows: {size}.")
        return np.arange(start, size)


class RandomSampler(BuiltinSampler):
    """Samples in random order.

    replacement : True: a sample may come more than once;  num_samples : how many;  shuffle : MindRecord's kinds of shuffle
    """

    def __init__(self, replacement: bool = False, num_samples: int | None = None, shuffle: Shuffle = Shuffle.GLOBAL) -> None:
        if not isinstance(replacement, bool):
            raise ArgumentError(f"replacement must be a boolean value but was: {replacement}.")
        if not isinstance(shuffle, Shuffle):
            raise ArgumentError(f"shuffle must be valid shuffle mode but was: {shuffle}.")
        super().__init__(num_samples)
        self.replacement, self.shuffle = replacement, shuffle
        self.chance: int | None = None

    @classmethod
    def once(cls, chance: int | None = None) -> RandomSampler:
        """One whose order is the same in all passes: for `split`. chance : the seed where the program has set none"""
        made = cls()
        made.chance = int.from_bytes(os.urandom(4), "little") if chance is None else chance
        return made

    def choose(self, size, order, labels=None):
        if self.replacement:
            engine = order.engine()
            return np.array([engine.below(size) for _ in range(min(self.num_samples or size, size))], np.int64)
        if self.chance is not None:
            order = SeededPass(order.seed if order.fixed else self.chance, 0, kept=order.kept)
        return order.shuffled(id(self), np.arange(size))

    def count(self, size):
        return self._at_most(size)

    def is_shuffled(self):
        return True


class DistributedSampler(BuiltinSampler):
    """Every num_shards-th sample; shards have equally many, the last ones begin again where samples run out.

    num_shards, shard_id : which shard
    shuffle : in random order, the same one for all shards: of the seed that is set when the sampler is made
    offset : the shard that gets the first sample, and then shards are not filled up; -1: shard 0, and they are
    """

    def __init__(self, num_shards: int, shard_id: int, shuffle: bool | Shuffle = True, num_samples: int | None = None,
                 offset: int = -1) -> None:
        _ints(num_shards=num_shards, shard_id=shard_id, offset=offset)
        if not isinstance(shuffle, (bool, Shuffle)):
            raise ArgumentError(f"shuffle must be a boolean value or valid shuffle mode but was: {shuffle}.")
        super().__init__(num_samples)
        if num_shards <= 0:
            raise RuntimeError(f"Invalid parameter, num_shards must be greater than 0, but got: {num_shards}")
        if not 0 <= shard_id < num_shards:
            raise RuntimeError(f"Invalid parameter, shard_id must be greater than or equal to 0 and less than num_shards "
                               f"{num_shards}, but got: {shard_id}")
        if offset > num_shards:
            raise RuntimeError(f"Invalid parameter, offset must not be greater than num_shards {num_shards}, but got: {offset}")
        self.num_shards, self.shard_id, self.shuffle, self.offset = num_shards, shard_id, shuffle, offset
        self.seed = config.settings.seed

    def choose(self, size, order, labels=None):
        chosen = self.places(size)
        return order.shuffled(id(self), np.arange(size), first=self.seed + 1)[chosen] if self.is_random() else chosen

    def places(self, size: int) -> np.ndarray:
        """Which places of an order of that size this shard has."""
        found = self._of_shard(size)
        return found[:self.num_samples] if self.num_samples else found

    def _of_shard(self, size: int) -> np.ndarray:
        if self.offset < 0:
            each = -(-size // self.num_shards)
            return (np.arange(each) * self.num_shards + self.shard_id) % max(size, 1)
        positions = np.arange(-(-(size + self.offset) // self.num_shards)) * self.num_shards + self.shard_id - self.offset
        return positions[(positions >= 0) & (positions < size)]

    def count(self, size):
        below = size if self.child_sampler is None else self.child_sampler.count(size)
        return len(self.places(below))

    def is_random(self) -> bool:
        """True if this sampler itself shuffles."""
        return self.shuffle not in (False, Shuffle.FALSE)

    def set_offset(self, offset: int) -> DistributedSampler:
        """Change the offset; gives the sampler."""
        self.offset = offset
        return self

    def with_seed(self, seed: int) -> DistributedSampler:
        """Change the seed; gives the sampler."""
        self.seed = seed
        return self

    def is_shuffled(self):
        return self.is_random() or super().is_shuffled()

    def is_sharded(self):
        return self.num_shards > 1 or super().is_sharded()


class PKSampler(BuiltinSampler):
    """num_val samples of each class, drawn at random: a sample may come more than once.

    shuffle : the order of the classes is random, too;  class_column : where MindRecord has the label
    """
    needs_labels = True

    def __init__(self, num_val: int, num_class: int | None = None, shuffle: bool = False, class_column: str = "label",
                 num_samples: int | None = None) -> None:
        _ints(num_val=num_val)
        if num_class is not None:
            raise NotImplementedError("Not supported to specify num_class for PKSampler.")
        if not isinstance(shuffle, bool):
            raise ArgumentError(f"shuffle must be a boolean value but was: {shuffle}.")
        if not isinstance(class_column, str):
            raise ArgumentError(f"class_column must be a str value but was: {class_column}.")
        super().__init__(num_samples)
        if num_val <= 0:
            raise RuntimeError(f"Invalid parameter, num_val must be greater than 0, but got: {num_val}")
        self.num_val, self.shuffle, self.class_column = num_val, shuffle, class_column

    def choose(self, size, order, labels=None):
        if labels is None:
            raise RuntimeError("PKSampler needs a dataset whose labels are known before its samples are read.")
        classes, engine = np.unique(labels).tolist(), order.engine()
        if self.shuffle:                                     # once: later passes have the order of the first one
            (engine if order.epoch == 0 else Mersenne(order.seed)).shuffle(classes)
        members = {label: np.flatnonzero(labels == label) for label in classes}
        return np.array([members[label][engine.below(len(members[label]))] for label in classes for _ in range(self.num_val)],
                        np.int64)

    def is_shuffled(self):
        return True


class SubsetSampler(BuiltinSampler):
    """The samples of a list of indices, in its order. indices : an iterable of ints"""

    def __init__(self, indices: Iterable[int], num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        if not isinstance(indices, (list, tuple, np.ndarray)) and not hasattr(indices, "__iter__"):
            raise ArgumentError(f"Unsupported sampler object of type ({type(indices)})")
        found = list(itertools.islice(indices, num_samples or None))
        for k, index in enumerate(found):
            if isinstance(index, (bool, np.bool_)) or not isinstance(index, (int, np.integer)):
                raise ArgumentError(f"SubsetSampler: Type of indices element must be int, but got list[{k}]: "
                                    f"{index}, type: {type(index)}.")
        self.chosen = np.asarray(found, np.int64)

    def choose(self, size, order, labels=None):
        return self.chosen

    def get_num_samples(self):
        own = super().get_num_samples()
        return len(self.chosen) if own is None else min(len(self.chosen), own)


class SubsetRandomSampler(SubsetSampler):
    """The samples of a list of indices, in random order."""

    def choose(self, size, order, labels=None):
        return order.shuffled(id(self), self.chosen, step=0)

    def count(self, size):
        return min(self.num_samples or len(self.chosen), len(self.chosen))

    def is_shuffled(self):
        return True


class WeightedRandomSampler(BuiltinSampler):
    """Samples drawn with probabilities in proportion to weights.

    weights : a number >= 0 for each of the first len(weights) samples;  replacement : True: a sample may come more than once
    raises  : ArgumentError, ValueRangeError for bad weights
    """

    def __init__(self, weights: Any, num_samples: int | None = None, replacement: bool = True) -> None:
        weights = list(weights) if isinstance(weights, (list, tuple, np.ndarray)) else [weights]
        for position, weight in enumerate(weights):
            if isinstance(weight, bool) or not isinstance(weight, (int, float, np.number)):
                raise ArgumentError(f"type of weights element must be number, but got w[{position}]: {weight}, "
                                    f"type: {type(weight)}.")
        if not isinstance(replacement, bool):
            raise ArgumentError(f"replacement must be a boolean value but was: {replacement}.")
        super().__init__(num_samples)
        if not weights:
            raise RuntimeError("WeightedRandomSampler: weights vector must not be empty")
        if min(weights) < 0:
            raise RuntimeError(f"WeightedRandomSampler: weights vector must not contain negative numbers, got: {min(weights)}")
        if not sum(weights):
            raise RuntimeError("WeightedRandomSampler: elements of weights vector must not be all zero")
        self.weights, self.replacement = np.asarray(weights, np.float64), replacement

    def choose(self, size, order, labels=None):
        if len(self.weights) > size:
            raise RuntimeError(f"Invalid parameter, size of sample weights must be less than or equal to num of data, "
                               f"otherwise might cause generated id out of bound, but got weight size: {len(self.weights)}, "
                               f"num of data: {size}")
        count, engine = min(self.num_samples or size, size), order.engine(step=0)
        if self.replacement:
            return engine.choices(self.weights, count)
        if count > len(self.weights):
            raise RuntimeError(f"Invalid parameter, without replacement, weight size must be greater than or equal to "
                               f"num_samples, but got weight size: {len(self.weights)}, num_samples: {count}")
        waits = [-math.log(1 - engine.real()) / weight if weight else math.inf for weight in self.weights.tolist()]
        return np.argsort(waits, kind="stable")[:count]      # Efraimidis, Spirakis 2006

    def is_shuffled(self):
        return True


class Sampler(BuiltinSampler):
    """Base of samplers that users write: `__iter__` gives indices, as many as `num_samples` or `__len__` say.

    While it runs `self.dataset_size` is known.
    """
    dataset_size = 0
    _passes = 0

    def __iter__(self) -> Iterator[int]:
        raise NotImplementedError

    def reset(self) -> None:
        """Called between two passes."""

    def choose(self, size, order, labels=None):
        self.dataset_size = size
        if self._passes:
            self.reset()
        self._passes += 1
        return self._taken(size)

    def count(self, size):
        if self.child_sampler is not None:
            return super().count(size)
        self.dataset_size = size
        known = self.num_samples or _length_of(self)
        return len(self._taken(size)) if known is None else known

    def _taken(self, size: int) -> np.ndarray:
        wanted = self.num_samples or _length_of(self)
        found = np.fromiter(itertools.islice(iter(self), size if wanted is None else wanted), np.int64)
        if wanted is not None and len(found) < wanted:
            raise SampleIndexError(f"The actual amount of data read from generator {len(found)} is different from generator.len "
                                   f"{wanted}, you should adjust generator.len to make them match.")
        return found

    def is_shuffled(self):
        return self.child_sampler is None or super().is_shuffled()


def _length_of(sampler: Any) -> int | None:
    return len(sampler) if hasattr(type(sampler), "__len__") else None


class IterSampler(Sampler):
    """The samples of any iterable of indices. sampler : it is iterated anew for each pass"""

    def __init__(self, sampler: Iterable[int], num_samples: int | None = None) -> None:
        if iter(sampler) is sampler:                         # an iterator gives its indices once
            sampler = list(sampler)
        if num_samples is None:
            num_samples = len(list(sampler)) if _length_of(sampler) is None else _length_of(sampler)
        super().__init__(num_samples)
        self.sampler = sampler

    def __iter__(self):
        return iter(self.sampler)


def select_sampler(num_samples: int | None, sampler: Any, shuffle: Any, num_shards: int | None, shard_id: int | None,
                   default_shuffle: bool = True) -> BuiltinSampler:
    """The sampler that a source's arguments mean. raises : ArgumentError, ValueRangeError, RuntimeError for a contradiction"""
    _count(num_samples)
    if sampler is not None:
        built_in = isinstance(sampler, BuiltinSampler)
        if built_in and num_samples is not None or shuffle is not None or num_shards is not None or shard_id is not None:
            raise ValueRangeError(f"Conflicting arguments during sampler assignments. num_samples: {num_samples}, "
                                  f"num_shards: {num_shards}, shard_id: {shard_id}, shuffle: {shuffle}.")
        if built_in:
            return sampler
        if isinstance(sampler, int):
            return SubsetSampler([sampler])
        if isinstance(sampler, (list, tuple, np.ndarray)):
            return SubsetSampler(sampler, num_samples)
        if not isinstance(sampler, str) and (hasattr(sampler, "__iter__") or hasattr(sampler, "__getitem__")):
            return IterSampler(sampler, num_samples)
        raise ArgumentError(f"Unsupported sampler object of type ({type(sampler)})")
    if shuffle is not None and not isinstance(shuffle, (bool, Shuffle)):
        raise ArgumentError(f"shuffle must be of boolean or enum of 'Shuffle' values, but got {shuffle!r}")
    wanted = default_shuffle if shuffle is None else shuffle not in (False, Shuffle.FALSE)
    if (num_shards is None) != (shard_id is None):
        raise ValueRangeError("num_shards and shard_id need to be passed in together.")
    if num_shards is not None and shard_id is not None:
        _ints(num_shards=num_shards, shard_id=shard_id)
        if num_shards < 1:
            raise ValueRangeError("Input num_shards is not within the required interval of [1, 2147483647].")
        if shard_id < 0:
            raise ValueRangeError("Input shard_id is not within the required interval of [0, 2147483647].")
        if shard_id >= num_shards:
            raise ValueRangeError("shard_id should be less than num_shards.")
        return DistributedSampler(num_shards, shard_id, wanted, num_samples)
    if not wanted:
        return SequentialSampler(num_samples=num_samples)
    return RandomSampler(num_samples is not None, num_samples)       # some rows are drawn with replacement, as in MindSpore
