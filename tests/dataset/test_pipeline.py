"""Operations on rows: what comes out, in which order, under which names. The expectations are MindSpore's behaviour."""
import random

import numpy as np
import pytest

import mindlite
import mindlite.dataset as ds
from mindlite import Tensor
from mindlite.dataset import vision
from mindlite.dataset.iterators import _reset_training_dataset, _set_training_dataset


class Squares:
    """Five samples ([k], 1.5 k)."""

    def __init__(self, count=5):
        self.count = count

    def __getitem__(self, index):
        return np.array([index]), index * 1.5

    def __len__(self):
        return self.count


def squares(count=5, **options):
    return ds.GeneratorDataset(Squares(count), ["a", "b"], **{"shuffle": False, **options})


def slices(*values, name="n"):
    return ds.NumpySlicesDataset({name: list(values)}, shuffle=False)


def rows(dataset):
    return [[value.tolist() for value in row] for row in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)]


def column(dataset):
    return [row[0] for row in rows(dataset)]


@pytest.fixture(autouse=True)
def _settings_stay():
    before = dict(vars(ds.config.settings))
    yield
    vars(ds.config.settings).clear()
    vars(ds.config.settings).update(before)


# ---- sources

def test_a_source_with_getitem_gives_its_samples_in_order_or_shuffled():
    assert column(squares()) == [[0], [1], [2], [3], [4]]
    shuffled = column(ds.GeneratorDataset(Squares(50), ["a", "b"]))
    assert shuffled != sorted(shuffled) and sorted(shuffled) == [[k] for k in range(50)]


def test_a_generator_function_begins_anew_in_each_pass():
    def numbers():
        yield from ((np.array(k),) for k in range(3))
    assert column(ds.GeneratorDataset(numbers, "a").repeat(2)) == [0, 1, 2, 0, 1, 2]
    assert ds.GeneratorDataset(numbers, ["a"]).get_dataset_size() == 3


def test_counting_an_iterator_does_not_use_it_up():
    dataset = ds.GeneratorDataset((k for k in range(3)), ["a"])
    assert dataset.get_dataset_size() == 3 and column(dataset) == [0, 1, 2]


def test_counting_an_iterator_that_begins_again_doubles_no_row():
    class Counted:
        def __iter__(self):
            self.k = 0
            return self

        def __next__(self):
            if self.k == 3:
                raise StopIteration
            self.k += 1
            return (np.array(self.k),)
    dataset = ds.GeneratorDataset(Counted(), ["a"])
    for _ in range(2):
        assert dataset.get_dataset_size() == 3 and dataset.output_shapes() == [[]] and column(dataset) == [1, 2, 3]
    passes = dataset.create_tuple_iterator(num_epochs=2, output_numpy=True)
    assert [[int(row[0]) for row in passes] for _ in range(2)] == [[1, 2, 3], [1, 2, 3]]
    for source in (Counted(), lambda: iter(Counted())):
        assert column(ds.GeneratorDataset(source, ["a"], num_samples=0)) == [1, 2, 3]


def test_python_values_become_arrays():
    dataset = ds.GeneratorDataset([(1, 2.0, True, "s", b"b", np.float32(3))], list("abcdef"))
    assert [str(kind) for kind in dataset.output_types()] == ["int64", "float64", "bool", "<U0", "|S0", "float32"]
    assert dataset.output_shapes() == [[]] * 6


def test_rows_of_arrays_have_the_names_of_a_dict_or_numbered_ones():
    assert ds.NumpySlicesDataset(([1, 2], [3, 4])).get_col_names() == ["column_0", "column_1"]
    assert ds.NumpySlicesDataset([[1, 2], [3, 4]]).get_col_names() == ["column_0"]
    assert rows(ds.NumpySlicesDataset({"a": [1, 2], "b": [[1., 2], [3, 4]]}, shuffle=False)) == [[1, [1, 2]], [2, [3, 4]]]


def test_a_batch_of_arrays_is_taken_at_once_and_is_the_same():
    data = np.random.default_rng(0).normal(size=(40, 3))
    whole = ds.NumpySlicesDataset(data, shuffle=False).batch(16)
    one_by_one = ds.NumpySlicesDataset(data, shuffle=False).map(lambda x: x).batch(16)
    for (a,), (b,) in zip(whole.create_tuple_iterator(num_epochs=1, output_numpy=True),
                          one_by_one.create_tuple_iterator(num_epochs=1, output_numpy=True)):
        assert a.dtype == b.dtype and (a == b).all()


def test_writing_into_a_row_changes_no_later_row():
    data = np.zeros((2, 2))
    for dataset in (ds.NumpySlicesDataset(data, shuffle=False), ds.GeneratorDataset([data], ["a"]).repeat(2),
                    ds.NumpySlicesDataset(data, shuffle=False).batch(2)):
        for (row,) in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True):
            assert not row.any()
            row += 1
    assert not data.any()


@pytest.mark.parametrize("arguments, error", [
    (dict(source=3, column_names=["a"]), TypeError),
    (dict(source=Squares()), ValueError),
    (dict(source=Squares(), column_names=["a", "a"]), ValueError),
    (dict(source=Squares(), column_names=["a", "b"], num_shards=2), ValueError),
    (dict(source=Squares(), column_names=["a", "b"], num_shards=2, shard_id=2), ValueError),
    (dict(source=Squares(), column_names=["a", "b"], num_samples=2, sampler=ds.SequentialSampler()), ValueError),
    (dict(source=Squares(), column_names=["a", "b"], shuffle=True, sampler=ds.SequentialSampler()), ValueError),
    (dict(source=iter([1]), column_names=["a"], sampler=ds.SequentialSampler()), ValueError),
])
def test_a_source_refuses_contradicting_arguments(arguments, error):
    with pytest.raises(error):
        ds.GeneratorDataset(**arguments)


def test_a_row_with_too_many_values_is_an_error_that_says_how_many():
    with pytest.raises(RuntimeError, match="size of column_names is:1 and number of returned NumPy array is:2"):
        rows(ds.GeneratorDataset(Squares(), ["a"]))


def test_column_types_are_checked():
    assert len(rows(ds.GeneratorDataset([np.float32(1)], ["a"], column_types=[mindlite.float32]))) == 1
    with pytest.raises(RuntimeError, match="should be same as specified in column_types"):
        rows(ds.GeneratorDataset([1], ["a"], column_types=[mindlite.float32]))


def test_a_batch_sampler_makes_a_row_of_several_samples():
    assert rows(ds.GeneratorDataset(Squares(), ["a", "b"], batch_sampler=[[0, 1], [4]])) == [[[[0], [1]], [0, 1.5]], [[[4]], [6]]]
    summed = ds.GeneratorDataset(Squares(), ["a", "b"], batch_sampler=[[0, 1], [4]], collate_fn=lambda a, b: (sum(a), sum(b)))
    assert rows(summed) == [[[1], 1.5], [[4], 6]]


def test_a_batch_sampler_runs_under_a_seed():
    before = ds.config.get_seed()
    ds.config.set_seed(3)
    try:
        made = rows(ds.GeneratorDataset(Squares(), ["a", "b"], batch_sampler=[[0, 1], [4]]))
        assert made == [[[[0], [1]], [0, 1.5]], [[[4]], [6]]]
    finally:
        ds.config.set_seed(before)


# ---- map

def test_map_names_its_results():
    assert squares().map(lambda a, b: a + b, ["a", "b"], ["c"]).get_col_names() == ["c"]
    assert squares().map(lambda b: (b, b), ["b"], ["c", "d"]).get_col_names() == ["c", "d", "a"]
    assert squares().map(lambda b: b, ["b"], ["c"]).get_col_names() == ["a", "c"]


def test_map_takes_the_first_column_if_none_is_named_and_goes_through_a_list_of_functions():
    assert rows(squares(2).map([lambda a: a + 1, lambda a: a * 10])) == [[[10], 0], [[20], 1.5]]


def test_map_accepts_tensors_lists_and_dicts_as_results():
    assert column(squares(1).map(lambda a: Tensor(a))) == [[0]]
    assert column(squares(1).map(lambda a: [1, 2])) == [[1, 2]]
    (row,) = squares(1).map(lambda a: {"x": 1}).create_dict_iterator(num_epochs=1, output_numpy=True)
    assert row["a"] == {"x": 1}


@pytest.mark.parametrize("function", [lambda a: None, lambda a: object(), lambda a: [[1], [1, 2]]])
def test_map_refuses_results_that_are_no_arrays(function):
    with pytest.raises(RuntimeError, match="no array"):
        rows(squares().map(function))


def test_an_error_in_a_function_names_sample_operation_and_line():
    def fails_at_three(a):
        if a[0] == 3:
            raise KeyError("three")
        return a
    with pytest.raises(RuntimeError) as caught:
        rows(squares().skip(1).map([lambda a: a, fails_at_three]).batch(2))
    text = str(caught.value)
    assert "KeyError: 'three'" in text and "sample 3 of GeneratorDataset(Squares)" in text and "row 2 of map" in text
    assert "fails_at_three" in text and 'raise KeyError("three")' in text and "map operation: [PyFunc] failed" in text


def test_a_column_that_is_missing_is_an_error_before_anything_is_read():
    for dataset in (squares().map(lambda a: a, ["zz"]), squares().project("zz"), squares().rename("zz", "y"),
                    squares().filter(lambda a: True, "zz")):
        with pytest.raises(RuntimeError, match="exist"):
            next(dataset.create_tuple_iterator())


@pytest.mark.parametrize("bad", [3, [3], [lambda a: a, "x"]])
def test_map_refuses_what_cannot_be_called(bad):
    with pytest.raises(ValueError, match="callable"):
        squares().map(bad)


# ---- batch

def test_batches_go_over_the_ends_of_passes():
    assert column(squares().repeat(2).batch(3)) == [[[0], [1], [2]], [[3], [4], [0]], [[1], [2], [3]], [[4]]]
    assert column(squares().batch(3).repeat(2)) == [[[0], [1], [2]], [[3], [4]]] * 2
    assert column(squares().batch(3, drop_remainder=True)) == [[[0], [1], [2]]]


def test_a_function_of_batch_info_gives_the_batch_size():
    assert [len(b) for b in column(squares().batch(lambda info: info.get_batch_num() + 1))] == [1, 2, 2]


def lockstep(change=lambda rows: rows):
    """The pairs of two branches that do the same, zipped; `change` is applied to one of them."""
    def branch(name):
        image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        found = ds.NumpySlicesDataset([image + k for k in range(12)], [name], shuffle=True)
        return found.map(vision.RandomHorizontalFlip(), name).shuffle(5)
    pairs = ds.zip((branch("image"), change(branch("mask").project(["mask"]))))
    return [(a.tolist(), b.tolist()) for a, b in pairs.create_tuple_iterator(num_epochs=1, output_numpy=True)]


def test_branches_that_do_the_same_draw_the_same_where_a_seed_is_set(monkeypatch):
    monkeypatch.setattr(ds.config.settings, "seed", 11)
    found = lockstep()
    assert all(image == mask for image, mask in found) and len({str(image) for image, _ in found}) == 12
    assert not all(image == mask for image, mask in lockstep(lambda rows: rows.shuffle(5))), "another shuffle is another one"

    def noise(name):
        return slices(*range(8), name=name).map(lambda x: x + np.random.rand() + random.random(), name)
    drawn = rows(ds.zip((noise("a"), noise("b"))))
    assert all(a != b for a, b in drawn), "Python functions have numbers of their own"
    monkeypatch.setattr(ds.config.settings, "seed", ds.config.DEFAULT_SEED)
    assert not all(image == mask for image, mask in lockstep()), "without a seed each branch has its own order"


def test_batch_info_counts_the_epochs_of_the_iterator_and_the_batches_of_a_pass():
    seen, asked = [], []

    def note(a, info):
        seen.append((info.get_epoch_num(), info.get_batch_num()))
        return a,

    def two(info):
        asked.append((info.get_epoch_num(), info.get_batch_num()))
        return np.int64(2)
    dataset = squares(3).repeat(2).batch(two, per_batch_map=note, input_columns=["a"]).repeat(2)
    iterator = dataset.create_tuple_iterator(num_epochs=2)
    assert [len(list(iterator)) for _ in range(2)] == [6, 6]
    assert seen == asked == [(epoch, batch) for epoch in (0, 1) for _ in range(2) for batch in range(3)]


@pytest.mark.parametrize("arguments, error, why", [
    ({"max_rowsize": (12, 20)}, TypeError, "max_rowsize"), ({"max_rowsize": "16"}, TypeError, "max_rowsize"),
    ({"max_rowsize": [16]}, TypeError, "of length 2"), ({"max_rowsize": -2}, ValueError, "max_rowsize"),
    ({"input_columns": ["a"]}, ValueError, "only when per_batch_map is set"), ({"per_batch_map": 3}, ValueError, "callable"),
    ({"input_columns": ["a"], "per_batch_map": lambda a, b, info: (a, b)}, ValueError, "signature of per_batch_map"),
    ({"batch_size": lambda: 2}, ValueError, "one parameter")])
def test_batch_refuses_bad_arguments_before_a_row_is_read(arguments, error, why):
    with pytest.raises(error, match=why):
        squares().batch(**{"batch_size": 2, **arguments})


@pytest.mark.parametrize("arguments, why", [
    ({"input_columns": ["z"], "per_batch_map": lambda a, info: a}, "'z' of 'input_columns' doesn't exist"),
    ({"input_columns": ["a"], "output_columns": ["b"], "per_batch_map": lambda a, info: a}, "should not be in output_columns"),
    ({"per_batch_map": lambda a, b, info: (a, None)}, "list, tuple or numpy array, but got: NoneType"),
    ({"batch_size": lambda info: 0}, "integer greater than 0"), ({"batch_size": lambda info: 2.5}, "integer greater than 0"),
    ({"batch_size": lambda info: 1 // 0}, "division by zero")])
def test_batch_says_what_is_wrong_with_columns_and_functions(arguments, why):
    with pytest.raises(RuntimeError, match=why):
        rows(squares().batch(**{"batch_size": 2, **arguments}))


def test_per_batch_map_sees_lists_of_arrays():
    seen = []

    def add(a, b, info):
        seen.append((type(a), len(a), info.get_batch_num(), info.get_epoch_num()))
        return [x + 10 for x in a], b
    assert column(squares(3).batch(2, per_batch_map=add)) == [[[10], [11]], [[12]]]
    assert seen == [(list, 2, 0, 0), (list, 1, 1, 0)]
    assert squares().batch(2, per_batch_map=lambda a, info: (a, a), input_columns=["a"],
                           output_columns=["c", "d"]).get_col_names() == ["c", "d", "b"]


def test_rows_of_different_shapes_or_types_are_not_stacked():
    ragged = ds.GeneratorDataset([np.zeros(1), np.zeros(2)], ["a"], shuffle=False)
    with pytest.raises(RuntimeError, match="different shapes in column 0. First element had shape <1> and this .* <2>"):
        rows(ragged.batch(2))
    with pytest.raises(RuntimeError, match="different types"):
        rows(ds.GeneratorDataset([1, 2.0], ["a"], shuffle=False).batch(2))


def test_padded_batch_pads_to_the_largest_or_to_a_shape():
    growing = ds.GeneratorDataset([np.arange(k + 1) for k in range(3)], ["a"], shuffle=False)
    assert column(growing.padded_batch(2, pad_info={})) == [[[0, 0], [0, 1]], [[0, 1, 2]]]
    assert column(growing.padded_batch(3, pad_info={"a": ([4], -1)})) == [[[0, -1, -1, -1], [0, 1, -1, -1], [0, 1, 2, -1]]]
    with pytest.raises(RuntimeError, match="rank of the pad shape"):
        rows(growing.padded_batch(3, pad_info={"a": ([2, 2], -1)}))
    assert column(growing.padded_batch(3, pad_info={"a": ([2], -1)})) == [[[0, -1], [0, 1], [0, 1]]], "longer rows are cut"
    words = ds.NumpySlicesDataset({"w": [["a", "bc"]]}, shuffle=False)
    assert column(words.padded_batch(1, pad_info={"w": ([3], "-")})) == [[["a", "bc", "-"]]]


def test_buckets_hold_rows_of_similar_length():
    growing = ds.GeneratorDataset([np.arange(k + 1) for k in range(9)], ["a"], shuffle=False)
    shapes = [np.shape(b) for b in column(growing.bucket_batch_by_length(["a"], [3, 6], [2, 2, 2], pad_info={"a": ([None], 0)}))]
    assert shapes == [(2, 2), (2, 4), (2, 7), (2, 9), (1, 5)]
    short = growing.take(5).bucket_batch_by_length(["a"], [3, 6], [2, 2, 2], pad_info={"a": ([None], 0)},
                                                   pad_to_bucket_boundary=True, drop_remainder=True)
    assert [np.shape(b) for b in column(short)] == [(2, 2), (2, 5)]


@pytest.mark.parametrize("call, error", [
    (lambda d: d.batch(0), ValueError), (lambda d: d.batch("a"), TypeError), (lambda d: d.shuffle(1), ValueError),
    (lambda d: d.shuffle("a"), TypeError), (lambda d: d.repeat(0), ValueError), (lambda d: d.take(0), ValueError),
    (lambda d: d.skip(-1), ValueError), (lambda d: d.filter(3), TypeError), (lambda d: ds.zip(d), TypeError),
    (lambda d: ds.zip((d,)), ValueError), (lambda d: ds.zip((d, 3)), TypeError), (lambda d: d.split([-1, 6]), ValueError),
    (lambda d: d.rename(["a", "b"], ["q"]), ValueError), (lambda d: d.split([0.4, 0.4]), ValueError),
    (lambda d: d.split([1, 0.4]), ValueError),
    (lambda d: d.split([3, 1]), RuntimeError), (lambda d: rows(ds.zip((d, d))), RuntimeError),
    (lambda d: rows(d + d.rename("a", "q")), RuntimeError), (lambda d: d.create_tuple_iterator(num_epochs=0), ValueError),
    (lambda d: d.apply(3), TypeError), (lambda d: d.apply(lambda x: 3), TypeError),
])
def test_operations_refuse_bad_arguments(call, error):
    with pytest.raises(error):
        call(squares())


# ---- order

def test_shuffle_draws_from_a_buffer_anew_in_each_pass():
    ds.config.set_seed(1)
    dataset = squares(40).shuffle(8)
    first, second = (lambda r: (r[:40], r[40:]))([row[0][0] for row in rows(dataset.repeat(2))])
    assert sorted(first) == sorted(second) == list(range(40)) and first != second
    assert all(value < place + 8 for place, value in enumerate(first)), "nothing comes before it was in the buffer"
    assert [row[0][0] for row in rows(dataset)] == first, "the same seed gives the same order"


def test_parts_of_a_split_share_no_row_in_any_pass():
    for sizes in ([0.6, 0.4], [3, 2]):
        one, other = squares().split(sizes)
        for part in (one.repeat(2), other.repeat(2)):
            values = [row[0][0] for row in rows(part)]
            assert values[:len(values) // 2] == values[len(values) // 2:] or set(values[:len(values) // 2]) == set(
                values[len(values) // 2:])
    ds.config.set_seed(1)
    one, other = squares(20).split([0.5, 0.5])
    assert not {r[0][0] for r in rows(one)} & {r[0][0] for r in rows(other)}
    assert [column(part) for part in squares().split([0.5, 0.5], randomize=False)] == [[[0], [1], [2]], [[3], [4]]]


def test_zip_stops_with_the_shortest_and_concat_goes_on():
    two = squares().take(2).rename(["a", "b"], ["c", "d"])
    assert rows(ds.zip((squares(), two))) == [[[0], 0, [0], 0], [[1], 1.5, [1], 1.5]]
    assert squares().zip(two).get_col_names() == ["a", "b", "c", "d"] and squares().zip(two).get_dataset_size() == 2
    assert column(squares(2) + squares(3)) == [[0], [1], [0], [1], [2]]
    generated = ds.GeneratorDataset(lambda: iter([(1,), (2,)]), ["c"])
    assert (squares(3) + generated).get_dataset_size() == 5, "the columns are compared when rows are read"
    with pytest.raises(RuntimeError, match="should be the same"):
        list(squares(3) + generated)


def test_filter_project_rename_apply_flat_map():
    assert rows(squares().filter(lambda b: b > 4, "b")) == [[[3], 4.5], [[4], 6]]
    assert rows(squares(2).project(["b"])) == [[0], [1.5]]
    assert squares().project(["b", "a"]).get_col_names() == ["b", "a"]
    assert squares().rename("a", "q").get_col_names() == ["q", "b"]
    assert squares().apply(lambda d: d.batch(2)).get_batch_size() == 2
    assert column(slices(2, 3).flat_map(lambda n: slices(*range(int(n))))) == [0, 1, 0, 1, 2]


def test_sizes_are_known_without_reading():
    class Silent(Squares):
        def __getitem__(self, index):
            raise AssertionError("read")
    silent = ds.GeneratorDataset(Silent(), ["a", "b"])
    assert silent.repeat(3).batch(2).get_dataset_size() == 8 and len(silent.skip(1).take(9)) == 4
    assert silent.batch(2).get_batch_size() == 2 and silent.batch(2).repeat(3).get_repeat_count() == 3
    assert silent.num_classes() is None and silent.get_class_indexing() == {}


def test_estimated_shapes_leave_open_what_differs():
    growing = ds.GeneratorDataset([np.zeros((2, k)) for k in range(3)], ["a"], shuffle=False)
    assert growing.output_shapes() == [[2, 0]] and growing.output_shapes(estimate=True) == [[2, None]]


# ---- iterators

def test_an_iterator_goes_on_with_the_next_epoch_until_the_last():
    iterator = squares().create_dict_iterator(num_epochs=2, output_numpy=True)
    assert len(list(iterator)) == 5 and len(list(iterator)) == 5
    with pytest.raises(RuntimeError, match="beyond the specified number of epochs"):
        next(iterator)


def test_rows_are_tensors_text_stays_arrays():
    (row,) = ds.GeneratorDataset([(np.float32(1), "x")], ["n", "s"]).create_dict_iterator(num_epochs=1)
    assert isinstance(row["n"], Tensor) and row["n"].dtype == mindlite.float32 and row["s"] == np.array("x")
    assert isinstance(next(iter(squares()))[0], Tensor)


def test_columns_of_a_tuple_iterator_can_be_chosen():
    assert len(next(squares().create_tuple_iterator(columns=["b"]))) == 1


def test_an_iterator_can_begin_in_the_middle_without_computing_what_was_before():
    seen = []

    def note(a):
        seen.append(int(a[0]))
        return a
    ds.config.set_seed(4)
    dataset = squares().shuffle(5).map(note)
    iterator = dataset.create_tuple_iterator(num_epochs=2, output_numpy=True)
    expected = [row[0].tolist() for _ in range(2) for row in iterator]
    dataset.set_init_step(7)
    seen.clear()
    assert [row[0].tolist() for row in dataset.create_tuple_iterator(num_epochs=2, output_numpy=True)] == expected[7:]
    assert len(seen) == 3


def test_a_stopped_iterator_says_so():
    iterator = squares().create_tuple_iterator()
    next(iterator)
    iterator.stop()
    with pytest.raises(RuntimeError, match="does not have a running"):
        next(iterator)
    other = squares().create_tuple_iterator()
    ds._cleanup()
    with pytest.raises(RuntimeError):
        next(other)


# ---- seeds, bad samples, callbacks

def test_the_global_seed_is_the_seed_of_pipelines():
    mindlite.set_seed(11)
    assert ds.config.get_seed() == 11
    one, again = column(squares(30).shuffle(30)), column(squares(30).shuffle(30))
    mindlite.set_seed(12)
    assert one == again != column(squares(30).shuffle(30))


def test_without_a_seed_each_iterator_has_an_order_of_its_own():
    ds.config.settings.seed = ds.config.DEFAULT_SEED
    assert column(squares(30).shuffle(30)) != column(squares(30).shuffle(30))


def test_functions_of_a_seeded_pipeline_draw_by_sample_and_leave_the_program_s_generators_alone():
    import random
    ds.config.set_seed(5)
    dataset = squares(6).map(lambda a: np.array([np.random.rand(), random.random()]))
    np.random.seed(0), random.seed(0)
    expected = np.random.rand(), random.random()
    np.random.seed(0), random.seed(0)
    whole = column(dataset)
    assert (np.random.rand(), random.random()) == expected
    assert whole == column(dataset) and len({v for row in whole for v in row}) == 12
    assert column(squares(6).skip(3).map(lambda a: np.array([np.random.rand(), random.random()]))) != whole[3:]


def test_bad_samples_are_left_out_and_counted_or_replaced():
    def odd_fail(a):
        if a[0] % 2:
            raise ValueError("odd")
        return a
    ds.config.set_error_samples_mode(ds.ErrorSamplesMode.SKIP)
    iterator = squares().map(odd_fail).batch(2).create_tuple_iterator(num_epochs=1, output_numpy=True)
    with pytest.warns(UserWarning, match="odd.*sample 1 of GeneratorDataset"):
        assert [row[0].tolist() for row in iterator] == [[[0], [2]], [[4]]]
    assert iterator.skipped == 2
    ds.config.set_error_samples_mode(ds.ErrorSamplesMode.REPLACE)
    with pytest.warns(UserWarning):
        assert [len(b) for b in column(squares().map(odd_fail).batch(2))] == [2, 2, 1]


def test_callbacks_are_called_around_epochs_and_steps():
    calls = []

    class Notes(ds.DSCallback):
        def ds_begin(self, context):
            calls.append("begin")

        def ds_epoch_begin(self, context):
            calls.append(f"epoch {context.cur_epoch_num}")

        def ds_step_begin(self, context):
            calls.append(f"step {context.cur_step_num_in_epoch}/{context.cur_step_num}")

        def ds_epoch_end(self, context):
            calls.append("end")
    iterator = squares(2).map(lambda a: a, callbacks=[Notes()]).create_tuple_iterator(num_epochs=2)
    for _ in range(2):
        list(iterator)
    assert calls == ["begin", "epoch 1", "step 1/1", "step 2/2", "end", "epoch 2", "step 1/3", "step 2/4", "end"]
    calls.clear()
    iterator = squares(3).map(lambda a: a, callbacks=Notes(2)).repeat(2).take(5).create_tuple_iterator(num_epochs=2)
    for _ in range(2):
        list(iterator)
    assert calls == ["begin", "epoch 1", "step 1/1", "step 3/3", "step 5/5", "end",
                     "epoch 2", "step 1/6", "step 3/8", "step 5/10", "end"], "passes below a repeat belong to one epoch"


def test_who_asks_for_shapes_and_sizes_calls_no_callback():
    class Notes(ds.DSCallback):
        def ds_begin(self, context):
            raise AssertionError("called")
    dataset = squares(3).map(lambda a: a, callbacks=Notes()).filter(lambda a, b: True)
    assert dataset.output_shapes() == dataset.output_shapes(estimate=True) == [[1], []] and dataset.get_dataset_size() == 3
    assert len(dataset.output_types()) == 2


def test_bad_samples_are_errors_in_debug_mode():
    def fails(a):
        raise ValueError("odd")
    ds.config.set_error_samples_mode(ds.ErrorSamplesMode.SKIP)
    ds.config.set_debug_mode(True)
    with pytest.raises(RuntimeError, match="odd"):
        rows(squares().map(fails))


def test_a_waiting_callback_waits_for_the_training_step_of_the_rows_before():
    class Notes(ds.WaitedDSCallback):
        def sync_step_begin(self, train_run_context, ds_run_context):
            calls.append((train_run_context, ds_run_context.cur_step_num))
    calls, note = [], Notes(step_size=2)
    for number, _ in enumerate(squares(6).map(lambda a: a, callbacks=note).batch(2).create_tuple_iterator(num_epochs=1)):
        note.step_end(f"training step {number}")
    assert calls == [("training step 0", 3), ("training step 1", 5)]
    ds.config.set_callback_timeout(1)
    with pytest.raises(RuntimeError, match="has not called step_end"):
        list(squares(6).map(lambda a: a, callbacks=Notes(step_size=2)).batch(2).create_tuple_iterator(num_epochs=1))


def test_a_dict_has_the_shape_that_mindspore_gives_it_and_weights_are_numbers():
    assert ds.GeneratorDataset([({"k": 1}, np.ones(3))], ["d", "x"]).output_shapes() == [[0], [3]]
    for bad in (None, "", "s", [None]):
        with pytest.raises(TypeError, match=r"weights element must be number, but got w\[0\]"):
            ds.WeightedRandomSampler(bad)


def test_the_queue_of_a_device_is_the_rows_themselves():
    queue = squares().batch(2).device_que(queue_name="rows")
    queue.send(num_epochs=2), queue.stop_send(), queue.continue_send()
    types, shapes = queue.get_data_info()
    assert rows(queue) == rows(squares().batch(2)) and shapes == [[2, 1], [2]] and len(types) == 2
    again = ds.deserialize(ds.serialize(ds.FakeImageDataset(3).device_que(queue_name="q")))
    assert again.queue_name == "q" and again.send_epoch_end
    assert queue.queue_name == "rows" and queue.get_dataset_size() == 3 and squares().to_device().queue_name
    with pytest.raises(TypeError, match="send_epoch_end"):
        squares().device_que(send_epoch_end=1)
    with pytest.raises(ValueError, match="num_epochs"):
        queue.send(-2)


def test_sync_wait_gives_no_more_rows_than_were_allowed():
    told = []
    dataset = squares().sync_wait("go", num_batch=2, callback=told.append)
    iterator = dataset.create_tuple_iterator(num_epochs=1)
    next(iterator), next(iterator)
    dataset.sync_update("go", data=1)
    assert next(iterator) is not None and told == [1]
    next(iterator)
    with pytest.raises(RuntimeError, match="sync_update"):
        next(iterator)
    with pytest.raises(RuntimeError, match="not found"):
        dataset.sync_update("stop")


def test_a_sync_wait_below_a_batch_counts_batches():
    dataset = squares(8).sync_wait("go", num_batch=2).batch(2)
    iterator = dataset.create_tuple_iterator(num_epochs=1)
    next(iterator), next(iterator)
    with pytest.raises(RuntimeError, match="4 rows have been given"):
        next(iterator)
    iterator = dataset.create_tuple_iterator(num_epochs=1)
    next(iterator), next(iterator)
    dataset.sync_update("go", num_batch=1)
    next(iterator)
    with pytest.raises(RuntimeError, match="was not called"):
        next(iterator)


def test_a_sync_wait_is_switched_off_by_hand_and_by_a_wrong_update():
    for switch in (lambda d: d.disable_sync(), lambda d: d.sync_update("stop"), lambda d: d.sync_update("go", -1)):
        dataset = squares().sync_wait("go")
        try:
            switch(dataset)
        except RuntimeError as error:
            assert "not found" in str(error) or "positive integer, got: -1" in str(error)
        assert len(rows(dataset)) == 5
    with pytest.raises(RuntimeError, match="No shuffle after sync"):
        squares().sync_wait("go").shuffle(3)
    with pytest.raises(ValueError, match="greater than 0"):
        squares().sync_wait("go", num_batch=0)


def test_a_batch_of_true_is_one_row_and_of_minus_one_is_refused_when_rows_are_asked_for():
    assert len(rows(squares().batch(True))) == 5
    with pytest.raises(RuntimeError, match="Batch size cannot be -1"):
        rows(squares().batch(-1))


# ---- settings

@pytest.mark.parametrize("name, good, bad", [("seed", 3, -1), ("prefetch_size", 2, 0), ("callback_timeout", 1, 0),
                                             ("monitor_sampling_interval", 5, 0), ("num_parallel_workers", 1, 0)])
def test_settings_are_checked(name, good, bad):
    setter, getter = getattr(ds.config, "set_" + name), getattr(ds.config, "get_" + name)
    setter(good)
    assert getter() == good
    with pytest.raises(ValueError):
        setter(bad)
    with pytest.raises(TypeError):
        setter("1")


def test_more_workers_than_cores_are_cut_down_with_a_warning():
    with pytest.warns(UserWarning, match="cores"):
        ds.config.set_num_parallel_workers(100000)


# ---- what MindSpore's own tests told

def _odd_fail(wrong):
    def check(value):
        if wrong(int(value)):
            raise ValueError("bad")
        return value
    return check


@pytest.mark.parametrize("count, wrong, expected", [
    (3, lambda k: k == 0, [1, 2, 1]), (20, lambda k: k == 0, [*range(1, 17), 1, *range(17, 20)]),
    (30, lambda k: k < 10, [*range(10, 26), 10, 26, 11, 27, 12, 28, 13, 29, *range(14, 20)]),
    (40, lambda k: k < 18, [*range(18, 34), 18, 34, 19, 35, 20, 36, 21, 37, 22, 38, 23, 39, *range(24, 36)]),
    (40, lambda k: k > 22, [*range(23), *range(16), 0])])
def test_good_rows_stand_in_for_bad_ones_in_mindspores_order(count, wrong, expected):
    ds.config.set_error_samples_mode(ds.ErrorSamplesMode.REPLACE)
    try:
        with pytest.warns(UserWarning, match="bad sample"):
            found = [int(row["n"]) for row in slices(*range(count)).map(_odd_fail(wrong), "n").create_dict_iterator(1)]
        assert found == expected
        with pytest.raises(RuntimeError, match="All data is garbage"), pytest.warns(UserWarning):
            list(slices(1, 2).map(_odd_fail(lambda k: True), "n"))
    finally:
        ds.config.set_error_samples_mode(ds.ErrorSamplesMode.RETURN)


def test_shards_of_concatenated_datasets_differ_by_a_row():
    both = slices(0, 1, 2, 3, 4) + slices(5, 6, 7)
    parts = []
    for k in range(3):
        both.use_sampler(ds.DistributedSampler(3, k, shuffle=False))
        parts.append([int(row["n"]) for row in both.create_dict_iterator(1)])
        assert both.get_dataset_size() == len(parts[-1])
    assert parts == [[0, 3, 6], [1, 4, 7], [2, 5]]


@pytest.mark.parametrize("make, error, message", [
    (lambda: (slices(1) + slices(2)).use_sampler(ds.SequentialSampler()), TypeError, "DistributedSampler or RandomSampler"),
    (lambda: (slices(1) + slices(2)).use_sampler(ds.DistributedSampler(2, 0)), ValueError, "shuffle of DistributedSampler"),
    (lambda: (slices(1) + slices(2)).use_sampler(ds.RandomSampler(True)), ValueError, "replacement"),
    (lambda: (slices(1).batch(1) + slices(2)).use_sampler(ds.DistributedSampler(2, 0, False)), TypeError,
     "must not be BatchDataset"),
    (lambda: slices(1, 2).skip(2) + slices(2), ValueError, "There are no samples in the dataset number 0")])
def test_a_concat_refuses_what_it_cannot_shard(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_sample_that_is_a_list_is_a_row_of_columns():
    dataset = ds.GeneratorDataset([[1, 2.5], [3, 4.5]], ["a", "b"], shuffle=False)
    assert [[float(v) for v in row] for row in dataset] == [[1, 2.5], [3, 4.5]]
    with pytest.raises(RuntimeError, match="the size of column_names is:1"):
        list(ds.GeneratorDataset([[1, 2]], ["a"]))


def test_an_operation_on_images_takes_several_columns_with_the_same_draws():
    from mindlite.dataset import vision
    image = np.arange(300, dtype=np.uint8).reshape(10, 10, 3)
    dataset = ds.NumpySlicesDataset({"x": image[None], "y": image[None]}, shuffle=False)
    for operation in (vision.RandomCrop(4), vision.RandomResizedCrop(5), vision.RandomHorizontalFlip(0.5),
                      vision.RandomVerticalFlip(0.5)):
        row, = dataset.map(operation, ["x", "y"]).create_dict_iterator(1, output_numpy=True)
        np.testing.assert_array_equal(row["x"], row["y"])
    for operation in (vision.HWC2CHW(), vision.Invert(), vision.Normalize([1.0], [1.0])):
        with pytest.raises(RuntimeError, match="can only accept one tensor as input"):
            next(dataset.map(operation, ["x", "y"]).create_dict_iterator(1))


def test_a_number_of_workers_beyond_all_machines_is_refused():
    for count in (0, 1 << 20):
        with pytest.raises(ValueError, match="num_parallel_workers exceeds the boundary between 1 and"):
            slices(1).map(abs, "n", num_parallel_workers=count)


def test_large_rows_are_stacked_as_small_ones_are_and_differences_are_told():
    large = np.random.default_rng(0).normal(size=(5, 100, 100)).astype(np.float32)
    rows = ds.GeneratorDataset([(large[k], k, large[k, :1, :2], str(k)) for k in range(5)], ["a", "b", "c", "d"], shuffle=False)
    first, second = rows.batch(3).create_dict_iterator(1, output_numpy=True)
    np.testing.assert_array_equal(np.concatenate([first["a"], second["a"]]), large)
    np.testing.assert_array_equal(np.concatenate([first["c"], second["c"]]), large[:, :1, :2])
    assert first["b"].tolist() == [0, 1, 2] and second["d"].tolist() == ["3", "4"]
    for other, message in ((large[0, 1:], "different shapes in column 1. First element had shape <100,100> and this element had "
                                          "shape <99,100>"), (large[0].astype(np.float64), "different types in column 1")):
        wrong = ds.GeneratorDataset([(large[0], large[1]), (large[2], large[3]), (large[4], other)], ["a", "b"], shuffle=False)
        with pytest.raises(RuntimeError, match=message):
            list(wrong.batch(3))


def test_an_iterator_that_is_reset_goes_on_with_the_rows_it_would_have_given():
    ds.config.set_seed(5)
    dataset = ds.NumpySlicesDataset(np.arange(7), ["a"], shuffle=True).batch(2, drop_remainder=True)
    reader = dataset.create_tuple_iterator(num_epochs=3, output_numpy=True)
    whole = [row[0].tolist() for _ in range(3) for row in reader]
    again = dataset.create_tuple_iterator(num_epochs=3, output_numpy=True)
    _set_training_dataset(again)
    assert next(again)[0].tolist() == whole[0]
    _reset_training_dataset(4, 3)
    assert [row[0].tolist() for _ in range(2) for row in again] == whole[4:]
    for step, said in ((-1, "must be >= 0"), (9, r"less than dataset_size \* num_epochs")):
        with pytest.raises(RuntimeError, match=said):
            _reset_training_dataset(step, 3)


def test_columns_that_project_leaves_out_need_not_have_one_shape_in_a_batch():
    rows = ds.GeneratorDataset(lambda: iter([(np.zeros(n), np.int32(n)) for n in (1, 2, 3)]), ["ragged", "n"], shuffle=False)
    renamed = rows.rename("n", "m").map(lambda m: m * 2, "m").project(["m"])
    assert [batch.tolist() for batch, in renamed.batch(2).create_tuple_iterator(num_epochs=1, output_numpy=True)] == [[2, 4], [6]]
    arrays = ds.NumpySlicesDataset(([1, 2], [5, 6], [7, 8]), ["x", "a", "b"], shuffle=False).project(["b", "a"]).project("a")
    assert [[v.tolist() for v in row] for row in arrays.batch(2).create_tuple_iterator(output_numpy=True)] == [[[5, 6]]]


class Ten(ds.Sampler):
    """0 to 9, from another one in each pass."""
    first = 0

    def __iter__(self):
        return iter([(k + self.first) % 10 for k in range(10)])

    def reset(self):
        self.first += 1


def test_a_sampler_of_ones_own_begins_anew_between_passes_and_says_how_many_there_are():
    numbers = list(range(10))
    dataset = ds.NumpySlicesDataset(numbers, ["n"], sampler=Ten(3))
    passes = dataset.create_dict_iterator(num_epochs=3, output_numpy=True)
    assert dataset.get_dataset_size() == 3
    assert [[int(row["n"]) for row in passes] for _ in range(3)] == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]

    class Long(Ten):
        def __len__(self):
            return 12
    for sampler in (Ten(12), Long()):
        dataset = ds.NumpySlicesDataset(numbers, ["n"], sampler=sampler)
        assert dataset.get_dataset_size() == 12
        with pytest.raises(RuntimeError, match="from generator 10 is different from generator.len 12"):
            list(dataset.create_dict_iterator(num_epochs=1))

    class Items:
        def __getitem__(self, k):
            return [4, 1][k]
    for sampler, wanted in ((3, [3]), ([4, 2], [4, 2]), (np.array([5]), [5]), (Items(), [4, 1])):
        assert column(ds.NumpySlicesDataset(numbers, ["n"], sampler=sampler)) == wanted
    for sampler in ([4, 2, 1], (4, 2, 1), iter([4, 2, 1])):
        assert column(ds.NumpySlicesDataset(numbers, ["n"], sampler=sampler, num_samples=2)) == [4, 2]
    for sampler, why in (([1.5], r"list\[0\]: 1.5"), ("a", "Unsupported sampler"), (np.array([[1, 2]]), "must be int")):
        with pytest.raises(TypeError, match=why):
            ds.NumpySlicesDataset(numbers, ["n"], sampler=sampler)


def test_hooks_of_the_debug_mode_see_what_operations_are_given_and_give(capsys):
    from mindlite.dataset import debug, vision
    image = np.zeros((1, 4, 6, 3), np.uint8)
    seen = []

    class Keep(debug.DebugHook):
        def compute(self, *args):
            seen.append((self.is_first_op, self.prev_op_name, args[0][0].shape))

    def rows():
        return ds.NumpySlicesDataset(image, ["x"]).map([vision.Normalize([1.0] * 3, [1.0] * 3), vision.HWC2CHW()], "x")
    plain, = rows().create_tuple_iterator(num_epochs=1, output_numpy=True)
    ds.config.set_debug_mode(True, [debug.PrintMetaDataHook(), debug.PrintDataHook(), Keep()])
    shown, = rows().create_tuple_iterator(num_epochs=1, output_numpy=True)
    np.testing.assert_array_equal(shown[0], plain[0])
    assert seen == [(True, "Normalize", (4, 6, 3)), (False, "Normalize", (4, 6, 3)), (False, "HWC2CHW", (3, 4, 6))]
    told = capsys.readouterr().out
    assert "Print the [INPUT] of the operation [Normalize]" in told and "The dtype is [float32]. The shape is [(3, 4, 6)]" in told
    ds.config.set_debug_mode(False)
    seen.clear()
    list(ds.NumpySlicesDataset(image, ["x"]).map([Keep(), vision.HWC2CHW()], "x").create_tuple_iterator(num_epochs=1))
    assert seen == [(False, None, (4, 6, 3))]
    for hooks in ([3], "x"):
        with pytest.raises(TypeError, match="debug_hook_list"):
            ds.config.set_debug_mode(True, hooks)


def test_per_batch_map_gives_whole_columns_or_as_many_values_as_there_are_rows():
    def batched(function):
        row, = squares(2).batch(2, per_batch_map=function).create_dict_iterator(1, output_numpy=True)
        return row["a"], row["b"]
    whole = batched(lambda a, b, info: (np.arange(5), {"k": 1}))
    assert whole[0].tolist() == [0, 1, 2, 3, 4] and whole[1]["k"] == 1
    listed = batched(lambda a, b, info: ([{"k": 1, "t": (2, 3)}, {"k": 4, "t": (5, 6)}], np.array([7, 8])))
    assert [int(k) for k in listed[0]["k"]] == [1, 4] and [int(k) for k in listed[0]["t"][1]] == [5, 6]
    assert listed[1].tolist() == [7, 8]
    for function, why in ((lambda a, b, info: ({"k": 1}, b), "mismatched types"),
                          (lambda a, b, info: (a, [1]), "column: b expects: 2 rows")):
        with pytest.raises(RuntimeError, match=why):
            batched(function)
