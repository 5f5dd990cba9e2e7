"""Who does what in a CUDA kernel: a scheduled LoopNest, its loops shared out to the threads of blocks.

    items     for i0: for i1: out = ..                   a thread takes one (i0, i1) of the whole rectangle
    rows      for i0: fold over r; for i1: out = ..      a group of threads, a power of two, takes a row i0 and meets in
                                                         each fold: by shuffles in a warp, through shared memory beyond
    columns   for i0 (tiled): fold down r; out[i0] = ..  32 neighbouring threads take 32 columns, the other warps of the
                                                         block other rows of them, which meet in shared memory
    squares   for i0: for i1: out[i0, i1] = x[i1, i0]    a block takes a square of 32 x 32 through shared memory

Adjacent loops with nothing but values between them are one axis of work. A kernel does not know how many blocks it has: it takes
`block`, `block + blocks`, .. of as many as its sizes make, so nothing of a size or of a device is in its text. How large a
group is follows from the length of a row at run time. Which elements meet in which order depends on the number of
threads of a block (THREADS on a GPU) and on the sizes, and on nothing else: there are no atomics in it.
"""
from ...common.records import dataclass
from ...mindir.loops import Branch, CannotFuse, Fold, Let, Loop, reads_across
from ...mindir.scalar import Call, walk
from ..printers.arithmetic import REGISTER
from ..printers.math_functions import is_inline

THREADS = 256                  # of a block on a GPU; fewer run the same kernels (the simulator)
WARP = 32
SIDE = 32                      # of a square


@dataclass
class Plan:
    """How the work of a nest is shared out.

    way    : "items", "rows", "columns" or "squares"
    before : statements that every thread does once
    chain  : ((variable, extent), ..) of the axis of work, outer first; of squares those around the square
    body   : the statements of an item, row, column or element;  values: those that come before, with the chain only
    square : ((variable, extent), (variable, extent), the Accesses that are read across)
    long   : the extents that the threads of a row share
    """
    way: str
    before: list
    chain: tuple
    values: list
    body: list
    square: tuple = ()
    long: tuple = ()

    def shared_loop(self, fold):
        """Which loop of a Fold at the top of the body the threads share: a number, or None; they meet after it."""
        if self.way == "columns":
            return 0 if fold.lanes is not None else None
        if self.way == "rows":
            open_ = [k for k, (_, extent, _) in enumerate(fold.loops) if not isinstance(extent, int)]
            return open_[-1] if open_ else None
        return None


def plan(nest):
    """The Plan of a scheduled LoopNest."""
    if nest.parallel is None:
        return Plan("rows", [], (), [], nest.body, long=_long(nest.body))
    *before, loop = nest.body
    chain: list = []
    values: list = []
    while True:
        if loop.squares:
            inner, = loop.body
            across = tuple(e for e in walk(s.expr for s in inner.body)
                           if reads_across(nest, e, loop.variable, inner.variable) and
                           all({loop.variable, inner.variable}.isdisjoint(part.free) for part in e.fields[2]))
            square = (loop.variable, loop.extent), (inner.variable, inner.extent), across
            return Plan("squares", before, tuple(chain), values, inner.body, square)
        chain.append((loop.variable, loop.extent))
        if loop.tiled:
            return Plan("columns", before, tuple(chain), values, loop.body)
        loops = [s for s in loop.body if isinstance(s, Loop)]
        others = [s for s in loop.body if not isinstance(s, Loop)]
        if len(loops) != 1 or loops[0].start or loops[0].stop is not None or \
                not all(isinstance(s, (Let, Branch)) and not _folds(s) for s in others):
            long = _long(loop.body)
            return Plan("rows" if long else "items", before, tuple(chain), values, loop.body, long=long)
        values, loop = values + others, loops[0]


def _folds(statement):
    """Does a Branch hold a Fold? It would be done for each element of the loop beside it."""
    return isinstance(statement, Branch) and any(isinstance(s, Fold) or _folds(s)
                                                 for side, _ in (statement.then, statement.otherwise) for s in side)


def _long(statements):
    """The extents, no literal ones, that loops and folds of a row run over."""
    found = []
    for s in statements:
        if isinstance(s, Loop):
            found.append(product_of(flattened(s)[0]))
        elif isinstance(s, Fold):
            first = joined(s)
            open_ = [extent for _, extent, _ in s.loops if not isinstance(extent, int)]
            found += open_[-1:] if first is None else [open_[-2] * open_[-1]]
    return tuple(dict.fromkeys(e for e in found if not isinstance(e, int)))


def joined(fold):
    """The number of the loop of a Fold that is one axis with the next one, the innermost: threads share the lines as well, which
    may be short (sums over batch and picture). None where there is none."""
    loops = [k for k, (variable, _, _) in enumerate(fold.loops) if variable is not None]
    if len(loops) < 2 or fold.lanes is not None or fold.expr.fields[0].startswith("arg"):
        return None
    *_, (_, outer, between), (_, inner, _) = [fold.loops[k] for k in loops]
    return loops[-2] if not between and not isinstance(outer, int) and not isinstance(inner, int) and \
        loops[-1] == loops[-2] + 1 else None


def flattened(loop):
    """([(variable, extent)], body, tiled) of a loop and those that are all of its body: one axis that threads share."""
    axes = [(loop.variable, loop.extent)]
    while not loop.tiled and loop.stop is None and not loop.start and len(loop.body) == 1 and isinstance(loop.body[0], Loop) and \
            not loop.body[0].start and loop.body[0].stop is None:
        loop = loop.body[0]
        axes.append((loop.variable, loop.extent))
    return axes, loop.body, loop.tiled


def product_of(axes):
    """The number of iterations of a chain of loops, an int or a Dim."""
    size = 1
    for _, extent in axes:
        size = size * extent
    return size


def refuse_libm(value):
    """CannotFuse where an expression calls a function of the C library: a GPU has none."""
    for e in walk([value]):
        if isinstance(e, Call) and e.fields[1][0].dtype.is_float:
            name, type_ = e.fields[0], REGISTER[e.fields[1][0].dtype.name]
            if not is_inline(name, type_) and name not in ON_GPU:
                raise CannotFuse(f"{name} of {e.fields[1][0].dtype.name} calls the C library, which a GPU does not have")


ON_GPU = {"fmod"}              # functions of the C library that `code` writes itself
