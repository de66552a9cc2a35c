"""Reading ListOps as Long Range Arena released it: basic_{train,val,test}.tsv."""

from collections.abc import Iterator
from pathlib import Path

from longdoc.tasks.listops_language import Ids, encode, evaluate
from longdoc.tasks.rows import Refused

HEADER = b"Source\tTarget"
BOM = b"\xef\xbb\xbf"


def released_rows(path: Path, max_length: int) -> Iterator[tuple[Ids, int]]:
    """The symbol ids and the value of every row: below a header, an expression, a tab and its value.

    Row 1 is the one below the header; empty lines at the end are none.

    Raises ValueError at once for another layout; at the end if a row has other fields, an unknown symbol, more than
    ``max_length`` symbols, or a label that is not the value of its expression.
    """
    refused = Refused(path)
    with path.open("rb") as file:
        first = file.readline().removeprefix(BOM).rstrip(b"\r\n")
        if first != HEADER:
            raise ValueError(
                f"{path} begins with {first[:40].decode(errors='replace')!r} and not with the header "
                f"Source<TAB>Target: task.source=local reads the layout of Long Range Arena, expression<TAB>value "
                f"below that header, and not the layout of the ListOps of 2018, value<TAB>expression without a header"
            )
        empty = 0  # lines since the latest row
        for line in file:
            if not line.strip():
                empty += 1
                continue
            for _ in range(empty):
                refused.add_next("the line is empty")
            empty = 0
            refused.rows += 1
            try:
                yield _row(line.rstrip(b"\r\n").decode(), max_length)
            except ValueError as error:
                refused.add(str(error))
    refused.check()


def _row(line: str, max_length: int) -> tuple[Ids, int]:
    fields = line.split("\t")
    if len(fields) != 2:
        raise ValueError(f"there are {len(fields)} fields between tabs, not two: Source, Target")
    source, target = fields
    if target not in list("0123456789"):
        raise ValueError(f"the label {target[:40]!r} is not one of 0 to 9")
    ids = encode(source)
    if len(ids) > max_length:
        raise ValueError(f"the expression has {len(ids):,} symbols, more than task.max_length={max_length}")
    if evaluate(ids) != int(target):
        raise ValueError(f"the label is {target}, but the value of the expression is {evaluate(ids)}")
    return ids, int(target)
