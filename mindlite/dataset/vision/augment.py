"""Policies of operations: AutoAugment, RandAugment, TrivialAugmentWide, UniformAugment, RandomSelectSubpolicy.

Sources: Cubuk et al. 2019 (AutoAugment), Cubuk et al. 2020 (RandAugment), Mueller and Hutter 2021 (TrivialAugment),
LingChen et al. 2020 (UniformAugment).
"""
from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ...common.errors import ArgumentError, ValueRangeError
from .. import draws
from ..operation import (FLOAT_MAX, Operation, functions, image_array, kind_of, operation, probability, whole, within)
from . import colour
from .geometry import affine_inverse, fill, inter, rotated
from .warping import warped
from .kinds import AutoAugmentPolicy, Inter


def _affine(image: np.ndarray, how: Inter, value: Any, shift: tuple = (0, 0), shear: tuple = (0, 0)) -> np.ndarray:
    height, width = image.shape[:2]
    centre = (0, 0) if any(shear) else (width / 2, height / 2)
    return warped(image, (height, width), affine_inverse(centre, 0.0, shift, 1.0, shear), how, value)


def _degrees(tangent: float) -> float:
    return float(np.degrees(np.arctan(tangent)))


STEPS: dict[str, Callable] = {           # (image, magnitude, interpolation, fill) -> image
    "Identity": lambda x, m, how, value: x,
    "ShearX": lambda x, m, how, value: _affine(x, how, value, shear=(_degrees(m), 0.0)),
    "ShearY": lambda x, m, how, value: _affine(x, how, value, shear=(0.0, _degrees(m))),
    "TranslateX": lambda x, m, how, value: _affine(x, how, value, shift=(int(m), 0)),
    "TranslateY": lambda x, m, how, value: _affine(x, how, value, shift=(0, int(m))),
    "Rotate": lambda x, m, how, value: rotated(x, m, how, False, None, value),
    "Brightness": lambda x, m, how, value: colour.brightness(x, 1 + m, "Brightness"),
    "Color": lambda x, m, how, value: colour.saturation(x, 1 + m, "Color"),
    "Contrast": lambda x, m, how, value: colour.contrast(x, 1 + m, "Contrast"),
    "Sharpness": lambda x, m, how, value: colour.sharpened(x, 1 + m),
    "Posterize": lambda x, m, how, value: colour.posterized(x, int(m)),
    "Solarize": lambda x, m, how, value: colour.solarized(x, m, m),
    "AutoContrast": lambda x, m, how, value: colour.contrasted(x, 0, None),
    "Equalize": lambda x, m, how, value: colour.equalised(x),
    "Invert": lambda x, m, how, value: 255 - x,
}
SIGNED = ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness")


def magnitudes(bins: int, height: int, width: int, wide: bool = False) -> dict[str, np.ndarray]:
    """{step: its magnitudes, from none to the largest}. wide : TrivialAugment's ranges"""
    k = np.arange(bins)
    line = lambda top: np.linspace(0.0, top, bins)           # noqa: E731
    shear, rotate, factor, least = (0.99, 135.0, 0.99, 2) if wide else (0.3, 30.0, 0.9, 4)
    moves = (32.0, 32.0) if wide else (150.0 / 331.0 * width, 150.0 / 331.0 * height)
    return {"Identity": np.zeros(bins), "ShearX": line(shear), "ShearY": line(shear), "TranslateX": line(moves[0]),
            "TranslateY": line(moves[1]), "Rotate": line(rotate), "Brightness": line(factor), "Color": line(factor),
            "Contrast": line(factor), "Sharpness": line(factor),
            "Posterize": 8 - np.round(k / max((bins - 1) / (8 - least), 1e-9)), "Solarize": np.linspace(255.0, 0.0, bins),
            "AutoContrast": np.zeros(bins), "Equalize": np.zeros(bins), "Invert": np.zeros(bins)}


def _apply(image: np.ndarray, step: str, magnitude: float, how: Inter, value: Any) -> np.ndarray:
    if step in SIGNED and draws.generator().random() < 0.5:
        magnitude = -magnitude
    return STEPS[step](image, float(magnitude), how, value)


def _pixels(image: Any, name: str) -> np.ndarray:
    return colour.colours(image_array(image, name), name)


@operation(num_ops=whole(0, FLOAT_MAX), magnitude=kind_of(int), num_magnitude_bins=whole(2, FLOAT_MAX), interpolation=inter,
           fill_value=fill, random=True,
           together=lambda a: within(a["magnitude"], 0, a["num_magnitude_bins"], "magnitude", open_right=True))
def RandAugment(image, /, num_ops=2, magnitude=9, num_magnitude_bins=31, interpolation=Inter.NEAREST, fill_value=0):
    """`num_ops` steps drawn at random, all of the same magnitude."""
    out = _pixels(image, "RandAugment")
    ranges = magnitudes(num_magnitude_bins, *out.shape[:2])
    steps = [name for name in STEPS if name != "Invert"]
    for _ in range(num_ops):
        step = steps[draws.generator().integers(len(steps))]
        out = _apply(out, step, ranges[step][magnitude], interpolation, fill_value)
    return out


@operation(num_magnitude_bins=whole(2, FLOAT_MAX), interpolation=inter, fill_value=fill, random=True)
def TrivialAugmentWide(image, /, num_magnitude_bins=31, interpolation=Inter.NEAREST, fill_value=0):
    """One step with one magnitude, both drawn at random."""
    out = _pixels(image, "TrivialAugmentWide")
    ranges, numbers = magnitudes(num_magnitude_bins, out.shape[0], out.shape[1], wide=True), draws.generator()
    steps = [name for name in STEPS if name != "Invert"]
    step = steps[numbers.integers(len(steps))]
    return _apply(out, step, ranges[step][numbers.integers(num_magnitude_bins)], interpolation, fill_value)


_POLICIES = {                            # pairs of (step, probability, magnitude 0 to 9)
    AutoAugmentPolicy.IMAGENET: """Posterize .4 8 Rotate .6 9|Solarize .6 5 AutoContrast .6 0|Equalize .8 0 Equalize .6 0|
        Posterize .6 7 Posterize .6 6|Equalize .4 0 Solarize .2 4|Equalize .4 0 Rotate .8 8|Solarize .6 3 Equalize .6 0|
        Posterize .8 5 Equalize 1 0|Rotate .2 3 Solarize .6 8|Equalize .6 0 Posterize .4 6|Rotate .8 8 Color .4 0|
        Rotate .4 9 Equalize .6 0|Equalize 0 0 Equalize .8 0|Invert .6 0 Equalize 1 0|Color .6 4 Contrast 1 8|
        Rotate .8 8 Color 1 2|Color .8 8 Solarize .8 7|Sharpness .4 7 Invert .6 0|ShearX .6 5 Equalize 1 0|
        Color .4 0 Equalize .6 0|Equalize .4 0 Solarize .2 4|Solarize .6 5 AutoContrast .6 0|Invert .6 0 Equalize 1 0|
        Color .6 4 Contrast 1 8|Equalize .8 0 Equalize .6 0""",
    AutoAugmentPolicy.CIFAR10: """Invert .1 0 Contrast .2 6|Rotate .7 2 TranslateX .3 9|Sharpness .8 1 Sharpness .9 3|
        ShearY .5 8 TranslateY .7 9|AutoContrast .5 0 Equalize .9 0|ShearY .2 7 Posterize .3 7|Color .4 3 Brightness .6 7|
        Sharpness .3 9 Brightness .7 9|Equalize .6 0 Equalize .5 0|Contrast .6 7 Sharpness .6 5|Color .7 7 TranslateX .5 8|
        Equalize .3 0 AutoContrast .4 0|TranslateY .4 3 Sharpness .2 6|Brightness .9 6 Color .2 8|Solarize .5 2 Invert 0 0|
        Equalize .2 0 AutoContrast .6 0|Equalize .2 0 Equalize .6 0|Color .9 9 Equalize .6 0|AutoContrast .8 0 Solarize .2 8|
        Brightness .1 3 Color .7 0|Solarize .4 5 AutoContrast .9 0|TranslateY .9 9 TranslateY .7 9|
        AutoContrast .9 0 Solarize .8 3|Equalize .8 0 Invert .1 0|TranslateY .7 9 AutoContrast .9 0""",
    AutoAugmentPolicy.SVHN: """ShearX .9 4 Invert .2 0|ShearY .9 8 Invert .7 0|Equalize .6 0 Solarize .6 6|
        Invert .9 0 Equalize .6 0|Equalize .6 0 Rotate .9 3|ShearX .9 4 AutoContrast .8 0|ShearY .9 8 Invert .4 0|
        ShearY .9 5 Solarize .2 6|Invert .9 0 AutoContrast .8 0|Equalize .6 0 Rotate .9 3|ShearX .9 4 Solarize .3 3|
        ShearY .8 8 Invert .7 0|Equalize .9 0 TranslateY .6 6|Invert .9 0 Equalize .6 0|Contrast .3 3 Rotate .8 4|
        Invert .8 0 TranslateY 0 2|ShearY .7 6 Solarize .4 8|Invert .6 0 Rotate .8 4|ShearY .3 7 TranslateX .9 3|
        ShearX .1 6 Invert .6 0|Solarize .7 2 TranslateY .6 7|ShearY .8 4 Invert .8 0|ShearX .7 9 TranslateY .8 3|
        ShearY .8 5 AutoContrast .7 0|ShearX .7 2 Invert .1 0""",
}


def _parsed(text: str) -> list[list[tuple[str, float, int]]]:
    return [[(w[k], float(w[k + 1]), int(w[k + 2])) for k in (0, 3)] for w in (pair.split() for pair in text.split("|"))]


POLICIES = {policy: _parsed(text) for policy, text in _POLICIES.items()}


@operation(policy=kind_of(AutoAugmentPolicy), interpolation=inter, fill_value=fill, random=True)
def AutoAugment(image, /, policy=AutoAugmentPolicy.IMAGENET, interpolation=Inter.NEAREST, fill_value=0):
    """One of the 25 pairs of steps of a learnt policy, drawn at random."""
    out = _pixels(image, "AutoAugment")
    ranges, numbers = magnitudes(10, *out.shape[:2]), draws.generator()
    for step, prob, magnitude in POLICIES[policy][numbers.integers(len(POLICIES[policy]))]:
        if numbers.random() <= prob:
            out = _apply(out, step, ranges[step][magnitude], interpolation, fill_value)
    return out


class UniformAugment(Operation):
    """`num_ops` of the operations, drawn at random, each applied with a probability drawn at random."""
    random = True

    def __init__(self, transforms: list[Callable], num_ops: int = 2) -> None:
        self.transforms = functions(list(transforms) if isinstance(transforms, tuple) else transforms)
        self.num_ops = whole()(num_ops, "num_ops")
        if self.num_ops < 1:
            raise ValueRangeError(f"Input num_ops must be greater than 0, but got {num_ops}.")
        if self.num_ops > len(self.transforms):
            raise ValueRangeError(f"num_ops is greater than transforms list size: {num_ops}, {len(self.transforms)}")

    def __call__(self, image: Any) -> Any:
        numbers = draws.generator()
        chosen: Any = numbers.choice(len(self.transforms), self.num_ops, replace=False)
        for k in chosen:
            if numbers.random() < numbers.random():
                image = self.transforms[k](image)
                image = image[0] if isinstance(image, tuple) and len(image) == 1 else image
        return image


class RandomSelectSubpolicy(Operation):
    """One of several lists of (operation, probability); its operations are applied with their probabilities."""
    random = True

    def __init__(self, policy: list) -> None:
        kind_of(list)(policy, "policy")
        if not policy:
            raise ValueRangeError("policy can not be empty.")
        for k, part in enumerate(policy):
            kind_of(list)(part, f"policy[{k}]")
            if not part:
                raise ValueRangeError(f"policy[{k}] can not be empty.")
            for j, step in enumerate(part):
                if not isinstance(step, tuple) or len(step) != 2:
                    raise ArgumentError(f"policy[{k}][{j}] needs to be a 2-tuple of an operation and a probability")
                if not callable(step[0]):
                    raise ArgumentError(f"op of (op, prob) in policy[{k}][{j}] is neither a c_transform op "
                                        f"(TensorOperation) nor a callable pyfunc")
                probability(step[1], f"prob of (op, prob) policy[{k}][{j}]")
        self.policy = policy

    def __call__(self, *columns: Any) -> Any:
        numbers = draws.generator()
        for step, prob in self.policy[numbers.integers(len(self.policy))]:
            if numbers.random() <= prob:
                found = step(*columns)
                columns = found if isinstance(found, tuple) else (found,)
        return columns if len(columns) > 1 else columns[0]
