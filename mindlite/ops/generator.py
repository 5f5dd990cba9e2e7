"""The states that random numbers are drawn from: int64[2] = (seed, offset), one for all and as many more as one likes.

    g = Generator().manual_seed(5);  ops.rand(3, seed=g)            g's stream goes on; the global one stays where it is

A state is a Parameter, so a draw inside a graph reads and advances it as eager mode does (docs/design/random.md).
"""
import os

import numpy as np

from ..common.errors import ArgumentError, ValueRangeError
from ..common.seed import process_seed, seed_state, set_seed, when_seeded
from ..common.tensor import Parameter, Tensor
from .state import assign

generator_state = Parameter(np.array([0, 0], np.int64), name="random_state", requires_grad=False)


def current_state():
    """The state that is drawn from where no other is named: the process' or, of a rank that is a thread, its own."""
    own = seed_state()
    if own is process_seed:
        return generator_state
    if "stream" not in own:
        own["stream"] = Parameter(generator_state.asnumpy().copy(), name="random_state", requires_grad=False)
    return own["stream"]


@when_seeded
def seed_generator(seed):
    """Begin the stream of `seed`: mindlite.set_seed calls it."""
    current_state().overwrite((seed, 0))


class Generator:
    """A stream of random numbers of its own: given as `seed` to what draws, it goes on from draw to draw.

    It begins as the stream of seed 0.
    """

    def __init__(self):
        self.state = Parameter(np.array([0, 0], np.int64), name="generator_state", requires_grad=False)

    def manual_seed(self, seed):
        """Begin the stream of `seed`, an int in [0, 2**32); returns self. raises : ArgumentError, ValueRangeError"""
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise ArgumentError(f"manual_seed: the seed is an int, not {type(seed).__name__}")
        seed = seed.__index__()
        if not 0 <= seed < 2 ** 32:
            raise ValueRangeError(f"manual_seed: the seed {seed} is outside [0, 2**32)")
        self._begin(seed)
        return self

    def _begin(self, seed):
        self.state.overwrite((seed, 0))

    def seed(self):
        """Begin a stream that nobody foresees; returns its seed."""
        made = int.from_bytes(os.urandom(4), "little")
        self.manual_seed(made)
        return made

    def initial_seed(self):
        """The seed with which the stream began."""
        return int(self.state.asnumpy()[0])

    def get_state(self):
        """Where the stream is: a Tensor int64[2]."""
        return Tensor(self.state.asnumpy().copy())

    def _step(self, step):
        """(seed, offset) of the stream, which goes on by `step` numbers; MindSpore's own name for it."""
        before = self.state * 1
        assign(self.state, before + np.array([0, 1]) * step)
        return before[0], before[1]

    def set_state(self, state):
        """Go on from where `get_state` was. raises : ArgumentError for what is no such Tensor"""
        if not isinstance(state, Tensor) or state.shape != (2,):
            raise ArgumentError("set_state: what get_state gave is wanted", note=repr(state)[:80])
        self.state.overwrite(state)


class Streams:
    """The streams that one object's seeds began: of(seed) is the same Generator each time, so that its draws go on."""

    def __init__(self, last_only=False):
        """last_only : a seed other than that of the last draw begins its stream anew"""
        self._last_only, self._streams = last_only, {}

    def of(self, seed, offset=0):
        """The Generator of a seed and an offset, ints."""
        key = int(seed), int(offset)
        if key not in self._streams:
            if self._last_only:
                self._streams.clear()
            self._streams[key] = Generator()
            self._streams[key].state.overwrite((key[0] + (key[1] << 32), 0))
        return self._streams[key]


class _Default(Generator):
    """The stream that is drawn from where no other is named; its seed is that of all that is random."""

    def __init__(self):
        """Its state is that of the rank which asks."""

    @property
    def state(self):
        return current_state()

    @state.setter
    def state(self, state):
        current_state().overwrite(state)

    def _begin(self, seed):
        set_seed(seed)


default_generator = _Default()
manual_seed, seed, initial_seed = default_generator.manual_seed, default_generator.seed, default_generator.initial_seed
get_rng_state, set_rng_state = default_generator.get_state, default_generator.set_state
