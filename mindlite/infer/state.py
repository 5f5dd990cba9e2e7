"""The state of inferring one function, each part with what is done to it. The Evaluator holds one of each."""
import contextlib
from collections import ChainMap

from ..common.location import cell_path

MISSING = object()                                # the value of a node that no frame has


class Frame:
    """One call of a function: its syntax graph, the Python function it came from, the frame around it, its values.

    `env` maps syntax nodes to values; regions push a layer on it. `called_at` is where its (last) call stands.
    """
    called_at = None

    def __init__(self, graph, function=None, outer=None, outer_env=None, scope=""):
        self.graph, self.function, self.outer, self.outer_env, self.scope = graph, function, outer, outer_env, scope
        self.env: ChainMap = ChainMap({})

    def lookup(self, node, env=None):
        """The value of a syntax node, here or in the frames around; MISSING where it has none."""
        frame, env = self, self.env if env is None else env
        while True:
            if node in env:
                return env[node]
            if frame.outer is None:
                return MISSING
            frame, env = frame.outer, frame.outer_env

    @property
    def globals(self):
        """The global names of the function (of the outermost one for a nested function)."""
        return self.function.__globals__ if self.function is not None else self.outer.globals

    def closure_cell(self, name):
        """The Python closure cell of that name."""
        if self.function is None:
            return self.outer.closure_cell(name)
        return self.function.__closure__[self.function.__code__.co_freevars.index(name)]


class Calls:
    """The calls that are being executed.

    frames    : the Frame of each
    active    : [(what identifies the function, the home of the region in which it was called)]
    recursive : {what identifies it: RecursiveCall} of the functions that are written as graphs
    failed    : (the last exception that came out of one, the place where it came up)
    """

    def __init__(self):
        self.frames, self.active, self.recursive, self.failed = [], [], {}, (None, None)
        self.cells, self.paths = [], {}           # the Cells that are called; {id of the outermost: {id: its path}}

    @contextlib.contextmanager
    def inside(self, frame, key, tracer):
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
    def inside_cell(self, cell, tracer):
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

    def is_active(self, key, outside=None):
        """True if such a call is being executed. outside: only one in another region than of this home counts"""
        return any(k == key and home is not outside for k, home in self.active)

    def fail(self, error, place):
        """Remember where an exception came up, the first time that it passes."""
        if self.failed[0] is not error:
            self.failed = error, place

    def place_of(self, error):
        """Where an exception came up; None where that is not known."""
        return self.failed[1] if self.failed[0] is error else None


class Objects:
    """The objects of Python's that the function makes: no variables outside, and new in every run."""

    def __init__(self):
        self.known = {}                           # {id: (the object, the mark that makes it Python's, the region it is made in)}

    def add(self, value, mark, region):
        """Remember one."""
        self.known[id(value)] = value, mark, region

    def __contains__(self, value):
        return id(value) in self.known

    def mark_of(self, value):
        """The mark that makes an object Python's from the beginning."""
        return self.known[id(value)][1]

    def region_of(self, value):
        """The region in which an object is made."""
        return self.known[id(value)][2]


class Guards:
    """What was read outside at compile time, and must be so when the graph is used.

    found   : {(kind, id of the owner, name): (kind, owner, name, value)}
    watches : more of them, each of what was read behind one piece of Python code (variables.py)
    shared  : {id: container} of those from outside that were read
    """

    def __init__(self):
        self.found, self.watches, self.shared = {}, [], {}

    def add(self, kind, owner, name, value):
        """Remember that `name` of `owner` was `value`."""
        for found in (self.found, *self.watches):
            found[kind, id(owner), name] = kind, owner, name, value


class Variables:
    """The variables outside that the graph does not take for constants.

    varying : Places, and ("content", id) of containers, that the function reads and changes
    inputs  : {Place: the parameter of the graph for its value at the beginning}
    written : Places that Python code was given as the graph had assigned them: they are read at run time
    alive   : containers among `varying`, whose id must stay theirs
    """

    def __init__(self, varying):
        self.varying, self.inputs, self.written, self.alive = varying, {}, set(), []

    def change(self, container):
        """From now on this container's content is read at run time."""
        self.varying.add(("content", id(container)))
        self.alive.append(container)

    def is_changed(self, container):
        """True for a container whose content is not known."""
        return ("content", id(container)) in self.varying


class Fallbacks:
    """What is left to Python, and what is known of it.

    records   : the Records of the function      sites: the pieces of Python code in the graph
    keys      : of the records that were asked for      needed: (reason, key) of one that is missing
    construct : the name of the construct that is executed      asked: the key by which it has asked Python
    left      : {(place, n)} of the marked statements that stand in what was executed
    """

    def __init__(self, fullgraph, records):
        self.fullgraph, self.records = fullgraph, records
        self.sites, self.keys, self.needed = [], set(), None
        self.construct, self.asked, self.left = "", None, set()

    @property
    def marks(self):
        """{mark: why}: what has to be Python's (sharing.py)."""
        return self.records.marks

    @contextlib.contextmanager
    def inside(self, construct):
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

    def __init__(self):
        self.around, self.sides, self.handling, self.origins, self.linked = [], [], [], {}, {}
        self.left_waiting = self.after_effects = False

    @contextlib.contextmanager
    def inside(self, attempt):
        """The block is the body of a `try`."""
        depth = len(self.around)
        self.around.append(attempt)
        try:
            yield
        finally:
            del self.around[depth:]

    @contextlib.contextmanager
    def handle(self, exception):
        """The block handles an exception."""
        self.handling.append(exception)
        try:
            yield
        finally:
            self.handling.pop()

    def link(self, exception, name, value):
        """The __cause__ or __context__ of an exception waits until it is made."""
        self.linked.setdefault(id(exception), {})[name] = value

    def links_of(self, exception):
        """{"__cause__" or "__context__": what waits}"""
        return self.linked.get(id(exception), {})
