"""Random orders: the generators of C++'s <random> and what libstdc++ makes of them, which MindSpore's orders come from.

    Mersenne(1).shuffle([0, 1, 2])          [1, 0, 2]: what RandomSampler gives for three rows in the first pass of seed 1

A program that sets a seed gets the order that MindSpore 2.10 gives for this seed: each sampler and each shuffle begins with the
seed itself, wherever it stands in the pipeline. `SeededPass` says how the passes follow each other.

Source: Matsumoto, Nishimura, Mersenne twister, ACM TOMACS 8(1), 1998; Nishimura, Tables of 64-bit Mersenne twisters, 10(4), 2000;
Lewis, Goodman, Miller, A pseudo-random number generator for the System/360, 1969 (minstd_rand0). The standard leaves the
distributions open: these are libstdc++'s, checked against the orders of MindSpore 2.10 (tests/dataset/orders.json).
"""
from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any, Callable, Hashable, Iterator, Sequence

import numpy as np

WORD = 2 ** 32
BLOCK = 4096                             # numbers that are drawn at a time
_ONE, _MATRIX = np.uint64(1), np.uint64(0xB5026F5AA96619E9)
_UPPER, _LOWER = np.uint64(0xFFFFFFFF80000000), np.uint64(0x7FFFFFFF)


class _Engine:
    """Whole numbers in [0, span], and what libstdc++ makes of them. span : 2**31 - 3 or 2**32 - 1"""
    span: int

    def __init__(self, blocks: Iterator[np.ndarray]) -> None:
        self.next = itertools.chain.from_iterable(block.tolist() for block in blocks).__next__

    def below(self, count: int) -> int:
        """A whole number in [0, count)."""
        scale = self.span // count
        past = count * scale
        while True:
            number = self.next()
            if number < past:
                return number // scale

    def _places(self, count: int) -> Iterator[int]:
        """Numbers in [0, 2), [0, 3), .. [0, count): as `below` gives them, many at a time."""
        numbers: list[int] = []
        place = 2
        while place <= count:
            numbers += [self.next() for _ in range(min(BLOCK, count - place + 1) - len(numbers))]
            ends = np.arange(place, place + len(numbers), dtype=np.int64)
            scales, drawn = self.span // ends, np.array(numbers, np.int64)
            refused = drawn >= ends * scales
            good = int(refused.argmax()) if refused.any() else len(numbers)
            yield from (drawn[:good] // scales[:good]).tolist()
            place, numbers = place + good, numbers[good + 1:]

    def real(self) -> float:
        """A number in [0, 1), of two draws."""
        low, high = self.next(), self.next()
        return min((low + high * float(WORD)) / float(WORD) ** 2, math.nextafter(1.0, 0.0))

    def shuffle(self, items: list) -> list:
        """Exchange items in place, two places of each number where the span is large enough; gives the list."""
        count = len(items)
        if count > 1 and self.span // count < count:
            for place, other in enumerate(self._places(count), 1):
                items[place], items[other] = items[other], items[place]
            return items
        place = 1
        if count and count % 2 == 0:
            other = self.below(2)
            items[1], items[other] = items[other], items[1]
            place = 2
        for place in range(place, count, 2):
            other, another = divmod(self.below((place + 1) * (place + 2)), place + 2)
            items[place], items[other] = items[other], items[place]
            items[place + 1], items[another] = items[another], items[place + 1]
        return items

    def choice(self, shares: Sequence[float]) -> int:
        """An index, with a probability in proportion to its share."""
        return int(self.choices(shares, 1)[0])

    def choices(self, shares: Any, count: int) -> np.ndarray:
        """`count` indices, with probabilities in proportion to their shares."""
        each = np.asarray(shares, np.float64)
        bounds = np.cumsum(each / np.cumsum(each)[-1])
        bounds[-1] = 1.0
        return np.searchsorted(bounds, [self.real() for _ in range(count)])


class Mersenne(_Engine):
    """std::mt19937. seed : taken modulo 2**32"""
    span = WORD - 1

    def __init__(self, seed: int) -> None:
        numbers = np.random.RandomState(seed % WORD)
        super().__init__(numbers.randint(0, WORD, BLOCK, np.uint32) for _ in itertools.count())


class Minstd(_Engine):
    """std::default_random_engine of libstdc++, which is minstd_rand0. seed : taken modulo 2**32"""
    span = 2 ** 31 - 3

    def __init__(self, seed: int) -> None:
        super().__init__(iter(()))
        self.state = seed % WORD % (2 ** 31 - 1) or 1
        self.next = self._step

    def _step(self) -> int:
        self.state = self.state * 16807 % (2 ** 31 - 1)
        return self.state - 1


class Mersenne64:
    """std::mt19937_64, by blocks. seed : taken modulo 2**32"""
    WORDS, MIDDLE = 312, 156

    def __init__(self, seed: int) -> None:
        words = [seed % WORD]
        for k in range(1, self.WORDS):
            words.append((6364136223846793005 * (words[-1] ^ words[-1] >> 62) + k) % 2 ** 64)
        self.words, self.used = np.array(words, np.uint64), self.WORDS

    def copy(self) -> Mersenne64:
        """The same state."""
        made = object.__new__(type(self))
        made.words, made.used = self.words.copy(), self.used
        return made

    def _twist(self) -> None:
        words, middle, last = self.words, self.MIDDLE, self.WORDS - 1
        mixed = words & _UPPER
        mixed[:last] |= words[1:] & _LOWER
        change = (mixed >> _ONE) ^ (mixed & _ONE) * _MATRIX
        words[:middle] = words[middle:] ^ change[:middle]
        words[middle:last] = words[:last - middle] ^ change[middle:last]
        ends = mixed[last:] | words[:1] & _LOWER             # the last word is followed by the first new one
        words[last:] = words[last - middle] ^ (ends >> _ONE) ^ (ends & _ONE) * _MATRIX
        self.used = 0

    def numbers(self, count: int) -> np.ndarray:
        """The next `count` whole numbers in [0, 2**64)."""
        parts = [np.empty(0, np.uint64)]
        while count > 0:
            if self.used == self.WORDS:
                self._twist()
            parts.append(self.words[self.used:self.used + count].copy())
            self.used += len(parts[-1])
            count -= len(parts[-1])
        mixed = np.concatenate(parts)
        mixed ^= mixed >> np.uint64(29) & np.uint64(0x5555555555555555)
        mixed ^= mixed << np.uint64(17) & np.uint64(0x71D67FFFEDA60000)
        mixed ^= mixed << np.uint64(37) & np.uint64(0xFFF7EEE000000000)
        return mixed ^ mixed >> np.uint64(43)

    def discard(self, count: int) -> None:
        """Leave numbers out."""
        rest = self.WORDS - self.used
        for _ in range(0, count - rest, self.WORDS):
            self._twist()
        self.used = self.used + count if count <= rest else (count - rest - 1) % self.WORDS + 1


def buffered(rows: Iterator, size: int, numbers: Mersenne64) -> Iterator:
    """Rows out of a buffer of that size: a drawn one is given, the last one takes its place, a new one comes to the end."""
    buffer = list(itertools.islice(rows, size))
    while buffer:
        following = list(itertools.islice(rows, BLOCK)) if len(buffer) == size else []
        count = len(following) or len(buffer)
        left = size if following else np.arange(len(buffer), 0, -1).astype(np.uint64)
        for k, number in enumerate((numbers.numbers(count) % np.asarray(left, np.uint64)).tolist()):
            row, buffer[number] = buffer[number], buffer[-1]
            if following:
                buffer[-1] = following[k]
            else:
                buffer.pop()
            yield row


@dataclasses.dataclass
class SeededPass:
    """What the random order of one pass of a node depends on.

    seed  : of the pipeline, in [0, 2**32)
    epoch : which pass of the node
    fixed : True where the program has set the seed: what begins anew with it gives the same in each pass, as in MindSpore
    kept  : what was worked out for the passes before
    """
    seed: int
    epoch: int
    fixed: bool = True
    kept: dict[Hashable, Any] = dataclasses.field(default_factory=dict)

    def engine(self, step: int = 1) -> Mersenne:
        """The generator of this pass. step : what the seed grows by from pass to pass"""
        return Mersenne(self.seed + self._grown(step))

    def _grown(self, step: int, epoch: int | None = None) -> int:
        return (step or int(not self.fixed)) * (self.epoch if epoch is None else epoch)

    def shuffled(self, key: Hashable, items: Sequence[int] | np.ndarray, step: int = 1, first: int | None = None,
                 kind: Callable[[int], _Engine] = Mersenne) -> np.ndarray:
        """`items` after the shuffles of all passes up to this one: each goes on from the order of the pass before.

        key : whose order it is;  first : the seed of the first pass, by default that of the pipeline
        """
        seed = self.seed if first is None else first
        done, order = self.kept.get((key, len(items)), (0, None))
        if order is None or done > self.epoch + 1:
            done, order = 0, np.asarray(items).tolist()
        for epoch in range(done, self.epoch + 1):
            kind(seed + (step if first is not None else self._grown(step, 1)) * epoch).shuffle(order)
        self.kept[key, len(items)] = self.epoch + 1, order
        return np.array(order, np.int64)

    def numbers64(self, drawn: int) -> Mersenne64:
        """The generator of a buffer, which goes on from pass to pass. drawn : how many numbers the passes before have taken"""
        at, numbers = self.kept.get("buffer", (0, None))
        if numbers is None or at > drawn:
            at, numbers = 0, Mersenne64(self.seed)
        numbers.discard(drawn - at)
        self.kept["buffer"] = drawn, numbers
        return numbers.copy()
