"""Lowering of the control nodes of the typed dialect (tuples, branches, loops, calls, tapes, Python segments) and of trees."""
from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence

from ..common import dtype as dt
from ..common.dim import Symbol, dim_max, lone_symbol, symbols_of
from ..common.dtype import DType
from ..common.trees import WORD
from ..graph_kernel.accumulate import accumulators
from ..mindir.abstract import AbstractScalar, AbstractTape, AbstractTensor, symbols_of_abstract
from ..mindir.control import (call, check, cond, make_tuple, segment, tape_new, tape_pop, tape_push, tuple_getitem,
                              undefined, while_loop)
from ..mindir.graph import AnfNode, CNode, FuncGraph
from ..ops.scalar import number_to_size
from ..ops.trees import tree_kind, tree_part, tree_value
from .flow import Registers
from .lowering import ALIASES, LOWER, Lowering, Made, kind_of, lowers
from .python_calls import Failure


LOWER.update({
    tree_kind: lambda lowering, node: _word(lowering, lowering.value(node.args[0]), 0),
    tree_part: lambda lowering, node: _word(lowering, lowering.value(node.args[0]), 1 + node.attrs["index"]),
    tuple_getitem: lambda lowering, node: lowering.env[node.args[0]][node.attrs["index"]],
    make_tuple: lambda lowering, node: tuple(lowering.value(a) for a in node.args),
    tape_new: lambda lowering, node: lowering.b.tape(),
    **dict.fromkeys((*ALIASES, number_to_size), lambda lowering, node: lowering.value(node.args[0]))})


@lowers(undefined)
def lower_undefined(lowering: Lowering, node: CNode) -> int:
    abstract = node.abstract
    if isinstance(abstract, AbstractScalar):
        return lowering.b.const(0.0 if abstract.type is float else 0)
    if isinstance(abstract, AbstractTape):
        return lowering.b.tape()
    if isinstance(abstract, AbstractTensor) and not (symbols_of_abstract(abstract) - set(lowering.sizes)):
        # a size that is computed may be negative on the path that has no such value: `x[:-1]` behind the last iteration
        return lowering.allocate(AbstractTensor(abstract.dtype, tuple([dim_max(size, 0) for size in abstract.shape])))
    return lowering.b.const(0)


@lowers(cond)
def lower_cond(lowering: Lowering, node: CNode) -> Registers:
    b = lowering.b
    pred = lowering.value(node.args[0])
    if isinstance(node.args[0].abstract, AbstractTensor):
        pred = b.load(pred, node.args[0].abstract.dtype)
    operands = [lowering.value(a) for a in node.args[1:]]
    open_sizes = lowering.open_sizes(node.abstract.elements)
    blocks, places = [], [lowering.place_of(node, index) for index in range(len(node.abstract.elements))]
    for graph in (node.attrs["true"], node.attrs["false"]):
        block = b.block()
        with block:
            outer = lowering.sizes
            lowering.sizes = outer.new_child(own_sizes(lowering, graph, node.args[1:]))
            results, lowering.sizes = lowering.subgraph(graph, operands, places)
            results += [lowering.output_size(graph, number, axis) for _, number, axis in open_sizes]
            lowering.sizes = outer
            block.results(*results)
        blocks.append(block)
    registers = b.if_(pred, *blocks)
    count = len(node.abstract.elements)
    for (symbol, _, _), register in zip(open_sizes, registers[count:]):
        lowering.sizes[symbol] = register
    return tuple(registers[:count])


def own_sizes(lowering: Lowering, graph: FuncGraph, operands: Sequence[AnfNode]) -> dict[Symbol, int]:
    """{Symbol: register} of the sizes that a graph's parameters call by another name than the operands."""
    found = {}
    for p, operand in zip(graph.parameters, operands):
        if isinstance(p.abstract, AbstractTensor):
            for size, actual in zip(p.abstract.shape, operand.abstract.shape):
                symbol = lone_symbol(size)
                if symbol is not None and symbol not in lowering.sizes and not symbols_of(actual) - set(lowering.sizes):
                    found[symbol] = lowering.size(actual)
    return found


@lowers(while_loop)
def lower_while(lowering: Lowering, node: CNode) -> Registers:
    b, graph, test = lowering.b, node.attrs["body"], node.attrs["cond"]
    invariants = node.attrs["invariants"]
    count = len(node.args) - invariants
    places = [lowering.place_of(p) for p in graph.parameters]
    inits = [lowering.value(a) for a in node.args]
    if lowering.device is not None:
        inits = [lowering.value_on(a, place, node.origin) for a, place in zip(node.args, places)]
    for number in accumulators(node):                        # the loop adds to one memory of its own
        value = node.args[number]
        if is_its_own(value, node):
            continue
        mine = lowering.allocate(value.abstract)
        b.copy(mine, inits[number], lowering.nbytes(value.abstract))
        inits[number] = mine
    states = [p.abstract for p in graph.parameters[:count]]
    open_sizes = lowering.open_sizes(states, lambda number, axis: any(
        given[number].abstract.shape[axis] != states[number].shape[axis] for given in (node.args, graph.outputs)))
    first = [lowering.size(node.args[number].abstract.shape[axis])
             if not (symbols_of(node.args[number].abstract.shape[axis]) - set(lowering.sizes)) else b.const(0)
             for _, number, axis in open_sizes]
    loop = b.while_([*inits[:count], *first])
    values, sizes = list(loop.params[:count]) + inits[count:], loop.params[count:]

    def inside(below: FuncGraph) -> ChainMap[Symbol, int]:
        """Bind the sizes of the state for this graph, whose own symbols stand for them."""
        outer = lowering.sizes
        lowering.sizes = outer.new_child()
        for (symbol, number, axis), register in zip(open_sizes, sizes):
            own = lone_symbol(below.parameters[number].abstract.shape[axis])
            lowering.sizes[symbol] = register
            if own is not None:
                lowering.sizes[own] = register
        for parameter, value in zip(below.parameters, values):
            own = lone_symbol(parameter.abstract.dim) if isinstance(parameter.abstract, AbstractScalar) else None
            if own is not None:
                lowering.sizes[own] = value
        return outer
    with loop.cond:
        outer = inside(test)
        results, _ = lowering.subgraph(test, values)
        result = results[0]
        if isinstance(test.outputs[0].abstract, AbstractTensor):
            result = b.load(result, test.outputs[0].abstract.dtype)
        lowering.sizes = outer
        loop.cond.results(result)
    with loop.body:
        outer = inside(graph)
        results, below = lowering.subgraph(graph, values, places[:count])
        lowering.sizes = below
        following = [lowering.output_size(graph, number, axis) for _, number, axis in open_sizes]
        lowering.sizes = outer
        loop.body.results(*results, *following)
    registers = loop.end()
    for (_, number, axis), register in zip(open_sizes, registers[count:]):
        symbol = lone_symbol(node.abstract.elements[number].shape[axis])
        if symbol is not None:
            lowering.sizes[symbol] = register
    return tuple(registers[:count])


def is_its_own(value: AnfNode, node: CNode) -> bool:
    """True if a kernel makes `value`, and only `node` reads it, once."""
    readers = [arg for user in [*node.graph.nodes, node.graph.output] for arg in user.args if arg is value]
    return isinstance(value, CNode) and isinstance(value.fn, FuncGraph) and len(readers) == 1


@lowers(call)
def lower_call(lowering: Lowering, node: CNode) -> Registers:
    graph = node.attrs["graph"]
    name, symbols, opened = lowering.function(graph)
    args = [lowering.value_on(a, lowering.device, node.origin) for a in node.args]
    args += [lowering.sizes_for(s, graph, node) for s in symbols]
    abstracts = node.abstract.elements
    numbers = [n for n, a in enumerate(abstracts) if not isinstance(a, AbstractTensor)]
    kinds = [kind_of(abstracts[n]) for n in numbers] + ["i64"] * len(opened)
    registers = lowering.b.call(name, [*args, lowering.results], kinds, node.origin)
    for (number, axis), register in zip(opened, registers[len(numbers):]):
        lowering.bind(abstracts[number].shape[axis], register)
    values = dict(zip(numbers, registers))
    for number, abstract in reversed(list(enumerate(abstracts))):
        if isinstance(abstract, AbstractTensor):             # what a called flow makes dies with it: it comes on a tape
            values[number] = lowering.popped(lowering.results, abstract)
    return tuple(values[n] for n in range(len(abstracts)))


@lowers(tape_push)
def lower_tape_push(lowering: Lowering, node: CNode) -> int:
    tape = lowering.value(node.args[0])
    for operand in node.args[1:]:
        nbytes = lowering.nbytes(operand.abstract) if isinstance(operand.abstract, AbstractTensor) else None
        lowering.b.push(tape, lowering.value_on(operand, lowering.device, node.origin), nbytes)
    return tape


@lowers(tape_pop)
def lower_tape_pop(lowering: Lowering, node: CNode) -> Registers:
    tape = lowering.value(node.args[0])
    values = [-1] * len(node.attrs["abstracts"])
    for number, abstract in reversed(list(enumerate(node.attrs["abstracts"]))):
        if isinstance(abstract, AbstractTensor):
            values[number] = lowering.popped(tape, abstract)
        else:
            values[number] = lowering.b.pop(tape, kind_of(abstract))
            lowering.bind(getattr(abstract, "dim", None), values[number])
    return (tape, *values)


@lowers(segment)
def lower_segment(lowering: Lowering, node: CNode) -> Made:
    lowering.kernels.append((node, node.attrs["reason"]))
    return lowering.python(node, node.attrs["function"], node.args, node.attrs["abstracts"],
                           borrowed=len(node.attrs["weights"]))


@lowers(check)
def lower_check(lowering: Lowering, node: CNode) -> Registers:
    b, error = lowering.b, node.attrs["error"]
    condition, operands = node.args[0], node.args[1:]
    if all(isinstance(o.abstract, AbstractScalar) for o in operands):
        failure = Failure(error, tuple(o.abstract.type for o in operands))
        b.check(lowering.value(condition), failure, [lowering.value(o) for o in operands], node.origin,
                node.attrs.get("again", False))
        return ()

    def stop(*values):
        raise error(*values)
    fine, failed = b.block(), b.block()
    with fine:
        fine.results()
    copies, lowering.copies = lowering.copies, lowering.copies.new_child()         # made in this block only
    with failed:
        lowering.python(node, stop, operands, (), pure=True)
        failed.results()
    lowering.copies = copies
    b.if_(lowering.value(condition), fine, failed)
    return ()


# ---- trees: loads from the records that common.trees has written

def _word(lowering: Lowering, tree: int, index: int, dtype: DType = dt.int64) -> int:
    b = lowering.b
    return b.load(b.arith("add", tree, b.const(index * WORD)) if index else tree, dtype)


@lowers(tree_value)
def lower_value(lowering: Lowering, node: CNode) -> int:
    tree, made = lowering.value(node.args[0]), node.abstract
    if isinstance(made, AbstractScalar):
        return _word(lowering, tree, 1, dt.float64 if made.type is float else dt.int64)
    lowering.bind_sizes(made, [_word(lowering, tree, 2 + axis) for axis in range(made.ndim)])
    return _word(lowering, tree, 1)
