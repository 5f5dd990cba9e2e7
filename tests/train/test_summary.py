"""Event files: each record is whole by its check sums, and what is read back is what was added."""
import glob
import io
import os
import struct

import numpy as np
import pytest
from test_model import DATA, LABEL, Batches, model_of, network, quiet  # noqa: F401

import mindlite as ms
from mindlite import Parameter, Tensor, dataset, nn
from mindlite.dataset.files.records import crc32c
from mindlite.ops import operations
from mindlite.train import Loss, Model, SummaryCollector, SummaryLandscape, SummaryRecord


def slow_crc(data):
    crc = 0xFFFFFFFF
    for bit in np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little"):
        crc = crc >> 1 ^ (0x82F63B78 if (crc ^ int(bit)) & 1 else 0)
    return crc ^ 0xFFFFFFFF


def checked(data, crc):
    plain = (struct.unpack("<I", crc)[0] - 0xA282EAD8) & 0xFFFFFFFF
    assert (plain >> 17 | plain << 15) & 0xFFFFFFFF == slow_crc(data)
    return data


def fields(data):
    """{number: [values]} of a protobuf message."""
    found, stream = {}, io.BytesIO(data)

    def number():
        total = shift = 0
        while True:
            byte = stream.read(1)[0]
            total, shift = total | (byte & 127) << shift, shift + 7
            if byte < 128:
                return total
    while stream.tell() < len(data):
        key = number()
        value = {0: number, 1: lambda: struct.unpack("<d", stream.read(8))[0], 2: lambda: stream.read(number()),
                 5: lambda: struct.unpack("<f", stream.read(4))[0]}[key & 7]()
        found.setdefault(key >> 3, []).append(value)
    return found


def events(folder):
    """[(step, {tag: value message})] of the one file in a folder."""
    path, = glob.glob(f"{folder}/*tfevents*")
    found = []
    with open(path, "rb") as stream:
        while head := stream.read(8):
            length, = struct.unpack("<Q", checked(head, stream.read(4)))
            found.append(fields(checked(stream.read(length), stream.read(4))))
    assert found[0][3] == [b"brain.Event:2"]
    summaries = [(event[2][0], fields(event[5][0])) for event in found[1:]]
    return [(step, {fields(v)[1][0].decode(): fields(v) for v in summary.get(1, [])}) for step, summary in summaries]


def test_the_check_sum_is_crc32c():
    assert crc32c(b"123456789") == 0xE3069283 and crc32c(b"") == 0           # RFC 3720
    assert crc32c(bytes(range(256))) == slow_crc(bytes(range(256)))


def test_what_is_added_is_read_back(tmp_path):
    image = np.random.default_rng(0).integers(0, 255, (1, 3, 5, 4)).astype(np.uint8)
    weights = Parameter(Tensor(np.array([-1.0, 0.0, 2.0, np.nan], np.float32)), name="w")
    with SummaryRecord(str(tmp_path), network=network()) as record:
        record.add_value("scalar", "loss", Tensor(0.5))
        record.add_value("image", "picture", Tensor(image))
        record.add_value("histogram", "w", weights)
        record.add_value("text", "note", "hello")
        assert record.record(3) and record.log_dir.startswith(str(tmp_path))
        record.add_value("scalar", "loss", 0.25)
        record.add_value("scalar", "other", 1.0)
        assert record.record(4, plugin_filter=lambda plugin: plugin == "scalar")
    (step, first), (later, second) = events(tmp_path)
    assert (step, later) == (3, 4) and first["loss"][2] == [0.5] and second["loss"][2] == [0.25] and second["other"][2] == [1.0]
    assert b"Dense" in fields(first["network"][8][0])[8][0] and fields(first["note"][8][0])[8] == [b"hello"]
    picture = fields(first["picture"][4][0])
    assert (picture[1], picture[2], picture[3]) == ([5], [4], [3])
    pillow = pytest.importorskip("PIL.Image")
    assert np.array_equal(np.asarray(pillow.open(io.BytesIO(picture[4][0]))), np.moveaxis(image[0], 0, -1))
    histogram = fields(first["w"][5][0])
    assert [histogram[n][0] for n in (1, 2, 3, 4, 5)] == [-1.0, 2.0, 3.0, 1.0, 5.0]
    counts, limits = [np.frombuffer(histogram[n][0], "<f8") for n in (7, 6)]
    assert counts.tolist() == [2, 1] and limits.tolist() == [0.5, 2.0]


class Watched(nn.Cell):
    def __init__(self):
        super().__init__()
        self.scalar, self.histogram = operations.ScalarSummary(), operations.HistogramSummary()
        self.image, self.tensor = operations.ImageSummary(), operations.TensorSummary()

    def construct(self, x):
        self.scalar("total", x.sum())
        self.histogram("x", x)
        self.tensor("row", x[0])
        self.image("picture", x.reshape(1, 1, 2, 3))
        return x * 2


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
def test_what_a_network_watches_is_written_in_both_modes(tmp_path, mode):
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3) / 6)
    call = ms.jit(Watched(), fullgraph=True) if mode == ms.GRAPH_MODE else Watched()
    call(x)                                                  # nobody listens yet
    with SummaryRecord(str(tmp_path)) as record:
        for step in (1, 2):
            np.testing.assert_array_equal(call(x + step), (x + step) * 2)
            record.record(step)
    call(x)                                                  # nor any more
    found = events(tmp_path)
    assert [step for step, _ in found] == [1, 2] and set(found[0][1]) == {"total", "x", "row", "picture"}
    assert [values["total"][2][0] for _, values in found] == [8.5, 14.5]


def test_the_gradient_passes_a_summary_by():
    def loss(x):
        operations.ScalarSummary()("loss", x.sum())
        return (x * x).sum()

    for function in (loss, ms.jit(loss, fullgraph=True)):
        np.testing.assert_array_equal(ms.grad(function)(Tensor([1.0, 2.0])), [2.0, 4.0])


@pytest.mark.parametrize("kind, name, value, error", [
    ("Scalar", None, Tensor(0), TypeError), ("Scalar", "", Tensor(0), ValueError), ("Scalar", "a", 3, TypeError),
    ("Scalar", "a", Tensor([1, 2]), ValueError), ("Image", "a", Tensor([1, 2]), ValueError),
    ("Tensor", "a", Tensor(0), ValueError),     ("Histogram", "a", Tensor(0), ValueError)])
def test_wrong_summaries_are_refused(kind, name, value, error):
    def call(x):
        getattr(operations, kind + "Summary")()(name, x)
        return 1

    for function in (call, ms.jit(call)):
        with pytest.raises(error, match=f"{kind}Summary"):
            function(value)


def test_a_training_is_collected(tmp_path):
    model_of(network(), metrics={"mse"}).fit(2, Batches(DATA, LABEL), Batches(DATA, LABEL), callbacks=SummaryCollector(
        str(tmp_path), collect_freq=5, custom_lineage_data={"idea": "first"}))
    found = events(tmp_path)
    assert [step for step, _ in found] == [1, 5, 5, 10, 10, 10]
    assert set(found[0][1]) == {"loss/auto", "learning_rate/auto", "weight/auto", "bias/auto", "train_network/auto",
                                "custom_lineage_data"}
    assert set(found[1][1]) == {"loss/auto", "learning_rate/auto", "weight/auto", "bias/auto"}
    assert set(found[2][1]) == {"eval_mse/auto"} and set(found[5][1]) == {"train_lineage"}
    assert b'"optimizer": "Momentum"' in fields(found[5][1]["train_lineage"][8][0])[8][0]


def test_what_is_collected_is_chosen(tmp_path):
    chosen = {"collect_metric": False, "histogram_regular": "wei"}
    for default, wanted in ((False, {"weight/auto"}), (True, {"weight/auto", "train_network/auto"})):
        folder = tmp_path / str(default)
        model_of(network()).train(1, Batches(DATA, LABEL), callbacks=SummaryCollector(
            str(folder), collect_specified_data=chosen, keep_default_action=default))
        assert set(events(folder)[0][1]) == wanted and (folder / "ckpt_dir").exists() == default


class Summed(nn.Cell):
    """The network of the tests, whose mean and input are written at each step."""

    def __init__(self):
        super().__init__()
        self.inner, self.scalar, self.tensor = network(), operations.ScalarSummary(), operations.TensorSummary()

    def construct(self, x):
        out = self.inner(x)
        self.scalar("mean", out.mean())
        self.tensor("out", out)
        return out


def test_what_a_network_watches_is_collected_as_often_as_the_rest_and_tensors_are_exported(tmp_path):
    model_of(Summed()).train(2, Batches(DATA, LABEL), callbacks=SummaryCollector(
        str(tmp_path), collect_freq=4, collect_tensor_freq=5, export_options={"tensor_format": "npy"},
        collect_specified_data={}, keep_default_action=False))
    assert [(step, set(values)) for step, values in events(tmp_path)] == [
        (1, {"mean", "out"}), (4, {"mean"}), (5, {"out"}), (8, {"mean"}), (10, {"out"})]
    arrays = sorted(path.name for path in tmp_path.glob("export_*/tensor/*"))
    assert arrays == ["out_1.npy", "out_10.npy", "out_5.npy"]
    assert np.load(next(tmp_path.glob("export_*/tensor/out_5.npy"))).shape == (8, 1)


@pytest.mark.parametrize("settings, error", [
    ({"summary_dir": 3}, TypeError), ({"summary_dir": ""}, ValueError), ({"summary_dir": __file__}, NotADirectoryError),
    ({"collect_freq": 0}, ValueError), ({"collect_freq": 0.5}, TypeError), ({"keep_default_action": 1}, TypeError),
    ({"collect_specified_data": {"other": True}}, ValueError), ({"collect_specified_data": {1: True}}, TypeError),
    ({"collect_specified_data": {"collect_graph": 1}}, TypeError),
    ({"collect_specified_data": {"histogram_regular": "*"}}, ValueError),
    ({"collect_specified_data": {"collect_landscape": 1}}, TypeError),
    ({"collect_specified_data": {"collect_landscape": {"other": 1}}}, ValueError),
    ({"collect_specified_data": {"collect_landscape": {"landscape_size": 2}}}, ValueError),
    ({"collect_specified_data": {"collect_landscape": {"unit": "day"}}}, ValueError),
    ({"collect_specified_data": {"collect_landscape": {"intervals": [[1, 2]]}}}, ValueError),
    ({"collect_specified_data": {"collect_landscape": {"create_landscape": {"train": 1}}}}, TypeError),
    ({"custom_lineage_data": {"a": []}}, TypeError), ({"export_options": {"tensor_format": "npz"}}, ValueError),
    ({"export_options": {"other": "npy"}}, ValueError), ({"export_options": 1}, TypeError), ({"max_file_size": 0}, ValueError)])
def test_wrong_settings_of_a_collector_are_refused(tmp_path, settings, error):
    with pytest.raises(error, match="Summary"):
        SummaryCollector(**{"summary_dir": str(tmp_path), **settings})


def test_two_collectors_are_refused(tmp_path):
    with pytest.raises(ValueError, match="more than one SummaryCollector"):
        model_of(network()).train(1, Batches(DATA, LABEL), callbacks=[SummaryCollector(str(tmp_path / n)) for n in "ab"])


def test_a_loss_landscape_is_the_loss_over_a_plane_through_the_last_weights(tmp_path):
    kept = SummaryCollector(str(tmp_path), collect_specified_data={"collect_landscape": {
        "landscape_size": 3, "intervals": [[1, 2, 3, 5]]}}, keep_default_action=False)
    trained = network()
    model_of(trained).train(1, Batches(DATA, LABEL), callbacks=kept)
    fresh, last = network(), [param.asnumpy().copy() for param in trained.get_parameters()]
    before = [param.asnumpy().copy() for param in fresh.get_parameters()]
    data = dataset.NumpySlicesDataset((DATA, LABEL), shuffle=False).batch(4)

    def loss(weights):
        for param, values in zip(fresh.get_parameters(), weights):
            param.set_data(Tensor(values))
        return Model(fresh, nn.MSELoss(), metrics={"Loss": Loss()}).eval(data)["Loss"]

    def callback_fn():
        return Model(fresh, nn.MSELoss(), metrics={"Loss": Loss()}), fresh, data, {"Loss": Loss()}
    SummaryLandscape(str(tmp_path)).gen_landscapes_with_multi_process(
        callback_fn, device_ids=[0], output=str(tmp_path / "out"))
    assert all(np.array_equal(a, param.asnumpy()) for a, param in zip(before, fresh.get_parameters()))
    along, around = [np.load(tmp_path / "out" / f"landscape_{n}.npz") for n in ("1_5", "5")]
    assert along["loss"].shape == around["loss"].shape == (3, 3) and along["path_loss"].shape == (4,)
    np.testing.assert_allclose([along["path_x"][-1], along["path_y"][-1]], 0, atol=1e-9)
    np.testing.assert_allclose([along["path_loss"][-1], around["loss"][1, 1]], loss(last), rtol=1e-6)
    assert along["path_loss"][0] > along["path_loss"][-1]                # the training went down
    assert {tag for _, values in events(tmp_path / "out") for tag in values} == {"landscape_1_5", "landscape_5"}
    with pytest.raises(FileNotFoundError, match="SummaryCollector first"):
        SummaryLandscape(str(tmp_path / "other")).gen_landscapes_with_multi_process(callback_fn)


def test_two_records_of_one_second_have_files_of_their_own(tmp_path):
    with SummaryRecord(str(tmp_path)) as one, SummaryRecord(str(tmp_path)) as other:
        assert one.log_dir != other.log_dir and len(os.listdir(tmp_path)) == 2


def test_an_evaluation_between_epochs_is_not_taken_for_training(tmp_path):
    with SummaryRecord(str(tmp_path)) as record:
        call = Watched()
        record.set_mode("eval")
        call(Tensor(np.ones((2, 3), np.float32)))
        record.set_mode("train")
        record.record(1)
    assert events(tmp_path)[0][1] == {}


def test_a_file_stays_below_its_size_and_wrong_values_are_refused(tmp_path):
    record = SummaryRecord(str(tmp_path), max_file_size=200)
    record.add_value("scalar", "a", 1.0)
    assert record.record(1)
    record.add_value("histogram", "a", Tensor(np.zeros(9, np.float32)))
    assert not record.record(2)
    for error, call in ((ValueError, lambda: record.add_value("other", "a", 1)),
                        (TypeError, lambda: record.add_value("scalar", 3, 1)),
                        (ValueError, lambda: record.add_value("scalar", "a", Tensor([1, 2]))),
                        (TypeError, lambda: record.add_value("scalar", "a", "b")), (ValueError, lambda: record.set_mode("x")),
                        (ValueError, lambda: record.add_value("image", "a", Tensor([1.0])))):
        with pytest.raises(error):
            call()
    record.close(), record.close()
    with pytest.raises(ValueError, match="closed"):
        record.record(3)
    with pytest.raises(TypeError):
        SummaryRecord(str(tmp_path), max_file_size="a")
