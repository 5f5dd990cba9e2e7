"""Operations on text; the expectations are MindSpore's results."""
import numpy as np
import pytest

import mindlite.dataset as ds
from mindlite.dataset import text

VOCAB = text.Vocab.from_list(["a", "b", "[UNK]", "c"], special_tokens=["<pad>"])
PIECES = text.Vocab.from_list(["i", "am", "mak", "##ing", "sm", "##all", "mistake", "##s", "[UNK]", "北", "京"])


def plain(value):
    return tuple(map(plain, value)) if isinstance(value, tuple) else np.asarray(value).tolist()


@pytest.mark.parametrize("operation, data, expected", [
    (text.Lookup(VOCAB), ["a", "c"], [1, 4]), (text.Lookup(VOCAB, "[UNK]"), ["a", "zz"], [1, 3]), (text.Lookup(VOCAB), "a", 1),
    (text.WhitespaceTokenizer(), "hello  big world ", ["hello", "big", "world"]), (text.WhitespaceTokenizer(), "", [""]),
    (text.WhitespaceTokenizer(True), "hello 世界 x", (["hello", "世界", "x"], [0, 6, 13], [5, 12, 14])),
    (text.UnicodeCharTokenizer(), "ab 世", ["a", "b", " ", "世"]),
    (text.UnicodeScriptTokenizer(), "Welcome to Beijing 北京, 3.5!", ["Welcome", "to", "Beijing", "北京", ",", "3.5!"]),
    (text.UnicodeScriptTokenizer(keep_whitespace=True), "a b  北京", ["a", " ", "b", "  ", "北京"]),
    (text.UnicodeScriptTokenizer(), "नमस्ते १२ e\u0301 ab\u200dc ﾜﾨ", ["नमस्ते", "१२", "e", "\u0301", "ab", "\u200d", "c", "ﾜ",
     "ﾨ"]),
    (text.RegexTokenizer(r"\s+"), "a b  c", ["a", "b", "c"]), (text.RegexTokenizer(r"\s+", r"\s+"), "a b  c", ["a", " ", "b",
    "  ", "c"]),
    (text.BasicTokenizer(lower_case=True), "Héllo World!! 北京[UNK] x", ["hello", "world", "!", "!", "北", "京", "[UNK]", "x"]),
    (text.BasicTokenizer(keep_whitespace=True), "a  b北 c", ["a", "  ", "b", "北", " ", "c"]),
    (text.WordpieceTokenizer(PIECES), ["i", "making", "smalls", "zzz"], ["i", "mak", "##ing", "sm", "##all", "##s", "[UNK]"]),
    (text.WordpieceTokenizer(PIECES, unknown_token=""), ["zzz"], ["zzz"]),
    (text.BertTokenizer(PIECES, lower_case=True), "I am making mistakes 北京", ["i", "am", "mak", "##ing", "mistake", "##s", "北",
    "京"]),
    (text.BertTokenizer(PIECES, lower_case=True, with_offsets=True), "I am making 北",
     (["i", "am", "mak", "##ing", "北"], [0, 2, 5, 8, 12], [1, 4, 8, 11, 15])),
    (text.Ngram(2), ["a", "b", "c"], ["a b", "b c"]), (text.Ngram(3), ["a", "b"], [""]),
    (text.Ngram([2, 3], ("_", 1), ("-", 2), "+"), ["a", "b", "c"],
     ["_+a", "a+b", "b+c", "c+-", "_+a+b", "a+b+c", "b+c+-", "c+-+-"]),
    (text.SlidingWindow(2), [1, 2, 3, 4], [[1, 2], [2, 3], [3, 4]]), (text.Truncate(2), ["a", "b", "c"], ["a", "b"]),
    (text.Truncate(2), [["a", "b", "c"]], [["a", "b"]]), (text.ToNumber(np.int32), ["1", "-3"], [1, -3]),
    (text.CaseFold(), "Welcome ẞ É", "welcome ss é"), (text.NormalizeUTF8(), "ṩ ﬁ", "ṩ fi"),
    (text.RegexReplace(r"\s", "_"), "a b c", "a_b_c"), (text.RegexReplace(r"\s", "_", False), "a b c", "a_b c"),
    (text.AddToken("TT"), ["a", "b"], ["TT", "a", "b"]), (text.AddToken("TT", False), [["a"], ["c"]], [["a", "TT"], ["c", "TT"]]),
    (text.RegexReplace(r"\p{Ll}|\p{Nd}", "_"), "Héß 4७Ω", "H__ __Ω"), (text.RegexReplace(r"[\p{Lu}x]", "_"), "aXxΩ", "a___"),
    (text.RegexReplace(r"\P{L}", ""), "a1-Ω ß", "aΩß"), (text.CaseFold(), "ＷＩＤＥ！ ﬁ", "wide! fi"),
    (text.FilterWikipediaXML(), "<a>Hello</a> 12 World!", "one two world"),
    (text.FilterWikipediaXML(), "&lt;b&gt; AÉb &amp; x\ty\n 0", "b a b x yzero"),
    (text.FilterWikipediaXML(), "one\n[[two", "onetwo"),
    (text.RegexReplace(r"(\w)(\w)", "$2$1"), "abcd e", "badc e"),
    (text.RegexReplace("(a)(b)?", r"$2<$12>\$\."), "ab a", "b<a2>$. <a2>$."),
    (text.RegexReplace(r"\p{Han}+|[\P{L}]", "-"), "中国a1", "-a-"),
    (text.RegexReplace("(?<first>[a-z])(?<second>[0-9])?", "${second}$1."), "a1b", "1a.b."),
    (text.RegexReplace("a", "b"), np.array([], "<U1"), []), (text.ToNumber(np.float32), ["inf", "-Infinity"], [np.inf, -np.inf]),
    (text.PythonTokenizer(lambda line: line.split("-")), "a-b", ["a", "b"]),
])
def test_an_operation_gives_what_mindspore_gives(operation, data, expected):
    assert plain(operation(np.array(data))) == expected


def test_two_sequences_are_cut_together():
    first, second = text.TruncateSequencePair(4)(np.array([1, 2, 3]), np.array([4, 5, 6]))
    assert first.tolist() == [1, 2] and second.tolist() == [4, 5]
    first, second = text.TruncateSequencePair(4)(np.arange(9), np.array([4]))
    assert len(first) == 3 and len(second) == 1


def test_a_vocabulary_numbers_tokens(tmp_path):
    assert VOCAB.vocab() == {"<pad>": 0, "a": 1, "b": 2, "[UNK]": 3, "c": 4}
    assert VOCAB.tokens_to_ids(["a", "zz"]) == [1, -1] and VOCAB.tokens_to_ids("b") == 2
    assert VOCAB.ids_to_tokens([0, 1]) == ["<pad>", "a"] and VOCAB.ids_to_tokens(99) == ""
    rows = ds.NumpySlicesDataset([["b", "a"], ["a", "c"]], ["t"], shuffle=False)
    assert text.Vocab.from_dataset(rows, "t", special_tokens=["<p>"], special_first=False).vocab() == {"a": 0, "b": 1, "c": 2,
                                                                                                       "<p>": 3}
    assert text.Vocab.from_dataset(rows, "t", (2, 9)).vocab() == {"a": 0}
    (tmp_path / "v.txt").write_text("x,1\ny,2\nz,3\n")
    assert text.Vocab.from_file(str(tmp_path / "v.txt"), ",", 2).vocab() == {"x": 0, "y": 1}
    assert text.Vocab.from_dict({"x": 3}).vocab() == {"x": 3}


def test_tokens_become_vectors(tmp_path):
    (tmp_path / "v.txt").write_text("ok 0.1 0.2\nno 1 2\n")
    vectors = text.Vectors.from_file(str(tmp_path / "v.txt"))
    assert text.ToVectors(vectors, [-1, -1])(np.array(["no", "zz", "NO"])).tolist() == [[1, 2], [-1, -1], [-1, -1]]
    assert text.ToVectors(vectors, lower_case_backup=True)(np.array("NO")).tolist() == [1, 2]
    (tmp_path / "glove.1.txt").write_text("dog 1 1\nDog 2 2\nCat 3 3\n\u00c9a 4 4\n\u00e9a 5 5\n")
    vectors = text.GloVe.from_file(str(tmp_path / "glove.1.txt"))
    tokens = np.array(["dog", "Dog", "DOG", "Cat", "\u00c9A", "\u00e9a"])
    assert text.ToVectors(vectors, lower_case_backup=True)(tokens)[:, 0].tolist() == [1, 1, 1, 0, 4, 5]      # as MindSpore's
    assert text.ToVectors(vectors)(tokens)[:, 0].tolist() == [1, 2, 0, 3, 0, 5]
    with pytest.raises(RuntimeError):
        text.GloVe.from_file(str(tmp_path / "v.txt"))


def test_text_goes_through_a_pipeline(tmp_path):
    (tmp_path / "a.txt").write_text("I am\nI am making mistakes\n")
    rows = ds.TextFileDataset(str(tmp_path / "a.txt"), shuffle=False)
    rows = rows.map([text.BertTokenizer(PIECES, lower_case=True), text.Lookup(PIECES, "[UNK]")], "text")
    rows = rows.padded_batch(2, pad_info={"text": ([None], -1)})
    (batch,), = rows.create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert batch.tolist() == [[0, 1, -1, -1, -1, -1], [0, 1, 2, 3, 6, 7]]


@pytest.mark.parametrize("call, error", [
    (lambda: text.Vocab.from_list(["a", "a"]), ValueError), (lambda: text.Vocab.from_list("a"), TypeError),
    (lambda: text.Vocab.from_dict({"a": -1}), ValueError), (lambda: text.Lookup(3), TypeError),
    (lambda: text.Lookup(VOCAB)(np.array(["zz"])), RuntimeError), (lambda: text.Lookup(VOCAB, "nope"), ValueError),
    (lambda: text.WhitespaceTokenizer()(3), RuntimeError), (lambda: text.WhitespaceTokenizer()(np.array(["a b"])), RuntimeError),
    (lambda: text.ToNumber(np.float32)(np.array("1e400")), RuntimeError),
    (lambda: text.ToNumber(np.int8)(np.array("1_0")), RuntimeError),
    (lambda: text.ToNumber(np.float16)(np.array("1e9")), RuntimeError),
    (lambda: text.ToNumber(np.int8)(np.array("300")), RuntimeError), (lambda: text.ToNumber(np.int8)(np.array("x")),
    RuntimeError),
    (lambda: text.Truncate(-1), ValueError), (lambda: text.Truncate("a"), TypeError), (lambda: text.Ngram([]), ValueError),
    (lambda: text.RegexTokenizer("("), ValueError), (lambda: text.SlidingWindow(0), ValueError),
])
def test_operations_refuse_bad_arguments_and_data(call, error):
    with pytest.raises(error):
        call()


def test_one_token_or_number_gives_one_whatever_holds_it():
    assert VOCAB.tokens_to_ids(["a", "x"]) == VOCAB.tokens_to_ids(np.array([b"a", b"x"])) == [1, -1]
    assert VOCAB.ids_to_tokens([1, 9]) == VOCAB.ids_to_tokens(np.array([1, 9])) == ["a", ""]
    assert all(VOCAB.tokens_to_ids(one) == 1 for one in ("a", ["a"], np.array("a"), np.array(["a"]), np.str_("a")))
    assert all(VOCAB.ids_to_tokens(one) == "a" for one in (1, [1], np.array(1), np.array([1])))
    assert text.Vocab.from_dict({"colour": 1, "color": 1}).ids_to_tokens(1) == "colour"
    for bad in (True, [True], 1.0, [1, 1.5], "a", None, np.array([[1, 2], [2, 1]]), np.array([1.5])):
        with pytest.raises(TypeError, match="Argument ids"):
            VOCAB.ids_to_tokens(bad)
    for bad in (1, [1, "a"], b"a", None, np.array([["a", "b"]])):
        with pytest.raises(TypeError, match="Argument tokens"):
            VOCAB.tokens_to_ids(bad)
    with pytest.raises(ValueError, match=r"ids\[0\] is not within"):
        VOCAB.ids_to_tokens([-1])


def test_a_vocabulary_without_tokens_is_refused():
    empty = text.Vocab()
    for use in (empty.vocab, lambda: empty.ids_to_tokens(1), lambda: empty.tokens_to_ids("a"), lambda: text.Lookup(empty)):
        with pytest.raises(RuntimeError, match="has not built yet"):
            use()


def test_each_line_of_a_file_is_a_token_and_only_line_feeds_end_it(tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes("a,1\r\n\nb\u2028c\x0b\nd\x85".encode())
    assert text.Vocab.from_file(str(path)).vocab() == {"a,1": 0, "": 1, "b\u2028c\x0b": 2, "d\x85": 3}
    path.write_text("a,1\nb\na,2\n")
    with pytest.raises(RuntimeError, match="duplicate word: a"):
        text.Vocab.from_file(str(path), ",")
    with pytest.raises(TypeError, match="special_tokens"):
        text.Vocab.from_file(str(path), ",", None, "<pad>")
    for size in (0, -1):
        with pytest.raises(ValueError, match="vocab_size must be greater than 0"):
            text.Vocab.from_file(str(path), vocab_size=size)


def test_sentencepiece_models_are_trained_and_used(tmp_path):
    pytest.importorskip("sentencepiece")
    (tmp_path / "t.txt").write_text("\n".join(f"the cat number {k} sat on the mat" for k in range(200)))
    vocab = text.SentencePieceVocab.from_file([str(tmp_path / "t.txt")], 30, 0.9995, text.SentencePieceModel.UNIGRAM, {})
    pieces = text.SentencePieceTokenizer(vocab, text.SPieceTokenizerOutType.STRING)(np.array("the cat"))
    assert "".join(pieces).replace("▁", " ").strip() == "the cat"
    text.SentencePieceVocab.save_model(vocab, str(tmp_path), "m.model")
    ids = text.SentencePieceTokenizer(str(tmp_path / "m.model"), text.SPieceTokenizerOutType.INT)(np.array("the cat"))
    assert ids.dtype == np.int32 and len(ids) == len(pieces)


def test_trained_models_have_mindspore_s_pieces():
    sentencepiece = pytest.importorskip("sentencepiece")
    lines = [f"a network {verb} {noun} from {whose} data" for verb in ("learns", "reads", "keeps", "forgets")
             for noun in ("words", "weights", "gradients", "images") for whose in ("its", "their", "much", "little")]
    rows = ds.NumpySlicesDataset(lines, ["text"], shuffle=False)

    def pieces(kind):
        vocab = text.SentencePieceVocab.from_dataset(rows, ["text"], 40, 1.0, kind, {})
        tokenizer = text.SentencePieceTokenizer(vocab, text.SPieceTokenizerOutType.STRING)
        return " ".join(tokenizer(np.array("a gradient learns much data from images"))).split()
    # what MindSpore 2.10 gives; it has the trainer of SentencePiece 0.1.98, and later ones learn other pieces of this kind
    assert pieces(text.SentencePieceModel.BPE) == "▁a ▁ g r a d i e n t ▁ l e a r n s ▁ m u c h ▁data ▁from ▁ i m a g e s".split()
    if sentencepiece.__version__ == "0.1.98":
        assert pieces(text.SentencePieceModel.UNIGRAM) == "▁ a ▁ g r ad i e n t ▁learns ▁ m u c h ▁data ▁from ▁i m a ge s".split()


def test_lines_are_read_by_number(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_bytes("first\r\nзвук\n\nlast".encode())
    reader = ds.LineReader(str(path))
    assert [reader[k] for k in (4, 2, 1, 3)] == ["last", "звук", "first", ""] and len(reader) == reader.len() == 4
    reader.close()
    assert reader.readline(2) == "звук"
    for line, error in ((0, ValueError), (5, ValueError), (-1, ValueError), ("1", TypeError)):
        with pytest.raises(error, match="line"):
            reader.readline(line)

    class Lines:
        def __getitem__(self, k):
            return np.array(reader.readline(k + 1))

        def __len__(self):
            return len(reader)
    rows = ds.GeneratorDataset(Lines(), ["line"], shuffle=False, num_parallel_workers=2)
    assert [str(line) for line, in rows.create_tuple_iterator(output_numpy=True, num_epochs=1)] == ["first", "звук", "", "last"]
    reader.close()


def test_a_file_of_lines_that_is_none_is_refused(tmp_path):
    for path, error, why in ((str(tmp_path / "no.txt"), RuntimeError, "does not exist"),
                             (str(tmp_path), RuntimeError, "not a regular file"), (3, TypeError, "not string")):
        with pytest.raises(error, match=why):
            ds.LineReader(path)
    (tmp_path / "bytes.txt").write_bytes(b"a\n\xff\xfe\n")
    with pytest.raises(RuntimeError, match="line 2 .* UTF-8"):
        ds.LineReader(str(tmp_path / "bytes.txt")).readline(2)


@pytest.mark.parametrize("call, error, why", [
    (lambda: text.WhitespaceTokenizer(with_offsets=1), TypeError, "Wrong input type for with_offsets, should be boolean"),
    (lambda: text.WordpieceTokenizer(PIECES, unknown_token=3), TypeError, "Wrong input type for unknown_token, should be string"),
    (lambda: text.BertTokenizer("words"), TypeError, "Wrong input type for vocab, should be text.Vocab object"),
    (lambda: text.RegexTokenizer(3), TypeError, "Wrong input type for delim_pattern, should be string"),
    (lambda: text.RegexReplace(r"\p{Xx}", ""), ValueError, "no regular expression: unknown property"),
    (lambda: text.RegexReplace("(a)", "$2"), ValueError, r"\$2 is no group of the pattern, which has 1"),
    (lambda: text.RegexReplace("a", "5 $"), ValueError, r"\$ is no group of the pattern, which has 0"),
    (lambda: text.RegexReplace("(?<first>a)", "${last}"), ValueError, r"\$\{last\} is no group of the pattern, whose .* first"),
    (lambda: text.Ngram([1, "a"]), ValueError, "n needs to be a non-empty list of positive integers"),
])
def test_operations_on_text_refuse_in_mindspores_words(call, error, why):
    with pytest.raises(error, match=why):
        call()


@pytest.mark.parametrize("content, why", [("", "file is empty"), ("a 1 2\nb 1 2 3\n", "got dim 3 while expecting 2"),
                                          ("a 1\nb 2\n", "1-dimensional"), ("a b c\n", "no numbers"),
                                          (None, "get real path failed")])
def test_a_file_of_vectors_that_is_none_is_refused(tmp_path, content, why):
    if content is not None:
        (tmp_path / "v.txt").write_text(content)
    with pytest.raises(RuntimeError, match=why):
        text.Vectors.from_file(str(tmp_path / "v.txt"))


@pytest.mark.parametrize("arguments, error, why", [
    ({"columns": 3}, TypeError, r"col\[0\]"), ({"freq_range": ()}, ValueError, "tuple of 2 element"),
    ({"freq_range": 3}, TypeError, "tuple"),
    ({"freq_range": (3, 1)}, ValueError, "0 <= a <= b"), ({"freq_range": (1.5, 2)}, ValueError, "2 integers"),
    ({"top_k": 0}, ValueError, "greater than 0"), ({"top_k": 1.5}, TypeError, "top_k")])
def test_the_arguments_of_a_vocabulary_are_checked_before_rows_are_read(arguments, error, why):
    def never():
        raise AssertionError("rows are read")
    with pytest.raises(error, match=why):
        text.Vocab.from_dataset(ds.GeneratorDataset(never, ["t"]), **arguments)


@pytest.mark.parametrize("settings, sentence, wanted", [
    ({"lower_case": True}, "會時，直", [["會", "時", ",", "直"], [0, 3, 6, 7], [3, 6, 7, 10]]),
    ({"normalization_form": text.NormalizeForm.NFKD}, "\uff28\uff12，a", [["H2", ",", "a"], [0, 2, 3], [2, 3, 4]]),
    ({}, "a\u200bb\tc\x01d", [["a", "b", "c", "d"], [0, 2, 4, 6], [1, 3, 5, 7]]),
    ({"lower_case": True}, "a\u200bB\tc", [["ab", "c"], [0, 3], [2, 4]]),
])
def test_offsets_count_in_the_text_that_is_cut(settings, sentence, wanted):
    found = text.BasicTokenizer(with_offsets=True, **settings)(np.array(sentence))
    assert [part.tolist() for part in found] == wanted       # MindSpore's
