"""Parameters in files: what is read back is what was written, bit by bit; MindSpore's bytes are read; damage is told."""
import io

import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, nn
from mindlite.common import dtype as dt
from mindlite.common.errors import ArgumentError, FileFormatError, ShapeError, ValueRangeError
from mindlite.train.checkpoint import read_ckpt, write_ckpt

FORMATS = ["ckpt", "safetensors"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("crc", [False, True])
@pytest.mark.parametrize("format", FORMATS)
def test_every_element_type_and_shape_comes_back(format, crc):
    random = np.random.default_rng(0)
    values = {f"{kind}{list(shape)}": Tensor(random.integers(0, 2, shape), kind) for kind in dt.ALL
              if format == "ckpt" or kind is not dt.complex128 for shape in ((), (3,), (0,), (2, 1, 4))}
    ms.save_checkpoint(values, "values", format=format, crc_check=crc)
    found = ms.load_checkpoint(f"values.{format}", format=format, crc_check=crc)
    assert list(found) == list(values)
    for name, value in values.items():
        made = found[name]
        assert isinstance(made, Parameter) and made.name == name and made.dtype is value.dtype and made.shape == value.shape
        assert made.asnumpy().tobytes() == value.asnumpy().tobytes()


@pytest.mark.parametrize("format", FORMATS)
def test_a_network_is_saved_and_loaded(format):
    net, other = [nn.SequentialCell(nn.Dense(3, 4), nn.BatchNorm1d(4)) for _ in range(2)]
    ms.save_checkpoint(net, f"net.{format}", format=format)
    assert ms.load_param_into_net(other, ms.load_checkpoint(f"net.{format}", format=format)) == ([], [])
    for a, b in zip(net.get_parameters(), other.get_parameters()):
        assert np.array_equal(a.asnumpy(), b.asnumpy())


def test_numbers_and_strings_are_written_beside_the_parameters():
    net = nn.Dense(2, 3)
    ms.save_checkpoint(net, "net.ckpt", append_dict={"epoch": 3, "lr": 0.5, "done": True, "note": "grüße"})
    found = ms.load_checkpoint("net.ckpt")
    assert int(found["epoch"]) == 3 and float(found["lr"]) == 0.5 and bool(found["done"]) and found["note"] == "grüße"
    assert ms.load_param_into_net(net, found) == ([], ["epoch", "lr", "done", "note"])


def test_what_is_left_out_is_said_by_prefix_or_by_a_function():
    ms.save_checkpoint([{"name": n, "data": Tensor([1.0])} for n in ("a.x", "a.y", "b.x")], "v.ckpt")
    assert list(ms.load_checkpoint("v.ckpt", filter_prefix="a")) == ["b.x"]
    assert list(ms.load_checkpoint("v.ckpt", specify_prefix=["a.y", "b"])) == ["a.y", "b.x"]
    assert list(ms.load_checkpoint("v.ckpt", choice_func=lambda name: name.endswith("x"))) == ["a.x", "b.x"]
    with pytest.raises(ValueRangeError, match="nothing"):
        ms.load_checkpoint("v.ckpt", specify_prefix="c")


def test_loading_says_what_was_missing_and_changes_nothing_where_something_does_not_fit():
    net = nn.SequentialCell(nn.Dense(2, 2), nn.Dense(2, 2))
    before = [p.asnumpy().copy() for p in net.get_parameters()]
    values = {"0.weight": Parameter(Tensor(np.ones((2, 2), np.float64)), name="0.weight"), "strange": Parameter(Tensor(1.0))}
    with pytest.warns(UserWarning, match="3 Parameter"):
        assert ms.load_param_into_net(net, values) == (["0.bias", "1.weight", "1.bias"], ["strange"])
    assert net[0].weight.dtype is ms.float32 and np.array_equal(net[0].weight.asnumpy(), np.ones((2, 2)))
    with pytest.raises(ShapeError, match="0.weight"):
        ms.load_param_into_net(net, values, strict_load=True)
    values["1.bias"] = Parameter(Tensor(np.ones(3, np.float32)), name="1.bias")
    values["0.weight"] = Parameter(Tensor(np.zeros((2, 2), np.float32)), name="0.weight")
    with pytest.raises(ShapeError, match="1.bias"):
        ms.load_param_into_net(net, values)
    assert np.array_equal(net[0].weight.asnumpy(), np.ones((2, 2))) and np.array_equal(net[1].weight.asnumpy(), before[2])


# written by MindSpore 2.10: save_checkpoint([{"name": "x", "data": Tensor([1.0, 2.0])}], append_dict={"n": 3, "s": "ok"})
OF_MINDSPORE = bytes.fromhex("0a1a0a017812150802" "1207466c6f61743332" "1a080000803f00000040"
                             "0a160a016e1211" "1205496e743634" "1a080300000000000000"
                             "0a160a01731211" "0800" "1203737472" "1a086f0000006b000000")


def test_bytes_of_mindspore_are_read_and_written():
    found = read_ckpt(OF_MINDSPORE, "x.ckpt")
    assert list(found) == ["x", "n", "s"] and found["x"].tolist() == [1.0, 2.0] and found["n"] == 3 and found["s"] == "ok"
    stream = io.BytesIO()
    write_ckpt(stream, {"x": np.array([1, 2], np.float32), "n": np.array(3), "s": "ok"})
    assert stream.getvalue() == OF_MINDSPORE


def test_a_tensor_in_slices_is_one():
    def piece(content):
        stream = io.BytesIO()
        write_ckpt(stream, {"x": content})
        return stream.getvalue()
    whole = np.arange(4, dtype=np.float32)
    first, second = piece(whole[:2]), piece(whole[2:])
    sliced = first.replace(b"\x08\x02\x12", b"\x08\x04\x12") + second.replace(b"\x08\x02\x12", b"\x08\x04\x12")
    assert np.array_equal(read_ckpt(sliced, "x.ckpt")["x"], whole)


@pytest.mark.parametrize("format", FORMATS)
def test_damage_is_told_and_a_check_sum_finds_every_change(format):
    ms.save_checkpoint({"w": Tensor(np.arange(20.0)), "b": Tensor([1, 2])}, "v", format=format, crc_check=True)
    with open(f"v.{format}", "rb") as stream:
        data = stream.read()
    random = np.random.default_rng(1)
    for turn in range(200):
        at = int(random.integers(len(data)))
        changed = data[:at] if turn % 2 else data[:at] + bytes([data[at] ^ 1 << int(random.integers(8))]) + data[at + 1:]
        with open(f"bad.{format}", "wb") as stream:
            stream.write(changed)
        try:
            ms.load_checkpoint(f"bad.{format}", format=format)
        except (FileFormatError, ValueRangeError):
            pass
        try:
            found = ms.load_checkpoint(f"bad.{format}", format=format, crc_check=True)
        except (FileFormatError, ValueRangeError):
            continue
        assert format == "safetensors" and np.array_equal(found["w"].asnumpy(), np.arange(20.0))    # in the header's blanks


@pytest.mark.parametrize("call, error", [
    (lambda: ms.save_checkpoint(3, "x"), ArgumentError), (lambda: ms.save_checkpoint({"a": object()}, "x"), ArgumentError),
    (lambda: ms.save_checkpoint({"a": Tensor(1)}, "x", format="h5"), ValueRangeError),
    (lambda: ms.save_checkpoint({"a": Tensor(1)}, "x", enc_key=b"1"), ValueRangeError),
    (lambda: ms.load_checkpoint("no.ckpt"), ValueRangeError), (lambda: ms.load_param_into_net(3, {}), ArgumentError)])
def test_what_cannot_be_saved_or_loaded_is_told(folder, call, error):
    with pytest.raises(error):
        call()
    assert not list(folder.iterdir())
