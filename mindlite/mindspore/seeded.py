"""Functions that draw random numbers with a seed, as MindSpore means it: a seed begins a stream that goes on from call to call.

    ops.rand(2, seed=5); ops.rand(2, seed=5)          other numbers in the second call

`set_seed` begins these streams again. `bernoulli` and `randperm`
repeat the numbers of a seed in MindSpore too. In `mindlite.ops` a seed gives the same numbers at each call, as in JAX.
"""
import functools
import inspect
from collections.abc import Callable
from typing import Any

from .. import ops
from ..common.seed import seed_state, when_seeded
from ..ops.generator import Generator

NAMES = ("choice_with_mask", "dropout", "gamma", "laplace", "multinomial", "normal", "poisson", "rand", "rand_like",
         "randint", "randn", "random_gamma", "random_poisson", "shuffle", "standard_laplace", "standard_normal", "uniform")


def _streams() -> dict[tuple[str, int], Generator]:
    return seed_state().setdefault("streams of seeds", {})


@when_seeded
def _begin_again(_: int) -> None:
    for key, stream in _streams().items():
        stream.manual_seed(key[1])


def _stream(name: str, seed: Any) -> Any:
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        return seed                                          # None, a Generator, or what the function refuses
    streams, key = _streams(), (name, seed.__index__())
    if key not in streams:
        streams[key] = Generator().manual_seed(key[1])
    return streams[key]


def _going_on(name: str) -> Callable[..., Any]:
    function = getattr(ops, name)
    parameters = inspect.signature(function).parameters
    several = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    place = len(parameters) if several else list(parameters).index("seed")

    @functools.wraps(function)
    def draw(*args: Any, **attrs: Any) -> Any:
        if "seed" in attrs:
            attrs["seed"] = _stream(name, attrs["seed"])
        elif len(args) > place and not several:
            args = (*args[:place], _stream(name, args[place]), *args[place + 1:])
        return function(*args, **attrs)
    return draw


globals().update({name: _going_on(name) for name in NAMES})


def randn_like(input: Any, seed: Any = None, *, dtype: Any = None) -> Any:
    """Normal numbers of input's shape, float32 unless a dtype is given: `mindlite.ops.randn`."""
    return ops.randn(tuple(input.shape), dtype=dtype, seed=_stream("randn_like", seed))
