"""Object code that is made once: in the process by hash, on disk across processes.

A text is LLVM IR, several of them (`together`), or Python for Numba (`lower_numba`); `request` knows them apart.
The key is the SHA-256 of the text and of everything else that object code depends on (processor and features, LLVM,
llvmlite, how it is optimised). A new version of mindlite that emits other IR cannot meet an old file; a Python text
says in its first line which Numba and which sources of mindlite give it its meaning.

    <cache_dir>/kernels-2/3f/3f9c...o      =  magic, SHA-256 of the rest, the keys of its parts (`together`) in a line, the code

Libm's functions are found in the process. Events: kernel_compile, kernel_load (from disk), each with name and seconds.
"""
import functools
import json
import time
import types

from ..common import events
from ..common.config import config
from ..common.errors import InternalError
from ..common.files import read_checked, write_checked
from ..common.lazy import LazyModule
from ..common.locks import new_lock
from ..common.once import once
from .ahead import Order
from .low_python import LowModule, source_of
from .machine_code import load_object, machine_name
from .printers.languages import NUMBA
from .printers.parts import is_together, read_parts

VERSION = 2
TARGET = {"level": 2, "reloc": "pic", "codemodel": "default"}
_MAGIC = b"mindlite kernel 2\n"
lower_numba, pathlib, hashlib = LazyModule("mindlite.backend.printers.lower_numba"), LazyModule("pathlib"), LazyModule("hashlib")
_addresses: dict = {}
_orders: dict = {}                              # by key: what is being compiled, as `_ordered` gives it
_engines: list = []                             # the owners of loaded code: addresses stay valid for the process
_lock = new_lock()


def request(text):
    """What is asked of `object_code`: LLVM's O2 pipeline with loop and SLP vectorisation. O3 takes twice as long and unrolls
    what pays nothing; what pays says so (`loops`). Numba is imported only when something is compiled with it."""
    ir = lower_numba.llvm_ir(text) if text.startswith(NUMBA) else text
    return {"text": ir, "passes": 2, "slp": True, "closed": True, **TARGET}


def _ordered(text):
    """(keys of the kernels that a text calls, () -> its object code), ordered from now on. The parts of a kernel are kernels
    like others: compiled and cached once, whatever calls them."""
    if not is_together(text):
        return [], Order(request(text)).code
    share_out()
    texts, kernel = read_parts(text)
    parts, order = [address_of(part, "part") for part in texts], Order({"text": kernel, **TARGET, "level": 0})

    def code():
        for part in parts:
            if callable(part):
                part()
        return order.code()
    return [key_of(part) for part in texts], code


@once
def share_out():
    """The LowModule that launches parts; it may be compiled while Python goes on."""
    return LowModule(source_of(__file__, "horizontal_code"), {}, {}, "horizontal", level=0, ahead=True)


def load(code, symbol, symbols=types.MappingProxyType({})):
    """Link object code into the process; the address of its function `symbol`. symbols: addresses of what it calls"""
    engine = load_object(code, symbols, **TARGET)
    _engines.append(engine)
    return engine.get_function_address(symbol)


def _load(content, name, symbol):
    """The address of a function of what is cached; None where a part is gone."""
    keys, code = content.split(b"\n", 1)
    parts = [cached_address(key, name) for key in json.loads(keys)]
    if None in parts:
        return None
    symbols = {f"part{number}": address for number, address in enumerate(parts)}
    return load(code, symbol, symbols | {"share_out": share_out().address("share_out")} if parts else {})


def key_of(text):
    """The name under which the object code of a text is cached."""
    return hashlib.sha256(f"{VERSION}\n{machine_name()}\n{text}".encode()).hexdigest()


def address_of(text, name, symbol="kernel"):
    """The address of function `symbol` of a text that is known or on the disk, else a function that gives it: the text is
    compiled from now on, and waited for when that is called. name: for events
    """
    key = key_of(text)
    with _lock:
        if key not in _addresses and key not in _orders and cached_address(key, name, symbol) is None:
            _orders[key] = _ordered(text)
        return _addresses.get(key) or functools.partial(_compiled, key, name, symbol)


def _compiled(key, name, symbol):
    with _lock:
        if key not in _addresses:
            start = time.perf_counter()
            keys, make = _orders[key]
            try:
                content = json.dumps(keys).encode() + b"\n" + make()
            except LookupError as error:                     # the C library lacks a function
                raise InternalError(str(error)) from None
            if config.cache_dir:
                write_checked(_path(key), _MAGIC, content)
            _addresses[key] = _load(content, name, symbol)
            del _orders[key]
            events.emit("kernel_compile", name=name, key=key, seconds=time.perf_counter() - start)
        return _addresses[key]


def cached_address(key, name, symbol="kernel"):
    """The address of what is known or cached under a key; None if there is nothing."""
    with _lock:
        if key not in _addresses:
            start = time.perf_counter()
            content = read_checked(_path(key), _MAGIC) if config.cache_dir else None
            address = None if content is None else _load(content, name, symbol)
            if address is None:
                return None
            _addresses[key] = address
            events.emit("kernel_load", name=name, key=key, seconds=time.perf_counter() - start)
        return _addresses[key]


def forget():
    """Drop what the process knows (not the disk); loaded code stays valid."""
    with _lock:
        _addresses.clear()


def _path(key):
    return pathlib.Path(config.cache_dir) / f"kernels-{VERSION}" / key[:2] / f"{key}.o"
