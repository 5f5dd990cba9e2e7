"""Tokenizers by libraries: SentencePiece and Jieba (extra `data`), and what all tokenizers share."""
from __future__ import annotations

import enum
import io
import tempfile
from pathlib import Path
from typing import Any, Iterable, Iterator

import numpy as np

from ..common.errors import FileFormatError, ValueRangeError
from .operation import DataError, Operation, as_array, flag, kind_of, number, optional, whole


class SentencePieceModel(enum.IntEnum):
    """Kinds of SentencePiece models."""
    UNIGRAM = 0
    BPE = 1
    CHAR = 2
    WORD = 3


class SPieceTokenizerOutType(enum.IntEnum):
    """What SentencePieceTokenizer gives."""
    STRING = 0
    INT = 1


class SPieceTokenizerLoadType(enum.IntEnum):
    """Where SentencePieceTokenizer's model comes from."""
    FILE = 0
    MODEL = 1


class JiebaMode(enum.IntEnum):
    """How Jieba cuts."""
    MIX = 0
    MP = 1
    HMM = 2


def one_text(data: Any, name: str) -> str:
    """The text of a scalar. raises : DataError"""
    array = as_array(data)
    if array.ndim or array.dtype.kind not in "US":
        raise DataError(f"{name}: the input shape should be scalar and the input datatype should be string.",
                        note=f"{array.dtype} of shape {array.shape}")
    value = array.item()
    return value.decode() if isinstance(value, bytes) else value


def texts(data: Any, name: str) -> np.ndarray:
    """An array of text. raises : DataError"""
    array = as_array(data)
    if array.dtype.kind not in "US":
        raise DataError(f"{name}: the input datatype should be string.", note=str(array.dtype))
    return array if array.dtype.kind == "U" else np.char.decode(array, "utf-8")


def lines_of(path: str) -> Iterator[str]:
    """The lines of a file of UTF-8, without their ends.

    Only "\\n" and "\\r\\n" end a line: other characters that Unicode takes for ends of lines may be tokens.
    """
    with open(path, encoding="utf-8", newline="\n") as stream:
        for line in stream:
            yield line.removesuffix("\n").removesuffix("\r")


def tokens_of(spans: Iterable[tuple[str, int]], with_offsets: bool, starts: str | None = None) -> Any:
    """An array of tokens, with offsets (tokens, starts, ends). spans : (token, byte where it begins)"""
    found = list(spans)
    if not found:
        found = [("", 0)]
    words = np.array([word for word, _ in found])
    if not with_offsets:
        return words
    begin = np.array([position for _, position in found], np.uint32)
    return words, begin, begin + np.array([len(word.encode()) for word, _ in found], np.uint32)


class SentencePieceVocab:
    """A SentencePiece model (Kudo and Richardson 2018), trained on files or a dataset. Needs `sentencepiece`."""

    def __init__(self) -> None:
        self.model = b""

    @classmethod
    def _trained(cls, lines: Iterable[str], vocab_size: int, character_coverage: float, model_type: SentencePieceModel,
                 params: dict) -> SentencePieceVocab:
        import sentencepiece
        whole(0)(vocab_size, "vocab_size"), number(0.98, 1.0)(character_coverage, "character_coverage")
        kind_of(SentencePieceModel)(model_type, "model_type"), kind_of(dict)(params, "params")
        out, found = io.BytesIO(), cls()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines), model_writer=out, vocab_size=vocab_size, character_coverage=character_coverage,
                model_type=model_type.name.lower(), minloglevel=2, **params)
        except (RuntimeError, OSError) as error:
            raise DataError(f"SentencePieceVocab: {error}") from None
        found.model = out.getvalue()
        return found

    @classmethod
    def from_file(cls, file_path: list[str], vocab_size: int, character_coverage: float, model_type: SentencePieceModel,
                  params: dict) -> SentencePieceVocab:
        """Train on the lines of files. params : more of the trainer's options. raises : ArgumentError, ValueRangeError"""
        kind_of(list)(file_path, "file_path")
        for path in file_path:
            if not Path(path).is_file():
                raise ValueRangeError(f"The file {path} does not exist or permission denied!")
        lines = (line for path in file_path for line in lines_of(path))
        return cls._trained(lines, vocab_size, character_coverage, model_type, params)

    @classmethod
    def from_dataset(cls, dataset: Any, col_names: list[str], vocab_size: int, character_coverage: float,
                     model_type: SentencePieceModel, params: dict) -> SentencePieceVocab:
        """Train on columns of a dataset."""
        rows = dataset.create_dict_iterator(num_epochs=1, output_numpy=True)
        lines = (token for row in rows for name in col_names for token in texts(row[name], "SentencePieceVocab").ravel().tolist())
        return cls._trained(lines, vocab_size, character_coverage, model_type, params)

    @classmethod
    def save_model(cls, vocab: SentencePieceVocab, path: str, filename: str) -> None:
        """Write the model to path/filename."""
        if not Path(path).is_dir():
            raise ValueRangeError(f"The folder {path} does not exist or is not a directory or permission denied!")
        (Path(path) / filename).write_bytes(vocab.model)


class SentencePieceTokenizer(Operation):
    """Pieces of a SentencePiece model, as text or ids. mode : a SentencePieceVocab or a model's file. Needs sentencepiece"""

    def __init__(self, mode: Any, out_type: SPieceTokenizerOutType) -> None:
        import sentencepiece
        kind_of(str, SentencePieceVocab)(mode, "mode"), kind_of(SPieceTokenizerOutType)(out_type, "out_type")
        if isinstance(mode, str) and not Path(mode).is_file():
            raise ValueRangeError(f"The file {mode} does not exist or permission denied!")
        self.out_type = out_type
        try:
            self.model = sentencepiece.SentencePieceProcessor(
                model_proto=mode.model if isinstance(mode, SentencePieceVocab) else Path(mode).read_bytes())
        except RuntimeError as error:
            raise FileFormatError(f"SentencePieceTokenizer: no model: {error}") from None

    def __call__(self, data: Any) -> np.ndarray:
        text = one_text(data, "SentencePieceTokenizer")
        if self.out_type == SPieceTokenizerOutType.INT:
            return np.array(self.model.encode(text, out_type=int), np.int32)
        return np.array(self.model.encode(text, out_type=str) or [""])


class JiebaTokenizer(Operation):
    """Chinese words. Needs `jieba`.

    hmm_path, mp_path : mp_path is a dictionary in Jieba's format; the hidden Markov model is the library's
    mode : MIX, MP (only the dictionary) or HMM
    """

    def __init__(self, hmm_path: str, mp_path: str, mode: JiebaMode = JiebaMode.MIX, with_offsets: bool = False) -> None:
        import jieba
        kind_of(JiebaMode)(mode, "mode")
        for path in (hmm_path, mp_path):
            if not Path(kind_of(str)(path, "path")).is_file():
                raise ValueRangeError(f"The file {path} does not exist or permission denied!")
        self.mode, self.with_offsets = mode, flag(with_offsets, "with_offsets")
        self.cutter = jieba.Tokenizer(mp_path)
        self.cutter.tmp_dir = tempfile.gettempdir()
        self.finals = jieba.finalseg

    def add_word(self, word: str, freq: int | None = None) -> None:
        """Add a word to the dictionary."""
        self.cutter.add_word(kind_of(str)(word, "word"), optional(whole(0))(freq, "freq"))

    def add_dict(self, user_dict: Any) -> None:
        """Add the words of a dict {word: frequency} or of a file with a word and its frequency a line."""
        if isinstance(user_dict, str):
            pairs = [line.split() for line in lines_of(user_dict) if line.strip()]
            user_dict = {pair[0]: int(pair[1]) if len(pair) > 1 else None for pair in pairs}
        for word, freq in kind_of(dict)(user_dict, "user_dict").items():
            self.add_word(word, freq)

    def __call__(self, data: Any) -> Any:
        text = one_text(data, "JiebaTokenizer")
        words = self.finals.cut(text) if self.mode == JiebaMode.HMM else self.cutter.cut(text, HMM=self.mode == JiebaMode.MIX)
        spans, byte = [], 0
        for word in words:
            spans.append((word, byte))
            byte += len(word.encode())
        return tokens_of(spans, self.with_offsets)
