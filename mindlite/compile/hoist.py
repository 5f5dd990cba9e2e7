"""Checks first: what can be known to be wrong from the entry's sizes only is reported before any kernel runs."""
from __future__ import annotations

from . import flow as F

_SCALAR = (F.Const, F.Arith, F.Exact, F.Unary)


def hoist_checks(program: F.Program) -> F.Program:
    """The program with every Check, and exact arithmetic, that depends on the entry's scalars only before everything else.

    Checks at the top of the entry are moved, with the arithmetic they need. A Check inside an If whose condition
    depends on the entry's scalars only is repeated under the same condition; one in a loop stays where it is. None
    overtakes what may fail before it, or has an effect: the error is the one that Python would meet first.
    """
    entry = program.entry
    kinds = list(entry.kinds)
    early = {p.register for p in entry.params if p.kind != "ptr"}
    first: list[F.Instruction] = []
    rest: list[F.Instruction] = []
    passed = False
    for i in entry.body.instructions:
        if passed:
            rest.append(i)
        elif isinstance(i, _SCALAR) and set(i.reads) <= early:
            early.update(i.writes)
            first.append(i)
        elif isinstance(i, F.Check) and set(i.reads) <= early:
            first.append(i)
        else:
            part = _early_part(i, early, kinds) if isinstance(i, F.If) and i.cond in early else []
            first.extend(part)
            rest.append(i)
            passed = len(_ends(i)) > len([end for copy in part for end in _ends(copy)])
    body = F.Block((*first, *rest))
    flow = F.Flow(entry.name, entry.params, tuple(kinds), body, entry.symbols, entry.devices)
    return F.Program(flow, program.flows, program.outputs)


def _ends(instruction: F.Instruction) -> list[F.Instruction]:
    """What may end a run by an error of the user's program, or has an effect: the instruction, or some inside of it."""
    return [i for i in F.walk(F.Block((instruction,)))
            if isinstance(i, (F.Check, F.CallFlow)) or isinstance(i, F.PythonSegment) and not (i.pure and i.dsts)]


def _early_part(branch: F.If, early: set[int], kinds: list[str]) -> list[F.If]:
    """[an If that only holds the early Checks of `branch`, on registers of its own], or []."""
    blocks = []
    for block in branch.blocks:
        known, kept = set(early), []
        names: dict = {}
        for i in block.instructions:
            if isinstance(i, _SCALAR) and set(i.reads) <= known:
                known.update(i.writes)
                kinds.append(kinds[i.dst])
                copy = F.rename(i, {**names, i.dst: len(kinds) - 1})
                names[i.dst] = len(kinds) - 1
                kept.append(copy)
            elif isinstance(i, F.Check) and set(i.reads) <= known:
                kept.append(F.rename(i, names))
            elif isinstance(i, F.If) and i.cond in known:
                part = _early_part(i, known, kinds)
                kept.extend(F.rename(inner, names) for inner in part)
                if len(_ends(i)) > len([end for copy in part for end in _ends(copy)]):
                    break
            elif _ends(i):
                break
        blocks.append(F.Block(tuple(kept)))
    if not any(isinstance(i, (F.Check, F.Exact, F.If)) for block in blocks for i in block.instructions):
        return []
    return [F.If(branch.cond, blocks[0], blocks[1])]
