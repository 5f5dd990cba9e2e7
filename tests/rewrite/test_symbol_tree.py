"""What SymbolTree promises: the statements of a network, and the network that comes out when they are changed."""
import types

import numpy as np
import pytest
import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.rewrite import Node, NodeType, ScopedValue, SymbolTree, ValueType

from .networks import Block, Chain, Everything, double, inputs, run

x = ScopedValue.create_naming_value("x")


def names(tree):
    return [node.get_name() for node in tree.nodes()]


def test_an_unchanged_network_gives_the_same_in_both_modes_with_the_very_parameters():
    net = Everything()
    changed = SymbolTree.create(net).get_network()
    assert isinstance(changed, Everything) and type(changed) is not Everything
    assert run(changed, inputs()) == run(net, inputs())
    assert run(changed, inputs()[:1], inputs()[1:], scale=1.0) == run(net, inputs()[:1], inputs()[1:], scale=1.0)
    old, new = net.parameters_dict(), changed.parameters_dict()
    assert list(old) == list(new) and all(old[name] is new[name] for name in old)


def test_gradients_of_an_unchanged_network_are_the_same():
    net = Everything()
    changed = SymbolTree.create(net).get_network()

    def gradients(cell, mode):
        ms.set_context(mode=mode)
        try:
            grads = ms.grad(lambda data: cell(data)[0].sum(), None, cell.trainable_params())(inputs())
            return [grad.asnumpy() for grad in grads]
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
    wanted = gradients(net, ms.PYNATIVE_MODE)
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        for a, b in zip(gradients(changed, mode), wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_nodes_stand_in_order_with_types_arguments_inputs_and_users():
    tree = SymbolTree.create(Everything())
    found = {node.get_name(): node for node in tree.nodes()}
    assert [str(node.get_node_type()).partition(".")[2] for node in tree.nodes()][:9] == [
        "Input", "Input", "Input", "CallFunction", "Tree", "CallFunction", "MathOps", "MathOps", "ControlFlow"]
    twice, function = found["twice"], found["double"]
    assert [str(value) for value in twice.get_targets()] == ["a", "b"] and twice.get_args() == [x]
    assert function.get_kwargs() == {"k": ScopedValue.create_naming_value("k", "self")}
    assert function.get_instance_type() is double and found["block"].get_instance_type() is Block
    assert [node.get_name() for node in function.get_inputs()] == ["block"]
    assert [node.get_name() for node in twice.get_users()] == ["block", "tuple_1"]
    assert found["block"].get_arg_providers() == {0: (twice, 0)}
    assert twice.get_target_users(0)[0] == (found["block"], 0)


def test_a_statement_is_written_one_operation_each_in_the_order_of_evaluation():
    seen = []

    class Note(nn.Cell):
        def __init__(self, word):
            super().__init__()
            self.word = word

        def construct(self, data):
            seen.append(self.word)
            return data

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = Note("a"), Note("b"), Note("c")

        def construct(self, data):
            return (self.a(data) + 1, self.b(data) * self.c(data), [self.a(i) for i in (data,)], self.b(data))

    net = Net()
    net(inputs())
    wanted, seen[:] = list(seen), []
    tree = SymbolTree.create(net)
    tree.get_network()(inputs())
    assert seen == wanted == ["a", "b", "c", "a", "b"]
    assert "mult_var = b_var * c_var" in tree.get_code()


def test_an_attribute_is_read_before_a_later_operand_changes_it():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.count = 1

        def more(self):
            self.count = self.count + 1
            return self.count

        def construct(self, data):
            return ops.stack([data * self.count, data * self.more()])

    first, second = Net(), Net()
    assert SymbolTree.create(first).get_network()(inputs()).asnumpy().tolist() == second(inputs()).asnumpy().tolist()


def test_what_is_not_always_evaluated_stays_where_it_is():
    class Net(nn.Cell):
        def construct(self, data, other=None):
            if other is not None and other.sum() > 0:
                data = data + other
            return data if other is None else data * other.sum()

    tree = SymbolTree.create(Net())
    assert "and_var = compare_var and other.sum() > 0" in tree.get_code()
    changed = tree.get_network()
    assert run(changed, inputs()) == run(Net(), inputs())
    assert run(changed, inputs(), inputs() + 3) == run(Net(), inputs(), inputs() + 3)


def test_a_cell_is_inserted_erased_and_replaced():
    net = Chain()
    tree = SymbolTree.create(net)
    sigmoid = Node.create_call_cell(nn.Sigmoid(), ["x"], [x], name="sigmoid")
    tree.insert(tree.after("dense"), sigmoid)
    assert names(tree) == ["input_x", "dense", "sigmoid", "relu", "tanh", "return"]
    assert tree.get_node("relu").get_inputs() == [sigmoid] and sigmoid.get_users() == [tree.get_node("relu")]
    tree.erase("relu")
    exp = Node.create_call_cell(nn.Softmax(), ["y"], [x])
    last = Node.create_call_function(ops.neg, ["x"], [exp.get_targets()[0]])
    assert tree.replace(tree.get_node("tanh"), [exp, last]) is last
    assert names(tree) == ["input_x", "dense", "sigmoid", "Softmax", "neg", "return"]
    wanted = -ops.softmax(ops.sigmoid(net.dense(inputs())), axis=-1)
    np.testing.assert_allclose(run(tree.get_network(), inputs()), wanted.asnumpy(), rtol=1e-5)


def test_the_original_network_stays_as_it_is():
    net = Chain()
    before, attributes = net(inputs()).asnumpy(), dict(vars(net))
    tree = SymbolTree.create(net)
    tree.replace(tree.get_node("relu"), [Node.create_call_cell(nn.Dense(4, 4), ["x"], [x], name="more")])
    changed = tree.get_network()
    assert {name: value for name, value in vars(net).items() if name != "_version"} == {
        name: value for name, value in attributes.items() if name != "_version"}
    np.testing.assert_array_equal(net(inputs()).asnumpy(), before)
    assert [p.name for p in net.get_parameters()] == ["dense.weight", "dense.bias"]
    assert [p.name for p in changed.get_parameters()] == ["dense.weight", "dense.bias", "more.weight", "more.bias"]
    assert changed.more is not None and not hasattr(net, "more")


def test_a_second_network_of_one_tree_has_the_changes_made_since():
    tree = SymbolTree.create(Chain())
    first = tree.get_network()
    tree.erase("tanh")
    second = tree.get_network()
    assert run(first, inputs()) != run(second, inputs())
    assert first.dense.weight is second.dense.weight


def test_a_name_that_is_taken_gets_a_number():
    tree = SymbolTree.create(Chain())
    again = Node.create_call_cell(nn.ReLU(), ["x"], [x], name="relu")
    tree.insert(tree.after("tanh"), again)
    assert again.get_name() == "relu_1" and "x = self.relu_1(x)" in tree.get_code()
    assert tree.unique_name("x") == "x_1" and tree.unique_name("x") == "x_2" and tree.unique_name("free") == "free"


def test_arguments_are_set_by_name_and_by_node():
    tree = SymbolTree.create(Chain())
    new = Node.create_call_cell(nn.Sigmoid(), [tree.unique_name("x")], [x], name="sigmoid")
    tree.insert(tree.after("dense"), new)
    tree.get_node("relu").set_arg_by_node(0, new)
    assert "x = self.relu(x_1)" in tree.get_code() and new.get_users() == [tree.get_node("relu")]
    tree.set_output(0, "x_1")
    assert tree.get_node("return").get_inputs() == [new]
    new.set_arg(0, ScopedValue.create_naming_value("scale", "self"))
    assert "x_1 = self.sigmoid(self.scale)" in tree.get_code()


def test_an_object_as_an_argument_becomes_an_attribute_of_the_network():
    net, offset = Chain(), Tensor(np.full((4,), 2, np.float32))
    tree = SymbolTree.create(net)
    tree.insert(tree.after("tanh"), Node.create_call_function(ops.add, ["x"], [x, ScopedValue.create_variable_value(offset)]))
    np.testing.assert_allclose(run(tree.get_network(), inputs()), net(inputs()).asnumpy() + 2, rtol=1e-6)
    assert tree.get_node("add").get_args()[1].value is offset and "value" not in vars(net)


def test_an_inner_network_has_a_tree_of_its_own_and_is_changed_at_one_call_only():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.block, self.other = Block(), Block()

        def construct(self, data):
            return self.other(self.block(self.block(data)))

    net = Net()
    tree = SymbolTree.create(net)
    assert tree.get_code().count("class BlockOpt") == 1              # all calls are alike
    inner = tree.get_node("block_1").get_sub_tree()
    assert inner.get_origin_network() is net.block
    inner.replace(inner.get_node("relu"), [Node.create_call_cell(nn.Tanh(), ["relu_var"], [
        ScopedValue.create_naming_value("dense_var")], name="tanh")])
    assert tree.get_code().count("class BlockOpt") == 2
    wanted = net.other(ops.tanh(net.block.dense(net.block(inputs()))))
    changed = tree.get_network()
    np.testing.assert_allclose(run(changed, inputs()), wanted.asnumpy(), rtol=1e-5)
    assert [p.name for p in changed.get_parameters()] == [p.name for p in net.get_parameters()]


def test_methods_and_functions_have_nodes_inside():
    net = Everything()
    tree = SymbolTree.create(net)
    twice = tree.get_node("twice")
    assert [node.get_name() for node in twice.nodes()] == ["input_x_1", "dense", "binop_add", "tuple", "return"]
    twice.get_node("binop_add").set_arg(1, ScopedValue.create_variable_value(5))
    tree.erase(tree.get_node("double").get_node("abs"))
    tree.get_node("double").get_node("binop_mult").set_arg(0, "x")
    code = tree.get_code()
    assert "z = dense_var + 5" not in code and "add_var = dense_var + 5" in code and "y = x * k" in code
    a = net.dense(inputs()) + 5
    np.testing.assert_allclose(run(tree.get_network(), inputs())[2][0], a.asnumpy(), rtol=1e-5)


def test_a_function_without_self_takes_functions_and_no_cells():
    tree = SymbolTree.create(Everything())
    place = tree.after(tree.get_node("double").get_node("abs"))
    with pytest.raises(TypeError, match="into no-method function 'double'"):
        tree.insert(place, Node.create_call_cell(nn.ReLU(), ["x"], [x]))
    tree.insert(place, Node.create_call_function(ops.exp, ["abs_var"], [ScopedValue.create_naming_value("abs_var")]))
    assert "abs_var = exp(abs_var)" in tree.get_code()


def test_branches_and_loops_are_blocks_that_can_be_emptied_and_erased():
    tree = SymbolTree.create(Everything())
    branch, other = tree.get_node("if_node"), tree.get_node("else_node")
    assert branch.get_node_type() is other.get_node_type() is NodeType.ControlFlow
    assert [node.get_name() for node in branch.nodes()] == ["binop_add_1", "seq"]
    assert tree.get_node("seq").get_node_manager() is branch and branch.get_node_manager() is tree
    for node in branch.nodes():
        tree.erase(node)
    assert "if and_var:\n            pass\n        else:" in tree.get_code()
    tree.erase(other)
    assert "else:" not in tree.get_code() and "if and_var:\n            pass" in tree.get_code()
    tree.erase(branch)
    assert "if and_var" not in tree.get_code()
    tree.get_network()(inputs())


DEVICE = "here"


def test_branches_whose_condition_is_known_are_taken_and_others_stay():
    class Net(nn.Cell):
        kind = "class"

        def __init__(self):
            super().__init__()
            self.a, self.b, self.flag, self.count = nn.ReLU(), nn.Tanh(), True, 0

        def construct(self, x, y=None):
            if self.flag and self.kind == "class":
                x = self.a(x)
                if DEVICE != "here":
                    x = self.b(x)
            else:
                x = self.b(x) + 1
            if not self.flag:
                x = x * 2
            if y is None:
                x = x + 5
            if self.count > 3:
                x = x + 7
            self.count = self.count + 1
            if x.sum() > 0:
                x = x - 1
            return x

    net = Net()
    tree = SymbolTree.create(net)
    tree.flatten_static_if_control_flow()
    code = tree.get_code()
    assert code.count("if ") == 3 and "x = x + 5" in code and "x = x + 7" in code and "x = x - 1" in code
    assert "x * 2" not in code and "self.b(x)" not in code
    assert tree.get_node("a").get_inputs() == [tree.get_node("input_x")]
    np.testing.assert_array_equal(tree.get_network()(inputs()).asnumpy(), Net()(inputs()).asnumpy())


def test_what_a_branch_writes_has_no_known_giver_behind_it():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.relu = nn.ReLU()

        def construct(self, x, flag):
            if flag:
                x = x + 1
            x = self.relu(x)
            return x

    tree = SymbolTree.create(Net())
    assert tree.get_node("relu").get_inputs() == []
    assert [node.get_name() for node in tree.get_node("if_node").get_inputs()] == ["input_flag"]


def test_the_cells_of_containers_are_inserted_erased_and_replaced_and_others_keep_their_names():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.seq = nn.SequentialCell(nn.Dense(4, 4), nn.ReLU(), nn.Dense(4, 4), nn.Tanh())

        def construct(self, x):
            x = self.seq(x)
            return x

    net = Net()
    tree = SymbolTree.create(net)
    row = tree.get_node("seq")
    assert row.get_node_type() is NodeType.CellContainer
    assert [node.get_name() for node in row.node_list] == ["Dense", "ReLU", "Dense_1", "Tanh"]
    assert [node.get_name() for node in row.nodes()[1].get_users()] == ["Dense_1"]
    new = nn.Dense(4, 4)
    tree.insert(tree.after(row.nodes()[0]), Node.create_call_cell(new, ["x"], [x], name="fresh"))
    tree.erase("ReLU")
    tree.replace(tree.get_node("Tanh"), [Node.create_call_cell(nn.Sigmoid(), ["x"], [x])])
    changed = tree.get_network()
    assert [type(cell) for cell in changed.seq] == [nn.Dense, nn.Dense, nn.Dense, nn.Sigmoid] and changed.seq[1] is new
    assert [p.name for p in changed.get_parameters()] == [
        "seq.0.weight", "seq.0.bias", "seq.fresh.weight", "seq.fresh.bias", "seq.2.weight", "seq.2.bias"]
    wanted = ops.sigmoid(net.seq[2](new(net.seq[0](inputs()))))
    np.testing.assert_allclose(run(changed, inputs()), wanted.asnumpy(), rtol=1e-5)
    assert [type(cell) for cell in net.seq] == [nn.Dense, nn.ReLU, nn.Dense, nn.Tanh]


def test_the_cells_of_a_list_that_a_loop_walks_are_changed():
    net = Everything()
    tree = SymbolTree.create(net)
    row = tree.get_node("self.blocks")
    assert [node.get_node_type() for node in row.nodes()] == [NodeType.CallCell, NodeType.Tree]
    tree.replace(row.nodes()[0], [Node.create_call_cell(nn.Sigmoid(), ["x"], [x])])
    inner = row.nodes()[1].get_sub_tree()
    inner.erase("relu")
    inner.get_node("return").set_arg(0, "dense_var")
    changed = tree.get_network()
    assert type(changed.blocks[0]) is nn.Sigmoid and type(net.blocks[0]) is nn.Tanh
    c = net.seq(double(net.block(net.dense(inputs()) + 1), k=3) + inputs())
    wanted = -net.blocks[1].dense(ops.sigmoid(c)) * 2.0
    np.testing.assert_allclose(run(changed, inputs())[0], wanted.asnumpy(), rtol=1e-5, atol=1e-6)


def test_super_and_private_names_mean_what_they_meant():
    class Base(nn.Cell):
        def construct(self, x):
            return x * 2

    class Net(Base):
        def __init__(self):
            super().__init__()
            self.__offset = 5

        def construct(self, x):
            return super().construct(x) + self.__offset

    assert run(SymbolTree.create(Net()).get_network(), inputs()) == run(Net(), inputs())


def test_two_modules_may_call_different_things_by_one_name():
    def module(name, factor):
        made = types.ModuleType(name)
        text = (f"from mindlite import nn\ndef f(x):\n    y = x * {factor}\n    return y\n"
                "class Part(nn.Cell):\n    def construct(self, x):\n        z = f(x)\n        return z\n")
        made.__dict__["__source__"] = text
        exec(compile(text, f"<{name}>", "exec"), made.__dict__)
        return made

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.a, self.b = module("one", 2).Part(), module("two", 3).Part()

        def construct(self, x):
            return self.a(x) + self.b(x)

    tree = SymbolTree.create(Net())
    assert tree.get_code().count("def f(x)") == 1 and tree.get_code().count("def f_1(x)") == 1
    np.testing.assert_allclose(run(tree.get_network(), inputs()), inputs().asnumpy() * 5, rtol=1e-6)


def test_a_function_that_calls_itself_is_read_once():
    tree = SymbolTree.create(Recursive())
    assert tree.get_code().count("def countdown(x, n)") == 1
    np.testing.assert_allclose(tree.get_network()(inputs()).asnumpy(), inputs().asnumpy() * 8)


def countdown(x, n):
    if n == 0:
        return x
    x = countdown(x * 2, n - 1)
    return x


class Recursive(nn.Cell):
    def construct(self, x):
        return countdown(x, 3)


def test_an_input_is_added_with_a_default():
    tree = SymbolTree.create(Chain())
    tree.insert(tree.after("input_x"), Node.create_input("bias", ScopedValue.create_variable_value(1)))
    tree.insert(tree.after("tanh"), Node.create_call_function(ops.add, ["x"], [x, ScopedValue.create_naming_value("bias")]))
    assert "def construct(self, x, bias=1):" in tree.get_code()
    changed = tree.get_network()
    np.testing.assert_allclose((changed(inputs(), 3) - changed(inputs())).asnumpy(), np.full((2, 4), 2), rtol=1e-5)


def test_an_error_in_the_new_network_shows_its_line():
    tree = SymbolTree.create(Chain())
    shape = ScopedValue.create_variable_value((3, 3))
    tree.insert(tree.after("dense"), Node.create_call_function(ops.reshape, ["x"], [x, shape]))
    changed = tree.get_network()
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        try:
            with pytest.raises(ValueError, match=r"x = reshape\(x, \(3, 3\)\)"):
                changed(inputs())
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)


def test_the_code_is_saved_and_imports_what_it_uses(tmp_path):
    tree = SymbolTree.create(Everything())
    tree.set_saved_file_name(str(tmp_path / "net"))
    assert tree.get_saved_file_name() == str(tmp_path / "net.py")
    tree.save_network_to_file()
    namespace = {}
    exec((tmp_path / "net.py").read_text(), namespace)
    net = Everything()
    assert _tolist(namespace["EverythingOpt"](net)(inputs())) == _tolist(net(inputs()))


def _tolist(value):
    return [_tolist(part) for part in value] if isinstance(value, tuple) else \
        value.asnumpy().tolist() if isinstance(value, Tensor) else value


def test_the_table_names_givers_and_users(capsys):
    SymbolTree.create(Chain()).print_node_tabulate()
    rows = [row.split("  ") for row in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["[ChainOpt]"]
    relu = next(row for row in rows if "relu" in row)
    assert [cell.strip() for cell in relu if cell.strip()] == [
        "NodeType.CallCell", "relu", "x = self.relu(x)", "[[0, ('dense', 0)]]", "[[0, [('tanh', 0)]]]"]


def test_values_are_read_and_written():
    make = ScopedValue.create_variable_value
    assert make(2).type is ValueType.ConstantValue and str(make(2)) == "2"
    assert make((1, [2])) == make((1, [2])) and make((1,)).type is ValueType.TupleValue
    assert str(ScopedValue.create_naming_value("conv", "self")) == "self.conv"
    assert ScopedValue.create_name_values(["z", "w"], ["self", ""]) == [
        ScopedValue.create_naming_value("z", "self"), ScopedValue.create_naming_value("w")]
    assert make(inputs()).type is ValueType.CustomObjValue
    with pytest.raises(ValueError):
        ScopedValue.create_name_values(["z"], ["self", ""])


@pytest.mark.parametrize("kind, wrong", [
    (TypeError, lambda tree: SymbolTree.create(3)),
    (TypeError, lambda tree: SymbolTree.create(nn.ReLU())),
    (TypeError, lambda tree: Node.create_call_cell(3, ["x"])),
    (TypeError, lambda tree: Node.create_call_cell(nn.ReLU(), "x")),
    (TypeError, lambda tree: Node.create_call_cell(nn.ReLU(), ["x"], ["x"])),
    (TypeError, lambda tree: Node.create_call_function(3, ["x"])),
    (TypeError, lambda tree: tree.insert(3, Node.create_input("y"))),
    (TypeError, lambda tree: tree.get_node("relu").get_sub_tree()),
    (ValueError, lambda tree: tree.get_node("relu").set_arg(1, "x")),
    (ValueError, lambda tree: tree.get_node("relu").set_arg(0, "x =")),
    (ValueError, lambda tree: tree.after("nothing")),
    (ValueError, lambda tree: tree.insert(tree.before("input_x"), Node.create_call_cell(nn.ReLU(), ["x"], [x]))),
    (ValueError, lambda tree: tree.insert(tree.after("relu"), tree.get_node("tanh"))),
    (ValueError, lambda tree: tree.insert(SymbolTree.create(Chain()).after("relu"), Node.create_input("y"))),
    (ValueError, lambda tree: tree.set_output(1, "x")),
    (ValueError, lambda tree: tree.replace(tree.get_node("relu"), [])),
])
def test_a_wrong_argument_is_an_error(kind, wrong):
    with pytest.raises(kind):
        wrong(SymbolTree.create(Chain()))


def test_a_node_that_stands_nowhere_is_none():
    tree = SymbolTree.create(Chain())
    assert tree.get_node("nothing") is None and tree.erase("nothing") is None
