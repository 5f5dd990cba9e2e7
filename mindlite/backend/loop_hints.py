"""What LLVM is told of a loop, as metadata of the branch to its head.

    back.set_metadata("llvm.loop", loop_hint(module, "few"))
"""
from llvmlite import ir

INTERLEAVE, VECTORIZE, UNROLL = "llvm.loop.interleave.count", "llvm.loop.vectorize.enable", "llvm.loop.unroll.disable"
TURNS = {"few": ((INTERLEAVE, ir.IntType(32)(1)),),      # one vector a turn: with four, rows of 28 would stay scalar
         "heavy": ((INTERLEAVE, ir.IntType(32)(4)),),    # four: they wait for one another less, constants are read once
         "written": ((UNROLL,),),                        # its vectors are written as they shall be
         "rare": ((VECTORIZE, ir.IntType(1)(0)), (UNROLL,))}                              # less to compile


def loop_hint(module, turns):
    """A new node for a loop of an `ir.Module`. turns : a key of TURNS"""
    hints = [module.add_metadata([ir.MetaDataString(module, name), *values]) for name, *values in TURNS[turns]]
    node = ir.values.MDValue(module, hints, name=str(len(module.metadata)))
    node.operands = (node, *hints)                        # a loop's node begins with itself
    return node
