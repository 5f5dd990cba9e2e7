"""MindRecord: what is written is read again, what MindSpore 2.10 wrote is read, and damaged files are errors."""
import json
import os
import sqlite3
import struct

import numpy as np
import pytest

import mindlite.dataset as ds
from mindlite import mindrecord as mr
from mindlite.dataset.mindrecord.layout import pack_ints, pack_map, unpack_ints, unpack_map

SCHEMA = {"name": {"type": "string"}, "label": {"type": "int32"}, "data": {"type": "bytes"}, "score": {"type": "float64"},
          "mask": {"type": "int64", "shape": [-1]}, "box": {"type": "float32", "shape": [2, 2]}}


def row(k):
    return {"name": f"{k}.jpg", "label": k, "data": bytes(range(k)), "score": k * 0.1, "mask": np.arange(-k, k + 1) * 10 ** k,
            "box": np.full((2, 2), k, np.float32)}


def written(path, rows=range(5), shards=1, index=("label", "name"), overwrite=False):
    writer = mr.FileWriter(str(path), shards, overwrite)
    writer.add_schema(SCHEMA, "a schema")
    writer.add_index(list(index))
    writer.write_raw_data([row(k) for k in rows])
    assert writer.commit() == mr.SUCCESS
    return str(path)


def same(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert np.array_equal(found[name], value) and getattr(found[name], "dtype", 0) == getattr(value, "dtype", 0), name


def test_rows_are_read_as_they_were_written(tmp_path):
    for found, k in zip(mr.FileReader(written(tmp_path / "x"), 4).get_next(), range(5)):
        same(found, row(k))
    (found, *_) = mr.FileReader(written(tmp_path / "y"), columns=["label"]).get_next()
    assert found == {"label": 0}


@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_shards_are_read_together_by_any_of_their_names(tmp_path, shards):
    written(tmp_path / "x", shards=shards)
    names = sorted(name for name in os.listdir(tmp_path) if not name.endswith(".db"))
    assert len(names) == shards
    assert [r["label"] for r in mr.FileReader(str(tmp_path / names[-1])).get_next()] == list(range(5))
    assert ds.MindDataset(str(tmp_path / names[0])).get_dataset_size() == 5
    assert ds.MindDataset([str(tmp_path / names[0])]).get_dataset_size() == 5 // shards


def test_pages_are_as_large_as_mindspore_s(tmp_path):
    writer = mr.FileWriter(str(tmp_path / "x"))
    writer.add_schema({"a": {"type": "int32"}, "b": {"type": "bytes"}})
    writer.write_raw_data([{"a": k, "b": bytes([k]) * 9_000_000} for k in range(8)])
    writer.commit()
    with open(tmp_path / "x", "rb") as stream:
        pages = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))["page"]
    assert [(p["page_type"], p["start_row_id"], p["end_row_id"], p["page_size"]) for p in pages] == [
        ("BLOB_DATA", 0, 3, 27000024), ("BLOB_DATA", 3, 6, 27000024), ("BLOB_DATA", 6, 8, 18000016), ("RAW_DATA", 0, 0, 96)]
    assert pages[-1]["row_group_ids"] == [{"id": 0, "offset": 0}, {"id": 1, "offset": 36}, {"id": 2, "offset": 72}]
    assert [set(r["b"]) for r in mr.FileReader(str(tmp_path / "x")).get_next()] == [{k} for k in range(8)]


def test_what_mindspore_wrote_is_read(tmp_path):
    """The bytes of two rows as MindSpore 2.10 wrote them; the rest of the file are zeros."""
    schema = {"f32": {"type": "float32"}, "f64": {"shape": [-1], "type": "float64"}, "i32": {"shape": [-1], "type": "int32"},
              "i64": {"shape": [2], "type": "int64"}, "n": {"type": "int64"}, "s": {"type": "string"}, "u8": {"type": "bytes"}}
    head = json.dumps({"header_size": 16777216, "index_fields": [{"index_field": "n", "schema_id": 0}], "page": [],
                       "page_size": 33554432, "schema": [{"blob_fields": ["f64", "i32", "i64", "u8"], "desc": "",
                       "schema": schema}],
                       "shard_addresses": ["x"], "shard_id": 0}).encode()
    blob = bytes.fromhex(
        "42000000000000000000000000000008000000000000f83f000000000000000c0000000318012c0190eefeff000000000000000e0000000230010000"
        "000000010000000000000000000032000000000000000000000000000000000000000000000800000002" + "1001d4fe"
        "00000000000000070000000200ff0500000000000000036162630000")
    raw = (b"\x1e\0\0\0\0\0\0\0\x83\xa3f32\xcb?\xb9\x99\x99\x99\x99\x99\x9a\xa1n\xcf\0\0\x01\0\0\0\0\0\xa1s\xa2\xc3\xa9"
           b"\x14\0\0\0\0\0\0\0\x83\xa3f32\xcbF)>Y9\xa0\x8c\xea\xa1n\xfb\xa1s\xa0")
    with open(tmp_path / "x", "wb") as stream:
        stream.write(struct.pack("<Q", len(head)) + head)
        stream.seek(16777216)
        stream.write(blob)
        stream.seek(16777216 + 33554432)
        stream.write(raw)
    data = sqlite3.connect(tmp_path / "x.db")
    data.execute("CREATE TABLE INDEXES(ROW_ID INT, PAGE_ID_RAW INT, PAGE_OFFSET_RAW INT, PAGE_OFFSET_RAW_END INT, "
                 "ROW_GROUP_ID INT, "
                 "PAGE_ID_BLOB INT, PAGE_OFFSET_BLOB INT, PAGE_OFFSET_BLOB_END INT, INC_0 INT, n_0 INTEGER)")
    data.executemany("INSERT INTO INDEXES VALUES (?,?,?,?,?,?,?,?,?,?)",
                     [(0, 1, 0, 38, 0, 0, 0, 74, 0, 2 ** 40), (1, 1, 38, 66, 0, 0, 74, 132, 0, -5)])
    data.commit(), data.close()
    first, second = mr.FileReader(str(tmp_path / "x")).get_next()
    same(first, {"f32": 0.1, "n": 2 ** 40, "s": "é", "f64": np.array([1.5]), "i32": np.array([1, 300, -70000], np.int32),
                 "i64": np.array([1, 2 ** 40]), "u8": b""})
    same(second, {"f32": 1e30, "n": -5, "s": "", "f64": np.array([]), "i32": np.array([1, -300], np.int32),
                  "i64": np.array([-1, 5]), "u8": b"abc"})


@pytest.mark.parametrize("values", [[0], [127, -128, 128, -129], [2 ** 15 - 1, -2 ** 15, 2 ** 31, -2 ** 31 - 1], list(range(-9,
                                                                                                                            9))])
def test_whole_numbers_take_as_few_bytes_as_they_need(values):
    packed = pack_ints(np.array(values))
    assert unpack_ints(packed, np.int64).tolist() == values
    assert len(packed) == 4 + -(-len(values) // 4) + sum(next(n for n in (1, 2, 4, 8) if -1 << 8 * n - 1 <= v < 1 << 8 * n - 1)
                                                         for v in values)


def test_fields_are_packed_as_the_standard_says():
    values = {"a": 5, "b": -3, "c": 300, "d": -40000, "e": 2 ** 40, "f": 0.5, "g": 0.1, "h": "é" * 40, "i" * 40: 128,
              "j": -2 ** 63}
    packed = pack_map(values)
    assert unpack_map(packed) == values and packed[:4] == b"\x8a\xa1a\x05"
    assert pack_map({"f": 0.5}) == b"\x81\xa1f\xca?\0\0\0" and pack_map({"n": 128}) == b"\x81\xa1n\xcc\x80"


def test_rows_go_into_a_pipeline(tmp_path, monkeypatch):
    path = written(tmp_path / "x", range(6))
    dataset = ds.MindDataset(path, shuffle=False)
    assert dataset.get_col_names() == ["box", "data", "label", "mask", "name", "score"]
    assert [str(kind) for kind in dataset.output_types()] == ["float32", "|S0", "int32", "int64", "<U0", "float64"]
    labels = ds.MindDataset(path, ["label"], shuffle=False, num_shards=4, shard_id=3, padded_sample={"label": -1}, num_padded=2)
    assert [int(r[0]) for r in labels.create_tuple_iterator(num_epochs=1, output_numpy=True)] == [3, -1]
    balanced = ds.MindDataset(path, ["label"], sampler=ds.PKSampler(1))
    assert sorted(int(r[0]) for r in balanced.create_tuple_iterator(num_epochs=1, output_numpy=True)) == list(range(6))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    both = ds.MindDataset(path, ["label"], shuffle=False).map(lambda x: x + 1, python_multiprocessing=True,
                                                              num_parallel_workers=2)
    assert [int(r[0]) for r in both.create_tuple_iterator(num_epochs=1, output_numpy=True)] == list(range(1, 7))
    with pytest.raises(RuntimeError, match="can not found in schema"):
        ds.MindDataset(path, ["zz"])


def test_padding_rows_fill_the_shards_exactly(tmp_path):
    path, padded = written(tmp_path / "x", range(6)), {"label": -1}
    uneven = ds.MindDataset(path, ["label"], num_shards=4, shard_id=1, padded_sample=padded, num_padded=1)
    for call in (uneven.get_dataset_size, lambda: next(iter(uneven.create_tuple_iterator(num_epochs=1)))):
        with pytest.raises(RuntimeError, match="7 can not be divisible by the value of 'num_shards': 4"):
            call()
    with pytest.raises(RuntimeError, match="requires num_padded"):
        ds.MindDataset(path, ["label"], num_shards=4, shard_id=1, padded_sample=padded)
    with pytest.raises(RuntimeError, match="padded_sample is not"):
        ds.MindDataset(path, ["label"], num_shards=4, shard_id=1, num_padded=2)


def test_a_field_or_a_file_may_be_empty(tmp_path):
    writer = mr.FileWriter(str(tmp_path / "x"))
    writer.add_schema({"ids": {"type": "int64", "shape": [-1]}, "pairs": {"type": "float32", "shape": [2, -1]}})
    writer.write_raw_data([{"ids": np.array([], np.int64), "pairs": np.zeros((2, 0), np.float32)}])
    writer.commit()
    (ids, pairs), = ds.MindDataset(str(tmp_path / "x")).create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert (ids.shape, ids.dtype, pairs.shape, pairs.dtype) == ((0,), np.int64, (2, 0), np.float32)
    writer = mr.FileWriter(str(tmp_path / "none"))
    writer.add_schema(SCHEMA)
    writer.commit()
    both = ds.MindDataset([str(tmp_path / "none"), written(tmp_path / "y", range(3))], ["label"], shuffle=False)
    assert [int(label) for label, in both.create_tuple_iterator(num_epochs=1)] == [0, 1, 2]
    (tmp_path / "hollow").touch(), (tmp_path / "hollow.db").touch()
    with pytest.raises(RuntimeError, match="the size of mindrecord file: 0 is smaller"):
        ds.MindDataset(str(tmp_path / "hollow"))


def test_rows_are_found_by_category(tmp_path):
    page = mr.MindPage(written(tmp_path / "x", [1, 2, 1, 3], index=["label"]))
    assert page.candidate_fields == ["label"]
    page.category_field = "label"
    assert json.loads(page.read_category_info())["categories"][0] == {"count": 2, "id": 0, "name": "1"}
    assert [r["label"] for r in page.read_at_page_by_id(0, 0, 5)] == [1, 1] and len(page.read_at_page_by_name("1", 1, 1)) == 1
    with pytest.raises(RuntimeError, match=r"category_id: 9 must be in the range \[0, 3\]"):
        page.read_at_page_by_id(9, 0, 1)
    with pytest.raises(RuntimeError, match="category_name: abc could not found."):
        page.read_at_page_by_name("abc", 0, 1)


def test_rows_are_added_to_files_that_exist(tmp_path):
    path = written(tmp_path / "x", range(2))
    writer = mr.FileWriter.open_for_append(path)
    writer.write_raw_data([row(2)])
    writer.commit()
    assert [r["label"] for r in mr.FileReader(path).get_next()] == [0, 1, 2]


def test_files_that_exist_are_kept_unless_told_otherwise(tmp_path):
    path = written(tmp_path / "x", [1])
    with pytest.raises(RuntimeError, match="already exist"):
        written(tmp_path / "x", [2])
    assert [r["label"] for r in mr.FileReader(path).get_next()] == [1]
    written(tmp_path / "x", [2], overwrite=True)
    assert [r["label"] for r in mr.FileReader(path).get_next()] == [2]


@pytest.mark.parametrize("schema, data", [
    ({"a": {"type": "int33"}}, []), ({"a": {}}, []), ({"a b": {"type": "int32"}}, []), ({"a": {"type": "bytes",
    "shape": [2]}}, []),
    ({"a": {"type": "int32", "shape": [-1, -1]}}, []), ({}, []), ({"a": {"type": "int32"}}, []),
    ({"a": {"type": "int32"}}, [{"b": 1}]), ({"a": {"type": "int32"}}, [{"a": "x"}]),
    ({"a": {"type": "int32"}}, [{"a": 2 ** 31}]),
    ({"a": {"type": "string"}}, [{"a": 1}]), ({"a": {"type": "bytes"}}, [{"a": "x"}]),
    ({"a": {"type": "int32", "shape": [2]}}, [{"a": np.array([1], np.int32)}]),
    ({"a": {"type": "int32", "shape": [-1]}}, [{"a": np.array([1], np.int64)}]), ({"a": {"type": "int32"}}, {"a": 1}),
])
def test_what_does_not_fit_is_not_written(tmp_path, schema, data):
    writer = mr.FileWriter(str(tmp_path / "x"))
    with pytest.raises((mr.MindRecordException, RuntimeError)):
        writer.add_schema(schema)
        writer.write_raw_data(data)
        writer.commit()
    assert not os.listdir(tmp_path)


def test_a_row_that_does_not_fit_is_left_out_with_a_warning(tmp_path, caplog):
    writer = mr.FileWriter(str(tmp_path / "x"))
    writer.add_schema({"a": {"type": "int32"}})
    writer.write_raw_data([{"a": 1}, {"a": "no"}, {"a": 3}])
    writer.commit()
    assert [r["a"] for r in mr.FileReader(str(tmp_path / "x")).get_next()] == [1, 3] and "field 'a' is 'no'" in caplog.text


def check_mutated_files(path, count, seed):
    """One bit is changed in a header or a page: the file is refused, or gives rows with the fields of its schema."""
    numbers, size = np.random.default_rng(seed), os.path.getsize(path)
    with open(path, "rb") as stream:
        length = int.from_bytes(stream.read(8), "little") + 8
    parts = [(0, length), (1 << 24, (1 << 24) + 250), ((1 << 24) + (1 << 25), size)]
    refused, whole = 0, list(mr.FileReader(path).get_next())
    with open(path, "r+b") as stream:
        for _ in range(count):
            start, end = parts[numbers.integers(3)]
            place = int(numbers.integers(start, end))
            stream.seek(place)
            before = stream.read(1)
            stream.seek(place)
            stream.write(bytes([before[0] ^ 1 << int(numbers.integers(8))]))
            stream.flush()
            try:
                found = list(mr.FileReader(path).get_next())
                assert [len(row) for row in found] == [len(row) for row in whole]
            except (RuntimeError, ValueError) as error:
                assert "damaged" in str(error) or "nvalid" in str(error) or "not exist" in str(error), error
                refused += 1
            stream.seek(place)
            stream.write(before)
            stream.flush()
    assert count // 6 < refused < count


@pytest.mark.slow
def test_fifteen_hundred_mutated_files_are_read_or_refused(tmp_path):
    check_mutated_files(written(tmp_path / "x", range(3)), 1500, 2)


def test_mutated_files_are_read_or_refused(tmp_path):
    path = written(tmp_path / "x", range(3))
    check_mutated_files(path, 100, 1)
    numbers, size = np.random.default_rng(1), os.path.getsize(path)
    with open(path + ".db", "rb") as stream:
        index = bytearray(stream.read())
    for _ in range(200):
        changed = bytearray(index)
        changed[numbers.integers(len(index))] ^= 255
        (tmp_path / "x.db").write_bytes(changed)
        try:
            list(mr.FileReader(path).get_next())
        except RuntimeError as error:
            assert "damaged" in str(error), error
    (tmp_path / "x.db").write_bytes(index)
    os.truncate(path, size - 3)
    with pytest.raises(RuntimeError, match="truncated or damaged"):
        list(mr.FileReader(path).get_next())
    os.remove(path + ".db")
    with pytest.raises(RuntimeError, match="needs its index"):
        mr.FileReader(path)
    (tmp_path / "s").write_text("s" * 100)
    with pytest.raises(RuntimeError, match="the size of mindrecord file header is larger than the upper limit."):
        mr.FileReader(str(tmp_path / "s"))


def test_other_formats_become_mindrecord_files(tmp_path):
    (tmp_path / "t.csv").write_text("Age,Price,Name\n3,1.5,a\n4,2,b\n")
    mr.CsvToMR(str(tmp_path / "t.csv"), str(tmp_path / "csv"), ["Age", "Price", "Name"]).transform()
    assert list(mr.FileReader(str(tmp_path / "csv")).get_next()) == [{"Age": 3, "Name": "a", "Price": 1.5},
                                                                      {"Age": 4, "Name": "b", "Price": 2.0}]
    with pytest.raises(Exception, match="column zz does not exist."):
        mr.CsvToMR(str(tmp_path / "t.csv"), str(tmp_path / "no"), ["zz"])
    (tmp_path / "n.csv").write_text("1,b\n3,1.5\n")
    with pytest.raises(Exception, match="The first line content: 1 of the CSV file is used as a column name and does not allow"):
        mr.CsvToMR(str(tmp_path / "n.csv"), str(tmp_path / "no"))
    with pytest.raises(Exception, match="File name should not contains"):
        mr.CsvToMR(str(tmp_path / "t.csv"), "not_*ok")
    for part, count in (("data_batch_1.bin", 3), ("test_batch.bin", 2)):
        (tmp_path / part).write_bytes(bytes([4] * 3073 * count))
    mr.Cifar10ToMR(str(tmp_path), str(tmp_path / "cifar")).transform(["label"])
    image = ds.MindDataset(str(tmp_path / "cifar"), ["data", "label"], shuffle=False).map(ds.vision.Decode(), "data")
    (pixels, label), *_ = image.create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert pixels.shape == (32, 32, 3) and label == 4 and image.get_dataset_size() == 3
    (tmp_path / "images" / "n1").mkdir(parents=True)
    (tmp_path / "images" / "n1" / "a.jpg").write_bytes(b"jpeg")
    (tmp_path / "map.txt").write_text("n1 7\n")
    mr.ImageNetToMR(str(tmp_path / "map.txt"), str(tmp_path / "images"), str(tmp_path / "net")).transform()
    assert list(mr.FileReader(str(tmp_path / "net")).get_next()) == [{"data": b"jpeg", "file_name": "a.jpg", "label": 7}]


def test_records_of_tensorflow_become_mindrecord_files(tmp_path):
    files = pytest.importorskip("test_files")
    source = files.tfrecord(tmp_path / "a.tfrecord")
    mr.TFRecordToMR(source, str(tmp_path / "x"), {"i": ([2], "int64"), "f": ([], "float32"), "s": ([], "string")},
                    ["s"]).transform()
    first, *_ = mr.FileReader(str(tmp_path / "x")).get_next()
    assert first["f"] == 0.5 and first["s"] == b"ab0" and first["i"].tolist() == [0, -1]
    files._mnist(tmp_path / "m"), files._mnist(tmp_path / "m", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
    mr.MnistToMR(str(tmp_path / "m"), str(tmp_path / "mnist")).transform()
    assert [r["label"] for r in mr.FileReader(str(tmp_path / "mnist_test.mindrecord")).get_next()] == [3, 1, 2]


@pytest.fixture
def _plain_again():
    yield
    mr.set_enc_key(None)
    mr.set_enc_mode()
    mr.set_dec_mode(None)


@pytest.mark.parametrize("shards", [1, 3])
def test_encrypted_files_are_read_with_their_key_alone(tmp_path, _plain_again, shards):
    pytest.importorskip("cryptography")
    mr.set_enc_key("0123456789012345")
    path = written(tmp_path / "x", shards=shards)
    name = path if shards == 1 else path + "0"
    assert [r["label"] for r in mr.FileReader(name).get_next()] == list(range(5))
    assert sorted(int(r["label"]) for r in ds.MindDataset(name).create_dict_iterator(1, output_numpy=True)) == list(range(5))
    for file in os.listdir(tmp_path):
        data = (tmp_path / file).read_bytes()
        assert data.endswith(b"\0\0\0\0AES-GCMENCRYPT") and b"a schema" not in data and b"SQLite" not in data
    if shards == 1:
        more = mr.FileWriter.open_for_append(path)
        more.write_raw_data([row(5)])
        more.commit()
        assert len(list(mr.FileReader(name).get_next())) == 6
    for key, said in (("x" * 16, "check if enc_key"), (None, "is encrypted")):
        mr.set_enc_key(key)
        with pytest.raises(RuntimeError, match=said):
            mr.FileReader(name)
    plain = written(tmp_path / "plain")
    mr.set_enc_key("x" * 32)
    with pytest.raises(RuntimeError, match="is not encrypted"):
        mr.FileReader(plain)


def test_files_may_be_encrypted_by_own_functions(tmp_path, _plain_again):
    def turned(source, size, target, key):
        target.write((np.frombuffer(source.read(size), np.uint8) ^ ord(key[0])).tobytes())

    def back(source, size, target, key):
        turned(source, size - 11, target, key)               # without 0 and the name of the mode
    mr.set_enc_key("0123456789012345")
    mr.set_enc_mode(turned)
    path = str(tmp_path / "x")
    writer = mr.FileWriter(path)
    writer.add_schema({"a": {"type": "int32"}})
    writer.write_raw_data([{"a": k} for k in range(3)])
    assert writer.commit() == mr.SUCCESS
    with pytest.raises(RuntimeError, match="define custom decryption"):
        mr.FileReader(path)
    mr.set_dec_mode(back)
    assert [r["a"] for r in mr.FileReader(path).get_next()] == [0, 1, 2]


@pytest.mark.parametrize("call, argument", [("set_enc_key", 3), ("set_enc_key", "short"), ("set_enc_mode", "AES-CBC"),
                                            ("set_dec_mode", 3)])
def test_keys_and_modes_that_cannot_be_are_refused(call, argument):
    with pytest.raises(ValueError):
        getattr(mr, call)(argument)


def test_a_reader_whose_rows_have_been_asked_for_still_says_its_schema(tmp_path):
    writer = mr.FileWriter(str(tmp_path / "rows.mindrecord"))
    writer.add_schema({"n": {"type": "int32"}})
    writer.write_raw_data([{"n": 1}, {"n": 2}])
    writer.commit()
    reader = mr.FileReader(str(tmp_path / "rows.mindrecord"))
    assert next(reader.get_next()) == {"n": 1} and reader.schema() == {"n": {"type": "int32"}}


def test_a_pipeline_is_saved_and_read_again(tmp_path):
    columns = {"flag": np.array([True, False, True]), "small": np.arange(3, dtype=np.uint8), "text": ["a", "", "déjà"],
               "vector": np.arange(6, dtype=np.float16).reshape(3, 2), "cube": np.arange(24, dtype=np.int64).reshape(3, 2, 2, 2)}
    rows = ds.NumpySlicesDataset(columns, shuffle=False)
    for count, name in ((1, "one"), (2, "two")):
        path = str(tmp_path / name)
        assert rows.save(path, count) is None
        files = [path] if count == 1 else [path + "0", path + "1"]
        assert all(os.path.isfile(file) and os.path.isfile(file + ".db") for file in files)
        found = list(ds.MindDataset(files, shuffle=False).create_dict_iterator(num_epochs=1, output_numpy=True))
        found.sort(key=lambda row: int(row["small"]))
        for k, row in enumerate(found):
            assert all(np.array_equal(row[name], np.asarray(columns[name][k])) for name in columns)
        assert len(found) == 3
    kinds = {name: field["type"] for name, field in mr.FileReader(str(tmp_path / "one")).schema().items()}
    assert kinds == {"flag": "int32", "small": "int32", "text": "string", "vector": "float32", "cube": "int64"}


@pytest.mark.parametrize("rows, arguments, error, words", [
    ([1, 2], (3,), TypeError, "file_name"), ([1, 2], ("x", 0), ValueError, "num_files"), ([1, 2], ("x", 1, "y"), ValueError, "y"),
    ([np.array(2 ** 64 - 1, np.uint64)], ("x",), RuntimeError, "column 'c' holds 18446744073709551615"),
    ([1j], ("x",), RuntimeError, "column 'c' holds an array of complex128"),
    ([np.array(["a", "b"])], ("x",), RuntimeError, "column 'c'"),
    ([np.zeros((1, 2)), np.zeros((1, 3))], ("x",), RuntimeError, "another type or shape in a later row")])
def test_what_no_file_holds_is_refused_and_nothing_is_written(tmp_path, monkeypatch, rows, arguments, error, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=words):
        ds.GeneratorDataset(rows, ["c"], shuffle=False).save(*arguments)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("call, error, words", [
    (lambda p: mr.FileWriter(p, None), mr.ParamValueError, "shard_num is None"),
    (lambda p: mr.FileWriter(p, "4"), mr.ParamValueError, "shard_num's type is not int"),
    (lambda p: mr.FileWriter(p, 1, 1), mr.ParamValueError, "overwrite's type is not bool"),
    (lambda p: mr.FileWriter(None), mr.ParamValueError, "not allowed None or empty"),
    (lambda p: mr.FileReader(None), mr.ParamValueError, "not allowed None or empty"),
    (lambda p: mr.FileReader(p, None), mr.ParamValueError, "num_consumer is None"),
    (lambda p: mr.MindPage(p, "2"), mr.ParamValueError, "num_consumer is not int"),
    (mr.FileReader, RuntimeError, "does not exist"), (ds.MindDataset, ValueError, "does not exist"),
    (lambda p: mr.FileWriter(p).add_index(["a"]), mr.MRMGetMetaError, "Failed to get meta info"),
    (lambda p: _with_schema(p).add_index("a"), mr.ParamTypeError, "expect list"),
    (lambda p: _with_schema(p).add_index(["rows"]), mr.MRMDefineIndexError, "not primitive"),
    (lambda p: _with_schema(p).add_index(["a", "a"]), mr.MRMDefineIndexError, "twice"),
    (lambda p: _with_schema(p).add_index(["z"]), RuntimeError, "can not found in schema"),
    (lambda p: mr.FileWriter(p).add_schema({}), mr.MRMInvalidSchemaError, "is empty"),
    (lambda p: mr.FileWriter(p).add_schema([1]), mr.MRMInvalidSchemaError, "should be dict")])
def test_bad_arguments_of_mindrecord_have_mindspore_s_class_and_words(tmp_path, call, error, words):
    with pytest.raises(error, match=words):
        call(str(tmp_path / "file"))


def _with_schema(path):
    writer = mr.FileWriter(path)
    writer.add_schema({"a": {"type": "int32"}, "rows": {"type": "int32", "shape": [-1]}})
    return writer


def test_bytes_and_names_of_any_characters_are_saved(tmp_path):
    rows_of = [(np.array(b"\xff\x00a"), np.array("b"))]
    ds.GeneratorDataset(rows_of, ["a/b c", "text"]).save(str(tmp_path / "x.mindrecord"))
    (row,) = ds.MindDataset(str(tmp_path / "x.mindrecord")).create_dict_iterator(num_epochs=1, output_numpy=True)
    assert row["a_b_c"].tobytes() == b"\xff\x00a" and row["text"] == "b"
    ragged = ds.GeneratorDataset([(np.zeros((1, 2)),), (np.zeros((1, 3)),)], ["x"], shuffle=False)
    with pytest.raises(RuntimeError, match="dynamic shape"):
        ragged.save(str(tmp_path / "y.mindrecord"))


@pytest.mark.parametrize("words, order", [
    ({"shuffle": False}, [0, 10, 20, 30, 40, 50]), ({}, [50, 20, 30, 0, 10, 40]), ({"num_samples": 2, "shuffle": False}, [0, 10]),
    ({"num_shards": 2, "shard_id": 1, "shuffle": False}, [10, 30, 50]), ({"sampler": ds.SubsetSampler([5, 3])}, [50, 30])])
def test_a_row_is_taken_by_its_number_in_the_order_of_the_first_pass(tmp_path, monkeypatch, words, order):
    path = str(tmp_path / "x.mindrecord")
    writer = mr.FileWriter(path)
    writer.add_schema({"x": {"type": "int32"}, "s": {"type": "string"}})
    writer.write_raw_data([{"x": 10 * k, "s": str(k)} for k in range(6)])
    writer.commit()
    monkeypatch.setattr(ds.config.settings, "seed", 3)
    dataset = ds.MindDataset(path, ["x", "s"], **words)
    assert [dataset[k][0].tolist() for k in range(len(order))] == order and dataset[0][1] == str(order[0] // 10)
    with pytest.raises(RuntimeError, match=rf"interval of \[0, {len(order) - 1}\], but got 6"):
        dataset[6]
    with pytest.raises(ValueError, match="cannot be negative, but got -1"):
        dataset[-1]
    with pytest.raises(TypeError, match="index with value 2 is not of type"):
        dataset["2"]
