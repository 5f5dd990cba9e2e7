"""Every construct of Python's functions: run as Python and as a graph, with the same value, effects and exceptions."""
import copy

import pytest
from interpreter import run

from mindlite.parse.parse import parse_function

CASES = []
LIMIT = 10


def case(*arguments):
    """A function to try with each of these tuples of arguments, after a list `log` that it may write to."""
    def add(fn):
        CASES.extend(pytest.param(fn, given, id=f"{fn.__name__}{given}") for given in arguments)
        return fn
    return add


def outcome(call, given):
    """What came of it: the value or the exception, and the log."""
    log, given = [], copy.deepcopy(given)
    try:
        result = "value", call(log, *given)
    except Exception as error:
        kind = NameError if isinstance(error, NameError) else type(error)
        message = "" if kind in (NameError, TypeError, ImportError) else str(error).partition("\n")[0]
        result = "raises", kind, message, type(error.__cause__)
    return result, log, given


# -- assignment

@case((3, 4))
def arithmetic(log, a, b):
    return (a + b, a - b, a * b, a / b, a // b, a % b, a ** b, a << b, a >> b, a & b, a | b, a ^ b, -a, +a, ~a, not a)


@case((1,), (7,))
def chained_assignment(log, x):
    a = b = log.append(x) or x + 1
    a += 1
    return a, b


@case(([1, 2, 3],), ((1, 2, 3, 4),), ((1,),), ("abc",), (5,))
def star_target(log, xs):
    first, *middle, last = xs
    return first, middle, last


@case(([1, (2, 3)],), ([1, 2],), ([1, (2, 3), 4],))
def nested_target(log, xs):
    a, [b, c] = xs
    return a, b, c


@case((1, 2))
def swap(log, a, b):
    a, b = b, a
    [a, b] = a + 1, b * 2
    return a, b


@case(({"k": [1, 2]},))
def item_targets(log, d):
    d["k"][0], d["new"] = d["k"][1], 9
    d["k"][1] += 5
    d["k"] += [7]
    return d


class Box:
    """An object with attributes."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __eq__(self, other):
        return vars(self) == vars(other)

    def __repr__(self):
        return f"Box({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


@case((Box(n=1),), (Box(),))
def attribute_targets(log, box):
    box.m = 2
    box.n += box.m
    box.m -= 1
    del box.m
    return box.n


@case((2,))
def annotated(log, x):
    y: int = x + 1
    z: undefined_annotation                                              # noqa: F821, F842
    return y


@case((2,))
def annotated_only_is_local(log, x):
    y: int
    return y                                                              # noqa: F821


@case((4,), (0,))
def walrus(log, x):
    if (y := x * 2) > 3:
        return y, (z := y + 1), z
    return y


@case((3,))
def walrus_in_comprehension_is_outside(log, n):
    values = [last := i for i in range(n)]
    return values, last


@case(([1, 2, 3],))
def order_of_evaluation(log, xs):
    def note(value):
        log.append(value)
        return value
    xs[note(0)], xs[note(1)] = note(5), note(6)
    note([1])[note(0)] = note(3)
    note(xs)[note(1)] += note(4)
    return {note("a"): note(1), note("b"): note(2)}, note(1) + note(2) * note(3), note(max)(note(8), note(9))


@case((1,))
def old_value_stays(log, x):
    return x + (x := 5) + x


@case(({1: 2, 3: 4}, [1, 2, 3]))
def delete(log, d, xs):
    del d[1], xs[0], (xs[-1])
    y = 1
    del y
    return d, xs, y                                                       # noqa: F821


@case((True,), (False,))
def delete_on_one_path(log, c):
    x = 1
    if c:
        del x
    log.append("here")
    return x


# -- branches

@case((1,), (0,), (-1,))
def if_elif_else(log, x):
    if x > 0:
        y = "plus"
    elif x == 0:
        y = "zero"
    else:
        y = "minus"
    return y


@case((1,), (0,))
def only_one_path_assigns(log, x):
    if x:
        y = 1
    log.append(x)
    return y


@case((1,), (0,))
def undefined_even_if_unused(log, x):
    if x:
        y = 1
    y
    return x


@case((5,), (0,), (-5,))
def returns_in_branches(log, x):
    if x > 0:
        if x > 3:
            return "big"
        log.append("small")
    elif x < 0:
        return "minus"
    return "rest"


@case((0, 5), (1, 5), (2, 5), (0, 0), (1, 0))
def conditional_expression(log, a, b):
    return (a if a else b) + (log.append(a) or 1 if a == 1 else 2 if b else 3)


@case((0, 0, 0), (1, 0, 2), (1, 2, 3), (0, 5, 0), ([], "x", {}))
def and_or(log, a, b, c):
    def note(x):
        log.append(x)
        return x
    return (note(a) and note(b) and note(c), note(a) or note(b) or note(c), note(a) and note(b) or note(c),
            not (note(a) or note(b)))


@case((1, 2, 3), (2, 1, 3), (1, 3, 2), (1, 1, 1))
def chained_comparison(log, a, b, c):
    def note(x):
        log.append(x)
        return x
    return note(a) < note(b) < note(c), a <= b >= c != a, a is b is not c


@case((2, [1, 2]), (3, [1, 2]))
def membership(log, x, xs):
    return x in xs, x not in xs, x in xs in [xs]


@case((1,))
def constant_conditions(log, x):
    if 0:
        x = nothing                                                      # noqa: F821
    if 1:
        x += 1
    else:
        x = nothing                                                      # noqa: F821
    return x


@case((3,), (-1,))
def asserts(log, x):
    assert x > 0, f"{log.append('message')} x is {x}"
    assert x
    return x


@case((0,), (1,))
def raises(log, x):
    if x:
        raise ValueError(x)
    raise KeyError("k") from ValueError("v")


@case(())
def raise_nothing(log):
    raise


@case((0,))
def raises_a_class(log, x):
    log.append(x)
    raise ZeroDivisionError
    log.append(x)


# -- loops

@case((0,), (5,))
def while_loop(log, n):
    total = 0
    while n > 0:
        total += n
        n -= 1
    return total, n


@case((0,), (3,), (8,))
def while_else(log, n):
    while n < 5:
        n += 1
        if n == 4:
            break
    else:
        log.append("else")
        return "normal", n
    return "broken", n


@case((0,), (7,))
def while_true(log, n):
    while True:
        n += 1
        if n % 5 == 0:
            break
        if n % 2:
            continue
        log.append(n)
    return n


@case((3,))
def while_true_returns(log, n):
    while 1:
        if n > 5:
            return n
        n += 1


@case((6,), (0,))
def condition_with_branches(log, n):
    i = 0
    while i < n and (i != 4 or log.append(i)):
        i += 1
    return i


@case(([1, 2, 3],), ([],), ((),), ("ab",), ({1: 2},), (5,))
def for_loop(log, xs):
    for x in xs:
        log.append(x)
    return x


@case(([1, 2, 3],), ([1, 5, 3],), ([],))
def for_else(log, xs):
    for x in xs:
        if x == 5:
            log.append("found")
            break
    else:
        x = "none"
    return x


@case((6,))
def continue_and_break(log, n):
    found = []
    for i in range(100):
        if i % 2:
            continue
        if i > n:
            break
        found.append(i)
    return found, i


@case((4,))
def nested_loops(log, n):
    total = 0
    for i in range(n):
        for j in range(i):
            if j == 2:
                break
            total += i * j
        else:
            total += 100
            continue
        k = i
    return total, i, j, k


@case(({"a": 1, "b": 2},))
def for_over_pairs(log, d):
    total = 0
    for number, (key, value) in enumerate(d.items()):
        log.append((number, key))
        total += value
    return total


@case(([1, 2, 3],))
def list_changed_while_iterating(log, xs):
    for x in xs:
        if x < 3:
            xs.append(x + 10)
        if len(xs) > 8:
            break
    return xs


@case(([0, 0],))
def loop_target_is_an_item(log, xs):
    for xs[0] in range(3):
        xs[1] += xs[0]
    return xs


@case((5,))
def index_names_do_not_clash(log, index):
    for i in range(3):
        index += i
    return index


@case(([3, 0, 4],))
def return_from_nested_loop(log, xs):
    for x in xs:
        while True:
            if not x:
                return log, x
            x -= 1
            if x == 1:
                break
    return None


@case((3,), (0,))
def variable_of_the_last_round(log, n):
    for i in range(n):
        if i:
            log.append(previous)                                         # noqa: F821
        previous = i                                                     # noqa: F841
    return "done"


@case((3,))
def undefined_in_first_round(log, n):
    for i in range(n):
        log.append(i)
        if i == 0:
            log.append(later)                                            # noqa: F821
        later = i                                                        # noqa: F841


@case((5,))
def fibonacci(log, n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


# -- functions

@case((3,))
def inner_function(log, x):
    def add(y, z=10):
        return x + y + z
    return add(1), add(1, 2), add(y=5)


@case((3,))
def inner_sees_the_last_value(log, x):
    def get():
        return x
    before = get()
    x += 1
    return before, get()


@case(())
def counter(log):
    n = 0

    def increment(by=1):
        nonlocal n
        n += by
        return n
    return increment(), increment(5), n


@case((6,))
def local_recursion(log, n):
    def factorial(k):
        return 1 if k < 2 else k * factorial(k - 1)
    return factorial(n)


@case((7,))
def mutual_recursion(log, n):
    def even(k):
        return k == 0 or odd(k - 1)

    def odd(k):
        return k != 0 and even(k - 1)
    return even(n), odd(n)


@case((3,))
def closures_in_a_loop_share(log, n):
    functions = []
    for i in range(n):
        functions.append(lambda: i)
    return [f() for f in functions]


@case((3,))
def closures_in_a_loop_with_defaults(log, n):
    return [f() for f in [lambda i=i: i * n for i in range(n)]]


@case((3,))
def comprehension_closures_share(log, n):
    return [f() for f in [lambda: i for i in range(n)]]


@case((2,))
def three_levels(log, x):
    def middle(y):
        def inner(z):
            nonlocal x
            x += z
            return x + y
        return inner
    return middle(10)(1), middle(20)(2), x


@case((1,), (0,))
def captured_from_branches(log, c):
    if c:
        y = "one"
    else:
        y = "two"
    return (lambda: y)()


@case((1,), (0,))
def captured_maybe_undefined(log, c):
    if c:
        y = "one"

    def get():
        return y
    log.append("made")
    return get()


@case(())
def used_before_assignment(log):
    def get():
        return later
    log.append("made")
    get()
    later = 1
    return later


@case((1, 2, 3))
def all_kinds_of_parameters(log, x, y, z):
    def f(a, b=2, /, c=3, *rest, d, e=x, **more):
        return a, b, c, rest, d, e, more
    return f(1, d=y), f(1, 2, 3, 4, 5, d=6, e=7, g=8), f(x, *[y, z], d=0, **{"k": 1}), f(1, d=z, c=5)


@case(())
def wrong_arguments(log):
    def f(a, *, b):
        return a, b
    return f(1)


@case((3,))
def defaults_are_evaluated_once(log, x):
    def f(items=[]):                                                      # noqa: B006
        items.append(x)
        return items
    return f(), f()


@case((5,))
def decorated_inner(log, x):
    def twice(f):
        log.append("twice")
        return lambda *args: f(f(*args))

    def plus(n):
        log.append(f"plus {n}")
        return lambda f: lambda *args: f(*args) + n

    @plus(1)
    @twice
    def g(a):
        return a * x
    return g(2)


@case((3, 4))
def lambdas(log, a, b):
    return (lambda x, y=b: x * y + a)(2), (lambda *xs, **kw: (xs, kw))(1, k=2), sorted([3, 1, 2], key=lambda v: -v)


@case((1,))
def unused_parameters_that_shadow(log, x):
    def f(x):
        x += 1
        return x
    return f(10), x


# -- globals, modules

@case((2,))
def reads_globals(log, x):
    return x + LIMIT, len(log), undefined_global_name                     # noqa: F821


@case((2,))
def writes_globals(log, x):
    global made_here
    made_here = x
    result = made_here + 1
    del made_here
    log.append(result)
    return made_here


@case(())
def inner_writes_globals(log):
    def set_it():
        global made_there
        made_there = 5
    set_it()
    return made_there


@case((4,))
def imports(log, x):
    import math
    import os.path
    import os.path as p
    from math import sqrt as root, floor
    return math.pi, root(x), floor(2.5), os.path is p, p.join("a", "b")


@case(())
def failing_import(log):
    from math import no_such_name                                         # noqa: F401


# -- displays, comprehensions, strings

@case(([1, 2], {"a": 1}))
def displays(log, xs, d):
    return ([*xs, 3, *xs], (*xs,), {*xs, 9}, {**d, "b": 2, **{"a": 5}}, {1: 2}, [], (), {})


@case(([5, 6, 7, 8],))
def slices(log, xs):
    ys = list(xs)
    ys[1:3] = [0]
    del ys[:1]
    return xs[1:], xs[:-1], xs[::2], xs[3:0:-1], ys, Box(__getitem__=1) == 2 or Indexed()[1:2, ..., None]


class Indexed:
    """Returns its index."""

    def __getitem__(self, index):
        return index


@case((4,))
def comprehensions(log, n):
    return ([i * n for i in range(n) if i % 2 if i > 1], {i % 2 for i in range(n)},
            {i: j for i in range(n) for j in range(i)}, [[i * j for j in range(i)] for i in range(n)],
            [(a, b) for a, b in zip("abc", range(n))])


@case((3,))
def comprehension_scope(log, i):
    ys = [i for i in range(i)]
    return i, ys


@case((3,))
def comprehension_sees_changes(log, n):
    total = 0
    ys = [(total := total + i) for i in range(n) if log.append(total) is None]
    return ys, total


@case(([1, 2, 3],))
def consumed_generators(log, xs):
    return (sum(x * 2 for x in xs), max(x for x in xs), tuple(-x for x in xs), ",".join(str(x) for x in xs),
            sorted(-x for x in xs))


@case(([1, 2, 3],))
def lazy_generators(log, xs):
    def note(x):
        log.append(x)
        return x > 1
    k = 1
    later = (x + k for x in xs)
    k = 10
    log.append([any(note(x) for x in xs), all(note(x) for x in xs)])
    log.append([any(note(x) == y for x in xs for y in xs if y != 2)])
    log.append([all(note(x) > y for x in xs for y in (0, 1) if x > 1), all(() for x in ()), any(n for n in [None, 0])])
    return next(i for i in iter(int, 1) if i == 0), list(later)


@case((3,))
def a_search_of_ones_own(log, n):
    def any(items):                                                       # noqa: A001
        log.extend(items)
        return "mine"
    return any(i for i in range(n))


@case(("t", 3.14159), (1, 2))
def f_strings(log, a, b):
    width = 10
    return f"{a} and {b!r:>{width}} {{}} {b:.2f}", f"{a!s}{a!a}{a=}", f"", "x" f"{width}"     # noqa: F541


@case((5,))
def calls_with_stars(log, n):
    def show(*args, **kwargs):
        return args, kwargs
    return show(*range(2), n, *[n], a=1, **{"b": 2}, c=3), print(end="", *[], **{})


@case((5,))
def double_keyword(log, n):
    return dict(a=1, **{"a": n})


# -- match

@case((1,), (2,), (5,), ("x",), (None,), (True,), (-1,), (7,))
def match_literals(log, x):
    match x:
        case 1:
            result = "one"
        case 2 | 5:
            result = "two or five"
        case "x":
            result = "letter"
        case None:
            return "none"
        case -1:
            result = "minus"
        case other:
            result = ("other", other)
    return result


@case(([],), ([1],), ([1, 2],), ([1, 2, 3],), ((0, [4, 5]),), ("ab",), (3,), ([9, 9, 9, 1],))
def match_sequences(log, xs):
    match xs:
        case []:
            return "empty"
        case [x]:
            return "one", x
        case [0, [a, b]]:
            return "nested", a, b
        case [x, y] if x < y:
            return "rising", x, y
        case [9, *_, last]:
            return "nines", last
        case [first, *rest]:
            return "many", first, rest
    return "nothing"


@case(((1, "a"),), (("a", 1),), (("b", 2),))
def match_or_captures(log, pair):
    match pair:
        case (int() as n, str() as s) | (str() as s, int() as n) if n == 1:
            return n, s
        case (x, _) as whole:
            return x, whole


@case(({"k": 1, "z": 2},), ({"k": 5},), ({},), (Box(n=1, m=2),), (Box(n=3),), (3,))
def match_mapping_and_class(log, x):
    match x:
        case {"k": 1, **rest}:
            return rest
        case {"k": value}:
            log.append(value)
        case Box(n=1, m=m):
            return "box", m
        case Box(n=n) if n == 3:
            value = n
        case int(value):
            pass
    return value


@case((10,), (11,))
def match_value_pattern(log, x):
    box = Box(limit=10)
    match x:
        case box.limit:
            return "limit"


@case(([1, 2, 3],))
def match_in_a_loop(log, xs):
    for x in xs:
        match x:
            case 2:
                continue
            case 3:
                break
        log.append(x)
    return x


# -- what Python runs

@case((1,), (0,))
def try_except(log, x):
    try:
        y = 1 / x
        log.append("in")
    except ZeroDivisionError as error:
        y = str(error)
    else:
        log.append("else")
    finally:
        log.append("finally")
    return y


@case((1,), (0,))
def try_may_leave_undefined(log, x):
    try:
        y = 1 // x
    except ZeroDivisionError:
        log.append("failed")
    return y


@case((1,), (0,), (2,))
def return_out_of_try(log, x):
    try:
        if x == 2:
            return "two"
        log.append(1 // x)
    except ZeroDivisionError:
        return "zero", x
    finally:
        x += 1
        log.append(x)
    return x


@case(([3, 1, 0, 2, 9, 5],))
def break_and_continue_out_of_try(log, xs):
    for x in xs:
        try:
            if x == 9:
                break
            for _ in range(2):
                continue
            log.append(6 // x)
        except ZeroDivisionError:
            continue
        log.append("after")
    else:
        return "never"
    return x


@case((3,))
def exception_passes_through(log, x):
    try:
        log.append(x)
        raise KeyError(x)
    finally:
        log.append("finally")


@case((2,))
def try_with_globals(log, x):
    global made_in_try
    try:
        made_in_try = x
        made_in_try += LIMIT
    finally:
        log.append(made_in_try)
    try:
        del made_in_try
    except NameError:
        log.append("gone")
    return made_in_try


@case((2,))
def annotations_of_what_python_runs(log, x):
    def generate(y: "Unknown"):                                           # noqa: F821
        yield y
    return list(generate(x))


class Manager:
    """A context manager that logs, and swallows KeyError."""

    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, traceback):
        self.log.append("exit")
        return kind is KeyError


@case((1,), (0,), (2,))
def with_statement(log, x):
    with Manager(log) as manager, Manager(log):
        if x == 0:
            raise KeyError
        if x == 2:
            return "two"
        y = manager.log is log
    return y


@case(())
def statement_and_closures_share_a_variable(log):
    n = 0

    def increment():
        nonlocal n
        n += 1
    try:
        increment()
        log.append(n)
        n += 10
        increment()
    finally:
        log.append(n)
    return n


@case((3,))
def inner_class(log, x):
    class Point:
        size = x

        def __init__(self, y):
            super().__init__()
            self.y = y

        def total(self):
            return self.y + self.size + x
    return Point(5).total(), Point.size


@case((3,))
def inner_generator(log, n):
    def count(m):
        for i in range(m):
            yield i + n
    return list(count(4))


@case((3,), (0,))
def python_statements_in_inner_functions(log, n):
    k = 2
    box = Box(m=7)

    def inner(values):
        total = 0
        for v in values:
            try:
                total += k // v + n
                if v == 3:
                    return total, "early"
            except ZeroDivisionError as error:
                log.append(str(error))
            match box:
                case Box(m=m) if m > v:
                    total += m
        return total, m
    return (inner(range(n + 1)), [list(x + y + k for x in range(y)) for y in range(n)],
            [next(x * y for x in [n]) for y in [k]])


@case((4,))
def closures_of_comprehensions(log, n):
    table = [[(lambda a, j=j: a + i + j + n) for j in range(i)] for i in range(n)]
    total = 0
    values = [[total := total + i for i in range(n)] for _ in range(2)]
    return [[f(1) for f in row] for row in table], values, total


@case((3,))
def cells_in_loops(log, n):
    functions = []
    for i in range(n):
        count = i

        def bump():
            nonlocal count
            count += 10
            return count
        functions.append(bump)
        log.append((bump(), count))
    del count
    try:
        functions[0]()
    except NameError:
        log.append("deleted")
    return len(functions)


@case((3,), (0,))
def calls_that_look_at_the_frame(log, n):
    total = n + 1
    if n:
        later = 5                                                        # noqa: F841
    names = sorted(locals())

    def inner(k):
        return eval("k * 2"), sorted(vars()), dir()
    log.append(eval("total + n"))
    counter = n

    def count():
        nonlocal counter
        counter += 1
    count()
    log.append(locals()["counter"])
    return names, globals()["LIMIT"], inner(total), vars(Box(a=1)), eval("n + 1", {"n": 10}), locals()["total"]


@case((3,))
def with_and_cells(log, n):
    def remember(x):
        nonlocal last
        last = x
        return x
    last = None
    with Manager(log):
        remember(n)
        log.append(last)
        last = last * 2
    for _ in range(2):
        with Manager(log):
            if last > 10:
                break
            last = remember(last * 2) + 1
    return last


# -- methods and closures of the outermost function

class Base:
    """For super()."""

    def tell(self, log):
        log.append("base")
        return 1


class Derived(Base):
    """Private names, super(), super() in a statement that Python runs."""

    def __init__(self):
        self.__secret = 5

    def tell(self, log):
        return super().tell(log) + self.__secret + __class__.__name__.count("D")

    def careful(self, log):
        try:
            return super().tell(log) + self.__secret
        finally:
            log.append("careful")


def test_methods_with_super_and_private_names():
    for method in (Derived.tell, Derived.careful):
        found, expected = [], []
        assert run(parse_function(method), method, Derived(), found) == method(Derived(), expected)
        assert found == expected


def test_closure_cells_of_the_outermost_function_are_read_and_written():
    count = 5

    def bump(by):
        nonlocal count
        count += by
        try:
            count += 1
        finally:
            pass
        return count
    assert run(parse_function(bump), bump, 10) == 16 and count == 16
    assert bump(1) == 18


def test_defaults_and_keyword_defaults_are_those_of_the_function():
    def f(a, b=2, *, c, d=[4]):                                           # noqa: B006
        return a, b, c, d
    assert run(parse_function(f), f, 1, c=3) == (1, 2, 3, [4])


@pytest.mark.parametrize("fn, given", CASES)
def test_a_graph_does_what_python_does(fn, given):
    graph = parse_function(fn)
    assert outcome(lambda *args: run(graph, fn, *args), given) == outcome(fn, given)
