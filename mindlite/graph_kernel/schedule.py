"""Where each value of a loop nest is computed: as far out as its loop variables allow, and a fold before its first use.

    softmax:   for i0:                                   column sums (the kept axis is contiguous):
                   m = max over r of x[i0, r]                for tiles of i0:
                   s = sum over r of exp(x[i0, r] - m)           fold over r: for lanes t: acc[t] += x[r, i0 + t]
                   for i1: out = exp(x[i0, i1] - m) / s          for lanes t: out[i0 + t] = acc[t]

    transpose (read along the outer loop):        for squares of i0, i1:  for i0: for i1: out[i0, i1] = x[i1, i0]

Which of these shapes are used, and how large tiles and squares are, the Target says (`nest.target`).

So reduce followed by elementwise work on its result ("stitch") is a row that stays in cache. A fold that would be
computed again and again, because a loop around it does not occur in it, is refused: the clusterer then splits.
The outermost loop is the parallel axis, cut into chunks [begin, end) by the launcher.
"""
import itertools
import math
from dataclasses import field, replace
from typing import Any

from ..common.dim import bounds, coefficient, evaluate, symbols_of
from ..common.records import dataclass
from ..mindir.loops import Access, Branch, CannotFuse, Fold, Lanes, Let, Loop, Store, reads_across
from ..mindir.scalar import Call, Const, IndexVar, Reduce, Select, Size, walk
from .ranges import Decided, cuts_of
from .row_buffer import rows_of

SOME = 4                       # times as many rows as blocks: so many a block may do
INLINE = 10                    # expressions are written inside one another up to here, then one gets a name


@dataclass(eq=False)
class _Scope:
    """A list of statements being written: what is bound there, and which loop variables are known."""
    parent: Any
    variables: frozenset
    guard: bool = False
    tile: Any = None                                   # (scope of the tile, its variable) in a loop over lanes
    statements: list = field(default_factory=list)
    bound: set = field(default_factory=set)

    def has(self, expr):
        """True if `expr` has a name that can be used here."""
        scope = self
        while scope is not None:
            if expr in scope.bound:
                return True
            scope = scope.parent
        return False

    def inside(self, *variables, **fields):
        """A scope below this one."""
        return _Scope(self, self.variables | frozenset(variables), **fields)


def schedule(nest):
    """Fill in body, extent, parallel and cost of a LoopNest; returns it. raises : CannotFuse."""
    nest.target.refuse(output.value for output in nest.outputs)
    _Scheduler(nest).run()
    return nest


class _Scheduler:
    def __init__(self, nest):
        self.nest = nest
        self.over = {id(nest.inputs[k]) for k in nest.in_place.values()}  # loaded before anything is written over it
        self.over |= {id(nest.inputs[k]) for k in nest.in_place if k < len(nest.inputs)}
        self.rows, self.waiting = rows_of(nest) if nest.target.row_buffers else ({}, {})
        self.begun, self.kept = set(), set()              # folds; those that have left their values in rows
        self.named = {row.value for row in self.rows.values()} | set(self.waiting)
        self.depth = {}                                   # of the text of an expression without a name
        self.unsafe, self.sound = {}, _unconditional(o.value for o in nest.outputs)
        self.learn(walk(o.value for o in nest.outputs))

    def learn(self, exprs):
        """What of the expressions gets a name (what is used twice or is a node's result), and what may lie outside."""
        uses: dict = {}
        for expr in exprs:
            for child in expr.children():
                uses[child] = uses.get(child, 0) + 1
        self.named |= {e for e, n in uses.items() if n > 1} | {e for e in exprs if e in self.nest.notes}
        self.named |= {e for e in exprs if isinstance(e, Access) and id(e.fields[0]) in self.over}
        for expr in exprs:
            self.unsafe[expr] = (isinstance(expr, Access) and not expr.fields[5]) or \
                any(self.unsafe[c] for c in expr.children())

    def run(self):
        nest = self.nest
        root = _Scope(None, frozenset())
        first = nest.outputs[0].loops[:1]
        self._refuse_folds_in_folds()
        self._refuse_rows_in_few_blocks()
        if not first:
            self._refuse_folds_of_rows()
        else:
            whole = self._is_fold_of_everything()
            nest.parallel = None if whole else first[0]
            nest.extent = 1 if whole else nest.actual(nest.extents[first[0]])
        self.outputs(list(enumerate(nest.outputs)), 0, root)
        nest.body = body = bound_once(root.statements, set())
        if nest.parallel is not None:
            body = max([s for s in body if isinstance(s, Loop)], key=_length).body
        nest.cost = nest.actual(_Cost(nest.target.call_cost, self.named).statements(body))
        return nest

    def _is_fold_of_everything(self):
        """True if a fold without loop variables has elementwise work after it: then the loops run in one piece, so they are
        short, too."""
        limit, found = self.nest.target.root_fold, False
        for output in self.nest.outputs:
            for expr in walk([output.value]):
                if isinstance(expr, Reduce) and not expr.free:
                    if self._exceeds(expr.fields[1], limit):
                        raise CannotFuse("a reduction over everything would be computed again in each chunk")
                    found = True
        if found and any(self._exceeds(output.loops, limit) for output in self.nest.outputs):
            raise CannotFuse("threads would not share the loops after a reduction over everything")
        return found

    def _refuse_folds_of_rows(self):
        """Folds over everything of folds over rows would run on one thread; only the rows can be shared."""
        for expr in walk(o.value for o in self.nest.outputs):
            if isinstance(expr, Reduce) and not expr.free and \
                    any(isinstance(e, Reduce) and e.free and
                        self._exceeds((*e.fields[1], *expr.fields[1]), self.nest.target.root_fold)
                        for e in walk([expr.fields[2]])):
                raise CannotFuse("the rows of a large reduction would not be shared by threads")

    def _refuse_folds_in_folds(self):
        """A long fold for each item of another one. Where a Target shares long sums out in parts, it would be one thread's. Along
        columns it reads whole rows at a time, for all columns at once, and would do so for each item."""
        target = self.nest.target
        for fold in [e for e in walk(o.value for o in self.nest.outputs) if isinstance(e, Reduce)]:
            for e in walk([fold.fields[2]]) if target.parts_of_sums or target.tiled_folds else ():
                if not isinstance(e, Reduce) or e.free.isdisjoint(fold.fields[1]) or \
                        not self._exceeds(e.fields[1], target.repeated_fold):
                    continue
                if target.parts_of_sums:
                    raise CannotFuse("threads would not share a fold in a fold")
                if self._walks_down_columns(e):
                    raise CannotFuse("a fold would walk down a column for each item of another one")

    def _walks_down_columns(self, fold):
        """True for a fold that reads no neighbours."""
        loads = [e for e in walk([fold.fields[2]]) if isinstance(e, Access) and not e.free.isdisjoint(fold.fields[1])]
        return bool(loads) and not any(coefficient(e.fields[1], self.nest.symbols[v]) == 1 for e in loads for v in fold.fields[1])

    def _refuse_rows_in_few_blocks(self):
        """Of such a Target: blocks are given out along the loops that all results share. Where these are few, and some result has
        many more rows, those would be done one after the other."""
        target, outputs = self.nest.target, self.nest.outputs
        if not target.parts_of_sums or len(outputs) == 1:
            return
        shared = [same[0] for same in itertools.takewhile(lambda same: len(set(same)) == 1, zip(*(o.loops for o in outputs)))]
        blocks, rows = ([self.nest.actual(self.nest.extents[v]) for v in loops] for loops in
                        (shared, max((o.loops[:-1] for o in outputs), key=len)))
        if all(isinstance(size, int) for size in (*blocks, *rows)) and 0 < math.prod(blocks) < target.long_sums[0][0] and \
                math.prod(rows) > SOME * math.prod(blocks):
            raise CannotFuse("few blocks would do the rows of many")

    def _exceeds(self, variables, limit):
        """May loops over these variables have more than `limit` iterations?"""
        size = 1
        for variable in variables:
            size = size * self.nest.actual(self.nest.extents[variable])
        return bounds(size)[1] is None or bounds(size)[1] > limit

    def outputs(self, numbered, depth, scope):
        """The statements of the outputs whose first `depth` loops are open in `scope`."""
        here = [(number, output) for number, output in numbered if len(output.loops) == depth]
        for _, output in here:
            self.place(output.value, scope)
        scope.statements += [Store(number, output, output.value, output.offset) for number, output in here]
        deeper: dict = {}
        for number, output in numbered:
            if len(output.loops) > depth:
                deeper.setdefault(output.loops[depth], []).append((number, output))
        for variable, group in deeper.items():
            loop = Loop(variable, self.nest.extents[variable], [], parallel=variable is self.nest.parallel)
            ends = [(number, o) for number, o in group if len(o.loops) == depth + 1]
            if self.wants_lanes(variable, ends):
                if len(ends) < len(group):
                    raise CannotFuse("a reduction would walk down columns beside results that are written in rows")
                loop.tiled = True
                tile = scope.inside()
                lanes = tile.inside(variable, tile=(tile, variable))
                self.outputs(group, depth + 1, lanes)
                loop.body = tile.statements + [Lanes(variable, lanes.statements)]
            else:
                if self.wants_lanes(variable, group, {v for _, o in group for v in o.loops[depth + 1:]}):
                    raise CannotFuse("a reduction would walk down columns for results that are written in rows")
                whole = not (self.nest.target.cut_parallel if loop.parallel else self.nest.target.cut_loops)
                cuts = None if whole else cuts_of(self.nest, variable, [o.value for _, o in group])
                if cuts is not None:
                    self.pieces(variable, group, depth, scope, cuts)
                    continue
                inner = scope.inside(variable)
                self.outputs(group, depth + 1, inner)
                loop.body = inner.statements
                loop.squares = self.wants_squares(loop, [output for _, output in group])
            scope.statements.append(loop)

    def pieces(self, variable, group, depth, scope, cuts):
        """A loop cut in pieces; in each, the conditions on its variable are decided."""
        for start, stop in zip([0, *cuts], [*cuts, None]):
            decided = Decided(self.nest, variable, start, stop)
            part = [(number, replace(output, value=decided(output.value))) for number, output in group]
            self.learn(walk(o.value for _, o in part))
            inner = scope.inside(variable, guard=True, tile=scope.tile)     # a load may be inside in this piece only
            self.outputs(part, depth + 1, inner)
            loop = Loop(variable, self.nest.extents[variable], inner.statements, start=start, stop=stop)
            loop.parallel = variable is self.nest.parallel
            loop.squares = loop.parallel and self.wants_squares(loop, [output for _, output in part])
            scope.statements.append(loop)

    def wants_squares(self, loop, outputs):
        """True if a loop and the innermost one, which is all of its body, are read in the other order."""
        if not self.nest.target.squares or len(loop.body) != 1 or type(loop.body[0]) is not Loop or loop.body[0].tiled or \
                loop.body[0].start or loop.body[0].stop is not None or isinstance(loop.body[0].extent, int) or \
                not all(isinstance(s, (Let, Store)) for s in loop.body[0].body):
            return False
        inner = loop.body[0].variable
        return any(reads_across(self.nest, e, loop.variable, inner) for e in walk(o.value for o in outputs))

    def wants_lanes(self, variable, group, deeper=frozenset()):
        """True if the folds inside the loop, but outside of the loops `deeper`, read along the loop's own axis rather than along
        theirs. A row or column that only one of the two reads does not count: it is near either way."""
        nest, along, across = self.nest, 0, 0
        if not nest.target.tiled_folds:
            return False
        symbol = nest.symbols[variable]
        for expr in walk(o.value for _, o in group):
            if isinstance(expr, Reduce) and variable in expr.free and expr.free.isdisjoint(deeper):
                if all(isinstance(nest.extents[v], int) for v in expr.fields[1]):
                    continue                              # a literal window: LLVM unrolls it and vectorises the loop
                for load in walk([expr.fields[2]]):
                    if isinstance(load, Access) and variable in load.free and not load.free.isdisjoint(expr.fields[1]):
                        along += coefficient(load.fields[1], symbol) == 1
                        across += any(coefficient(load.fields[1], nest.symbols[v]) == 1 for v in expr.fields[1])
        return along > across

    def home(self, expr, scope):
        """The outermost scope in which `expr` can be computed."""
        while scope.parent is not None and expr.free <= scope.parent.variables and \
                not (scope.guard and self.unsafe[expr] and expr not in self.sound):
            scope = scope.parent
        return scope

    def place(self, expr, scope):
        """See to it that everything in `expr` that needs a statement has one that is visible in `scope`."""
        if isinstance(expr, (Const, IndexVar, Size)) or scope.has(expr):
            return
        home = self.home(expr, scope)
        fold, source = self.waiting.get(expr, (None, None))
        if fold is not None and fold not in self.begun:
            self.place(fold, home)
        if fold in self.kept and home.has(fold):
            home.statements.append(Let(expr, self.nest.notes.get(expr), source))
            home.bound.add(expr)
        elif isinstance(expr, Reduce):
            self.place_fold(expr, home)
        elif isinstance(expr, Select) and (self.unsafe[expr.fields[1]] or self.unsafe[expr.fields[2]]):
            self.place(expr.fields[0], home)
            sides = []
            for side in expr.fields[1:]:
                guarded = home.inside(guard=True, tile=home.tile)
                self.place(side, guarded)
                sides.append((guarded.statements, side))
            then, other = sides
            home.statements.append(Branch(expr, then, other, self.nest.notes.get(expr)))
            home.bound.add(expr)
        else:
            for child in expr.children():
                self.place(child, home)
            inlined = [self.depth.get(c, 0) for c in expr.children() if c not in self.named]
            self.depth[expr] = 1 + max(inlined, default=0)
            if self.depth[expr] > INLINE:
                self.named.add(expr)
            if expr in self.named:
                home.statements.append(Let(expr, self.nest.notes.get(expr)))
                home.bound.add(expr)

    def place_fold(self, expr, home):
        """A fold goes where its free variables are known; over a tile, all lanes at once."""
        nest, (_, variables, body) = self.nest, expr.fields
        lanes = None
        self.begun.add(expr)
        if home.tile is not None and not home.guard:
            tile, variable = home.tile
            if expr.free <= tile.variables | {variable}:
                home, lanes = tile, variable
        around = home.variables | ({lanes} if lanes is not None else frozenset())
        for variable in around - expr.free:
            size = 1
            for v in variables:
                size = size * nest.actual(nest.extents[v])
            if bounds(size)[1] is None or bounds(size)[1] > nest.target.repeated_fold:
                raise CannotFuse(f"a reduction would be computed again for each {variable.fields[0]}")
        scope, loops = home, []
        for v in variables:
            scope = scope.inside(v)
            loops.append((v, nest.extents[v], scope.statements))
        if lanes is not None:
            scope = scope.inside(lanes, tile=(home, lanes))
            loops.append((None, None, scope.statements))
        self.place(body, scope)
        row = self.rows.get(expr)
        if row is not None and lanes is None and not home.guard and row.value in scope.bound:
            scope.statements.append(Store(row.number, row.output, row.value, row.offset))
            self.kept.add(expr)
        home.statements.append(Fold(expr, loops, body, lanes, nest.notes.get(expr)))
        home.bound.add(expr)


def _length(loop):
    """How many items a loop, or a piece of one, has; an unknown size counts as NOMINAL_SIZE."""
    return (nominal(loop.extent) if loop.stop is None else loop.stop) - loop.start


def _unconditional(values):
    """The expressions in `values` that are computed whatever conditions hold."""
    seen, todo = set(), list(values)
    while todo:
        expr = todo.pop()
        if expr not in seen:
            seen.add(expr)
            todo.extend(expr.fields[:1] if isinstance(expr, Select) else expr.children())
    return seen


def bound_once(statements, bound):
    """The statements without those whose value has a name already where they stand.

    A value may be placed in a branch and, for what is placed later, before that branch: then the branch reads it.
    """
    kept = []
    for s in statements:
        if isinstance(s, (Let, Fold, Branch)):
            if s.expr in bound:
                continue
            bound.add(s.expr)
        if isinstance(s, (Loop, Lanes)):
            s.body[:] = bound_once(s.body, set(bound))
        elif isinstance(s, Fold):
            inside = set(bound)
            for _, _, body in s.loops:
                body[:] = bound_once(body, inside)
        elif isinstance(s, Branch):
            for body, _ in (s.then, s.otherwise):
                body[:] = bound_once(body, set(bound))
        kept.append(s)
    return kept


# ---------------------------------------------------------------- cost

NOMINAL_SIZE = 64              # what an unknown size counts


def total_cost(nest):
    """Operations of a whole scheduled LoopNest, an int; an unknown size counts as NOMINAL_SIZE."""
    return nominal(nest.cost * nest.extent)


def nominal(size):
    """The int that a size counts as in estimates."""
    return size if isinstance(size, int) else evaluate(size, dict.fromkeys(symbols_of(size), NOMINAL_SIZE))


class _Cost:
    """Operations of statements, a polynomial in the sizes; a value that has a name counts where it is bound."""

    def __init__(self, call, named):
        self.call, self.named = call, named

    def statements(self, statements):
        cost = 0
        for s in statements:
            if isinstance(s, Loop):
                cost = cost + self.statements(s.body) * (s.extent if s.stop is None else s.stop - s.start)
            elif isinstance(s, Lanes):
                cost = cost + self.statements(s.body)
            elif isinstance(s, Fold):
                inner = 1 + self.use(s.value)
                for variable, extent, body in reversed(s.loops):
                    inner = inner + self.statements(body)
                    inner = inner * extent if variable is not None else inner
                cost = cost + inner
            elif isinstance(s, Branch):
                cost = cost + sum(self.statements(body) + self.use(value) for body, value in (s.then, s.otherwise))
            elif isinstance(s, Let):
                cost = cost + (self.compute(s.expr) if s.source is None else 1)
            else:
                cost = cost + 1 + self.use(s.expr)
        return cost

    def use(self, expr):
        return 0 if isinstance(expr, (Reduce, Const, IndexVar, Size)) or expr in self.named else self.compute(expr)

    def compute(self, expr):
        return (self.call if isinstance(expr, Call) else 1) + sum(self.use(x) for x in expr.children())
