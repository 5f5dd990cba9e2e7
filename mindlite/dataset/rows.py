"""Operations on the columns of rows: map, filter, flat_map, project, rename."""
from __future__ import annotations

import uuid
from typing import Any, Callable, Iterator, Sequence

from ..common.errors import ArgumentError, MindliteError, ValueRangeError
from . import config, draws
from .callbacks import CallbackCalls, check_callbacks
from .columns import ColumnError, as_row, check_names, names_list
from .dataset import Dataset, all_rows
from .operation import joined
from .pipeline import PipelineError, Row, Run, name_of


class MapDataset(Dataset):
    """See Dataset.map."""
    by_row = True

    def __init__(self, child: Dataset, operations: Any, input_columns: Any, output_columns: Any,
                 num_parallel_workers: int | None, python_multiprocessing: bool, callbacks: Any) -> None:
        super().__init__([child], num_parallel_workers)
        self.operations = list(operations) if isinstance(operations, (list, tuple)) else [operations]
        for operation in self.operations:
            if not callable(operation):
                raise ValueRangeError(f"Parameter operations's element of method map should be a python function or class method "
                                      f"which should be callable, but got: {operation}. It doesn't need parentheses for python "
                                      f"function or class method.")
        self.python_multiprocessing = config.flag(python_multiprocessing, "python_multiprocessing")
        self.inputs = names_list(input_columns, "input_columns")
        self.outputs = names_list(output_columns, "output_columns") or self.inputs
        self.callbacks = check_callbacks(callbacks)
        self.steps = joined(self.operations)
        self.users = [not getattr(operation, "builtin", False) for operation in self.operations]
        self.plan: tuple | None = None

    def _planned(self) -> tuple:
        """(places of the inputs, number of outputs, places of the columns that stay, True if outputs replace inputs in place)"""
        if self.plan is None:
            below = self.child.names()
            inputs = self.inputs or below[:1]
            for name in inputs:
                if name not in below:
                    raise ColumnError(f"Invalid parameter, input column name: {name} doesn't exist in the dataset columns.",
                                      note=f"columns: {', '.join(below)}", location=self.made_at)
            outputs = self.outputs or inputs
            positions = [below.index(name) for name in inputs]
            others = [position for position in range(len(below)) if position not in positions]
            taken = [name for name in outputs if name in [below[position] for position in others]]
            if taken:
                raise ColumnError(f"Invalid parameter, output column name: {taken[0]} already exists in the dataset columns.",
                                  location=self.made_at)
            self.plan = positions, outputs, others, len(outputs) == len(inputs)
        return self.plan

    def names(self) -> list[str]:
        positions, outputs, others, in_place = self._planned()
        below = list(self.child.names())
        if not in_place:
            return outputs + [below[position] for position in others]
        for position, name in zip(positions, outputs):
            below[position] = name
        return below

    def processes(self) -> int:
        return (self.num_parallel_workers or config.settings.num_parallel_workers) if self.python_multiprocessing else 1

    def stays_home(self) -> bool:
        return bool(self.callbacks)

    def walk(self, run: Run, epoch: int) -> Iterator:
        number = run.numbers[id(self)]
        described = ((number, (epoch, index, below)) for index, below in enumerate(self.child.walk(run, epoch)))
        if self.callbacks and not run.quiet:
            return self._with_callbacks(run, described)
        return run.judge(self, described)

    def _with_callbacks(self, run: Run, described: Iterator) -> Iterator:
        calls = run.calls.setdefault(run.numbers[id(self)], CallbackCalls(self.callbacks))
        calls.begin(run.epoch)
        for description in described:
            calls.step_begin()
            yield run.value(description)
            calls.step_end()

    def label(self) -> str:
        return f"map operation: [{', '.join(name_of(operation) for operation in self.operations)}]"

    def failing(self, operation: int | None) -> str:
        return f"map operation: [{name_of(self.operations[operation or 0])}] failed."

    def describe(self, sample: int, operation: int | None = None) -> str:
        failed = self.operations[operation or 0]
        name = name_of(failed)
        if name == "PyFunc":
            code = getattr(failed, "__code__", None)
            name = getattr(failed, "__qualname__", type(failed).__name__)
            name += f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
        return f"row {sample} of map, operation {name}"

    def evaluate(self, run: Run, payload: Any) -> Row:
        epoch, index, below = payload
        row = run.value(below)
        positions, outputs, others, in_place = self._planned()
        values: list | tuple = [row[position] for position in positions]
        run.draw_for(self, epoch, index)
        hooks = config.settings.debug_hooks if config.settings.debug_mode else []
        self._shown(hooks, values, None)
        for k, operation in list(enumerate(self.operations)) if hooks else self.steps:
            run.doing(self, index, k)
            try:
                if run.seeded and self.users[k]:
                    draws.lend_to_python()
                result = operation(*values)
                values = result if isinstance(result, tuple) else (result,)
            except Exception as error:                       # the user's function or the user's data
                raise run.failed(error, self, index, k, below) from error
            self._shown(hooks, values, k)
        try:
            values = as_row(values)
        except MindliteError as error:
            raise run.failed(error, self, index, len(self.operations) - 1, below) from error
        if len(values) != len(outputs):
            raise PipelineError(f"Invalid columns, the number of columns returned in 'map' operations should match the number of "
                                f"'output_columns', but got the number of columns returned in 'map' operations: {len(values)}, "
                                f"the number of 'output_columns': {len(outputs)}.", location=self.made_at)
        if not in_place:
            return [*values, *(row[position] for position in others)]
        row = list(row)
        for position, value in zip(positions, values):
            row[position] = value
        return row

    def _shown(self, hooks: list, values: Sequence, after: int | None) -> None:
        """The columns are shown to the hooks of the debug mode. after : number of the operation, None before the first"""
        for hook in hooks:
            hook.set_is_first(after is None)
            hook.set_previous_op_name(name_of(self.operations[after or 0]))
            hook(*values)


class FilterDataset(Dataset):
    """See Dataset.filter."""

    def __init__(self, child: Dataset, predicate: Callable, input_columns: Any) -> None:
        super().__init__([child])
        if not callable(predicate):
            raise ArgumentError("Predicate should be a Python function or a callable Python object.")
        self.predicate, self.inputs = predicate, names_list(input_columns, "input_columns")

    def size(self) -> int | None:
        return None

    def walk(self, run: Run, epoch: int) -> Iterator[Row]:
        names = self.child.names()
        check_names(self.inputs, names, self.made_at)
        positions = [names.index(name) for name in self.inputs] or range(len(names))
        for index, row in enumerate(run.rows(self.child, epoch)):
            try:
                wanted = bool(self.predicate(*(row[position] for position in positions)))
            except Exception as error:                       # the user's function
                raise run.failed(error, self, index) from error
            if wanted:
                yield row


class FlatMapDataset(Dataset):
    """See Dataset.flat_map."""

    def __init__(self, child: Dataset, func: Callable) -> None:
        super().__init__([child])
        if not callable(func):
            raise ArgumentError("flat_map: func must be a function of the columns of a row")
        self.func = func

    def _made(self, run: Run | None, row: Row) -> Dataset:
        found = self.func(*row)
        if not isinstance(found, Dataset):
            raise ArgumentError("flat_map: func must give a Dataset, but it has given " + type(found).__name__)
        return found

    def names(self) -> list[str]:
        return self._made(None, self.child.first_row()).names()

    def size(self) -> int | None:
        return None

    def walk(self, run: Run, epoch: int) -> Iterator[Row]:
        for row in run.rows(self.child, epoch):
            yield from all_rows(self._made(run, row))


class ProjectDataset(Dataset):
    """See Dataset.project."""
    by_row = True

    def __init__(self, child: Dataset, columns: Any) -> None:
        super().__init__([child])
        self.columns = names_list(columns, "columns")
        if not self.columns:
            raise ValueRangeError("columns should not be empty.")

    def names(self) -> list[str]:
        check_names(self.columns, self.child.names(), self.made_at)
        return self.columns

    def walk(self, run: Run, epoch: int) -> Iterator:
        number = run.numbers[id(self)]
        self.names()
        return run.judge(self, ((number, below) for below in self.child.walk(run, epoch)))

    def evaluate(self, run: Run, payload: Any) -> Row:
        row, names = run.value(payload), self.child.names()
        return [row[names.index(name)] for name in self.columns]

    def gather(self, run: Run, payloads: list, empty: Callable, columns: Sequence[int] | None = None) -> Row:
        if not all(type(payload) is tuple and payload[0] == payloads[0][0] for payload in payloads):
            return super().gather(run, payloads, empty, columns)
        names = self.child.names()
        below = [names.index(name) for name in self.columns]
        return run.nodes[payloads[0][0]].gather(run, [payload[1] for payload in payloads], empty,
                                                below if columns is None else [below[k] for k in columns])


class TransferDataset(Dataset):
    """See Dataset.device_que. Whoever iterates over it takes the rows themselves: sending starts and stops nothing."""
    by_row = True

    def __init__(self, child: Dataset, send_epoch_end: bool, create_data_info_queue: bool, queue_name: str) -> None:
        super().__init__([child])
        self.send_epoch_end = config.flag(send_epoch_end, "send_epoch_end")
        self.create_data_info_queue = config.flag(create_data_info_queue, "create_data_info_queue")
        if not isinstance(queue_name, str):
            raise ArgumentError(f"Argument queue_name with value {queue_name} is not of type [<class 'str'>], but got "
                                f"{type(queue_name)}.")
        self.queue_name = queue_name or uuid.uuid4().hex

    def walk(self, run: Run, epoch: int) -> Iterator:
        return self.child.walk(run, epoch)

    def send(self, num_epochs: int = -1) -> None:
        """MindSpore's start of sending. raises : ArgumentError, ValueRangeError"""
        config.whole_number(num_epochs, "num_epochs", -1)

    def stop_send(self) -> None:
        """MindSpore's end of sending."""

    def continue_send(self) -> None:
        """MindSpore's way on after stop_send."""

    def release(self) -> None:
        """MindSpore's release of the queue."""

    def get_data_info(self) -> tuple[list, list]:
        """(element types, shapes) of the columns of a row."""
        return self.output_types(), self.output_shapes()


class RenameDataset(Dataset):
    """See Dataset.rename."""
    by_row = True

    def __init__(self, child: Dataset, input_columns: Any, output_columns: Any) -> None:
        super().__init__([child])
        self.old, self.new = names_list(input_columns, "input_columns"), names_list(output_columns, "output_columns")
        if len(self.old) != len(self.new):
            raise ValueRangeError("Number of column in input_columns and output_columns is not equal.")

    def names(self) -> list[str]:
        below = self.child.names()
        check_names(self.old, below, self.made_at, "Invalid column, column to be renamed does not exist.")
        renamed = dict(zip(self.old, self.new))
        found = [renamed.get(name, name) for name in below]
        if len(set(found)) != len(found):
            raise ColumnError(f"Invalid column, rename gives {max(found, key=found.count)!r} twice.", location=self.made_at)
        return found

    def walk(self, run: Run, epoch: int) -> Iterator:
        self.names()
        return run.judge(self, self.child.walk(run, epoch))
