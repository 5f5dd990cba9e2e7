"""Memory that kernels borrow: distinct while it is borrowed, the same again afterwards, from many threads too."""
import ctypes
import functools
import threading
import time

import pytest

from mindlite.backend.cpu import scratch


@pytest.fixture
def stock():
    """(borrow, give_back) by their addresses; the lock of Python is free while they run."""
    code = scratch.scratch_code()
    return (ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address("borrow")),
            ctypes.CFUNCTYPE(None, ctypes.c_int64)(code.address("give_back")))


def test_what_is_borrowed_at_once_lies_apart_and_is_borrowed_again(stock):
    borrow, give_back = stock
    pieces = [borrow(1000 * n) for n in range(1, 20)]
    for n, piece in enumerate(pieces, 1):
        ctypes.memset(piece, n, 1000 * n)
    assert all(ctypes.string_at(piece, 1000 * n) == bytes([n]) * 1000 * n for n, piece in enumerate(pieces, 1))
    assert all(piece % 16 == 0 for piece in pieces)
    for piece in pieces:
        give_back(piece)
    again = [borrow(19000) for _ in range(3)]
    assert len(set(again)) == 3 and set(again) & set(pieces)
    for piece in again:
        give_back(piece)


def test_a_slot_grows_once_and_serves_what_is_smaller(stock):
    borrow, give_back = stock
    large = borrow(1 << 20)
    give_back(large)
    for _ in range(5):
        piece = borrow(1 << 20)
        give_back(piece)
        assert piece == large


def test_large_pieces_more_than_there_are_slots_and_nothing_at_all(stock):
    borrow, give_back = stock
    large = borrow(scratch.KEPT * 2)
    ctypes.memset(large + scratch.KEPT * 2 - 8, 1, 8)
    give_back(large)
    pieces = [borrow(64) for _ in range(scratch.SLOTS + 20)]
    assert len(set(pieces)) == len(pieces) and 0 not in pieces
    for piece in pieces:
        give_back(piece)
    give_back(0)


def test_threads_never_get_the_same_piece(stock):
    borrow, give_back = stock
    wrong = []

    def work(mark):
        for iteration in range(400):
            size = 256 << iteration % 6
            piece = borrow(size)
            ctypes.memset(piece, mark, size)
            if ctypes.string_at(piece, size) != bytes([mark]) * size:
                wrong.append(mark)
            give_back(piece)
    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_threads_that_ask_at_one_time_get_one_stock(monkeypatch):
    """Were it made twice, one of the two would be unloaded under the kernels that call it."""
    made, real = [], scratch.scratch_code()

    @functools.cache
    def slow():
        made.append(1)
        time.sleep(0.1)
        return real
    monkeypatch.setattr(scratch, "_loaded", slow)
    threads = [threading.Thread(target=scratch.scratch_code) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
