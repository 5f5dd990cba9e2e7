"""The machine that kernels are written for: how wide its vectors are, what its caches hold, when a second thread pays.

    current()                                  the Target of this process, by config.lanes
    with using(current().replace(lanes=16)):   another one, for a test or another device

Whoever writes or chooses a kernel asks a Target, and what is cached is cached under it. The numbers below were measured on one
kind of machine and are part of the choice; none but the vector width is asked of the machine that runs, and that can be set
(MINDLITE_LANES): so equal lanes mean the same kernels and the same bits, whatever the caches are. Vectors that the machine
lacks are split or joined by LLVM, which is slower but gives no other result.
"""
import contextlib
import dataclasses
import functools
import os

from ..common.config import config
from ..common.dim import dim_max, dim_min
from ..common.errors import ValueRangeError
from .machine_code import host_features

WIDTHS = (4, 8, 16)              # lanes that a Target of the CPU may have


@dataclasses.dataclass(frozen=True)
class Target:
    """One kind of machine. Sizes are in elements where nothing else is said; an element is a float32.

    Equal Targets have equal kernels; `key` stands for one in the names of files.
    """
    # -- the machine
    kind: str = "cpu"                 # what it is
    lanes: int = 8                    # elements of a vector register
    l1: int = 1 << 15                 # bytes of the first-level cache of a core, nominal
    l2: int = 1 << 19                 # bytes of the second-level cache of a core, nominal
    line: int = 64                    # bytes of a cache line

    # -- launches (backend/launcher.py)
    parallel_from: int = 1 << 17      # operations of a launch from which on two threads pay: break-even is near 65 K elements
    yield_from: int = 1 << 20         # operations of a long launch, some 100 us: the caller offers its core first
    spare: int = 32                   # a chunk begins at a rounded place where that moves at most 1 / spare of it

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
    stage_row: int = 4096             # elements of a row of the first stage of a vector

    # -- the register tile, products and convolutions (backend/cpu)
    tile_depth: int = 384             # steps of k of packed weights at a time, about: a panel stays in the first-level cache
    small_depth: int = 256            # steps of k that an unpacked product adds up in registers before it writes
    product_piece: int = 128          # rows or columns of a product that are one piece, about: the other operand is packed anew
    most_pieces: int = 64             # pieces of a product at most: as many threads take part
    few_rows: int = 16                # rows of a product with which no copy of the other operand pays
    short_sum: int = 64               # terms of a sum, at most, for which no packing pays
    dot_depth: int = 1024             # steps of k of a product of rows with rows at a time
    dot_rows_kept: int = 48           # rows of its left operand that stay in the second-level cache with those steps
    dots_few: int = 32                # m n / (m + n), at most, for rows with rows: each number is used twice as often
    dots_long: int = 12               # terms for each result at least: packing costs more than adding up lanes
    panel: tuple = (512, 64)          # columns and rows of the packed panel of a product by loops, 128 KiB
    pixels: int = 128                 # pixels of a block of a convolution: its patches stay in the second-level cache
    gradient_pixels: int = 512        # pixels, or squares, of a block of the gradient of weights
    gradient_rows: int = 24           # rows of patches, or channels, that meet such a block at a time
    lines: int = 6144                 # elements of lines of a depthwise convolution at a time, about: three quarters of `l1`
    narrow: int = 6                   # columns of a picture below which reading it directly wastes lanes
    winograd_channels: int = 16       # channels from which on Winograd's convolution pays
    winograd_least: int = 64          # squares of 2 x 2 pixels from which on its transform of the weights pays
    winograd_squares: int = 64        # squares of a block, half of them below `winograd_few` channels
    winograd_few: int = 256           # channels below which a whole block would leave the second-level cache
    winograd_rows: int = 48           # rows of the result between two transforms

    @functools.cached_property
    def key(self):
        """A text that tells Targets apart, for the names of files."""
        return repr(dataclasses.astuple(self))

    @functools.cached_property
    def _hash(self):
        return hash(self.key)

    def __hash__(self):
        return self._hash

    @property
    def wide(self):
        """Elements of four vectors side by side, for short work: sums do not wait for one another."""
        return 4 * self.lanes

    @property
    def long(self):
        """Elements of two vectors side by side, for long work, whose values would not fit into registers otherwise."""
        return 2 * self.lanes

    @property
    def registers(self):
        """Vector registers of machines with so many lanes: AVX2 has 16, NEON (4 lanes) and AVX-512 have 32."""
        return 16 if self.lanes == 8 else 32

    @property
    def tile_rows(self):
        """Rows of the register tile: 6 x 2 accumulators and 3 more of 16 registers, 8 x 3 and 4 more of 32."""
        return 6 if self.registers == 16 else 8

    @property
    def tile_vectors(self):
        """Vectors in a row of the register tile."""
        return 2 if self.registers == 16 else 3

    @property
    def near(self):
        """Bytes of an operand that stays in the first-level cache beside two others."""
        return self.l1 // 2

    @property
    def threads(self):
        """Threads of a large launch: config.threads, or the cores that this process may use. No result depends on it."""
        return config.threads if config.threads > 0 else processors()

    def product_pieces(self, m, n):
        """In how many pieces the longer axis of a product is cut, ints or Dims: by the sizes alone. An even number."""
        size = self.product_piece if 1 not in (m, n) else self.product_piece // 8
        return dim_min(dim_max((dim_max(m, n) + size) // (2 * size) * 2, 1), self.most_pieces)

    def replace(self, **fields):
        """A Target with some fields changed."""
        return dataclasses.replace(self, **fields)


def processors():
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine_lanes():
    """The float32 numbers of the widest vector of the machine that runs."""
    features = host_features()
    return 16 if features.get("avx512f") else 8 if features.get("avx") else 4


@functools.lru_cache(maxsize=None)
def cpu(lanes=0):
    """The Target of a CPU with vectors of so many lanes, 0 for those of the machine that runs.

    raises : ValueRangeError for lanes that are not in WIDTHS
    """
    if lanes not in (0, *WIDTHS):
        raise ValueRangeError(f"config.lanes (MINDLITE_LANES) is {lanes!r}; it can be 0 for the machine's own, "
                              f"{', '.join(map(str, WIDTHS))}")
    return Target(lanes=lanes or machine_lanes())


_used: list = []                 # Targets given by `using`, the newest last


def current():
    """The Target that kernels are made for where none is given: that of `using`, else the CPU with config.lanes."""
    return _used[-1] if _used else cpu(config.lanes)


@contextlib.contextmanager
def using(target):
    """Make kernels for another Target in the block; what was compiled before stays as it is."""
    _used.append(target)
    try:
        yield target
    finally:
        _used.pop()
