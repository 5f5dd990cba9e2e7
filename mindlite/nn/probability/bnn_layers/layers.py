"""Bayesian layers: in each call weights are drawn from the distributions that are learned.

    loss = dnn_factor * loss(net(x), label) + bnn_factor * sum of KL(posterior || prior)     (Blundell et al. 2015, equation 1)
"""
from typing import Any

from .... import ops
from ....common.checks import check_value_type
from ....common.errors import ValueRangeError
from ....common.tensor import Tensor
from ...cell import Cell
from ...layer.activation import as_activation
from ...layer.basic import flag, ints, positive_int
from .weights import NormalPrior, as_posterior, as_prior, normal_post_fn


class _Variational(Cell):
    """A layer of a weight, and perhaps a bias, with a prior and a posterior each."""

    def __init__(self, shape: tuple[int, ...], has_bias: bool, weight_prior_fn: Any, weight_posterior_fn: Any,
                 bias_prior_fn: Any, bias_posterior_fn: Any) -> None:
        super().__init__()
        self.has_bias = flag(type(self).__name__, "has_bias", has_bias)
        self.weight_prior = as_prior(weight_prior_fn, "weight_prior_fn")
        self.weight_posterior = as_posterior(weight_posterior_fn, "bnn_weight", shape, "weight_posterior_fn")
        if has_bias:
            self.bias_prior = as_prior(bias_prior_fn, "bias_prior_fn")
            self.bias_posterior = as_posterior(bias_posterior_fn, "bnn_bias", shape[:1], "bias_posterior_fn")

    def compute_kl_loss(self) -> Tensor:
        """KL(posterior || prior) of all weights, float[]."""
        loss = _divergence(self.weight_posterior, self.weight_prior)
        return loss + _divergence(self.bias_posterior, self.bias_prior) if self.has_bias else loss


def _divergence(posterior: Cell, prior: Cell) -> Tensor:
    return ops.sum(posterior("kl_loss", prior("get_dist_type"), *prior("get_dist_args")))


class _Dense(_Variational):
    def __init__(self, in_channels: int, out_channels: int, activation: Any = None, has_bias: bool = True,
                 weight_prior_fn: Any = NormalPrior, weight_posterior_fn: Any = normal_post_fn, bias_prior_fn: Any = NormalPrior,
                 bias_posterior_fn: Any = normal_post_fn) -> None:
        name = type(self).__name__
        self_in, self_out = (positive_int(name, what, n) for what, n in (
            ("in_channels", in_channels), ("out_channels", out_channels)))
        super().__init__((self_out, self_in), has_bias, weight_prior_fn, weight_posterior_fn, bias_prior_fn, bias_posterior_fn)
        self.in_channels, self.out_channels = self_in, self_out
        self.activation = as_activation(name, activation)

    def construct(self, x: Tensor) -> Tensor:
        out = self._weighted(x)
        if self.has_bias:
            out = out + self.bias_posterior("sample")
        return out if self.activation is None else self.activation(out)


class DenseReparam(_Dense):
    """A Dense layer whose weights are drawn in each call (Kingma and Welling 2014).

    in_channels, out_channels : int                         activation : a Cell, a name or None; has_bias : bool
    weight_prior_fn, bias_prior_fn         : a NormalPrior, or what makes one
    weight_posterior_fn, bias_posterior_fn : (name, shape) -> a NormalPosterior
    x : float[.., in_channels]; out : float[.., out_channels]
    """

    def _weighted(self, x: Tensor) -> Tensor:
        return ops.matmul(x, ops.transpose(self.weight_posterior("sample"), (1, 0)))


class DenseLocalReparam(_Dense):
    """A Dense layer that draws each sum of weighted inputs instead of the weights (Kingma, Salimans, Welling 2015).

    in_channels, out_channels : int                         activation : a Cell, a name or None; has_bias : bool
    weight_prior_fn, bias_prior_fn         : a NormalPrior, or what makes one
    weight_posterior_fn, bias_posterior_fn : (name, shape) -> a NormalPosterior
    x : float[.., in_channels]; out : float[.., out_channels]
    """

    def _weighted(self, x: Tensor) -> Tensor:
        mean = ops.matmul(x, ops.transpose(self.weight_posterior("mean"), (1, 0)))
        var = ops.matmul(ops.square(x), ops.transpose(ops.square(self.weight_posterior("sd")), (1, 0)))
        return mean + ops.sqrt(var) * ops.standard_normal(tuple(mean.shape), dtype=mean.dtype)


class ConvReparam(_Variational):
    """A convolution whose weights are drawn in each call (Kingma and Welling 2014); its arguments are those of nn.Conv2d.

    in_channels, out_channels, group : int                  kernel_size, stride, dilation : int or two
    pad_mode : "same", "valid" or "pad", with `padding`     has_bias : bool
    weight_prior_fn, bias_prior_fn         : a NormalPrior, or what makes one
    weight_posterior_fn, bias_posterior_fn : (name, shape) -> a NormalPosterior
    x : float[N, in_channels, H, W]; out : float[N, out_channels, H', W']
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, pad_mode: str = "same",
                 padding: Any = 0, dilation: Any = 1, group: int = 1, has_bias: bool = False, weight_prior_fn: Any = NormalPrior,
                 weight_posterior_fn: Any = normal_post_fn, bias_prior_fn: Any = NormalPrior,
                 bias_posterior_fn: Any = normal_post_fn) -> None:
        name = "ConvReparam"
        before, after, groups = (positive_int(name, what, n) for what, n in (
            ("in_channels", in_channels), ("out_channels", out_channels), ("group", group)))
        if before % groups or after % groups:
            raise ValueRangeError(f"{name}: group divides in_channels and out_channels", note=f"{before}, {after}, {groups}")
        if pad_mode not in ("same", "valid", "pad"):
            raise ValueRangeError(f"{name}: pad_mode is 'same', 'valid' or 'pad', not {pad_mode!r}")
        kernel = ints(name, "kernel_size", kernel_size, (2,))
        super().__init__((after, before // groups, *kernel), has_bias, weight_prior_fn, weight_posterior_fn, bias_prior_fn,
                         bias_posterior_fn)
        self.in_channels, self.out_channels, self.group, self.kernel_size = before, after, groups, kernel
        self.stride, self.dilation = ints(name, "stride", stride, (2,)), ints(name, "dilation", dilation, (2,))
        self.pad_mode, self.padding = pad_mode, padding

    def construct(self, x: Tensor) -> Tensor:
        bias = self.bias_posterior("sample") if self.has_bias else None
        return ops.conv2d(x, self.weight_posterior("sample"), bias, self.stride, self.pad_mode, self.padding, self.dilation,
                          self.group)


class WithBNNLossCell(Cell):
    """dnn_factor * loss_fn(backbone(x), label) + bnn_factor * the divergence of the weights of all Bayesian layers in it.

    backbone, loss_fn      : Cells                          dnn_factor, bnn_factor : numbers, not negative
    x, label : what backbone and loss_fn take; out : of loss_fn's shape
    raises   : ArgumentError, ValueRangeError for other factors
    """

    def __init__(self, backbone: Cell, loss_fn: Cell, dnn_factor: float = 1, bnn_factor: float = 1) -> None:
        super().__init__(auto_prefix=False)
        for what, factor in (("dnn_factor", dnn_factor), ("bnn_factor", bnn_factor)):
            check_value_type(what, factor, (int, float), "WithBNNLossCell")
            if factor < 0:
                raise ValueRangeError(f"WithBNNLossCell: {what} is not negative, but {factor}")
        self._backbone, self._loss_fn = backbone, loss_fn
        self.dnn_factor, self.bnn_factor = dnn_factor, bnn_factor
        self.kl_loss = [cell.compute_kl_loss for _, cell in backbone.cells_and_names() if isinstance(cell, _Variational)]

    @property
    def backbone_network(self) -> Cell:
        """The network."""
        return self._backbone

    def construct(self, x: Any, label: Any) -> Tensor:
        loss = self._loss_fn(self._backbone(x), label) * self.dnn_factor
        for divergence in self.kl_loss:
            loss = loss + divergence() * self.bnn_factor
        return loss
