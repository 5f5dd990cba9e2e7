"""LLVM IR text -> machine code in this process, cached on disk where asked.

    module = compile_ir("define i64 @f(i64 %x) { ret i64 %x }");   module.address("f")

External names are given as {name: address}. With keep=True the object code goes to `config.cache_dir`, under a key of
the text, LLVM's version and the CPU, so that a later process compiles nothing. A text that some facts decide is not even
written there: `compile_made` keeps the name of the object code under a key of the facts and of the sources that write
the text. A cached file that does not read is rebuilt, and a warning says so.
"""
import ctypes
import functools
import importlib.util
import json
import os
import platform
import sys

from ..common.config import config
from ..common.events import emit
from ..common.files import read_checked, write_checked
from ..common.lazy import LazyModule
from ..common.locks import new_lock
from ..common.sources import sources_hash
from . import elf
from .ahead import Order

_MAGIC = b"mindlite-object-1\n"
PROCESSOR = ("vendor_id", "cpu family", "model", "stepping", "flags")      # lines of /proc/cpuinfo
llvmlite, llvm, object_code = LazyModule("llvmlite"), LazyModule("llvmlite.binding"), LazyModule("mindlite.backend.object_code")
pathlib, hashlib = LazyModule("pathlib"), LazyModule("hashlib")


@functools.lru_cache(maxsize=None)
def machine_name():
    """What object code depends on besides the IR: triple, processor, its features, llvmlite, LLVM.

    LLVM is asked once for what `_signs` tells apart; a later process finds the answer on the disk and does not import it.
    """
    signs = _signs() if config.cache_dir else None
    path = signs and _path_of(f"{hashlib.sha256(signs.encode()).hexdigest()[:40]}.machine")
    found = path and read_checked(path, _MAGIC)
    if found:
        return found.decode()
    name = " ".join((*object_code.processor(), llvmlite.__version__, ".".join(map(str, llvm.llvm_version_info))))
    if path:
        write_checked(path, _MAGIC, name.encode())
    return name


@functools.lru_cache(maxsize=None)
def host_features():
    """The CPU's features that LLVM knows: {"avx2": True, ...}; empty where the host cannot tell."""
    return {feature[1:]: feature[0] == "+" for feature in machine_name().split(" ")[2].split(",") if feature}


def _signs():
    """The first processor as the system describes it, and which files llvmlite is; None where the system does not."""
    try:
        with open("/proc/cpuinfo") as file:
            processor = [line for line in iter(file.readline, "\n") if line.startswith(PROCESSOR)]
    except OSError:
        return None
    found = importlib.util.find_spec("llvmlite")
    if not any(line.startswith("flags") for line in processor) or found is None or found.origin is None:
        return None
    folder = os.path.dirname(found.origin)
    files = [os.path.join(folder, "_version.py"), *(entry.path for entry in os.scandir(os.path.join(folder, "binding"))
                                                    if "llvmlite" in entry.name)]
    facts = [(path, at.st_size, at.st_mtime_ns, at.st_ino) for path in sorted(files) for at in (os.stat(path),)]
    return "\n".join((platform.machine(), *processor, *map(repr, facts)))


def load_object(code, symbols, **target):
    """An engine with object code in it and nothing else: where its functions are, `get_function_address` says.

    symbols : {external name: address}; others are C's
    target  : options of `object_code.target_machine`, for LLVM, which loads what `elf` does not
    """
    return elf.load(code, lambda name: symbols.get(name) or c_address(name)) or _loaded_by_llvm(code, symbols, target)


def _loaded_by_llvm(code, symbols, target):
    with object_code.lock:
        for name, address in symbols.items():
            llvm.add_symbol(name, address)
        empty = llvm.parse_assembly("")
        engine = llvm.create_mcjit_compiler(empty, object_code.target_machine(**target))
        engine.remove_module(empty)              # or LLVM would compile it: more work than loading the code
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return engine


class MachineCode:
    """Code that is loaded when it is asked for first; it lives as long as this object.

    load : () -> an execution engine
    file : the name of the object code on the disk; None where it is not cached
    """

    def __init__(self, load, file=None):
        self._make, self._engine, self._lock, self.file = load, None, new_lock(), file

    @property
    def engine(self):
        """The execution engine, with the code in it."""
        with self._lock:
            if self._engine is None:
                self._engine, self._make = self._make(), None
            return self._engine

    def load(self):
        """Load it now."""
        return self.engine

    def address(self, name):
        """The address of the function `name`; KeyError if there is none."""
        found = self.engine.get_function_address(name)
        if not found:
            raise KeyError(name)
        return found


def compile_ir(text, symbols=None, *, passes=0, level=2, keep=False, name="module", ahead=False):
    """Compile LLVM IR: a MachineCode.

    symbols : {external name: address}, or a function that makes it when the code is loaded
    passes  : level of the passes over the IR, 0 for none; level: of the code generator
    keep    : take the code from the disk, or put it there
    ahead   : it may be compiled while Python goes on (`ahead`), and is loaded when it is asked for; an error comes then
    raises  : RuntimeError from LLVM if the text is wrong
    """
    file = _object_file(text, passes, level, name) if keep and config.cache_dir else None
    made = None if file is None else cached_code(file, symbols, level=level, name=name)
    if made is None:
        order, path = Order({"text": text, "passes": passes, "level": level}), None if file is None else _path_of(file)

        def load():
            code = order.code()
            if path is not None:
                write_checked(path, _MAGIC, code)
            emit("flow_compile", name=name)
            return _linked(code, symbols, level)
        made = MachineCode(load, file)
    if not ahead:
        made.load()
    return made


def compile_made(facts, make, address_of, *, passes=0, level=2, ahead=False):
    """(name, MachineCode) of a text that `facts` decide: what `compile_ir` gives, but where the disk has the code the
    text is not made.

    facts      : strings, numbers and tuples of them; with the sources of mindlite's `common` and `backend` they decide
                 the text, its name and its symbols
    make       : () -> (name, text, external names)
    address_of : external name -> address
    """
    path = None
    if config.cache_dir:
        key = repr((sources_hash("common", "backend"), machine_name(), facts, passes, level))
        path = _path_of(f"{hashlib.sha256(key.encode()).hexdigest()[:40]}.made")
        note = read_checked(path, _MAGIC)
        if note is not None:
            name, file, names = json.loads(note)
            found = cached_code(file, _addresses(names, address_of), level=level, name=name)
            if found is not None:
                return name, found
    name, text, names = make()
    code = compile_ir(text, _addresses(names, address_of), passes=passes, level=level, keep=True, name=name, ahead=ahead)
    if path is not None:
        write_checked(path, _MAGIC, json.dumps([name, _object_file(text, passes, level, name), sorted(names)]).encode())
    return name, code


def _addresses(names, address_of):
    return lambda: {name: address_of(name) for name in names}


def _linked(code, symbols, level):
    """An engine with object code that calls functions at these addresses."""
    return load_object(code, symbols() if callable(symbols) else symbols or {}, level=level)


def cached_code(file, symbols, *, level=2, name="module"):
    """The MachineCode that `compile_ir` has cached as `file`, None if it is gone; symbols, level, name: as there."""
    code = read_checked(_path_of(file), _MAGIC) if config.cache_dir else None
    if code is None:
        return None

    def load():
        emit("flow_load", name=name)
        return _linked(code, symbols, level)
    return MachineCode(load, file)


def _object_file(text, passes, level, name):
    """The name of the file for the object code of a text."""
    key = "\n".join([text, str(passes), str(level), machine_name()])
    return f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:32]}.o"


def _path_of(file):
    return pathlib.Path(config.cache_dir) / "flow" / file


def _c_libraries():
    """Where C's functions may be: None is the process itself."""
    if sys.platform == "win32":
        yield "msvcrt"
    else:
        yield None
        yield from object_code.LIBM


@functools.lru_cache(maxsize=None)
def c_address(name):
    """The address of a function of the C library or its mathematical part; KeyError if there is none."""
    for library in _c_libraries():
        try:
            return ctypes.cast(getattr(ctypes.CDLL(library), name), ctypes.c_void_p).value
        except (OSError, AttributeError):
            continue
    raise KeyError(name)
