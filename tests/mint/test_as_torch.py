"""mint means what torch means: values and gradients of each function, layer and optimiser for drawn arguments, those of
torch_cases.py, against what torch gave (expected.json, by make_expected.py); and its signatures against MindSpore's."""
import inspect
import json
import pathlib

import torch_cases as cases
import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, mint, ops

HERE = pathlib.Path(__file__).parent
EXPECTED = json.loads((HERE / "expected.json").read_text())
SIGNATURES = json.loads((HERE / "signatures.json").read_text())
ROOMS = {"": mint, "nn": mint.nn, "nn.functional": mint.nn.functional, "linalg": mint.linalg, "special": mint.special,
         "optim": mint.optim}
# MindSpore's mint has no signature for a name that is overloaded: there it is torch's, which the values test.
DRAWN = set("rand rand_like randint randint_like randn randn_like randperm normal bernoulli multinomial empty empty_like".split())
BY_HAND = {"item", "addr_", "batch_norm_elemt", "batch_norm_gather_stats_with_counts", "batch_norm_stats", "npu_gelu"}


@pytest.mark.parametrize("room", SIGNATURES)
def test_every_name_of_mint_has_its_parameters_and_defaults(room):
    wrong = {}
    for name, wanted in SIGNATURES[room].items():
        found = getattr(ROOMS[room], name)
        text = str(inspect.signature(found)).replace("Int64", "int64")
        if wanted != "(*args, **kwargs)" and text != wanted:
            wrong[name] = text, wanted
    assert not wrong


def test_every_name_is_tested_against_torch():
    tested = {"": set(cases.FUNCTIONS) | DRAWN | BY_HAND,
              "nn": {*cases.LAYERS, "Dropout", "Dropout2d", "MaxUnpool2d", "SyncBatchNorm"},
              "nn.functional": {*cases.FUNCTIONAL, "flatten", "conv2d", "dropout", "dropout2d", "max_unpool2d"},
              "linalg": set(cases.LINALG), "special": set(cases.SPECIAL), "optim": {*cases.OPTIMISERS, "FusedAdamW"}}
    for room, names in SIGNATURES.items():
        assert not sorted({n for n in names if not n.endswith("_")} - tested[room]), room


def tensors(value):
    if isinstance(value, np.ndarray):
        return Tensor(value)
    return type(value)(map(tensors, value)) if isinstance(value, (tuple, list)) else value


def places(value, found):
    """The drawn float arrays that get a gradient, in order."""
    if isinstance(value, (tuple, list)):
        for v in value:
            places(v, found)
    elif isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.flags.writeable:
        found.append(value)
    return found


def compare(found, wanted, what, tolerance=2e-5):
    if not isinstance(wanted, list):
        assert type(found) is type(wanted) and found == wanted, what
        return
    dtype, shape, numbers = wanted
    array = found.asnumpy()
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
    assert list(array.shape) == shape and str(array.dtype) == dtype, (what, array.dtype, array.shape, wanted[:2])
    np.testing.assert_allclose(array.ravel(), np.array(numbers, array.dtype), tolerance, tolerance, err_msg=str(what))


def check(key, run, inputs, params=()):
    """run(*inputs) and the gradients of it, weighted, for float inputs and params: as expected, eagerly and compiled."""
    wanted = EXPECTED[key]
    outs = run(*tensors(inputs))
    outs = outs if isinstance(outs, (tuple, list)) else (outs,)
    assert len(outs) == len(wanted["out"])
    for out, want in zip(outs, wanted["out"]):
        compare(out, want, key)
    if wanted["grad"] is None or not any(wanted["grad"]):
        return
    arrays = places(inputs, [])

    def loss(*values):
        values = list(values)

        def fill(value):
            if isinstance(value, (tuple, list)):
                return type(value)([fill(v) for v in value])
            return values.pop(0) if any(value is a for a in arrays) else tensors(value)
        out = run(*fill(inputs))
        total = 0
        for o in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(o, Tensor) and o.dtype.kind == "f":
                total = total + (o * Tensor(cases.cotangent(tuple(o.shape)))).sum()
        return total
    given = [Tensor(a) for a in arrays]
    found = []
    if given:
        found += ops.grad(loss, tuple(range(len(given))))(*given) if len(given) > 1 else [ops.grad(loss)(*given)]
    if params:
        found += ops.grad(loss, None, list(params))(*given)
    assert len(found) == len(wanted["grad"])
    for gradient, want in zip(found, wanted["grad"]):
        if want is not None:
            compare(gradient, want, (key, "gradient"), 1e-4)


def drawn(room, name, k, args, settings):
    rng = cases.rng_of(room, name, k)
    args = cases.built(args, rng)
    return args, {key: cases.built(v, rng) for key, v in settings.items()}


@pytest.mark.parametrize("key", [key for key in EXPECTED if key.split(":")[0] in cases.TABLES])
def test_functions_give_what_torch_gives(key):
    room, name, k = key.split(":")
    function = getattr(ROOMS[room], name)
    args, settings = drawn(room, name, int(k), *cases.TABLES[room][name][int(k)])
    if isinstance(settings.get("dtype"), str):
        settings["dtype"] = getattr(ms, settings["dtype"])
    if name in cases.GRADIENT_LESS:                           # the signs are free: only the product is looked at
        q, r = function(*tensors(args), **settings)
        np.testing.assert_allclose((q @ r).asnumpy(), args[0], atol=1e-5)
        return
    names = list(settings)
    inputs = (*args, *settings.values())
    check(key, lambda *values: function(*values[:len(args)], **dict(zip(names, values[len(args):]))), inputs)


@pytest.mark.parametrize("key", [key for key in EXPECTED if key.startswith("layer:")])
def test_layers_give_what_torch_gives_with_their_state(key):
    _, name, k = key.split(":")
    (args, settings), inputs = cases.LAYERS[name][int(k)]
    layer, rng = getattr(mint.nn, name)(*args, **settings).set_train(), cases.rng_of("layer", name, int(k))
    params = [p for _, p in sorted(layer.parameters_and_names()) if p.requires_grad]
    for p in params:
        p.set_data(Tensor(cases.f(*p.shape).array(rng)))
    inputs, wanted = cases.built(inputs, rng), EXPECTED[key]
    before = {n: p.asnumpy().copy() for n, p in layer.parameters_and_names()}
    check(key, layer, inputs, params)
    for n, p in layer.parameters_and_names():                 # one step in training, as torch took it
        p.set_data(Tensor(before[n]))
    layer(*tensors(inputs))
    for n, want in wanted["state"].items():
        compare(getattr(layer, n), want, (key, n))
    if wanted["after"] is not None:
        compare(params[0], wanted["after"], (key, "weight"))
    if wanted["eval"] is not None:
        layer.set_train(False)
        compare(layer(*tensors(inputs)), wanted["eval"], (key, "eval"))
        compare(ms.jit(layer, fullgraph=True)(*tensors(inputs)), wanted["eval"], (key, "compiled"))


@pytest.mark.parametrize("run", [lambda f: f, ms.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("key", [key for key in EXPECTED if key.startswith("optim:")])
def test_optimisers_take_torch_s_steps(key, run):
    _, name, k = key.split(":")
    params = [Parameter(Tensor(cases.step_of("start", n, (3,))), name=f"p{n}") for n in range(2)]
    groups = [{"params": [params[0]]}, {"params": [params[1]], "lr": 0.05, "weight_decay": 0.3}]
    optimiser = getattr(mint.optim, name)(groups, **cases.OPTIMISERS[name][int(k)])
    step = run(lambda *gradients: optimiser(gradients))
    for n in range(4):
        step(*[Tensor(cases.step_of(name, (n, number), (3,))) for number in range(2)])
    for p, want in zip(params, EXPECTED[key]):
        compare(p, want, key)


@pytest.mark.parametrize("run", [lambda f: f, ms.jit], ids=["eager", "jit"])
def test_the_rate_of_a_group_can_be_assigned(run):
    weight = Parameter(Tensor([1.0]), name="weight")
    optimiser = mint.optim.SGD([weight], lr=0.5)
    step = run(lambda g: optimiser((g,)))
    step(Tensor([1.0]))
    ops.assign(optimiser.param_groups[0]["lr"], 0.25)
    step(Tensor([1.0]))
    assert weight.item() == 0.25


def test_dropout_drops_with_the_probability_that_it_is_given():
    x = ops.ones((100, 100))
    for layer, given in ((mint.nn.Dropout(0.1), x), (mint.nn.Dropout2d(0.1), x.reshape(20, 500, 1, 1))):
        out = layer.set_train()(given).asnumpy()
        assert 0.07 < (out == 0).mean() < 0.13 and np.isclose(out.max(), 1 / 0.9)
        assert (layer.set_train(False)(given).asnumpy() == 1).all()
    assert (mint.nn.Dropout(0.0).set_train()(x).asnumpy() == 1).all()
    assert (mint.nn.functional.dropout(x, 1.0).asnumpy() == 0).all()


def test_pooling_is_undone_at_the_places_it_gave():
    x = Tensor(np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4))
    values, at = mint.nn.MaxPool2d(2, return_indices=True)(x)
    back = mint.nn.MaxUnpool2d(2)(values, at).asnumpy()
    np.testing.assert_array_equal(back[back != 0], [5, 7, 13, 15])


def test_batch_normalisation_in_parts_is_the_whole():
    x = Tensor(np.random.default_rng(0).standard_normal((6, 3, 4)).astype(np.float32))
    parts = [mint.batch_norm_stats(part, 1e-5) for part in mint.split(x, (2, 4))]
    mean, invstd = (mint.stack([part[n] for part in parts]) for n in (0, 1))
    state = Tensor(np.zeros(3, np.float32)), Tensor(np.ones(3, np.float32))
    counts = Tensor(np.array([8.0, 16.0], np.float32))
    whole = mint.batch_norm_gather_stats_with_counts(x, mean, invstd, *state, 0.1, 1e-5, counts)
    out = mint.batch_norm_elemt(x, None, None, *whole)
    want = Tensor(np.zeros(3, np.float32)), Tensor(np.ones(3, np.float32))
    whole_at_once = mint.nn.functional.batch_norm(x, *want, training=True)
    np.testing.assert_allclose(out.asnumpy(), whole_at_once.asnumpy(), rtol=1e-4, atol=1e-5)
    for a, b in zip(state, want):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-6)


def test_what_is_written_in_place_is_given():
    F = mint.nn.functional
    for function in (F.relu_, F.sigmoid_, F.elu_, F.hardtanh_, lambda x: F.threshold_(x, 0.0, 5.0), lambda x: F.silu(x, True),
                     lambda x: F.relu6(x, inplace=True)):
        x = Tensor([-2.0, 0.5])
        out = function(x)
        assert out.tolist() == x.tolist() != [-2.0, 0.5]
    x = ops.ones((2, 2))
    assert mint.addr_(x, Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), 2, 0.5).tolist() == x.tolist() == [[3.5, 4], [5, 6]]


@pytest.mark.parametrize("run", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "jit"])
def test_comparisons_of_wholes_are_bools(run):
    same = run(lambda x, y: (mint.equal(x, y), mint.allclose(x, y)))
    x = Tensor([1.0, 2.0])
    assert same(x, x) == (True, True) and same(x, x + 1) == (False, False) and type(same(x, x)[0]) is bool
