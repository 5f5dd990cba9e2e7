"""Machines of simulations: devices, links with a latency and a bandwidth (alpha-beta), and what a collective takes on them.

    SELENE.all_reduce(100e6, range(16))      two nodes of eight: a ring through all of them, or a tree where that is faster
    SELENE.products([(2048, 12288, 4608)])   seconds of a product of matrices on one device, its tiles counted

Figures are those of data sheets and of published micro-benchmarks; each says where it is from. None is fitted to what a
simulation is compared with. Nothing here was measured by this project.

Source of the collectives: Thakur, Rabenseifner and Gropp 2005 (rings); Sanders, Speck and Traeff 2009 (two trees); NCCL has these
two. Tiles: NVIDIA, Matrix Multiplication Background; CUTLASS, Efficient GEMM in CUDA (one block at a time on a multiprocessor).
"""
import math
from collections.abc import Iterable, Sequence

from ..common.errors import ValueRangeError
from ..common.records import dataclass

TILE = 256, 128                                  # rows and columns of a product that one multiprocessor computes at once


@dataclass(frozen=True)
class Device:
    """A device. peak: FLOP/s of its data sheet; product: FLOP/s of the best large product that was measured, of half precision,
    and shape its rows, inner size and columns; memory: bytes/s; processors: how many of them share the tiles of a product;
    source: where the figures are from"""
    name: str
    peak: float
    product: float
    shape: tuple[int, int, int]
    memory: float
    processors: int
    source: str

    def tiled(self, rows: int, inner: int, columns: int, many: int = 1) -> float:
        """Floating-point operations of products in whole tiles: a last round that leaves multiprocessors idle is a full one."""
        tiles = many * math.ceil(rows / TILE[0]) * math.ceil(columns / TILE[1])
        return 2 * TILE[0] * TILE[1] * inner * math.ceil(tiles / self.processors) * self.processors

    @property
    def speed(self) -> float:
        """FLOP/s within tiles: that of the best product, without the time in which its result is written."""
        rows, inner, columns = self.shape
        seconds = 2 * rows * inner * columns / self.product - 2 * rows * columns / self.memory
        return self.tiled(rows, inner, columns) / seconds


@dataclass(frozen=True)
class Link:
    """seconds(nbytes) = alpha + nbytes / bandwidth, of one device in one direction."""
    alpha: float
    bandwidth: float

    def seconds(self, nbytes: float) -> float:
        """Of one message."""
        return self.alpha + nbytes / self.bandwidth

    def ring(self, nbytes: float, count: int) -> float:
        """Of a reduce_scatter or an all_gather of `nbytes` around a ring of `count` devices."""
        return (count - 1) * self.seconds(nbytes / count) if count > 1 else 0.0


@dataclass(frozen=True)
class Cluster:
    """Nodes of `per_node` devices; inside: the link of a device in its node, between: its share of the node's links to others."""
    device: Device
    per_node: int
    inside: Link
    between: Link
    source: str = ""

    def link(self, source: int, to: int) -> Link:
        """The Link between two devices."""
        return self.inside if source // self.per_node == to // self.per_node else self.between

    def all_reduce(self, nbytes: float, devices: Iterable[int]) -> float:
        """Seconds of an all_reduce of `nbytes` over devices, as many of each node. Between nodes: a ring through all devices,
        which uses the links of all of them at once, or two trees of nodes with a chain in each; what is faster.

        raises : ValueRangeError where nodes have different numbers of them
        """
        count: dict[int, int] = {}
        for device in devices:
            count[device // self.per_node] = count.get(device // self.per_node, 0) + 1
        here = next(iter(count.values()))
        if any(other != here for other in count.values()):
            raise ValueRangeError(f"all_reduce: nodes have different numbers of devices, {sorted(count.values())}")
        if len(count) == 1:
            return 2 * self.inside.ring(nbytes, here)
        together = here * self.between.bandwidth
        wide = Link(self.between.alpha, together if here == 1 else min(self.inside.bandwidth, together))
        deep = math.ceil(math.log2(len(count))) * self.between.alpha + (here - 1) * self.inside.alpha
        return 2 * min(wide.ring(nbytes, here * len(count)), deep + nbytes / wide.bandwidth)

    def products(self, sizes: Iterable[Sequence[int]], itemsize: int = 2) -> float:
        """Seconds of products of matrices (rows, inner, columns[, how many]) one after the other. Each is as long as its
        arithmetic or the reads of its operands take, and then writes its result: the sums of a tile fill the registers of a
        multiprocessor, which has no other tile to compute meanwhile."""
        total = 0.0
        for rows, inner, columns, *rest in sizes:
            many, device = rest[0] if rest else 1, self.device
            read, written = [itemsize * many * count / device.memory for count in ((rows + columns) * inner, rows * columns)]
            total += max(device.tiled(rows, inner, columns, many) / device.speed, read) + written
        return total


A100 = Device("A100 SXM 80 GB", 312e12, 267.9e12, (6912, 16384, 2048), 1.8e12, 108,
              "NVIDIA's data sheet (peak, multiprocessors); stas00/ml-engineering, compute/accelerator: the best bfloat16 product"
              " with CUDA 12.1; forums.developer.nvidia.com, thread 339083: reads measured with Nsight Compute, 88 % of "
              "the data sheet's 2.04 TB/s")
V100 = Device("V100 SXM2 16 GB", 125e12, 125e12, (1 << 15,) * 3, 0.9e12, 80, "NVIDIA's data sheet")
SELENE = Cluster(A100, 8, Link(5e-6, 200e9), Link(10e-6, 25e9),
                 "NVLink: 200 GB/s of bus bandwidth of all_reduce on eight A100 SXM4 80 GB (NVIDIA/nccl-tests, issue 149); eight "
                 "200 Gb/s InfiniBand adapters a node (Narayanan et al. 2021, section 5); alphas are assumed")
DGX1 = Cluster(V100, 8, Link(5e-6, 130e9), Link(10e-6, 12.5e9 / 8),
               "NVLink: 25 GB/s in each direction, six links, of which rings use some 130 GB/s (assumed); one 100 Gb/s "
               "InfiniBand adapter a node (OneFlow's DLPerf report of 2020); alphas are assumed")
CLUSTERS = {"selene": SELENE, "dgx1": DGX1}
