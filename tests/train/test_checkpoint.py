"""Parameters in files: what is read back is what was written, bit by bit; MindSpore's bytes are read; damage is told."""
import io
import os

import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, nn
from mindlite.common import dtype as dt
from mindlite.common.errors import ArgumentError, FileFormatError, ShapeError, ValueRangeError
from mindlite.train import wait_for_files
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
              if format == "ckpt" or kind.safe for shape in ((), (3,), (0,), (2, 1, 4))}
    ms.save_checkpoint(values, "values", format=format, crc_check=crc)
    found = ms.load_checkpoint(f"values.{format}", format=format, crc_check=crc)
    assert list(found) == (list(values) if format == "ckpt" else sorted(values))
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


def test_the_ending_of_a_name_is_that_of_the_format():
    value = {"x": Tensor([1.0])}
    ms.save_checkpoint(value, "a.safetensors")                       # MindSpore adds the format's ending unless it is there
    ms.save_checkpoint(value, "state_ckpt")
    ms.save_checkpoint(value, "b", format="safetensors")
    assert sorted(os.listdir()) == ["a.safetensors.ckpt", "b.safetensors", "state_ckpt"]
    assert [list(ms.load_checkpoint(name)) for name in sorted(os.listdir())] == [["x"]] * 3
    with pytest.raises(ValueRangeError, match="does not end with safetensors"):
        ms.load_checkpoint("state_ckpt", format="safetensors")
    with pytest.raises(IsADirectoryError):
        os.mkdir("folder.ckpt")
        ms.save_checkpoint(value, "folder.ckpt")


@pytest.mark.parametrize("mode, size", [("AES-GCM", 16), ("AES-GCM", 32), ("AES-CBC", 24), ("SM4-CBC", 16)])
def test_an_encrypted_file_is_read_with_its_key_alone(mode, size):
    key = bytes(range(size))
    ms.save_checkpoint({"secret": Tensor(np.arange(1000.0))}, "x.ckpt", enc_key=key, enc_mode=mode, crc_check=True)
    found = ms.load_checkpoint("x.ckpt", dec_key=key, dec_mode=mode, crc_check=True)
    assert np.array_equal(found["secret"].asnumpy(), np.arange(1000.0))
    with open("x.ckpt", "rb") as stream:
        assert b"secret" not in stream.read()
    with pytest.raises(FileFormatError, match="encrypted"):
        ms.load_checkpoint("x.ckpt")
    with pytest.raises(FileFormatError):
        ms.load_checkpoint("x.ckpt", dec_key=key[::-1], dec_mode=mode)
    for wrong in ({"enc_key": b"short"}, {"enc_key": key, "enc_mode": "other"}, {"enc_key": key, "format": "safetensors"}):
        with pytest.raises(ValueRangeError):
            ms.save_checkpoint({"x": Tensor(1)}, "y", **wrong)


def test_a_changed_byte_of_an_encrypted_file_is_noticed():
    ms.save_checkpoint({"x": Tensor(np.arange(50.0))}, "x.ckpt", enc_key=b"0123456789abcdef")
    with open("x.ckpt", "rb") as stream:
        data = stream.read()
    nonce_end = range(4 + 16 + 8 + 12, 4 + 16 + 8 + 16)              # four bytes of the nonce are not used
    for place in set(range(len(data))) - set(nonce_end):
        with open("x.ckpt", "wb") as stream:
            stream.write(data[:place] + bytes([data[place] ^ 1]) + data[place + 1:])
        with pytest.raises(FileFormatError):
            ms.load_checkpoint("x.ckpt", dec_key=b"0123456789abcdef")


# written by MindSpore 2.10: save_checkpoint([{"name": "x", "data": Tensor([1.0, 2.0])}], "e.ckpt", enc_key=b"0123456789abcdef")
ENCRYPTED_BY_MINDSPORE = bytes.fromhex(
    "d85e3a7f6e41c3a1aeaf5d6eedc1d7f854c4c5b53400000010000000ba1fc8765462bdb3e521"
    "1452d75028751c000000d1ad0d351f8b040547fe253341eb572f84f6494caa536964f99fc832")


def test_a_file_that_mindspore_encrypted_is_read():
    with open("e.ckpt", "wb") as stream:
        stream.write(ENCRYPTED_BY_MINDSPORE)
    found = ms.load_checkpoint("e.ckpt", dec_key=b"0123456789abcdef")
    assert list(found) == ["x"] and found["x"].asnumpy().tolist() == [1.0, 2.0]


def test_a_file_that_is_written_beside_the_program_holds_the_values_of_its_call():
    net = nn.Dense(2, 2)
    before = net.weight.asnumpy().copy()
    ms.save_checkpoint(net, "a.ckpt", async_save=True)
    net.weight.set_data(Tensor(np.zeros((2, 2), np.float32)))
    assert np.array_equal(ms.load_checkpoint("a.ckpt")["weight"].asnumpy(), before)
    ms.save_checkpoint(net, "/proc/no/such/place/a.ckpt", async_save="thread")
    with pytest.raises(OSError):
        wait_for_files()
    assert not ms.train.async_ckpt_thread_status()
    assert list(ms.train.load_checkpoint_async("a.ckpt").result()) == ["weight", "bias"]
    with pytest.raises(ValueRangeError, match="does not exist"):
        ms.train.load_checkpoint_async("b.ckpt").result()


def test_the_other_names_of_a_file_may_have_a_prefix():
    net = nn.Dense(2, 2)
    values = {f"backbone.{p.name}": Parameter(Tensor(p.asnumpy() + 1), name="") for p in net.get_parameters()}
    before = net.weight.asnumpy().copy()
    assert ms.load_param_into_net(net, values) == ([], ["backbone.weight", "backbone.bias"])
    assert np.array_equal(net.weight.asnumpy(), before + 1)
    with pytest.warns(UserWarning):
        assert ms.load_param_into_net(nn.Dense(2, 2), values, strict_load=True)[0] == ["weight", "bias"]


def test_ints_are_cast_to_ints_unless_loading_is_strict():
    class Counter(nn.Cell):
        def __init__(self):
            super().__init__()
            self.count = Parameter(Tensor(1, ms.int32), name="count")
    values = {"count": Parameter(Tensor(7, ms.int64), name="count")}
    net = Counter()
    ms.load_param_into_net(net, values)
    assert net.count.dtype is ms.int32 and int(net.count) == 7
    with pytest.raises(RuntimeError, match="another shape or element type"):
        ms.load_param_into_net(net, values, strict_load=True)


def test_files_are_made_of_one_format_in_the_other():
    for rank in (0, 1):
        ms.save_checkpoint({"x": Tensor([rank]), "note": "n"}, f"in/rank_{rank}/net-{rank}.ckpt")
    ms.train.ckpt_to_safetensors("in", "out", name_map={"x": "y"})
    assert sorted(os.listdir("out/rank_1")) == ["net-1.safetensors"]
    found = ms.load_checkpoint("out/rank_1/net-1.safetensors", format="safetensors")
    assert int(found["y"]) == 1
    ms.train.safetensors_to_ckpt("out/rank_1/net-1.safetensors")
    assert int(ms.load_checkpoint("out/rank_1/net-1.ckpt")["y"]) == 1
    for wrong in (("nowhere", None), ("in/rank_0/net-0.ckpt", "file.x"), ("out/rank_1/net-1.safetensors", None)):
        with pytest.raises(ValueRangeError):
            ms.train.ckpt_to_safetensors(*wrong)
    with pytest.raises(ValueRangeError, match="matches"):
        ms.train.ckpt_to_safetensors("in", file_name_regex="other")


@pytest.mark.parametrize("given", [{12: Tensor([1.0])}, [{"name": 12, "data": Tensor([1.0])}], [{"name": "a", "data": 12}]])
def test_what_is_no_tensor_by_name_is_refused_before_a_file_is_written(tmp_path, given):
    with pytest.raises(TypeError, match="save_checkpoint"):
        ms.save_checkpoint(given, str(tmp_path / "a.ckpt"))
    assert not list(tmp_path.iterdir())


def test_two_parameters_of_one_name_are_refused_for_one_would_be_lost(tmp_path):
    class Twice(nn.Cell):
        def __init__(self):
            super().__init__()
            self.a, self.b = ms.Parameter(Tensor([1.0]), name="x"), ms.Parameter(Tensor([2.0]), name="x")
    net = Twice()
    for given in (net, [net.a, net.b]):
        with pytest.raises(TypeError, match="two parameters are named 'x': a checkpoint would hold one of them"):
            ms.save_checkpoint(given, str(tmp_path / "net"))
    assert not list(tmp_path.iterdir())
    ms.save_checkpoint([net.a, net.a], str(tmp_path / "net"))
    assert ms.load_checkpoint(str(tmp_path / "net.ckpt"))["x"].asnumpy().tolist() == [1.0]
