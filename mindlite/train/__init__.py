"""What surrounds training: Model, its callbacks and metrics, networks and their Parameters in files."""
from ..amp import (  # noqa: F401
    DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager, build_train_network)
from ..functional import data_sink  # noqa: F401
from .batches import DatasetHelper  # noqa: F401
from .callback import Callback, LambdaCallback, RunContext  # noqa: F401
from .collector import SummaryCollector  # noqa: F401
from .landscape import SummaryLandscape  # noqa: F401
from .metrics import (  # noqa: F401
    F1, MAE, MSE, ROC, Accuracy, BleuScore, ConfusionMatrix, ConfusionMatrixMetric, CosineSimilarity, Dice, Fbeta,
    HausdorffDistance, Loss, MeanSurfaceDistance, Metric, OcclusionSensitivity, Perplexity, Precision, Recall,
    RootMeanSquareDistance, Top1CategoricalAccuracy, Top5CategoricalAccuracy, TopKCategoricalAccuracy, auc, get_metric_fn,
    get_metrics, names, rearrange_inputs)
from .model import Model  # noqa: F401
from .monitors import (  # noqa: F401
    EarlyStopping, History, LearningRateScheduler, LossMonitor, ReduceLROnPlateau, TimeMonitor)
from .progress import ProgressBar  # noqa: F401
from .saving import BackupAndRestore, CheckpointConfig, ModelCheckpoint, OnRequestExit  # noqa: F401
from .serialization import (  # noqa: F401
    ParamDictFuture, async_ckpt_thread_status, ckpt_to_safetensors, export, load, load_checkpoint, load_checkpoint_async,
    load_param_into_net, safetensors_to_ckpt, save_checkpoint, wait_for_files)
from .sharded_checkpoint import load_sharded_checkpoint, save_sharded_checkpoint  # noqa: F401
from .state import SaveState, load_state, save_state  # noqa: F401
from .summary import SummaryRecord  # noqa: F401
from .utilization import FlopsUtilizationCollector  # noqa: F401
