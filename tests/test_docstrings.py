"""Public docstrings give what a user needs: each parameter by name, shapes or dtypes, and the errors.

The walk looks at what a user calls: the functions of `ops` and `functional`, the classes of `nn`, the methods of `Tensor`.
LACKING is how many of a room may still lack something. It only shrinks: write docstrings, then lower the number. What lacks is
printed by `python tests/test_docstrings.py`.
"""
import inspect
import re

import numpy as np
import pytest

import mindlite as ms
from mindlite import functional, nn, ops
from mindlite.common.errors import DTypeError
from mindlite.common.tensor import Tensor
from mindlite.mindir.primitive import Primitive

LACKING = {"nn": 0,
           "ops a-l": 0,
           "ops m-z": 0,
           "functional": 0,
           "Tensor": 0}
KIND = re.compile(r"\[[^\]]*\]|\b(?:int|float|bool|str|tuple|dtype|Tensors?|Cell|function|number|ints|floats?|complex|type)\b")


def public(room):
    """{name: object} of what a user calls in a room; "ops a-l" are the names in ops that begin so."""
    if " " in room:
        room, letters = room.split()
        return {name: value for name, value in public(room).items() if re.match(f"[{letters}]", name.lower())}
    if room == "Tensor":
        return {name: value for name, value in inspect.getmembers(Tensor) if not name.startswith("_") and callable(value)}
    module = {"nn": nn, "ops": ops, "functional": functional}[room]
    found = {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    if room == "nn":
        return {name: value for name, value in found.items() if inspect.isclass(value)}
    return {name: value for name, value in found.items()
            if isinstance(value, Primitive) or inspect.isfunction(value)}


def signature_of(value):
    """The signature that a user sees."""
    while hasattr(value, "__wrapped__"):
        value = value.__wrapped__
    if inspect.isclass(value) and value.__init__ is nn.Cell.__init__ and value is not nn.Cell:      # it has no settings
        inputs = list(inspect.signature(value.construct).parameters.values())[1:]
        return inspect.Signature(inputs)
    return value.signature if isinstance(value, Primitive) else inspect.signature(value)


def lacks(value, of_tensor=False):
    """What the docstring does not say: names of parameters, "kinds" where no shape or type is given."""
    doc = re.sub(r"Tensor\.\w+ is the operator .*", "", inspect.getdoc(value) or "")
    if not doc:
        return ["a docstring"]
    try:
        params = [p for p in signature_of(value).parameters.values() if p.name not in ("self", "name")
                  and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)][of_tensor:]
    except ValueError:                                       # a builtin that tells nothing
        return []
    missing = [p.name for p in params if not re.search(rf"\b{re.escape(p.name)}\b", doc)]
    return missing + ([] if KIND.search(doc) or not params else ["kinds"])


def table(room):
    """{name: what its docstring lacks} of a room."""
    return {name: found for name, value in sorted(public(room).items()) if (found := lacks(value, room == "Tensor"))}


@pytest.mark.parametrize("room", LACKING)
def test_docstrings_name_parameters_and_kinds(room):
    found = table(room)
    assert len(found) <= LACKING[room], f"{room}: " + ", ".join(f"{name} ({' '.join(what)})" for name, what in found.items())


def test_dtypes_of_which_elementwise_operators_speak_are_those_that_they_take():
    kinds = {"bool": np.bool_, "unsigned": np.uint8, "integer": np.int32, "float": np.float32, "complex": np.complex64}
    looked_at = 0
    for name, prim in public("ops").items():
        found = isinstance(prim, Primitive) and re.search(r": Tensor or number, of (.*) dtype", prim.__doc__)
        if not found:
            continue
        looked_at += 1
        for kind, dtype in kinds.items():
            operands = [ms.Tensor(np.ones((2,), dtype)) for _ in prim.inputs]
            if kind in found[1].split(", "):
                assert prim(*operands).shape == (2,), name
            else:
                with pytest.raises(DTypeError):
                    prim(*operands)
    assert looked_at > 50


def test_the_walk_sees_what_lacks():
    def add(x, y):
        """The sum of x : float[...] and another."""
    assert lacks(add) == ["y"] and lacks(lambda x: x) == ["a docstring"] and len(public("ops")) > 400 and ms


if __name__ == "__main__":
    for each in LACKING:
        for name, what in table(each).items():
            print(f"{each}.{name}: {' '.join(what)}")
