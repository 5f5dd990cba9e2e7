"""LeNet-5 learns handwritten digits, twice from the same start: line by line (PYNATIVE_MODE) and compiled (GRAPH_MODE).

    python examples/lenet_digits.py [--epochs 15] [--report report.html]

The network is the one of LeCun et al. 1998 (tanh, average pooling) on scikit-learn's bundled digits, enlarged to 32x32.
Ends with status 0 if both modes reach 97 % on the test set and their losses agree to 1e-4; then it says what was compiled,
and the report shows one line of the model on its way to machine code.
"""
import argparse
import signal
import sys
import time


def stop(*_):
    """Ctrl-C, also while the packages below are imported."""
    sys.exit("\nStopped before the end; no report was written.")


signal.signal(signal.SIGINT, stop)

import numpy as np                                          # noqa: E402
from sklearn.datasets import load_digits                    # noqa: E402
from tqdm import tqdm                                       # noqa: E402

import mindlite as ms                                       # noqa: E402
from mindlite import Tensor, debug, nn                      # noqa: E402

BATCH, LEARNING_RATE, SEED = 64, 2e-3, 4
WANTED_ACCURACY, WANTED_AGREEMENT = 0.97, 1e-4
LINE = "x = self.tanh(self.fc1(x))"


class LeNet5(nn.Cell):
    """Two convolutions with average pooling, three dense layers; f32[N, 1, 32, 32] -> f32[N, 10]."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.pool = nn.AvgPool2d(kernel_size=2, stride=2)
        self.flatten = nn.Flatten()
        self.tanh = nn.Tanh()
        self.fc1 = nn.Dense(16 * 5 * 5, 120)
        self.fc2 = nn.Dense(120, 84)
        self.fc3 = nn.Dense(84, 10)

    def construct(self, x):
        x = self.pool(self.tanh(self.conv1(x)))
        x = self.pool(self.tanh(self.conv2(x)))
        x = self.flatten(x)
        x = self.tanh(self.fc1(x))
        x = self.tanh(self.fc2(x))
        return self.fc3(x)


def digits():
    """(train images, train labels, test images, test labels): 1437 and 360, each pixel of 8x8 as a square of 4x4."""
    data = load_digits()
    images = np.kron(data.images / 16, np.ones((4, 4)))[:, None].astype(np.float32)
    labels = data.target.astype(np.int32)
    order = np.random.default_rng(SEED).permutation(len(images))
    images, labels = images[order], labels[order]
    return images[360:], labels[360:], images[:360], labels[:360]


def train(mode, epochs, data):
    """Train in a mode; gives (losses, test accuracy, images per second of the median step, the step)."""
    images, labels, test_images, test_labels = data
    ms.set_context(mode=mode)
    ms.set_seed(SEED)
    net = LeNet5()
    loss_fn = nn.CrossEntropyLoss()
    optimizer = nn.Adam(net.trainable_params(), LEARNING_RATE)

    def forward(x, y):
        return loss_fn(net(x), y)
    grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)

    def step(x, y):
        loss, grads = grad_fn(x, y)
        optimizer(grads)
        return loss
    if mode == ms.GRAPH_MODE:
        step = ms.jit(step)

    def accuracy():
        return float((net(Tensor(test_images)).asnumpy().argmax(axis=1) == test_labels).mean())
    name = "GRAPH_MODE" if mode == ms.GRAPH_MODE else "PYNATIVE_MODE"
    batches = len(images) // BATCH
    order, losses, seconds = np.random.default_rng(SEED), [], []
    with tqdm(total=epochs * batches * BATCH, desc=f"{name:<13}", unit=" images", mininterval=0.2, leave=True) as bar:
        for _ in range(epochs):
            chosen = order.permutation(len(images))[:batches * BATCH].reshape(batches, BATCH)
            for indices in chosen:
                start = time.perf_counter()
                loss = step(Tensor(images[indices]), Tensor(labels[indices]))
                losses.append(float(loss.asnumpy()))
                seconds.append(time.perf_counter() - start)
                bar.update(BATCH)
            bar.set_postfix(loss=f"{losses[-1]:.4f}", accuracy=f"{accuracy():.1%}")
    return losses, accuracy(), BATCH / float(np.median(seconds)), step


def what_was_compiled(step):
    """Rows (what, value) about the compiled step."""
    variant = step.variants[-1]
    plan, nodes = variant.compiled.executable.plan, variant.compiled.nodes
    kernels = step.kernels()
    return [("nodes after inference", nodes["infer"]), ("nodes with the gradient, optimised", nodes["optimise"]),
            ("kernels", len(kernels)), ("seconds to compile", round(variant.seconds, 2)),
            ("storages", len(plan.storages)), ("peak memory of the plan, bytes", plan.peak),
            ("lower bound of the peak, bytes", plan.lower_bound)]


def write_report(path, eager, graph, rows):
    """The page: curves, figures, and one line of the model on its way."""
    page = debug.Page("LeNet-5 on handwritten digits")
    page.text("The same network, start and batches in both modes. In PYNATIVE_MODE each operator runs at once; in GRAPH_MODE "
              "the whole step (forward, backward, optimiser) is one compiled program.")
    page.curves("loss by step", {"PYNATIVE_MODE": eager[0], "GRAPH_MODE": graph[0]})
    page.table(["", "PYNATIVE_MODE", "GRAPH_MODE"],
               [("test accuracy", f"{eager[1]:.2%}", f"{graph[1]:.2%}"),
                ("images per second of the median step", round(eager[2]), round(graph[2])),
                ("largest difference of losses", "", f"{difference(eager[0], graph[0]):.1e}")])
    page.heading("What was compiled")
    page.table(["", ""], rows)
    page.code("stages", debug.steps(graph[3]))
    line = debug.line(graph[3], LINE)
    page.heading("One line of the model")
    page.text("Point at a line: what came from the same line of the program lights up.")
    name = line.location.replace("\\", "/").rpartition("/")[2]
    page.code("the line", f"{line.source:<60}  # {name}")
    page.code("its graph", line.graph)
    page.code("its gradient", line.gradient)
    for source in line.kernels:
        page.code("a kernel that holds it", source)
    page.heading("The whole step")
    page.code("graph, optimised", debug.ir(graph[3], "optimise"), opened=False)
    page.code("the same as Python", debug.python(graph[3]), opened=False)
    page.code("kernels", debug.kernel(graph[3]), opened=False)
    page.code("memory", debug.memory(graph[3]), opened=False)
    return page.write(path)


def difference(a, b):
    """The largest difference between two runs' losses."""
    return float(np.abs(np.subtract(a, b)).max())


def main():
    """Train twice, compare, report; the exit status."""
    options = argparse.ArgumentParser(description="LeNet-5 on handwritten digits, in both modes.")
    options.add_argument("--epochs", type=int, default=15)
    options.add_argument("--report", default="report.html", help="the page to write")
    options.add_argument("--device", default="CPU", choices=("CPU", "GPU"), help="where it trains")
    chosen = options.parse_args()
    ms.set_context(device_target=chosen.device)
    data = digits()
    eager = train(ms.PYNATIVE_MODE, chosen.epochs, data)
    graph = train(ms.GRAPH_MODE, chosen.epochs, data)
    apart = difference(eager[0], graph[0])
    print(f"\ntest accuracy   {eager[1]:.2%} line by line, {graph[1]:.2%} compiled")
    print(f"images/second   {eager[2]:,.0f} line by line, {graph[2]:,.0f} compiled (of the median step)")
    print(f"losses          differ by at most {apart:.1e} over {len(graph[0])} steps\n")
    rows = what_was_compiled(graph[3])
    for what, value in rows:
        print(f"{what:<36}{value:>12,}")
    print(f"\nThe report is in {write_report(chosen.report, eager, graph, rows)}")
    failed = [text for text, fine in (
        (f"the accuracy is below {WANTED_ACCURACY:.0%}", min(eager[1], graph[1]) >= WANTED_ACCURACY),
        (f"the losses differ by more than {WANTED_AGREEMENT}", apart <= WANTED_AGREEMENT)) if not fine]
    for text in failed:
        print(f"Not as it should be: {text}.", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
