"""Views: what reshape, slice and transpose give shows another Tensor's elements, and a write to either is seen in both.

    b = a.reshape(-1)[2:]            path of b: (reshape, slice), from its root a
    b[0] = 9                         a = write_back(a, path, b)          then every other view of a follows its path anew

Views are kept as such paths, not as memory: a Tensor's elements are always in row-major order, in eager mode as in graphs,
and a write to a view is an operator like any other, through which gradients flow. So both modes have one meaning, that
of MindSpore's PyNative mode and of NumPy. What copies: an index that is a list or a tensor, broadcasting, everything else.
"""
from ..common.tensor import ROOT, VIEWS
from ..mindir.primitive import bind
from .basic import reshape, transpose
from .dynamic_slicing import dynamic_slice, dynamic_update
from .slicing import slice_, slice_update


def _untransposed(perm):
    return tuple(perm.index(axis) for axis in range(len(perm)))


WRITE_BACK = {                                       # (source, value, rest of the operands, attributes) -> the new source
    reshape: lambda x, value, rest, attrs: reshape(value, shape=x.shape),
    slice_: lambda x, value, rest, attrs: slice_update(x, value, start=attrs["start"], step=attrs["step"]),
    transpose: lambda x, value, rest, attrs: transpose(value, perm=_untransposed(attrs["perm"])),
    dynamic_slice: lambda x, value, rest, attrs: dynamic_update(x, value, *rest),
}


def follow(root, path):
    """The view of `root` at a path of (primitive, the rest of its operands, attributes)."""
    for prim, rest, attrs in path:
        root = bind(prim, (root, *rest), attrs)
    return root


def write_back(root, path, value):
    """`root` with `value` in place of its view at the path."""
    levels = [root]
    for step in path[:-1]:
        levels.append(follow(levels[-1], (step,)))
    for level, (prim, rest, attrs) in zip(reversed(levels), reversed(path)):
        value = WRITE_BACK[prim](level, value, rest, attrs)
    return value


def written(tensor, write):
    """`tensor` has a new value: its root and all views of that follow. write(tensor, value): for one Tensor only."""
    root, path = tensor.__dict__.get(ROOT, (tensor, ()))
    if path:
        write(root, write_back(root, path, tensor))
    for ref in root.__dict__.get(VIEWS, ()):
        view = ref()
        if view is not None and view is not tensor:
            write(view, follow(root, view.__dict__[ROOT][1]))
