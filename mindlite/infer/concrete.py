"""Executing a function through inference's eyes, on real values: the first run of what has JIT Fallback in it.

Every operator is computed at once, so all is known and nothing is written; the calls that would become segments are
really made, once, in program order, and what they give is recorded under the same key under which inference asks.
"""

from ..common.tensor import Tensor
from ..fallback.record import describe
from ..mindir.abstract import AbstractAny
from ..mindir.primitive import eager
from .calls import call_value
from .evaluator import Evaluator
from .fallback import place
from .region import Tracer


class _Values(Tracer):
    """A Tracer that computes."""

    def lift(self, value):
        """Values stand for themselves."""
        return value

    def bind(self, prim, args, attrs):
        """Compute."""
        with eager():
            return prim(*args, **attrs)

    def assign(self, target, value):
        """Write into the Tensor's memory."""
        target.array[...] = value.array if isinstance(value, Tensor) else value
        return target


class Recorder(Evaluator):
    """An Evaluator over real values. fallbacks: {key: record}, to which it adds."""
    concrete = True

    def __init__(self, name, fallbacks):
        super().__init__(name, False, fallbacks)
        self.tracer = _Values(self.tracer.root)
        self.objects = {}                            # by id: what segments gave that graph mode knows nothing of

    def is_object(self, value):
        """True for what a graph would hold as an object of unknown type."""
        return id(value) in self.objects

    def call_unknown(self, fn, args, kwargs, returns):
        """Make the call that inference would leave to run time, and record what it gives."""
        key = place(self, getattr(fn, "__qualname__", type(fn).__name__)) if returns is None else None
        given = fn(*self.unbox(args), **self.unbox(kwargs))
        if key is not None:
            record = self.fallbacks.setdefault(key, describe(given))
            self.keep(given, record)
        return given

    def keep(self, value, record):
        """Remember the objects of unknown type in what a segment gave."""
        if isinstance(record, tuple):
            for part, r in zip(value, record):
                self.keep(part, r)
        elif isinstance(record.abstract, AbstractAny):
            self.objects[id(value)] = value


def run_concretely(function, args, kwargs, fallbacks):
    """function(*args, **kwargs), recording what its segments give."""
    ev = Recorder("concrete", fallbacks)
    return ev.unbox(call_value(ev, function, args, kwargs))
