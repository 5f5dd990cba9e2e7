"""Where two paths meet: what each left behind becomes one value.

Equal constants stay constants; tensors and numbers that differ become results of the `cond` (Slots until it exists);
tuples, dicts and the contents of lists are merged part by part; what does not fit together is a Conflict, an error that
is raised when the variable is used.
"""
from __future__ import annotations

import contextlib
import keyword
import operator
from collections.abc import Iterator
from typing import Any

from ..common import dtype as dt
from ..common.dim import Dim, Symbol, compare, lone_symbol, symbols_of
from ..common.errors import GraphSyntaxError, InternalError, MindliteError, Refusal
from ..common.tensor import Tensor
from ..mindir.abstract import Abstract, AbstractAny, AbstractScalar, AbstractTensor
from ..mindir.builder import constant
from ..mindir.control import undefined as undefined_prim
from ..mindir.graph import AnfNode
from ..mindir.primitive import interpreting
from ..mindir.syntax import Undefined
from ..ops.basic import cast, scalar_to_tensor
from ..ops.scalar import scalar_cast
from .evaluating import Evaluating
from .fallback import as_object
from .jumps import NOT_YET, live_into
from .kinds import LEAF, kind_of, map_parts, remade, skeleton, zipped
from .state import Raises
from .program import by_python
from .region import Region
from .sharing import spot
from .values import Box, Closure, Conflict, Formatted, MadeException, Mixed, Place, Unsure, Value


class Merge:
    """Collects the results of a branch: `slot(a, b)` promises a value that is `a` on one side and `b` on the other.

    inlined : the graph will stand where it is called (a derivative's), so its Symbols are known behind it
    """

    def __init__(self, ev: Evaluating, inlined: bool = False) -> None:
        self.ev, self.inlined = ev, inlined
        self.slots: list[tuple] = []
        self.seen: dict[Any, Slot] = {}
        self.boxes: list[tuple[Box, Value]] = []
        self.sizes: dict[Any, dict] = {}                     # {sides without the value: {a size in there: its Symbol outside}}

    def value(self, a: Value, b: Value) -> Value:
        """The merged value; run-time parts become placeholders `Slot`."""
        ev = self.ev
        if a is b:
            return a
        if isinstance(a, Conflict) or isinstance(b, Conflict):
            return a if isinstance(a, Conflict) else b
        if isinstance(a, (Undefined, Unsure)) or isinstance(b, (Undefined, Unsure)):
            return self.unsure(a, b)
        if ev.is_object(a) or ev.is_object(b):
            return self.slot(Held(a), Held(b), AbstractAny())
        if (isinstance(a, Mixed) or is_data(a)) and (isinstance(b, Mixed) or is_data(b)):
            return self.data(a, b)
        if isinstance(a, Box) and isinstance(b, Box) and a.kind == b.kind:
            left, right = ev.after[0].get(a), ev.after[1].get(b)
            if left is not None and right is not None and _same_keys(a.kind, left, right):
                box = Box(a.kind, marks=(*a.marks, *b.marks))
                self.boxes.append((box, self.value(tuple(left), tuple(right))))
                return box
        if isinstance(a, BaseException) and skeleton(a) == skeleton(b):
            return a
        pairs = zipped(a, b)
        if pairs is not None:
            made = remade(a, [self.value(x, y) for x, y in pairs])
            return made if not isinstance(a, MadeException) else made.marked(b.marks)
        try:
            if are_one_constant(ev, a, b):
                return a
        except (Raises, GraphSyntaxError) as error:          # a user's own __eq__: then they are not known to be equal
            return Conflict(conflict(a, b, ev, error))
        if join_mark(ev) in ev.fallback.marks:
            return self.slot(Held(a), Held(b), AbstractAny())
        return Conflict(conflict(a, b, ev))

    def unsure(self, a: Value, b: Value) -> Value:
        """A variable that one side, or both, may leave without a value."""
        if a is NOT_YET or b is NOT_YET:
            return NOT_YET
        if isinstance(a, Undefined) and isinstance(b, Undefined):
            return a
        x, y = Unsure.of(a), Unsure.of(b)
        value = self.only(y.value, 1) if isinstance(a, Undefined) else self.only(x.value, 0) if isinstance(b, Undefined) \
            else self.value(x.value, y.value)
        return Unsure(x.name or y.name, self.value(x.given, y.given), value)

    def stored(self, key: Any, a: Value, b: Value) -> Value:
        """What a variable, a Tensor or a container holds: a container a tuple, never one run-time value."""
        container = isinstance(key, Box) and key.kind != "cell"
        if container and key.kind == "iterator" and not _as_far(a, b):
            return Conflict(Refusal("how far an iteration is, is known at run time only",
                                             location=self.ev.tracer.origin.location))
        if container and isinstance(a, tuple) and isinstance(b, tuple) and not _same_keys(key.kind, a, b):
            return Conflict(of_contents(self.ev, key, a, b))
        merged = self.value(a, b)
        if isinstance(merged, Conflict) and not container:
            named(merged.error, key.name if isinstance(key, (Box, Place)) else "")
        return Conflict(conflict(a, b, self.ev)) if container and isinstance(merged, Slot) else merged

    def data(self, a: Value, b: Value) -> Value:
        """Two tensors or numbers."""
        if not isinstance(a, (AnfNode, Tensor, Dim)) and not isinstance(b, (AnfNode, Tensor, Dim)) \
                and type(a) is type(b) and (a == b and repr(a) == repr(b)):
            return a
        if isinstance(a, Dim) and a == b:
            return a
        if isinstance(a, Mixed) or isinstance(b, Mixed) or type_of(a) is not type_of(b):
            return self.mixed(a, b)
        try:
            abstract = join_abstracts(abstract_of(a), abstract_of(b))
        except InternalError:
            raise
        except MindliteError as error:
            error.at(self.ev.tracer.origin.location)         # of two paths, not of the program
            return Conflict(error if isinstance(error, Refusal) else Refusal.uncertain(error))
        return self.slot(a, b, abstract)

    def mixed(self, a: Value, b: Value) -> Value:
        """Numbers of several types, or a number and a Tensor."""
        x, y, made = Mixed.of(a, type_of(a)), Mixed.of(b, type_of(b)), {}
        for kind in dict.fromkeys([*x, *y]):
            (given, value), (other, second) = x.get(kind, (False, None)), y.get(kind, (False, None))
            value = self.only(value, 0) if kind not in y else self.only(second, 1) if kind not in x else \
                self.value(value, second)
            if isinstance(value, Conflict):
                return value
            made[kind] = self.value(given, other), value
        return Mixed(made)

    def slot(self, a: Value, b: Value, abstract: Abstract) -> Value:
        """A result of the branch, `a` or `b` being None where that side has no value."""
        key = (_key(a), _key(b))
        if key not in self.seen:
            if not self.inlined:
                without = a is None, b is None
                abstract = sized_outside(abstract, self.ev.tracer.region, self.sizes.setdefault(without, {}), any(without))
            self.seen[key] = Slot(len(self.slots), abstract)
            self.slots.append((a, b, abstract))
        return self.seen[key]

    def only(self, value: Value, side: int) -> Value:
        """A value that only one side has (it is used only if that side was taken): its run-time parts become slots."""
        if isinstance(value, AnfNode) or isinstance(value, Tensor):
            if isinstance(value, Tensor) or self.ev.tracer.region.can_see(value):
                return value
            return self.slot(value if side == 0 else None, None if side == 0 else value, abstract_of(value))
        if isinstance(value, Closure):
            return visible(self.ev, value)
        if isinstance(value, Box) and value not in self.ev.store and value in self.ev.after[side]:
            box = Box(value.kind, marks=value.marks)
            self.boxes.append((box, self.only(self.ev.after[side][value], side)))
            return box
        return map_parts(lambda v: self.only(v, side), value)


def are_one_constant(ev: Evaluating, a: Value, b: Value) -> bool:
    """True for a constant of Python and another that cannot be told from it: of the same type, equal, and not to be changed."""
    return a is b or type(a) is type(b) and not isinstance(a, Box) and kind_of(a) is LEAF \
        and by_python(ev, bool, by_python(ev, operator.eq, a, b))


def visible(ev: Evaluating, closure: Closure) -> Value:
    """A function that was made on one path or in one iteration, if what it uses is to be seen from here, else a Conflict."""
    for node in live_into(closure.graph):
        value = closure.env.get(node)
        if isinstance(value, AnfNode) and not ev.tracer.region.can_see(value):
            return Conflict(Refusal("a function that is made on one path, or in an iteration of a loop, is used behind it",
                                             location=ev.tracer.origin.location))
    return closure


def _same_keys(kind: str, left: Any, right: Any) -> bool:
    """True for contents of equal length, unless they are dicts with different keys or sets with different elements."""
    if len(left) != len(right):
        return False
    if kind == "dict":
        left, right = [key for key, _ in left], [key for key, _ in right]
    return kind not in ("dict", "set") or all(a is b or type(a) is type(b) and not isinstance(a, AnfNode) and a == b
                                              for a, b in zip(left, right))


def _as_far(a: Value, b: Value) -> Value:
    """True for contents of an iterator that differ in run-time values at most."""
    return isinstance(a, Conflict) or isinstance(b, Conflict) or len(a) == len(b) and all(
        x is y or isinstance(x, (AnfNode, Tensor, tuple, dict)) or type(x) is type(y) and x == y for x, y in zip(a, b))


class Held:
    """Any value, None too, of a side whose slot holds an object."""
    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


class Slot:
    """Stands for result `number` of a branch until the node exists."""
    __slots__ = ("number", "abstract")

    def __init__(self, number: int, abstract: Abstract) -> None:
        self.number, self.abstract = number, abstract


def fill(value: Value, results: Value) -> Value:
    """`value` with Slots replaced by the nodes of the results."""
    return results[value.number] if isinstance(value, Slot) else map_parts(lambda v: fill(v, results), value)


def is_data(value: Value) -> bool:
    return isinstance(value, (AnfNode, Tensor, bool, int, float, Dim))


def _key(value: Value) -> Any:
    if isinstance(value, Dim):                               # its text is no name: Symbols of one name are many
        return value
    return ("const", type(value), repr(value)) if isinstance(value, (bool, int, float)) else id(value)


def abstract_of(value: Value) -> Abstract:
    if isinstance(value, AnfNode):
        return value.abstract
    return AbstractScalar(type(value)) if isinstance(value, (bool, float)) else constant(value).abstract


def type_of(value: Value) -> Any:
    """bool, int, float or Tensor, for data; None for what is Mixed."""
    if isinstance(value, Mixed):
        return None
    abstract = abstract_of(value)
    return abstract.type if isinstance(abstract, AbstractScalar) else Tensor


def conflict(a: Value, b: Value, ev: Evaluating, cause: Any = None) -> MindliteError:
    """The refusal of what is `a` on one path and `b` on another; `named` puts the variable's name into it."""
    error = differing(ev, f"a variable is {described(ev, a)} on one path and {described(ev, b)} on another")
    error.statements = (*getattr(a, "marks", ()), *getattr(b, "marks", ()), join_mark(ev))
    error.__cause__ = cause
    return error


def differing(ev: Evaluating, what: str) -> Refusal:
    """The refusal that says what differs."""
    return Refusal(f"{what}, depending on a value that is known at run time only", location=ev.tracer.origin.location,
                   hint="give it the same type and structure on both paths")


def described(ev: Evaluating, value: Value) -> str:
    """A value in a few words: its type, and of a container what it holds."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, (AnfNode, Tensor)):
        return str(abstract_of(value))
    if isinstance(value, Formatted):
        return "a str"
    content = value if type(value) in (tuple, list, dict) else ev.store.get(value) if isinstance(value, Box) else None
    if content is None or isinstance(content, Conflict):
        return f"a {value.kind if isinstance(value, Box) else type(value).__name__}"
    kind = value.kind if isinstance(value, Box) else type(value).__name__
    if kind == "iterator":
        return "an iterator"
    return f"a {kind} of {len(content)}"


def named(error: Any, name: str) -> Any:
    """The same refusal, of the variable of that name; of the value of an expression, whose name is Python's word for it."""
    if name and error.message.startswith("a variable is "):
        what = "what the function gives" if name == "return" else "the value of an expression" if keyword.iskeyword(name) else \
            f"the variable {name!r}"
        error.message = error.msg = what + error.message[len("a variable"):]
        error.args = (error.message,)
    return error


def of_contents(ev: Evaluating, box: Box, a: Value, b: Value) -> Value:
    """The refusal of a list, dict or set that holds `a` on one path and `b` on another."""
    made = box.marks[0][2] if box.marks and box.marks[0][0] == "made" else None
    what = f"the {box.kind} that is made in line {made[1]}" if made else f"a {box.kind} among the arguments"
    if len(a) != len(b):
        error = differing(ev, f"{what} holds {len(a)} on one path and {len(b)} on another")
    else:
        one, other = (", ".join(sorted(repr(k[0] if box.kind == "dict" else k) for k in content)) for content in (a, b))
        error = differing(ev, f"{what} holds {one} on one path and {other} on another")
    error.statements = (*box.marks, join_mark(ev))
    return error


def join_mark(ev: Evaluating) -> tuple:
    """The mark of what is merged now."""
    return "join", spot(ev.tracer.origin.location)


def join_abstracts(a: Any, b: Any) -> Any:
    """The abstract that covers both: equal parts stay, differing sizes become a new Symbol.

    raises : Refusal where they do not fit together: Python has no such rule, so Python runs the function then
    """
    if a == b:
        return a
    if isinstance(a, AbstractAny) or isinstance(b, AbstractAny):
        return AbstractAny()
    if isinstance(a, AbstractScalar) and isinstance(b, AbstractScalar):
        order = [bool, int, float]
        kind = max(a.type, b.type, key=order.index)
        return AbstractScalar(kind, a.dim if kind is int and a.dim == b.dim else None)
    if isinstance(a, AbstractScalar) and isinstance(b, AbstractTensor):
        a, b = b, a
    if isinstance(a, AbstractTensor) and isinstance(b, AbstractScalar):
        b = AbstractTensor(dt.promote_scalar(a.dtype, b.type()), ())
    if not (isinstance(a, AbstractTensor) and isinstance(b, AbstractTensor)):
        raise Refusal(f"{a} on one path and {b} on another do not fit together")
    if a.dtype is not b.dtype:
        raise Refusal(f"a tensor is {a} on one path and {b} on another", hint="cast one to the other's dtype")
    if len(a.shape) != len(b.shape):
        raise Refusal(f"a tensor is {a} on one path and {b} on another",
                               hint="give both the same number of axes")
    return AbstractTensor(a.dtype, tuple(x if x == y else Symbol(lo=0).dim for x, y in zip(a.shape, b.shape)))


def sized_outside(abstract: Abstract, region: Region, made: dict, one_side: bool) -> Abstract:
    """The type that a value of a branch has behind it, in `region`: a size computed from Symbols that only the branch has is
    a Symbol of its own there, as nothing could compute it. So is one that may be negative where only one side has the value,
    as n - 1 is behind a loop until n is 0: nothing stands for it on the other side, and its size is 0.

    made: {size: its Symbol} of this branch, for the values that the same sides have
    """
    if not isinstance(abstract, AbstractTensor):
        return abstract
    inner = [s for s in abstract.shape if isinstance(s, Dim) and lone_symbol(s) is None and s not in made]
    if inner:
        known = region.symbols()
        made.update((s, Symbol(lo=0).dim) for s in inner
                    if not symbols_of(s) <= known or one_side and compare(">=", s, 0) is not True)
    return AbstractTensor(abstract.dtype, tuple([made.get(s, s) for s in abstract.shape])) if made else abstract


def convert(ev: Evaluating, value: Value, abstract: Any) -> Any:
    """`value` as a node of the given abstract, in the present region."""
    if isinstance(abstract, AbstractAny):
        return as_object(ev, value.value if isinstance(value, Held) else value)
    node = ev.tracer.lift(value)
    have = node.abstract
    with interpreting(ev.tracer):
        if isinstance(abstract, AbstractScalar):
            if isinstance(have, AbstractScalar) and have.type is not abstract.type:
                return ev.tracer.lift(scalar_cast(node, type=abstract.type))
            return node
        if isinstance(have, AbstractScalar):
            return scalar_to_tensor(node, dtype=abstract.dtype)
        if isinstance(have, AbstractTensor) and have.dtype is not abstract.dtype:
            return cast(node, dtype=abstract.dtype)
    return node


def undefined_value(ev: Evaluating, abstract: Abstract) -> Value:
    """A node of that abstract whose value is never used."""
    with interpreting(ev.tracer):
        return undefined_prim(abstract=abstract)


@contextlib.contextmanager
def writing(ev: Evaluating, region: Region, store: dict[Any, Value]) -> Iterator[None]:
    """Write into `region`, under the store that held at its end."""
    before, outside = ev.tracer.enter(region), ev.tracer.store
    ev.tracer.store = store
    try:
        with interpreting(ev.tracer):
            yield
    finally:
        ev.tracer.store = outside
        ev.tracer.enter(before)
