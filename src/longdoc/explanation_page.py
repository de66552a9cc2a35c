"""Explanations as one HTML page, which needs nothing beside it."""

from collections.abc import Iterator, Sequence
from html import escape

from longdoc.explanation import Explanation, Passage

STYLE = """
:root { color-scheme: light dark; --paper: #fcfcfa; --ink: #1b1e23; --muted: #5f656e; --rule: #d9d9d2;
  --for: 0 114 178; --against: 213 94 0; }
@media (prefers-color-scheme: dark) { :root { --paper: #14161a; --ink: #e8e8e4; --muted: #9aa1ab; --rule: #343841;
  --for: 79 163 223; --against: 240 127 60; } }
body { margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 48rem; background: var(--paper); color: var(--ink);
  font: 16px/1.65 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 3rem 0 0; }
p.said { margin: .2rem 0 1rem; color: var(--muted); } p.said b { color: var(--ink); }
.text { border-top: 1px solid var(--rule); padding-top: 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.text span, .key span { border-radius: .2em; box-decoration-break: clone; -webkit-box-decoration-break: clone; }
.for { background: rgb(var(--for) / var(--share)); }
.against { background: rgb(var(--against) / var(--share)); text-decoration: underline dotted; }
.key span { padding: .1em .4em; } .gap { color: var(--muted); font-style: italic; }
"""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>What moved the decisions</title>
<style>{style}</style>
</head>
<body>
<h1>What moved the decisions</h1>
<p class="key">Passages <span class="for" style="--share: .5">for</span> and
<span class="against" style="--share: .5">against</span> the class that is named, the darker the more: each was left
out, and the class's log-odds fell or rose by what stands there when the pointer rests on it.</p>
{documents}
</body>
</html>
"""


def to_page(explanations: Sequence[tuple[str, Explanation]]) -> str:
    """Each with its document's name; texts are escaped, and control characters shown as what stands for them."""
    return PAGE.format(style=STYLE, documents="\n".join(_section(*named) for named in explanations))


def _section(name: str, found: Explanation) -> str:
    said = f"<b>{_plain(found.label)}</b>, probability {found.probability:.4f}, {found.tokens:,} tokens"
    return f'<h2>{_plain(name)}</h2>\n<p class="said">{said}</p>\n<div class="text">{"".join(_parts(found))}</div>'


def _parts(found: Explanation) -> Iterator[str]:
    heaviest = max((abs(passage.weight) for passage in found.passages), default=0) or 1
    reached = 0
    for passage in found.passages:
        yield _gap(passage.start - reached)
        yield _shaded(passage, heaviest)
        reached = passage.end
    yield _gap(found.tokens - reached)


def _shaded(passage: Passage, heaviest: float) -> str:
    side, share = "for" if passage.weight >= 0 else "against", 0.6 * abs(passage.weight) / heaviest
    style = f'style="--share: {share:.3f}" title="{passage.weight:+.4f}"'
    return f'<span class="{side}" {style}>{_plain(passage.text)}</span>'


def _gap(tokens: int) -> str:
    return f'<span class="gap">[{tokens:,} tokens not read]</span>' if tokens > 0 else ""


def _plain(text: str) -> str:
    """No markup; control characters, which HTML does not have, as their pictures (U+2400 on)."""
    pictures = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"}
    return escape(text.replace("\r\n", "\n").translate(pictures))
