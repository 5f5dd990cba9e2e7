"""Several kernels as one (`graph_kernel/horizontal.py`): which they are and what each takes, as data.

The text is one JSON object behind _FIRST_LINE: {"texts": distinct parts in LLVM IR, "parts": [[number of its
text, the positions of its arguments, that of its extent, that of its units per item], ..]}. Its machine code is a table with the
addresses of the parts, which are kernels like others, and a call of `share_out` (horizontal_code.py).
"""
import json

_FIRST_LINE = "; horizontal "      # how the text of its kernel begins


def is_together(text):
    """True for what `text_of_parts` writes."""
    return text.startswith(_FIRST_LINE)


def text_of_parts(texts, positions):
    """The text of a kernel. texts: of the parts; positions: for each (its arguments, extent, units of an item)."""
    distinct = list(dict.fromkeys(texts))
    parts = [[distinct.index(text), *room] for text, room in zip(texts, positions)]
    return _FIRST_LINE + json.dumps({"texts": distinct, "parts": parts})


def read_parts(text):
    """(the texts of the parts, LLVM IR of the kernel, in which part0, part1, .. are their functions)."""
    said = json.loads(text[len(_FIRST_LINE):])
    words: list[int | str] = [len(said["parts"]), max(len(arguments) for _, arguments, _, _ in said["parts"])]
    for number, arguments, extent, units in said["parts"]:
        words += [f"ptrtoint (ptr @part{number} to i64)", len(arguments), extent, units, *arguments]
    lines = [f"@words = internal constant [{len(words)} x i64] [{', '.join(f'i64 {word}' for word in words)}]",
             "declare i64 @share_out(ptr, i64, i64, ptr)",
             *(f"declare i64 @part{number}(ptr, i64, i64)" for number in range(len(said["texts"]))),
             "define i64 @kernel(ptr %args, i64 %begin, i64 %end) {",
             "  %status = call i64 @share_out(ptr %args, i64 %begin, i64 %end, ptr @words)",
             "  ret i64 %status", "}"]
    return said["texts"], "\n".join(lines)
