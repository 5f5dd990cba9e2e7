"""Eager mode: the interpreter, the tape, backward graphs. Importing this room makes it the one that runs operators."""
from .custom import custom, gate, is_watched, recompute  # noqa: F401
from .differentiate import Linearized, Recorded, differentiate, forward  # noqa: F401
from .function import Function  # noqa: F401
from .functions import FunctionOperation  # noqa: F401
from .hooks import register_hook  # noqa: F401
from .interpreter import PyNative, interpreter  # noqa: F401
from .plans import OperatorPlan  # noqa: F401
from .segments import Recording  # noqa: F401
from .tape import Tape, is_recording, paused, recording  # noqa: F401
