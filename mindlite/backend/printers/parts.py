"""Several kernels as one (`graph_kernel/horizontal.py`): the function that shares out their units of work.

The text is one JSON object behind _FIRST_LINE: {"texts": distinct parts in LLVM IR, "parts": [[number of its
text, the positions of its arguments, that of its extent, that of its units per item], ..]}.
"""
import json

from ...common.lazy import LazyModule

ir, words = LazyModule("llvmlite.ir"), LazyModule("mindlite.backend.words")
_FIRST_LINE = "; horizontal "      # how the text of its kernel begins


def is_together(text):
    """True for what `text_of_parts` writes."""
    return text.startswith(_FIRST_LINE)


def text_of_parts(texts, positions):
    """The text of a kernel. texts: of the parts; positions: for each (its arguments, extent, units of an item)."""
    distinct = list(dict.fromkeys(texts))
    parts = [[distinct.index(text), *room] for text, room in zip(texts, positions)]
    return _FIRST_LINE + json.dumps({"texts": distinct, "parts": parts})


def modules_of(text):
    """(LLVM IR of the function that shares out the units, {name: LLVM IR of a part's kernel})."""
    said = json.loads(text[len(_FIRST_LINE):])
    names = [f"part{number}" for number in range(len(said["texts"]))]
    module = ir.Module("together")
    function = ir.Function(module, ir.FunctionType(words.WORD, [words.POINTER, words.WORD, words.WORD]), "kernel")
    args, *ends = function.args
    b, start = ir.IRBuilder(function.append_basic_block("entry")), words.word(0)
    rooms = [words.room(b, len(arguments)) for _, arguments, _, _ in said["parts"]]
    for room, (part, arguments, extent, units) in zip(rooms, said["parts"]):
        each = words.read(b, args, units)
        whole = b.mul(words.read(b, args, extent), each)
        begin, end = (_items(b, b.sub(unit, start), whole, each) for unit in ends)
        with b.if_then(b.icmp_signed("<", begin, end)):
            for k, argument in enumerate(arguments):
                words.write(b, room, k, words.read(b, args, argument))
            words.call(b, names[part], room, begin, end, attributes=("noinline",))     # an optimiser has one part many times
        start = b.add(start, whole)
    b.ret(words.word(0))
    return str(module), {name: text.replace('@"kernel"', f'@"{name}"') for name, text in zip(names, said["texts"])}


def _items(b, units, whole, each):
    """How many items of a part begin before its unit with that number."""
    inside = words.call(b, "llvm.smin.i64", words.call(b, "llvm.smax.i64", units, 0), whole)
    return b.udiv(b.add(inside, b.sub(each, words.word(1))), each)
