"""What is annotated stays so: the functions of each room, and the stub of Tensor's operators and methods.

BARE is how many functions of a room may still lack the type of a parameter or of their result. It only shrinks: annotate, then
lower the number. What lacks is printed by `python tests/test_annotations.py`.

`mindlite/common/tensor_methods.pyi` is for editors and type checkers: ops, pynative and functional give Tensor its methods at
run time, and no checker sees that.
"""
import ast
import functools
import inspect
import pathlib
import re
import types
import typing

import pytest
from mypy import api

import mindlite.nn  # noqa: F401
from mindlite import functional, ops
from mindlite.common import tensor
from mindlite.common.tensor import Tensor
from mindlite.mindir.primitive import Primitive

ROOT = pathlib.Path(mindlite.__file__).parent
BARE = {"common": 0, "mindir": 0, "compile": 0, "fallback": 0, "infer": 0, "parse": 0, "ad": 0, "vmap": 0, "nn": 0,
        "nn/probability": 0}
STUB = pathlib.Path(tensor.__file__).with_name("tensor_methods.pyi")


def functions(body):
    """What a module or class defines; functions within functions are not signatures."""
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, (ast.ClassDef, ast.If, ast.Try)):
            yield from functions(node.body)


def is_bare(function):
    """True where a parameter but self and cls, or the result, has no type."""
    args = function.args
    params = [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]
    return function.returns is None or any(p.annotation is None for p in params if p.arg not in ("self", "cls"))


def bare(room):
    """The functions of a room that lack a type, as "path:line name"; those of a room within it count there."""
    within = [ROOT / other for other in BARE if other.startswith(f"{room}/")]
    return [f"{path.relative_to(ROOT)}:{function.lineno} {function.name}" for path in sorted((ROOT / room).rglob("*.py"))
            if not any(path.is_relative_to(other) for other in within)
            for function in functions(ast.parse(path.read_text(encoding="utf-8")).body) if is_bare(function)]


@pytest.mark.parametrize("room", BARE)
def test_functions_of_annotated_rooms_have_types(room):
    found = bare(room)
    assert len(found) <= BARE[room], f"{len(found)} functions of {room} lack a type:\n" + "\n".join(found)


def test_a_function_without_types_is_seen():
    one, other, method = ast.parse("def f(x: int): 0\ndef g(x) -> int: 0\nclass A:\n  def h(self, *a: int) -> int: 0").body
    assert is_bare(one) and is_bare(other) and [is_bare(f) for f in functions([method])] == [False]


def test_public_functions_of_functional_have_types():
    found = [value for name, value in vars(functional).items() if inspect.isfunction(value) and not name.startswith("_")]
    bare = [f.__name__ for f in found if typing.get_type_hints(f).keys() != {*inspect.signature(f).parameters, "return"}]
    assert len(found) > 20 and not bare, bare


def public_operators():
    """{name: function or Primitive} of `ops`, as its own modules define them."""
    found = {name: getattr(ops, name) for name in dir(ops) if not name.startswith("_")}
    return {name: value for name, value in found.items() if isinstance(value, Primitive) or inspect.isfunction(value)
            and value.__module__.startswith("mindlite.ops.") and not isinstance(value, types.ModuleType)}


def declaration(value):
    """The def statement of an operator, or None for what has none (a row of a table)."""
    code = None if isinstance(value, Primitive) else inspect.unwrap(value).__code__
    path, line = value.origin if isinstance(value, Primitive) else (code.co_filename, code.co_firstlineno)
    for node in definitions(path):
        if min([node.lineno, *(d.lineno for d in node.decorator_list)]) == line:
            return node
    return None


@functools.cache
def definitions(path):
    return list(functions(ast.parse(pathlib.Path(path).read_text(encoding="utf-8")).body))


def test_public_operators_have_types():
    without = []
    for name, value in public_operators().items():
        node = declaration(value)
        params = [] if node is None else [*node.args.args, *node.args.kwonlyargs]
        body = [] if node is None else [s for s in node.body if not isinstance(s, ast.Expr)]      # only a docstring: declared
        if any(p.annotation is None for p in params) or body and node.returns is None:
            without.append(name)
    assert len(public_operators()) > 600 and not without, without


def test_operators_that_take_attributes_by_place_stand_in_their_stub():
    stub = {node.name: [a.arg for a in (*node.args.args, *filter(None, [node.args.vararg]), *node.args.kwonlyargs)]
            for node in functions(ast.parse((ROOT / "ops" / "by_position.pyi").read_text()).body)}
    later = set(ops.later.FUNCTIONS)
    wanted = {name for name, value in public_operators().items() if isinstance(value, Primitive) and value.attrs} - later
    assert wanted <= stub.keys()
    assert stub == {name: list(getattr(ops, name).signature.parameters) for name in stub}


def test_the_stub_has_all_that_is_given_to_tensor():
    own = {node.name for node in ast.walk(ast.parse(inspect.getsource(Tensor))) if isinstance(node, ast.FunctionDef)}
    given = {name for name in vars(Tensor) if name not in own and (
        callable(value := getattr(Tensor, name)) or isinstance(value, property))}
    declared = {node.name for node in ast.walk(ast.parse(STUB.read_text())) if isinstance(node, ast.FunctionDef)}
    assert len(given) > 400 and not given - declared, sorted(given - declared)
    assert not declared - given, sorted(declared - given)


def test_the_stub_of_the_public_names_has_them_all():
    stub = ast.parse(ROOT.joinpath("__init__.pyi").read_text()).body
    declared = {alias.asname: (node.module or "", alias.name) for node in stub if isinstance(node, ast.ImportFrom)
                for alias in node.names}
    expected = {name: ("", name) for name in mindlite._ROOMS}
    expected |= {name: (home, name) for name, home in mindlite._HOME.items()}
    expected |= {name: (home, what) if what else tuple(home.rsplit(".", 1))
                 for name, (home, what) in mindlite._OTHER_NAMES.items()}
    assert declared == expected


SEEN = [                                             # what a checker must say of tests/typed_program.py, line by line
    'Revealed type is "mindlite.common.tensor.Tensor"',
    'Revealed type is "mindlite.common.tensor.Tensor"',
    'Revealed type is "typed_program.Net"',
    'Revealed type is "mindlite.common.tensor.Tensor"',
    'Revealed type is "mindlite.common.tensor.Tensor"',
    'Revealed type is "mindlite.common.tensor.Tensor"',
    'Revealed type is "tuple[mindlite.common.tensor.Tensor, mindlite.common.tensor.Tensor]"',
    'Revealed type is "mindlite.common.tensor.Tensor"',
    'Revealed type is "mindlite.functional.jit.Jitted[[x: mindlite.common.tensor.Tensor], mindlite.common.tensor.Tensor]"',
    'Revealed type is "mindlite.common.tensor.Tensor"',
    'Revealed type is "mindlite.common.tensor.Tensor"',
    'Revealed type is "typed_program.Net"',
    'Revealed type is "mindlite.functional.derivative.Derived[[x: mindlite.common.tensor.Tensor], Any]"',
    'Revealed type is "tuple[mindlite.common.tensor.Tensor, Any]"',
    'Revealed type is "mindlite.common.tensor.Tensor"',
    'Argument 1 to "Dense" has incompatible type "str"; expected "int"',
    'Too many arguments for "__call__" of "Cell"',
    'Argument 1 to "__call__" of "Jitted" has incompatible type "int"; expected "Tensor"',
    'Unexpected keyword argument "fulgraph"',
    'Unexpected keyword argument "strides" for "conv2d"',
    'Argument 2 to "concat" has incompatible type "str"; expected "int"',
]


@pytest.mark.slow                                    # a checker reads the whole package: 20 s
def test_a_checker_knows_the_types_of_a_program(tmp_path):
    program = pathlib.Path(__file__).with_name("typed_program.py")
    text, errors, _ = api.run(["--cache-dir", str(tmp_path), "--config-file", str(ROOT.parent / "setup.cfg"), str(program)])
    said = {}
    for line in text.splitlines():
        if found := re.match(rf".*{program.name}:(\d+): (.*)", line):
            said.setdefault(int(found[1]), found[2])
    assert not errors and len(said) == len(SEEN), text
    assert all(want in got for want, (_, got) in zip(SEEN, sorted(said.items()))), text


if __name__ == "__main__":
    for each in sorted(path.name for path in ROOT.iterdir() if path.is_dir()):
        print(*bare(each), sep="\n")
