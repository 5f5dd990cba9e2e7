"""What ranks send as their number grows: bytes and messages of a training step, predicted by its plan and counted in the run.

    python bench/scaling.py [--ranks 2 4 8] [--networks MLP encoder]

Ranks are simulated as threads of one process (SimWorld), so there are no times here: bytes and messages are what a machine
with as many ranks would send. Weak scaling: each rank has as many rows as one rank alone. Strong scaling: all ranks share these.
Networks are the MLP 784-512-512-10 (Momentum) and a layer of a transformer encoder (Adam). A cell has the bytes and messages
of rank 0 and its share of the points that are computed. Where a prediction is not what is counted, the run ends. The ways:

    data    parallel_mode="data_parallel": gradients are summed in buckets        predicted: their bytes, as a ring sends them
    plan    the rows are split, the search decides about the rest
    zero3   Parameters and states are split too                                   predicted: `Plan.sent`
    tensor  layers in pairs, by columns and by rows (Megatron)
"""
import argparse
import math

import numpy as np

import mindlite as ms
from mindlite import Tensor, nn
from mindlite.common.ranks import engine, ring_bytes
from mindlite.communication import SimWorld
from mindlite.parallel import Layout, zero
from mindlite.pynative.sharded import shard_in_place

ROWS = {"MLP": 64, "encoder": 8}
LENGTH, WIDTH = 32, 128
WAYS = ("data", "plan", "zero3", "tensor")


def network(name):
    """(the network, its loss, the optimiser's class, {name of a Parameter: the axis that `tensor` splits})."""
    ms.set_seed(1)
    if name == "MLP":
        net = nn.SequentialCell(nn.Dense(784, 512), nn.ReLU(), nn.Dense(512, 512), nn.ReLU(), nn.Dense(512, 10))
        return net, nn.CrossEntropyLoss(), lambda params: nn.Momentum(params, 0.01, 0.9), {
            "0.weight": 0, "0.bias": 0, "2.weight": 1}
    layer = nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 1), nn.MSELoss(), lambda params: nn.Adam(params, 1e-3), {
        "layers.0.dense1.weight": 0, "layers.0.dense1.bias": 0, "layers.0.dense2.weight": 1}


def batch(name, rows):
    """(inputs, targets) of so many rows."""
    rng = np.random.default_rng(0)
    if name == "MLP":
        return rng.standard_normal((rows, 784)).astype(np.float32), rng.integers(0, 10, rows).astype(np.int32)
    x = rng.standard_normal((rows, LENGTH, WIDTH)).astype(np.float32)
    return x, x[:, ::-1].copy()


def step_of(name, way, rows):
    """On this rank (bytes predicted, messages predicted, bytes sent, messages sent, share of the points computed, loss)."""
    here, mesh = engine(), Layout((engine().size,), ("x",))
    if way == "data":
        ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    net, loss_of, optimizer_of, split = network(name)
    x, y = batch(name, rows)
    if way == "data":
        x, y = [Tensor(np.array_split(part, here.size)[here.rank]) for part in (x, y)]
    else:
        x, y = Tensor(x), Tensor(y)
        if way != "tensor":
            x, y = x.to_global(mesh("x")), y.to_global(mesh("x"))
        else:
            for path, axis in split.items():
                param = net.parameters_dict()[path]
                shard_in_place(param, mesh(*["x" if k == axis else "None" for k in range(len(param.shape))]))
    optimizer = optimizer_of(net.trainable_params())
    if way == "zero3":
        zero(optimizer, mesh, level=3)
    gradients = ms.value_and_grad(lambda x, y: loss_of(net(x), y), None, optimizer.parameters)
    reduced = nn.DistributedGradReducer(optimizer.parameters, mean=True) if way == "data" else (lambda grads: grads)

    @ms.jit(fullgraph=True)
    def step(x, y):
        loss, grads = gradients(x, y)
        optimizer(reduced(grads))
        return loss
    before = {key: tuple(entry) for key, entry in here.sent.items()}
    loss = float(step(x, y))
    sent = [sum(entry[k] - before.get(key, (0, 0))[k] for key, entry in here.sent.items()) for k in (0, 1)]
    planned, share = expected(step, optimizer.parameters, here.size) if way == "data" else of_plan(step)
    return (*planned, *sent, share, loss)


def expected(step, params, count):
    """((messages, bytes), share of the points) of gradients in buckets of 4 MiB, as a ring sends them."""
    most, buckets = 4 << 20, [0]
    for param in reversed(params):
        nbytes = param.nbytes
        if buckets[-1] and buckets[-1] + nbytes > most:
            buckets.append(0)
        buckets[-1] += nbytes
    return (len(buckets), sum(ring_bytes("all_reduce", nbytes, count) for nbytes in buckets)), 1 / count


def of_plan(step):
    """((messages, bytes), share of the points) that the plan of a compiled step tells; no plan: nothing is split."""
    plan = step.compiled.latest().compiled.plan
    if plan is None:
        return (0, 0), 1.0
    return tuple([sum(entry[k] for entry in plan.sent.values()) for k in (0, 1)]), plan.points[0] / plan.points[1]


def table(networks, ranks, growth):
    """Rows of Markdown: for each network and way the messages and bytes of rank 0 by the number of ranks."""
    yield f"| {growth} scaling | " + " | ".join(f"{count} ranks" for count in ranks) + " |"
    yield "|---" * (1 + len(ranks)) + "|"
    for name in networks:
        for way in WAYS:
            cells = []
            for count in ranks:
                rows = ROWS[name] * (count if growth == "weak" else 1)
                found = SimWorld(count).run(step_of, name, way, rows)
                for messages, nbytes, counted, sent, _, loss in found:
                    if (messages, nbytes) != (counted, sent):
                        raise SystemExit(f"{name}, {way}, {count} ranks: predicted {messages, nbytes}, counted {counted, sent}")
                    if not math.isfinite(loss):
                        raise SystemExit(f"{name}, {way}: the loss is {loss}")
                messages, nbytes, _, _, share, _ = found[0]
                cells.append(f"{nbytes / 1e6:.2f} MB in {messages}, {share:.0%}")
            yield f"| {name}, {way} | " + " | ".join(cells) + " |"


def main():
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="*", default=[2, 4, 8])
    parser.add_argument("--networks", nargs="*", default=list(ROWS))
    args = parser.parse_args()
    for growth in ("weak", "strong"):
        for line in table(args.networks, args.ranks, growth):
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
