"""oneDNN: convolutions of float32 by Intel's library, called by address from native code.

`pip install onednn-cpu-gomp` brings the library (C API, dnnl_*, version 3); it is loaded when the first convolution
asks. A *handle* is made once per set of sizes: the primitive, reorders into the layouts it likes best and back, and
the memory objects, flattened into one int64 array that native code walks:

    handle = [workspace bytes, state, stream, B, S,  B x (memory, arg, offset),  S x (primitive, n, list)]

    lock;  grow the workspace
    bindings: dnnl_memory_set_data_handle(memory, args[arg] or workspace + offset)
    steps:    dnnl_primitive_execute(primitive, stream, n, list)
    unlock

`state` is [lock, workspace, its bytes, what malloc gave, forked], shared by all handles: scratchpads and reordered
copies live there, so memory is the largest need and not the sum. The lock makes one oneDNN call at a time: its OpenMP
team uses every core anyway. Handles live as long as the process. GNU OpenMP hangs in a child made by fork(), which
inherits the team but not its threads: there `run` refuses with UNUSABLE, and its caller goes the other way.
"""
import ctypes
import os
import sys
import weakref

import numpy as np

from ...common.config import config
from ...common.dtype import int64
from ...common.events import emit
from ...common.once import once
from ..address import files_of_distribution, symbol_address
from .native import I32, I64, LIBRARIES, PTR, Value

PACKAGES = ("onednn-cpu-gomp", "onednn-cpu-iomp", "onednn-cpu-tbb", "onednn-cpu-vcomp")
ADVICE = "pip install onednn-cpu-gomp"
OUT_OF_MEMORY, FAILED = 1, 2                        # statuses of the kernel, the texts stand in convolution.py
UNUSABLE = -1                                       # what onednn_run returns in a forked child
# How many iterations its threads spin after work before they sleep. Measured on two cores with OpenBLAS between the calls:
# 300,000 (the library's own) makes a call of 0.3 ms last 4-20 ms, as two pools fight; 0 doubles it; 1000 costs nothing.
DEFAULTS = {"GOMP_SPINCOUNT": "1000"}

# Numbers of dnnl_types.h, version 3.
F32, ANY, CPU, IN_ORDER, USER_SCRATCHPAD = 3, 1, 1, 1, 1
FORWARD_INFERENCE, CONVOLUTION_DIRECT = 96, 1
SRC, DST, WEIGHTS, SCRATCHPAD, DIFF_SRC, DIFF_DST = 1, 17, 33, 80, 129, 145
QUERY_MD = {SRC: 129, DIFF_SRC: 130, WEIGHTS: 131, DST: 133, DIFF_DST: 134, SCRATCHPAD: 136}
_WORKSPACE = -1                                     # in place of an argument's index


class OneDNNError(RuntimeError):
    """A call of the library that it refused. `status` is its number."""

    def __init__(self, function, status):
        super().__init__(f"oneDNN: {function} gave status {status}")
        self.status = status


class OneDNN:
    """The loaded library: engine, stream, and `call(name, *args)`, which raises OneDNNError unless the status is 0."""

    def __init__(self, path):
        self.path, self.library, self.made = path, ctypes.CDLL(path), []
        self.library.dnnl_memory_desc_get_size.restype = ctypes.c_size_t
        self.library.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p
        self.engine = self.make("dnnl_engine_create", ctypes.c_int(CPU), ctypes.c_size_t(0))
        self.stream = self.make("dnnl_stream_create", self.engine, ctypes.c_uint(IN_ORDER))
        self.attributes = self.make("dnnl_primitive_attr_create")
        self.call("dnnl_primitive_attr_set_scratchpad_mode", self.attributes, ctypes.c_int(USER_SCRATCHPAD))
        self.state = np.zeros(5, np.int64)
        self.lasting = self.take()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self):
        """In the child: the lock may be held by a thread that is not there, and the library must not run."""
        self.state[0], self.state[4] = 0, 1

    def call(self, name, *args):
        """Call a function that returns a status."""
        status = getattr(self.library, name)(*args)
        if status:
            raise OneDNNError(name, status)

    def make(self, name, *args):
        """Call a function whose first argument receives a new object; returns the object."""
        made = ctypes.c_void_p()
        self.call(name, ctypes.byref(made), *args)
        self.made.append(("dnnl_primitive_desc" if "primitive_desc" in name else name.partition("_create")[0], made))
        return made

    def take(self):
        """What was made since it was asked last, for `destroy`."""
        made, self.made = self.made, []
        return made

    def destroy(self, made):
        """Give objects back, the newest first."""
        for kind, it in reversed(made):
            self.call(f"{kind}_destroy", it)

    def plain(self, shape):
        """The memory descriptor of a contiguous float32 array."""
        strides, step = [0] * len(shape), 1
        for axis in reversed(range(len(shape))):
            strides[axis], step = step, step * shape[axis]
        return self.make("dnnl_memory_desc_create_with_strides", len(shape), dims(shape), ctypes.c_int(F32),
                         dims(strides))

    def any(self, shape):
        """The memory descriptor that leaves the layout to the primitive."""
        return self.make("dnnl_memory_desc_create_with_tag", len(shape), dims(shape), ctypes.c_int(F32),
                         ctypes.c_int(ANY))

    def wanted(self, primitive_desc, what):
        """The memory descriptor that a primitive wants for an argument."""
        query = self.library.dnnl_primitive_desc_query_md
        return ctypes.c_void_p(query(primitive_desc, ctypes.c_int(QUERY_MD[what]), 0))

    def nbytes(self, desc):
        """Bytes of a memory descriptor."""
        return self.library.dnnl_memory_desc_get_size(desc)

    def version(self):
        """ "3.2.0" """
        class Version(ctypes.Structure):
            _fields_ = [("major", ctypes.c_int), ("minor", ctypes.c_int), ("patch", ctypes.c_int)]
        self.library.dnnl_version.restype = ctypes.POINTER(Version)
        found = self.library.dnnl_version().contents
        return f"{found.major}.{found.minor}.{found.patch}"


def dims(values):
    """A C array of sizes."""
    return (ctypes.c_int64 * len(values))(*values)


def library_path():
    """Where an installed package keeps the library, or None."""
    return next(iter(files_of_distribution(("libdnnl.so.3", "libdnnl.3.dylib", "dnnl.dll"), PACKAGES)), None)


def find_onednn():
    """The library, or None if it is not installed, does not load or is switched off (config.onednn)."""
    found = _load() if config.onednn else None
    return found if isinstance(found, OneDNN) else None


def why_not():
    """Why `find_onednn` has none, in words that go on from "oneDNN is", and how to mend it."""
    if library_path() is None:
        return "not installed", ADVICE
    if not config.onednn:
        return "switched off", "config.set(onednn=True), or unset MINDLITE_ONEDNN"
    error = _load()
    if "libgomp" in error:
        return f"not loaded, {error}", "install GCC's OpenMP (Debian, Ubuntu: apt install libgomp1)"
    return f"not loaded, {error}", f"reinstall it: {ADVICE}"


@once
def _load():
    """The library, or a text that says why it does not load.

    OpenMP reads its settings from the environment when it is loaded, so ours stand there only meanwhile.
    """
    path = library_path()
    if path is None:
        return None
    settings = dict(DEFAULTS)
    if config.threads:
        settings["OMP_NUM_THREADS"] = str(config.threads)
    if "OMP_WAIT_POLICY" in os.environ:
        del settings["GOMP_SPINCOUNT"]
    settings = {name: value for name, value in settings.items() if name not in os.environ}
    os.environ.update(settings)
    try:
        loaded = OneDNN(path)
    except OSError as error:
        emit("onednn_failed", path=path, error=str(error))
        return str(error)
    finally:
        for name in settings:
            del os.environ[name]
    emit("onednn_loaded", path=path, version=loaded.version())
    return loaded


class Recipe:
    """A handle in the making: `array` names a kernel's argument, `apply` runs a primitive, `finish` flattens."""

    def __init__(self, library):
        self.library, self.bindings, self.steps, self.workspace, self.keep = library, [], [], 0, []

    def array(self, argument, desc):
        """A memory object over args[argument]."""
        return self._memory(desc, argument, 0)

    def scratch(self, desc):
        """A memory object in the workspace."""
        offset = self.workspace
        self.workspace += -(-self.library.nbytes(desc) // 64) * 64
        return self._memory(desc, _WORKSPACE, offset)

    def _memory(self, desc, argument, offset):
        memory = self.library.make("dnnl_memory_create", desc, self.library.engine, None)
        self.bindings.append((memory.value, argument, offset))
        return memory

    def apply(self, primitive_desc, arguments):
        """Append the execution of a primitive; arguments: {DNNL_ARG: memory}."""
        primitive = self.library.make("dnnl_primitive_create", primitive_desc)
        scratchpad = self.library.wanted(primitive_desc, SCRATCHPAD)
        if scratchpad.value and self.library.nbytes(scratchpad):
            arguments = arguments | {SCRATCHPAD: self.scratch(scratchpad)}
        listed = np.array([number for name, memory in arguments.items() for number in (name, memory.value)], np.int64)
        self.steps.append((primitive.value, len(arguments), listed.ctypes.data))
        self.keep.append(listed)

    def reorder(self, source, source_desc, target, target_desc):
        """Append a copy between layouts."""
        engine = self.library.engine
        desc = self.library.make("dnnl_reorder_primitive_desc_create", source_desc, engine, target_desc, engine,
                                 self.library.attributes)
        self.apply(desc, {SRC: source, DST: target})

    def brought(self, argument, user, wanted):
        """An input in the layout `wanted`: the argument itself, or a reordered copy."""
        memory = self.array(argument, user)
        if self.library.library.dnnl_memory_desc_equal(user, wanted):
            return memory
        copy = self.scratch(wanted)
        self.reorder(memory, user, copy, wanted)
        return copy

    def apply_into(self, argument, user, primitive_desc, result, arguments):
        """`apply`, with its result (a DNNL_ARG) in args[argument], by a reordered copy where the layouts differ."""
        wanted = self.library.wanted(primitive_desc, result)
        memory = self.array(argument, user)
        if self.library.library.dnnl_memory_desc_equal(user, wanted):
            self.apply(primitive_desc, arguments | {result: memory})
            return
        copy = self.scratch(wanted)
        self.apply(primitive_desc, arguments | {result: copy})
        self.reorder(copy, wanted, memory, user)

    def finish(self):
        """The handle: an int64 array that native code reads, which holds on to what it needs."""
        head = [self.workspace, self.library.state.ctypes.data, self.library.stream.value,
                len(self.bindings), len(self.steps)]
        numbers = np.array(head + [n for part in (self.bindings, self.steps) for row in part for n in row], np.int64)
        handle = Handle(numbers, self.keep)
        weakref.finalize(handle, self.library.destroy, self.library.take()).atexit = False
        return handle


class Handle:
    """numbers (the int64 array), keep; `address` is what kernels get as args[0]. What oneDNN made for it goes with it."""

    def __init__(self, numbers, keep):
        self.numbers, self.keep, self.address = numbers, keep, numbers.ctypes.data


LIBRARIES["mindlite_onednn_"] = lambda name, target: symbol_address(_load().library, name)


def write_run(module):
    """Write `int64 onednn_run(int64 *args)`, which walks the handle args[0] as the module's text says; returns it."""
    execute = module.external("mindlite_onednn_dnnl_primitive_execute", I32, [PTR, PTR, I32, PTR])
    bind = module.external("mindlite_onednn_dnnl_memory_set_data_handle", I32, [PTR, PTR])
    pause = module.external("SwitchToThread" if sys.platform == "win32" else "sched_yield", I32, [])
    with module.function("onednn_run", [PTR], I64, inline=True) as f:
        handle = f.array(int64, f.arg(0))
        needed, state, stream, bindings, steps = (handle[i] for i in range(5))
        status, lock = f.variable(I64, 0), f.array(int64, state)
        with f.when(lock[4].differs(0)):
            f.give(UNUSABLE)
        with f.repeat() as again:
            busy = Value(f, f.builder.atomic_rmw("xchg", lock.pointer, f.number(I64, 1).ir, "acquire")).differs(0)
            with f.when(busy):
                f.call(pause)
            again(busy)
        with f.when(lock[2] < needed):
            f.free(lock[3])
            lock[3] = f.allocate(needed + 64)
            lock[1] = (lock[3] + 63) // 64 * 64
            lock[2] = f.select(lock[3].equals(0), f.number(I64, 0), needed)
            status.set(f.select(lock[3].equals(0), f.number(I64, OUT_OF_MEMORY), f.number(I64, 0)))
        with f.when(status.get().equals(0)):
            part = handle.at(5)
            with f.loop(0, bindings, iterations="rare") as i:
                argument, address = part[3 * i + 1], f.variable(I64, lock[1] + part[3 * i + 2])
                with f.when(argument >= 0):
                    address.set(f.arg(argument))
                f.call(bind, part[3 * i], address.get())
            part = part.at(3 * bindings)
            with f.loop(0, steps, iterations="rare") as i:
                failed = f.call(execute, part[3 * i], stream, f.convert(part[3 * i + 1], I32), part[3 * i + 2])
                status.set(f.select(failed.equals(0), status.get(), f.number(I64, FAILED)))
        f.builder.atomic_rmw("xchg", lock.pointer, f.number(I64, 0).ir, "release")
        f.give(status.get())
    module.written_by.append(write_run)
    return module.ir.globals["onednn_run"]
