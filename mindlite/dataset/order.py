"""Operations on the order of rows: shuffle, repeat, skip, take, zip, concat, sync_wait."""
from __future__ import annotations

import copy
import itertools
from typing import Any, Callable, Iterator, Sequence

from ..common.errors import ArgumentError, ValueRangeError
from .columns import ColumnError
from .config import whole_number
from .dataset import Dataset
from .mersenne import SeededPass, buffered
from .pipeline import Row, Run
from .samplers import BuiltinSampler, DistributedSampler, RandomSampler


class ShuffleDataset(Dataset):
    """See Dataset.shuffle.

    each_pass : False for `split`, whose parts must fit together in all passes;  chance : its seed where the program has set none
    """
    each_pass, chance = True, 0

    def __init__(self, child: Dataset, buffer_size: int) -> None:
        super().__init__([child])
        if any(isinstance(node, SyncWaitDataset) for node in child.tree()):
            raise RuntimeError("No shuffle after sync operators.")
        self.buffer_size = whole_number(buffer_size, "buffer_size", 2)

    def is_shuffled(self) -> bool:
        return True

    def walk(self, run: Run, epoch: int) -> Iterator:
        order = run.order(self, epoch)
        if not self.each_pass and not order.fixed:
            order = SeededPass(self.chance, epoch)
        counts = order.kept.setdefault("rows", {})
        drawn = sum(counts.get(k) or self._rows() for k in range(epoch)) if self.each_pass else 0
        found = 0
        for found, row in enumerate(buffered(self.child.walk(run, epoch), self.buffer_size, order.numbers64(drawn)), 1):
            yield row
        counts[epoch] = found

    def _rows(self) -> int:
        """How many rows a pass has; where only a pass can tell, one is made to count them."""
        known = self.child.size()
        return self.child.get_dataset_size() if known is None else known


class RepeatDataset(Dataset):
    """See Dataset.repeat."""

    def __init__(self, child: Dataset, count: int | None) -> None:
        super().__init__([child])
        if count is not None:
            whole_number(count, "count", -1)
            if count == 0:
                raise ValueRangeError("count should be either -1 or positive integer, range[1, INT32_MAX].")
        self.count = -1 if count is None else count

    def size(self) -> int | None:
        below = self.child.size()
        return below if below is None or self.count < 0 else below * self.count

    def get_repeat_count(self) -> int:
        return self.count * self.child.get_repeat_count() if self.count > 0 else self.count

    def walk(self, run: Run, epoch: int) -> Iterator:
        for k in itertools.count() if self.count < 0 else range(self.count):
            any_row = False
            for description in self.child.walk(run, k if self.count < 0 else epoch * self.count + k):
                any_row = True
                yield description
            if self.count < 0 and not any_row:
                return


class SkipDataset(Dataset):
    """See Dataset.skip."""

    def __init__(self, child: Dataset, count: int) -> None:
        super().__init__([child])
        self.count = whole_number(count, "count", 0)

    def size(self) -> int | None:
        below = self.child.size()
        return None if below is None else max(0, below - self.count)

    def walk(self, run: Run, epoch: int) -> Iterator:
        return itertools.islice(self.child.walk(run, epoch), self.count, None)


class TakeDataset(Dataset):
    """See Dataset.take."""

    def __init__(self, child: Dataset, count: int) -> None:
        super().__init__([child])
        if whole_number(count, "count", -2 ** 31) == 0 or count < -1:
            raise ValueRangeError(f"count should be either -1 or within the required interval of (0, 2147483647], got {count}.")
        self.count = count

    def size(self) -> int | None:
        below = self.child.size()
        return below if below is None or self.count < 0 else min(below, self.count)

    def walk(self, run: Run, epoch: int) -> Iterator:
        return itertools.islice(self.child.walk(run, epoch), self.count if self.count >= 0 else None)


class ZipDataset(Dataset):
    """See Dataset.zip."""

    def __init__(self, datasets: tuple) -> None:
        if not isinstance(datasets, tuple):
            raise ArgumentError(f"Argument datasets with value {datasets} is not of type [<class 'tuple'>], "
                                f"but got {type(datasets)}.")
        if len(datasets) < 2:
            raise ValueRangeError("Can't zip empty or just one dataset!")
        super().__init__(datasets)

    def names(self) -> list[str]:
        found = [name for child in self.children for name in child.names()]
        if len(set(found)) != len(found):
            raise ColumnError(f"Invalid data, duplicate column {max(found, key=found.count)} already exists when zipping "
                              f"datasets.", location=self.made_at)
        return found

    def size(self) -> int | None:
        sizes = [child.size() for child in self.children]
        return None if None in sizes else min(sizes)         # type: ignore[type-var]

    def walk(self, run: Run, epoch: int) -> Iterator:
        number = run.numbers[id(self)]
        self.names()
        return ((number, below) for below in zip(*(child.walk(run, epoch) for child in self.children)))

    def evaluate(self, run: Run, payload: Any) -> Row:
        return [value for below in payload for value in run.value(below)]


class ConcatDataset(Dataset):
    """See Dataset.concat. sampler : chooses among all rows, if one is set. raises : ValueRangeError for a dataset without rows"""
    sampler: BuiltinSampler | None = None

    def __init__(self, datasets: Sequence[Dataset]) -> None:
        super().__init__(datasets)
        for number, child in enumerate(self.children):
            if child.size() == 0:
                raise ValueRangeError(f"There are no samples in the dataset number {number}. Please make sure there are valid "
                                      f"samples in the dataset.")

    def names(self) -> list[str]:
        found = self.child.names()
        for other in self.children[1:]:
            if other.names() != found:
                raise ColumnError("Invalid columns, 'column name' or 'column order' of concat datasets should be the same.",
                                  note=f"{found} and {other.names()}", location=self.made_at)
        return found

    def size(self) -> int | None:
        sizes = [child.size() for child in self.children]
        if None in sizes:
            return None
        return self._chosen(sum(sizes))                      # type: ignore[arg-type]

    def get_dataset_size(self) -> int:
        """How many rows a pass has; a dataset whose size only a pass can tell is counted by itself."""
        if self._size is None:
            self._size = self._chosen(sum(child.get_dataset_size() for child in self.children))
        return self._size

    def _chosen(self, rows: int) -> int:
        return rows if self.sampler is None else self.sampler.count(rows)

    def use_sampler(self, new_sampler: BuiltinSampler | None) -> None:
        """Choose among the rows of all datasets: `Subset`, `Distributed` and the like."""
        if not isinstance(new_sampler, (DistributedSampler, RandomSampler)):
            raise ArgumentError(f"The parameter {new_sampler} of concat must be DistributedSampler or RandomSampler!")
        kind = type(new_sampler).__name__
        if new_sampler.num_samples:
            raise ValueRangeError(f"The parameter num_samples of {kind} is not support to be set!")
        if isinstance(new_sampler, RandomSampler):
            if new_sampler.replacement:
                raise ValueRangeError("The parameter replacement of RandomSampler must be False!")
        else:
            self._check_shards(new_sampler)
            new_sampler = copy.copy(new_sampler).set_offset(0)       # shards that differ by a row, no row twice
        self.sampler, self._size = new_sampler, None

    def _check_shards(self, new_sampler: DistributedSampler) -> None:
        if new_sampler.is_shuffled():
            raise ValueRangeError("The parameter shuffle of DistributedSampler must be False!")
        for child in self.children:
            if getattr(child, "sampler", None) is not None and child.sampler.get_num_samples() is not None:     # type: ignore
                raise ValueRangeError(f"The parameter NumSamples of {child.label()} is not support to be set!")
            if type(child).__name__ in ("BatchDataset", "PaddedBatchDataset"):
                raise ArgumentError(f"The parameter {child.label()} of concat must not be BatchDataset or PaddedBatchDataset!")

    def walk(self, run: Run, epoch: int) -> Iterator:
        self.names()
        parts = [child.walk(run, epoch) for child in self.children]
        if isinstance(self.sampler, RandomSampler):
            return self._mixed(parts, run.order(self, epoch))
        every = itertools.chain.from_iterable(parts)
        if self.sampler is None:
            return every
        rows = list(every)
        return (rows[k] for k in self.sampler.indices(len(rows), run.order(self, epoch)))

    def _mixed(self, parts: list[Iterator], order: SeededPass) -> Iterator:
        """Rows of the parts, each in its order: which part is next is drawn by how many rows are left of it."""
        left, engine = [child.get_dataset_size() for child in self.children], order.engine(step=0)
        for _ in range(order.epoch * (sum(left) + 1)):       # passes go on from each other; each draws once more at its end
            engine.real()
        while any(left):
            chosen = engine.choice(left)
            left[chosen] -= 1
            yield from itertools.islice(parts[chosen], 1)


class SyncWaitDataset(Dataset):
    """See Dataset.sync_wait.

    num_batch : how many rows an update sets free; batches above count in it, so that it is a number of batches
    off       : True if nothing waits any more
    """
    off = False

    def __init__(self, child: Dataset, condition_name: str, num_batch: int, callback: Callable | None) -> None:
        super().__init__([child])
        if not isinstance(condition_name, str):
            raise ArgumentError(f"Argument condition_name with value {condition_name} is not of type [<class 'str'>].")
        if callback is not None and not callable(callback):
            raise ArgumentError("Callback is not callable.")
        self.condition_name, self.callback = condition_name, callback
        if whole_number(num_batch, "num_batch", -2 ** 31) <= 0:
            raise ValueRangeError("num_batch need to be greater than 0.")
        self.num_batch, self.free = num_batch, 0
        if any(isinstance(node, SyncWaitDataset) and node.condition_name == condition_name for node in child.tree()):
            raise RuntimeError("Condition name is already in use.")

    def may_use(self) -> int:
        return 0                                             # a row is computed when it is wanted

    def stays_home(self) -> bool:
        return True

    def update(self, num_batch: int | None, data: Any) -> None:
        """Let rows go on."""
        self.free += num_batch or self.num_batch
        if self.callback is not None:
            self.callback(data)

    def walk(self, run: Run, epoch: int) -> Iterator:
        if epoch == 0:
            self.free = self.num_batch
        for row in run.rows(self.child, epoch):
            if self.free <= 0 and not self.off:              # whoever should call sync_update is the one who waits here
                raise RuntimeError(f"sync_wait({self.condition_name!r}): {self.num_batch} rows have been given and sync_update "
                                   f"was not called")
            self.free -= 1
            yield row
