"""Times softmax attention and every feature map against document length, in one interleaved run.

    python scripts/benchmark.py --lengths 64 1024 16384 --output outputs/benchmark

Writes a table to the terminal, ``benchmark.json`` and ``benchmark.png``. All variants take turns, step by
step, so that whatever else the machine does meets all of them; what to quote are the ratios, medians over
rounds. Each point's memory is measured in a process of its own, because memory once used blurs what follows.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, cast

import torch
from omegaconf import DictConfig, OmegaConf
from rich.console import Console
from rich.table import Table
from torch.nn.functional import cross_entropy

from longdoc.build import build
from longdoc.models import Classifier
from longdoc.speed import ProcessMemory, crossover, flops_per_token, keep_freed_memory, largest_tensor

ROOT = Path(__file__).resolve().parents[1]
CONF = ROOT / "conf"
CLASSES = 10
MODES = ("train", "forward")
MEMORY_STEPS = 2

# Freed blocks go back to the system at once, so that a peak counts live tensors, not the allocator's slack.
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}

# Okabe & Ito (2008): told apart by the colour-blind; markers tell apart what the colours then repeat.
COLORS = ("#E69F00", "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
MARKERS = "os^Dvp"

Point = dict[str, Any]


def arguments(argv: list[str] | None) -> argparse.Namespace:
    maps = sorted(path.stem for path in (CONF / "feature_map").glob("*.yaml"))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--variants", nargs="+", choices=["softmax", *maps], default=["softmax", *maps], metavar="NAME",
        help="softmax and names of conf/feature_map (default: all)")  # fmt: skip
    add("--lengths", nargs="+", type=int, default=[16, 64, 256, 1024, 2048, 4096, 16384, 65536], metavar="N",
        help="tokens a document (default: %(default)s)")  # fmt: skip
    add("--tokens", type=int, default=16384, help="a step, at least one document (default: %(default)s)")
    add("--modes", nargs="+", choices=MODES, default=list(MODES), help="steps to time (default: both)")
    add("--repeats", type=int, default=5, help="timed steps of each variant (default: %(default)s)")
    add("--max-seconds-per-point", type=float, default=60.0, metavar="S",
        help="no further repeats beyond; one is always made (default: %(default)s)")  # fmt: skip
    add("--memory", action=argparse.BooleanOptionalAction, default=True, help="measure peak memory too")
    add("--device", choices=["cpu", "cuda"], default="cuda" if torch.cuda.is_available() else "cpu")
    add("--precision", choices=["bf16", "float32"], help="default: bf16 where the hardware has it")
    add("--compile", action=argparse.BooleanOptionalAction, default=True, help="torch.compile")
    sizes = {"width": 128, "depth": 2, "heads": 4, "feedforward": 256, "vocab": 8192, "seed": 0}
    for name, value in sizes.items():
        add(f"--{name}", type=int, default=value, help="default: %(default)s")
    add("--output", type=Path, default=Path("outputs/benchmark"), help="folder (default: %(default)s)")
    add("--memory-point", nargs=2, metavar=("NAME", "N"), help=argparse.SUPPRESS)  # in a child process
    args = parser.parse_args(argv)
    args.lengths = sorted(set(args.lengths))
    if args.precision is None:
        bf16 = args.device == "cuda" or torch.cpu._is_avx512_bf16_supported()
        args.precision = "bf16" if bf16 else "float32"
    return args


# ----------------------------------------------------------------------------------------------- one step


class Trial:
    """A variant's model with its optimizer and a batch of (rows, length) ids, the same for every variant."""

    def __init__(self, args: argparse.Namespace, variant: str, length: int) -> None:
        self.args = args
        self.device = torch.device(args.device)
        self.model = classifier(args, variant).to(self.device)
        self.optimizer = build(group("optimizer", "adamw"))(self.model.parameters())
        self.rows = max(1, args.tokens // length)
        generator = torch.Generator().manual_seed(args.seed)
        self.ids = torch.randint(args.vocab, (self.rows, length), generator=generator).to(self.device)
        self.labels = torch.randint(CLASSES, (self.rows,), generator=generator).to(self.device)
        self.first_seconds = 0.0
        self.seconds: list[float] = []
        if args.compile:
            # In place, so that parameter names stay; static, since every shape is compiled for itself.
            self.model.compile(dynamic=False)

    def forward(self) -> torch.Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.args.precision == "bf16"):
            return self.model(self.ids)

    def step(self, mode: str) -> float:
        """Seconds of one step: forward, backward and update, or forward alone."""
        self.model.train(mode == "train")
        start = time.perf_counter()
        if mode == "train":
            loss = cross_entropy(self.forward().float(), self.labels)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            self.optimizer.zero_grad()
        else:
            with torch.no_grad():
                self.forward()
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - start

    def warm_up(self, mode: str) -> None:
        self.seconds = []
        self.first_seconds = self.step(mode)  # compiles
        if self.first_seconds < self.args.max_seconds_per_point:
            self.step(mode)

    def wants_more(self) -> bool:
        """Whether another step is due and fits the budget."""
        if not self.seconds:
            return True
        expected = sum(self.seconds) + self.seconds[-1]
        return len(self.seconds) < self.args.repeats and expected <= self.args.max_seconds_per_point


def group(name: str, choice: str) -> DictConfig:
    return cast(DictConfig, OmegaConf.load(CONF / name / f"{choice}.yaml"))


def classifier(args: argparse.Namespace, variant: str) -> Classifier:
    """The project's classifier, from the same files as in training."""
    softmax = variant == "softmax"
    size = {name: getattr(args, name) for name in ("width", "depth", "heads", "feedforward")}
    config = OmegaConf.create(
        {
            "feature_map": {} if softmax else group("feature_map", variant),
            "attention": group("attention", "softmax" if softmax else "linear"),
            "encoder": group("encoder", "small"),
        }
    )
    config.encoder.update(size | {"dropout": 0.0, "positions": "none", "gate": False})
    torch.manual_seed(args.seed)
    encoder = build(config.encoder)(vocab_size=args.vocab, max_length=max(args.lengths))
    return Classifier(encoder, "mean", CLASSES)


def limit_compilation(args: argparse.Namespace) -> AbstractContextManager[None]:
    """Allows one graph for each variant and mode of a length; falling back to eager beyond is an error."""
    limit = max(8, len(args.variants) * len(MODES))
    return torch._dynamo.config.patch(recompile_limit=limit, fail_on_recompile_limit_hit=True)


# -------------------------------------------------------------------------------------------- measurement


def time_length(args: argparse.Namespace, length: int) -> Iterable[Point]:
    """Yields what is known of each variant at this length, mode after mode."""
    torch.compiler.reset()
    trials = {variant: Trial(args, variant, length) for variant in args.variants}
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
    for mode in args.modes:
        for trial in trials.values():
            trial.warm_up(mode)
        for turn in range(args.repeats):
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


def tensor_bytes(tensors: Iterable[Any]) -> int:
    return sum(t.numel() * t.element_size() for t in tensors if isinstance(t, torch.Tensor))


def measure_memory(args: argparse.Namespace, variant: str, length: int) -> Point:
    """Peak memory of training steps; to be called in a fresh process with MALLOC set.

    bare   the process with its libraries, the compiler among them, before the model is made
    idle   with the compiled model, its weights and the optimizer's state, between steps
    peak   the most during the steps

    What grows with the tokens is peak - idle; idle - bare hardly depends on them.
    """
    memory = ProcessMemory(torch.device(args.device))
    # A throw-away model loads what loads late: the compiler, kernels, thread pools.
    tiny = {"tokens": 1, "width": args.heads * 4, "feedforward": 16, "vocab": 8}
    Trial(argparse.Namespace(**vars(args) | tiny), variant, 16).step("train")
    torch.compiler.reset()
    bare = memory.now()
    trial = Trial(args, variant, length)
    first = trial.step("train")
    steps = MEMORY_STEPS if first < args.max_seconds_per_point else 1
    idle = memory.now()
    memory.reset_peak()
    for _ in range(steps):
        trial.step("train")
    peak = memory.peak()
    tokens = trial.rows * length
    state = [value for states in trial.optimizer.state.values() for value in states.values()]
    return {
        "method": memory.method,
        "steps": steps,
        "bare_bytes": bare,
        "idle_bytes": idle,
        "peak_bytes": peak,
        "model_bytes": tensor_bytes([*trial.model.parameters(), *trial.model.buffers()]),
        "optimizer_bytes": tensor_bytes(state),
        "bytes_per_token": (peak - idle) / tokens,
        "bytes_per_token_with_model": (peak - bare) / tokens,
    }


def memory_in_child(argv: list[str], variant: str, length: int) -> Point:
    command = [sys.executable, __file__, *argv, "--memory-point", variant, str(length)]
    child = subprocess.run(command, env=os.environ | MALLOC, stdout=subprocess.PIPE, text=True, check=False)
    if child.returncode:
        raise RuntimeError(f"memory of {variant} at {length} tokens: exit status {child.returncode}")
    return json.loads(child.stdout.splitlines()[-1])


def measure(
    args: argparse.Namespace,
    argv: list[str],
    points: dict[tuple[str, int], Point],
    say: Callable[[str], None],
) -> None:
    """Fills ``points`` as measurements finish, so that an interruption keeps what there is."""

    def keep(part: Point) -> None:
        points.setdefault((part["variant"], part["length"]), {}).update(part)
        for mode in MODES:
            if mode in part:
                say(f"N={part['length']} {part['variant']} {mode}: {show_speed(part[mode], args.repeats)}")

    for length in args.lengths:
        for part in time_length(args, length):
            keep(part)
        for variant in args.variants if args.memory else ():
            part = {"variant": variant, "length": length, "memory": memory_in_child(argv, variant, length)}
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


def environment(args: argparse.Namespace) -> dict[str, Any]:
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = (line.partition(":") for line in info.read_text().splitlines())
        cpu = next((value.strip() for key, _, value in lines if key.strip() == "model name"), cpu)
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = None
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "torch": torch.__version__,
        "longdoc": version("longdoc"),
        "device": torch.cuda.get_device_name() if args.device == "cuda" else "cpu",
        "cpu": cpu,
        "threads": torch.get_num_threads(),
        "precision": args.precision,
        "compiled": args.compile,
        "malloc": MALLOC if args.device == "cpu" else None,
        "commit": commit,
    }


# ------------------------------------------------------------------------------------------------- report


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


def table(args: argparse.Namespace, points: list[Point]) -> Table:
    grid = Table(title=f"Thousand tokens a second: {conditions(args)}", title_justify="left")
    grid.add_column("N", justify="right")
    grid.add_column("variant", no_wrap=True)
    for heading in (h for mode in args.modes for h in (mode, "x softmax")):
        grid.add_column(heading, justify="right")
    if args.memory:
        grid.add_column("peak KiB a token", justify="right")
    grid.add_column("kFLOP a token", justify="right")
    for before, point in zip([None, *points], points, strict=False):
        if before and before["length"] != point["length"]:
            grid.add_section()
        cells = [str(point["length"]), point["variant"]]
        for timed in (point.get(mode) for mode in args.modes):
            if timed is None:
                cells += ["", ""]
                continue
            few = f" (n={timed['repeats']})" if timed["repeats"] < args.repeats else ""
            cells.append(f"{timed['tokens_per_second'] / 1000:.1f}{few}")
            cells.append("" if timed["ratio"] is None else f"{timed['ratio']:.2f}")
        if args.memory:
            kib = kib_per_token(point)
            cells.append("" if kib is None else f"{kib:.1f}")
        grid.add_row(*cells, f"{point['flops_per_token'] / 1000:.0f}")
    return grid


def kib_per_token(point: Point) -> float | None:
    return point["memory"]["bytes_per_token"] / 1024 if "memory" in point else None


def conditions(args: argparse.Namespace) -> str:
    threads = torch.get_num_threads()
    where = "one GPU" if args.device == "cuda" else f"{threads} CPU core{'s' * (threads != 1)}"
    return f"{where}, {args.precision}, {'compiled' if args.compile else 'eager'}"


def short(number: float) -> str:
    """65536 -> 64k and 20000 -> 20k: lengths are powers of two, speeds are not."""
    for unit in (1024, 1000):
        if number >= unit and number % unit == 0:
            return f"{number / unit:g}k"
    return f"{number:g}"


def plot(args: argparse.Namespace, points: list[Point], path: Path) -> None:
    """Draws speed, ratio to softmax with the crossovers, and memory; legible at a width of 900 pixels."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    mode = args.modes[0]
    word = "Training" if mode == "train" else "Forward"
    crossing = crossovers(points).get(mode, {})
    panels: dict[str, Callable[[Point], float | None]] = {
        f"{word} speed, tokens/s": lambda p: p[mode]["tokens_per_second"] if mode in p else None
    }
    if crossing:
        panels[f"{word} speed, times softmax"] = lambda p: p[mode]["ratio"] if mode in p else None
    if args.memory:
        panels["Training peak memory, KiB/token"] = kib_per_token
    styles: dict[str, dict[str, Any]] = {"softmax": {"color": "black", "linestyle": "--", "marker": "x"}}
    for i, name in enumerate(name for name in args.variants if name != "softmax"):
        marker = MARKERS[(i + i // len(COLORS)) % len(MARKERS)]
        styles[name] = {"color": COLORS[i % len(COLORS)], "marker": marker}
    ticks = args.lengths[:1]
    for length in args.lengths:
        if length >= 3 * ticks[-1]:  # or the labels would touch
            ticks.append(length)

    look: Any = {"font.size": 8.5, "axes.titlesize": 9, "axes.spines.top": False, "axes.spines.right": False}
    with plt.rc_context(look):
        figure, axes = plt.subplots(1, len(panels), figsize=(9, 3.8), layout="constrained", squeeze=False)
        for axis, (title, value) in zip(axes[0], panels.items(), strict=True):
            for name in args.variants:
                curve = [(p["length"], y) for p in points if p["variant"] == name and (y := value(p))]
                label = f"{name} (faster {show_crossover(crossing[name], points)})" if name in crossing else name
                axis.plot([n for n, _ in curve], [y for _, y in curve], label=label, ms=4, lw=1.4, **styles[name])
            axis.set(title=title, xlabel="N, tokens a document", xscale="log", xticks=ticks)
            axis.set_xticklabels([short(n) for n in ticks])
            axis.xaxis.set_minor_locator(NullLocator())
            axis.grid(alpha=0.3, linewidth=0.6)
            if value is kib_per_token:
                axis.set_ylim(bottom=0)
            else:
                axis.set_yscale("log")
                axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axis.yaxis.set_major_formatter(FuncFormatter(lambda y, _: short(y)))
                axis.yaxis.set_minor_locator(NullLocator())
        if crossing:
            axes[0][1].set_title(f"{word} speed, times softmax (★ crossover)")
            for name, start in crossing.items():
                if start is not None and start > args.lengths[0]:
                    color = styles[name]["color"]
                    axes[0][1].plot(start, 1, "*", ms=11, color=color, markeredgecolor="black", zorder=3)
        figure.suptitle(f"Softmax and linear attention against length: {conditions(args)}", fontsize=10)
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)), frameon=False)
        figure.savefig(path, dpi=200)
        plt.close(figure)


def main(argv: list[str] | None = None) -> int:
    """Returns the exit status: 0, or 130 if interrupted."""
    argv = sys.argv[1:] if argv is None else argv
    args = arguments(argv)
    if args.memory_point:
        variant, length = args.memory_point
        with limit_compilation(args):
            print(json.dumps(measure_memory(args, variant, int(length))))
        return 0
    keep_freed_memory()  # as train.py does
    console = Console(soft_wrap=True)
    say = partial(console.print, highlight=False)
    found: dict[tuple[str, int], Point] = {}
    complete = False
    try:
        with limit_compilation(args):
            measure(args, argv, found, say)
        complete = True
    except KeyboardInterrupt:
        say("interrupted; keeping the finished points")
    finally:
        points = sorted(found.values(), key=lambda p: (p["length"], args.variants.index(p["variant"])))
        crossing = crossovers(points)
        record = {
            "complete": complete,
            "arguments": {k: v for k, v in vars(args).items() if k != "memory_point"},
            "environment": environment(args),
            "crossover": crossing,
            "points": points,
        }
        args.output.mkdir(parents=True, exist_ok=True)
        (args.output / "benchmark.json").write_text(json.dumps(record, indent=1, default=str) + "\n")
    if points:
        say(table(args, points))
        for mode, lengths in crossing.items():
            for variant, length in lengths.items():
                say(f"{variant}, {mode}: faster than softmax {show_crossover(length, points)}")
        plot(args, points, args.output / "benchmark.png")
    say(f"written: {args.output}")
    return 0 if complete else 130


if __name__ == "__main__":
    sys.exit(main())
