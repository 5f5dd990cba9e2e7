"""What a compile that takes long does, on a terminal: one line, which changes in place and goes when the compile ends.

    compiling Network.construct: load, 12 of 40 kernels

Nothing is written where stderr is no terminal, before SHOWN_AFTER seconds have passed, or beside another compile that is shown.
"""
from __future__ import annotations

import os
import sys
import threading
from typing import Any, TextIO

from ..common.locks import new_lock
from . import flow as F

SHOWN_AFTER, EVERY = 2.0, 0.2            # seconds
CLEAR = "\r\x1b[K"                       # to the start of the line, and erase it (ECMA-48, EL)
_shown = new_lock()                      # held by the compile that is shown


class Progress:
    """with Progress(name) as progress: progress.stage = "infer" .. progress.program = a Flow program, whose kernels count"""

    def __init__(self, name: str) -> None:
        self.name, self.stage, self.ended = name, "", threading.Event()
        self.program: F.Program | None = None
        self.thread: threading.Thread | None = None

    def __enter__(self) -> Progress:
        if sys.stderr is not None and sys.stderr.isatty():
            self.thread = threading.Thread(target=self.show, args=(sys.stderr,), daemon=True)
            self.thread.start()
        return self

    def __exit__(self, *raised: Any) -> None:
        self.ended.set()
        if self.thread is not None:
            self.thread.join()

    def show(self, terminal: TextIO) -> None:
        """Write the line and keep it true until the compile ends; then erase it."""
        if self.ended.wait(SHOWN_AFTER) or not _shown.acquire(blocking=False):
            return
        try:
            ended, before = False, ""
            while not ended:
                line = str(self)[:(os.get_terminal_size(terminal.fileno()).columns or 80) - 1]
                if line != before:
                    terminal.write(CLEAR + line)
                    terminal.flush()
                ended, before = self.ended.wait(EVERY), line
            terminal.write(CLEAR)
            terminal.flush()
        except (OSError, ValueError):                    # the terminal is gone: there is nobody to tell
            pass
        finally:
            _shown.release()

    def __str__(self) -> str:
        flows = () if self.program is None else self.program.all_flows()
        calls = [i for flow in flows for i in F.walk(flow.body) if isinstance(i, F.CallKernel)]
        kernels = {id(call.kernel): call.kernel for call in calls}.values()
        done = sum(not callable(kernel.where) for kernel in kernels)
        return f"compiling {self.name}: {self.stage}" + (f", {done} of {len(kernels)} kernels" if kernels else "")
