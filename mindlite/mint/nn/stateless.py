"""Layers without Parameters: a function of mint.nn.functional and what its arguments are.

    mint.nn.GELU()(x)  ==  functional.gelu(x, approximate="none")        mint.nn.AvgPool2d(2) has stride 2
"""
from typing import Any

from ...common.errors import ArgumentError
from ...nn import Cell
from . import functional as F


class _Function(Cell):
    """A layer that calls `function` with its input and the settings that the constructor was given, in order."""
    function: Any = None
    names: tuple[str, ...] = ()

    def _set(self, *values):
        for name, value in zip(self.names, values):
            setattr(self, name, value)
        self._arguments = tuple(values)

    def construct(self, input):
        return self.function(input, *self._arguments)

    def extend_repr(self):
        return ", ".join(f"{name}={value!r}" for name, value in zip(self.names, self._arguments))


def _without_settings(name, function, doc):
    def __init__(self):
        Cell.__init__(self)
        self._set()
    made = type(name, (_Function,), {"function": staticmethod(function), "__init__": __init__, "__doc__": doc,
                                     "__module__": __name__})
    return made


ReLU = _without_settings("ReLU", F.relu, "max(input, 0)")
Tanh = _without_settings("Tanh", F.tanh, "The hyperbolic tangent.")
Sigmoid = _without_settings("Sigmoid", F.sigmoid, "1 / (1 + exp(-input))")
LogSigmoid = _without_settings("LogSigmoid", F.logsigmoid, "log(sigmoid(input))")
Hardsigmoid = _without_settings("Hardsigmoid", F.hardsigmoid, "min(max(input / 6 + 1 / 2, 0), 1)")
Hardswish = _without_settings("Hardswish", F.hardswish, "input * hardsigmoid(input)")
Mish = _without_settings("Mish", F.mish, "input * tanh(softplus(input))")
SELU = _without_settings("SELU", F.selu, "The scaled exponential linear unit.")


class Identity(Cell):
    """The input; any arguments are taken and left out."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def construct(self, input):
        return input


class ELU(_Function):
    """input where it is positive, else alpha * (exp(input) - 1)."""
    function, names = staticmethod(F.elu), ("alpha", "inplace")

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self._set(alpha, inplace)


class ReLU6(_Function):
    """min(max(input, 0), 6)."""
    function, names = staticmethod(F.relu6), ("inplace",)

    def __init__(self, inplace=False):
        super().__init__()
        self._set(inplace)


class SiLU(_Function):
    """input * sigmoid(input)."""
    function, names = staticmethod(F.silu), ("inplace",)

    def __init__(self, inplace=False):
        super().__init__()
        self._set(inplace)


class GELU(Cell):
    """input * Phi(input); approximate="tanh" by a tangent."""

    def __init__(self, approximate="none"):
        super().__init__()
        if approximate not in ("none", "tanh"):
            raise ArgumentError(f"GELU: approximate is 'none' or 'tanh', not {approximate!r}")
        self.approximate = approximate

    def construct(self, input):
        return F.gelu(input, approximate=self.approximate)


class GLU(_Function):
    """The first half along `dim` times the sigmoid of the second."""
    function, names = staticmethod(F.glu), ("dim",)

    def __init__(self, dim=-1):
        super().__init__()
        self._set(dim)


class Hardshrink(_Function):
    """input where abs(input) > lambd, else 0."""
    function, names = staticmethod(F.hardshrink), ("lambd",)

    def __init__(self, lambd=0.5):
        super().__init__()
        self._set(lambd)


class Softshrink(_Function):
    """input moved by lambd towards 0, and 0 within."""
    function, names = staticmethod(F.softshrink), ("lambd",)

    def __init__(self, lambd=0.5):
        super().__init__()
        self._set(lambd)


class Hardtanh(_Function):
    """input limited to [min_val, max_val]."""
    function, names = staticmethod(F.hardtanh), ("min_val", "max_val", "inplace")

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False):
        super().__init__()
        self._set(min_val, max_val, inplace)


class Threshold(_Function):
    """input where it is above threshold, else value."""
    function, names = staticmethod(F.threshold), ("threshold", "value", "inplace")

    def __init__(self, threshold, value, inplace=False):
        super().__init__()
        self._set(threshold, value, inplace)


class Softmax(_Function):
    """exp(input) divided by its sum along `dim`; see functional.softmax."""
    function, names = staticmethod(F.softmax), ("dim",)

    def __init__(self, dim=None):
        super().__init__()
        self._set(dim)


class LogSoftmax(_Function):
    """The logarithm of Softmax."""
    function, names = staticmethod(F.log_softmax), ("dim",)

    def __init__(self, dim=None):
        super().__init__()
        self._set(dim)


class Flatten(_Function):
    """Axes start_dim to end_dim made one."""
    function, names = staticmethod(F.flatten), ("start_dim", "end_dim")

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self._set(start_dim, end_dim)


class PixelShuffle(_Function):
    """[.., C * r * r, H, W] as [.., C, H * r, W * r]."""
    function, names = staticmethod(F.pixel_shuffle), ("upscale_factor",)

    def __init__(self, upscale_factor):
        super().__init__()
        self._set(upscale_factor)


class Fold(_Function):
    """Patches added to pictures of output_size."""
    function, names = staticmethod(F.fold), ("output_size", "kernel_size", "dilation", "padding", "stride")

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self._set(output_size, kernel_size, dilation, padding, stride)


class Unfold(_Function):
    """The patches of pictures."""
    function, names = staticmethod(F.unfold), ("kernel_size", "dilation", "padding", "stride")

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self._set(kernel_size, dilation, padding, stride)


# ---------------------------------------------------------------- pooling and sizes

class AvgPool1d(_Function):
    """Means of windows of the last axis; stride : by default kernel_size."""
    function, names = staticmethod(F.avg_pool1d), ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__()
        self._set(kernel_size, stride, padding, ceil_mode, count_include_pad)


class AvgPool2d(_Function):
    """Means of windows of the last two axes; stride : by default kernel_size."""
    function = staticmethod(F.avg_pool2d)
    names = "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        super().__init__()
        self._set(kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


class AvgPool3d(_Function):
    """Means of windows of the last three axes; stride : by default kernel_size."""
    function, names = staticmethod(F.avg_pool3d), AvgPool2d.names

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        super().__init__()
        self._set(kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


class MaxPool2d(Cell):
    """The largest of windows of the last two axes; stride : by default kernel_size; with return_indices also where."""

    def __init__(self, kernel_size=1, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__()
        self.kernel_size, self.stride, self.padding, self.dilation = kernel_size, stride, padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def construct(self, input):
        return F.max_pool2d(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
                            self.return_indices)


class MaxUnpool2d(Cell):
    """What MaxPool2d gave, put back at its indices; zeros elsewhere."""

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def construct(self, input, indices, output_size=None):
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


def _adaptive(name, function, with_indices, doc):
    def set_size(self, output_size):
        Cell.__init__(self)
        self._set(output_size)

    def set_both(self, output_size, return_indices=False):
        Cell.__init__(self)
        self._set(output_size, return_indices)
    names = ("output_size", "return_indices") if with_indices else ("output_size",)
    made = type(name, (_Function,), {"function": staticmethod(function), "names": names, "__doc__": doc, "__module__": __name__,
                                     "__init__": set_both if with_indices else set_size})
    return made


AdaptiveAvgPool1d = _adaptive("AdaptiveAvgPool1d", F.adaptive_avg_pool1d, False, "Means of windows that cover the last axis.")
AdaptiveAvgPool2d = _adaptive("AdaptiveAvgPool2d", F.adaptive_avg_pool2d, False, "The same of the last two axes.")
AdaptiveAvgPool3d = _adaptive("AdaptiveAvgPool3d", F.adaptive_avg_pool3d, False, "The same of the last three axes.")
AdaptiveMaxPool1d = _adaptive("AdaptiveMaxPool1d", F.adaptive_max_pool1d, True, "The largest of windows of the last axis.")
AdaptiveMaxPool2d = _adaptive("AdaptiveMaxPool2d", F.adaptive_max_pool2d, True, "The same of the last two axes.")


class Upsample(_Function):
    """Pictures of another size."""
    function = staticmethod(F.interpolate)
    names = "size", "scale_factor", "mode", "align_corners", "recompute_scale_factor"

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
        super().__init__()
        self._set(size, scale_factor, mode, align_corners, recompute_scale_factor)


class UpsamplingNearest2d(_Function):
    """Pictures of another size, by the nearest points."""
    function, names = staticmethod(F.interpolate), Upsample.names

    def __init__(self, size=None, scale_factor=None):
        super().__init__()
        self._set(size, scale_factor, "nearest", None, None)


class UpsamplingBilinear2d(_Function):
    """Pictures of another size, by lines between points, the corners being kept."""
    function, names = staticmethod(F.interpolate), Upsample.names

    def __init__(self, size=None, scale_factor=None):
        super().__init__()
        self._set(size, scale_factor, "bilinear", True, None)


class _Pad(Cell):
    """`axes` pairs (before, after) for the last axes, the last one first."""
    axes, mode = 0, "constant"

    def _set(self, padding, value=None):
        ends = (padding,) * (2 * self.axes) if isinstance(padding, int) and not isinstance(padding, bool) else padding
        if not isinstance(ends, (tuple, list)) or len(ends) != 2 * self.axes:
            raise ArgumentError(f"{type(self).__name__}: padding is an int or {2 * self.axes} of them, not {padding!r}")
        self.padding, self.value = tuple(ends), value

    def construct(self, input):
        return F.pad(input, self.padding, self.mode, self.value)

    def extend_repr(self):
        return f"padding={self.padding}" + (f", value={self.value}" if self.mode == "constant" else "")


def _padding(kind, axes, mode):
    def set_both(self, padding, value):
        Cell.__init__(self)
        self._set(padding, value)

    def set_padding(self, padding):
        Cell.__init__(self)
        self._set(padding, 0 if kind == "ZeroPad" else None)
    made = type(f"{kind}{axes}d", (_Pad,), {
        "axes": axes, "mode": mode, "__module__": __name__, "__init__": set_both if kind == "ConstantPad" else set_padding,
        "__doc__": f"The last {axes} axes extended by (before, after), the last axis first, by {mode} values."})
    return made


for _kind, _mode in (("ConstantPad", "constant"), ("ZeroPad", "constant"), ("ReflectionPad", "reflect"),
                     ("ReplicationPad", "replicate")):
    for _axes in (1, 2, 3):
        globals()[f"{_kind}{_axes}d"] = _padding(_kind, _axes, _mode)


# ---------------------------------------------------------------- losses

class _Loss(Cell):
    """A loss: `function` of (input, target) and the settings by name. raises : ArgumentError for another reduction"""
    function: Any = None
    others: tuple[str, ...] = ()

    def _set(self, **settings):
        if settings["reduction"] not in ("none", "mean", "sum", *self.others):
            raise ArgumentError(f"{type(self).__name__}: reduction is 'none', 'mean' or 'sum', not {settings['reduction']!r}")
        for name, value in settings.items():
            setattr(self, name, value)
        self._settings = settings

    def construct(self, input, target):
        return self.function(input, target, **self._settings)


class L1Loss(_Loss):
    """abs(input - target)."""
    function = staticmethod(F.l1_loss)

    def __init__(self, reduction="mean"):
        super().__init__()
        self._set(reduction=reduction)


class MSELoss(_Loss):
    """(input - target) squared."""
    function = staticmethod(F.mse_loss)

    def __init__(self, reduction="mean"):
        super().__init__()
        self._set(reduction=reduction)


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)) for targets -1 and 1."""
    function = staticmethod(F.soft_margin_loss)

    def __init__(self, reduction="mean"):
        super().__init__()
        self._set(reduction=reduction)


class SmoothL1Loss(_Loss):
    """d * d / (2 beta) where d = abs(input - target) < beta, else d - beta / 2."""
    function = staticmethod(F.smooth_l1_loss)

    def __init__(self, reduction="mean", beta=1.0):
        super().__init__()
        self._set(reduction=reduction, beta=beta)


class KLDivLoss(_Loss):
    """target * (log(target) - input); log_target : target holds logarithms; reduction : "batchmean" too."""
    function, others = staticmethod(F.kl_div), ("batchmean",)

    def __init__(self, reduction="mean", log_target=False):
        super().__init__()
        self._set(reduction=reduction, log_target=log_target)


class BCELoss(_Loss):
    """Binary cross entropy of probabilities."""
    function = staticmethod(F.binary_cross_entropy)

    def __init__(self, weight=None, reduction="mean"):
        super().__init__()
        self._set(weight=weight, reduction=reduction)


class BCEWithLogitsLoss(_Loss):
    """Binary cross entropy of sigmoid(input)."""
    function = staticmethod(F.binary_cross_entropy_with_logits)

    def __init__(self, weight=None, reduction="mean", pos_weight=None):
        super().__init__()
        self._set(weight=weight, reduction=reduction, pos_weight=pos_weight)


class CrossEntropyLoss(_Loss):
    """The cross entropy between softmax(input) and labels or probabilities."""
    function = staticmethod(F.cross_entropy)

    def __init__(self, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
        super().__init__()
        self._set(weight=weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing)


class NLLLoss(_Loss):
    """Negative log likelihood of labels."""
    function = staticmethod(F.nll_loss)

    def __init__(self, weight=None, ignore_index=-100, reduction="mean"):
        super().__init__()
        self._set(weight=weight, ignore_index=ignore_index, reduction=reduction)


class CosineEmbeddingLoss(Cell):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""

    def __init__(self, margin=0.0, reduction="mean"):
        super().__init__()
        self.margin, self.reduction = margin, reduction

    def construct(self, input1, input2, target):
        return F.cosine_embedding_loss(input1, input2, target, self.margin, self.reduction)


__all__ = [name for name, value in list(globals().items()) if isinstance(value, type) and issubclass(value, Cell)
           and not name.startswith("_") and name != "Cell"]
