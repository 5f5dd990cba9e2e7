"""Copies from the CPU through pinned memory, which a GPU reads by itself.

    staging.copy(target, source, nbytes, stream)        the source has been read when this returns; nothing waits

CUDA copies ordinary memory only after all earlier work of the stream is done, and the CPU waits for that. So the bytes are
written to pinned memory first. There are two buffers of it, and many copies fit into one; the CPU waits for a buffer's copies,
no others, when both are full. A new array is copied in a stream beside the work (`Driver.upload`), so the batch of the next step
comes while this one is computed.

source: NVIDIA, CUDA driver API, "API synchronization behavior"
"""
from __future__ import annotations

import ctypes
from typing import Any

SIZE, LARGEST = 4 << 20, 32 << 20                            # bytes of a buffer at first, and at most
ALIGNED = 256                                                # bytes
NO_TIMING = 2                                                # of an event: CU_EVENT_DISABLE_TIMING


class Room:
    """A buffer of pinned memory.

    address, nbytes; used : bytes that are taken;   events : {stream: what the latest copy there has recorded}
    """

    def __init__(self) -> None:
        self.address = self.nbytes = self.used = 0
        self.events: dict[Any, int] = {}


class Staging:
    """The two buffers of a device. waits: how often the CPU has waited for one"""

    def __init__(self, driver: Any, gpu: Any) -> None:
        self.driver, self.gpu, self.rooms, self.waits = driver, gpu, (Room(), Room()), 0

    def copy(self, target: int, source: int, nbytes: int, stream: Any) -> None:
        """Copy bytes of the CPU to an address of the device, in a stream. raises : MemoryError, CudaError"""
        functions = self.driver.functions
        with self.gpu.lock:
            done = 0
            while done < nbytes:
                part = min(nbytes - done, LARGEST)
                room = self.rooms[0]
                if room.used + part > room.nbytes:
                    room = self._other(part)
                address = room.address + room.used
                room.used += -(-part // ALIGNED) * ALIGNED
                ctypes.memmove(address, source + done, part)
                if stream not in room.events:
                    room.events[stream] = self.driver.asked("cuEventCreate", ctypes.c_void_p(), NO_TIMING).value
                status = functions["cuMemcpyHtoDAsync_v2"](target + done, address, part, stream) or \
                    functions["cuEventRecord"](room.events[stream], stream)
                if status:
                    raise self.driver.error(status, "a copy from the CPU")
                done += part

    def _other(self, nbytes: int) -> Room:
        """The other buffer, whose copies are done, with room for so many bytes."""
        self.rooms = self.rooms[::-1]
        room, room.used = self.rooms[0], 0
        for event in room.events.values():
            self.waits += 1
            self.driver.call("cuEventSynchronize", event)
        if nbytes > room.nbytes:
            former, room.address, room.nbytes = room.address, 0, 0
            if former:
                self.driver.call("cuMemFreeHost", former)
            wanted = max(SIZE, -(-nbytes // ALIGNED) * ALIGNED)
            room.address = self.driver.asked("cuMemAllocHost_v2", ctypes.c_void_p(), wanted).value
            room.nbytes = wanted
        return room
