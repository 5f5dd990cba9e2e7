"""Looking inside: each view says what is so, in words that can be checked against what was compiled."""
import html.parser
import re

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, debug, grad, jit, nn, ops, set_context
from mindlite.common.config import GRAPH_MODE, config
from mindlite.common.errors import ArgumentError
from mindlite.debug.check import PYTHON, check_compiled
from mindlite.debug.page import Page, curves

X = Tensor(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))
W = Tensor(np.linspace(-1, 1, 20, dtype=np.float32).reshape(4, 5))


def loss(x, w):
    h = ops.tanh(x @ w)
    return ops.reduce_sum(h * h)


@pytest.fixture(scope="module")
def step():
    @jit
    def gradient(x, w):
        return grad(loss, (0, 1))(x, w)
    gradient(X, W)
    return gradient


def test_each_stage_prints_with_the_users_lines(step):
    assert "mode=\"vjp\"" in debug.ir(step, "infer")
    for stage in ("transform", "optimise", "fuse"):
        assert re.search(r"batch_matmul\(.*# test_debug.py:\d+  h = ops.tanh\(x @ w\)", debug.ir(step, stage))
    assert debug.ir(step, "parse").startswith("graph @") and "load_global(name=\"grad\")" in debug.ir(step, "parse")
    assert debug.ir(step, "plan").startswith("flow ")
    assert debug.ir(step.graph("fuse")) == debug.ir(step, "fuse")


def test_a_stage_that_does_not_exist_is_refused(step):
    with pytest.raises(ArgumentError, match="there is no stage 'nonsense'"):
        debug.ir(step, "nonsense")


def test_steps_counts_nodes_and_names_what_came_and_went(step):
    rows = {line.split()[0]: line.split()[1:] for line in debug.steps(step).splitlines() if line[0].isalpha()}
    assert int(rows["optimise"][0]) == len(step.graph("optimise").nodes)
    assert int(rows["fuse"][0]) == len(step.graph("fuse").nodes)
    assert int(rows["optimise"][0]) < int(rows["transform"][0])
    assert re.search(r"^ +- .*1 J", debug.steps(step), re.MULTILINE)
    assert re.search(r"^ +\+ 1 fused", debug.steps(step), re.MULTILINE)


def test_diff_shows_only_what_a_stage_changed(step):
    text = debug.diff(step, "transform", "optimise")
    gone = [line for line in text.splitlines() if line.startswith("-") and not line.startswith("---")]
    assert any("reduce_sum" in line for line in gone), "the value is not asked for, so its sum goes"
    assert not any("= tanh(" in line for line in gone)
    assert debug.diff((step.graph("fuse"), step.graph("fuse"))) == "optimise changed nothing of transform\n"
    with pytest.raises(ArgumentError, match="'plan' is no graph"):
        debug.diff(step, "fuse", "plan")


def test_kernel_prints_the_fused_ones_with_the_users_lines(step):
    text = debug.kernel(step)
    assert re.search(r"def fused_tanh\w*\(", text) and "h = ops.tanh(x @ w)" in text
    assert "a library kernel" in text and "cblas" not in text
    assert len(debug.kernel(step, library=True)) > len(text)
    name = next(k.name for k in step.kernels() if k.name.startswith("fused"))
    assert debug.kernel(step, name).count("def ") == 1
    assert debug.kernel(step, "nonsense") == "no kernels\n"


def test_kernel_names_every_line_that_launches_a_kernel():
    @jit
    def twice(x, w):
        h = ops.matmul(x, w)
        return ops.matmul(h, w)
    square = Tensor(np.eye(4, dtype=np.float32))
    twice(square, square)
    text = debug.kernel(twice)
    assert text.count("# ") == 1 and "launched 2 times" in text and len(re.findall(r"test_debug.py:\d+", text)) == 2


def test_memory_names_every_storage_and_the_peak(step):
    plan = step.compiled.latest().compiled.executable.plan
    text = debug.memory(step)
    assert len(re.findall(r"^ +\d+ +\d+ +\d+ +#+ +\w+, .*test_debug.py:\d+$", text, re.MULTILINE)) == len(plan.storages) > 0
    assert f"arena {plan.peak} bytes, lower bound {plan.lower_bound}" in text


def test_explain_names_the_reason_for_each_variant():
    @jit
    def double(x):
        return x * 2
    double(X)
    double(W)
    text = debug.explain(double)
    assert "first call" in text and "another size" in text


def test_a_line_is_followed_from_graph_to_kernel(step):
    line = debug.line(step, "h = ops.tanh(x @ w)", file="test_debug.py")
    assert line.source == "h = ops.tanh(x @ w)"
    assert "batch_matmul(" in line.graph and "= tanh(" in line.graph and "reduce_sum" not in line.graph
    assert "(grad)" in line.gradient and "batch_matmul(" in line.gradient
    assert len(line.kernels) == 1 and "tanh(" in line.kernels[0]
    number = int(line.location.rpartition(":")[2])
    assert debug.line(step, number, file="test_debug.py") == line
    assert line.graph in str(line)
    with pytest.raises(ArgumentError, match="nothing was made from line 100000"):
        debug.line(step, 100000)


def test_a_cell_in_graph_mode_can_be_looked_into():
    before = config.mode
    net = nn.Dense(4, 2)
    try:
        set_context(mode=GRAPH_MODE)
        net(X)
    finally:
        config.set(mode=before)
    assert "batch_matmul(" in debug.ir(net) or "matmul(" in debug.ir(net)


def test_what_was_not_compiled_is_refused_with_advice():
    with pytest.raises(ArgumentError, match="loss is not compiled"):
        debug.ir(loss)
    with pytest.raises(ArgumentError, match="has not been called yet"):
        debug.steps(jit(loss))
    with pytest.raises(ArgumentError, match="Dense is not compiled"):
        debug.kernel(nn.Dense(2, 2))


def test_doctor_is_a_table_of_what_is_there():
    assert re.search(r"^Python +3\.\d+", debug.doctor(), re.MULTILINE)
    assert f"numpy     {np.__version__}" in debug.doctor()


class Checker(html.parser.HTMLParser):
    """Every tag is closed, and nothing is loaded from anywhere."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attrs):
        assert not {"src", "href", "srcset"} & {name for name, _ in attrs}
        if tag not in ("meta", "line", "polyline"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        assert tag in ("line", "polyline")

    def handle_data(self, data):
        self.text.append(data)


def test_view_writes_one_page_that_needs_nothing_else(step, tmp_path):
    path = debug.view(step, tmp_path / "step.html")
    page = path.read_text(encoding="utf-8")
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    text = "".join(checker.text)
    assert "%1 = batch_matmul(%x0, %x1" in text and "def fused_tanh" in text and "arena" in text
    assert "http" not in page and "@import" not in page
    assert "prefers-color-scheme: dark" in page
    assert list(tmp_path.iterdir()) == [path]


def test_rows_of_code_know_the_place_they_come_from(step):
    page = Page("x")
    page.code("graph", debug.ir(step, "optimise"))
    places = re.findall(r'data-location="(test_debug.py:\d+)"', page.html())
    assert len(set(places)) == 2 and len(places) == len(step.graph("optimise").nodes)


def test_columns_of_numbers_stand_to_the_right_with_their_names():
    page = Page("x")
    page.table(["what", "how many"], [("kernels", 12345), ("accuracy", "98%")])
    page.table(["", ""], [("a", True)])
    made = page.html()
    assert '<th>what</th><th class="number">how many</th>' in made
    assert '<td>kernels</td><td class="number">12,345</td>' in made
    assert '<td>accuracy</td><td class="number">98%</td>' in made
    assert made.count("<thead>") == 1 and "<td>True</td>" in made


def test_words_of_graphs_that_stand_in_prose_are_no_keywords():
    page = Page("x")
    page.code("stages", "control flow is cond; every kernel of a graph\n  graph @f\nr1 = const 3")
    made = page.html()
    assert "control flow is" in made and "every kernel of a graph" in made
    assert '<span class="w">  graph</span>' in made and '<span class="w">const</span>' in made


def test_text_on_a_page_cannot_become_markup():
    page = Page("<b>")
    page.text("<script>alert(1)</script>")
    page.table(["<i>"], [("<u>", 3, 2.5)])
    page.code("<s>", "<p>")
    made = page.html()
    assert made.count("<script>") == 1 and "<b>" not in made and "<u>" not in made and "&lt;p&gt;" in made


def test_curves_leave_a_gap_where_a_number_is_not_finite():
    assert curves("loss", {"a": [3.0, 2.0, float("nan"), 1.0, 0.5]}).count("<polyline") == 2
    assert "<polyline" not in curves("loss", {"a": []})


def test_a_function_whose_calls_python_ran_does_not_count_as_not_compiled_yet():
    def raises(x):
        raise ValueError("always")

    jitted = ms.jit(raises)
    with pytest.raises(ValueError, match="always"):
        jitted(ms.Tensor([1.0, 2.0]))
    text = jitted.explain()
    assert "not compiled yet" not in text and "nothing runs in Python" not in text and "ValueError('always')" in text
    report, = check_compiled([jitted.compiled])
    assert report.status == PYTHON and "ValueError('always')" in report.findings[0].why
