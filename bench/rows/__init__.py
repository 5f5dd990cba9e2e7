"""The rows of the table, by what they measure; `load` registers them all."""
import importlib

MODULES = ("calls", "elementwise", "products", "networks", "large_networks", "loops", "other_sizes", "cold_networks")


def load():
    """Import every module of rows."""
    for module in MODULES:
        importlib.import_module(f"rows.{module}")
