"""The control primitives of MindIR, under the name by which operators' modules import them."""
from ..mindir.control import (  # noqa: F401
    J, Vmap, call, cond, make_tuple, tape_new, tape_pop, tape_push, tuple_getitem, undefined, while_loop)
