"""Distributions against SciPy: each function of each, in Python and in one graph; samples; gradients through samples."""
import numpy as np
import pytest
from scipy import integrate, stats

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.nn.probability import distribution as msd

A, B = np.array([0.7, 1.6], np.float32), np.array([1.2, 2.5], np.float32)
HALVES = np.array([0.3, 0.7], np.float32)
LINE, UP = np.linspace(-4, 5, 7), np.array([0.05, 0.3, 1.0, 2.2, 6.0])
COUNTS = np.array([0.0, 1.0, 2.0, 5.0])

# name: (parameters, those of another, SciPy's of the parameters, values)
ROWS = {
    "Normal": ((A, B), (B, A), lambda m, s: stats.norm(m, s), LINE),
    "Laplace": ((A, B), (B, A), lambda m, s: stats.laplace(m, s), LINE),
    "Logistic": ((A, B), None, lambda m, s: stats.logistic(m, s), LINE),
    "Cauchy": ((A, B), (B, A), lambda m, s: stats.cauchy(m, s), LINE),
    "Gumbel": ((A, B), (B, A), lambda m, s: stats.gumbel_r(m, s), LINE),
    "StudentT": ((B + 2, A, B), None, lambda d, m, s: stats.t(d, m, s), LINE),
    "LogNormal": ((A, B / 2), (B, A), lambda m, s: stats.lognorm(s, scale=np.exp(m)), np.append(UP, -1)),
    "HalfNormal": ((A, B), (A - 0.5, B), lambda m, s: stats.halfnorm(m, s), LINE),
    "Uniform": ((A, A + B), (A - 1, A + 3), lambda a, b: stats.uniform(a, b - a), LINE),
    "Exponential": ((B,), (A,), lambda r: stats.expon(scale=1 / r), np.append(UP, -1)),
    "Gamma": ((A, B), (B, A), lambda c, r: stats.gamma(c, scale=1 / r), np.append(UP, -1)),
    "Beta": ((A, B), (B, A), lambda a, b: stats.beta(a, b), np.array([-0.5, 0.1, 0.4, 0.9, 1.5])),
    "Bernoulli": ((HALVES,), (HALVES / 2,), lambda p: stats.bernoulli(p), np.array([-1.0, 0.0, 1.0, 2.0])),
    "Geometric": ((HALVES,), (HALVES / 2,), lambda p: stats.geom(p, loc=-1), np.append(COUNTS, -1)),
    "Poisson": ((B,), (A,), lambda r: stats.poisson(r), np.append(COUNTS, -1)),
}
VALUES = {"prob": ("pdf", "pmf"), "log_prob": ("logpdf", "logpmf"), "cdf": ("cdf",) * 2, "log_cdf": ("logcdf",) * 2,
          "survival_function": ("sf",) * 2, "log_survival": ("logsf",) * 2}
MOMENTS = {"mean": "mean", "sd": "std", "var": "var", "entropy": "entropy"}
WITHOUT = {("Cauchy", "mean"), ("Cauchy", "sd"), ("Cauchy", "var"), ("Poisson", "entropy")}
DISCRETE = {"Bernoulli", "Geometric", "Poisson", "Categorical"}


def made(name, seed=None):
    given, _, _, _ = ROWS[name]
    return getattr(msd, name)(*given, seed=seed)


def close(found, expected, rtol=2e-5, atol=2e-6):
    np.testing.assert_allclose(np.asarray(found), expected, rtol, atol)


@pytest.mark.parametrize("name", ROWS)
def test_every_function_is_that_of_scipy_in_python_and_in_a_graph(name):
    given, _, of_scipy, values = ROWS[name]
    distribution, theirs = made(name), of_scipy(*[p.astype(np.float64) for p in given])
    wanted = [m for m in MOMENTS if (name, m) not in WITHOUT]

    def everything(x):
        return ([distribution(function, x) for function in VALUES], [distribution(moment) for moment in wanted])

    x = Tensor(values[:, None].astype(np.float32))
    for run in (everything, ms.jit(everything, fullgraph=True)):
        at_values, moments = run(x)
        with np.errstate(divide="ignore"):
            for found, (function, words) in zip(at_values, VALUES.items()):
                close(found, getattr(theirs, words[name in DISCRETE])(x.asnumpy().astype(np.float64)), 1e-4, 3e-6)
        for found, moment in zip(moments, wanted):
            assert found.shape == (2,)
            close(found, getattr(theirs, MOMENTS[moment])(), 1e-4)


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row[1] is not None])
def test_kl_loss_is_the_integral_of_its_definition(name):
    given, other, of_scipy, _ = ROWS[name]
    distribution = made(name)
    own = [Tensor(p) for p in given]
    others = [Tensor(p) for p in other]
    kl = distribution.kl_loss(name, *others)
    for k in range(2):
        a, b = (of_scipy(*[float(p[k]) for p in ps]) for ps in (given, other))
        if name in DISCRETE:
            n = np.arange(2 if name == "Bernoulli" else 400)
            log_p = a.logpmf(n)
            expected = np.sum(np.where(np.isfinite(log_p), np.exp(log_p) * (log_p - b.logpmf(n)), 0))
        else:
            quantile = lambda u: a.ppf(u)                                                       # noqa: E731
            expected, _ = integrate.quad(lambda u: a.logpdf(quantile(u)) - b.logpdf(quantile(u)), 0, 1, limit=300)
        close(kl[k], expected, 2e-3, 1e-5)
    close(getattr(msd, name)(*([None] * len(own))).kl_loss(name, *others, *own), kl.asnumpy())
    if (name, "entropy") not in WITHOUT:
        close(distribution.cross_entropy(name, *others), (kl + distribution.entropy()).asnumpy())


def test_the_divergence_of_what_reaches_farther_is_infinite():
    assert msd.Uniform(0.0, 2.0).kl_loss("Uniform", Tensor(0.0), Tensor(1.0)) == np.inf
    assert msd.HalfNormal(0.0, 2.0).kl_loss("HalfNormal", Tensor(1.0), Tensor(1.0)) == np.inf


@pytest.mark.parametrize("name", ROWS)
def test_samples_have_their_distribution(name):
    given, _, of_scipy, _ = ROWS[name]
    count = 500 if name == "Poisson" else 3000
    samples = made(name, seed=11).sample((count,)).asnumpy()
    assert samples.shape == (count, 2)
    for k in range(2):
        theirs = of_scipy(*[float(p[k]) for p in given])
        if name not in DISCRETE:
            assert stats.kstest(samples[:, k], theirs.cdf).pvalue > 1e-3
            continue
        n = np.arange(12)
        counts = (samples[:, k][:, None] <= n).mean(0)
        np.testing.assert_allclose(counts, theirs.cdf(n), atol=1.6 / count ** 0.5)


@pytest.mark.parametrize("name", ["Normal", "Laplace", "Logistic", "Cauchy", "Gumbel", "LogNormal", "HalfNormal", "Uniform",
                                  "Exponential", "Gamma"])
def test_the_gradient_of_a_sample_is_the_slope_of_its_quantile(name):
    given, _, of_scipy, _ = ROWS[name]
    distribution = getattr(msd, name)(*given, seed=3)
    parameters = [Tensor(p) for p in given]
    weights = Tensor(np.random.default_rng(2).normal(size=(6, 2)).astype(np.float32))

    def weighed(*ps):
        x = distribution.sample((6,), *ps)
        return (x * weights).sum(), x
    slopes, x = ms.grad(weighed, tuple(range(len(given))), has_aux=True)(*parameters)
    slopes = slopes if isinstance(slopes, tuple) else (slopes,)
    values, wide = x[0].asnumpy().astype(np.float64), [p.astype(np.float64) for p in given]
    upper = name in ("LogNormal", "Exponential", "Gamma", "HalfNormal")
    level = of_scipy(*wide).sf(values) if upper else of_scipy(*wide).cdf(values)
    for k, slope in enumerate(slopes):
        ends = []
        for step in (1e-4, -1e-4):
            moved = of_scipy(*[p + step * (j == k) for j, p in enumerate(wide)])
            ends.append(moved.isf(level) if upper else moved.ppf(level))
        expected = ((ends[0] - ends[1]) / 2e-4 * weights.asnumpy()).sum(0)
        close(slope, expected, 2e-3, 2e-4)


def test_samples_made_of_gamma_numbers_have_the_gradient_of_their_mean():
    beta, student = msd.Beta([1.0], [1.0], seed=4), msd.StudentT(3.0, 0.0, 1.0, seed=4)
    a, b = Tensor([1.5]), Tensor([2.5])
    by_a, by_b = ms.grad(lambda a, b: beta.sample((8000,), a, b).mean(), (0, 1))(a, b)
    close(by_a, [2.5 / 16], 0.05)
    close(by_b, [-1.5 / 16], 0.05)
    df = Tensor(6.0)
    spread = ms.grad(lambda df: ops.abs(student.sample((8000,), df)).mean())(df)
    absolute = lambda df: stats.t(df).expect(lambda x: 2 * x, lb=0)                                # noqa: E731
    close(spread, (absolute(6.01) - absolute(5.99)) / 0.02, 0.15)


def test_samples_in_a_graph_are_those_of_python_and_go_on():
    class Draws(nn.Cell):
        def __init__(self, seed):
            super().__init__()
            self.gamma, self.normal = msd.Gamma([2.0], [3.0], seed=seed), msd.Normal(0.0, 1.0, seed=seed)

        def construct(self, shape_of):
            return self.gamma.sample(shape_of.shape) + self.normal.sample(shape_of.shape + (1,))
    x = Tensor(np.zeros((2, 3), np.float32))
    eager, compiled = Draws(7), Draws(7)
    graph = ms.jit(compiled, fullgraph=True)
    first = eager(x)
    close(graph(x), first.asnumpy(), 1e-6)
    second = eager(x)
    close(graph(x), second.asnumpy(), 1e-6)
    assert not np.array_equal(first.asnumpy(), second.asnumpy())


def test_categorical_numbers_have_their_probabilities():
    table = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]], np.float32)
    c = msd.Categorical(table, seed=5)
    x = Tensor(np.array([[-1.0], [0.0], [2.0], [3.0]], np.float32))

    def everything(x):
        return c.prob(x), c.cdf(x), c.mean(), c.var(), c.mode(), c.entropy()
    rows = [stats.rv_discrete(values=(range(3), row / row.sum())) for row in table.astype(np.float64)]
    for run in (everything, ms.jit(everything, fullgraph=True)):
        prob, cdf, mean, var, mode, entropy = run(x)
        close(prob, np.stack([row.pmf(x.asnumpy()[:, 0]) for row in rows], -1))
        close(cdf, np.stack([row.cdf(x.asnumpy()[:, 0]) for row in rows], -1))
        close(mean, [row.mean() for row in rows])
        close(var, [row.var() for row in rows], 1e-4)
        close(entropy, [row.entropy() for row in rows])
        assert mode.tolist() == [1, 0] and mode.dtype == ms.int32
    other = np.array([[0.3, 0.3, 0.4]] * 2, np.float32)
    close(c.kl_loss("Categorical", Tensor(other)), (table * np.log(table / other)).sum(-1))
    samples = c.sample((4000,)).asnumpy()
    assert samples.shape == (4000, 2) and samples.dtype == np.int32
    close([(samples == k).mean(0) for k in range(3)], table.T, 0, 0.03)
    assert msd.Categorical([0.2, 0.8]).prob(Tensor(1.0)).shape == ()


def test_the_tails_of_the_normal_distribution_are_exact():
    z = np.array([-30.0, -12.0, -10.0, -3.0, 0.0, 3.0, 8.0], np.float32)
    n = msd.Normal(0.0, 1.0)
    close(n.log_cdf(Tensor(z)), stats.norm.logcdf(z.astype(np.float64)), 1e-6, 1e-12)
    slope = ms.grad(lambda z: n.log_cdf(z).sum())(Tensor(z))
    wide = z.astype(np.float64)
    close(slope, np.exp(stats.norm.logpdf(wide) - stats.norm.logcdf(wide)), 1e-4, 1e-12)


@pytest.mark.parametrize("name, given, value", [
    ("LogNormal", (0.0, 1.0), -1.0), ("Gamma", ([0.5], [1.0]), -1.0), ("Beta", ([0.5], [0.5]), 2.0), ("HalfNormal",
    (0.0, 1.0), -1.0),
    ("Exponential", (1.0,), -1.0), ("Poisson", (1.0,), -1.0)])
def test_outside_of_the_support_the_density_is_0_and_gradients_are_no_nan(name, given, value):
    distribution = getattr(msd, name)(*given)
    x = Tensor([value])
    assert distribution.prob(x).tolist() == [0.0] and distribution.log_prob(x).tolist() == [-np.inf]
    for function in ("log_prob", "cdf"):
        slope = ms.grad(lambda x: distribution(function, x).sum())(x)
        assert np.isfinite(slope.asnumpy()).all()


def test_modes():
    close(msd.Gamma([3.0, 0.5], [2.0, 2.0]).mode(), [1.0, np.nan])
    close(msd.Beta([3.0, 0.5], [2.0, 2.0]).mode(), [2 / 3, np.nan])
    close(msd.LogNormal(1.0, 0.5).mode(), np.exp(0.75))
    assert msd.Bernoulli([0.2, 0.8]).mode().tolist() == [0, 1] and msd.Poisson(2.5).mode() == 2
    for name in ("Normal", "Laplace", "HalfNormal"):
        assert getattr(msd, name)(1.5, 2.0).mode() == 1.5


class Own(msd.Distribution):
    """The exponential distribution, as a script for MindSpore writes it."""

    def __init__(self, rate=None, seed=None, dtype=ms.float32, name="Own"):
        param = dict(locals())
        param["param_dict"] = {"rate": rate}
        super().__init__(seed, dtype, name, param)
        self._rate = self._add_parameter(rate, "rate")

    def _log_prob(self, value, rate=None):
        value = self._check_value(value, "value")
        rate = self._check_param_type(rate)
        return ops.log(rate) - rate * value

    def _sd(self, rate=None):
        return 1 / self._check_param_type(rate)


@pytest.mark.parametrize("mode", ["python", "graph"])
def test_a_distribution_of_ones_own_answers_what_follows_from_its_formulas(mode):
    d = Own(2.0)

    def ask(x):
        return d.prob(x), d("var"), d.log_prob(x, Tensor(3.0))
    prob, var, logs = (ms.jit(ask, fullgraph=True) if mode == "graph" else ask)(Tensor([0.5, 1.0]))
    close(prob, stats.expon(scale=0.5).pdf([0.5, 1.0]))
    close(var, 0.25)
    close(logs, stats.expon(scale=1 / 3).logpdf([0.5, 1.0]))
    with pytest.raises(NotImplementedError, match="Own: cdf is not implemented"):
        (ms.jit(d.cdf) if mode == "graph" else d.cdf)(Tensor([0.5]))
    with pytest.raises(NotImplementedError, match="kl_loss"):
        d.kl_loss("Own", Tensor(1.0))


def test_parameters_are_learned():
    class Fit(nn.Cell):
        def __init__(self):
            super().__init__()
            self.normal = msd.Normal(ms.Parameter(Tensor(0.0), name="m"), ms.Parameter(Tensor(1.0), name="s"))

        def construct(self, x):
            return -self.normal.log_prob(x).mean()
    net, x = Fit(), Tensor([1.0, 3.0])
    assert len(net.trainable_params()) == 2
    slopes = ms.jit(ms.grad(net, None, net.trainable_params()), fullgraph=True)(x)
    close([float(s) for s in slopes], [-2.0, 1 - 5.0])


@pytest.mark.parametrize("make, error", [
    (lambda: msd.Normal([[2.0], [1.0]], [[2.0], [3.0], [4.0]]), ValueError),
    (lambda: msd.Normal(0.0, 1.0, dtype=ms.int32), TypeError),
    (lambda: msd.Normal(0.0, 1.0, name=1.0), TypeError), (lambda: msd.Normal(0.0, 1.0, seed="seed"), TypeError),
    (lambda: msd.Normal(0.0, 0.0), ValueError), (lambda: msd.Gamma(3.0, [4.0]), TypeError),
    (lambda: msd.Uniform(1.0, 0.0), ValueError),
    (lambda: msd.Bernoulli(1.0), ValueError), (lambda: msd.Categorical([0.5, 0.7]), ValueError),
    (lambda: msd.Categorical(0.5), ValueError),
    (lambda: msd.Normal().prob(Tensor(1.0)), TypeError), (lambda: msd.Normal(0.0, 1.0).prob(1.0), TypeError),
    (lambda: msd.Normal(0.0, 1.0).kl_loss("Gamma", Tensor(1.0), Tensor(1.0)), ValueError),
    (lambda: msd.Cauchy(0.0, 1.0).mean(), ValueError),
    (lambda: msd.Normal(True, 1.0), TypeError), (lambda: msd.Normal(Tensor(1.0, ms.float32), Tensor(1.0, ms.float16)), TypeError),
    (lambda: msd.Bernoulli(0.5, dtype=ms.bool_), TypeError), (lambda: msd.Normal(0.0, 1.0).sample(3), TypeError)])
def test_what_does_not_fit_is_an_error(make, error):
    with pytest.raises(error):
        make()
