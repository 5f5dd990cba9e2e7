"""Object code into memory without LLVM: what LLVM writes for x86-64 Linux has few kinds of sections and relocations.

    loaded = load(code, c_address);    loaded.get_function_address("kernel")

    [ code, constants, stubs | writable data ]       one mapping; the first part becomes executable and read-only

A process that finds all its code on the disk needs LLVM for nothing else, and LLVM's Python package takes longer to import
than all this code to load. What is not met in our code (other formats and machines, thread-local data, other relocations,
functions that the C library lacks) is left to LLVM. Frames are not registered: no exception passes through this code.

Source: System V ABI, AMD64 supplement 1.0, section 4.4; ELF-64 object file format 1.5.
"""
import ctypes
import mmap
import platform
import struct
import sys

from ..common.once import once

HEADER, SECTION, SYMBOL, RELOCATION = (struct.Struct(f) for f in ("<16sHHIQQQIHHHHHH", "<IIQQQQIIQQ", "<IBBHQQ", "<QQq"))
RELOCATABLE, X86_64 = 1, 62
PROGBITS, SYMTAB, RELA, NOBITS, UNWIND = 1, 2, 4, 8, 0x70000001
WRITE, ALLOC, TLS = 1, 2, 0x400
ABSOLUTE_64, RELATIVE_32, CALL_32 = 1, 2, 4
UNDEFINED, FUNCTION, GLOBAL = 0, 2, 1
JUMP = b"\xff\x25\0\0\0\0"                             # jmp [rip + 0]: to the address that follows
STUB = 16                                              # bytes of it with the address
PAGE = mmap.PAGESIZE


class Loaded:
    """Code in memory, as long as this object lives. memory: the mapping; addresses: of its functions, by name"""

    def __init__(self, memory, addresses):
        self.memory, self.addresses = memory, addresses

    def get_function_address(self, name):
        """As LLVM's execution engine: 0 where there is none."""
        return self.addresses.get(name, 0)


class _Other(Exception):
    """Something that is left to LLVM."""


def load(code, find):
    """A Loaded of object code; None for what only LLVM can load.

    find   : name -> address of an external function; KeyError where there is none
    raises : OSError where the system gives no memory, or none that may be executed
    """
    protect = _mprotect()
    try:
        if protect is None or code[:7] != b"\x7fELF\x02\x01\x01" or HEADER.unpack_from(code)[1:3] != (RELOCATABLE, X86_64):
            return None
        file = _File(code, find)
    except (_Other, KeyError):
        return None
    memory = mmap.mmap(-1, file.size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    file.write(memory, base)
    if protect(base, file.executable, mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError(ctypes.get_errno(), "memory for machine code cannot be made executable")
    return Loaded(memory, {name: base + start for name, start in file.functions.items()})


@once
def _mprotect():
    """The system's function; None where object code has another form."""
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return None
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, use_errno=True)
    return prototype(("mprotect", ctypes.CDLL(None)))


class _File:
    """Object code, laid out: where everything stands in `size` bytes, of which `executable` are no data."""

    def __init__(self, code, find):
        head = HEADER.unpack_from(code)
        self.code, self.sections = code, [SECTION.unpack_from(code, head[6] + n * head[11]) for n in range(head[12])]
        symbols = next((s for s in self.sections if s[1] == SYMTAB), None)
        if symbols is None:
            raise _Other
        self.symbols = self.entries(SYMBOL, symbols)
        self.names = self.sections[symbols[6]][4]
        wanted = [n for n, s in enumerate(self.sections) if s[2] & ALLOC and s[1] != UNWIND]
        if any(self.sections[n][1] not in (PROGBITS, NOBITS) or self.sections[n][2] & TLS for n in wanted):
            raise _Other
        self.moves = [(s[7], *move) for s in self.sections if s[1] == RELA and s[7] in wanted
                      for move in self.entries(RELOCATION, s)]
        self.external = {number: find(self.name(number)) for number in dict.fromkeys(info >> 32 for _, _, info, _ in self.moves)
                         if self.symbols[number][3] == UNDEFINED}
        self.size = 0
        self.offsets: dict = {}
        self.lay_out(n for n in wanted if not self.sections[n][2] & WRITE)
        self.stubs = {number: -(-self.size // STUB) * STUB + k * STUB for k, number in enumerate(self.external)}
        self.executable = self.size = -(-(self.size + (1 + len(self.stubs)) * STUB) // PAGE) * PAGE
        self.lay_out(n for n in wanted if self.sections[n][2] & WRITE)
        self.functions = {self.name(n): self.offsets[s[3]] + s[4] for n, s in enumerate(self.symbols)
                          if s[1] == GLOBAL << 4 | FUNCTION and s[3] in self.offsets}
        if any(info & 0xffffffff not in ((ABSOLUTE_64, CALL_32) if info >> 32 in self.external else
                                         (ABSOLUTE_64, RELATIVE_32, CALL_32))
               or info >> 32 not in self.external and self.symbols[info >> 32][3] not in self.offsets
               for _, _, info, _ in self.moves):
            raise _Other

    def entries(self, form, section):
        """What stands in a section, entry by entry."""
        return [form.unpack_from(self.code, section[4] + at) for at in range(0, section[5], form.size)]

    def name(self, number):
        """The name of a symbol."""
        start = self.names + self.symbols[number][0]
        return self.code[start:self.code.index(b"\0", start)].decode()

    def lay_out(self, numbers):
        """Find offsets for sections, by their numbers."""
        for n in numbers:
            alignment = max(self.sections[n][8], 1)
            self.offsets[n] = -(-self.size // alignment) * alignment
            self.size = self.offsets[n] + self.sections[n][5]

    def write(self, memory, base):
        """Write it to memory that begins at the address `base`."""
        for n, start in self.offsets.items():
            section = self.sections[n]
            if section[1] == PROGBITS:
                memory[start:start + section[5]] = self.code[section[4]:section[4] + section[5]]
        for number, start in self.stubs.items():
            memory[start:start + STUB] = JUMP + struct.pack("<Qxx", self.external[number])
        for section, offset, info, addend in self.moves:
            number, kind, at = info >> 32, info & 0xffffffff, self.offsets[section] + offset
            symbol = self.symbols[number]
            near = self.stubs[number] if number in self.stubs else self.offsets[symbol[3]] + symbol[4]
            if kind == ABSOLUTE_64:
                target = self.external[number] if number in self.external else base + near
                struct.pack_into("<Q", memory, at, target + addend & 0xffffffffffffffff)
            else:
                struct.pack_into("<i", memory, at, near + addend - at)
