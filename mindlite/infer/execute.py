"""What each construct of the syntax dialect does during inference: one function per primitive of `mindir/syntax.py`.

Known operands are handled by Python itself; if a run-time node is among them, the construct becomes operators.
"""
import importlib
import operator

from ..common.dim import Dim
from ..common.errors import ArgumentError, GraphSyntaxError, MissingAttributeError, NameLookupError
from ..common.tensor import Parameter as TensorParameter, Tensor
from ..mindir import syntax
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.graph import AnfNode
from ..mindir.primitive import PRIMITIVES, interpreting
from ..mindir.syntax import Undefined
from ..ops import methods
from ..ops.scalar import BINARY, scalar_binary, scalar_unary
from . import control
from .builtins import call_value, iterate, length, method_of_box
from .evaluator import EXECUTE
from .fallback import call_unknown, interpret_statement
from .values import BoundMethod, Box, Closure, LeavingMethod, Range, has_nodes

OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
             "%": operator.mod, "**": operator.pow, "@": operator.matmul, "<<": operator.lshift, ">>": operator.rshift,
             "&": operator.and_, "|": operator.or_, "^": operator.xor}
INPLACE = {"+": operator.iadd, "*": operator.imul}
UNARY = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
TENSOR_COMPARISONS = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal", "==": "equal", "!=": "not_equal"}


def executes(prim):
    """Register the function that executes a construct: (evaluator, frame, node, values) -> value."""
    def register(function):
        EXECUTE[prim] = function
        return function
    return register


def is_scalar_node(value):
    """True for a number that is known at run time only (a node or a Dim)."""
    return isinstance(value, Dim) or (isinstance(value, AnfNode) and isinstance(value.abstract, AbstractScalar))


def is_tensor(value):
    """True for a Tensor or a node of tensor type."""
    return isinstance(value, Tensor) or (isinstance(value, AnfNode) and isinstance(value.abstract, AbstractTensor))


# ---------------------------------------------------------------- names

@executes(syntax.load_global)
def load_global(ev, frame, node, values):
    name = node.attrs["name"]
    namespace = frame.globals
    if ("global", id(namespace), name) in ev.store:
        return ev.store["global", id(namespace), name]
    if name in namespace:
        value = namespace[name]
        ev.guard("item", namespace, name, value)
        return value
    builtins = namespace.get("__builtins__", __builtins__)
    builtins = builtins if isinstance(builtins, dict) else vars(builtins)
    if name in builtins:
        return builtins[name]
    raise NameLookupError(f"name {name!r} is not defined", location=node.origin.location)


@executes(syntax.store_global)
def store_global(ev, frame, node, values):
    raise GraphSyntaxError(f"assigning to the global {node.attrs['name']!r} inside a graph is not supported",
                           hint="return the value, or leave this function to PyNative mode")


EXECUTE[syntax.delete_global] = EXECUTE[syntax.store_closure] = store_global


@executes(syntax.load_closure)
def load_closure(ev, frame, node, values):
    name = node.attrs["name"]
    cell = frame.closure_cell(name)
    try:
        value = cell.cell_contents
    except ValueError:
        raise NameLookupError(f"free variable {name!r} referenced before assignment in enclosing scope") from None
    ev.guard("cell", cell, name, value)
    return value


@executes(syntax.closure_cell)
def closure_cell(ev, frame, node, values):
    return frame.closure_cell(node.attrs["name"])


@executes(syntax.load_local)
def load_local(ev, frame, node, values):
    if isinstance(values[0], Undefined):
        raise NameLookupError(f"cannot access local variable {node.attrs['name']!r} where it is not associated with a value")
    return values[0]


@executes(syntax.cell_new)
def cell_new(ev, frame, node, values):
    return ev.new_box("cell", values[0], node.attrs["name"])


@executes(syntax.cell_get)
def cell_get(ev, frame, node, values):
    value = ev.store[values[0]]
    if isinstance(value, Undefined):
        raise NameLookupError(f"cannot access variable {node.attrs['name']!r} where it is not associated with a value")
    return value


@executes(syntax.cell_set)
def cell_set(ev, frame, node, values):
    ev.store[values[0]] = values[1]


@executes(syntax.import_module)
def import_module(ev, frame, node, values):
    name, level, attribute = (node.attrs[k] for k in ("name", "level", "attribute"))
    package = frame.globals.get("__package__") if level else None
    module = importlib.import_module("." * level + (name or ""), package)
    if attribute:
        if hasattr(module, attribute):
            return getattr(module, attribute)
        return importlib.import_module(f"{module.__name__}.{attribute}")
    return module


# ---------------------------------------------------------------- attributes and items

@executes(syntax.load_attr)
def load_attr(ev, frame, node, values):
    return attribute(ev, values[0], node.attrs["name"])


def attribute(ev, value, name):
    """value.name"""
    if ev.is_object(value):
        return call_unknown(ev, getattr, (value, name), {}, f"the attribute {name!r} of an object that Python made")
    if isinstance(value, Box):
        return method_of_box(ev, value, name)
    if isinstance(value, AnfNode):
        if isinstance(value.abstract, AbstractTensor):
            if name in ("shape", "dtype", "ndim", "size"):
                return getattr(value, name)
            found = getattr(type(value), name, None)
            if isinstance(found, property):
                with interpreting(ev.tracer):
                    return found.fget(value)
            if name in methods.METHODS:
                return BoundMethod(methods.METHODS[name], value, name)
            if name in LEAVES_TENSORS:
                return LeavingMethod(getattr(Tensor, name), value, name)
            raise MissingAttributeError(f"'Tensor' object has no attribute {name!r}")
        if isinstance(value.abstract, AbstractScalar):
            return getattr(value.abstract.type, name)
    if isinstance(value, Closure):
        return {"__name__": value.graph.name}[name]
    if isinstance(value, Tensor):
        if name in ("shape", "dtype", "ndim", "size", "name", "requires_grad"):
            return getattr(value, name)
        if name in methods.METHODS:
            return BoundMethod(methods.METHODS[name], value, name)
        if name in LEAVES_TENSORS:
            return LeavingMethod(getattr(Tensor, name), value, name)
    if isinstance(value, tuple) and not hasattr(type(value), "_fields") and name in ("index", "count"):
        return BoundMethod(getattr(tuple, name), value, name)
    key = ("attr", id(value), name)
    if key in ev.store:
        return ev.store[key]
    try:
        found = getattr(value, name)
    except AttributeError as error:
        raise MissingAttributeError(str(error)) from None
    if isinstance(getattr(value, "__dict__", None), dict) and not isinstance(value, type(importlib)):
        ev.guard("attr", value, name, found)
    return found


# methods that give Python's or NumPy's data: they are called at run time
LEAVES_TENSORS = ("asnumpy", "numpy", "tolist", "__array__")


@executes(syntax.store_attr)
def store_attr(ev, frame, node, values):
    owner, value = values
    name = node.attrs["name"]
    old = getattr(owner, name, None)
    if isinstance(old, TensorParameter):
        ev.trace(PRIMITIVES["assign"], (old, value), {})
        return None
    raise GraphSyntaxError(f"setting the attribute {name!r} of a {type(owner).__name__} inside a graph is not supported",
                           hint="make it a Parameter, or leave this function to PyNative mode")


EXECUTE[syntax.delete_attr] = store_attr


@executes(syntax.load_item)
def load_item(ev, frame, node, values):
    return item(ev, values[0], values[1])


def item(ev, value, index):
    """value[index]"""
    if ev.is_object(value):
        return call_unknown(ev, operator.getitem, (value, index), {}, "an item of an object that Python made")
    if isinstance(value, Box):
        content = ev.store[value]
        if value.kind == "dict":
            for key, found in content:
                if key == index:
                    return found
            raise KeyError(index)
        return _from_sequence(ev, content, index, value)
    if is_tensor(value):
        return ev.trace(methods.METHODS["__getitem__"], (value, index), {})
    if isinstance(value, tuple) and not has_nodes(index, ev.store):
        return value[ev.unbox(index)]
    if isinstance(value, (tuple, range, list)) and is_scalar_node(index):
        return _from_sequence(ev, tuple(value) if not isinstance(value, range) else value, index, value)
    if isinstance(value, Range):
        with interpreting(ev.tracer):
            return _add(ev, value.start, _times(ev, index, value.step))
    getitem = getattr(type(value), "__getitem__", None)
    if getitem is not None and hasattr(value, "__mindir__"):
        return call_value(ev, getitem, (value, index), {})
    return value[ev.unbox(index)]


def _from_sequence(ev, content, index, whole):
    if isinstance(index, slice):
        part = content[ev.unbox(index)]
        return ev.new_box("list", tuple(part)) if isinstance(whole, Box) else part
    if not is_scalar_node(index):
        if is_tensor(index):
            index = ev.trace(PRIMITIVES["tensor_to_scalar"], (index,), {})
        else:
            return content[index]
    if isinstance(content, range):
        return _add(ev, content.start, _times(ev, index, content.step))
    raise GraphSyntaxError("the index of a list or tuple is known at run time only", hint="stack the elements into a Tensor")


def _add(ev, a, b):
    return a + b if not (isinstance(a, AnfNode) or isinstance(b, AnfNode)) else number(ev, "+", a, b)


def _times(ev, a, b):
    if isinstance(b, int) and b == 1:
        return a
    return a * b if not (isinstance(a, AnfNode) or isinstance(b, AnfNode)) else number(ev, "*", a, b)


@executes(syntax.store_item)
def store_item(ev, frame, node, values):
    owner, index, value = values
    if isinstance(owner, Box):
        content = ev.store[owner]
        if owner.kind == "dict":
            pairs = dict(content)
            pairs[index] = value
            ev.store[owner] = tuple(pairs.items())
            return
        items = list(content)
        items[ev.unbox(index)] = value if not isinstance(index, slice) else iterate(ev, value)
        ev.store[owner] = tuple(items)
        return
    if is_tensor(owner):
        from ..ops import setitem
        made = ev.trace(setitem, (owner, index, value), {})
        ev.tracer.assign(owner, made)
        return
    raise GraphSyntaxError(f"changing a {type(owner).__name__} that was made outside of the graph is not supported",
                           hint="make it inside the function, or leave the function to PyNative mode")


@executes(syntax.delete_item)
def delete_item(ev, frame, node, values):
    owner, index = values
    if not isinstance(owner, Box):
        return store_item(ev, frame, node, (owner, index, None))
    if owner.kind == "dict":
        pairs = dict(ev.store[owner])
        del pairs[index]
        ev.store[owner] = tuple(pairs.items())
    else:
        items = list(ev.store[owner])
        del items[index]
        ev.store[owner] = tuple(items)


# ---------------------------------------------------------------- expressions

def number(ev, op, a, b):
    """a op b for numbers of which one is known at run time only."""
    if op not in BINARY:
        raise ArgumentError(f"unsupported operand type(s) for {op}: numbers")
    dims = [x.abstract.dim if isinstance(x, AnfNode) else x for x in (a, b)]
    if op in "+-*" or op in ("//", "%"):
        if all(isinstance(x, Dim) or type(x) is int for x in dims) and not (op in ("//", "%") and dims[1] == 0):
            return BINARY[op](*dims)
    with interpreting(ev.tracer):
        return scalar_binary(a, b, op=op)


def binary_value(ev, op, a, b):
    """a op b"""
    if ev.is_object(a) or ev.is_object(b):
        return call_unknown(ev, OPERATORS[op], (a, b), {}, f"{op} on an object that Python made")
    if isinstance(a, Box) or isinstance(b, Box):
        return _binary_of_boxes(ev, op, a, b)
    if is_tensor(a) or is_tensor(b):
        return ev.trace(OPERATORS[op], (ev.tracer.lift(a) if is_tensor(a) else a, ev.tracer.lift(b) if is_tensor(b) else b), {})
    if is_scalar_node(a) or is_scalar_node(b):
        if isinstance(a, (str, tuple)) or isinstance(b, (str, tuple)):
            return OPERATORS[op](a, b)
        return number(ev, op, a, b)
    return OPERATORS[op](a, b)


def _binary_of_boxes(ev, op, a, b):
    if op == "+" and isinstance(a, Box) and isinstance(b, Box) and a.kind == b.kind == "list":
        return ev.new_box("list", ev.store[a] + ev.store[b])
    if op == "*" and "list" in (getattr(a, "kind", ""), getattr(b, "kind", "")):
        box, times = (a, b) if isinstance(a, Box) else (b, a)
        return ev.new_box("list", ev.store[box] * times)
    if op == "|" and isinstance(a, Box) and isinstance(b, Box) and a.kind == "dict":
        return ev.new_box("dict", tuple({**dict(ev.store[a]), **dict(ev.store[b])}.items()))
    made = OPERATORS[op](ev.unbox(a), ev.unbox(b))
    return wrap_container(ev, made)


def wrap_container(ev, value):
    """A list, dict or set made by Python as a Box."""
    if type(value) is list:
        return ev.new_box("list", tuple(wrap_container(ev, v) for v in value))
    if type(value) is dict:
        return ev.new_box("dict", tuple((k, wrap_container(ev, v)) for k, v in value.items()))
    if type(value) is set:
        return ev.new_box("set", tuple(value))
    return value


@executes(syntax.binary)
def binary(ev, frame, node, values):
    return binary_value(ev, node.attrs["op"], *values)


@executes(syntax.inplace)
def inplace(ev, frame, node, values):
    a, b = values
    op = node.attrs["op"]
    if isinstance(a, Box) and a.kind == "list" and op == "+":
        ev.store[a] = ev.store[a] + tuple(iterate(ev, b))
        return a
    if isinstance(a, Box) and a.kind == "dict" and op == "|":
        ev.store[a] = tuple({**dict(ev.store[a]), **dict(ev.store[b])}.items())
        return a
    return binary_value(ev, op, a, b)


@executes(syntax.unary)
def unary(ev, frame, node, values):
    op, value = node.attrs["op"], values[0]
    if op != "not" and ev.is_object(value):
        return call_unknown(ev, UNARY[op], (value,), {}, f"{op} on an object that Python made")
    if op == "not":
        known = control.truth(ev, value)
        if not isinstance(known, AnfNode):
            return not known
        if isinstance(known.abstract, AbstractTensor):
            return ev.trace(PRIMITIVES["logical_not"], (known,), {})
        with interpreting(ev.tracer):
            return scalar_unary(known, op="not")
    if is_tensor(value):
        return ev.trace(UNARY[op], (ev.tracer.lift(value),), {})
    if isinstance(value, AnfNode):
        with interpreting(ev.tracer):
            return scalar_unary(value, op=op)
    return UNARY[op](value)


@executes(syntax.compare)
def compare(ev, frame, node, values):
    return compare_values(ev, node.attrs["op"], *values)


def compare_values(ev, op, a, b):
    """a op b"""
    if op in COMPARISONS and (ev.is_object(a) or ev.is_object(b)):
        return call_unknown(ev, COMPARISONS[op], (a, b), {}, f"{op} on an object that Python made")
    if op in ("is", "is not"):
        if isinstance(a, AnfNode) or isinstance(b, AnfNode):
            same = a is b
        else:
            same = a is b or (isinstance(a, (bool, int, type(None))) and type(a) is type(b) and a == b)
        return same if op == "is" else not same
    if op in ("in", "not in"):
        found = _contains(ev, a, b)
        if isinstance(found, AnfNode):
            return found if op == "in" else unary(ev, None, _Op("not"), [found])
        return found if op == "in" else not found
    if (is_tensor(a) or is_tensor(b)) and not (a is None or b is None or isinstance(a, str) or isinstance(b, str)):
        return ev.trace(PRIMITIVES[TENSOR_COMPARISONS[op]], (a, b), {})
    if (is_scalar_node(a) or is_scalar_node(b)) and not (a is None or b is None or isinstance(a, str) or isinstance(b, str)):
        return control.compare_numbers(ev, op, a, b)
    if isinstance(a, (Box, tuple)) and isinstance(b, (Box, tuple)) and op in ("==", "!=") \
            and (has_nodes(a, ev.store) or has_nodes(b, ev.store)):
        return _equal_sequences(ev, a, b, op)
    if isinstance(a, AnfNode) or isinstance(b, AnfNode):
        return op == "!="
    return COMPARISONS[op](ev.unbox(a), ev.unbox(b))


class _Op:
    def __init__(self, op):
        self.attrs = {"op": op}


def _equal_sequences(ev, a, b, op):
    x, y = (ev.store[v] if isinstance(v, Box) else v for v in (a, b))
    if type(a) is not type(b) or len(x) != len(y):
        return op == "!="
    result = True
    for p, q in zip(x, y):
        same = control.truth(ev, compare_values(ev, "==", p, q))
        if same is False:
            return op == "!="
        if same is not True:
            result = same if result is True else ev.trace(PRIMITIVES["logical_and"], (result, same), {})
    if isinstance(result, AnfNode):
        return result if op == "==" else unary(ev, None, _Op("not"), [result])
    return result if op == "==" else not result


def _contains(ev, a, b):
    if isinstance(b, Box) and b.kind == "dict":
        return any(k == a for k, _ in ev.store[b])
    if isinstance(b, (Box, tuple)):
        result = False
        for element in (ev.store[b] if isinstance(b, Box) else b):
            same = True if element is a else compare_values(ev, "==", a, element)
            if not isinstance(same, AnfNode):
                if same:
                    return True
                continue
            result = same if result is False else ev.trace(PRIMITIVES["logical_or"], (result, same), {})
        return result
    if is_tensor(b):
        return ev.trace(lambda x, y: (PRIMITIVES["equal"](x, y)).any(), (b, a), {})
    if hasattr(b, "__mindir__") and hasattr(type(b), "__contains__"):
        return call_value(ev, type(b).__contains__, (b, a), {})
    return a in b


# ---------------------------------------------------------------- displays

def _splat(ev, node, values):
    stars = node.attrs.get("stars", ())
    out = []
    for number_, value in enumerate(values):
        if number_ in stars:
            out.extend(iterate(ev, value))
        else:
            out.append(value)
    return out


@executes(syntax.make_tuple)
def make_tuple(ev, frame, node, values):
    return tuple(_splat(ev, node, values))


@executes(syntax.make_list)
def make_list(ev, frame, node, values):
    return ev.new_box("list", tuple(_splat(ev, node, values)))


@executes(syntax.make_set)
def make_set(ev, frame, node, values):
    return ev.new_box("set", tuple(dict.fromkeys(_splat(ev, node, values))))


@executes(syntax.make_dict)
def make_dict(ev, frame, node, values):
    pairs = {}
    for key, value in zip(values[::2], values[1::2]):
        if key is syntax.DICT_STAR:
            pairs.update(dict(ev.store[value]) if isinstance(value, Box) else value)
        else:
            pairs[key] = value
    return ev.new_box("dict", tuple(pairs.items()))


@executes(syntax.make_slice)
def make_slice(ev, frame, node, values):
    return slice(*values)


@executes(syntax.list_append)
def list_append(ev, frame, node, values):
    ev.store[values[0]] = ev.store[values[0]] + (values[1],)


@executes(syntax.set_add)
def set_add(ev, frame, node, values):
    ev.store[values[0]] = tuple(dict.fromkeys([*ev.store[values[0]], values[1]]))


@executes(syntax.format_value)
def format_value(ev, frame, node, values):
    value, spec = values[0], values[1] if len(values) > 1 else ""
    if has_nodes(value, ev.store) or isinstance(value, Tensor):
        return Formatted([(value, spec or "", node.attrs["conversion"])])
    convert = {"": lambda v: v, "s": str, "r": repr, "a": ascii}[node.attrs["conversion"]]
    return format(convert(ev.unbox(value)), spec or "")


@executes(syntax.join_str)
def join_str(ev, frame, node, values):
    if any(isinstance(v, Formatted) for v in values):
        return Formatted([p for v in values for p in (v.parts if isinstance(v, Formatted) else [v])])
    return "".join(values)


class Formatted:
    """A string with run-time values in it: parts are strings and (value, spec, conversion)."""

    def __init__(self, parts):
        self.parts = parts

    @property
    def values(self):
        """The run-time values, in order."""
        return [p[0] for p in self.parts if not isinstance(p, str)]

    def make(self, values):
        """The string for the given values."""
        values = iter(values)
        return "".join(p if isinstance(p, str) else format(
            {"": lambda v: v, "s": str, "r": repr, "a": ascii}[p[2]](next(values)), p[1]) for p in self.parts)


@executes(syntax.unpack)
def unpack(ev, frame, node, values):
    items = tuple(iterate(ev, values[0]))
    before, star, after = (node.attrs[k] for k in ("before", "star", "after"))
    if not star:
        if len(items) != before:
            few = len(items) < before
            raise ValueError(f"not enough values to unpack (expected {before}, got {len(items)})" if few else
                             f"too many values to unpack (expected {before})")
        return items
    if len(items) < before + after:
        raise ValueError(f"not enough values to unpack (expected at least {before + after}, got {len(items)})")
    middle = ev.new_box("list", items[before:len(items) - after])
    return items[:before] + (middle,) + items[len(items) - after:]


@executes(syntax.match_sequence)
def match_sequence(ev, frame, node, values):
    value = values[0]
    if not (isinstance(value, (tuple, list, range)) or (isinstance(value, Box) and value.kind == "list")):
        return False
    size = length(ev, value)
    return size >= node.attrs["length"] if node.attrs["star"] else size == node.attrs["length"]


# ---------------------------------------------------------------- functions and calls

@executes(syntax.make_function)
def make_function(ev, frame, node, values):
    return Closure(node.attrs["graph"], frame, frame.env, tuple(values), node.attrs["signature"])


@executes(syntax.call)
def call(ev, frame, node, values):
    fn, args, kwargs = values[0], [], {}
    for word, value in zip(node.attrs["layout"], values[1:]):
        if word == "":
            args.append(value)
        elif word == "*":
            args.extend(iterate(ev, value))
        elif word == "**":
            pairs = dict(ev.store[value]) if isinstance(value, Box) else dict(value)
            for key in pairs:
                if key in kwargs:
                    raise ArgumentError(f"got multiple values for keyword argument {key!r}")
            kwargs.update(pairs)
        else:
            kwargs[word] = value
    if fn is super and not args:
        return _super(ev, frame)
    return call_value(ev, fn, tuple(args), kwargs)


def _super(ev, frame):
    """super() of a method: its class cell and its first argument."""
    while frame.function is None:
        frame = frame.outer
    owner = frame.closure_cell("__class__").cell_contents
    return super(owner, frame.env[frame.graph.parameters[0]])


# ---------------------------------------------------------------- iteration

@executes(syntax.get_iter)
def get_iter(ev, frame, node, values):
    value = values[0]
    if is_tensor(value):
        return value if isinstance(value, AnfNode) else ev.tracer.lift(value)
    if isinstance(value, (range, Range)):
        return value
    return tuple(iterate(ev, value))


@executes(syntax.iter_more)
def iter_more(ev, frame, node, values):
    iterator, i = values
    if isinstance(iterator, Range):
        with interpreting(ev.tracer):
            here = _add(ev, iterator.start, _times(ev, i, iterator.step))
            step = iterator.step
        return control.compare_numbers(ev, "<" if not isinstance(step, int) or step > 0 else ">", here, iterator.stop)
    size = iterator.shape[0] if isinstance(iterator, AnfNode) else len(iterator)
    return control.compare_numbers(ev, "<", i, size)


@executes(syntax.iter_item)
def iter_item(ev, frame, node, values):
    return item(ev, values[0], values[1])


@executes(syntax.iter_step)
def iter_step(ev, frame, node, values):
    return values[0] + 1 if isinstance(values[0], int) else number(ev, "+", values[0], 1)


# ---------------------------------------------------------------- JIT Fallback

EXECUTE[syntax.interpret] = interpret_statement
