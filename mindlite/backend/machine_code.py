"""LLVM IR text -> machine code in this process, kept on disk where asked.

    module = compile_ir("define i64 @f(i64 %x) { ret i64 %x }");   module.address("f")

External names are given as {name: address}. With keep=True the object code goes to `config.cache_dir`, under a key of
the text, LLVM's version and the CPU, so that a later process compiles nothing. A text that some facts decide is not even
written there: `compile_made` keeps the name of the object code under a key of the facts and of the sources that write
the text. A kept file that does not read is rebuilt, and a warning says so.
"""
import ctypes
import functools
import hashlib
import json
import pathlib
import sys
import threading
import warnings

import llvmlite
import llvmlite.binding as llvm

from ..common.config import config
from ..common.events import emit
from ..common.files import replacing
from ..common.sources import sources_hash

LIBM = ("libm.so.6", "libm.dylib", "libm.so")
_lock = threading.RLock()
_MAGIC = b"mindlite-object-1\n"


@functools.lru_cache(maxsize=None)
def initialise():
    """Make LLVM ready for this processor, and libm's functions known to it, once."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for library in LIBM:
        try:
            llvm.load_library_permanently(library)
        except RuntimeError:                     # it has another name here, or is part of the C library
            continue


@functools.lru_cache(maxsize=None)
def processor():
    """(triple, the processor's name, its features), as LLVM knows them."""
    return llvm.get_default_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@functools.lru_cache(maxsize=None)
def machine_name():
    """What object code depends on besides the IR: triple, processor, its features, llvmlite, LLVM."""
    return " ".join((*processor(), llvmlite.__version__, ".".join(map(str, llvm.llvm_version_info))))


def target_machine(**options):
    """A new TargetMachine for this processor; options: as llvmlite has them."""
    initialise()
    triple, cpu, features = processor()
    return llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, jit=True, **options)


def load_object(code, machine):
    """An execution engine with object code and nothing else in it."""
    empty = llvm.parse_assembly("")
    engine = llvm.create_mcjit_compiler(empty, machine)
    engine.remove_module(empty)                  # or LLVM would compile it: more work than loading the code
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


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
    path = _place(_object_file(text, passes, level, name)) if keep and config.cache_dir else None
    found = _load(path, symbols, level, name) if path is not None else None
    if found is not None:
        return found
    with _lock:
        _define(symbols)
        machine = _target_machine(level)
        module = llvm.parse_assembly(text)
        module.triple = llvm.get_default_triple()
        module.verify()
        if passes:
            tuning = llvm.create_pipeline_tuning_options(speed_level=passes)
            builder = llvm.create_pass_builder(machine, tuning)
            builder.getModulePassManager().run(module, builder)
        if path is None:
            engine = llvm.create_mcjit_compiler(module, machine)
            engine.finalize_object()
        else:
            code = machine.emit_object(module)
            _write(path, code)
            engine = load_object(code, machine)
        emit("flow_compile", name=name)
        return MachineCode(engine)


def compile_made(facts, make, address_of, *, passes=0, level=2):
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
        path = _place(f"{hashlib.sha256(key.encode()).hexdigest()[:40]}.made")
        note = _read(path)
        if note is not None:
            name, file, symbols = json.loads(note)
            found = _load(_place(file), {symbol: address_of(symbol) for symbol in symbols}, level, name)
            if found is not None:
                return name, found
    name, text, symbols = make()
    code = compile_ir(text, {symbol: address_of(symbol) for symbol in symbols}, passes=passes, level=level, keep=True,
                      name=name)
    if path is not None:
        _write(path, json.dumps([name, _object_file(text, passes, level, name), sorted(symbols)]).encode())
    return name, code


def _target_machine(level):
    return target_machine(opt=level, codemodel="jitdefault")


def _define(symbols):
    for symbol, address in (symbols or {}).items():
        llvm.add_symbol(symbol, address)


def _load(path, symbols, level, name):
    """The MachineCode in a file, None if there is none."""
    code = _read(path)
    if code is None:
        return None
    with _lock:
        _define(symbols)
        engine = load_object(code, _target_machine(level))
    emit("flow_load", name=name)
    return MachineCode(engine)


def _object_file(text, passes, level, name):
    """The name of the file for the object code of a text."""
    key = "\n".join([text, str(passes), str(level), machine_name()])
    return f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:32]}.o"


def _place(file):
    return pathlib.Path(config.cache_dir) / "flow" / file


def _read(path):
    """What `_write` wrote; None where there is nothing, or something damaged."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    head = len(_MAGIC) + 32
    if data[:len(_MAGIC)] == _MAGIC and hashlib.sha256(data[head:]).digest() == data[len(_MAGIC):head]:
        return data[head:]
    warnings.warn(f"the kept code in {path} is damaged; it is made anew", RuntimeWarning, stacklevel=3)
    return None


def _write(path, code):
    """Write bytes after their checksum."""
    try:
        with replacing(path, durable=False) as file:
            file.write(_MAGIC + hashlib.sha256(code).digest() + code)
    except OSError as error:
        warnings.warn(f"compiled code is not kept: {error}", RuntimeWarning, stacklevel=3)


@functools.lru_cache(maxsize=None)
def c_address(name):
    """The address of a function of the C library or its mathematical part; KeyError if there is none."""
    for library in ("msvcrt",) if sys.platform == "win32" else (None, *LIBM):
        try:
            return ctypes.cast(getattr(ctypes.CDLL(library), name), ctypes.c_void_p).value
        except (OSError, AttributeError):
            continue
    raise KeyError(name)
