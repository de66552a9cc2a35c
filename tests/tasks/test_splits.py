"""Rows dealt out to splits: shares of each class, groups whole, by content alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.tasks.splits import assign

SHARES = (0.8, 0.1, 0.1)


def names(count):
    return [f"document {i}" for i in range(count)]


def test_every_class_has_its_share_of_every_part():
    labels = np.repeat([0, 1, 2], [100, 50, 20])
    parts = assign(labels, names(170), SHARES, seed=0)
    for label, count in enumerate([100, 50, 20]):
        assert np.bincount(parts[labels == label]).tolist() == [count * 8 // 10, count // 10, count // 10]


def test_folds_of_classes_that_do_not_divide_differ_by_one_row():
    labels = np.repeat([0, 1], [63, 38])
    parts = assign(labels, names(101), [0.2] * 5, seed=3)
    for rows in (labels >= 0, labels == 0, labels == 1):
        sizes = np.bincount(parts[rows], minlength=5)
        assert sizes.max() - sizes.min() <= 1


def test_the_order_of_the_rows_does_not_matter_and_the_seed_does():
    labels, units = np.arange(60) % 3, names(60)
    parts = assign(labels, units, SHARES, seed=0)
    order = np.random.default_rng(0).permutation(60)
    assert (assign(labels[order], [units[i] for i in order], SHARES, seed=0) == parts[order]).all()
    assert (assign(labels, units, SHARES, seed=1) != parts).any()


def test_groups_stay_whole_and_the_parts_near_their_shares():
    rng = np.random.default_rng(1)
    groups = [f"author {i}" for i in rng.integers(0, 60, 1000)]
    labels = rng.integers(0, 4, 1000)
    parts = assign(labels, groups, SHARES, seed=0)
    for group in set(groups):
        assert len(set(parts[[g == group for g in groups]])) == 1
    assert np.abs(np.bincount(parts) / 1000 - SHARES).max() < 0.02
    for label in range(4):
        assert np.abs(np.bincount(parts[labels == label]) / (labels == label).sum() - SHARES).max() < 0.05


def test_documents_of_several_classes_keep_each_class_near_its_share():
    rng = np.random.default_rng(2)
    labels = rng.random((2000, 5)) < [0.5, 0.2, 0.1, 0.05, 0.02]
    parts = assign(labels, names(2000), SHARES, seed=0)
    assert np.abs(np.bincount(parts) / 2000 - SHARES).max() < 0.01
    for label in range(5):
        wanted = np.array(SHARES) * labels[:, label].sum()
        assert np.abs(np.bincount(parts[labels[:, label]], minlength=3) - wanted).max() <= 3


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=40), st.integers(0, 5))
def test_no_part_is_empty_where_there_are_enough_units(rows, seed):
    labels, units = np.array([label for label, _ in rows]), [str(unit) for _, unit in rows]
    if len(set(units)) < 3:
        with pytest.raises(ValueError, match=r"that must stay whole cannot be in 3 parts"):
            assign(labels, units, SHARES, seed)
        return
    parts = assign(labels, units, SHARES, seed)
    assert set(parts) == {0, 1, 2}
    assert len({(unit, part) for unit, part in zip(units, parts, strict=True)}) == len(set(units))
