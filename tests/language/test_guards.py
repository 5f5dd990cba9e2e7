"""A change of what a compiled function read is seen at its next call: no stale result, whatever was read.

Each row of CHANGES is (a function of a Tensor, what changes between two calls). The function reads objects of `make()`,
which are made new for each row; the compiled function must give what Python gives, before and after.
"""
import copy
import dataclasses
import functools
import types
from collections import OrderedDict, defaultdict, deque
from types import SimpleNamespace

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.compile.jit import JitFunction

shade = 2.0
module = types.ModuleType("module_of_a_user")
o = SimpleNamespace()


def scale(x):
    return x * 2


def scaled(x, k=2.0, *, q=1.0):
    return x * k * q


def total(*values, **named):
    return sum(values) + sum(named.values())


class Descriptor:
    """Gives the attribute `hidden` of its owner."""

    def __get__(self, owner, cls):
        return owner.hidden


class Thing:
    """An object of a user's, with every kind of method."""
    constant = 2.0
    described = Descriptor()

    def __init__(self):
        self.v, self.hidden = [1.0, 2.0], 2.0

    def method(self, x):
        return x * 2

    @property
    def prop(self):
        return 2.0

    @staticmethod
    def static(x):
        return x * 2

    @classmethod
    def of_class(cls, x):
        return x * 2

    def __call__(self, x):
        return x * 2

    def __getitem__(self, i):
        return self.v[i]

    def __len__(self):
        return len(self.v)

    def __iter__(self):
        return iter(self.v)

    def __bool__(self):
        return self.v[0] > 1

    def __contains__(self, item):
        return item in self.v

    def __eq__(self, other):
        return self.v[0] == other

    def __hash__(self):
        return 1

    def __neg__(self):
        return -self.v[0]

    def __add__(self, other):
        return self.v[0] + other

    def __float__(self):
        return self.v[0]

    def __index__(self):
        return int(self.v[0])

    def __str__(self):
        return "a" * len(self.v)

    def __getattr__(self, name):
        if name.startswith("__") or name in ("v", "gone"):
            raise AttributeError(name)
        return self.v[0]


class Slotted:
    """An object without __dict__."""
    __slots__ = ("v",)


@dataclasses.dataclass
class Record:
    """A dataclass."""
    v: float = 2.0


class Net(nn.Cell):
    """A Cell with a flag, a child and a list."""

    def __init__(self):
        super().__init__()
        self.relu, self.k, self.items = nn.ReLU(), 2, [1.0, 2.0]

    def construct(self, x):
        return self.relu(x) * (self.k if self.training else 3)


def closure():
    """(a function that reads a cell, one that writes it)"""
    n = 2.0

    def read(x):
        return x * n

    def write(value):
        nonlocal n
        n = value
    return read, write


def loop_over_cells(x):
    for i in range(len(o.cells)):
        x = o.cells[i](x) * 2
    return x


def make():
    """Everything as it was."""
    global shade, scale
    shade, scale = 2.0, (lambda x: x * 2)
    module.__dict__.update(k=2.0, fn=lambda x: x * 2)
    globals().pop("abs", None)
    scaled.__defaults__, scaled.__kwdefaults__ = (2.0,), {"q": 1.0}
    thing = type("Thing", (Thing,), {name: value for name, value in vars(Thing).items() if name != "__dict__"})
    read, write = closure()
    o.__dict__.clear()
    o.__dict__.update(
        l=[1.0, 2.0], empty=[], nested=[[1.0], [2.0]], d={"a": 1.0}, of_list={"a": [1.0]}, s={1.0}, t=(1.0, [2.0]),
        a=np.ones(3, np.float32), i=[0, 1], n=2, tensors=[x(), x()], tensor=x(), bytes=bytearray(b"ab"),
        deque=deque([1.0]), ordered=OrderedDict(a=1.0), defaults=defaultdict(float, a=1.0), inner=SimpleNamespace(v=1.0),
        thing=thing(), slotted=Slotted(), record=Record(), net=Net(), partial=functools.partial(scaled, k=2.0),
        cells=nn.CellList([nn.ReLU()]), sequence=nn.SequentialCell([nn.ReLU()]), read=read, write=write, x=None,
        parameter=ms.Parameter(x(), name="p"), handles=[])
    o.slotted.v = 2.0
    o.net.set_train()


def x():
    return Tensor(np.ones(3, np.float32))


def plain(out):
    """What a result is: its values and its type."""
    return np.round(out.asnumpy().astype(float), 4).tolist(), out.dtype


def put(owner, key, value):
    owner[key] = value


def set_global(name, value):
    globals()[name] = value


def new_code(function):
    """Python's way of reloading: another body in the same function."""
    function.__code__ = (lambda x: x * 5).__code__


CHANGES = {
    "a global": (lambda x: x * shade, lambda: set_global("shade", 5.0)),
    "a global function": (lambda x: scale(x), lambda: set_global("scale", lambda x: x * 3)),
    "a builtin that a global hides": (lambda x: x * abs(-2), lambda: set_global("abs", lambda v: 9)),
    "a closure cell": (lambda x: o.read(x), lambda: o.write(5.0)),
    "a default argument": (scaled, lambda: setattr(scaled, "__defaults__", (3.0,))),
    "an item of keyword defaults": (scaled, lambda: put(scaled.__kwdefaults__, "q", 7.0)),
    "keyword defaults": (scaled, lambda: setattr(scaled, "__kwdefaults__", {"q": 8.0})),
    "the code of a function": (lambda x: scale(x), lambda: new_code(scale)),
    "a partial": (lambda x: o.partial(x), lambda: setattr(o, "partial", functools.partial(scaled, k=3.0))),
    "an attribute of a module": (lambda x: x * module.k, lambda: setattr(module, "k", 5.0)),
    "the __dict__ of a module": (lambda x: x * module.k, lambda: put(module.__dict__, "k", 5.0)),
    "a function of a module": (lambda x: module.fn(x), lambda: setattr(module, "fn", lambda x: x * 7)),
    "an attribute": (lambda x: x * o.n, lambda: setattr(o, "n", 5)),
    "an attribute of another type": (lambda x: x * o.n, lambda: setattr(o, "n", 2.5)),
    "a number that becomes a truth": (lambda x: x * (2 if o.n is True else 3), lambda: setattr(o, "n", True)),
    "an attribute of an attribute": (lambda x: x * o.inner.v, lambda: setattr(o.inner, "v", 5.0)),
    "an object": (lambda x: x * o.inner.v, lambda: setattr(o, "inner", SimpleNamespace(v=6.0))),
    "an attribute that goes": (lambda x: x * getattr(o.inner, "v", 9.0), lambda: delattr(o.inner, "v")),
    "an attribute that comes": (lambda x: x * (2 if hasattr(o, "w") else 3), lambda: setattr(o, "w", 1)),
    "an attribute by its name": (lambda x: x * getattr(o.record, "v"), lambda: setattr(o.record, "v", 8.0)),
    "a slot": (lambda x: x * o.slotted.v, lambda: setattr(o.slotted, "v", 5.0)),
    "a field": (lambda x: x * o.record.v, lambda: setattr(o.record, "v", 5.0)),
    "a field, through vars": (lambda x: x * vars(o.record)["v"], lambda: setattr(o.record, "v", 5.0)),
    "a field, through a copy": (lambda x: x * copy.copy(o.record).v, lambda: setattr(o.record, "v", 5.0)),
    "a field, through asdict": (lambda x: x * dataclasses.asdict(o.record)["v"], lambda: setattr(o.record, "v", 5.0)),
    "what a descriptor gives": (lambda x: x * o.thing.described, lambda: setattr(o.thing, "hidden", 5.0)),
    "what __getattr__ gives": (lambda x: x * o.thing.whatever, lambda: put(o.thing.v, 0, 5.0)),
    "a constant of a class": (lambda x: x * o.thing.constant, lambda: setattr(type(o.thing), "constant", 5.0)),
    "an attribute that hides a class's": (lambda x: x * o.thing.constant, lambda: setattr(o.thing, "constant", 6.0)),
    "a method of a class": (lambda x: o.thing.method(x),
                            lambda: setattr(type(o.thing), "method", lambda self, x: x * 5)),
    "a method of an object": (lambda x: o.thing.method(x), lambda: setattr(o.thing, "method", lambda x: x * 6)),
    "a property": (lambda x: x * o.thing.prop, lambda: setattr(type(o.thing), "prop", property(lambda self: 7.0))),
    "a static method": (lambda x: o.thing.static(x),
                        lambda: setattr(type(o.thing), "static", staticmethod(lambda x: x * 8))),
    "a class method": (lambda x: o.thing.of_class(x),
                       lambda: setattr(type(o.thing), "of_class", classmethod(lambda cls, x: x * 8))),
    "the class of an object": (lambda x: o.thing(x), lambda: setattr(
        o.thing, "__class__", type("Other", (), {"__call__": lambda self, x: x * 11}))),
    "__call__": (lambda x: o.thing(x), lambda: setattr(type(o.thing), "__call__", lambda self, x: x * 9)),
    "__getitem__": (lambda x: x * o.thing[0], lambda: setattr(type(o.thing), "__getitem__", lambda self, i: 9.0)),
    "__len__": (lambda x: x * len(o.thing), lambda: setattr(type(o.thing), "__len__", lambda self: 9)),
    "what __iter__ reads": (lambda x: x * sum(v for v in o.thing), lambda: put(o.thing.v, 0, 5.0)),
    "what __bool__ reads": (lambda x: x * 2 if o.thing else x * 3, lambda: put(o.thing.v, 0, 5.0)),
    "what __contains__ reads": (lambda x: x * 2 if 5.0 in o.thing else x, lambda: put(o.thing.v, 0, 5.0)),
    "what __eq__ reads": (lambda x: x * 2 if o.thing == 5.0 else x, lambda: put(o.thing.v, 0, 5.0)),
    "what __neg__ reads": (lambda x: x * -o.thing, lambda: put(o.thing.v, 0, 5.0)),
    "what __add__ reads": (lambda x: x * (o.thing + 1), lambda: put(o.thing.v, 0, 5.0)),
    "what __float__ reads": (lambda x: x * float(o.thing), lambda: put(o.thing.v, 0, 5.0)),
    "what __index__ reads": (lambda x: x * len(range(o.thing)), lambda: put(o.thing.v, 0, 5.0)),
    "what __str__ reads": (lambda x: x * len(str(o.thing)), lambda: o.thing.v.append(1.0)),
    "what a format reads": (lambda x: x * len(f"{o.thing}"), lambda: o.thing.v.append(1.0)),
    "a list that is added": (lambda x: x * sum(o.l + [1.0]), lambda: o.l.append(5.0)),
    "a list that is repeated": (lambda x: x * sum(o.l * 2), lambda: o.l.append(5.0)),
    "a list that is compared": (lambda x: x * 2 if o.l == [1.0, 2.0] else x, lambda: o.l.append(5.0)),
    "the truth of a list": (lambda x: x * 2 if o.empty else x, lambda: o.empty.append(5.0)),
    "the length of a list": (lambda x: x * len(o.l), lambda: o.l.append(5.0)),
    "an item of a list": (lambda x: x * o.l[0], lambda: put(o.l, 0, 5.0)),
    "a part of a list": (lambda x: x * sum(o.l[0:2]), lambda: put(o.l, 0, 5.0)),
    "the sum of a list": (lambda x: x * sum(o.l), lambda: put(o.l, 0, 5.0)),
    "a list as arguments": (lambda x: x * total(*o.l), lambda: o.l.append(5.0)),
    "a dict as arguments": (lambda x: x * total(**o.d), lambda: put(o.d, "b", 5.0)),
    "a comprehension over a list": (lambda x: x * sum([v * 2 for v in o.l]), lambda: o.l.append(5.0)),
    "enumerate and zip": (lambda x: x * sum(i * v for i, (v, _) in enumerate(zip(o.l, [1] * 9))),
                          lambda: o.l.append(5.0)),
    "sorted and max": (lambda x: x * (sorted(o.l)[0] + max(o.l)), lambda: o.l.append(-5.0)),
    "a method of a list": (lambda x: x * o.l.index(2.0), lambda: o.l.insert(0, 5.0)),
    "the text of a list": (lambda x: x * len(f"{o.l}{str(o.l)}"), lambda: o.l.append(5.0)),
    "a list as an index": (lambda x: x.cumsum(0)[o.i], lambda: put(o.i, 0, 2)),
    "a list that becomes a Tensor": (lambda x: x + Tensor(o.l).sum(), lambda: o.l.append(5.0)),
    "a list in a list": (lambda x: x * o.nested[0][0], lambda: put(o.nested[0], 0, 5.0)),
    "a list in a tuple": (lambda x: x * o.t[1][0], lambda: put(o.t[1], 0, 9.0)),
    "a list in a dict": (lambda x: x * o.of_list["a"][0], lambda: put(o.of_list["a"], 0, 9.0)),
    "an item of a dict": (lambda x: x * o.d["a"], lambda: put(o.d, "a", 5.0)),
    "a default of a dict": (lambda x: x * o.d.get("z", 3.0), lambda: put(o.d, "z", 5.0)),
    "a key of a dict": (lambda x: x * 2 if "z" in o.d else x, lambda: put(o.d, "z", 5.0)),
    "the items of a dict": (lambda x: x * sum(v for _, v in o.d.items()), lambda: put(o.d, "z", 5.0)),
    "the union of dicts": (lambda x: x * len(o.d | {"n": 1}), lambda: put(o.d, "z", 5.0)),
    "a set": (lambda x: x * sum(o.s), lambda: o.s.add(5.0)),
    "a deque": (lambda x: x * o.deque[0], lambda: put(o.deque, 0, 5.0)),
    "an OrderedDict": (lambda x: x * o.ordered["a"], lambda: put(o.ordered, "a", 5.0)),
    "a defaultdict": (lambda x: x * o.defaults["a"], lambda: put(o.defaults, "a", 5.0)),
    "a bytearray": (lambda x: x * o.bytes[0], lambda: put(o.bytes, 0, 3)),
    "an array as operand": (lambda x: x * o.a, lambda: put(o.a, 1, 5.0)),
    "an array in an operator": (lambda x: ops.add(x, o.a), lambda: put(o.a, 1, 5.0)),
    "an array that becomes a Tensor": (lambda x: x * Tensor(o.a * 2), lambda: put(o.a, 1, 5.0)),
    "an array that is negated": (lambda x: x * Tensor(-o.a), lambda: put(o.a, 1, 5.0)),
    "an item of an array": (lambda x: x * float(o.a[0]), lambda: put(o.a, 0, 5.0)),
    "the sum of an array": (lambda x: x * float(np.sum(o.a)), lambda: put(o.a, 1, 5.0)),
    "a method of an array": (lambda x: x * 2 if o.a.max() > 4 else x, lambda: put(o.a, 1, 5.0)),
    "a comparison of an array": (lambda x: x * 2 if (o.a > 4).any() else x, lambda: put(o.a, 1, 5.0)),
    "iteration over an array": (lambda x: x * sum(float(v) for v in o.a), lambda: put(o.a, 1, 5.0)),
    "the shape of an array": (lambda x: x * o.a.ndim, lambda: o.a.resize((3, 1), refcheck=False)),
    "another array": (lambda x: x * o.a.shape[0], lambda: setattr(o, "a", np.ones(7))),
    "a list of Tensors": (lambda x: x * ops.concat(o.tensors, 0).sum(), lambda: o.tensors.append(o.tensor)),
    "a Tensor in a list": (lambda x: x * ops.stack(o.tensors, 0).sum(), lambda: put(o.tensors[0], 0, 5.0)),
    "a Tensor in place": (lambda x: x * o.tensor, lambda: put(o.tensor, 0, 5.0)),
    "another Tensor": (lambda x: x * o.tensor, lambda: setattr(o, "tensor", Tensor(np.full(3, 4, np.float32)))),
    "a Tensor of another type": (lambda x: x * o.tensor, lambda: setattr(o, "tensor", Tensor(np.full(3, 4, np.int32)))),
    "the data of a Parameter": (lambda x: x * o.parameter,
                                lambda: o.parameter.set_data(Tensor(np.full(3, 4, np.float32)))),
    "a Parameter that is frozen": (lambda x: x * 2 if o.parameter.requires_grad else x,
                                   lambda: setattr(o.parameter, "requires_grad", False)),
    "the mode of a Cell": (lambda x: o.net(x), lambda: o.net.set_train(not o.net.training)),
    "an attribute of a Cell": (lambda x: o.net(x), lambda: setattr(o.net, "k", 7)),
    "a list of a Cell": (lambda x: x * sum(o.net.items), lambda: o.net.items.append(5.0)),
    "a child of a Cell": (lambda x: o.net(x), lambda: setattr(o.net, "relu", nn.Tanh())),
    "the construct of a Cell": (lambda x: o.net(x), lambda: setattr(o.net, "construct", lambda x: x * 12)),
    "the class of a child": (lambda x: o.net(x), lambda: setattr(o.net.relu, "construct", lambda x: x * 12)),
    "a hook": (lambda x: o.net(x), lambda: o.net.register_forward_hook(lambda cell, args, out: out * 10)),
    "a hook of a child": (lambda x: o.net(x), lambda: o.net.relu.register_forward_pre_hook(lambda cell, args: args[0] * 9)),
    "a cast": (lambda x: o.net(x), lambda: o.net.to_float(ms.float16)),
    "the number of Parameters": (lambda x: x * len(list(o.net.get_parameters())),
                                 lambda: setattr(o.net, "w", ms.Parameter(x(), name="w"))),
    "the Cells of a list": (loop_over_cells, lambda: o.cells.append(nn.ReLU())),
    "a Cell of a sequence": (lambda x: o.sequence(x) * 2, lambda: put(o.sequence, 0, nn.Tanh())),
    "the length of a sequence": (lambda x: x * len(o.sequence), lambda: o.sequence.append(nn.ReLU())),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_seen(what):
    function, change = CHANGES[what]
    make()
    f = JitFunction(function)
    first = plain(function(x()))
    for _ in range(3):                                       # the third call goes the short way
        assert plain(f(x())) == first
    change()
    second = plain(function(x()))
    for _ in range(3):
        assert plain(f(x())) == second
    assert second != first and not f.in_python


@pytest.mark.sampled(3)
@pytest.mark.parametrize("what", CHANGES)
def test_what_has_not_changed_compiles_nothing(what):
    function, _ = CHANGES[what]
    make()
    f = JitFunction(function)
    for _ in range(4):
        f(x())
    assert len(f.variants) <= 1 and not f.history


class Base(nn.Cell):
    """A Cell whose construct is replaced in the class."""

    def construct(self, x):
        return x * 2


def test_a_construct_that_is_replaced_in_its_class_is_seen():
    net, before = Base(), Base.construct
    f = JitFunction(lambda x: net(x))
    try:
        assert f(x()).asnumpy().tolist() == [2.0] * 3
        Base.construct = lambda self, x: x * 10
        assert f(x()).asnumpy().tolist() == [10.0] * 3
    finally:
        Base.construct = before
    assert f(x()).asnumpy().tolist() == [2.0] * 3 and len(f.variants) + len(f.history) == 2


def test_a_hook_that_comes_and_goes_compiles_once_for_each():
    net = Base()
    f = JitFunction(lambda x: net(x))
    for _ in range(3):
        assert f(x()).asnumpy().tolist() == [2.0] * 3
        handle = net.register_forward_hook(lambda cell, args, out: out * 10)
        assert f(x()).asnumpy().tolist() == [20.0] * 3
        handle.remove()
    assert f(x()).asnumpy().tolist() == [2.0] * 3
