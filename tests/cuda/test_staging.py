"""Copies from the CPU: through two buffers of pinned memory, without a wait, those of new arrays beside the work."""
import numpy as np
from gpus import counted, runs_here, simulated_gpus

import mindlite as ms
from mindlite import Tensor, nn, ops, train
from mindlite.backend.cuda import staging
from mindlite.dataset import GeneratorDataset
from mindlite.dataset.iterators import WORTH_COPYING

pytestmark = runs_here
X = np.linspace(-2, 2, 4000, dtype=np.float32).reshape(50, 80)


def test_an_array_may_be_written_again_once_it_was_copied_and_nobody_waits():
    with simulated_gpus() as library:
        x = X.copy()
        jitted = ms.jit(lambda x: ops.tanh(x) + 1.0, fullgraph=True)
        jitted(Tensor(x))
        tensors, counts = counted(library, lambda: (Tensor.wrap(x).to("GPU"), jitted(Tensor.wrap(x))))
        x[:] = 0
        assert not {"StreamSynchronize", "EventSynchronize"} & set(counts) and counts["MemcpyHtoD"] == 2
        np.testing.assert_array_equal(tensors[0].asnumpy(), X)
        np.testing.assert_allclose(tensors[1].asnumpy(), np.tanh(X) + 1, rtol=1e-5, atol=1e-6)


def copies_of(count, sizes=(300, 7, 5000, 64)):
    """Arrays of several sizes, copied one after the other before anything is looked at; what was copied."""
    arrays = [np.full(sizes[k % len(sizes)], k, np.float32) for k in range(count)]
    tensors = [Tensor(a).to("GPU") for a in arrays]
    return all((t.asnumpy() == a).all() for t, a in zip(tensors, arrays))


def test_many_copies_share_two_buffers_which_are_waited_for_when_both_are_full(monkeypatch):
    monkeypatch.setattr(staging, "SIZE", 1 << 14)
    monkeypatch.setattr(staging, "LARGEST", 1 << 14)         # an array of 20,000 bytes goes in two pieces
    with simulated_gpus() as library:
        right, counts = counted(library, lambda: copies_of(40))
        assert right and counts["MemAllocHost"] == 2 and 10 <= counts["EventSynchronize"] <= 20
        assert counts["MemcpyHtoD"] == 50 and len(library.pinned) == 2


def test_the_double_sees_a_buffer_that_is_written_before_it_was_copied(monkeypatch):
    monkeypatch.setattr(staging, "SIZE", 1 << 14)
    monkeypatch.setattr(staging, "LARGEST", 1 << 14)
    with simulated_gpus() as library:
        call = library.target.driver.call
        monkeypatch.setattr(library.target.driver, "call",
                            lambda name, *args: None if name == "cuEventSynchronize" else call(name, *args))
        assert not copies_of(40)


def test_a_new_array_is_copied_while_earlier_work_waits():
    with simulated_gpus() as library:
        gpu = library.target.driver.gpu(0)
        jitted, x = ms.jit(lambda x: ops.tanh(x), fullgraph=True), Tensor(X).to("GPU")
        out = jitted(x)
        before = len(library.queues[gpu.stream])
        y = Tensor(X + 1).to("GPU")
        library.flush(gpu.copies)                            # the copies' stream alone
        assert len(library.queues[gpu.stream]) >= before > 0
        address = library.real(y.storage.address, y.nbytes)
        np.testing.assert_array_equal(np.ctypeslib.as_array((staging.ctypes.c_float * y.size).from_address(address)),
                                      (X + 1).reshape(-1))
        np.testing.assert_allclose((y + out).asnumpy(), X + 1 + np.tanh(X), rtol=1e-5, atol=1e-6)


def test_work_that_reads_a_new_array_waits_for_its_copy():
    with simulated_gpus() as library:
        gpu = library.target.driver.gpu(0)
        jitted, y = ms.jit(lambda x: x * 2.0, fullgraph=True), Tensor(X + 1).to("GPU")
        out = jitted(y)
        library.flush(gpu.stream)                            # nobody has done the work of the other stream
        assert not library.queues[gpu.stream] and not library.queues[gpu.copies]
        np.testing.assert_array_equal(out.asnumpy(), (X + 1) * 2)


def batches(count, rows=256, columns=128):
    """(images, labels), some batches of a dataset."""
    rng = np.random.default_rng(0)
    images = rng.standard_normal((count * rows, columns)).astype(np.float32)
    labels = rng.integers(0, 4, count * rows).astype(np.int32)
    assert rows * columns * 4 >= WORTH_COPYING
    return GeneratorDataset(list(zip(images, labels)), ["image", "label"], shuffle=False).batch(rows), images, labels


def test_a_plain_loop_has_its_batches_on_the_device_and_waits_for_nothing():
    dataset, images, labels = batches(4)
    net = nn.Dense(128, 4)
    want = [float((net(Tensor(images[k * 256:k * 256 + 256])) ** 2).mean()) for k in range(4)]
    with simulated_gpus() as library:
        jitted, losses = ms.jit(lambda x: (net(x) ** 2).mean(), fullgraph=True), []

        def loop():
            for image, label in dataset.create_tuple_iterator(num_epochs=1):
                assert image.device == "GPU:0" and label.device == "CPU"
                losses.append(jitted(image))
        loop()
        losses.clear()
        _, counts = counted(library, loop)
        assert counts["MemcpyHtoD"] == 4 and not {"StreamSynchronize", "MemcpyDtoH"} & set(counts)
        np.testing.assert_allclose([float(loss) for loss in losses], want, rtol=1e-5)
        row, = dataset.create_dict_iterator(num_epochs=1, output_numpy=True).__next__()["label"][None]
        np.testing.assert_array_equal(row, labels[:256])


def test_a_model_trains_on_batches_that_come_ahead_with_the_cpus_losses():
    losses = []
    for gpu in (False, True):
        dataset, images, _ = batches(3)
        net = nn.Dense(128, 4)
        net.weight.set_data(Tensor(images[:4] * 0.1))
        net.bias.set_data(Tensor(np.zeros(4, np.float32)))

        class Losses(train.Callback):
            def step_end(self, run_context):
                losses[-1].append(float(run_context.original_args().net_outputs))
        losses.append([])
        if not gpu:
            train.Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1)).train(1, dataset, Losses())
            continue
        with simulated_gpus() as library:
            model = train.Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1))
            model.train(1, dataset, Losses())
            assert library.counts["cuMemAllocHost_v2"] >= 1
    np.testing.assert_allclose(*losses, rtol=1e-4)
