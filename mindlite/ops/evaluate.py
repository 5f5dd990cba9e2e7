"""The plain NumPy interpreter: every operator by its eval rule. The meaning that all other interpreters are tested against."""
import numpy as np

from ..common.errors import MindliteError, user_location
from ..common.tensor import Tensor
from ..mindir.builder import constant
from ..mindir.primitive import eval_rule, infer_rule, set_base_interpreter


class NumpyInterpreter:
    """bind checks the operands by the infer rule and computes by the eval rule."""

    def bind(self, prim, args, attrs):
        """prim(*args, **attrs) on Tensors, arrays and numbers; gives Tensors."""
        check(prim, args, attrs)
        return evaluate(prim, args, attrs)


def abstract_of(value):
    """The abstract of a Tensor, array or number."""
    return constant(value).abstract


def check(prim, args, attrs):
    """Apply the infer rule: the abstract of the result.

    raises : what the rule raises, placed at the user's line
    """
    try:
        return infer_rule[prim](*[abstract_of(a) for a in args], **attrs)
    except MindliteError as error:
        raise error.at(user_location())


def evaluate(prim, args, attrs):
    """Apply the eval rule to Tensors, arrays and numbers; gives a Tensor or a tuple of them."""
    out = eval_rule[prim](*[a.host_array if isinstance(a, Tensor) else a for a in args], **attrs)
    return tuple([wrap(x) for x in out]) if isinstance(out, tuple) else wrap(out)


def wrap(out):
    """The Tensor of what an eval rule gave; Python numbers stay numbers."""
    return Tensor.wrap(out if isinstance(out, np.ndarray) else np.asarray(out)) if isinstance(out, (np.ndarray, np.generic)) \
        else out


set_base_interpreter(NumpyInterpreter())
