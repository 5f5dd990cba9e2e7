"""MindSpore's classes of operators: `operations.ReLU()(x)`. Settings go to the constructor, arrays to the call."""
from typing import TYPE_CHECKING

from . import array_ops, communication_ops, gradient_ops, image_ops, linalg_ops, math_ops, nn_ops, optimiser_ops  # noqa: F401
from . import picture_ops, positions_ops, random_ops, recurrent_ops, region_ops, sequence_ops, set_ops  # noqa: F401
from . import sparse_ops, special_ops  # noqa: F401
from .define import OPERATIONS, Operation, prim_attr_register  # noqa: F401

globals().update(OPERATIONS)
for _module in (array_ops, communication_ops, gradient_ops, image_ops, linalg_ops, math_ops, nn_ops, optimiser_ops,
                picture_ops, positions_ops, random_ops, recurrent_ops, region_ops, sequence_ops, set_ops, sparse_ops,
                special_ops):
    globals().update({name: value for name, value in vars(_module).items()
                      if isinstance(value, type) and issubclass(value, Operation)})

if TYPE_CHECKING:
    def __getattr__(name: str) -> type[Operation]:
        """The classes that the tables make."""
