"""Worker processes: the same rows as without them, errors that say where, and nothing that stays behind.

What could hang runs in a process of its own with a time limit.
"""
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import mindlite.dataset as ds
from mindlite.dataset import pipeline, workers

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are made by fork")
SOURCE = """
    import os, signal, sys, time
    import numpy as np
    import mindlite.dataset as ds

    class Source:
        def __getitem__(self, index):
            return np.full((64, 64), index, np.float32), index

        def __len__(self):
            return 200
"""


class Noise:
    def __getitem__(self, index):
        return np.random.rand(5, index % 3 + 1), index

    def __len__(self):
        return 23


def script(body, limit=20):
    """Run a program; gives (exit code, output, seconds)."""
    text = textwrap.dedent(SOURCE) + textwrap.dedent(body)
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=limit)
    return done.returncode, done.stdout + done.stderr, time.monotonic() - start


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as stream:
        return [int(child) for child in stream.read().split()]


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stream:
            return stream.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pids, within=2.0):
    until = time.monotonic() + within
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.02)
    return not any(map(alive, pids))


def values(workers, seed=7):
    ds.config.set_seed(seed)
    dataset = ds.GeneratorDataset(Noise(), ["x", "y"], num_parallel_workers=workers)
    dataset = dataset.shuffle(5).map(lambda x: x + np.random.rand(), "x").filter(lambda y: y != 3, "y")
    dataset = dataset.padded_batch(4, pad_info={}).repeat(2)
    iterator = dataset.create_tuple_iterator(num_epochs=2, output_numpy=True)
    return [[v.tolist() for v in row] for _ in range(2) for row in iterator]


@pytest.mark.filterwarnings("ignore:num_parallel_workers")
def test_order_and_numbers_do_not_depend_on_the_number_of_workers(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(ds.config.settings, "seed", 5489)
    one = values(1)
    assert values(2) == one and values(3) == one and values(2, seed=8) != one


def test_python_functions_run_in_other_processes_when_asked(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    dataset = ds.NumpySlicesDataset(np.arange(20), shuffle=False)
    here = {int(x) for (x,) in dataset.map(lambda x: os.getpid()).create_tuple_iterator(num_epochs=1, output_numpy=True)}
    there = {int(x) for (x,) in dataset.map(lambda x: os.getpid(), num_parallel_workers=2, python_multiprocessing=True)
             .create_tuple_iterator(num_epochs=1, output_numpy=True)}
    assert here == {os.getpid()} and os.getpid() not in there


def test_arrays_of_any_size_and_kind_come_through(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    samples = [np.zeros((0, 3)), np.arange(3_000_000), np.array("text"), np.array(b"\0x"), np.ones((3, 4), np.float16).T,
               np.array(3 + 4j), {"a": np.arange(3)}]
    dataset = ds.GeneratorDataset(samples, ["a"], shuffle=False, num_parallel_workers=2)
    for expected, (found,) in zip(samples, dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)):
        if isinstance(expected, dict):
            assert (found["a"] == expected["a"]).all()
        else:
            assert found.dtype == expected.dtype and found.shape == expected.shape and (found == expected).all()


def test_batches_stay_what_they_are_while_the_workers_go_on(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)

    class Large:
        def __getitem__(self, index):
            return np.full(20_000, index, np.float32), index

        def __len__(self):
            return 120
    kept = []

    def keeps(x):
        """A user's function that holds what it is given: nothing writes there later."""
        assert all((before == before[:, :1]).all() and before[0, 0] == number for before, number in kept)
        kept.append((x, x[0, 0]))
        return x
    batches = ds.GeneratorDataset(Large(), ["x", "y"], shuffle=False, num_parallel_workers=2).batch(4)
    for dataset in (batches, batches.map(keeps, "x"), batches.batch(1).map(lambda x: x[0], "x")):
        rows = list(dataset.create_tuple_iterator(num_epochs=2, output_numpy=True))          # more than are lent
        assert len(rows) == 30
        for k, (x, y) in enumerate(rows):
            assert (x == 4 * k + np.arange(4)[:, None]).all() and (np.ravel(y) == 4 * k + np.arange(4)).all()
            x += 1                                           # they are the program's own
        assert all((x == 4 * k + 1 + np.arange(4)[:, None]).all() for k, (x, _) in enumerate(rows))


def test_memory_that_the_program_gives_back_serves_again(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    dataset = ds.GeneratorDataset([np.full(100_000, k) for k in range(60)], ["x"], shuffle=False, num_parallel_workers=2)
    iterator = dataset.batch(2).create_tuple_iterator(num_epochs=1, output_numpy=True)
    addresses = {x.__array_interface__["data"][0] for x, in iterator}
    assert len(addresses) <= 2 * (workers.DEPTH + workers.SPARE)


def test_rows_that_only_this_process_has_are_sent_to_the_workers(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)

    def numbers():
        yield from (np.full(1000, k) for k in range(30))
    dataset = ds.GeneratorDataset(numbers, ["a"]).map(lambda a: a * 2, num_parallel_workers=2, python_multiprocessing=True)
    dataset = dataset.batch(8)
    found = np.concatenate([row[0] for row in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)])
    assert (found == 2 * np.arange(30)[:, None]).all()


def test_an_error_in_a_worker_is_raised_here_with_sample_operation_and_line(monkeypatch):
    others = children_of(os.getpid())
    monkeypatch.setattr(os, "cpu_count", lambda: 2)

    def fails_at_three(x, y):
        if y == 3:
            raise KeyError("three")
        return x, y
    dataset = ds.GeneratorDataset(Noise(), ["x", "y"], shuffle=False, num_parallel_workers=2).map(fails_at_three, ["x", "y"])
    iterator = dataset.create_tuple_iterator(num_epochs=1)
    with pytest.raises(RuntimeError) as caught:
        list(iterator)
    text = str(caught.value)
    for part in ("KeyError: 'three'", "sample 3 of GeneratorDataset(Noise)", "fails_at_three", 'raise KeyError("three")'):
        assert part in text
    assert gone([worker for worker in children_of(os.getpid()) if worker not in others])


@pytest.mark.parametrize("leave", [SystemExit(3), KeyboardInterrupt()], ids=["exit", "interrupt"])
def test_a_function_that_leaves_the_program_is_named_like_one_that_raises(monkeypatch, leave):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)

    def leaves_at_three(x, y):
        if y == 3:
            raise leave
        return x, y
    dataset = ds.GeneratorDataset(Noise(), ["x", "y"], shuffle=False, num_parallel_workers=2).map(leaves_at_three, ["x", "y"])
    with pytest.raises(RuntimeError) as caught:
        list(dataset.create_tuple_iterator(num_epochs=1))
    for part in (type(leave).__name__, "row 3 of map", "leaves_at_three", "raise leave"):
        assert part in str(caught.value)


def test_rows_that_make_no_batch_show_the_users_line_whoever_stacks_them(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    found = []
    for count in (1, 2):
        dataset = ds.GeneratorDataset(Noise(), ["x", "y"], shuffle=False, num_parallel_workers=count).batch(4)
        with pytest.raises(RuntimeError, match="rows 0 and 1 of the batch") as caught:
            list(dataset.create_tuple_iterator(num_epochs=1))
        found.append(str(caught.value))
    assert found[0] == found[1] and __file__ in found[0]


def test_a_worker_that_dies_names_what_it_was_doing(monkeypatch):
    others = children_of(os.getpid())
    monkeypatch.setattr(os, "cpu_count", lambda: 2)

    def dies_at_three(x, y):
        if y == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return x, y
    dataset = ds.GeneratorDataset(Noise(), ["x", "y"], shuffle=False, num_parallel_workers=2).map(dies_at_three, ["x", "y"])
    start = time.monotonic()
    with pytest.raises(RuntimeError) as caught:
        list(dataset.create_tuple_iterator(num_epochs=1))
    text = str(caught.value)
    assert "SIGKILL" in text and "sample 3 of GeneratorDataset" in text and "dies_at_three" in text
    assert gone([pid for pid in children_of(os.getpid()) if pid not in others]) and time.monotonic() - start < 10


def test_an_iterator_that_is_dropped_takes_its_workers_along(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    before = children_of(os.getpid())
    iterator = ds.GeneratorDataset(Noise(), ["x", "y"], num_parallel_workers=2).create_tuple_iterator()
    next(iterator)
    made = [pid for pid in children_of(os.getpid()) if pid not in before]
    assert len(made) == 2
    del iterator
    assert gone(made)


PROGRAM = """
    os.cpu_count = lambda: 2
    def slow(x):
        time.sleep(0.05)
        return x
    rows = ds.GeneratorDataset(Source(), ["x", "y"], num_parallel_workers=2).map(slow, "x").create_tuple_iterator()
    for k, row in enumerate(rows):
        if k == 3:
            print(*(w.process.pid for w in rows._run.pool.workers), flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_a_program_that_is_interrupted_or_killed_leaves_no_process_and_no_shared_memory(how):
    shared = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    program = subprocess.Popen([sys.executable, "-c", textwrap.dedent(SOURCE) + textwrap.dedent(PROGRAM)],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    try:
        workers = [int(pid) for pid in program.stdout.readline().split()]
        assert len(workers) == 2
        if how == signal.SIGINT:                             # Ctrl-C reaches the whole group
            os.killpg(program.pid, how)
        else:
            program.send_signal(how)
        program.wait(timeout=10)
        assert gone(workers, within=4)
        left = set(os.listdir("/dev/shm")) - shared if os.path.isdir("/dev/shm") else set()
        assert not [name for name in left if "mindlite" in name]
    finally:
        program.kill()
        program.wait()


def test_a_program_that_ends_in_the_middle_of_an_epoch_ends_at_once():
    code, text, seconds = script("""
        os.cpu_count = lambda: 2
        rows = ds.GeneratorDataset(Source(), ["x", "y"], num_parallel_workers=2).batch(4).create_tuple_iterator()
        print(next(rows)[0].shape)
    """)
    assert code == 0 and "(4, 64, 64)" in text


def test_a_worker_in_an_endless_loop_does_not_keep_the_program():
    code, text, seconds = script("""
        os.cpu_count = lambda: 2
        def stuck(x):
            while x[0, 0] > 20:
                pass
            return x
        data = ds.GeneratorDataset(Source(), ["x", "y"], num_parallel_workers=2, shuffle=False).map(stuck, "x")
        rows = data.create_tuple_iterator()
        for _ in range(15):
            next(rows)
        rows.stop()
        print("ended")
    """)
    assert code == 0 and "ended" in text


def test_a_network_runs_between_batches_and_in_the_workers(tmp_path):
    code, text, _ = script("""
        os.cpu_count = lambda: 2
        import mindlite as ms
        from mindlite import ops, Tensor
        big = Tensor(np.ones((512, 512), np.float32))
        print(float(ops.matmul(big, big).sum()))             # the launcher's threads exist when the workers are made
        def doubled(x):
            return (Tensor(x) * 2).asnumpy()
        data = ds.GeneratorDataset(Source(), ["x", "y"], num_parallel_workers=2, shuffle=False).map(doubled, "x").batch(50)
        print([float((ops.tanh(x) + x).sum()) > 0 for x, _ in data.create_tuple_iterator(num_epochs=1)])
    """, limit=60)
    assert code == 0 and "[True, True, True, True]" in text, text


def folder_of_images(path):
    numbers = np.random.default_rng(4)
    for k in range(24):
        (path / f"class{k % 2}").mkdir(exist_ok=True)
        ds.vision.write_jpeg(str(path / f"class{k % 2}" / f"{k}.jpg"), numbers.integers(0, 256, (40, 48, 3), np.uint8))
    return str(path)


def images_of(path, *operations, **words):
    rows = ds.ImageFolderDataset(path).map([ds.vision.RandomCropDecodeResize(16), *operations], "image", **words)
    return rows.map(ds.vision.RandomHorizontalFlip(), "image").filter(lambda label: label < 2, "label").batch(4)


def read(iterator):
    return [[value.tobytes() for value in row] for row in iterator]


@pytest.mark.parametrize("mode", list(ds.ErrorSamplesMode))
def test_workers_go_on_with_the_same_rows_where_built_in_operations_cost_time(tmp_path, monkeypatch, mode):
    path = folder_of_images(tmp_path)
    monkeypatch.setattr(ds.config.settings, "seed", 3)
    monkeypatch.setattr(ds.config.settings, "error_samples_mode", mode)
    monkeypatch.setattr(ds.config.settings, "num_parallel_workers", 2)
    wanted = read(images_of(path).create_tuple_iterator(num_epochs=1, output_numpy=True))
    monkeypatch.setattr(pipeline, "SPREAD_AFTER", 0.0)
    monkeypatch.setattr(pipeline, "SPREAD_FROM", 0.0)
    dataset = images_of(path)
    iterator = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert iterator._run.pool is None
    first = [value.tobytes() for value in next(iterator)]
    assert [first, *read(iterator)] == wanted and iterator._run.pool is not None
    again = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    next(again)
    assert again._run.pool is not None and read(again)       # it is known now what rows cost
    again.stop()


class Steps(ds.DSCallback):
    def ds_step_end(self, info):
        self.seen = info.cur_step_num


@pytest.mark.parametrize("make", [
    lambda path: images_of(path, lambda image: image),
    lambda path: images_of(path, ds.transforms.Compose([lambda image: image])),
    lambda path: images_of(path, ds.transforms.RandomApply([ds.vision.Invert(), np.array])),
    lambda path: ds.ImageFolderDataset(path, decode=True).map(ds.vision.Invert(), "image", num_parallel_workers=1),
    lambda path: images_of(path).batch(2, per_batch_map=lambda *columns: columns[:2], input_columns=["image", "label"]),
    lambda path: ds.NumpySlicesDataset(np.zeros((9, 4, 4, 3), np.uint8), ["image"]).map(ds.vision.Invert(), "image"),
    lambda path: images_of(path).sync_wait("here", num_batch=99),
    lambda path: ds.ImageFolderDataset(path, decode=True).map(ds.vision.Invert(), "image", callbacks=Steps()),
], ids=["function", "composed", "held", "one", "batch", "array", "sync", "callbacks"])
def test_what_is_the_users_stays_in_the_process_where_nobody_asks_for_workers(tmp_path, monkeypatch, make):
    monkeypatch.setattr(pipeline, "SPREAD_AFTER", 0.0)
    monkeypatch.setattr(pipeline, "SPREAD_FROM", 0.0)
    monkeypatch.setattr(ds.config.settings, "num_parallel_workers", 2)
    iterator = make(folder_of_images(tmp_path)).create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert read(iterator) and iterator._run.pool is None
