"""The PTX of kernels, cached in the process and on the disk by its text, the architecture and LLVM's version.

    ptx_of(texts, "sm_90")      made once; a later process reads it
"""
import hashlib
import pathlib

from ...common.config import config
from ...common.files import read_checked, write_checked
from ...common.lazy import LazyModule
from . import code

llvmlite = LazyModule("llvmlite")
_MAGIC = b"mindlite ptx 1\n"
_made: dict = {}


def key_of(texts: tuple, architecture: str) -> str:
    """The name under which the PTX of a kernel is cached. texts: of `code.kernel_text`"""
    main, parts = texts
    texts_of_all = code.ptx_rules(), *map(code.function_text, code.FUNCTIONS)
    said = "\n".join((architecture, llvmlite.__version__, *texts_of_all, main, *parts))
    return hashlib.sha256(said.encode()).hexdigest()


def ptx_of(texts: tuple, architecture: str) -> str:
    """The PTX of a kernel for an architecture."""
    key = key_of(texts, architecture)
    if key not in _made:
        path = pathlib.Path(config.cache_dir) / "ptx" / key[:2] / f"{key}.ptx" if config.cache_dir else None
        found = read_checked(path, _MAGIC) if path else None
        made = found.decode() if found is not None else code.ptx(texts, architecture)
        if found is None and path:
            write_checked(path, _MAGIC, made.encode())
        _made[key] = made
    return _made[key]
