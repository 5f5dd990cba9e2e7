"""LLVM IR text -> machine code in this process, kept on disk where asked.

    module = compile_ir("define i64 @f(i64 %x) { ret i64 %x }");   module.address("f")

External names are given as {name: address}. With keep=True the object code goes to `config.cache_dir`, under a key of
the text, LLVM's version and the CPU, so that a later process compiles nothing. A kept file that does not read is
rebuilt, and a warning says so.
"""
import ctypes
import functools
import hashlib
import pathlib
import sys
import threading
import warnings

import llvmlite
import llvmlite.binding as llvm

from ..common.config import config
from ..common.events import emit
from ..common.files import replacing

_lock = threading.Lock()
_MAGIC = b"mindlite-object-1\n"


@functools.lru_cache(maxsize=None)
def _initialize():
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@functools.lru_cache(maxsize=None)
def _cpu():
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def _target_machine(level):
    _initialize()
    cpu, features = _cpu()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=features, opt=level, jit=True, codemodel="jitdefault")


class MachineCode:
    """Loaded code; it lives as long as this object. `address(name)` is a function's address."""

    def __init__(self, engine, keep=()):
        self.engine, self.keep = engine, keep

    def address(self, name):
        """The address of the function `name`; KeyError if there is none."""
        found = self.engine.get_function_address(name)
        if not found:
            raise KeyError(name)
        return found


def compile_ir(text, symbols=None, *, passes=0, level=2, keep=False, name="module"):
    """Compile LLVM IR.

    symbols : {external name: address}
    passes  : level of the passes over the IR, 0 for none; level: of the code generator
    keep    : take the code from the disk, or put it there
    raises  : RuntimeError from LLVM if the text is wrong
    """
    with _lock:
        for symbol, address in (symbols or {}).items():
            llvm.add_symbol(symbol, address)
        machine = _target_machine(level)
        path = _path(text, passes, level, name) if keep and config.cache_dir else None
        code = _read(path) if path is not None and path.exists() else None
        module = llvm.parse_assembly("" if code is not None else text)
        module.triple = llvm.get_default_triple()
        if code is None:
            module.verify()
            if passes:
                tuning = llvm.create_pipeline_tuning_options(speed_level=passes)
                builder = llvm.create_pass_builder(machine, tuning)
                builder.getModulePassManager().run(module, builder)
            if path is not None:
                code = machine.emit_object(module)
                _write(path, code)
                module = llvm.parse_assembly("")
                module.triple = llvm.get_default_triple()
            emit("flow_compile", name=name)
        else:
            emit("flow_load", name=name)
        engine = llvm.create_mcjit_compiler(module, machine)
        if code is not None:
            engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return MachineCode(engine)


def _path(text, passes, level, name):
    key = "\n".join([text, str(passes), str(level), llvmlite.__version__, str(llvm.llvm_version_info), *_cpu(),
                     llvm.get_default_triple()])
    return pathlib.Path(config.cache_dir) / "flow" / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:32]}.o"


def _read(path):
    data = path.read_bytes()
    head = len(_MAGIC) + 32
    if data[:len(_MAGIC)] == _MAGIC and hashlib.sha256(data[head:]).digest() == data[len(_MAGIC):head]:
        return data[head:]
    warnings.warn(f"the kept code in {path} is damaged; it is made anew", RuntimeWarning, stacklevel=3)
    return None


def _write(path, code):
    try:
        with replacing(path, durable=False) as file:
            file.write(_MAGIC + hashlib.sha256(code).digest() + code)
    except OSError as error:
        warnings.warn(f"compiled code is not kept: {error}", RuntimeWarning, stacklevel=3)


@functools.lru_cache(maxsize=None)
def c_address(name):
    """The address of a function of the C library or its mathematical part; KeyError if there is none."""
    libraries = ("msvcrt",) if sys.platform == "win32" else (None, "libm.so.6", "libm.dylib", "libm.so")
    for library in libraries:
        try:
            return ctypes.cast(getattr(ctypes.CDLL(library), name), ctypes.c_void_p).value
        except (OSError, AttributeError):
            continue
    raise KeyError(name)
