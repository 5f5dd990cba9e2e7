"""Machines of simulations: devices, links with a latency and a bandwidth (alpha-beta), and what a collective takes on them.

    SELENE.all_reduce(100e6, range(16))      two nodes of eight: inside of each, between them, inside again
    SELENE.products([(2048, 12288, 4608)])   seconds of a product of matrices on one device, its tiles counted

Figures are those of data sheets and of published micro-benchmarks; each says where it is from. None is fitted to what a
simulation is compared with. Nothing here was measured by this project.

Source of the collectives: Thakur, Rabenseifner and Gropp 2005 (rings); tiles: NVIDIA, Matrix Multiplication Background.
"""
import math
from collections.abc import Iterable, Sequence

from ..common.errors import ValueRangeError
from ..common.records import dataclass

TILE = 256, 128                                  # rows and columns of a product that one multiprocessor computes at once


@dataclass(frozen=True)
class Device:
    """A device. peak: FLOP/s of its data sheet; product: FLOP/s of the best large product that was measured;
    memory: bytes/s; processors: how many multiprocessors share the tiles of a product; source: where the figures are from"""
    name: str
    peak: float
    product: float
    memory: float
    processors: int
    source: str


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
        """Seconds of an all_reduce of `nbytes` over devices, as many of each node: parts are summed in each node, each part
        between the nodes, and gathered in each node again. raises : ValueRangeError where nodes have different numbers of them
        """
        count: dict[int, int] = {}
        for device in devices:
            count[device // self.per_node] = count.get(device // self.per_node, 0) + 1
        here = next(iter(count.values()))
        if any(other != here for other in count.values()):
            raise ValueRangeError(f"all_reduce: nodes have different numbers of devices, {sorted(count.values())}")
        return 2 * self.inside.ring(nbytes, here) + 2 * self.between.ring(nbytes / here, len(count))

    def products(self, sizes: Iterable[Sequence[int]], itemsize: int = 2) -> float:
        """Seconds of products of matrices (rows, inner, columns[, how many]) one after the other, each as long as its arithmetic
        or its memory takes. A last round of tiles that leaves multiprocessors idle takes as long as a full one."""
        total = 0.0
        for rows, inner, columns, *rest in sizes:
            many = rest[0] if rest else 1
            tiles = many * math.ceil(rows / TILE[0]) * math.ceil(columns / TILE[1])
            rounds = math.ceil(tiles / self.device.processors)
            flops = 2 * TILE[0] * TILE[1] * inner * rounds * self.device.processors
            nbytes = itemsize * many * (rows * inner + inner * columns + rows * columns)
            total += max(flops / self.device.product, nbytes / self.device.memory)
        return total


A100 = Device("A100 SXM 80 GB", 312e12, 267.9e12, 1.8e12, 108,
              "NVIDIA's data sheet (peak, multiprocessors); stas00/ml-engineering, compute/accelerator: the best bfloat16 product"
              " with CUDA 12.1; forums.developer.nvidia.com, thread 339083: reads measured with Nsight Compute, 88 % of "
              "the data sheet's 2.04 TB/s")
V100 = Device("V100 SXM2 16 GB", 125e12, 125e12, 0.9e12, 80, "NVIDIA's data sheet")
SELENE = Cluster(A100, 8, Link(5e-6, 200e9), Link(10e-6, 25e9),
                 "NVLink: 200 GB/s of bus bandwidth of all_reduce on eight A100 SXM4 80 GB (NVIDIA/nccl-tests, issue 149); eight "
                 "200 Gb/s InfiniBand adapters a node (Narayanan et al. 2021, section 5); alphas are assumed")
DGX1 = Cluster(V100, 8, Link(5e-6, 130e9), Link(10e-6, 12.5e9 / 8),
               "NVLink: 25 GB/s in each direction, six links, of which rings use some 130 GB/s (assumed); one 100 Gb/s "
               "InfiniBand adapter a node (OneFlow's DLPerf report of 2020); alphas are assumed")
CLUSTERS = {"selene": SELENE, "dgx1": DGX1}
