"""What open sizes cost beside sizes that are known: one function compiled once for all sizes, and once for each of them.

    python bench/dynamic.py [--rounds 60] [--only TEXT] [--automatic] [--trees]

Calls of both are interleaved; the least times are compared. Printed for each piece: the geometric mean of static / dynamic
(above 1: open sizes are faster), then each of eight sizes. All sizes are open; with --automatic those that have differed.
--trees: us per node of a binary Tree-LSTM (300 inputs, 150 states, 50 random trees of 5 to 40 nodes) and how many compiles
they took; with --torch PYTHON the same in PyTorch's eager mode, in a process of its own.
"""
import argparse
import json
import math
import subprocess
import time

import numpy as np

LENGTHS = (5, 17, 32, 50, 64, 77, 100, 128)
ROWS = (1, 3, 8, 17, 31, 64, 100, 128)
RNG = np.random.default_rng(0)


def pieces():
    """{name: (function, sizes, the argument of a size)}"""
    from mindlite import Parameter, Tensor, nn, ops

    def tensor(*shape):
        return Tensor(RNG.normal(size=shape).astype(np.float32))
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True), 2)
    encoder.set_train(False)
    cell, dense = nn.LSTMCell(300, 512), Parameter(tensor(768, 768), name="dense")

    def lstm(xs):
        h, c = ops.zeros((1, 512)), ops.zeros((1, 512))
        for t in range(xs.shape[0]):
            h, c = cell(xs[t:t + 1], (h, c))
        return h
    made = {"encoder, 2 layers of 256": (encoder.construct, LENGTHS, lambda n: tensor(1, n, 256)),
            "LSTM 300/512": (lstm, LENGTHS, lambda n: tensor(n, 300)),
            "dense 768 x 768": (lambda x: ops.matmul(x, dense), ROWS, lambda n: tensor(n, 768))}
    for inner in (256, 100, 7):
        made[f"LayerNorm, rows of {inner}"] = (lambda x, inner=inner: ops.layer_norm(x, (inner,)), ROWS,
                                               lambda n, inner=inner: tensor(8 * n, inner))
        made[f"softmax, rows of {inner}"] = (lambda x: ops.softmax(x, -1), ROWS, lambda n, inner=inner: tensor(8 * n, inner))
    return made


def least_times(functions, argument, rounds):
    """The least seconds of a call of each function, taken in turn."""
    found = [math.inf] * len(functions)
    for _ in range(rounds):
        for number, function in enumerate(functions):
            start = time.perf_counter()
            function(argument)
            found[number] = min(found[number], time.perf_counter() - start)
    return found


def measure(name, function, sizes, argument, rounds, automatic):
    """Print the row of a piece."""
    import mindlite as ms
    opened = ms.jit(lambda x: function(x), fullgraph=True, dynamic=0 if automatic else 1)
    for n in (2, 6):
        opened(argument(n))
    ratios = []
    for n in sizes:
        x, known = argument(n), ms.jit(lambda x: function(x), fullgraph=True)
        for _ in range(3):
            opened(x), known(x)
        static, dynamic = least_times((known, opened), x, rounds)
        ratios.append(static / dynamic)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{name:26s} {mean:5.2f}   {'  '.join(f'{n}: {r:.2f}' for n, r in zip(sizes, ratios))}   "
          f"{len(opened.compiled.variants)} compile(s)", flush=True)


# ---------------------------------------------------------------- trees

def random_tree(nodes, leaf):
    """(x, left, right) or None."""
    if nodes == 0:
        return None
    left = int(RNG.integers(0, nodes))
    return leaf(RNG.normal(size=300).astype(np.float32)), random_tree(left, leaf), random_tree(nodes - 1 - left, leaf)


def tree_times(framework, rounds):
    """{"us": per node, "compiles"} of the Tree-LSTM."""
    draw = np.random.default_rng(1)
    arrays = [draw.normal(size=shape).astype(np.float32) * 0.05 for shape in ((750, 300), (750, 300), (750,))]
    counts = [int(n) for n in RNG.integers(5, 41, 50)]
    if framework == "torch":
        import torch
        torch.set_grad_enabled(False)
        (wx, wh, bias), leaf, ops, multiply, cat = map(torch.from_numpy, arrays), torch.from_numpy, torch, torch.mv, torch.cat
        zero, split = torch.zeros(150), lambda g: g.split(150)
    else:
        import mindlite as ms
        from mindlite import ops
        (wx, wh, bias), leaf = (ms.Parameter(ms.Tensor(a), name=n) for a, n in zip(arrays, ("wx", "wh", "b"))), ms.Tensor
        multiply, cat, zero, split = ops.matmul, ops.concat, ms.Tensor(np.zeros(150, np.float32)), lambda g: ops.split(g, 150)

    def cell(t):
        if t is None:
            return zero, zero
        x, left, right = t
        (hl, cl), (hr, cr) = cell(left), cell(right)
        i, fl, fr, o, u = split(multiply(wx, x) + multiply(wh, cat([hl, hr])) + bias)
        c = ops.sigmoid(i) * ops.tanh(u) + ops.sigmoid(fl) * cl + ops.sigmoid(fr) * cr
        return ops.sigmoid(o) * ops.tanh(c), c

    def run(t):
        return cell(t)[0].sum()
    function = run if framework == "torch" else ms.jit(run, fullgraph=True)
    total = sum(least_times((function,), random_tree(n, leaf), rounds)[0] for n in counts)
    return {"us": total / sum(counts) * 1e6, "compiles": 0 if framework == "torch" else len(function.compiled.variants)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--only", default="")
    parser.add_argument("--automatic", action="store_true")
    parser.add_argument("--trees", action="store_true")
    parser.add_argument("--torch", help="a Python that has PyTorch")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        print(json.dumps(tree_times(args.worker, args.rounds)))
    elif args.trees:
        ours = tree_times("mindlite", args.rounds)
        print(f"Tree-LSTM 300/150: {ours['us']:.1f} us a node, {ours['compiles']} compile(s)", end="")
        if args.torch:
            made = subprocess.run([args.torch, __file__, "--worker", "torch", "--rounds", str(args.rounds)], check=True,
                                  capture_output=True, text=True)
            theirs = json.loads(made.stdout)["us"]
            print(f"; torch eager {theirs:.1f}, ratio {ours['us'] / theirs:.2f}", end="")
        print()
    else:
        for name, (function, sizes, argument) in pieces().items():
            if args.only in name:
                measure(name, function, sizes, argument, args.rounds, args.automatic)


if __name__ == "__main__":
    main()
