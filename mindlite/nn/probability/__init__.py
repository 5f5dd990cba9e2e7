"""Probability: distributions, bijectors between them, Bayesian layers, and what is trained with them.

    normal = distribution.Normal(0.0, 1.0);  normal.log_prob(x);  normal.sample((3,))

source : MindSpore, nn.probability
"""
from . import bijector, bnn_layers, distribution, dpn, infer, toolbox  # noqa: F401
