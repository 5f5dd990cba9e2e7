"""Numbers of tokens: Vocab, and the operation Lookup."""
from __future__ import annotations

import collections
import itertools
from pathlib import Path
from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.errors import ArgumentError, ValueRangeError
from .columns import check_names, names_list
from .operation import INT_MAX, DataError, Operation, dtype_of, flag, kind_of, optional, whole, within
from .pieces import lines_of, texts


class VocabError(ValueRangeError, RuntimeError):
    """A vocabulary without tokens, or words of a file or dataset that are no vocabulary."""


class Vocab:
    """Numbers of tokens. Made by from_list, from_dict, from_file, from_dataset."""

    def __init__(self) -> None:
        self._ids: dict[str, int] | None = None
        self._tokens: dict[int, str] = {}

    @classmethod
    def _of(cls, ids: dict[str, int]) -> Vocab:
        found = cls()
        found._ids, found._tokens = ids, {number: token for token, number in reversed(ids.items())}
        return found

    @classmethod
    def _numbered(cls, words: list[str], special: list[str] | None, special_first: bool, error: type) -> Vocab:
        """Tokens numbered in their order. raises : ArgumentError; `error` for duplicates"""
        special = special or []
        flag(special_first, "special_first")
        for name, given in {"word_list": words, "special_tokens": special}.items():
            kind_of(list)(given, name)
            seen: set[str] = set()
            for k, word in enumerate(given):
                kind_of(str)(word, name)
                if word in seen:
                    raise error(f"{name} contains duplicate word: {word}.", note=f"{name}[{k}]")
                seen.add(word)
        both = set(words) & set(special)
        if both:
            raise error(f"special_tokens and word_list contain duplicate word :{both}.")
        return cls._of({word: number for number, word in enumerate(special + words if special_first else words + special)})

    @classmethod
    def from_list(cls, word_list: list[str], special_tokens: list[str] | None = None, special_first: bool = True) -> Vocab:
        """Tokens numbered in their order, special ones first or last. raises : ArgumentError, ValueRangeError for duplicates"""
        return cls._numbered(word_list, special_tokens, special_first, ValueRangeError)

    @classmethod
    def from_dict(cls, word_dict: dict[str, int]) -> Vocab:
        """The numbers of a dict; of tokens with one number the first stands for it. raises : ArgumentError, ValueRangeError"""
        kind_of(dict)(word_dict, "word_dict")
        for word, number_ in word_dict.items():
            kind_of(str)(word, "word")
            whole(0)(number_, "word_id")
        return cls._of(dict(word_dict))

    @classmethod
    def from_file(cls, file_path: str, delimiter: str = "", vocab_size: int | None = None,
                  special_tokens: list[str] | None = None, special_first: bool = True) -> Vocab:
        """One token a line; an empty line is the token "".

        delimiter  : what ends the token in its line
        vocab_size : how many lines at most
        raises     : ArgumentError, ValueRangeError; VocabError for duplicates and a file that is not there
        """
        kind_of(str)(file_path, "file_path"), kind_of(str)(delimiter, "delimiter")
        if optional(kind_of(int))(vocab_size, "vocab_size") is not None and vocab_size <= 0:    # type: ignore[operator]
            raise ValueRangeError("Input vocab_size must be greater than 0.", note=f"it is {vocab_size}")
        if not Path(file_path).is_file():
            raise VocabError(f"The file {file_path} does not exist or permission denied!")
        cls._numbered([], special_tokens, special_first, ValueRangeError)
        words = [line.split(delimiter)[0] if delimiter else line for line in lines_of(file_path)]
        return cls._numbered(words[:vocab_size], special_tokens, special_first, VocabError)

    @classmethod
    def from_dataset(cls, dataset: Any, columns: Any = None, freq_range: tuple | None = None, top_k: int | None = None,
                     special_tokens: list[str] | None = None, special_first: bool = True) -> Vocab:
        """The tokens of columns of a dataset, the frequent ones first, equal ones by alphabet.

        freq_range : (least, most), None for no bound;  top_k : how many at most
        raises     : ArgumentError, ValueRangeError before anything is read; VocabError for special tokens among the others
        """
        if columns is not None and not isinstance(columns, list):
            kind_of(str)(columns, "col[0]")
        low, high = (None, None) if freq_range is None else _bounds(freq_range)
        if kind_of(int, type(None))(top_k, "top_k") is not None and top_k <= 0:         # type: ignore[operator]
            raise ValueRangeError("Input top_k must be greater than 0.", note=f"it is {top_k}")
        cls._numbered([], special_tokens, special_first, ValueRangeError)
        names = names_list(columns, "columns") or dataset.get_col_names()
        check_names(names, dataset.get_col_names(), None)
        counts: collections.Counter = collections.Counter()
        for row in dataset.create_dict_iterator(num_epochs=1, output_numpy=True):
            for name in names:
                counts.update(texts(row[name], "Vocab.from_dataset").ravel().tolist())
        words = [word for word, n in counts.items() if (low is None or n >= low) and (high is None or n <= high)]
        words.sort(key=lambda word: (-counts[word], word))
        return cls._numbered(words[:top_k], special_tokens, special_first, VocabError)

    @property
    def ids(self) -> dict[str, int]:
        """{token: number}, not to be changed. raises : VocabError before it is built"""
        if self._ids is None:
            raise VocabError("The Vocab has not built yet. Use Vocab.from_dataset(), Vocab.from_list(), Vocab.from_file() or "
                             "Vocab.from_dict() to build a Vocab.")
        return self._ids

    def vocab(self) -> dict[str, int]:
        """{token: number}. raises : VocabError"""
        return dict(self.ids)

    def tokens_to_ids(self, tokens: Any) -> Any:
        """The number of a token, or a list of those of several; -1 for one that is not there.

        As in MindSpore a list or array of one token gives the number itself.
        raises : ArgumentError, VocabError
        """
        several = _several(kind_of(str, list, np.ndarray)(tokens, "tokens"), (str, np.str_), "tokens")
        found = [self.ids.get(token, -1) for token in several]
        return found[0] if len(found) == 1 else found

    def ids_to_tokens(self, ids: Any) -> Any:
        """The token of a number, or a list of those of several; "" for one that is not there.

        As in MindSpore a list or array of one number gives the token itself.
        raises : ArgumentError, ValueRangeError for a negative number, VocabError
        """
        several = _several(kind_of(int, list, np.ndarray)(ids, "ids"), (int, np.int64), "ids")
        for k, number_ in enumerate(several):
            within(number_, 0, INT_MAX, f"ids[{k}]" if isinstance(ids, list) else "ids")
        found = [self._tokens.get(int(number_), "") for number_ in several if self.ids is not None]
        return found[0] if len(found) == 1 else found


def _several(given: Any, kinds: tuple[type, ...], name: str) -> list:
    """The elements of a list, an array of at most one axis, or one element. raises : ArgumentError for others than `kinds`"""
    if isinstance(given, np.ndarray):
        given = texts(given, name).tolist() if given.dtype.kind == "S" else given.tolist()
    elif not isinstance(given, list):
        return [given]
    several = given if isinstance(given, list) else [given]
    return [kind_of(*kinds)(element, f"{name}[{k}]") for k, element in enumerate(several)]


def _bounds(freq_range: Any) -> tuple:
    """(least, most) or None for either. raises : ArgumentError, ValueRangeError"""
    if len(kind_of(tuple)(freq_range, "freq_range")) != 2:
        raise ValueRangeError("freq_range needs to be a tuple of 2 element.")
    if not all(isinstance(n, (int, type(None))) for n in freq_range):
        raise ValueRangeError("freq_range needs to be either None or a tuple of 2 integers or an int and a None.")
    if None not in freq_range and not 0 <= freq_range[0] <= freq_range[1]:
        raise ValueRangeError("frequency range [a,b] should be 0 <= a <= b (a,b are inclusive).", note=str(freq_range))
    return freq_range


class Lookup(Operation):
    """Tokens as numbers. unknown_token : stands for tokens that the vocabulary has not;  data_type : of the numbers

    raises : ArgumentError, ValueRangeError; DataError for a token that is not there, without an unknown_token
    """

    def __init__(self, vocab: Vocab, unknown_token: str | None = None, data_type: Any = dt.int32) -> None:
        if not isinstance(vocab, Vocab):
            raise ArgumentError(f"Argument vocab is not an instance of text.Vocab. with value {vocab} is not of type [{Vocab}], "
                                f"but got {type(vocab)}.")
        optional(kind_of(str))(unknown_token, "unknown_token")
        self.vocab, self.unknown_token, self.data_type = vocab, unknown_token, dtype_of(data_type, "data_type")
        ids = vocab.ids
        self.unknown = None if unknown_token is None else ids.get(unknown_token)
        if unknown_token is not None and self.unknown is None:
            raise VocabError(f"Lookup: unknown_token: [{unknown_token}], doesn't exist in vocab.")

    def __call__(self, data: Any) -> np.ndarray:
        tokens = texts(data, "Lookup")
        return self.of_words(tokens.ravel().tolist()).reshape(tokens.shape)

    def of_words(self, words: list[str]) -> np.ndarray:
        """The numbers of the words of a list."""
        found = list(map(self.vocab.ids.get, words, itertools.repeat(self.unknown)))
        if self.unknown is None and None in found:
            raise DataError(f"Lookup: invalid data, token: \"{words[found.index(None)]}\" doesn't exist in vocab and no unknown "
                            f"token is specified.")
        return np.array(found, self.data_type)
