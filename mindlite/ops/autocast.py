"""Mixed precision of single operators: which of them compute in few bits, which in float32, which in their widest operand.

    policy = Policy(low={batch_matmul}, high={exp}, dtype=float16)
    with interpreting(Autocast(policy)):  exp(matmul(a, b))      a, b are cast to f16, their product to f32

A policy stands before an interpreter and casts what the operator is given: eager mode pushes `Autocast`, inference asks
the policy itself, so that a graph holds the same casts. Source: Micikevicius et al., Mixed precision training (2018).
"""

from ..common.records import dataclass
from ..common import dtype as dt
from ..common.dtype import DType
from ..common.tensor import Tensor
from ..mindir.abstract import AbstractTensor
from ..mindir.graph import AnfNode
from ..mindir.primitive import current_interpreter
from .basic import cast

_BITS = {dt.float16: 16, dt.bfloat16: 16, dt.float32: 32}           # float64 is never cast


@dataclass(frozen=True)
class Policy:
    """low, high, widest: sets of Primitives; dtype: float16 or bfloat16.

    back : give results of `low` operators as float32 where an operand was that
    """
    low: frozenset = frozenset()
    high: frozenset = frozenset()
    widest: frozenset = frozenset()
    dtype: DType = dt.float16
    back: bool = False

    def __contains__(self, prim):
        return prim in self.low or prim in self.high or prim in self.widest

    def bind(self, bind, prim, args, attrs):
        """bind(prim, args, attrs) with the operands cast. bind: of the interpreter behind the policy"""
        kinds = [_dtype_of(x) for x in args]
        dtype: dt.DType | None
        if prim in self.low:
            dtype = self.dtype
        else:
            dtype = dt.float32 if prim in self.high or dt.float32 in kinds or len(set(kinds) & set(_BITS)) > 1 else None
        if dtype is not None:
            args = tuple([x if kind not in _BITS or kind is dtype else cast(x, dtype=dtype)
                          for x, kind in zip(args, kinds)])
        made = bind(prim, args, attrs)
        if self.back and prim in self.low and dt.float32 in kinds:
            return tuple(map(_as_float32, made)) if isinstance(made, tuple) else _as_float32(made)
        return made


def _dtype_of(x):
    if isinstance(x, Tensor):
        return x.dtype
    if isinstance(x, AnfNode):
        return x.abstract.dtype if isinstance(x.abstract, AbstractTensor) else None
    return dt.dtype(x.dtype) if hasattr(x, "dtype") else None


def _as_float32(x):
    return cast(x, dtype=dt.float32) if _dtype_of(x) in _BITS else x


class Autocast:
    """The interpreter on top, with a policy before it."""

    def __init__(self, policy):
        self.policy, self.below = policy, current_interpreter()

    def __getattr__(self, name):
        return getattr(self.below, name)

    def bind(self, prim, args, attrs):
        """prim(*args, **attrs) of the interpreter below, its operands cast as the policy says."""
        if prim in self.policy:
            return self.policy.bind(self.below.bind, prim, args, attrs)
        return self.below.bind(prim, args, attrs)
