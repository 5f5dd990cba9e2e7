"""The name by which the parts of inference, on which the Evaluator (evaluator.py) stands, call it in their signatures."""
from typing import TYPE_CHECKING, Any

from ..mindir.graph import FuncGraph

if TYPE_CHECKING:
    from .evaluator import Evaluator as Evaluating
else:
    Evaluating = Any

Blocks = frozenset[FuncGraph]
