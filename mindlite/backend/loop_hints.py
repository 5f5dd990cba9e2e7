"""What LLVM is told of a loop: metadata that llvmlite cannot write, as the node of a loop refers to itself.

    hints = LoopHints()
    back.set_metadata("llvm.loop", hints.of("few"))         # back: the branch to the loop's head
    text = f"{module}\\n{hints.text()}"
"""
from dataclasses import dataclass

HINTS = ('"llvm.loop.interleave.count", i32 1', '"llvm.loop.interleave.count", i32 4',
         '"llvm.loop.vectorize.enable", i1 false', '"llvm.loop.unroll.disable"')
TURNS = {"few": (0,),                  # vectors, but one of them a turn: with four, rows of 28 would stay scalar
         "heavy": (1,),                # four vectors a turn: what is long hides what it waits for, constants are read once
         "rare": (2, 3)}               # left as it is: less to compile
FIRST = 1_000_000                      # beyond the numbers that llvmlite gives


@dataclass(frozen=True)
class _Node:
    number: int

    def get_reference(self):
        """Its name in LLVM IR, by which llvmlite prints it."""
        return f"!{self.number}"


class LoopHints:
    """The nodes of one module."""

    def __init__(self):
        self.turns = []

    def of(self, turns):
        """A new node of a loop. turns : a key of TURNS"""
        self.turns.append(turns)
        return _Node(FIRST + len(HINTS) + len(self.turns) - 1)

    def text(self):
        """The nodes in LLVM IR, nothing where there are none."""
        lines = [f"!{FIRST + number} = !{{!{hint}}}" for number, hint in enumerate(HINTS) if self.turns]
        for number, turns in enumerate(self.turns, FIRST + len(HINTS)):
            hints = ", ".join(f"!{FIRST + hint}" for hint in TURNS[turns])
            lines.append(f"!{number} = distinct !{{!{number}, {hints}}}")
        return "".join(line + "\n" for line in lines)
