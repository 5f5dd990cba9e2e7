"""Object code that is made once: in the process by hash, on disk across processes.

A text is LLVM IR, several of them (`together`), or Python for Numba (`lower_numba`); `compile_text` knows them apart.
The key is the SHA-256 of the text and of everything else that object code depends on (processor and features, LLVM,
llvmlite, how it is optimised). A new version of mindlite that emits other IR cannot meet an old file; a Python text
says in its first line which Numba and which emitters give it its meaning.

    <cache_dir>/kernels-1/3f/3f9c...o      =  magic, SHA-256 of the code, the code

A file is written under another name and renamed, so readers never see half of one; a file that fails its checksum is
told of (`warnings`) and made again. Events: kernel_compile, kernel_load (from disk), each with name and seconds.
"""
import hashlib
import importlib
import os
import pathlib
import struct
import subprocess
import sys
import threading
import time
import warnings

from ..backend.machine_code import machine_name
from ..common import events
from ..common.config import config
from ..common.errors import InternalError
from ..common.files import replacing
from . import machine_code
from .together import is_together, modules_of

VERSION = 1
_MAGIC = b"mindlite kernel 1\n"
WORKER_PAYS = 16                                # kernels from which on worker processes are worth their start
NUMBA = "# numba "                              # how a text for Numba begins
_addresses = {}
_lock = threading.RLock()


def compile_text(text):
    """Object code (bytes) of a text. Numba is imported only when something is compiled with it."""
    if is_together(text):
        return machine_code.compile_object(*modules_of(text))
    if text.startswith(NUMBA):
        return importlib.import_module(".lower_numba", __package__).compile_object(text)
    return machine_code.compile_object(text)


def key_of(text):
    """The name under which the object code of a text is kept."""
    return hashlib.sha256(f"{VERSION}\n{machine_name()}\n{text}".encode()).hexdigest()


def address_of(text, name, symbol="kernel"):
    """The address of function `symbol` of a text: known, loaded from disk, or compiled. name: for events."""
    key = key_of(text)
    with _lock:
        if key not in _addresses:
            start = time.perf_counter()
            code, event = _read(key), "kernel_load"
            if code is None:
                code, event = compile_text(text), "kernel_compile"
                _write(key, code)
            _addresses[key] = machine_code.load(code, symbol)
            events.emit(event, name=name, key=key, seconds=time.perf_counter() - start)
        return _addresses[key]


def kept_address(key, name, symbol="kernel"):
    """The address of what is known or kept under a key; None if there is nothing."""
    with _lock:
        if key not in _addresses:
            start = time.perf_counter()
            code = _read(key)
            if code is None:
                return None
            _addresses[key] = machine_code.load(code, symbol)
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


def compile_many(texts, name="kernel", symbol="kernel", workers=None):
    """The addresses of many texts; those that are in no cache are compiled in worker processes where that pays.

    workers: number of processes; None for as many as there are cores, and none below WORKER_PAYS new kernels.
    A worker is `python -m mindlite.graph_kernel.compile_worker`, which reads texts and writes object code: it never
    imports the caller's main module, so this works from `python -c`, a prompt and a test.
    """
    missing = {}
    for text in texts:
        key = key_of(text)
        with _lock:
            known = key in _addresses
        if not known and _read(key) is None:
            missing[key] = text
    if workers is None:
        workers = min(os.cpu_count() or 1, len(missing) // (WORKER_PAYS // 2)) if len(missing) >= WORKER_PAYS else 0
    if workers > 1 and missing:
        keys = list(missing)
        processes = [(part, _start_worker()) for part in (keys[k::workers] for k in range(workers)) if part]
        readers = []
        for part, process in processes:
            data = b"".join(_frame(missing[key].encode()) for key in part)
            reader = threading.Thread(target=_converse, args=(process, data, part, symbol, name))
            reader.start()
            readers.append(reader)
        for reader in readers:
            reader.join()
        failed = [process.returncode for _, process in processes if process.returncode]
        if failed:
            raise InternalError(f"a compile worker ended with status {failed[0]}")
    return [address_of(text, name, symbol) for text in texts]


def _start_worker():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(pathlib.Path(__file__).parents[2]), *sys.path])}
    return subprocess.Popen([sys.executable, "-m", "mindlite.graph_kernel.compile_worker"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, env=environment)


def _converse(process, data, keys, symbol, name):
    """Send all texts, load the objects that come back."""
    start = time.perf_counter()
    output, _ = process.communicate(data)
    position = 0
    for key in keys:
        if position >= len(output):
            return                                            # the worker failed: its status is looked at above
        length, = struct.unpack_from("<q", output, position)
        code = output[position + 8:position + 8 + length]
        position += 8 + length
        _write(key, code)
        with _lock:
            if key not in _addresses:
                _addresses[key] = machine_code.load(code, symbol)
        events.emit("kernel_compile", name=name, key=key, seconds=(time.perf_counter() - start) / len(keys))


def _frame(data):
    return struct.pack("<q", len(data)) + data
