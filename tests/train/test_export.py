"""Networks in .mindir files: what is read back gives the same values and gradients, and damage is told."""
import io
import json
import os
import zipfile

import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops
from mindlite.common.errors import (ArgumentError, DTypeError, FileFormatError, GraphSyntaxError, ShapeError,
                                    ValueRangeError)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"])
def mode(request):
    ms.set_context(mode=request.param)
    yield request.param
    ms.set_context(mode=ms.PYNATIVE_MODE)


def there_and_back(net, *inputs):
    ms.export(net, *inputs, file_name="net", file_format="MINDIR")
    return nn.GraphCell(ms.load("net.mindir"))


def array(*shape, seed=0):
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def same(a, b):
    if isinstance(a, Tensor):
        assert isinstance(b, Tensor) and a.dtype is b.dtype
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-5)
    elif isinstance(a, (tuple, list)):
        assert type(a) is type(b) and len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        same(list(a.values()), list(b.values()))
    else:
        assert type(a) is type(b) and a == b


class Layers(nn.Cell):
    """Convolution, normalisation, dropout, a loop, a branch, several results."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)
        self.drop, self.dense = nn.Dropout(p=0.5), nn.Dense(3, 4)

    def construct(self, x):
        y = self.drop(ops.relu(self.norm(self.conv(x)))).mean((2, 3))
        for _ in range(10):
            if y.sum() < 100:
                y = y * 1.5
        return self.dense(y), {"mean": y, "name": "layers", "nothing": None}, [1, 2.5, float("inf")]


def test_a_network_comes_back_with_its_values_and_its_structure(mode):
    net, x = Layers(), array(2, 2, 5, 5)
    loaded = there_and_back(net, x)
    same(net(x), loaded(x))
    assert [p.name for p in loaded.trainable_params()] == [p.name for p in net.trainable_params()]


def test_its_gradients_are_the_same_and_its_parameters_can_be_trained(mode):
    net, x = nn.SequentialCell(nn.Dense(3, 4), nn.Tanh(), nn.Dense(4, 2)), array(5, 3)
    loaded = there_and_back(net, x)
    gradients = [ms.grad(lambda x, cell=cell: cell(x).sum(), 0, cell.trainable_params())(x) for cell in (net, loaded)]
    same(*gradients)
    for cell in (net, loaded):
        step = nn.TrainOneStepCell(nn.WithLossCell(cell, nn.MSELoss()), nn.Adam(cell.trainable_params(), 0.1))
        losses = [step(x, array(5, 2, seed=1)) for _ in range(3)]
    same(net(x), loaded(x))
    assert float(losses[-1]) < float(losses[0])


@pytest.mark.parametrize("rows", [0, 1, 4])
def test_a_size_that_is_left_open_may_be_any(mode, rows):
    def f(x, y):
        return (x @ y).sum(1), x.shape[0] * 2, ops.concat([x, x])
    loaded = there_and_back(f, Tensor(shape=[None, 3], dtype=ms.float32), array(3, 2))
    x = array(rows, 3)
    same(f(x, array(3, 2)), loaded(x, array(3, 2)))


def test_sizes_that_must_agree_are_looked_at_when_it_is_called(mode):
    loaded = there_and_back(lambda x, y: x * y, Tensor(shape=[None]), Tensor(shape=[None]))
    same(loaded(array(3), array(3)), array(3) * array(3))
    with pytest.raises(ShapeError):
        loaded(array(3), array(4))


class Counter(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count = Parameter(Tensor(0), name="count", requires_grad=False)

    def construct(self, x):
        self.count += 1
        return x * self.count


def test_what_it_assigns_to_its_parameters_stays(mode):
    loaded = there_and_back(Counter(), array(2))
    for turn in (1, 2, 3):
        same(loaded(array(2)), array(2) * turn)
    assert int(loaded.get_parameter("count")) == 3


def recursive(x, n):
    def f(x):
        return x if x.sum() > 10 else x * f(x + n)
    return f(x)


def test_recursion_and_constants_among_the_arguments(mode):
    loaded = there_and_back(recursive, Tensor([1.0]), 2)
    same(loaded(Tensor([1.0]), 2), recursive(Tensor([1.0]), 2))
    with pytest.raises(ArgumentError, match="argument 1 is 2 in the graph"):
        loaded(Tensor([1.0]), 3)


def test_a_loaded_network_is_part_of_other_graphs_several_times_and_of_other_files():
    def f(x):
        return ops.nonzero(x > 0).sum() + x
    loaded = there_and_back(f, Tensor(shape=[None]))
    x, y = Tensor([1.0, -1.0, 2.0]), Tensor([3.0])

    def twice(x, y):
        return loaded(x).sum() + loaded(y) * loaded(x).sum()
    want = f(x).sum() + f(y) * f(x).sum()
    same(ms.jit(twice, fullgraph=True)(x, y), want)
    same(there_and_back(twice, x, y)(x, y), want)


def test_a_network_inside_vmap_and_a_gradient_of_a_gradient_that_was_exported():
    def f(x):
        return ms.grad(lambda x: (x ** 3).sum())(x)
    loaded = there_and_back(f, Tensor([1.0, 2.0]))
    same(ms.grad(lambda x: loaded(x).sum())(Tensor([1.0, 2.0])), Tensor([6.0, 12.0]))
    same(ms.vmap(loaded)(array(4, 2)), 3 * array(4, 2) ** 2)


def test_bfloat16_and_large_ints_are_kept_exactly():
    big = np.arange(2 ** 53, 2 ** 53 + 20)
    half = Tensor(np.linspace(-3, 3, 50), ms.bfloat16)
    loaded = there_and_back(lambda x: (half + x, Tensor(big) + 1), Tensor(1.0, ms.bfloat16))
    a, b = loaded(Tensor(1.0, ms.bfloat16))
    assert np.array_equal(a.asnumpy(), (half + 1).asnumpy()) and np.array_equal(b.asnumpy(), big + 1)


def test_an_exception_that_data_decides_is_raised_by_the_loaded_graph(mode):
    def f(x):
        if x.sum() > 1:
            raise ValueError("too large")
        return x
    loaded = there_and_back(f, Tensor([1.0]))
    same(loaded(Tensor([0.5])), Tensor([0.5]))
    with pytest.raises(ValueError, match="too large"):
        loaded(Tensor([2.0]))


def test_parameters_may_be_given_other_values():
    net = nn.Dense(2, 1, has_bias=False)
    ms.export(net, array(1, 2), file_name="net.mindir")
    loaded = nn.GraphCell(ms.load("net.mindir"), {"weight": Tensor([[1.0, 2.0]])})
    same(loaded(Tensor([[1.0, 1.0]])), Tensor([[3.0]]))
    with pytest.raises(ShapeError, match="'weight' is f32"):
        nn.GraphCell(ms.load("net.mindir"), {"weight": Tensor([1.0])})


def test_a_network_is_exported_as_it_is_without_training_and_stays_in_training():
    net = nn.SequentialCell(nn.Dropout(p=0.9))
    net.set_train()
    same(there_and_back(net, array(8))(array(8)), array(8))
    assert net.training and net[0].training


# ---------------------------------------------------------------- errors

def prints(x):
    print(x)
    return x


def formats(x):
    if x.sum() > 0:
        raise ValueError(f"{x} is too large")
    return x


class Own(Exception):
    pass


def raises_own(x):
    if x.sum() > 0:
        raise Own("no")
    return x


@pytest.mark.parametrize("function, words", [(prints, "Python"), (formats, "run-time values"), (raises_own, "Own")])
def test_what_a_file_cannot_hold_is_refused_at_the_users_line(folder, function, words):
    with pytest.raises(GraphSyntaxError, match=words) as caught:
        ms.export(function, Tensor([1.0]), file_name="net")
    assert caught.value.location.file == __file__ and not list(folder.iterdir())


def test_what_is_no_format_no_network_and_no_file_is_told():
    with pytest.raises(ValueRangeError, match="ONNX"):
        ms.export(nn.ReLU(), Tensor([1.0]), file_name="net", file_format="ONNX")
    with pytest.raises(ArgumentError, match="takes a Cell"):
        ms.export(3, Tensor([1.0]), file_name="net")
    with pytest.raises(ValueRangeError, match="there is no file"):
        ms.load("nothing.mindir")
    with pytest.raises(ArgumentError, match="what `load` gives"):
        nn.GraphCell("net.mindir")


@pytest.mark.parametrize("args, error", [
    ((), ArgumentError), ((array(2, 3), array(2, 3)), ArgumentError), ((array(2, 4),), ShapeError),
    ((array(2),), ShapeError), ((array(2, 3).astype(ms.float64),), DTypeError), (("x",), ArgumentError)])
def test_other_arguments_than_the_graph_was_made_for_are_told(mode, args, error):
    loaded = there_and_back(nn.Dense(3, 2), array(2, 3))
    with pytest.raises(error):
        loaded(*args)


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(path, **changes):
    kept = {**members(path), **changes}
    with zipfile.ZipFile("damaged.mindir", "w") as archive:
        for name, data in kept.items():
            if data is not None:
                archive.writestr(name, data)
    return "damaged.mindir"


def npy(value):
    buffer = io.BytesIO()
    np.save(buffer, value)
    return buffer.getvalue()


CHANGES = {
    "no program": {"program.json": None}, "no graph": {"graph.mindir": None}, "no constant": {"constants/0.npy": None},
    "no json": {"program.json": b"{"}, "another format": {"program.json": b'{"format": 2}'},
    "no text": {"graph.mindir": b"\xff\xfe"}, "half a graph": {"graph.mindir": b"graph @f(%x: f32[2]) {\n"},
    "an operator that does not exist": {"graph.mindir": b"graph @f(%x: f32[2]) {\n  %1 = explode(%x) : f32[2]\n  return %1\n}\n"},
    "a short constant": {"constants/0.npy": npy(np.ones(3, np.float32))}, "no array": {"constants/0.npy": b"abc"},
    "objects": {"constants/0.npy": npy(np.array([{}], object))},
    "other arguments": {"program.json": json.dumps({"format": 1, "inputs": ["tuple"], "output": None, "updates": []})},
    "a result that is not there": {"program.json": json.dumps(
        {"format": 1, "inputs": ["tuple", ["tensor"]], "output": ["output", 7, None], "updates": []})},
    "an update that is not there": {"program.json": json.dumps(
        {"format": 1, "inputs": ["tuple", ["tensor"]], "output": ["output", 0, None], "updates": [[0, 9]]})},
    "a word that is none": {"program.json": json.dumps(
        {"format": 1, "inputs": ["tuple", ["tensor"]], "output": ["run", "rm"], "updates": []})},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_damaged_file_is_told_with_what_is_wrong(change):
    there_and_back(nn.Dense(4, 4), array(2, 4))
    with pytest.raises(FileFormatError, match="damaged.mindir"):
        ms.load(rewritten("net.mindir", **CHANGES[change]))


def test_a_file_that_is_cut_or_changed_anywhere_is_damaged_or_the_same():
    there_and_back(nn.Dense(4, 4), array(2, 4))
    with open("net.mindir", "rb") as stream:
        data = stream.read()
    random = np.random.default_rng(0)
    for turn in range(200):
        at = int(random.integers(len(data)))
        changed = data[:at] if turn % 2 else data[:at] + bytes([data[at] ^ (1 << int(random.integers(8)))]) + data[at + 1:]
        with open("damaged.mindir", "wb") as stream:
            stream.write(changed)
        try:
            ms.load("damaged.mindir")
        except FileFormatError:
            pass


def test_writing_that_fails_leaves_the_old_file(folder, monkeypatch):
    there_and_back(nn.Dense(4, 4), array(2, 4))
    before = members("net.mindir")

    def fail(*args, **kwargs):
        raise OSError("the disk is full")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="full"):
        ms.export(nn.ReLU(), array(1), file_name="net")
    assert members("net.mindir") == before and [p.name for p in folder.iterdir()] == ["net.mindir"]


def test_an_encrypted_network_is_read_by_its_key_alone(folder):
    pytest.importorskip("cryptography")
    net, x = nn.Dense(3, 2), array(4, 3)
    ms.export(net, x, file_name="net", file_format="MINDIR", enc_key=b"k" * 16)
    assert not zipfile.is_zipfile("net.mindir")
    same(nn.GraphCell(ms.load("net.mindir", dec_key=b"k" * 16))(x), net(x))
    for settings in ({}, {"dec_key": b"l" * 16}, {"dec_key": b"k" * 16, "dec_mode": "AES-CBC"}):
        with pytest.raises(FileFormatError):
            ms.load("net.mindir", **settings)
    with pytest.raises(ValueRangeError, match="key"):
        ms.export(net, x, file_name="other", enc_key=b"short")
    assert os.listdir(folder) == ["net.mindir"]
