"""Bijectors: functions with inverses and slopes, and what they make of distributions."""
from ..distribution.transformed import Bijector  # noqa: F401
from .bijector import Exp, GumbelCDF, Invert, PowerTransform, ScalarAffine, Softplus  # noqa: F401

__all__ = ["Bijector", "Exp", "GumbelCDF", "Invert", "PowerTransform", "ScalarAffine", "Softplus"]
