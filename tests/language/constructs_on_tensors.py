"""Constructs of Python on Tensors: small functions of a Tensor x of shape (3,), each with what graph mode makes of it.

    native    : the whole function is one graph
    segments  : some statements run in Python between native code, the first call wholly
    python    : the function runs in Python
"""
import contextlib
import dataclasses
import enum
import functools
import math
from collections import OrderedDict, defaultdict, namedtuple

import numpy as np

import mindlite as ms
from mindlite import ops

CONSTRUCTS = []
NATIVE, SEGMENTS, PYTHON = "native", "segments", "python"


@dataclasses.dataclass
class Construct:
    """function(x) or function(x, log): what it is about, how it runs, whether its gradient is compared too."""
    function: object
    what: str
    how: str
    smooth: bool


def construct(what, how=NATIVE, smooth=True):
    """Put a function in the table."""
    def add(function):
        CONSTRUCTS.append(Construct(function, what, how, smooth))
        return function
    return add


scale = 2.0
counter = 0
total = None
Pair = namedtuple("Pair", "first second")


class Holder:
    """An object with attributes outside of the functions."""

    def __init__(self, **values):
        self.__dict__.update(values)


holder = Holder(n=1, weight=3.0, last=None, items=[])


def start():
    """Give what the functions assign to its first values."""
    global counter, total
    counter, total = 0, None
    holder.__dict__.update(n=1, weight=3.0, last=None, items=[])


def outside():
    """What the functions assign to."""
    return counter, total, holder.n, holder.weight, holder.last, list(holder.items)


# ---------------------------------------------------------------- assignment

@construct("walrus")
def walrus(x):
    if (total_of_x := x.sum()) > 0:
        return total_of_x * x
    return x


@construct("chained and starred assignment")
def starred(x):
    a = b = x * 2
    first, *rest = a[0], b[1], x[2]
    return first + sum(rest)


@construct("annotated assignment")
def annotated(x):
    y: ms.Tensor = x + 1
    z: "nothing"                                                                     # noqa: F821, F842
    return y


@construct("augmented assignment to items, attributes and names")
def augmented(x):
    values = [x, x * 2]
    values[0] += 1
    values[1] *= values[0]
    x -= values[1]
    x **= 2
    return x


@construct("del of names and items")
def deletion(x):
    y, values, table = x * 2, [x, x + 1], {"a": x, "b": x}
    del values[0], table["a"]
    z = y + values[0] + table["b"]
    del y
    return z


@construct("global: read and assigned")
def global_counter(x):
    global counter
    counter += 1
    return x * counter


@construct("global: a Tensor that accumulates")
def global_total(x):
    global total
    total = x if total is None else total + x
    return total * 2


@construct("nonlocal in nested functions")
def nonlocal_sum(x):
    result = x * 0

    def add(value):
        nonlocal result
        result = result + value
    for n in range(3):
        add(x * n)
    return result


@construct("assignment to attributes of an object outside")
def attribute_outside(x):
    holder.n = holder.n + 2
    holder.last = x.sum()
    return x * holder.n


@construct("an attribute assigned in one branch")
def attribute_in_branch(x):
    if x.sum() > 0:
        holder.weight = holder.weight * 2
    return x * holder.weight


@construct("an attribute assigned in a loop")
def attribute_in_loop(x):
    for _ in range(10):
        holder.n += 1
        holder.weight = holder.weight * 0.5
    return x * holder.n * holder.weight


@construct("Tensor items assigned", smooth=False)
def item_assignment(x):
    y = x * 1
    y[0] = 5.0
    y[1:] += y[:2]
    return y


@construct("unpacking of a Tensor's rows and shape")
def unpack_tensor(x):
    a, b, c = x
    size, = x.shape
    return a * b + c * size


# ---------------------------------------------------------------- containers

@construct("set display and set methods")
def sets(x):
    names = {"a", "b"} | {"c"}
    names.add("a")
    return x * len(names)


@construct("set comprehension")
def set_comprehension(x):
    return x * len({n % 2 for n in range(5)})


@construct("dict comprehension over items")
def dict_comprehension(x):
    table = {k: v * 2 for k, v in {"a": x, "b": x + 1}.items() if k != "c"}
    return table["a"] * table["b"]


@construct("nested comprehension with a condition")
def nested_comprehension(x):
    rows = [[x[i] * j for j in range(3) if j != 1] for i in range(3)]
    return sum(v for row in rows for v in row)


@construct("generator expression in sum, any, all, max")
def generator_expressions(x):
    y = sum(v * v for v in x)
    if any(v > 2 for v in (1, 2, 3)) and all(n >= 0 for n in range(3)):
        y = y + max(n for n in (1, 5, 2))
    return y


@construct("list methods")
def list_methods(x):
    values = [x, x + 1]
    values.append(x * 2)
    values.extend([x * 3])
    values.insert(0, x - 1)
    last = values.pop()
    values.reverse()
    return sum(values) + last


@construct("list slices: read, assigned, deleted")
def list_slices(x):
    values = [x, x + 1, x + 2, x + 3]
    values[1:3] = [x * 5]
    del values[:1]
    return sum(values[::-1])


@construct("dict methods")
def dict_methods(x):
    table = {"a": x}
    table.update(b=x + 1)
    table["c"] = table.setdefault("d", x * 3)
    y = table.pop("a") + table.get("none", 1.0)
    for _, value in table.items():
        y = y + value
    return y


@construct("OrderedDict and defaultdict of constants")
def library_containers(x):
    table = OrderedDict(a=1, b=2)
    counts = defaultdict(int)
    return x * table["b"] * (len(counts) + 1)


@construct("namedtuple")
def namedtuples(x):
    pair = Pair(x, second=x * 2)
    changed = pair._replace(first=pair.second) if False else pair
    return changed.first + changed.second, Pair(x, x)


@construct("a list of the caller changes")
def list_of_the_caller(x, log):
    log.append(x.sum())
    log.append(len(log))
    return x * len(log)


@construct("a list outside changes")
def list_outside(x):
    holder.items.append(x.sum())
    return x * 2


@construct("in-place list addition")
def inplace_list(x, log):
    same = log
    same += [x * 2]
    return same[-1]


@construct("sorted, reversed, enumerate, zip, map, filter")
def iteration_builtins(x):
    order = sorted([3, 1, 2], key=lambda n: -n)
    y = x * 0
    for n, (a, b) in enumerate(zip(order, reversed(order))):
        y = y + x * (n + a * b)
    for v in map(lambda n: n * 2, filter(lambda n: n > 1, order)):
        y = y + v
    return y


@construct("divmod, round, abs, pow, min, max, int, float, bool of numbers")
def number_builtins(x):
    q, r = divmod(7, 2)
    return x * (q + r + round(2.567, 1) + abs(-3) + pow(2, 3) + min(1, 2) + max(3, 4) + int(2.5) + float(1) + bool(1))


@construct("isinstance, hasattr, getattr, callable, type, len")
def object_builtins(x):
    if isinstance(x, ms.Tensor) and hasattr(x, "shape") and callable(len) and not hasattr(x, "nothing"):
        return x * getattr(holder, "weight") * len(x) * getattr(holder, "missing", 2)
    return x


@construct("slices as objects, Ellipsis, None in indices")
def slice_objects(x):
    part = slice(0, 2)
    return x[part].sum() + x[..., None].sum() + x[None].sum()


# ---------------------------------------------------------------- strings

@construct("f-strings and formats of constants")
def strings(x):
    name = f"{'w'}_{3:02d}" + "{}-{n}".format(1, n=2) + "%d" % 3
    return x * len(name)


@construct("f-string of a Tensor, returned", smooth=False)
def string_of_tensor(x):
    return f"sum={x.sum()}", x


@construct("str methods")
def string_methods(x):
    parts = "a,b,c".split(",")
    return x * len("".join(parts).upper()) if "b" in parts else x


# ---------------------------------------------------------------- control flow

@construct("for-else and while-else")
def loop_else(x):
    for n in range(3):
        if n == 5:
            break
    else:
        x = x + 1
    n = 0
    while n < 3:
        n += 1
    else:
        x = x * n
    return x


@construct("while on constants gives a constant")
def while_on_constants(x):
    n = 1
    while n < 20:
        n = n * 3
    return x[n % 3] * n


@construct("loop over a Tensor's items with break")
def loop_with_break(x):
    y = x[0]
    for v in x:
        if v > 1.2:
            break
        y = y + v * v
    return y


@construct("match: values, captures, guards, sequences")
def match_values(x):
    y = x
    for command in (1, "double", (2, 3), [4]):
        match command:
            case 1:
                y = y + 1
            case "double":
                y = y * 2
            case (a, b) if a < b:
                y = y * b
            case [n]:
                y = y + n
    return y


@construct("match: classes and mappings")
def match_classes(x):
    match {"k": 2, "rest": 3}:
        case {"k": n}:
            return x * n
    return x


@construct("conditional import")
def import_inside(x):
    from math import pi as number
    import math as m
    return x * number + m.floor(2.5)


@construct("assert that holds, with a message")
def asserts(x):
    assert x.shape == (3,), f"not {x.shape}"
    assert x.ndim == 1
    return x * 2


@construct("assert on a run-time value")
def asserts_at_run_time(x):
    assert x.sum() > -100, "too small"
    return x * 2


@construct("raise on a run-time condition that does not happen")
def raise_at_run_time(x):
    if x.sum() > 100:
        raise ValueError(f"too large: {x.sum()}")
    return x * 2


@construct("pass, docstring, expression statements, constants")
def nothing(x):
    """Nothing."""
    pass
    x + 1
    ...
    return x * 2


# ---------------------------------------------------------------- exceptions and context managers

@construct("try/except of what does not happen")
def try_without_exception(x):
    try:
        y = x * 2
    except ValueError:
        y = x
    return y


@construct("try/except/else/finally")
def try_except(x):
    y = x
    try:
        y = y * 2
        raise KeyError("k")
    except KeyError:
        y = y + 1
    else:
        y = y * 100
    finally:
        y = y * 3
    return y


@construct("return out of try")
def return_out_of_try(x):
    try:
        return x * 2
    finally:
        x = x + 1


@construct("try in a loop with break and continue")
def try_in_loop(x):
    for n in (1, 0, 2):
        try:
            x = x * (2 // n)
        except ZeroDivisionError:
            continue
    return x


class Scaled:
    """A context manager."""

    def __init__(self, factor):
        self.factor = factor

    def __enter__(self):
        return self.factor

    def __exit__(self, *exception):
        return False


@construct("with")
def with_statement(x):
    with Scaled(3) as factor:
        y = x * factor
    return y


# ---------------------------------------------------------------- functions

@construct("default arguments, keyword-only, star-args")
def signatures(x):
    def f(a, b=2, *args, c=3, **kwargs):
        return a * b + c + sum(args) + len(kwargs)
    return f(x) + f(x, 1) + f(x, 1, 2, 3, c=4, d=5)


@construct("closures over loop variables")
def closures_in_loops(x):
    functions = []
    for n in range(3):
        functions.append(lambda v, n=n: v * n)
    return sum(f(x) for f in functions)


@construct("functions as values: in dicts, chosen by name, returned")
def functions_as_values(x):
    table = {"relu": ops.relu, "double": lambda v: v * 2}

    def compose(f, g):
        return lambda v: f(g(v))
    return compose(table["relu"], table["double"])(x)


@construct("functools.partial and reduce")
def functools_functions(x):
    triple = functools.partial(ops.mul, 3.0)
    return functools.reduce(lambda a, b: a + b, [x, triple(x), 1.0])


@construct("recursion on a number")
def recursion(x):
    def power(v, n):
        return v if n <= 1 else v * power(v, n - 1)
    return power(x, 4)


def bump(x, *, by):
    """A function of the module."""
    return x + by


@construct("two lambdas on one line, called")
def two_lambdas(x):
    f, g = (lambda v: v + 1), (lambda v: v * 2)
    return g(f(bump(x, by=1)))


def generate(x):
    """A generator of Tensors."""
    for n in range(3):
        yield x * n


@construct("a generator function consumed by a loop")
def generator_function(x):
    y = x * 0
    for v in generate(x):
        y = y + v
    return y


# ---------------------------------------------------------------- classes

class Base:
    """A user's class with inheritance, property, class and static methods."""
    factor = 2

    def __init__(self, value):
        self.value = value

    def scaled(self):
        """A method."""
        return self.value * self.factor

    @property
    def twice(self):
        """A property."""
        return self.value * 2

    @classmethod
    def made(cls, value):
        """A class method."""
        return cls(value)

    @staticmethod
    def added(a, b):
        """A static method."""
        return a + b

    def __call__(self, x):
        return x + self.value

    def __add__(self, other):
        return Base(self.value + other.value)

    def __getitem__(self, i):
        return self.value[i]

    def __len__(self):
        return 3


class Derived(Base):
    """super()."""

    def scaled(self):
        """A method that calls the one above."""
        return super().scaled() + 1


@construct("an object of a user's class made inside, on Tensors")
def objects_inside(x):
    return Base(x).scaled()


@construct("super(), inheritance")
def inheritance(x):
    return Derived(x).scaled()


@construct("property, classmethod, staticmethod")
def kinds_of_methods(x):
    return Base.added(Base.made(x).twice, Base(x).value)


@construct("__call__, __len__, __getitem__, __add__ of a user's class")
def special_methods(x):
    a = Base(x)
    return a(x) * len(a) + a[0] + (a + a).value


class Amount:
    """A number, for Python's functions."""

    def __init__(self, value):
        self.value = value

    def __str__(self):
        return f"amount {self.value}"

    def __int__(self):
        return self.value

    def __lt__(self, other):
        return self.value < other.value

    def __iadd__(self, other):
        self.value = self.value + other
        return self

    def __getattr__(self, name):
        return f"{name} of {self.value}"


@construct("str, int, bool, sorted, += and a missing attribute by a user's class")
def more_special_methods(x):
    a = Amount(3)
    a += 1
    lowest = sorted([a, Amount(2)])[0]
    return x * int(a), str(a), 1 if a else 2, lowest.value, max(a, lowest).value, a.colour


@construct("attributes assigned on an object made inside, in a branch")
def object_changed_inside(x):
    box = Base(x)
    box.value = box.value * 3
    if x.sum() > 0:
        box.value = box.value + 1
    return box.scaled()


@dataclasses.dataclass
class Point:
    """A dataclass."""
    a: object
    b: object = 2

    def total(self):
        """A method."""
        return self.a * self.b


class Kind(enum.Enum):
    """An enumeration."""
    SINGLE = 1
    DOUBLE = 2


@construct("dataclass made inside")
def dataclass_inside(x):
    return Point(x).total() + Point(x, b=3).total()


@construct("a class defined inside", SEGMENTS)
def class_inside(x):
    class Local:
        size = 3
    return x * Local.size


# ---------------------------------------------------------------- Python libraries

@construct("math of numbers")
def math_of_numbers(x):
    return x * math.sqrt(4.0) + math.log2(8)


@construct("numpy of constants")
def numpy_of_constants(x):
    return x * ms.Tensor(np.arange(3.0)) + float(np.sum(np.ones(3)))


@construct("numpy of a Tensor's data", SEGMENTS, smooth=False)
def numpy_of_tensors(x):
    order = np.argsort(x.asnumpy())
    return x * ms.Tensor(order.astype(np.float64))


@construct("an array of NumPy, changed", SEGMENTS)
def numpy_changed(x):
    y = np.array([1.0, 2.0, 3.0])
    y[0] = 5.0
    return x * ms.Tensor(y)


@construct("a list whose length depends on data", SEGMENTS)
def list_by_data(x):
    values = []
    for i in range(3):
        if x[i] > 1:
            values.append(x[i])
    return sum(values) * len(values)


@construct("a number out of a Tensor by item()", smooth=False)
def item_of_tensor(x):
    n = x.sum().item()
    return x * n if n > 1 else x


# ---------------------------------------------------------------- more exceptions, context managers, generators

class Mine(Exception):
    """A user's exception with fields."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


def refuse(x, limit):
    """A function that raises by data."""
    if x.sum() > limit:
        raise Mine(limit)
    return x * 2


@construct("raise in a called function by data, caught by class, its fields")
def raised_below(x):
    try:
        return refuse(x, 100) + refuse(x, 2)
    except Mine as error:
        return x * error.code


@construct("raise from, re-raise, nested try, an exception in a handler")
def raised_again(x):
    try:
        try:
            refuse(x, 1)
        except Mine as error:
            raise KeyError(error.code) from error
    except KeyError as error:
        return x * error.args[0] + len(type(error.__cause__).__name__)
    return x


@construct("division by a run-time zero, caught")
def division_caught(x):
    try:
        return x * (6 // int(x[0] - 0.5))
    except ZeroDivisionError:
        return x * 3


@construct("errors of Python in try: index, key, attribute, conversion, name")
def errors_caught(x):
    count = 0
    for action in (lambda: [1][3], lambda: {}["k"], lambda: None.shape, lambda: int("x")):
        try:
            action()
        except (LookupError, AttributeError, ValueError):
            count += 1
    return x * count


@construct("errors of operators in try")
def operator_errors_caught(x):
    try:
        return x + ops.ones((7,), ms.float64)
    except ValueError:
        return x * 2


@construct("finally with break, continue and return in a loop")
def finally_in_loop(x):
    for n in range(4):
        try:
            if n == 1:
                continue
            if n == 3:
                break
        finally:
            x = x + n
    return x


class Swallows:
    """A context manager that sees the exception and swallows it."""

    def __init__(self):
        self.seen = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.seen += kind is not None
        return kind is Mine


@construct("with: several managers, __exit__ sees and swallows the exception")
def with_swallows(x):
    y = x
    with Swallows() as outer, Swallows() as inner:
        y = y * 2
        y = y + refuse(x, 1)
    return y * (outer.seen + inner.seen)


@contextlib.contextmanager
def bracketed(value):
    """A context manager that is a generator."""
    try:
        yield value * 2
    finally:
        holder.n = holder.n + 1


@construct("with: contextlib.contextmanager and suppress")
def with_contextlib(x):
    with bracketed(x) as y:
        x = x + y
    with contextlib.suppress(ZeroDivisionError):
        x = x * (1 // 0)
    return x * holder.n


@construct("generator: next, send, yield from, in zip and sum")
def generator_protocol(x):
    def running(total):
        while True:
            total = total + (yield total)

    def both(v):
        yield from generate(v)
        yield from (v * n for n in (5, 6))
    totals = running(x)
    next(totals)
    return totals.send(x * 2) + sum(both(x)) + sum(a * n for n, a in zip(range(2), generate(x)))


@construct("a lazy generator expression, iter and next")
def lazy_generator(x):
    values = (x * n for n in (1, 2, 3))
    items = iter([x, x * 7])
    return next(values) + next(values) * next(items)


class Countdown:
    """An iterator of the user's."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


@construct("an iterator class: __iter__ and __next__")
def iterator_class(x):
    for n in Countdown(3):
        x = x * (n + 1)
    return x


# ---------------------------------------------------------------- more of all else

@construct("match: classes with __match_args__, attributes, built-in classes, alternatives, rest of a mapping")
def match_more(x):
    for subject in (Point(2, 3), {"a": 1, "b": 2}, 5, "text"):
        match subject:
            case Point(a=a, b=b):
                x = x * a + b
            case {"a": n, **rest}:
                x = x * n + len(rest)
            case int(n) | float(n):
                x = x + n
            case str():
                x = x * 2
    return x


@construct("conditional expressions, chained comparison, and, or, not on run-time values")
def conditions(x):
    total = x.sum()
    y = x if 1 < total < 100 else -x
    return y * 2 if total > 0 and not total > 50 or total < -100 else y


@construct("while on a run-time condition with break and else")
def while_by_data(x):
    n = 0
    while x.sum() < 100:
        x = x * 2
        n += 1
        if n > 20:
            break
    else:
        x = x + 1
    return x * n


@construct("for over a range whose end is known at run time")
def range_by_data(x):
    for n in range(int(x[2])):
        x = x + n
    return x


@construct("early return by data in nested loops")
def early_return(x):
    for a in range(6):
        for b in range(6):
            if x.sum() * a * b > 30:
                return x * a + b
    return x


def halve(v, n):
    """A recursive function that ends by data."""
    return v * n if v.sum() < 1 else halve(v * 0.5, n + 1)


@construct("recursion under a run-time condition with Tensor arguments")
def recursion_by_data(x):
    return halve(x, 0.0)


@construct("mutual recursion, functions that return functions")
def mutual_recursion(x):
    def even(n):
        return True if n == 0 else odd(n - 1)

    def odd(n):
        return False if n == 0 else even(n - 1)

    def adder(n):
        return lambda v: v + n
    return adder(3)(x) if even(4) else x


@construct("several lambdas in the header of a loop")
def lambdas_in_header(x):
    for f in (lambda v: v + 1, lambda v: v * 2, lambda v: None):
        made = f(x)
        x = x if made is None else made
    return x


@construct("decorators of the user's on an inner function")
def decorators(x):
    def twice(f):
        @functools.wraps(f)
        def wrapper(v):
            return f(f(v))
        return wrapper

    @twice
    def add(v):
        return v + 1
    return add(x)


@construct("setattr, getattr, delattr, hasattr on an object made inside")
def attributes_by_name(x):
    box = Base(x)
    setattr(box, "extra", x * 2)
    y = getattr(box, "extra") if hasattr(box, "extra") else x
    delattr(box, "extra")
    return y + x if not hasattr(box, "extra") else x


@construct("Tensor indices: steps, negative, lists, masks, Tensors, pairs")
def tensor_indices(x):
    y = ops.stack([x, x * 2, x * 3])
    return y[::-1, 1:].sum() + y[[0, 2]].sum() + y[y > 1].sum() + y[ms.Tensor([1, 0])].sum() + y[-1, ..., 0] + y[1, 2]


@construct("Tensor assignment by slice, list, mask and Ellipsis, and augmented", smooth=False)
def tensor_assignments(x):
    y = ops.stack([x, x * 2, x * 3])
    y[0] = 0.0
    y[1, ::2] = x[0]
    y[..., 1] *= 3
    y[y > 5] = -1.0
    y[[0, 1], [0, 1]] += 7
    return y


@construct("Tensor methods, properties and operators in place", smooth=False)
def tensor_methods(x):
    y = x * 1
    y += 1
    y -= x
    y @= ops.eye(3, dtype=ms.float64)
    return y.T.reshape(3, 1).sum(0) * y.ndim + y.astype(ms.float64).mean() + abs(-y) ** 2 % 3 // 1


@construct("print, in order with other effects", SEGMENTS, smooth=False)
def prints(x):
    print("sum", x.sum())
    holder.last = x * 2
    print(f"last {holder.last}")
    return x


weight = ms.Parameter(ms.Tensor(np.ones(3)), name="weight")


@construct("a Parameter: read, assigned, with ops.assign and +=", smooth=False)
def parameter_assigned(x):
    weight.set_data(ms.Tensor(np.ones(3)))
    y = x * weight
    ops.assign(weight, y)
    return weight * 2


@construct("Cells made inside")
def cells_inside(x):
    relu = ms.nn.ReLU()
    return relu(x) + ms.nn.Tanh()(x * 0.1)


@construct("str: join, format, %, split, replace, startswith, slices, in, compare, repeat")
def more_strings(x):
    text = "-".join(f"{n:>2}" for n in range(3)).replace(" ", "0").title()
    known = text.startswith("00") and "01" in text and text[::-1][0] == "2" and text < "9" and "ab" * 2 == "abab"
    return x * (len(text.split("-")) if known else 0) + len("%s=%d" % ("a", 3))


@construct("bytes, complex, big ints, hexadecimal, underscores, bit operators on numbers")
def literals(x):
    number = (0xff & 0b1010 | 0o7) ^ 1 << 3
    return x * number + len(b"abc") + (3 + 4j).imag + 10 ** 20 % 7 + 1_000


@construct("tuples: comparison, index, count, concatenation, repetition, nested unpacking")
def tuples(x):
    a, (b, *c), d = 1, (2, 3, 4), (5,) * 2
    return x * (a + b + sum(c) + d[1]) if (1, 2) < (1, 3) and (1, 2, 1).count(1) == 2 else x


@construct("sets: union, difference, subset, in")
def set_operators(x):
    a, b = {1, 2, 3}, {2, 3, 4}
    return x * (len(a | b) + len(a & b) + len(a - b) + len(a ^ b) + ({2} <= a) + (4 in b))


@construct("enum members, constants of classes, isinstance with tuples")
def enums(x):
    kind = Kind.DOUBLE
    return x * kind.value if kind is Kind.DOUBLE and isinstance(kind, (Kind, int)) else x


@construct("sorted with keys, min and max with key and default, sum with start, any and all of lists")
def more_builtins(x):
    values = sorted(["bb", "a", "ccc"], key=len, reverse=True)
    best = max([x, x * 2], key=lambda v: 1.0 if v is x else 2.0)
    return best * len(values[0]) + min([], default=3) + sum([x, x], x) * any([0, 1]) * all([1, 2])


@construct("vmap, grad and jit inside a graph")
def transforms_inside(x):
    square = ms.jit(lambda v: v * v)
    return ms.grad(lambda v: square(v).sum())(x) + ms.vmap(lambda v: v * 2)(x)


@construct("star arguments of calls: lists, dicts, mixed")
def star_calls(x):
    def f(a, b=1, *c, d, **e):
        return a * b + sum(c) + d + e["g"]
    rest = [x, 2]
    return f(*rest, 3, 4, **{"d": x}, g=5)
