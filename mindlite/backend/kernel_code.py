"""LLVM IR text -> object code -> address, as kernels want it. Nothing here knows kernels; nothing needs Numba or a C compiler.

Object code is made for the processor that runs (`machine_name` in `backend.machine_code`); libm's functions are found
in the process.
"""
from ..common.errors import InternalError
from ..common.lazy import LazyModule
from .ahead import Order
from .machine_code import load_object

object_code = LazyModule("mindlite.backend.object_code")
TARGET = {"level": 2, "reloc": "pic", "codemodel": "default"}
_engines: list = []                             # the owners of loaded code: addresses stay valid for the process


def request(text, parts=None):
    """What is asked for: LLVM's O2 pipeline with loop and SLP vectorisation. O3 takes twice as long and unrolls what pays
    nothing; what pays says so (`loops`).

    parts : {name of a function that it declares: the IR text that defines it}
    """
    return {"text": text, "parts": parts or {}, "passes": 2, "slp": True, "closed": True, **TARGET}


class Ordered:
    """Object code that is being made, here or in another process; `code()` waits for it."""

    def __init__(self, text, parts=None):
        self.order = Order(request(text, parts))

    def code(self):
        """The bytes. raises : InternalError where the C library lacks a function"""
        try:
            return self.order.code()
        except LookupError as error:
            raise InternalError(str(error)) from None


def optimise(text):
    """(TargetMachine, LLVM module) of an IR text after the passes."""
    return object_code.optimised(**request(text))


def assembly(text):
    """The assembly of an IR text, to be read."""
    with object_code.lock:
        machine, module = optimise(text)
        return machine.emit_assembly(module)


def load(code, name):
    """Link object code into the process; the address of its function `name`."""
    engine = load_object(code, {}, **TARGET)
    _engines.append(engine)
    return engine.get_function_address(name)
