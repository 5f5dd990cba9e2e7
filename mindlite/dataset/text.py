"""Operations on text: vocabularies, tokenizers, n-grams, word vectors. MindSpore's `dataset.text`.

A text is a NumPy str scalar, tokens are an array of them. Offsets count bytes of UTF-8. SentencePiece and Jieba are optional
libraries (extra `data`).
"""
from __future__ import annotations

import enum
import functools
import math
import re
import unicodedata
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, cast

import numpy as np

from ..common.errors import ArgumentError, FileFormatError, ValueRangeError
from ..common.lazy import LazyModule
from .operation import DataError, Operation, dtype_of, flag, items, joins, kind_of, operation, optional, whole, worded
from .pieces import (JiebaMode, JiebaTokenizer, SentencePieceModel, SentencePieceTokenizer, SentencePieceVocab,
                     SPieceTokenizerLoadType, SPieceTokenizerOutType, one_text, texts, tokens_of)
from .vocabulary import Lookup, Vocab

regular = LazyModule("regex")          # Unicode's properties, which `re` does not know


class NormalizeForm(enum.IntEnum):
    """Unicode's normal forms."""
    NONE = 0
    NFC = 1
    NFKC = 2
    NFD = 3
    NFKD = 4


def to_str(array: Any, encoding: str = "utf8") -> np.ndarray:
    """Bytes as text. raises : ArgumentError"""
    if not isinstance(array, np.ndarray):
        raise ArgumentError("input should be a NumPy array.")
    return np.char.decode(array, encoding)


def to_bytes(array: Any, encoding: str = "utf8") -> np.ndarray:
    """Text as bytes. raises : ArgumentError"""
    if not isinstance(array, np.ndarray):
        raise ArgumentError("input should be a NumPy array.")
    return np.char.encode(array, encoding)


# ------------------------------------------------------------------- vocabularies and vectors

_SMALL = str.maketrans({chr(code): chr(code + 32) for code in range(ord("A"), ord("Z") + 1)})


class VectorsError(FileFormatError, RuntimeError):
    """A file of vectors that is missing or damaged."""


class Vectors:
    """Vectors of tokens, from a text file: a token and its numbers a line; a first line of two numbers is skipped.

    file_path : the file;  max_vectors : how many at most
    """
    dimensions: int = 0

    def __init__(self) -> None:
        self.table: dict[str, np.ndarray] = {}

    @classmethod
    def from_file(cls, file_path: str, max_vectors: int | None = None) -> Vectors:
        """Read a file. raises : ArgumentError, ValueRangeError, VectorsError (a RuntimeError)"""
        kind_of(str)(file_path, "file_path"), optional(whole(0))(max_vectors, "max_vectors")
        cls._check(Path(file_path))
        found = cls()
        with open(file_path, encoding="utf-8", errors="replace") as stream:
            for count, line in enumerate(stream):
                words = line.rstrip().split(" ")
                if count == 0 and len(words) == 2:
                    continue
                try:
                    vector = np.array(words[1:], np.float32)
                except ValueError:
                    raise VectorsError(f"{file_path}: line {count + 1} has no numbers after its token") from None
                if len(vector) < 2:
                    raise VectorsError(f"Vectors: token with {len(vector)}-dimensional vector.",
                                       note=f"{file_path}, line {count + 1}")
                if found.table and len(vector) != found.dimensions:
                    raise VectorsError(f"Vectors: all vectors must have the same number of dimensions, but got dim {len(vector)} "
                                       f"while expecting {found.dimensions}", note=f"{file_path}, line {count + 1}")
                found.dimensions = len(vector)
                found.table.setdefault(words[0], vector)
                if max_vectors and len(found.table) >= max_vectors:
                    break
        if not found.table:
            raise VectorsError("Vectors: invalid file, file is empty.", note=file_path)
        return found

    @classmethod
    def _check(cls, path: Path) -> None:
        if not path.is_file():
            raise VectorsError(f"Vectors: get real path failed, path={path}", note="it does not exist or permission is denied")

    def lookup(self, token: str, unknown: np.ndarray, lower: bool) -> np.ndarray:
        """The vector of a token, or `unknown`. lower : of the token in small letters"""
        return self.table.get(token.translate(_SMALL) if lower else token, unknown)


class FastText(Vectors):
    """FastText's vectors (Bojanowski et al. 2017), a file *.vec."""

    @classmethod
    def _check(cls, path: Path) -> None:
        if path.suffix != ".vec":
            raise DataError("FastText: invalid file, can not find file '*.vec'", note=str(path))
        super()._check(path)


class GloVe(Vectors):
    """GloVe's vectors (Pennington, Socher, Manning 2014), a file glove.*.txt."""

    @classmethod
    def _check(cls, path: Path) -> None:
        if not re.fullmatch(r"glove\..*\.txt", path.name):
            raise DataError("GloVe: invalid file, can not find file 'glove.6B.*.txt'", note=str(path))
        super()._check(path)


class CharNGram(Vectors):
    """Vectors of character n-grams (Hashimoto et al. 2017): a token's is the mean of those of its 2- to 4-grams."""

    def lookup(self, token: str, unknown: np.ndarray, lower: bool) -> np.ndarray:
        token = token.translate(_SMALL) if lower else token
        symbols = ["#BEGIN#", *token, "#END#"]
        parts = {f"{n}gram-" + "".join(symbols[k:k + n]) for n in (2, 3, 4) for k in range(len(symbols) - n + 1)}
        found = [self.table[part] for part in sorted(parts) if part in self.table]
        return np.asarray(np.mean(found, 0), np.float32) if found else unknown


# ------------------------------------------------------------------- numbers of tokens

@operation(vectors=kind_of(Vectors), unk_init=optional(kind_of(list, tuple)), lower_case_backup=flag)
def ToVectors(data, /, vectors, unk_init=None, lower_case_backup=False):
    """Tokens as vectors. unk_init : the vector of tokens that are not there, 0 by default

    lower_case_backup : look tokens up with a to z in place of A to Z, and not as they are: what MindSpore 2.10 does
    """
    if np.asarray(data).dtype.kind not in "US":
        raise DataError("ToVectors: input tensor type should be string.", note=str(np.asarray(data).dtype))
    tokens = texts(data, "ToVectors")
    unknown = np.zeros(vectors.dimensions, np.float32) if unk_init is None else np.array(unk_init, np.float32)
    if len(unknown) != vectors.dimensions:
        raise DataError(f"ToVectors: unk_init must be the same length as vectors, but got unk_init: {len(unknown)} and "
                        f"vectors: {vectors.dimensions}")
    found = [vectors.lookup(token, unknown, lower_case_backup) for token in tokens.ravel().tolist()]
    return np.stack(found).reshape(*tokens.shape, vectors.dimensions)


@operation(data_type=dtype_of)
def ToNumber(data, /, data_type):
    """Text as numbers of a type. raises : DataError for what is no number, or outside the type"""
    tokens, kind = texts(data, "ToNumber"), np.dtype(data_type)
    out = np.empty(tokens.size, kind)
    for k, token in enumerate(tokens.ravel().tolist()):
        try:
            value = int(token) if kind.kind in "iu" else float(token)
            if "_" in token:                                 # Python's words for digits, nobody else's
                raise ValueError
        except ValueError:
            raise DataError(f"ToNumber: it is invalid to convert \"{token}\" to a number.") from None
        limits = np.iinfo(kind) if kind.kind in "iu" else np.finfo(kind)
        endless = abs(value) == math.inf and "inf" in token.lower() or value != value
        if not endless and not int(limits.min) <= value <= int(limits.max):
            raise DataError(f"ToNumber: string input {token} will be out of bounds if cast to {kind}. The valid range is: "
                            f"[{limits.min}, {limits.max}].")
        out[k] = value
    return out.reshape(tokens.shape)


# ------------------------------------------------------------------- tokenizers

def matches(found: Iterable, text: str) -> Iterator[tuple[str, int]]:
    """(match, byte where it begins) of matches in a text"""
    byte = last = 0
    for match in found:
        byte += len(text[last:match.start()].encode())
        last = match.start()
        yield match.group(), byte


def cut(pattern: str, text: str, with_offsets: bool) -> Any:
    """The matches of a pattern without groups as `tokens_of` gives them."""
    if with_offsets:
        return tokens_of(matches(re.finditer(pattern, text), text), True)
    return np.array(re.findall(pattern, text) or [""])


yes, word, form = worded("boolean", bool), worded("string", str), worded("enum of 'NormalizeForm'", NormalizeForm)


@operation(with_offsets=yes)
def WhitespaceTokenizer(data, /, with_offsets=False):
    """The words between white space."""
    text = one_text(data, "WhitespaceTokenizerOp")
    return cut(r"\S+", text, True) if with_offsets else np.array(text.split() or [""])


@joins(WhitespaceTokenizer, Lookup)
def looked_up_words(tokenizer: Any, lookup: Lookup) -> Callable:
    """WhitespaceTokenizer, then Lookup: without an array of the words."""
    def both(data: Any, *more: Any) -> Any:
        if more or tokenizer.with_offsets:
            return lookup(*(found if isinstance(found := tokenizer(data, *more), tuple) else (found,)))
        return lookup.of_words(one_text(data, "WhitespaceTokenizerOp").split() or [""])
    return both


@operation(with_offsets=yes)
def UnicodeCharTokenizer(data, /, with_offsets=False):
    """The characters."""
    return cut(r"(?s).", one_text(data, "UnicodeCharTokenizer"), with_offsets)


# The scripts of Unicode 15; what later versions add counts as one more.
_SCRIPTS = """
    Common Latin Bopomofo Inherited Greek Coptic Cyrillic Armenian Hebrew Arabic Syriac Thaana Nko Samaritan Mandaic Devanagari
    Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Georgian Hangul Ethiopic
    Cherokee Canadianaboriginal Ogham Runic Tagalog Hanunoo Buhid Tagbanwa Khmer Mongolian Limbu Taile Newtailue Buginese
    Taitham Balinese Sundanese Batak Lepcha Olchiki Braille Glagolitic Tifinagh Han Hiragana Katakana Yi Lisu Vai Bamum
    Sylotinagri Phagspa Saurashtra Kayahli Rejang Javanese Cham Taiviet Meeteimayek Linearb Lycian Carian Olditalic Gothic
    Oldpermic Ugaritic Oldpersian Deseret Shavian Osmanya Osage Elbasan Caucasianalbanian Vithkuqi Lineara Cypriot
    Imperialaramaic Palmyrene Nabataean Hatran Phoenician Lydian Meroitichieroglyphs Meroiticcursive Kharoshthi Oldsoutharabian
    Oldnortharabian Manichaean Avestan Inscriptionalparthian Inscriptionalpahlavi Psalterpahlavi Oldturkic Oldhungarian
    Hanifirohingya Yezidi Oldsogdian Sogdian Olduyghur Chorasmian Elymaic Brahmi Kaithi Sorasompeng Chakma Mahajani Sharada
    Khojki Multani Khudawadi Grantha Newa Tirhuta Siddham Modi Takri Ahom Dogra Warangciti Divesakuru Nandinagari
    Zanabazarsquare Soyombo Paucinhau Bhaiksuki Marchen Masaramgondi Gunjalagondi Makasar Kawi Cuneiform Cyprominoan
    Egyptianhieroglyphs Anatolianhieroglyphs Mro Tangsa Bassavah Pahawhhmong Medefaidrin Miao Tangut Nushu Khitansmallscript
    Duployan Signwriting Nyiakengpuachuehmong Toto Wancho Nagmundari Mendekikakui Adlam
""".split()


@functools.cache
def _of_one_script() -> Any:
    """The pattern of pieces of one script each, or of white space."""
    others = "".join(f"\\p{{Script={name}}}" for name in _SCRIPTS)
    scripts = [rf"(?:(?!\s)\p{{Script={name}}})+" for name in _SCRIPTS]
    return regular.compile("|".join([r"\s+", *scripts, f"[^{others}]+"]))


@operation(keep_whitespace=yes, with_offsets=yes)
def UnicodeScriptTokenizer(data, /, keep_whitespace=False, with_offsets=False):
    """Pieces of one script of Unicode each; white space separates, and is a piece of its own if it is kept."""
    text = one_text(data, "UnicodeScriptTokenizer")
    found = matches(_of_one_script().finditer(text), text)
    return tokens_of(((piece, byte) for piece, byte in found if keep_whitespace or not piece.isspace()), with_offsets)


def split_by(pattern: str, keep: str, text: str) -> Iterator[tuple[str, int]]:
    """The pieces between matches of `pattern`, and those matches that `keep` matches too: (piece, byte where it begins)"""
    last = byte = 0
    for match in regular.finditer(pattern, text):
        if match.start() == match.end():
            continue
        if match.start() > last:
            yield text[last:match.start()], byte
        byte += len(text[last:match.start()].encode())
        if keep and regular.fullmatch(keep, match.group()):
            yield match.group(), byte
        byte, last = byte + len(match.group().encode()), match.end()
    if last < len(text):
        yield text[last:], byte


def regex(value: Any, name: str) -> str:
    """A regular expression, with Unicode's properties and words as ICU has them. raises : ArgumentError, ValueRangeError"""
    kind_of(str)(value, name)
    try:
        regular.compile(value)
    except regular.error as error:
        raise ValueRangeError(f"{name} is no regular expression: {error}") from None
    return value


def worded_regex(value: Any, name: str) -> str:
    """The same; a wrong type is told in other words."""
    return regex(word(value, name), name)


@operation(delim_pattern=worded_regex, keep_delim_pattern=worded_regex, with_offsets=yes)
def RegexTokenizer(data, /, delim_pattern, keep_delim_pattern="", with_offsets=False):
    """The pieces between matches of a pattern. keep_delim_pattern : those matches that this matches are pieces too"""
    return tokens_of(split_by(delim_pattern, keep_delim_pattern, one_text(data, "RegexTokenizer")), with_offsets)


_UNUSED = r"\[CLS\]|\[SEP\]|\[UNK\]|\[PAD\]|\[MASK\]|\[unused\d+\]"


def is_punctuation(char: str) -> bool:
    """Unicode's punctuation, and ASCII's symbols, as BERT counts them."""
    return 33 <= ord(char) <= 47 or 58 <= ord(char) <= 64 or 91 <= ord(char) <= 96 or 123 <= ord(char) <= 126 \
        or unicodedata.category(char)[0] == "P"


def is_cjk(char: str) -> bool:
    """Chinese characters, which are words of their own (Devlin et al. 2019)."""
    return any(low <= ord(char) <= high for low, high in (
        (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF),
        (0x2F800, 0x2FA1F)))


def case_folded(text: str) -> str:
    """Unicode's NFKC case folding, which leaves marks of format out."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(char for char in folded if unicodedata.category(char) != "Cf")


def _prepared(text: str, lower: bool, form: NormalizeForm) -> str:
    """The text that BERT's basic tokenizer cuts: in its form, a blank for each control character and mark of format."""
    if lower:
        text = "".join(c for c in unicodedata.normalize("NFD", case_folded(text)) if unicodedata.category(c) != "Mn")
    elif form != NormalizeForm.NONE:
        text = unicodedata.normalize(cast(Any, form.name), text)
    return "".join(" " if unicodedata.category(char) in ("Cc", "Cf") else char for char in text)


def basic_pieces(text: str, lower: bool, keep: bool, form: NormalizeForm, unused: bool) -> Iterator[tuple[str, int]]:
    """(piece, byte where it begins in the prepared text) as BERT's basic tokenizer cuts it."""
    byte = 0
    for part in re.split(f"({_UNUSED})", text) if unused else [text]:
        if unused and re.fullmatch(_UNUSED, part):
            yield part, byte
            byte += len(part.encode())
            continue
        piece, begin = "", byte
        for char in _prepared(part, lower, form):
            separate = char.isspace() or is_cjk(char) or is_punctuation(char)
            joins = keep and char.isspace() and piece.isspace()
            if piece and (separate or piece.isspace()) and not joins:
                yield piece, begin
                piece = ""
            if not piece:
                begin = byte
            byte += len(char.encode())
            if separate and not char.isspace():
                yield char, begin
            elif not char.isspace() or keep:
                piece += char
        if piece:
            yield piece, begin


BASIC: dict[str, Any]
BASIC = dict(lower_case=yes, keep_whitespace=yes, normalization_form=form, preserve_unused_token=yes,
             with_offsets=yes)


@operation(**BASIC)
def BasicTokenizer(data, /, lower_case=False, keep_whitespace=False, normalization_form=NormalizeForm.NONE,
                   preserve_unused_token=True, with_offsets=False):
    """Words, signs of punctuation and Chinese characters (Devlin et al. 2019, BERT's basic tokenizer).

    lower_case : case folded, accents removed: offsets count in what that leaves
    preserve_unused_token : [CLS], [SEP], [UNK], [PAD], [MASK], [unused1] stay whole
    """
    text = one_text(data, "BasicTokenizer")
    return tokens_of(basic_pieces(text, lower_case, keep_whitespace, normalization_form, preserve_unused_token), with_offsets)


def wordpieces(word: str, start: int, vocab: Vocab, suffix: str, longest: int, unknown: str) -> list[tuple[str, int]]:
    """The longest known pieces of a word from the left; the unknown token if some part is not known (Wu et al. 2016)."""
    if len(word.encode()) <= longest:
        found, position = [], 0
        while position < len(word):
            for end in range(len(word), position, -1):
                piece = (suffix if position else "") + word[position:end]
                if piece in vocab.ids:
                    found.append((piece, start + len(word[:position].encode())))
                    position = end
                    break
            else:
                break
        else:
            return found
    return [(unknown or word, start)]


PIECES: dict[str, Any]
PIECES = dict(vocab=worded("text.Vocab object", Vocab), suffix_indicator=word, max_bytes_per_token=whole(0), unknown_token=word,
              with_offsets=yes)


def _pieces(words: Iterable[tuple[str, int]], vocab: Vocab, suffix: str, longest: int, unknown: str, with_offsets: bool) -> Any:
    spans: list[tuple[str, int, int]] = []
    for word, start in words:
        for piece, begin in wordpieces(word, start, vocab, suffix, longest, unknown):
            whole_word = piece == (unknown or word)
            size = len(word.encode()) if whole_word else len(piece.encode()) - (len(suffix.encode()) if begin > start else 0)
            spans.append((piece, begin, begin + size))
    spans = spans or [("", 0, 0)]
    tokens = np.array([piece for piece, _, _ in spans])
    if not with_offsets:
        return tokens
    return tokens, np.array([b for _, b, _ in spans], np.uint32), np.array([e for _, _, e in spans], np.uint32)


@operation(**PIECES)
def WordpieceTokenizer(data, /, vocab, suffix_indicator="##", max_bytes_per_token=100, unknown_token="[UNK]", with_offsets=False):
    """Tokens as pieces of a vocabulary. unknown_token : "" keeps a token that is not known"""
    words = np.atleast_1d(texts(data, "WordpieceTokenizer")).ravel().tolist()
    return _pieces(((word, 0) for word in words), vocab, suffix_indicator, max_bytes_per_token, unknown_token, with_offsets)


@operation(**{**PIECES, **BASIC})
def BertTokenizer(data, /, vocab, suffix_indicator="##", max_bytes_per_token=100, unknown_token="[UNK]", lower_case=False,
                  keep_whitespace=False, normalization_form=NormalizeForm.NONE, preserve_unused_token=True, with_offsets=False):
    """BasicTokenizer, then WordpieceTokenizer (Devlin et al. 2019)."""
    words = basic_pieces(one_text(data, "BertTokenizer"), lower_case, keep_whitespace, normalization_form, preserve_unused_token)
    return _pieces(words, vocab, suffix_indicator, max_bytes_per_token, unknown_token, with_offsets)


class PythonTokenizer(Operation):
    """A function of a text that gives a list of tokens."""

    def __init__(self, tokenizer: Callable) -> None:
        if not callable(tokenizer):
            raise ArgumentError("Argument tokenizer is not a callable Python function.")
        self.tokenizer = tokenizer

    def __call__(self, data: Any) -> np.ndarray:
        if not isinstance(data, np.ndarray):
            raise ArgumentError(f"input should be a NumPy array. Got {type(data)}.")
        return np.array(self.tokenizer(one_text(data, "PythonTokenizer")))


# ------------------------------------------------------------------- other shapes and other text

@operation(max_seq_len=whole(1))
def Truncate(data, /, max_seq_len):
    """The first `max_seq_len` along the last axis."""
    data = np.asarray(data)
    if data.dtype.kind not in "biufUS":
        raise DataError("Truncate: Truncate: the input tensor should be in type of [bool, int, float, double, string].")
    if data.ndim not in (1, 2):
        raise DataError(f"Truncate: the input tensor should be of dimension 1 or 2, but got {data.ndim}")
    return data[..., :max_seq_len].copy()


@operation(max_length=whole(0))
def TruncateSequencePair(first, second, /, max_length):
    """Two sequences cut to `max_length` together; the longer one loses first."""
    first, second = np.asarray(first), np.asarray(second)
    a, b = len(first), len(second)
    while a + b > max_length:
        if a > b:
            a -= 1
        else:
            b -= 1
    return first[:a].copy(), second[:b].copy()


@operation(token=kind_of(str), begin=flag)
def AddToken(data, /, token, begin=True):
    """A token before or after each sequence."""
    tokens = texts(data, "AddToken")
    if tokens.ndim not in (1, 2):
        raise DataError(f"AddToken: input tensor should be 1D or 2D, but got {tokens.ndim}")
    added = np.full((*tokens.shape[:-1], 1), token)
    return np.concatenate([added, tokens] if begin else [tokens, added], -1)


@operation(width=whole(1), axis=whole())
def SlidingWindow(data, /, width, axis=0):
    """All windows of `width` neighbours along the axis, 0 or -1; of shorter data an empty array."""
    data = np.asarray(data)
    if data.ndim != 1:
        raise DataError(f"SlidingWindow: SlidingWindow supports 1D input only for now, but got {data.ndim}D.")
    if axis not in (0, -1):
        raise DataError(f"SlidingWindow: The parameter axis supports 0 or -1 only for now, but got {axis}.")
    if len(data) < width:
        return data[:0]
    return np.lib.stride_tricks.sliding_window_view(data, width).copy()


def _sizes(value: Any, name: str) -> tuple[int, ...]:
    found = value if isinstance(value, (list, tuple)) else [value]
    if not found or not all(isinstance(n, int) for n in found):
        raise ValueRangeError(f"{name} needs to be a non-empty list of positive integers.", note=f"it is {value!r}")
    return items(whole(1))(found, name)


def _pad(value: Any, name: str) -> tuple[str, int]:
    if not isinstance(value, tuple) or len(value) != 2 or not isinstance(value[0], str):
        raise ValueRangeError(f"{name} needs to be a tuple of (str, int) str is pad token and int is pad_width.")
    return value[0], whole(0)(value[1], name)


@operation(n=_sizes, left_pad=_pad, right_pad=_pad, separator=kind_of(str))
def Ngram(data, /, n, left_pad=("", 0), right_pad=("", 0), separator=" "):
    """All n-grams of tokens, for one n or several. left_pad, right_pad : (token, how many at most, less than n)"""
    tokens = texts(data, "Ngram")
    if tokens.ndim != 1:
        raise DataError(f"Ngram: input is not a 1D data, but got {tokens.ndim}D")
    found = []
    for size in n:
        padded = [left_pad[0]] * min(left_pad[1], size - 1) + tokens.tolist() + [right_pad[0]] * min(right_pad[1], size - 1)
        grams = [separator.join(padded[k:k + size]) for k in range(len(padded) - size + 1)]
        found += grams or [""]
    return np.array(found)


@operation()
def CaseFold(data, /):
    """Text without case and width: Unicode's NFKC case folding."""
    return _each(data, case_folded, "CaseFold")


def _each(data: Any, function: Callable[[str], str], name: str) -> np.ndarray:
    tokens = texts(data, name)
    made = [function(token) for token in tokens.ravel().tolist()]
    return np.array(made, None if made else tokens.dtype).reshape(tokens.shape)


@operation(normalize_form=lambda value, name: form(value, "normalization_form"))
def NormalizeUTF8(data, /, normalize_form=NormalizeForm.NFKC):
    """Text in one of Unicode's normal forms."""
    if normalize_form == NormalizeForm.NONE:
        return texts(data, "NormalizeUTF8")
    return _each(data, lambda token: unicodedata.normalize(normalize_form.name, token), "NormalizeUTF8")


@functools.cache
def replacement(pattern: str, value: str) -> tuple[str | int, ...]:
    """The parts of a replacement in ICU's words: text, and the numbers of groups (`$1`, as many digits as there are groups for;
    `${name}` is a group by its name).

    raises : ValueRangeError for a group that the pattern does not have
    """
    parts: list[str | int] = []
    compiled = regular.compile(pattern)
    groups, named = compiled.groups, compiled.groupindex
    for escaped, sign, name, digits, text in re.findall(r"(?s)\\(.)|(\$)(?:\{(\w*)\}|(\d*))|([^$\\]+|\\$)", value):
        if not sign:
            parts.append(escaped or text)
            continue
        if name:
            if name not in named:
                raise ValueRangeError(f"replace: ${{{name}}} is no group of the pattern, whose groups have the names "
                                      f"{', '.join(named) or '(none)'}; \\$ is the sign itself.")
            parts.append(named[name])
            continue
        fits = [n for n in range(1, len(digits) + 1) if int(digits[:n]) <= groups]
        if not fits:
            raise ValueRangeError(f"replace: ${digits} is no group of the pattern, which has {groups}; \\$ is the sign itself.")
        parts += [int(digits[:fits[-1]]), digits[fits[-1]:]]
    return tuple(parts)


@operation(pattern=regex, replace=kind_of(str), replace_all=flag,
           together=lambda given: replacement(given["pattern"], given["replace"]))
def RegexReplace(data, /, pattern, replace, replace_all=True):
    """Matches of a pattern replaced: all, or the first. replace : text; `$1` is what the first group matched, `${name}` a group
    by its name, `\\$` the sign itself

    Patterns and replacements are ICU's, as in MindSpore. raises : ArgumentError, ValueRangeError
    """
    parts = replacement(pattern, replace)

    def replaced(match: Any) -> str:
        return "".join([part if isinstance(part, str) else match.group(part) or "" for part in parts])
    return _each(data, lambda token: regular.sub(pattern, replaced, token, count=0 if replace_all else 1), "RegexReplace")


_DIGITS = "zero one two three four five six seven eight nine".split()


@operation()
def FilterWikipediaXML(data, /):
    """Small Latin letters and single spaces: without entities and XML tags, digits spelt out (Mahoney 2006)."""
    def plain(text: str) -> str:
        text = re.sub("<.*>", "", re.sub("&[^;]*;", " ", text)).translate(_SMALL)
        text = re.sub("[0-9]", lambda digit: f" {_DIGITS[int(digit.group())]} ", text)
        text = re.sub(r"[^a-z\n]+", " ", text)
        return " ".join(text.replace("\n ", "").split())      # as there: a line that ends before other signs joins its neighbour
    return _each(data, plain, "FilterWikipediaXML")


__all__ = ["AddToken", "BasicTokenizer", "BertTokenizer", "CaseFold", "CharNGram", "FastText", "FilterWikipediaXML", "GloVe",
           "JiebaMode", "JiebaTokenizer", "Lookup", "Ngram", "NormalizeForm", "NormalizeUTF8", "PythonTokenizer", "RegexReplace",
           "RegexTokenizer", "SPieceTokenizerLoadType", "SPieceTokenizerOutType", "SentencePieceModel", "SentencePieceTokenizer",
           "SentencePieceVocab", "SlidingWindow", "ToNumber", "ToVectors", "Truncate", "TruncateSequencePair",
           "UnicodeCharTokenizer", "UnicodeScriptTokenizer", "Vectors", "Vocab", "WhitespaceTokenizer", "WordpieceTokenizer",
           "to_bytes", "to_str"]
