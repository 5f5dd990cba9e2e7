"""Operations on the columns of rows: map, filter, flat_map, project, rename."""
from __future__ import annotations

import uuid
from typing import Any, Callable, Iterator, Sequence

import numpy as np

from ..common.errors import ArgumentError, MindliteError, ValueRangeError
from . import config, draws
from .callbacks import CallbackCalls, check_callbacks
from .columns import PLACED, ColumnError, as_row, check_names, names_list, stacked, stacked_as_they_come
from .dataset import Dataset, all_rows
from .operation import CROPS, built_in, in_turn, joined, stacked_from, stacked_rules
from .pipeline import PipelineError, Row, Run, name_of

TOGETHER = 1 << 16                       # bytes of rows that are computed in one array: they stay in the processor's cache


def _stack(values: list) -> np.ndarray | None:
    """Arrays of numbers in one, with a new first axis; None for others, and where shapes or types differ."""
    first = values[0]
    if not isinstance(first, np.ndarray) or first.dtype.kind not in "biuf" or not first.size or not all(
            isinstance(value, np.ndarray) and value.shape == first.shape and value.dtype == first.dtype for value in values):
        return None
    return first[None] if len(values) == 1 else np.stack(values)


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
        self.tail = stacked_from(self.operations)            # from there on many rows are computed in one array
        self.writes = hasattr(self.steps[-1][1], "writes") if self.steps else False
        self.head_steps = joined(self.operations[:self.tail])
        self.rules = stacked_rules(self.operations, self.tail)
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

    def may_use(self) -> int:
        if self.callbacks or not all(map(built_in, self.operations)):
            return 0
        return self.num_parallel_workers or config.settings.num_parallel_workers

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
        row, positions = run.value(payload[2]), self._planned()[0]
        values = self._applied(run, payload, [row[position] for position in positions], self.steps)
        return self._placed(run, payload, row, values)

    def _applied(self, run: Run, payload: Any, values: list | tuple, steps: list, **last: Any) -> list | tuple:
        """What the operations of `steps` make of the values of the inputs. last : arguments of the last step"""
        epoch, index, below = payload
        run.draw_for(self, epoch, index)
        hooks = config.settings.debug_hooks if config.settings.debug_mode else []
        self._shown(hooks, values, None)
        for k, operation in list(enumerate(self.operations)) if hooks else steps:
            run.doing(self, index, k)
            try:
                if run.seeded and self.users[k]:
                    draws.lend_to_python()
                result = operation(*values, **(last if operation is steps[-1][1] else {}))
                values = result if isinstance(result, tuple) else (result,)
            except Exception as error:                       # the user's function or the user's data
                raise run.failed(error, self, index, self._failing(k, operation, values), below) from error
            if hooks:
                self._shown(hooks, values, k)
        return values

    def _failing(self, k: int, step: Callable, values: list | tuple) -> int:
        """Which operation has raised: of several that are joined each is tried by itself."""
        if step is self.operations[k]:
            return k
        for number in range(k, len(self.operations)):
            try:
                values = in_turn(self.operations[number:number + 1], tuple(values))
            except Exception:                                # what it raises has been raised already
                return number
        return k

    def _placed(self, run: Run, payload: Any, row: Row, values: list | tuple) -> Row:
        """The row with the outputs in it."""
        positions, outputs, others, in_place = self._planned()
        try:
            values = as_row(values)
        except MindliteError as error:
            raise run.failed(error, self, payload[1], len(self.operations) - 1, payload[2]) from error
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

    def gather(self, run: Run, payloads: list, empty: Callable, columns: Sequence[int] | None = None) -> Row:
        """As far as operations take many rows in one array, they do; each of the others takes a row."""
        positions, outputs, _, _ = self._planned()
        if not (self.rules or self.writes) or columns is not None or len(positions) != 1 or len(outputs) != 1 or \
                config.settings.debug_mode or config.error_mode() != config.ErrorSamplesMode.RETURN:
            return super().gather(run, payloads, empty, columns)
        if self.writes:
            places: list = []
            return stacked_as_they_come(self._written(run, payloads, positions[0], places), len(payloads), self.names(), empty,
                                        places)
        found = self._of_stack(run, payloads, positions[0], empty)
        return self._of_rows(run, payloads, positions[0], empty) if found is None else found

    def _written(self, run: Run, payloads: list, position: int, places: list) -> Iterator[Row]:
        """The rows, whose output the last step writes to its place in the batch."""
        for k, payload in enumerate(payloads):
            row = run.value(payload[2])
            place = places[position] if places else None
            out = None if place is None else place[k]
            values = self._applied(run, payload, [row[position]], self.steps, out=out)
            row = self._placed(run, payload, row, values)
            if values[0] is out:
                row[position] = PLACED
            yield row

    def _of_stack(self, run: Run, payloads: list, position: int, empty: Callable) -> Row | None:
        """The rows where those below come in one array already; None elsewhere, and where a rule does not take them."""
        if self.tail or not all(type(below) is tuple and below[0] == payloads[0][2][0] for _, _, below in payloads):
            return None
        node = run.nodes[payloads[0][2][0]]
        passed = isinstance(node, MapDataset) and position not in node._planned()[0] and node.rules and node.in_one_place() and \
            not CROPS & set(map(type, self.operations))
        if not passed and node.whole() is None:
            return None
        rows = node.gather(run, [below[1] for _, _, below in payloads], empty)
        made = self._ruled(run, payloads, rows[position], None)
        if made is None:
            return None
        rows[position] = np.ascontiguousarray(made)
        return rows

    def in_one_place(self) -> bool:
        """True if the output stands where the input stood."""
        positions, outputs, _, _ = self._planned()
        return len(positions) == len(outputs) == 1

    def _of_rows(self, run: Run, payloads: list, position: int, empty: Callable) -> Row:
        """The rows, some at a time: first one by one, then in one array, which is written to its place in the batch."""
        held: list[list] = []
        place: np.ndarray | None = None
        count = len(payloads)
        while len(held) < count:
            done = len(held)
            rows = [self._begun(run, payloads[done], position)]
            size = max(1, min(count - done, TOGETHER // max(getattr(rows[0][position], "nbytes", 1), 1)))
            rows += [self._begun(run, payload, position) for payload in payloads[done + 1:done + size]]
            out = None if place is None else place[done:done + size]
            made = _stack([row[position] for row in rows])
            if made is not None:
                made = self._ruled(run, payloads[done:done + size], made, out)
            if made is None or out is not None and (made.shape != out.shape or made.dtype != out.dtype):
                return self._one_by_one(run, payloads, position, held, place, rows)
            if size == count > 1:                            # of a single row `made` may be its memory
                place = made
            elif out is None:
                place = empty((count, *made.shape[1:]), made.dtype)
                place[:size] = made
            elif made is not out and made.base is not out:
                out[...] = made
            for row in rows:
                row[position] = 0
            held += rows
        found = stacked(held, self.names())
        found[position] = place
        return found

    def _begun(self, run: Run, payload: Any, position: int) -> list:
        """A row with what the operations before the tail make of it."""
        row = list(run.value(payload[2]))
        if self.head_steps:
            values = self._applied(run, payload, [row[position]], self.head_steps)
            row[position] = values[0] if len(values) == 1 else values
        return row

    def _ruled(self, run: Run, payloads: list, made: np.ndarray, out: np.ndarray | None) -> np.ndarray | None:
        """What the operations of the tail make of many rows; None where one does not take them."""
        def at(k: int) -> None:
            run.draw_for(self, *payloads[k][:2])
        for number, rule in self.rules:
            run.doing(self, payloads[0][1], number)
            made = rule(made, at, out if number == self.rules[-1][0] else None)
            if made is None:
                return None
        return made

    def _one_by_one(self, run: Run, payloads: list, position: int, held: list[list], place: np.ndarray | None,
                    rows: list[list]) -> Row:
        """The batch where a rule does not take some rows. held : those that are done, in `place`;  rows : those that began"""
        steps = [(self.tail + k, step) for k, step in joined(self.operations[self.tail:])]
        whole = [[place[k] if column == position and place is not None else value for column, value in enumerate(row)]
                 for k, row in enumerate(held)]
        for k in range(len(held), len(payloads)):
            row = rows[k - len(held)] if k - len(held) < len(rows) else self._begun(run, payloads[k], position)
            begun = row[position]
            values = self._applied(run, payloads[k], begun if isinstance(begun, tuple) else [begun], steps)
            whole.append(self._placed(run, payloads[k], row, values))
        return stacked(whole, self.names())

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
