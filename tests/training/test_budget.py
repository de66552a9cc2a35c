"""When a run ends and what its learning rate does meanwhile."""

import math

import pytest
import torch

from longdoc.training.budget import Budget, seconds
from longdoc.training.schedule import WarmupCosine, WarmupLinear


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("00:00:07:00", 420.0), ("01:02:03:04", 93784.0), ({"hours": 1, "minutes": 30}, 5400.0), (None, None)],
)
def test_limits_of_time_are_read_in_lightnings_notations(limit, expected):
    assert seconds(limit) == expected


@pytest.mark.parametrize("limit", ["7 minutes", "07:00", "00:00:00:00"])
def test_a_limit_of_time_that_is_none_says_how_to_write_it(limit):
    with pytest.raises(ValueError, match=r"trainer\.max_time"):
        seconds(limit)


def test_progress_is_the_largest_share_used():
    budget = Budget(max_time=100.0, max_steps=10, max_epochs=4, epoch_steps=5)
    assert budget.progress(1) == 0.1
    budget.elapsed = 50.0
    assert budget.progress(1) == 0.5
    assert Budget(None, None, 4, 5).progress(10) == pytest.approx(0.5)


def test_an_epoch_is_over_with_its_last_step():
    assert Budget(None, None, 1, 3).progress(3) >= 1 > Budget(None, None, 1, 3).progress(2)
    assert Budget(None, None, 3, 7).progress(21) >= 1 > Budget(None, None, 3, 7).progress(20)


def test_tokens_of_all_batches_are_counted_and_survive_a_checkpoint():
    budget = Budget(None, 100, None, 1, max_tokens=1000)
    for tokens in (30, 70):
        budget.on_train_batch_start(None, None, {"tokens": torch.tensor(tokens)}, 0)
    assert budget.progress(1) == 0.1
    assert budget.progress(20) == 0.2
    resumed = Budget(None, None, None, 1, max_tokens=200)
    resumed.load_state_dict(budget.state_dict())
    assert resumed.progress(0) == 0.5


def test_a_run_begun_before_there_was_a_limit_of_tokens_goes_on_with_its_count():
    budget = Budget(None, 100, None, 1, max_tokens=200)
    states = {"Budget": {"elapsed": 3.0}, "Throughput": {"tokens": 50, "timed": [40, 2.0]}}
    budget.on_load_checkpoint(None, None, {"callbacks": states})
    budget.load_state_dict(states[budget.state_key])
    assert (budget.elapsed, budget.tokens, budget.progress(0)) == (3.0, 50, 0.25)


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({}, "a run needs one of trainer.max_time, trainer.max_steps, trainer.max_epochs, trainer.max_tokens"),
        ({"max_steps": 0}, "trainer.max_steps=0 must be a number greater than 0, or null for no limit"),
        ({"max_epochs": -1}, "trainer.max_epochs=-1 must be"),
        ({"max_tokens": "5M"}, "trainer.max_tokens=5M must be a number"),
    ],
)
def test_a_run_without_an_end_is_refused(limits, sentence):
    none = dict.fromkeys(("max_time", "max_steps", "max_epochs", "max_tokens"))
    with pytest.raises(ValueError, match=f"^{sentence}"):
        Budget(**none | limits, epoch_steps=1)


def test_elapsed_time_survives_a_checkpoint():
    budget = Budget(100.0, None, None, 1)
    budget.elapsed = 30.0
    resumed = Budget(100.0, None, None, 1)
    resumed.load_state_dict(budget.state_dict())
    assert resumed.progress(0) == pytest.approx(0.3)


def test_warm_up_is_linear_in_steps_and_the_cosine_ends_at_the_minimum():
    schedule = WarmupCosine(warmup_steps=4, minimum=0.1)
    assert [schedule(step, 0.0) for step in range(6)] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0, 1.0])
    assert schedule(104, 104 / 204) == pytest.approx(0.55)  # half of what is left after the warm-up
    assert schedule(100, 1.0) == pytest.approx(0.1)
    assert schedule(100, 1.7) == pytest.approx(0.1)


@pytest.mark.parametrize(("warmup", "steps"), [(8000, 20_000), (1000, 5000), (80, 50_000)])
def test_a_linear_schedule_is_that_of_the_published_protocols(warmup, steps):
    """torch's OneCycleLR, which begins to fall where the warm-up ends."""
    optimizer = torch.optim.AdamW([torch.zeros(1, requires_grad=True)], lr=1.0)
    theirs = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=1.0, pct_start=warmup / steps, anneal_strategy="linear", total_steps=steps
    )
    ours = WarmupLinear(warmup_steps=warmup, start=0.04)
    for step in range(0, steps - 1):
        assert ours(step, step / steps) == pytest.approx(optimizer.param_groups[0]["lr"], abs=0.013)
        optimizer.step()
        theirs.step()
    assert ours(warmup, warmup / steps) == 1


def test_epochs_of_a_stream_are_not_known():
    assert Budget(None, 10, None, math.inf).epochs(5) is None
    assert Budget(None, 10, None, 4).epochs(6) == 1.5
    with pytest.raises(ValueError, match=r"^trainer.max_epochs=2: how many steps an epoch of task.streaming=true"):
        Budget(None, 10, 2, math.inf)
