"""What PatternEngine promises."""
import numpy as np
import pytest
from mindlite import nn, ops
from mindlite.rewrite import Node, PatternEngine, PatternNode, Replacement, ScopedValue, SymbolTree, VarNode

from .networks import Everything, inputs, run


class Fuse(Replacement):
    """Dense and ReLU become Dense and Tanh."""

    def build(self, pattern, is_chain_pattern, matched):
        relu, dense = matched[pattern.name()], matched[pattern.get_inputs()[0].name()]
        return [Node.create_call_cell(dense.get_instance(), ["between"], dense.get_args(), name="dense_again"),
                Node.create_call_function(ops.tanh, relu.get_targets(), [ScopedValue.create_naming_value("between")])]


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense, self.relu = nn.Dense(4, 4), nn.ReLU()
        self.other, self.act = nn.Dense(4, 4), nn.ReLU()

    def construct(self, x):
        x = self.dense(x)
        x = self.relu(x)
        y = self.other(x)
        z = self.act(y)
        return y + z


def test_a_chain_is_replaced_where_nothing_else_uses_its_parts():
    net = Net()
    tree = SymbolTree.create(net)
    assert PatternEngine([nn.Dense, nn.ReLU], Fuse()).apply(tree)
    assert [node.get_name() for node in tree.nodes()] == [
        "input_x", "dense_again", "tanh", "other", "act", "binop_add", "return"]      # `other` is used by the sum, too
    x = ops.tanh(net.dense(inputs()))
    wanted = net.other(x) + ops.relu(net.other(x))
    np.testing.assert_allclose(run(tree.get_network(), inputs()), wanted.asnumpy(), rtol=1e-5)


def test_what_was_put_in_is_not_matched_again():
    class Twice(Replacement):
        def build(self, pattern, is_chain_pattern, matched):
            node = matched[pattern.name()]
            return [Node.create_call_cell(nn.ReLU(), node.get_targets(), node.get_args()) for _ in range(2)]

    tree = SymbolTree.create(Net())
    assert PatternEngine([nn.ReLU], Twice()).apply(tree)
    assert sum(node.get_instance_type() is nn.ReLU for node in tree.nodes()) == 4


def test_a_pattern_reaches_inner_networks_containers_and_branches():
    class Sigmoids(Replacement):
        def build(self, pattern, is_chain_pattern, matched):
            node = matched[pattern.name()]
            return [Node.create_call_cell(nn.Sigmoid(), node.get_targets(), node.get_args(), name="sigmoid")]

    tree = SymbolTree.create(Everything())
    assert PatternEngine([nn.ReLU], Sigmoids()).apply(tree)
    cells = [type(cell) for _, cell in tree.get_network().cells_and_names()]
    assert not any(node.get_instance_type() is nn.ReLU for node in tree.nodes(True)) and cells.count(nn.Sigmoid) == 3


def test_a_tree_pattern_has_places_for_anything():
    class Sum(nn.Cell):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.both = nn.ReLU(), nn.Tanh(), nn.BiDense(4, 4, 2)

        def construct(self, x, y):
            p = self.a(x)
            q = self.b(y)
            return self.both(p, q)

    class Drop(Replacement):
        def build(self, pattern, is_chain_pattern, matched):
            assert not is_chain_pattern and list(matched) == ["a", "b", "both"]
            args = matched["a"].get_args() + matched["b"].get_args()
            return [Node.create_call_cell(matched["both"].get_instance(), matched["both"].get_targets(), args, name="bare")]

    pattern = PatternNode("both", nn.BiDense, [PatternNode("a", nn.ReLU, [VarNode()]), PatternNode("b", nn.Tanh, [VarNode()])])
    tree = SymbolTree.create(Sum())
    assert PatternEngine(pattern, Drop()).apply(tree)
    assert [node.get_name() for node in tree.nodes()] == ["input_x", "input_y", "bare", "return"]


def test_an_empty_replacement_changes_nothing():
    class Nothing(Replacement):
        def build(self, pattern, is_chain_pattern, matched):
            return []

    tree = SymbolTree.create(Net())
    before = tree.get_code()
    assert not PatternEngine([nn.ReLU], Nothing()).apply(tree) and not PatternEngine([nn.ReLU]).apply(tree)
    assert tree.get_code() == before


def test_a_pattern_is_made_of_a_node_and_what_feeds_it():
    tree = SymbolTree.create(Net())
    pattern = PatternNode.create_pattern_from_node(tree.get_node("act"))
    assert (pattern.type(), pattern.get_inputs()[0].type()) == (nn.ReLU, nn.Dense)


@pytest.mark.parametrize("wrong", [lambda: PatternEngine(3), lambda: PatternEngine([]), lambda: PatternEngine([nn.ReLU], 3),
                                   lambda: PatternEngine([nn.ReLU]).apply(3), lambda: PatternNode(3)])
def test_a_wrong_argument_is_an_error(wrong):
    with pytest.raises(TypeError):
        wrong()
