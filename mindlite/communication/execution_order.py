"""The order in which ranks communicate, looked at for what would make them wait for ever.

    rank 0: all_reduce, broadcast        rank 1: broadcast, all_reduce        each waits for the other: a cycle of two steps

Steps come from the files `rank_N/execute_order/comm_execute_order.csv` that MindSpore writes (`runtime_execution_order_check`),
or from this program while it runs (`comm_exec_order_check`). A step has one key on all ranks that take part in it. Two things are
looked for: a step that a rank lacks, and a cycle in the graph whose edges lead from each step of a rank to its next.
"""
import csv
import json
import os
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..common import log
from ..common.errors import ArgumentError, ValueRangeError
from ..common.ranks import WORLD, engine

COLUMNS = ["index", "group", "comm_rank", "primitive", "src_rank", "dest_rank", "root_rank", "input_shape", "input_type",
           "output_shape", "output_type", "input_size", "output_size"]
SENDS, RECEIVES = ("Send", "DistCommIsend", "InnerCommIsend"), ("Receive", "DistCommIrecv", "InnerCommIrecv")
FILE = os.path.join("execute_order", "comm_execute_order.csv")


@dataclass
class ExecuteOrder:
    """One row of a file: one communication of one rank. comm_rank: the ranks of the group, separated by blanks."""
    index: str
    group: str
    comm_rank: str
    primitive: str
    src_rank: str = ""
    dest_rank: str = ""
    root_rank: str = ""
    input_shape: str = ""
    output_shape: str = ""

    def key(self, rank):
        """What names this step on each rank that takes part; `rank` is the one whose row this is."""
        ranks = ",".join(self.comm_rank.split())
        if self.primitive in SENDS and self.dest_rank:
            return f"Send_Receive_{self.group}_({rank})->({self.dest_rank})_{self.input_shape}"
        if self.primitive in RECEIVES and self.src_rank:
            return f"Send_Receive_{self.group}_({self.src_rank})->({rank})_{self.output_shape}"
        peers = [f"{word}Rank:({value})" for word, value in
                 (("src", self.src_rank), ("dest", self.dest_rank), ("root", self.root_rank)) if value]
        return "_".join([f"{self.primitive}_{self.group}", f"commRank:({ranks})", *peers] if peers else
                        [f"{self.primitive}_{self.group}", f"({ranks})"])


class RankFolderParser:
    """Reads the files below absolute paths, each a folder `rank_N` or one that holds such folders.

    folders : a path, or a list of them
    raises  : ValueRangeError for a path that is relative, is not there, holds no rank, or names a rank again
    """

    def __init__(self, folders):
        self.folders = [folders] if isinstance(folders, str) else list(folders)
        self.ranks: dict[str, str] = {}
        for path in self.folders:
            if not os.path.isabs(path):
                raise ValueRangeError(f"the path is relative: {path}", hint="give an absolute one")
            if not os.path.isdir(path):
                raise ValueRangeError(f"Path does not exist: {path}")
            found = [path] if os.path.basename(path).startswith("rank_") else \
                [os.path.join(path, name) for name in sorted(os.listdir(path))
                 if name.startswith("rank_") and os.path.isdir(os.path.join(path, name))]
            if not found:
                raise ValueRangeError(f"No rank_x folders found in {path}")
            for folder in found:
                rank = os.path.basename(folder).removeprefix("rank_")
                if rank in self.ranks:
                    raise ValueRangeError(f"the rank {rank} has two folders", note=f"{self.ranks[rank]}, {folder}")
                self.ranks[rank] = folder

    def parse(self):
        """{rank: [ExecuteOrder, ..]} of the ranks whose file can be read; of the others an error is logged."""
        read = [self.parse_rank_folder(os.path.join(folder, os.path.dirname(FILE)), rank) for rank, folder in self.ranks.items()]
        return {rank: orders for rank, orders in read if orders is not None}

    def parse_rank_folder(self, rank_folder_path, rank_id):
        """(rank_id, its rows); None in place of the rows, and an error in the log, without a file of the right columns."""
        path = os.path.join(rank_folder_path, os.path.basename(FILE))
        try:
            with open(path, encoding="utf-8", newline="") as file:
                reader = csv.DictReader(file)
                if reader.fieldnames != COLUMNS:
                    log.error("%s: the columns are %s, not %s", path, reader.fieldnames, COLUMNS)
                    return rank_id, None
                return rank_id, [ExecuteOrder(**{name: row[name] or "" for name in ExecuteOrder.__dataclass_fields__})
                                 for row in reader]
        except FileNotFoundError:
            log.error("rank %s has no file %s", rank_id, path)
            return rank_id, None


def modify_execute_orders(execute_orders_map):
    """{rank: [keys]} of {rank: [ExecuteOrder, ..] or None}; a step that comes again has another number."""
    return {rank: _numbered([order.key(rank) for order in orders or ()]) for rank, orders in execute_orders_map.items()}


def _numbered(keys):
    seen: Counter = Counter()
    made = []
    for key in keys:
        seen[key] += 1
        made.append(f"{key}_{seen[key]}th")
    return made


def parse_and_validate(data, all_rank=True):
    """Log each step that a rank lacks though it takes part in it. Returns these faults, a list of str.

    data     : {rank: [keys]}
    all_rank : False if data holds some of the ranks only; those that are not there are not asked
    """
    faults = []
    for rank, keys in data.items():
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            faults.append(f"the steps of rank {rank} are no list of str")
            continue
        for key in keys:
            members = {name.strip() for group in re.findall(r"\((.*?)\)", key)[:2] for name in group.split(",")}
            for member in sorted(members):
                if member not in data:
                    faults += [f"rank {member} of {key!r} has no steps"] if all_rank else []
                elif key not in data[member]:
                    faults.append(f"rank {member} lacks the step {key!r} of rank {rank}")
    for fault in faults:
        log.error(fault)
    return faults


def detect_cycle_in_graph(ranks_map):
    """A cycle among the steps of {rank: [keys]}, by depth-first search.

    Returns (keys, the first one again at the end; ["rank key -> next key", ..]), or (None, None) where there is none.
    """
    edges = {(a, b): rank for rank, keys in ranks_map.items() for a, b in zip(keys, keys[1:])}
    after: dict[str, list] = {}
    for a, b in edges:
        after.setdefault(a, []).append(b)
    done: set = set()
    for first in after:
        path: dict = {} if first in done else {first: iter(after[first])}   # in order of insertion, the last one on top
        while path:
            top = next(reversed(path))
            step = next(path[top], None)
            if step is None:
                del path[top]
                done.add(top)
            elif step in path:
                steps = list(path)
                cycle = steps[steps.index(step):] + [step]
                return cycle, [f"{edges[a, b]} {a} -> {b}" for a, b in zip(cycle, cycle[1:])]
            elif step not in done:
                path[step] = iter(after.get(step, ()))
    return None, None


def runtime_execution_order_check(folders_, all_rank=None):
    """Look at the files of a run of MindSpore; what is wrong is logged.

    folders_ : an absolute path or a list of paths, see RankFolderParser
    all_rank : whether all ranks are there; None: they are unless several paths are given
    Returns (the missing steps, a cycle or None).
    raises   : ArgumentError, ValueRangeError for what are no such paths
    """
    if not folders_ or not isinstance(folders_, (str, list)):
        raise ArgumentError(f"runtime_execution_order_check: a path or a list of paths is wanted, not {folders_!r}")
    found = RankFolderParser(folders_).parse()
    if all_rank is None:
        all_rank = isinstance(folders_, str) or len(folders_) == 1
    return check_orders(modify_execute_orders(found), all_rank)


def check_orders(orders, all_rank=True):
    """(missing steps, a cycle or None) of {rank: [keys]}; both are logged."""
    faults, (cycle, edges) = parse_and_validate(orders, all_rank), detect_cycle_in_graph(orders)
    if cycle:
        log.error("ranks wait for each other: %s; %s", " -> ".join(cycle), "; ".join(edges))
    return faults, cycle


class CommExecOrderChecker:
    """Collects the communications of this program's ranks; each rank starts and stops it."""
    _instance: Any = None

    @classmethod
    def get_instance(cls):
        """The only one of this process."""
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    def start_collect_exec_order(self):
        """Begin to note what this rank takes part in."""
        engine().steps = []

    def stop_collect_exec_order(self):
        """Stop, ask the other ranks what they noted, and look at it. Returns (missing steps, a cycle or None)."""
        here = engine()
        mine, here.steps = _numbered(here.steps), None
        text = np.frombuffer(json.dumps(mine).encode(), np.uint8)
        sizes = here.all_gather(np.array([len(text)], np.int64), (1,) * here.size, 0, WORLD)
        whole = here.all_gather(text, [int(size) for size in sizes], 0, WORLD)
        ends = np.cumsum(sizes)
        return check_orders({str(rank): json.loads(whole[end - size:end].tobytes())
                             for rank, (size, end) in enumerate(zip(sizes, ends))})


def comm_exec_order_check(action):
    """"start": note the communications of this program from here on; "end": look at their order on all ranks.

    Every rank calls it. raises : ArgumentError for what is no str, ValueRangeError for another word
    """
    if not isinstance(action, str):
        raise ArgumentError(f"comm_exec_order_check: the action is a str, not {type(action).__name__}")
    if action not in ("start", "end"):
        raise ValueRangeError(f"comm_exec_order_check: the action is 'start' or 'end', not {action!r}")
    checker, collecting = CommExecOrderChecker.get_instance(), engine().steps is not None
    if action == "start" and collecting:
        log.error("The 'start' action cannot be called twice.")
    elif action == "start":
        checker.start_collect_exec_order()
    elif not collecting:
        log.error("The 'end' action cannot be called before the 'start' action.")
    else:
        checker.stop_collect_exec_order()
