"""The state of inferring one function, each part with what is done to it, and how a piece of a function can end."""
from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence, Set
from types import CellType
from typing import Any

from ..common.errors import Refusal, Signal
from ..common.location import Location, Origin, cell_path
from ..fallback.record import Records
from ..mindir.graph import AnfNode, CNode, FuncGraph
from .values import Place, Value

MISSING = object()                                # the value of a node that no frame has


@contextlib.contextmanager
def pushed(stack: list, item: Any) -> Iterator[None]:
    """`item` is the last of the list in the block."""
    depth = len(stack)
    stack.append(item)
    try:
        yield
    finally:
        del stack[depth:]


class Environment:
    """The values of syntax nodes, in layers: what is executed in a region has a layer of its own, and goes with it.

    own : the innermost layer, into which values are written
    """
    __slots__ = ("own", "around")

    def __init__(self, around: tuple[dict, ...] = ()) -> None:
        self.own: dict = {}
        self.around = around

    def new_child(self) -> Environment:
        """The same with another layer."""
        return Environment((self.own, *self.around))

    def get(self, node: Any, otherwise: Any = None) -> Any:
        """The value of a node, `otherwise` where it has none."""
        value = self.own.get(node, MISSING)
        if value is MISSING:
            for layer in self.around:
                value = layer.get(node, MISSING)
                if value is not MISSING:
                    return value
            return otherwise
        return value

    def __getitem__(self, node: Any) -> Any:
        value = self.get(node, MISSING)
        if value is MISSING:
            raise KeyError(node)
        return value

    def __setitem__(self, node: Any, value: Any) -> None:
        self.own[node] = value

    def update(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Give nodes values."""
        self.own.update(pairs)


class Frame:
    """One call of a function: its syntax graph, the Python function it came from, the frame around it, its values.

    `env` maps syntax nodes to values; regions push a layer on it. `called_at` is where its (last) call stands, `block` what is
    executed of it.
    """
    called_at: Location | None = None
    sent: Any = None                              # to a generator, which it goes on with
    block: FuncGraph | None = None

    def __init__(self, graph: FuncGraph, function: Value | None = None, outer: Frame | None = None,
                 outer_env: Environment | None = None, scope: str = "") -> None:
        self.graph, self.function, self.outer, self.outer_env, self.scope = graph, function, outer, outer_env, scope
        self.env = Environment()

    def lookup(self, node: AnfNode, env: Any = None) -> Value:
        """The value of a syntax node, here or in the frames around; MISSING where it has none."""
        frame, env = self, self.env if env is None else env
        while True:
            value = env.get(node, MISSING)
            if value is not MISSING or frame.outer is None:
                return value
            frame, env = frame.outer, frame.outer_env

    @property
    def python_function(self) -> Any:
        """The function of Python's that this one is, or in which it stands."""
        frame = self
        while frame.function is None and frame.outer is not None:
            frame = frame.outer
        return frame.function

    @property
    def globals(self) -> dict:
        """The global names of the function (of the outermost one for a nested function)."""
        return self.python_function.__globals__

    def closure_cell(self, name: str) -> CellType:
        """The Python closure cell of that name."""
        function = self.python_function
        return function.__closure__[function.__code__.co_freevars.index(name)]


class Calls:
    """The calls that are being executed.

    frames    : the Frame of each
    active    : [(what identifies the function, the home of the region in which it was called)]
    recursive : {what identifies it: RecursiveCall} of the functions that are written as graphs
    failed    : (the last exception that came out of one, the place where it came up)
    """

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.active: list[tuple[Any, Any]] = []
        self.recursive: dict[Any, Any] = {}
        self.failed: tuple[BaseException | None, Any] = (None, None)
        self.cells: list[Any] = []                # the Cells that are called
        self.paths: dict[int, dict[int, str]] = {}            # {id of the outermost: {id: its path}}

    @contextlib.contextmanager
    def inside(self, frame: Frame, key: Any, tracer: Any) -> Iterator[None]:
        """What is executed in the block is a part of this call."""
        origin = tracer.origin
        frame.called_at = origin.location
        self.active.append((key, tracer.region.home))
        self.frames.append(frame)
        try:
            yield
        finally:
            self.active.pop()
            self.frames.pop()
            tracer.origin = origin

    @contextlib.contextmanager
    def inside_cell(self, cell: Value, tracer: Any) -> Iterator[None]:
        """What is executed in the block is code of this Cell, if it is one."""
        if not hasattr(type(cell), "cells_and_names"):
            yield
            return
        before = tracer.cell
        self.cells.append(cell)
        outermost = self.cells[0]
        if id(outermost) not in self.paths:
            self.paths[id(outermost)] = {id(inner): f"{type(outermost).__name__}.{path}"
                                         for path, inner in outermost.cells_and_names() if path}
        tracer.cell = self.paths[id(outermost)].get(id(cell)) or cell_path(self.cells)
        try:
            yield
        finally:
            self.cells.pop()
            tracer.cell = before

    def is_active(self, key: Any, outside: Any = None) -> bool:
        """True if such a call is being executed. outside: only one in another region than of this home counts"""
        return any(k == key and home is not outside for k, home in self.active)

    def fail(self, error: BaseException, place: Any) -> None:
        """Remember where an exception came up, the first time that it passes."""
        if self.failed[0] is not error:
            self.failed = error, place

    def place_of(self, error: BaseException) -> Location | None:
        """Where an exception came up; None where that is not known."""
        return self.failed[1] if self.failed[0] is error else None


class Objects:
    """The objects of Python's that the function makes: no variables outside, and new in every run."""

    def __init__(self) -> None:
        # by id: the object, the mark that makes it Python's, the region it is made in
        self.known: dict[int, tuple[Any, tuple, Any]] = {}

    def add(self, value: Value, mark: tuple, region: Any) -> None:
        """Remember one."""
        self.known[id(value)] = value, mark, region

    def __contains__(self, value: Value) -> bool:
        return id(value) in self.known

    def mark_of(self, value: Value) -> tuple:
        """The mark that makes an object Python's from the beginning."""
        return self.known[id(value)][1]

    def region_of(self, value: Value) -> Any:
        """The region in which an object is made."""
        return self.known[id(value)][2]


class Guards:
    """What was read outside at compile time, and must be so when the graph is used.

    found   : {(kind, id of the owner, name): (kind, owner, name, value)}
    watches : more of them, each of what was read behind one piece of Python code (outside.py)
    shared  : {id: container} of those from outside that were read
    """

    def __init__(self) -> None:
        self.found: dict[tuple, tuple] = {}
        self.watches: list[dict[tuple, tuple]] = []
        self.shared: dict[int, Any] = {}

    def add(self, kind: str, owner: Value, name: Any, value: Value) -> None:
        """Remember that `name` of `owner` was `value`."""
        for found in (self.found, *self.watches):
            found[kind, id(owner), name] = kind, owner, name, value


class Variables:
    """The variables outside that the graph does not take for constants.

    varying : Places, and ("content", id) of containers, that the function reads and changes
    inputs  : {Place: the parameter of the graph for its value at the beginning}
    foreseen: Places that became inputs as the block that reads them assigns to them;    refuted: those to which it did not
    written : Places that Python code was given as the graph had assigned them: they are read at run time
    alive   : containers among `varying`, whose id must stay theirs
    """

    def __init__(self, varying: set, refuted: Set[Place] = frozenset()) -> None:
        self.varying, self.refuted = varying, refuted
        self.inputs: dict[Place, AnfNode] = {}
        self.written: set[Place] = set()
        self.foreseen: set[Place] = set()
        self.alive: list[Any] = []

    def change(self, container: Value) -> None:
        """From now on this container's content is read at run time."""
        self.varying.add(("content", id(container)))
        self.alive.append(container)

    def is_changed(self, container: Value) -> bool:
        """True for a container whose content is not known."""
        return ("content", id(container)) in self.varying


class Fallbacks:
    """What is left to Python, and what is known of it.

    records   : the Records of the function      sites: the pieces of Python code in the graph
    keys      : of the records that were asked for      needed: (reason, key) of one that is missing
    construct : the name of the construct that is executed      asked: the key by which it has asked Python
    left      : {(place, n)} of the marked statements that stand in what was executed
    """

    def __init__(self, fullgraph: bool, records: Records) -> None:
        self.fullgraph, self.records = fullgraph, records
        self.sites: list[Any] = []
        self.keys: set[tuple] = set()
        self.needed: Any = None
        self.construct = ""
        self.asked: tuple | None = None
        self.left: set[tuple] = set()

    @property
    def marks(self) -> dict:
        """{mark: why}: what has to be Python's (sharing.py)."""
        return self.records.marks

    @contextlib.contextmanager
    def inside(self, construct: str) -> Iterator[None]:
        """What is asked of Python in the block is asked by this construct."""
        before = self.construct, self.asked
        self.construct, self.asked = construct, None
        try:
            yield
        finally:
            self.construct, self.asked = before


class Attempts:
    """Each `try` around, and the exceptions that are on their way.

    around       : Attempts of one `try` each      sides: those that were opened (branches.open_side)
    handling     : the exceptions that are being handled
    origins      : {id: (exception, where it was raised)}
    linked       : {id of an exception: {"__cause__": .., "__context__": ..}}, made of run-time values
    left_waiting : True if a generator may wait inside of a `try` as a region ended
    after_effects: True if on some path something is assigned and then an exception raised
    """

    def __init__(self) -> None:
        self.around: list[Any] = []
        self.sides: list[Any] = []
        self.handling: list[Any] = []
        self.origins: dict[int, tuple] = {}
        self.linked: dict[int, dict[str, Any]] = {}
        self.left_waiting = self.after_effects = False

    def inside(self, attempt: Any) -> contextlib.AbstractContextManager:
        """The block is the body of a `try`."""
        return pushed(self.around, attempt)

    def handle(self, exception: Value) -> contextlib.AbstractContextManager:
        """The block handles an exception."""
        return pushed(self.handling, exception)

    def link(self, exception: Value, name: str, value: Value) -> None:
        """The __cause__ or __context__ of an exception waits until it is made."""
        self.linked.setdefault(id(exception), {})[name] = value

    def links_of(self, exception: Value) -> dict[str, Value]:
        """{"__cause__" or "__context__": what waits}"""
        return self.linked.get(id(exception), {})


# ---------------------------------------------------------------- Tensors that are assigned to, derivatives

class AmbiguousTarget(Refusal):
    """An item assignment to one of several Tensors, chosen by a run-time condition. The whole
    function is left to Python: a part of it would get copies of the Tensors."""

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message, None, **fields)


class Effects:
    """What is known of the Tensors that may be assigned to in place.

        a = x if c else y        a is `ambiguous`: it may be x or y
        x[0] = 1                 now a is `stale`: nobody knows whether what it means was assigned to

    ambiguous : nodes that are one of several Tensors with names of their own
    may_be    : {such a node: those Tensors}
    stale     : such nodes of whose Tensors one was assigned to
    views     : {view: (root, path, the root's value then)}
    versions  : {a value that a Tensor once had: that Tensor, which its holder means}
    held      : roots of Tensors that Python code holds
    aliases   : {what asnumpy gave: (the root whose memory that is, its value then)}
    """

    def __init__(self) -> None:
        self.ambiguous: set[AnfNode] = set()
        self.stale: set[AnfNode] = set()
        self.held: set[Any] = set()
        self.may_be: dict[AnfNode, Any] = {}
        self.views: dict[AnfNode, tuple[Any, tuple, Any]] = {}
        self.versions: dict[Any, Any] = {}
        self.aliases: dict[AnfNode, tuple[Any, Any]] = {}

    def choose(self, node: AnfNode, roots: Iterable[Any]) -> None:
        """`node` is one of these Tensors, or of those that one of them may be, or a view of one."""
        self.ambiguous.add(node)
        self.may_be.setdefault(node, set()).update(roots, *[self.may_be.get(root, ()) for root in roots])

    def read(self, value: Value) -> None:
        """What stands for a variable is read. raises : AmbiguousTarget where it may have been assigned to"""
        if value in self.stale:
            raise AmbiguousTarget("a variable is one of several Tensors, known at run time only, and one of them was "
                                  "assigned to", hint="assign to a copy: x = x + 0")

    def assign(self, target: Any) -> None:
        """A Tensor is assigned to. raises : AmbiguousTarget where others could not see it"""
        if target in self.ambiguous:
            raise AmbiguousTarget("which Tensor is assigned to is known at run time only",
                                  hint="assign to the Tensor itself, or to a copy: x = x + 0")
        if target in self.held:
            raise AmbiguousTarget("a Tensor is assigned to that Python code holds too, as a copy",
                                  hint="assign to a copy: x = x + 0")
        self.stale.update([node for node, roots in self.may_be.items() if target in roots])


class Derivatives:
    """What derivatives are taken by.

    leaves         : nodes that stand for Parameters, with which gradients stay
    stands_for     : {input of a derivative: what it is by}
    differentiated : arguments by which one is, whose hooks are looked for at each call
    """

    def __init__(self) -> None:
        self.leaves: list[AnfNode] = []
        self.stands_for: dict[AnfNode, Any] = {}
        self.differentiated: set[Any] = set()


# ---------------------------------------------------------------- how a piece of a function can end

RETURN = "return"


class Attempt:
    """A `try` whose body is being executed. barrier: the graph of its own that no exception can leave
    on a run-time condition, or None; targets: {kind of exception: Caught}."""

    def __init__(self, barrier: str | None = None) -> None:
        self.barrier = barrier
        self.targets: dict[Any, Caught] = {}


@contextlib.contextmanager
def barrier(attempts: Attempts, what: str) -> Iterator[None]:
    """Inside, no exception finds the `try` around on a condition that is known at run time only."""
    with attempts.inside(Attempt(what)) if attempts.around else contextlib.nullcontext():
        yield


class Caught:
    """Target: the handler of `attempt`, with an exception, which is the payload."""
    __slots__ = ("attempt",)
    name = "except"

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt


class Suspended:
    """Target: who goes on with a generator behind the yield whose terminator is `end`."""
    __slots__ = ("end",)
    name = "yield"

    def __init__(self, end: CNode) -> None:
        self.end = end


class Outcome:
    """{target: payload}, and the number of the target (an int, or a node where several are left).

    A target is RETURN, with the value, or a block, with the values that `leave_to` gives, or Caught with an exception,
    or Suspended with (the value, what `leave_to` gives for the block behind it, the exceptions being handled).
    """

    def __init__(self, exits: dict[Any, Any], code: Value = 0) -> None:
        self.exits, self.code = exits, code

    @property
    def single(self) -> Any:
        """The only target, or None."""
        return next(iter(self.exits)) if len(self.exits) == 1 else None


def ends_call(target: Any) -> bool:
    """True for a target that is not a block of the function."""
    return target == RETURN or isinstance(target, (Caught, Suspended))


class Raises(Signal):
    """The code raises `exception`, an exception or a MadeException; calls: the Locations of the calls around."""
    exits: dict = {}

    def __init__(self, exception: Value, origin: Origin | None = None, calls: Sequence[Location | None] = ()) -> None:
        super().__init__(exception)
        self.exception, self.origin, self.calls = exception, origin, calls


NEVER = Outcome({})                                          # the code does not go on: it has ended the run


class Departs(Signal):
    """A call that does not return: it ends with `outcome`, whose targets are all Caught."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


class Recursion(Signal):
    """A function calls itself under a condition that is known at run time only."""

    def __init__(self, key: Any) -> None:
        super().__init__(key)
        self.key = key


class NoResultYet(Signal):
    """A recursive call whose result type is not known yet: the path that makes it is left out of this round."""
