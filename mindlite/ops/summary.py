"""Values of a network that are written down beside its training: ScalarSummary and the like, in graphs and eagerly.

    summary_value(x, plugin="scalar", tag="loss")        an effect: ("scalar", "loss", array) goes to those who listen

Who listens is a SummaryRecord that is open (train/summary.py). While nobody does, nothing is kept.
"""
from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..mindir.abstract import AbstractTuple
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, primitive, vmap_rule
from .define import is_array

RANKS: dict[str, tuple[int, int]] = {            # plugin: the least and the largest rank
    "scalar": (0, 1), "image": (4, 4), "tensor": (1, 2 ** 31), "histogram": (1, 2 ** 31)}
listeners: weakref.WeakSet = weakref.WeakSet()   # objects with noted(plugin, tag, array)


@primitive(traits={"effect"})
def summary_value(value, *, plugin, tag):
    """Hand a value to those who listen. Gives an empty tuple.

    plugin : scalar, image, tensor or histogram;  tag : the name under which it is written
    """


@infer_rule(summary_value)
def summary_value_infer(value, *, plugin, tag):
    low, high = RANKS[plugin]
    rank = len(value.shape)
    if not low <= rank <= high or (plugin == "scalar" and rank == 1 and value.shape[0] != 1):
        wanted = {"scalar": "of one element", "image": "of four axes, [N, C, H, W]"}.get(plugin, "of one axis or more")
        raise ShapeError(f"{plugin.capitalize()}Summary: the value is {wanted}", note=f"shape: {list(value.shape)}")
    return AbstractTuple(())


@eval_rule(summary_value)
def summary_value_eval(value, *, plugin, tag):
    for listener in tuple(listeners):
        listener.noted(plugin, tag, np.array(value))
    return ()


@bprop_rule(summary_value)
def summary_value_bprop(value, *, out, dout, plugin, tag):
    return (None,)


@vmap_rule(summary_value)
def summary_value_vmap(args, dims, size, *, plugin, tag):
    raise ArgumentError(f"{plugin.capitalize()}Summary: it is written once, not for each element of a vmap")


def summarised(plugin: str, tag: Any, value: Any) -> None:
    """summary_value, its arguments looked at. raises : ArgumentError, ValueRangeError, ShapeError"""
    name = f"{plugin.capitalize()}Summary"
    if not isinstance(tag, str):
        raise ArgumentError(f"{name}: its name is a string, not {type(tag).__name__}")
    if not tag:
        raise ValueRangeError(f"{name}: its name is an empty string")
    if not is_array(value):
        raise ArgumentError(f"{name}: its value is a Tensor, not {type(value).__name__}")
    summary_value(value, plugin=plugin, tag=tag)
