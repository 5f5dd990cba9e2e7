"""Attributes and methods of Tensors in graphs: each means what it means outside, or is refused in words."""
import inspect
import itertools
import linecache
import random

import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor
from mindlite.common.errors import GraphSyntaxError, MindliteError
from mindlite.common.storage import elsewhere

_numbers = itertools.count()
CHOICE = random.Random(0)
NOT_OF_VALUES = {"data_ptr", "to_dlpack", "away"}            # an address, a capsule, a slot that is empty


@pytest.fixture(autouse=True)
def nothing_lies_elsewhere(monkeypatch):
    """Other tests use several devices, and then the device of a Tensor is known at run time only."""
    monkeypatch.setattr(elsewhere, "used", False)


def tensor(cls):
    made = Tensor(np.array([[1, 2], [3, 4]], np.float32))
    return made if cls is Tensor else Parameter(made, name="w")


def reading(expression):
    """A function p -> expression of p, with source that a graph can be made of."""
    text, file = f"def read(p):\n    return {expression}\n", f"<attribute {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"ms": ms, "Parameter": Parameter, "Tensor": Tensor}
    exec(compile(text, file, "exec"), space)
    return space["read"]


def outcome(function, cls):
    ms.set_seed(3)
    try:
        return function(tensor(cls)), None
    except Exception as error:
        return None, error


def same(a, b):
    if isinstance(a, Tensor):
        return isinstance(b, Tensor) and a.dtype == b.dtype and a.shape == b.shape and np.allclose(
            a.asnumpy(), b.asnumpy(), 1e-5, 1e-6, equal_nan=True)
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def public(cls):
    """(expression, name) for each attribute, and for each method a call without arguments."""
    p = tensor(cls)
    for name in sorted(set(dir(p)) | {"missing"}):
        if not name.startswith("_") and name not in NOT_OF_VALUES:
            static = inspect.getattr_static(p, name, None)
            is_method = callable(getattr(p, name, None)) and not isinstance(static, property) and not isinstance(
                getattr(p, name, None), Tensor)
            yield f"p.{name}" + "()" * is_method, name


def check(cls, expression):
    function = reading(expression)
    (wanted, error), (found, refusal) = outcome(function, cls), outcome(ms.jit(function, fullgraph=True), cls)
    if isinstance(refusal, GraphSyntaxError) and "fault of mindlite" not in str(refusal):
        return error is None or isinstance(error, TypeError)                 # Python has its own words for missing arguments
    if error is not None:
        return isinstance(refusal, type(error)) or isinstance(refusal, MindliteError) and isinstance(error, TypeError)
    return refusal is None and same(wanted, found)


@pytest.mark.parametrize("cls", [Tensor, Parameter])
def test_an_attribute_means_the_same_in_a_graph_or_is_refused(cls):
    names = list(public(cls))
    properties = [e for e, _ in names if not e.endswith("()")]
    assert len(properties) > 25
    wrong = [e for e in [*properties, *CHOICE.sample([e for e, _ in names if e.endswith("()")], 60)] if not check(cls, e)]
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("cls", [Tensor, Parameter])
def test_all_methods_mean_the_same_in_a_graph_or_are_refused(cls):
    assert not [e for e, _ in public(cls) if not check(cls, e)]


IN_GRAPHS = (
    "p.device", "p.strides", "p.nbytes", "p.itemsize", "p.is_contiguous()", "p.is_pinned()", "p.is_shared()", "p.is_meta",
    "p.init_finished", "p.init", "p.has_init", "p.data_sync()", "p.data * 2", "p.T.strides", "type(p).__name__",
    "isinstance(p, Parameter)", "isinstance(p, (Parameter, int))", "type(p + 1).__name__", "isinstance(p + 1, Parameter)",

    "p.__class__.__name__", "hasattr(p, 'data')", "hasattr(p, 'strides')", "getattr(p, 'device', 'none')",
    "p.from_numpy is Tensor.from_numpy")


@pytest.mark.parametrize("cls", [Tensor, Parameter])
@pytest.mark.parametrize("expression", IN_GRAPHS)
def test_what_a_graph_answers(cls, expression):
    function = reading(expression)
    (wanted, _), (found, error) = outcome(function, cls), outcome(ms.jit(function, fullgraph=True), cls)
    assert error is None and same(wanted, found)


@pytest.mark.python_runs("the statement that reads the attribute: the graph has no objects")
@pytest.mark.parametrize("cls, expression", [
    *itertools.product([Tensor, Parameter], ["p.__setitem__(0, 1)",
                                             "p.storage", "p.host_array", "p.set_dtype(ms.float16)", "p.assign_value(p * 2)"]),
    *[(Parameter, e) for e in ("p.name", "p.requires_grad", "p.clone()", "p.set_data(p * 2)", "p.unique", "p.key")]])
def test_what_only_the_object_has_is_refused_and_read_by_python(cls, expression):
    function = reading(f"({expression}, p * 1)[1]")
    with pytest.raises(GraphSyntaxError, match="is not in the graph|leaves the Tensors"):
        ms.jit(function, fullgraph=True)(tensor(cls))
    assert same(function(tensor(cls)), ms.jit(function)(tensor(cls)))


def test_data_of_a_tensor_has_no_gradient_and_of_a_parameter_it_is_the_parameter():
    def f(x):
        return (x.data * x).sum()
    for cls in (Tensor, Parameter):
        assert same(ms.grad(f)(tensor(cls)), ms.jit(ms.grad(f), fullgraph=True)(tensor(cls)))


@pytest.mark.python_runs("x.data.add_(1), shown * 2: x and its data share their elements")
def test_a_write_through_data_is_seen_or_refused():
    def writes(x):
        x.data.add_(1)
        return x * 2

    def reads(x):
        shown = x.data
        x.add_(1)
        return shown * 2
    for f in (writes, reads):
        with pytest.raises(GraphSyntaxError):
            ms.jit(f, fullgraph=True)(tensor(Tensor))
        assert same(f(tensor(Tensor)), ms.jit(f)(tensor(Tensor)))


def test_data_of_a_tensor_outside_is_read_at_each_call():
    y = tensor(Tensor)
    f = ms.jit(lambda x: y.data * x, fullgraph=True)
    f(tensor(Tensor))
    y.assign_value(y + 1)
    assert same(f(tensor(Tensor)), y.data * tensor(Tensor))


@pytest.mark.python_runs("p.clone(): a Parameter is made")
def test_a_clone_of_a_parameter_has_no_gradient_in_both_modes():
    def f(p):
        return (p.clone() * p).sum()
    assert same(ms.grad(f)(tensor(Parameter)), ms.jit(lambda p: ms.grad(f)(p))(tensor(Parameter)))


def test_whether_a_choice_is_a_parameter_is_refused():
    def f(p):
        q = p if p.sum() > 3 else p * 2
        return q * 2 if isinstance(q, Parameter) else q + 1
    with pytest.raises(GraphSyntaxError, match="whether a value is a Parameter"):
        ms.jit(f, fullgraph=True)(tensor(Parameter))


def test_a_view_that_is_made_without_gradients_is_a_view():
    def f(x):
        with ms.no_grad():
            y = x.reshape(4)
            y.add_(1)
            x[0] = 7
        return x * 2, y * 1
    assert same(f(tensor(Tensor)), ms.jit(f, fullgraph=True)(tensor(Tensor)))
