"""An optimiser made once more, of other parameters or other groups of them: what the other boosts start from."""
from __future__ import annotations

from typing import Any
from collections.abc import Iterable

from ..common import log
from ..common.errors import ArgumentError, ValueRangeError
from ..common.tensor import Parameter
from ..nn import LARS, Cell, Conv2d, Optimizer

NOT_CENTRALISED = ("beta", "gamma", "bias")


def made_again(optimizer: Any, params: Any, learning_rate: Any = None) -> Any:
    """An optimiser of the class and arguments of `optimizer` for other `params`; under LARS with LARS around it.

    learning_rate : float, list of floats or schedule; None: that of `optimizer`
    """
    if isinstance(optimizer, LARS):
        return LARS(made_again(optimizer.opt, params, learning_rate), **optimizer.init_args)
    rate = optimizer.init_learning_rate if learning_rate is None else learning_rate
    return type(optimizer)(params=params, learning_rate=rate, **optimizer.init_args)


def checked_optimizer(owner: str, optimizer: Any) -> Optimizer:
    """The Optimizer itself, inside of a LARS. raises : ArgumentError for another object"""
    inner = optimizer.opt if isinstance(optimizer, LARS) else optimizer
    if not isinstance(inner, Optimizer):
        raise ArgumentError(f"{owner}: takes an Optimizer, not {type(optimizer).__name__}")
    return inner


def _items(owner: str, params: Any) -> list[Any]:
    """`params` as a list of Parameters or of groups. raises : ValueRangeError if it is empty, ArgumentError for other items"""
    items = list(params) if isinstance(params, Iterable) else []
    if not items:
        raise ValueRangeError(f"{owner}: the list of parameters is empty")
    if not isinstance(items[0], (dict, Parameter)):
        raise ArgumentError(f"{owner}: takes Parameters or groups of them, not {type(items[0]).__name__}")
    return items


class OptimizerProcess:
    """An optimiser's arguments, to be changed before it is made once more.

    opt    : an Optimizer, or a LARS around one
    raises : ArgumentError for another object
    """

    def __init__(self, opt: Cell) -> None:
        self._made_from = opt
        self.origin_params = checked_optimizer("OptimizerProcess", opt).init_params["params"]

    @staticmethod
    def build_params_dict(network: Cell) -> dict[int, Cell]:
        """{id of a Parameter: the Cell that owns it} of network, a Cell."""
        return {id(param): cell for _, cell in network.cells_and_names() for param in cell.get_parameters(expand=False)}

    @staticmethod
    def build_gc_params_group(params_dict: dict[int, Cell], parameters: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Each group parted in two: the weights whose gradients are centralised, and all others.

        params_dict : dict, what build_params_dict gives
        parameters  : list of dicts, an optimiser's groups
        Others are parameters named beta, gamma or bias and the weights of convolutions by groups.
        """
        groups: list[dict[str, Any]] = []
        for group in parameters:
            if "order_params" in group:
                groups.append(group)
                continue
            centred: list[Parameter] = []
            others: list[Parameter] = []
            for param in group["params"]:
                cell = params_dict.get(id(param))
                by_groups = isinstance(cell, Conv2d) and cell.group > 1
                plain = by_groups or any(word in param.name for word in NOT_CENTRALISED)
                (others if plain else centred).append(param)
            if centred:
                groups.append({**group, "params": centred, "grad_centralization": True})
            if others:
                groups.append({**group, "params": others})
        return groups

    def add_grad_centralization(self, network: Cell) -> None:
        """Let the gradients of weights be centralised (Yong et al. 2020). network : the Cell whose parameters are optimised

        An optimiser without groups is left as it is, and a warning says so.
        """
        items = _items("OptimizerProcess", self.origin_params)
        if isinstance(items[0], Parameter):
            log.warning("OptimizerProcess: gradients are centralised in groups of parameters only; nothing is changed")
            return
        self.origin_params = self.build_gc_params_group(self.build_params_dict(network), items)

    def generate_new_optimizer(self) -> Any:
        """A new Optimizer (or LARS) with the changed parameters."""
        return made_again(self._made_from, self.origin_params)


class ParameterProcess:
    """Groups of parameters for an optimiser, and the numbers by which their gradients are sent together."""

    def __init__(self) -> None:
        self._fusion = 1

    @staticmethod
    def generate_group_params(parameters: list[Parameter], origin_params: Any) -> list[dict[str, Any]]:
        """The groups of origin_params with those of their members only that `parameters` has.

        parameters    : list of Parameters
        origin_params : list of Parameters or of an optimiser's groups; Parameters of no group join the one with the most settings
        raises        : ValueRangeError if origin_params is empty, ArgumentError for other items
        """
        items = _items("ParameterProcess", origin_params)
        if isinstance(items[0], Parameter):
            return [{"params": parameters}]
        by_name = {param.name: param for param in parameters}
        groups: list[dict[str, Any]] = []
        richest: dict[str, Any] = {}
        for group in items:
            if "order_params" in group:
                groups.append({**group, "order_params": parameters})
                continue
            members = [by_name.pop(param.name) for param in group["params"] if param.name in by_name]
            richest = max(richest, group, key=len)
            if members:
                groups.append({**group, "params": members})
        if by_name:
            groups.append({**richest, "params": list(by_name.values())})
        return groups

    def assign_parameter_group(self, parameters: Any, split_point: list[int] | None = None) -> Any:
        """Number the parameters for joint messages (`comm_fusion`), a new number from each place of split_point on.

        parameters  : list of Parameters, given back
        split_point : list of ints, places in `parameters`; None: its middle
        """
        if not isinstance(parameters, (list, tuple)) or not parameters:
            return parameters
        points = split_point or [len(parameters) // 2]
        for place, param in enumerate(parameters):
            self._fusion += place in points
            param.comm_fusion = self._fusion
        return parameters
