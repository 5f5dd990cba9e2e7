"""Checkpoints of many ranks: any mesh to any mesh, each rank reads its own; a rank that is killed leaves the old one whole."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from mindlite import Parameter, Tensor, nn
from mindlite.common.errors import ArgumentError, FileFormatError, RankError, ShapeError, ValueRangeError
from mindlite.common.ranks import engine
from mindlite.communication import SimWorld
from mindlite.functional.zero import bytes_here
from mindlite.parallel import Layout
from mindlite.pynative.sharded import from_local, shard_in_place
from mindlite.train import sharded_checkpoint
from mindlite.train.sharded_checkpoint import load_sharded_checkpoint, save_sharded_checkpoint

SHAPES = {"w": (7, 5), "v": (6, 8), "b": (5,), "step": ()}
MESHES = {                                       # name: (ranks, the mesh, words of each tensor)
    "one process": (1, None, {}),
    "rows of 3": (3, (3,), {"w": ("x",), "v": ("x",), "b": ("x",)}),
    "columns of 2": (2, (2,), {"w": ("None", "x"), "v": ("None", "x"), "b": ()}),
    "2 x 2": (4, (2, 2), {"w": ("x", "y"), "v": (("x", "y"), "None"), "b": ("y",)}),
}


def tensors(mesh, words, fill):
    """{name: Parameter} on a mesh; values by the place of the element, or zeros."""
    made = {}
    for i, (name, shape) in enumerate(SHAPES.items()):
        array = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape) + 100 * i
        made[name] = Parameter(Tensor(array * fill), name=name)
        if name in words:
            shard_in_place(made[name], Layout(mesh, ("x", "y")[:len(mesh)])(*words[name]))
    return made


@pytest.mark.parametrize("target", sorted(MESHES))
@pytest.mark.parametrize("source", sorted(MESHES))
def test_any_mesh_to_any_mesh(source, target, tmp_path):
    size, mesh, words = MESHES[source]
    SimWorld(size).run(lambda: save_sharded_checkpoint(tensors(mesh, words, True), str(tmp_path)))
    size, mesh, words = MESHES[target]

    def load():
        made = tensors(mesh, words, False)
        loaded = load_sharded_checkpoint(str(tmp_path), made)
        assert loaded.nbytes == bytes_here(made.values()) and not loaded.missing and not loaded.unused
        return {name: made[name].asnumpy() for name in made}
    for found in SimWorld(size).run(load):
        for name, want in tensors(None, {}, True).items():
            np.testing.assert_array_equal(found[name], want.asnumpy())


def test_each_rank_writes_what_it_has_and_no_box_twice(tmp_path):
    SimWorld(4).run(lambda: save_sharded_checkpoint(tensors(*MESHES["2 x 2"][1:], True), str(tmp_path)))
    sizes = [os.path.getsize(tmp_path / "v1" / f"rank_{rank}.safetensors") for rank in range(4)]
    boxes = [box for entry in json.loads((tmp_path / "index.json").read_text())["tensors"].values() for box in entry["boxes"]]
    elements = sum(int(np.prod(np.subtract(box["end"], box["begin"]))) for box in boxes)
    assert elements == 7 * 5 + 6 * 8 + 5 + 1 and {box["file"] for box in boxes} == {f"rank_{r}.safetensors" for r in range(4)}
    assert max(sizes) < 0.6 * sum(sizes)


def test_a_new_version_takes_the_place_of_the_old_one(tmp_path):
    def save(value):
        save_sharded_checkpoint({"a": Tensor(np.full(3, value, np.float32))}, str(tmp_path))
    for value in (1.0, 2.0):
        SimWorld(2).run(save, value)
        made = {"a": Tensor(np.zeros(3, np.float32)), "other": Tensor(np.zeros(1, np.float32))}
        assert load_sharded_checkpoint(str(tmp_path), made).missing == ["other"] and made["a"].asnumpy().tolist() == [value] * 3
    assert sorted(os.listdir(tmp_path)) == ["index.json", "v2"]


def test_a_rank_that_fails_while_it_writes_leaves_the_old_version(tmp_path, monkeypatch):
    def save(value):
        x = Tensor(np.full(4, value, np.float32)).to_global(Layout((2,), ("x",))("x"))
        save_sharded_checkpoint({"a": x}, str(tmp_path))
    SimWorld(2).run(save, 1.0)
    write = sharded_checkpoint.write_safetensors

    def failing(stream, values):
        if engine().rank == 1:
            raise OSError("the disk is full")
        write(stream, values)
    monkeypatch.setattr(sharded_checkpoint, "write_safetensors", failing)
    with pytest.raises((OSError, RankError)):
        SimWorld(2).run(save, 2.0)
    made = {"a": Tensor(np.zeros(4, np.float32))}
    load_sharded_checkpoint(str(tmp_path), made)
    assert made["a"].asnumpy().tolist() == [1.0] * 4


KILLED = '''
import os, signal, sys
import numpy as np
from mindlite import Tensor
from mindlite.train import sharded_checkpoint
write, killed_at = sharded_checkpoint.write_safetensors, sys.argv[2]
sharded_checkpoint.save_sharded_checkpoint({"a": Tensor(np.ones(4, np.float32))}, sys.argv[1])


def half(stream, values):
    write(stream, values)
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def removing(path):
    os.kill(os.getpid(), signal.SIGKILL)


if killed_at == "files":
    sharded_checkpoint.write_safetensors = half
else:
    sharded_checkpoint.shutil.rmtree = removing
sharded_checkpoint.save_sharded_checkpoint({"a": Tensor(np.full(4, 2, np.float32))}, sys.argv[1])
'''


@pytest.mark.parametrize("killed_at, value", [("files", 1.0), ("removal", 2.0)])
def test_kill_9_leaves_one_version_whole(killed_at, value, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(KILLED)
    folder = tmp_path / "ckpt"
    ended = subprocess.run([sys.executable, str(program), str(folder), killed_at], timeout=120, check=False)
    assert ended.returncode == -9
    made = {"a": Tensor(np.zeros(4, np.float32))}
    load_sharded_checkpoint(str(folder), made)
    assert made["a"].asnumpy().tolist() == [value] * 4
    save_sharded_checkpoint(made, str(folder))                # what was left behind is cleared up
    assert len(os.listdir(folder)) == 2


def test_networks_and_damaged_files(tmp_path):
    net = nn.Dense(3, 2)
    save_sharded_checkpoint(net, str(tmp_path))
    again = nn.Dense(3, 2)
    load_sharded_checkpoint(str(tmp_path), again)
    np.testing.assert_array_equal(again.weight.asnumpy(), net.weight.asnumpy())
    with pytest.raises(ShapeError, match="weight"):
        load_sharded_checkpoint(str(tmp_path), nn.Dense(2, 3))
    with pytest.raises(ArgumentError, match="no"):
        load_sharded_checkpoint(str(tmp_path / "nowhere"), net)
    (tmp_path / "v1" / "rank_0.safetensors").write_bytes(b"12345678")
    with pytest.raises(FileFormatError):
        load_sharded_checkpoint(str(tmp_path), again)
    (tmp_path / "index.json").write_text("{}")
    with pytest.raises(FileFormatError):
        load_sharded_checkpoint(str(tmp_path), again)


def test_addends_are_not_written(tmp_path):
    def save():
        x = from_local(Tensor(np.ones(2, np.float32)), Layout((2,), ("x",))("None"), partial={"x": "sum"})
        with pytest.raises(ValueRangeError, match="addend|written"):
            sharded_checkpoint.boxes_of(x, 0)
    SimWorld(2).run(save)
