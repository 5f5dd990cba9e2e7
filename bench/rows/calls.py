"""What a call costs: eager operators, and compiled functions on very small arrays."""
from measure import normal, row


def chain(F, x):
    """Twenty operators on x."""
    for _ in range(10):
        x = F.tanh(x) * 0.5
    return x


@row("eager add of 4 floats", goal=1.0)
def eager_add(F):
    x, y = F.array(normal(4)), F.array(normal(4, seed=1))
    return lambda: x + y


@row("50 eager adds of 4 floats, recorded", goal=1.0)
def eager_recorded(F):
    if F.record is None:
        return None
    x, y = F.array(normal(4)), F.array(normal(4, seed=1))

    def adds(x):
        for _ in range(50):
            x = x + y
        return x
    f = F.record(adds)
    return lambda: f(x)


@row("eager chain of 20 operators on (8,)", goal=1.0)
def eager_chain(F):
    x = F.array(normal(8))
    return lambda: chain(F, x)


@row("eager chain of 20 operators on (8,), forward and backward", goal=0.6)
def eager_chain_gradient(F):
    if F.grad is None:
        return None

    def total(x):
        return chain(F, x).sum()
    x, f = F.array(normal(8)), F.grad(total)
    return lambda: f(x)


@row("call of a compiled function, 1 operator", goal=0.4)
def compiled_add(F):
    if F.jit is None:
        return None
    x, y = F.array(normal(4)), F.array(normal(4, seed=1))

    def add(x, y):
        return x + y
    f = F.jit(add)
    return lambda: f(x, y)


@row("call of a compiled function, 20 operators", goal=0.4)
def compiled_chain(F):
    if F.jit is None:
        return None

    def forward(x):
        return chain(F, x)
    x, f = F.array(normal(8)), F.jit(forward)
    return lambda: f(x)


@row("call of a compiled function, 20 operators, forward and backward", goal=0.4)
def compiled_chain_gradient(F):
    if F.jit is None:
        return None

    def total(x):
        return chain(F, x).sum()
    x, f = F.array(normal(8)), F.jit(F.grad(total))
    return lambda: f(x)
