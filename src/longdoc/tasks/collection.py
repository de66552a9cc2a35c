"""Where a collection of labelled texts lies: a file, a folder of files, of texts, or a set of the hub."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rich.console import Console

from longdoc.tasks.cache import resolve
from longdoc.tasks.rows import Refused
from longdoc.tasks.tables import TYPES, FileTable, HubTable, Table, load_hub

HUB = "hf:"
NAMES = {  # what files, folders and a hub's sets call the splits
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test",),
}


def find_collection(
    path: str, config: str | None = None, revision: str | None = None, streaming: bool = False
) -> dict[str, Table]:
    """The tables of a collection by split; of a single one, under the name ``train``.

    path: a file of ``TYPES``; a folder with {train,validation,test} files of them; a folder <label>/*.txt, or
        {train,validation,test}/<label>/*.txt; or hf:NAME, of the hub, read as a stream or downloaded.

    Raises FileNotFoundError or ValueError, saying what lies there, for anything else.
    """
    if path.startswith(HUB):
        with Console().status(f"loading {path}"):
            return _by_split(load_hub(path.removeprefix(HUB), config, revision, streaming), path)
    place = resolve(path)
    if place.is_file():
        if place.suffix[1:] not in TYPES:
            raise ValueError(f"task.path={path}: a file is a .{', .'.join(TYPES)}; texts lie in a folder <label>/*.txt")
        return {"train": FileTable(place, written=True)}
    if not place.is_dir():
        hub = "" if Path(path).is_absolute() else f"; task.path=hf:{path} would be a set of the hub"
        raise FileNotFoundError(f"task.path={path} is not there{_nearest(place)}{hub}")
    return _in_folder(place)


def with_test(tables: Mapping[str, Table], other: Mapping[str, Table], path: str) -> dict[str, Table]:
    """The tables of a collection, the test split that of the ``other`` one, or its only table.

    A table that is to be the test split is nothing else. Raises ValueError if the other one, of ``path``, has several
    tables and no test.
    """
    if "test" in other:
        return {**tables, "test": other["test"]}
    if list(other) != ["train"]:
        raise ValueError(f"task.test={path} has no test split, only {', '.join(other)}")
    (test,) = other.values()
    return {split: table for split, table in tables.items() if table.where != test.where} | {"test": test}


def _nearest(place: Path) -> str:
    folder = next(parent for parent in place.parents if parent.is_dir())
    wrong = place.relative_to(folder).parts[0]
    near = get_close_matches(wrong, [entry.name for entry in folder.iterdir()], cutoff=0.5)
    return f": {folder} has no {wrong}" + (f", but {', '.join(near)}" if near else "")


def _by_split(found: dict[str, HubTable], where: str) -> dict[str, Table]:
    tables: dict[str, Table] = {}
    for split, names in NAMES.items():
        first = next((found[name] for name in names if name in found), None)
        tables |= {} if first is None else {split: first}
    if not tables and len(found) == 1:
        return {"train": next(iter(found.values()))}
    if not tables:
        raise ValueError(f"task.path={where} has the splits {', '.join(found)}; none of them is train")
    return tables


def split_files(folder: Path, names: Sequence[str] = sum(NAMES.values(), ())) -> list[Path]:
    """The files of a folder that are tables and have one of some names, of splits."""
    return [path for name in names for kind in TYPES if (path := folder / f"{name}.{kind}").is_file()]


def _in_folder(folder: Path) -> dict[str, Table]:
    tables: dict[str, Table] = {}
    for split, names in NAMES.items():
        found: list[Table | None] = [FileTable(path, written=True) for path in split_files(folder, names)]
        found += [_texts(folder / name) for name in names if (folder / name).is_dir()]
        for table in filter(None, found):
            if split in tables:
                raise ValueError(f"{tables[split].where} and {table.where} are both {split}: take one of them away")
            tables[split] = table
    whole = None if tables else _texts(folder)
    if whole is not None:
        return {"train": whole}
    if tables:
        return tables
    there = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    shown = ", ".join(there[:10]) + (", ..." if len(there) > 10 else "")
    if any(name.endswith(".txt") for name in there):
        why = f"texts without a label ({shown}): they must lie in folders named by their labels, <label>/*.txt"
    else:
        why = f"{shown or 'no files'}: it needs train.{{{','.join(TYPES)}}} or folders <label>/*.txt"
        if any(name.rpartition(".")[2] in TYPES for name in there):
            why += "; a file of another name is chosen by task.path=FILE"
    raise FileNotFoundError(f"{folder} holds {why}")


def _texts(folder: Path) -> Table | None:
    table = LabelFolder(folder)
    return table if table.files else None


def visible_files(folder: Path, pattern: str) -> list[Path]:
    """The files below a folder, in order, but those that are hidden or in a hidden folder."""
    files = [path for path in folder.glob(pattern) if path.is_file()]
    return sorted(p for p in files if not any(part.startswith(".") for part in p.relative_to(folder).parts))


class LabelFolder(Table):
    """A folder <label>/*.txt: one text a file, columns ``text``, ``label`` and ``file``.

    left_out: other files below it, deeper or not .txt. Hidden ones are none.
    """

    def __init__(self, folder: Path) -> None:
        self.where = self.folder = folder
        there = visible_files(folder, "*/**/*")
        self.files = [path for path in there if path.suffix == ".txt" and path.parent.parent == folder]
        self.left_out = sorted(set(there) - set(self.files))

    def key(self) -> str:
        digest = hashlib.sha256()
        for path in self.files:
            name = str(path.relative_to(self.folder)).encode(errors="surrogateescape")
            digest.update(hashlib.sha256(name).digest() + hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()

    def column_names(self) -> list[str]:
        return ["text", "label", "file"]

    def rows(self, columns: Sequence[str], refused: Refused) -> Iterator[tuple[Any, ...]]:
        if missing := [name for name in columns if name not in self.column_names()]:
            raise ValueError(
                f"{self.where} has the columns {', '.join(self.column_names())}; it lacks {', '.join(missing)}"
            )
        for path in self.files:
            refused.rows += 1
            refused.where = path  # of use to who reads what is wrong
            values: dict[str, Any] = {"label": path.parent.name, "file": str(path.relative_to(self.folder))}
            if "text" in columns:
                values["text"] = path.read_bytes()
            yield tuple(values[name] for name in columns)
        refused.check()
