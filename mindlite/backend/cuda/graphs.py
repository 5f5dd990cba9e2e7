"""CUDA graphs: a Flow without decisions is launched as it is in its first run, captured in its second, and replayed from then on.

    replays = Replays(driver, 0)          one for each such Flow (`compile/captured.py` says which those are)
    status = replays.run(key, call)       key: the addresses and numbers of the run; call(): run the Flow's machine code

A replay runs the machine code too, with launches and copies on the device left out: what the CPU checks it checks, and what comes
from the CPU is copied to memory that stays where it is, from which the graph has it. Other addresses are another key. Of those
MOST are remembered; beyond, the oldest graph is captured again and updated in place (cuGraphExecUpdate), so no launch ever sees
an address of another run. Where keys do not come back the Flow is launched as it is.

source: NVIDIA, CUDA C++ Programming Guide, "CUDA Graphs"
"""
from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import Any

from ...common.errors import DeviceError
from ...common.events import emit

AS_IT_IS, NOTED, CAPTURED, REPLAYED = range(4)               # what machine code does with launches and copies (`driver_code`)
RELAXED = 2                                                  # CU_STREAM_CAPTURE_MODE_RELAXED
MOST = 4                                                     # graphs of a Flow
TRIES = 16                                                   # captures after which replays must be in the majority
UPDATE_INFO = 24                                             # bytes of a CUgraphExecUpdateResultInfo


class Replays:
    """The runs of one Flow of fixed sizes on one device. graphs: {key: handle}; captures, replays: how many there were"""

    def __init__(self, driver: Any, index: int) -> None:
        self.driver, self.gpu, self.launch = driver, driver.gpu(index), driver.functions["cuGraphLaunch"]
        self.graphs: dict[Any, int] = {}
        self.sizes: list[int] | None = None                  # bytes of what comes from the CPU, in order
        self.rooms: list[int] = []
        self.at = self.captures = self.replays = 0
        self.given_up = False
        weakref.finalize(self, _destroy, driver, self.gpu, self.graphs, self.rooms)

    def run(self, key: Any, call: Callable[[], int]) -> int:
        """Run once: the status of the machine code. raises : CudaError"""
        if self.given_up:
            return call()
        with self.gpu.lock:
            if self.sizes is None:
                return self._first(call)
            graph = self.graphs.get(key)
            if graph is not None:
                return self._replay(graph, call)
            if self.captures >= TRIES and self.captures > self.replays:
                self.given_up = True
                return call()
            return self._capture(key, call)

    def _in_mode(self, mode: int, call: Callable[[], int]) -> int:
        self.at, self.gpu.table[4], self.gpu.replays = 0, mode, self
        try:
            return call()
        finally:
            self.gpu.table[4], self.gpu.replays = AS_IT_IS, None

    def _first(self, call: Callable[[], int]) -> int:
        """Kernels are loaded, libraries make their plans, and what comes from the CPU is noted."""
        self.sizes = []
        status = self._in_mode(NOTED, call)
        if status:
            self.sizes = None
        else:
            self.rooms += [self.driver.allocate(self.gpu.index, nbytes) for nbytes in self.sizes]
        return status

    def _replay(self, graph: int, call: Callable[[], int]) -> int:
        gpu = self.gpu
        self.at, gpu.table[4], gpu.replays = 0, REPLAYED, self          # `_in_mode`, written out
        try:
            status = call()
        finally:
            gpu.table[4], gpu.replays = AS_IT_IS, None
        if status == 0:
            self.replays += 1
            launched = self.launch(graph, gpu.stream)
            if launched:
                raise self.driver.error(launched, "cuGraphLaunch")
        return status

    def _capture(self, key: Any, call: Callable[[], int]) -> int:
        driver, gpu = self.driver, self.gpu
        driver.current(gpu.index)
        driver.follow(gpu, gpu.copies, gpu, gpu.stream)      # earlier replays have read what is copied now
        driver.call("cuStreamBeginCapture_v2", gpu.stream, RELAXED)
        status = -1
        try:
            status = self._in_mode(CAPTURED, call)
        finally:
            captured = ctypes.c_void_p()
            ended = driver.functions["cuStreamEndCapture"](gpu.stream, ctypes.byref(captured))
            driver.follow(gpu, gpu.stream, gpu, gpu.copies)
        if status:
            return status
        graph = self._executable(captured.value) if ended == 0 else 0
        if not graph:                                        # the driver cannot capture this work: nothing of it was done
            self.given_up = True
            return call()
        self.captures += 1
        self.graphs[key] = graph
        driver.call("cuGraphLaunch", graph, gpu.stream)
        emit("graph_capture", device=gpu.index, graphs=len(self.graphs))
        return 0

    def _executable(self, captured: Any) -> int:
        """What can be launched, of a captured graph: the oldest one, updated, where there are many; 0 where there is none."""
        driver = self.driver
        try:
            if len(self.graphs) >= MOST:
                oldest = next(iter(self.graphs))
                graph, info = self.graphs.pop(oldest), (ctypes.c_uint8 * UPDATE_INFO)()
                if driver.functions["cuGraphExecUpdate_v2"](graph, captured, ctypes.byref(info)) == 0:
                    return graph
                driver.call("cuGraphExecDestroy", graph)
            return driver.asked("cuGraphInstantiateWithFlags", ctypes.c_void_p(), captured, 0).value
        except DeviceError:
            return 0
        finally:
            driver.call("cuGraphDestroy", captured)

    def copied(self, mode: int, target: int, source: int, nbytes: int) -> None:
        """A copy from the CPU, in a run of a mode."""
        driver, gpu = self.driver, self.gpu
        if mode == NOTED:
            assert self.sizes is not None
            self.sizes.append(nbytes)
            gpu.staging.copy(target, source, nbytes, gpu.stream)
            return
        room, self.at = self.rooms[self.at], self.at + 1
        gpu.staging.copy(room, source, nbytes, gpu.copies if mode == CAPTURED else gpu.stream)
        if mode == CAPTURED:
            driver.call("cuMemcpyDtoDAsync_v2", target, room, nbytes, gpu.stream)


def _destroy(driver: Any, gpu: Any, graphs: dict, rooms: list) -> None:
    """Nobody runs the Flow any more."""
    if driver.ended:
        return
    driver.current(gpu.index)
    for graph in graphs.values():
        driver.call("cuGraphExecDestroy", graph)
    for room in rooms:
        driver.release(gpu.index, room)
