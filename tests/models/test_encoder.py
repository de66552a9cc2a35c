"""The stack of blocks, with every mixer and option."""

import pytest
import torch
from reference import MIXERS, classifier, each, linear

from longdoc.models import Encoder

SIZES = {"vocab_size": 20, "max_length": 8, "width": 16, "depth": 2, "heads": 2, "feedforward": 24}


@pytest.mark.parametrize("mixer", **each(MIXERS))
@pytest.mark.parametrize("gate", [False, True])
def test_output_is_the_sum_of_what_the_blocks_add(mixer, gate):
    """Pre-norm: each block adds to the stream, and only the end is normalised."""
    encoder = Encoder(**SIZES, attention=mixer, gate=gate).double()
    ids = torch.randint(0, 20, (2, 7))
    output, embedded = encoder(ids)
    assert torch.equal(embedded, encoder.embedding.weight[ids])
    stream = embedded
    for block in encoder.blocks:
        stream = stream + block.attention(block.attention_norm(stream))
        stream = stream + block.feedforward(block.feedforward_norm(stream))
    torch.testing.assert_close(output, encoder.norm(stream), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mixer", **each(MIXERS))
def test_dropout_acts_in_training_only(mixer):
    encoder = Encoder(**SIZES, attention=mixer, dropout=0.5)
    ids = torch.randint(0, 20, (2, 7))
    assert not torch.equal(encoder.train()(ids)[0], encoder.train()(ids)[0])
    assert torch.equal(encoder.eval()(ids)[0], encoder.eval()(ids)[0])


def test_every_parameter_gets_a_gradient():
    for _, mixer in MIXERS:
        for positions in ("none", "learned", "sinusoidal", "rotary"):
            encoder = Encoder(**SIZES, attention=mixer, positions=positions, gate=True)
            output, _ = encoder(torch.randint(0, 20, (2, 8)))
            (output * torch.randn_like(output)).sum().backward()
            for name, parameter in encoder.named_parameters():
                assert parameter.grad is not None, name
                assert parameter.grad.abs().sum() > 0, name


def test_heads_that_do_not_divide_the_width_are_named():
    with pytest.raises(ValueError, match=r"encoder.heads=3 does not divide encoder.width=16"):
        Encoder(**{**SIZES, "heads": 3}, attention=MIXERS[0][1])


def test_heads_of_their_own_size_need_not_divide_the_width():
    """LRA's image model: width 128, 8 heads of 8."""
    encoder = Encoder(**SIZES | {"width": 128, "heads": 8}, head_dim=8, attention=MIXERS[0][1])
    assert encoder.blocks[1].attention.out.weight.shape == (128, 64)
    Encoder(**SIZES | {"heads": 3}, head_dim=2, attention=MIXERS[0][1])
    with pytest.raises(ValueError, match=r"^encoder.head_dim=0 must be a whole number of at least 1$"):
        Encoder(**SIZES, head_dim=0, attention=MIXERS[0][1])


def test_gray_levels_are_normalised_values_through_a_linear_layer():
    encoder = Encoder(**SIZES | {"vocab_size": 257}, attention=linear(), inputs="values").double()
    ids = torch.tensor([[1, 100, 256, 0]])
    weight, bias = encoder.embedding.linear.weight[:, 0], encoder.embedding.linear.bias
    _, embedded = encoder(ids, ids > 0)
    for place, level in enumerate([0, 99, 255]):
        expected = weight * ((level / 255 - 0.48) / 0.24) + bias
        torch.testing.assert_close(embedded[0, place], expected, rtol=1e-12, atol=1e-12)


def test_padding_after_gray_levels_does_not_matter():
    model = classifier(linear(), pooling="mean+embeddings", vocab_size=257, inputs="values")
    ids = torch.randint(1, 257, (1, 6))
    mask = (torch.arange(12) < 6)[None]
    padded = torch.cat([ids, torch.randint(0, 257, (1, 6))], dim=1)
    torch.testing.assert_close(model(padded, mask), model(ids), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ("pixels", "encoder.inputs=pixels is not one of tokens, values"),
        ("values", "encoder.inputs=values takes ids for gray levels, 257 with padding; this task has 20: choose"),
    ],
)
def test_inputs_that_cannot_be_are_refused(inputs, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        Encoder(**SIZES, attention=linear(), inputs=inputs)
