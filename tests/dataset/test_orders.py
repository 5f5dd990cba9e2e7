"""The order of rows is what MindSpore gives for the seed (orders.json, written by make_orders.py), and is an order at all."""
import json
import pathlib

import numpy as np
import pytest

import mindlite.dataset as ds
from mindlite.dataset.mersenne import Mersenne, Mersenne64, Minstd, buffered
from mindlite.mindrecord import FileWriter
from order_cases import all_orders

MINDSPORE = json.loads(pathlib.Path(__file__).with_name("orders.json").read_text())


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    return all_orders(ds, FileWriter, tmp_path_factory.mktemp("orders"))


@pytest.fixture(autouse=True)
def _the_seed_stays(monkeypatch):
    monkeypatch.setattr(ds.config.settings, "seed", ds.config.settings.seed)


def rows(dataset, passes=1):
    made = dataset.create_tuple_iterator(num_epochs=passes, output_numpy=True)
    return [[int(row[0]) for row in made] for _ in range(passes)]


def test_all_orders_are_compared(ours):
    assert ours.keys() == MINDSPORE.keys()


@pytest.mark.parametrize("name", MINDSPORE)
def test_a_seed_gives_mindspore_s_order(name, ours):
    assert ours[name] == MINDSPORE[name]


def test_engines_are_those_of_the_standard():
    assert [Mersenne(5489).next() for _ in range(1)] == [3499211612]
    engine = Mersenne(5489)
    assert [engine.next() for _ in range(10000)][-1] == 4123659995, "C++ standard, [rand.predef]"
    assert Mersenne64(5489).numbers(10000)[-1] == 9981545732273789042
    engine = Minstd(1)
    assert [engine.next() + 1 for _ in range(10000)][-1] == 1043618065


@pytest.mark.parametrize("drawn, left_out", [(0, 0), (0, 312), (1, 311), (5, 312), (312, 1), (300, 1000), (400, 624)])
def test_numbers_that_are_left_out_are_those_that_would_come(drawn, left_out):
    whole = Mersenne64(3).numbers(2000)
    engine = Mersenne64(3)
    engine.numbers(drawn)
    engine.discard(left_out)
    assert np.array_equal(engine.copy().numbers(100), whole[drawn + left_out:][:100])
    assert np.array_equal(engine.numbers(100), whole[drawn + left_out:][:100]), "a copy takes nothing away"


@pytest.mark.parametrize("count", [0, 1, 2, 3, 1000, 70001])
def test_a_shuffle_moves_each_item_and_loses_none(count):
    for engine in (Mersenne(7), Minstd(7)):
        mixed = engine.shuffle(list(range(count)))
        assert sorted(mixed) == list(range(count)) and (count < 100 or mixed != list(range(count)))
    places = np.bincount([Mersenne(seed).shuffle(list(range(6)))[0] for seed in range(600)], minlength=6)
    assert places.min() > 60, "each item comes first about 100 times"


@pytest.mark.parametrize("size, count", [(1, 5), (4, 3), (4, 4), (4, 5000), (5000, 4999)])
def test_a_buffer_gives_each_row_once_and_none_before_it_was_read(size, count):
    mixed = list(buffered(iter(range(count)), size, Mersenne64(1)))
    assert sorted(mixed) == list(range(count)) and all(row < place + size for place, row in enumerate(mixed))


PIPELINES = [
    lambda: ds.NumpySlicesDataset(np.arange(20), ["x"], shuffle=True),
    lambda: ds.NumpySlicesDataset(np.arange(20), ["x"], shuffle=False).shuffle(6),
    lambda: ds.NumpySlicesDataset(np.arange(20), ["x"], sampler=ds.SubsetRandomSampler(list(range(20)))),
    lambda: ds.NumpySlicesDataset(np.arange(20), ["x"], shuffle=False).filter(lambda x: x % 2 == 0, "x").shuffle(4),
    lambda: ds.NumpySlicesDataset(np.arange(20), ["x"], shuffle=True).split([12, 8])[1].shuffle(3).repeat(2),
    lambda: ds.NumpySlicesDataset(np.arange(20), ["x"], num_shards=3, shard_id=1).shuffle(3).take(4),
    lambda: ds.NumpySlicesDataset(np.arange(20), ["x"], sampler=ds.WeightedRandomSampler(np.ones(20), 20, False)),
]


@pytest.mark.parametrize("make", PIPELINES)
def test_a_pipeline_that_begins_later_has_the_rows_of_one_that_did_not_stop(make):
    ds.config.set_seed(5)
    whole = sum(rows(make(), 4), [])
    each = len(whole) // 4
    for step in (1, each - 1, each, each + 2, 3 * each + 1):
        later = make()
        later.set_init_step(step)
        iterator = later.create_tuple_iterator(num_epochs=4, output_numpy=True)
        found = [int(row[0]) for _ in range(4 - step // each) for row in iterator]
        assert found == whole[step:]


def test_a_pass_that_take_cuts_off_counts_as_a_whole_one_for_the_next():
    ds.config.set_seed(2)

    def shuffled():
        return ds.NumpySlicesDataset(np.arange(30), ["x"], shuffle=False).shuffle(7)
    assert [one[:4] for one in rows(shuffled(), 3)] == rows(shuffled().take(4), 3)


@pytest.mark.parametrize("seeded", [True, False])
def test_parts_of_a_split_fit_together_in_each_pass(seeded):
    if seeded:
        ds.config.set_seed(9)
    mapped = ds.NumpySlicesDataset(np.arange(50), ["x"], shuffle=False).map(abs, "x")
    for source in (ds.NumpySlicesDataset(np.arange(50), ["x"], shuffle=False), mapped):
        one, other = source.split([30, 20])
        first, second = rows(one, 2), rows(other, 2)
        assert first[0] == first[1] and second[0] == second[1] and sorted(first[0] + second[0]) == list(range(50))
        assert first[0] != sorted(first[0])


def test_shards_share_no_row_with_and_without_a_seed():
    for seed in (5489, 4):
        ds.config.set_seed(seed)
        parts = [rows(ds.NumpySlicesDataset(np.arange(12), ["x"], num_shards=3, shard_id=k), 2) for k in range(3)]
        for epoch in range(2):
            assert sorted(sum((part[epoch] for part in parts), [])) == list(range(12))
        assert parts[0][0] != parts[0][1]


def test_without_a_seed_passes_and_iterators_differ_where_a_seed_would_repeat_them():
    subset = ds.NumpySlicesDataset(np.arange(40), ["x"], sampler=ds.SubsetRandomSampler(list(range(40))))
    drawn = ds.NumpySlicesDataset(np.arange(40), ["x"], sampler=ds.WeightedRandomSampler(np.ones(40)))
    for dataset in (subset, drawn):
        first, second = rows(dataset, 2)
        assert first != second and rows(dataset)[0] != first
    ds.config.set_seed(3)
    first, second = rows(drawn, 2)
    assert first == second, "as in MindSpore"
