"""MindSpore's executors by name: waiting for what is under way, and compiling a Cell without running it."""
import enum
import threading

from ..common.checks import check_bool
from ..common.errors import ArgumentError, Refusal
from ..common.threads import here
from ..ops.state import pause_gradients, resume_gradients
from ..pynative.differentiate import Opened
from .cell import compiled_cell
from .runtime import synchronize


class CreationType(enum.Enum):
    """How a view came about, in MindSpore's words. There it decides whether the view may be changed in place; here such
    a change makes a value of its own for the gradient, so it always may."""
    DEFAULT, MULTI_OUTPUT, NO_GRAD_DEFAULT, CUSTOM_BPROP = range(4)


class _Graphs(threading.local):
    """The recordings of a thread: those that are open, the last that ended, and the gradients that were asked for last."""

    def __init__(self):
        self.opened, self.ended, self.gradients = [], None, None


class PyNativeExecutor:
    """MindSpore's `_pynative_executor`.

        new_graph(fn, x); y = fn(x); end_graph(fn, y, x); grad(fn, GradOperation(), None, None, False, x)       ->      dy/dx
    """

    def __init__(self):
        self.graphs, self.flag = _Graphs(), False

    def new_graph(self, obj, *args, **kwargs):
        """From now on operators are recorded, for gradients of what `obj` gives for these arguments, until `end_graph`.

        obj : a function or Cell; a recording of the same one that is open, as an exception has left it, is dropped
        """
        opened = self.graphs.opened
        while opened and (opened[-1].function is obj or not opened[-1].is_open()):
            opened.pop().drop()
        if not opened and self.graphs.ended is not None:
            self.graphs.ended.forget()
            self.graphs.ended = None
        opened.append(Opened(obj, (args, kwargs)))

    def end_graph(self, obj, output, *args, **kwargs):
        """The recording that began last ends. output : what the function gave. raises : ArgumentError where none has begun"""
        if not self.graphs.opened:
            raise ArgumentError("end_graph: no recording is open", hint="begin one: new_graph(fn, *args)")
        self.graphs.ended = self.graphs.opened.pop()
        self.graphs.ended.close(output)

    def grad(self, obj, grad, weights, grad_position, has_aux=False, *args):
        """Gradients of what was recorded last, as `grad(obj, weights, grad_position)` gives them.

        grad          : a GradOperation
        weights       : for get_by_list: Parameters, or Tensors of a class with `requires_grad`; None: those that were used
        grad_position : int, ints, or None for the first
        has_aux       : bool; only the first result is differentiated; what is no bool is the first of args, as it was in
                        MindSpore before it had has_aux
        args          : those of the recorded call, after which the cotangent follows for sens_param
        raises        : ArgumentError where nothing was recorded
        """
        if not isinstance(has_aux, bool):
            has_aux, args = False, (has_aux, *args)
        if self.graphs.ended is None:
            raise ArgumentError("grad: nothing was recorded", hint="new_graph(fn, *args), call fn, end_graph(fn, output, *args)")
        options = grad.derived(obj, None, "first" if grad_position is None else grad_position).options
        if grad.get_by_list and weights is not None:
            options = {**options, "weights": weights}
        made = self.graphs.ended.derived({**options, "has_aux": has_aux}, args)
        self.graphs.gradients = made[0] if has_aux else made
        return self.graphs.gradients

    def __call__(self):
        """The gradients that `grad` gave last."""
        return self.graphs.gradients

    def check_run(self, obj, *args, **kwargs):
        """(False, None): no call is known before it is run."""
        return False, None

    def clear_res(self):
        """Forget all recordings of this thread."""
        while self.graphs.opened:
            self.graphs.opened.pop().drop()
        self.graphs.ended = self.graphs.gradients = None

    def grad_flag(self):
        """What `set_grad_flag` said last."""
        return self.flag

    def set_grad_flag(self, flag):
        """Say that gradients will be wanted; what is recorded depends on `new_graph` alone."""
        self.flag = check_bool(flag, "flag", "set_grad_flag")

    def requires_grad(self):
        """True while operators are recorded."""
        return bool(here.state.tapes)

    def high_order(self):
        """True while a recording is within another."""
        return len(here.state.tapes) > 1

    def set_creation_type(self, tensor, creation_type):
        """Say how a view came about; see CreationType."""

    def enable_grad(self):
        """Whether operators are recorded for gradients: not inside of `no_grad`, nor after `set_enable_grad(False)`."""
        return not here.state.before

    def set_enable_grad(self, flag):
        """Stop recording, or record again what the innermost stop has kept from it; nothing where it is so already."""
        if check_bool(flag, "flag", "set_enable_grad") != self.enable_grad():
            (resume_gradients if flag else pause_gradients)()

    def sync(self):
        """See `synchronize`."""
        synchronize()


class CellGraphExecutor:
    """MindSpore's `_cell_graph_executor`."""

    def compile(self, cell, *args, phase=None, do_convert=True, **kwargs):
        """Compile `cell` for these arguments without running it. Returns (name, True).

        raises : what the program itself raises for arguments like these, where that is known without a run
        """
        compiled = compiled_cell(cell)
        variant, _, signature = compiled.select(args, kwargs)
        if variant is None:
            try:
                compiled.compile(signature, args, kwargs)
            except Refusal as refusal:
                if refusal.cause is not None:
                    raise refusal.cause from None
        return compiled.name, True

    def __call__(self, cell, *args, phase=None, **kwargs):
        """Run `cell` as a graph."""
        return compiled_cell(cell)(*args, **kwargs)


class Security:
    """MindSpore's `security`: builds of it in which dumps and summaries are switched off."""

    def enable_security(self):
        """False: there is no such build."""
        return False


security = Security()
pynative_executor = PyNativeExecutor()
cell_graph_executor = CellGraphExecutor()
