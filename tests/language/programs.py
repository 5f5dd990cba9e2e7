"""Small functions that together use Python's control flow and containers; each stands in PROGRAMS with its arguments.

Arguments are float64 scalars and vectors. A program marked with `@program(...)` is run by PyNative mode and by graph
mode, and where it gives one float it is differentiated too.
"""
from dataclasses import dataclass

from mindlite import ops

PROGRAMS = []


@dataclass(frozen=True)
class Program:
    """A function and the argument lists to call it with; smooth: its result is one float tensor to differentiate."""
    function: object
    calls: tuple
    smooth: bool

    def __str__(self):
        return self.function.__name__


def program(*calls, smooth=True):
    """Put the function below into the table. calls: tuples of arguments, floats and lists becoming tensors."""
    def add(function):
        PROGRAMS.append(Program(function, calls, smooth))
        return function
    return add


V = [0.5, -1.25, 2.0]


# ---------------------------------------------------------------- if

@program((2.0,), (-3.0,))
def if_else(x):
    if x > 0:
        y = x * x
    else:
        y = x - 1
    return y * 2


@program((2.0,), (-3.0,))
def if_without_else(x):
    y = x
    if x > 0:
        y = ops.tanh(y)
    return y + x


@program((150.0,), (15.0,), (1.0,), (-2.0,))
def elif_chain(x):
    if x > 100:
        return x * 4
    elif x > 10:
        return x * 3
    elif x > 0:
        y = x * 2
    else:
        return -x
    return y + 1


@program((2.0, 3.0), (3.0, 2.0))
def early_return(x, y):
    if x > y:
        return x * y
    z = x + y
    if z > 100:
        return z
    return z * x


@program((1.0, 2.0), (1.0, -2.0), (-1.0, 2.0), (-1.0, -2.0))
def nested_if(x, y):
    if x > 0:
        if y > 0:
            z = x * y
        else:
            z = x - y
    else:
        if y > 0:
            z = y * 3
        else:
            z = x * y * 2
    return z


@program((1.0, 2.0), (3.0, 2.0), (-0.5, 2.0))
def boolean_operators(x, y):
    if x > 0 and y > x or not y > 1:
        return x + 2 * y
    return x * y


@program((0.5,), (1.5,), (2.5,))
def chained_comparison(x):
    return x * 3 if 1 < x < 2 else x * x


@program((2.0,), (-2.0,))
def conditional_expression(x):
    return (x if x > 0 else -x) * x


@program((2.0,), (-2.0,))
def different_kinds_of_numbers(x):
    k = 2 if x > 0 else 2.5
    return x * k


@program((V,))
def condition_on_a_shape(x):
    if x.shape[0] > 2:
        return ops.reduce_sum(x * x)
    return ops.reduce_sum(x)


@program((V,), ([-1.0, -2.0, 0.5],))
def condition_on_a_reduction(x):
    if ops.reduce_sum(x) > 0:
        x = x * x
    return ops.reduce_sum(x * 3)


@program((2.0, None), (2.0, 3.0))
def condition_on_none(x, y):
    if y is None:
        y = x
    return x * y


# ---------------------------------------------------------------- while

@program((3.0,), (2000.0,))
def while_on_a_tensor(x):
    while x < 1000:
        x = x * 2
    return x


@program((1.5,))
def while_with_a_counter(x):
    i = 0
    while i < 5:
        x = x * x - i
        i = i + 1
    return x


@program((1.1,), (30.0,))
def while_with_break(x):
    i = 0
    while i < 10:
        x = x + i
        if x > 20:
            break
        i = i + 1
    return x * x


@program((2.0,), (40.0,))
def while_true(x):
    while True:
        y = x * 2
        if y > 50:
            break
        x = y
    return y


@program((0.7,))
def while_with_continue(x):
    i = 0
    while i < 6:
        i = i + 1
        if i % 2 == 0:
            continue
        x = x * i + 1
    return x


@program((3.0,), (300.0,))
def while_with_return(x):
    while x < 1000:
        x = x * 3
        if x > 500:
            return x + 1
    return x


@program((3.0,), (700.0,))
def while_else(x):
    n = 0
    while x < 100:
        x = x * 2
        n += 1
        if n > 10:
            break
    else:
        x = x + n
    return x


@program((1.2, 2.0),)
def nested_while(x, y):
    i = 0
    while i < 3:
        j = 0
        while j < i:
            x = x * y
            j += 1
        y = y + 0.25
        i += 1
    return x


@program((100.0, 1.1), (100.0, 3.0))
def while_over_two_tensors(x, y):
    while x > 1:
        x, y = x / (y + 1), y + 0.125
    return x * y


# ---------------------------------------------------------------- for

@program((0.5,))
def for_over_a_range(x):
    total = 0
    for i in range(20):
        total = total + x * i
    return total


@program((0.9,))
def for_with_start_and_step(x):
    for i in range(10, 1, -3):
        x = x * i - 1
    return x


@program((1.5,), (9.0,))
def for_with_return(x):
    for i in range(10):
        if x > 30:
            return x * i
        x = x * 2
    return x - 1


@program((1.5,), (0.1,))
def for_with_break_and_else(x):
    for i in range(6):
        x = x * 1.5
        if x > 8:
            break
    else:
        x = x + 100
    return x


@program((1.25,))
def nested_for_with_continue(x):
    for i in range(8):
        if i == 3:
            continue
        for j in range(i):
            if j > 2:
                break
            x = x + j * x * 0.01
    return x


@program((V,))
def for_over_a_tensor(x):
    total = 0.0
    for item in x:
        total = total * item + item
    return total


@program((V,))
def for_over_the_length_of_a_tensor(x):
    h = x[0]
    for t in range(1, x.shape[0]):
        h = ops.tanh(h * x[t]) + h
    return h


@program((2.0, 3.0))
def for_over_a_tuple(x, y):
    total = x
    for item in (x, y, x * y):
        total = total * item
    return total


@program((2.0, 3.0))
def for_over_enumerate_and_zip(x, y):
    total = x * 0
    for i, (a, b) in enumerate(zip([x, y], [y, x * x])):
        total = total + (i + 1) * a * b
    return total


@program((0.5,))
def for_over_a_dict(x):
    weights = {"a": 1.0, "b": 2.0, "c": 3.0}
    total = x
    for name, weight in weights.items():
        if name != "b":
            total = total * weight + x
    return total


@program((0.5,))
def for_over_functions(x):
    for function in (ops.tanh, ops.sin, lambda y: y * y):
        x = function(x) + x
    return x


@program((1.3, 4), (1.3, 0), (1.3, 7))
def for_with_if_inside(x, n):
    for i in range(n):
        if i % 2 == 0:
            x = x + i
        elif i == 3:
            continue
        else:
            x = x * 2
    else:
        x = x - 1
    return x


@program((V,))
def for_with_break_on_a_tensor(x):
    total = x[0]
    for t in range(10):
        if total > 5:
            break
        if t % 2 == 0:
            total = total * 2
        else:
            total = total + x[2]
    return total


# ---------------------------------------------------------------- functions

@program((1.5,))
def closure(x):
    def add(y):
        return y * x
    return add(add(x)) + add(2.0)


@program((1.5, 2.5), (2.5, 1.5))
def function_chosen_at_run_time(x, y):
    def product():
        return x * y

    def square():
        return x * x
    chosen = product if x > y else square
    return chosen() + 1


@program((1.5,))
def function_that_returns_a_function(x):
    def power(n):
        def run(y):
            for _ in range(n):
                y = y * x
            return y
        return run
    return power(3)(x) + power(1)(x)


@program((1.5,))
def lambdas_and_defaults(x):
    f = lambda a, b=2.0, *rest, scale=1.0: (a * b + sum(rest)) * scale             # noqa: E731
    return f(x) + f(x, x) + f(x, x, x, x, scale=3.0) + f(b=x, a=x)


@program((1.5,))
def keyword_and_star_arguments(x):
    def f(a, b, c=1.0, **others):
        return a * b + c + others.get("d", 0.0)
    return f(*[x, x], **{"c": x, "d": x * x})


@program((1.5,))
def nonlocal_counter(x):
    total = x

    def add(y):
        nonlocal total
        total = total * y
    add(x)
    add(2.0)
    return total


@program((1.3,))
def recursion_on_a_number(x):
    def power(n):
        return 1.0 if n == 0 else x * power(n - 1)
    return power(5)


@program((1.3, 3.5), (1.3, 5.5))
def recursion_on_a_tensor(x, n):
    def power(n, acc):
        if n < 1:
            return acc
        return power(n - 1, acc * x)
    return power(n, x)


@program((6.0,), (0.0,), smooth=False)
def recursion_with_two_calls(n):
    def fib(n):
        if n < 2:
            return n
        return fib(n - 1) + fib(n - 2)
    return fib(n)


@program((9.0,), (6.0,))
def mutual_recursion(x):
    def even(n, y):
        return y if n < 0.5 else odd(n - 1, y * 1.5)

    def odd(n, y):
        return -y if n < 0.5 else even(n - 1, y + 1)
    return even(x, x)


@program((1.5,))
def a_function_from_outside(x):
    return for_over_functions(x) + if_else(x)


# ---------------------------------------------------------------- containers

@program((2.0, 3.0))
def tuples(x, y):
    pair = (x, y)
    a, b = pair
    (c, d), e = (pair, x * y)
    a, b = b, a
    return a * c + b * d * e


@program((2.0,))
def starred_targets(x):
    first, *middle, last = [x, x * 2, 3, x * 4]
    return first * last + middle[0] + len(middle)


@program((2.0,), (-2.0,))
def a_list_that_grows(x):
    values = []
    for i in range(4):
        values.append(x * i)
    values.insert(0, x)
    last = values.pop()
    return sum(values) * last


@program((2.0,), (7.0,))
def a_list_changed_in_a_branch(x):
    values = [x, x * 2]
    if x > 5:
        values[0] = x * x
    else:
        values[1] = values[0] + 1
    return values[0] * values[1]


@program((1.5,))
def a_list_changed_in_a_loop(x):
    values = [x, 1.0]
    i = 0
    while i < 4:
        values[0] = values[0] * x + values[1]
        i += 1
    return values[0]


@program((1.5,))
def nested_containers(x):
    data = {"a": [x, (x * 2, {"deep": x * x})], "b": 3}
    data["a"][0] = data["a"][0] * data["b"]
    data["c"] = data["a"][1][1]["deep"]
    return data["a"][0] + data["c"] * data["a"][1][0]


@program((1.5,))
def dict_methods(x):
    data = {"a": x}
    data.update(b=x * 2)
    data.setdefault("c", x * x)
    popped = data.pop("a")
    return popped * sum(data.values()) * len(data) + (1.0 if "b" in data else 0.0)


@program((V,))
def slices_of_tensors_and_lists(x):
    parts = [x[i] for i in range(3)][::-1]
    return parts[0] * parts[-1] + ops.reduce_sum(x[1:] * x[:-1]) + x[-1]


@program((2.0,), smooth=False)
def comprehensions(x):
    return [x * i for i in range(4) if i != 2], {i: x + i for i in range(2)}, tuple(x - i for i in (1, 2))


@program((2.0,))
def nested_comprehension(x):
    rows = [[x * i + j for j in range(i)] for i in range(4)]
    return sum([sum(row) for row in rows])


@program((2.0,))
def the_walrus(x):
    total = 0.0
    while (total := total + x) < 9:
        x = x * 1.5
    return total * x


@program((2.0,))
def match_statement(x):
    match (1, [x, x * 3]):
        case (0, _):
            return x
        case (1, [a, b]):
            return a * b
    return x * 7


@program((2.0,))
def try_and_finally(x):
    y = x
    try:
        y = y * x
    finally:
        y = y + 1
    return y


@program((2.0,))
def raise_and_except(x):
    try:
        if x.ndim == 0:
            raise ValueError("no axes")
        y = x
    except ValueError as error:
        y = x * len(str(error))
    return y


@program((2.0,), smooth=False)
def several_results(x):
    return x, (x * 2, [x * 3]), {"k": x}, 5, "text", None


@program((2.0,))
def a_with_statement_and_an_assertion(x):
    assert x.ndim == 0, "a scalar is wanted"
    del_me = x * 2
    y = del_me * x
    del del_me
    return y


@program((1.5,))
def augmented_assignments(x):
    y = x
    y += 1
    y *= x
    y -= 0.5
    y /= 2
    y **= 2
    return y


@program((3.0,), (-3.0,))
def a_loop_in_a_branch(x):
    if x > 0:
        for _ in range(3):
            x = x * 1.5
    else:
        while x < -1:
            x = x / 2
    return x * x


@program((1.6, 0.3), (0.4, 1.7))
def a_branch_with_functions_in_a_loop(x, y):
    def step(a, b):
        if a > b:
            return a - b * 0.5, b
        return b, a + 0.25
    for _ in range(6):
        x, y = step(x, y)
    return x * y
