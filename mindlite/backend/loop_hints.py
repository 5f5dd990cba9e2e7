"""What LLVM is told of a loop, as metadata of the branch to its head.

    back.set_metadata("llvm.loop", loop_hint(module, "few"))
"""
from llvmlite import ir

WIDTH = "llvm.loop.vectorize.width"
INTERLEAVE, VECTORIZE, UNROLL = "llvm.loop.interleave.count", "llvm.loop.vectorize.enable", "llvm.loop.unroll.disable"
UNROLL_ALL = "llvm.loop.unroll.full"
ITERATIONS = {
    "few": ((INTERLEAVE, ir.IntType(32)(1)),),           # one vector an iteration: with four, rows of 28 would stay scalar
    "heavy": ((INTERLEAVE, ir.IntType(32)(4)),),         # four: they wait for one another less, constants are read once
    "literal": ((UNROLL_ALL,),),                         # vectors are made of its neighbours
    "written": ((UNROLL,),),                             # its vectors are written as they shall be
    "rare": ((VECTORIZE, ir.IntType(1)(0)), (UNROLL,)),  # less to compile
}


def loop_hint(module, iterations):
    """A new node for a loop of an `ir.Module`.

    iterations : a key of ITERATIONS; or a number: vectors of so many elements, two at a time, whatever the processor has. So wide
                 are loops that add up: their result depends on it
    """
    told = ITERATIONS[iterations] if isinstance(iterations, str) else \
        ((WIDTH, ir.IntType(32)(iterations)), (INTERLEAVE, ir.IntType(32)(2)), (VECTORIZE, ir.IntType(1)(1)))
    hints = [module.add_metadata([ir.MetaDataString(module, name), *values]) for name, *values in told]
    node = ir.values.MDValue(module, hints, name=str(len(module.metadata)))
    node.operands = (node, *hints)                        # a loop's node begins with itself
    return node
