"""The comparison: groups, numbers against plain statistics, and what makes rows unlike."""

import statistics
from typing import Any

import pytest
from results.records import made

from longdoc.results import Record, config_hash
from longdoc.results.comparison import compare, of_folds, summarize, variant
from longdoc.results.folds import combine
from longdoc.results.table import to_markdown

SOFTMAX = [0.40, 0.44, 0.45]
ELU = [0.50, 0.52, 0.57]


def mixed(attention: str = "linear", decay: str = "none", **options: Any) -> Record:
    """A run with these values of encoder, or of attention."""
    record = made(attention, decay=decay)
    encoder = record["config"]["encoder"]
    for key, value in options.items():
        (encoder["attention"] if key in ("normalizer", "causal") else encoder)[key] = value
    return record | {"config_hash": config_hash(record["config"] | {"decay_": decay}), "run_id": str(options)}


def test_variant_names() -> None:
    assert variant(made("softmax")) == "softmax"
    assert variant(made()) == variant(made(decay="none")) == "elu"
    assert variant(made(feature_map="favor", decay="fixed")) == "favor+fixed"
    assert variant(made("window", feature_map=None)) == "window"
    assert variant(mixed(convolution=3, hybrid_every=2)) == "elu+conv3+hybrid2"
    assert variant(mixed(normalizer="magnitude", decay="fixed")) == "elu+fixed+magnitude"
    assert variant(mixed(normalizer="none")) == "elu+rmsnorm"
    assert variant(mixed(normalizer="sum", convolution=0, hybrid_every=0)) == "elu"


def test_summaries() -> None:
    assert summarize(ELU) == (statistics.fmean(ELU), statistics.stdev(ELU), 3)
    assert summarize([0.5, None, float("nan"), float("inf")]) == (0.5, None, 1)
    assert summarize([None]) == (None, None, 0)


def test_means_spreads_and_ratios_to_softmax() -> None:
    records = [made("softmax", seed=i, accuracy=a, speed=100.0 + i) for i, a in enumerate(SOFTMAX)]
    records += [made(seed=i, accuracy=a, speed=1000.0 + i) for i, a in enumerate(ELU)]
    records.append(made(feature_map="favor", decay="selective", accuracy=0.3, speed=50.5))
    (group,), unfinished = compare(records)
    assert unfinished == []
    assert [row.variant for row in group.rows] == ["elu", "softmax", "favor+selective"]
    elu, softmax, favor = group.rows
    assert elu.values["test/accuracy"] == (statistics.fmean(ELU), statistics.stdev(ELU), 3)
    assert elu.values["tokens_per_second"] == (1001.0, 1.0, 3)
    assert favor.values["test/accuracy"] == (0.3, None, 1)
    assert elu.speed_ratio == pytest.approx(1001 / 101)
    assert elu.accuracy_difference == pytest.approx(statistics.fmean(ELU) - statistics.fmean(SOFTMAX))
    assert (softmax.speed_ratio, softmax.accuracy_difference) == (1.0, 0.0)
    assert favor.speed_ratio == 0.5
    assert group.references == {"majority": (0.171, 0.0, 7), "root_operator": (0.35, pytest.approx(0), 7)}
    assert [note for row in group.rows for note in row.notes] + group.notes == []


@pytest.mark.parametrize(
    "other",
    [
        {"task": "books"},
        {"protocol": "lra"},
        {"source": "local"},
        {"max_length": 4000},
        {"encoder": "base"},
        {"budget": {"max_time": 60.0, "max_steps": None, "max_epochs": None}},
        {"budget": {"max_time": 600.0, "max_tokens": 5_000_000}},
        {"splits": {"train": {"rows": 100}, "validation": {"rows": 2000}, "test": {"rows": 2000}}},
    ],
)
def test_what_may_not_be_compared_stands_apart(other: dict[str, Any]) -> None:
    groups, _ = compare([made("softmax"), made(), made(seed=2, accuracy=0.7, **other)])
    assert sorted([len(row.records) for row in group.rows] for group in groups) == [[1], [1, 1]]
    alone = next(group for group in groups if len(group.rows) == 1)
    assert (alone.rows[0].speed_ratio, alone.rows[0].accuracy_difference) == (None, None)
    assert len({group.title + group.subtitle for group in groups}) == 2


def test_titles() -> None:
    (group,), _ = compare([made()])
    assert group.title == "listops · longdoc · 2,000 tokens · small · 10 min"
    assert group.subtitle == "train 96,000, validation 2,000, test 2,000 documents"
    (group,), _ = compare([made(source="generated")])
    assert group.title == "listops · longdoc · 2,000 tokens · small · generated · 10 min"
    limits = {"max_time": 5400, "max_steps": 5000, "max_epochs": 3}
    (group,), _ = compare([made(budget=limits)])
    assert group.title.endswith("small · 3 epochs, 5,000 steps, 1.5 h")
    (group,), _ = compare([made(budget={"max_tokens": 5e6})])
    assert group.title.endswith("2,000 tokens · small · 5,000,000 training tokens")
    (group,), _ = compare([made(budget={"max_time": None})])
    assert group.title.endswith("small · no limit")


def test_collections_of_equal_size_stand_apart_by_name() -> None:
    def of(**task: Any) -> Record:
        record = made(task="documents", source="local")
        record["config"]["task"] |= {"path": None, "data": None} | task
        return record

    runs = [of(path="mine/reviews.csv"), of(path="/elsewhere/reviews.csv"), of(path="hf:me/tasks", config="de"), of()]
    groups, _ = compare([*runs, of(data="data/documents")])
    assert [(group.title.split(" · ")[:3], len(group.rows[0].records)) for group in groups] == [
        (["documents", "longdoc", "2,000 tokens"], 2),
        (["documents", "reviews.csv", "longdoc"], 2),
        (["documents", "tasks de", "longdoc"], 1),
    ]


def test_runs_that_cut_nothing_are_of_whole_documents() -> None:
    def whole(length: int, **others: Any) -> Record:
        record = made(max_length=length, **others)
        record["config"]["task"]["truncation"] = "none"
        return record

    groups, unfinished = compare([whole(4096), whole(512, seed=2), made(), whole(4096, status="failed", seed=3)])
    titles = [
        "listops · longdoc · 2,000 tokens · small · 10 min",
        "listops · longdoc · whole documents · small · 10 min",
    ]
    assert [group.title for group in groups] == titles
    assert len(groups[1].rows[0].records) == 2
    assert "(listops · longdoc · whole documents · small; run " in to_markdown(groups, unfinished)


def test_groups_are_ordered_by_length() -> None:
    groups, _ = compare([made(max_length=length) for length in (16_000, 2000, 4000)])
    assert [group.conditions["max_length"] for group in groups] == [2000, 4000, 16_000]


def test_equal_budgets_are_equal_however_written() -> None:
    groups, _ = compare([made(budget={"max_time": 600}), made(seed=2)])
    assert len(groups) == 1


def test_settings_of_one_map_tell_its_rows_apart_but_not_other_variants() -> None:
    few, many = (made(feature_map="favor", accuracy=0.5 + n / 1000, config_hash=str(n)) for n in (16, 64))
    for record, features in ((few, 16), (many, 64)):
        record["config"]["encoder"]["attention"]["feature_map"]["features"] = features
    (group,), _ = compare([few, many, made("softmax", accuracy=0.1)])
    key = "encoder.attention.feature_map.features"
    assert [row.settings for row in group.rows] == [{key: 64}, {key: 16}, {}]


def test_other_ways_to_mix_are_rows_of_their_own_with_nothing_to_note() -> None:
    plain = {"normalizer": "sum", "causal": False, "convolution": 0, "hybrid_every": 0}
    options = [{}, {"decay": "fixed"}, {"convolution": 3}, {"normalizer": "magnitude"}, {"hybrid_every": 2}]
    (group,), _ = compare(mixed(**plain | other) for other in options)
    names = {"elu", "elu+fixed", "elu+conv3", "elu+magnitude", "elu+hybrid2"}
    assert {row.variant for row in group.rows} == names
    assert all(len(row.records) == 1 and row.settings == {} for row in group.rows)
    assert group.notes == []


def test_softmax_behind_a_convolution_is_softmax_still() -> None:
    (group,), _ = compare([mixed(convolution=3), mixed("softmax", convolution=3)])
    assert {row.variant: row.speed_ratio for row in group.rows} == {"elu+conv3": 1.0, "softmax+conv3": 1.0}


def test_what_tokens_may_read_is_noted_beside_the_variant() -> None:
    (group,), _ = compare([mixed(causal=True), mixed("softmax", causal=False)])
    assert group.notes == ["encoder.attention.causal differs: True (elu); False (softmax)"]


def test_softmax_with_several_settings_is_chosen_by_validation() -> None:
    good = made("softmax", speed=10.0, metrics={"val/accuracy": 0.9, "test/accuracy": 0.4})
    bad = made("softmax", speed=20.0, config_hash="other", metrics={"val/accuracy": 0.1, "test/accuracy": 0.5})
    (group,), _ = compare([made(speed=100.0), good, bad])
    assert next(row for row in group.rows if row.variant == "elu").speed_ratio == 10.0
    assert any("the best in val/accuracy" in note for note in group.notes)


def test_a_row_is_compared_with_softmax_on_the_same_documents() -> None:
    def run(pairs: int, attention: str = "linear", content: str | None = None, **options: Any) -> Record:
        record = made(attention, config_hash=f"{attention}{pairs}", references={"guess": 1 / pairs}, **options)
        record["splits"]["test"]["content"] = content
        return record

    records = [run(4, "softmax", accuracy=0.9, speed=1.0), run(4, accuracy=0.8, speed=2.0)]
    records += [run(8, "softmax", accuracy=0.7, speed=4.0), run(8, accuracy=0.5, speed=2.0), run(16)]
    (group,), _ = compare(records)
    found = {row.variant: (row.accuracy_difference, row.speed_ratio) for row in group.rows}
    assert found["elu"] == (pytest.approx(-0.1), 2.0)
    assert found["elu (3)"] == (pytest.approx(-0.2), 0.5)
    assert found["elu (2)"] == (None, None)
    assert "elu (2): no softmax has read the same documents" in [
        f"{row.variant}: {note}" for row in group.rows for note in row.notes
    ]

    records = [run(4, "softmax", "a"), run(4, content="b", seed=1), run(4, content="a", seed=2)]
    records[2]["config_hash"] += "b"
    (group,), _ = compare(records)
    assert [row.softmax is None for row in group.rows if row.variant != "softmax"] == [True, False]


def test_references_that_differ_are_said() -> None:
    (group,), _ = compare([made(), made(seed=2, references={"majority": 0.2})])
    assert group.references["majority"].mean == pytest.approx(0.1855)
    assert "majority differs between the runs: they did not see the same documents" in group.notes


def test_other_documents_under_the_same_counts_are_noted():
    def of(content):
        splits = made()["splits"]
        return {name: counts | {"content": f"{name}0"} for name, counts in splits.items()} | {
            "test": splits["test"] | content
        }

    ours, theirs, old = {"content": "aa"}, {"content": "bb"}, {}
    (group,), _ = compare(
        [made(splits=of(ours)), made("softmax", splits=of(theirs)), made("softmax", seed=2, splits=of(old))]
    )
    assert [note for note in group.notes if "content" in note] == [
        "the content of the test split differs: aa (elu); bb (softmax)"
    ]
    (group,), _ = compare(
        [made(splits=of(ours)), made("softmax", splits=of(ours)), made("softmax", seed=2, splits=of(old))]
    )
    assert not [note for note in group.notes if "content" in note]


def test_baselines_stand_beside_every_run_on_the_same_documents() -> None:
    def baseline(name: str, accuracy: float, **others: Any) -> dict[str, Any]:
        words = {"attention": None, "feature_map": None, "encoder": None, "max_length": None, "budget": {}}
        return made(accuracy=accuracy, baseline=name, run_id=name, config_hash=name, **words | others)

    other = {"splits": {name: {"rows": 7} for name in ("train", "validation", "test")}}
    records = [
        made("softmax", accuracy=0.6), made(accuracy=0.7, max_length=512), made(accuracy=0.5, task="text"),
        baseline("tfidf", 0.9), baseline("tfidf 512", 0.8, max_length=512), baseline("tfidf", 0.4, **other),
    ]  # fmt: skip
    groups, _ = compare(records)
    shown = {group.title: [(row.variant, row.accuracy_difference) for row in group.baselines] for group in groups}
    assert shown == {
        "listops · longdoc": [("tfidf", None)],  # of other documents
        "listops · longdoc · 512 tokens · small · 10 min": [("tfidf", None), ("tfidf 512", None)],
        "listops · longdoc · 2,000 tokens · small · 10 min": [
            ("tfidf", pytest.approx(0.3)),
            ("tfidf 512", pytest.approx(0.2)),
        ],
        "text · longdoc · 2,000 tokens · small · 10 min": [],
    }
    assert all(row.speed_ratio is None for group in groups for row in group.baselines)
    assert not any(group.notes for group in groups)
    markdown = to_markdown(groups, [])
    assert markdown.count("| *tfidf* | *1* | *0.900* |") == 2


def test_a_baseline_stands_beside_runs_of_other_protocols_on_documents_known_to_be_the_same() -> None:
    def splits(*contents: str | None) -> dict[str, Any]:
        names = ("train", "validation", "test")
        return {name: {"rows": 9, "content": content} for name, content in zip(names, contents, strict=True)}

    words = {"attention": None, "feature_map": None, "encoder": None, "max_length": None, "budget": {}}
    tfidf = made(baseline="tfidf", config_hash="b", splits=splits("a", "b", "c"), **words)
    groups, _ = compare(
        [
            tfidf, made(splits=splits("a", "b", "c")), made(splits=splits("a", "b", "c"), protocol="s4"),
            made(splits=splits("a", "b", "d"), protocol="skyformer"), made(splits=splits(None, "b", "c"), protocol="x"),
        ]
    )  # fmt: skip
    shown = {group.conditions["protocol"]: [row.variant for row in group.baselines] for group in groups}
    assert shown == {"longdoc": ["tfidf"], "s4": ["tfidf"], "skyformer": [], "x": []}


def test_a_run_of_folds_is_one_row_with_its_interval() -> None:
    def fold(accuracy: float) -> Record:
        return made(accuracy=accuracy) | {"validation_seconds": 1.0, "train_seconds": 2.0}

    whole = combine([fold(accuracy) for accuracy in (0.5, 0.6, 0.7)])
    assert whole["tokens"] == 3 * made()["tokens"]
    assert whole["wall_seconds"] == 3 * made()["wall_seconds"]
    (group,), _ = compare([whole])
    (row,) = group.rows
    half = 4.302653 * 0.1 / 3**0.5  # Student's t of 2 degrees of freedom
    assert row.values["test/accuracy"].mean == pytest.approx(0.6)
    assert of_folds(whole) == pytest.approx((0.6 - half, 0.6 + half))
    assert f"| elu | 1 | 0.600 ± {half:.3f} |" in to_markdown([group], [])
    assert row.notes == ["mean of 3 folds; ± is half of its interval, Student's t over folds, 95 %"]
