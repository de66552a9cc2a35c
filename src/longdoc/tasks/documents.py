"""A collection of your own: texts with labels, from wherever they lie."""

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longdoc.tasks.base import SPLITS
from longdoc.tasks.cache import cached, save_documents, save_pairs
from longdoc.tasks.class_names import check_classes, class_numbers, natural_order
from longdoc.tasks.collected import Collected
from longdoc.tasks.labels import class_weights, found_words, sense
from longdoc.tasks.say import say
from longdoc.tasks.spool import Spool
from longdoc.tasks.tokenizers import learn_tokenizer, progress

KNOWN = ("classes", "columns", "multi_label", "numbered")  # before a tokenizer is


class OwnDocuments(Collected):
    """Texts and their labels, of any collection, see ``Collected``; what is learnt from them, and their encoding.

    class_weights: ``balanced``, or the weight of each class by its name, in the training loss; null for none.
    tokenizer: ``bytes``; ``bpe``, trained on the training split, of a fold the fold's, of ``vocab_size`` entries; or a
        file or name of the hub, see ``tokenizers.find_tokenizer``.
    """

    name = "documents"

    def __init__(
        self,
        class_weights: str | dict[str, float] | None = None,
        tokenizer: str = "bpe",
        vocab_size: int = 8192,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.weights = class_weights
        self.tokenizer_name, self.tokenizer_size = tokenizer, vocab_size

    # What is learnt from the training table.

    def learn(self) -> dict[str, Any]:
        """Also ``columns``, ``multi_label``, ``tokenizer``, and ``numbered``: labels are the numbers of the classes."""
        known, key = self._known, self._key("train")
        if self.streaming and self.tokenizer_name == "bpe":
            say(f"the tokenizer is trained on the first {self.tokenizer_documents:,} documents of the stream")
            key |= {"first": self.tokenizer_documents}
        if self.fold is not None:
            key = {split: self._key(split) for split in SPLITS} | {"fold": [self.folds, self.fold, self.split_seed]}
        tokenizer = learn_tokenizer(self.tokenizer_name, self.tokenizer_size, self._train_texts, self.cache, key)
        return known | {"vocab_size": tokenizer.vocab_size, "tokenizer": tokenizer.state}

    def _train_texts(self) -> Iterator[str]:
        for split, places in self.train_places().items():
            rows = np.sort(self.split_rows(split)[places])
            yield from self._texts(split, rows[: self.tokenizer_documents] if self.streaming else rows)

    @cached_property
    def _known(self) -> dict[str, Any]:
        """``KNOWN``: what a checkpoint holds, else of the training table."""
        if self.state is not None:
            return {name: self.state[name] for name in KNOWN}
        found, where, column = self._scan("train"), self.table("train").where, self._columns["label"]
        names = None if self.labels else self.table("train").class_names(column)
        rows = Counter(name for labels in found.labels for name in labels)
        classes = self.labels or names or natural_order(rows)
        check_classes(classes, len(found.digests), where, column, len(self.tables) < len(SPLITS))
        if not self.labels and not names:
            say(f"{where}: {found_words(rows)}")
        return {
            "classes": classes,
            "columns": self._columns,
            "multi_label": found.lists,
            "numbered": names is not None,
        }

    def labels_of(self, split: str) -> NDArray[Any]:
        table, classes = self.table(split), self._known["classes"]
        whose = "task.labels" if classes == self.labels else "the training table's"
        # A table's numbers stand for its own names, else for training's, unless these are numbers themselves.
        plain = self._known["numbered"] and not any(isinstance(sense(name), float) for name in classes)
        names = table.class_names(self._columns["label"]) or (classes if plain else [])
        return class_numbers(
            self._scan(split).labels, classes, table.where, whose, self._known["multi_label"], numbered=names
        )

    # What is made of it.

    def prepare(self) -> None:
        super().prepare()
        assert self.state is not None
        self.multi_label = self.state["multi_label"]

    def prepare_data(self) -> None:
        super().prepare_data()
        self.class_weights = class_weights(self.weights, self.classes, self.train_labels())

    def _key(self, split: str) -> dict[str, Any]:
        return super()._key(split) | self._known

    def encode(self, split: str) -> Path:
        assert self.state is not None
        key = {"task": self.name, "version": 1, "state": self.state} | self._key(split)
        return cached(self.cache, key, lambda folder: self._encode(split, folder)) / "documents"

    def _encode(self, split: str, folder: Path) -> None:
        rows, sides = self.split_rows(split), 1 + self.pairs
        labels, size = self.row_labels(split), self.tokenizer.vocab_size
        spool = Spool(folder, np.min_scalar_type(size - 1))  # read in the table's order, written in the split's
        for ids in progress(self.tokenizer.stream(self._texts(split, rows)), split):
            spool.append(ids)
        first = sides * rows.argsort().argsort()
        classes = len(self.classes) if self.multi_label else None
        if self.pairs:
            pairs = ((spool[i], spool[i + 1], label) for i, label in zip(first, labels, strict=True))
            save_pairs(folder / "documents", pairs, size, classes)
        else:
            save_documents(folder / "documents", (spool[i] for i in first), labels, size, classes)
