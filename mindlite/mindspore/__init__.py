"""MindSpore's historical names: `import mindlite.mindspore as ms` answers to what scripts for MindSpore import.

    from mindlite.mindspore.ops import operations as P          P.ReLU is mindlite.ops.operations.ReLU
    from mindlite.mindspore.common import dtype as mstype       mstype.float32 is mindlite.common.dtype.float32

Nothing is computed here. `table.py` says where each module's names live; `modules.py` makes the modules of that table.
"""
from . import modules as _modules

_names = _modules.Names("")
__version__ = "2.7.0"


def __getattr__(name):
    return _names.find(name)


def __dir__():
    return _names.all()
