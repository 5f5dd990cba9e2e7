"""Settings of layers are of the kinds that their constructors name; each layer is asked with a wrong one for each setting."""
import inspect

import pytest

from mindlite import Tensor, mint, nn
from mindlite.common.errors import ArgumentError, MindliteError

WRONG = {"bool": ("no", 2, 0.5), "int": ("x", 2.5), "float": ("x", (1.0,)), "str": (7, 0.5)}


def made_of_fours():
    """(layer, the settings that must be given) of the layers that can be made of fours."""
    for room in (nn, mint.nn):
        for name in sorted(dir(room)):
            layer = getattr(room, name)
            if name.startswith("_") or not inspect.isclass(layer) or not issubclass(layer, nn.Cell):
                continue
            settings = inspect.signature(layer).parameters.values()
            needed = {p.name: 4 for p in settings if p.default is p.empty and p.kind is not p.VAR_KEYWORD}
            try:
                layer(**needed)
            except (MindliteError, TypeError, AttributeError):
                continue
            yield layer, needed


def test_a_setting_of_another_kind_is_refused_by_every_layer():
    layers, asked = dict.fromkeys(made.__name__ for made, _ in made_of_fours()), 0
    for layer, needed in made_of_fours():
        if layer.__init__ is nn.Cell.__init__:
            continue
        for p in inspect.signature(layer).parameters.values():
            for wrong in WRONG.get(str(p.annotation), ()):
                asked += 1
                with pytest.raises(MindliteError):
                    layer(**{**needed, p.name: wrong})
    assert len(layers) > 100 and asked > 300


def test_the_error_names_the_layer_the_setting_and_what_was_given():
    with pytest.raises(ArgumentError, match="ELU: alpha is a number, not str"):
        nn.ELU(alpha="x")
    with pytest.raises(ArgumentError, match="BiDense: has_bias is a bool, not str"):
        nn.BiDense(2, 3, 4, has_bias="no")
    with pytest.raises(ArgumentError, match="AvgPool2d: pad_mode is a str, not int"):
        nn.AvgPool2d(2, pad_mode=7)


def test_what_is_no_tensor_is_refused_in_words_by_every_layer():
    any_input = {"Dropout", "Identity", "FixedLossScaleUpdateCell", "DynamicLossScaleUpdateCell", "LearningRateSchedule"}
    asked = 0
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    for layer, needed in made_of_fours():
        made = layer(**needed)
        inputs = [p for p in inspect.signature(made.construct).parameters.values() if p.default is p.empty]
        if layer.__name__ in any_input or not inputs or any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in inputs):
            continue
        asked += 1
        for wrong in (None, "a"):
            with pytest.raises(MindliteError):
                made(wrong, *[x] * (len(inputs) - 1))
    assert asked > 80


def test_a_class_of_the_user_is_left_alone():
    class Mine(nn.Cell):
        def __init__(self, has_bias: bool = False):
            super().__init__()
            self.has_bias = has_bias
    assert Mine("maybe").has_bias == "maybe"
