"""Bijectors: inverses, slopes, and the distributions that they make, in Python and in graphs."""
import numpy as np
import pytest
from scipy import stats

import mindlite as ms
from mindlite import Tensor
from mindlite.nn.probability import bijector as msb, distribution as msd

X = np.linspace(0.2, 2.5, 6).astype(np.float32)
MAKE = {"Exp": msb.Exp, "PowerTransform": lambda: msb.PowerTransform(0.5),
"power 0": lambda: msb.PowerTransform([0.0, 0.5, 1, 0, 2, 3.0]),
        "ScalarAffine": lambda: msb.ScalarAffine(-2.0, 1.5), "Softplus": lambda: msb.Softplus(2.0),
        "GumbelCDF": lambda: msb.GumbelCDF(0.5, 2.0), "Invert": lambda: msb.Invert(msb.Softplus())}


def close(found, expected, rtol=1e-4, atol=1e-5):
    np.testing.assert_allclose(np.asarray(found), expected, rtol, atol)


@pytest.mark.parametrize("name", MAKE)
def test_a_bijector_has_an_inverse_and_the_slopes_that_it_says(name):
    b, x = MAKE[name](), Tensor(X)

    def everything(x):
        y = b.forward(x)
        return y, b("inverse", y), b.forward_log_jacobian(x), b("inverse_log_jacobian", y)
    slope = np.abs(ms.grad(lambda x: b.forward(x).sum())(x).asnumpy())
    for run in (everything, ms.jit(everything, fullgraph=True)):
        y, back, forward, inverse = run(x)
        close(back, X)
        close(forward, np.log(slope) if forward.shape else np.log(slope[0]))
        close(inverse, -np.asarray(forward))


def test_a_transformed_distribution_is_that_of_scipy():
    x = Tensor(X)
    for b, base, theirs in ((msb.Exp(), msd.Normal(0.5, 1.5), stats.lognorm(1.5, scale=np.exp(0.5))),
                            (msb.ScalarAffine(-2.0, 1.0), msd.Exponential(1.0), None),
                            (msb.Invert(msb.GumbelCDF(0.5, 2.0)), msd.Uniform(0.0, 1.0), stats.gumbel_r(0.5, 2.0))):
        d = b(base)
        assert isinstance(d, msd.TransformedDistribution)
        values = X if theirs else 1 - X
        theirs = theirs or stats.expon(scale=2.0)

        def everything(x):
            return d.log_prob(x), d.cdf(x), d.survival_function(x), d.prob(x)
        for run in (everything, ms.jit(everything, fullgraph=True)):
            log_prob, cdf, survival, prob = run(Tensor(values))
            flipped = values is not X
            close(log_prob, theirs.logpdf(X))
            close(prob, theirs.pdf(X))
            close(cdf, theirs.sf(X) if flipped else theirs.cdf(X))
            close(survival, theirs.cdf(X) if flipped else theirs.sf(X))
    affine = msb.ScalarAffine(2.0, 1.0)(msd.Normal(0.0, 3.0, seed=3))
    assert affine.mean() == 1 and affine.is_linear_transformation
    assert stats.kstest(affine.sample((2000,)).asnumpy(), stats.norm(1, 6).cdf).pvalue > 1e-3
    assert affine.log_prob(x, Tensor(1.0), Tensor(2.0)).shape == x.shape
    with pytest.raises(ValueError, match="not linear"):
        msb.Exp()(msd.Normal(0.0, 1.0)).mean()


def test_names_and_shapes():
    assert msb.Invert(msb.ScalarAffine(1.0)).name == "InvertScalarAffine"
    assert msb.GumbelCDF([1.0, 2.0], [[1.0], [2.0]]).batch_shape == (2, 2) and msb.Softplus().is_scalar_batch
    assert msb.Softplus(np.ones(3, np.float32)).shape_mapping((2, 1)) == (2, 3)
    assert msb.Exp().forward(Tensor([1.0], ms.float16)).dtype == ms.float16


@pytest.mark.parametrize("make, error", [
    (lambda: msb.Softplus("sharpness"), TypeError), (lambda: msb.Softplus(name=0.1), TypeError),
    (lambda: msb.GumbelCDF(scale=0.0), ValueError),
    (lambda: msb.PowerTransform(-1.0), ValueError), (lambda: msb.Invert(0.1), TypeError),
    (lambda: msb.Exp().forward(1.0), TypeError),
    (lambda: msb.Exp().forward(Tensor([1])), TypeError), (lambda: msb.ScalarAffine(np.ones(2, np.int32)), TypeError),
    (lambda: msb.ScalarAffine(np.ones(2, np.float16), np.ones(2, np.float32)), TypeError),
    (lambda: msb.Exp()("other", Tensor(1.0)), ValueError),
    (lambda: msd.TransformedDistribution(msb.Exp(), msd.Bernoulli(0.5)), TypeError)])
def test_what_does_not_fit_is_an_error(make, error):
    with pytest.raises(error):
        make()
