"""Clusters that have nothing to do with one another as one kernel: one launch, one fork and join (parallel fusion).

    adam(p, m, v, g); adam(q, n, w, h); ..       ->       units  0 .. a  are items of the first, a .. a + b of the second

An optimiser updates each Parameter by a loop of its own; what a small network does between its products is tiny. Each
part stays the loop nest that it is. An item of a part counts as many units as it has operations and one, and is done
by the chunk in which its first unit lies, so chunks are equally long whatever the parts are. Equal parts are compiled once.

The text is one JSON object behind _FIRST_LINE: {"texts": distinct parts in LLVM IR, "parts": [[number of its
text, the places of its arguments, the place of its extent, the place of its units per item], ..]}.
"""
import json

from ..mindir.control import make_tuple
from ..mindir.graph import CNode, FuncGraph, ValueNode

TOGETHER = "together"            # the kind of such a fused graph
_FIRST_LINE = "; together "      # how the text of its kernel begins


def is_together(text):
    """True for what `text_of_parts` writes."""
    return text.startswith(_FIRST_LINE)


def parts_of(graph):
    """The parts of a fused graph, each a FuncGraph with its own copies of Parameters; and for each its Parameters and
    outputs in `graph`: [(part, parameters, outputs)]. In order of their first nodes."""
    if graph.kind != TOGETHER:
        return [(graph, graph.parameters, graph.outputs)]
    leader: dict = {}

    def find(node):
        while leader[node] is not node:
            node = leader[node]
        return node
    for node in graph.nodes:
        leader[node] = node
        for arg in node.args:
            if arg in leader:
                first, second = find(arg), find(node)
                leader[second] = first
    members: dict = {}
    for node in graph.nodes:
        members.setdefault(find(node), []).append(node)
    return [_part(graph, nodes) for nodes in members.values()]


def _part(graph, nodes):
    part, env, parameters = FuncGraph(graph.name, graph.origin), {}, []
    for node in nodes:
        for arg in node.args:
            if arg not in env and not isinstance(arg, ValueNode):
                env[arg] = part.add_parameter(arg.name, arg.abstract, arg.origin)
                parameters.append(arg)
        env[node] = CNode(part, node.fn, [env.get(a, a) for a in node.args], node.attrs, node.abstract, node.origin)
        part.nodes.append(env[node])
    outputs = [o for o in graph.outputs if o in env and o not in parameters]
    part.set_outputs([env[o] for o in outputs], make_tuple)
    return part, parameters, outputs


def text_of_parts(texts, places):
    """The text of a kernel. texts: of the parts; places: for each (its arguments, extent, units of an item)."""
    distinct = list(dict.fromkeys(texts))
    parts = [[distinct.index(text), *place] for text, place in zip(texts, places)]
    return _FIRST_LINE + json.dumps({"texts": distinct, "parts": parts})


def modules_of(text):
    """(LLVM IR of the function that shares out the units, {name: LLVM IR of a part's kernel})."""
    said = json.loads(text[len(_FIRST_LINE):])
    names = [f"part{number}" for number in range(len(said["texts"]))]
    lines = [f"declare i64 @{name}(ptr, i64, i64)" for name in names]
    lines += ["declare i64 @llvm.smax.i64(i64, i64)", "declare i64 @llvm.smin.i64(i64, i64)",
              "define i64 @kernel(ptr %args, i64 %begin, i64 %end) {", "entry:"]
    lines += [f"  %room{n} = alloca [{len(arguments)} x i64]" for n, (_, arguments, _, _) in enumerate(said["parts"])]
    start = "0"
    for n, (number, arguments, extent, units) in enumerate(said["parts"]):
        lines += _load(f"extent{n}", extent) + _load(f"units{n}", units)
        lines += [f"  %whole{n} = mul i64 %extent{n}, %units{n}"]
        for end in ("begin", "end"):                        # items whose first unit lies before the end of the chunk
            lines += [f"  %{end}a{n} = sub i64 %{end}, {start}",
                      f"  %{end}b{n} = call i64 @llvm.smax.i64(i64 %{end}a{n}, i64 0)",
                      f"  %{end}c{n} = call i64 @llvm.smin.i64(i64 %{end}b{n}, i64 %whole{n})",
                      f"  %{end}d{n} = sub i64 %units{n}, 1",
                      f"  %{end}e{n} = add i64 %{end}c{n}, %{end}d{n}",
                      f"  %{end}f{n} = udiv i64 %{end}e{n}, %units{n}"]
        lines += [f"  %start{n} = add i64 {start}, %whole{n}",
                  f"  %some{n} = icmp slt i64 %beginf{n}, %endf{n}",
                  f"  br i1 %some{n}, label %do{n}, label %next{n}", f"do{n}:"]
        for k, place in enumerate(arguments):
            lines += _load(f"value{n}.{k}", place)
            lines += [f"  %to{n}.{k} = getelementptr i64, ptr %room{n}, i64 {k}",
                      f"  store i64 %value{n}.{k}, ptr %to{n}.{k}"]
        lines += [f"  %status{n} = call i64 @part{number}(ptr %room{n}, i64 %beginf{n}, i64 %endf{n})",
                  f"  br label %next{n}", f"next{n}:"]
        start = f"%start{n}"
    lines += ["  ret i64 0", "}"]
    return "\n".join(lines), {name: ir.replace('@"kernel"', f'@"{name}"') for name, ir in zip(names, said["texts"])}


def _load(name, place):
    return [f"  %{name}.at = getelementptr i64, ptr %args, i64 {place}", f"  %{name} = load i64, ptr %{name}.at"]
