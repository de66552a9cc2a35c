"""When a run ends and what its learning rate does meanwhile."""

import pytest

from longdoc.training.budget import Budget, seconds
from longdoc.training.schedule import WarmupCosine


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


@pytest.mark.parametrize("limits", [(None, None, None), (None, 0, None), (None, None, -1)])
def test_a_run_without_an_end_is_refused(limits):
    with pytest.raises(ValueError, match="trainer"):
        Budget(*limits, epoch_steps=1)


def test_elapsed_time_survives_a_checkpoint():
    budget = Budget(100.0, None, None, 1)
    budget.elapsed = 30.0
    resumed = Budget(100.0, None, None, 1)
    resumed.load_state_dict(budget.state_dict())
    assert resumed.progress(0) == pytest.approx(0.3)


def test_warm_up_is_linear_in_steps_and_the_cosine_ends_at_the_minimum():
    schedule = WarmupCosine(warmup_steps=4, minimum=0.1)
    assert [schedule(step, 0.0) for step in range(6)] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0, 1.0])
    assert schedule(100, 0.5) == pytest.approx(0.55)
    assert schedule(100, 1.0) == pytest.approx(0.1)
    assert schedule(100, 1.7) == pytest.approx(0.1)
