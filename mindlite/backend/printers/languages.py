"""In which languages the CPU's kernels are written: LLVM IR, or Python for Numba. config.lowering chooses.

    text_of(nest)      docs/design/kernels.md compares them. The Python text is what people read either way
"""
import functools

from ...common.config import config
from ...common.errors import ValueRangeError
from ...common.lazy import LazyModule
from ...common.sources import sources_hash
from .python_source import numba_source

lower_llvm, metadata = LazyModule("mindlite.backend.printers.lower_llvm"), LazyModule("importlib.metadata")
NUMBA = "# numba "                              # how a text for Numba begins


def text_of(nest):
    """What is compiled, of a scheduled LoopNest: LLVM IR or Python, as config.lowering says."""
    if config.lowering == "llvm":
        return lower_llvm.emit(nest)
    if config.lowering == "numba":
        return f"{NUMBA}{_numba_version()}: {numba_source(nest)}"
    raise ValueRangeError(f"config.lowering is {config.lowering!r}; it can be 'llvm' or 'numba'")


@functools.lru_cache(maxsize=None)
def _numba_version():
    """Numba's version, and a hash of the sources that say what the names in a text mean; Numba is not imported."""
    return f"{metadata.version('numba')} {sources_hash('common', 'mindir', 'backend')[:16]}"
