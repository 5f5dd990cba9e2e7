"""What is annotated stays so: public functions of functional, and the stub of Tensor's operators and methods.

`mindlite/common/tensor_methods.pyi` is for editors and type checkers: ops, pynative and functional give Tensor its methods at
run time, and no checker sees that.
"""
import ast
import inspect
import pathlib
import typing

import mindlite.nn  # noqa: F401
from mindlite import functional
from mindlite.common import tensor
from mindlite.common.tensor import Tensor

STUB = pathlib.Path(tensor.__file__).with_name("tensor_methods.pyi")


def test_public_functions_of_functional_have_types():
    found = [value for name, value in vars(functional).items() if inspect.isfunction(value) and not name.startswith("_")]
    bare = [f.__name__ for f in found if typing.get_type_hints(f).keys() != {*inspect.signature(f).parameters, "return"}]
    assert len(found) > 20 and not bare, bare


def test_the_stub_has_all_that_is_given_to_tensor():
    own = {node.name for node in ast.walk(ast.parse(inspect.getsource(Tensor))) if isinstance(node, ast.FunctionDef)}
    given = {name for name, value in vars(Tensor).items()
             if name not in own and (callable(value) or isinstance(value, (property, staticmethod)))}
    declared = {node.name for node in ast.walk(ast.parse(STUB.read_text())) if isinstance(node, ast.FunctionDef)}
    assert len(given) > 400 and not given - declared, sorted(given - declared)
    assert not declared - given, sorted(declared - given)
