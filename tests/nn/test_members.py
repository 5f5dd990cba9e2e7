"""Members of Cell, Parameter and Tensor that programs use around training: states with hooks, settings, compiling."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops
from mindlite.common.errors import ArgumentError, ValueRangeError


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.scale = Parameter(Tensor(np.ones(2, np.float32)), name="scale")
        self.dense = nn.Dense(2, 2)
        self.register_buffer("count", Tensor([0], ms.int32))
        self.seen = 0

    def construct(self, x):
        return self.dense(x) * self.scale

    def get_extra_state(self):
        return {"seen": self.seen}

    def set_extra_state(self, state):
        self.seen = state["seen"]


def test_a_state_has_own_values_first_then_those_of_children_and_what_a_class_adds():
    net, other = Net(), Net()
    net.seen = 7
    assert list(net.state_dict()) == ["scale", "count", "_extra_state", "dense.weight", "dense.bias"]
    assert list(net.state_dict(prefix="a.")) == list(net.state_dict(destination={}, prefix="a."))
    fit = other.load_state_dict(net.state_dict())
    assert fit == ([], []) and fit.missing_keys == [] and other.seen == 7
    assert np.array_equal(other.dense.weight.asnumpy(), net.dense.weight.asnumpy())


def test_hooks_see_states_come_and_go():
    net, calls = Net(), []
    handles = [net.register_state_dict_pre_hook(lambda cell, prefix, keep: calls.append("before saving")),
               net.register_state_dict_post_hook(lambda cell, state, prefix, meta: state.__delitem__("count")),
               net.register_load_state_dict_pre_hook(lambda cell, state, *rest: state.update(count=Tensor([5], ms.int32))),
               net.register_load_state_dict_post_hook(lambda cell, fit: calls.append(len(fit.missing_keys)))]
    state = net.state_dict()
    assert "count" not in state and calls == ["before saving"]
    net.load_state_dict(state)
    assert calls[1:] == [0] and net.count.asnumpy().tolist() == [5]
    for handle in handles:
        handle.remove()
    assert "count" in net.state_dict() and len(calls) == 2
    with pytest.raises(TypeError, match="a hook is a function"):
        net.register_state_dict_pre_hook(3)


def test_a_state_that_does_not_fit_says_all_that_is_wrong():
    state = dict(Net().state_dict())
    del state["scale"]
    state.update(more=Tensor(1.0), count=Tensor([1, 2], ms.int32), **{"dense.bias": "text"})
    with pytest.raises(RuntimeError) as error:
        Net().load_state_dict(state)
    for word in ("Missing key(s) in state_dict: 'scale'", "Unexpected key(s) in state_dict: 'more'", "size mismatch for count",
                 "dense.bias is a str"):
        assert word in str(error.value)
    with pytest.raises(ArgumentError, match="takes a dict"):
        Net().load_state_dict([1])


def test_to_casts_floats_and_leaves_ints():
    net = Net().to(ms.float16)
    assert {p.dtype for p in net.get_parameters()} == {ms.float16} and net.count.dtype is ms.int32
    assert [p.name for p in net.get_parameters()] == ["scale", "dense.weight", "dense.bias"]
    assert net(Tensor(np.ones((1, 2), np.float16))).dtype is ms.float16
    assert net.to(dtype=ms.float32).dense.weight is net.dense.weight and net.dense.weight.dtype is ms.float32


def test_a_cell_is_compiled_by_hand():
    net, x = Net(), Tensor(np.ones((3, 2), np.float32))
    net.compile(x)
    np.testing.assert_allclose(net.compile_and_run(x).asnumpy(), net(x).asnumpy(), rtol=1e-6)
    np.testing.assert_allclose(net.run_construct((x,), {}).asnumpy(), net(x).asnumpy(), rtol=1e-6)
    assert net.phase == "predict" and net.set_train().phase == "train"
    net.phase = "export"
    assert net.phase == "export"


def test_hooks_may_stand_before_others():
    net, calls = nn.ReLU(), []
    net.register_forward_pre_hook(lambda cell, inputs: calls.append("a"))
    net.register_forward_pre_hook(lambda cell, inputs: calls.append("b"), prepend=True)
    net.register_forward_hook(lambda cell, inputs, output: calls.append("c"))
    net.register_forward_hook(lambda cell, inputs, output: calls.append("d"), prepend=True)
    net(Tensor([1.0]))
    assert calls == ["b", "a", "d", "c"]


def test_settings_for_several_devices_are_kept_and_change_nothing():
    net = Net()
    net.pipeline_stage = 2
    assert net.pipeline_stage == 2 and net.set_comm_fusion(3) is net and net.scale.comm_fusion == 3
    assert net.set_broadcast_flag() is net and list(net.parameters_broadcast_dict()) == ["scale", "dense.weight", "dense.bias"]
    net.set_data_parallel(), net.remove_redundant_parameters(), net.update_cell_type("kind"), net.generate_scope()
    assert net.cell_type == "kind" and net.dense.param_prefix == "dense" and net.parameter_layout_dict == {}
    net.scale.add_pipeline_stage(1)
    assert Parameter(Tensor(1.0)).cache_enable is False
    for error, call in ((ValueRangeError, lambda: net.set_comm_fusion(-1)), (ValueRangeError, lambda: net.set_boost("x")),
                        (ArgumentError, lambda: setattr(net, "pipeline_stage", "a")),
                        (ArgumentError, lambda: net.scale.add_pipeline_stage(-1))):
        with pytest.raises(error):
            call()


def test_names_are_unique():
    net = Net()
    net.dense.weight.name = "scale"
    with pytest.raises(ValueError, match="has already"):
        net.check_names()


def test_tensors_are_filled_converted_and_taken_apart():
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert x.fill(2).asnumpy().tolist() == [[2, 2, 2], [2, 2, 2]] and x.asnumpy()[0, 1] == 1
    assert x.get_bytes() == x.asnumpy().tobytes() and isinstance(x.data_ptr(), int)
    assert np.array_equal(Tensor.convert_bytes_to_tensor(x.get_bytes(), (2, 3), ms.float32).asnumpy(), x.asnumpy())
    assert np.array_equal(x.to_coo().to_dense().asnumpy(), x.asnumpy())
    assert np.array_equal(x.to_csr().to_dense().asnumpy(), x.asnumpy())
    image = Tensor(np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4))
    assert np.array_equal(image.unfold(2).asnumpy(), ops.unfold(image, 2).asnumpy())
    with pytest.raises(ValueError, match="takes a matrix"):
        Tensor([1.0]).to_coo()


def test_random_numbers_fill_a_tensor_in_place_by_the_seed():
    drawn = []
    for _ in range(2):
        ms.set_seed(3)
        x = Tensor(np.zeros(1000, np.float32))
        assert x.random_(2, 5) is x
        chance = Tensor(np.zeros(1000, np.float32)).bernoulli_(0.25)
        drawn.append((x.asnumpy().copy(), chance.asnumpy().copy(), x.uniform(1.0, 2.0).asnumpy()))
    for one, other in zip(*drawn):
        assert np.array_equal(one, other)
    assert set(drawn[0][0]) == {2.0, 3.0, 4.0} and set(drawn[0][1]) == {0.0, 1.0} and 0.2 < drawn[0][1].mean() < 0.3
    assert drawn[0][2].min() >= 1 and drawn[0][2].max() < 2
    with pytest.raises(ValueRangeError, match="empty"):
        x.random_(5, 2)


@pytest.mark.parametrize("register", [lambda cell, name: cell.register_buffer(name, Tensor([1.0])),
                                      lambda cell, name: cell.insert_child_to_cell(name, nn.ReLU()),
                                      lambda cell, name: cell.insert_param_to_cell(name, Parameter(Tensor([1.0])))])
def test_a_name_to_register_is_a_string_without_dots(register):
    with pytest.raises(TypeError, match="should be a string, not 2"):
        register(Net(), 2)
    for name in ("a.b", ""):
        with pytest.raises(KeyError, match='not empty and does not contain "."'):
            register(Net(), name)
