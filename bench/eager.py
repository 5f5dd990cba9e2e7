"""One eager operator: what it costs a call, plain and recorded, beside PyTorch's eager mode, one thread each.

    python bench/eager.py [--rows TEXT ..] [--rounds 15] [--peers DIR]

Samples of the two are taken in turn, each in a process of its own; the least time of each counts, in microseconds. Recorded
is a call while a gradient is being made, as one of COUNT calls in a row.
"""
import argparse
import math
import time

import numpy as np

from beside_torch import PEERS, Both, serve

COUNT = 20                                                  # calls in a row
SIZES = ((4, 8), (32, 64))
ROWS = {                                                    # text, or (mindlite's, torch's)
    "add": "x + y", "exp": "exp(x)", "matmul": "x @ w", "matmul, transposed": "x @ v.T",
    "dense": ("dense(x, v, b)", "nn.functional.linear(x, v, b)"), "bmm": "bmm(q, k)",
    "sum": "x.sum()", "sum of rows": "x.sum(-1)", "mean of columns": "x.mean(0)", "amax": "amax(x, -1)",
    "argmax": "argmax(x, -1)",
    "var": ("var(x, -1, 1)", "var(x, -1)"), "cumsum": "cumsum(x, -1)",
    "softmax": "softmax(x, -1)", "log_softmax": "log_softmax(x, -1)", "logsumexp": "logsumexp(x, -1)",
    "layer_norm": "layer_norm(x, (n,), b, b)", "gelu": "gelu(x)", "relu": "relu(x)", "silu": "silu(x)", "softplus": "softplus(x)",
    "concat": "cat((x, y), 0)", "stack": "stack((x, y), 0)", "split": "split(x, 2)", "chunk": "chunk(x, 2, 1)",
    "row": "x[1]", "slice": "x[1:3]", "slice of columns": "x[:, 1:3]", "newaxis": "x[:, None]", "rows by index": "x[i]",
    "gather": ("gather(x, i, 0)", "index_select(x, 0, i)"), "embedding": ("embedding(i, x)", "nn.functional.embedding(i, x)"),
    "pick": "x[a, i]", "gather_elements": ("gather_elements(x, 1, e)", "gather(x, 1, e)"),
    "where": "where(m, x, y)", "where of a number": "where(m, x, 0.0)", "masked_fill": "masked_fill(x, m, 0.0)",
    "cross_entropy": "cross_entropy(x, i)", "mse_loss": "mse_loss(x, y)", "huber_loss": "huber_loss(x, y)",
    "huber by hand": "where(abs(x - y) < 1, 0.5 * (x - y) ** 2, abs(x - y) - 0.5).mean()",
    "reshape": "x.reshape(n, m_rows)", "transpose": "x.T", "permute": "permute(q, (0, 2, 1))", "unsqueeze": "unsqueeze(x, 0)",
    "clamp": "clamp(x, -1.0, 1.0)", "compare": "x > y", "power": "x ** 2", "einsum": "einsum('ij,kj->ik', x, v)",
    "addmm": "addmm(o, x, w)", "topk": "topk(x, 2)", "sort": "sort(x, -1)", "cast": ("x.astype(f64)", "x.double()"),
    "zeros_like": "zeros_like(x)", "one_hot": ("one_hot(i, n)", "nn.functional.one_hot(i, n)"), "norm": "norm(x)",
    "LSTM cell": "(lambda z: sigmoid(z[:, :n // 4]) * tanh(z[:, n // 4:n // 2]) + sigmoid(z[:, n // 2:3 * n // 4]))(x @ w)",
    "lstm layer cell": ("cell(x, (hc, hc))", "cell(x, (hc, hc))"), "dropout off": "x * 1.0",
}


def operands(m, n):
    """{name: ndarray or number}"""
    rng = np.random.default_rng(0)

    def normal(*shape):
        return rng.standard_normal(shape, np.float32)
    return {"x": normal(m, n), "y": normal(m, n), "w": normal(n, n), "v": normal(n, n), "b": normal(n), "q": normal(2, m, n),
            "k": normal(2, n, m), "o": normal(m, n), "i": rng.integers(0, m, m), "e": rng.integers(0, n, (m, n)),
            "a": np.arange(m),
            "m": rng.random((m, n)) > 0.5, "n": n, "m_rows": m, "hc": normal(m, n)}


def names_of(name, m, n):
    """(what texts may name, the Tensors to watch, make a function recorded) of a framework."""
    if name == "torch":
        import torch
        torch.set_num_threads(1)
        spaces, array, which = (torch, torch.nn.functional), torch.from_numpy, 1
        cell = torch.nn.LSTMCell(n, n)

        def recorded(run, x, *more):
            x = x.detach().requires_grad_()
            return lambda: run(x, *more)
        known = {"nn": torch.nn, "cell": cell}
    else:
        import mindlite
        from mindlite import nn, ops
        spaces, array, which = (ops,), mindlite.Tensor, 0

        def recorded(run, x, *more):
            return lambda: mindlite.vjp(lambda x: run(x, *more), x)
        known = {"f64": mindlite.float64, "cell": nn.LSTMCell(n, n)}
    values = {k: array(v) if isinstance(v, np.ndarray) else v for k, v in operands(m, n).items()}
    return spaces, {**values, **known}, recorded, which


class Sampler:
    """A row of a framework: prepared, then sampled."""

    def __init__(self, framework, row, m, n, mode):
        spaces, known, recorded, which = names_of(framework, m, n)
        text = ROWS[row] if isinstance(ROWS[row], str) else ROWS[row][which]
        code = compile(text, row, "eval")
        for name in code.co_names:
            found = next((getattr(s, name) for s in spaces if hasattr(s, name)), None)
            if name not in known and found is not None:
                known[name] = found
        for inner in (c for c in code.co_consts if hasattr(c, "co_names")):
            known.update({name: getattr(spaces[0], name) for name in inner.co_names if hasattr(spaces[0], name)})
        names = [k for k, v in known.items() if k in code.co_names and type(v).__name__ == "Tensor" and k != "x"]
        body = "".join(f"    made = {text}\n" for _ in range(COUNT))
        scope = dict(known)
        exec(f"def run({', '.join(['x', *names])}):\n{body}    return made", scope)
        values = [known[name] for name in names]
        run = scope["run"]
        self.run = recorded(run, known["x"], *values) if mode == "recorded" else (lambda: run(known["x"], *values))
        for _ in range(150):
            self.run()
        time.sleep(0.5)                                     # what is compiled beside the run
        for _ in range(150):
            self.run()

    def sample(self):
        """Microseconds of a call, the least of several."""
        least = math.inf
        for _ in range(10):
            start = time.perf_counter()
            self.run()
            self.run()
            least = min(least, time.perf_counter() - start)
        return least / (2 * COUNT) * 1e6


class Samples:
    """What a process is asked: "prepare" a row, then samples of it."""

    def __init__(self, framework):
        self.framework, self.sampler = framework, None

    def answer(self, asked):
        """None of a row that was prepared, a sample, or in words what went wrong."""
        try:
            if asked["do"] == "prepare":
                self.sampler = Sampler(self.framework, *asked["row"])
                return None
            return self.sampler.sample()
        except Exception as error:
            return f"{type(error).__name__}: {error}"


def measured(options, workers):
    """Measure, print, and give {(mode, rows): {row: mindlite by torch}}."""
    ratios = {}
    for mode in ("plain", "recorded"):
        for m, n in SIZES:
            for row in ROWS:
                if options.rows and not any(text == row or text in row for text in options.rows):
                    continue
                said = {name: workers.ask(name, do="prepare", row=(row, m, n, mode)) for name in workers}
                if any(said.values()):
                    print(f"{row} {m}x{n} {mode}: {said}", flush=True)
                    continue
                least = {name: min(each) for name, each in zip(workers, zip(*[
                    [workers.ask(name, do="sample") for name in workers] for _ in range(options.rounds)]))}
                found = ratios.setdefault((mode, m), {})[row] = least["mindlite"] / least["torch"]
                print(f"{mode:9s} {m:3d} x {n:3d} {row:22s} {found:6.2f}  mindlite {least['mindlite']:7.2f}  torch "
                      f"{least['torch']:7.2f}", flush=True)
    return ratios


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", nargs="*")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--peers", default=PEERS)
    parser.add_argument("--serve")
    options = parser.parse_args()
    if options.serve:
        serve(Samples(options.serve).answer)
        return
    with Both(__file__, options.peers) as workers:
        ratios = measured(options, workers)
    for (mode, m), found in ratios.items():
        print(f"{mode}, {m} rows: geometric mean {math.exp(sum(map(math.log, found.values())) / len(found)):.2f}, "
              f"above 1: {sum(r > 1 for r in found.values())} of {len(found)}")


if __name__ == "__main__":
    main()
