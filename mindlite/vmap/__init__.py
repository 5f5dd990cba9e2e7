"""Vectorising map of typed graphs."""
from .vmap import vmap_graph  # noqa: F401
