"""Texts for numba.cuda in Numba's simulator, in a process of their own: the simulator is chosen when Numba is imported.

    out, = simulate_text(nest, inputs)        the results of a LoopNest, run as `numba_source` prints it
"""
import concurrent.futures
import functools
import multiprocessing.connection
import os
import threading

import numpy as np

from mindlite.backend.cuda.numba_source import cuda_source, kernel_name
from mindlite.common.dim import evaluate, product
from mindlite.mindir.abstract import AbstractScalar


def run(text, name, arrays, sizes, threads, blocks):
    """Run the kernel of a text; what the arrays hold then. In the process of the simulator."""
    namespace: dict = {}
    exec(compile(text, "<kernel>", "exec"), namespace)
    with np.errstate(all="ignore"):
        namespace[name][blocks, threads](*arrays, *sizes)
    return arrays


@functools.lru_cache(maxsize=None)
def process():
    """The one process, which has Numba with its simulator."""
    before = os.environ.get("NUMBA_ENABLE_CUDASIM")
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    try:
        pool = concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _end_with_the_parent)
        assert pool.submit(_simulates).result() is True
        return pool
    finally:
        os.environ.pop("NUMBA_ENABLE_CUDASIM")
        os.environ.update({} if before is None else {"NUMBA_ENABLE_CUDASIM": before})


def _end_with_the_parent():
    """A process of tests may end without a word to its executors."""
    def wait():
        multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
        os._exit(0)
    threading.Thread(target=wait, daemon=True).start()


def _simulates():
    import mindlite.backend.cuda.numba_functions as functions
    return functions.SIMULATED


def simulate_text(nest, inputs, env=None, threads=32, blocks=2):
    """The results of a scheduled LoopNest, by its text for numba.cuda."""
    shapes = [tuple(evaluate(s, env) for s in o.operand.shape) for o in nest.outputs]
    outs = [np.zeros(product(shape), o.operand.dtype.numpy) for shape, o in zip(shapes, nest.outputs)]
    arrays = [x.reshape(-1).copy() if isinstance(x, np.ndarray) else x for x in inputs] + outs
    sizes = [evaluate(v, env) for v in nest.sizes.values()]
    text = cuda_source(nest)
    done = process().submit(run, text, kernel_name(nest), arrays, sizes, threads, blocks).result(timeout=120)
    return tuple(out.reshape(shape) for out, shape in zip(done[len(inputs):], shapes))


def compiled_text(nest, capability=(9, 0)):
    """The PTX of a text, by numba-cuda's compiler; its device functions ask for a device, of which only that is known."""
    import types

    from numba.cuda import compile_ptx, dispatcher, types as of_gpu
    dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=capability)
    namespace: dict = {}
    exec(compile(cuda_source(nest), "<kernel>", "exec"), namespace)

    def type_of(operand):
        name = {"bool": "boolean"}.get(operand.dtype.name, operand.dtype.name)
        scalar = isinstance(operand.abstract, AbstractScalar)
        if name == "boolean" and not scalar:
            name = "uint8"                                   # Numba stores no bit through a pointer; in memory it is a byte
        return getattr(of_gpu, name) if scalar else of_gpu.CPointer(getattr(of_gpu, name))
    operands = [*nest.inputs, *(o.operand for o in nest.outputs)]
    signature = (*map(type_of, operands), *[of_gpu.int64] * len(nest.sizes))
    return compile_ptx(namespace[kernel_name(nest)].py_func, signature, cc=capability)[0]
