"""A Target: one kind of machine that kernels are made for. It writes, chooses and compiles them, and says what is large.

    target_of(device)                          the Target of a Device, of the CPU for None
    target.compiled(name, target.write(nest), ..)        the Kernel of a scheduled LoopNest
    target.library_kernel("matmul", ..)        the Kernel of a library, None where it has none
    provide(target)                            from now on there are devices of its kind

    current()                                  the Target of the CPU, by config.lanes
    with using(current().replace(lanes=16)):   another one, for a test

Whoever writes or chooses a kernel asks a Target, and what is cached is cached under it. What is above `backend` knows this page
and no kind by name. Numbers are part of the choice: equal Targets mean the same kernels and the same bits, whatever the
machine is that runs. docs/design/devices.md says how a Target is added.
"""
import abc
import contextlib
import dataclasses
import functools
from typing import Any, ClassVar

from ..common import device as devices
from ..common.config import config
from ..common.errors import DeviceError
from ..common.lazy import LazyModule
from .printers.python_source import python_source

cpu, cuda = LazyModule("mindlite.backend.cpu.target"), LazyModule("mindlite.backend.cuda.target")


@dataclasses.dataclass(frozen=True)
class Target(abc.ABC):
    """One kind of machine. Sizes are in elements where nothing else is said; an element is a float32.

    kind   : the kind of its Devices, and of the Kernels that it makes (`Kernel.device`)
    library: the kernels that it has ready, names of `library_kernel`; an operator without one is a generated kernel, where it
             has a kernel rule, else it runs in Python
    driver : what allocates, copies and launches (`common.device.Driver`); None for the CPU, which needs none

    The fields are numbers by which kernels are chosen and scheduled: Targets of one class with equal fields have equal kernels.
    `key` stands for one in the names of files.
    """
    kind: ClassVar[str]
    library: ClassVar[frozenset] = frozenset()
    driver: Any = dataclasses.field(default=None, compare=False, repr=False)

    # -- the machine
    halves_of_a_row: int = 1          # of matrices of halves, of which a row is a multiple where products are fast
    lanes: int = 8                    # elements of a vector register
    l1: int = 1 << 15                 # bytes of the first-level cache of a core, nominal
    l2: int = 1 << 19                 # bytes of the second-level cache of a core, nominal
    line: int = 64                    # bytes of a cache line

    # -- loops of fused kernels (graph_kernel)
    tile: int = 256                   # columns of a fold down columns: their accumulators stay in the first-level cache
    side: int = 32                    # of a square that a transpose runs through: a few cache lines each way
    rows_at_once: int = 4             # rows that meet in a register before they are added to the sums of columns
    short_work: int = 8               # operations on an element, at most, whose values of four vectors fit into registers
    call_cost: int = 12               # operations that a transcendental function counts
    repeated_fold: int = 64           # items of a fold that may be computed again in each iteration around it (windows)
    root_fold: int = 1 << 16          # items of a fold of everything that may run on one thread with the work after it
    fewest_rows: int = 64             # items that threads are left with, at least, where an outermost loop is cut in two
    large: int = 1 << 14              # elements of a value that leaves the first-level cache: the clusterer begins with those
    traffic: int = 16                 # operations that storing and loading an element costs
    launch_cost: int = 1000           # operations that a launch costs
    dearer: float = 1.25              # how much dearer than its parts a fused kernel may be
    kernel_nodes: int = 64            # operators of a kernel at most: beyond, it has more live values than registers
    kernel_pointwise: int = 32        # of a kernel without folds, whose values all live at once
    kernel_operands: int = 32         # operands and results of a kernel at most: each has an address in a register
    stages_from: int = 1 << 17        # elements of a fold of everything from which on it has two stages
    stage_rows: tuple = (32, 4)       # rows of the first stage: wanted, and at least
    columns_together: int = 256       # columns of the first stage of a reduction along fewer: rows of them side by side
    stage_row: int = 4096             # elements of a row of the first stage of a vector
    # (how many, of how many elements): fewer sums of rows, if they are so long, have two stages too, and so many parts; the same
    # of columns; a part has least_part elements at least
    long_sums: tuple = ((0, 0), (0, 0))
    least_part: int = 256
    launched_together: int = 32       # kernels that have nothing to do with one another and are one launch, at most; 1: none are
    launched_alone: int = 0           # elements of a kernel's largest operand from which on it is a launch of its own; 0: never
    literal_extent: int = 16          # items of a window or of one axis of a short row, at most, that is unrolled
    literal_row: int = 32             # items of all axes of such a row: LLVM does not unroll more, nor makes vectors of it
    literal_calls: int = 8            # of a row with transcendental functions: each is some 20 operations
    regrows: int = 16                 # times that a value is larger than all it is made of, for its readers to make it anew
    regrown: tuple = (8, 8)           # operators that make such a value, and readers, at most
    recomputed: tuple = (0, 0)        # (bytes of a kernel's result from which on its readers may compute it again, 0: never;
    #                                   operations that make a byte of it, at most)

    # -- the shape of loops (graph_kernel/schedule.py): a Target that makes loops of its own, or has no vectors, says no
    tiled_folds: bool = True          # a fold down columns runs for a tile of columns at once, else column by column
    squares: bool = True              # a transpose runs through squares, else in the order in which it is written
    cut_loops: bool = True            # a loop is cut where the conditions on its variable change, else each iteration asks
    cut_parallel: bool = True         # so is the outermost one, which threads share: each has its part of each piece
    row_buffers: bool = True          # a fold of a row leaves the values that are read again in the result's memory

    # -- matrices that loops multiply by (optim/panels.py)
    panel_rows: tuple = (2, 128)      # rows of one iteration: a single row reads the matrix once, many are worth a copy
    panel_iterations: int = 8              # iterations from which on putting in order pays: it costs two or three products

    # -- library kernels (compile/library.py)
    half_kernels: bool = False        # products, convolutions and scans have kernels of half precision, else they run in float32
    most_kept: int = 64               # of the best elements of a row, for "topk": each insertion moves half of them

    # -- generated kernels

    @abc.abstractmethod
    def write(self, nest: Any) -> str:
        """What is compiled, of a scheduled `mindir.loops.LoopNest`: text in a language of the Target's. Equal kernels have equal
        texts: what is compiled is cached by it."""

    def source(self, nest: Any) -> str:
        """A scheduled LoopNest as Python text, for people."""
        return python_source(nest)

    def refuse(self, values: Any) -> None:
        """Raise CannotFuse for a scalar expression (`mindir.scalar`) among `values` that `write` has no code for."""

    @abc.abstractmethod
    def write_together(self, texts: list, positions: list) -> str:
        """The text of several kernels that are one launch; asked where `launched_together` is more than 1.

        texts  : of the parts, as `write` gave them
        positions : for each (the numbers of its arguments, of its extent, of the units that an item of it counts) among the
                 arguments of the whole; the parallel axis of the whole are the units of all parts, one part after the other
        """

    @abc.abstractmethod
    def compiled(self, name: str, text: str, source: Any, cost: int = 1) -> Any:
        """The Kernel of a text. It need not be compiled when this returns, only when `Kernel.address` is asked for.

        name : for people;   source: text for people, or a function that gives it;   cost: operations of an item
        """

    @abc.abstractmethod
    def cached(self, name: str, key: str, source: Any, cost: int = 1) -> Any:
        """The Kernel that another process has compiled, by the key in its recipe; None if it is not on the disk any more."""

    # -- library kernels

    def library_kernel(self, name: str, **facts: Any) -> Any:
        """A Kernel that does what `backend.cpu.MAKERS` documents for the name and the facts, with the same arguments; None if
        there is none for these facts. Equal facts give the same Kernel. raises : KeyError for a name not in `library`"""
        raise KeyError(name)

    def has_attention(self, dtype: Any, width: Any) -> bool:
        """Is there a library kernel "attention" for rows of so many numbers?"""
        return False

    def convolution_plan(self, kind: str, dtype: Any, sizes: tuple, finish: str = "") -> Any:
        """How a convolution is computed, a `convolution_ways.Plan`: steps, each a library kernel, and a workspace. None if it is
        not. finish: the epilogue that it has, asked where "finished" is in `library`"""
        return None

    def product_pieces(self, m: Any, n: Any) -> Any:
        """In how many pieces a product is cut that the library computes, ints or Dims: the parallel axis of its launch."""
        return 1

    def panel_columns(self, dtype: Any) -> int:
        """Columns of a panel of a matrix that "panel_matmul" takes."""
        raise KeyError("panel_matmul")

    # -- facts

    @functools.cached_property
    def key(self) -> str:
        """A text that tells Targets apart, for the names of files."""
        return repr((type(self).__qualname__, self.kind, *(getattr(self, f.name) for f in dataclasses.fields(self) if f.compare)))

    @functools.cached_property
    def _hash(self) -> int:
        return hash(self.key)

    def __hash__(self) -> int:
        return self._hash

    @property
    def wide(self) -> int:
        """Elements of four vectors side by side, for short work: sums do not wait for one another."""
        return 4 * self.lanes

    @property
    def long(self) -> int:
        """Elements of two vectors side by side, for long work, whose values would not fit into registers otherwise."""
        return 2 * self.lanes

    @property
    def near(self) -> int:
        """Bytes of an operand that stays in the first-level cache beside two others."""
        return self.l1 // 2

    @property
    def parts_of_sums(self) -> bool:
        """Do long sums have parts, for threads to share?"""
        return any(number for number, _ in self.long_sums)

    def replace(self, **fields: Any) -> Any:
        """A Target with some fields changed."""
        return dataclasses.replace(self, **fields)


_targets: dict = {}              # {kind: Target} of what `provide` was given
_used: list = []                 # Targets given by `using`, the newest last


def provide(target: Target) -> None:
    """From now on there are devices of the Target's kind: it makes their kernels, its driver drives them."""
    _targets[target.kind] = target
    devices.provide(target.kind, target.driver)


def withdraw(kind: str) -> None:
    """There are no devices of that kind any more."""
    devices.provide(kind, None)
    _targets.pop(kind, None)


def target_of(device: Any) -> Target:
    """The Target of a Device; None: the CPU's. raises : DeviceError for a device whose kind has no Target"""
    if device is None or device == devices.CPU:
        return current()
    for target in (*reversed(_used), _targets.get(device.kind)):
        if target is not None and target.kind == device.kind:
            return target
    raise DeviceError(f"there are no kernels for {device}: nothing has provided a Target")


def current() -> Any:
    """The Target of the CPU, on which programs run and where kernels are made that nobody wants elsewhere: that of `using`, else
    the one with config.lanes."""
    for target in reversed(_used):
        if target.kind == devices.CPU.kind:
            return target
    return cpu.cpu(config.lanes)


@contextlib.contextmanager
def using(target: Target) -> Any:
    """Make kernels for another Target of its kind in the block; what was compiled before stays as it is."""
    _used.append(target)
    try:
        yield target
    finally:
        _used.pop()


devices.offer("GPU", lambda: cuda.start())
devices.known_kind(config.device_target, "MINDLITE_DEVICE_TARGET")
