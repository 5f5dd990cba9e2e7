"""Object code that is made once: in the process by hash, on disk across processes.

A text is LLVM IR, several of them (`together`), or Python for Numba (`lower_numba`); `ordered` knows them apart.
The key is the SHA-256 of the text and of everything else that object code depends on (processor and features, LLVM,
llvmlite, how it is optimised). A new version of mindlite that emits other IR cannot meet an old file; a Python text
says in its first line which Numba and which sources of mindlite give it its meaning.

    <cache_dir>/kernels-1/3f/3f9c...o      =  magic, SHA-256 of the code, the code

A file is written under another name and renamed, so readers never see half of one; a file that fails its checksum is
told of (`warnings`) and made again. Events: kernel_compile, kernel_load (from disk), each with name and seconds.
"""
import functools
import time
import warnings

from ..common import events
from ..common.config import config
from ..common.files import replacing
from ..common.lazy import LazyModule
from ..common.locks import new_lock
from . import kernel_code
from .kernel_code import Ordered
from .machine_code import machine_name
from .printers.languages import NUMBA
from .printers.parts import is_together, modules_of

VERSION = 1
_MAGIC = b"mindlite kernel 1\n"
lower_numba, pathlib, hashlib = LazyModule("mindlite.backend.printers.lower_numba"), LazyModule("pathlib"), LazyModule("hashlib")
_addresses: dict = {}
_orders: dict = {}                              # by key: what is being compiled
_lock = new_lock()


def ordered(text):
    """The object code of a text, in the making. Numba is imported only when something is compiled with it."""
    if is_together(text):
        return Ordered(*modules_of(text))
    if text.startswith(NUMBA):
        return Ordered(lower_numba.llvm_ir(text))
    return Ordered(text)


def key_of(text):
    """The name under which the object code of a text is kept."""
    return hashlib.sha256(f"{VERSION}\n{machine_name()}\n{text}".encode()).hexdigest()


def address_of(text, name, symbol="kernel"):
    """The address of function `symbol` of a text that is known or on the disk, else a function that gives it: the text is
    compiled from now on, and waited for when that is called. name: for events
    """
    key = key_of(text)
    with _lock:
        if key not in _addresses and key not in _orders and cached_address(key, name, symbol) is None:
            _orders[key] = ordered(text)
        return _addresses.get(key) or functools.partial(_compiled, key, name, symbol)


def _compiled(key, name, symbol):
    with _lock:
        if key not in _addresses:
            start = time.perf_counter()
            code = _orders[key].code()
            _write(key, code)
            _addresses[key] = kernel_code.load(code, symbol)
            del _orders[key]
            events.emit("kernel_compile", name=name, key=key, seconds=time.perf_counter() - start)
        return _addresses[key]


def cached_address(key, name, symbol="kernel"):
    """The address of what is known or kept under a key; None if there is nothing."""
    with _lock:
        if key not in _addresses:
            start = time.perf_counter()
            code = _read(key)
            if code is None:
                return None
            _addresses[key] = kernel_code.load(code, symbol)
            events.emit("kernel_load", name=name, key=key, seconds=time.perf_counter() - start)
        return _addresses[key]


def forget():
    """Drop what the process knows (not the disk); loaded code stays valid."""
    with _lock:
        _addresses.clear()


def _path(key):
    return pathlib.Path(config.cache_dir) / f"kernels-{VERSION}" / key[:2] / f"{key}.o"


def _read(key):
    """The object code kept under `key`; None where there is none, or a damaged one."""
    if not config.cache_dir:
        return None
    try:
        data = _path(key).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        warnings.warn(f"the kernel cache cannot be read: {error}")
        return None
    head = len(_MAGIC) + 32
    code = data[head:]
    if data[:len(_MAGIC)] != _MAGIC or data[len(_MAGIC):head] != hashlib.sha256(code).digest():
        warnings.warn(f"{_path(key)} is damaged; the kernel is compiled again")
        return None
    return code


def _write(key, code):
    if not config.cache_dir:
        return
    path = _path(key)
    try:
        with replacing(path, durable=False) as file:
            file.write(_MAGIC + hashlib.sha256(code).digest() + code)
    except OSError as error:
        warnings.warn(f"the kernel cache cannot be written: {error}")
