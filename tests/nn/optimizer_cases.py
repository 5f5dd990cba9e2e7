"""Every optimiser of nn on one network of two layers, in several settings, and what its Parameters are after three steps.

`python tests/nn/optimizer_cases.py OUT.json` in an environment with MindSpore writes what MindSpore does; optimizer_states.json
is its output with MindSpore 2.10.0 on a CPU. test_optimizer_states.py compares the same cases of mindlite with it.
"""
import functools
import json
import sys

import numpy as np

STEPS = 3


def network(ms):
    """Two Dense layers and a LayerNorm with fixed numbers: first.weight, .., second.bias, norm.gamma, norm.beta."""
    nn = ms.nn

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.norm = nn.Dense(2, 3), nn.Dense(3, 1), nn.LayerNorm((1,))

    net = Net()
    for number, param in enumerate(net.trainable_params()):
        param.set_data(ms.Tensor(numbers(param.shape, number), ms.float32))
    return net


def numbers(shape, seed):
    """Fixed numbers in [-1, 1]."""
    return np.sin(np.arange(1, int(np.prod(shape)) + 1) * (seed + 1.7)).reshape(shape).astype(np.float32)


def gradients(ms, params, step):
    return tuple(ms.Tensor(numbers(p.shape, 10 * step + n) / 2, ms.float32) for n, p in enumerate(params))


def plain(net):
    return net.trainable_params()


def groups(net, **rest):
    """Weights with settings of their own, the others without, in the network's order."""
    weights = [p for p in net.trainable_params() if "weight" in p.name]
    others = [p for p in net.trainable_params() if "weight" not in p.name]
    return [{"params": weights, **rest}, {"params": others}, {"order_params": net.trainable_params()}]


def unordered(net, **rest):
    return groups(net, **rest)[:2]


RATES = [0.1, 0.05, 0.025, 0.0125]


def settings(ms):
    """{name: function of the network that gives (parameters, keywords)}."""
    nn = ms.nn

    class Halves(nn.Cell):
        def construct(self, step):
            return 0.1 / (step + 1)

    return {
        "plain": lambda net: (plain(net), {}),
        "decay": lambda net: (plain(net), {"weight_decay": 0.1, "loss_scale": 2.0}),
        "listed rate": lambda net: (plain(net), {"learning_rate": RATES}),
        "tensor rate": lambda net: (plain(net), {"learning_rate": ms.Tensor(0.1, ms.float32)}),
        "schedule": lambda net: (plain(net), {"learning_rate": nn.ExponentialDecayLR(0.1, 0.5, 2)}),
        "decay by step": lambda net: (plain(net), {"weight_decay": Halves()}),
        "group decay": lambda net: (groups(net, weight_decay=0.2), {"weight_decay": 0.1}),
        "group rate": lambda net: (groups(net, lr=0.3), {}),
        "group rate unordered": lambda net: (unordered(net, lr=0.3, weight_decay=0.01), {}),
        "group listed rate": lambda net: (groups(net, lr=RATES), {}),
        "group schedule": lambda net: (groups(net, lr=nn.PolynomialDecayLR(0.1, 0.01, 4, 0.5)), {}),
        "group centralised": lambda net: (groups(net, grad_centralization=True, weight_decay=0.1), {}),
    }


OPTIMIZERS = {
    "Adagrad": [{}, {"update_slots": False}],
    "Adadelta": [{}],
    "AdaFactor": [{}, {"learning_rate": 0.1, "relative_step": False}, {"beta1": None, "warmup_init": True, "weight_decay": 0.1},
                  {"scale_parameter": False, "compression": True}],
    "Adam": [{}, {"use_nesterov": True}, {"use_amsgrad": True}],
    "AdaMax": [{}],
    "AdamOffload": [{}],
    "AdamWeightDecay": [{}],
    "ASGD": [{}, {"t0": 1.0}],
    "FTRL": [{}, {"l1": 0.05, "l2": 0.01}],
    "Lamb": [{"learning_rate": 0.01}],
    "LARS": [{}, {"use_clip": True}],
    "LazyAdam": [{}],
    "Momentum": [{"learning_rate": 0.1, "momentum": 0.9}, {"learning_rate": 0.1, "momentum": 0.9, "use_nesterov": True}],
    "ProximalAdagrad": [{}, {"l1": 0.05, "l2": 0.01}],
    "RMSProp": [{}, {"centered": True, "momentum": 0.5}],
    "Rprop": [{}],
    "SGD": [{}, {"momentum": 0.9, "dampening": 0.1}, {"momentum": 0.9, "nesterov": True}],
}
WITHOUT_LOSS_SCALE = ("AdamWeightDecay", "ASGD", "Lamb", "Rprop")


def cases(ms):
    """{name: function that gives (net, optimiser)}."""
    found = {}
    for name, variants in OPTIMIZERS.items():
        for setting, of_net in settings(ms).items():
            for variant in variants if setting in ("plain", "decay") else variants[:1]:
                shown = ", ".join(f"{key}={value}" for key, value in variant.items())
                found[f"{name}({shown}) {setting}"] = functools.partial(build, ms, name, variant, of_net)
    return found


def build(ms, name, variant, of_net):
    net = network(ms)
    params, more = of_net(net)
    if name in WITHOUT_LOSS_SCALE:
        more = {key: value for key, value in more.items() if key != "loss_scale"}
    if name == "LARS":
        optimizer = ms.nn.LARS(ms.nn.Momentum(params, **{"learning_rate": 0.1, "momentum": 0.9, **more}), **variant)
    else:
        optimizer = getattr(ms.nn, name)(params, **{**variant, **more})
    return net, optimizer


def described(ms, make):
    """What stands in the JSON for one case: {"refused": kind} where it cannot be built, and no values where it cannot run."""
    try:
        optimizer = make()[1]
    except Exception as fault:          # whatever MindSpore raises is recorded by its kind
        return {"refused": type(fault).__name__}
    params = list(optimizer.get_parameters())
    names = [p.name for p in params]
    found = {"parameters": [f"{p.name}: {p.dtype}{list(p.shape)}" for p in params],
             "frozen": [p.name for p in params if not p.requires_grad]}
    lists = {"parameters_and_names": [name for name, _ in optimizer.parameters_and_names()],
             "parameters_dict": list(optimizer.parameters_dict())}
    found |= {key: value for key, value in lists.items() if value != names}
    try:
        for step in range(STEPS):
            optimizer(gradients(ms, optimizer.parameters, step))
    except Exception as fault:
        return {**found, "fails": type(fault).__name__}
    found["values"] = [[float(f"{v:.6g}") for v in p.asnumpy().ravel().tolist()] for p in params]
    return found


if __name__ == "__main__":
    import mindspore
    described(mindspore, cases(mindspore)["Adadelta() listed rate"])         # the first of a process may fail in NumPy's import
    with open(sys.argv[1], "w") as out:
        out.write("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(described(mindspore, make), separators=(',', ':'))}"
                                     for name, make in cases(mindspore).items()) + "\n}\n")
