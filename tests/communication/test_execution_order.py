"""The order of communications: files of MindSpore are read, missing steps and cycles are found, running ranks are asked."""
import csv
import logging

import numpy as np
import pytest

from mindlite import Tensor, communication
from mindlite.common.errors import ArgumentError, ValueRangeError
from mindlite.communication import comm_func
from mindlite.communication.execution_order import (
    COLUMNS, ExecuteOrder, RankFolderParser, comm_exec_order_check, detect_cycle_in_graph, modify_execute_orders,
    parse_and_validate, runtime_execution_order_check)
from mindlite.communication.simulation import SimWorld


def write(folder, rank, steps, columns=COLUMNS):
    place = folder / f"rank_{rank}" / "execute_order"
    place.mkdir(parents=True)
    with open(place / "comm_execute_order.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.DictWriter(file, columns, restval="")
        rows.writeheader()
        for number, step in enumerate(steps):
            rows.writerow({"index": number, **step})


REDUCE = {"primitive": "AllReduce", "group": "g", "comm_rank": "0 1"}
SPREAD = {"primitive": "Broadcast", "group": "g", "comm_rank": "0 1", "root_rank": "0"}


def test_ranks_that_agree_have_no_fault(tmp_path):
    for rank in (0, 1):
        write(tmp_path, rank, [REDUCE, SPREAD, REDUCE])
    assert runtime_execution_order_check(str(tmp_path)) == ([], None)


def test_steps_in_another_order_are_a_cycle_and_a_step_that_is_missing_is_named(tmp_path, caplog):
    write(tmp_path, 0, [REDUCE, SPREAD])
    write(tmp_path, 1, [SPREAD, REDUCE, REDUCE])
    with caplog.at_level(logging.ERROR, "mindlite"):
        faults, cycle = runtime_execution_order_check([str(tmp_path / "rank_0"), str(tmp_path / "rank_1")], all_rank=True)
    assert faults == ["rank 0 lacks the step 'AllReduce_g_(0,1)_2th' of rank 1"]
    assert cycle == ["AllReduce_g_(0,1)_1th", "Broadcast_g_commRank:(0,1)_rootRank:(0)_1th", "AllReduce_g_(0,1)_1th"]
    assert "wait for each other" in caplog.text and "lacks the step" in caplog.text


def test_what_one_rank_sends_is_the_step_of_the_one_that_receives():
    sends = ExecuteOrder("0", "g", "0 1", "Send", src_rank="0", dest_rank="1", input_shape="[2]")
    takes = ExecuteOrder("0", "g", "0 1", "Receive", src_rank="0", dest_rank="1", output_shape="[2]")
    made = modify_execute_orders({"0": [sends, sends], "1": [takes, takes], "2": None})
    assert made["0"] == made["1"] == [f"Send_Receive_g_(0)->(1)_[2]_{n}th" for n in (1, 2)] and made["2"] == []
    assert parse_and_validate(made) == [] and parse_and_validate({"0": made["0"]}, all_rank=False) == []
    assert "rank 1" in parse_and_validate({"0": made["0"]})[0]


@pytest.mark.parametrize("seed", range(20))
def test_a_cycle_is_found_where_the_graph_has_no_topological_order(seed):
    draw = np.random.RandomState(seed)
    ranks = {str(rank): [str(step) for step in draw.permutation(12)[:draw.randint(1, 6)]] for rank in range(4)}
    after = {}
    for keys in ranks.values():
        for a, b in zip(keys, keys[1:]):
            after.setdefault(a, set()).add(b)
    left = {key for keys in ranks.values() for key in keys}
    while free := {key for key in left if not after.get(key, set()) & left}:          # Kahn 1962, from the end
        left -= free
    cycle, edges = detect_cycle_in_graph(ranks)
    assert bool(cycle) == bool(left)
    if cycle:
        assert cycle[0] == cycle[-1] and all(b in after[a] for a, b in zip(cycle, cycle[1:])) and len(edges) == len(cycle) - 1


def test_a_long_sequence_is_no_recursion():
    steps = [str(n) for n in range(20000)]
    assert detect_cycle_in_graph({"0": steps}) == (None, None)
    assert len(detect_cycle_in_graph({"0": steps, "1": [steps[-1], steps[0]]})[0]) == 20001


def test_paths_and_files_that_are_none_are_named(tmp_path, caplog):
    write(tmp_path / "a", 0, [REDUCE])
    write(tmp_path / "b", 0, [REDUCE], columns=["index", *COLUMNS[1:3], "primitive"])
    (tmp_path / "c").mkdir()
    for paths, text in (("a", "relative"), (str(tmp_path / "d"), "does not exist"), (str(tmp_path / "c"), "No rank_x folders"),
                        ([str(tmp_path / "a"), str(tmp_path / "b")], "two folders")):
        with pytest.raises(ValueRangeError, match=text):
            RankFolderParser(paths)
    with pytest.raises(ArgumentError, match="a path"):
        runtime_execution_order_check(None)
    with caplog.at_level(logging.ERROR, "mindlite"):
        assert RankFolderParser(str(tmp_path / "b")).parse() == {}
    assert "the columns are" in caplog.text


def test_running_ranks_tell_what_they_took_part_in(caplog):
    def program():
        rank, x = communication.get_rank(), Tensor(np.ones(2, np.float32))
        comm_exec_order_check("start")
        comm_func.all_reduce(x)
        if rank == 0:
            comm_func.send(x, 1, tag=1)
            comm_func.send(x, 1, tag=2)
        else:
            comm_func.recv(x, 0, tag=1)
            comm_func.recv(x, 0, tag=2)
        comm_exec_order_check("end")
        comm_exec_order_check("end")

    with caplog.at_level(logging.ERROR, "mindlite"):
        SimWorld(2).run(program)
    assert caplog.messages == ["The 'end' action cannot be called before the 'start' action."] * 2
    with pytest.raises(ValueRangeError, match="'start' or 'end'"):
        comm_exec_order_check("stop")
    with pytest.raises(ArgumentError, match="is a str"):
        comm_exec_order_check(1)
