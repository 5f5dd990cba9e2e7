"""Functions of functions, and the settings of the process: jit, grad, vmap, set_context."""
from .cell import run_as_graph  # noqa: F401
from .context import (get_context, mutable, set_context, set_deterministic, set_device)  # noqa: F401
from .derivative import Derived, GradOperation, get_grad, grad, jvp, value_and_grad, vjp  # noqa: F401
from .jit import JitConfig, Jitted, jit, jit_class, ms_function  # noqa: F401
from .vmap import vmap  # noqa: F401
