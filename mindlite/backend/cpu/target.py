"""The CPU as a Target: kernels as machine code of the processor that runs, libraries of `backend.cpu`, threads.

    cpu(lanes=16)         config.lanes (MINDLITE_LANES) sets the lanes of the one that is used

The numbers were measured on one kind of machine and are part of the choice; none but the vector width is asked of the machine
that runs, and that can be set: so equal lanes mean the same kernels and the same bits, whatever the caches are. Vectors that
the machine lacks are split or joined by LLVM, which is slower but gives no other result.
"""
import dataclasses
import os
from typing import Any, ClassVar

from ...common.config import config
from ...common.dim import dim_max, dim_min
from ...common.errors import ValueRangeError
from ...common.lazy import LazyModule
from ...common.once import once
from ..kernel import Kernel
from ..machine_code import host_features
from ..target import Target
from . import MAKERS, library_kernel

WIDTHS = (4, 8, 16)              # lanes that a Target of the CPU may have
kernel_cache, languages, parts, tile, convolution_ways = (LazyModule(f"mindlite.backend.{name}") for name in (
    "kernel_cache", "printers.languages", "printers.parts", "cpu.tile", "cpu.convolution_ways"))


@dataclasses.dataclass(frozen=True)
class CPU(Target):
    """A kind of CPU, by the width of its vectors."""
    kind: ClassVar[str] = "CPU"
    library: ClassVar[frozenset] = frozenset(MAKERS) | {"finished"}

    # -- launches (backend/launcher.py)
    parallel_from: int = 1 << 17      # operations of a launch from which on two threads pay: break-even is near 65 K elements
    yield_from: int = 1 << 20         # operations of a long launch, some 100 us: the caller offers its core first
    spare: int = 32                   # a chunk begins at a rounded position where that moves at most 1 / spare of it

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
    counted: int = 24                 # elements of a line for each of their bytes, at most, to sort it by counting
    side_by_side: int = 4             # lines of a running sum along a contiguous axis: an addition takes as many cycles

    # -- eager mode (pynative/kernels.py): elements from which on a kernel of ours is faster than NumPy and worth its compilation
    eager_lines: int = 1 << 14        # what walks along lines: transposes, running sums, sums into tables
    eager_matrices: int = 1 << 10     # factors of matrices: NumPy's LAPACK shares even small ones among threads of its own
    eager_composites: int = 1 << 16   # composites, for which NumPy makes an array for each operator
    eager_elementwise: int = 1 << 20  # one operator: one thread of NumPy is slower than memory
    eager_halves: int = 1 << 11       # one operator of float16 or bfloat16: NumPy converts element by element, 2 to 10 ns each
    eager_windows: int = 1 << 22      # numbers in all windows of a convolution or pooling that NumPy has done in 10 ms
    eager_convolution: int = 1 << 27  # multiplications of such a convolution
    eager_product: int = 1 << 18      # multiplications of a product; beyond, our launcher's threads do better than NumPy's

    # -- generated kernels

    def write(self, nest: Any) -> str:
        """LLVM IR, or Python for Numba, as config.lowering says. raises : ValueRangeError where it says something else"""
        return languages.text_of(nest)

    def write_together(self, texts: list, positions: list) -> str:
        """The texts and positions, as `printers.parts` keeps them."""
        return parts.text_of_parts(texts, positions)

    def compiled(self, name: str, text: str, source: Any, cost: int = 1) -> Kernel:
        """The Kernel, compiled from now on by other processes, or found in the process or on the disk."""
        return Kernel(name, kernel_cache.address_of(text, name), source, self.kind, cost,
                      recipe=("object", kernel_cache.key_of(text)))

    def cached(self, name: str, key: str, source: Any, cost: int = 1) -> Any:
        """The Kernel of cached object code, None if there is none any more."""
        address = kernel_cache.cached_address(key, name)
        return None if address is None else Kernel(name, address, source, self.kind, cost, recipe=("object", key))

    # -- library kernels

    def library_kernel(self, name: str, **facts: Any) -> Any:
        """`backend.cpu.library_kernel`."""
        return library_kernel(name, self, **facts)

    def convolution_plan(self, kind: str, dtype: Any, sizes: tuple, finish: str = "") -> Any:
        """`convolution_ways.conv2d_plan`."""
        return convolution_ways.conv2d_plan(kind, dtype, sizes, finish, self)

    def product_pieces(self, m: Any, n: Any) -> Any:
        """In how many pieces the longer axis of a product is cut, ints or Dims: by the sizes only. An even number."""
        size = self.product_piece if 1 not in (m, n) else self.product_piece // 8
        return dim_min(dim_max((dim_max(m, n) + size) // (2 * size) * 2, 1), self.most_pieces)

    def panel_columns(self, dtype: Any) -> int:
        """The width of the register tile."""
        return tile.tile_shape(dtype, self).columns

    # -- facts

    __hash__ = Target.__hash__

    @property
    def registers(self) -> int:
        """Vector registers of machines with so many lanes: AVX2 has 16, NEON (4 lanes) and AVX-512 have 32."""
        return 16 if self.lanes == 8 else 32

    @property
    def tile_rows(self) -> int:
        """Rows of the register tile: 6 x 2 accumulators and 3 more of 16 registers, 8 x 3 and 4 more of 32."""
        return 6 if self.registers == 16 else 8

    @property
    def tile_vectors(self) -> int:
        """Vectors in a row of the register tile."""
        return 2 if self.registers == 16 else 3

    @property
    def threads(self) -> int:
        """Threads of a large launch: config.threads, or the cores that this process may use. No result depends on it."""
        return config.threads if config.threads > 0 else processors()


def processors() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine_lanes() -> int:
    """The float32 numbers of the widest vector of the machine that runs."""
    features = host_features()
    return 16 if features.get("avx512f") else 8 if features.get("avx") else 4


@once
def cpu(lanes: int = 0) -> CPU:
    """The Target of a CPU with vectors of so many lanes, 0 for those of the machine that runs.

    raises : ValueRangeError for lanes that are not in WIDTHS
    """
    if lanes not in (0, *WIDTHS):
        raise ValueRangeError(f"config.lanes (MINDLITE_LANES) is {lanes!r}; it can be 0 for the machine's own, "
                              f"{', '.join(map(str, WIDTHS))}")
    return CPU(lanes=lanes or machine_lanes())
