"""Functions over structures and over kinds of arguments: HyperMap, Map, MultitypeFuncGraph, and loops as functions.

    add_all = HyperMap(add)          add_all((x, (y, z)), (a, (b, c)))  ->  (x + a, (y + b, z + c))

All are plain Python: in eager mode it runs, in a graph it is parsed, and on tuples nothing of it is left.
"""
import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..common.dtype import DType
from ..common.errors import ArgumentError, DTypeError
from ..common.tensor import Parameter, Tensor
from ..mindir.protocol import CallOf
from .context import mutable  # noqa: F401
from .derivative import GradOperation  # noqa: F401


class HyperMap:
    """HyperMap(function)(*structures): function on the leaves, through tuples and lists of any depth.

    function : takes one leaf of each structure; None: the first argument of the call is the function
    reverse  : from the last element to the first (the result keeps its order)
    raises   : ArgumentError where the structures differ in length
    """

    def __init__(self, ops=None, reverse=False):
        self.function, self.reverse = ops, reverse

    def __mindir__(self):
        return CallOf(self.apply)

    def __call__(self, *args):
        return self.apply(*args)

    def apply(self, *args):
        """The mapped structure."""
        function = self.function
        if function is None:
            return map_leaves(args[0], args[1:])
        return map_leaves(function, args)


def map_leaves(function: Callable[..., Any], structures: Sequence[Any]) -> Any:
    """function on the leaves of structures that are alike."""
    first = structures[0]
    if not isinstance(first, (tuple, list)):
        return function(*structures)
    for other in structures[1:]:
        if not isinstance(other, (tuple, list)) or len(other) != len(first):
            raise ArgumentError("HyperMap: the structures differ")
    made = []
    for i in range(len(first)):
        made.append(map_leaves(function, tuple([s[i] for s in structures])))
    return tuple(made) if isinstance(first, tuple) else made


class Map:
    """Map(function)(*sequences): function on the elements, one level deep; a tuple (a list for a list)."""

    def __init__(self, ops=None, reverse=False):
        self.function, self.reverse = ops, reverse

    def __mindir__(self):
        return CallOf(self.apply)

    def __call__(self, *args):
        return self.apply(*args)

    def apply(self, *args):
        """The mapped sequence."""
        function, sequences = self.function, args
        if function is None:
            function, sequences = args[0], args[1:]
        made = [function(*items) for items in zip(*sequences)]
        return tuple(made) if isinstance(sequences[0], tuple) else made


class MultitypeFuncGraph:
    """A function that is chosen by the types of its arguments: @f.register("Tensor", "Number").

    raises : when called: DTypeError where no registered types fit
    """

    def __init__(self, name, read_value=False, doc_url=None):
        self.name, self.entries = name, []

    def register(self, *types):
        """A decorator for the function of these types: "Tensor", "Number", "Tuple", "None", .. or DTypes."""
        def keep(function):
            self.entries.append((types, function))
            return self
        return keep

    def register_default(self):
        """A decorator for the function where no other fits."""
        def keep(function):
            self.entries.append((None, function))
            return self
        return keep

    def __mindir__(self):
        return CallOf(self.apply)

    def __call__(self, *args):
        return self.apply(*args)

    def apply(self, *args):
        """The result of the first function whose types fit."""
        for types, function in self.entries:
            if types is None or fits(types, args):
                return function(*args)
        raise DTypeError(f"{self.name}: no function is registered for these types")


# The kinds by the names that MindSpore's module of types has for them.
number, int_, float_, tensor, tensor_type, ref_type = "Number", "Int", "Float", "Tensor", "Tensor", "Ref"
string, list_, tuple_, dict_, none_type, function = "String", "List", "Tuple", "Dictionary", "None", "Function"


def fits(types: Sequence[Any], args: Sequence[Any]) -> bool:
    """True where each argument is of its type."""
    if len(types) != len(args):
        return False
    for kind, arg in zip(types, args):
        if not is_of(kind, arg):
            return False
    return True


def is_of(kind: Any, arg: Any) -> bool:
    """True where `arg` is of the type called `kind`."""
    if isinstance(kind, DType):
        return isinstance(arg, Tensor) and arg.dtype == kind
    if isinstance(kind, type):
        return isinstance(arg, kind)
    if kind in ("Tensor", "Ref"):
        return isinstance(arg, Tensor)
    if kind in ("Number", "Int", "Float", "Int64", "Float32", "Int32", "Float64"):
        whole = not kind.startswith("Float")
        return not isinstance(arg, (Tensor, bool)) and (isinstance(arg, int) and whole
                                                        or isinstance(arg, float) and not kind.startswith("Int"))
    if kind == "Bool":
        return isinstance(arg, bool)
    if kind == "String":
        return isinstance(arg, str)
    if kind == "Tuple":
        return isinstance(arg, tuple)
    if kind == "List":
        return isinstance(arg, list)
    if kind == "Dictionary":
        return isinstance(arg, dict)
    if kind == "None":
        return arg is None
    return kind in ("Function", "Func") and callable(arg)


def constexpr(fn: Callable[..., Any] | None = None, get_instance: bool = True, name: str | None = None,
              reuse_result: bool = True, check: bool = True) -> Any:
    """Mark a function that is computed while a graph is compiled: its arguments are constants there.

    fn           : a function of constants; without one, a decorator is given
    get_instance : bool; False gives a function without arguments that makes the marked function
    name, reuse_result, check : taken for MindSpore's sake, without effect
    out          : the function, called inside a graph by Python while the graph is compiled
    """
    if fn is None:
        return functools.partial(constexpr, get_instance=get_instance, name=name)
    return CompileTime(fn) if get_instance else (lambda: CompileTime(fn))


class CompileTime:
    """A function whose calls inside a graph run in Python while the graph is compiled."""

    def __init__(self, function):
        self.function = function
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)


partial = functools.partial


# ---------------------------------------------------------------- loops as functions

class WhileLoop:
    """WhileLoop()(condition, body, state): state = body(state) while condition(state)."""

    def __mindir__(self):
        return CallOf(while_loop)

    def __call__(self, cond_func, loop_func, init_val):
        return while_loop(cond_func, loop_func, init_val)


def while_loop(cond_func: Callable[..., Any], loop_func: Callable[..., Any], init_val: Any) -> Any:
    """See WhileLoop."""
    value = init_val
    while cond_func(value):
        value = loop_func(value)
    return value


class ForiLoop:
    """ForiLoop()(lower, upper, body, state): state = body(i, state) for i in range(lower, upper)."""

    def __mindir__(self):
        return CallOf(fori_loop)

    def __call__(self, lower, upper, loop_func, init_val, unroll=True):
        return fori_loop(lower, upper, loop_func, init_val, unroll)


def fori_loop(lower: int | Tensor, upper: int | Tensor, loop_func: Callable[..., Any], init_val: Any, unroll: bool = True) -> Any:
    """See ForiLoop."""
    value = init_val
    for i in range(lower, upper):
        value = loop_func(i, value)
    return value


class Scan:
    """Scan()(body, state, xs, length): state, y = body(state, x) for x in xs; gives (state, list of the ys)."""

    def __mindir__(self):
        return CallOf(scan)

    def __call__(self, loop_func, init, xs, length=None, unroll=True):
        return scan(loop_func, init, xs, length, unroll)


def scan(loop_func: Callable[..., Any], init: Any, xs: Any, length: Any = None, unroll: bool = True) -> tuple[Any, Any]:
    """See Scan."""
    state, ys = init, []
    count = length if xs is None else len(xs)
    for i in range(count):
        state, y = loop_func(state, None if xs is None else xs[i])
        ys.append(y)
    return state, ys


# ---------------------------------------------------------------- words of MindSpore's graph language

def make_tuple(*items: Any) -> tuple:
    """The items as a tuple."""
    return items


def tuple_getitem(items: Sequence[Any], index: int) -> Any:
    """items[index]"""
    return items[index]


def switch(condition: Any, x: Any, y: Any) -> Any:
    """x where `condition` holds, else y."""
    return x if condition else y


def scalar_add(x: Any, y: Any) -> Any:
    """x + y for numbers"""
    return x + y


def scalar_mul(x: Any, y: Any) -> Any:
    """x * y for numbers"""
    return x * y


def is_parameter(value: Any) -> bool:
    """True for a Parameter."""
    return isinstance(value, Parameter)


def is_sequence_value_unknown(sequence: Any) -> bool:
    """False: the sizes of a shape count as numbers here, those of the run too."""
    return False


def is_sequence_shape_unknown(sequence: Any) -> bool:
    """False: how long a tuple or list is, is known."""
    return False
