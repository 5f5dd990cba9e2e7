"""Programs in which a graph and Python code share values: each is run as it stands and by jit, several times.

    sharing("a list that eval appends to", calls)(function)         calls: the arguments of one call after the other
"""
import collections
import copy
import fractions
import functools
import heapq
import itertools
import operator
import os
import random
import tempfile

import numpy as np

from mindlite import Tensor

PROGRAMS = []


def sharing(what, *calls):
    """Add a program to PROGRAMS."""
    def add(function):
        PROGRAMS.append((what, function, calls))
        return function
    return add


def T(*values):
    """A vector of float32."""
    return Tensor(np.array(values, np.float32))


class Store:
    """An object with a list in it."""

    def __init__(self):
        self.items, self.n = [], 0

    def put(self, value):
        """Add an item."""
        self.items.append(value)
        self.n += 1
        return self

    def __len__(self):
        return len(self.items)


@sharing("a list that eval appends to", (T(1, 2),), (T(3, 4),), (T(-3, 4),))
def shared_list(x):
    xs = [x, x * 2]
    eval("xs.append(x * 3)")
    return xs[2] + len(xs)


@sharing("a list that a library shuffles", (T(1, 2),), (T(3, 4),), (T(-3, 4),))
def list_given_to_library(x):
    xs = [3, 1, 2]
    random.Random(0).shuffle(xs)
    return x * xs[0] + xs[1]


@sharing("a function that a library calls", (T(1, 2),), (T(3, 4),))
def closure_given_to_library(x):
    def double(v):
        return v * 2 + x
    return functools.reduce(lambda a, b: a + b, list(itertools.starmap(double, [(x,), (x * 3,)])))


@sharing("a function whose nonlocal a library changes", (T(1, 2),), (T(3, 4),))
def closure_with_cell(x):
    total = x

    def add(v):
        nonlocal total
        total = total + v
        return total
    list(itertools.starmap(add, [(x,), (x * 3,)]))
    return total * 2


@sharing("a nonlocal that a function in a statement left to Python only declares", (T(1, 2),), (T(3, 4),))
def closure_that_is_declared(x):
    with open(os.devnull) as file:
        def name():
            nonlocal x                                       # noqa: F824
            return len(file.name) - len(os.devnull) + 2
        n = name()
    return x * n


@sharing("an object that is copied by a library", (T(1, 2),), (T(3, 4),))
def object_shared(x):
    s = Store()
    s.put(x)
    c = copy.copy(s)
    c.put(x * 2)
    return s.items[1] + len(c) + s.n


@sharing("a dict and its deep copy", (T(1, 2),), (T(3, 4),))
def dict_shared(x):
    d = {"a": x}
    d2 = copy.deepcopy(d)
    d2["b"] = x * 2
    d.update(d2)
    out = 0
    for k in sorted(d):
        out = out + d[k]
    return out


@sharing("Python code in a loop that is a list's", (T(1, 2),), (T(3, 4),))
def in_loop(x):
    out = []
    for i in range(6):
        y = eval("x * i")
        out.append(y)
        x = x + y.sum()
    return x, out


@sharing("Python code in a loop whose end is data", (T(1, 2), 3), (T(3, 4), 3), (T(3, 4), 5), (T(3, 4), 6))
def in_while(x, n):
    i = 0
    while x.sum() < 100:
        x = x * 2 + eval("i")
        i += 1
    return x, i


@sharing("Python code on paths that are taken late", (T(1, 2),), (T(-3, 1),), (T(3, 4),), (T(-3, -4),))
def branch_rare(x):
    if x.sum() < 0:
        x = eval("x * 10")
        if x.sum() < -50:
            return eval("x - 1")
    return x + 1


@sharing("a variable that is None or a Tensor by data", (T(1, 2),), (T(-3, 1),), (T(3, 4),), (T(-3, -4),))
def none_or_tensor(x):
    y = None
    if x.sum() > 0:
        y = x * 2
    if y is not None:
        return y + 1
    return x


@sharing("a string chosen by data", (T(1, 2),), (T(-3, 1),), (T(3, 4),))
def str_or_number(x):
    name = "pos" if x.sum() > 0 else "neg"
    d = {"pos": 1.0, "neg": -1.0}
    return x * d[name]


@sharing("a list whose length is data", (T(1, 2),), (T(5, 1),), (T(3, 4),))
def list_grows_by_data(x):
    xs = []
    for i in range(2):
        if x[i] > 2:
            xs.append(x[i] * 2)
    return len(xs), xs


@sharing("keys of a dict that are data", (T(1, 2),), (T(5, 1),), (T(3, 4),))
def dict_by_runtime_key(x):
    d = {}
    for i in range(3):
        d[int(x.sum()) + i] = x * i
    return d


@sharing("arrays of NumPy that are changed", (T(1, 2),), (T(5, 1),))
def numpy_roundtrip(x):
    a = x.asnumpy()
    a = np.sort(a)[::-1]
    b = a.copy()
    b[0] = 7
    return Tensor(b.astype(np.float32)) * x, float(a.sum())


@sharing("a list indexed by data", (T(1, 2),), (T(5, 1),))
def index_by_runtime(x):
    table = [10, 20, 30, 40, 50, 60, 70]
    return x * table[int(x.sum())]


@sharing("the caller's list, changed by both", (T(1, 2), [1, 2]), (T(5, 1), [3, 4]), (T(5, 1), [3, 4, 5]))
def callers_list(x, xs):
    eval("xs.append(x)")
    xs.append(len(xs))
    return xs[0] * x


@sharing("one list given twice to an inner function", (T(1, 2),), (T(5, 1),))
def same_list_twice(x):
    def f(a, b):
        a.append(x)
        return len(b)
    k = [1]
    return f(k, k), k


@sharing("a Counter and a deque", (T(1, 2),), (T(5, 1),))
def collections_in(x):
    c = collections.Counter(["a", "b", "a"])
    d = collections.deque([x, x * 2], maxlen=2)
    d.append(x * 3)
    return d[0] + c["a"]


@sharing("a file that is written and read", (T(1, 2),), (T(5, 1),))
def with_file(x):
    with tempfile.TemporaryFile("w+") as f:
        f.write(f"{x.sum()}")
        f.seek(0)
        text = f.read()
    return x * float(text)


@sharing("a heap", (T(1, 2),), (T(5, 1),))
def heap(x):
    h = [3, 1, 2]
    heapq.heapify(h)
    heapq.heappush(h, 0)
    return x * h[0] + heapq.heappop(h) + len(h)


@sharing("a lazy generator", (T(1, 2),), (T(5, 1),))
def generator_made(x):
    g = (v * 2 for v in (x, x + 1, x + 2))
    first = next(g)
    return first + sum(g)


@sharing("a class that is made inside", (T(1, 2),), (T(5, 1),))
def class_inside(x):
    class Local:
        def __init__(self, v):
            self.v = v

        def twice(self):
            return self.v * 2
    return Local(x).twice() + 1


@sharing("an object that is made inside and returned", (T(1, 2),), (T(5, 1),))
def returns_object(x):
    return Store().put(x)


@sharing("a string made of a number", (T(1, 2),), (T(5, 1),))
def string_building(x):
    s = "a" + str(int(x.sum()))
    return s.upper() + "!", len(s)


@sharing("a string made of NumPy's number", (T(1, 2),), (T(5, 1),))
def string_of_tensor(x):
    s = str(x.sum().asnumpy())
    parts = s.split(".")
    return parts[0] * 2


@sharing("a return in a loop, decided by Python", (T(1, 2),), (T(5, 1),))
def return_in_for_with_eval(x):
    for i in range(10):
        if eval("float(x.sum()) + i > 6"):
            return x * i
    return x


@sharing("itemgetter and partial", (T(1, 2),), (T(5, 1),))
def itemgetter_and_partial(x):
    get = operator.itemgetter(1)
    add = functools.partial(operator.add, x)
    return add(get([x, x * 2]))


@sharing("sorting by values that are data", (T(1, 2),), (T(5, 1),))
def sorted_by_value(x):
    vs = [x[1], x[0], x.sum()]
    return sorted(vs, key=lambda v: float(v))


@sharing("isinstance of what Python gave", (T(1, 2),), (T(5, 1),))
def isinstance_of_object(x):
    o = eval("3 if x.sum() > 4 else 'three'")
    if isinstance(o, str):
        return x * len(o)
    return x * o


@sharing("unpacking what Python gave", (T(1, 2),), (T(5, 1),))
def unpack_object(x):
    a, b = eval("[x, x * 2]")
    c, *d = eval("[1, 2, 3]")
    return a + b * c, d


@sharing("arguments that Python gave", (T(1, 2),), (T(5, 1),))
def star_object(x):
    def f(a, b, c=0):
        return a + b * c
    args = eval("[x, x * 2]")
    kw = eval("{'c': 3}")
    return f(*args, **kw)


@sharing("arithmetic of fractions", (T(1, 2),), (T(5, 1),))
def object_arith(x):
    f = fractions.Fraction(int(x.sum()), 3)
    g = f + 1
    g += f
    return x * float(-g), f < g, g == g, not f


@sharing("iterators that are new in each call", (T(1, 2),), (T(3, 4),))
def iterators(x):
    count, values = itertools.count(), iter([1, 2, 3])
    next(values)
    return x * next(count) + next(count) * next(values)


@sharing("a library that changes a list", (T(1, 2), [1]), (T(3, 4), [2, 3]))
def changed_by_operator(x, xs):
    operator.setitem(xs, 0, xs[0] + 1)
    return x * xs[0]


@sharing("an array of NumPy that a library fills", (T(1, 2),), (T(3, 4),))
def filled_by_numpy(x):
    z = np.zeros(2, np.float32)
    np.copyto(z, 3.0)
    z += 1
    return x * Tensor(z), z.tolist()
