"""Operations that take many rows in one array: the same bits as row by row, the same draws, the same errors."""
import numpy as np
import pytest

import mindlite as ms
import mindlite.dataset as ds
from mindlite.dataset import draws, text, transforms, vision
from mindlite.dataset.operation import STACKED, in_turn, joined
from mindlite.dataset.vision import kernels

NUMBERS = np.random.default_rng(15)
CASES = [
    [vision.Normalize([120.0, 100, 80], [60.0, 50, 40])],
    [vision.Normalize([120.0], [60.0])],
    [vision.Normalize([120.0, 100, 80], [60.0, 50, 40], is_hwc=False)],
    [vision.HWC2CHW()],
    [vision.Normalize([120.0, 100, 80], [60.0, 50, 40]), vision.HWC2CHW()],
    [vision.Rescale(1 / 255, -0.5)],
    [vision.RandomCrop(5)],
    [vision.RandomCrop((6, 4), (1, 2, 3, 4), fill_value=(9, 8, 7))],
    [vision.RandomCrop(5, 2, padding_mode=vision.Border.REFLECT)],
    [vision.RandomCrop(12, pad_if_needed=True)],
    [vision.RandomHorizontalFlip(0.5)],
    [vision.ToTensor()],
    [vision.ToTensor(np.float16)],
    [vision.ToType(np.float64)],
    [transforms.TypeCast(ms.int32)],
    [transforms.OneHot(9)],
    [transforms.OneHot(9, 0.1)],
    [vision.RandomCrop(5), vision.RandomHorizontalFlip(), vision.Rescale(2.0, 1.0), vision.HWC2CHW()],
    [vision.RandomVerticalFlip(), vision.RandomCrop(4), vision.ToTensor(), vision.Normalize([0.5], [0.5], False)],
    [vision.ToPIL(), vision.RandomCrop(4), vision.ToTensor()],
    [vision.RandomHorizontalFlip(), vision.Resize((5, 6)), vision.RandomHorizontalFlip(), vision.ToTensor()],
    [lambda x: x + 1, vision.RandomHorizontalFlip(), vision.Rescale(2.0, 1.0)],
]
SOURCES = {
    "bytes": [NUMBERS.integers(0, 256, (8, 9, 3), np.uint8) for _ in range(11)],
    "grey": [NUMBERS.integers(0, 256, (8, 8, 1), np.uint8) for _ in range(11)],
    "floats": [NUMBERS.normal(size=(8, 9, 3)) for _ in range(11)],
    "flat": [NUMBERS.integers(0, 256, (8, 9), np.uint8) for _ in range(11)],
    "labels": [np.array(k % 9) for k in range(11)],
    "large": [NUMBERS.integers(0, 256, (170, 180, 3), np.uint8) for _ in range(5)],
    "frames": [NUMBERS.integers(0, 256, (2, 8, 9, 3), np.uint8) for _ in range(5)],
    "ragged": [NUMBERS.integers(0, 256, (8 + k // 4, 9, 3), np.uint8) for k in range(11)],
    "types": [NUMBERS.integers(0, 9, (8, 9, 3)).astype(np.uint8 if k < 8 else np.float32) for k in range(11)],
}


PLACES = [(name, memory) for name in SOURCES for memory in (False, True)
          if not memory or len({(value.shape, value.dtype) for value in SOURCES[name]}) == 1]


@pytest.fixture(autouse=True)
def _a_seed(monkeypatch):
    monkeypatch.setattr(ds.config.settings, "seed", 8)


def pipeline(source, operations, memory):
    if memory:
        return ds.NumpySlicesDataset((np.stack(source), np.arange(len(source))), ["x", "y"], shuffle=True).map(operations, "x")
    return ds.GeneratorDataset([(value, k) for k, value in enumerate(source)], ["x", "y"], shuffle=True).map(operations, "x")


def outcome(rows):
    """The columns of all rows, or the words of the error."""
    try:
        return [list(row) for row in rows.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    except RuntimeError as error:
        return str(error).split("\n      ")[0]


def test_each_rule_has_a_case():
    tried = {tuple(map(type, case[k:k + n])) for case in CASES for n in (1, 2) for k in range(len(case))}
    assert not set(STACKED) - tried


@pytest.mark.parametrize("name, memory", PLACES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: "+".join(type(one).__name__ for one in case))
def test_a_batch_has_the_bits_of_its_rows(case, name, memory):
    source = SOURCES[name]
    rows = outcome(pipeline(source, case, memory))
    for size in (1, 3, len(source)):
        batches = outcome(pipeline(source, case, memory).batch(size))
        if isinstance(rows, str):
            assert isinstance(batches, str) and batches.split("\n")[0] == rows.split("\n")[0]
            continue
        try:
            expected = [[np.stack([row[k] for row in rows[start:start + size]]) for k in (0, 1)]
                        for start in range(0, len(rows), size)]
        except ValueError:                                   # rows of several sizes
            assert "Cannot batch" in batches
            continue
        if len({row[0].dtype for row in rows}) > 1:
            assert size == 1 or "Cannot batch" in batches
            continue
        for found, wanted in zip(batches, expected, strict=True):
            for one, other in zip(found, wanted):
                assert one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def test_rows_of_an_array_are_not_computed_one_by_one(monkeypatch):
    def refuse(*data, **arguments):
        raise AssertionError("one by one")
    monkeypatch.setattr(vision.Rescale, "function", staticmethod(refuse))
    monkeypatch.setattr(transforms.TypeCast, "function", staticmethod(refuse))
    monkeypatch.setattr(vision.RandomCrop, "function", staticmethod(refuse))
    for memory in (False, True):
        rows = pipeline(SOURCES["bytes"], [vision.RandomCrop(5), vision.Rescale(2.0, 0.0)], memory)
        rows = rows.map(transforms.TypeCast(ms.float16), "y").batch(4)
        assert [batch[0].shape for batch in outcome(rows)] == [(4, 5, 5, 3), (4, 5, 5, 3), (3, 5, 5, 3)]


def test_a_function_of_the_users_is_called_once_a_row_where_a_rule_gives_up_later():
    calls = []

    def seen(x):
        calls.append(x.shape)
        return x
    rows = ds.GeneratorDataset([(value,) for value in SOURCES["ragged"]], ["x"], shuffle=False)
    assert len(outcome(rows.map([seen, vision.RandomCrop(5), vision.HWC2CHW()], "x").batch(11))) == 1
    assert len(calls) == 11


def test_a_batch_of_one_row_shares_no_memory_with_the_source():
    image = np.zeros((4, 4, 1), np.uint8)
    rows = ds.GeneratorDataset([(image,)], ["x"]).map(vision.HWC2CHW(), "x").batch(1)
    for batch, in rows.create_tuple_iterator(num_epochs=1, output_numpy=True):
        batch += 1
    assert not image.any()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_names_the_row_and_the_operation(workers):
    source = SOURCES["bytes"][:6] + [np.zeros((8, 9, 2), np.uint8)]
    rows = ds.GeneratorDataset([(value,) for value in source], ["x"], shuffle=False, num_parallel_workers=workers)
    rows = rows.map([vision.RandomCrop(5), vision.Normalize([1.0, 2, 3], [1.0, 2, 3]), vision.HWC2CHW()], "x").batch(7)
    with pytest.raises(RuntimeError, match=r"Normalize(?s:.*)row 6 of map, operation Normalize"):
        list(rows.create_tuple_iterator(num_epochs=1, output_numpy=True))


RESIZES = {"part of a file": [vision.RandomCropDecodeResize((33, 40))],
           "file, part": [vision.Decode(), vision.RandomResizedCrop(19)],
           "file": [vision.Decode(), vision.Resize((33, 40))], "file, shorter side": [vision.Decode(), vision.Resize(20)],
           "part": [vision.RandomResizedCrop((33, 40))], "array": [vision.Resize((33, 40))], "shorter side": [vision.Resize(20)]}
LASTS = {"three": vision.Normalize([120.0, 100, 80], [60.0, 50, 40]), "one": vision.Normalize([120.0], [0.1])}
SIZES = ((9, 7), (33, 40), (66, 80), (1, 50), (50, 1), (70, 30), (20, 25))


@pytest.mark.parametrize("flips", [[], [vision.RandomHorizontalFlip()]], ids=["", "flip"])
@pytest.mark.parametrize("last", LASTS)
@pytest.mark.parametrize("resize", RESIZES)
def test_a_chain_has_the_bits_and_the_draws_of_its_operations_and_writes_to_a_batch(resize, last, flips):
    numbers = np.random.default_rng(15)
    operations = [*RESIZES[resize], *flips, LASTS[last], vision.HWC2CHW()]
    images = [numbers.integers(0, 256, (*size, 3), np.uint8) for size in SIZES for _ in range(2)]
    if "file" in resize:
        images = [vision.encode_jpeg(image) for image in images] + [vision.encode_png(image) for image in images]
    elif last == "one":
        images += [images[0][..., :1].copy(), images[0].astype(np.float32)]
    ((_, chain),) = joined(operations)
    for k, image in enumerate(images):
        draws.begin(1, 2, 3, k)
        (wanted,) = in_turn(operations, (image,))
        draws.begin(1, 2, 3, k)
        out = np.full_like(wanted, np.nan)
        found = chain(image, out=out)
        assert found.dtype == wanted.dtype and np.array_equal(found, wanted)
        assert found is out or wanted.shape[0] != 3 or image.dtype != np.uint8 or wanted.size < 3 * 400
    draws.end()
    source = [(image, k) for k, image in enumerate(images) if image.dtype == np.uint8 and image.shape[-1] != 1]
    rows = ds.GeneratorDataset(source, ["x", "y"], shuffle=True).map(operations, "x")
    found = outcome(rows.batch(len(source)))
    if "side" in resize:
        assert "Cannot batch tensors with different shapes" in found
    else:
        assert np.array_equal(found[0][0], np.stack([row[0] for row in outcome(rows)]))


@pytest.mark.parametrize("operations", [
    [vision.Resize(9, vision.Inter.CUBIC), LASTS["one"], vision.HWC2CHW()],
    [vision.Resize(9), vision.Normalize([1.0], [2.0], is_hwc=False), vision.HWC2CHW()],
    [vision.Resize(9), vision.Normalize([1.0, 2.0], [2.0, 3.0]), vision.HWC2CHW()]])
def test_other_operations_are_no_chain(operations):
    assert not any(hasattr(step, "writes") for _, step in joined(operations))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ["Decode", "HWC2CHW"])
def test_an_error_in_a_chain_names_the_row_and_the_operation(workers, name, monkeypatch):
    operations = [vision.Decode(), vision.Resize((5, 5)), vision.Normalize([1.0], [2.0]), vision.HWC2CHW()]
    if name == "HWC2CHW":
        def fails(image):
            raise ValueError("no")
        monkeypatch.setattr(vision.HWC2CHW, "function", staticmethod(fails))
        monkeypatch.setattr(kernels, "sampled", lambda *data: fails(data))
    good = vision.encode_png(np.zeros((4, 9, 3), np.uint8))
    source = [(good,)] if name == "HWC2CHW" else [(good,), (good,), (np.zeros(9, np.uint8),)]
    rows = ds.GeneratorDataset(source, ["x"], shuffle=False, num_parallel_workers=workers).map(operations, "x").batch(3)
    with pytest.raises(RuntimeError, match=rf"{name}(?s:.*)row {len(source) - 1} of map, operation {name}"):
        list(rows.create_tuple_iterator(num_epochs=1, output_numpy=True))


def test_of_two_joined_operations_the_one_that_failed_is_named():
    rows = ds.NumpySlicesDataset(["a b", "c d"], ["x"], shuffle=False)
    vocabulary = text.Vocab.from_list(["a", "b", "c"])
    with pytest.raises(RuntimeError, match=r"\[Lookup\] failed(?s:.*)\"d\"(?s:.*)row 1 of map, operation Lookup"):
        list(rows.map([text.WhitespaceTokenizer(), text.Lookup(vocabulary)], "x"))
    with pytest.raises(RuntimeError, match=r"\[WhitespaceTokenizer\] failed"):
        list(ds.NumpySlicesDataset([1], ["x"]).map([text.WhitespaceTokenizer(), text.Lookup(vocabulary)], "x"))


@pytest.mark.parametrize("line", ["a b c", "  c   a ", "", "\t", "b\u3000a\u00a0c d", "a" + " b" * 9])
def test_words_looked_up_cut_and_padded_are_those_of_the_steps(line):
    vocabulary = text.Vocab.from_list(["<unk>", "a", "b", "c", ""])
    cut = [transforms.Slice(slice(0, 4)), transforms.PadEnd([6], 7)]
    steps = [text.WhitespaceTokenizer(), text.Lookup(vocabulary, "<unk>"), *cut]
    expected = np.array(line)
    for step in steps:
        expected = step(expected)
    (found,), = outcome(ds.NumpySlicesDataset([line], ["x"]).map(steps, "x"))
    assert found.tolist() == expected.tolist() and found.dtype == expected.dtype == np.int32
