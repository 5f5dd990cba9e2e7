"""Loops that count, and hints for LLVM, as metadata of the branch to its head.

    with counted_loop(builder, start, stop, step, "few") as i: ..
"""
import contextlib

from llvmlite import ir

WIDTH = "llvm.loop.vectorize.width"
INTERLEAVE, VECTORIZE, UNROLL = "llvm.loop.interleave.count", "llvm.loop.vectorize.enable", "llvm.loop.unroll.disable"
UNROLL_ALL, PARALLEL = "llvm.loop.unroll.full", "llvm.loop.parallel_accesses"
ITERATIONS = {
    "few": ((INTERLEAVE, ir.IntType(32)(1)),),           # one vector an iteration: with four, rows of 28 would stay scalar
    "heavy": ((INTERLEAVE, ir.IntType(32)(4)),),         # four: they wait for one another less, constants are read once
    "literal": ((UNROLL_ALL,),),                         # vectors are made of its neighbours
    "written": ((UNROLL,),),                             # its vectors are written as they shall be
    "around": ((VECTORIZE, ir.IntType(1)(0)),),          # a literal loop over neighbours is in it, whose copies become vectors
    "rare": ((VECTORIZE, ir.IntType(1)(0)), (UNROLL,)),  # less to compile
}


class AccessGroup(ir.values.MDValue):
    """A node that stands for the loads and stores that have it as their "llvm.access.group"."""

    def __init__(self, module):
        super().__init__(module, (), str(len(module.metadata)))

    def descr(self, buf):
        """Write it: no other one is the same."""
        buf.append("distinct !{ }\n")


def both(builder, a, b):
    """a and b; a constant `a` is true."""
    return b if isinstance(a, ir.Constant) else builder.and_(a, b)


def loop_hint(module, iterations, apart=None):
    """A new node for a loop of an `ir.Module`.

    iterations : a key of ITERATIONS; or a number: vectors of so many elements, two at a time, whatever the processor has. So wide
                 are loops that add up: their result depends on it. (VECTORIZE would do no more, but LLVM would tell on stderr of
                 loops of which it makes no vectors.)
    apart      : an AccessGroup: no iteration reads or writes there what another one writes. LLVM, told so of a loop of which it
                 makes no vectors, does not compare its loads and stores pair by pair: a third of all passes in a UNet's kernels
    """
    facts = ITERATIONS[iterations] if isinstance(iterations, str) else \
        ((WIDTH, ir.IntType(32)(iterations)), (INTERLEAVE, ir.IntType(32)(2)))
    hints = [module.add_metadata([ir.MetaDataString(module, name), *values]) for name, *values in facts]
    if apart is not None and (VECTORIZE, ir.IntType(1)(0)) in facts:
        hints.append(module.add_metadata([ir.MetaDataString(module, PARALLEL), apart]))
    node = ir.values.MDValue(module, hints, name=str(len(module.metadata)))
    node.operands = (node, *hints)                        # a loop's node begins with itself
    return node


def _calls_outside(function, body):
    """True if a function of a library is called from `body` on: no vectors are made of such a loop, and LLVM would tell."""
    blocks = function.blocks[function.blocks.index(body):]
    called = [i.callee for block in blocks for i in block.instructions if isinstance(i, ir.CallInstr)]
    return any(isinstance(f, ir.Function) and f.is_declaration and not f.name.startswith("llvm.") for f in called)


@contextlib.contextmanager
def counted_loop(b, start, stop, step, iterations=None, apart=None):
    """for i in range(start, stop, step), step > 0, where an IRBuilder stands: yields i.

    start, stop, step : LLVM values of 64 bits
    iterations        : a hint for LLVM, as for `loop_hint`, None for nothing; or a function, asked when the body is written
    apart             : as for `loop_hint`
    """
    before = b.block
    head, body, after = (b.append_basic_block(n) for n in ("head", "loop", "after"))
    b.branch(head)
    b.position_at_end(head)
    i = b.phi(start.type)
    i.add_incoming(start, before)
    b.cbranch(b.icmp_signed("<", i, stop), body, after)
    b.position_at_end(body)
    yield i
    i.add_incoming(b.add(i, step, flags=("nsw",)), b.block)
    back, hint = b.branch(head), iterations() if callable(iterations) else iterations
    if hint is not None and not (isinstance(hint, int) and _calls_outside(b.function, body)):
        back.set_metadata("llvm.loop", loop_hint(b.module, hint, apart))
    b.position_at_end(after)
