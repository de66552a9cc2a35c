"""Writing token by token is the whole forward, one position after the other."""

import io
from itertools import islice, product

import pytest
import torch
from reference import FEATURE_MAPS, classifier, linear, names
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from longdoc.export import Loaded
from longdoc.generation import Sampling, Writer, encode, generate
from longdoc.models import Stream

TOKENS = 24
CAUSAL = [name for name, factory in FEATURE_MAPS if factory(8, 2).causal]
TEXT = "The naïve café of Ümit: 東京 – “quoted”,  two spaces\n\nand 🙂 lines. It's [PAD]! " * 3


def writes(feature_map="elu", decay="none", vocab_size=40, dtype=torch.float64):
    """A causal model whose classes are its vocabulary."""
    model = classifier(
        linear(feature_map, decay, causal=True), "rotary", "none", vocab_size, max_length=64, dtype=dtype, convolution=4
    )
    model.head = torch.nn.Linear(16, vocab_size, dtype=dtype)
    return model.eval()


@pytest.fixture(scope="module")
def tokenizer():
    """Byte-level BPE, as of the task."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["[PAD]"], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(["The quoted lines of two cafés"], trainer)
    made.encode_special_tokens = True
    return made


def writer(tokenizer, seed=0):
    torch.manual_seed(1)
    made = Writer(Stream(writes(vocab_size=tokenizer.get_vocab_size())), tokenizer, torch.Generator())
    made.generator.manual_seed(seed)
    return made


@pytest.mark.parametrize(("feature_map", "decay"), list(product(CAUSAL, names("decay"))))
def test_greedy_writing_is_the_argmax_of_the_whole_forward(feature_map, decay):
    model = writes(feature_map, decay)
    prompt = torch.randint(1, 40, (1, 5))
    stream = Stream(model)
    stream.read(prompt)
    ids = torch.tensor([[*prompt[0], *islice(generate(stream, Sampling(0)), TOKENS)]])
    with torch.no_grad():
        for n in range(5, 5 + TOKENS):
            assert ids[0, n] == model(ids[:, :n])[0, -1, 1:].argmax() + 1  # 0 is padding
        torch.testing.assert_close(stream.logits(), model(ids)[:, -1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("temperature", "top_k"), [(1.0, None), (0.5, None), (2.0, 4), (0.7, 1), (1.0, 99)])
def test_draws_follow_the_softmax_over_the_highest(temperature, top_k):
    logits, draws = torch.randn(10), 40_000
    kept = logits >= logits.sort(descending=True).values[: top_k or 10][-1]
    weights = torch.where(kept, (logits.double() / temperature).exp(), 0)
    expected = weights / weights.sum()
    sampling = Sampling(temperature, top_k)
    counts = sampling(logits.expand(draws, -1), torch.Generator().manual_seed(0)).bincount(minlength=10)
    assert (counts[~kept] == 0).all()
    deviation = (expected * (1 - expected) / draws).sqrt()
    assert ((counts / draws - expected).abs() <= 4.5 * deviation + 1e-12).all()


def test_temperatures_at_the_ends():
    logits = torch.tensor([3.0, 1e30, -2.0, -torch.inf])
    assert Sampling(0)(logits) == Sampling(1e-300)(logits) == 1
    assert Sampling(1e300)(logits.expand(1000, -1)).unique().tolist() == [0, 1, 2]


@pytest.mark.parametrize("options", [(-0.1,), (float("nan"),), (float("inf"),), (1.0, 0)])
def test_what_cannot_be_drawn_is_said(options):
    with pytest.raises(ValueError, match="must be"):
        Sampling(*options)


def test_padding_is_never_written():
    model = writes()
    with torch.no_grad():
        model.head.bias[0] = 1e6
    stream = Stream(model)
    stream.read(torch.ones(1, 1, dtype=torch.long))
    assert 0 not in [*islice(generate(stream, Sampling(0)), 5), *islice(generate(stream, Sampling(9.0)), 50)]


@pytest.mark.parametrize("block", [1, 7, 50, 10_000])
def test_a_text_in_blocks_has_the_tokens_of_the_whole(tokenizer, block):
    pieces = list(encode(tokenizer, io.StringIO(TEXT), block))
    assert torch.cat(pieces, dim=1)[0].tolist() == tokenizer.encode(TEXT, add_special_tokens=False).ids
    assert list(encode(tokenizer, io.StringIO(""), block)) == []


def test_the_seed_decides(tokenizer):
    first, again, other = ("".join(text(writer(tokenizer, seed), 60)) for seed in (0, 0, 1))
    assert first == again != other


def text(made, tokens, prompt="The café"):
    assert [*made.read(io.StringIO(prompt))][-1] == made.tokens
    return list(made.write(tokens, Sampling()))


def test_characters_come_whole(tokenizer, monkeypatch):
    """Ids of a known text in place of a model's: every piece holds whole characters, none is lost."""
    ids = tokenizer.encode(TEXT, add_special_tokens=False).ids
    monkeypatch.setattr("longdoc.generation.generate", lambda *_: iter(ids))
    pieces = list(writer(tokenizer).write(len(ids), Sampling()))
    assert "".join(pieces) == TEXT
    assert pieces.count("") > 20


def test_a_prompt_ends_a_character_that_was_begun(tokenizer, monkeypatch):
    made = writer(tokenizer)
    ids = tokenizer.encode("ü", add_special_tokens=False).ids
    monkeypatch.setattr("longdoc.generation.generate", lambda *_: iter(ids[:1]))
    assert text(made, 1) == [""]
    assert made.pending == ids[:1]
    assert list(made.read(io.StringIO("b"))) == [1]
    assert made.pending == []


@pytest.mark.parametrize("cut", [1, 20, 33, 59])
def test_a_saved_state_goes_on_as_if_in_one_go(tokenizer, tmp_path, cut):
    """Random bytes: most cuts lie within a character, and what is no UTF-8 at all must not stop the writing."""
    whole = text(writer(tokenizer), 60)
    first = writer(tokenizer)
    begun = text(first, cut)
    first.save(tmp_path / "state")
    second = writer(tokenizer, seed=5)
    second.load(tmp_path / "state")
    assert begun + list(second.write(60 - cut, Sampling())) == whole
    assert second.tokens == first.tokens + 60 - cut


def test_a_state_of_another_model_or_none_is_said(tokenizer, tmp_path):
    made = writer(tokenizer)
    text(made, 1)
    made.save(tmp_path / "state")
    for other in (writes(vocab_size=tokenizer.get_vocab_size()), writes(decay="fixed")):
        with pytest.raises(ValueError, match=r"state was read by another model"):
            Writer(Stream(other), tokenizer, torch.Generator()).load(tmp_path / "state")
    (tmp_path / "broken").write_text("no state")
    with pytest.raises(ValueError, match=r"broken is not a state of generate.py"):
        made.load(tmp_path / "broken")
    with pytest.raises(FileNotFoundError, match=r"gone is not there"):
        made.load(tmp_path / "gone")


def test_only_causal_models_of_next_tokens_write(tokenizer):
    data = {"data": "data/books", "max_length": 8, "batch_tokens": 8, "seed": 0}
    state = {"tokenizer": tokenizer.to_str()}
    for target, causal, message in (
        ("books.Books", True, r"task=books cannot write; train one with task=next_token"),
        ("next_token.NextToken", False, r"a stream needs attention.causal=true"),
    ):
        model = classifier(linear(causal=causal), pooling="none").eval()
        config = {"task": {"_target_": f"longdoc.tasks.{target}", **data}}
        with pytest.raises(ValueError, match=message):
            Writer.of(Loaded(model, config, state, 0))
