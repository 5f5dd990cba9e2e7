"""Pauses of eager mode where sizes and structures change: what first visits cost, beside PyTorch's eager mode.

    python bench/pauses.py [--rows TEXT ..] [--passes 3] [--steps 98] [--peers DIR]

A row is a stream of steps: loops of drawn lengths, sequences of 98 lengths, random trees, one network again and again. Each
framework is a process of its own with one thread for kernels; passes over the stream are taken in turn. Printed for each pass:

    wall       seconds of the pass
    cpu        seconds of processor time of the whole process until its next pass: what is compiled beside the run counts
    step       the median step, milliseconds
    pause      the longest time by which a step exceeds its shortest visit in any pass, milliseconds: by the clock, and by the
               processor time of the thread that runs the program (on a busy machine only the second says something)
    compiled   Flows that were compiled, and those that came from the disk
"""
import argparse
import statistics
import time

import numpy as np

from beside_torch import PEERS, Both, serve

HIDDEN = 64


class Mindlite:
    """The words of the rows in mindlite."""

    def __init__(self):
        import mindlite
        from mindlite import mint, nn, ops
        self.framework, self.nn, self.F, self.tensor = mindlite, nn, ops, mindlite.Tensor
        self.linear, self.conv, self.gru = nn.Dense, mint.nn.Conv2d, nn.GRUCell
        self.cross_entropy, self.lp_pool2d = ops.cross_entropy, ops.lp_pool2d

    def encoder(self):
        """Two layers of 256, without dropout."""
        layer = self.nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
        return self.nn.TransformerEncoder(layer, 2).set_train(False)

    def gradients(self, function, modules):
        """(loss, gradients of the modules' parameters) of a function."""
        return self.framework.value_and_grad(function, None, [w for m in modules for w in m.trainable_params()])

    def training(self, function, module):
        """A step that trains a module."""
        optimiser = self.nn.SGD(module.trainable_params(), 0.01)
        step = self.gradients(function, [module])

        def run(*args):
            loss, grads = step(*args)
            optimiser(grads)
            return loss
        return run

    def of_arguments(self, function, args):
        """A step: the gradients of all arguments."""
        step = self.framework.grad(function, tuple(range(len(args))))
        return lambda: step(*args)

    @staticmethod
    def compiled():
        """(Flows that were compiled, Flows from the disk) up to now."""
        from mindlite.common.events import counters
        return [counters["flow_compile"], counters["flow_restore"] + counters["flow_load"]]


class Torch:
    """The words of the rows in PyTorch."""

    def __init__(self):
        import torch
        torch.set_num_threads(1)
        self.framework, self.nn, self.F, self.tensor = torch, torch.nn, torch, torch.from_numpy
        self.linear, self.conv, self.gru = torch.nn.Linear, torch.nn.Conv2d, torch.nn.GRUCell
        self.cross_entropy, self.lp_pool2d = torch.nn.functional.cross_entropy, torch.nn.functional.lp_pool2d

    def encoder(self):
        """Two layers of 256, without dropout."""
        layer = self.nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
        return self.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def gradients(self, function, modules):
        """(loss, gradients of the modules' parameters) of a function."""
        weights = [w for m in modules for w in m.parameters()]

        def run(*args):
            loss = function(*args)
            return loss, self.framework.autograd.grad(loss, weights)
        return run

    def training(self, function, module):
        """A step that trains a module."""
        optimiser = self.framework.optim.SGD(module.parameters(), 0.01)

        def run(*args):
            optimiser.zero_grad()
            loss = function(*args)
            loss.backward()
            optimiser.step()
            return loss
        return run

    def of_arguments(self, function, args):
        """A step: the gradients of all arguments."""
        for x in args:
            x.requires_grad_()
        return lambda: self.framework.autograd.grad(function(*args), args)

    @staticmethod
    def compiled():
        """Nothing is compiled."""
        return [0, 0]


# ---------------------------------------------------------------- rows: (words, draw, how many) -> [a step without arguments]

def normal(words, draw, *shape):
    """A Tensor of drawn numbers."""
    return words.tensor(draw.standard_normal(shape).astype(np.float32))


def gru(words, draw, count):
    """A loop of GRU cells over 10 to 60 steps, with gradients."""
    cell = words.gru(HIDDEN, HIDDEN)
    zero = words.tensor(np.zeros((8, HIDDEN), np.float32))

    def loss(xs):
        h = zero
        for t in range(xs.shape[0]):
            h = cell(xs[t], h)
        return (h * h).sum()
    return over(words.gradients(loss, [cell]), [normal(words, draw, int(n), 8, HIDDEN) for n in draw.integers(10, 61, count)])


def over(step, arguments):
    """A step for each argument."""
    return [lambda x=x: step(x) for x in arguments]


def lengths(words, draw, count):
    """Batches of four sequences of lengths that are all different."""
    return [normal(words, draw, 4, int(n), 256) for n in draw.permutation(np.arange(5, 5 + count))]


def encoder(words, draw, count):
    """An encoder of two layers over 98 lengths, forward."""
    net = words.encoder()
    if isinstance(words, Torch):
        return over(words.framework.no_grad()(net), lengths(words, draw, count))
    return over(net, lengths(words, draw, count))


def encoder_training(words, draw, count):
    """The same with gradients."""
    net = words.encoder()
    return over(words.gradients(lambda x: (net(x) ** 2).mean(), [net]), lengths(words, draw, count))


def decoder(words, draw, count):
    """A decoder with attention whose source and target grow, teacher forcing, with gradients."""
    F, cell, mix, out = words.F, words.gru(HIDDEN, HIDDEN), words.linear(2 * HIDDEN, HIDDEN), words.linear(HIDDEN, 50)

    def loss(keys, targets, labels):
        h, every = keys[:, 0], []
        for t in range(targets.shape[0]):
            h = cell(targets[t], h)
            weights = F.softmax((keys * F.unsqueeze(h, 1)).sum(-1), -1)
            seen = (keys * F.unsqueeze(weights, -1)).sum(1)
            every.append(words.cross_entropy(out(F.tanh(mix(F.cat((h, seen), -1)))), labels[t]))
        return sum(every) / len(every)
    step = words.gradients(loss, [cell, mix, out])
    sizes = [int(n) for n in np.linspace(4, 30, count)]
    given = [(normal(words, draw, 8, n, HIDDEN), normal(words, draw, n, 8, HIDDEN),
              words.tensor(draw.integers(0, 50, (n, 8)))) for n in sizes]
    return [lambda each=each: step(*each) for each in given]


def trees(words, draw, count):
    """A binary Tree-LSTM over random trees of 5 to 20 nodes, with gradients."""
    F, size = words.F, 128
    of_x, of_h = words.linear(size, 5 * size), words.linear(2 * size, 5 * size)
    zero = words.tensor(np.zeros((1, size), np.float32))

    def tree(nodes):
        if nodes == 0:
            return None
        left = int(draw.integers(0, nodes))
        return normal(words, draw, 1, size), tree(left), tree(nodes - 1 - left)

    def cell(node):
        if node is None:
            return zero, zero
        x, left, right = node
        (hl, cl), (hr, cr) = cell(left), cell(right)
        i, fl, fr, o, u = F.chunk(of_x(x) + of_h(F.cat((hl, hr), -1)), 5, -1)
        c = F.sigmoid(i) * F.tanh(u) + F.sigmoid(fl) * cl + F.sigmoid(fr) * cr
        return F.sigmoid(o) * F.tanh(c), c
    step = words.gradients(lambda t: cell(t)[0].sum(), [of_x, of_h])
    return over(step, [tree(int(n)) for n in draw.integers(5, 21, count)])


def lenet(words, draw, count):
    """Training of LeNet-5: one structure, again and again."""
    nn = words.nn
    sequence = nn.SequentialCell if isinstance(words, Mindlite) else nn.Sequential
    net = sequence(words.conv(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2, 2), words.conv(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2, 2),
                   nn.Flatten(), words.linear(256, 120), nn.ReLU(), words.linear(120, 84), nn.ReLU(), words.linear(84, 10))
    step = words.training(lambda x, y: words.cross_entropy(net(x), y), net)
    x, y = normal(words, draw, 32, 1, 28, 28), words.tensor(draw.integers(0, 10, 32))
    return [lambda: step(x, y)] * count


def tiny(function, *shapes):
    """One small function again and again, with the gradients of all arguments: words -> a function of Tensors."""
    def steps(words, draw, count):
        return [words.of_arguments(function(words), [normal(words, draw, *shape) for shape in shapes])] * count
    return steps


def mlp(words):
    """Three layers."""
    F = words.F
    return lambda x, v, w, u: (F.tanh(F.tanh(x @ v) @ w) @ u).sum()


def chain(words):
    """Five functions."""
    F = words.F
    return lambda x: F.exp(F.sin(F.tanh(F.sigmoid(x) * 2) + x)).sum()


def normalised(words):
    """Rows without their mean, by their deviation."""
    F = words.F

    def loss(x):
        y = x - x.mean(-1, True)
        return (y / F.sqrt((y * y).mean(-1, True) + 1e-5) * x).sum()
    return loss


ROWS = {"GRU loop": gru, "encoder": encoder, "encoder, gradients": encoder_training, "attention decoder": decoder,
        "Tree-LSTM": trees, "LeNet-5": lenet,
        "tiny: MLP": tiny(mlp, (4, 8), (8, 16), (16, 16), (16, 4)), "tiny: five functions": tiny(chain, (4, 8)),
        "tiny: softmax": tiny(lambda words: lambda x: (words.F.softmax(x, -1) * x).sum(), (4, 8)),
        "tiny: normalised rows": tiny(normalised, (4, 8)),
        "tiny: cross": tiny(lambda words: lambda x, y: words.F.cross(x, y, dim=1).sum(), (4, 3), (4, 3)),
        "tiny: lp_pool2d": tiny(lambda words: lambda x: words.lp_pool2d(x, 2.0, 2).sum(), (1, 4, 5, 5))}


class Passes:
    """What a process is asked: "prepare" a row, run a "pass" over it."""

    def __init__(self, framework):
        self.words, self.steps = (Torch if framework == "torch" else Mindlite)(), []

    def answer(self, asked):
        """None of a row that was prepared; what a pass took."""
        if asked["do"] == "prepare":
            self.steps = ROWS[asked["row"]](self.words, np.random.default_rng(7), asked["steps"])
            return None
        return {"cpu": time.process_time(), "compiled": self.words.compiled(), "steps": [seconds(step) for step in self.steps]}


def seconds(step):
    """(by the clock, by the processor time of this thread) of a step."""
    start, busy = time.perf_counter(), time.thread_time()
    step()
    return time.perf_counter() - start, time.thread_time() - busy


def show(row, name, passes):
    """Print what the passes of one framework took; the last one is there to end the one before it."""
    *shown, end = passes
    least = [[min(p["steps"][i][kind] for p in shown) for i in range(len(end["steps"]))] for kind in (0, 1)]
    for number, (now, after) in enumerate(zip(shown, passes[1:]), 1):
        wall = [step[0] for step in now["steps"]]
        pauses = [max(step[kind] - base for step, base in zip(now["steps"], least[kind])) * 1e3 for kind in (0, 1)]
        made = [b - a for a, b in zip(now["compiled"], after["compiled"])]
        print(f"{row:20s} {name:8s} pass {number}: wall {sum(wall):6.2f}  cpu {after['cpu'] - now['cpu']:6.2f}  "
              f"step {statistics.median(wall) * 1e3:7.2f}  pause {pauses[0]:7.1f} {pauses[1]:7.1f}  "
              f"compiled {made[0]} + {made[1]}", flush=True)


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--steps", type=int, default=98)
    parser.add_argument("--only", help="one framework, mindlite or torch")
    parser.add_argument("--peers", default=PEERS)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(Passes(options.serve).answer)
        return
    for row in ROWS:
        if options.rows and not any(text in row for text in options.rows):
            continue
        with Both(__file__, options.peers, options.only) as workers:
            for name in workers:
                workers.ask(name, do="prepare", row=row, steps=options.steps)
            found = [[workers.ask(name, do="pass") for name in workers] for _ in range(options.passes + 1)]
        for name, passes in zip(workers, zip(*found)):
            show(row, name, passes)


if __name__ == "__main__":
    main()
