"""What the library kernels of a GPU are written with: a part, its threads, arrays in the memory of the device and of a block."""
import contextlib

from llvmlite import ir

from ..cpu.native import I64, VOID, Array, Code, Module, Value, compute_type
from ..target import current

GLOBAL, SHARED = ir.PointerType(addrspace=1), 3


class GlobalArray(Array):
    """Elements in the memory of the device."""

    def __init__(self, code, dtype, address):
        super().__init__(code, dtype, address)
        self.pointer = code.builder.inttoptr(address.ir, GLOBAL)

    def at(self, index):
        """The array that begins at element `index`."""
        return GlobalArray(self.code, self.dtype, self.address + index * self.dtype.itemsize)


class SharedArray(Array):
    """Numbers that the threads of a block share."""

    def __init__(self, code, dtype, start):
        self.code, self.dtype, self.stored = code, dtype, compute_type(dtype)
        first = code.builder.gep(code.shared, [I64(0), I64(start)])
        self.pointer = code.builder.bitcast(first, self.stored.as_pointer(SHARED))

    def _pointer_at(self, index):
        return self.code.builder.gep(self.pointer, [self.code.lift(index, I64).ir])

    def __getitem__(self, index):
        return Value(self.code, self.code.builder.load(self._pointer_at(index), typ=self.stored))

    def __setitem__(self, index, value):
        self.code.builder.store(self.code.lift(value, self.stored).ir, self._pointer_at(index))


class Threads(Code):
    """A part being written. block: which; words: what the kernel is given; thread, threads: Values"""

    def __init__(self, module, function):
        super().__init__(module, function)
        self.block, *self.words = self.parameters
        self.thread, self.threads = (self.call(module.rules[name]) for name in ("thread", "threads"))
        self.shared, self.shared_bytes = module.shared, 0

    def array(self, dtype, address):
        """The elements at an address of the device."""
        return GlobalArray(self, dtype, address)

    def share(self, dtype, count):
        """Room for numbers that the threads of the block share."""
        start = self.shared_bytes
        self.shared_bytes += -(-count * (8 if dtype.itemsize == 8 else 4) // 16) * 16
        return SharedArray(self, dtype, start)

    def barrier(self):
        """Wait for all threads of the block."""
        self.call(self.module.rules["barrier"])


class Parts(Module):
    """A module with `part` and `blocks`."""

    def __init__(self, name, words):
        super().__init__(name, current())
        self.words, self.shared_bytes = words, 0
        self.rules = {rule: ir.Function(self.ir, ir.FunctionType(result, []), rule)
                      for rule, result in (("thread", I64), ("threads", I64), ("barrier", VOID))}
        self.shared = ir.GlobalVariable(self.ir, ir.ArrayType(ir.IntType(8), 0), "shared", addrspace=SHARED)
        self.shared.linkage = "external"

    @contextlib.contextmanager
    def part(self, inlined=False):
        """The work of one block. inlined: as part of the kernel, however large"""
        made = ir.Function(self.ir, ir.FunctionType(VOID, [I64] * (self.words + 1)), "part")
        if inlined:
            made.attributes.add("alwaysinline")
        code = Threads(self, made)
        yield code
        code.give()
        with code.builder.goto_block(code.entry):
            code.builder.branch(made.blocks[1])
        self.shared_bytes = code.shared_bytes

    def blocks(self, count):
        """How many blocks there are: count(f, words) -> Value."""
        with self.function("blocks", [I64] * self.words, I64) as f:
            f.give(count(f, f.parameters))

    def items(self, count):
        """A thread for each item: count(f, words) -> how many."""
        threads = self.rules["threads"]
        self.blocks(lambda f, words: (count(f, words) + f.call(threads) - 1) // f.call(threads))

    def finished(self):
        """The text of the part."""
        lines = [line for line in self.text().split("\n") if not line.startswith("target ")]
        return f"; shared {self.shared_bytes}\n" + "\n".join(lines)
