"""Cell: registration, names, walks, modes, hooks, the call and the printed form."""
import copy

import numpy as np
import pytest

import mindlite as ms
from mindlite import nn, ops
from mindlite.common import dtype as dt
from mindlite.common.config import GRAPH_MODE, config
from mindlite.common.errors import ArgumentError, MissingAttributeError, ShapeError
from mindlite.common.tensor import Parameter, ParameterTuple, Tensor
from mindlite.mindir.primitive import eager
from mindlite.mindir.protocol import CallOf
from mindlite.nn import cell as cell_module


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.body = nn.SequentialCell(nn.Dense(3, 4), nn.Tanh(), nn.SequentialCell([nn.Dense(4, 2)]))
        self.head = nn.Dense(2, 2, has_bias=False)
        self.scale = Parameter(Tensor([2.0]), name="alpha")
        self.steps = 3

    def construct(self, x, shift=0):
        return self.head(self.body(x)) * self.scale + shift


def ones(*shape):
    return Tensor(np.ones(shape, np.float32))


# ---------------------------------------------------------------- registration and names

def test_parameters_are_named_by_the_path_of_attributes():
    net = Net()
    assert list(net.parameters_dict()) == ["alpha", "body.0.weight", "body.0.bias", "body.2.0.weight", "body.2.0.bias",
                                           "head.weight"]
    assert [path for path, _ in net.parameters_and_names()] == ["scale", *list(net.parameters_dict())[1:]]
    assert [param.name for param in net.get_parameters(expand=False)] == ["alpha"]


def test_a_wrapper_prefixes_the_names_below_unless_auto_prefix_is_off():
    class Wrapper(nn.Cell):
        def __init__(self, auto_prefix):
            super().__init__(auto_prefix=auto_prefix)
            self.net = nn.Dense(1, 1)
    assert list(Wrapper(True).parameters_dict()) == ["net.weight", "net.bias"]
    assert list(Wrapper(False).parameters_dict()) == ["weight", "bias"]


def test_a_parameter_without_a_name_takes_the_attributes():
    net = nn.Cell()
    net.w = Parameter(Tensor([1.0]))
    assert net.w.name == "w"


def test_assigning_before_init_says_what_to_do():
    class Forgot(nn.Cell):
        def __init__(self):
            self.dense = nn.Dense(1, 1)

    class ForgotParameter(nn.Cell):
        def __init__(self):
            self.w = Parameter(Tensor([1.0]))

    class NeverInitialised(nn.Cell):
        def __init__(self):
            self.size = 3
    for forgot in (Forgot, ForgotParameter):
        with pytest.raises(MissingAttributeError, match="super.*has not been called"):
            forgot()
    net = NeverInitialised()
    assert net.size == 3 and repr(net) == "NeverInitialised(not initialised)"
    for use in (net.trainable_params, net.set_train, net, lambda: ms.jit(net)()):
        with pytest.raises(AttributeError, match="super.*has not been called"):
            use()


def test_deleting_and_replacing_unregisters():
    net = Net()
    del net.head
    net.body = None
    assert list(net.parameters_dict()) == ["alpha"] and not net.name_cells() and not hasattr(net, "head")
    net.scale = None
    assert net.scale is None and not list(net.get_parameters())
    with pytest.raises(AttributeError, match="'head'"):
        del net.head
    with pytest.raises(AttributeError, match="'nothing'"):
        net.nothing


def test_a_parameter_keeps_its_place_when_a_tensor_is_assigned_and_refuses_what_is_none():
    net = Net()
    scale = net.scale
    net.scale = Tensor([5.0])
    assert net.scale is scale and scale.asnumpy().tolist() == [5.0]
    with pytest.raises(ArgumentError, match="'scale' cannot become int"):
        net.scale = 3
    with pytest.raises(ShapeError):
        net.scale = ones(2)


def test_a_parameter_tuple_registers_its_elements_and_forgets_them():
    net = nn.Cell()
    net.states = ParameterTuple([Parameter(ones(1), name="m.a"), Parameter(ones(1))])
    assert list(net.parameters_dict()) == ["m.a", "states.1"]
    net.states = ParameterTuple([Parameter(ones(1), name="m.b")])
    assert list(net.parameters_dict()) == ["m.b"]
    del net.states
    assert not net.parameters_dict()


def test_inserting_by_name_checks_the_name_and_the_kind():
    net = nn.Cell()
    net.insert_child_to_cell("dense", nn.Dense(1, 1))
    net.insert_param_to_cell("w", Parameter(ones(1)))
    assert list(net.parameters_dict()) == ["w", "dense.weight", "dense.bias"]
    for name, child in (("dense", nn.ReLU()), ("a.b", nn.ReLU()), ("b", 3), ("construct", nn.ReLU()), ("", nn.ReLU())):
        with pytest.raises(ArgumentError):
            net.insert_child_to_cell(name, child)
    for name, param in (("a.b", Parameter(ones(1))), ("c", ones(1))):
        with pytest.raises(ArgumentError):
            net.insert_param_to_cell(name, param)
    net.insert_param_to_cell("a.b", Parameter(ones(1)), check_name_contain_dot=False)
    assert "a.b" in net.parameters_dict()


def test_parameters_in_a_list_that_have_no_names_get_distinct_ones():
    class Held(nn.Cell):
        def __init__(self):
            super().__init__()
            self.several = [Parameter(Tensor([n])) for n in range(2)] + [Parameter(Tensor([2]), name="mine")]
            self.named = {"a": Parameter(Tensor([3]))}

    cell = Held()
    names = [param.name for param in (*cell.several, cell.named["a"])]
    assert len(set(names)) == 4 and names[2] == "mine" and names[0].startswith("Parameter#")
    assert list(cell.get_parameters()) == []
    cell.first = cell.several[0]
    assert [param.name for param in cell.get_parameters()] == ["first"]


def test_a_shared_cell_and_a_shared_parameter_are_listed_once():
    net = nn.Cell()
    net.a = nn.Dense(2, 2)
    net.b = net.a
    net.c = nn.Dense(2, 2, has_bias=False)
    net.c.weight = net.a.weight
    assert len(list(net.get_parameters())) == 2
    assert list(net.name_cells()) == ["a", "c"] and [path for path, _ in net.cells_and_names()] == ["", "a", "c"]


def test_two_parameters_of_one_name_are_listed_and_an_optimizer_refuses_them():
    class Plain(nn.Cell):
        def __init__(self):
            super().__init__(auto_prefix=False)
            self.a, self.b = nn.Dense(1, 1), nn.Dense(1, 1)
    params = Plain().trainable_params()
    assert [param.name for param in params] == ["weight", "bias"] * 2
    with pytest.raises(ValueError, match="two parameters are named 'bias'"):
        nn.SGD(params, 0.1)


def test_trainable_and_untrainable_parameters_are_told_apart_by_requires_grad():
    net = Net()
    net.head.weight.requires_grad = False
    assert [param.name for param in net.untrainable_params()] == ["head.weight"]
    assert len(net.trainable_params()) == 5


def test_buffers_are_state_and_not_parameters():
    net = Net()
    net.register_buffer("mean", ones(2))
    net.register_buffer("cache", ones(3), persistent=False)
    net.mean = Tensor(np.zeros(2, np.float32))
    assert list(net.state_dict()).index("mean") == len(net._params) and "cache" not in net.state_dict()
    assert "mean" not in net.parameters_dict()
    assert [path for path, _ in net.named_buffers()] == ["mean", "cache"]
    with pytest.raises(ArgumentError, match="takes a Tensor or None"):
        net.mean = 3
    with pytest.raises(ArgumentError, match="stands already"):
        net.register_buffer("head", ones(1))
    del net.mean
    assert "mean" not in net.state_dict()


def test_a_buffer_that_is_assigned_is_registered():
    from mindlite.mindspore.common.parameter import _Buffer

    class Scaled(nn.Cell):
        def __init__(self):
            super().__init__()
            self.scale = _Buffer(ones(2) * 3)

        def construct(self, x):
            return x * self.scale
    net = Scaled()
    assert [path for path, _ in net.named_buffers()] == ["scale"] and not list(net.get_parameters())
    for run in net, ms.jit(Scaled(), fullgraph=True):
        assert run(ones(2)).tolist() == [3, 3]
    net.scale = ones(2)
    assert net(ones(2)).tolist() == [1, 1] and net.state_dict()["scale"].tolist() == [1, 1]


def test_state_goes_from_one_cell_to_another():
    source, target = Net(), Net()
    target.load_state_dict(source.state_dict())
    x = ones(2, 3)
    assert np.array_equal(source(x).asnumpy(), target(x).asnumpy())
    state = dict(source.state_dict())
    state["extra"] = state.pop("scale")
    with pytest.raises(ArgumentError, match="does not fit"):
        target.load_state_dict(state)
    assert target.load_state_dict(state, strict=False) == (["scale"], ["extra"])
    with pytest.raises(ArgumentError, match="shape"):
        target.load_state_dict({"scale": ones(3)}, strict=False)


def test_children_and_parameters_are_found_by_path():
    net = Net()
    assert net.get_sub_cell("body.2.0") is net.body[2][0] and net.get_parameter("body.0.bias") is net.body[0].bias
    with pytest.raises(AttributeError):
        net.get_parameter("body.7.bias")
    net.update_cell_prefix()
    assert net.body[2][0].param_prefix == "body.2.0"


def test_a_deep_copy_shares_nothing_and_computes_the_same():
    net = Net()
    twin, x = copy.deepcopy(net), ones(2, 3)
    assert np.array_equal(net(x).asnumpy(), twin(x).asnumpy())
    twin.scale.set_data([0.0])
    assert net.scale.asnumpy().tolist() == [2.0] and twin._params["scale"] is twin.scale
    assert twin.body[0] is twin.body._cells["0"] and list(twin.parameters_dict()) == list(net.parameters_dict())


def test_the_version_counts_changes_of_attributes():
    net = Net()
    before = net.cell_version
    net.steps = 4
    assert net.cell_version > before
    before = net.cell_version
    net.set_train()
    assert net.cell_version > before and net.training
    before = net.cell_version
    net(ones(1, 3))
    assert net.cell_version == before


# ---------------------------------------------------------------- modes and flags

def test_modes_reach_all_below():
    net = Net()
    assert not net.training
    assert net.set_train() is net and all(cell.training for _, cell in net.cells_and_names())
    net.set_train(False).set_grad()
    assert not net.body[0].training and net.body[0].requires_grad
    net.add_flags(fused=True)
    assert net.get_flags()["fused"] is True and net.fused


def test_to_float_casts_inputs_and_weights_below():
    net = nn.SequentialCell(nn.Dense(3, 2)).to_float(dt.float16)
    out = net(ones(4, 3))
    assert out.dtype is dt.float16 and net[0].weight.dtype is dt.float32
    with pytest.raises(ArgumentError):
        net.to_float(dt.int32)


def test_apply_visits_children_before_their_parent():
    seen = []
    Net().apply(lambda cell: seen.append(type(cell).__name__))
    assert seen == ["Dense", "Tanh", "Dense", "SequentialCell", "SequentialCell", "Dense", "Net"]


def test_inputs_are_declared_by_position_or_name():
    net = Net()
    declared = Tensor(shape=[None, 3], dtype=dt.float32)
    net.set_inputs(declared)
    assert net.get_inputs() == (declared,)
    net.set_inputs(shift=declared)
    assert net.get_inputs()[0] is None and net.get_inputs()[1] is declared
    with pytest.raises(ArgumentError, match="no argument named 'z'"):
        net.set_inputs(z=declared)


# ---------------------------------------------------------------- hooks

def test_hooks_see_and_replace_inputs_and_outputs_in_order():
    class Double(nn.Cell):
        def construct(self, x):
            return x * 2
    net, seen = Double(), []
    first = net.register_forward_pre_hook(lambda cell, inputs: seen.append("pre") or inputs[0] + 1)
    second = net.register_forward_hook(lambda cell, inputs, output: seen.append((inputs, output)) or output * 10)
    third = net.register_forward_pre_hook(lambda cell, args, kwargs: ((args[0] + 1,), kwargs), with_kwargs=True)
    assert net(1) == 60 and seen == ["pre", ((3,), 6)]
    first.remove()
    first.remove()
    assert net(1) == 40
    second.remove()
    third.remove()
    assert net(1) == 2 and net.__mindir__().function == net.construct
    with pytest.raises(ArgumentError):
        net.register_forward_hook(3)


def test_a_hook_that_replaces_keyword_arguments_gives_both_kinds_of_arguments():
    class Double(nn.Cell):
        def construct(self, x):
            return x * 2
    net = Double()
    net.register_forward_pre_hook(lambda cell, args, kwargs: (args[0] + 1,), with_kwargs=True)
    with pytest.raises(RuntimeError, match="gives None or"):
        net(1)


def test_the_scope_of_a_cell_that_is_run_again_says_so():
    net = Net()
    assert net.get_scope() is None
    net.recompute()
    assert net.get_scope() == "recompute_"


def test_backward_hooks_are_kept_until_removed():
    net = Net()
    handle = net.register_backward_hook(lambda cell, grad_input, grad_output: None)
    assert len(net._backward_hooks) == 1
    handle.remove()
    assert not net._backward_hooks


# ---------------------------------------------------------------- the call

def test_wrong_arguments_name_the_line_and_the_signature():
    net, x = Net(), ones(1, 3)
    for call in (lambda: net(), lambda: net(x, 1, 2), lambda: net(x, step=1), lambda: net(x, x=x)):
        with pytest.raises(ArgumentError) as error:
            call()
        assert "test_cell.py" in str(error.value) and "construct(x, shift=0)" in str(error.value)
    assert net(x, shift=1).shape == (1, 2)


def test_a_cell_without_construct_says_so():
    with pytest.raises(AttributeError, match="construct is not defined"):
        nn.Cell()(1)


def test_in_graph_mode_only_the_outermost_call_is_handed_over(monkeypatch):
    net, x, calls = Net(), ones(1, 3), []

    def graph_call(cell, args, kwargs):
        calls.append(cell)
        with eager():
            return cell(*args, **kwargs)
    monkeypatch.setattr(cell_module, "run_as_graph", graph_call)
    net(x)
    assert not calls
    before = config.set(mode=GRAPH_MODE)
    try:
        net(x)
    finally:
        config.set(**before)
    assert calls == [net]


def test_a_graph_asks_the_cell_for_its_construct():
    net = Net()
    told = net.__mindir__()
    assert isinstance(told, CallOf) and told.function == net.construct and told.scope.endswith("Net")


# ---------------------------------------------------------------- the printed form

def test_the_printed_form_is_mindspores():
    assert repr(nn.ReLU()) == "ReLU()"
    assert repr(Net()) == """Net(
  (body): SequentialCell(
    (0): Dense(input_channels=3, output_channels=4, has_bias=True)
    (1): Tanh()
    (2): SequentialCell(
      (0): Dense(input_channels=4, output_channels=2, has_bias=True)
    )
  )
  (head): Dense(input_channels=2, output_channels=2)
)"""
    assert repr(nn.Dense(1, 2, activation="tanh")) == """Dense(
  input_channels=1, output_channels=2, has_bias=True, activation=Tanh()
  (activation): Tanh()
)"""


# ---------------------------------------------------------------- Dense

@pytest.mark.parametrize("lead", [(), (5,), (2, 5), (0,)])
def test_dense_is_the_affine_map_of_the_last_axis(lead):
    layer = nn.Dense(3, 4, activation="tanh")
    x = np.random.default_rng(0).normal(size=(*lead, 3)).astype(np.float32)
    expected = np.tanh(x @ layer.weight.asnumpy().T + layer.bias.asnumpy())
    out = layer(Tensor(x))
    assert out.shape == expected.shape and np.allclose(out.asnumpy(), expected, atol=1e-6)


def test_dense_draws_from_its_default_bounds_and_takes_initialisers():
    layer = nn.Dense(100, 50)
    for param in (layer.weight, layer.bias):
        assert 0.05 < np.abs(param.asnumpy()).max() <= 0.1
    layer = nn.Dense(2, 2, weight_init="ones", bias_init=Tensor([1.0, 2.0]), dtype=dt.float16)
    assert layer.weight.dtype is dt.float16
    assert layer(Tensor(np.ones((1, 2), np.float16))).asnumpy().tolist() == [[3, 4]]


def test_dense_refuses_bad_arguments():
    for bad in (lambda: nn.Dense(0, 1), lambda: nn.Dense(1, "2"), lambda: nn.Dense(1, 1, has_bias=1),
                lambda: nn.Dense(1, 1, activation="nosuch"), lambda: nn.Dense(1, 1, activation=3),
                lambda: nn.Dense(2, 1, weight_init=ones(2, 1))):
        with pytest.raises((ValueError, TypeError)):
            bad()
    with pytest.raises(ShapeError, match="contracted sizes"):
        nn.Dense(3, 2)(ones(2, 2, 4))


def test_a_construct_may_return_anything():
    class Pair(nn.Cell):
        def construct(self, x):
            return {"y": ops.tanh(x)}, None
    assert Pair()(ones(1))[1] is None


def test_backward_hooks_are_called_where_weights_alone_have_gradients():
    dense, x, seen = nn.Dense(2, 2), Tensor(np.ones((1, 2), np.float32)), []
    dense.register_backward_hook(lambda cell, grad_input, grad_output: seen.append((grad_input, len(grad_output))))
    ms.grad(dense, None, dense.trainable_params())(x)
    assert seen == [((None,), 1)]


def test_backward_hooks_stand_around_a_cell_that_is_run_again():
    class Square(nn.Cell):
        def construct(self, x):
            return x * x
    net = Square()
    net.recompute()
    net.register_backward_hook(lambda cell, grad_input, grad_output: grad_input[0] * 2)
    np.testing.assert_array_equal(ms.grad(net)(Tensor(np.array([1, 2], np.float32))).asnumpy(), [4, 8])


def test_init_parameters_data_makes_what_an_initialiser_promises():
    dense = nn.Dense(2, 2)
    made = dense.init_parameters_data()
    assert list(made) == dense.trainable_params() and not any(param.has_init for param in made.values())


def test_a_missing_attribute_is_said_in_the_words_of_python():
    with pytest.raises(AttributeError, match="'ReLU' object has no attribute 'missing'"):
        nn.ReLU().missing


@pytest.mark.parametrize("run", [lambda net, x: net(x), lambda net, x: ms.jit(net, fullgraph=True)(x)], ids=["eager", "jit"])
def test_a_misspelt_attribute_is_answered_with_the_closest_one(run):
    class Misspelt(Net):
        def construct(self, x):
            return self.haed(x)
    with pytest.raises(MissingAttributeError, match="no attribute 'haed'") as raised:
        run(Misspelt(), ones(1, 2))
    assert raised.value.hint == "did you mean 'head'?" and "test_cell.py" in str(raised.value)


def test_to_empty_gives_parameters_and_buffers_new_memory_of_their_shapes_and_dtypes():
    net = nn.SequentialCell(nn.Dense(2, 3), nn.BatchNorm1d(3))
    before = {name: (param, param.asnumpy()) for name, param in net.parameters_dict().items()}
    assert net.to_empty() is net and list(net.parameters_dict()) == list(before)
    for name, param in net.parameters_dict().items():
        old, array = before[name]
        assert param is old and param.shape == array.shape and not np.shares_memory(param.asnumpy(), array)
        param.set_data(Tensor(np.ones(param.shape, np.float32)))
    x = Tensor(np.ones((4, 2), np.float32))
    np.testing.assert_allclose(net(x).asnumpy(), ms.jit(net, fullgraph=True)(x).asnumpy(), rtol=1e-6)
    with pytest.raises(ValueError, match="meta"):
        net.to_empty(device="meta")


def test_a_cell_knows_whether_it_has_a_bprop():
    class Doubled(nn.Cell):
        def construct(self, x):
            return x

        def bprop(self, x, out, dout):
            return (dout * 2,)
    assert Doubled().has_bprop and not nn.ReLU().has_bprop


@pytest.mark.parametrize("kind", [nn.SequentialCell, nn.CellList])
def test_names_of_what_is_appended_are_those_of_mindspore(kind):
    class Mix(nn.Cell):
        def __init__(self):
            super().__init__()
            self.mix = nn.SequentialCell(nn.Dense(1, 1, has_bias=False))

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.row = kind()
            for _ in range(3):
                self.row.append(Mix())

    assert [p.name for p in Net().get_parameters()] == ["0.mix.0.weight", "0.mix.1.mix.0.weight", "0.mix.2.mix.0.weight"]
    row = kind([Mix(), nn.ReLU(), Mix()])                    # the second one's "2" confirms the first place
    row.append(Mix())
    assert [p.name for p in row.get_parameters()] == ["0.mix.0.weight", "2.mix.0.weight", "3.mix.0.weight"]
