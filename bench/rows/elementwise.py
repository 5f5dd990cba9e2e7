"""Work that is bound by memory and by transcendental functions: what fusion is for."""
import numpy as np
from measure import labels, normal, row


@row("tanh(x*a+b)*sigmoid(x)+x, 4M", goal=0.55)
def fused(F):
    x = F.array(normal(4096, 1024))

    def f(x):
        return F.tanh(x * 1.5 + 0.5) * F.sigmoid(x) + x
    f = f if F.jit is None else F.jit(f)
    return lambda: f(x)


@row("GELU forward, 4M", goal=0.6)
def gelu(F):
    if F.jit is None:
        return None

    def forward(x):
        return F.gelu(x)
    x, f = F.array(normal(4096, 1024)), F.jit(forward)
    return lambda: f(x)


@row("GELU forward and backward, 4M", goal=0.4)
def gelu_gradient(F):
    if F.jit is None:
        return None

    def total(x):
        return F.gelu(x).sum()
    x, f = F.array(normal(4096, 1024)), F.jit(F.grad(total))
    return lambda: f(x)


@row("LayerNorm forward and backward, 4096 x 1024", goal=0.85)
def layer_norm(F):
    if F.jit is None:
        return None
    x, gamma, beta = F.array(normal(4096, 1024)), F.array(normal(1024, seed=1)), F.array(normal(1024, seed=2))

    def total(x):
        return (F.layer_norm(x, gamma, beta) * x).sum()
    f = F.jit(F.value_and_grad(total))
    return lambda: f(x)


@row("softmax cross entropy forward and backward, 4096 x 1000", goal=0.75)
def cross_entropy(F):
    if F.jit is None:
        return None
    x, y = F.array(normal(4096, 1000)), F.array(labels(4096, 1000))

    def loss(x):
        return F.cross_entropy(x, y)
    f = F.jit(F.value_and_grad(loss))
    return lambda: f(x)


@row("Adam, 4M parameters", goal=0.95)
def adam(F):
    start, gradient = normal(4096, 1024), normal(4096, 1024, seed=1)
    if F.kind == "mindspore":
        parameter = F.ms.Parameter(F.array(start), name="p")
        optimiser, g = F.nn.Adam([parameter], 1e-3), F.array(gradient)

        @F.jit
        def step(g):
            return optimiser((g,))

        def run():
            step(g)
            return parameter
        return run
    if F.name == "torch":
        parameter = F.array(start).requires_grad_()
        parameter.grad = F.array(gradient)
        optimiser = F.torch.optim.Adam([parameter], 1e-3, fused=True)

        def run():
            optimiser.step()
            return parameter
        return run
    if F.kind != "jax":
        return None
    jnp = F.jnp

    def update(p, m, v, t, g):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        rate = 1e-3 * jnp.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t)
        return p - rate * m / (jnp.sqrt(v) + 1e-8), m, v, t + 1
    update = F.jax.jit(update, donate_argnums=(0, 1, 2, 3))
    zeros, g = np.zeros_like(start), F.array(gradient)
    state = [[F.array(start), F.array(zeros), F.array(zeros.copy()), jnp.float32(1)]]

    def run():
        state[0] = update(*state[0], g)
        return state[0][0]
    return run
