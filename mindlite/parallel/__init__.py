"""From a program of whole tensors to that of one rank: placements, boxing, the choice of SBP, the rewritten graph.

    layout.py      Layout, Mesh, Placement: which part of a tensor a rank has
    boxing.py      from one placement to another, by collectives
    search.py      the cheapest choice for all operators together, exactly
    overlap.py     collectives beside kernels
    partition.py   the pass: (graph of whole tensors) -> (graph of this rank's parts, with explicit collectives)

Sharded Tensors of eager mode are in `pynative/sharded.py`; `shard`, a function of functions, and `zero` are in `functional`. They
are names of this package for those who look for them here.
"""
import importlib

from .layout import Layout, Mesh, Placement  # noqa: F401

ABOVE = {"shard": "functional.shard", "reshard": "functional.shard", "zero": "functional.zero", "bytes_here": "functional.zero",
         "save_sharded_checkpoint": "train.sharded_checkpoint", "load_sharded_checkpoint": "train.sharded_checkpoint",
         **dict.fromkeys(("build_searched_strategy", "load_distributed_checkpoint", "load_segmented_checkpoints",
                          "merge_pipeline_strategys", "merge_sliced_parameter", "parameter_broadcast", "rank_list_for_transform",
                          "restore_group_info_list", "transform_checkpoint_by_rank", "transform_checkpoints",
                          "unified_safetensors"), "train.transform"),
         "Pipeline": "nn.pipeline", "AutoParallel": "nn.auto_parallel", "plan": "functional.plan",
         "from_local": "pynative.sharded", "shard_in_place": "pynative.sharded"}


def __getattr__(name):
    if name not in ABOVE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"mindlite.{ABOVE[name]}"), name)
