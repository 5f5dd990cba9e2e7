"""Streams, events, memory and devices on a CPU: what is said of them is so."""
import numpy as np
import pytest

import mindlite.mindspore as ms
from mindlite.common.errors import ArgumentError, ValueRangeError
from mindlite.functional import runtime


def test_events_measure_time_between_them():
    first, second = runtime.Event(enable_timing=True), runtime.Event(enable_timing=True)
    with pytest.raises(RuntimeError, match="both events"):
        first.elapsed_time(second)
    first.record()
    runtime.current_stream().record_event(second)
    assert first.elapsed_time(second) >= 0 and second.query()
    with pytest.raises(RuntimeError, match="both events"):
        runtime.Event().elapsed_time(second)


def test_streams_are_entered_and_left():
    stream = runtime.Stream(stream_id=3)
    with runtime.StreamCtx(stream):
        assert runtime.current_stream() is stream
        with runtime.StreamCtx(None):
            assert runtime.current_stream() is stream
    assert runtime.current_stream() == runtime.default_stream() == runtime.communication_stream() != stream
    assert stream.query() and stream.synchronize() is None and "stream id=3" in repr(stream)
    with pytest.raises(ArgumentError):
        runtime.StreamCtx(3)


def test_memory_is_that_of_the_process():
    before = runtime.memory_allocated()
    held = np.ones(1 << 25)
    assert runtime.memory_allocated() - before > held.nbytes // 2
    assert runtime.max_memory_allocated() >= runtime.memory_allocated() > 0
    stats = runtime.memory_stats("CPU")
    assert stats["total_idle_memory"] == 0 and "max allocated memory" in runtime.memory_summary()
    with pytest.warns(UserWarning, match="no meaning"):
        runtime.set_memory(max_size="10GB")


def test_there_is_one_cpu():
    assert runtime.device_count("CPU") == 1 and runtime.is_available("CPU") and runtime.is_initialized("CPU")
    assert not runtime.is_available("Ascend")
    found = runtime.get_device_properties(0)
    assert found.name == runtime.get_device_name(0) and found.total_memory > 1 << 20 and found.multi_processor_count >= 1
    for call in (lambda: runtime.get_device_name(1), lambda: runtime.get_device_capability(0)):
        with pytest.raises(ValueRangeError):
            call()


def test_both_namespaces_of_mindspore_have_them():
    for module in (ms.hal, ms.runtime):
        module.synchronize()
        assert module.Stream is runtime.Stream and module.memory_allocated() > 0
