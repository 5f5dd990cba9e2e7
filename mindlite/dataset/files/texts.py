"""Datasets of text: lines, CSV, TSV, JSON lines, and the published collections in these formats.

Rows are text as NumPy str. A shard is a block of rows; by default rows are shuffled.
"""
from __future__ import annotations

import csv
import json
import os
import re
import xml.etree.ElementTree as ElementTree
from typing import Any, Iterator, Sequence

import numpy as np

from ...common.errors import ArgumentError, ValueRangeError
from ..columns import names_list
from .table import (WORKERS_LAST, BadFileError, Samples, file, files_below, folder, int32, lines, matching, present, rows_of,
                    source)

USAGE = ("train", "test", "all")
PARTS = ("train", "test", "valid", "all")


def grouped(paths: Sequence[str], rows_in: Any, columns: Sequence[str] | None = None, by_name: bool = True) -> Samples:
    """The rows of several files one after the other. by_name : the files in the order of their names"""
    rows, groups, paths = [], [], sorted(paths) if by_name else paths
    for number, path in enumerate(paths):
        found = rows_in(path)
        rows += found
        groups += [number] * len(found)
    return rows_of(rows, columns, groups, [paths[number] for number in groups])


def text_lines(path: str) -> list[tuple]:
    """The lines that are not empty, one column."""
    return [(np.array(line),) for line in lines(path) if line]


@source("text", text=True)
def TextFileDataset(dataset_files):
    """The lines of text files that are not empty. dataset_files : a path, a pattern, or a list of them"""
    return grouped(matching(dataset_files), text_lines)


def csv_fields(path: str, delimiter: str = ",") -> Iterator[list[str]]:
    """The fields of each line (RFC 4180). raises : BadFileError"""
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            yield from (row for row in csv.reader(stream, delimiter=delimiter, strict=True) if row)
    except (csv.Error, UnicodeDecodeError) as error:
        raise BadFileError(f"Invalid file, failed to parse csv file: {path}. Error message: {error}") from None


def csv_rows(path: str, delimiter: str = ",") -> list[list[str]]:
    """The fields of all lines. raises : BadFileError"""
    return list(csv_fields(path, delimiter))


@source("x", text=True)
def CSVDataset(dataset_files, field_delim=",", column_defaults=None, column_names=None):
    """The lines of CSV files.

    column_names    : without them the first line of each file names the columns
    column_defaults : a value for each column: its type is the column's (int32, float32, str), itself stands for empty fields
    raises          : ArgumentError, ValueRangeError; BadFileError for a line of other length or with another type
    """
    field_delim = "," if field_delim is None else field_delim
    if not isinstance(field_delim, str):
        raise ArgumentError(f"Argument field_delim with value {field_delim} is not of type [<class 'str'>].")
    if len(field_delim) != 1 or field_delim in '"\r\n':
        raise ValueRangeError("field_delim is invalid.")
    paths = sorted(matching(dataset_files))
    if column_defaults is not None:
        if not isinstance(column_defaults, list):
            raise ArgumentError(f"Argument column_defaults with value {column_defaults} is not of type [<class 'list'>].")
        for value in column_defaults:
            if not isinstance(value, (str, int, float)):
                raise ArgumentError("column type in column_defaults is invalid.")
    names = names_list(column_names, "column_names")
    columns = names or next(csv_fields(paths[0], field_delim), [])
    if column_defaults is not None and len(column_defaults) < len(columns):
        raise BadFileError(f"Invalid columns, the size of column_names should be less than the size of 'column_defaults', but "
                           f"got the size of column_names: {len(columns)}, the size of column_defaults: {len(column_defaults)}")
    defaults = column_defaults or [""] * len(columns)
    kinds = [{int: np.int32, float: np.float32}.get(type(value), np.str_) for value in defaults]

    def rows_in(path: str) -> list:
        found: list = []
        try:
            found += ((path, number, row) for number, row in enumerate(csv_fields(path, field_delim), 1))
        except BadFileError as error:                        # what cannot be parsed is one bad sample
            found.append((path, len(found) + 1, error))
        return found if names else found[1:]

    def values(path: str, number: int, row: Any) -> tuple:
        if isinstance(row, BadFileError):
            raise row
        if len(row) != len(columns):
            raise BadFileError(f"Invalid file, failed to parse csv file: {path} at line {number}. Error message: Invalid "
                               f"columns, {len(row)} fields for {len(columns)} columns")
        try:
            return tuple(np.array(value or default, kind) if kind is np.str_ else np.array(kind(value or default))
                         for value, default, kind in zip(row, defaults, kinds))
        except (ValueError, OverflowError):
            raise BadFileError(f"Invalid csv, csv file: {path} parse failed at line {number}, type does not match.") from None
    found = grouped(paths, rows_in, columns)
    read = found.sample
    found.sample = lambda k: values(*read(k))                # type: ignore[method-assign]
    return found


def parts(directory: Any, names: dict[str, str], usage: str | None) -> list[str]:
    """The files of a folder for a usage; None and "all": every one."""
    chosen = [names[usage]] if usage in names else list(names.values())
    return [file(os.path.join(folder(directory), name)) for name in chosen]


def _csv_collection(directory: Any, usage: str | None, width: int, by_name: bool = True) -> Samples:
    def rows_in(path: str) -> list:
        rows = csv_rows(path)
        for number, row in enumerate(rows):
            if len(row) != width:
                raise BadFileError(f"{path}: line {number + 1} has {len(row)} fields, not {width}")
        return [tuple(np.array(value) for value in row) for row in rows]
    return grouped(parts(directory, {"train": "train.csv", "test": "test.csv"}, usage), rows_in, by_name=by_name)


@source("index", "title", "description", usage=USAGE, text=True)
def AGNewsDataset(dataset_dir, usage=None):
    """AG's news (Zhang, Zhao, LeCun 2015): index, title, description."""
    return _csv_collection(dataset_dir, usage, 3)


@source("label", "title", "content", usage=USAGE, text=True)
def AmazonReviewDataset(dataset_dir, usage=None):
    """Amazon reviews (Zhang, Zhao, LeCun 2015): label, title, content."""
    return _csv_collection(dataset_dir, usage, 3)


@source("class", "title", "content", usage=USAGE, text=True)
def DBpediaDataset(dataset_dir, usage=None):
    """DBpedia ontology (Zhang, Zhao, LeCun 2015): class, title, content."""
    return _csv_collection(dataset_dir, usage, 3)


@source("index", "title", "content", usage=USAGE, text=True, order=WORKERS_LAST)
def SogouNewsDataset(dataset_dir, usage=None):
    """Sogou news (Zhang, Zhao, LeCun 2015): index, title, content."""
    return _csv_collection(dataset_dir, usage, 3, by_name=False)


@source("class", "title", "content", "answer", usage=USAGE, text=True)
def YahooAnswersDataset(dataset_dir, usage=None):
    """Yahoo answers (Zhang, Zhao, LeCun 2015): class, title, content, answer."""
    return _csv_collection(dataset_dir, usage, 4)


@source("label", "text", usage=USAGE, text=True, order=WORKERS_LAST)
def YelpReviewDataset(dataset_dir, usage=None):
    """Yelp reviews (Zhang, Zhao, LeCun 2015): label, text."""
    return _csv_collection(dataset_dir, usage, 2, by_name=False)


@source("text", usage=PARTS, text=True)
def WikiTextDataset(dataset_dir, usage=None):
    """WikiText (Merity et al. 2016): text, a line that is not empty."""
    names = {word: f"wiki.{word}.tokens" for word in PARTS[:3]}
    return grouped(parts(dataset_dir, names, usage), text_lines)


@source("text", usage=PARTS, text=True)
def PennTreebankDataset(dataset_dir, usage=None):
    """Penn Treebank (Marcus et al. 1993), Mikolov's files: text, a line."""
    return grouped(parts(dataset_dir, {word: f"ptb.{word}.txt" for word in PARTS[:3]}, usage), text_lines)


@source("text", text=True, defaults={"shuffle": True})
def EnWik9Dataset(dataset_dir):
    """EnWik9 (Mahoney 2006): text, a line that is not empty."""
    return grouped(present(folder(dataset_dir), ["enwik9"]), text_lines)


@source("text", "label", usage=USAGE)
def IMDBDataset(dataset_dir, usage=None):
    """IMDB reviews (Maas et al. 2011): text, label int32: 1 for positive."""
    found = []
    for word in {"train": ["train"], "test": ["test"]}.get(usage or "all", ["train", "test"]):
        for name, label in (("pos", 1), ("neg", 0)):
            found += [(path, label) for path in files_below(folder(os.path.join(folder(dataset_dir), word, name)), (".txt",))]
    return Samples(len(found), lambda k: (np.array("\n".join(lines(found[k][0]))), int32(found[k][1])),
                   labels=[label for _, label in found], files=[path for path, _ in found])


@source("sentence", "label", usage=("train", "test", "dev"), text=True)
def SST2Dataset(dataset_dir, usage=None):
    """SST-2 of GLUE (Socher et al. 2013, Wang et al. 2018): sentence, label; for test only the sentence."""
    path = file(os.path.join(folder(dataset_dir), f"{usage or 'train'}.tsv"))
    rows = [line.split("\t") for line in lines(path)[1:] if line]
    if any(len(row) != 2 for row in rows):
        raise BadFileError(f"{path}: a line has not two fields")
    if usage == "test":
        return rows_of([(np.array(text),) for _, text in rows], ["sentence"], files=[path] * len(rows))
    return rows_of([(np.array(text), np.array(label)) for text, label in rows], files=[path] * len(rows))


def _sentences(path: str, separator: str | None) -> list[tuple]:
    """Tables of words: an empty line ends a sentence; one array for each of three columns."""
    found, words = [], []                                    # type: ignore[var-annotated]
    for line in [*lines(path), ""]:
        if line.strip():
            fields = line.split(separator)
            if len(fields) != 3:
                raise BadFileError(f"{path}: the line {line!r} has {len(fields)} fields, not 3")
            words.append(fields)
        elif words:
            found.append(tuple(np.array(column) for column in zip(*words)))
            words = []
    return found


@source("word", "pos_tag", "chunk_tag", usage=USAGE, text=True, order=WORKERS_LAST)
def CoNLL2000Dataset(dataset_dir, usage=None):
    """CoNLL-2000 chunking (Tjong Kim Sang, Buchholz 2000): word, pos_tag, chunk_tag of a sentence."""
    return grouped(parts(dataset_dir, {"train": "train.txt", "test": "test.txt"}, usage), lambda path: _sentences(path, None))


@source("word", "universal", "stanford", usage=PARTS, text=True, order=WORKERS_LAST)
def UDPOSDataset(dataset_dir, usage=None):
    """Universal dependencies, English (Silveira et al. 2014): word, universal, stanford of a sentence."""
    names = {"train": "en-ud-tag.v2.train.txt", "test": "en-ud-tag.v2.test.txt", "valid": "en-ud-tag.v2.dev.txt"}
    return grouped(parts(dataset_dir, names, usage), lambda path: _sentences(path, "\t"))


@source("context", "question", "text", "answer_start", usage=("train", "dev", "all"), text=True)
def SQuADDataset(dataset_dir, usage=None):
    """SQuAD 1.1 and 2.0 (Rajpurkar et al. 2016, 2018): context, question, text [answers], answer_start uint32 [answers].

    A question without an answer has one empty answer that starts at 2^32 - 1.
    """
    directory, found = folder(dataset_dir), []
    for word in {"train": ["train"], "dev": ["dev"]}.get(usage or "all", ["train", "dev"]):
        paths = [name for name in sorted(os.listdir(directory)) if re.fullmatch(rf"{word}-v\d.*\.json", name)]
        if not paths:
            raise BadFileError(f"Invalid data, SQuADDataset API can't read the data file (interface mismatch or no data found). "
                               f"Check file path: {directory}")
        found += [os.path.join(directory, name) for name in paths]
    return grouped(found, _squad_rows, by_name=False)


def _squad_rows(path: str) -> list[tuple]:
    rows = []
    try:
        with open(path, encoding="utf-8") as stream:
            articles = json.load(stream)["data"]
        for article in articles:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    answers = question["answers"] or [{"text": "", "answer_start": 2 ** 32 - 1}]
                    rows.append((np.array(paragraph["context"]), np.array(question["question"]),
                                 np.array([answer["text"] for answer in answers]),
                                 np.array([answer["answer_start"] for answer in answers], np.uint32)))
    except (ValueError, KeyError, TypeError) as error:
        raise BadFileError(f"{path} is no file of SQuAD: {error!r}") from None
    return rows


_CLUE = {                                # task: usage: {column: path in the JSON object}
    "AFQMC": {"train": "sentence1 sentence2 label", "test": "id sentence1 sentence2"},
    "CMNLI": {"train": "sentence1 sentence2 label", "test": "id sentence1 sentence2"},
    "CSL": {"train": "id abst keyword label", "test": "id abst keyword"},
    "IFLYTEK": {"train": "label label_des sentence", "test": "id sentence"},
    "TNEWS": {"train": "label label_desc sentence keywords", "test": "id sentence keywords"},
    "WSC": {"train": "target/span1_index target/span2_index target/span1_text target/span2_text idx text label",
            "test": "target/span1_index target/span2_index target/span1_text target/span2_text idx text"},
}


@source("label", usage=("train", "test", "eval"), text=True, task=tuple(_CLUE))
def CLUEDataset(dataset_files, task="AFQMC", usage="train"):
    """CLUE (Xu et al. 2020), JSON lines.

    task : AFQMC, TNEWS, IFLYTEK, CMNLI, WSC or CSL, whose fields are the columns; whole numbers are uint32
    """
    fields = _CLUE[task]["test" if usage == "test" else "train"].split()
    columns = sorted({(f.rpartition("/")[2]): f for f in fields}.items())

    def rows_in(path: str) -> list:
        rows = []
        for number, line in enumerate(lines(path)):
            if not line.strip():
                continue
            try:
                entry, row = json.loads(line), []
                for _, part in columns:
                    value = entry
                    for key in part.split("/"):
                        value = value[key]
                    row.append(np.array(value, np.uint32 if type(value) is int else None))
                rows.append(tuple(row))
            except (ValueError, KeyError, TypeError, OverflowError) as error:
                raise BadFileError(f"{path}: line {number + 1} is no entry of {task}: {error!r}") from None
        return rows
    return grouped(matching(dataset_files), rows_in, [name for name, _ in columns])


def _pairs(one: str, other: str) -> list[tuple]:
    first, second = lines(one), lines(other)
    if len(first) != len(second):
        raise BadFileError(f"{one} and {other} have {len(first)} and {len(second)} lines")
    return [(np.array(a), np.array(b)) for a, b in zip(first, second) if a or b]


@source("text", "translation", usage=PARTS, text=True, defaults={"shuffle": None})
def Multi30kDataset(dataset_dir, usage=None, language_pair=None):
    """Multi30k (Elliott et al. 2016): text, translation. language_pair : ["en", "de"] or the reverse"""
    one, other = language_pair or ("en", "de")
    if {one, other} != {"en", "de"}:
        raise ValueRangeError(f"language_pair can only be ['en', 'de'] or ['de', 'en'], but got {language_pair}")
    directory = folder(dataset_dir)
    places = {"train": "training/train", "valid": "validation/val", "test": "mmt16_task1_test/test"}
    stems = [file(os.path.join(directory, f"{place}.{one}")) for word, place in places.items() if usage in (None, "all", word)]
    return grouped(stems, lambda path: _pairs(path, file(path.removesuffix(one) + other)))


def _iwslt(directory: Any, usage: str | None, pair: Any, valid: str, test: str, together: str | None = None) -> Samples:
    """together : the folder of all languages; without one each pair has its own"""
    one, other = pair
    source_, target = (together, together) if together else (one, other)
    base = folder(os.path.join(folder(directory), "texts", source_, target, f"{source_}-{target}"))
    names = {"train": f"train.tags.{one}-{other}", "valid": f"IWSLT{valid}.{one}-{other}", "test": f"IWSLT{test}.{one}-{other}"}
    paths = [file(os.path.join(base, name + f".{one}{'' if word == 'train' else '.xml'}"))
             for word, name in names.items() if usage in (None, "all", word)]

    def rows_in(path: str) -> list[tuple]:
        second = file(f".{other}".join(path.rsplit(f".{one}", 1)))
        if path.endswith(".xml"):
            try:
                texts = [[seg.text or "" for seg in ElementTree.parse(each).iter("seg")] for each in (path, second)]
            except ElementTree.ParseError as error:
                raise BadFileError(f"{path} or {second} is no XML: {error}") from None
        else:
            texts = [[line for line in lines(each) if line.strip() and not line.lstrip().startswith("<")]
                     for each in (path, second)]
        if len(texts[0]) != len(texts[1]):
            raise BadFileError(f"{path} and {second} have {len(texts[0])} and {len(texts[1])} sentences")
        return [(np.array(a.strip()), np.array(b.strip())) for a, b in zip(*texts)]
    return grouped(paths, rows_in, by_name=False)


IWSLT_SETS = "dev2010", "tst2010", "tst2011", "tst2012", "tst2013", "tst2014"


@source("text", "translation", usage=PARTS, text=True, order=WORKERS_LAST, valid_set=IWSLT_SETS, test_set=IWSLT_SETS)
def IWSLT2016Dataset(dataset_dir, usage=None, language_pair=None, valid_set=None, test_set=None):
    """IWSLT 2016 (Cettolo et al. 2016): text, translation. language_pair : ["de", "en"] by default"""
    return _iwslt(dataset_dir, usage, language_pair or ("de", "en"), f"16.TED.{valid_set or 'tst2013'}",
                  f"16.TED.{test_set or 'tst2014'}")


@source("text", "translation", usage=PARTS, text=True, order=WORKERS_LAST)
def IWSLT2017Dataset(dataset_dir, usage=None, language_pair=None):
    """IWSLT 2017 (Cettolo et al. 2017): text, translation. language_pair : ["de", "en"] by default"""
    return _iwslt(dataset_dir, usage, language_pair or ("de", "en"), "17.TED.dev2010", "17.TED.tst2010", "DeEnItNlRo")
