"""Python's parser is entered by one thread at a time, and a forked process can enter it."""
import ast
import os
import pathlib
import re
import threading
import time

import pytest

import mindlite
from mindlite.common import syntax


def test_two_threads_do_not_parse_at_once(monkeypatch):
    inside, most, parse = [], [], ast.parse

    def slow(*args):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.01)
        inside.pop()
        return parse(*args)
    monkeypatch.setattr(syntax.ast, "parse", slow)
    threads = [threading.Thread(target=syntax.syntax_tree, args=("x = 1",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 4


def test_the_parser_is_entered_in_one_place():
    folder = pathlib.Path(mindlite.__file__).parent
    entered = [path.name for path in folder.rglob("*.py") if re.search(r"\bast\.parse\(", path.read_text(encoding="utf-8"))]
    assert entered == ["syntax.py"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_that_was_forked_while_a_thread_parsed_can_parse():
    held, done = threading.Event(), threading.Event()

    def hold():
        with syntax._one_at_a_time:
            held.set()
            done.wait(30)
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    child = os.fork()
    if child == 0:
        os._exit(0 if syntax._one_at_a_time.acquire(timeout=5) else 1)
    status = os.waitpid(child, 0)[1]
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
