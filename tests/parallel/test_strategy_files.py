"""Checkpoints of many ranks in MindSpore's layout: strategy files, and from one layout to another in both directions."""
import json
import os

import numpy as np
import pytest

import mindlite as ms
import mindlite.mindspore as mindspore
from mindlite import Parameter, Tensor, nn
from mindlite.common.errors import ArgumentError, FileFormatError, ShapeError, ValueRangeError
from mindlite.common.protobuf import field
from mindlite.communication import SimWorld, get_rank
from mindlite.parallel import AutoParallel, Layout, from_local, shard_in_place
from mindlite.parallel.layout import Mesh, whole
from mindlite.parallel.strategy import Strategy, placement_of, read_strategy, strategy_of, write_strategy
from mindlite.train import transform
from mindlite.train.transform import (load_distributed_checkpoint, load_segmented_checkpoints, merge_pipeline_strategys,
                                      merge_sliced_parameter, parameter_broadcast, rank_list_for_transform,
                                      restore_group_info_list, transform_checkpoint_by_rank, transform_checkpoints,
                                      unified_safetensors)

RNG = np.random.default_rng(3)
ARRAYS = {"embedding": RNG.standard_normal((16, 8)).astype(np.float32), "dense.weight": RNG.standard_normal((8, 32)),
          "dense.bias": RNG.standard_normal(32).astype(np.float16)}
STEP = np.array(7, np.int32)                     # of which no strategy tells
LAYOUTS = {                                      # name: (mesh, words for each array)
    "1": ((1,), {name: () for name in ARRAYS}),
    "4": ((4,), {"embedding": ("x", "None"), "dense.weight": ("None", "x"), "dense.bias": ("x",)}),
    "2x2": ((2, 2), {"embedding": ("x", "y"), "dense.weight": (("x", "y"), "None"), "dense.bias": ("y",)}),
    "2x2 other axes": ((2, 2), {"embedding": ("y", "None"), "dense.weight": ("y", "x"), "dense.bias": ()}),
    "8": ((2, 2, 2), {"embedding": ("None", "z"), "dense.weight": ("y", ("x", "z")), "dense.bias": (("x", "y", "z"),)}),
}
# what MindSpore 2.10 wrote of {"w": tensor map [1, -1], "v": [[1, 0], [-1]], "m": [-1, 0] with an optimiser's split} on 2 x 2
OF_MINDSPORE = bytes.fromhex(
    "0800121e0a1244656661756c742f4d61744d756c2d6f7030120808001204080208011a280a017712230a0408020802120d080108ffffffffffffffffff01"
    "1a040804080622002800300038001a2c0a017612270a0408020802120408010800120b08ffffffffffffffffff011a040804080622002800300038001a31"
    "0a016d122c0a0408020802120d08ffffffffffffffffff0108001a040804080622002800300238ffffffffffffffffff01")
GROUP_OF_MINDSPORE = bytes.fromhex("0a090a01611204080008021206080008020804")


def placements(name):
    """{name: Placement} of a layout, made without an engine of as many ranks."""
    shape, words = LAYOUTS[name]
    mesh = Mesh(shape, ("x", "y", "z")[:len(shape)], tuple(range(int(np.prod(shape)))))
    layout = Layout.__new__(Layout)
    layout.mesh, layout.tensor_map = mesh, None
    return {param: layout(*entry).placement(ARRAYS[param].ndim) for param, entry in words.items()}


def part(name, placement, rank):
    return ARRAYS[name][tuple([slice(b, e) for b, e in placement.bounds(ARRAYS[name].shape, rank)])]


def strategy_file(folder, name, ending="ckpt"):
    ranks = int(np.prod(LAYOUTS[name][0]))
    path = str(folder / f"{name}.{ending}")
    write_strategy(path, {param: {0: strategy_of(placement, ARRAYS[param].shape, ranks)}
                          for param, placement in placements(name).items()})
    return path


def write(folder, name, ending):
    """Each rank's checkpoint, sliced by Placements, not by what is tested."""
    for rank in range(int(np.prod(LAYOUTS[name][0]))):
        ms.save_checkpoint({"global_step": Tensor(STEP), **{
            param: Tensor(part(param, placement, rank)) for param, placement in placements(name).items()}},
            str(folder / f"rank_{rank}" / f"net.{ending}"), format=ending)


def check(folder, name, ending, prefix="new"):
    ranks = int(np.prod(LAYOUTS[name][0]))
    assert sorted(os.listdir(folder)) == [f"rank_{rank}" for rank in range(ranks)]
    for rank in range(ranks):
        found = ms.load_checkpoint(str(folder / f"rank_{rank}" / f"{prefix}{rank}.{ending}"), format=ending)
        assert found.keys() == {"global_step", *ARRAYS} and int(found["global_step"]) == 7
        for param, placement in placements(name).items():
            want = part(param, placement, rank)
            assert found[param].asnumpy().dtype == want.dtype
            np.testing.assert_array_equal(found[param].asnumpy(), want, err_msg=f"{param} of rank {rank}")


@pytest.mark.parametrize("target", sorted(LAYOUTS))
@pytest.mark.parametrize("source", sorted(LAYOUTS))
def test_any_layout_becomes_any_other(source, target, tmp_path):
    ending = "safetensors" if len(source) == len(target) else "ckpt"
    write(tmp_path / "src", source, ending)
    files = strategy_file(tmp_path, source), strategy_file(tmp_path, target, "json")
    transform_checkpoints(str(tmp_path / "src"), str(tmp_path / "dst"), "new", *files, output_format=ending)
    check(tmp_path / "dst", target, ending)
    for rank in range(int(np.prod(LAYOUTS[target][0]))):     # rank by rank, from the files that are needed and no others
        needed = {k: str(tmp_path / "src" / f"rank_{k}" / f"net.{ending}") for k in rank_list_for_transform(rank, *files)}
        transform_checkpoint_by_rank(rank, needed, str(tmp_path / "alone" / f"rank_{rank}" / f"new{rank}.{ending}"), *files)
    check(tmp_path / "alone", target, ending)


def test_there_and_back_through_three_layouts(tmp_path):
    """1 -> 4 -> 2 x 2 -> 1: the bytes that came are the bytes that were."""
    write(tmp_path / "0", "1", "ckpt")
    names = [None, strategy_file(tmp_path, "4"), strategy_file(tmp_path, "2x2", "json"), None]
    for number in range(3):
        transform_checkpoints(str(tmp_path / str(number)), str(tmp_path / str(number + 1)), "new", *names[number:number + 2])
    check(tmp_path / "3", "1", "ckpt")


def test_few_files_are_needed_where_parts_are_few(tmp_path):
    four, square = strategy_file(tmp_path, "4"), strategy_file(tmp_path, "2x2")
    assert rank_list_for_transform(0, four, None) == [3, 2, 1, 0]
    assert rank_list_for_transform(2, None, four) == [0]
    assert rank_list_for_transform(1, four, four) == [1]
    assert rank_list_for_transform(0, square, square) == [0]
    rows = str(tmp_path / "rows.json")
    write_strategy(rows, {"embedding": {0: Strategy((2,), ((0,), ()))}})
    quarters = str(tmp_path / "quarters.json")
    write_strategy(quarters, {"embedding": {0: Strategy((4,), ((0,), ()))}})
    assert rank_list_for_transform(1, quarters, rows) == [3, 2, 1]         # 1: for what no strategy tells of


def test_files_of_mindspore_are_read(tmp_path):
    path = tmp_path / "train.ckpt"
    path.write_bytes(OF_MINDSPORE)
    found = transform.build_searched_strategy(str(path))
    assert found == {"w": Strategy((2, 2), ((1,), ()), (4, 6)), "v": Strategy((2, 2), ((1, 0), ()), (4, 6)),
                     "m": Strategy((2, 2), ((), (0,)), (4, 6), 2, -1)}
    assert [found["v"].bounds((16, 6), rank)[0] for rank in range(4)] == [(0, 4), (4, 8), (8, 12), (12, 16)]
    assert [found["m"].bounds((8, 12), rank) for rank in range(4)] == [
        ((0, 4), (0, 6)), ((0, 4), (6, 12)), ((4, 8), (0, 6)), ((4, 8), (6, 12))]
    (tmp_path / "group").write_bytes(GROUP_OF_MINDSPORE)
    assert restore_group_info_list(str(tmp_path / "group")) == [0, 2, 4]
    again = str(tmp_path / "again.ckpt")
    write_strategy(again, read_strategy(str(path)))
    assert read_strategy(again) == read_strategy(str(path))
    for layout in OF_MINDSPORE.split(b"\x1a")[1:]:           # the layouts are written as MindSpore writes them, byte by byte
        assert layout in open(again, "rb").read()


def test_stages_of_a_pipeline_are_merged(tmp_path):
    """Rank r is rank r % 2 of stage r // 2; what both stages have is the same."""
    (tmp_path / "stages").mkdir()
    split, shared = Strategy((2,), ((0,), ())), Strategy((2,), ((),))
    for stage, name in enumerate(("first", "second")):
        write_strategy(str(tmp_path / "stages" / f"{stage}.json"), {name: {0: split}, "shared": {0: shared}}, stage)
    merged = str(tmp_path / "merged.json")
    merge_pipeline_strategys(str(tmp_path / "stages"), merged)
    assert read_strategy(merged) == {"first": {0: split}, "second": {1: split}, "shared": {0: shared, 1: shared}}
    arrays = {"first": np.arange(8.0).reshape(4, 2), "second": np.arange(8.0, 16).reshape(4, 2), "shared": np.arange(3.0)}
    for rank, names in enumerate((("first", "shared"), ("first", "shared"), ("second", "shared"), ("second", "shared"))):
        ms.save_checkpoint({name: Tensor(arrays[name] if name == "shared" else arrays[name][2 * (rank % 2):2 * (rank % 2) + 2])
                            for name in names}, str(tmp_path / "src" / f"rank_{rank}" / "a.ckpt"))
    assert rank_list_for_transform(0, merged, None) == [3, 2, 1, 0]
    transform_checkpoints(str(tmp_path / "src"), str(tmp_path / "one"), "b", merged, None)
    found = ms.load_checkpoint(str(tmp_path / "one" / "rank_0" / "b0.ckpt"))
    assert found.keys() == arrays.keys()
    for name, want in arrays.items():
        np.testing.assert_array_equal(found[name].asnumpy(), want)
    transform_checkpoints(str(tmp_path / "one"), str(tmp_path / "back"), "a", None, merged)
    for rank in range(4):
        found, want = [ms.load_checkpoint(str(tmp_path / folder / f"rank_{rank}" / name)) for folder, name in (
            ("back", f"a{rank}.ckpt"), ("src", "a.ckpt"))]
        assert found.keys() == want.keys()
        assert all((found[name].asnumpy() == want[name].asnumpy()).all() for name in want)


def test_an_optimisers_states_are_split_once_more(tmp_path):
    """ZeRO as MindSpore writes it: ranks that have the same part have parts of that, neighbours first."""
    strategy = Strategy((2, 4), ((0,), ()), (), 4, 2)
    assert strategy.parts() == (8, 1) and [strategy.place(rank)[0] for rank in (0, 1, 4)] == [0, 2, 1]
    whole_array = np.arange(32.0).reshape(16, 2)
    for rank in range(8):
        (begin, end), _ = strategy.bounds((16, 2), rank)
        ms.save_checkpoint({"moments": Tensor(whole_array[begin:end])}, str(tmp_path / "src" / f"rank_{rank}" / "a.ckpt"))
    write_strategy(str(tmp_path / "s.ckpt"), {"moments": {0: strategy}})
    transform_checkpoints(str(tmp_path / "src"), str(tmp_path / "one"), "a", str(tmp_path / "s.ckpt"))
    found = ms.load_checkpoint(str(tmp_path / "one" / "rank_0" / "a0.ckpt"))["moments"]
    np.testing.assert_array_equal(found.asnumpy(), whole_array)
    with pytest.raises(ValueRangeError, match="do not split it into 3"):
        strategy._replace(opt_size=3).parts()


@pytest.mark.parametrize("redundant", [True, False])
def test_safetensors_become_one(redundant, tmp_path):
    """Each Parameter whole, by name, also where of ranks with the same part one alone has written it."""
    write(tmp_path / "src", "2x2 other axes", "safetensors")
    if not redundant:
        for rank in (1, 2, 3):
            path = str(tmp_path / "src" / f"rank_{rank}" / "net.safetensors")
            rest = {name: value for name, value in ms.load_checkpoint(path).items() if name != "dense.bias"
                    and not (name == "embedding" and rank > 1)}
            ms.save_checkpoint(rest, path, format="safetensors")
    strategy, folder = strategy_file(tmp_path, "2x2 other axes"), str(tmp_path / "dst")
    unified_safetensors(str(tmp_path / "src"), strategy, folder, redundant,
                        choice_func=lambda name: "renamed" if name == "dense.weight" else True)
    assert sorted(os.listdir(folder)) == ["hyper_param.safetensors", "param_name_map.json", "part0.safetensors"]
    found = ms.load_checkpoint(os.path.join(folder, "part0.safetensors"))
    for name, want in ARRAYS.items():
        np.testing.assert_array_equal(found["renamed" if name == "dense.weight" else name].asnumpy(), want)
    told = json.loads(open(os.path.join(folder, "param_name_map.json")).read())
    assert told["weight_map"].keys() == {"embedding", "renamed", "dense.bias"}
    assert told["metadata"]["total_size"] == sum(array.nbytes for array in ARRAYS.values())
    load_distributed_checkpoint(None, format="safetensors", unified_safetensors_dir=folder,
                                dst_safetensors_dir=str(tmp_path / "four"),
                                predict_strategy={"embedding": Strategy((4,), ((0,), ()))})
    for rank in range(4):
        rows = ms.load_checkpoint(str(tmp_path / "four" / f"rank_{rank}" / "net.safetensors"))["embedding"].asnumpy()
        np.testing.assert_array_equal(rows, ARRAYS["embedding"][4 * rank:4 * rank + 4])


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        for name, array in (("embedding", ARRAYS["embedding"]), ("bias", ARRAYS["dense.bias"])):
            setattr(self, name, Parameter(Tensor(np.zeros_like(array)), name=name if name == "embedding" else "dense.bias"))


def test_a_network_loads_what_other_ranks_saved(tmp_path):
    """Saved by 4 ranks, each its part; loaded by one rank, and by two whose Parameters lie otherwise."""
    strategy, files = strategy_file(tmp_path, "4"), [str(tmp_path / "src" / f"rank_{rank}" / "net.ckpt") for rank in range(4)]

    def save():
        net = Net()
        for param, words in ((net.embedding, ("x", "None")), (net.bias, ("x",))):
            param.overwrite(ARRAYS[param.name])
            shard_in_place(param, Layout((4,), ("x",))(*words))
        ms.save_checkpoint(net, files[get_rank()], integrated_save=False)
    SimWorld(4).run(save)
    assert [ms.load_checkpoint(file)["embedding"].shape for file in files] == [(4, 8)] * 4
    net = Net()
    assert load_distributed_checkpoint(net, files, None, strategy) is True
    np.testing.assert_array_equal(net.embedding.asnumpy(), ARRAYS["embedding"])

    def load(strategies):
        net = Net()
        shard_in_place(net.embedding, Layout((2,), ("y",))("None", "y"))
        load_distributed_checkpoint(net, files, strategies, strategy)
        assert net.embedding.to_local().shape == (16, 4)
        np.testing.assert_array_equal(net.bias.asnumpy(), ARRAYS["dense.bias"])
        return net.embedding.asnumpy()
    for strategies in (None, {"embedding": Strategy((2,), ((), (0,)))}):
        for found in SimWorld(2).run(load, strategies):
            np.testing.assert_array_equal(found, ARRAYS["embedding"])


def test_a_trained_network_tells_where_its_parameters_lie(tmp_path):
    """save_param_strategy_file and the ranks' checkpoints together are what transform_checkpoints takes."""
    data = np.ones((4, 8), np.float32)

    def train():
        net = nn.Dense(8, 4, weight_init="ones")
        shard_in_place(net.weight, Layout((2,), ("dp",))("dp", "None"))
        step = AutoParallel(nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1)))
        step.save_param_strategy_file(str(tmp_path / "s.ckpt"))
        step.dataset_strategy("full_batch")(Tensor(data), Tensor(data[:, :4]))
        ms.save_checkpoint(net, str(tmp_path / "src" / f"rank_{get_rank()}" / "a.ckpt"), integrated_save=False)
        return net.weight.asnumpy()
    want, _ = SimWorld(2).run(train)
    assert read_strategy(str(tmp_path / "s.ckpt"))["weight"] == {0: Strategy((2,), ((0,), ()), (2, 8))}
    transform_checkpoints(str(tmp_path / "src"), str(tmp_path / "dst"), "a", str(tmp_path / "s.ckpt"))
    np.testing.assert_array_equal(ms.load_checkpoint(str(tmp_path / "dst" / "rank_0" / "a0.ckpt"))["weight"].asnumpy(), want)


def test_slices_become_one_parameter():
    slices = [Parameter(Tensor(ARRAYS["embedding"][:, 4 * rank:4 * rank + 4]), name="embedding") for rank in range(2)]
    made = merge_sliced_parameter(slices, {"embedding": [[2], [-1, 0], [16, 4], 0]})
    np.testing.assert_array_equal(made.asnumpy(), ARRAYS["embedding"])
    assert made.name == "embedding" and isinstance(made, Parameter)
    np.testing.assert_array_equal(merge_sliced_parameter(slices).asnumpy(), np.concatenate([s.asnumpy() for s in slices]))
    with pytest.raises(ValueRangeError, match="of 4 ranks, and there are 2"):
        merge_sliced_parameter(slices, {"embedding": Strategy((4,), ((), (0,)))})
    with pytest.raises(ArgumentError):
        merge_sliced_parameter([1])


def test_files_of_a_folder_are_loaded_together(tmp_path):
    net = Net()
    for name, array in ARRAYS.items():
        ms.save_checkpoint({name: Tensor(array)}, str(tmp_path / f"{name}.ckpt"))
    found = load_segmented_checkpoints(str(tmp_path), net)
    assert found.keys() == ARRAYS.keys()
    np.testing.assert_array_equal(net.embedding.asnumpy(), ARRAYS["embedding"])
    with pytest.raises(NotADirectoryError):
        load_segmented_checkpoints(str(tmp_path / "none"))


def test_ranks_with_the_same_part_get_that_of_the_first():
    """On 2 x 2 ranks the columns are split by the inner axis: ranks 0 and 2 have the same, 1 and 3."""
    def run():
        mesh = Layout((2, 2), ("dp", "mp"))
        net = Net()
        net.embedding.elements = from_local(Tensor(np.full((16, 4), float(get_rank()), np.float32)), mesh("None", "mp")).elements
        parameter_broadcast(net, {"embedding": Strategy((2, 2), ((), (0,)))}, get_rank())
        return float(net.embedding.to_local().asnumpy().mean())
    assert SimWorld(4).run(run) == [0.0, 1.0, 0.0, 1.0]


def test_placements_and_strategies_are_each_others():
    for name in LAYOUTS:
        for param, placement in placements(name).items():
            ranks = len(placement.mesh.ranks)
            strategy = strategy_of(placement, ARRAYS[param].shape, ranks)
            assert placement_of(strategy, placement.mesh) == placement
            for rank in range(ranks):
                assert strategy.bounds(ARRAYS[param].shape, rank) == placement.bounds(ARRAYS[param].shape, rank)
                assert strategy.local_shape == placement.local_shape(ARRAYS[param].shape, rank)
    mesh = Mesh((2,), ("x",), (0, 1))
    assert strategy_of(None, (3,), 2).bounds((3,), 1) == ((0, 3),) and strategy_of(whole(mesh), (3, 2), 2).parts() == (1, 1)
    with pytest.raises(ValueRangeError, match="in order"):
        strategy_of(whole(Mesh((2,), ("x",), (1, 0))), (4,), 2)


def test_what_is_no_strategy_is_refused(tmp_path):
    good = strategy_file(tmp_path, "4")
    data = open(good, "rb").read()
    path = str(tmp_path / "damaged.ckpt")
    for damaged in (b"", data[:-3], b"\xff" * 40, field(3, 3), field(3, field(1, b"w") + field(2, field(1, b"")))):
        with open(path, "wb") as stream:
            stream.write(damaged)
        with pytest.raises(FileFormatError):
            read_strategy(path)
    with open(tmp_path / "damaged.json", "w") as stream:
        stream.write('{"parallel_layout_item": {"w": {"dev_matrix": [2], "tensor_map": [3]}}}')
    with pytest.raises(FileFormatError, match="no strategy"):
        read_strategy(str(tmp_path / "damaged.json"))
    for refused in (lambda: read_strategy(str(tmp_path / "none.ckpt")), lambda: rank_list_for_transform(4, None, good),
                    lambda: rank_list_for_transform("0", good)):
        with pytest.raises(ValueRangeError):
            refused()
    write(tmp_path / "src", "4", "ckpt")
    three = {rank: str(tmp_path / "src" / f"rank_{rank}" / "net.ckpt") for rank in range(3)}
    with pytest.raises(ValueRangeError, match="rank 3 is needed"):
        transform_checkpoint_by_rank(0, three, str(tmp_path / "x.ckpt"), good)
    with pytest.raises(NotADirectoryError):
        transform_checkpoints(str(tmp_path / "nothing"), str(tmp_path / "dst"), "a", good)
    with pytest.raises(ShapeError, match="does not go into 5"):
        Strategy((5,), ((0,),)).bounds((16,), 0)


def test_the_names_stand_where_mindspore_has_them():
    for module in (mindspore, mindspore.parallel, mindspore.train.serialization):
        assert module.load_distributed_checkpoint is load_distributed_checkpoint
    assert mindspore.parallel.convert_checkpoints is transform_checkpoints is ms.parallel.transform_checkpoints
