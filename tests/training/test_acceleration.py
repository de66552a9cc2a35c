"""bf16 and compilation: what the machine can do, and that compiling changes nothing else."""

import os
import subprocess
import sys
from contextlib import nullcontext

import pytest
import torch
from torch import nn

from longdoc.training.acceleration import choose_compile, choose_precision, compile_ahead

SCRIPT = "from longdoc.training.acceleration import choose_compile; print(choose_compile({!r}, 'cpu', print))"


def without_a_compiler(wanted, folder) -> subprocess.CompletedProcess:
    environment = os.environ | {"CXX": "/nowhere/g++", "TORCHINDUCTOR_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", SCRIPT.format(wanted)]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_without_a_compiler_one_line_says_so_and_the_run_goes_on(tmp_path):
    done = without_a_compiler("auto", tmp_path)
    assert done.returncode == 0, done.stderr
    line, chosen = done.stdout.splitlines()
    assert line.startswith("training is not compiled, since torch.compile does not work here: ")
    assert chosen == "False"


def test_compilation_that_is_asked_for_and_impossible_is_an_error(tmp_path):
    done = without_a_compiler(True, tmp_path)
    assert done.returncode == 1
    assert "trainer.compile=true, but torch.compile does not work here" in done.stderr


def test_words_other_than_auto_stay():
    assert choose_precision("32-true", "cpu", print) == "32-true"
    assert choose_precision("16-mixed", "cuda", print) == "16-mixed"
    assert choose_precision("auto", "cpu", print) in ("bf16-mixed", "32-true")
    assert choose_compile(False, "cpu", print) is False
    with pytest.raises(ValueError, match="must be true, false or auto"):
        choose_compile("maybe", "cpu", print)


def test_without_native_bfloat16_one_line_says_so(monkeypatch):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    said: list[str] = []
    assert choose_precision("auto", "cpu", said.append) == "32-true"
    assert said == ["training runs in float32, since this processor does not multiply bfloat16 natively"]


class Sum(nn.Module):
    """Logits from ids, with dropout and a count of documents, so that compiling ahead could disturb its state."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 4)
        self.dropout = nn.Dropout(0.5)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, ids, mask=None):
        self.seen += len(ids)
        x = self.dropout(self.embedding(ids))
        return x.mean(1) if mask is None else (x * mask[..., None]).sum(1)


class Rows(Sum):
    """Logits of tokens."""

    def forward(self, ids, mask=None):
        return self.dropout(self.embedding(ids))


def test_models_of_tokens_are_compiled_ahead_too():
    model = Rows()
    compile_ahead(model, [(8, 2, False)], torch.device("cpu"), nullcontext)
    assert model(torch.zeros(2, 8, dtype=torch.long)).shape == (2, 8, 4)


class Pairs(Sum):
    """Logits of pairs, as a Classifier with an interaction has them."""

    interaction = "full"

    def forward(self, ids, mask=None):
        x = self.embedding(ids) if mask is None else self.embedding(ids) * mask[..., None]
        a, b = x.sum(2).unbind(1)
        return a * b


def test_models_of_pairs_are_compiled_ahead_in_the_shapes_of_pairs():
    model = Pairs()
    compile_ahead(model, [(8, 2, True)], torch.device("cpu"), nullcontext)
    with torch.compiler.set_stance("fail_on_recompile"):
        ids = torch.ones(2, 2, 8, dtype=torch.long)
        assert model(ids, torch.ones_like(ids, dtype=torch.bool)).shape == (2, 4)


def test_compiling_ahead_leaves_weights_gradients_and_random_state_and_allows_no_other_shape():
    model = Sum()
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.get_rng_state()
    compile_ahead(model, [(8, 2, False), (4, 3, True)], torch.device("cpu"), nullcontext)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(p.grad is None for p in model.parameters())
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())
    model(torch.zeros(2, 8, dtype=torch.long))  # a planned shape
    with pytest.raises(Exception, match="recompile"):  # noqa: PT012
        for length in range(20, 26):
            model(torch.zeros(1, length, dtype=torch.long))
