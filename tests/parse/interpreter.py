"""What the syntax dialect means: a graph of `parse_function` run with plain Python values.

    run(graph, fn, *args, **kwargs)       the result, effects and exceptions of fn(*args, **kwargs)

An environment maps nodes to values. A jump stays in the environment of its function (blocks may use what dominates
them); a call of a function made by `make_function` starts a new one that sees the environment where it was made. A
loop's iteration overwrites the values of the last one, as registers do; so a function that captures them copies the
environment.
"""
import builtins
import operator
import types
from collections.abc import Sequence

from mindlite.infer.patterns import attributes_of, keys_of, rest_of
from mindlite.mindir import syntax
from mindlite.mindir.graph import FuncGraph, ValueNode
from mindlite.mindir.syntax import Undefined
from mindlite.fallback.segment import run_segment

BINARY = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
          "%": operator.mod, "**": operator.pow, "@": operator.matmul, "<<": operator.lshift, ">>": operator.rshift,
          "&": operator.and_, "|": operator.or_, "^": operator.xor}
INPLACE = {"+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv, "//": operator.ifloordiv,
           "%": operator.imod, "**": operator.ipow, "@": operator.imatmul, "<<": operator.ilshift,
           ">>": operator.irshift, "&": operator.iand, "|": operator.ior, "^": operator.ixor}
UNARY = {"-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_}
COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
           "!=": operator.ne, "is": operator.is_, "is not": operator.is_not, "in": lambda a, b: a in b,
           "not in": lambda a, b: a not in b}


def run(graph, fn, *args, **kwargs):
    """Call `graph`, which was parsed from `fn`, with the globals, the closure and the defaults of `fn`."""
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or ()))
    defaults = (*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values())
    return Machine(fn.__globals__, cells).function(graph, defaults, {})(*args, **kwargs)


class Iterator:
    """Python's iterators have no `more`: the next item is fetched ahead when one asks for it."""

    def __init__(self, iterable):
        self.items = iter(iterable)

    def more(self):
        """Is there another item?"""
        try:
            self.item = next(self.items)
        except StopIteration as stop:
            self.item = stop.value
            return False
        return True


def unpack(value, before, star, after):
    """The items as a tuple, as the assignment to `before` targets, a star and `after` targets takes them."""
    items = []
    iterator = iter(value)
    for item in iterator:
        items.append(item)
        if not star and len(items) > before:
            raise ValueError(f"too many values to unpack (expected {before})")
    if len(items) < before + after:
        at_least = "at least " if star else ""
        raise ValueError(f"not enough values to unpack (expected {at_least}{before + after}, got {len(items)})")
    if star:
        end = len(items) - after
        return (*items[:before], items[before:end], *items[end:])
    return tuple(items)


def spread(values, stars):
    """The elements of a display, those in `stars` unpacked."""
    return [item for i, value in enumerate(values) for item in (value if i in stars else (value,))]


class Machine:
    """Runs graphs with the globals `namespace` and the closure cells of the outermost function."""

    def __init__(self, namespace, cells):
        self.namespace, self.cells, self.handled = namespace, cells, []

    def function(self, graph, defaults, outer):
        """The Python function that `graph` is, made where `outer` is the environment."""
        environment = dict(outer)

        def called(*args, **kwargs):
            bound = graph.signature.bind(*args, **kwargs)
            values = []
            for parameter in graph.signature.parameters.values():
                if parameter.name in bound.arguments:
                    values.append(bound.arguments[parameter.name])
                elif parameter.default is not parameter.empty:
                    values.append(defaults[parameter.default])
                else:
                    values.append(() if parameter.kind is parameter.VAR_POSITIONAL else {})
            made = {**environment, **dict(zip(graph.parameters, values))}
            return self.generate(graph, made) if graph.generator else self.run(graph, made)
        return called

    def run(self, block, environment):
        """Run blocks until one returns or raises."""
        try:
            next(self.generate(block, environment))
        except StopIteration as stop:
            return stop.value
        raise AssertionError("only a generator yields")

    def generate(self, block, environment):
        """A generator that runs blocks."""
        return (yield from self.walk(block, environment, ()))[1]

    def walk(self, block, environment, stops):
        """(None, value) of a return, or (block, None) of a jump to one of `stops`; yields what they yield."""
        while True:
            if block in stops:
                return block, None
            for node in block.nodes:
                environment[node] = self.node(node, environment)
            end = block.output
            args = [self.value(arg, environment) for arg in end.args]
            if end.fn is syntax.return_:
                return None, args[0]
            if end.fn is syntax.raise_:
                self.throw(*args)
            elif end.fn is syntax.yield_:
                environment["sent"] = yield args[0]
                block = end.attrs["resume"]
            elif end.fn is syntax.try_:
                block, value = yield from self.attempt(end, environment)
                if block is None:
                    return None, value
            elif end.fn is syntax.switch:
                block = end.attrs["true"] if args[0] else end.attrs["false"]
                assert not block.parameters
            else:
                assert isinstance(end.fn, FuncGraph) and len(end.fn.parameters) == len(args)
                block = end.fn
                environment.update(zip(block.parameters, args))

    def attempt(self, end, environment):
        """try: what its body or its handler gives, as `walk`."""
        try:
            return (yield from self.walk(end.attrs["body"], environment, end.attrs["exits"]))
        except Exception as error:
            self.handled.append(error)
            try:
                return (yield from self.walk(end.attrs["handler"], environment, end.attrs["handler_exits"]))
            finally:
                self.handled.pop()

    def caught(self):
        """The exception that the handler is about."""
        return self.handled[-1]

    @staticmethod
    def catches(exception, classes):
        """except classes"""
        return isinstance(exception, classes)

    @staticmethod
    def enter_context(manager):
        """with manager"""
        return type(manager).__enter__(manager)

    @staticmethod
    def exit_context(manager, exception):
        """The way out of `with`."""
        return type(manager).__exit__(manager, exception and type(exception), exception,
                                      exception and exception.__traceback__)

    @staticmethod
    def throw(*args):
        """raise"""
        if not args:
            raise
        if len(args) == 2:
            raise args[0] from args[1]
        raise args[0]

    @staticmethod
    def value(node, environment):
        """The value of a node that is used."""
        return node.value if isinstance(node, ValueNode) else environment[node]

    def node(self, node, environment):
        """Run one CNode."""
        args = [self.value(arg, environment) for arg in node.args]
        if node.fn not in (syntax.load_local, syntax.cell_new, syntax.cell_set, syntax.store_closure, syntax.interpret):
            assert not any(isinstance(arg, Undefined) for arg in args), f"{node} uses an undefined variable"
        if node.fn is syntax.make_function:
            return self.function(node.attrs["graph"], args, environment)
        if node.fn is syntax.sent:
            return environment["sent"]
        if node.fn is syntax.interpret:
            return run_segment(node, args, self.namespace)
        return getattr(self, node.fn.name)(*args, **node.attrs)

    # -- names

    def load_global(self, name):
        """A global or a builtin."""
        if name in self.namespace:
            return self.namespace[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise NameError(f"name {name!r} is not defined")

    def store_global(self, value, name):
        """global name; name = value"""
        self.namespace[name] = value

    def delete_global(self, name):
        """global name; del name"""
        if name not in self.namespace:
            raise NameError(f"name {name!r} is not defined")
        del self.namespace[name]

    def load_closure(self, name):
        """A variable of a function around the outermost one."""
        return self.cell_get(self.cells[name], name)

    def store_closure(self, value, name):
        """nonlocal name; name = value"""
        self.cell_set(self.cells[name], value, name)

    def closure_cell(self, name):
        """The cell itself."""
        return self.cells[name]

    @staticmethod
    def load_local(value, name, free):
        """The value, if it is one."""
        if isinstance(value, Undefined):
            raise (NameError if free else UnboundLocalError)(f"variable {name!r} is not associated with a value")
        return value

    @staticmethod
    def cell_new(value, name):
        """A cell; empty if the value is undefined."""
        return types.CellType() if isinstance(value, Undefined) else types.CellType(value)

    @staticmethod
    def cell_get(cell, name, free=True):
        """What it holds."""
        try:
            return cell.cell_contents
        except ValueError:
            raise (NameError if free else UnboundLocalError)(f"variable {name!r} is not associated with a value") from None

    @staticmethod
    def cell_set(cell, value, name):
        """Put a value in, or empty it."""
        if isinstance(value, Undefined):
            del cell.cell_contents
        else:
            cell.cell_contents = value

    def import_module(self, name, level, attribute):
        """import name; from name import attribute"""
        module = builtins.__import__(name, self.namespace, None, () if attribute is None else (attribute,), level)
        if attribute is None:
            return module
        if not hasattr(module, attribute):
            raise ImportError(f"cannot import name {attribute!r} from {name!r}")
        return getattr(module, attribute)

    # -- objects

    load_attr = staticmethod(lambda owner, name: getattr(owner, name))
    store_attr = staticmethod(lambda owner, value, name: setattr(owner, name, value))
    delete_attr = staticmethod(lambda owner, name: delattr(owner, name))
    load_item = staticmethod(operator.getitem)
    store_item = staticmethod(operator.setitem)
    delete_item = staticmethod(operator.delitem)

    # -- expressions

    unary = staticmethod(lambda value, op: UNARY[op](value))
    binary = staticmethod(lambda a, b, op: BINARY[op](a, b))
    inplace = staticmethod(lambda a, b, op: INPLACE[op](a, b))
    compare = staticmethod(lambda a, b, op: COMPARE[op](a, b))
    make_tuple = staticmethod(lambda *values, stars: tuple(spread(values, stars)))
    make_list = staticmethod(lambda *values, stars: spread(values, stars))
    make_set = staticmethod(lambda *values, stars: set(spread(values, stars)))
    make_slice = staticmethod(slice)
    join_str = staticmethod(lambda *parts: "".join(parts))
    unpack = staticmethod(unpack)
    list_append = staticmethod(list.append)
    set_add = staticmethod(set.add)

    @staticmethod
    def call(fn, *args, layout):
        """fn(...) with the arguments laid out"""
        positional, named = [], {}
        for value, how in zip(args, layout):
            if how == "":
                positional.append(value)
            elif how == "*":
                positional.extend(value)
            else:
                more = value if how == "**" else {how: value}
                if set(more) & set(named):
                    raise TypeError("got multiple values for a keyword argument")
                named.update(more)
        return fn(*positional, **named)

    @staticmethod
    def make_dict(*items):
        """{key: value, **value}"""
        made = {}
        for key, value in zip(items[::2], items[1::2]):
            made.update(value if key is syntax.DICT_STAR else {key: value})
        return made

    @staticmethod
    def format_value(value, spec, conversion):
        """{value!conversion:spec}"""
        return format({"": lambda x: x, "s": str, "r": repr, "a": ascii}[conversion](value), spec)

    @staticmethod
    def match_sequence(value, length, star):
        """case [a, b] or [a, *b]"""
        return (isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))
                and (len(value) >= length if star else len(value) == length))

    match_keys = staticmethod(keys_of)
    match_rest = staticmethod(rest_of)
    match_class = staticmethod(lambda value, cls, count, names: attributes_of(value, cls, count, names))

    # -- loops

    get_iter = staticmethod(Iterator)
    iter_more = staticmethod(lambda iterator, index: iterator.more())
    iter_item = staticmethod(lambda iterator, index: iterator.item)
    iter_step = staticmethod(lambda index: index + 1)
    iter_returned = staticmethod(lambda iterator: iterator.item)
