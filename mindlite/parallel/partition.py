"""The pass from a program of whole tensors to this rank's: signatures are chosen for all operators at once, boxing is written.

    f(x: f32[8, 4], w: f32[4, 6]):                    rank 0 of 2:
        x = placed(x, (S0))                               x = slice(x, 0:4)             : f32[4, 4]
        y = matmul(x, w)                                  y = matmul(x, w)              : f32[4, 6]
        return reduce_sum(y)                              z = reduce_sum(y)             : f32[]      an addend
                                                          return all_reduce(z)

It runs behind autodiff, so that a gradient is that of one logical program and boxing needs no derivative; forward and backward
get boxings of their own. `placed` says what the user wants; all else is chosen (`search.py`): signatures come from an operator's
index string (`ops/sbp.py`), their price is the time of its arithmetic and of the boxing between operators. Parameters and
results are whole on every rank. What has no rule, random operators, effects and control flow are computed in whole on every rank;
the Plan says so.

Sizes may be open (Dims). A rank's part of n rows is then (n + 1) // 2 or n // 2 rows, in the graph and in the bytes that are
predicted: one graph serves all sizes. An operator is split along an open size where every rank can compute its part, whatever the
size is: what the operator demands of its parts is proved. So no fact is left that a call could break on one rank only.

Where rows of [b, s, h] became an axis of b * s, whatever b and s are, a part is that of rows: it is split by s (`Units`).

Source: OneFlow (Yuan et al. 2021, sections 3.2 and 3.3); the order, autodiff first, is GSPMD's too (Xu et al. 2021).
"""
import itertools
import math
from dataclasses import field

from ..common.dim import Dim, compare, product
from ..common.errors import ArgumentError, InternalError, MindliteError
from ..common.location import Origin
from ..common.ranks import engine
from ..common.records import dataclass
from ..common.sbp import Broadcast, Partial, Parts, Split
from ..mindir.abstract import AbstractScalar, AbstractTensor, AbstractTuple, symbols_of_abstract
from ..mindir.builder import building, results_of
from ..mindir.control import make_tuple, tuple_getitem
from ..mindir.constraints import collecting
from ..mindir.graph import CNode, FuncGraph, Parameter, ValueNode
from ..mindir.primitive import Primitive, cost_rule, expand_rule, infer_rule, sbp_rule_table
from ..ops.activation import log_softmax_along, softmax_along
from ..ops.basic import barrier, reshape
from ..ops.collectives import placed
from ..ops.rank_program import on_rank
from ..ops.moments import reduce_logsumexp, reduce_mean, reduce_norm
from ..ops.nn_norm import standardize
from ..ops.sbp import index_string, same_parts, shape_of, signatures
from .boxing import box, steps
from .buckets import join
from .empty_parts import padded, padded_axes, padded_kind
from .layout import Placement
from .machine import machine_here, typical
from .report import Plan
from .search import cheapest

UNSPLIT = {"effect", "random", "control", "scalar", "collective", "tape", "dynamic"}
MOST = 64                                        # options of one operator
UNITS = 3                                        # units of one size
SETS = 40                                        # sets of SBPs in which a value with several readers may be there
NEVER = 1e9                                      # the price of what does not fit
MESSAGES = 0.05                                  # the part of a price from which messages of sums are looked at together
FREE = (placed, barrier)                         # operators that compute nothing
PARTS_SPLIT = (softmax_along, log_softmax_along, standardize, reduce_mean, reduce_logsumexp, reduce_norm)
WISH = "_wish"                                   # the attribute of a Parameter that holds the Placement in which to compute


@dataclass(frozen=True)
class Option:
    """One way to compute an operator: the SBPs of each operand and result (a tuple for the mesh); share: the part of its points
    that a rank computes."""
    ins: tuple
    outs: tuple
    share: float


@dataclass(frozen=True)
class Ends:
    """How the program meets its caller.

    lying : {parameter: Placement} of those of which a rank has a part in its memory; the others are whole
    kept  : {number of a result: Placement} of those that are written to such a memory
    free  : results may lie in parts, where they are more than one element      partial: and be addends
    open  : parameters whose Placement in memory is chosen      updates: {number of a result: parameter to which it is written}
    mesh  : where nothing else says on which mesh the program runs
    """
    lying: dict = field(default_factory=dict)
    kept: dict = field(default_factory=dict)
    free: bool = False
    partial: bool = False
    open: tuple = ()
    updates: dict = field(default_factory=dict)
    mesh: object = None


def partition(graph, machine=None, ends=None):
    """(this rank's graph, its Plan); (graph, None) where nothing is `placed` and nothing lies in parts.

    machine: the prices; None: those of `machine_here`
    ends   : Ends; None: all arguments and results are whole
    raises : ArgumentError for two meshes in one program, or a rank that is in none
    """
    ends = ends or Ends()
    meshes = {node.attrs["placement"].mesh: node for node in graph.nodes
              if node.fn is placed and node.attrs["placement"] is not None and not isinstance(node.attrs["placement"], Parts)}
    meshes.update({wish(p).mesh: p for p in graph.parameters if wish(p) is not None})
    meshes.update({placement.mesh: p for p, placement in ends.lying.items()})
    if ends.mesh is not None:
        meshes.setdefault(ends.mesh, graph)
    if not meshes:
        return graph, None
    if len(meshes) > 1:
        raise ArgumentError("one program has one mesh", note="; ".join(map(str, meshes)),
                            location=list(meshes.values())[1].origin.location)
    mesh = next(iter(meshes))
    if engine().rank not in mesh.ranks:
        raise ArgumentError(f"rank {engine().rank} is not in the mesh {mesh}", note=f"its ranks: {list(mesh.ranks)}")
    graph = written_out(graph)
    chosen, plan = cheapest_plan(graph, mesh, machine or machine_here(), ends)
    if ends.open:
        lying = {p: Placement(mesh, chosen[p].outs[0]) for p in ends.open}
        plan.parameters = {p.default: placement for p, placement in lying.items()}
        kept = {number: lying[p] for number, p in ends.updates.items() if p in lying}
        ends = Ends({**ends.lying, **lying}, {**ends.kept, **kept}, ends.free)
    plan.memory = sum(_bytes(p, ends.lying.get(p)) for p in graph.parameters if p.default is not None)
    plan.wholes = {number: tuple(p.abstract.shape) for number, p in enumerate(graph.parameters) if p in ends.lying}
    made = _Writer(graph, mesh, chosen, plan, ends).write()
    plan.buckets = join(made)
    return made, plan


def written_out(graph):
    """The graph with the parts of operators that have an axis which cannot be split, though their parts can be split along it:
    each rank has some of the classes of a softmax or some of the rows of a batch norm, and folds of each row travel. Parameters
    are the same."""
    if not any(node.fn in PARTS_SPLIT for node in graph.nodes):
        return graph
    made = FuncGraph(graph.name, graph.origin)
    stands: dict = {}
    made.parameters, made.transforms = list(graph.parameters), dict(graph.transforms)

    def now(arg, builder):
        found = stands.get(arg, arg)
        if isinstance(found, tuple):                         # read as a whole, and not element by element
            found = stands[arg] = builder.lift(found)
        return found
    for node in graph.nodes:
        with collecting(), building(made, Origin(node.origin.location, node, "shard")) as builder:
            if node.fn in PARTS_SPLIT:
                results = expand_rule[node.fn](*[now(arg, builder) for arg in node.args], **node.attrs)
                stands[node] = results if isinstance(results, tuple) else builder.lift(results)
            elif node.fn is tuple_getitem and isinstance(stands.get(node.args[0]), tuple):
                stands[node] = stands[node.args[0]][node.attrs["index"]]
            else:
                args = [now(arg, builder) for arg in node.args]
                stands[node] = made.add_copy(node, args)
    with building(made, graph.origin) as builder:
        made.set_outputs([now(out, builder) for out in graph.outputs], make_tuple)
    return made


def wish(parameter):
    """How graphs are to compute with a Parameter that the user has placed, else None."""
    return getattr(parameter.default, "__dict__", {}).get(WISH)


def _bytes(parameter, placement):
    """Bytes of a parameter in this rank's memory."""
    abstract = parameter.abstract
    if not isinstance(abstract, AbstractTensor):
        return 0
    shape = abstract.shape if placement is None else placement.local_shape(abstract.shape, engine().rank)
    return typical(product(shape)) * abstract.dtype.itemsize


def places(parameter, mesh):
    """The Options of where a parameter lies: whole, or split along any axes; the first is whole."""
    abstract = parameter.abstract
    ways = [Broadcast(), *[Split(axis) for axis in range(len(getattr(abstract, "shape", ())))]]
    found = [sbps for sbps in itertools.product(ways, repeat=len(mesh.shape)) if fits(mesh, abstract, sbps)]
    return [Option((), (sbps,), 0.0) for sbps in found[:MOST]]


def result_sbps(graph, number, ends, have):
    """The SBPs that a result is wanted with, of those that it is made with."""
    node = graph.outputs[number]
    if number in ends.kept:
        return ends.kept[number].sbps
    if isinstance(node, CNode) and node.fn is placed and node.attrs["lasting"]:
        placement = node.attrs["placement"]
        return (Broadcast(),) * len(have) if placement is None else placement.sbps
    if not ends.free or not isinstance(node.abstract, AbstractTensor) or _elements(node.abstract) <= 1 or \
            symbols_of_abstract(node.abstract) - {symbol for p in graph.parameters for symbol in symbols_of_abstract(p.abstract)}:
        return (Broadcast(),) * len(have)
    return tuple([Broadcast() if isinstance(sbp, Partial) and not ends.partial else
                  Split(sbp.axis) if isinstance(sbp, Split) else sbp for sbp in have])


# ---------------------------------------------------------------- options and their price

class Units:
    """By how many elements axes may be split (`Split.unit`): {size: units} of the axes that a reshape has joined or divides.

    count : of the ranks, between which sizes may be proved to be even; then nothing has to stay together
    """

    def __init__(self, nodes, count):
        self.of: dict = {}
        joined = dict.fromkeys(pair for node in nodes if node.fn is reshape for pair in self.pairs(node, count))
        for _ in joined:                                     # what was joined is joined again
            for small, large, unit in joined:
                self.of[large] = tuple(dict.fromkeys([*self.of.get(large, ()), *[
                    unit * inner for inner in (1, *self.of.get(small, ()))]]))[:UNITS]

    @staticmethod
    def pairs(node, count):
        """(smaller size, larger one, their ratio) of axes of which the parts are the same elements, and may be uneven."""
        (before,), (after,) = index_string(reshape, [node.args[0].abstract], node.attrs)
        sizes = dict(zip(before, node.args[0].abstract.shape))
        for letter, n in zip(after, node.abstract.shape):
            m = sizes.get(letter) if letter != "_" else None
            for small, large in ((m, n), (n, m)) if m is not None and m != n else ():
                if small != 0 and small * (large // small) == large and not (small % count == 0 and large % count == 0):
                    yield small, large, large // small

    def choices(self, node, words, shapes, letter, count):
        """[{size of an axis with that letter: the unit of its parts}]. words, shapes: of all operands and results"""
        sizes = tuple(dict.fromkeys(n for word, shape in zip(words, shapes) for c, n in zip(word, shape) if c == letter))
        found = [dict.fromkeys(sizes, 1)] if same_parts(words, shapes, letter, count) else []
        if len(sizes) == 1:
            found += [{sizes[0]: unit} for unit in self.of.get(sizes[0], ())]
        elif node.fn is reshape:
            found += [{small: inner, large: inner * unit} for small, large, unit in self.pairs(node, count)
                      if {small, large} == set(sizes) for inner in (1, *self.of.get(small, ()))]
        return found


def options(node, mesh, units):
    """The Options of a node; the first is: whole on each rank. units: the Units of its graph"""
    wholes = (Broadcast(),) * len(mesh.shape)
    outs = node.abstract.elements if isinstance(node.abstract, AbstractTuple) else (node.abstract,)
    found = [Option((wholes,) * len(node.args), (wholes,) * len(outs), 1.0)]
    if node.fn is placed and node.attrs["placement"] is not None:
        sbps = _wanted(node, mesh)
        return [Option((sbps,), (sbps,), 1.0)]
    kinds = [a.abstract for a in node.args]
    if not isinstance(node.fn, Primitive) or node.fn not in sbp_rule_table or node.fn.traits & UNSPLIT or not all(
            isinstance(kind, (AbstractTensor, AbstractScalar)) for kind in kinds) or not all(
            isinstance(out, AbstractTensor) for out in outs):
        return found
    ins, made = index_string(node.fn, kinds, node.attrs)
    words, shapes = (*ins, *made), [shape_of(kind) for kind in (*kinds, *outs)]
    united: list[Option] = []                                # with units that are not 1
    for choice in itertools.product(signatures(node.fn, kinds, node.attrs), repeat=len(mesh.shape)):
        counts = {s.letter: math.prod(n for other, n in zip(choice, mesh.shape) if other.letter == s.letter) for s in choice}
        if all(s.letter == "" and _is_whole(s) for s in choice):
            continue
        share = math.prod(1 / size for s, size in zip(choice, mesh.shape) if s.letter)
        for together in itertools.product(*[units.choices(node, words, shapes, *item) for item in counts.items()]):
            by = dict(zip(counts, together))
            ins = tuple([tuple([_by_unit(s.ins[i], by[s.letter], kinds[i]) for s in choice]) for i in range(len(kinds))])
            made = tuple([tuple([_by_unit(s.outs[i], by[s.letter], outs[i]) for s in choice]) for i in range(len(outs))])
            if all(map(fits, itertools.repeat(mesh), kinds, ins)) and all(map(fits, itertools.repeat(mesh), outs, made)) \
                    and computes_parts(node, mesh, ins, made):
                (united if any(unit != 1 for of in together for unit in of.values()) else found).append(Option(ins, made, share))
    return [*found, *united][:MOST]


def _wanted(node, mesh):
    """The SBPs of a node that is `placed`."""
    placement = node.attrs["placement"]
    try:
        return placement.on(mesh.shape) if isinstance(placement, Parts) else placement.sbps
    except MindliteError as error:
        raise error.at(node.origin.location)


def _by_unit(sbp, units, abstract):
    """An SBP of a signature with the unit of its axis. units: {size: unit} of the letter that is split"""
    return Split(sbp.axis, units.get(abstract.shape[sbp.axis], 1)) if isinstance(sbp, Split) else sbp


def computes_parts(node, mesh, ins, outs):
    """True if the operator computes these parts, whatever the open sizes are, on each rank: what it demands of its operands is
    proved. A rank may have no element of an open size that is split (see empty_parts.py for those that cannot take that)."""
    kinds = [arg.abstract for arg in node.args]
    whole = node.abstract.elements if isinstance(node.abstract, AbstractTuple) else (node.abstract,)
    if not any(isinstance(size, Dim) for abstract in (*kinds, *whole) for size in shape_of(abstract)):
        return True
    rule = sbp_rule_table[node.fn]
    if rule.lookup is not None and any(isinstance(sbp, Split) and sbp.axis == node.attrs["axis"] for sbp in ins[0]):
        return isinstance(kinds[0].shape[node.attrs["axis"]], int)
    with collecting() as known:
        infer_rule[node.fn](*kinds, **node.attrs)
    known = {(fact.op, fact.left, fact.right) for fact in known}
    for rank in mesh.ranks:
        parts = [AbstractTensor(kind.dtype, Placement(mesh, sbps).local_shape(kind.shape, rank))
                 if isinstance(kind, AbstractTensor) else kind for kind, sbps in zip(kinds, ins)]
        axes = padded_axes(node, ins[0]) if ins else ()
        parts = [padded_kind(parts[0], axes)] if axes else parts
        shapes = [Placement(mesh, sbps).local_shape(out.shape, rank) for out, sbps in zip(whole, outs)]
        with collecting() as open_facts:
            try:
                made = infer_rule[node.fn](*parts, **(rule.local(node.attrs, shapes) if rule.local else node.attrs))
            except MindliteError:                            # of a part that is smaller than the whole
                return False
        made = made.elements if isinstance(made, AbstractTuple) else (made,)
        if not known.issuperset((fact.op, fact.left, fact.right) for fact in open_facts) \
                or [tuple(one.shape) for one in made] != shapes:
            return False
    return True


def _is_whole(signature):
    return all(isinstance(sbp, Broadcast) for sbp in (*signature.ins, *signature.outs))


def fits(mesh, abstract, sbps):
    """True if every rank gets an element of what is split, as far as sizes are known, and addends are of numbers."""
    if not isinstance(abstract, AbstractTensor):
        return all(isinstance(sbp, Broadcast) for sbp in sbps)
    if any(isinstance(sbp, Partial) and sbp.reduction == "sum" for sbp in sbps) and abstract.dtype.kind == "b":
        return False
    for axis in {sbp.axis for sbp in sbps if isinstance(sbp, Split)}:
        splits = [(sbp.unit, size) for sbp, size in zip(sbps, mesh.shape) if isinstance(sbp, Split) and sbp.axis == axis]
        if compare("<", abstract.shape[axis], splits[0][0] * math.prod(size for _, size in splits)):
            return False
    return True


def points(node):
    """How many scalar steps an operator takes: the product of the sizes of its index letters, or its elements."""
    if node.fn in FREE:
        return 0
    outs = node.abstract.elements if isinstance(node.abstract, AbstractTuple) else (node.abstract,)
    tensors = [a.abstract for a in node.args if isinstance(a.abstract, AbstractTensor)]
    tensors += [out for out in outs if isinstance(out, AbstractTensor)]
    most = max([_elements(t) for t in tensors], default=0)
    if not isinstance(node.fn, Primitive) or node.fn not in sbp_rule_table:
        return most
    ins, made = index_string(node.fn, [a.abstract for a in node.args], node.attrs)
    sizes = {letter: size for word, a in zip((*ins, *made), (*[a.abstract for a in node.args], *outs))
             for letter, size in zip(word, getattr(a, "shape", ())) if letter != "_"}
    return max(most, typical(product(sizes.values())))


def seconds_of(node, machine):
    """The price of computing an operator in whole: that of its floating-point operations where they are counted, else of its
    points."""
    rule = cost_rule.get(node.fn) if isinstance(node.fn, Primitive) else None
    flops = None if rule is None else rule(*[arg.abstract for arg in node.args], out=node.abstract, **node.attrs)
    return points(node) * machine.point if flops is None else typical(flops) * machine.flop


def _elements(tensor):
    return typical(product(tensor.shape))


def cheapest_plan(graph, mesh, machine, ends):
    """What `choose` gives, or what it gives where a sum costs no message, if that is cheaper with the messages that are left when
    sums travel together (parallel/buckets.py): the price of two operators cannot say that. Where messages are a small part of the
    price, one search will do."""
    ways = Ways(graph, mesh, ends)
    chosen, plan = choose(graph, mesh, machine, ends, ways)
    each = max([machine.sending("all_reduce", 0, reach) for reach in _reaches(mesh)])
    worth = each * len(graph.parameters) > MESSAGES * plan.seconds
    apart, joined = messages(graph, chosen, machine, ends, ways)
    plan.seconds -= apart - joined
    if worth:
        others, other = choose(graph, mesh, machine.with_free_sums(), ends, ways)
        other.seconds += messages(graph, others, machine, ends, ways)[1]
        if other.seconds < plan.seconds:
            return others, other
    return chosen, plan


def messages(graph, chosen, machine, ends, ways):
    """(seconds of the messages of all sums of a plan, of those that are left when neighbours travel as one), as `join` finds them
    in the graph that is written; the same on all ranks."""
    wholes, reaches = (Broadcast(),) * len(ways.mesh.shape), _reaches(ways.mesh)
    all_of_them = left = 0.0
    current: set = set()                                     # what needs a sum of the last message
    sums: dict = {}                                          # {(value, SBPs): the message in which its sum travels}
    last: list = []
    for node in [node for node in graph.nodes if node in chosen]:
        for place, arg in operands_read(node):
            want = chosen[node].ins[place]
            key = _source(arg)
            have = chosen[key[0]].outs[key[1]] if key[0] in chosen else _given(key[0], ends, wholes)
            if have == want or not isinstance(arg.abstract, AbstractTensor):
                current.update((node,) if key[0] in current else ())
                continue
            if (key, want) not in sums:
                path = [(operator, axis) for operator, axis, _ in ways.steps(have, want, arg.abstract) if operator]
                price = sum([machine.sending(operator, 0, reaches[axis]) for operator, axis in path if operator == "all_reduce"])
                all_of_them += price
                if [operator for operator, _ in path] != ["all_reduce"]:
                    left += price
                    sums[key, want], last = None, [] if path else last
                else:
                    kind = path[0][1], arg.abstract.dtype, have
                    if kind not in last or key[0] in current:
                        left += price
                        current, last = set(), [kind]
                    sums[key, want] = last
            current.update((node,) if sums[key, want] is last and last or key[0] in current else ())
    return all_of_them, left


def _reaches(mesh):
    """For each axis of a mesh whether all its groups are near."""
    return [engine().reach([mesh.group(k, rank) for rank in mesh.ranks]) for k in range(len(mesh.shape))]


class Ways:
    """What does not depend on prices: choices {node: its Options}, and the Steps from SBPs to others."""

    def __init__(self, graph, mesh, ends):
        units = Units(graph.nodes, math.prod(mesh.shape))
        self.mesh, self.known, self.first = mesh, {}, mesh.ranks[0]
        self.choices = {node: options(node, mesh, units) for node in graph.nodes if node.fn is not tuple_getitem}
        self.choices.update({p: places(p, mesh) for p in ends.open})

    def steps(self, have, want, abstract):
        """Those of the first rank of the mesh, by whose prices all ranks choose: (operator, axis of the mesh, bytes) of each."""
        key = have, want, abstract
        if key not in self.known:
            before, after = Placement(self.mesh, have), Placement(self.mesh, want)
            path = steps(before, after, abstract.shape, abstract.dtype.itemsize, self.first)
            self.known[key] = [(step.operator, step.axis, typical(step.nbytes)) for step in path]
        return self.known[key]


def choose(graph, mesh, machine, ends=Ends(), ways=None):
    """({node: Option}, Plan) with the least price. A value that is boxed for one reader is there for the others: which SBPs of it
    there are is a variable of its own."""
    ways = ways or Ways(graph, mesh, ends)
    choices, wholes, reaches = ways.choices, (Broadcast(),) * len(mesh.shape), _reaches(mesh)
    known: dict = {}
    factors: list = []
    for node, found in choices.items():
        factors.append(((node,), [_bytes(node, Placement(mesh, option.outs[0])) * machine.resident for option in found]
                        if isinstance(node, Parameter) else [seconds_of(node, machine) * option.share for option in found]))

    def price(have, wants, abstract):
        """Of boxing for all who want it, as the first rank of the mesh pays it: all ranks choose alike."""
        total, wanted = 0.0, {wholes} | {want for want in wants if _has_addends(want)} if wholes in wants else wants
        for want in sorted(wanted, key=_order):              # sums of floats depend on their order, and sets have none
            key = have, want, abstract
            if have != want and key not in known:
                known[key] = sum((machine.sending(operator, nbytes, reaches[axis]) if operator else 0.0) +
                                 machine.point * _elements(abstract) / 8
                                 for operator, axis, nbytes in ways.steps(have, want, abstract))
            total += known.get(key, 0.0)
        return total
    sizes = {node: len(found) for node, found in choices.items()}
    for (source, index), readers in _reads(graph, choices, ends, wholes).items():
        abstract = readers.pop(None)
        have = [option.outs[index] for option in choices[source]] if source in choices else [_given(source, ends, wholes)]
        own = readers.pop(source, None)                      # what a result is wanted as follows from what it is made as
        sets = _sets(readers, own, wholes) if len(readers) + (own is not None) > 1 and any(map(_travels, have)) else []
        if sets:
            boxed = "boxed", source, index
            sizes[boxed] = len(sets)
            table = [[price(a, wants, abstract) + (NEVER if own and not own[k] <= wants else 0.0) for wants in sets]
                     for k, a in enumerate(have)]
            factors.append(((source, boxed), table) if source in choices else ((boxed,), table[0]))
            factors += [((boxed, reader), [[0.0 if want <= wants else NEVER for want in per_option] for wants in sets])
                        for reader, per_option in readers.items()]
            continue
        if own:
            factors.append(((source,), [price(a, wants, abstract) for a, wants in zip(have, own)]))
        for reader, per_option in readers.items():
            table = [[price(a, wants, abstract) for wants in per_option] for a in have]
            factors.append(((source, reader), table) if source in choices else ((reader,), table[0]))
    found, seconds, exact = cheapest(sizes, factors, usual=_propagated(graph, choices, ends, wholes, price, machine))
    plan = Plan(mesh, seconds=seconds, exact=exact)
    return {node: choices[node][found[node]] for node in choices}, plan


def _propagated(graph, choices, ends, wholes, price, machine):
    """{node: number of an Option}: what is placed goes through the program. Each operator has the Option that is the cheapest one
    for its operands as they are made; one that reads nothing but wholes computes a whole."""
    found = {p: 0 for p in ends.open}

    def placed_as(arg):
        source, index = _source(arg)
        return choices[source][found[source]].outs[index] if source in choices else _given(source, ends, wholes)
    for node, opts in choices.items():
        if node not in found:
            have = [(placed_as(arg), place, arg.abstract) for place, arg in operands_read(node)
                    if isinstance(arg.abstract, AbstractTensor)]
            costs = [seconds_of(node, machine) * option.share + sum([price(made, {option.ins[place]}, abstract)
                     for made, place, abstract in have]) for option in opts]
            found[node] = 0 if all(made == wholes for made, *_ in have) else costs.index(min(costs))
    return found


def _reads(graph, choices, ends, wholes):
    """{(source, number of its result): {reader: for each of its Options the set of SBPs that it wants, None: the abstract}}; a
    result of the graph is read by its source itself, or by the parameter to which it is written."""
    found: dict = {}

    def add(arg, reader, wants):
        if isinstance(arg.abstract, AbstractTensor):
            readers = found.setdefault(_source(arg), {None: arg.abstract})
            before = readers.get(reader, [frozenset()] * len(wants))
            readers[reader] = [old | {want} for old, want in zip(before, wants, strict=True)]
    for node, opts in choices.items():
        for place, arg in () if isinstance(node, Parameter) else operands_read(node):
            add(arg, node, [option.ins[place] for option in opts])
    for number, out in enumerate(graph.outputs):
        source, index = _source(out)
        owner = ends.updates.get(number)
        if owner is not source and owner in choices:
            add(out, owner, [option.outs[0] for option in choices[owner]])
        elif owner is not source and source in choices:
            add(out, source, [result_sbps(graph, number, ends, option.outs[index]) for option in choices[source]])
    return found


def operands_read(node):
    """[(its number, the operand)] of those whose elements a node reads: the others may lie in any way."""
    rule = sbp_rule_table[node.fn] if isinstance(node.fn, Primitive) and node.fn in sbp_rule_table else None
    return [(place, arg) for place, arg in enumerate(node.args) if rule is None or place not in rule.unread]


def _travels(sbps):
    return any(not isinstance(sbp, Broadcast) for sbp in sbps)


def _sets(readers, own, whole):
    """The sets of SBPs in which a value may be there for its readers: one or two of those that are wanted, since whoever has the
    whole has all its parts. [] where these are too many."""
    wants = sorted({want for per_option in (*readers.values(), own or ()) for wants in per_option for want in wants}, key=_order)
    of_whole = {want for want in wants if want == whole or not _has_addends(want)} if whole in wants else frozenset()
    found = [frozenset({want}) for want in wants if want != whole]
    found += [frozenset(pair) for pair in itertools.combinations([want for want in wants if want != whole], 2)]
    found += [frozenset(of_whole | {want}) for want in wants if want == whole or _has_addends(want)] if of_whole else []
    return found if len(found) <= SETS else []


def _order(sbps):
    """The place of a value's SBPs among others, the same on all ranks."""
    return [sbp.order for sbp in sbps]


def _has_addends(sbps):
    return any(isinstance(sbp, Partial) for sbp in sbps)


def _given(source, ends, wholes):
    """The SBPs of a parameter or constant, as the program computes with it."""
    if not isinstance(source, Parameter):
        return wholes
    placement = wish(source) or ends.lying.get(source)
    return wholes if placement is None else placement.sbps


def _source(node):
    """(the node that computes a value, the number of its result); (the node itself, 0) for parameters and constants."""
    if isinstance(node, CNode) and node.fn is tuple_getitem and isinstance(node.args[0], CNode):
        return node.args[0], node.attrs["index"]
    return node, 0


# ---------------------------------------------------------------- writing

class _Writer:
    """This rank's graph of a graph and the Options of its nodes."""

    def __init__(self, graph, mesh, chosen, plan, ends):
        self.ends = ends
        self.graph, self.mesh, self.chosen, self.plan, self.rank = graph, mesh, chosen, plan, engine().rank
        self.wholes = (Broadcast(),) * len(mesh.shape)
        self.values, self.boxed = {}, {}             # {(node, number): (local node, SBPs)}; {(node, number, SBPs): local node}
        reads = _reads(graph, {node: [option] for node, option in chosen.items()}, ends, self.wholes)
        self.whole = {key for key, readers in reads.items() for reader, wants in readers.items()
                      if reader is not None and self.wholes in wants[0]}

    def write(self):
        graph, target = self.graph, FuncGraph(self.graph.name, self.graph.origin)
        for p in graph.parameters:
            lies, abstract = self.ends.lying.get(p), p.abstract
            if lies is not None:
                abstract = AbstractTensor(abstract.dtype, lies.local_shape(abstract.shape, self.rank))
            self.values[p, 0] = (target.add_parameter(p.name, abstract, p.origin, p.default),
                                 self.wholes if lies is None else lies.sbps)
        wanted = [p for p in graph.parameters if wish(p) is not None]
        with collecting(), building(target, graph.origin, by="shard") as builder:      # of facts that Options have proved
            self.builder = builder
            on_rank(rank=self.rank, size=engine().size)
            for p in wanted:
                self.values[p, 0] = self.value(p, wish(p).sbps, "the program"), wish(p).sbps
            for node in graph.nodes:
                if node.fn is not tuple_getitem:
                    with builder.at(node.origin):
                        self.node(node)
            target.set_outputs([self.result(number) for number in range(len(graph.outputs))], make_tuple)
        target.transforms.update({key: value for key, value in graph.transforms.items() if key == "notes"})
        return target

    def result(self, number):
        """This rank's node for a result."""
        out = self.graph.outputs[number]
        have = self.values.get(_source(out), (None, self.wholes))[1]
        want = result_sbps(self.graph, number, self.ends, have)
        if any(sbp != Broadcast() for sbp in want) and number not in self.ends.kept:
            self.plan.results[number] = Placement(self.mesh, want), tuple(out.abstract.shape)
        return self.value(out, want, "the result")

    def node(self, node):
        """Write one node."""
        option, count = self.chosen[node], points(node)
        mine, of_all = self.plan.points
        self.plan.points = mine + round(count * option.share), of_all + count
        name, read = getattr(node.fn, "name", "a call"), dict(operands_read(node))
        args = [self.value(arg, option.ins[k], name) if k in read else self.as_made(arg) for k, arg in enumerate(node.args)]
        outs = node.abstract.elements if isinstance(node.abstract, AbstractTuple) else (node.abstract,)
        if node.fn is placed:
            self.values[node, 0] = args[0], option.outs[0]
            return
        if option.share == 1.0 and all(sbps == self.wholes for sbps in (*option.ins, *option.outs)):
            if count > 1 and isinstance(node.fn, Primitive):
                self.plan.whole[node.fn.name] = self.plan.whole.get(node.fn.name, 0) + 1
            results = [*results_of(self.builder.graph.add_copy(node, args, self.builder.origin))]
        else:
            shapes = [Placement(self.mesh, sbps).local_shape(out.shape, self.rank) for out, sbps in zip(outs, option.outs)]
            made = self.local(node, option, args, shapes)
            results = list(made) if isinstance(made, tuple) else [made]
            for result, shape in zip(results, shapes):
                if tuple(result.shape) != tuple(shape):
                    raise InternalError(f"{node.fn.name}: this rank's part is {result.abstract}, and {list(shape)} was planned",
                                        location=node.origin.location)
            self.plan.chosen.append((node, option))
        for i, (result, sbps) in enumerate(zip(results, option.outs)):
            self.values[node, i] = result, sbps

    def local(self, node, option, args, shapes):
        """The operator on this rank's operands; shapes: those of its results."""
        rule = sbp_rule_table[node.fn]
        if rule.lookup is not None:
            axis, shape = node.attrs["axis"], node.args[0].abstract.shape
            first, end = Placement(self.mesh, option.ins[0]).bounds(shape, self.rank)[axis]
            if end - first != shape[axis]:
                return rule.lookup(tuple(args), node.attrs, first, shape[axis])
        axes = padded_axes(node, option.ins[0]) if option.ins else ()
        args = [padded(node, args[0], axes)] if axes else args
        return self.builder.bind(node.fn, tuple(args), rule.local(node.attrs, shapes) if rule.local else node.attrs)

    def as_made(self, node):
        """This rank's node for a value, as it lies."""
        return node if isinstance(node, ValueNode) else self.values[_source(node)][0]

    def value(self, node, want, reader):
        """This rank's node for a value, placed as its reader wants it; one boxing serves all who want the same."""
        if isinstance(node, ValueNode):
            have, local = self.wholes, node
            if want == have:
                return node
        else:
            key = _source(node)
            if key not in self.values and isinstance(node.abstract, AbstractTuple):
                return self.values[key[0], 0][0]
            local, have = self.values[key]
        if have == want or not isinstance(node.abstract, AbstractTensor):
            return local
        key = (*_source(node), want)
        if key not in self.boxed:
            before, after = Placement(self.mesh, have), Placement(self.mesh, want)
            path = steps(before, after, node.abstract.shape, node.abstract.dtype.itemsize, self.rank)
            if key[:2] in self.whole and want != self.wholes and not _has_addends(want) and any(s.operator for s in path):
                local, before = self.value(node, self.wholes, reader), Placement(self.mesh, self.wholes)
                path = steps(before, after, node.abstract.shape, node.abstract.dtype.itemsize, self.rank)
            what = f"{_word(node)} : {node.abstract} for {reader}"
            self.plan.boxings.append((node.origin.location, what, before, after, path))
            self.boxed[key] = box(local, before, after, node.abstract.shape, self.rank)
        return self.boxed[key]


def _word(node):
    if isinstance(node, CNode):
        return getattr(_source(node)[0].fn, "name", "a call")
    return getattr(node, "name", "a constant")
