"""The command line: `python -m mindlite ir model.py train_step`, or `mindlite ir ..` where it is installed."""
from .main import main

__all__ = ["main"]
