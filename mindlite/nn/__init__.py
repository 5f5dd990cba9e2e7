"""Networks: Cell, layers, losses, optimisers, learning-rate schedules."""
from .cell import Cell  # noqa: F401
from .dynamic_lr import (  # noqa: F401
    cosine_decay_lr, exponential_decay_lr, inverse_decay_lr, natural_exp_decay_lr, piecewise_constant_lr,
    polynomial_decay_lr, warmup_lr)
from .grad import Jvp, Vjp  # noqa: F401
from .graph_cell import GraphCell  # noqa: F401
from .layer.activation import (  # noqa: F401
    CELU, ELU, FastGelu, GELU, GLU, HShrink, HSigmoid, HSwish, Hardtanh, LeakyReLU, LogSigmoid, LogSoftmax, Mish, PReLU,
    RReLU, ReLU, ReLU6, SeLU, SiLU, Sigmoid, SoftShrink, Softmax, Softmax2d, Softmin, Softsign, Tanh, Tanhshrink,
    Threshold, get_activation)
from .layer.basic import Dense, Dropout, Dropout1d, Dropout2d, Dropout3d, Flatten, Identity  # noqa: F401
from .layer.combined import Conv2dBnAct, DenseBnAct  # noqa: F401
from .layer.container import CellDict, CellList, SequentialCell  # noqa: F401
from .layer.conv import Conv1d, Conv1dTranspose, Conv2d, Conv2dTranspose, Conv3d, Conv3dTranspose  # noqa: F401
from .layer.embedding import Embedding, EmbeddingLookup  # noqa: F401
from .layer.image import MSSSIM, PSNR, SSIM  # noqa: F401
from .layer.math import BiDense, MatMul, Upsample  # noqa: F401
from .layer.normalization import (  # noqa: F401
    BatchNorm1d, BatchNorm2d, BatchNorm3d, GroupNorm, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, LayerNorm,
    SyncBatchNorm)
from .layer.padding import (  # noqa: F401
    ConstantPad1d, ConstantPad2d, ConstantPad3d, Pad, ReflectionPad1d, ReflectionPad2d, ReflectionPad3d, ReplicationPad1d,
    ReplicationPad2d, ReplicationPad3d, ZeroPad2d)
from .layer.pooling import (  # noqa: F401
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d,
    AvgPool1d, AvgPool2d, AvgPool3d, FractionalMaxPool2d, FractionalMaxPool3d, MaxPool1d, MaxPool2d, MaxPool3d)
from .layer.recurrent import GRU, GRUCell, LSTM, LSTMCell, RNN, RNNCell  # noqa: F401
from .layer.shuffling import ChannelShuffle, LRN, PixelShuffle, PixelUnshuffle, Unflatten  # noqa: F401
from .layer.unpooling import (  # noqa: F401
    CentralCrop, LPPool1d, LPPool2d, MaxUnpool1d, MaxUnpool2d, MaxUnpool3d)
from .layer.transformer import (  # noqa: F401
    MultiheadAttention, Transformer, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder,
    TransformerEncoderLayer)
from .learning_rate_schedule import (  # noqa: F401
    CosineDecayLR, ExponentialDecayLR, InverseDecayLR, LearningRateSchedule, NaturalExpDecayLR, PolynomialDecayLR,
    WarmUpLR)
from .loss_scale import (  # noqa: F401
    DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell, TrainOneStepWithLossScaleCell)
from .loss.loss import (  # noqa: F401
    BCELoss, BCEWithLogitsLoss, CTCLoss, CosineEmbeddingLoss, CrossEntropyLoss, DiceLoss, FocalLoss, GaussianNLLLoss,
    HingeEmbeddingLoss, HuberLoss, KLDivLoss, L1Loss, LossBase, MAELoss, MSELoss, MarginRankingLoss, MultiClassDiceLoss,
    MultiLabelSoftMarginLoss, MultiMarginLoss, MultilabelMarginLoss, NLLLoss, PoissonNLLLoss, RMSELoss,
    SampledSoftmaxLoss, SmoothL1Loss, SoftMarginLoss, SoftmaxCrossEntropyWithLogits, TripletMarginLoss,
    TripletMarginWithDistanceLoss)
from .optim import (  # noqa: F401
    ASGD, AdaFactor, Adadelta, Adagrad, Adam, AdaMax, AdamOffload, AdamW, AdamWeightDecay, FTRL, LARS, Lamb, LazyAdam,
    Momentum, Optimizer, ProximalAdagrad, RMSProp, Rprop, SGD)
from .pipeline_cell import PipelineCell  # noqa: F401
from .reducers import DistributedGradReducer, PipelineGradReducer  # noqa: F401
from .wrap import (  # noqa: F401
    ForwardValueAndGrad, GradAccumulationCell, MicroBatchInterleaved, ParameterUpdate,
    TimeDistributed, TrainOneStepCell, VirtualDatasetCellTriple, WithEvalCell, WithGradCell, WithLossCell)
