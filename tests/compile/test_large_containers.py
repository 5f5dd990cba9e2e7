"""Large lists, dicts, sets and arrays from outside: a graph is guarded by what it read of them, not by all that they hold."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn

ROWS, WORDS, KNOWN = [], {}, set()
NUMBERS, TABLE, SCALE = np.zeros(1000), np.zeros((100, 3), np.float32), np.array(2.0)
outside = {"ROWS": ROWS, "WORDS": WORDS, "KNOWN": KNOWN, "TABLE": TABLE, "NUMBERS": NUMBERS}
exec("def change(k):\n    ROWS[3] = k\n    ROWS.append(1.0)\n    WORDS['w5'] = k\n    KNOWN.add(1000 + k)\n"
     "    NUMBERS[1] = k\n    TABLE[1, 1] = k\n    return 1\n", outside)
change = outside["change"]                                   # without source: a library's


def as_before():
    ROWS[:] = [0.0] * 100
    WORDS.clear()
    WORDS.update({f"w{i}": 0.0 for i in range(100)})
    KNOWN.clear()
    KNOWN.update(range(100))
    NUMBERS[:] = TABLE[:] = 0
    SCALE[()] = 2


def an_item(x):
    return x + ROWS[3]


def from_the_end(x):
    return x + ROWS[-1]


def a_slice(x):
    return x + sum(ROWS[2:5])


def how_many(x):
    return x + len(ROWS) + len(WORDS) + len(KNOWN) + len(NUMBERS)


def a_word(x):
    return x + WORDS["w5"]


def a_word_or_not(x):
    return x + WORDS.get("new", 7)


def is_it_there(x):
    return x + (1001 in KNOWN) + ("new" in WORDS)


def a_number(x):
    return x + float(NUMBERS[1])


def a_row(x):
    return x + Tensor(TABLE[1])


def an_array_without_axes(x):
    return x * float(SCALE) + Tensor(SCALE[()])


READ = [an_item, from_the_end, a_slice, how_many, a_word, a_word_or_not, is_it_there, a_number, a_row, an_array_without_axes]


class Trap:
    """An item that nobody has read. Comparing lists item by item would ask whether it is the same as another object."""


def steps():
    """Changes of what is read, and of what is not; each is undone again."""
    yield
    ROWS[3], WORDS["w5"], NUMBERS[1], TABLE[1, 0], SCALE[()] = 5.0, 5.0, 4, 2, 3
    yield
    ROWS.append(9.0)
    WORDS["new"] = 8
    KNOWN.add(1001)
    yield
    ROWS.pop()
    WORDS.pop("new")
    KNOWN.discard(1001)
    ROWS[3], WORDS["w5"], NUMBERS[1] = 0, True, -0.0
    yield
    ROWS[3], ROWS[-1], WORDS["w5"] = -0.0, Tensor(np.float32(3)), np.float32(2)
    yield
    ROWS[50], WORDS["w77"], TABLE[80], NUMBERS[5] = Trap(), Trap(), 3, 9
    yield


@pytest.mark.parametrize("function", READ)
def test_what_is_read_is_what_is_there(function):
    as_before()
    jitted = ms.jit(function, fullgraph=True)
    x = Tensor(np.ones(3, np.float32))
    for _ in steps():
        assert jitted(x).tolist() == function(x).tolist()


@pytest.mark.parametrize("function", READ)
def test_what_is_not_read_may_change_without_a_compile(function):
    """A vocabulary of 200,000 words cost 80 ms a call, a list of a million numbers 100: all of it was compared."""
    as_before()
    jitted = ms.jit(function, fullgraph=True)
    x = Tensor(np.ones(3, np.float32))
    jitted(x)
    (variant,) = jitted.compiled.variants
    for guard in variant.plan.guards:
        assert guard[0] != "content" or guard[2] != "" or np.size(guard[1]) <= 3, "all of a large container is looked at"
    ROWS[50], WORDS["w77"], TABLE[80], NUMBERS[5] = Trap(), Trap(), 3, 9
    KNOWN.remove(50), KNOWN.add(777)
    assert jitted(x).tolist() == function(x).tolist()
    assert jitted.compiled.variants == [variant]


def test_the_reason_of_a_compile_names_the_item():
    as_before()
    jitted = ms.jit(an_item, fullgraph=True)
    x = Tensor(np.ones(3, np.float32))
    for ROWS[3] in (0.0, 5.0):
        jitted(x)
    assert "item 3 of a list changed: 0.0 -> 5.0" in jitted.explain()


def around(read):
    """A function that reads before and behind Python code that changes what it reads, or reads behind it alone."""
    def f(x, k):
        a = read(x)
        change(k)
        return a * 2 + read(x)
    return f


def behind(x, k):
    change(k)
    return x + ROWS[3] + len(ROWS) + WORDS["w5"] + (1001 in KNOWN) + float(NUMBERS[1]) + ROWS[-1] + len(ROWS[2:])


def written_by_the_graph(x, k):
    a = x * ROWS[3] + len(ROWS)
    ROWS[3] = float(k)
    ROWS.append(float(k))
    return a + ROWS[3] + len(ROWS) + ROWS[-1]


def words_of_the_graph(x, k):
    a = x + WORDS["w5"] + len(WORDS)
    WORDS["w5"], WORDS["new"] = float(k), 1
    return a + WORDS["w5"] + ("new" in WORDS) + len(WORDS) + WORDS.get("new", 3)


@pytest.mark.python_runs("change(k): a library's; and what changes outside is Python's")
@pytest.mark.parametrize("function", [*map(around, READ), behind, written_by_the_graph, words_of_the_graph],
                         ids=[*[read.__name__ for read in READ], "behind", "written_by_the_graph", "words_of_the_graph"])
def test_what_python_code_changes_in_the_middle_is_seen(function):
    def run(called):
        as_before()
        found = [called(Tensor(np.ones(3, np.float32)), k).tolist() for k in (1, 2, 2, 3, 3, 3, 4, 5)]
        return found, list(ROWS), dict(WORDS), set(KNOWN), NUMBERS.tolist(), TABLE.tolist()
    assert run(ms.jit(function)) == run(function)


class Embedded(nn.Cell):
    """A network with a vocabulary."""

    def __init__(self):
        super().__init__()
        self.words, self.table = {f"w{i}": i for i in range(500)}, nn.Embedding(500, 3)

    def construct(self, x):
        return self.table(x) * self.words["w7"] + len(self.words)


def test_a_vocabulary_of_a_cell_is_not_compared():
    net = Embedded()
    jitted = ms.jit(lambda ids: net(ids), fullgraph=True)
    ids = Tensor(np.array([1, 2], np.int32))
    for word, number in (("w7", 7), ("w8", 0), ("w7", 3), ("new", 1)):
        net.words[word] = number
        np.testing.assert_allclose(jitted(ids).asnumpy(), net(ids).asnumpy(), rtol=1e-6)
    assert len(jitted.compiled.variants) <= 3


def test_missing_items_raise_as_in_python():
    as_before()
    x = Tensor(np.ones(3, np.float32))
    for read, error in ((lambda x: x + ROWS[200], IndexError), (lambda x: x + WORDS["no"], KeyError),
                        (lambda x: x + sum(ROWS[1:2:0]), ValueError), (lambda x: x + ROWS["a"], TypeError),
                        (lambda x: x + float(NUMBERS[5000]), IndexError)):
        with pytest.raises(error) as wanted:
            read(x)
        with pytest.raises(error) as found:
            ms.jit(read, fullgraph=True)(x)
        assert str(wanted.value) in str(found.value)
