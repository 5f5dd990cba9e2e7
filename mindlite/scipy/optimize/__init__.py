"""Minima of functions, and of sums of costs."""
from .assignment import linear_sum_assignment  # noqa: F401
from .line_search import line_search  # noqa: F401
from .minimize import OptimizeResults, minimize  # noqa: F401

__all__ = ["OptimizeResults", "line_search", "linear_sum_assignment", "minimize"]
