"""Variable elimination: what brute force finds, on graphs of at most eight variables; and large narrow graphs at once."""
import itertools

import numpy as np
import pytest

from mindlite.parallel import search
from mindlite.parallel.search import cheapest


def random_problem(seed):
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(rng.integers(1, 9))]
    sizes = {name: int(rng.integers(1, 4)) for name in names}
    factors = [((name,), rng.random(sizes[name])) for name in names]
    for a, b in itertools.combinations(names, 2):
        if rng.random() < 0.45:
            pair = (a, b) if rng.random() < 0.5 else (b, a)
            factors.append((pair, rng.random((sizes[pair[0]], sizes[pair[1]]))))
    return sizes, factors


def cost_of(choice, factors):
    return sum(float(np.asarray(costs)[tuple(choice[name] for name in names)]) for names, costs in factors)


@pytest.mark.parametrize("seed", range(60))
def test_elimination_finds_what_brute_force_finds(seed):
    sizes, factors = random_problem(seed)
    least = min(cost_of(dict(zip(sizes, choice)), factors) for choice in itertools.product(*map(range, sizes.values())))
    found, cost, exact = cheapest(sizes, factors)
    assert exact and found.keys() == sizes.keys()
    np.testing.assert_allclose([cost, cost_of(found, factors)], least)


def test_a_thousand_variables_in_a_chain_with_skips_stay_narrow():
    rng = np.random.default_rng(0)
    sizes = {i: 5 for i in range(1000)}
    factors = [((i, j), rng.random((5, 5))) for i in range(1000) for j in (i + 1, i + 3) if j < 1000]
    found, cost, exact = cheapest(sizes, factors)
    assert exact
    np.testing.assert_allclose(cost, cost_of(found, factors))
    for i in range(0, 1000, 97):                              # no single change makes it cheaper
        for other in range(5):
            assert cost_of({**found, i: other}, factors) >= cost - 1e-9


def test_a_table_that_would_be_too_large_is_told_of():
    rng = np.random.default_rng(0)
    sizes = {i: 4 for i in range(9)}
    factors = [(pair, rng.random((4, 4))) for pair in itertools.combinations(range(9), 2)]
    found, cost, exact = cheapest(sizes, factors, limit=64)
    assert not exact
    np.testing.assert_allclose(cost, cost_of(found, factors))


def test_passes_start_from_a_usual_choice_where_the_search_is_not_exact():
    """Some of its variables are enough; the result is never worse than it, and never worse than without it."""
    better = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        sizes = {i: 4 for i in range(12)}
        factors = [(pair, rng.random((4, 4))) for pair in itertools.combinations(sizes, 2)]
        best, least, _ = cheapest(sizes, factors, limit=1 << 12)
        usual = {i: best[i] for i in range(10)}
        found, cost, exact = cheapest(sizes, factors, limit=64, usual=usual)
        np.testing.assert_allclose(cost, cost_of(found, factors))
        alone = cheapest(sizes, factors, limit=64)[1]
        assert not exact and cost <= least + 1e-9
        better += cost < alone
    assert better, "none of them is a start that helps"


def test_later_passes_start_from_the_best_choice_and_are_never_worse(monkeypatch):
    better = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        sizes = {i: 4 for i in range(12)}
        factors = [(pair, rng.random((4, 4))) for pair in itertools.combinations(sizes, 2)]
        costs = []
        for passes in ((0,), search.PASSES):
            monkeypatch.setattr(search, "PASSES", passes)
            found, cost, exact = cheapest(sizes, factors, limit=256)
            np.testing.assert_allclose(cost, cost_of(found, factors))
            assert not exact
            costs.append(cost)
        monkeypatch.undo()
        assert costs[1] <= costs[0]
        better += costs[1] < costs[0]
    assert better > 6
