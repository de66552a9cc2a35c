"""The measurements in words and as a table for the terminal."""

from rich.table import Table

from longdoc.benchmark.environment import conditions
from longdoc.benchmark.trial import Point, Settings


def show_speed(timed: Point, repeats: int) -> str:
    few = f", {timed['repeats']} of {repeats} repeats" if timed["repeats"] < repeats else ""
    ratio = "" if timed["ratio"] is None else f", {timed['ratio']:.2f} x softmax"
    low, mid, high = (timed[key] / 1000 for key in ("min", "tokens_per_second", "max"))
    return f"{mid:.1f} thousand tokens/s ({low:.1f} to {high:.1f}){ratio}{few}"


def show_crossover(length: float | None, points: list[Point]) -> str:
    lengths = [point["length"] for point in points]
    if length is None:
        return f"not up to {max(lengths)}"
    return f"from {min(lengths)} or less" if length == min(lengths) else f"from {length:.0f}"


def kib_per_token(point: Point) -> float | None:
    return point["memory"]["bytes_per_token"] / 1024 if "memory" in point else None


def table(settings: Settings, points: list[Point]) -> Table:
    grid = Table(title=f"Thousand tokens a second: {conditions(settings)}", title_justify="left")
    grid.add_column("N", justify="right")
    grid.add_column("variant", no_wrap=True)
    for heading in (h for mode in settings.modes for h in (mode, "x softmax")):
        grid.add_column(heading, justify="right")
    if settings.memory:
        grid.add_column("peak KiB a token", justify="right")
    grid.add_column("kFLOP a token", justify="right")
    for before, point in zip([None, *points], points, strict=False):
        if before and before["length"] != point["length"]:
            grid.add_section()
        cells = [str(point["length"]), point["variant"]]
        for timed in (point.get(mode) for mode in settings.modes):
            if timed is None:
                cells += ["", ""]
                continue
            few = f" (n={timed['repeats']})" if timed["repeats"] < settings.repeats else ""
            cells.append(f"{timed['tokens_per_second'] / 1000:.1f}{few}")
            cells.append("" if timed["ratio"] is None else f"{timed['ratio']:.2f}")
        if settings.memory:
            kib = kib_per_token(point)
            cells.append("" if kib is None else f"{kib:.1f}")
        grid.add_row(*cells, f"{point['flops_per_token'] / 1000:.0f}")
    return grid
