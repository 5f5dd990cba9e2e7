"""MindSpore's executors by name: waiting for what is under way, and compiling a Cell without running it."""
import enum

from ..common.checks import check_bool
from ..common.errors import Refusal
from ..common.threads import here
from ..ops.state import pause_gradients, resume_gradients
from .cell import compiled_cell
from .runtime import synchronize


class CreationType(enum.Enum):
    """How a view came about, in MindSpore's words. There it decides whether the view may be changed in place; here such
    a change makes a value of its own for the gradient, so it always may."""
    DEFAULT, MULTI_OUTPUT, NO_GRAD_DEFAULT, CUSTOM_BPROP = range(4)


class PyNativeExecutor:
    """MindSpore's `_pynative_executor`."""

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
