"""LLVM IR -> object code, and nothing else: a module that a process of its own can run without importing mindlite.

    object_code({"text": "define i64 @f(i64 %x) { .. }", "passes": 2, "level": 2})  ->  bytes

As a program (`python object_code.py`) it reads requests from stdin and writes answers to stdout, in the same order, until
stdin ends; a frame is its length as a little-endian int64, then its bytes. A request is JSON, an answer begins with one
byte, 1 before object code and 0 before the text of an error. `ahead.py` is the other side.
"""
import functools
import json
import os
import struct
import sys
import threading

import llvmlite.binding as llvm

WORKERS_LEAVE_OUT = "-opt-disable=loop-load-elim"    # a pass that compares all stores of a loop: much time, no change
FEW = ("sroa", "simplify_cfg", "instruction_combine", "simplify_cfg", "new_gvn", "dead_store_elimination", "simplify_cfg")
LIBM = ("libm.so.6", "libm.dylib", "libm.so")
lock = threading.RLock()                         # LLVM works for one thread at a time


def _before_fork():
    """A process is forked while no thread is inside of LLVM: what that was about to change would stay as it is in the child."""
    lock.acquire()
    llvm.ffi.lib._lock.__enter__()                           # llvmlite's own: for finalizers, and other users


def _after_fork():
    llvm.ffi.lib._lock.__exit__(None, None, None)
    lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


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


def target_machine(level=2, reloc="default", codemodel="jitdefault"):
    """A new TargetMachine for this processor. level: of the code generator"""
    initialise()
    triple, cpu, features = processor()
    return llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, opt=level, reloc=reloc,
                                                                 codemodel=codemodel, jit=True)


def optimised(text, passes=0, slp=False, closed=False, **options):
    """(TargetMachine, module) of LLVM IR after the passes.

    passes  : level of LLVM's passes over the IR, 0 for none; "few" for code that calls and branches, of which a fifth of the work
              makes all there is to gain: FEW
    slp     : vectorise straight-line code too
    closed  : every other function that is declared must be one of this process
    options : those of `target_machine`
    raises  : RuntimeError where the text is wrong, LookupError where a function is missing
    """
    with lock:
        machine = target_machine(**options)
        module = llvm.parse_assembly(text)
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        module.verify()
        for function in module.functions if closed else ():     # LLVM would end the process where one is missing
            if function.is_declaration and not function.name.startswith("llvm.") and \
                    llvm.address_of_symbol(function.name) is None:
                raise LookupError(f"the C library of this machine has no function {function.name}")
        if passes:
            few = passes == "few" and hasattr(llvm.ModulePassManager, "add_sroa_pass")       # llvmlite has them from 0.45 on
            tuning = llvm.create_pipeline_tuning_options(speed_level=2 if passes == "few" else passes)
            tuning.slp_vectorization = slp
            builder = llvm.create_pass_builder(machine, tuning)
            manager = llvm.create_new_module_pass_manager() if few else builder.getModulePassManager()
            for name in FEW if few else ():
                getattr(manager, f"add_{name}_pass")()
            manager.run(module, builder)
        return machine, module


def object_code(request):
    """The bytes for a request: the arguments of `optimised` by name."""
    with lock:
        machine, module = optimised(**request)
        return machine.emit_object(module)


def serve(source, sink):
    """Answer requests until there are no more."""
    while head := source.read(8):
        request = json.loads(source.read(struct.unpack("<q", head)[0]))
        try:
            answer = b"\1" + object_code(request)
        except (RuntimeError, LookupError) as error:
            answer = b"\0" + str(error).encode()
        sink.write(struct.pack("<q", len(answer)) + answer)
        sink.flush()


if __name__ == "__main__":
    if llvm.llvm_version_info[0] >= 16:          # an option that LLVM does not know would end the process
        llvm.set_option("mindlite", WORKERS_LEAVE_OUT)       # for all of a process: it would slow down loops of Numba
    serve(sys.stdin.buffer, sys.stdout.buffer)
