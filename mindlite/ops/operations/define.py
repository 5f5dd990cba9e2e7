"""Operators as classes: the settings are given to the constructor, the arrays to the call.

    @operation                                                   P.Softmax(axis=0)(x)  ==  softmax(x, 0)
    def Softmax(logits, *, axis=-1):
        return softmax(logits, axis)

What is positional in the function belongs to the call; what is keyword-only belongs to the constructor, in that order.
"""
import functools
import inspect
from typing import Any

from ...common.errors import ArgumentError, UnknownOperatorError
from ...common.sbp import Parts
from ...mindir.primitive import Primitive, Shown, by_position
from ...mindir.protocol import CallOf
from ..collectives import place_as
from ..generator import Generator, Streams

OPERATIONS: dict = {}


class Operation:
    """Base of the classes. function: (*arrays, **settings) -> Tensors; settings: {name: value} of this object."""
    function: Any = None
    parameters: tuple = ()
    checks: dict = {}
    goes_on = False                                          # a seed begins a stream of this object
    seed_in_call, last_only = False, False                   # the call gives the seed; another seed forgets the last stream
    __signature__ = Shown(lambda self, owner: _signature(self, owner))

    def __init__(self, *args, **kwargs):
        self.settings, self.attrs = {}, {}
        if self.function is None and len(args) == 1 and not kwargs:          # a user's own class gives its name
            self.label = args[0]
            return
        names: list = [p.name for p in self.parameters]
        if len(args) > len(names):
            raise ArgumentError(f"{self.name}: takes at most {len(names)} settings, {len(args)} were given",
                                note=", ".join(names) or "it has none")
        settings = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names or name in settings:
                raise ArgumentError(f"{self.name}: the setting {name !r}  is given twice"
                                    if name in names else f"{self.name}: no setting is named {name !r} ",
                                    note=", ".join(names) or "it has none")
            settings[name] = value
        for p in self.parameters:
            if p.name not in settings:
                if p.default is p.empty:
                    raise ArgumentError(f"{self.name}: the setting {p.name!r} is missing")
                settings[p.name] = p.default
            elif p.name in self.checks:
                self.checks[p.name](settings[p.name], p.name, self.name)
        self.settings = settings
        if self.goes_on:
            self.__dict__["stream"] = {"streams": Streams(self.last_only)} if self.seed_in_call else _stream(settings)

    @property
    def name(self):
        """The name that a user's own class has given, or that of the class."""
        return self.__dict__.get("label", type(self).__name__)

    def __getattr__(self, name):
        if name != "settings" and name in self.__dict__.get("settings", ()):
            return self.settings[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def add_prim_attr(self, name, value):
        """Keep a remark with this object; returns it."""
        self.attrs[name] = value
        return self

    def del_prim_attr(self, name):
        """Forget a remark; returns this object."""
        self.attrs.pop(name, None)
        return self

    def init_prim_io_names(self, inputs, outputs):
        """Keep the names of inputs and outputs. Returns this object."""
        return self.add_prim_attr("input_names", inputs).add_prim_attr("output_names", outputs)

    def set_device(self, device_target):
        """Keep where MindSpore would run this; here there is one device. Returns this object."""
        return self.add_prim_attr("primitive_target", device_target)

    def shard(self, in_strategy=None, out_strategy=None):
        """Keep how arrays and results are to lie: ranks split the work as that says (`mindlite.shard`). Returns this object.

        in_strategy, out_strategy : a tuple with a Layout for each, or None; in place of a Layout a tuple of ints, into how many
                 parts each axis goes. They are for the mesh on which the program runs; without one, nobody looks at them
        raises : ArgumentError for what are no Layouts; ValueRangeError, where it is computed, for ints that no mesh of the ranks
                 makes, or of another number of axes
        """
        made = []
        for strategies in (in_strategy, out_strategy):
            if strategies is not None and not isinstance(strategies, (tuple, list)):
                raise ArgumentError(f"{self.name}.shard: takes tuples of Layouts, not {type(strategies).__name__}")
            made.append(tuple([self._strategy(strategy) for strategy in strategies or ()]))
        self.__dict__["strategies"] = tuple(made)
        return self

    def _strategy(self, strategy):
        if strategy is None or hasattr(strategy, "placement"):
            return strategy
        if isinstance(strategy, tuple) and all([type(count) is int and count > 0 for count in strategy]):
            return Parts(strategy, self.name)
        raise ArgumentError(f"{self.name}.shard: Layouts or tuples of ints are wanted, not {strategy!r}")

    def set_stage(self, stage):
        """Keep the stage of a pipeline. Returns this object."""
        return self.add_prim_attr("stage", stage)

    def set_prim_instance_name(self, name):
        """Keep a name. Returns this object."""
        return self.add_prim_attr("instance_name", name)

    def recompute(self, mode=True):
        """Keep whether the result may be computed again; jit(remat=..) and ms.recompute decide that here. Returns this
        object."""
        return self.add_prim_attr("recompute", mode)

    def __mindir__(self):
        own = type(self).__call__
        if self.function is None and own is Operation.__call__:
            return CallOf(functools.partial(_computes_nothing, self.name))
        return CallOf(functools.partial(own, self) if own is not Operation.__call__ or "strategies" in self.__dict__ else
                      functools.partial(self.function, **self.given()))

    def given(self):
        """The settings as the function gets them: a seed is the stream that it began, which goes on from call to call."""
        return {**self.settings, **(self.__dict__.get("stream") or {})}

    def __call__(self, *args):
        if self.function is None:
            _computes_nothing(self.name, *args)
        strategies = self.__dict__.get("strategies")
        settings = self.given() if self.goes_on else self.settings
        if strategies is None:
            return self.function(*args, **settings)
        ins, outs = strategies
        value = self.function(*_placed(args, ins), **settings)
        return _placed(value, outs) if isinstance(value, tuple) else _placed((value,), outs)[0]

    def __repr__(self):
        return f"Prim[{self.name}]<{', '.join(f'{k}={v}' for k, v in self.settings.items())}>"


def _computes_nothing(name, *args):
    raise UnknownOperatorError(f"Operator {name!r} is invalid: no function computes it",
                               hint="a class of one's own computes in its __call__")


_SEEDS = {"seed": "seed2", "Seed0": "Seed1"}


def _stream(settings):
    """{the setting of the seed: the stream that it begins, the other half: 0}; empty where the global stream is drawn from."""
    for first, second in _SEEDS.items():
        seed, other = settings.get(first, 0), settings.get(second, 0)
        if isinstance(seed, int) and isinstance(other, int) and (seed > 0 or other > 0):
            stream = Generator()
            stream.state.overwrite((seed + (other << 32), 0))
            return {first: stream, **({second: 0} if second in settings else {})}
    return {}


def _signature(self, owner):
    """Of a class of this module that of its settings; None for a user's own, which has its own __init__."""
    if self is not None or "parameters" not in owner.__dict__ or owner is Operation:
        return None
    return inspect.Signature(by_position(owner.parameters))


def _placed(values, strategies):
    """The values, and for each the wish of its Layout, if it has one."""
    made = []
    for number, value in enumerate(values):
        layout = strategies[number] if number < len(strategies) else None
        made.append(value if layout is None else
                    place_as(value, layout.placement(len(value.shape))))
    return tuple(made)


def prim_attr_register(fn):
    """A decorator of the __init__ of a user's own class: its arguments are kept as remarks, and as attributes. What the
    class computes is its __call__."""
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def keep(self, *args, **kwargs):
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        self.settings, self.attrs = dict(list(bound.arguments.items())[1:]), dict(list(bound.arguments.items())[1:])
        fn(self, *args, **kwargs)
    return keep


def checking(**checks):
    """A decorator below `operation`: {setting: a function of `common.checks`, (value, name, class) -> value, or an error}."""
    def keep(function):
        function.checks = checks
        return function
    return keep


def repeats(function):
    """A decorator below `operation`: its object of a seed gives the same numbers at each call."""
    function.repeats = True
    return function


def one_stream(function):
    """A decorator below `operation`: a call with another seed begins the stream of that seed anew."""
    function.last_only = True
    return function


def operation(function):
    """The class of a function; see the module. A function whose seed is an argument of the call takes the keyword `streams`,
    the Streams of its object."""
    parameters = tuple(p for p in inspect.signature(function).parameters.values()
                       if p.kind is p.KEYWORD_ONLY and p.name != "streams")
    return _class(function.__name__, function, parameters, function.__doc__)


def table(names):
    """Classes without settings: {"ReLU": relu, ..}; returns {name: class}."""
    return {name: _class(name, function, (), getattr(function, "__doc__", None)) for name, function in names.items()}


def _class(name, function, parameters, doc):
    seed_in_call = "streams" in inspect.signature(function).parameters
    seeded = seed_in_call or not _SEEDS.keys().isdisjoint(p.name for p in parameters)
    goes_on = seeded and not getattr(function, "repeats", False)
    call = staticmethod(function if not isinstance(function, Primitive) else functools.partial(_call, function))
    made = type(name, (Operation,), {"function": call, "parameters": parameters, "__doc__": doc, "goes_on": goes_on,
                                     "seed_in_call": seed_in_call, "last_only": getattr(function, "last_only", False),
                                     "checks": getattr(function, "checks", {}), "__module__": __package__})
    OPERATIONS[name] = made
    return made


def _call(primitive, *args):
    return primitive(*args)


class Implementations:
    """Python functions registered as the meaning of a class; mindlite computes by its own rules and asks none."""

    def __init__(self):
        self.functions = {}

    def register(self, operation_class):
        """A decorator that keeps the function under the class."""
        def keep(function):
            self.functions[operation_class] = function
            return function
        return keep


implementations = Implementations()
