"""Normalisations: each element moved and scaled to mean 0 and variance 1 over a set of axes, then by gamma and beta.

    BatchNorm    over all axes but the channels'       (Ioffe & Szegedy 2015)       keeps moving_mean, moving_variance
    LayerNorm    over the last axes                    (Ba et al. 2016)
    InstanceNorm over each plane                       (Ulyanov et al. 2016)
    GroupNorm    over each group of channels           (Wu & He 2018)
"""
from __future__ import annotations

from collections.abc import Sequence

from ... import ops
from ...common import dtype as dt
from ...common.dim import dim_max, product
from ...common.dtype import DTypeLike
from ...common.errors import ArgumentError, ShapeError, ValueRangeError
from ...common.initializer import Init, initializer
from ...common.ranks import WORLD, engine
from ...common.tensor import Parameter, Tensor
from ...ops.collectives import all_reduce
from ...ops.nn_norm import update_moments
from ..cell import Cell
from .basic import channels_first, flag, positive_int


def _scale_and_shift(shape: tuple[int, ...], gamma_init: Init, beta_init: Init, affine: bool,
                     dtype: DTypeLike) -> tuple[Parameter, Parameter]:
    return (Parameter(initializer(gamma_init, shape, dtype), name="gamma", requires_grad=affine),
            Parameter(initializer(beta_init, shape, dtype), name="beta", requires_grad=affine))


class _BatchNorm(Cell):
    """What BatchNorm1d, 2d and 3d share; `ranks` are the numbers of axes that they take."""
    ranks: tuple[int, ...] = ()

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.9, affine: bool = True,
                 gamma_init: Init = "ones", beta_init: Init = "zeros", moving_mean_init: Init = "zeros",
                 moving_var_init: Init = "ones", use_batch_statistics: bool | None = None, data_format: str = "NCHW",
                 dtype: DTypeLike = dt.float32) -> None:
        super().__init__()
        owner = type(self).__name__
        self.num_features = positive_int(owner, "num_features", num_features)
        if isinstance(momentum, bool) or not isinstance(momentum, (int, float)) or not 0 <= momentum <= 1:
            raise ValueRangeError(f"{owner}: momentum is a number in [0, 1], not {momentum!r}")
        if use_batch_statistics not in (None, True, False):
            raise ArgumentError(f"{owner}: use_batch_statistics is None or a bool, not {use_batch_statistics!r}")
        channels_first(owner, data_format)
        self.eps, self.momentum, self.use_batch_statistics = eps, momentum, use_batch_statistics
        shape = (num_features,)
        mean, variance = initializer(moving_mean_init, shape, dtype), initializer(moving_var_init, shape, dtype)
        self.moving_mean = Parameter(mean, name="mean", requires_grad=False)
        self.moving_variance = Parameter(variance, name="variance", requires_grad=False)
        self.gamma, self.beta = _scale_and_shift(shape, gamma_init, beta_init, flag(owner, "affine", affine), dtype)

    def construct(self, x: Tensor) -> Tensor:
        if ops.rank(x) not in self.ranks:
            raise ShapeError(f"{type(self).__name__}: an input of {self.ranks[-1]} axes is wanted, this has {x.ndim}")
        if self.use_batch_statistics or (self.use_batch_statistics is None and self.training):
            return self._batch(x)
        return ops.batch_norm(x, self.moving_mean, self.moving_variance, self.gamma, self.beta, eps=self.eps)

    def _batch(self, x: Tensor) -> Tensor:
        """x normalised by its own moments, which the running ones take their part of."""
        y, mean, variance = ops.batch_norm_train(x, self.gamma, self.beta, self.eps)
        update_moments(x, mean, variance, self.moving_mean, self.moving_variance, 1 - self.momentum)
        return y

    def extend_repr(self) -> str:
        return (f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, gamma={self.gamma}, "
                f"beta={self.beta}, moving_mean={self.moving_mean}, moving_variance={self.moving_variance}")


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of [N, C] or [N, C, L].

    momentum : moving = momentum * moving + (1 - momentum) * batch; a batch's variance is divided by n - 1
    use_batch_statistics : None: the batch's moments in training, the moving ones else; True, False: always, never
    raises   : ShapeError for other ranks; ArgumentError, ValueRangeError for bad arguments
    eps : float, added to the variance
    num_features : int, the channels
    affine : bool: gamma and beta are trained
    gamma_init, beta_init, moving_mean_init, moving_var_init : a name, a number, a Tensor or an Initializer
    data_format : str with the channels on axis 1, as "NCHW"
    dtype : of the Parameters, float32 by default
    """
    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of [N, C, H, W]. Arguments as BatchNorm1d's.

    eps : float, added to the variance
    num_features : int, the channels
    momentum : float in [0, 1], the weight of the old moments
    affine : bool: gamma and beta are trained
    gamma_init, beta_init, moving_mean_init, moving_var_init : a name, a number, a Tensor or an Initializer
    use_batch_statistics : bool: always the batch's moments, or never; None: in training
    data_format : str with the channels on axis 1, as "NCHW"
    dtype : of the Parameters, float32 by default
    """
    ranks = (4,)


class BatchNorm3d(Cell):
    """Batch normalisation of [N, C, D, H, W]: `bn2d`, a BatchNorm2d, of [N, C, D, H * W]. Arguments as BatchNorm1d's.

    eps : float, added to the variance
    num_features : int, the channels
    momentum : float in [0, 1], the weight of the old moments
    affine : bool: gamma and beta are trained
    gamma_init, beta_init, moving_mean_init, moving_var_init : a name, a number, a Tensor or an Initializer
    use_batch_statistics : bool: always the batch's moments, or never; None: in training
    dtype : of the Parameters, float32 by default
    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.9, affine: bool = True,
                 gamma_init: Init = "ones", beta_init: Init = "zeros", moving_mean_init: Init = "zeros",
                 moving_var_init: Init = "ones", use_batch_statistics: bool | None = None,
                 dtype: DTypeLike = dt.float32) -> None:
        super().__init__()
        self.bn2d = BatchNorm2d(num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init, moving_var_init,
                                use_batch_statistics, dtype=dtype)

    def construct(self, x: Tensor) -> Tensor:
        if ops.rank(x) != 5:
            raise ShapeError(f"BatchNorm3d: an input of 5 axes is wanted, this has {x.ndim}")
        n, c, depth, height, width = x.shape
        return ops.reshape(self.bn2d(ops.reshape(x, (n, c, depth, height * width))), (n, c, depth, height, width))


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of [N, C] or [N, C, H, W] by the moments of all ranks' batches, which are of one size.
    Arguments as BatchNorm1d's, and

    process_groups : lists of ranks, each of which share their moments; None: all ranks
    raises         : ArgumentError, ValueRangeError for what are no such lists, also where this rank is in none
    eps : float, added to the variance
    num_features : int, the channels
    momentum : float in [0, 1], the weight of the old moments
    affine : bool: gamma and beta are trained
    gamma_init, beta_init, moving_mean_init, moving_var_init : a name, a number, a Tensor or an Initializer
    use_batch_statistics : bool: always the batch's moments, or never; None: in training
    dtype : of the Parameters, float32 by default
    """
    ranks = (2, 4)

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.9, affine: bool = True,
                 gamma_init: Init = "ones", beta_init: Init = "zeros", moving_mean_init: Init = "zeros",
                 moving_var_init: Init = "ones", use_batch_statistics: bool | None = None,
                 process_groups: Sequence[Sequence[int]] | None = None, dtype: DTypeLike = dt.float32) -> None:
        super().__init__(num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init, moving_var_init,
                         use_batch_statistics, dtype=dtype)
        self.group: str | tuple[int, ...] = WORLD
        if process_groups is not None:
            if not isinstance(process_groups, (list, tuple)) or not all(isinstance(g, (list, tuple)) for g in process_groups):
                raise ArgumentError(f"SyncBatchNorm: process_groups are lists of ranks, not {process_groups!r}")
            mine = [tuple(sorted(group)) for group in process_groups if engine().rank in group]
            if len(mine) != 1 or len(set(mine[0])) != len(mine[0]):
                raise ValueRangeError(f"SyncBatchNorm: rank {engine().rank} is not in one of {process_groups!r}, once")
            self.group = mine[0]
        self.count = len(engine().members(self.group))

    def _batch(self, x: Tensor) -> Tensor:
        axes = (0, *range(2, x.ndim))
        count = self.count * (product(x.shape) // x.shape[1])
        mean = all_reduce(ops.sum(x, axes, True), group=self.group) / count
        centred = x - mean
        variance = all_reduce(ops.sum(centred * centred, axes, True), group=self.group) / count
        share = 1 - self.momentum
        for running, new in ((self.moving_mean, mean), (self.moving_variance, variance * count / dim_max(count - 1, 1))):
            ops.assign(running, running * self.momentum + ops.cast(new.reshape(-1), running.dtype) * share)
        shape = (1, -1) + (1,) * (x.ndim - 2)
        return centred * ops.rsqrt(variance + self.eps) * self.gamma.reshape(shape) + self.beta.reshape(shape)


class LayerNorm(Cell):
    """Layer normalisation: mean and variance over all axes from begin_norm_axis on.

    normalized_shape  : tuple of int, the shape of gamma and beta
    begin_params_axis : the axis of x where gamma's and beta's axes begin
    x, output         : float, any shape that ends so
    epsilon : float, added to the variance
    gamma_init, beta_init : a name, a number, a Tensor or an Initializer
    dtype : of the Parameters, float32 by default
    """

    def __init__(self, normalized_shape: Sequence[int], begin_norm_axis: int = -1, begin_params_axis: int = -1,
                 gamma_init: Init = "ones", beta_init: Init = "zeros", epsilon: float = 1e-7,
                 dtype: DTypeLike = dt.float32) -> None:
        super().__init__()
        if not isinstance(normalized_shape, (tuple, list)):
            raise ArgumentError(f"LayerNorm: normalized_shape is a tuple, not {type(normalized_shape).__name__}")
        if not normalized_shape:
            raise ValueRangeError("LayerNorm: normalized_shape is empty")
        self.normalized_shape = tuple(normalized_shape)
        self.begin_norm_axis, self.begin_params_axis, self.epsilon = begin_norm_axis, begin_params_axis, epsilon
        self.gamma, self.beta = _scale_and_shift(self.normalized_shape, gamma_init, beta_init, True, dtype)

    def construct(self, x: Tensor) -> Tensor:
        after = -self.begin_params_axis if self.begin_params_axis < 0 else x.ndim - self.begin_params_axis
        if after != len(self.normalized_shape):
            raise ShapeError(f"LayerNorm: gamma of shape {self.normalized_shape} does not fill the axes from "
                             f"begin_params_axis={self.begin_params_axis} of an input of {x.ndim} axes")
        return self.layer_norm(x, self.cast_param(self.gamma), self.cast_param(self.beta))[0]

    def layer_norm(self, x: Tensor, gamma: Tensor, beta: Tensor) -> tuple[Tensor, ...]:
        """(the normalised x, the means, the variances) by this layer's settings: for a subclass's `construct`."""
        return ops.layer_norm_from_axis(x, gamma, beta, self.begin_norm_axis, self.epsilon)

    def extend_repr(self) -> str:
        return (f"normalized_shape={self.normalized_shape}, begin_norm_axis={self.begin_norm_axis}, "
                f"begin_params_axis={self.begin_params_axis}, gamma={self.gamma}, beta={self.beta}")


class GroupNorm(Cell):
    """Group normalisation of [N, C, ..] in num_groups groups of channels; gamma and beta are [C].

    raises : ValueRangeError where num_channels is no multiple of num_groups
    eps : float, added to the variance
    affine : bool: gamma and beta are trained
    gamma_init, beta_init : a name, a number, a Tensor or an Initializer
    dtype : of the Parameters, float32 by default
    """

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-05, affine: bool = True, gamma_init: Init = "ones",
                 beta_init: Init = "zeros", dtype: DTypeLike = dt.float32) -> None:
        super().__init__()
        self.num_groups = positive_int("GroupNorm", "num_groups", num_groups)
        self.num_channels = positive_int("GroupNorm", "num_channels", num_channels)
        if num_channels % num_groups:
            raise ValueRangeError(f"GroupNorm: {num_channels} channels do not split into {num_groups} groups")
        self.eps = eps
        flag("GroupNorm", "affine", affine)
        self.gamma, self.beta = _scale_and_shift((num_channels,), gamma_init, beta_init, affine, dtype)

    def construct(self, x: Tensor) -> Tensor:
        return ops.group_norm(x, self.num_groups, self.cast_param(self.gamma), self.cast_param(self.beta), self.eps)

    def extend_repr(self) -> str:
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}"


class _InstanceNorm(Cell):
    """What InstanceNorm1d, 2d and 3d share; `rank` is the number of axes that they take."""
    rank = 0

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True,
                 gamma_init: Init = "ones", beta_init: Init = "zeros", dtype: DTypeLike = dt.float32) -> None:
        super().__init__()
        owner = type(self).__name__
        self.num_features = positive_int(owner, "num_features", num_features)
        self.eps, self.momentum = eps, momentum
        flag(owner, "affine", affine)
        self.moving_mean = Parameter(initializer("zeros", (num_features,), dtype), name="mean", requires_grad=False)
        self.moving_variance = Parameter(initializer("ones", (num_features,), dtype), name="variance", requires_grad=False)
        self.gamma, self.beta = _scale_and_shift((num_features,), gamma_init, beta_init, affine, dtype)

    def construct(self, x: Tensor) -> Tensor:
        if ops.rank(x) != self.rank:
            raise ShapeError(f"{type(self).__name__}: an input of {self.rank} axes is wanted, this has {x.ndim}")
        return ops.instance_norm(x, self.cast_param(self.gamma), self.cast_param(self.beta), self.eps)

    def extend_repr(self) -> str:
        return (f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, gamma={self.gamma}, "
                f"beta={self.beta}, moving_mean={self.moving_mean}, moving_variance={self.moving_variance}")


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of [N, C, L]; `mean` and `variance` stand in MindSpore's
    checkpoints; nothing reads or writes them, and `momentum` has no effect.

    eps : float, added to the variance
    num_features : int, the channels
    affine : bool: gamma and beta are trained
    gamma_init, beta_init : a name, a number, a Tensor or an Initializer
    dtype : of the Parameters, float32 by default
    """
    rank = 3


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of [N, C, H, W]; `mean` and `variance` stand in MindSpore's
    checkpoints; nothing reads or writes them, and `momentum` has no effect.

    eps : float, added to the variance
    num_features : int, the channels
    affine : bool: gamma and beta are trained
    gamma_init, beta_init : a name, a number, a Tensor or an Initializer
    dtype : of the Parameters, float32 by default
    """
    rank = 4


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of [N, C, D, H, W]; `mean` and `variance` stand in MindSpore's
    checkpoints; nothing reads or writes them, and `momentum` has no effect.

    eps : float, added to the variance
    num_features : int, the channels
    affine : bool: gamma and beta are trained
    gamma_init, beta_init : a name, a number, a Tensor or an Initializer
    dtype : of the Parameters, float32 by default
    """
    rank = 5
