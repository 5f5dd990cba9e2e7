"""What MindSpore's Tensors say of where and when their elements are made: here they are made at once, in this process.

`Tensor` inherits these; none of them computes anything.
"""
from __future__ import annotations

from typing import Any


class TensorStates:
    """Answers about the elements that are the same for all Tensors here, and marks that a program may set."""
    __slots__ = ()
    const_arg = False
    init_flag = False

    @property
    def init_finished(self) -> bool:
        """True once the elements are made: False while `init_data` is still to be called."""
        return not self.has_init                                               # type: ignore[attr-defined]

    @property
    def is_meta(self) -> bool:
        """False: every Tensor has elements."""
        return False

    def is_init(self) -> bool:
        """The mark that `set_init_flag` sets: whether the elements were sent to the device."""
        return self.init_flag

    def set_init_flag(self, flag: bool) -> None:
        """Set the mark."""
        self.init_flag = bool(flag)                                           # type: ignore[misc]

    def is_pinned(self) -> bool:
        """False: no memory is pinned for an accelerator."""
        return False

    def is_shared(self) -> bool:
        """False: the elements lie in this process's memory alone."""
        return False

    def data_sync(self, wait: bool = True) -> None:
        """Nothing: the elements are there when an operator has returned."""

    def wait_pipeline(self) -> None:
        """Nothing: an operator has run when it has returned."""

    def flush_from_cache(self) -> None:
        """Nothing: no elements wait in a cache of an embedding's server."""

    def to_(self, device: Any = None, non_blocking: bool = False) -> Any:
        """Move this very Tensor to a device; returns it.

        device       : str as "CPU"; None: it stays
        non_blocking : bool, MindSpore's; the move is done when this returns
        raises       : DeviceError for a device that is not there
        """
        if device is not None:
            self.elements = self.to(device).elements                          # type: ignore[attr-defined, misc]
        return self
