"""Hooks on Tensors: functions that see, and may replace, the gradient of a Tensor.

    h = x * 2;  h.register_hook(lambda dout: dout * 100)          backwards: dh, complete, times 100, goes on to x

The hooks stand with the Tensor. On a tape they stand by the number of its value, and the walk backwards calls them
when all that reads the value has given its part. Those of a Tensor or weight that a gradient is asked of stay from
one gradient to the next, and are called on what it gets, zeros included.
"""
import itertools

from ..common.errors import ArgumentError, GradientError
from ..common.tensor import HOOKS, Parameter, Tensor
from ..common.threads import here
from ..mindir.hooks import note_hook, one_replaced

_numbers = itertools.count()


class HookHandle:
    """What registering a hook on a Tensor returns: after `remove()` gradients pass without it."""

    def __init__(self, hooks):
        self.hooks, self.handle_id = hooks, next(_numbers)

    def remove(self):
        """Take the hook away; a second time it does nothing."""
        self.hooks.pop(self.handle_id, None)


def register_hook(tensor, hook):
    """Tensor.register_hook: hook(gradient) sees the gradient of this Tensor; what it returns, unless None, is the
    gradient from there on. Returns a HookHandle.

    raises : ArgumentError for what is no function, GradientError for a Parameter that has no gradient
    """
    if not callable(hook):
        raise ArgumentError(f"register_hook: takes a function, not {type(hook).__name__}")
    if isinstance(tensor, Parameter) and not tensor.requires_grad:
        raise GradientError(f"register_hook: the Parameter {tensor.name!r} has no gradient: requires_grad is False")
    hooks = tensor.__dict__.setdefault(HOOKS, {})
    for tape in here.state.tapes + here.state.paused:
        number = tape.number(tensor)
        if number is not None:
            tape.hooks[number] = hooks
    if not isinstance(tensor, Parameter):
        note_hook()
    handle = HookHandle(hooks)
    hooks[handle.handle_id] = hook
    return handle


def hooks_of(tensor):
    """Tensor.hooks: the functions that see its gradient, a list."""
    return list(tensor.__dict__.get(HOOKS, {}).values())


def through(hooks, gradient):
    """The gradient after each of `hooks`. raises : GradientError where one gives what is no such gradient"""
    for hook in tuple(hooks.values()):
        given = hook(gradient)
        if given is not None:
            gradient = one_replaced(given, gradient)
    return gradient


setattr(Tensor, "register_hook", register_hook)
setattr(Tensor, "hooks", hooks_of)
setattr(Tensor, "has_hooks", property(lambda self: bool(self.__dict__.get(HOOKS)), doc="True where a hook sees its gradient."))
