"""What the programs share: numbers that do not depend on a framework's generator, and what they print."""
import json
import sys

import numpy as np

import mindspore as ms
from mindspore import Tensor

ms.set_context(mode=ms.GRAPH_MODE if sys.argv[1:2] == ["graph"] else ms.PYNATIVE_MODE, device_target="CPU")


def numbers(*shape, seed=0, scale=1.0):
    return (np.random.RandomState(seed).standard_normal(shape) * scale).astype(np.float32)


def fill(net, seed=0, scale=0.3):
    """Drawn values for the Parameters in their order; their names and shapes are part of what is compared."""
    random = np.random.RandomState(seed)
    for name, p in net.parameters_and_names():
        if name.endswith(("moving_mean", "moving_variance")):
            continue
        p.set_data(Tensor((random.standard_normal(p.shape) * scale).astype(np.float32)))
    show("parameters", [[p.name, list(p.shape)] for p in net.get_parameters()])
    return net


def show(name, value):
    """One line of JSON: what the program found under a name."""
    if isinstance(value, Tensor):
        value = value.asnumpy()
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.astype(np.float64).round(6).tolist() if value.dtype.kind == "f" else value.tolist()
    sys.stdout.write(json.dumps([name, value]) + "\n")
    sys.stdout.flush()


def totals(net):
    """A number for each Parameter: where a step has gone."""
    show("after", [float(np.abs(p.asnumpy().astype(np.float64)).sum()) for p in net.get_parameters()])
