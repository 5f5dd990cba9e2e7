"""Types that many signatures share."""
from collections.abc import Callable, Sequence
from typing import Any, Union

Ints = Union[int, Sequence[int]]                 # one number for all axes, or one for each
Floats = Union[float, Sequence[float]]
Axes = Union[int, Sequence[int], None]           # one axis, several, or None for all
Function = Callable[..., Any]
