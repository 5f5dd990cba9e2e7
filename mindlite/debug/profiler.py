"""profile: where the time of a program goes, as a trace that Perfetto and chrome://tracing open. MindSpore's `profiler`.

    with profile(on_trace_ready=tensorboard_trace_handler("trace")) as prof:
        for x, y in data:
            train_step(x, y)
            prof.step()                                   trace/<host>_<pid>_<number>/trace_view.json

Spans of wall time, on the thread that started:

    operator   each operator of eager mode, with the user's line and Cell
    graph      each call of a compiled function, as a whole: its kernels are not parted
    backward   the gradient of what eager mode has recorded, as a whole
    compile    stages of compilation;   step   from one `step()` to the next;   mark, range   `mstx`

While it records, eager operators take the way through Python that is left out otherwise, and noting their lines takes time
between them: an operator's own time is right to some microseconds, that of a step is longer than without a profiler.
"""
from __future__ import annotations

import contextlib
import csv
import enum
import io
import itertools
import json
import os
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from ..common import events
from ..common.errors import ArgumentError, MindliteError, ValueRangeError, user_level, user_location
from ..common.files import replacing
from ..common.records import dataclass
from ..common.tensor import Tensor
from ..common.threads import here
from ..pynative.interpreter import PyNative


class ProfilerActivity(enum.Enum):
    """What is recorded. The CPU is; the others are MindSpore's names for devices that mindlite's recorder does not see."""
    CPU, NPU, GPU = range(3)


class ProfilerLevel(enum.Enum):
    """How much is recorded of an Ascend device; nothing here."""
    LevelNone, Level0, Level1, Level2 = "LevelNone", "Level0", "Level1", "Level2"


class AicoreMetrics(enum.Enum):
    """Counters of an Ascend device; none here."""
    AiCoreNone, ArithmeticUtilization, PipeUtilization, Memory, MemoryL0, ResourceConflictRatio, MemoryUB, L2Cache, \
        MemoryAccess = "None", "ArithmeticUtilization", "PipeUtilization", "Memory", "MemoryL0", "ResourceConflictRatio", \
        "MemoryUB", "L2Cache", "MemoryAccess"


class ExportType(enum.Enum):
    """Files that are written: Text, the JSON and CSV of this module; Db is refused."""
    Text, Db = "text", "db"


class ProfilerAction(enum.Enum):
    """What a schedule answers for a step."""
    NONE, WARM_UP, RECORD, RECORD_AND_SAVE = range(4)


class ProfilerError(MindliteError, RuntimeError):
    """A profiler that is started twice, or asked for what it has not recorded."""


@dataclass(frozen=True)
class _ExperimentalConfig:
    """MindSpore's settings of Ascend's counters, which record nothing here, and the type of the files."""
    profiler_level: Any = ProfilerLevel.Level0
    aic_metrics: Any = AicoreMetrics.AiCoreNone
    l2_cache: bool = False
    mstx: bool = False
    data_simplification: bool = True
    export_type: Any = None
    mstx_domain_include: Any = None
    mstx_domain_exclude: Any = None
    sys_io: bool = False
    sys_interconnection: bool = False
    host_sys: Any = None


# ------------------------------------------------------------------- which steps

class _Schedule:
    """schedule(..)(step) -> ProfilerAction; see `schedule`."""

    def __init__(self, wait: int, active: int, warmup: int, repeat: int, skip_first: int) -> None:
        self.wait, self.active, self.warmup, self.repeat, self.skip_first = wait, active, warmup, repeat, skip_first

    def __call__(self, step: int) -> ProfilerAction:
        if step < 0:
            raise ValueRangeError("schedule: a step is not negative")
        step -= self.skip_first
        period = self.wait + self.warmup + self.active
        if step < 0 or 0 < self.repeat <= step / period:
            return ProfilerAction.NONE
        step %= period
        if step < self.wait:
            return ProfilerAction.NONE
        if step < self.wait + self.warmup:
            return ProfilerAction.WARM_UP
        return ProfilerAction.RECORD if step < period - 1 else ProfilerAction.RECORD_AND_SAVE


def schedule(*, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0) -> _Schedule:
    """A function of a step's number: after `skip_first` steps rounds of `wait` and `warmup` steps that are not recorded and
    `active` ones that are; `repeat` rounds, 0 for all. raises : ArgumentError, ValueRangeError"""
    given = {"wait": wait, "active": active, "warmup": warmup, "repeat": repeat, "skip_first": skip_first}
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise ArgumentError(f"schedule: {name} is an int, not {type(value).__name__}")
        if value < (name == "active"):
            raise ValueRangeError(f"schedule: {name} is {value}")
    return _Schedule(wait, active, warmup, repeat, skip_first)


# ------------------------------------------------------------------- what is recorded

class Recorder(PyNative):
    """Eager mode that notes how long each operator takes. spans : (name, kind, start, nanoseconds, more) in the order of ends"""
    observes = True                                          # compiled functions stay compiled

    def __init__(self, record_shapes: bool) -> None:
        self.spans: list[tuple[str, str, int, int, dict]] = []
        self.record_shapes, self.thread = record_shapes, threading.get_ident()
        self._listening: Any = contextlib.ExitStack()

    def bind(self, prim: Any, args: tuple, attrs: dict) -> Any:
        start = time.perf_counter_ns()
        try:
            return super().bind(prim, args, attrs)
        finally:
            self.add(prim.name, "operator", start, time.perf_counter_ns() - start, _shapes(args) if self.record_shapes else {})

    def add(self, name: str, kind: str, start: int, spent: int, more: dict | None = None) -> None:
        """Note a span with the user's line, where there is one."""
        found, location = dict(more or {}), user_location()
        if location is not None:
            found["line"] = f"{location.file}:{location.line}"
            if location.cell:
                found["cell"] = location.cell
        self.spans.append((name, kind, start, spent, found))

    def hear(self, event: str, fields: dict) -> None:
        """An event of events.py that tells how long it took."""
        if "seconds" in fields and threading.get_ident() == self.thread:
            spent = int(fields["seconds"] * 1e9)
            name = str(fields.get("name", event))
            kind = {"graph_call": "graph", "backward_walk": "backward"}.get(event, "compile")
            more = {"stage": event} if kind == "compile" else {}
            self.add(name, kind, time.perf_counter_ns() - spent, spent, more)

    def begin(self) -> None:
        """Record from now on, in this thread."""
        self._listening.enter_context(events.listen(self.hear))
        here.state.interpreters.insert(0, self)
        _recording.append(self)

    def end(self) -> None:
        """Record no more."""
        here.state.interpreters.remove(self)
        _recording.remove(self)
        self._listening.close()


_recording: list[Recorder] = []


def _shapes(args: tuple) -> dict:
    return {"shapes": [f"{a.dtype.short}{list(a.shape)}" if isinstance(a, Tensor) else repr(a)[:40] for a in args]}


class mstx:
    """Marks and ranges of the user's in the trace: mstx.mark(text); number = mstx.range_start(text), mstx.range_end(number)."""
    _open: dict[int, tuple[str, int]] = {}
    _numbers = itertools.count(1)

    @staticmethod
    def mark(message: str, stream: Any = None, domain: str = "default") -> None:
        """A point in time."""
        name = _text(message)
        for recorder in _recording:
            recorder.add(name, "mark", time.perf_counter_ns(), 0, {"domain": domain})

    @classmethod
    def range_start(cls, message: str, stream: Any = None, domain: str = "default") -> int:
        """The number of a range that begins; 0 where nothing is recorded."""
        if not _recording:
            return 0
        number = next(cls._numbers)
        cls._open[number] = _text(message), time.perf_counter_ns()
        return number

    @classmethod
    def range_end(cls, range_id: int, domain: str = "default") -> None:
        """The range ends."""
        message, start = cls._open.pop(range_id, ("", 0))
        for recorder in _recording:
            if start:
                recorder.add(message, "range", start, time.perf_counter_ns() - start, {"domain": domain})


def _text(message: Any) -> str:
    if not isinstance(message, str) or not message:
        raise ArgumentError(f"mstx: a message is a str that is not empty, not {message!r}")
    return message


# ------------------------------------------------------------------- what is written

def trace_of(spans: Iterable[tuple], metadata: dict | None = None) -> dict[str, Any]:
    """The trace as Chrome's JSON object: complete events ("X") in microseconds, marks ("i")."""
    pid, rows = os.getpid(), {"step": 0, "graph": 1, "backward": 1, "compile": 1, "operator": 1, "range": 2, "mark": 2}
    names = ("steps", "operators, graphs", "marks")
    found: list[dict] = [{"name": "process_name", "ph": "M", "pid": pid, "args": {"name": "mindlite"}}]
    found += [{"name": "thread_name", "ph": "M", "pid": pid, "tid": k, "args": {"name": name}} for k, name in enumerate(names)]
    for name, kind, start, spent, more in spans:
        event = {"name": name, "cat": kind, "ph": "i" if kind == "mark" else "X", "ts": start / 1e3, "pid": pid,
                 "tid": rows[kind], "args": more}
        found.append({**event, "s": "t"} if kind == "mark" else {**event, "dur": spent / 1e3})
    return {"traceEvents": found, "displayTimeUnit": "ms", "metadata": metadata or {}}


def write_trace(directory: str, spans: list[tuple], metadata: dict | None = None) -> None:
    """Write trace_view.json and op_statistic.csv (kind, name, line, calls, total, mean and greatest microseconds)."""
    by_line: dict[tuple, list[float]] = {}
    for name, kind, _, spent, more in spans:
        if kind != "mark":
            by_line.setdefault((kind, name, more.get("line", "")), []).append(spent / 1e3)
    table = io.StringIO(newline="")
    out = csv.writer(table)
    out.writerow(("kind", "name", "line", "calls", "total us", "mean us", "max us"))
    for key, times in sorted(by_line.items(), key=lambda item: -sum(item[1])):
        out.writerow((*key, len(times), *(f"{value:.3f}" for value in (sum(times), sum(times) / len(times), max(times)))))
    for name, text in (("trace_view.json", json.dumps(trace_of(spans, metadata))), ("op_statistic.csv", table.getvalue())):
        with replacing(os.path.join(directory, name)) as file:
            file.write(text.encode())


_written = itertools.count()


def _folder(directory: str, worker: str | None = None) -> str:
    return os.path.join(directory, f"{worker or socket.gethostname()}_{os.getpid()}_{next(_written)}")


def tensorboard_trace_handler(dir_name: str | None = None, worker_name: str | None = None, analyse_flag: bool = True,
                              async_mode: bool = False) -> Callable[[Any], None]:
    """An `on_trace_ready` that writes trace_view.json and op_statistic.csv into a new folder of `dir_name` ("./data").

    worker_name : the beginning of the folder's name;  async_mode : taken, files are written at once
    analyse_flag: False writes nothing
    """
    for name, value in (("dir_name", dir_name), ("worker_name", worker_name)):
        if value is not None and not isinstance(value, str):
            raise ArgumentError(f"tensorboard_trace_handler: {name} is a str, not {type(value).__name__}")

    def handler(prof: Any) -> None:
        if analyse_flag:
            write_trace(_folder(dir_name or "./data", worker_name), prof.spans, prof.metadata)
    return handler


# ------------------------------------------------------------------- the profiler

class profile:
    """Records between `start` and `stop` (or in a `with` block), with a schedule the steps that it says.

    activities     : ProfilerActivity's; only the CPU's is recorded, a warning says so of others that are given
    record_shapes  : note dtypes and shapes of operands;   with_stack : taken, the user's line is always noted
    start_profile  : start at once
    schedule       : function of a step that gives a ProfilerAction;   on_trace_ready : called with this where a record ends
    data_process, sync_enable : taken, they change nothing;   experimental_config : an _ExperimentalConfig
    profile_memory, hbm_ddr, pcie, parallel_strategy : counters of Ascend devices: a warning says that there are none
    spans          : what was recorded last: (name, kind, start, nanoseconds, {"line": "model.py:7", ..})
    raises         : ArgumentError; ProfilerError where a profiler records already
    """

    def __init__(self, activities: Any = None, with_stack: bool = False, profile_memory: bool = False, data_process: bool = False,
                 parallel_strategy: bool = False, start_profile: bool = True, hbm_ddr: bool = False, pcie: bool = False,
                 sync_enable: bool = True, record_shapes: bool = False, schedule: Callable | None = None,
                 on_trace_ready: Callable | None = None, experimental_config: Any = None) -> None:
        for name, function in (("schedule", schedule), ("on_trace_ready", on_trace_ready)):
            if function is not None and not callable(function):
                raise ArgumentError(f"profile: {name} is a function, not {type(function).__name__}")
        settings = experimental_config or _ExperimentalConfig()
        if not isinstance(settings, _ExperimentalConfig):
            raise ArgumentError(f"profile: experimental_config is an _ExperimentalConfig, not {type(settings).__name__}")
        if ExportType.Db in (settings.export_type or ()):
            raise ArgumentError("profile: ExportType.Db, MindStudio's data base, is not written", hint="ExportType.Text")
        given = {"profile_memory": profile_memory, "hbm_ddr": hbm_ddr, "pcie": pcie, "parallel_strategy": parallel_strategy,
                 "l2_cache": settings.l2_cache, "sys_io": settings.sys_io, "sys_interconnection": settings.sys_interconnection}
        unseen = [name for name, value in given.items() if value]
        unseen += [a.name for a in self._activities(activities) if a is not ProfilerActivity.CPU]
        if unseen:
            warnings.warn(f"profile: {', '.join(unseen)}: not recorded, only the CPU's operators are", stacklevel=user_level())
        self.schedule, self.on_trace_ready, self.record_shapes = schedule, on_trace_ready, record_shapes
        self.step_num, self.spans, self.metadata = 0, [], {}     # type: ignore[var-annotated]
        self._recorder: Recorder | None = None
        self._step_began = 0
        if start_profile:
            self.start()

    @staticmethod
    def _activities(activities: Any) -> list[ProfilerActivity]:
        found = [ProfilerActivity.CPU] if activities is None else list(activities)
        if any(not isinstance(a, ProfilerActivity) for a in found):
            raise ArgumentError(f"profile: activities is a list of ProfilerActivity, not {activities!r}")
        return found

    @property
    def action(self) -> ProfilerAction:
        """What the schedule says of the current step; RECORD without one."""
        return ProfilerAction.RECORD if self.schedule is None else self.schedule(self.step_num)

    def start(self) -> None:
        """Begin with the current step. raises : ProfilerError where one records already"""
        if _recording:
            raise ProfilerError("profile: one profiler records at a time", hint="stop() the other one first")
        self._step_began = time.perf_counter_ns()
        if self.action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._recorder = Recorder(self.record_shapes)
            self._recorder.begin()

    def step(self) -> None:
        """A step ends and the next one begins."""
        now, before = time.perf_counter_ns(), self.action
        if self._recorder is not None:
            self._recorder.spans.append((f"step {self.step_num}", "step", self._step_began, now - self._step_began, {}))
            if before is ProfilerAction.RECORD_AND_SAVE:
                self.stop()
        self.step_num, self._step_began = self.step_num + 1, now
        if self._recorder is None and self.schedule is not None:
            self.start()

    def stop(self) -> None:
        """End; what was recorded stands in `spans` and goes to on_trace_ready."""
        if self._recorder is None:
            return
        recorder, self._recorder = self._recorder, None
        recorder.end()
        self.spans = recorder.spans
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def add_metadata(self, key: str, value: str) -> None:
        """A word about the run that stands in the trace."""
        if not isinstance(key, str) or not isinstance(value, str):
            raise ArgumentError("add_metadata: key and value are strs")
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """The same, of JSON. raises : ArgumentError for what is none"""
        try:
            self.metadata[key] = json.loads(value)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"add_metadata_json: {value!r} is no JSON: {error}") from None

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()


class Profiler(profile):
    """MindSpore's older class: it starts where it is made; `analyse` ends it and writes into `output_path` ("./data").

    output_path : folder;  start_profile, activities, schedule, on_trace_ready, with_stack, profile_memory, .. as `profile`'s
    profiler_level, aic_metrics, l2_cache, mstx, hbm_ddr, pcie, data_simplification, .. as _ExperimentalConfig's
    """

    def __init__(self, **kwargs: Any) -> None:
        self.output_path = str(kwargs.pop("output_path", "./data"))
        own = ("activities", "with_stack", "profile_memory", "data_process", "parallel_strategy", "start_profile", "hbm_ddr",
               "pcie", "sync_enable", "record_shapes", "schedule", "on_trace_ready")
        settings = {name: value for name, value in kwargs.items() if name not in own}
        unknown = settings.keys() - _ExperimentalConfig.__dataclass_fields__.keys()
        if unknown:
            raise ArgumentError(f"Profiler: no argument is named {sorted(unknown)[0]!r}")
        super().__init__(**{name: value for name, value in kwargs.items() if name in own},
                         experimental_config=_ExperimentalConfig(**settings))

    def analyse(self, offline_path: Any = None, pretty: bool = False, step_list: Any = None, mode: str = "sync") -> None:
        """Stop, and write trace_view.json and op_statistic.csv.

        offline_path, step_list : only what this one has recorded, all steps, is analysed: others are an error
        raises : ProfilerError where nothing was recorded
        """
        if offline_path is not None or step_list is not None:
            raise ArgumentError("analyse: offline_path and step_list are for MindStudio's files", hint="analyse()")
        self.stop()
        if not self.spans:
            raise ProfilerError("analyse: nothing was recorded", hint="start() comes first")
        write_trace(_folder(self.output_path), self.spans, self.metadata)
