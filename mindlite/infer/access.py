"""Attributes, items, operators and iteration on the values of inference: by Python where all is known, else by
operators."""
from __future__ import annotations

import functools
import inspect
import operator
import types
from collections import defaultdict, deque

import numpy as np

from ..common import hashing
from ..common.dim import Dim
from ..common.errors import ArgumentError, GraphSyntaxError, MissingAttributeError, Refusal
from ..common.tensor import Parameter, Tensor
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.graph import AnfNode
from ..mindir.primitive import PRIMITIVES, interpreting
from ..mindir.syntax import Undefined
from ..ops import methods
from ..ops.scalar import BINARY, scalar_binary, scalar_unary
from .branches import checked_length, compare_numbers, fail_unless, truth
from .containers import METHODS_OF, method_of_box
from .state import MISSING, AmbiguousTarget, Raises
from .evaluating import Evaluating
from .fallback import AN_INT, A_BOOL, RETURN_NOTHING_NAMES, ask_python, change_outside, from_outside
from .kinds import has_nodes, has_sizes, leaves
from .outside import CONTAINERS, guard_class, guard_contents, guard_own_content, guard_part, is_users, method_of_class, own_method
from .region import HookHandle
from .program import by_python, is_stand_in, of_container, raises
from .sharing import check_key
from .special import call_special, has_own_state, is_object_of_python, is_sequence_of_python
from .tensor_attributes import (CONVERSIONS, LEAVES_TENSORS, NEEDS_MEMORY, OF_PARAMETERS, OF_TYPE, attribute_of_tensor_node,
                                data_of_tensor)
from .trees import attribute_of_tree, data_of, is_data_tree, is_instance, is_tree, item_of, items_of, length_of
from .values import BoundMethod, Box, Closure, Constants, HookMethod, LeavingMethod, MadeException, Place, Range, Unsure, Value

OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
             "%": operator.mod, "**": operator.pow, "@": operator.matmul, "<<": operator.lshift, ">>": operator.rshift,
             "&": operator.and_, "|": operator.or_, "^": operator.xor}
METHOD_OF = {"&": "and", "|": "or"}
MIRRORED = {"<": "__gt__", "<=": "__ge__", ">": "__lt__", ">=": "__le__", "==": "__eq__", "!=": "__ne__"}
COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
               "!=": operator.ne}
# what is asked of Python about objects that it has made
ASKED = {**COMPARISONS, "is": operator.is_, "is not": operator.is_not, "in": lambda a, b: a in b,
         "not in": lambda a, b: a not in b}
TENSOR_COMPARISONS = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal", "==": "equal",
                      "!=": "not_equal"}
CELL_HOOKS = {"register_forward_pre_hook", "register_forward_hook", "register_backward_pre_hook", "register_backward_hook"}


def is_scalar_node(value: Value) -> bool:
    """True for a number that is known at run time only (a node or a Dim)."""
    return isinstance(value, Dim) or (isinstance(value, AnfNode) and isinstance(value.abstract, AbstractScalar))


def is_tensor(value: Value) -> bool:
    """True for a Tensor or a node of tensor type."""
    return isinstance(value, Tensor) or (isinstance(value, AnfNode) and isinstance(value.abstract, AbstractTensor))


def special(ev: Evaluating, names: tuple[str, ...], a: Value, b: Value) -> Value:
    """(a op b,) by the special methods of a user's class (`names`: the one of a, the one of b); None without such a class."""
    for name, owner, other in ((names[0], a, b), (names[1], b, a)):
        method = own_method(type(owner), name) if name else None
        if is_users(method):
            guard_class(ev, owner, name, getattr(type(owner), name))
            made = ev.call(method, (owner, other), {})
            if made is not NotImplemented:
                return made,
    return None


def attribute(ev: Evaluating, value: Value, name: str) -> Value:
    """value.name"""
    if ev.is_object(value):
        if name in RETURN_NOTHING_NAMES and type(ev.tracer.containers.get(value)) in (list, set, dict, deque):
            return getattr(ev.tracer.containers[value], name)
        return ask_python(ev, getattr, (value, name), f"the attribute {name!r} of an object that Python made")
    if is_tree(value):
        return attribute_of_tree(ev, value, name)
    if name == "register_hook" and is_tensor(value) and not ev.concrete or isinstance(value, HookHandle):
        return HookMethod(None, value, name)
    if name in CELL_HOOKS and hasattr(type(value), "cell_version") and not ev.concrete:
        raise AmbiguousTarget("a hook on a Cell changes what the function is made of, while it runs")
    return next((of for cls, of in ATTRIBUTE_OF if isinstance(value, cls)), attribute_of_object)(ev, value, name)


def attribute_of_node(ev: Evaluating, value: Value, name: str) -> Value:
    """An attribute of a Tensor or number of the run."""
    if isinstance(value.abstract, AbstractScalar):
        found = by_python(ev, getattr, value.abstract.type, name)
        return functools.partial(CONVERSIONS[name], value) if name in CONVERSIONS else found
    if not isinstance(value.abstract, AbstractTensor):
        return attribute_of_object(ev, value, name)
    return attribute_of_tensor_node(ev, value, name)


def attribute_of_closure(ev: Evaluating, value: Value, name: str) -> Value:
    """An attribute of a function that is made inside."""
    if value.wrapped is not None and name in ("__name__", "__qualname__", "__doc__", "__module__"):
        return attribute(ev, value.wrapped, name)
    if name == "__wrapped__" and value.wrapped is not None:
        return value.wrapped
    if name == "__name__":
        return value.graph.name.rpartition(".")[2]
    if hasattr(types.FunctionType, name):
        raise Refusal(f"the attribute {name!r} of a function that is made inside")
    raise MissingAttributeError(f"'function' object has no attribute {name!r}")


def attribute_of_tensor(ev: Evaluating, value: Value, name: str) -> Value:
    """An attribute of a Tensor from outside."""
    if name in OF_TYPE or name in ("name", "requires_grad") and hasattr(value, name):
        found = getattr(value, name)
        if not ev.concrete:
            ev.guard("attr", value, name, found)
        return found
    if name in OF_PARAMETERS and isinstance(value, Parameter) or name in NEEDS_MEMORY:
        return value if name == "data" else attribute_of_object(ev, value, name)
    if name in LEAVES_TENSORS:
        return LeavingMethod(getattr(Tensor, name), value, name)
    if name in methods.METHODS:
        return BoundMethod(methods.METHODS[name], value, name)
    if name == "data" and not ev.concrete:
        return data_of_tensor(ev, value)
    if isinstance(getattr(AnfNode, name, None), property) and not ev.concrete:       # w.T of a Parameter: an operator
        return attribute(ev, ev.tracer.lift(value), name)
    return attribute_of_object(ev, value, name)


def attribute_of_tuple(ev: Evaluating, value: Value, name: str) -> BoundMethod:
    """An attribute of a tuple."""
    if not hasattr(type(value), "_fields") and name in SEARCHES:
        return BoundMethod(SEARCHES[name], value, name)
    return attribute_of_object(ev, value, name)


def attribute_of_object(ev: Evaluating, value: Value, name: str) -> Value:
    """An attribute of an object of Python's: what the graph has assigned, an input of the graph, or a constant under a guard."""
    if name in ev.attempts.links_of(value):
        return ev.attempts.links_of(value)[name]
    if isinstance(value, np.ndarray) and name in ("shape", "ndim", "size", "dtype", "T") and not ev.concrete:
        ev.guard("attr", value, "shape", value.shape)        # both may be assigned
        ev.guard("attr", value, "dtype", value.dtype)
    if not ev.concrete and ev.variables.is_changed(getattr(value, "__dict__", None)):
        if ev.made_here(value):
            raise Refusal(f"what attributes a {type(value).__name__} has is known at run time only",
                          [ev.objects.mark_of(value)], ev.tracer.origin.location)
        return ask_python(ev, getattr, (value, name), "an attribute of an object whose __dict__ changes")
    place = Place("attr", value, name)
    if place in ev.store:
        return assigned_attribute(ev, value, name, ev.store[place])
    made = None if ev.concrete else computed_attribute(ev, value, name)
    if made is not None:
        return made[0]
    found = attribute_now(ev, value, name)
    if place in ev.variables.varying or ev.is_restless(place) or hasattr(type(value), "__slots__") or \
            ev.foresees(place, found):
        return ev.read_place(place)
    has_fields = isinstance(getattr(value, "__dict__", None), (dict, types.MappingProxyType))
    frameworks = isinstance(value, types.ModuleType) and value.__name__.startswith("mindlite")
    if has_fields and not frameworks and not (isinstance(found, types.BuiltinMethodType) and found.__self__ is value):
        ev.guard("attr", value, name, found)
    return from_outside(ev, found)


def computed_attribute(ev: Evaluating, value: Value, name: str) -> tuple[Value] | None:
    """(value.name,) where Python code of the user's class gives it: a property, another descriptor, __getattr__; else None"""
    getter = own_method(type(value), name)
    if isinstance(getter, property) and is_users(getter.fget):
        guard_class(ev, value, name, getter)
        return ev.call(getter.fget, (value,), {}),
    if getter is not None and name not in getattr(value, "__dict__", ()):
        if isinstance(getter, functools.cached_property) and is_users(getter.func):
            guard_class(ev, value, name, getter)
            made = ev.call(getter.func, (value,), {})
            ev.write_place(Place("attr", value, name), made)
            return made,
        if isinstance(getattr(type(getter), "__get__", None), types.FunctionType):
            guard_class(ev, value, name, getter)
            return call_special(ev, getter, "__get__", value, type(value))
    unseen = name == "__dict__" or is_users(type(value).__getattribute__)
    if not (unseen or getter is None and is_users(getattr(type(value), "__getattr__", None))) \
            or not is_object_of_python(value) or not has_own_state(ev, value):
        return None
    if unseen:
        raise Refusal(f"{name!r} of a {type(value).__name__} of which attributes are assigned inside",
                      [ev.objects.mark_of(value)] if ev.made_here(value) else (), ev.tracer.origin.location)
    return call_special(ev, value, "__getattr__", name) if inspect.getattr_static(value, name, MISSING) is MISSING else None


def assigned_attribute(ev: Evaluating, value: Value, name: str, found: Value) -> Value:
    """An attribute of which the store holds `found`."""
    if isinstance(found, Undefined):
        beside = inspect.getattr_static(type(value), name, MISSING)
        if beside is not MISSING and not isinstance(beside, types.MemberDescriptorType):
            raise Refusal(f"the attribute {name!r} of a {type(value).__name__} is deleted, and its class has one", None,
                          ev.tracer.origin.location)
        raise MissingAttributeError(f"{type(value).__name__!r} object has no attribute {name!r}")
    if isinstance(found, Unsure):
        raise Refusal(f"whether a {type(value).__name__} has the attribute {name!r} is known at run time only",
                      [ev.objects.mark_of(value)], ev.tracer.origin.location)
    return found


def attribute_now(ev: Evaluating, value: Value, name: str) -> Value:
    """What Python gives for an attribute now. raises : MissingAttributeError, under a guard that it is missing"""
    try:
        return by_python(ev, getattr, value, name)
    except MissingAttributeError as error:
        ev.guard("attr", value, name, Undefined(name))
        raise MissingAttributeError(error.message, hint=error.hint) from None
    except (Raises, GraphSyntaxError) as error:
        missing = error.__cause__
        if not isinstance(missing, AttributeError):
            raise
        if is_stand_in(value) or isinstance(value, BaseException) and ev.made_here(value):
            raise Refusal(f"the attribute {name!r} of a value that is made at run time")
        ev.guard("attr", value, name, Undefined(name))
        raise MissingAttributeError(str(missing)) from None


def _attribute_of_exception(ev: Evaluating, value: Value, name: str) -> Value:
    """An attribute of an exception that is made of run-time values."""
    if name == "args" and (value.fields is None or Place("attr", value.fields, name) not in ev.store):
        return value.args
    if name in ("__cause__", "__context__"):
        return getattr(value, name)
    if value.fields is None:
        raise Refusal(f"the attribute {name!r} of an exception that is made of run-time values")
    return attribute(ev, value.fields, name)


ATTRIBUTE_OF = ((Box, method_of_box), (AnfNode, attribute_of_node), (Closure, attribute_of_closure),
                (Tensor, attribute_of_tensor), (tuple, attribute_of_tuple), (MadeException, _attribute_of_exception))


def item(ev: Evaluating, value: Value, index: Value) -> Value:
    """value[index]"""
    if ev.is_object(value):
        return ask_python(ev, operator.getitem, (value, index), "an item of an object that Python made")
    if is_tree(value) and not is_data_tree(value):
        return item_of(ev, value, index)
    value, index = (data_of(ev, v) if is_tree(v) else v for v in (value, index))
    if is_scalar_node(index) and (type(value) is dict or isinstance(value, Box) and value.kind == "dict"):
        raise Refusal("which entry of a dict it is, is known at run time only")
    if isinstance(value, Box):
        if value.kind == "iterator":
            raise raises(ev, TypeError("an iterator is not subscriptable"))
        content = ev.store[value]
        if value.kind == "dict":
            check_key(ev, index, value.marks)
            for key, found in content:
                if key is index or by_python(ev, operator.eq, key, index):
                    return found
            raise raises(ev, KeyError(index))
        return _from_sequence(ev, content, index, value)
    if is_tensor(value):
        return ev.trace(methods.METHODS["__getitem__"], (value, index), {})
    if isinstance(value, tuple) and not has_nodes(index, ev.store):
        found = of_container(ev, operator.getitem, value, ev.unbox(index))
        return from_outside(ev, found) if id(value) in ev.guards.shared else found
    if isinstance(value, (tuple, range, list)) and is_scalar_node(index):
        return _from_sequence(ev, tuple(value) if not isinstance(value, range) else value, index, value)
    if isinstance(value, Range):
        with interpreting(ev.tracer):
            return add_numbers(ev, value.start, multiply_numbers(ev, index, value.step))
    getitem = method_of_class(ev, value, "__getitem__")
    if getitem is not None:
        return ev.call(getitem, (value, index), {})
    if not guard_part(ev, value, "item", index):
        return ask_python(ev, operator.getitem, (value, index), "an item of an object that changes during the run")
    index = ev.unbox(index)
    if isinstance(value, defaultdict) and index not in value and not ev.concrete:
        return change_outside(ev, operator.getitem, (value, index))
    found = by_python(ev, operator.getitem, value, index)
    return from_outside(ev, found) if id(value) in ev.guards.shared and not isinstance(index, slice) else found


def _from_sequence(ev: Evaluating, content: Value, index: Value, whole: Value) -> Value:
    sequence = list(content) if isinstance(whole, Box) else content          # what Python says of an index names its type
    if isinstance(index, slice):
        part = of_container(ev, operator.getitem, sequence, ev.unbox(index))
        return ev.new_box("list", tuple(part)) if isinstance(whole, Box) else part
    if not is_scalar_node(index):
        if is_tensor(index):
            index = ev.trace(PRIMITIVES["tensor_to_scalar"], (index,), {})
        else:
            return of_container(ev, operator.getitem, sequence, index)
    if isinstance(content, range):
        return add_numbers(ev, content.start, multiply_numbers(ev, index, content.step))
    raise Refusal("the index of a list or tuple is known at run time only",
                           hint="stack the elements into a Tensor")


def add_numbers(ev: Evaluating, a: Value, b: Value) -> Value:
    """a + b for numbers."""
    return a + b if not (isinstance(a, AnfNode) or isinstance(b, AnfNode)) else number(ev, "+", a, b)


def multiply_numbers(ev: Evaluating, a: Value, b: Value) -> Value:
    """a * b for numbers."""
    if isinstance(b, int) and b == 1:
        return a
    return a * b if not (isinstance(a, AnfNode) or isinstance(b, AnfNode)) else number(ev, "*", a, b)


def number(ev: Evaluating, op: str, a: Value, b: Value) -> Value:
    """a op b for numbers of which one is known at run time only."""
    if op not in BINARY:
        raise ArgumentError(f"unsupported operand type(s) for {op}: numbers")
    dims = [x.abstract.dim if isinstance(x, AnfNode) else x for x in (a, b)]
    if op in "+-*" or op in ("//", "%"):
        if all(isinstance(x, Dim) or type(x) is int for x in dims) and not (op in ("//", "%") and dims[1] == 0):
            return BINARY[op](*dims)
    kinds = [x.abstract.type if isinstance(x, AnfNode) else int if isinstance(x, Dim) else type(x) for x in (a, b)]
    if op == "**" and float not in kinds:
        if isinstance(b, (AnfNode, Dim)):
            raise Refusal("int ** int with an exponent that is known at run time only",
                                   note="is it an int or a float?")
        if b < 0:
            a = ev.call(float, (a,), {})
    if op in ("/", "//", "%") and (isinstance(b, (AnfNode, Dim)) or b == 0):
        with interpreting(ev.tracer):
            condition = compare_numbers(ev, "!=", b, 0)
        fail_unless(ev, condition, zero_division(op, *kinds))
    with interpreting(ev.tracer):
        return scalar_binary(a, b, op=op)


def zero_division(op: str, a: Value, b: Value) -> Exception:
    """Python's exception for a op 0, for numbers of these classes."""
    try:
        return BINARY[op](a(1), b(0))
    except ZeroDivisionError as error:
        return ZeroDivisionError(*error.args)


def binary_value(ev: Evaluating, op: str, a: Value, b: Value) -> Value:
    """a op b"""
    if ev.is_object(a) or ev.is_object(b):
        return ask_python(ev, OPERATORS[op], (a, b), f"{op} on an object that Python made")
    a, b = (data_of(ev, v) if is_tree(v) else v for v in (a, b))
    if (isinstance(a, Box) or isinstance(b, Box)) and not (is_tensor(a) or is_tensor(b)):
        return _binary_of_boxes(ev, op, a, b)
    if is_tensor(a) or is_tensor(b):
        a, b = (ev.tracer.lift(x) if is_tensor(x) else x for x in (a, b))
        return ev.trace(OPERATORS[op], (a, b), {})
    if op == "%" and isinstance(a, str) and has_sizes(b) and not ev.concrete:
        return ask_python(ev, operator.mod, (a, b), "a text of sizes that are known at run time only")
    if is_scalar_node(a) or is_scalar_node(b):
        if isinstance(a, (str, tuple)) or isinstance(b, (str, tuple)):
            return by_python(ev, OPERATORS[op], a, b)
        return number(ev, op, a, b)
    if not ev.concrete:
        stem = METHOD_OF.get(op, OPERATORS[op].__name__.strip("_"))
        made = special(ev, (f"__{stem}__", f"__r{stem}__"), a, b)
        if made is not None:
            return made[0]
    if not guard_contents(ev, (a, b)):
        return ask_python(ev, OPERATORS[op], (a, b), f"{op} on a container that changes during the run")
    with interpreting(ev.tracer):                            # a sparse tensor's operators
        made = by_python(ev, OPERATORS[op], a, b)
    return wrap_container(ev, made) if isinstance(made, CONTAINERS) else made


def _binary_of_boxes(ev: Evaluating, op: str, a: Value, b: Value) -> Value:
    if op == "+" and isinstance(a, Box) and isinstance(b, Box) and a.kind == b.kind == "list":
        return ev.new_box("list", ev.store[a] + ev.store[b])
    if op == "*" and "list" in (getattr(a, "kind", ""), getattr(b, "kind", "")):
        box, times = (a, b) if isinstance(a, Box) else (b, a)
        return ev.new_box("list", by_python(ev, operator.mul, ev.store[box], times))
    if op == "|" and isinstance(a, Box) and isinstance(b, Box) and a.kind == "dict":
        return ev.new_box("dict", tuple({**dict(ev.store[a]), **dict(ev.store[b])}.items()))
    guard_contents(ev, (a, b))
    made = by_python(ev, OPERATORS[op], ev.unbox(a), ev.unbox(b))
    return wrap_container(ev, made)


def wrap_container(ev: Evaluating, value: Value) -> Value:
    """A list, dict or set made by Python as a Box."""
    if type(value) is list:
        return ev.new_box("list", tuple(wrap_container(ev, v) for v in value))
    if type(value) is dict:
        return ev.new_box("dict", tuple((k, wrap_container(ev, v)) for k, v in value.items()))
    if type(value) is set:
        return ev.new_box("set", tuple(value))
    return value


def _compare_trees(ev: Evaluating, op: str, a: Value, b: Value) -> Value:
    """a op b, of which one is a tree or a part of one"""
    if op in ("is", "is not"):
        if a is not None and b is not None:
            raise Refusal("whether two objects of a tree are one")
        same = is_instance(ev, b if a is None else a, type(None))
        return same if op == "is" else not same if isinstance(same, bool) else negate(ev, same)
    if op in ("in", "not in"):
        raise Refusal("what is in a tree")
    return compare_values(ev, op, *(data_of(ev, v) if is_tree(v) else v for v in (a, b)))


def compare_values(ev: Evaluating, op: str, a: Value, b: Value) -> Value:
    """a op b"""
    if op in ("is", "is not") and a is not b and not ev.concrete and (is_tensor(a) or is_tensor(b)) and any(
            ev.is_object(v) or isinstance(v, AnfNode) and v in ev.tracer.effects.held for v in (a, b)):
        raise AmbiguousTarget(f"{op!r} of a Tensor, of which Python code has a copy", location=ev.tracer.origin.location)
    if (ev.is_object(a) or ev.is_object(b)) and op in ASKED:
        return ask_python(ev, ASKED[op], (a, b), f"{op} on an object that Python made",
                          None if op in COMPARISONS else A_BOOL)
    if is_tree(a) or is_tree(b):
        return _compare_trees(ev, op, a, b)
    if op in ("is", "is not"):
        if is_scalar_node(a) and is_scalar_node(b) or is_scalar_node(a) and _is_small(b) \
                or is_scalar_node(b) and _is_small(a):
            same = _one_number(ev, a, b)
            return same if op == "is" else negate(ev, same)
        if isinstance(a, AnfNode) or isinstance(b, AnfNode):
            same = a is b
        else:
            same = a is b or (isinstance(a, (bool, int, type(None))) and type(a) is type(b) and a == b)
        return same if op == "is" else not same
    if op in ("in", "not in"):
        found = _contains(ev, a, b)
        if isinstance(found, AnfNode):
            return found if op == "in" else negate(ev, found)
        return found if op == "in" else not found
    if (is_tensor(a) or is_tensor(b)) and _meets_tensors(op, a) and _meets_tensors(op, b):
        return ev.trace(PRIMITIVES[TENSOR_COMPARISONS[op]], (a, b), {})
    if (is_scalar_node(a) or is_scalar_node(b)) and not (a is None or b is None or isinstance(a, str)
                                                         or isinstance(b, str)):
        return compare_numbers(ev, op, a, b)
    if isinstance(a, (Box, tuple)) and isinstance(b, (Box, tuple)) and op in ("==", "!=") \
            and (_has_numbers(a, ev.store) or _has_numbers(b, ev.store)):
        return _equal_sequences(ev, a, b, op)
    if not ev.concrete:
        made = special(ev, (f"__{COMPARISONS[op].__name__}__", MIRRORED[op]), a, b)
        if made is not None:
            return made[0]
        if op == "!=" and type(a).__ne__ is object.__ne__:   # which is `not a == b`
            made = special(ev, ("__eq__", "__eq__"), a, b)
            if made is not None:
                return negate(ev, made[0])
    if isinstance(a, AnfNode) or isinstance(b, AnfNode) or is_tensor(a) or is_tensor(b):
        if op not in ("==", "!="):
            raise raises(ev, TypeError(f"{op!r} not supported between instances of {class_name(a)!r} and {class_name(b)!r}"))
        return op == "!="
    if not guard_contents(ev, (a, b)):
        return ask_python(ev, COMPARISONS[op], (a, b), f"{op} on a container that changes during the run")
    return by_python(ev, COMPARISONS[op], ev.unbox(a), ev.unbox(b))


def _meets_tensors(op: str, value: Value) -> bool:
    """May one side of a comparison be `value` where the other is a Tensor? A Tensor equals no list, and is no less."""
    return isinstance(value, methods.COMPARABLE) if op in ("==", "!=") else not isinstance(value, (str, type(None)))


def class_name(value: Value) -> str:
    """The name of a value's class, as Python's errors have it."""
    if isinstance(value, AnfNode):
        return value.abstract.type.__name__ if isinstance(value.abstract, AbstractScalar) else "Tensor"
    return value.kind if isinstance(value, Box) else type(value).__name__


def _equal_sequences(ev: Evaluating, a: Value, b: Value, op: str) -> Value:
    x, y = (ev.store[v] if isinstance(v, Box) else v for v in (a, b))
    if type(a) is not type(b) or len(x) != len(y):
        return op == "!="
    result = True
    for p, q in zip(x, y):
        same = equal(ev, p, q)
        if same is False:
            return op == "!="
        if same is not True:
            result = same if result is True else number(ev, "&", result, same)
    return result if op == "==" else negate(ev, result)


def _has_numbers(value: Value, store: dict) -> bool:
    """True if any part of the value is known at run time only, sizes among them."""
    return any(isinstance(leaf, (AnfNode, Dim)) for leaf in leaves(value, store.__getitem__))


def _is_small(value: Value) -> bool:
    """True for a bool, and for an int of which Python keeps one object."""
    return type(value) is bool or type(value) is int and -5 <= value <= 256


def _one_number(ev: Evaluating, a: Value, b: Value) -> Value:
    """a is b, where one of them is known at run time only: Python keeps one object of each bool and each small int."""
    kinds = [x.abstract.type if isinstance(x, AnfNode) else int if isinstance(x, Dim) else type(x) for x in (a, b)]
    if a is b or kinds[0] is not kinds[1] or kinds[0] is float:
        return a is b
    same = compare_numbers(ev, "==", a, b)
    if kinds[0] is bool or _is_small(a) or _is_small(b):
        return same
    raise Refusal("`is` between ints that are known at run time only", hint="use ==")


def equal(ev: Evaluating, a: Value, b: Value) -> Value:
    """Are items of containers the same, or equal? A bool where it is known, else a scalar node."""
    same = True if a is b else truth(ev, compare_values(ev, "==", a, b))
    return ev.trace(PRIMITIVES["tensor_to_scalar"], (same,), {}) if is_tensor(same) else same


def _contains(ev: Evaluating, a: Value, b: Value) -> Value:
    if is_scalar_node(a) and (type(b) in (range, list, dict, set, frozenset)
                              or isinstance(b, Box) and b.kind == "dict"):
        guard_contents(ev, (b,))
        b = tuple(b) if not isinstance(b, Box) else tuple([k for k, _ in ev.store[b]])
    if isinstance(b, Box) and b.kind == "dict":
        check_key(ev, a, b.marks)
        return any(k is a or by_python(ev, operator.eq, k, a) for k, _ in ev.store[b])
    if isinstance(b, Box) and b.kind == "set":
        check_key(ev, a, b.marks)
    if isinstance(b, (Box, tuple)):
        result = False
        for element in iterate(ev, b):
            same = equal(ev, element, a)
            if same is True:
                return True
            if same is not False:
                result = same if result is False else number(ev, "|", result, same)
        return result
    if is_tensor(b):
        found = ev.trace(methods.METHODS["__contains__"], (b, a), {})
        return ev.trace(PRIMITIVES["tensor_to_scalar"], (found,), {}) if is_tensor(found) else found
    contains = method_of_class(ev, b, "__contains__")
    if contains is not None:
        return ev.call(contains, (b, a), {})
    if not (guard_part(ev, b, "in", a) if type(b) in (dict, set) else guard_own_content(ev, b)):
        return ask_python(ev, operator.contains, (b, a), "`in` for a container that changes during the run", A_BOOL)
    return by_python(ev, operator.contains, b, a)


def count_of(ev: Evaluating, content: Value, value: Value) -> Value:
    """How many items equal `value`."""
    found = 0
    for item_ in content:
        found = add_numbers(ev, found, equal(ev, item_, value))
    return found + 0 if isinstance(found, bool) else found


def index_of(ev: Evaluating, content: Value, value: Value, *bounds: Value) -> Value:
    """Where the first item that equals `value` stands. raises : ValueError if none does"""
    start, stop = (*bounds, None, None)[:2]
    for i in range(len(content))[start:stop]:
        same = equal(ev, content[i], value)
        if same is True:
            return i
        if same is not False:
            raise Refusal("which of the items it is, is known at run time only")
    raise raises(ev, ValueError("x not in sequence"))


SEARCHES = {"count": count_of, "index": index_of}             # of a tuple; those of a list look into the store
METHODS_OF["list"].update(
    count=lambda ev, box, value: count_of(ev, ev.store[box], value),
    index=lambda ev, box, value, *bounds: index_of(ev, ev.store[box], value, *bounds),
    remove=lambda ev, box, value: METHODS_OF["list"]["pop"](ev, box, index_of(ev, ev.store[box], value)))


def length(ev: Evaluating, value: Value) -> Value:
    """len(value)"""
    if is_tree(value) and not is_data_tree(value):
        return length_of(ev, value)
    if ev.is_object(value):
        return ask_python(ev, len, (value,), "the length of an object that Python made", AN_INT)
    if isinstance(value, Box):
        if value.kind == "iterator":
            raise raises(ev, TypeError("an iterator has no len()"))
        return len(ev.store[value])
    if isinstance(value, AnfNode):
        if isinstance(value.abstract, AbstractTensor):
            if not value.shape:
                raise ArgumentError("a Tensor without axes has no len()")
            return value.shape[0]
        raise ArgumentError(f"object of type {value.abstract} has no len()")
    if isinstance(value, Range):
        raise Refusal("len() of a range whose end is known at run time only")
    own = method_of_class(ev, value, "__len__")
    if own is not None:
        return checked_length(ev, ev.call(own, (value,), {}))
    if not guard_part(ev, value, "len"):
        return ask_python(ev, len, (value,), "the length of an object that changes during the run", AN_INT)
    return by_python(ev, len, value)


def in_order(ev: Evaluating, elements: Value) -> Value:
    """The elements of a set in Python's order, which a graph that is compiled with it is guarded by."""
    kinds = {type(v) for v in elements}
    if not kinds <= {bool, int, float}:
        name = "TEXT" if kinds <= {bool, int, float, str, bytes} else "PROCESS"
        ev.guard("attr", hashing, name, getattr(hashing, name))
    if isinstance(elements, Constants):
        made: set = set()
        made.update(elements.constant)
        return list(made)
    return list(elements) if isinstance(elements, (set, frozenset)) else list(set(elements))


def iterate(ev: Evaluating, value: Value) -> list:
    """The items of something iterable, as a list."""
    if is_tree(value):
        return items_of(ev, value)
    if isinstance(value, Box):
        if value.kind == "iterator":
            return ev.drain(value)
        content = ev.store[value]
        if value.kind == "set":
            return in_order(ev, content)
        return [k for k, _ in content] if value.kind == "dict" else list(content)
    if isinstance(value, AnfNode) and isinstance(value.abstract, AbstractTensor) or isinstance(value, Tensor):
        size = value.shape[0] if value.shape else None
        if size is None:
            raise ArgumentError("iteration over a Tensor without axes")
        if isinstance(size, Dim):
            raise Refusal("the number of items is known at run time only")
        return [item(ev, value, i) for i in range(size)]
    if isinstance(value, Range):
        raise Refusal("the number of items is known at run time only")
    if ev.is_object(value):
        raise Refusal("the items of an object that Python made, whose number is known at run time only")
    if isinstance(value, AnfNode):
        raise ArgumentError(f"{value.abstract} is not iterable")
    own = own_method(type(value), "__iter__")
    if not ev.concrete and (is_users(own) or is_sequence_of_python(value)):
        guard_class(ev, value, "__iter__", own)
        guard_contents(ev, (value,))
        return ev.drain(value)
    if hasattr(type(value), "cell_version"):                 # a list of Cells
        ev.guard("attr", value, "cell_version", value.cell_version)
    if not guard_own_content(ev, value):
        raise Refusal("iteration over a container that changes during the run")
    if isinstance(value, (set, frozenset)):
        in_order(ev, value)
    return by_python(ev, list, value)


def negate(ev: Evaluating, value: Value) -> Value:
    """not value"""
    known = truth(ev, value)
    if not isinstance(known, AnfNode):
        return not known
    if isinstance(known.abstract, AbstractTensor):
        known = ev.trace(PRIMITIVES["tensor_to_scalar"], (known,), {})
    with interpreting(ev.tracer):
        return scalar_unary(known, op="not")
