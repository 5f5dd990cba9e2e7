"""Views in eager mode: a Tensor made by reshape, slice or transpose knows its root, and the root its views (ops/views.py).

Views do not keep each other alive, but a view keeps its root. A write takes no more time than before where there are none.
"""
import weakref

from ..common.tensor import ROOT, VIEWS

MANY = 64


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
    root, path = source.__dict__.get(ROOT, (source, ()))
    view.__dict__[ROOT] = root, (*path, (prim, rest, attrs))
    views = root.__dict__.get(VIEWS)
    if views is None:
        views = root.__dict__[VIEWS] = Views()
        views.limit = MANY
    views.enter(view)
