"""A GPU of NVIDIA as a Target: kernels for its threads, library kernels of our own, CUDA's driver.

    start()        the Target, provided; raises DeviceError with what is missing

MINDLITE_CUDA chooses: "" for the machine's GPUs, "simulator" for two of the simulator, which needs none.
The numbers below are not tuned. They follow from the size of a warp, of shared memory and of a launch; bench/gpu measures what
comes of them.
"""
import dataclasses
import functools
import json
from typing import Any, ClassVar

from ...common.config import config
from ...common.dtype import DType, dtype as to_dtype
from ...common.errors import DeviceError, ValueRangeError
from ...common.events import emit
from ..cpu.convolution_ways import Plan, Step
from ..kernel import Kernel
from ..target import Target, provide
from . import attention, cublas, cudnn, library, nvptx
from .code import kernel_text
from .driver import KIND, Driver, libcuda
from .library_call import called
from .numba_source import cuda_source
from .simulated_library import SimulatedLibrary
from .threads import refuse_libm

CONV_ARRAYS = ("left", "right", "out")
_TOGETHER = "; together "
_MAKERS = frozenset(library.MAKERS)


@dataclasses.dataclass(frozen=True)
class CUDA(Target):
    """A kind of GPU. deterministic: sums into tables add up in the order of the indices, not as threads come; tf32: products of
    float32 may round their operands to 10 bits (TensorFloat-32)"""
    kind: ClassVar[str] = KIND
    deterministic: bool = True
    tf32: bool = False

    halves_of_a_row: int = 8          # 16 bytes
    lanes: int = 32                   # threads of a warp
    tile: int = 32                    # columns of a block
    side: int = 32                    # of a square in shared memory
    root_fold: int = 1 << 13          # items of a fold of everything, for one block
    fewest_rows: int = 1 << 10        # rows that blocks are left with where an axis is cut
    stages_from: int = 1 << 16        # elements of a fold of everything from which on many blocks share it
    stage_rows: tuple = (256, 32)
    launch_cost: int = 1 << 16        # operations that are done while a kernel is launched
    long_sums: tuple = ((1 << 11, 1 << 14), (1 << 16, 1 << 10))   # a row has a block, so have 32 columns; shorter rows are kept
    large: int = 1 << 20              # elements: what is smaller stays in the caches
    recomputed: tuple = (1 << 16, 32)  # a byte is stored and loaded in the time of some 20 instructions
    launched_together: int = 16       # kernels of one launch: their words fit into CUDA's parameters
    launched_alone: int = 1 << 16     # a block for each multiprocessor: it has registers and bandwidth for itself
    cut_parallel: bool = False        # a thread finds its element by one extent

    half_kernels: bool = True
    row_buffers: bool = False         # rows are kept in registers (`kept_rows`)

    __hash__ = Target.__hash__

    # -- generated kernels

    def write(self, nest: Any) -> str:
        """LLVM IR of a part (`nvptx`)."""
        return nvptx.emit(nest)

    def source(self, nest: Any) -> str:
        """What its threads do, as text for numba.cuda."""
        return cuda_source(nest)

    def write_together(self, texts: list, positions: list) -> str:
        """The parts and where their words are: blocks, not items, are shared out, so extents are not asked for."""
        return _TOGETHER + json.dumps({"texts": texts, "positions": [own for own, _, _ in positions]})

    def compiled(self, name: str, text: str, source: Any, cost: int = 1) -> Kernel:
        """The Kernel; it is compiled when it is launched first, for the device on which that is."""
        if text.startswith(_TOGETHER):
            said = json.loads(text[len(_TOGETHER):])
            return self._kernel(name, kernel_text(said["texts"], said["positions"]), source, cost)
        return self._kernel(name, kernel_text([text]), source, cost)

    def _kernel(self, name, texts, source, cost, least=32):
        return Kernel(name, functools.partial(self.driver.loaded, texts, name, least), source, self.kind, cost)

    def cached(self, name: str, key: str, source: Any, cost: int = 1) -> Any:
        """None: programs for other devices are not cached on the disk; the PTX of their kernels is (`ptx_cache`)."""
        return None

    def refuse(self, values: Any) -> None:
        """CannotFuse for what calls the C library."""
        for value in values:
            refuse_libm(value)

    # -- library kernels

    @property
    def library(self) -> frozenset:                          # type: ignore[override]
        """The kernels that it has ready: our own, and what NVIDIA's libraries add where they are installed."""
        return _MAKERS | {"finished products"} if self.driver.library_of("cublasLt") else _MAKERS

    def library_kernel(self, name: str, **facts: Any) -> Any:
        """A kernel of `library`, with the CPU's arguments; None where it has none for these facts."""
        if name in ("index_add", "elements_add"):
            facts["deterministic"] = self.deterministic
        facts = {key: to_dtype(value) if key in ("dtype", "index") else value for key, value in facts.items()}
        key = name, *sorted((k, v.name if isinstance(v, DType) else v) for k, v in facts.items())
        made = self.driver.library_kernels
        if key not in made:
            made[key] = self._library_kernel(name, facts)
        kernel = made[key]
        if kernel is None:
            emit("library_kernel_missing", name=name, facts=facts, why="no kernel for this dtype")
        else:
            emit("library_kernel", name=name, facts=facts, kernel=kernel.name, why=kernel.why)
        return kernel

    def _library_kernel(self, name, facts):
        if name == "matmul" and cublas.covers(facts["dtype"]) and self.driver.library_of("cublasLt") is not None:
            plan = functools.partial(cublas.plan_matmul, tf32=self.tf32, **facts)
            return called(self.driver, f"cublasLt_matmul_{facts['dtype'].short}", "cublasLt", plan, "cuBLASLt")
        if facts.pop("by", "") == "cudnn":
            plan = functools.partial(cudnn.plan_convolution, tf32=self.tf32, deterministic=self.deterministic, **facts)
            return called(self.driver, f"cudnn_conv2d_{facts['kind']}_{facts['dtype'].short}", "cudnn", plan, "cuDNN")
        part = library.part(name, **facts)
        if part is None:
            return None
        texts, least = kernel_text([part], extent=True), library.WORKERS_OF.get(name, 32)
        kernel = self._kernel(f"{name}_{facts['dtype'].short}", texts, part, 1, least)
        kernel.why = library.REASONS[name]
        return kernel

    def has_attention(self, dtype: Any, width: Any) -> bool:
        """Is there a kernel of `attention`?"""
        return attention.covers(dtype, width)

    def convolution_plan(self, kind: str, dtype: Any, sizes: tuple, finish: str = "") -> Any:
        """One step: cuDNN, where it is installed and has it, else a product that reads operands where the picture has them."""
        n, c, h, w, o, kh, kw = sizes[:7]
        of, way = to_dtype(dtype), "product"
        facts = {"name": "conv2d", "dtype": of, "kind": kind}
        if cudnn.covers(of, sizes) and self.driver.library_of("cudnn") is not None:
            facts["by"], way = "cudnn", "library"
        elif not library.has_convolution(of):
            return None
        return Plan(way, 0, (Step(facts, CONV_ARRAYS, tuple(sizes), n, c * h * w * o // sizes[-1] * kh * kw),))


def start() -> CUDA:
    """Provide the Target of this machine's GPUs, or of the simulator.

    raises : DeviceError where something is missing, with its name and what to do; ValueRangeError for a bad MINDLITE_CUDA
    """
    if config.cuda == "simulator":
        found: Any = SimulatedLibrary()
    elif config.cuda:
        raise ValueRangeError(f"MINDLITE_CUDA is {config.cuda!r}", hint="leave it away, or simulator")
    else:
        found = libcuda()
        if found is None:
            raise DeviceError("there is no NVIDIA driver (libcuda.so.1) on this machine",
                              hint="MINDLITE_CUDA=simulator runs its kernels on the CPU, slowly, to try and to test")
    target = CUDA(Driver(found), tf32=config.tf32)
    provide(target)
    return target
