"""LLVM IR text -> object code -> address. Nothing here knows kernels; nothing needs Numba or a C compiler.

Object code is made for the processor that runs (`machine_name` says which); libm's functions are found in the process.
"""
import ctypes.util
import functools
import threading

import llvmlite
import llvmlite.binding as llvm

from ..common.errors import InternalError

_lock = threading.RLock()
_engines = []                                   # the owners of loaded code: addresses stay valid for the process


@functools.lru_cache(maxsize=None)
def _initialise():
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    library = ctypes.util.find_library("m")
    if library is not None:                     # elsewhere libm is part of the C library, which every process holds
        llvm.load_library_permanently(library)
    return True


def _target_machine():
    _initialise()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=_features(), opt=3, reloc="pic", codemodel="default", jit=True)


@functools.lru_cache(maxsize=None)
def _features():
    return llvm.get_host_cpu_features().flatten()


@functools.lru_cache(maxsize=None)
def machine_name():
    """What object code depends on besides the IR: triple, processor, its features, llvmlite, LLVM."""
    return " ".join((llvm.get_default_triple(), llvm.get_host_cpu_name(), _features(), llvmlite.__version__,
                     ".".join(map(str, llvm.llvm_version_info))))


def optimise(text, parts=None):
    """The LLVM module of an IR text after LLVM's O3 pipeline with loop and SLP vectorisation.

    parts : {name of a function that it declares: the IR text that defines it}
    """
    with _lock:
        machine = _target_machine()
        module = llvm.parse_assembly(text)
        for part in (parts or {}).values():
            module.link_in(llvm.parse_assembly(part))
        for name in parts or ():
            module.get_function(name).linkage = llvm.Linkage.internal
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        module.verify()
        for function in module.functions:               # LLVM would end the process where one is missing
            if function.is_declaration and not function.name.startswith("llvm.") and \
                    llvm.address_of_symbol(function.name) is None:
                raise InternalError(f"the C library of this machine has no function {function.name}")
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = options.slp_vectorization = True
        options.loop_interleaving = options.loop_unrolling = True
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        return machine, module


def compile_object(text, parts=None):
    """Object code (bytes) of an IR text; parts: as `optimise` has them."""
    with _lock:
        machine, module = optimise(text, parts)
        return machine.emit_object(module)


def assembly(text):
    """The assembly of an IR text, to be read."""
    with _lock:
        machine, module = optimise(text)
        return machine.emit_assembly(module)


def load_object(code, name):
    """Link object code into the process; the address of its function `name`."""
    with _lock:
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        address = engine.get_function_address(name)
        _engines.append(engine)
        return address
