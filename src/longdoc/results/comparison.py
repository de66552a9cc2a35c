"""Runs grouped like beside like: means with their spread, and in words what makes rows unlike."""

import math
import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from longdoc.results.conditions import SPEED_CONDITIONS, WHOLE, budget_text, conditions_of, conditions_text, data_name
from longdoc.results.departures import departures_text
from longdoc.results.published import Published, of
from longdoc.results.record import Record, flatten, of_variant, settings
from longdoc.results.trials import Values, chosen, kind, values_tried, varied

ACCURACY = "test/accuracy"
F1 = "test/f1_micro"  # of documents with any number of classes
SPEED = "tokens_per_second"
QUANTITIES = ("parameters", "epochs", "steps", "tokens", SPEED, "peak_memory_mb", "wall_seconds")
_NOTED_CONDITIONS = (*SPEED_CONDITIONS, "commit")  # other commits are worth a note, too


class Summary(NamedTuple):
    """Mean and sample standard deviation of ``n`` numbers; no mean without a number, no spread below two."""

    mean: float | None
    std: float | None
    n: int


@dataclass
class Row:
    """The runs of one variant under one set of settings; of several sets of optimizer and schedule the one that was
    best in validation, ``trials`` holding all.

    ``settings`` are those that another row of the group has otherwise. ``speed_ratio`` and
    ``accuracy_difference`` are against softmax, None where the group has none; ``like_softmax`` says whether
    the two speeds were measured under the same conditions.
    """

    variant: str
    records: list[Record]
    values: dict[str, Summary]
    settings: dict[str, Any] = field(default_factory=dict)
    speed_ratio: float | None = None
    accuracy_difference: float | None = None
    like_softmax: bool = True
    softmax: "Row | None" = field(default=None, compare=False, repr=False)  # that it is compared with
    notes: list[str] = field(default_factory=list)
    trials: list["Row"] = field(default_factory=list, compare=False, repr=False)  # itself among them
    tried: list[Values] = field(default_factory=list)  # of all trials, also of those that failed


@dataclass
class Group:
    """Rows that may be compared: of one set of conditions, budget and number of documents."""

    conditions: dict[str, Any]  # GROUP_CONDITIONS; of baselines alone no length and encoder
    budget: dict[str, float]
    documents: dict[str, int]
    rows: list[Row]
    references: dict[str, Summary]
    notes: list[str]
    baselines: list[Row] = field(default_factory=list)  # of the same documents: no length, encoder or budget binds them
    published: list[Published] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)  # what the protocol here does otherwise than the published one

    @property
    def title(self) -> str:
        """Task · data · protocol · length · encoder · source · budget."""
        return conditions_text(self.conditions) + (f" · {budget_text(self.budget)}" if self.rows else "")

    @property
    def subtitle(self) -> str:
        """How many documents each split holds."""
        return ", ".join(f"{name} {rows:,}" for name, rows in self.documents.items()) + " documents"


def variant(record: Record) -> str:
    """The feature map, or the attention without one, and what else mixes tokens: ``favor+selective+conv3``.

    Of a baseline its name, and how many tokens it read of each document if not all.
    """
    if record.get("baseline"):
        return record["baseline"]
    encoder = record["config"].get("encoder", {})
    attention = encoder.get("attention", {})
    parts = [record["feature_map"] or record["attention"]]
    if record["decay"] not in (None, "none"):
        parts.append(record["decay"])
    if (normalizer := attention.get("normalizer", "sum")) != "sum":
        parts.append({"none": "rmsnorm"}.get(normalizer, normalizer))
    if kernel := encoder.get("convolution"):
        parts.append(f"conv{kernel}")
    if every := encoder.get("hybrid_every"):
        parts.append(f"hybrid{every}")
    return "+".join(parts)


def of_folds(record: Record) -> tuple[float, float] | None:
    """The limits of the mean test accuracy over the folds of a record; None of a run without folds."""
    found = record.get("folds", {}).get("metrics", {}).get(ACCURACY)
    return (found["low"], found["high"]) if found else None


def summarize(values: Iterable[Any]) -> Summary:
    """Mean and spread of the finite numbers among ``values``."""
    numbers = [float(value) for value in values if isinstance(value, int | float) and math.isfinite(value)]
    return Summary(
        statistics.fmean(numbers) if numbers else None,
        statistics.stdev(numbers) if len(numbers) > 1 else None,
        len(numbers),
    )


def compare(records: Iterable[Record]) -> tuple[list[Group], list[Record]]:
    """Groups of what may be compared, and the records of runs that are not finished.

    Groups are ordered by task, data, protocol and length, rows by test accuracy, the best first.
    """
    groups: dict[tuple, list[Record]] = {}
    baselines, unfinished = [], []
    names: Counter[str] = Counter()
    for record in records:
        names[record["run_id"]] += 1
        if record["status"] != "finished":
            unfinished.append(record)
        elif record.get("baseline"):
            baselines.append(record)
        else:
            groups.setdefault(_group_key(record), []).append(record)
    failed = [record for record in unfinished if record["status"] == "failed" and not record.get("baseline")]
    made = [_group(runs, [record for record in baselines if _beside(record, runs)], failed) for runs in groups.values()]
    alone: dict[tuple, list[Record]] = {}
    for record in baselines:
        if not any(_beside(record, runs) for runs in groups.values()):
            alone.setdefault(_data_key(record), []).append(record)
    made += [_group([], members, []) for members in alone.values()]
    for row in (row for group in made for row in (*group.rows, *group.baselines)):
        twice = dict.fromkeys(record["run_id"] for record in row.records if names[record["run_id"]] > 1)
        row.notes += [f"{names[name]} runs have the name {name}" for name in twice]
    return sorted(made, key=_group_order), unfinished


def beside_published(groups: Iterable[Group]) -> None:
    """Gives each group the published rows of its protocol and task, and says in what the protocols differ."""
    for group in groups:
        group.published = of(group.conditions["protocol"], group.conditions["task"])
        if group.published:
            rows = [*group.rows, *group.baselines]
            configs = (record["config"].get("protocol", {}) for row in rows for record in row.records)
            said = (config.get(key, []) for config in configs for key in ("differs", "differs_in_task"))
            group.differs = list(dict.fromkeys(sentence for sentences in said for sentence in sentences))


def _budget(record: Record) -> dict[str, float]:
    return {key: value for key, value in sorted(record["budget"].items()) if value is not None}


def _documents(record: Record) -> dict[str, int]:
    return {name: split["rows"] for name, split in record["splits"].items()}


def _group_key(record: Record) -> tuple:
    return *conditions_of(record).values(), tuple(_budget(record).items()), tuple(sorted(_documents(record).items()))


def _data_key(record: Record) -> tuple:
    data = record["task"], data_name(record), record.get("source"), tuple(sorted(_documents(record).items()))
    return record["protocol"], *data


def _beside(baseline: Record, runs: list[Record]) -> bool:
    """Whether a baseline belongs to a group. Of a protocol it reads nothing but the documents: it also stands beside
    runs of another one whose documents are known to be the same."""
    protocol, *data = _data_key(baseline)
    contents = _contents(baseline)
    return any(
        data == of_run and (protocol == other or (None not in contents and contents == _contents(run)))
        for run in runs
        for other, *of_run in [_data_key(run)]
    )


def _contents(record: Record) -> list[str | None]:
    return [split.get("content") for _, split in sorted(record["splits"].items())]


def _group_order(group: Group) -> tuple:
    task, data, protocol, length, *_ = group.conditions.values()
    return task, data or "", protocol, math.inf if length == WHOLE else length or 0, group.title, group.subtitle


def _rows(records: list[Record], failed: list[Record]) -> list[Row]:
    by_row: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        by_row.setdefault((variant(record), record["config_hash"]), []).append(record)
    by_kind: dict[tuple[str, str], list[Row]] = {}
    for (name, _), members in sorted(by_row.items()):
        by_kind.setdefault((name, kind(members[0])), []).append(_row(name, members))
    lost = [(variant(record), kind(record), record) for record in failed]
    rows = []
    for row_of, trials in by_kind.items():
        tried = [values_tried(row.records[0]) for row in trials]
        if any(values in tried[:i] for i, values in enumerate(tried)):  # they differ in something else
            rows += trials
        else:
            rows.append(chosen(trials, [record for *key, record in lost if tuple(key) == row_of]))
    return sorted(rows, key=lambda row: -_or(row.values[ACCURACY].mean, -math.inf))


def _group(records: list[Record], beside: list[Record], failed: list[Record]) -> Group:
    """beside: of baselines; failed: runs of any group."""
    rows, baselines = _rows(records, failed), _rows(beside, [])
    notes = _against_softmax(rows, baselines)
    _tell_apart(rows)
    _tell_apart(baselines)
    records = records + beside
    first = records[0]
    names = dict.fromkeys(name for record in records for name in record["references"])
    references = {name: summarize(record["references"].get(name) for record in records) for name in names}
    for name, summary in references.items():
        if summary.std:
            notes.append(f"{name} differs between the runs: they did not see the same documents")
    for split in _documents(first):
        contents = [
            (record["splits"][split].get("content"), row) for row in [*rows, *baselines] for record in row.records
        ]
        notes += _difference(f"the content of the {split} split", [(c, row) for c, row in contents if c is not None])
    for alike in (rows, baselines):
        for key in dict.fromkeys(key for row in alike for key in row.settings):
            notes += _difference(key, [(row.settings[key], row) for row in alike if key in row.settings])
    for key in dict.fromkeys(key for row in rows for key in varied(row.tried)):
        values = [(sorted((of.get(key) for of in row.tried), key=str), row) for row in rows]
        notes += _difference(f"{key} tried", [(", ".join(map(str, of)), row) for of, row in values])
    for key in _NOTED_CONDITIONS:
        notes += _difference(key, [(record.get(key), row) for row in rows for record in row.records])
    return Group(
        conditions=conditions_of(first) | ({} if rows else {"max_length": None}),
        budget=_budget(first),
        documents=_documents(first),
        rows=rows,
        baselines=baselines,
        references=references,
        notes=notes,
    )


def _difference(key: str, values: Iterable[tuple[Any, Row]]) -> list[str]:
    held: dict[str, dict[str, None]] = {}
    for value, row in values:
        text = str(value)
        held.setdefault(text[:10] if key == "commit" else text, {})[row.variant] = None
    said = "; ".join(f"{text} ({', '.join(variants)})" for text, variants in held.items())
    return [f"{key} differs: {said}"] if len(held) > 1 else []


def _row(name: str, records: list[Record]) -> Row:
    metrics = dict.fromkeys([ACCURACY, *(metric for record in records for metric in record["metrics"])])
    values = {metric: summarize(record["metrics"].get(metric) for record in records) for metric in metrics}
    values |= {key: summarize(record.get(key) for record in records) for key in QUANTITIES}
    row = Row(name, records, values)
    for key, summary in values.items():
        if (missing := len(records) - summary.n) and (summary.n or key in metrics):
            what = "nan" if sum(key in record["metrics"] for record in records) > summary.n else "missing"
            row.notes.append(f"{key} is {what} in {missing} of {len(records)} runs, left out of the mean")
    for text in dict.fromkeys(departures_text(record.get("departures", {})) for record in records):
        if text:
            row.notes.append(f"departs from {records[0]['protocol']}: {text}")
    if of_folds(records[0]) and len(records) == 1:
        folds = records[0]["folds"]
        row.notes.append(f"mean of {folds['number']} folds; ± is half of its interval, {folds['interval']}")
    seeds = [record["seed"] for record in records]
    for seed in dict.fromkeys(seeds):
        if (repeated := seeds.count(seed)) > 1:
            row.notes.append(f"{repeated} runs of one seed ({seed})")
    return row


def _measured_under(row: Row) -> set[tuple]:
    return {tuple(record.get(key) for key in SPEED_CONDITIONS) for record in row.records}


def same_documents(record: Record, other: Record) -> bool:
    """Whether two runs saw the same documents: by their content, or, of older runs, by what references reach there."""
    names = record["splits"].keys() & other["splits"].keys()
    pairs = [tuple(of["splits"][name].get("content") for of in (record, other)) for name in names]
    known = [pair for pair in pairs if None not in pair]
    if len(known) == len(pairs) or any(ours != theirs for ours, theirs in known):
        return all(ours == theirs for ours, theirs in known)
    ours, theirs = record["references"], other["references"]
    return all(ours[name] == theirs[name] for name in ours.keys() & theirs.keys())


def _softmax(row: Row, candidates: list[Row]) -> Row | None:
    """The first of the candidates on the same documents; of each seed's own documents one seed will do."""
    for candidate in candidates:
        if any(same_documents(record, other) for record in row.records for other in candidate.records):
            return candidate
    return None


def _against_softmax(rows: list[Row], baselines: list[Row]) -> list[str]:
    """Compares rows with softmax on the same documents; where that has several rows, with the best in validation."""
    none = Summary(None, None, 0)
    candidates = [row for row in rows if row.records[0]["attention"] == "softmax"]
    candidates.sort(key=lambda row: -_or(row.values.get("val/accuracy", none).mean, -math.inf))
    if not candidates:
        return []
    for row in [*rows, *baselines]:
        row.softmax = softmax = _softmax(row, candidates)
        if softmax is None:
            row.notes.append("no softmax has read the same documents")
            continue
        accuracy, base = row.values[ACCURACY].mean, softmax.values[ACCURACY].mean
        if accuracy is not None and base is not None:
            row.accuracy_difference = accuracy - base
        if row in baselines:
            continue
        conditions = _measured_under(softmax)
        row.like_softmax = row is softmax or (len(conditions) == 1 and _measured_under(row) == conditions)
        speed, base = row.values[SPEED].mean, softmax.values[SPEED].mean
        if speed is not None and base:
            row.speed_ratio = speed / base
    notes = []
    if len(candidates) > 1:
        notes.append("Δ acc and speed are against softmax on the same documents, ×1.00, the best in val/accuracy")
    if not all(row.like_softmax for row in rows):
        notes.append(f"speeds with * and softmax's differ in their conditions ({', '.join(SPEED_CONDITIONS)})")
    return notes


def _tell_apart(rows: list[Row]) -> None:
    """Finds the settings that differ beyond what makes a variant, and numbers the rows of one variant."""
    flat = [flatten(settings(row.records[0]["config"])) for row in rows]
    names = [row.variant for row in rows]
    for i, row in enumerate(rows):
        twins = [other for other, name in zip(flat, names, strict=True) if name == names[i]]
        for key in dict.fromkeys(key for other in flat for key in other):
            if any(other.get(key) != flat[i].get(key) for other in (twins if of_variant(key) else flat)):
                row.settings[key] = flat[i].get(key)
        if len(twins) > 1:
            row.settings = row.settings or {"config_hash": row.records[0]["config_hash"]}
            if number := names[:i].count(names[i]):
                row.variant = f"{names[i]} ({number + 1})"


def _or(value: float | None, default: float) -> float:
    return default if value is None else value
