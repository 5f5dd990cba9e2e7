"""Distributions: a class for each, with its parameters and its formulas; what can be derived is derived (distribution.py)."""
from .bounded import Beta, Exponential, Gamma, HalfNormal, LogNormal, Uniform  # noqa: F401
from .discrete import Bernoulli, Categorical, Geometric, Poisson  # noqa: F401
from .distribution import Distribution  # noqa: F401
from .real_line import Cauchy, Gumbel, Laplace, Logistic, Normal, StudentT  # noqa: F401
from .transformed import TransformedDistribution  # noqa: F401

__all__ = ["Bernoulli", "Beta", "Categorical", "Cauchy", "Distribution", "Exponential", "Gamma", "Geometric", "Gumbel",
           "HalfNormal", "Laplace", "LogNormal", "Logistic", "Normal", "Poisson", "StudentT", "TransformedDistribution",
           "Uniform"]
