"""Texts to ids and back, whatever the tokenizer and however long the text."""

import json

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models, normalizers, pre_tokenizers, processors

from longdoc.tasks import tokenizers as subject
from longdoc.tasks.books import Books
from longdoc.tasks.evidence import Evidence
from longdoc.tasks.text import Text
from longdoc.tasks.tokenizers import PIECE, Bytes, Subwords, find_tokenizer, from_state, learn_tokenizer, train_bpe

TEXTS = [
    "the cat sat on the mat, the dog sat on the log. " * 20,
    "Größe, naïve café; ﬁn — “quoted” … 日本語の文章 Русский עברית हिन्दी",
    "👩‍👩‍👧‍👦 🎉🏳️‍🌈  two  spaces\ttab\r\nCRLF\n\n\nend  NUL \x00 BOM \ufeff last \U0010ffff",
    "[PAD] and [CLS][SEP] [UNK] stand here",
    "",
    " \n",
]
BPE = train_bpe(TEXTS, 320)


def wordpiece(**options):
    """As BERT's files are: special tokens around a text, cut and padded."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "sat", "##s", "[", "]", "cl", "##s", "pad"]
    tokenizer = tokenizers.Tokenizer(models.WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.add_special_tokens(["[PAD]", "[CLS]", "[SEP]"])
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=8)
    return tokenizer


@pytest.fixture(name="file")
def _file(tmp_path):
    path = tmp_path / "tokenizer.json"
    wordpiece().save(str(path))
    return path


@pytest.mark.parametrize("tokenizer", [Bytes(), Subwords(BPE)], ids=["bytes", "bpe"])
def test_every_text_comes_back_as_it_was(tokenizer):
    encoded = tokenizer.encode(TEXTS)
    assert [tokenizer.decode(ids) for ids in encoded] == TEXTS
    assert all((ids > 0).all() and (ids < tokenizer.vocab_size).all() for ids in encoded)
    assert {ids.dtype for ids in encoded} == {np.dtype(np.uint16)}
    assert len(encoded) == len(TEXTS)


@given(st.text(st.characters()))
@settings(deadline=None, max_examples=50)
def test_any_text_without_surrogates_comes_back(text):
    for tokenizer in (Bytes(), Subwords(BPE)):
        assert tokenizer.decode(tokenizer.encode([text])[0]) == text


def test_bytes_are_bytes_also_those_that_were_no_text():
    latin = b"na\xefve".decode(errors="surrogateescape")
    assert Bytes().encode([latin])[0].tolist() == [byte + 1 for byte in b"na\xefve"]


@pytest.mark.parametrize("tokenizer", [Bytes(), Subwords(BPE)], ids=["bytes", "bpe"])
def test_half_a_character_of_utf_16_is_the_replacement_character(tokenizer):
    assert tokenizer.decode(tokenizer.encode(["half \ud83d of one"])[0]) == "half \ufffd of one"


@pytest.mark.parametrize("tokenizer", [Bytes(), Subwords(BPE), Subwords(wordpiece().to_str(), 1)])
def test_the_state_is_plain_and_enough(tokenizer):
    again = from_state(json.loads(json.dumps(tokenizer.state)))
    assert (again.vocab_size, again.state) == (tokenizer.vocab_size, tokenizer.state)
    for actual, expected in zip(again.encode(TEXTS), tokenizer.encode(TEXTS), strict=True):
        assert actual.tolist() == expected.tolist()


def test_a_state_of_older_checkpoints_is_the_json_alone():
    tokenizer = from_state(BPE)
    assert tokenizer.encode(TEXTS[:1])[0].tolist() == Subwords(BPE).encode(TEXTS[:1])[0].tolist()
    assert tokenizer.vocab_size == 320


# -------------------------------------------------------------------------------------- long texts


MIXED = "".join(f"{TEXTS[i % 3]}{' ' * (i % 5)}word{i}'s\n" for i in range(400))


def test_pieces_give_the_ids_of_the_whole_text():
    """Against the library's own encoding of all of it at once."""
    assert len(MIXED) > 4 * PIECE
    for plain, shift in ((tokenizers.Tokenizer.from_str(BPE), 0), (wordpiece(), 1)):
        plain.no_truncation()
        plain.no_padding()
        plain.encode_special_tokens = True
        expected = np.array(plain.encode(MIXED, add_special_tokens=False).ids) + shift
        assert Subwords(plain.to_str(), shift).encode([MIXED])[0].tolist() == expected.tolist()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a" * 100_000, id="a"),
        pytest.param("".join(chr(0x4E00 + i * 7 % 20_000) for i in range(40_000)), id="cjk"),
        pytest.param(" " * 50_000, id="spaces"),
        pytest.param("\n\t" * 33_333, id="white"),
        pytest.param("=-" * 30_000, id="punctuation"),
        pytest.param("👩" * 20_000, id="emoji"),
        pytest.param("word " * 9_000, id="words"),
        pytest.param("x" * PIECE, id="a piece"),
        pytest.param("x" * PIECE + " ", id="a piece and a space"),
    ],
)
def test_the_work_is_linear_also_without_spaces(text):
    """The library sees no text longer than a piece, and every character once: nothing else could be superlinear."""
    pieces = [piece for piece, _ in subject._pieces([text])]
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= PIECE
    assert len(pieces) <= 2 * len(text) // PIECE + 1
    tokenizer = Subwords(BPE)
    assert tokenizer.decode(tokenizer.encode([text])[0]) == text


@pytest.mark.parametrize("limit", [1, 5, 10_000, 10**9])
@pytest.mark.parametrize(
    "text", ["", "x" * 40_000, MIXED, "日本 half \ud83d" * 4000], ids=["empty", "x", "mixed", "odd"]
)
@pytest.mark.parametrize("tokenizer", [Bytes(), Subwords(BPE), Subwords(wordpiece().to_str(), 1)])
def test_the_head_of_a_text_is_that_of_its_ids(tokenizer, text, limit):
    assert tokenizer.head(text, limit).tolist() == tokenizer.encode([text])[0][:limit].tolist()


def test_the_cost_of_a_head_does_not_grow_with_what_is_behind_it(monkeypatch):
    encoded, stream = [], Subwords.stream
    monkeypatch.setattr(Subwords, "stream", lambda self, texts: stream(self, encoded.extend(texts) or texts))
    assert len(Subwords(BPE).head(MIXED * 20, 5000)) == 5000
    assert sum(map(len, encoded)) <= 2 * PIECE < len(MIXED)


def test_training_sees_short_pieces_so_that_a_merge_rewrites_little():
    pieces = [piece for piece, _ in subject._pieces(["语" * 5000, MIXED], subject.TRAINED)]
    assert "".join(pieces) == "语" * 5000 + MIXED
    assert max(map(len, pieces)) <= 1024


def test_batches_are_bounded_by_bytes_and_not_by_documents(monkeypatch):
    monkeypatch.setattr(subject, "BATCH", 2**16)
    long = "über die Brücke " * 9_000  # 160 kB
    texts = ["short", "", *[long] * 2, *["short"] * 3000]
    batches = list(subject._batches(subject._pieces(texts)))
    sizes = [sum(len(piece.encode()) for piece, _ in batch) for batch in batches]
    assert sum(sizes) == sum(len(text.encode()) for text in texts)
    assert max(sizes) < 2**16 + 4 * PIECE
    assert max(map(len, batches)) < 2**10
    assert [last for batch in batches for _, last in batch].count(True) == len(texts)
    lengths = [len(ids) for ids in Subwords(BPE).stream(texts)]
    assert lengths == [len(ids) for text in texts[:4] for ids in Subwords(BPE).encode([text])] + [lengths[0]] * 3000


# ---------------------------------------------------------------------------------------- foreign files


def test_ids_of_a_file_are_shifted_and_nothing_is_added_cut_or_padded(file):
    tokenizer = find_tokenizer(str(file))
    assert tokenizer.encode(["the cats sat the cat", ""])[0].tolist() == [5, 6, 8 + 4, 7, 5, 6]
    assert tokenizer.encode([""])[0].tolist() == []
    assert tokenizer.vocab_size == 14
    assert tokenizer.decode([5, 6]) == "the cat"


def test_special_tokens_in_a_text_are_text(file):
    assert find_tokenizer(str(file)).encode(["[PAD] [CLS]"])[0].tolist() == [9, 13, 10, 9, 11, 12, 10]


def test_a_folder_serves_as_its_file(file):
    assert find_tokenizer(str(file.parent)).state == find_tokenizer(str(file)).state


def test_ids_with_gaps_fit_the_vocabulary():
    model = models.WordLevel({"a": 0, "b": 999, "[UNK]": 5}, unk_token="[UNK]")
    tokenizer = Subwords(tokenizers.Tokenizer(model).to_str(), 1)
    assert tokenizer.vocab_size == 1001
    assert tokenizer.encode(["b"])[0].tolist() == [1000]


def test_what_is_no_tokenizer_is_said_in_a_sentence(tmp_path):
    (tmp_path / "broken.json").write_text('{"model": 3}')
    with pytest.raises(ValueError, match=r"^task.tokenizer=.*broken.json: .* is no file of the tokenizers library: "):
        find_tokenizer(str(tmp_path / "broken.json"))
    message = r"^task.tokenizer=no/such/name is neither bytes nor bpe, .*no/such/name is not there, and the hub gave "
    with pytest.raises(FileNotFoundError, match=message):  # no hub has such a name: it is not asked
        find_tokenizer("no/such/name")


def test_a_changed_file_is_another_tokenizer(file):
    """So that the cache, whose key holds the state, is another one."""
    before = find_tokenizer(str(file)).state
    file.write_text(file.read_text().replace('"cat"', '"cow"'))
    assert find_tokenizer(str(file)).state != before


# --------------------------------------------------------------------------------------- learning and tasks


def test_bpe_is_trained_once_for_the_same_texts(tmp_path):
    reads = []

    def texts():
        reads.append(1)
        return TEXTS

    first = learn_tokenizer("bpe", 300, texts, tmp_path, "a")
    assert learn_tokenizer("bpe", 300, texts, tmp_path, "a").state == first.state
    assert len(reads) == 1
    assert first.vocab_size == 300
    learn_tokenizer("bpe", 300, texts, tmp_path, "b")
    learn_tokenizer("bpe", 310, texts, tmp_path, "a")
    assert len(reads) == 3
    assert learn_tokenizer("bytes", 300, texts, tmp_path, "a").state == {"kind": "bytes"}
    assert len(reads) == 3


def test_tasks_of_texts_encode_and_decode_them(tmp_path):
    options = {"max_length": 16, "batch_tokens": 64, "seed": 0, "cache": str(tmp_path)}
    books = Books(data=str(tmp_path), **options)
    books.state = {"classes": ["a"], "vocab_size": 320, "tokenizer": BPE}
    for task in (books, Text("hub", **options)):
        assert [task.decode(ids) for ids in task.encode_texts(TEXTS)] == TEXTS


def test_a_task_without_texts_says_so(tmp_path):
    options = {"sizes": {"train": 2, "validation": 1, "test": 1}, "max_length": 16, "batch_tokens": 64, "seed": 0}
    task = Evidence(cache=str(tmp_path), **options)
    for use in (lambda: task.encode_texts(["x"]), lambda: task.decode([1])):
        with pytest.raises(TypeError, match=r"^task=evidence has documents that are no texts"):
            use()
