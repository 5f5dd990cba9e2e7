"""Whole training steps: forward, backward and optimiser in one compiled function."""
import numpy as np
from measure import labels, normal, row


def weights(sizes):
    """Weights and biases of a chain of dense layers, the same for all frameworks."""
    pairs = enumerate(zip(sizes, sizes[1:]))
    return [(normal(b, a, seed=i) / np.float32(a ** 0.5), np.zeros(b, np.float32)) for i, (a, b) in pairs]


def mindspore_step(F, net, optimiser, x, y):
    """The loss of one training step after the other."""
    loss_fn, reduced = F.nn.CrossEntropyLoss(), F.reduced(optimiser)

    def forward(x, y):
        return loss_fn(net(x), y)
    gradients = F.ms.value_and_grad(forward, None, optimiser.parameters)

    @F.jit
    def step(x, y):
        loss, grads = gradients(x, y)
        optimiser(reduced(grads))
        return loss
    x, y = F.rows(x), F.rows(y)
    return lambda: step(x, y)


def torch_dense(F, layers):
    """Dense layers with these weights, relu between them."""
    nn, made = F.torch.nn, []
    for w, b in layers:
        made += [nn.ReLU()] * bool(made) + [nn.Linear(w.shape[1], w.shape[0])]
        made[-1].weight.data, made[-1].bias.data = F.array(w), F.array(b)
    return made


def torch_step(F, net, optimiser, x, y):
    """The same in PyTorch; under torch.compile the network and its loss are compiled, the optimiser is fused anyhow."""
    x, y, net = F.rows(x), F.rows(y).long(), F.joined(net, optimiser)
    loss_of = F.jit(lambda x, y: F.functional.cross_entropy(net(x), y))

    def run():
        optimiser.zero_grad()
        loss = loss_of(x, y)
        loss.backward()
        optimiser.step()
        return loss.detach()
    return run


def momentum(jnp, p, g, state, t):
    """A parameter and its state after a step of Momentum, in jax."""
    v = 0.9 * state[0] + g
    return p - 0.01 * v, (v, state[1])


def adam(jnp, p, g, state, t):
    """The same for Adam."""
    m, v = 0.9 * state[0] + 0.1 * g, 0.999 * state[1] + 0.001 * g * g
    rate = 1e-3 * jnp.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t)
    return p - rate * m / (jnp.sqrt(v) + 1e-8), (m, v)


def jax_step(F, forward, params, update, x, y):
    """The same in jax, parameters and state donated. update(jnp, param, gradient, state, t) -> (param, state)"""
    jax, jnp = F.jax, F.jnp
    flat, tree = jax.tree_util.tree_flatten(jax.tree_util.tree_map(jnp.asarray, params))

    def step(flat, states, t, x, y):
        def loss_of(flat):
            return F.cross_entropy(forward(jax.tree_util.tree_unflatten(tree, flat), x), y)
        loss, grads = jax.value_and_grad(loss_of)(flat)
        made = [update(jnp, p, g, s, t) for p, g, s in zip(flat, grads, states)]
        return loss, [m[0] for m in made], [m[1] for m in made], t + 1
    step = jax.jit(step, donate_argnums=(0, 1, 2))
    states = [(jnp.zeros_like(p), jnp.zeros_like(p)) for p in flat]
    held = [flat, states, jnp.float32(1)]
    x, y = F.array(x), F.array(y)

    def run():
        loss, *held[:] = step(*held, x, y)
        return loss
    return run


@row("step: MLP 784-512-512-10, batch 64, Momentum", goal=0.9)
def mlp(F):
    x, y, layers = normal(64, 784), labels(64, 10), weights((784, 512, 512, 10))
    if F.kind == "torch":
        nn = F.torch.nn
        net = nn.Sequential(*torch_dense(F, layers))
        return torch_step(F, net, F.torch.optim.SGD(net.parameters(), 0.01, 0.9), x, y)
    if F.kind == "mindspore":
        nn = F.nn
        dense = [nn.Dense(w.shape[1], w.shape[0], weight_init=F.array(w), bias_init=F.array(b)) for w, b in layers]
        net = nn.SequentialCell([dense[0], nn.ReLU(), dense[1], nn.ReLU(), dense[2]])
        return mindspore_step(F, net, nn.Momentum(net.trainable_params(), 0.01, 0.9), x, y)
    if F.name == "numpy":
        return None

    def forward(params, x):
        for i, (w, b) in enumerate(params):
            x = x @ w.T + b
            x = F.jax.nn.relu(x) if i < 2 else x
        return x
    return jax_step(F, forward, layers, momentum, x, y)


@row("step: LeNet-5, batch 32, Adam", goal=0.5)
def lenet(F):
    x, y, dense = normal(32, 1, 28, 28), labels(32, 10), weights((400, 120, 84, 10))
    first, second = normal(6, 1, 5, 5, seed=7) * 0.2, normal(16, 6, 5, 5, seed=8) * 0.1
    if F.kind == "torch":
        nn = F.torch.nn
        net = nn.Sequential(nn.Conv2d(1, 6, 5, padding=2, bias=False), nn.ReLU(), nn.MaxPool2d(2),
                            nn.Conv2d(6, 16, 5, bias=False), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                            *torch_dense(F, dense))
        net[0].weight.data, net[3].weight.data = F.array(first), F.array(second)
        return torch_step(F, net, F.torch.optim.Adam(net.parameters(), 1e-3, fused=True), x, y)
    if F.kind == "mindspore":
        nn = F.nn
        layers = [nn.Conv2d(1, 6, 5, pad_mode="pad", padding=2, weight_init=F.array(first)), nn.ReLU(),
                  nn.MaxPool2d(2, 2), nn.Conv2d(6, 16, 5, pad_mode="valid", weight_init=F.array(second)), nn.ReLU(),
                  nn.MaxPool2d(2, 2), nn.Flatten()]
        for i, (w, b) in enumerate(dense):
            layers.append(nn.Dense(w.shape[1], w.shape[0], weight_init=F.array(w), bias_init=F.array(b)))
            if i < 2:
                layers.append(nn.ReLU())
        net = nn.SequentialCell(layers)
        return mindspore_step(F, net, nn.Adam(net.trainable_params(), 1e-3), x, y)
    if F.name == "numpy":
        return None
    jax, jnp = F.jax, F.jnp

    def pool(x):
        return F.lax.reduce_window(x, -jnp.inf, F.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def forward(params, x):
        x = pool(jax.nn.relu(F.conv2d(x, params[0], 2)))
        x = pool(jax.nn.relu(F.conv2d(x, params[1], 0))).reshape(32, -1)
        for i, (w, b) in enumerate(params[2]):
            x = x @ w.T + b
            x = jax.nn.relu(x) if i < 2 else x
        return x
    return jax_step(F, forward, (first, second, dense), adam, x, y)


@row("cold compile: MLP", goal=1.0, cold=True)
def cold_mlp(F):
    return mlp(F)


@row("cold compile: LeNet-5", goal=1.0, cold=True)
def cold_lenet(F):
    return lenet(F)
