"""Shows what each feature map costs in sharpness, variance and position bias, beside softmax.

    python scripts/analyze.py                                             # all maps on random queries and keys
    python scripts/analyze.py --checkpoint best.ckpt --document book.txt  # a trained encoder's own, on a document
    python scripts/analyze.py --checkpoint best.ckpt --row 0              # the same on a row of its test split

Writes tables to the terminal, ``analysis.json`` and a picture a part. On random inputs the parts are ``variance`` of
random features beside their formulas, ``sharpness`` as queries grow, ``monotonicity`` in q·k, ``position`` bias with
the windows of decays, and ``cost``: operations and, with --time, the length from which softmax is overtaken.
"""

import argparse
import json
import platform
import sys
from pathlib import Path
from typing import Any

import longdoc.caches  # noqa: F401  # isort: skip

import torch
from rich.console import Console
from tokenizers import Tokenizer

from longdoc.analysis import plot, report
from longdoc.analysis.checkpoint import analyse_layer, capture
from longdoc.analysis.cost import add_measured, cost, time_mixers
from longdoc.analysis.parts import monotonicity, position_bias, sharpness
from longdoc.analysis.plot_layers import plot_layers
from longdoc.analysis.plot_variance import plot_variance
from longdoc.analysis.subjects import LONGEST, Inputs, make_mixers, map_names
from longdoc.analysis.variance import variance
from longdoc.analysis.windows import decays
from longdoc.errors import one_sentence
from longdoc.export import Loaded, load
from longdoc.results.comparison import variant
from longdoc.results.record import git_state, machine, mixing

ROOT = Path(__file__).resolve().parents[1]
CONF = ROOT / "conf"
PARTS = ("variance", "sharpness", "monotonicity", "position", "cost")
MAPS = map_names(CONF)
PAIRS = 2**21  # of tokens a head, at least one document's, whose weights are averaged by distance
LEAST_TOKENS = 32
FACTORS = tuple(2.0**i for i in range(7))  # by which queries grow


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--maps", nargs="+", default=MAPS, metavar="NAME", help="words of conf/feature_map (default: all)")
    add("--parts", nargs="+", default=PARTS, choices=PARTS, help="(default: all)")
    add("--tokens", type=int, help="of the document (default: 512; of a checkpoint's the first 2048)")
    add("--head-dim", type=int, default=16, help="default: %(default)s, which no map projects to fewer")
    add("--heads", type=int, default=4, help="default: %(default)s")
    add("--seed", type=int, default=0, help="default: %(default)s")
    add("--scale", type=float, default=1.0, help="standard deviation of queries and keys (default: %(default)s)")
    add("--draws", type=int, default=4000, help="of random features (default: %(default)s)")
    add("--time", action="store_true", help="measure the attention's speed too")
    add("--time-lengths", nargs="+", type=int, default=[64, 256, 1024, 4096], metavar="N", help="default: %(default)s")
    add("--time-tokens", type=int, default=4096, help="a call, at least one document (default: %(default)s)")
    add("--rounds", type=int, default=5, help="timed calls of each (default: %(default)s)")
    add("--compile", action="store_true", help="time compiled attention, not eager")
    add("--checkpoint", type=Path, help="analyse this model's own queries and keys, not random ones")
    add("--document", type=Path, help="text file for the checkpoint")
    add("--row", type=int, help="row of the checkpoint's test split, in place of --document; of a pair, its first")
    add("--data", help="where the checkpoint's data lies, if not where it lay in training")
    add("--trust", action="append", default=[], metavar="MODULE",
        help="a module of your own, here or on PYTHONPATH, that the checkpoint may build from")  # fmt: skip
    add("--output", type=Path, default=Path("outputs/analysis"), help="folder (default: %(default)s)")
    args = parser.parse_args(argv)
    if unknown := [name for name in args.maps if name not in MAPS]:
        parser.error(f"--maps: {', '.join(unknown)} is not in conf/feature_map; choose from {', '.join(MAPS)}")
    if args.tokens is not None and not LEAST_TOKENS <= args.tokens <= LONGEST:
        parser.error(f"--tokens {args.tokens} must be {LEAST_TOKENS} to {LONGEST}: a matrix of weights is made")
    for name, value in {"head_dim": 1, "heads": 1, "draws": 2, "time_tokens": 1, "rounds": 1}.items():
        if getattr(args, name) < value:
            parser.error(f"--{name.replace('_', '-')} must be at least {value}, not {getattr(args, name)}")
    if min(args.time_lengths) < 1 or args.scale <= 0:
        parser.error("--time-lengths and --scale must be above 0")
    if args.checkpoint and (args.document is None) == (args.row is None):
        parser.error("--checkpoint needs a document: either --document FILE or --row N")
    if not args.checkpoint and (args.document or args.row is not None):
        parser.error("--document and --row belong to a --checkpoint")
    return args


def document(loaded: Loaded, args: argparse.Namespace) -> torch.Tensor:
    """The first ids (N,) of the document, encoded as the checkpoint encodes."""
    if args.document:
        if "tokenizer" not in loaded.task_state:
            raise ValueError(
                f"the task {loaded.config['choices']['task']} reads no text; give --row in place of --document"
            )
        tokenizer = Tokenizer.from_str(loaded.task_state["tokenizer"])
        tokenizer.encode_special_tokens = True
        try:
            text = args.document.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{args.document} is not UTF-8: {error}") from error
        ids: Any = tokenizer.encode(text, add_special_tokens=False).ids
    else:
        documents = loaded.task(args.data).documents("test")
        if not 0 <= args.row < len(documents):
            raise ValueError(f"--row {args.row}: the test split has the rows 0 to {len(documents) - 1}")
        ids = documents.ids(args.row).tolist()
    if len(ids) < 2:
        raise ValueError(f"the document has {len(ids)} tokens; weights need at least 2")
    return torch.tensor(ids[: args.tokens or 2048])


def of_checkpoint(args: argparse.Namespace, say: Any) -> dict[str, Any]:
    """A trained encoder's own attention, layer by layer."""
    loaded = load(args.checkpoint, args.trust)
    ids = document(loaded, args)
    layers = [analyse_layer(i, layer) for i, layer in enumerate(capture(loaded.model.encoder, ids))]
    name = variant(mixing(loaded.config) | {"config": loaded.config})
    say(report.of_layers(layers, name))
    plot_layers(layers, name, MAPS, args.output / "checkpoint.png")
    return {"choices": loaded.config["choices"], "step": loaded.step, "tokens": len(ids), "layers": layers}


def of_random_inputs(args: argparse.Namespace, say: Any) -> dict[str, Any]:
    """Every part that is asked for, of every map, on normal queries and keys."""
    inputs = Inputs(args.tokens or 512, args.head_dim, args.heads, args.scale, args.seed)
    mixers = make_mixers(CONF, args.maps, inputs)
    q, k = inputs.queries_and_keys()
    found: dict[str, Any] = {}
    if "variance" in args.parts and (rows := list(variance(CONF, args.maps, args.head_dim, args.draws, args.seed))):
        found["variance"] = rows
        say(report.of_variance(rows))
        plot_variance(rows, MAPS, args.output / "variance.png")
    if "sharpness" in args.parts:
        found["sharpness"] = rows = sharpness(mixers, q, k, FACTORS)
        say(report.of_sharpness(rows, inputs.tokens))
        plot.plot_sharpness(rows, inputs.tokens, MAPS, args.output / "sharpness.png")
    if "monotonicity" in args.parts:
        found["monotonicity"] = rows = monotonicity(mixers, q, k)
        say(report.of_monotonicity(rows))
        plot.plot_monotonicity(rows, MAPS, args.output / "monotonicity.png")
    if "position" in args.parts:
        found["position"] = rows = position_bias(mixers, *inputs.queries_and_keys(max(1, PAIRS // inputs.tokens**2)))
        say(report.of_position(rows))
        plot.plot_position(rows, MAPS, args.output / "position.png")
        if rows := decays(CONF, inputs):
            found["decay"] = rows
            say(report.of_decays(rows))
            plot.plot_decays(rows, inputs.tokens, args.output / "decay.png")
    if "cost" in args.parts:
        found["cost"] = rows = cost(mixers, args.head_dim, args.heads)
        if args.time:
            lengths, size = sorted(set(args.time_lengths)), (args.head_dim, args.heads)
            add_measured(rows, time_mixers(mixers, *size, lengths, args.time_tokens, args.rounds, args.compile))
        say(report.of_cost(rows, args.head_dim))
        mode, threads = "compiled" if args.compile else "eager", torch.get_num_threads()
        how = f"measured: forward, float32, {mode}, CPU, threads: {threads}"
        plot.plot_cost(rows, MAPS, how, args.output / "cost.png")
    return found


def main(argv: list[str] | None = None) -> int:
    """Returns the exit status: 0, or 1 with what was wrong in one sentence."""
    args = arguments(argv)
    say = Console(highlight=False, soft_wrap=True).print
    try:
        args.output.mkdir(parents=True, exist_ok=True)
        found = of_checkpoint(args, say) if args.checkpoint else of_random_inputs(args, say)
        commit, dirty = git_state(ROOT)
        versions = {"python": platform.python_version(), "torch": torch.__version__, "commit": commit, "dirty": dirty}
        told = {name: value for name, value in vars(args).items() if name != "output"}
        record = {"arguments": told, "environment": versions | machine(torch.get_num_threads()), **found}
        (args.output / "analysis.json").write_text(json.dumps(record, indent=1, default=str, allow_nan=False) + "\n")
    except (ValueError, OSError) as error:
        print(f"analyze.py: {one_sentence(error)}", file=sys.stderr)
        return 1
    say(f"written: {args.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
