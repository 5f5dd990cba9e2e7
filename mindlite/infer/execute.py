"""What each construct of the syntax dialect does during inference: one function per primitive of `mindir/syntax.py`.

Known operands are handled by Python itself; if a run-time node is among them, the construct becomes operators.
"""
from __future__ import annotations

import builtins
import functools
import inspect
import operator
import types
from collections.abc import Callable
from typing import Any, TypeVar

from ..common.dim import Dim
from ..common.errors import ArgumentError, NameLookupError, Refusal
from ..common.location import is_framework
from ..common.tensor import Parameter as TensorParameter, Tensor
from ..fallback.record import ANY
from ..fallback.segment import unbound
from ..mindir import syntax
from ..mindir.graph import AnfNode, CNode, ValueNode
from ..mindir.primitive import PRIMITIVES, eager, interpreting
from ..mindir.syntax import Undefined
from ..ops import setitem
from ..ops.methods import METHODS
from ..ops.scalar import scalar_unary
from ..parse.parse import builtins_of
from . import patterns
from .access import (METHOD_OF, OPERATORS, add_numbers, attribute, binary_value, compare_values, in_order, is_tensor, item,
                     iterate, length, multiply_numbers, negate, number)
from .branches import assigned, compare_numbers
from .containers import METHODS_OF, change, pairs_of
from .builtins import builtin, python_type
from .choice import Chosen, call_chosen, chosen_item
from .evaluating import Evaluating
from .evaluator import EXECUTE
from .exceptions import catches, enter, leave_context
from .fallback import A_BOOL, ask_python, change_outside, interpret_statement, read_cell, write_cell
from .iterators import iterator_of, new_iterator, step as next_step
from .kinds import has_nodes
from .messages import repr_of, text_of
from .outside import guard_class, guard_contents, is_users, method_of_class, own_method
from .program import by_python, of_container, raises, text_by_python
from .sharing import check_key
from .special import call_special, require_seen, text_of_object
from .state import Frame
from .trees import data_of, is_sequence, is_tree, items_of
from .values import (CONVERSIONS, Box, Closure, Conflict, Constants, Formatted, LiveIterator, MadeException, Place, Range, Unsure,
                     Value)

IN_PLACE = {"+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv,
            "//": operator.ifloordiv, "%": operator.imod, "**": operator.ipow, "@": operator.imatmul,
            "<<": operator.ilshift, ">>": operator.irshift, "&": operator.iand, "|": operator.ior, "^": operator.ixor}
Execute = TypeVar("Execute", bound=Callable[..., Any])
UNARY = {"-": operator.neg, "+": operator.pos, "~": operator.invert}


def executes(prim: syntax.Syntax) -> Callable[[Execute], Execute]:
    """Register the function that executes a construct: (evaluator, frame, node, values) -> value."""
    def register(function: Execute) -> Execute:
        EXECUTE[prim] = function
        return function
    return register


# ---------------------------------------------------------------- names

@executes(syntax.load_global)
def load_global(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    name = node.attrs["name"]
    namespace = frame.globals
    place = Place("item", namespace, name)
    value = ev.read_place(place) if place in ev.store or name in namespace else Undefined(name)
    if not isinstance(value, Undefined):
        return value
    ev.guard("item", namespace, name, value)
    known = builtins_of(namespace)
    if name in known:
        return known[name]
    if ev.concrete:
        raise raises(ev, NameError(f"name {name!r} is not defined"))
    raise NameLookupError(f"name {name!r} is not defined", location=node.origin.location)


@executes(syntax.store_global)
def store_global(ev: Evaluating, frame: Frame, node: CNode, values: list) -> None:
    ev.write_place(Place("item", frame.globals, node.attrs["name"]), values[0])


@executes(syntax.delete_global)
def delete_global(ev: Evaluating, frame: Frame, node: CNode, values: list) -> None:
    load_global(ev, frame, node, values)
    ev.write_place(Place("item", frame.globals, node.attrs["name"]), Undefined(node.attrs["name"]))


@executes(syntax.load_closure)
def load_closure(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    name = node.attrs["name"]
    value = ev.read_place(Place("cell", frame.closure_cell(name), ""))
    if isinstance(value, Undefined):
        raise raises(ev, unbound(name, free=True))
    return value


@executes(syntax.cell_get)
def cell_get(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    if ev.is_object(values[0]):
        return ask_python(ev, read_cell, (values[0], node.attrs["name"], node.attrs["free"]),
                          "a variable that Python code shares is read")
    value = ev.store[values[0]]
    return assigned(ev, node.attrs["name"], value, node.attrs["free"]) if isinstance(value, (Unsure, Undefined, Conflict)) \
        else value


@executes(syntax.cell_set)
def cell_set(ev: Evaluating, frame: Frame, node: CNode, values: list) -> None:
    if ev.is_object(values[0]):
        ask_python(ev, write_cell, (values[0], values[1]), "a variable that Python code shares is assigned", ())
        return
    ev.store[values[0]] = values[1]


@executes(syntax.import_module)
def import_module(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    name, level, attribute = (node.attrs[k] for k in ("name", "level", "attribute"))
    module = by_python(ev, builtins.__import__, name, frame.globals, None, () if attribute is None else (attribute,), level)
    if attribute is None:
        return module
    if not hasattr(module, attribute):
        raise raises(ev, ImportError(f"cannot import name {attribute!r} from {name!r}"))
    return by_python(ev, getattr, module, attribute)


# ---------------------------------------------------------------- attributes and items

@builtin(setattr)
def set_attribute(ev: Evaluating, owner: Value, name: str, value: Value) -> None:
    """owner.name = value"""
    if ev.is_object(owner):
        ask_python(ev, setattr, (owner, name, value), f"the attribute {name!r} of an object that Python made is set", ())
        return
    if isinstance(owner, (AnfNode, Box, Closure)):
        raise Refusal(f"setting the attribute {name!r} of a value that is made at run time")
    setter = None if ev.concrete else own_method(type(owner), name)
    if isinstance(setter, property) and is_users(setter.fset):
        guard_class(ev, owner, name, setter)
        ev.call(setter.fset, (owner, value), {})
        return
    look = inspect.getattr_static if is_users(getattr(type(owner), "__getattr__", None)) else getattr
    old = by_python(ev, look, owner, name, None)
    if isinstance(old, TensorParameter) and not isinstance(value, TensorParameter):
        ev.trace(PRIMITIVES["assign"], (old, value), {})
        return
    check_plain(ev, owner, name)
    if not hasattr(owner, "__dict__") and ev.made_here(owner):
        by_python(ev, setattr, object.__new__(type(owner)), name, None)          # is there such a slot?
    ev.write_place(Place("attr", owner, name), value)


def check_plain(ev: Evaluating, owner: Value, name: str) -> None:
    """Require that assigning attributes of `owner` sets an entry of its __dict__ (or a slot) and runs no code of the user."""
    cls = owner if isinstance(owner, type) else type(owner)
    hooks = [getattr(cls, "__setattr__", None), getattr(cls, "__delattr__", None)]
    found = getattr(cls, name, None)
    if not ev.concrete:
        hooks += [getattr(type(found), "__set__", None), getattr(type(found), "__delete__", None)]
    user_code = any(isinstance(hook, types.FunctionType) and not is_framework(hook.__code__.co_filename) for hook in hooks)
    if user_code or isinstance(found, property) and not ev.concrete:
        raise Refusal(f"setting {name!r} of a {type(owner).__name__} runs Python code of its class")


@builtin(delattr)
def delete_attribute(ev: Evaluating, owner: Value, name: str) -> None:
    """del owner.name"""
    if ev.is_object(owner):
        ask_python(ev, delattr, (owner, name), f"the attribute {name!r} of an object that Python made is deleted", ())
        return
    check_plain(ev, owner, name)
    attribute(ev, owner, name)
    ev.write_place(Place("attr", owner, name), Undefined(name))


@executes(syntax.load_item)
def load_item(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    if not ev.concrete and isinstance(values[1], (AnfNode, Dim)):
        found = chosen_item(ev, node, *values)
        if found:
            return found[0]
    return item(ev, values[0], values[1])


@executes(syntax.store_item)
def store_item(ev: Evaluating, frame: Frame, node: CNode, values: list) -> None:
    owner, index, value = values
    if not is_tensor(owner):
        change_item(ev, operator.setitem, "set", owner, index, value)
    elif ev.concrete:                                        # a gradient in the making must see it
        with eager():
            by_python(ev, operator.setitem, owner, index, value)
    else:
        ev.tracer.assign(owner, ev.trace(setitem, (owner, index, value), {}))


@executes(syntax.delete_item)
def delete_item(ev: Evaluating, frame: Frame, node: CNode, values: list) -> None:
    change_item(ev, operator.delitem, "deleted", *values)


def change_item(ev: Evaluating, fn: Callable[..., Any], done: str, owner: Value, index: Value, *value: Value) -> None:
    """owner[index] = value, or del owner[index]: fn(owner, index, *value). done: what is done, as a word"""
    if ev.is_object(owner):
        ask_python(ev, fn, (owner, index, *value), f"an item of an object that Python made is {done}", ())
    elif isinstance(owner, Box) and owner.kind == "dict":
        check_key(ev, index, owner.marks)
        change(ev, owner, fn, index, *value)
    elif isinstance(owner, Box) and owner.kind == "list":
        value = tuple([iterate(ev, v) for v in value]) if isinstance(index, slice) else value
        change(ev, owner, fn, ev.unbox(index), *value)
    elif isinstance(owner, Box):
        raise raises(ev, TypeError(f"'{python_type(ev, owner).__name__}' object " + (
            "does not support item assignment" if value else "doesn't support item deletion")))
    elif (method := method_of_class(ev, owner, f"__{fn.__name__}__")) is not None:
        ev.call(method, (owner, index, *value), {})
    else:
        change_outside(ev, fn, (owner, index, *value))


# ---------------------------------------------------------------- expressions

@executes(syntax.inplace)
def inplace(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    a, b = values
    op = node.attrs["op"]
    if ev.is_object(a):
        return ask_python(ev, IN_PLACE[op], (a, b), f"{op}= on an object that Python made")
    kind = a.kind if isinstance(a, Box) else ""
    if (kind, op) == ("list", "+"):
        change(ev, a, list.extend, iterate(ev, b))
    elif (kind, op) == ("list", "*") and isinstance(b, int):
        change(ev, a, list.__imul__, b)
    elif (kind, op) == ("dict", "|"):
        change(ev, a, dict.update, pairs_of(ev, (b,), {}))
    else:
        own = call_special(ev, a, f"__i{METHOD_OF.get(op, OPERATORS[op].__name__.strip('_'))}__", b)
        return own[0] if own is not None and own[0] is not NotImplemented else binary_value(ev, op, a, b)
    return a


@executes(syntax.unary)
def unary(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    op, value = node.attrs["op"], values[0]
    if op != "not" and ev.is_object(value):
        return ask_python(ev, UNARY[op], (value,), f"{op} on an object that Python made")
    if op == "not":
        return negate(ev, value)
    value = data_of(ev, value) if is_tree(value) else value
    if is_tensor(value):
        return ev.trace(UNARY[op], (ev.tracer.lift(value),), {})
    if isinstance(value, AnfNode):
        with interpreting(ev.tracer):
            return scalar_unary(value, op=op)
    method = None if ev.concrete else method_of_class(ev, value, f"__{UNARY[op].__name__}__")
    if method is not None:
        return ev.call(method, (value,), {})
    guard_contents(ev, value)
    return by_python(ev, UNARY[op], ev.unbox(value))


# ---------------------------------------------------------------- displays

def _splat(ev: Evaluating, node: CNode, values: list) -> list:
    stars = node.attrs.get("stars", ())
    out = []
    for number_, value in enumerate(values):
        if number_ in stars:
            out.extend(iterate(ev, value))
        else:
            out.append(value)
    return out


@executes(syntax.make_list)
def make_list(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    return ev.new_box("list", tuple(_splat(ev, node, values)))


@executes(syntax.make_set)
def make_set(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Box:
    items = _splat(ev, node, values)
    check_key(ev, tuple(items), [ev.mark_of("set ")])
    constants = len(node.args) > 2 and all(isinstance(a, ValueNode) for a in node.args)
    elements = tuple(of_container(ev, dict.fromkeys, items))
    return ev.new_box("set", Constants(elements, frame.python_function.__code__) if constants else elements)


@executes(syntax.make_dict)
def make_dict(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Box:
    pairs: dict = {}
    for key, value in zip(values[::2], values[1::2]):
        if key is syntax.DICT_STAR:
            guard_contents(ev, value)
            require_seen(ev, dict, (value,))
            of_container(ev, pairs.update, dict(ev.store[value]) if isinstance(value, Box) and value.kind == "dict" else value)
        else:
            check_key(ev, key, [ev.mark_of("dict ")])
            of_container(ev, operator.setitem, pairs, key, value)
    return ev.new_box("dict", tuple(pairs.items()))


@executes(syntax.list_append)
def list_append(ev: Evaluating, frame: Frame, node: CNode, values: list) -> None:
    if ev.is_object(values[0]):
        ask_python(ev, list.append, values, "a list that Python code shares grows", ())
    else:
        change(ev, values[0], list.append, values[1])


@executes(syntax.set_add)
def set_add(ev: Evaluating, frame: Frame, node: CNode, values: list) -> None:
    if ev.is_object(values[0]):
        ask_python(ev, set.add, values, "a set that Python code shares grows", ())
    else:
        METHODS_OF["set"]["add"](ev, *values)


@executes(syntax.format_value)
def format_value(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    value, spec, conversion = values[0], values[1] if len(values) > 1 else "", node.attrs["conversion"]
    if isinstance(value, (BaseException, MadeException)) and conversion in ("", "s"):
        value = text_of(ev, value)
    elif isinstance(value, MadeException):
        value, conversion = repr_of(ev, value), "" if conversion == "r" else "escaped"
    if isinstance(value, Formatted) and not spec and conversion in ("", "s"):
        return value
    value = value if ev.concrete else ev.tracer.late(value)
    if has_nodes(value, ev.store) or isinstance(value, Tensor):
        return Formatted([(value, spec or "", conversion)])
    own = text_of_object(ev, value, conversion, spec or "")
    if own is not None:
        if not conversion or not spec:
            return own[0]
        value, conversion = own[0], ""
        if isinstance(value, Formatted):
            raise Refusal("a text of what is known at run time only is formatted", location=ev.tracer.origin.location)
    guard_contents(ev, value)
    convert = CONVERSIONS[conversion]
    value = ev.unbox(value)
    return text_by_python(ev, lambda v: format(convert(v) if conversion else v, spec or ""), value)


@executes(syntax.join_str)
def join_str(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    if any(isinstance(v, Formatted) for v in values):
        return Formatted([p for v in values for p in (v.parts if isinstance(v, Formatted) else [v])])
    return by_python(ev, "".join, values)


@executes(syntax.unpack)
def unpack(ev: Evaluating, frame: Frame, node: CNode, values: list) -> tuple:
    if ev.is_object(values[0]) and not node.attrs["star"]:
        values = [ask_python(ev, tuple, (values[0],), "unpacking an object that Python made")]
    before, star, after = (node.attrs[k] for k in ("before", "star", "after"))
    items = tuple(iterate(ev, values[0]) if star or not is_tree(values[0]) else items_of(ev, values[0], before))
    if not star:
        if len(items) != before:
            few = len(items) < before
            raise raises(ev, ValueError(f"not enough values to unpack (expected {before}, got {len(items)})" if few else
                                        f"too many values to unpack (expected {before})"))
        return items
    if len(items) < before + after:
        raise raises(ev, ValueError(f"not enough values to unpack (expected at least {before + after}, got {len(items)})"))
    middle = ev.new_box("list", items[before:len(items) - after])
    return items[:before] + (middle,) + items[len(items) - after:]


@executes(syntax.match_sequence)
def match_sequence(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    value = values[0]
    if is_tree(value):
        return is_sequence(ev, value, node.attrs["length"], node.attrs["star"])
    if not (isinstance(value, (tuple, list, range)) or (isinstance(value, Box) and value.kind == "list")):
        return False
    size = length(ev, value)
    return size >= node.attrs["length"] if node.attrs["star"] else size == node.attrs["length"]


@executes(syntax.match_keys)
def match_keys(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    return patterns.keys_of(*values, ask=patterns.asking(ev)) if ev.concrete else patterns.match_keys(ev, *values)


@executes(syntax.match_rest)
def match_rest(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    return patterns.rest_of(*values, ask=patterns.asking(ev)) if ev.concrete else patterns.match_rest(ev, *values)


@executes(syntax.match_class)
def match_class(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    match = functools.partial(patterns.attributes_of, ask=patterns.asking(ev)) if ev.concrete else functools.partial(
        patterns.match_class, ev)
    return match(*values, node.attrs["count"], node.attrs["names"])


# ---------------------------------------------------------------- functions and calls

@executes(syntax.call)
def call(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    fn, args = values[0], []
    kwargs: dict = {}
    for word, value in zip(node.attrs["layout"], values[1:]):
        if word == "":
            args.append(value)
        elif word == "*":
            args.extend(iterate(ev, value))
        elif word == "**":
            guard_contents(ev, value)
            if isinstance(value, Box) and value.kind != "dict" or not isinstance(value, Box) and not hasattr(type(value), "keys"):
                raise raises(ev, TypeError(f"argument after ** must be a mapping, not {python_type(ev, value).__name__}"))
            pairs = dict(ev.store[value]) if isinstance(value, Box) else by_python(ev, dict, value)
            for key in pairs:
                if key in kwargs:
                    raise ArgumentError(f"got multiple values for keyword argument {key!r}")
            kwargs.update(pairs)
        else:
            kwargs[word] = value
    if fn is super and not args:
        return _super(ev, frame)
    if isinstance(fn, Chosen):
        return call_chosen(ev, fn, args, kwargs)
    return ev.call(fn, tuple(args), kwargs)


def _super(ev: Evaluating, frame: Frame) -> Value:
    """super() of a method: its class cell and its first argument."""
    while frame.function is None and frame.outer is not None:
        frame = frame.outer
    owner = frame.closure_cell("__class__").cell_contents
    return by_python(ev, super, owner, frame.env[frame.graph.parameters[0]])


# ---------------------------------------------------------------- iteration

def stands_in(made: Value, node: CNode) -> bool:
    """True if a display is written where a loop begins, and not a variable that holds one."""
    here, there = made.origin.location, node.origin.location
    return made.fn is syntax.make_set and here is not None and there is not None and \
        (here.line, here.col) >= (there.line, there.col) and (here.end_line, here.end_col) <= (there.end_line, there.end_col)


@executes(syntax.get_iter)
def get_iter(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    value = values[0]
    if ev.is_object(value):
        return ask_python(ev, LiveIterator, (value,), "iteration over an object that Python made", ANY)
    if is_tensor(value):
        if not value.shape:                                  # the operator says what is wrong
            return ev.trace(METHODS["__iter__"], (value,), {})
        return value if isinstance(value, AnfNode) else ev.tracer.lift(value)
    if isinstance(value, (range, Range)):
        return value
    if isinstance(value, Box) and isinstance(ev.store[value], Constants) and stands_in(node.args[0], node):
        value = tuple(in_order(ev, ev.store[value].constant))           # a loop over a display of constants: a frozenset
    iterator = iterator_of(ev, value)
    kind, *state = ev.store[iterator]
    return state[0] if kind == "items" and iterator is not value else new_iterator(ev, "ahead", iterator, None)


@executes(syntax.iter_more)
def iter_more(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    iterator, i = values
    if isinstance(iterator, Box):
        return next_step(ev, iterator)[0]
    if ev.is_object(iterator):
        return ask_python(ev, LiveIterator.has, values, "iteration over an object that Python made", A_BOOL)
    if isinstance(iterator, Range):
        with interpreting(ev.tracer):
            here = add_numbers(ev, iterator.start, multiply_numbers(ev, i, iterator.step))
            step = iterator.step
        return compare_numbers(ev, "<" if not isinstance(step, int) or step > 0 else ">", here, iterator.stop)
    return compare_numbers(ev, "<", i, turns_of(iterator))


@executes(syntax.iter_item)
def iter_item(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    if ev.is_object(values[0]):
        return ask_python(ev, LiveIterator.get, values, "iteration over an object that Python made")
    if isinstance(values[0], Box):
        return ev.store[values[0]][2]
    if isinstance(values[1], AnfNode):
        iterations = turns_of(values[0])
        if iterations is not None:
            ev.tracer.iterations[values[1]] = iterations
    return item(ev, values[0], values[1])


def turns_of(iterator: Value) -> Value:
    """How many items there are, an int or Dim; None where that is known at run time only."""
    if not isinstance(iterator, Range):
        return iterator.shape[0] if isinstance(iterator, AnfNode) else len(iterator)
    ends: list[Any] = [getattr(end.abstract, "dim", None) if isinstance(end, AnfNode) else end
                       for end in (iterator.start, iterator.stop)]
    if None in ends or not isinstance(iterator.step, int):
        return None
    return (ends[1] - ends[0]) // iterator.step if abs(iterator.step) == 1 else None


@executes(syntax.iter_returned)
def iter_returned(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    iterator = values[0]
    if ev.concrete:
        return iterator.item
    if ev.is_object(iterator):
        return ask_python(ev, LiveIterator.get, (iterator, 0), "what an iterator that Python made returned")
    return ev.store[iterator][2] if isinstance(iterator, Box) else None


@executes(syntax.sent)
def sent(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    if node.attrs["delegates"] and frame.sent is not None:
        raise Refusal("a value is sent to a generator that yields from another")
    return frame.sent


@executes(syntax.iter_step)
def iter_step(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    return values[0] + 1 if isinstance(values[0], int) else number(ev, "+", values[0], 1)


# ---------------------------------------------------------------- what other modules do

EXECUTE.update({
    syntax.load_local: lambda ev, frame, node, values: assigned(ev, node.attrs["name"], values[0], node.attrs["free"]),
    syntax.store_closure: lambda ev, frame, node, values: ev.write_place(
        Place("cell", frame.closure_cell(node.attrs["name"]), ""), values[0]),
    syntax.cell_new: lambda ev, frame, node, values: ev.new_box("cell", values[0], node.attrs["name"]),
    syntax.binary: lambda ev, frame, node, values: binary_value(ev, node.attrs["op"], *values),
    syntax.compare: lambda ev, frame, node, values: compare_values(ev, node.attrs["op"], *values),
    syntax.make_tuple: lambda ev, frame, node, values: tuple(_splat(ev, node, values)),
    syntax.make_slice: lambda ev, frame, node, values: slice(*values),
    syntax.make_function: lambda ev, frame, node, values: Closure(
        node.attrs["graph"], frame, frame.env, tuple(values), node.attrs["signature"]),
    syntax.closure_cell: lambda ev, frame, node, values: frame.closure_cell(node.attrs["name"]),
    syntax.load_attr: lambda ev, frame, node, values: attribute(ev, values[0], node.attrs["name"]),
    syntax.store_attr: lambda ev, frame, node, values: set_attribute(ev, values[0], node.attrs["name"], values[1]),
    syntax.delete_attr: lambda ev, frame, node, values: delete_attribute(ev, values[0], node.attrs["name"]),
    syntax.caught: lambda ev, frame, node, values: ev.attempts.handling[-1],
    syntax.catches: lambda ev, frame, node, values: catches(ev, *values),
    syntax.enter_context: lambda ev, frame, node, values: enter(ev, *values),
    syntax.exit_context: lambda ev, frame, node, values: leave_context(ev, *values),
    syntax.interpret: interpret_statement,
})
