"""A kernel: machine code behind one C signature, whoever made it (Numba, BLAS, oneDNN).

    int64_t kernel(int64_t *args, int64_t begin, int64_t end)

args holds data pointers and sizes as int64, a float scalar as the bits of a double. The code is sequential over the
chunk [begin, end) of its parallel axis; the launcher splits the axis. 0 is success; n > 0 means errors[n - 1].
"""
import types
from dataclasses import dataclass, field
from typing import Any

NO_HANDLE = types.SimpleNamespace(address=0)     # of a kernel that needs none for these sizes


@dataclass(eq=False)
class Kernel:
    """name, where, text, device, cost (flops per item of the parallel axis).

    where  : the address of the C function, or a function that gives it, when it is needed for the first time
    text   : `source`, for people, or a function that makes it

    prepare: for library kernels that need a handle per set of sizes: prepare(sizes) -> an object that lives as long as the
             handle is used; its `address` is passed as args[0]
    errors : texts of the status numbers; in the place of a text also what makes the exception of an error that is the user's
    keep   : objects that must live as long as the address is used
    recipe : how another process comes by the same kernel: ("object", key of its code on the disk), ("library", name,
             facts) of `Target.library_kernel`; None if it cannot
    why    : for library kernels, why this code answers and no other, one line
    """
    name: str
    where: Any
    text: Any = ""
    device: str = "CPU"
    cost: int = 1
    prepare: Any = None
    errors: tuple = ()
    keep: Any = field(default=None, repr=False)
    recipe: Any = field(default=None, repr=False)
    why: str = field(default="", repr=False)

    @property
    def address(self):
        """The address of the C function; waits until it is compiled."""
        if callable(self.where):
            self.where = self.where()
        return self.where

    @property
    def source(self):
        """The kernel as text for people."""
        return self.text() if callable(self.text) else self.text
