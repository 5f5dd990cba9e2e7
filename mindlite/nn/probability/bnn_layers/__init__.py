"""Layers whose weights are distributions, and the loss that learns them."""
from .layers import ConvReparam, DenseLocalReparam, DenseReparam, WithBNNLossCell  # noqa: F401
from .weights import NormalPosterior, NormalPrior, normal_post_fn  # noqa: F401

__all__ = ["ConvReparam", "DenseLocalReparam", "DenseReparam", "NormalPosterior", "NormalPrior", "WithBNNLossCell"]
