"""Calls of planned functions whose sizes change all the time: they find what was traced for other sizes without a signature."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, ops
from mindlite.common.config import config
from mindlite.common.errors import IndexRangeError, ShapeError
from mindlite.mindir.primitive import Planned, Primitive, planned
from mindlite.pynative import functions, open_paths


@pytest.fixture
def at_once():
    """What is compiled is there at once."""
    before = config.compile_beside
    config.set(compile_beside=False)
    yield
    config.set(compile_beside=before)


def entry_of(function):
    return next(cell.cell_contents for cell in function.__closure__ if isinstance(cell.cell_contents, Planned))


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).uniform(0.2, 1.5, shape).astype(np.float32)


def visits_of(function):
    return [path.visits for paths in entry_of(function).paths.values() for path in paths]


FUNCTIONS = {
    "softmax": (lambda x, n: ops.softmax(x, -1), lambda a, n: np.exp(a) / np.exp(a).sum(-1, keepdims=True)),
    "by name": (lambda x, n: ops.sum(x, keepdim=True, dim=1), lambda a, n: a.sum(1, keepdims=True)),
    "a place": (lambda x, n: x[n - 1], lambda a, n: a[n - 1]),
    "a column": (lambda x, n: x[:, n // 2], lambda a, n: a[:, n // 2]),
    "tuples": (lambda x, n: ops.concat((x, x), 0), lambda a, n: np.concatenate((a, a))),
    "a weight": (lambda x, n: ops.dense(x, WEIGHT, None), lambda a, n: a @ WEIGHT.asnumpy().T),
    "parts": (lambda x, n: ops.chunk(x, 2, 1)[1], lambda a, n: a[:, (n + 1) // 2:])}
WEIGHT = Parameter(Tensor(drawn(4, 1, seed=7)), name="w")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("beside", [True, False])
def test_values_and_gradients_of_many_sizes(name, beside):
    f, of_arrays = FUNCTIONS[name]
    before = config.compile_beside
    config.set(compile_beside=beside)
    try:
        for n in (12, 9, 14, 30, 21, 12, 17, 9, 10, 11, 3, 2, 30):
            last = 1 if name == "a weight" else n
            a = drawn(n, last, seed=n)
            np.testing.assert_allclose(f(Tensor(a), n).asnumpy(), of_arrays(a, n), rtol=1e-5, atol=1e-6)
            gradient = ms.grad(lambda x: (f(x, n) * f(x, n)).sum())(Tensor(a)).asnumpy()
            step = drawn(n, last, seed=n + 100) * 1e-3
            up, down = [(of_arrays(a + sign * step.astype(np.float64), n) ** 2).sum() for sign in (1, -1)]
            np.testing.assert_allclose((gradient * step).sum(), (up - down) / 2, rtol=2e-3, atol=1e-7)
    finally:
        config.set(compile_beside=before)


def test_new_sizes_leave_no_signature_behind():
    function = planned(lambda x: ops.exp(x) * 2 + x)
    for n in range(5, 40):
        a = drawn(3, n)
        np.testing.assert_allclose(function(Tensor(a)).asnumpy(), np.exp(a) * 2 + a, rtol=1e-5)
    assert len(entry_of(function).seen) <= 4
    visits, = visits_of(function)
    assert len(visits) > 30 and len({id(visit.operation.open) for visit in visits.values()}) == 1


def test_a_signature_that_comes_often_gets_a_plan(at_once):
    function = planned(lambda x: ops.exp(x) * 2 + x)
    for n in (5, 9, 7):
        function(Tensor(drawn(3, n)))
    x, kinds = Tensor(drawn(3, 11)), []
    for _ in range(functions.OFTEN_BY_PATH + 4):
        function(x)
        kinds.append(any(seen.plan is not None for seen in entry_of(function).seen.values()))
    assert not kinds[functions.OFTEN_BY_PATH - 1] and kinds[-1]


def test_other_arguments_are_none_of_a_path():
    """What differs in more than sizes: constants, their types, classes of arguments, dtypes, names, axes of size 1."""
    function = planned(lambda x, axis=0, scale=1.0, flag=True, name="a", which=None: (
        x.sum(axis) * scale + (1 if flag is True else 5) + (0 if name == "a" else 9) + (0 if which is None else len(which))))
    calls = [((), {}), ((1,), {}), ((0, 2.0), {}), ((0, 2), {}), ((0, 1.0, False), {}), ((0, 1.0, 1), {}), ((), {"name": "b"}),
             ((0,), {"which": (1, 2)}), ((0,), {"which": [1, 2, 3]}), ((0,), {"scale": 3.0, "flag": True}),
             ((0,), {"flag": False, "scale": 3.0}), ((-1,), {})]
    for n in (5, 9, 7, 12, 6, 13, 1, 1):
        for dtype in (np.float32, np.float64, np.int32):
            a = (drawn(n, n + 1, seed=n) * 8).astype(dtype)
            for args, named in calls:
                given = dict(zip(("axis", "scale", "flag"), args), **named)
                out = function(Tensor(a), *args, **named)
                which = given.get("which")
                wanted = a.sum(given.get("axis", 0)) * given.get("scale", 1.0) + (1 if given.get("flag", True) is True else 5) + (
                    9 if "name" in given else 0) + (0 if which is None else len(which))
                np.testing.assert_allclose(out.asnumpy(), wanted, rtol=1e-5)
    texts = [path.text for paths in entry_of(function).paths.values() for path in paths]
    assert len(texts) == len(set(texts)) > 5


def test_sizes_that_do_not_fit_are_an_error_at_the_users_line():
    x = [Tensor(drawn(n, 4)) for n in (20, 22, 25, 21)]
    for each in x:
        for t in range(each.shape[0]):
            each[t]
    with pytest.raises(IndexRangeError) as caught:
        x[0][20]
    assert "test_open_paths.py" in str(caught.value)
    for n in (5, 9, 7):
        ops.dense(Tensor(drawn(n, 1)), WEIGHT)
    with pytest.raises(ShapeError):
        ops.dense(Tensor(drawn(8, 2)), WEIGHT)


def test_operators_that_the_user_has_replaced_are_called(monkeypatch):
    function = planned(lambda x: ops.exp(x) * 2 + x)
    for n in (5, 9, 7, 6):
        function(Tensor(drawn(3, n)))
    called, call = [], Primitive.__call__

    def noted(self, *args, **attrs):
        called.append(self.name)
        return call(self, *args, **attrs)
    monkeypatch.setattr(Primitive, "__call__", noted)
    function(Tensor(drawn(3, 8)))
    assert "exp" in called


def test_paths_and_what_they_know_are_bounded(monkeypatch):
    monkeypatch.setattr(open_paths, "MOST_SIZES", 5)
    function = planned(lambda x, k=0: ops.exp(x) * 2 + x + k)
    for n in range(5, 30):
        a = drawn(3, n)
        np.testing.assert_allclose(function(Tensor(a)).asnumpy(), np.exp(a) * 2 + a, rtol=1e-5)
    visits, = visits_of(function)
    assert len(visits) == 5
    monkeypatch.setattr(open_paths, "FEW_PATHS", 2)
    for k in (0.5, 1.5, 2.5, 3.5):
        for n in (5, 9, 7):
            a = drawn(3, n)
            np.testing.assert_allclose(function(Tensor(a), k).asnumpy(), np.exp(a) * 2 + a + k, rtol=1e-5)
    assert all(len(paths) <= 2 for paths in entry_of(function).paths.values())
