"""MindSpore's historical names: every path of the table is a module, and scripts in its historical style run."""
import importlib
import types

import numpy as np
import pytest

import mindlite
import mindlite.mindspore as ms
from mindlite.common.config import config
from mindlite.mindspore import context
from mindlite.mindspore import dtype as mstype
from mindlite.mindspore.common.api import _cell_graph_executor, _pynative_executor
from mindlite.mindspore.common.initializer import initializer
from mindlite.mindspore.modules import Names, exists
from mindlite.mindspore.table import MODULES, REFUSED
from mindlite.mindspore.ops import composite as C
from mindlite.mindspore.ops import functional as F
from mindlite.mindspore.ops import operations as P


@pytest.fixture(params=[context.GRAPH_MODE, context.PYNATIVE_MODE], ids=["graph", "pynative"])
def mode(request):
    before = config.set(mode=config.mode, mindspore_rules=False)
    context.set_context(mode=request.param)
    yield request.param
    config.set(**before)


@pytest.mark.parametrize("path", [path for path in MODULES if path])
def test_every_path_is_a_module(path):
    module = importlib.import_module("mindlite.mindspore." + path)
    assert module.__name__ == "mindlite.mindspore." + path


@pytest.mark.parametrize("path", MODULES)
def test_every_renamed_name_is_there(path):
    module = importlib.import_module("mindlite.mindspore." + path if path else "mindlite.mindspore")
    for name, home in MODULES[path][1].items():
        if exists(home.partition(":")[0]):
            assert getattr(module, name) is not None


def test_names_are_the_objects_of_mindlite():
    assert ms.Tensor is mindlite.Tensor and ms.nn.Cell is mindlite.nn.Cell
    assert mstype.float32 is mindlite.float32 and F.grad is mindlite.grad


def test_a_function_that_has_the_name_of_its_module_is_the_function_also_when_the_module_is_imported():
    importlib.import_module("mindlite.mindspore.common.mutable")
    assert ms.common.mutable is mindlite.mutable and isinstance(ms.common.dtype, types.ModuleType)


def test_a_name_that_mindlite_has_not_is_missing_and_the_closest_name_is_told():
    with pytest.raises(AttributeError, match="has no attribute 'Conv2D': mindlite does not have it") as raised:
        ms.nn.Conv2D
    assert "did you mean 'Conv2d'?" in str(raised.value) and "test_names.py" in str(raised.value)
    assert not hasattr(ms.nn, "NoSuchLayer") and getattr(ms.ops, "no_such_operator", 3) == 3


def test_an_import_of_a_missing_name_says_so_instead_of_unknown_location():
    with pytest.raises(ImportError, match="cannot import 'Conv2D'.*mindlite does not have it") as raised:
        from mindlite.mindspore.nn import Conv2D  # noqa: F401
    assert "did you mean 'Conv2d'?" in str(raised.value) and "unknown location" not in str(raised.value)


@pytest.mark.parametrize("path", [path for path in MODULES if path.split(".")[0] in ("mint", "experimental")])
def test_a_namespace_with_its_own_meaning_asks_no_other_namespace(path):
    module = importlib.import_module("mindlite.mindspore." + path)
    relatives = {name for room in (mindlite.nn, mindlite.ops) for name in dir(room) if callable(getattr(room, name))}
    relatives -= set(dir(module))
    assert not [name for name in relatives if hasattr(module, name)]
    assert all("mindlite.nn" != source and "mindlite.ops" != source for source in MODULES[path][0])


def test_a_path_outside_of_the_table_is_no_module():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("mindlite.mindspore.no_such_room")


class Net(ms.nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = ms.Parameter(initializer("ones", (3, 4), mstype.float32), name="weight")
        self.matmul, self.relu = P.MatMul(transpose_b=True), P.ReLU()
        self.reduce = P.ReduceSum(keep_dims=True)

    def construct(self, x):
        return self.reduce(self.relu(self.matmul(x, self.weight)), 1)


def test_a_network_of_primitive_classes_runs(mode):
    out = Net()(ms.Tensor(np.ones((2, 4)), mstype.float32))
    _pynative_executor.sync()
    np.testing.assert_array_equal(out.asnumpy(), [[12], [12]])


class GradNet(ms.nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net, self.params = net, ms.ParameterTuple(net.trainable_params())
        self.grad = C.GradOperation(get_all=True, get_by_list=True)

    def construct(self, x):
        return self.grad(self.net, self.params)(x)


def test_grad_operation_gives_the_gradients_of_inputs_and_of_weights(mode):
    (dx,), (dw,) = GradNet(Net())(ms.Tensor(np.ones((2, 4)), mstype.float32))
    np.testing.assert_array_equal(dx.asnumpy(), np.full((2, 4), 3))
    np.testing.assert_array_equal(dw.asnumpy(), np.full((3, 4), 2))


def test_setting_the_mode_by_mindspores_name_refuses_names_that_are_defined_nowhere(mode):
    class Net(ms.nn.Cell):
        @ms.jit
        def construct(self, x):
            return x if x.sum() > 0 else x + nowhere  # noqa: F821
    with pytest.raises(NameError, match="The name 'nowhere' is not defined"):
        Net()(ms.Tensor([1.0]))


def test_a_bprop_that_is_compiled_works_and_is_refused_where_mindspores_rules_are_asked_for():
    class Square(ms.nn.Cell):
        def construct(self, x):
            return x * x

        @ms.jit
        def bprop(self, x, out, dout):
            return dout * 3
    gradient = C.GradOperation()(Square())
    assert float(gradient(ms.Tensor(2.0))) == 3
    before = config.set(mindspore_rules=True)
    try:
        with pytest.raises(RuntimeError, match="bprop is compiled by jit"):
            gradient(ms.Tensor(2.0))
    finally:
        config.set(**before)


def test_a_cell_is_compiled_without_being_run():
    net = Net()
    assert _cell_graph_executor.compile(net, ms.Tensor(np.ones((2, 4)), mstype.float32))[1]
    np.testing.assert_array_equal(net.weight.asnumpy(), np.ones((3, 4)))


def test_compiling_a_cell_says_what_the_cell_raises_for_such_arguments():
    def pictures(size, dtype=mstype.float32):
        return ms.Tensor(np.ones((2, 3, size, size)), dtype)
    net = ms.nn.PSNR(1.0)
    with pytest.raises(ValueError, match="the two batches have one shape"):
        _cell_graph_executor.compile(net, pictures(16), pictures(8))
    with pytest.raises(TypeError, match="the two batches have one dtype"):
        _cell_graph_executor.compile(net, pictures(16), pictures(16, mstype.float16))
    assert _cell_graph_executor.compile(net, pictures(16), pictures(16))[1]


def test_hyper_map_goes_through_nested_tuples(mode):
    class Twice(ms.nn.Cell):
        def __init__(self):
            super().__init__()
            self.map = C.HyperMap(F.add)

        def construct(self, a, b):
            return self.map((a, (b, b)), (b, (a, b)))
    first, (second, third) = Twice()(ms.Tensor([1]), ms.Tensor([5]))
    assert [int(first), int(second), int(third)] == [6, 6, 10]


def test_a_multitype_function_is_chosen_by_the_types():
    double = C.MultitypeFuncGraph("double")

    @double.register("Tensor")
    def _of_tensor(x):
        return x * 2

    @double.register("Number")
    def _of_number(x):
        return x + 100
    assert int(double(ms.Tensor(3))) == 6 and double(3) == 103
    with pytest.raises(TypeError, match="no function is registered"):
        double("three")


@pytest.mark.parametrize("settings, error", [({"axis": 0, "colour": 1}, "colour"), ({}, None)])
def test_a_primitive_class_takes_its_settings_only(settings, error):
    if error is None:
        assert P.Softmax(**settings).axis == -1
    else:
        with pytest.raises(mindlite.ArgumentError, match=error):
            P.Softmax(**settings)


def test_scattering_changes_the_parameter_and_counts_equal_indices():
    variable = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="v")
    P.ScatterNdMul()(variable, ms.Tensor([[0], [0], [2]]), ms.Tensor([2.0, 3.0, 4.0]))
    np.testing.assert_array_equal(variable.asnumpy(), [6, 2, 12])
    P.ScatterSub()(variable, ms.Tensor([1, 1]), ms.Tensor([1.0, 3.0]))
    np.testing.assert_array_equal(variable.asnumpy(), [6, -2, 12])


def test_space_to_batch_and_back_is_the_identity():
    x = ms.Tensor(np.arange(48.0).reshape(1, 3, 4, 4), mstype.float32)
    blocks = P.SpaceToBatchND([2, 2], [[0, 0], [2, 0]])(x)
    assert blocks.shape == (4, 3, 2, 3)
    back = P.BatchToSpaceND([2, 2], [[0, 0], [2, 0]])(blocks)
    np.testing.assert_array_equal(back.asnumpy(), x.asnumpy())


def test_mint_takes_the_names_of_torch():
    x = ms.Tensor(np.arange(6).reshape(2, 3))
    assert ms.mint.sum(x, dim=1, keepdim=True).shape == (2, 1)
    assert ms.mint.prod(ms.Tensor([2, 3], mstype.int32)).dtype is mstype.int64
    np.testing.assert_array_equal(ms.mint.add(x, x, alpha=2).asnumpy(), 3 * x.asnumpy())


def test_a_switch_of_values_a_dtype_and_sums_of_sequences_have_their_names(mode):
    from mindlite.mindspore.ops.operations._sequence_ops import SequenceAddN, SequenceMul
    x, y = ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0])

    @ms.jit
    def f(x, y):
        return F.switch(x.sum() > y.sum(), x, y), ms.ops.dtype(x) is mstype.float32, SequenceAddN()((x, y))
    chosen, is_float32, total = f(x, y)
    assert chosen.tolist() == [3, 4] and is_float32 and total.tolist() == [4, 6]
    assert SequenceMul()((1, 2), 2) == (1, 2, 1, 2)


def test_linear_algebra_goes_by_all_of_its_names():
    x = ms.Tensor(np.array([[2, 1], [1, 3]], np.float32))
    want = np.linalg.inv(x.asnumpy())
    for got in (x.inverse(), P.MatrixInverse()(x), P.MatrixSolve()(x, ms.ops.eye(2)), P.CholeskyInverse()(
                x.cholesky())):
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5)
    assert F.matrix_determinant(x) == P.MatrixDeterminant()(x) and x.inv()[0, 0] == 0.5
    np.testing.assert_allclose(P.Lgamma()(x).asnumpy(), x.lgamma().asnumpy())
    np.testing.assert_allclose(P.Polygamma()(ms.Tensor(1), x).asnumpy(), ms.ops.polygamma(1, x).asnumpy())
    np.testing.assert_allclose(P.Cdist(1.0)(x, x).asnumpy(), [[0, 3], [3, 0]])
    np.testing.assert_array_equal(P.InplaceAdd(1)(x, x[:1]).asnumpy(), [[2, 1], [3, 4]])


def test_operators_that_write_into_their_argument_do_so_in_both_modes(mode):
    class Net(ms.nn.Cell):
        def construct(self, x, y):
            P.InplaceAddExt()(x, y, 2)
            P.InplaceSubExt()(x, 1)
            P.InplaceIndexAdd(axis=0)(x, ms.Tensor([1, 1]), ms.Tensor([10.0, 20.0]))
            return x * 1
    x = ms.Tensor([1.0, 2.0])
    assert Net()(x, ms.Tensor([3.0, 4.0])).tolist() == x.tolist() == [6, 39]


def test_what_scripts_read_from_layers_and_operations_is_there(mode):
    assert ms.nn.Softmax().softmax.axis == (-1,) and ms.nn.Softmax(1).softmax.axis == (1,)
    x = ms.Tensor(np.arange(6.0).reshape(2, 3), mstype.float32)
    np.testing.assert_array_equal(ms.nn.Softmax(0).softmax(x).asnumpy(), ms.nn.Softmax(0)(x).asnumpy())
    assert mindlite.ops.operations.ReLU is P.ReLU
    with pytest.raises(RuntimeError, match="GetNext: there is no data queue 'here'"):
        P.GetNext([mstype.float32], [(1, 1)], 1, "here")()


def test_operations_that_write_do_what_the_methods_do(mode):
    class Net(ms.nn.Cell):
        def construct(self, x, y):
            z = x * 1
            P.InplaceAddExt()(z, y, 2)
            P.InplaceMul()(x, y)
            return z, P.InplaceTanh()(y)
    x, y = ms.Tensor([1.0, 2.0], mstype.float32), ms.Tensor([3.0, 4.0], mstype.float32)
    z, t = Net()(x, y)
    np.testing.assert_array_equal(z.asnumpy(), [7, 10])
    np.testing.assert_array_equal(x.asnumpy(), [3, 8])
    np.testing.assert_array_equal(t.asnumpy(), y.asnumpy())
    np.testing.assert_allclose(y.asnumpy(), np.tanh([3, 4]), rtol=1e-6)


def test_a_weight_that_is_only_given_back_has_a_gradient(mode):
    class Net(ms.nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(ms.Tensor([5.0], mstype.float32), name="w")

        def construct(self, x):
            return self.w
    gradient, = C.GradOperation(get_by_list=True)(Net())(ms.Tensor([2.0], mstype.float32))
    np.testing.assert_array_equal(gradient.asnumpy(), [1])


def test_processes_send_tensors_through_mindspores_multiprocessing():
    multiprocessing = importlib.import_module("mindlite.mindspore.multiprocessing")
    queue, x = multiprocessing.Queue(), ms.Tensor(np.arange(3, dtype=np.float32))
    process = multiprocessing.get_context("fork").Process(target=queue.put, args=(x,))
    process.start()
    assert queue.get(timeout=60).tolist() == [0, 1, 2]
    process.join(60)
    assert process.exitcode == 0


def test_the_dtype_of_a_python_object():
    found = [ms.get_py_obj_dtype(value) for value in (True, 1, 1.5, 1j, np.float16(1), ms.Tensor([1.0]))]
    assert found == [mstype.bool_, mstype.int64, mstype.float64, mstype.complex128, mstype.float16, mstype.float32]
    with pytest.raises(TypeError, match="a number or a Tensor"):
        ms.get_py_obj_dtype("1")


@pytest.mark.parametrize("path, name, why", [("nn", "thor", "inverted by Ascend"), ("dataset", "DatasetCache", "cache server"),
                                             ("dataset", "GraphData", "has it no more"),
                                             ("runtime", "MemPool", "memory pool"), ("utils", "sdc_detect_start", "clusters"),
                                             ("boost", "AutoBoost", "Ascend")])
def test_a_name_that_is_refused_says_why(path, name, why):
    module = importlib.import_module(f"mindlite.mindspore.{path}")
    with pytest.raises(AttributeError, match=f"{name}.*mindlite does not have it .*{why}"):
        getattr(module, name)


def test_no_name_that_mindlite_has_is_refused():
    for path in MODULES:
        assert not set(Names(path).all()) & set(REFUSED), path


def test_the_generators_of_initialisers_fill_an_array_by_their_seed():
    from mindlite.mindspore._c_expression import _random_normal, _random_uniform, _truncated_normal
    for call, bounds in ((_random_normal, (0.0, 1.0)), (_random_uniform, (-1.0, 1.0)),
                         (_truncated_normal, (-2.0, 2.0, 0.0, 1.0))):
        first, again, other = (np.empty((50, 40), np.float32) for _ in range(3))
        call(7, first, *bounds), call(7, again, *bounds), call(8, other, *bounds)
        np.testing.assert_array_equal(first, again)
        assert abs(first.mean()) < 0.1 and 0.5 < first.std() < 1.1 and not np.array_equal(first, other)
        assert call is _random_normal or np.abs(first).max() <= max(bounds)
    with pytest.raises(ValueError, match="leave nothing"):
        _truncated_normal(0, first, 1.0, 1.0, 0.0, 1.0)


def test_recording_for_gradients_is_switched_off_and_on_again():
    def stopped(x):
        before = _pynative_executor.enable_grad()
        _pynative_executor.set_enable_grad(False)
        kept = x * x
        assert not _pynative_executor.enable_grad()
        _pynative_executor.set_enable_grad(before)
        return kept + 3 * x

    def inside(x):
        with mindlite.no_grad():
            assert not _pynative_executor.enable_grad()
            return x * x
    x = mindlite.Tensor([2.0])
    assert mindlite.grad(stopped)(x).tolist() == [3.0] and mindlite.grad(inside)(x).tolist() == [0.0]
    assert _pynative_executor.enable_grad()
    with pytest.raises(TypeError):
        _pynative_executor.set_enable_grad("no")


def test_an_initialiser_of_ones_own_fills_an_array():
    class Ramp(ms.common.initializer.Initializer):
        def _initialize(self, arr):
            ms.common.initializer._assignment(arr, np.arange(arr.size))

    made = initializer(Ramp(), [2, 3], mstype.float16)
    assert made.dtype == mstype.float16 and made.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_steps_of_recurrent_cells_are_those_of_the_layers():
    rng = np.random.default_rng(0)
    x, h, c = (mindlite.Tensor(rng.standard_normal((2, n)).astype("f")) for n in (3, 4, 4))
    for name, layer, state in (("_rnn_tanh_cell", ms.nn.RNNCell, h), ("_gru_cell", ms.nn.GRUCell, h),
                               ("_lstm_cell", ms.nn.LSTMCell, (h, c))):
        cell = layer(3, 4)
        step = getattr(ms.nn.layer.rnn_cells, name)(x, state, *cell.get_parameters())
        want = cell(x, state)
        for one, other in zip(step if name == "_lstm_cell" else (step,), want if name == "_lstm_cell" else (want,)):
            np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-5)


def test_operators_of_other_devices_are_refused_when_they_are_called():
    with pytest.raises(ValueError, match="flash_attention_score: there is no such operator on a CPU"):
        ms.ops.flash_attention_score(None, None, None, 1)
