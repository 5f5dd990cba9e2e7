"""Several kernels as one (`graph_kernel/horizontal.py`): the function that shares out their units of work.

The text is one JSON object behind _FIRST_LINE: {"texts": distinct parts in LLVM IR, "parts": [[number of its
text, the places of its arguments, the place of its extent, the place of its units per item], ..]}.
"""
import json

_FIRST_LINE = "; together "      # how the text of its kernel begins


def is_together(text):
    """True for what `text_of_parts` writes."""
    return text.startswith(_FIRST_LINE)


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
