"""What a loop carries, made wide enough for one more iteration: a fixpoint over types (Cousot & Cousot 1977).

    before 0, after an iteration i32[]       ->      Varying(0, int)       before f32[2], after f32[3]       ->      f32[s]

A part of the state is a constant, a run-time value, or a Varying that is one from the first iteration on.
"""
from __future__ import annotations

from typing import Any

from ..common.dim import Symbol, lone_symbol, symbols_of
from ..common.errors import MindliteError, Refusal, Signal
from ..common.tensor import Tensor
from ..mindir.abstract import Abstract, AbstractAny, AbstractScalar, AbstractTensor
from ..mindir.graph import AnfNode, ValueNode
from ..mindir.syntax import Undefined
from .evaluating import Evaluating
from .kinds import map_parts, remade, zipped
from .merging import abstract_of, are_one_constant, conflict, is_data, join_abstracts, join_mark, type_of, visible
from .values import Box, ByExit, Closure, Conflict, Mixed, Unsure, Value

NOTHING = Undefined("nothing")                   # what an Unsure holds before it is given


class CannotLoop(Signal):
    """One body cannot serve all iterations. The reason is shown as an error if the loop cannot be unrolled either."""

    def __init__(self, error: MindliteError) -> None:
        super().__init__(str(error))                         # of two rounds, not of the program
        self.error = error if isinstance(error, Refusal) else Refusal.uncertain(error)


class Peel(Signal):
    """What the loop carries is of another type after the first iteration: that is executed by itself."""


class Varying:
    """A leaf of a loop's state that is a run-time value of `abstract` inside, and `initial` before."""
    __slots__ = ("initial", "abstract")

    def __init__(self, initial: Value, abstract: Abstract) -> None:
        self.initial, self.abstract = initial, abstract


class Widening:
    """One comparison of a loop's state before an iteration and after it.

    widened  : the Symbols of sizes that differ from iteration to iteration, to which new ones are added
    plain    : True for a loop that is left from its header only
    may_peel : where a number is of another type after the iteration, `join` raises Peel
    changed  : True from the first part on that has become wider
    """

    def __init__(self, ev: Evaluating, widened: set[Symbol], plain: bool, may_peel: bool) -> None:
        self.ev, self.widened, self.plain, self.may_peel, self.changed = ev, widened, plain, may_peel, False

    def wider(self, value: Value) -> Value:
        """`value`, which is wider than what it stands for."""
        self.changed = True
        return value

    def may_be_object(self) -> bool:
        """True if what differs here may become an object: Python was asked to join it."""
        return join_mark(self.ev) in self.ev.fallback.marks

    def join(self, outer: Value, inner: Value, new: Value) -> Value:
        """The part of the state that also covers `new`.

        outer, inner, new : it before the loop, as it is inside, and at the end of an iteration
        raises            : CannotLoop; Peel
        """
        if isinstance(outer, Conflict) or isinstance(inner, Box) and inner is new:
            return outer
        if any(isinstance(v, (Undefined, Unsure)) for v in (outer, inner, new)):
            return self.unsure(outer, inner, new)
        if self.mixes(outer, new):
            return self.mixed(outer, inner, new)
        if isinstance(outer, (Varying, AnfNode, Tensor)) or is_data(outer):
            return self.data(outer, inner, new)
        parts = zipped(outer, inner, new)
        if parts is not None:
            return remade(outer, [self.join(*part) for part in parts])
        if are_one_constant(self.ev, outer, new):
            return outer
        if self.ev.is_object(new) or self.may_be_object():
            return self.wider(Varying(outer, AbstractAny()))
        raise CannotLoop(conflict(outer, new, self.ev))

    def data(self, outer: Value, inner: Value, new: Value) -> Value:
        """A number or Tensor."""
        initial, have = (outer.initial, outer.abstract) if isinstance(outer, Varying) else (outer, None)
        if not is_data(new):
            if isinstance(have, AbstractAny):
                return outer
            if self.may_be_object():
                return self.wider(Varying(initial, AbstractAny()))
            raise CannotLoop(conflict(initial, new, self.ev))
        if new is inner:
            return outer
        if have is None and not isinstance(outer, (AnfNode, Tensor)):
            if type(new) is type(outer) and new == outer:
                return outer
            return self.wider(Varying(initial, widen(abstract_of(initial), abstract_of(new), self.widened)))
        have = have or abstract_of(outer)
        wide = widen(have, abstract_of(new), self.widened)
        return outer if wide == have else self.wider(Varying(initial, wide))

    def unsure(self, outer: Unsure, inner: Unsure, new: Unsure) -> Value:
        """A variable that has no value at the beginning, or at the end of some iteration."""
        if isinstance(new, ByExit):                          # each way out has a value of its own: not to be read again
            return self.wider(Conflict(new.error))
        if isinstance(outer, Undefined) and isinstance(new, Undefined) \
                or isinstance(outer, Varying) and isinstance(outer.abstract, AbstractAny):
            return outer
        if isinstance(outer, Varying) and isinstance(outer.initial, Undefined):
            outer = outer.initial
        if isinstance(outer, Undefined) and isinstance(Unsure.of(new).value, Box) and self.may_be_object():
            return self.wider(Varying(outer, AbstractAny()))
        if isinstance(outer, Undefined) and is_data(new) and self.plain and outer.name not in self.ev.read_unassigned:
            return self.wider(Varying(outer, abstract_of(new)))          # read behind the loop only: see demand_a_turn
        self.changed |= not isinstance(outer, Unsure)
        made = Unsure.of(outer)
        inner, new = Unsure.of(inner, made), Unsure.of(new, Unsure.of(inner, made))
        if isinstance(outer, Undefined):
            return Unsure(outer.name, self.join(False, False, new.given), self.first(new.value))
        return Unsure(made.name or new.name, self.join(made.given, inner.given, new.given),
                      self.join(made.value, inner.value, new.value))

    def mixes(self, outer: Value, new: Value) -> bool:
        """True if one of the states has several types, or they have different types. (A number that is a Tensor
        after the first iteration counts as a Tensor from the start: `demand_a_turn`.)"""
        kinds = [Mixed if isinstance(v, Mixed) else type_of_state(v) for v in (outer, new)]
        if None in kinds or AbstractAny in kinds or kinds[1] is Tensor and kinds[0] is not Mixed and self.plain:
            return False
        return kinds[0] is not kinds[1] or kinds[0] is Mixed

    def mixed(self, outer: Mixed, inner: Mixed, new: Mixed) -> Value:
        """A number or Tensor of several types at the beginning, or of another one at the end of an iteration."""
        have, become = type_of_state(outer), type_of_state(new)
        if None not in (have, become) and self.may_peel:
            raise Peel()
        made = dict(Mixed.of(outer, have))
        inside, later = Mixed.of(inner, have), Mixed.of(new, become)
        self.changed |= not isinstance(outer, Mixed) or not later.keys() <= made.keys()
        for kind, (given, value) in made.items():
            at_end = later.get(kind, (False, inside[kind][1]))
            made[kind] = self.join(given, inside[kind][0], at_end[0]), self.join(value, inside[kind][1], at_end[1])
        for kind in [k for k in later if k not in made]:
            made[kind] = self.join(False, False, later[kind][0]), self.first(later[kind][1])
        return Mixed(made)

    def first(self, value: Value) -> Value:
        """What a variable holds before the loop in which it is first assigned."""
        if is_data(value):
            return Varying(NOTHING, abstract_of(value))
        if isinstance(value, (Box, Undefined)):
            raise CannotLoop(conflict(None, value, self.ev))
        return visible(self.ev, value) if isinstance(value, Closure) else map_parts(self.first, value)


def type_of_state(value: Value) -> Any:
    """bool, int, float, Tensor or AbstractAny, for data and Varying; None for what is Mixed, or is no data."""
    if isinstance(value, Varying):
        abstract = value.abstract
        return abstract.type if isinstance(abstract, AbstractScalar) else Tensor if isinstance(abstract, AbstractTensor) \
            else AbstractAny
    if not is_data(value):
        return None
    return AbstractAny if isinstance(value, AnfNode) and isinstance(value.abstract, AbstractAny) else type_of(value)


def is_carried(value: Value) -> bool:
    """True for what is a variable of a loop whatever an iteration does: a run-time value, or a Tensor from outside."""
    return isinstance(value, (AnfNode, Tensor)) and not isinstance(value, ValueNode)


def flat_like(inside: Value, value: Value) -> list[AnfNode]:
    """The parts of `value` that stand where `inside` has loop parameters, in order."""
    if is_carried(inside):
        return [value]
    if isinstance(inside, Conflict):
        return []
    if isinstance(inside, Unsure):
        value = Unsure.of(value, inside)
    elif isinstance(inside, Mixed):
        choices = Mixed.of(value, type_of(value))
        value = Mixed({kind: choices.get(kind, (False, pair[1])) for kind, pair in inside.choices.items()})
    return [part for pair in zipped(inside, value) or () for part in flat_like(*pair)]


def widen(have: Any, new: Any, widened: set[Symbol]) -> Any:
    """join_abstracts for loops: a size that is one of the Symbols in `widened` stays one; what becomes one is added."""
    if isinstance(have, AbstractScalar) and isinstance(new, AbstractScalar):
        kind = max(have.type, new.type, key=[bool, int, float].index)
        return AbstractScalar(kind) if have != AbstractScalar(kind) else have
    if isinstance(have, AbstractTensor) and isinstance(new, AbstractTensor) and have.dtype is new.dtype \
            and len(have.shape) == len(new.shape):
        shape = tuple(h if h == n or lone_symbol(h) in widened else _varying_size(widened)
                      for h, n in zip(have.shape, new.shape))
        return have if shape == have.shape else AbstractTensor(have.dtype, shape)
    return join_abstracts(have, new)


def own_sizes(abstract: Abstract, known: Any, made: Any) -> Any:
    """The type of a value after a loop: sizes that an iteration computes, or that differ between iterations, are not
    `known` outside and get Symbols of their own in the state. made: {such a size: its Symbol}."""
    if not isinstance(abstract, AbstractTensor):
        return abstract
    made.update((s, Symbol(lo=0).dim) for s in abstract.shape if s not in made and not symbols_of(s) <= known)
    return AbstractTensor(abstract.dtype, tuple([made.get(s, s) for s in abstract.shape]))


def _varying_size(widened: set[Symbol]) -> Value:
    symbol = Symbol(lo=0)
    widened.add(symbol)
    return symbol.dim
