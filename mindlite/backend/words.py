"""Memory as words of 64 bits, for who writes LLVM IR with llvmlite's IRBuilder: reading, writing, calls by name and by address.

    b = ir.IRBuilder(block);    write(b, args, 2, read(b, context, 5));    status = call_at(b, read(b, links, 3), args, 0, n)

An address is a word too. A Python int among the operands stands for the word.
"""
from llvmlite import ir

WORD, BIT, BYTE = (ir.IntType(bits) for bits in (64, 1, 8))
DOUBLE, POINTER, NOTHING = ir.DoubleType(), ir.PointerType(), ir.VoidType()


def word(value):
    """A value of LLVM as it is, an int as a word."""
    return ir.Constant(WORD, value) if isinstance(value, int) else value


def pointer_to(b, base, number):
    """The pointer to the word with a number, from the pointer or address `base` on."""
    if base.type is WORD:
        base = b.inttoptr(base, POINTER)
    return b.gep(base, [word(number)], source_etype=WORD) if number.__class__ is not int or number else base


def room(b, count, name=""):
    """A pointer to so many words on the stack."""
    made = b.alloca(WORD, word(count), name=name)
    made.align, made.type = 16, POINTER
    return made


def read(b, base, number, type_=None):
    """That word, or what it is as another type of 64 bits."""
    return b.load(pointer_to(b, base, number), typ=type_ or WORD)


def write(b, base, number, value):
    """That word becomes the value."""
    b.store(word(value), pointer_to(b, base, number))


def external(module, name, result, arguments):
    """A function that the module holds, or one from outside of such LLVM types."""
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(result, arguments), name)


def call(b, name, *args, result=None, attributes=()):
    """Call a function of the module or from outside: it takes what the args are.

    result : its LLVM type, a word's by default;   attributes: of the call, as LLVM names them
    """
    given = [word(a) for a in args]
    return b.call(external(b.module, name, result or WORD, [a.type for a in given]), given, attrs=attributes)


def call_at(b, address, *args):
    """Call the function at an address, which gives a word."""
    given = [word(a) for a in args]
    kind = ir.FunctionType(WORD, [a.type for a in given])
    return b.call(b.inttoptr(address, kind.as_pointer()), given)
