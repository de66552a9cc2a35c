"""Write a text on:  python scripts/generate.py CHECKPOINT --prompt "It was" [--tokens 200] [--temperature 0.8]

The checkpoint is one of ``python train.py task=next_token``, and enough: model and tokenizer come out of it. A token
costs the same however long the text before it is, and a prompt of any length is read in pieces, in constant memory.
What is written goes to standard output, all else to standard error. A state handed on with --save-state and
--load-state goes on where the text ended, as if it had been one call: text that was read once is not read again.
"""

import argparse
import io
import sys
import time
from pathlib import Path

import longdoc.caches  # noqa: F401  # isort: skip

from longdoc.errors import one_sentence
from longdoc.export import load
from longdoc.generation import Sampling, Writer
from longdoc.speed import keep_freed_memory


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("checkpoint", type=Path)
    prompt = parser.add_mutually_exclusive_group()
    prompt.add_argument("--prompt", metavar="TEXT", help="what to read first, behind a loaded state")
    prompt.add_argument("--prompt-file", type=Path, metavar="PATH", help="the same, from a file in UTF-8")
    add("--tokens", type=int, default=200, help="to write (default: %(default)s)")
    add("--temperature", type=float, default=0.8, help="0: always the likeliest token (default: %(default)s)")
    add("--top-k", type=int, metavar="K", help="draw from the K likeliest tokens (default: all)")
    add("--seed", type=int, help="default: 0; of a loaded state, its random numbers go on")
    add("--load-state", type=Path, metavar="FILE", help="go on from a saved state")
    add("--save-state", type=Path, metavar="FILE", help="save the state behind the last token written")
    add("--trust", action="append", default=[], metavar="MODULE",
        help="a module of yours that the checkpoint's classes come from; repeatable")  # fmt: skip
    return parser.parse_args()


def read(writer: Writer, prompt: str | None, path: Path | None) -> None:
    """Reads the prompt, telling of long ones how far it is."""
    with io.StringIO(prompt or "") if path is None else path.open(encoding="utf-8") as file:
        start = shown = time.monotonic()
        for tokens in writer.read(file):
            if time.monotonic() - shown > 1:
                shown = time.monotonic()
                print(f"\r{tokens:,} tokens read, {tokens / (shown - start):,.0f} a second", end="", file=sys.stderr)
    if shown > start:
        print(file=sys.stderr)


def main() -> None:
    options = arguments()
    keep_freed_memory()
    sampling = Sampling(options.temperature, options.top_k)
    if options.tokens < 0:
        raise ValueError(f"--tokens {options.tokens} must be at least 0")
    writer = Writer.of(load(options.checkpoint, options.trust))
    if options.load_state:
        writer.load(options.load_state)
    if options.seed is not None or not options.load_state:
        writer.generator.manual_seed(options.seed or 0)
    read(writer, options.prompt, options.prompt_file)
    if not writer.tokens:
        raise ValueError("there is no text to go on from; give a --prompt, a --prompt-file or a --load-state")
    start = time.perf_counter()
    for text in writer.write(options.tokens, sampling):
        print(text, end="", flush=True)
    seconds = time.perf_counter() - start
    if options.save_state:
        writer.save(options.save_state)
    print(f"\n{options.tokens} tokens behind {writer.tokens - options.tokens:,}, "
          f"{options.tokens / max(seconds, 1e-9):,.0f} a second", file=sys.stderr)  # fmt: skip


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        sys.exit(f"generate.py: {one_sentence(error)}")
