"""Solvers for operators that are given by their products."""
from . import linalg  # noqa: F401
