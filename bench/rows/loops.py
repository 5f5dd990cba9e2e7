"""Loops inside a compiled function."""
from measure import normal, row


@row("while, 1000 iterations, shape (8,)", goal=0.8)
def while_1000(F):
    def step(x):
        return F.tanh(x) * 0.99 + 0.01
    return recurrence(F, 1000, step)


@row("while, 10000 iterations of a product and a sum, shape (8,)", goal=2.0)
def while_10000(F):
    def step(x):
        return x * 0.999 + 0.001
    return recurrence(F, 10000, step)


def recurrence(F, iterations, step):
    x = F.array(normal(8))
    if F.name in ("numpy", "torch.compile"):              # torch.compile unrolls: 17 s for 1000
        return None
    if F.kind != "jax":
        def f(x):
            i = 0
            while i < iterations:
                x = step(x)
                i = i + 1
            return x
    else:
        def f(x):
            return F.lax.while_loop(lambda s: s[0] < iterations, lambda s: (s[0] + 1, step(s[1])), (0, x))[1]
    f = F.jit(f)
    return lambda: f(x)


@row("LSTM as a loop, 64 steps, hidden 128, batch 16, forward and backward", goal=0.45)
def lstm(F):
    if F.name in ("numpy", "torch.compile"):              # torch.compile unrolls: 34 s
        return None
    xs, w = F.array(normal(64, 16, 128)), F.array(normal(256, 512, seed=1) * 0.05)

    def cell(h, c, x, w):
        """One step: gates of [x, h] @ w, as (input, forget, candidate, output)."""
        gates = F.matmul(x, w[:128]) + F.matmul(h, w[128:])
        c = F.sigmoid(gates[:, 128:256]) * c + F.sigmoid(gates[:, :128]) * F.tanh(gates[:, 256:384])
        return F.sigmoid(gates[:, 384:]) * F.tanh(c), c
    if F.kind != "jax":
        def loss(w):
            h = (F.torch if F.kind == "torch" else F.ops).zeros((16, 128))
            c = (F.torch if F.kind == "torch" else F.ops).zeros((16, 128))
            for t in range(64):
                h, c = cell(h, c, xs[t], w)
            return (h * h).sum()
    else:
        def loss(w):
            zeros = F.jnp.zeros((16, 128))
            (h, _), _ = F.lax.scan(lambda s, x: (cell(*s, x, w), None), (zeros, zeros), xs)
            return (h * h).sum()
    f = F.jit(F.value_and_grad(loss))
    return lambda: f(w)
