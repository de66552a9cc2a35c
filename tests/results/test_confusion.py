"""Which class is taken for which, against scikit-learn."""

import numpy as np
from rich.console import Console
from sklearn.metrics import confusion_matrix

from longdoc.results.confusion import confusion, confusion_table, most_confused
from longdoc.results.metrics import RECORDED

RNG = np.random.default_rng(0)
LABELS, GIVEN = RNG.integers(0, 3, 50), RNG.integers(0, 4, 50)  # no document has class 3


def shown(table) -> list[str]:
    console = Console(width=80, record=True)
    console.print(table)
    return console.export_text().splitlines()


def test_the_matrix_is_scikit_learns():
    assert confusion(LABELS, GIVEN, 4) == confusion_matrix(LABELS, GIVEN, labels=range(4)).tolist()
    assert confusion(LABELS, GIVEN, RECORDED + 1) is None


def test_few_classes_are_a_matrix_and_many_the_pairs_most_often_confused():
    names = ["austen", "brontë [c]", "dickens", "eliot"]
    heading, *rows = shown(confusion_table(names, [[5, 0, 1, 0], [0, 7, 0, 0], [3, 0, 4, 0], [0, 0, 0, 9]]))
    assert heading.split() == ["class", "\\", "given", "austen", "bront…", "dicke…", "eliot"]
    assert [row.split()[-4:] for row in rows] == [
        ["5", "·", "1", "·"], ["·", "7", "·", "·"], ["3", "·", "4", "·"], ["·", "·", "·", "9"],
    ]  # fmt: skip
    many = np.diag(np.full(12, 5))
    many[3, 7], many[7, 3], many[0, 1] = 2, 6, 1
    numbers = [str(i) for i in range(12)]
    assert most_confused(numbers, many.tolist()) == [("7", "3", 6), ("3", "7", 2), ("0", "1", 1)]
    assert [row.split() for row in shown(confusion_table(numbers, many.tolist()))[1:]] == [
        ["7", "3", "6"], ["3", "7", "2"], ["0", "1", "1"],
    ]  # fmt: skip


def test_where_nothing_is_confused_nothing_is_shown():
    assert confusion_table(["a", "b"], [[3, 0], [0, 4]]) is None
