"""Views in eager mode: a Tensor made by reshape, slice or transpose knows its root, and the root its views (ops/views.py).

Views do not keep each other alive, but a view keeps its root. A write takes no more time than before where there are none.
"""
import weakref

from ..common.tensor import ROOT, VIEWS, Tensor
from ..mindir.primitive import eval_rule
from ..ops.basic import reshape
from ..ops.slicing import places, slice_

MANY = 64
_new = Tensor.__new__


class Views(list):
    """Weak references to the views of a Tensor; dead ones are dropped when there are many."""
    __slots__ = ("limit",)
    limit: int

    def enter(self, view):
        """Add a view."""
        if len(self) >= self.limit:
            self[:] = [ref for ref in self if ref() is not None]
            self.limit = 2 * len(self) + MANY
        self.append(weakref.ref(view))


def link(view, source, prim, rest, attrs):
    """`view` is prim(source, *rest, **attrs)."""
    link_path(view, source, ((prim, rest, attrs),))


def link_path(view, source, steps):
    """`view` is what a path of (primitive, the rest of its operands, attributes) makes of `source`."""
    kept = source.__dict__
    if ROOT in kept:
        source, path = kept[ROOT]
        steps, kept = path + steps, source.__dict__
    view.__dict__[ROOT] = source, steps
    if VIEWS in kept:
        kept[VIEWS].enter(view)
    else:
        views = kept[VIEWS] = Views((weakref.ref(view),))
        views.limit = MANY


def view_maker(path):
    """The function of a Tensor on the CPU that gives its view at a path, by the eval rules or, for slices, as these do."""
    evaluations = [(eval_rule[prim], attrs) for prim, _, attrs in path]
    taken, shape = None, None
    if path[0][0] is slice_ and all(prim in (slice_, reshape) for prim, _, _ in path[1:]):
        taken, shape = places(**path[0][2]), path[0][2]["sizes"]
        if len(path) == 2 and path[1][0] is reshape:
            shape = path[1][2]["shape"]
        elif len(path) > 1:
            taken = None

    def view(tensor):
        array = tensor.host_array
        if taken is not None:
            array = array[taken]
            if not array.flags.c_contiguous:
                array = array.copy()
            if array.shape != shape:
                array = array.reshape(shape)
        else:
            for evaluate, attrs in evaluations:
                array = evaluate(array, **attrs)
        made = _new(Tensor)
        made.host_array = array
        made.tape = made.init = made._shape = None
        link_path(made, tensor, path)
        return made
    return view
