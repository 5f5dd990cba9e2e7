"""The PTX of kernels, kept in the process and on the disk by its text, the architecture and LLVM's version.

    ptx_of(texts, "sm_90")      made once; a later process reads it
"""
import hashlib
import pathlib
import warnings

from ...common.config import config
from ...common.files import replacing
from ...common.lazy import LazyModule
from . import code

llvmlite = LazyModule("llvmlite")
_MAGIC = b"mindlite ptx 1\n"
_made: dict = {}


def key_of(texts: tuple, architecture: str) -> str:
    """The name under which the PTX of a kernel is kept. texts: of `code.kernel_text`"""
    main, parts = texts
    texts_of_all = code.ptx_rules(), *map(code.function_text, code.FUNCTIONS)
    said = "\n".join((architecture, llvmlite.__version__, *texts_of_all, main, *parts))
    return hashlib.sha256(said.encode()).hexdigest()


def ptx_of(texts: tuple, architecture: str) -> str:
    """The PTX of a kernel for an architecture."""
    key = key_of(texts, architecture)
    if key not in _made:
        _made[key] = _read(key) or _written(key, code.ptx(texts, architecture))
    return _made[key]


def _path(key):
    return pathlib.Path(config.cache_dir) / "ptx" / key[:2] / f"{key}.ptx"


def _read(key):
    """What is kept; None where there is nothing, or something damaged."""
    if not config.cache_dir:
        return None
    try:
        data = _path(key).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    head, body = data[:len(_MAGIC) + 32], data[len(_MAGIC) + 32:]
    if head != _MAGIC + hashlib.sha256(body).digest():
        warnings.warn(f"{_path(key)} is damaged; the kernel is compiled again")
        return None
    return body.decode()


def _written(key, text):
    """Keep a text; gives it."""
    if config.cache_dir:
        body = text.encode()
        try:
            with replacing(_path(key), durable=False) as file:
                file.write(_MAGIC + hashlib.sha256(body).digest() + body)
        except OSError as error:
            warnings.warn(f"the kernel cache cannot be written: {error}")
    return text
