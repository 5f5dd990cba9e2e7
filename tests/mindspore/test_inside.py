"""What public model libraries import from inside MindSpore is there, and says what holds here."""
import os

import numpy as np
import pytest

import mindlite
import mindlite.mindspore as ms
from mindlite.common import checks
from mindlite.mindspore.common import dtype as mstype
from mindlite.mindspore.common._stub_tensor import StubTensor
from mindlite.mindspore.nn.layer.conv import _Conv, _deconv_output_length
from mindlite.mindspore.ops._primitive_cache import _get_cache_prim


def test_bicubic_pictures_are_mindspores_and_torchs_by_the_module_they_are_asked_of():
    """One row [0, 1, 0, 0] made twice as long. MindSpore on the CPU: weights of a = -1/2, points outside left out."""
    row = np.array([[[[0, 1, 0, 0]]]], np.float32)

    def cubic(a, t):
        t = abs(t)
        return ((a + 2) * t - (a + 3)) * t * t + 1 if t <= 1 else ((a * t - 5 * a) * t + 8 * a) * t - 4 * a if t < 2 else 0

    def wanted(a, outside):
        out = []
        for i in range(8):
            place = (i + 0.5) / 2 - 0.5
            points = range(int(np.floor(place)) - 1, int(np.floor(place)) + 3)
            weights = {p: cubic(a, p - place) for p in points if outside or 0 <= p < 4}
            out.append(sum(w * row[0, 0, 0, min(max(p, 0), 3)] for p, w in weights.items()) / sum(weights.values()))
        return out
    x = ms.Tensor(row)
    for found in (ms.ops.interpolate(x, (1, 8), mode="bicubic"), ms.ops.upsample(x, scale_factor=(1.0, 2.0), mode="bicubic"),
                  ms.nn.Upsample((1, 8), mode="bicubic")(x), ms.ops.operations.ResizeBicubic(False, True)(x, (1, 8))):
        np.testing.assert_allclose(found.asnumpy()[0, 0, 0], wanted(-0.5, False), atol=1e-6)
    for found in (mindlite.ops.interpolate(x, (1, 8), mode="bicubic"), mindlite.nn.Upsample((1, 8), mode="bicubic")(x),
                  ms.mint.nn.functional.interpolate(x, (1, 8), mode="bicubic")):
        np.testing.assert_allclose(found.asnumpy()[0, 0, 0], wanted(-0.75, True), atol=1e-6)
    with pytest.raises(ValueError, match="no point"):
        ms.ops.interpolate(x, (0, 8), mode="bicubic")


def test_the_class_of_a_dtype_tells_its_kind():
    assert isinstance(ms.int64, mstype.Int) and not isinstance(ms.int64, mstype.UInt) and not isinstance(ms.float32, mstype.Int)
    assert isinstance(ms.float16, mstype.Float) and isinstance(ms.bfloat16, mstype.BFloat)
    assert not isinstance(ms.bfloat16, mstype.Float) and isinstance(ms.bool_, ms.Type)
    assert mstype.Float(16) is ms.float16 and mstype.UInt(8) is ms.uint8 and issubclass(mstype.Int, mstype.Number)
    with pytest.raises(TypeError, match="there is no such dtype"):
        mstype.Float(24)


def test_the_types_of_tensors_are_equal_where_their_dtypes_are():
    assert ms.TensorType(ms.float32) == ms.TensorType(ms.float32) != ms.TensorType(ms.int32)
    assert repr(ms.TensorType(ms.int8)) == "Tensor[Int8]" and ms.TensorType(ms.int8).element_type() is ms.int8


def test_no_result_is_a_stub():
    assert not isinstance(ms.ops.add(ms.Tensor(1), 2), StubTensor)


def test_a_cached_primitive_computes_what_the_primitive_does():
    x = ms.Tensor([[1.0, 2.0], [3.0, 5.0]])

    def softmax(x):
        return _get_cache_prim(ms.ops.Softmax)(axis=0)(x)
    expected = ms.ops.softmax(x, 0).asnumpy()
    np.testing.assert_array_equal(softmax(x).asnumpy(), expected)
    np.testing.assert_allclose(mindlite.jit(softmax, fullgraph=True)(x).asnumpy(), expected, rtol=1e-6)


class Wide(_Conv):
    """A convolution over one axis, made as model libraries make it."""

    def __init__(self):
        super().__init__(4, 6, (3,), (1, 1), "pad", 1, (1, 1), 2, True, None, None)
        self.conv2d = ms.ops.Conv2D(6, (1, 3), pad_mode="pad", pad=(0, 0, 1, 1), group=2)

    def construct(self, x):
        out = self.conv2d(x.expand_dims(2), self.weight.expand_dims(2))
        return ms.ops.bias_add(out, self.bias).squeeze(2)


def test_a_convolution_of_ones_own_keeps_its_settings_and_computes():
    net, x = Wide(), ms.Tensor(np.random.default_rng(0).standard_normal((2, 4, 8)), ms.float32)
    assert net.weight.shape == (6, 2, 3) and net.bias.shape == (6,) and net.group == 2
    whole = mindlite.nn.Conv1d(4, 6, 3, pad_mode="pad", padding=1, group=2, has_bias=True)
    whole.weight.set_data(net.weight.expand_dims(2))
    whole.bias.set_data(net.bias)
    np.testing.assert_allclose(net(x).asnumpy(), whole(x).asnumpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="do not split in 3 groups"):
        _Conv(4, 6, (3,), (1,), "pad", 0, (1,), 3, False, None, None)


@pytest.mark.parametrize("word", ["valid", "same", "pad"])
def test_the_length_that_a_transposed_convolution_gives(word):
    layer = mindlite.nn.Conv1dTranspose(1, 1, 5, 2, word, 1 if word == "pad" else 0)
    got = layer(ms.ops.ones((1, 1, 7), ms.float32)).shape[-1]
    assert got == _deconv_output_length(word == "valid", word == "same", word == "pad", 7, 5, 2, 1, 2)


@pytest.mark.parametrize("check, good, bad, error", [
    (lambda x: checks.check_int(x, 1, checks.GE, "size", "Cell"), 1, 0, "size is at least 1, not 0"),
    (lambda x: checks.check_float(x, 1.0, checks.LT, "rate"), 0.5, 1.0, "rate is below 1.0"),
    (lambda x: checks.check_float_range(x, 0.0, 1.0, checks.INC_LEFT, "rate"), 0.0, 1.0, r"rate is in \[0.0, 1.0\)"),
    (lambda x: checks.check_int_range(x, 0, 3, checks.INC_RIGHT, "axis"), 3, 0, r"axis is in \(0, 3\]"),
    (lambda x: checks.check_string(x, ["same", "valid"], "pad_mode"), "same", "other", "pad_mode is one of 'same', 'valid'"),
    (lambda x: checks.check_bool(x, "flag"), True, 1, "flag is bool, not int"),
    (lambda x: checks.check_negative_int(x, "step"), -1, 0, "step is below 0"),
    (lambda x: checks.check_non_positive_int(x, "step"), 0, 1, "step is at most 0"),
    (lambda x: checks.check_non_negative_float(x, "rate"), 0.0, -1.0, "rate is at least 0"),
    (lambda x: checks.check_str_by_regular(x) and x, "a.b", ".b", "'.b' does not match"),
    (lambda x: checks.check_axis_in_range(x, 2), 1, 2, r"the axis is in \[-2, 2\), not 2")])
def test_an_argument_is_checked_in_mindspores_words(check, good, bad, error):
    assert check(good) == good
    with pytest.raises((TypeError, ValueError), match=error):
        check(bad)


def test_axes_are_counted_from_the_front():
    assert checks.check_and_canonicalize_axes((-1, 0), 3) == (2, 0) and checks.check_and_canonicalize_axes(None, 3) == ()


def test_an_operation_on_data_may_be_python():
    from mindlite.mindspore.dataset.transforms.transforms import PyTensorOperation

    class Half(PyTensorOperation):
        def _execute_py(self, x):
            return x / 2
    data = ms.dataset.NumpySlicesDataset([2.0, 4.0], column_names=["x"], shuffle=False).map(Half(), "x")
    assert [float(x) for (x,) in data.create_tuple_iterator(output_numpy=True)] == [1.0, 2.0]
    assert isinstance(data.take(1), ms.dataset.TakeDataset) and not isinstance(data, ms.dataset.TakeDataset)


def test_a_list_of_raw_values_is_saved_as_a_checkpoint(tmp_path):
    from mindlite.mindspore.train.serialization import _exec_save, tensor_to_np_type
    values = np.arange(6, dtype=np.float32)
    _exec_save(str(tmp_path / "a.ckpt"), {"w": ([2, 3], "Float32", values.tobytes())})
    np.testing.assert_array_equal(ms.load_checkpoint(str(tmp_path / "a.ckpt"))["w"].asnumpy(), values.reshape(2, 3))
    assert tensor_to_np_type("Float32") == np.float32


def test_a_tensor_says_where_its_elements_are():
    x, p = ms.Tensor([1.0, 2.0]), ms.Parameter(ms.Tensor([1.0]), name="p")
    assert x.init_finished and not x.is_meta and not x.is_pinned() and not x.is_shared() and not x.is_init()
    x.set_init_flag(True)
    assert x.init_flag and not ms.Tensor([1.0]).init_flag and p.is_init is False
    x.assign_value(ms.Tensor([[3]]))
    assert x.dtype == ms.int64 and x.asnumpy().tolist() == [[3]]
    assert p.requires_grad_(False) is p and not p.requires_grad
    assert x.to_("CPU") is x and x.data_sync() is None


@pytest.mark.parametrize("call, expected", [
    (lambda: ms.ops.scalar_floordiv(7, 2), 3), (lambda: ms.ops.tuple_setitem((1, 2), 0, 5), (5, 2)),
    (lambda: ms.ops.tail((1, 2, 3)), (2, 3)), (lambda: ms.ops.dict_setitem({"a": 1}, "b", 2), {"a": 1, "b": 2}),
    (lambda: ms.ops.reduced_shape((2, 3, 4), (0, -1)), (1, 3, 1)),
    (lambda: ms.ops.zip_operation((1, 2), (3, 4)), ((1, 3), (2, 4))),
    (lambda: ms.ops.broadcast_gradient_args((3, 1), (2, 1, 4)), ((0, 2), (1,))), (lambda: ms.ops.tuple_reversed((1, 2)), (2, 1)),
    (lambda: ms.ops.make_dict(("a", "b"), (1, 2)), {"a": 1, "b": 2}), (lambda: ms.ops.scalar_max(2, 3), 3),
    (lambda: ms.ops.in_dict("a", {"a": 1}), True), (lambda: ms.ops.make_slice(1, 2, 3), slice(1, 2, 3))])
def test_the_words_of_the_graph_language_are_plain_python(call, expected):
    assert call() == expected


def test_a_word_of_the_graph_language_means_the_same_in_a_graph():
    def f(x):
        shape = ms.ops.reduced_shape(x.shape, 1)
        return ms.ops.reshape(x.sum(1), shape) * ms.ops.scalar_floordiv(7, 2) + ms.ops.tuple_len(ms.ops.tail((1, 2, 3)))
    x = ms.Tensor(np.arange(6.0).reshape(2, 3), ms.float32)
    np.testing.assert_array_equal(mindlite.jit(f, fullgraph=True)(x).asnumpy(), f(x).asnumpy())


def test_numbers_are_computed_by_words_of_the_room_of_operators_too():
    from mindlite.mindspore.ops.operations import manually_defined as words

    def f(x, y):
        return words.scalar_add(x, y), words.scalar_div(x, y), words.scalar_eq(x, y), words.scalar_usub(x), words.scalar_bool(y)
    assert mindlite.jit(f, fullgraph=True)(3, 2) == f(3, 2) == (5, 1.5, False, -3, True)


def test_switches_of_mindspores_compiler_are_kept_and_the_groups_of_its_devices_have_names():
    from mindlite.mindspore._extends.parse import compile_config
    from mindlite.mindspore.communication import management
    before = compile_config.GRAD_FOR_SCALAR
    assert before == "" and compile_config.JIT_ENABLE_AUGASSIGN_INPLACE == "1"
    compile_config.GRAD_FOR_SCALAR = "1"
    assert compile_config.GRAD_FOR_SCALAR == "1"
    compile_config.GRAD_FOR_SCALAR = before
    with pytest.raises(AttributeError):
        compile_config.GRAD_FOR_NOTHING
    assert management.HCCL_WORLD_COMM_GROUP == "hccl_world_group"


def test_the_channels_of_a_gradient_of_a_bias_stand_where_the_format_says():
    from mindlite.mindspore.ops.operations import _grad_ops
    dout = np.arange(24.0).reshape(2, 3, 4)
    for name, wanted in (("NCHW", dout.sum((0, 2))), ("NHWC", dout.sum((0, 1)))):
        for call in (_grad_ops.BiasAddGrad(name), mindlite.jit(_grad_ops.BiasAddGrad(name), fullgraph=True)):
            assert call(ms.Tensor(dout)).asnumpy().tolist() == wanted.tolist()


def test_the_type_of_a_distribution_is_that_of_its_tensors_and_checks_name_what_is_wrong():
    from mindlite.mindspore.nn.probability.distribution._utils import utils
    half, double, count = ms.Tensor(0.5, ms.float16), np.array(0.5), ms.Tensor(3, ms.int32)
    for args, wanted in (([half, 1.0, half], ms.float16), ([double, ms.Tensor(double)], ms.float32), ([count], ms.float32),
                         ([1.0, 2], ms.bfloat16)):
        assert utils.set_param_type(dict(enumerate(args)), ms.bfloat16) == wanted
    with pytest.raises(TypeError, match="of one type"):
        utils.set_param_type({"a": half, "b": double}, ms.float32)

    def checked(x):
        return utils.CheckTensor()(x, "value") + utils.CheckTuple()((x, 2), "pair")[1]
    for run in (lambda f: f, mindlite.jit):
        assert run(checked)(half).asnumpy() == 2.5
        with pytest.raises(TypeError, match="value is a Tensor, not str"):
            run(checked)("text")


def test_a_float_is_no_value_of_a_parameter_of_integers():
    count = ms.Parameter(ms.Tensor(3, ms.int32), name="count")
    with pytest.raises(TypeError, match="is of int32, which does not hold 1.5"):
        count.set_data(1.5)
    assert count.set_data(7).asnumpy() == 7 and ms.Parameter(0.5, name="rate").set_data(2).asnumpy() == 2.0


def test_floats_alone_are_cast_for_mixed_precision():
    a, (b, c) = ms.ops.mixed_precision_cast(ms.float16, (ms.Tensor([1.0]), (ms.Tensor([1]), "text")))
    assert a.dtype == ms.float16 and b.dtype == ms.int64 and c == "text"


def test_two_tensors_exchange_what_they_hold():
    a, b = ms.Tensor([1.0]), ms.Tensor([[2, 3]])
    a.mark = 5
    ms.swap_tensors(a, b)
    assert a.asnumpy().tolist() == [[2, 3]] and b.asnumpy().tolist() == [1.0] and b.mark == 5 and not hasattr(a, "mark")
    with pytest.raises(TypeError, match="both are of one class"):
        ms.swap_tensors(a, ms.Parameter(a, name="p"))


def test_the_process_says_what_it_runs_on(capsys):
    ms.run_check()
    assert "correct" in capsys.readouterr().out and ms.get_current_device().device_target == "CPU"
    assert ms.get_level() in "01234" and ms.get_log_config()["GLOG_v"] == ms.get_level() and ms.QuantDtype.UINT8.value == 107


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_number_stands_for_a_tuple_and_no_text_or_float_does(n):
    expand = checks._expand_tuple(n)
    assert expand(4) == (4,) * n and expand(tuple(range(n))) == tuple(range(n))
    for wrong in (0.5, "text", True, (1,) * (n + 1), (1.5,) * n, [1] * n):
        with pytest.raises(TypeError, match=f"an int or a tuple of {n} is wanted"):
            expand(wrong)


def test_the_classes_of_matrices_by_rows_take_the_parts_and_do_what_the_functions_do():
    from mindlite.mindspore.ops.operations import _csr_ops as csr
    indptr, indices, values = ms.Tensor([0, 2, 3]), ms.Tensor([0, 2, 1]), ms.Tensor([1.0, 2.0, 3.0])
    dense, parts = np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3), (indptr, indices, values, (2, 3))
    whole = np.array([[1.0, 0, 2], [0, 3, 0]], np.float32)
    held = whole != 0
    for got, expected in [
            (csr.CSRReduceSum()(*parts, 1), whole.sum(1, keepdims=True)),
            (csr.CSRMM()(*parts, ms.Tensor(dense.T)), whole @ dense.T),
            (csr.CSRMV()(*parts, ms.Tensor(dense[:1].T)), whole @ dense[:1].T),
            (csr.CSRMul()(*parts, ms.Tensor(dense)), (whole * dense)[held]),
            (csr.CSRDiv()(*parts, ms.Tensor(dense)), (whole / dense)[held]), (csr.CSR2COO()(indptr, 3), [0, 0, 1]),
            (csr.CSRGather()(indptr, indices, ms.Tensor(dense), (2, 3)), dense[held]),
            (csr.COO2CSR()(ms.Tensor([0, 0, 1]), 2), [0, 2, 3])]:
        np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-6)


def test_the_type_of_a_value_has_mindspores_word_in_both_modes():
    from mindlite.mindspore.ops.operations._inner_ops import TopTypeof
    assert TopTypeof()(ms.Tensor([1.0])) == ms.TensorType(ms.float32) and TopTypeof()(True) is ms.bool_
    assert isinstance(TopTypeof()(3), mstype.Int) and TopTypeof()((1, 2)) == mstype.tuple_
    with pytest.raises(TypeError, match="no word for the class"):
        TopTypeof()({1})

    def f(x, i):
        return x + 1 if isinstance(TopTypeof()(i), ms.TensorType) else x
    for i in (ms.Tensor([2]), 2):
        x = ms.Tensor([1.0])
        assert mindlite.jit(f, fullgraph=True)(x, i).asnumpy() == f(x, i).asnumpy()


def test_eigenvectors_are_asked_of_the_class_in_the_room_of_matrices():
    from mindlite.mindspore.ops.operations.linalg_ops import Eigh
    x = np.array([[2.0, 1.0], [1.0, 2.0]], np.float32)
    values, vectors = Eigh(True, True)(ms.Tensor(x))
    np.testing.assert_allclose(vectors.asnumpy() * values.asnumpy() @ vectors.asnumpy().T, x, rtol=1e-5)
    np.testing.assert_allclose(Eigh(False)(ms.Tensor(x)).asnumpy(), [1.0, 3.0], rtol=1e-5)


def test_the_checkpoints_of_a_prefix_are_listed_and_removed(tmp_path):
    manager = ms.train.callback._CheckpointManager()
    for number, name in enumerate(("net-1_1.ckpt", "net-2_1.ckpt", "net-3_1.ckpt", "net-a_1.ckpt", "other-1_1.ckpt")):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (1000 + number, 1000 + number))
    manager.update_ckpoint_filelist(str(tmp_path), "net")
    assert manager.ckpoint_num == 3
    manager.keep_one_ckpoint_per_minutes(1, 1060.5)          # of the last minute the oldest: net-3_1 goes
    assert sorted(map(os.path.basename, manager.ckpoint_filelist)) == ["net-1_1.ckpt", "net-2_1.ckpt"]
    manager.remove_oldest_ckpoint_file()
    assert sorted(os.listdir(tmp_path)) == ["net-2_1.ckpt", "net-a_1.ckpt", "other-1_1.ckpt"]
    changed = ms.train.callback._checkpoint._chg_ckpt_file_name_if_same_exist
    assert changed(str(tmp_path), "net") == "net_1" and changed(str(tmp_path), "new") == "new"


def test_a_network_is_filled_once_by_what_a_save_operator_gives():
    from mindlite.mindspore.train.callback import _checkpoint_cb_for_save_op, _set_cur_net
    net = ms.nn.Dense(2, 1)
    values = {"name": "weight", "data": ms.Tensor(np.ones((1, 2), np.float32))}
    assert not _checkpoint_cb_for_save_op([values])
    _set_cur_net(net)
    assert _checkpoint_cb_for_save_op([values]) and net.weight.asnumpy().tolist() == [[1, 1]]
    assert not _checkpoint_cb_for_save_op([values])


def test_which_ranks_hold_the_same_part_of_a_parameter_is_told_by_its_layout():
    from mindlite.mindspore.train._utils import get_parameter_redundancy, remove_param_redundancy
    layouts = {"rows": ([2, 4], [1, -1], [8, 8]), "columns": ([2, 4], [-1, 0], [8, 8]), "whole": ([2, 4], [-1], [8]),
               "both": ([2, 2], [0, 1], [4, 4])}
    found = get_parameter_redundancy(layouts, initial_rank=0)
    assert found == {"rows": ((0, 1, 2, 3), (4, 5, 6, 7)), "columns": ((0, 4), (1, 5), (2, 6), (3, 7)),
                     "whole": (tuple(range(8)),), "both": ((0,), (2,), (1,), (3,))}
    written = remove_param_redundancy({name: found[name] for name in ("rows", "whole")})
    assert written == {0: {"rows", "whole"}, 4: {"rows"}}
    assert ms.train.callback._cluster_monitor._get_dp_tp_from_layout({"columns": layouts["columns"]}, 0) == (
        [[0, 4], [1, 5], [2, 6], [3, 7]], [[0, 1, 2, 3], [4, 5, 6, 7]])


def test_the_results_of_a_network_are_widened():
    net = ms.train.amp._OutputTo32(ms.nn.Dense(2, 1).to_float(ms.float16))
    for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE):
        before = mindlite.common.config.config.set(mode=mode)
        assert net(ms.Tensor(np.ones((1, 2), np.float16))).dtype == ms.float32
        mindlite.common.config.config.set(**before)


def test_callbacks_are_called_together_and_wrong_ones_refused():
    from mindlite.mindspore.train.callback import _CallbackManager, _InternalCallbackParam
    seen = []

    class Seen(ms.train.Callback):
        def step_end(self, run_context):
            seen.append(run_context.original_args().number)
    args = _InternalCallbackParam()
    args.number = 3
    with _CallbackManager([Seen(), Seen()]) as hooks:
        hooks.step_end(ms.train.RunContext(args))
        hooks.on_train_step_end(ms.train.RunContext(args))
        with pytest.raises(AttributeError, match="no hook"):
            hooks.midnight
    assert seen == [3] * 4
    with pytest.raises(TypeError, match="Callback"):
        _CallbackManager([None])


def test_tensors_for_shapes_and_summaries_by_name(tmp_path):
    from mindlite.mindspore.train.summary.summary_record import _cache_summary_tensor_data
    made = ms.train._utils._construct_tensor_list([ms.int8, ms.float32], [(2, 3), ()], 2)
    assert [(tuple(t.shape), t.dtype) for t in made] == [((4, 3), ms.int8), ((), ms.float32)]
    with ms.SummaryRecord(str(tmp_path)) as record:
        size = os.path.getsize(record.log_dir)
        assert _cache_summary_tensor_data([{"name": "loss[:Scalar]", "data": ms.Tensor(2.0)}]) and record.record(1)
        assert os.path.getsize(record.log_dir) > size
    with pytest.raises(ValueError, match="no name of a summary"):
        _cache_summary_tensor_data([{"name": "loss", "data": ms.Tensor(2.0)}])


def test_the_graph_of_a_cell_is_given_and_written(tmp_path):
    from mindlite.mindspore.train.serialization import _get_funcgraph, _save_graph
    net = ms.nn.Dense(2, 1)
    assert any("matmul" in node.fn.name for node in _get_funcgraph(net, ms.Tensor(np.ones((1, 2), np.float32))).nodes)
    before = mindlite.common.config.config.set(mode=ms.GRAPH_MODE)
    _save_graph(net, str(tmp_path / "net.meta"))
    mindlite.common.config.config.set(**before)
    assert "f32[1, 2]" in (tmp_path / "net.meta").read_text()


def test_what_watches_clusters_of_ascend_says_that_there_are_none():
    with pytest.raises(ValueError, match="there are none"):
        ms.train.TrainFaultTolerance("folder")


def test_the_events_of_a_file_are_read_as_objects(tmp_path):
    from mindlite.mindspore.train.summary_pb2 import Event
    with ms.SummaryRecord(str(tmp_path)) as record:
        record.add_value("scalar", "loss", ms.Tensor(0.5))
        record.add_value("histogram", "w", ms.Tensor(np.array([1, 2, 3, np.nan, np.inf, np.inf, -np.inf])))
        record.add_value("image", "picture", ms.Tensor(np.zeros((1, 1, 2, 2), np.uint8)))
        record.record(7)
    with open(record.log_dir, "rb") as stream:
        data = stream.read()
    found, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at:at + 8], "little")
        found.append(Event.FromString(data[at + 12:at + 12 + size]))
        at += 16 + size
    first, second = found
    assert first.version == "brain.Event:2" and second.step == 7 and second.wall_time >= first.wall_time > 0
    loss, w, picture = second.summary.value
    assert (loss.tag, loss.scalar_value, loss.histogram) == ("loss", 0.5, None) and picture.image.startswith(b"\x89PNG")
    histogram = w.histogram
    assert (histogram.count, histogram.min, histogram.max, histogram.sum) == (3, 1, 3, 6)
    assert (histogram.nan_count, histogram.pos_inf_count, histogram.neg_inf_count) == (1, 2, 1)
    assert [count for _, count in histogram.buckets] == [1, 2] and histogram.buckets[-1][0] == 3
    with pytest.raises(ValueError, match="too early"):
        Event().ParseFromString(data[-4 - size:-9])
