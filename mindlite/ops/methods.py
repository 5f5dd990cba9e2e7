"""Python's operators and the methods of Tensor, given to Tensor and to graph nodes alike: one table."""
from ..common.tensor import Tensor
from ..mindir.graph import AnfNode
from . import arithmetic, linalg

METHODS = {}


def method(name, function):
    """Make `function(self, ...)` the method `name` of Tensor and AnfNode."""
    METHODS[name] = function
    setattr(Tensor, name, function)
    setattr(AnfNode, name, function)


def _binary(name, operator, reflected=True):
    def forward(self, other):
        return NotImplemented if isinstance(other, (str, bytes, dict, set)) or other is None else operator(self, other)

    def backward(self, other):
        return NotImplemented if isinstance(other, (str, bytes, dict, set)) or other is None else operator(other, self)
    method(f"__{name}__", forward)
    if reflected:
        method(f"__r{name}__", backward)


for _name, _operator in [("add", arithmetic.add), ("sub", arithmetic.sub), ("mul", arithmetic.mul),
                         ("truediv", arithmetic.div)]:
    _binary(_name, _operator)
for _name, _operator in [("lt", arithmetic.less), ("le", arithmetic.less_equal), ("gt", arithmetic.greater),
                         ("ge", arithmetic.greater_equal)]:
    _binary(_name, _operator, reflected=False)
method("__neg__", lambda self: arithmetic.neg(self))
method("__pos__", lambda self: self)
