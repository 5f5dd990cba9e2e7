"""Functions of functions, and the settings of the process: jit, grad, vmap, set_context.

MindSpore has the functions of functions among the operators too: `ops.grad`, `ops.HyperMap`. They put themselves there,
since ops, which is below, cannot know them.
"""
from .. import ops
from ..common.config import config
from ..common.garbage import freeze
from ..common.kept_memory import keep_memory
from .cell import run_as_graph  # noqa: F401
from .composite import ForiLoop, HyperMap, Map, MultitypeFuncGraph, Scan, WhileLoop, constexpr
from .context import (get_context, mutable, set_context, set_deterministic, set_device)  # noqa: F401
from .custom import Custom, HookBackward, InsertGradientOf, custom_vjp  # noqa: F401
from .data_sink import data_sink  # noqa: F401
from .derivative import (Derived, GradOperation, get_grad, grad, jvp, linearize, no_grad, recompute,  # noqa: F401
                         value_and_grad, vjp)
from .jacobian import derivative, jacfwd, jacrev, jet  # noqa: F401
from .jit import JitConfig, Jitted, enable_dynamic, jit, jit_class, ms_function  # noqa: F401
from .parallel_context import (ParallelMode, get_auto_parallel_context, reset_auto_parallel_context,  # noqa: F401
                               set_auto_parallel_context)
from .shard import place, reshard, shard  # noqa: F401
from .vmap import vmap  # noqa: F401

for _made in (grad, value_and_grad, get_grad, vjp, jvp, linearize, jacfwd, jacrev, jet, derivative, vmap,
              GradOperation, HyperMap, Map, MultitypeFuncGraph, ForiLoop, Scan, WhileLoop, constexpr, Custom, HookBackward,
              InsertGradientOf):
    setattr(ops, getattr(_made, "__name__"), _made)

if config.kept_memory:
    keep_memory(config.kept_memory << 20)
if config.freeze:
    freeze()
