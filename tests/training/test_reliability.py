"""How often what was said came true, by hand and against the scores."""

import math

import pytest
import torch

from longdoc.training.reliability import BINS, calibration_error, reliability

CONFIDENCE = torch.tensor([1.0, 1.0, 1.0, 0.5, 0.5])
RIGHT = torch.tensor([True, False, True, True, True])


def test_the_calibration_error_by_hand():
    """Certain and right twice, certain and wrong once: |3 - 2| / 5; 0.5 and right twice: |1 - 2| / 5."""
    assert calibration_error(CONFIDENCE, RIGHT) == pytest.approx(2 / 5)


def test_the_bins_that_are_not_empty_by_hand():
    half, sure = reliability(CONFIDENCE, RIGHT)
    assert half == {"from": 7 / BINS, "to": 8 / BINS, "count": 2, "confidence": 0.5, "accuracy": 1.0}
    assert sure == {"from": 14 / BINS, "to": 1.0, "count": 3, "confidence": 1.0, "accuracy": pytest.approx(2 / 3)}


def test_the_bins_have_the_calibration_error():
    generator = torch.Generator().manual_seed(0)
    confidence = torch.rand(200, generator=generator)
    right = torch.rand(200, generator=generator) < confidence**2
    bins = reliability(confidence, right)
    assert sum(of["count"] for of in bins) == 200
    assert all(of["from"] <= of["confidence"] <= of["to"] for of in bins)
    error = sum(of["count"] * abs(of["confidence"] - of["accuracy"]) for of in bins) / 200
    assert calibration_error(confidence, right) == pytest.approx(error)


def test_the_calibration_error_of_a_run_that_went_wrong_is_nan_and_no_index_error():
    confidence, right = torch.tensor([math.nan, 0.5]), torch.tensor([True, False])
    assert math.isnan(calibration_error(confidence, right))
    assert math.isnan(reliability(confidence, right)[0]["confidence"])
