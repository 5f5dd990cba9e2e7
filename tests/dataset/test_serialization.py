"""Pipelines as JSON: what is written is MindSpore's, and what is read is the pipeline that was written.

descriptions.json holds what real MindSpore writes of operations; make_descriptions.py makes it.
"""
import json
import logging
import pathlib

import numpy as np
import pytest

import mindlite as ms
import mindlite.dataset as ds
from mindlite.common.errors import ArgumentError, FileFormatError
from mindlite.dataset import audio, serialization, text, transforms, vision

THEIRS = json.loads(pathlib.Path(__file__).with_name("descriptions.json").read_text(encoding="utf-8"))
NAMES = {"ms": ms, "np": np, "audio": audio, "text": text, "transforms": transforms, "vision": vision}


def close(ours, theirs):
    """Equal, floats to six digits."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(close(ours[name], theirs[name]) for name in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(close(a, b) for a, b in zip(ours, theirs))
    if isinstance(ours, bool) or not isinstance(ours, (int, float)):
        return ours == theirs
    return not isinstance(theirs, (bool, str)) and theirs is not None and abs(ours - theirs) <= 1e-6 * max(1, abs(theirs))


def described(operations):
    return ds.serialize(ds.GeneratorDataset([1], "a").map(operations, ["a"]))["operations"]


@pytest.mark.parametrize("expression", THEIRS)
def test_an_operation_is_written_as_mindspore_writes_it_and_read_from_what_mindspore_writes(expression):
    theirs, ours = THEIRS[expression], described(eval(expression, dict(NAMES)))
    in_python = "python_module" in json.dumps(theirs)        # MindSpore writes all attributes of its Python objects then
    assert in_python or close(ours, theirs), (ours, theirs)
    if "Compose" not in expression:
        assert close(described([serialization.read_operation(one) for one in theirs]), ours)
    assert described([serialization.read_operation(one) for one in ours]) == ours


ROWS = np.arange(24).reshape(12, 2)


@pytest.fixture
def lines(tmp_path):
    file = tmp_path / "lines.csv"
    file.write_text("".join(f"{k},{k * k}\n" for k in range(12)))
    return ds.CSVDataset(str(file), column_names=["a", "b"], column_defaults=[0, 0], shuffle=False)


PIPELINES = {
    "batch": lambda d: d.batch(5, drop_remainder=True),
    "map": lambda d: d.map(transforms.TypeCast(ms.float32), ["b"], ["c"]).project(["c", "a"]),
    "compose": lambda d: d.map(transforms.Compose([transforms.TypeCast(ms.int8), transforms.OneHot(200)]), "b"),
    "mask": lambda d: d.map(transforms.Mask(transforms.Relational.GT, 3), "a"),
    "order": lambda d: d.skip(2).take(7).repeat(2).rename(["a"], ["z"]),
    "shuffle": lambda d: d.shuffle(5),
    "zip": lambda d: ds.zip((d, d.rename(["a", "b"], ["c", "d"]))),
    "concat": lambda d: d + d.take(3),
    "split": lambda d: d.split([3, 9])[1],
    "padded": lambda d: d.map(lambda_free("Duplicate"), ["a"], ["a", "e"]).padded_batch(5, pad_info={"e": ([], 1)}),
    "bucket": lambda d: d.project(["a"]).bucket_batch_by_length(["a"], [3], [2, 2]),
    "random": lambda d: d.map(transforms.RandomApply([transforms.TypeCast(ms.float64)], 0.5), ["a"]),
}


def lambda_free(name):
    return getattr(transforms, name)()


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_that_was_read_gives_the_rows_of_the_one_that_was_written(name, lines, tmp_path):
    ds.config.set_seed(7)
    try:
        pipeline = PIPELINES[name](lines)
        first, second = tmp_path / "first.json", tmp_path / "second.json"
        written = ds.serialize(pipeline, str(first))
        again = ds.deserialize(json_filepath=str(first))
        assert ds.serialize(again, str(second)) == written == json.loads(first.read_text())
        assert first.read_bytes() == second.read_bytes() and ds.compare(pipeline, again)
        expected = list(pipeline.create_dict_iterator(num_epochs=1, output_numpy=True))
        found = list(again.create_dict_iterator(num_epochs=1, output_numpy=True))
        assert len(found) == len(expected) > 0
        for one, other in zip(found, expected):
            assert list(one) == list(other)
            for column in one:
                np.testing.assert_array_equal(one[column], other[column])
    finally:
        ds.config.set_seed(ds.config.DEFAULT_SEED)


def images(tmp_path, **options):
    for k in range(8):
        (tmp_path / f"c{k % 2}").mkdir(exist_ok=True)
        vision.write_png(str(tmp_path / f"c{k % 2}" / f"{k}.png"), np.full((4, 4, 3), k, np.uint8))
    return ds.ImageFolderDataset(str(tmp_path), decode=True, **options)


def child_of_child():
    sampler = ds.SubsetSampler([3, 1])
    sampler.add_child(ds.SequentialSampler(2, 5))
    return sampler


SAMPLERS = [ds.SequentialSampler(1, 4), ds.RandomSampler(True, 5), ds.RandomSampler(), ds.DistributedSampler(3, 1, offset=0),
            ds.PKSampler(2, shuffle=True), ds.SubsetSampler([2, 5]), ds.SubsetRandomSampler([4, 2, 1]),
            ds.WeightedRandomSampler([1.0, 2.0, 3.0], 2), child_of_child()]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: type(sampler).__name__)
def test_a_sampler_is_read_again(sampler, tmp_path):
    ds.config.set_seed(3)
    try:
        pipeline = images(tmp_path, sampler=sampler)
        again = ds.deserialize(ds.serialize(pipeline))
        assert ds.compare(pipeline, again)
        values = [[int(row["image"][0, 0, 0]) for row in one.create_dict_iterator(num_epochs=1, output_numpy=True)]
                  for one in (pipeline, again)]
        assert values[0] == values[1] and values[0]
    finally:
        ds.config.set_seed(ds.config.DEFAULT_SEED)


def test_the_description_of_a_source_is_mindspores(tmp_path):
    found = ds.serialize(images(tmp_path, shuffle=False, num_parallel_workers=1))
    assert found == {
        "op_type": "ImageFolderDataset", "dataset_dir": str(tmp_path), "decode": True, "class_indexing": {}, "extensions": [],
        "num_parallel_workers": 1, "connector_queue_size": 16, "children": [],
        "sampler": {"num_samples": 0, "sampler_name": "SequentialSampler", "start_index": 0}}


def test_a_python_function_is_written_by_its_name_and_cannot_be_read(lines):
    def doubled(x):
        return 2 * x

    written = ds.serialize(lines.map(doubled, "a"))
    assert written["operations"] == [{"tensor_op_name": "doubled", "python_module": __name__}]
    again = ds.deserialize(written)
    with pytest.raises(RuntimeError, match="Failed to find key 'tensor_op_params' in PyFuncOp"):
        ds.serialize(again)
    with pytest.raises(RuntimeError, match="Failed to find key 'tensor_op_params' in PyFuncOp"):
        next(again.create_dict_iterator())


@pytest.mark.parametrize("pipeline, kind", [
    (lambda d: d.filter(lambda a, b: True), "Filter"), (lambda d: d.batch(lambda info: 2), "Batch"),
    (lambda d: d.batch(2, per_batch_map=lambda a, b, info: (a, b)), "Batch"), (lambda d: d.flat_map(lambda a, b: d), "FlatMap"),
    (lambda d: ds.GeneratorDataset([1, 2], "a"), "GeneratorDataset"), (lambda d: d.sync_wait("x"), "SyncWait")])
def test_what_json_does_not_hold_is_refused_when_it_is_read(lines, pipeline, kind):
    written = ds.serialize(pipeline(lines))
    assert written["op_type"] == kind
    with pytest.raises(RuntimeError, match=f"Invalid data, unsupported operation type: {kind}"):
        ds.deserialize(written)


@pytest.mark.parametrize("description, message", [
    ({}, None), ({"op_type": "Nonsense"}, "unsupported operation type: Nonsense"), ({"children": []}, "Failed to find op_type"),
    ({"op_type": "Batch", "children": [{"op_type": "RandomDataset", "total_rows": 2}]}, "Failed to find 'batch_size' in Batch"),
    ({"op_type": "RandomDataset", "sampler": {"num_samples": 1}}, "Failed to find sampler_name"),
    ({"op_type": "Map", "children": [{"op_type": "RandomDataset", "total_rows": 2}], "input_columns": [], "output_columns": [],
      "operations": [{"tensor_op_name": "OneHot", "tensor_op_params": {"num_classes": 2, "wrong": 3}}]},
     "has no argument 'wrong'"),
    ({"op_type": "Map", "children": [{"op_type": "RandomDataset", "total_rows": 2}], "input_columns": [], "output_columns": [],
      "operations": [{"tensor_op_name": "Nothing", "tensor_op_params": {}}]}, "unsupported operation: Nothing")])
def test_json_that_describes_no_pipeline_is_refused(description, message):
    if message is None:
        assert ds.deserialize(description) is None
        return
    with pytest.raises(RuntimeError, match=message):
        ds.deserialize(description)


def test_wrong_arguments_and_files_are_refused(tmp_path):
    with pytest.raises(ArgumentError, match="a Dataset is expected, not int"):
        ds.serialize(3)
    with pytest.raises(RuntimeError, match="failed to find file"):
        ds.deserialize(json_filepath=str(tmp_path / "none.json"))
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(FileFormatError, match="is no JSON"):
        ds.deserialize(json_filepath=str(tmp_path / "bad.json"))


def test_show_writes_the_description_to_the_log(lines, caplog):
    with caplog.at_level(logging.INFO, "mindlite"):
        ds.show(lines.batch(2), None)
    assert json.loads(caplog.records[-1].getMessage()) == ds.serialize(lines.batch(2))


def test_random_rows_have_the_schemas_columns_and_are_the_same_under_a_seed():
    schema = ds.Schema()
    schema.add_column("image", ms.uint8, [2, 3])
    schema.add_column("label", "float32", [1])

    def rows():
        return list(ds.RandomDataset(total_rows=5, schema=schema, shuffle=False).create_dict_iterator(1, output_numpy=True))

    ds.config.set_seed(11)
    try:
        first, second = rows(), rows()
        assert len(first) == 5 and [(first[0][c].shape, first[0][c].dtype.name) for c in ("image", "label")] == [
            ((2, 3), "uint8"), ((1,), "float32")]
        for one, other in zip(first, second):
            np.testing.assert_array_equal(one["image"], other["image"])
        assert len({row["image"].tobytes() for row in first}) == 5
    finally:
        ds.config.set_seed(ds.config.DEFAULT_SEED)
    assert ds.RandomDataset(num_samples=10).get_dataset_size() == 10
    assert ds.RandomDataset(total_rows=100, num_samples=10).get_dataset_size() == 10
    assert ds.RandomDataset(total_rows=3, columns_list=["x", "y"]).get_col_names() == ["x", "y"]
    with pytest.raises(TypeError):
        ds.RandomDataset(total_rows="many")
