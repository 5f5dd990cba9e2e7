"""Drawn trainings end in the middle and go on in new objects: losses, rates and Parameters are the bits of one that is whole."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import amp, dataset, nn
from mindlite.common.config import config
from mindlite.common.errors import FileFormatError
from mindlite.compile.jit import JitFunction
from mindlite.dataset import vision
from mindlite.train import (Callback, EarlyStopping, LearningRateScheduler, Model, ReduceLROnPlateau, SaveState, load_state,
                            save_state)

OPTIMIZERS = nn.Adam, nn.Momentum, nn.AdamWeightDecay, nn.RMSProp, nn.Lamb
ROWS, BATCH, EPOCHS = 26, 4, 4


class Ended(Exception):
    """The end of a run that is cut off."""


class Watch(Callback):
    """Notes what is seen at the end of each step, and ends the run after step `last`."""

    def __init__(self, last):
        self.last, self.seen = last, {}

    def on_train_step_end(self, run_context):
        args = run_context.original_args()
        outputs = args.net_outputs[0] if isinstance(args.net_outputs, tuple) else args.net_outputs
        self.seen[args.cur_step_num] = outputs.asnumpy().tobytes() + args.optimizer.learning_rate.asnumpy().tobytes()
        if self.last is not None and args.cur_step_num >= self.last:
            raise Ended


class Counter(Callback):
    """A program's own: what it keeps goes on, and it stops the training."""
    kept = "count",

    def __init__(self):
        self.count = 0

    def on_train_begin(self, run_context):
        self.count = 0

    def on_train_epoch_end(self, run_context):
        self.count += 1
        if self.count == EPOCHS - 1:
            run_context.request_stop()


def rows(numbers):
    """A pipeline that draws: its order, parts of its images, in Python, in workers."""
    images = np.random.default_rng(0).integers(0, 256, (ROWS, 8, 8, 3), np.uint8)
    labels = np.random.default_rng(1).integers(0, 3, ROWS).astype(np.int32)
    order = [dict(shuffle=True), dict(shuffle=False), dict(sampler=dataset.RandomSampler(replacement=True, num_samples=ROWS)),
             dict(sampler=dataset.WeightedRandomSampler(np.arange(1, ROWS + 1).tolist(), ROWS))][numbers.integers(4)]
    found = dataset.NumpySlicesDataset((images, labels), ["image", "label"], **order)
    if numbers.random() < 0.5:
        found = found.shuffle(5)
    found = found.map([vision.RandomCrop(6), vision.RandomHorizontalFlip(), vision.Normalize([127.0] * 3, [60.0] * 3),
                       vision.HWC2CHW()], "image", num_parallel_workers=int(numbers.integers(1, 3)))
    if numbers.random() < 0.5:
        found = found.map(lambda image: image + np.float32(np.random.rand()), "image")
    return found.batch(BATCH, drop_remainder=bool(numbers.integers(2)))


def trained(seed, path, last=None):
    """{step: what was seen} of a run that begins or goes on, and the Parameters at its end."""
    numbers = np.random.default_rng(seed)
    ms.set_seed(3 + seed)
    config.set(mode=int(numbers.integers(2)))
    data = rows(numbers)
    net = nn.SequentialCell(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(p=0.3), nn.Dense(144, 3))
    optimizer = OPTIMIZERS[numbers.integers(len(OPTIMIZERS))]
    optimizer = optimizer(net.trainable_params(), 0.01, **{"momentum": 0.9} if optimizer is nn.Momentum else {})
    manager = [None, amp.DynamicLossScaleManager(2 ** 10, 2, 3), amp.FixedLossScaleManager(8.0, False)][numbers.integers(3)]
    model = Model(net, nn.CrossEntropyLoss(), optimizer, **{"loss_scale_manager": manager} if manager else {})
    watch = Watch(last)
    callbacks = [EarlyStopping("loss", patience=2, restore_best_weights=True),
                 ReduceLROnPlateau("loss", 0.5, patience=0, cooldown=1),
                 LearningRateScheduler(lambda rate, step: rate * (0.9 if step % 5 == 0 else 1.0)), Counter()]
    callbacks = [callbacks[k] for k in numbers.permutation(4)[:numbers.integers(1, 5)]]
    callbacks.insert(int(numbers.integers(len(callbacks) + 1)), SaveState(path, int(numbers.integers(1, 4))))
    state = load_state(path, network=model.train_network, scaler=manager, dataset=data, callbacks=callbacks)
    sink = [dict(), dict(dataset_sink_mode=True), dict(dataset_sink_mode=True, sink_size=4)][numbers.integers(3)]
    if state is None or state["epoch"] < EPOCHS:
        try:
            model.train(EPOCHS, data, [*callbacks, watch], initial_epoch=state["epoch"] if state else 0, **sink)
        except Ended:
            return watch.seen, None
    return watch.seen, {p.name: p.asnumpy().tobytes() for p in model.train_network.get_parameters()}


def check(seed, folder):
    """A whole run beside one that ends after a step, goes on, ends again and goes on."""
    whole, end = trained(seed, folder / "whole")
    steps = sorted(whole)
    path, seen = folder / "broken", {}
    for last in [*sorted(np.random.default_rng(seed + 99).choice(steps, 2).tolist()), None]:
        found, parameters = trained(seed, path, last)
        for step, bits in found.items():
            assert whole[step] == bits, (seed, step, last)
        seen.update(found)
    assert sorted(seen) == steps, seed
    assert parameters == end, seed


@pytest.fixture(autouse=True)
def as_before():
    before = config.mode, config.progress, config.repeatable, dataset.config.get_seed()
    config.set(progress=False)
    yield
    config.set(mode=before[0], progress=before[1], repeatable=before[2])
    dataset.config.set_seed(before[3])


@pytest.mark.parametrize("seed", [8, 6])
def test_a_training_that_ends_anywhere_goes_on(seed, tmp_path):
    check(seed, tmp_path)


@pytest.mark.slow
def test_drawn_trainings_that_end_anywhere_go_on(tmp_path):
    for seed in range(40):
        (tmp_path / str(seed)).mkdir()
        check(seed, tmp_path / str(seed))


def test_which_size_comes_first_decides_no_bits():
    config.set(repeatable=True)

    def variants(sizes):
        function = JitFunction(lambda x: (x * 2).sum())
        for size in sizes:
            function(ms.Tensor(np.ones((size, 3), np.float32)))
        return sorted(str(variant.signature) for variant in function.variants)
    assert variants([4, 2, 4]) == variants([2, 4])


def test_what_callbacks_keep_is_that_of_the_same_callbacks(tmp_path):
    stopping = EarlyStopping("loss", patience=5)
    stopping.wait, stopping.best = 3, 0.25
    save_state(tmp_path / "s", callbacks=[Watch(None), stopping], epoch=1)
    other = EarlyStopping("loss", patience=5)
    for wrong in (ReduceLROnPlateau("loss"), [EarlyStopping("loss"), EarlyStopping("loss")]):
        with pytest.raises(FileFormatError, match="holds another training: its callbacks"):
            load_state(tmp_path / "s", callbacks=wrong)
    assert load_state(tmp_path / "s") == load_state(tmp_path / "s", callbacks=other) == {"epoch": 1, "step": 0}
    assert other.resumed == {"wait": 3, "best": 0.25, "best_weights": None} and stopping.resumed is None
