"""What each thread has of its own: who gives operators their meaning there, and which tapes record.

One object for each thread holds it all, so that Python code and machine code (pynative/native.py) read the same fields;
machine code finds it in the dict that CPython keeps for the thread, under KEY.
"""
from __future__ import annotations

import ctypes
import platform
import threading

KEY = "mindlite thread state"


EVERYWHERE: list = []                            # the interpreters at the bottom of the stack of a thread that is started


class ThreadState:
    """interpreters : a stack, the innermost last (mindir/primitive.py)
    tapes          : those that record, innermost last (pynative/tape.py)
    paused         : those that do not record at present, but have saved values
    before         : both as they were before each `no_grad` block that is open
    """
    __slots__ = ("interpreters", "tapes", "paused", "before")

    def __init__(self) -> None:
        self.interpreters = list(EVERYWHERE)
        self.before: list = []
        self.tapes: tuple = ()
        self.paused: tuple = ()


class _Threads(threading.local):
    def __init__(self) -> None:
        self.state = ThreadState()
        if platform.python_implementation() == "CPython":
            find = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThreadState_GetDict", ctypes.pythonapi))
            ctypes.cast(find(), ctypes.py_object).value[KEY] = self.state


here = _Threads()                                # here.state is the present thread's
