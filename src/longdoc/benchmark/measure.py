"""Every variant against every length: all take turns, so that whatever else the machine does meets all."""

from collections.abc import Callable, Iterable
from statistics import median

import torch

from longdoc.benchmark.report import kib_per_token, show_speed
from longdoc.benchmark.trial import MODES, Point, Settings, Trial
from longdoc.speed import crossover, flops_per_token, largest_tensor


def time_length(settings: Settings, length: int) -> Iterable[Point]:
    """Yields what is known of each variant at this length, mode after mode."""
    torch.compiler.reset()
    trials = {variant: Trial(settings, variant, length) for variant in settings.variants}
    for variant, trial in trials.items():
        yield {
            "variant": variant,
            "length": length,
            "rows": trial.rows,
            "tokens": trial.rows * length,
            "parameters": sum(p.numel() for p in trial.model.parameters()),
            "flops_per_token": flops_per_token(trial.model, length),
            "largest_tensor_elements": largest_tensor(trial.model, trial.rows, length),
        }
    for mode in settings.modes:
        for trial in trials.values():
            trial.warm_up(mode)
        for turn in range(settings.repeats):
            order = list(trials.values())
            shift = turn % len(order)  # or a variant would always follow the same one
            for trial in order[shift:] + order[:shift]:
                if trial.wants_more():
                    trial.seconds.append(trial.step(mode))
        softmax = trials["softmax"].seconds if "softmax" in trials else []
        for variant, trial in trials.items():
            yield {"variant": variant, "length": length, mode: timing(trial, length, softmax)}


def timing(trial: Trial, length: int, softmax: list[float]) -> Point:
    """Speeds of a variant; ``ratio`` says how many times faster than softmax, the median of shared rounds."""
    speeds = [trial.rows * length / seconds for seconds in trial.seconds]
    ratios = [theirs / ours for theirs, ours in zip(softmax, trial.seconds, strict=False)]
    return {
        "tokens_per_second": median(speeds),
        "min": min(speeds),
        "max": max(speeds),
        "ratio": median(ratios) if ratios else None,
        "ratio_min": min(ratios, default=None),
        "ratio_max": max(ratios, default=None),
        "ratio_rounds": len(ratios),
        "repeats": len(speeds),
        "seconds": trial.seconds,
        "first_step_seconds": trial.first_seconds,  # with compilation
    }


def measure(
    settings: Settings,
    points: dict[tuple[str, int], Point],
    say: Callable[[str], None],
    peak_memory: Callable[[str, int], Point],
) -> None:
    """Fills ``points`` as measurements finish, so that an interruption keeps what there is.

    ``peak_memory`` measures a variant at a length; it is not called where the settings exclude memory.
    """

    def keep(part: Point) -> None:
        points.setdefault((part["variant"], part["length"]), {}).update(part)
        for mode in MODES:
            if mode in part:
                say(f"N={part['length']} {part['variant']} {mode}: {show_speed(part[mode], settings.repeats)}")

    for length in settings.lengths:
        for part in time_length(settings, length):
            keep(part)
        for variant in settings.variants if settings.memory else ():
            part = {"variant": variant, "length": length, "memory": peak_memory(variant, length)}
            keep(part)
            say(f"N={length} {variant} memory: {kib_per_token(part):.1f} KiB a token")


def crossovers(points: list[Point]) -> dict[str, dict[str, float | None]]:
    """For each mode and feature map the length from which it is faster than softmax, or None."""
    curves: dict[str, dict[str, dict[int, float]]] = {}
    for point in points:
        for mode in MODES:
            if mode in point and point["variant"] != "softmax" and point[mode]["ratio"] is not None:
                curve = curves.setdefault(mode, {}).setdefault(point["variant"], {})
                curve[point["length"]] = point[mode]["ratio"]
    return {
        mode: {variant: crossover([*curve], [*curve.values()]) for variant, curve in of_mode.items()}
        for mode, of_mode in curves.items()
    }
