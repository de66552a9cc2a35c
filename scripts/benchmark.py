"""Times variants against document length, in one interleaved run.

    python scripts/benchmark.py --variants softmax elu "elu decay=fixed" --lengths 1024 16384
    python scripts/benchmark.py --variants elu "elu decay=selective" --stream 1000000
    python scripts/benchmark.py --variants elu "elu attention.causal=true" --whole 100000 1000000

Writes a table to the terminal, ``benchmark.json`` and ``benchmark.png``. All variants take turns, step by
step, so that whatever else the machine does meets all of them; what to quote are the ratios, medians over
rounds. Each point's memory is measured in a process of its own, because memory once used blurs what follows.

With --stream nothing of this is done; ``stream.json`` tells of the variants, made causal, what reading one token costs
early and late in a text, how memory grows over so many tokens, and how far pieces are from the whole. Float32, not
compiled, on the CPU; softmax, whose state grows, is left out. With --whole likewise; ``whole.json`` tells what whole
documents of these lengths cost in pieces, memory in a process of its own, and how that compares with one pass.
"""

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from rich.console import Console

from longdoc.benchmark import stream, whole
from longdoc.benchmark.environment import environment
from longdoc.benchmark.measure import crossovers, measure
from longdoc.benchmark.memory import measure_memory, memory_in_child
from longdoc.benchmark.plot import plot
from longdoc.benchmark.report import show_crossover, table
from longdoc.benchmark.trial import MODES, Point, Settings, classifier, limit_compilation
from longdoc.errors import one_sentence
from longdoc.models.whole import refusal
from longdoc.speed import keep_freed_memory

ROOT = Path(__file__).resolve().parents[1]
CONF = ROOT / "conf"
OTHER = ("memory_point", "output", "stream", "whole")  # arguments that are no settings


def arguments(argv: list[str] | None) -> argparse.Namespace:
    words = sorted(path.stem for path in (CONF / "variant").glob("*.yaml"))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--variants", nargs="+", default=["softmax", "elu", "favor", "elu decay=fixed"], metavar="NAME",
        help=f"words of conf/variant ({', '.join(words)}), each with overrides behind it: "
             f"'elu attention.causal=true' (default: %(default)s)")  # fmt: skip
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
    add("--stream", type=int, metavar="TOKENS", help="measure streams over so many tokens instead")
    add("--whole", nargs="+", type=int, metavar="N", help="measure whole documents of so many tokens in pieces instead")
    add("--output", type=Path, default=Path("outputs/benchmark"), help="folder (default: %(default)s)")
    add("--memory-point", nargs=2, metavar=("NAME", "N"), help=argparse.SUPPRESS)  # in a child process
    args = parser.parse_args(argv)
    if args.stream is not None and args.stream <= stream.SETTLED:
        parser.error(f"--stream {args.stream} must be more than {stream.SETTLED}, from where memory is compared")
    args.lengths = sorted(set(args.whole or args.lengths))
    for variant in args.variants:
        if variant.split()[0] not in words:
            parser.error(f"{variant!r} does not begin with a word of conf/variant: {', '.join(words)}")
    if args.precision is None:
        bf16 = args.device == "cuda" or torch.cpu._is_avx512_bf16_supported()
        args.precision = "bf16" if bf16 else "float32"
    return args


def streams(args: argparse.Namespace, settings: Settings, say: Callable[[str], object]) -> None:
    """Measures, prints and writes what streams cost."""
    points = []
    for variant in args.variants:
        if variant.split()[0] == "softmax":
            continue
        try:
            point = stream.measure_stream(settings, variant, args.stream)
        except ValueError as error:  # a map that needs the whole sequence
            say(one_sentence(error))
            continue
        step, text, apart = point["step"], point["text"], point["agreement"]
        say(f"{variant}: one token takes {step['early_seconds'] * 1e3:.2f} ms behind {stream.EARLY} and "
            f"{step['ratio']:.3f} times that behind {stream.LATE:,}; {text['tokens']:,} tokens at "
            f"{text['tokens_per_second']:,.0f} a second, peak memory {text['growth_bytes'] / 1e6:+.1f} MB "
            f"behind the first {stream.SETTLED:,}; {apart['relative_error']:.1e} from one call over "
            f"{apart['tokens']:,}")  # fmt: skip
        points.append(point)
    where = environment(settings, ROOT) | {"device": "cpu", "precision": "float32", "compiled": False}
    args.output.mkdir(parents=True, exist_ok=True)
    (args.output / "stream.json").write_text(json.dumps({"environment": where, "points": points}, indent=1) + "\n")
    say(f"written: {args.output / 'stream.json'}")


def documents(args: argparse.Namespace, settings: Settings, child: list[str], say: Callable[[str], object]) -> None:
    """Measures, prints and writes what whole documents cost in pieces."""
    points = []
    for variant in args.variants:
        if (reason := refusal(classifier(settings, variant))) is not None:
            say(f"{variant}: {reason}")
            continue
        for length in args.lengths:
            point = whole.measure_speed(settings, variant, length) | memory_in_child(child, variant, length)
            line = f"{variant}: {length:,} tokens at {point['tokens_per_second']:,.0f} a second, peak memory "
            line += f"{point['peak_bytes'] / 1e6:,.0f} MB, {point['bare_bytes'] / 1e6:,.0f} MB of it before"
            if "ratio" in point:
                line += f"; {point['ratio']:.2f} times as long as one pass, {point['relative_error']:.1e} from it"
            say(line)
            points.append({"variant": variant, "tokens": length, **point})
    where = environment(settings, ROOT) | {"device": "cpu", "precision": "float32", "compiled": False}
    args.output.mkdir(parents=True, exist_ok=True)
    (args.output / "whole.json").write_text(json.dumps({"environment": where, "points": points}, indent=1) + "\n")
    say(f"written: {args.output / 'whole.json'}")


def main(argv: list[str] | None = None) -> int:
    """Returns the exit status: 0, or 130 if interrupted."""
    argv = sys.argv[1:] if argv is None else argv
    args = arguments(argv)
    settings = Settings(CONF, **{k: v for k, v in vars(args).items() if k not in OTHER})
    if args.memory_point:
        variant, length = args.memory_point
        with limit_compilation(settings):
            one = whole.measure_memory if args.whole else measure_memory
            print(json.dumps(one(settings, variant, int(length))))
        return 0
    child = [sys.executable, __file__, *argv, "--memory-point"]
    keep_freed_memory()  # as train.py does
    console = Console(soft_wrap=True)
    say = partial(console.print, highlight=False)
    if args.stream is not None:
        streams(args, settings, say)
        return 0
    if args.whole:
        documents(args, settings, child, say)
        return 0
    found: dict[tuple[str, int], Point] = {}
    complete = False
    try:
        with limit_compilation(settings):
            measure(settings, found, say, partial(memory_in_child, child))
        complete = True
    except KeyboardInterrupt:
        say("interrupted; keeping the finished points")
    finally:
        points = sorted(found.values(), key=lambda p: (p["length"], args.variants.index(p["variant"])))
        crossing = crossovers(points)
        record = {
            "complete": complete,
            "arguments": {k: v for k, v in vars(args).items() if k not in OTHER},
            "environment": environment(settings, ROOT),
            "crossover": crossing,
            "points": points,
        }
        args.output.mkdir(parents=True, exist_ok=True)
        (args.output / "benchmark.json").write_text(json.dumps(record, indent=1, default=str) + "\n")
    if points:
        say(table(settings, points))
        for mode, lengths in crossing.items():
            for variant, length in lengths.items():
                say(f"{variant}, {mode}: faster than softmax {show_crossover(length, points)}")
        plot(settings, points, crossing, args.output / "benchmark.png")
    say(f"written: {args.output}")
    return 0 if complete else 130


if __name__ == "__main__":
    sys.exit(main())
