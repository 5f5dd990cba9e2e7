"""Settings that decide nothing here are checked, kept and read as in MindSpore."""
import pytest

import mindlite.mindspore as ms
from mindlite.common.errors import ArgumentError, ValueRangeError
from mindlite.mindspore import context, parallel


def test_settings_of_the_search_are_kept_until_they_are_reset():
    assert (ms.get_algo_parameters("fully_use_devices"), ms.get_algo_parameters("tensor_slice_align_size")) == (False, 16)
    parallel.set_algo_parameters(fully_use_devices=True, algo_approxi_epsilon=0.5)
    assert ms.get_algo_parameters("fully_use_devices") is True and ms.get_algo_parameters("algo_approxi_epsilon") == 0.5
    ms.reset_algo_parameters()
    assert ms.get_algo_parameters("fully_use_devices") is False


@pytest.mark.parametrize("wrong, kind", [
    ({"fully_use_devices": 1}, ArgumentError), ({"algo_approxi_epsilon": 1}, ArgumentError),
    ({"algo_approxi_epsilon": 2.0}, ValueRangeError), ({"tensor_slice_align_size": 0}, ValueRangeError),
    ({"tensor_slice_align_size": 1025}, ValueRangeError), ({"nope": 1}, ValueRangeError)])
def test_values_that_mindspore_refuses_are_refused_and_nothing_is_set(wrong, kind):
    with pytest.raises(kind):
        ms.set_algo_parameters(elementwise_op_strategy_follow=True, **wrong)
    assert ms.get_algo_parameters("elementwise_op_strategy_follow") is False
    with pytest.raises(ValueRangeError, match="no setting 'nope'"):
        ms.get_algo_parameters("nope")


def test_a_parameter_server_is_an_error_that_says_what_there_is():
    context.set_ps_context(enable_ps=False, config_file_path="servers.json")
    assert ms.get_ps_context("enable_ps") is False and ms.get_ps_context("config_file_path") == "servers.json"
    with pytest.raises(ValueRangeError, match="no parameter servers here"):
        ms.set_ps_context(enable_ps=True)
    with pytest.raises(ArgumentError, match="enable_ps is a bool"):
        ms.set_ps_context(enable_ps=1)
    context.reset_ps_context()
    assert ms.get_ps_context("config_file_path") == ""
