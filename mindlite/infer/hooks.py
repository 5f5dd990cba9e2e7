"""Hooks on gradients during inference: calling one with nodes.

    hook((dx, dy))     ->     the nodes that go on: what it gives, in place of what it has seen

A hook is a function like any other, so it is executed over the nodes of its gradients. What it does to the world
outside happens when, and as often as, its graph runs: calls of Python in it are segments, in their turn. A hook that no
graph says as a whole (it assigns to variables, it needs the numbers, it raises) is marked, and called by Python as one
segment: what it may give is known (mindir/hooks.py). `gates.py` is about where hooks stand.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..common.errors import InternalError, MindliteError, Refusal
from ..common.tensor import HOOKS, Tensor
from ..fallback.record import Given
from ..mindir import hooks
from ..mindir.graph import AnfNode, Parameter
from ..mindir.hooks import as_many, check_replaced, one_replaced, replaced
from ..mindir.primitive import interpreting
from ..ops.basic import cast
from ..ops.creation import zeros_like
from ..parse.interpret import LAMBDA
from .access import is_tensor
from .evaluating import Evaluating
from .fallback import NeedsRecord, call_unknown
from .state import Raises
from .region import Region
from .sharing import spot
from .values import Box, Closure, Place, Value


def pass_hook(ev: Evaluating, hook: Value, gradients: Sequence[Value], arguments: Sequence[Value], single: bool = False) -> Value:
    """What goes on behind a hook: the nodes that stand for `gradients` (None: there is none) once it has seen them.

    arguments : what the hook is called with;   single: it takes and gives one gradient, no tuple
    """
    name = name_of(ev, hook)
    mark = "hook", name, identity_of(hook), tuple([g is None for g in gradients])
    if ev.is_object(hook) or mark in ev.fallback.marks:
        reason = ev.fallback.marks.get(mark, "a hook that Python has made")
        return _in_python(ev, hook, name, gradients, arguments, single, reason)
    before = dict(ev.store)
    try:
        given = ev.unbox(ev.call(hook, arguments, {}))
        if any(before.get(key, key) is not value for key, value in ev.store.items() if _is_outside(ev, key, before)):
            raise Refusal("it assigns to what stands outside of it")
        if single:
            given = None if given is None else (given,)
        return tuple([None if g is None else _one(ev, made, g)
                      for made, g in zip(as_many(given, gradients), gradients)])
    except InternalError:
        raise
    except (MindliteError, NeedsRecord, Raises) as error:    # it comes up again where Python calls the hook
        why = error.message if isinstance(error, MindliteError) else str(error)
        raise Refusal(f"the hook {name} is called by Python: {why}",
                            marks_of(hook) if isinstance(hook, Closure) else [mark],
                            ev.tracer.origin.location) from error


def _is_outside(ev: Evaluating, key: Any, before: Any) -> bool:
    """True for what was there before the hook was called, and is no gradient that it was given."""
    if isinstance(key, Place):
        return not ev.made_here(key.owner)
    return key in before if isinstance(key, Box) else not ev.tracer.region.owns(key) if isinstance(key, AnfNode) else \
        not ev.made_here(key)


def _one(ev: Evaluating, made: Value, gradient: Value) -> Value:
    """What a hook gave for one gradient."""
    if made is None:
        with interpreting(ev.tracer):
            return ev.tracer.lift(zeros_like(gradient))
    made = ev.tracer.lift(made) if is_tensor(made) else made
    if check_replaced(made.abstract if isinstance(made, AnfNode) else made, gradient.abstract):
        with interpreting(ev.tracer):
            made = cast(made, dtype=gradient.dtype)
    return made


def _in_python(ev: Evaluating, hook: Value, name: str, gradients: Sequence[Value], arguments: Sequence[Value], single: bool,
               reason: str) -> Value:
    """The same by a call of Python."""
    def call(hook, gradients, arguments):
        given = hook(*arguments)
        if single:
            return gradients if given is None else (one_replaced(given, gradients[0]),)
        return replaced(given, gradients)
    call.__qualname__ = name
    record = tuple([Given(abstract=g.abstract) if g is not None else Given(None) for g in gradients])
    return call_unknown(ev, call, (hook, gradients, arguments), {}, reason, record)


def marks_of(closure: Closure) -> list[tuple]:
    """What makes a function that the graph has made Python's: it is a lambda, or a def."""
    return [("statement", spot(closure.graph.origin.location), n) for n in (LAMBDA, 0)]


def name_of(ev: Evaluating, hook: Value) -> str:
    """A name for a hook: a function, a method, or anything that can be called."""
    if isinstance(hook, Closure):
        return hook.graph.name
    if ev.is_object(hook):
        return "of Python"
    return getattr(hook, "__qualname__", type(hook).__name__).replace("<locals>.", "")


def identity_of(hook: Value) -> tuple | None:
    """What tells a hook from others of its name."""
    code = getattr(hook, "__code__", None)
    return None if code is None else (code.co_filename, code.co_firstlineno)


def pass_hooks(ev: Evaluating, hooks: tuple, gradient: Value) -> Value:
    """What goes on behind the hooks of a Tensor, functions of one gradient, when `gradient` has passed all."""
    for hook in hooks:
        gradient, = pass_hook(ev, hook, (gradient,), (gradient,), single=True)
    return gradient


def hooks_at(ev: Evaluating, region: Region, node: AnfNode) -> tuple:
    """The hooks that were registered in a region on a node, in order."""
    return tuple([hook for _, hook in ev.store.get(region.hooks.get(node), ())])


def hooks_of(ev: Evaluating, value: Value) -> tuple:
    """The hooks of what a derivative is taken by: of the value, and of those that it stands for in functions around."""
    if isinstance(value, Tensor):
        return hooks_outside(ev, value)
    root = ev.tracer.root.graph
    if value in ev.tracer.derivatives.stands_for:
        found = hooks_of(ev, ev.tracer.derivatives.stands_for[value])
    else:
        found = ()
        if isinstance(value, Parameter) and value.graph is root and value.default is None:      # of the run
            ev.guard("item", vars(hooks), "hooked", hooks.hooked)
            if hooks.hooked:
                ev.tracer.derivatives.differentiated.add(value)
    return (*found, *[hook for region in ev.tracer.region.outwards() for hook in hooks_at(ev, region, value)])


def hooks_outside(ev: Evaluating, tensor: Tensor) -> tuple:
    """The hooks of a Tensor outside of the graph, guarded."""
    if HOOKS not in tensor.__dict__:
        ev.guard("attr", tensor, "has_hooks", False)
        return ()
    found = tensor.__dict__[HOOKS]
    if not ev.guard_content(found):
        raise Refusal("the hooks of a Tensor change during the run")
    return tuple(found.values())
