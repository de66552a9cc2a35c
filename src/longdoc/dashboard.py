"""A W&B project's workspace and report, as code: what is drawn of runs, by the names that they log."""

from typing import Any

import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws
from wandb_workspaces import expr

from longdoc.training.loggers import AXES, CURVES

NAME = "longdoc"
ABOUT = {
    "Quality": "Curves by tokens and by seconds, as means of a variant's runs; test metrics are the best checkpoint's.",
    "Efficiency": "What accuracy costs: better is up and to the right for speed, up and to the left for the others.",
    "By length": "Accuracy by the length of documents, and by how many tokens a model sees at once.",
    "Analysis": "Which classes are taken for which, and what differs between runs.",
}


def sections() -> dict[str, list[Any]]:
    """Panels by section; new ones at each call, since a panel stands on one page."""
    accuracy, speed = wr.SummaryMetric("test/accuracy"), wr.SummaryMetric("train/tokens_per_second")
    length, rate = wr.Config("task.max_length"), wr.Config("optimizer.lr")
    return {
        "Quality": [
            wr.BarPlot(title="test/accuracy", metrics=["test/accuracy"]),
            wr.BarPlot(title="test/f1_macro", metrics=["test/f1_macro"]),
            *(
                wr.LinePlot(title=f"{curve} by {axis.removeprefix('train/')}", x=axis, y=[curve])
                for curve in CURVES
                for axis in AXES
            ),
        ],
        "Efficiency": [
            wr.ScatterPlot(title="accuracy by tokens a second in training", x=speed, y=accuracy, log_x=True),
            wr.ScatterPlot(
                title="accuracy by peak memory, MB", x=wr.SummaryMetric("peak_memory_mb"), y=accuracy, log_x=True
            ),
            wr.ScatterPlot(title="accuracy by parameters", x=wr.SummaryMetric("parameters"), y=accuracy, log_x=True),
            wr.ScatterPlot(title="accuracy by seconds of training", x=wr.SummaryMetric("train/seconds"), y=accuracy),
        ],
        "By length": [
            _chart("line/v0", "test/by_length", {"x": "from", "y": "accuracy"}, "accuracy by tokens of a document"),
            wr.ScatterPlot(title="accuracy by tokens seen at once", x=length, y=accuracy, log_x=True),
            wr.ScatterPlot(title="tokens a second by tokens seen at once", x=length, y=speed, log_x=True),
            wr.WeavePanelSummaryTable(table_name="test/by_length"),
        ],
        "Analysis": [
            _chart(
                "confusion_matrix/v1",
                "test/confusion",
                {name: name for name in ("Actual", "Predicted", "nPredictions")},
                "documents of a class and what they were taken for",
            ),
            wr.WeavePanelSummaryTable(table_name="test/per_class"),
            wr.ParallelCoordinatesPlot(
                title="what was tuned",
                columns=[wr.ParallelCoordinatesPlotColumn(of) for of in (wr.Config("variant"), rate, accuracy)],
            ),
            wr.LinePlot(title="train/lr", x="trainer/global_step", y=["train/lr"]),
            wr.LinePlot(title="train/gradient_norm", x="trainer/global_step", y=["train/gradient_norm"]),
            wr.RunComparer(diff_only="split"),
        ],
    }


def workspace(entity: str, project: str) -> ws.Workspace:
    """A view of the project: runs grouped by task, protocol and variant, newest first."""
    return ws.Workspace(
        entity=entity,
        project=project,
        name=NAME,
        sections=[ws.Section(name=name, panels=panels, is_open=True) for name, panels in sections().items()],
        runset_settings=ws.RunsetSettings(groupby=[expr.Metric("Group"), expr.Config("variant")]),
    )


def report(entity: str, project: str) -> wr.Report:
    """The same panels as a page with words between."""
    blocks: list[Any] = [wr.TableOfContents()]
    for name, panels in sections().items():
        runs = wr.Runset(name="runs", groupby=["run.group", "config.variant"])
        blocks += [wr.H1(name), wr.P(ABOUT[name]), wr.PanelGrid(runsets=[runs], panels=panels)]
    return wr.Report(entity=entity, project=project, title=NAME, blocks=blocks, width="fluid")


def as_json(entity: str, project: str) -> dict[str, Any]:
    """What would be sent to W&B, made without it."""
    pages = {"workspace": workspace(entity, project), "report": report(entity, project)}
    return {
        name: page._to_model().spec.model_dump(mode="json", by_alias=True, exclude_none=True)
        for name, page in pages.items()
    }


def _chart(kind: str, table: str, fields: dict[str, str], title: str) -> wr.CustomChart:
    """One of W&B's own charts, of a table that runs log."""
    query = {"summaryTable": {"tableKey": table}}
    return wr.CustomChart(query=query, chart_name=f"wandb/{kind}", chart_fields=fields, chart_strings={"title": title})
