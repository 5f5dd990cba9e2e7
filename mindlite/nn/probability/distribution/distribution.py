"""Distribution: parameters, the functions that every distribution answers, and what of them follows from the others.

A distribution is a class that names its parameters and writes the formulas that it has, on parameters that are there and
have one shape. The others follow by the table WAYS:

    class Exponential(Distribution):                Exponential(2.0).prob(x)            exp of _log_prob
        parameters_are = {"rate": positive}         Exponential().prob(x, rate)         with parameters of the call
        def _log_prob(self, value, rate): ..        Exponential(2.0)("prob", x)         by name

All are ordinary operators, so they work in graphs, under vmap, and have gradients by values and parameters.
source : MindSpore, nn.probability.distribution
"""
from collections.abc import Callable
from typing import Any

from .... import ops
from ....common import dtype as dt
from ....common.checks import check_non_negative_int, check_value_type
from ....common.errors import ArgumentError, DTypeError, ValueRangeError
from ....common.tensor import Parameter, Tensor
from ....ops.axes import broadcast_shapes
from ....ops.generator import Generator
from ...cell import Cell
from .parameters import as_parameter, common_dtype

# {function: {the formula that a class has: how the function follows from it}}, the first that there is
WAYS = {
    "prob": {"_prob": lambda self, x, *p: self._prob(x, *p),
             "_log_prob": lambda self, x, *p: ops.exp(self._log_prob(x, *p))},
    "log_prob": {"_log_prob": lambda self, x, *p: self._log_prob(x, *p),
                 "_prob": lambda self, x, *p: ops.log(self._prob(x, *p))},
    "cdf": {"_cdf": lambda self, x, *p: self._cdf(x, *p),
            "_log_cdf": lambda self, x, *p: ops.exp(self._log_cdf(x, *p)),
            "_survival_function": lambda self, x, *p: 1 - self._survival_function(x, *p),
            "_log_survival": lambda self, x, *p: -ops.expm1(self._log_survival(x, *p))},
    "log_cdf": {"_log_cdf": lambda self, x, *p: self._log_cdf(x, *p),
                "_cdf": lambda self, x, *p: ops.log(self._cdf(x, *p)),
                "_survival_function": lambda self, x, *p: ops.log1p(-self._survival_function(x, *p)),
                "_log_survival": lambda self, x, *p: ops.log(-ops.expm1(self._log_survival(x, *p)))},
    "survival_function": {"_survival_function": lambda self, x, *p: self._survival_function(x, *p),
                          "_log_survival": lambda self, x, *p: ops.exp(self._log_survival(x, *p)),
                          "_cdf": lambda self, x, *p: 1 - self._cdf(x, *p),
                          "_log_cdf": lambda self, x, *p: -ops.expm1(self._log_cdf(x, *p))},
    "log_survival": {"_log_survival": lambda self, x, *p: self._log_survival(x, *p),
                     "_survival_function": lambda self, x, *p: ops.log(self._survival_function(x, *p)),
                     "_cdf": lambda self, x, *p: ops.log1p(-self._cdf(x, *p)),
                     "_log_cdf": lambda self, x, *p: ops.log(-ops.expm1(self._log_cdf(x, *p)))},
    "mean": {"_mean": lambda self, *p: self._mean(*p)},
    "mode": {"_mode": lambda self, *p: self._mode(*p)},
    "sd": {"_sd": lambda self, *p: self._sd(*p), "_var": lambda self, *p: ops.sqrt(self._var(*p))},
    "var": {"_var": lambda self, *p: self._var(*p), "_sd": lambda self, *p: ops.square(self._sd(*p))},
    "entropy": {"_entropy": lambda self, *p: self._entropy(*p)},
    "kl_loss": {"_kl_loss": lambda self, dist, b, a: self._kl_loss(dist, *b, *a)},
    "cross_entropy": {"_cross_entropy": lambda self, dist, b, a: self._cross_entropy(dist, *b, *a),
                      "_kl_loss": lambda self, dist, b, a: self._entropy(*a) + self._kl_loss(dist, *b, *a)},
    "sample": {"_sample": lambda self, shape, *p: self._sample(check_value_type("shape", shape, tuple, self._name), *p)},
}
FUNCTIONS = (*WAYS, "get_dist_args", "get_dist_type")


def _missing(function: str) -> Callable[..., None]:
    def raise_error(self, *args):
        raise NotImplementedError(f"{self._name}: {function} is not implemented")
    return raise_error


class Distribution(Cell):
    """A distribution, made of the formulas that a class of it writes.

    seed  : of the samples: None or 0 draws from the global stream, another int from a stream of the distribution's own
    dtype : of the samples
    name  : a word for messages
    param : {"param_dict": {name: value}}, the parameters; more may stand beside them
    raises: ArgumentError for another name or seed; DTypeError for another dtype, or parameters of several;
            ValueRangeError for parameters out of range; ShapeError for parameters that do not broadcast
    """

    parameters_are: dict = {}                    # {name: the check of its numbers}
    kinds = "f"                                  # the kinds of dtype that samples may have
    numbers = True                               # False: parameters are lists, arrays or Tensors
    event_axes = 0                               # how many last axes of the parameters are one event's

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for function, ways in WAYS.items():
            found = next((how for formula, how in ways.items() if hasattr(cls, formula)), _missing(function))
            setattr(cls, f"_call_{function}", found)

    def __init__(self, seed: int | None, dtype: dt.DType, name: str, param: dict[str, Any]) -> None:
        super().__init__()
        check_value_type("name", name, str, type(self).__name__)
        seed = check_non_negative_int(0 if seed is None else seed, "seed", name)
        self._dtype = self._checked_dtype(name, dtype)
        self._name, self._seed = name, seed
        self._stream = Generator().manual_seed(seed) if seed else None
        self._given = {k: v for k, v in param.items() if k != "self" and not k.startswith("_")}
        self.default_parameters: list[Any] = []
        self.parameter_names: list[str] = []
        values = self._given.get("param_dict", {})
        self.parameter_type = common_dtype(values, self._dtype)
        self._is_scalar_batch = all(value is None or isinstance(value, (int, float)) for value in values.values())
        self._batch_shape = self._shape_of_all(values)
        self._broadcast_shape = self._batch_shape
        for parameter, check in self.parameters_are.items():
            self._declare(parameter, values[parameter], check)

    def _checked_dtype(self, name: str, dtype: dt.DType) -> dt.DType:
        dtype = dt.dtype(dtype)
        if dtype.kind not in self.kinds:
            raise DTypeError(f"{name}: its samples are not {dtype.name}")
        return dtype

    def _declare(self, name: str, value: Any, check: Callable[..., None]) -> None:
        if not self.numbers and isinstance(value, (int, float)):
            raise ArgumentError(f"{self._name}: {name} is a list, an array or a Tensor, not {type(value).__name__}")
        made = self._add_parameter(value, name)
        if made is not None and not isinstance(made, Parameter):
            check(f"{self._name}: {name}", made.asnumpy())
        setattr(self, self._attribute(name), made)

    @staticmethod
    def _attribute(name: str) -> str:
        """The attribute that holds a parameter: mean and sd are functions already."""
        return f"_{name}_value" if name in FUNCTIONS else name

    def _add_parameter(self, value: Any, name: str) -> Any:
        """Note a parameter; gives it as a Tensor. A class that declares parameters_are has no need of it."""
        made = as_parameter(name, value, self.parameter_type)
        self.default_parameters.append(made)
        self.parameter_names.append(name)
        return made

    def _shape_of_all(self, values: dict[str, Any]) -> tuple[int, ...] | None:
        shapes = [() if isinstance(v, (int, float)) else tuple(Tensor(v).shape) for v in values.values() if v is not None]
        whole = tuple(broadcast_shapes(self._name, *shapes)) if shapes else ()
        if any(value is None for value in values.values()):
            return None
        return whole[:len(whole) - self.event_axes]

    # ---- what it is

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def dtype(self) -> dt.DType:
        """The dtype of its samples."""
        return self._dtype

    @property
    def seed(self) -> int:
        """The seed of its samples, 0 for the global stream."""
        return self._seed

    @property
    def parameters(self) -> dict[str, Any]:
        """What it was made with."""
        return self._given

    @property
    def batch_shape(self) -> tuple[int, ...] | None:
        """The shape of its parameters together; None where one is not given."""
        return self._batch_shape

    @property
    def broadcast_shape(self) -> tuple[int, ...] | None:
        """The shape of its parameters together; None where one is not given."""
        return self._broadcast_shape

    @property
    def is_scalar_batch(self) -> bool:
        """True if its parameters are numbers."""
        return self._is_scalar_batch

    # ---- parameters of a call

    def _check_value(self, value: Any, name: str) -> Tensor:
        """`value`, a Tensor. raises : ArgumentError"""
        if not isinstance(value, Tensor):
            raise ArgumentError(f"{self._name}: {name} is a Tensor, not {type(value).__name__}")
        return value

    def _check_param_type(self, *args: Any) -> Any:
        """The parameters, its own in place of None, broadcast together; a single one without a tuple around it."""
        found = self._filled(args)
        return found[0] if len(found) == 1 else found

    def _filled(self, args: Any) -> tuple[Tensor, ...]:
        if len(self.parameter_names) == 0:
            return args
        values = [self._one(k, args[k] if k < len(args) else None) for k in range(len(self.parameter_names))]
        shape = broadcast_shapes(self._name, *[tuple(v.shape) for v in values])
        return tuple([v if tuple(v.shape) == tuple(shape) else ops.broadcast_to(v, shape) for v in values])

    def _one(self, k: int, value: Any) -> Tensor:
        name = self.parameter_names[k]
        if value is None:
            value = getattr(self, self._attribute(name)) if name in self.parameters_are else self.default_parameters[k]
        if value is None:
            raise ArgumentError(f"{self._name}: {name} is wanted: it was not given where the distribution was made")
        return ops.cast(self._check_value(value, name), self.parameter_type)

    def _called_with(self, args: Any, kwargs: Any, ends: tuple[str, ...] = ("",)) -> tuple[Any, ...]:
        """The parameters in args or, by name, in kwargs; ends : of the names there."""
        found = list(args)
        for name in self.parameter_names[len(args):]:
            named = [kwargs[name + end] for end in ends if name + end in kwargs]
            found.append(named[0] if len(named) > 0 else None)
        return tuple(found)

    def _own(self, args: Any, kwargs: Any) -> tuple[Tensor, ...]:
        return self._filled(self._called_with(args, kwargs))

    def _pair(self, dist: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """(b, a): the parameters of the other distribution and of this one."""
        count = len(self.parameter_names)
        if count == 0:
            return args, ()
        if dist != self._call_get_dist_type():
            raise ValueRangeError(f"{self._name}: dist is {self._call_get_dist_type()!r}, not {dist!r}")
        other = self._called_with(args[:count], kwargs, ("_b",))
        for name, value in zip(self.parameter_names, other):
            self._check_value(value, name + "_b")
        return (tuple([ops.cast(value, self.parameter_type) for value in other]),
                self._filled(self._called_with(args[count:], kwargs, ("_a", ""))))

    def _at(self, value: Any) -> Tensor:
        value = self._check_value(value, "value")
        return ops.cast(value, self.parameter_type)

    # ---- the functions

    def log_prob(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The logarithm of the density, or of the probability of a discrete value; parameters may follow."""
        return self._call_log_prob(self._at(value), *self._own(args, kwargs))

    def prob(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The density, or the probability of a discrete value; parameters may follow."""
        return self._call_prob(self._at(value), *self._own(args, kwargs))

    def cdf(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The probability of at most `value`; parameters may follow."""
        return self._call_cdf(self._at(value), *self._own(args, kwargs))

    def log_cdf(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The logarithm of the probability of at most `value`; parameters may follow."""
        return self._call_log_cdf(self._at(value), *self._own(args, kwargs))

    def survival_function(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The probability of more than `value`; parameters may follow."""
        return self._call_survival_function(self._at(value), *self._own(args, kwargs))

    def log_survival(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The logarithm of the probability of more than `value`; parameters may follow."""
        return self._call_log_survival(self._at(value), *self._own(args, kwargs))

    def mean(self, *args: Any, **kwargs: Any) -> Tensor:
        """The mean; parameters may be given."""
        return self._call_mean(*self._own(args, kwargs))

    def mode(self, *args: Any, **kwargs: Any) -> Tensor:
        """The value of the largest density or probability; parameters may be given."""
        return self._call_mode(*self._own(args, kwargs))

    def sd(self, *args: Any, **kwargs: Any) -> Tensor:
        """The standard deviation; parameters may be given."""
        return self._call_sd(*self._own(args, kwargs))

    def var(self, *args: Any, **kwargs: Any) -> Tensor:
        """The variance; parameters may be given."""
        return self._call_var(*self._own(args, kwargs))

    def entropy(self, *args: Any, **kwargs: Any) -> Tensor:
        """The entropy in nats; parameters may be given."""
        return self._call_entropy(*self._own(args, kwargs))

    def kl_loss(self, dist: str, *args: Any, **kwargs: Any) -> Tensor:
        """The divergence of Kullback and Leibler KL(a || b), a being this distribution.

        dist : b's kind, the same as this one's; then b's parameters (`mean_b`, ..), and a's if they are not its own
        """
        return self._call_kl_loss(dist, *self._pair(dist, args, kwargs))

    def cross_entropy(self, dist: str, *args: Any, **kwargs: Any) -> Tensor:
        """The entropy of this distribution plus kl_loss, of the same arguments."""
        return self._call_cross_entropy(dist, *self._pair(dist, args, kwargs))

    def sample(self, shape: tuple[int, ...] = (), *args: Any, **kwargs: Any) -> Tensor:
        """Numbers of the distribution, of the shape `shape` followed by that of the parameters; parameters may follow.

        gradient : where the samples are a differentiable function of the parameters
        """
        return ops.cast(self._call_sample(shape, *self._own(args, kwargs)), self._dtype)

    def get_dist_args(self, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        """The parameters: those given, else its own."""
        given = self._called_with(args, kwargs)
        return tuple([self._one(k, given[k]) for k in range(len(given))])

    def get_dist_type(self) -> str:
        """The kind of the distribution: "Normal"."""
        return self._call_get_dist_type()

    def _call_get_dist_type(self) -> str:
        return type(self).__name__

    def construct(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """The function `name` of these arguments. raises : NotImplementedError for another name"""
        if name not in FUNCTIONS:
            raise NotImplementedError(f"{self._name}: {name} is not implemented")
        return getattr(self, name)(*args, **kwargs)
