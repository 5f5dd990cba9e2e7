"""Which operators become one kernel: groups of nodes replaced by one CNode whose fn is the fused FuncGraph.

    %1 = tanh(%x); %2 = mul(%1, %w); %3 = matmul(%2, %v)     ->     %1 = fused_tanh_mul(%x, %w); %3 = matmul(%1, %v)

Greedy, in program order, first over large values, then over all: a node joins the groups of its producers if the union
is convex (no path leaves it and comes back, so no cycle arises), is one loop nest (`build` and `schedule` say so exactly;
of elementwise work it is known without them, see `goes_on`) and does not compute so much again that storing would be
cheaper; refusals are noted. Library operators and effects stay unfused. An effect keeps its source relative to other effects
and to every node that reads one of its operands, and to nothing else. A node with several results moves together with the
nodes that read them.

Groups that follow one another and have nothing to do with one another are one kernel in the end (`together`), where that
keeps no large value alive: what they make is small, or a result of the function.
"""
import heapq

from ..backend.target import current
from ..common.config import config
from ..common.errors import InternalError
from ..mindir.abstract import AbstractScalar, AbstractTensor, AbstractTuple
from ..mindir.control import make_tuple, tuple_getitem
from ..mindir.graph import AnfNode, CNode, FuncGraph, Parameter, ValueNode
from ..mindir.inline import has_effect, size_edges
from ..mindir.primitive import Primitive, kernel_rule
from ..ops.basic import reshape
from .epilogue import FINISHED
from .estimate import estimated, sizes_of
from .loopnest import JUMPS, CannotFuse, build
from .recompute import recompute_cheap
from .recomputed_results import Part, recomputed_results, rewritten
from .schedule import nominal, schedule, total_cost
from .signature import attributes_key, constant_key, keep_nest, signature
from .horizontal import TOGETHER
from .two_stages import in_two_stages

REMEMBERED = 4096                           # verdicts on clusters that are cached
ROUNDS = 4                                  # of dropping results that are computed again, at most
_NONE: frozenset = frozenset()
_UNFUSED = {"library", "effect", "control", "scalar"}


def cluster(graph, level="O1", target=None, elsewhere=None):
    """A typed FuncGraph whose operators with kernel rules are CNodes of fused FuncGraphs; graphs in attributes as well.

    level : "O1" fuses, "O0" makes one kernel per operator
    target: the Target that decides what one kernel shall be, by default the current one
    elsewhere: a function of a graph, the nodes of it that run on another device than the rest
    result: a new graph; its transforms["refused"] is a list of (node, reason): what stayed unfused or apart, and why.
            A fused node of several results has an AbstractTuple and is read by tuple_getitem; of one, its abstract.
    """
    return _cluster(graph, level, target or current(), {}, elsewhere)


def _cluster(graph, level, target, done, elsewhere=None):
    if id(graph) not in done:
        made = FuncGraph(graph.name, graph.origin, graph.kind)
        made.signature = graph.signature
        done[id(graph)] = made, graph                         # before its body: a recursive graph calls itself
        whole = graph if level == "O0" else recompute_cheap(in_two_stages(graph, target), target)
        _Clusterer(whole, level, target, made, done, elsewhere).run()
    return done[id(graph)][0]


class _Group:
    """Nodes that become one: members (in program order), fused (they are a kernel), before (Groups), cost.

    shape: that of all members if each is elementwise and makes just this shape, else None
    nest : the scheduled LoopNest of the members, where one was made to judge them, else None
    estimated: True if cost is an estimate;   apart: operations of the members as kernels of their own
    bits : 1 << number of each group that has become this one, for sets;   into: the group that this one has become, or None
    """

    def __init__(self, number, members, fused):
        self.bits = 1 << number
        self.number, self.members, self.fused, self.before = number, members, fused, set()
        self.cost, self.shape, self.into, self.nest = 0, None, None, None
        self.estimated, self.apart = False, 0

    @property
    def live(self):
        """The group that this one is part of now."""
        group = self
        while group.into is not None:
            group = group.into
        return group


class _Clusterer:
    def __init__(self, graph, level, target, made, done, elsewhere=None):
        self.elsewhere = {id(node) for node in elsewhere(graph)} if elsewhere is not None else frozenset()
        self.graph, self.level, self.target, self.made, self.done = graph, level, target, made, done
        self.keys = {}
        self.group_of: dict = {}
        self.units: dict = {}                             # operations of an element of each node (see `estimated`)
        self.exact: set = set()
        self.users: dict = {}
        for node in graph.nodes:
            for arg in node.args:
                self.users.setdefault(id(arg), []).append(node)
        self.readers = {key: frozenset(map(id, users)) for key, users in self.users.items()}
        self.elements = {id(arg): _elements(arg) for node in graph.nodes for arg in node.args if isinstance(arg, CNode)}
        self.position = {id(n): k for k, n in enumerate(graph.nodes)}
        self.results = {id(o) for o in graph.outputs}

    def run(self):
        self.join()
        while not self.stand():
            self.join()
        if self.target.recomputed[0] and self.level != "O0":
            self.recompute()
        self.write(self.sorted_groups())
        self.made.transforms["refused"] = self.refused

    def join(self):
        """The groups, from the beginning; nodes in `exact` join by what a loop nest says, others by estimates."""
        self.refused = []
        self.groups = self.singles()
        self.order_edges()
        if self.level != "O0":
            for least in (self.target.large, 0):
                for group in self.groups:
                    if group.fused and group.into is None:
                        self.join_producers(group, least)

    def stand(self):
        """True if each group that estimates have made is one loop nest that costs no more than its operators apart; the
        nodes of others are `exact` from now on."""
        failed = []
        for group in self.groups:
            if group.into is None and group.estimated:
                reason, cost = self.not_one_kernel(group.members)
                group.nest = self.trial_nest
                if reason is not None or cost > self.target.dearer * group.apart:
                    failed += group.members
        self.exact |= {id(member) for member in failed}
        return not failed

    def recompute(self):
        """Drop results that their readers compute again (`recomputed_results`), round by round: what is read in one may be
        dropped in the next. Where no kernel comes of it, results stay."""
        refused: set = set()
        for _ in range(ROUNDS):
            groups = [group for group in self.groups if group.into is None]
            parts = [Part(self.in_order(g.members), g.fused and not is_view(g.members), self.is_elsewhere(g)) for g in groups]
            changes = recomputed_results(self.graph, parts, self.units, self.target, refused)
            if changes is None:
                return
            graph, parts, copies = rewritten(self.graph, parts, changes)
            other = _Clusterer(graph, self.level, self.target, self.made, self.done)
            other.elsewhere = {id(copy) for key in self.elsewhere for copy in copies[key]}
            altered = {number for number, _ in changes.dropped.values()} | changes.copies.keys()
            failed = other.take(groups, parts, copies, self.units, altered)
            if failed:
                refused |= {key for key, (own, readers) in changes.dropped.items() if failed & {own, *readers}}
                continue
            self.before = self.graph                         # alive, so that ids stay its own
            refused = {id(copy) for key in refused for copy in copies[key]}
            self.__dict__.update({**other.__dict__, "refused": self.refused})

    def take(self, groups, parts, copies, units, altered):
        """The groups of another graph, whose nodes have copies here; returns the numbers of those that are no kernels."""
        self.units = {id(copy): count for key, count in units.items() for copy in copies.get(key, ())}
        self.groups, self.group_of = [], {}
        failed: set = set()
        for number, part in parts.items():
            group = _Group(len(self.groups), part.members, groups[number].fused)
            self.groups.append(group)
            self.group_of.update((id(m), group) for m in part.members)
            if number not in altered:
                group.nest = groups[number].nest
            elif len(part.members) > self.target.kernel_nodes or self.not_one_kernel(part.members)[0] is not None:
                failed.add(number)
            else:
                group.nest = self.trial_nest
        if not failed:
            self.order_edges()
        return failed

    # ------------------------------------------------------------ groups of one operator

    def singles(self):
        """A Group per node, in program order; a node with several results has its readers with it."""
        groups: list = []
        self.group_of, self.units = {}, {}
        for node in self.graph.nodes:
            if node.fn is tuple_getitem and id(node.args[0]) in self.group_of:
                group = self.group_of[id(node.args[0])]
                if group.fused:
                    group.members.append(node)
                    self.group_of[id(node)] = group
                    continue
            reason = self.why_not(node)
            if reason is None:
                readers = [u for u in self.users.get(id(node), ()) if u.fn is tuple_getitem]
                reason, cost = self.elementwise(node) or self.not_one_kernel([node, *readers])
            if reason is not None and node.fn is not tuple_getitem:
                self.refused.append((node, reason))
            group = _Group(len(groups), [node], reason is None)
            if reason is None:
                group.cost, group.apart, group.nest = cost, cost, self.trial_nest
                folds = "reduction" in node.fn.traits
                self.units[id(node)] = cost // max(1, _elements(node.args[0] if folds else node)) - (not folds)
                if "elementwise" in node.fn.traits and isinstance(node.abstract, AbstractTensor):
                    group.shape = node.abstract.shape
            groups.append(group)
            self.group_of[id(node)] = group
        return groups

    def elementwise(self, node):
        """The result of `not_one_kernel` for a node whose operands are numbers and tensors of its own shape,
        cached: the cost of an element does not depend on the shape. None for other nodes."""
        if not isinstance(node.abstract, AbstractTensor) or "elementwise" not in node.fn.traits:
            return None
        kinds: list = []
        for arg in node.args:
            if isinstance(arg, ValueNode) and _is_number(arg):
                kinds.append(constant_key(arg, self.keys))
            elif isinstance(arg.abstract, AbstractTensor) and arg.abstract.shape == node.abstract.shape:
                kinds.append((arg.abstract.dtype, node.args.index(arg)))
            else:
                return None
        key = self.target, node.fn, attributes_key(node, self.keys), node.abstract.dtype, tuple(kinds)
        size = nominal(node.abstract.size)
        known = _of_elements.get(key)
        if known is None:
            reason, cost = self.not_one_kernel([node])
            if reason is not None or size == 0:
                return reason, cost
            if len(_of_elements) > REMEMBERED:
                _of_elements.clear()
            _of_elements[key] = cost // size
            return reason, cost
        self.trial_nest = None
        return None, known * size

    def why_not(self, node):
        """The reason why `node` is not for a generated kernel, None if it is."""
        if not isinstance(node.fn, Primitive):
            return "a library operator stays unfused" if node.fn.kind == FINISHED else "no operator"
        unfused = node.fn.traits & _UNFUSED
        if unfused:
            return f"a {min(unfused)} operator stays unfused"
        if node.fn not in kernel_rule:
            return "no kernel rule"
        if any(isinstance(value, FuncGraph) for value in node.attrs.values()):
            return "it holds a graph"
        for abstract in getattr(node.abstract, "elements", (node.abstract,)):
            if not isinstance(abstract, AbstractTensor):
                return f"a result is {abstract}, no tensor"
        if isinstance(node.abstract, AbstractTuple):
            users = self.users.get(id(node), [])
            if id(node) in self.results or not users or any(u.fn is not tuple_getitem for u in users):
                return "its results are used as a tuple"
        for arg in node.args:
            if not isinstance(arg.abstract, (AbstractTensor, AbstractScalar)):
                return f"an operand is {arg.abstract}"
        return None

    def order_edges(self):
        """before: which groups must come earlier: those that give operands or sizes, and around effects those in touch."""
        last_effect = None
        effects: dict = {}
        readers: dict = {}
        known: dict = {}
        for node in self.graph.nodes:
            group = self.group_of[id(node)]
            for arg in node.args:
                if id(arg) in self.group_of:
                    group.before.add(self.group_of[id(arg)])
                if id(arg) in effects:
                    group.before.add(effects[id(arg)])
            if has_effect(node, known):
                if last_effect is not None:
                    group.before.add(last_effect)
                last_effect = group
                for arg in node.args:
                    if not isinstance(arg, ValueNode) or isinstance(arg.abstract, AbstractTensor):
                        effects[id(arg)] = group
                        group.before.update(readers.get(id(arg), ()))
            for arg in node.args:
                readers.setdefault(id(arg), set()).add(group)
            group.before.discard(group)
        for first, second in size_edges(self.graph):
            if self.group_of[id(first)] is not self.group_of[id(second)]:
                self.group_of[id(second)].before.add(self.group_of[id(first)])
        order = self.sorted_groups()
        self.above = [0] * len(self.groups)          # the groups from which a path leads to each, as bits of an int
        self.below = [0] * len(self.groups)          # and those to which a path leads from it
        self.numbered = list(self.groups)
        for group in order:
            for earlier in group.before:
                self.above[group.number] |= self.above[earlier.number] | earlier.bits
        for group in reversed(order):
            for earlier in group.before:
                self.below[earlier.number] |= self.below[group.number] | group.bits

    # ------------------------------------------------------------ joining

    def join_producers(self, group, least):
        """Merge `group` with the groups of its operands of `least` elements, the latest first, if that is one kernel."""
        refused = set()
        while True:
            group = self.group_of[id(group.members[0])]
            found = {self.group_of[id(a)] for m in group.members for a in m.args
                     if id(a) in self.group_of and self.elements[id(a)] >= least}
            producers = sorted((p for p in found if p.fused and p is not group and p.number not in refused),
                               key=lambda p: -p.number)
            if not producers:
                return
            producer = producers[0]
            reason = self.why_apart(producer, group)
            if reason is None:
                self.merge(producer, group)
            else:
                refused.add(producer.number)
                if least == 0:                              # said once: a refusal for large values comes again
                    self.refused.append((group.members[-1], f"apart from {producer.members[-1].fn.name}: {reason}"))

    def why_apart(self, first, second):
        """The reason why two groups cannot be one, None if they can."""
        members = self.in_order(first.members + second.members)
        if len(members) > self.target.kernel_nodes:
            return f"more than {self.target.kernel_nodes} operators"
        if self.is_elsewhere(first) != self.is_elsewhere(second):
            return "they run on different devices"
        if self.path_between(first, second):
            return "another node stands between them"
        self.trial_nest, self.trial_estimated = None, first.estimated or second.estimated
        self.trial_apart = first.apart + second.apart
        if first.shape is not None and first.shape == second.shape:
            self.trial = first.cost + second.cost               # one element after the other: surely one loop
            operands = {id(a) for m in members for a in m.args} - {id(m) for m in members}
            if len(operands) > self.target.kernel_operands // 2:
                return f"more than {self.target.kernel_operands // 2} operands"
            most = self.target.kernel_pointwise
            return None if len(members) <= most else f"more than {most} operators"
        if self.goes_on(first, second):
            self.trial = first.cost + second.cost
            return self.too_many_operands(members)
        inside = {id(m) for m in first.members}
        between = {id(a): nominal(a.abstract.size) for m in second.members for a in m.args
                   if id(a) in inside and isinstance(a.abstract, AbstractTensor)}
        saved = self.target.traffic * sum(between.values()) + self.target.launch_cost
        most = self.target.dearer * (first.cost + second.cost + saved)
        reason, cost = self.estimate(members, most) or self.not_one_kernel(members)
        if reason is None and cost > most:
            return "computing values again would cost more than storing them"
        self.trial, self.trial_apart = cost, first.apart + second.apart + saved
        return reason

    def estimate(self, members, most):
        """What `not_one_kernel` says of members of which shapes tell enough, else None; and None above `most` operations."""
        results = self.results_of(members, {id(m) for m in members})
        if len({sizes_of(r)[:1] for r in results}) > 1:
            return "the results do not share their outer axis", 0
        cost = estimated(members, results, self.units) if self.exact.isdisjoint(map(id, members)) else None
        if cost is None or cost > most:
            return None
        self.trial_estimated = True
        return self.too_many_operands(members), cost

    def goes_on(self, first, second):
        """True if `second` is elementwise work on results of `first`, all of whose results have one shape and dtype: it stands in
        the loops in which they are written, behind folds that are where they were. Beside results of other shapes, or on what
        is no result yet, a fold may have to move. What jumps asks whether a sum is computed twice (`build` knows), and so does a
        fold of what is read under a condition: it goes where another condition is."""
        if second.shape is None or any(m.fn.name in JUMPS for m in second.members):
            return False
        if any("reduction" in m.fn.traits for m in first.members) and not all(_reads_all(m) for m in first.members):
            return False
        inside = {id(m) for m in first.members}
        results = {id(m): m.abstract for m in self.results_of(first.members, inside)}
        abstracts = [*results.values(), *(m.abstract for m in second.members)]
        return all(id(a) in results for m in second.members for a in m.args if id(a) in inside) and \
            all(a.shape == second.shape and a.dtype is abstracts[0].dtype for a in abstracts)

    def too_many_operands(self, members):
        """The reason why these are no kernel, if they have too many operands and results."""
        inside = {id(m) for m in members}
        operands = {id(a) for m in members for a in m.args
                    if id(a) not in inside and not (isinstance(a, ValueNode) and _is_number(a))}
        many = len(operands) + len(self.results_of(members, inside)) > self.target.kernel_operands
        return f"more than {self.target.kernel_operands} operands" if many else None

    def is_elsewhere(self, group):
        """True for what runs on another device than the rest."""
        return id(group.members[0]) in self.elsewhere

    def path_between(self, first, second):
        """True if a path leads from `first` to `second`, which reads it, through a third."""
        second.before = {group.live for group in second.before} - {second}
        return any(self.above[p.number] & first.bits for p in second.before if p is not first)

    def not_one_kernel(self, members):
        """(the reason why `members` are not one loop nest, None if they are; the cost of the loop nest)."""
        self.trial_nest = None
        key, operands, results = self.signature(members)
        if operands + results > self.target.kernel_operands:
            return f"more than {self.target.kernel_operands} operands", 0
        key = self.target, key
        verdict = _verdicts.get(key)                         # other threads forget what is remembered
        if verdict is None:
            if len(_verdicts) > REMEMBERED:
                _verdicts.clear()
            *verdict, self.trial_nest = _judge(self.fuse(members)[0], self.target)
            _verdicts[key] = verdict
        return verdict

    def signature(self, members):
        """(what two sets of members share if they make the same kernel, how many operands and results it has)."""
        number = {id(m): k for k, m in enumerate(members)}
        rows = []
        operands: dict = {}
        abstracts: list = []
        for member in members:
            sources = []
            for arg in member.args:
                source = number.get(id(arg))
                if source is None:
                    if isinstance(arg, ValueNode) and _is_number(arg):
                        source = constant_key(arg, self.keys)
                    else:
                        source = operands.setdefault(id(arg), -1 - len(operands))
                        if len(abstracts) < len(operands):
                            abstracts.append(arg.abstract)
                sources.append(source)
            rows.append((member.fn, attributes_key(member, self.keys), member.abstract, *sources))
        results = tuple([number[id(m)] for m in self.results_of(members, number.keys())])
        return (tuple(abstracts), tuple(rows), results), len(operands), len(results)

    def results_of(self, members, inside):
        """The members that something else reads, at least one. inside: the ids of the members, a set or the keys of a dict"""
        found = [m for m in members if not isinstance(m.abstract, AbstractTuple) and
                 (id(m) in self.results or not self.readers.get(id(m), _NONE) <= inside)]
        return found or [m for m in members if not isinstance(m.abstract, AbstractTuple)][-1:]

    def merge(self, first, second):
        """`first` takes the members of `second`."""
        first.cost, first.shape = self.trial, first.shape if first.shape == second.shape else None
        first.nest, first.estimated, first.apart = self.trial_nest, self.trial_estimated, self.trial_apart
        first.members = self.in_order(first.members + second.members)
        first.before = {group.live for group in first.before | second.before} - {first, second}
        for member in second.members:
            self.group_of[id(member)] = first
        second.into = first
        # What is above the second becomes above all that is below the first; the rest of it is so already.
        above, below, own = self.above, self.below, first.bits | second.bits
        rising = above[second.number] & ~above[first.number] & ~own
        falling = below[first.number] & ~below[second.number] & ~own
        if rising and falling:
            for group in self.groups_of(falling):
                above[group.number] |= rising
            for group in self.groups_of(rising):
                below[group.number] |= falling
        above[first.number] |= rising
        below[first.number] &= ~own
        first.bits = own

    def groups_of(self, bits):
        """The groups of a set."""
        return {self.numbered[number].live for number in numbers_of(bits)}

    def in_order(self, members):
        """The members in program order."""
        return sorted(members, key=lambda n: self.position[id(n)])

    # ------------------------------------------------------------ writing

    def fuse(self, members):
        """(graph, operands, results): the members as a FuncGraph, the outer nodes that it takes and gives."""
        inside = {id(m) for m in members}
        names = dict.fromkeys(m.fn.name for m in members if m.fn is not tuple_getitem)
        made = FuncGraph("_".join(["fused", *list(names)[:6]]), members[-1].origin)
        inner: dict[int, AnfNode] = {}
        operands = []
        for member in members:
            args = []
            for arg in member.args:
                if id(arg) not in inner:
                    if isinstance(arg, ValueNode) and _is_number(arg):
                        inner[id(arg)] = arg
                    else:
                        inner[id(arg)] = made.add_parameter(_name(arg), arg.abstract, arg.origin)
                        operands.append(arg)
                args.append(inner[id(arg)])
            inner[id(member)] = made.add_copy(member, args)
        results = self.results_of(members, inside)
        made.set_outputs([inner[id(m)] for m in results], make_tuple)
        return made, operands, results

    def sorted_groups(self):
        """The groups in an order that keeps every edge, otherwise by their last member."""
        self.groups = [group for group in self.groups if group.into is None]
        for group in self.groups:
            group.before = {earlier.live for earlier in group.before} - {group}
        key = {g: self.position[id(g.members[-1])] for g in self.groups}
        waiting = {g: len(g.before) for g in self.groups}
        after: dict = {g: [] for g in self.groups}
        for group in self.groups:
            for earlier in group.before:
                after[earlier].append(group)
        ready = [(key[g], g.number, g) for g, n in waiting.items() if n == 0]
        heapq.heapify(ready)
        out = []
        while ready:
            group = heapq.heappop(ready)[2]
            out.append(group)
            for later in after[group]:
                waiting[later] -= 1
                if waiting[later] == 0:
                    heapq.heappush(ready, (key[later], later.number, later))
        if len(out) != len(self.groups):
            raise InternalError(f"the clusters of {self.graph.name} form a cycle")
        return out

    def together(self, groups):
        """The members of each kernel or node to write: those of one group, or of several to be launched together."""
        runs = []
        open_: list = []
        read: set = set()
        for group in groups:
            joins = self.level != "O0" and config.lowering == "llvm" and self.is_small(group) and not self.is_large(group)
            # a Parameter that gets its new value in place is for one of them to read
            reads = {id(a) for m in group.members for a in m.args if isinstance(a, Parameter) and _elements(a) > 1}
            if not joins or len(open_) == self.target.launched_together or not group.before.isdisjoint(open_) or reads & read or (
                    open_ and self.is_elsewhere(open_[0]) != self.is_elsewhere(group)):
                open_, read = [], set()
            if not open_:
                runs.append(open_)
            open_.append(group)
            read |= reads
            if not joins:
                open_ = []
        return [[member for group in run for member in group.members] for run in runs]

    def is_small(self, group):
        """True for a kernel whose results, of which there are some, are small, or live to the end anyhow."""
        if not group.fused or is_view(group.members):
            return False
        made = [m for m in group.members if id(m) in self.results
                or any(self.group_of[id(u)] is not group for u in self.users.get(id(m), ()))]
        return bool(made) and all(id(m) in self.results or _elements(m) <= self.target.large for m in made)

    def is_large(self, group):
        """True for a kernel that occupies the machine alone."""
        limit = self.target.launched_alone
        return bool(limit) and any(_elements(node) >= limit for m in group.members for node in (m, *m.args)
                                   if isinstance(node, (CNode, Parameter)))

    def write(self, groups):
        """Fill the new graph."""
        made, new = self.made, {}
        for p in self.graph.parameters:
            new[id(p)] = made.add_parameter(p.name, p.abstract, p.origin, p.default)

        def outer(node):
            return new.get(id(node), node)
        for members in self.together(groups):
            node = members[0]
            if not self.group_of[id(node)].fused or is_view(members):
                attrs = {k: _cluster(v, self.level, self.target, self.done) if isinstance(v, FuncGraph) else v
                         for k, v in node.attrs.items()}
                call = isinstance(node.fn, FuncGraph) and node.fn.kind != FINISHED
                fn = _cluster(node.fn, self.level, self.target, self.done) if call else node.fn
                made.nodes.append(CNode(made, fn, [outer(a) for a in node.args], attrs, node.abstract, node.origin))
                new[id(node)] = made.nodes[-1]
                continue
            inner, operands, results = self.fuse(members)
            for group in dict.fromkeys(self.group_of[id(m)] for m in members):
                if group.nest is not None:
                    keep_nest(signature(self.fuse(group.members)[0]), group.nest)
            if any(self.group_of[id(m)] is not self.group_of[id(node)] for m in members):
                inner.kind = TOGETHER
            abstracts = tuple(r.abstract for r in results)
            abstract = abstracts[0] if len(results) == 1 else AbstractTuple(abstracts)
            node = CNode(made, inner, [outer(o) for o in operands], {}, abstract, members[-1].origin)
            made.nodes.append(node)
            if len(results) == 1:
                new[id(results[0])] = node
                continue
            for k, result in enumerate(results):
                new[id(result)] = made.add(tuple_getitem, node, abstract=result.abstract, origin=result.origin, index=k)
        made.set_outputs([outer(o) for o in self.graph.outputs], make_tuple)


def is_view(members):
    """True for what is no kernel, as its result is the same memory."""
    return len(members) == 1 and members[0].fn is reshape


def numbers_of(bits):
    """The numbers of the bits that are set in an int."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _elements(node):
    """How many elements a node's result has, the largest of several."""
    return max((nominal(a.size) for a in getattr(node.abstract, "elements", (node.abstract,))
                if isinstance(a, AbstractTensor)), default=0)


def _judge(graph, target):
    """(reason or None, cost, the scheduled LoopNest)"""
    try:
        nest = schedule(build(graph, target=target))
    except CannotFuse as refusal:
        return refusal.reason, 0, None
    return None, total_cost(nest), nest


_verdicts: dict = {}                        # a network repeats its layers: equal clusters are judged once
_of_elements: dict = {}                     # what an element of an elementwise operator costs


def _reads_all(node):
    """True for an operator that reads its operands at every index, as gathers and paddings do not."""
    return not node.fn.traits.isdisjoint(("elementwise", "creation", "reduction")) or node.fn.name in (
        "reshape", "broadcast_to", "transpose")


def _is_number(node):
    return isinstance(node.abstract, AbstractScalar) or getattr(node.value, "size", 1) == 1


def _name(node):
    if isinstance(node, Parameter):
        return node.name
    return getattr(node.fn, "name", "x") if isinstance(node, CNode) else "constant"
