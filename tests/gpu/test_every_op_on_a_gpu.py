"""On a machine with a GPU: every operator on the samples of tests/ops, eagerly and in a graph, with the CPU's numbers."""
import numpy as np
import pytest
from operator_checks import in_float32, lower_attrs, normal_form
from samples import SAMPLES

import mindlite as ms
from mindlite import Tensor
from mindlite.backend.cuda.driver import libcuda
from mindlite.common.config import config
from mindlite.mindir.primitive import PRIMITIVES

pytestmark = pytest.mark.skipif(libcuda() is None and config.cuda != "simulator", reason="there is no NVIDIA driver")
# Operators that write into an operand, print, draw with a state of their own or take no operand.
OTHERS = {"assign", "barrier", "print_values", "summary_value", "scalar_to_tensor", "nextafter"}
FREE = {"orthogonal_triangular", "eigenpairs", "svd", "eigh", "qr"}       # results are known but for signs
NAMES = sorted(name for name in SAMPLES if name in PRIMITIVES and PRIMITIVES[name].inputs and name not in OTHERS | FREE)


@pytest.fixture(autouse=True)
def on_the_cpu_again():
    yield
    ms.set_context(device_target="CPU")


def leaves(value):
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("name", NAMES)
def test_an_operator_gives_the_cpus_numbers_eagerly_and_in_a_graph(name):
    prim = PRIMITIVES[name]
    for sample in SAMPLES[name][:3]:
        args, attrs = normal_form(prim, *sample)
        args, attrs = in_float32(args), lower_attrs(attrs)
        places = [k for k, a in enumerate(args) if isinstance(a, np.ndarray)]

        def function(*tensors):
            given = list(args)
            for place, tensor in zip(places, tensors):
                given[place] = tensor
            return prim(*given, **attrs)
        want = leaves(function(*[Tensor(args[k]) for k in places]))
        ms.set_context(device_target="GPU")
        for mode, run in (("eager", function), ("graph", ms.jit(function))):
            made = leaves(run(*[Tensor(args[k]).to("GPU") for k in places]))
            assert len(made) == len(want)
            for a, b in zip(made, want):
                a, b = (np.asarray(t.asnumpy() if isinstance(t, Tensor) else t) for t in (a, b))
                assert a.dtype == b.dtype and a.shape == b.shape, mode
                np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5, err_msg=mode)
        ms.set_context(device_target="CPU")
