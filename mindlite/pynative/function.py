"""Function: a user's operation with a gradient of its own, and a context that goes from one to the other.

    class Cube(Function):                                   Cube.apply(x)
        @staticmethod
        def forward(ctx, x):            runs unrecorded
            ctx.save_for_backward(x)
            return x * x * x
        @staticmethod
        def backward(ctx, dout):        runs backwards; its operators are recorded where gradients of gradients are made
            x, = ctx.saved_tensors
            return 3 * x * x * dout
"""

from ..common.errors import ArgumentError, GradientError, Refusal
from ..common.storage import full_like
from ..common.tensor import Parameter, Tensor
from ..common.threads import here
from .custom import enter_python, fitted, is_float
from .tape import paused


class Context:
    """What `forward` tells `backward`; other attributes may be set.

    saved_tensors     : what `save_for_backward` was given
    needs_input_grad  : for each argument of forward, True where its gradient is wanted
    """

    def __init__(self, needs_input_grad):
        self.needs_input_grad, self.saved_tensors = needs_input_grad, ()
        self._dirty: tuple = ()
        self._constant: tuple = ()
        self._materialize = True

    def save_for_backward(self, *tensors):
        """Keep Tensors for backward: what they are now, also if their memory is overwritten later."""
        self.saved_tensors = tensors

    def mark_dirty(self, *tensors):
        """These arguments were changed in place; they must be among the results. raises : ArgumentError"""
        self._dirty = tuple(map(id, _all_tensors("mark_dirty", tensors)))

    def mark_non_differentiable(self, *tensors):
        """These results have no gradient. raises : ArgumentError for what is no Tensor"""
        self._constant = tuple(map(id, _all_tensors("mark_non_differentiable", tensors)))

    def set_materialize_grads(self, value):
        """Whether backward gets zeros (True) or None (False) for a result that nothing flows to."""
        self._materialize = bool(value)


def _all_tensors(name, tensors):
    for x in tensors:
        if not isinstance(x, Tensor):
            raise ArgumentError(f"{name}: takes Tensors, not {type(x).__name__}")
    return tensors


class Applied:
    """What `Net.apply` is: forward(*args), recorded with backward as its gradient.

    raises : ArgumentError where a dirty argument is no result; when gradients are made: GradientError where backward
             gives another number of them, or what is no gradient of an argument
    """

    def __init__(self, cls=None):
        self.cls = cls

    def __get__(self, owner, cls):
        return Applied(cls)

    def __mindir__(self):
        raise Refusal(f"{self.cls.__name__}.apply runs in Python, with the context of its gradient")

    def __call__(self, *args):
        return _apply(self.cls, args)


class Function:
    """A user's operation: `forward(ctx, *args)` and `backward(ctx, *douts)`, static methods of a subclass."""

    @staticmethod
    def forward(ctx, *args):
        """The result: a Tensor, or a tuple with Tensors in it."""
        raise NotImplementedError("Function: define forward")

    @staticmethod
    def backward(ctx, *douts):
        """One gradient for each argument of forward, None for none; douts: one for each result."""
        raise NotImplementedError("Function: define backward")

    apply = Applied()


def _apply(cls, args):
    """See Function.apply."""
    ctx = Context(tuple([isinstance(a, Tensor) and is_float(a) and any(t.number(a) is not None for t in here.state.tapes)
                         for a in args]))
    with paused():
        value = cls.forward(ctx, *args)
    constant_ids = set(ctx._constant)
    dirty: set = set(ctx._dirty)
    results = value if isinstance(value, tuple) else (value,)
    if not dirty <= set(map(id, results)):
        raise ArgumentError(f"{cls.__name__}: an argument that is marked dirty is no result",
                            hint="return it from forward")
    known = {id(a) for a in args} - dirty
    outs = [_own(x) if id(x) in known or isinstance(x, Parameter) else x for x in results]
    indices = [i for i, x in enumerate(outs) if isinstance(x, Tensor) and id(results[i]) not in constant_ids]
    inputs = [(i, a) for i, a in enumerate(args) if isinstance(a, Tensor)]

    def run(saved, douts):
        ctx.saved_tensors, found = tuple(saved), iter(douts)
        every: list = [None] * len(outs)
        for i in indices:
            if is_float(outs[i]):
                every[i] = next(found)
        if ctx._materialize:
            every = [Tensor.of_elements(full_like(x.elements, 0)) if dout is None and isinstance(x, Tensor) else dout
                     for x, dout in zip(outs, every)]
        given = cls.backward(ctx, *every)
        return _gradients_of(cls.__name__ + ".backward", args, given)
    enter_python([a for _, a in inputs], [outs[i] for i in indices], ctx.saved_tensors, run,
                 materialize=ctx._materialize)
    return tuple(outs) if isinstance(value, tuple) else outs[0]


def _own(value):
    return Tensor.of_elements(value.elements) if isinstance(value, Tensor) else value


def _gradients_of(name, args, given):
    """The gradients of the Tensors among `args`."""
    given = given if isinstance(given, tuple) else (given,)
    if len(given) != len(args):
        raise GradientError(f"{name} gives {len(given)} gradients for {len(args)} arguments",
                            hint="return one gradient, or None, for each argument of forward")
    made = []
    for number, (arg, gradient) in enumerate(zip(args, given)):
        if gradient is not None and not isinstance(gradient, Tensor):
            raise GradientError(f"{name}: a gradient is a Tensor or None, not {type(gradient).__name__}")
        if not isinstance(arg, Tensor):
            if gradient is not None:
                raise GradientError(f"{name}: argument {number} is no Tensor, its gradient is None")
            continue
        made.append(None if gradient is None else fitted(name, gradient, arg))
    return made
