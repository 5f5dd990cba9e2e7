"""LLVM IR text -> object code -> address. Nothing here knows kernels; nothing needs Numba or a C compiler.

Object code is made for the processor that runs (`machine_name` in `backend.machine_code`); libm's functions are found
in the process.
"""
import threading

import llvmlite.binding as llvm

from ..backend.machine_code import load_object, target_machine
from ..common.errors import InternalError

_lock = threading.RLock()
_engines = []                                   # the owners of loaded code: addresses stay valid for the process


def _target_machine():
    return target_machine(opt=3, reloc="pic", codemodel="default")


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


def load(code, name):
    """Link object code into the process; the address of its function `name`."""
    with _lock:
        engine = load_object(code, _target_machine())
        _engines.append(engine)
        return engine.get_function_address(name)
