"""LeNet-5 and a small GPT, each trained by all ranks together: what the plan is, what travels, how long a step takes.

    python -m mindlite run -n 2 examples/many_ranks.py [--steps 8]          or mpirun -n 4 python examples/many_ranks.py

LeNet-5 is data parallel with ZeRO-1; of the GPT's Parameters the search decides where they lie. Ends with status 0 if losses fall
and the bytes that each step has sent are those of its plan.
"""
import argparse
import sys
import time

import numpy as np
from lenet_digits import LeNet5, digits

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.common.ranks import engine
from mindlite.communication import get_group_size, get_rank, init
from mindlite.parallel import AutoParallel, bytes_here

BATCH, CONTEXT, WIDTH, HEADS, LAYERS = 16, 16, 32, 4, 2
TEXT = "to split or to send, that is the question of every rank in the mesh. " * 8


class Block(nn.Cell):
    """Causal self-attention and a feed-forward network, each behind a LayerNorm (Radford et al. 2019)."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm((WIDTH,)), nn.LayerNorm((WIDTH,))
        self.query, self.key, self.value, self.out = [nn.Dense(WIDTH, WIDTH) for _ in range(4)]
        self.up, self.down, self.gelu = nn.Dense(WIDTH, 4 * WIDTH), nn.Dense(4 * WIDTH, WIDTH), nn.GELU()
        self.mask = Tensor(np.triu(np.full((CONTEXT, CONTEXT), -1e9, np.float32), 1))

    def heads(self, x):
        """f32[N, T, WIDTH] -> f32[N, HEADS, T, WIDTH / HEADS]"""
        return x.reshape(BATCH, CONTEXT, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

    def construct(self, x):
        h = self.norm1(x)
        q, k, v = self.heads(self.query(h)), self.heads(self.key(h)), self.heads(self.value(h))
        scores = ops.softmax(q @ k.swapaxes(-1, -2) / (WIDTH // HEADS) ** 0.5 + self.mask, -1)
        x = x + self.out((scores @ v).transpose(0, 2, 1, 3).reshape(BATCH, CONTEXT, WIDTH))
        return x + self.down(self.gelu(self.up(self.norm2(x))))


class SmallGPT(nn.Cell):
    """i32[N, T] -> f32[N * T, letters]"""

    def __init__(self, letters):
        super().__init__()
        self.letters = letters
        self.embed = nn.Dense(letters, WIDTH, has_bias=False)                # of one-hot letters
        self.position = ms.Parameter(Tensor(np.random.default_rng(0).standard_normal((CONTEXT, WIDTH)).astype(np.float32) * 0.1))
        self.blocks = nn.SequentialCell(*[Block() for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm((WIDTH,)), nn.Dense(WIDTH, letters)

    def construct(self, x):
        x = self.embed(x) + self.position
        return self.head(self.norm(self.blocks(x))).reshape(BATCH * CONTEXT, self.letters)


def text_batch():
    """(one-hot letters f32[N, T, letters], the letter behind each i32[N * T], how many letters there are)."""
    letters = sorted(set(TEXT))
    codes = np.array([letters.index(letter) for letter in TEXT], np.int32)
    starts = np.arange(BATCH) * 7
    x = np.stack([codes[s:s + CONTEXT] for s in starts])
    y = np.stack([codes[s + 1:s + CONTEXT + 1] for s in starts])
    return np.eye(len(letters), dtype=np.float32)[x], y.reshape(-1), len(letters)


def train(name, network, x, y, mode, level, steps):
    """Train and tell; True if the loss falls and the bytes are as planned."""
    optimizer = nn.Adam(network.trainable_params(), 3e-3)
    step = AutoParallel(nn.TrainOneStepCell(nn.WithLossCell(network, nn.CrossEntropyLoss()), optimizer).set_train(), mode)
    step.dataset_strategy("full_batch")
    if level is not None:
        step.hsdp(threshold=0, optimizer_level=level)
    begin = time.perf_counter()
    losses, seconds = [float(step(Tensor(x), Tensor(y)))], []
    compiling = time.perf_counter() - begin
    before = {operator: list(entry) for operator, entry in engine().sent.items()}
    for _ in range(steps):
        begin = time.perf_counter()
        losses.append(float(step(Tensor(x), Tensor(y))))
        seconds.append(time.perf_counter() - begin)
    sent = {operator: [(a - b) / steps for a, b in zip(entry, before.get(operator, (0, 0)))]
            for operator, entry in engine().sent.items()}
    sent = {operator: entry for operator, entry in sent.items() if entry[0]}
    if get_rank() == 0:
        whole = sum(param.nbytes for param in step.network.get_parameters())
        print(f"\n{name} on {get_group_size()} ranks ({mode}{', ' + level if level else ''})")
        print("  " + step.plan.report().splitlines()[0])
        lying = [f"{param.name} {param.placement}" for param in network.get_parameters() if param.placement is not None]
        print(f"  Parameters in parts: {len(lying)}" + (f", {'; '.join(lying[:4])}, .." if lying else ""))
        print(f"  bytes of Parameters and states on this rank: {bytes_here(step.network.get_parameters())} of {whole}")
        for operator, (calls, nbytes) in sorted(step.plan.sent.items()):
            print(f"  {operator}: {calls} calls, {nbytes} bytes a step planned, {sent.get(operator, (0, 0))[1]:.0f} counted")
        print(f"  loss {losses[0]:.4f} -> {losses[-1]:.4f}; compiled in {compiling:.1f} s, "
              f"a step takes {min(seconds) * 1e3:.1f} ms")
        sys.stdout.flush()
    planned = {operator: list(map(float, entry)) for operator, entry in step.plan.sent.items()}
    return losses[-1] < losses[0] and sent == planned


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=8)
    args = parser.parse_args()
    init(timeout=120)
    ms.set_seed(4)
    images, labels = digits()[:2]
    right = train("LeNet-5", LeNet5(), images[:64], labels[:64], "semi_auto", "level1", args.steps)
    x, y, letters = text_batch()
    right &= train("A small GPT", SmallGPT(letters), x, y, "recursive_programming", None, args.steps)
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
