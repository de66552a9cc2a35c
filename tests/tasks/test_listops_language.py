"""ListOps: notation, values and reference lines."""

import numpy as np
import pytest
from expressions import each_row, small_splits

from longdoc.tasks.listops_generator import generate
from longdoc.tasks.listops_language import PAD, SYMBOLS, Rows, decode, encode, evaluate, references, to_lra

# Values and expressions as published: the first 8 written by LRA's script, the others from Nangia & Bowman.
PUBLISHED = """
7  ( ( ( ( ( ( ( ( ( ( ( [MAX 4 ) ( ( ( ( ( ( ( [MIN 4 ) 4 ) 6 ) 9 ) 0 ) 0 ) ] ) ) 5 ) ( ( ( ( [MED 4 ) 3 )
   ( ( ( ( ( [MAX 7 ) 7 ) 3 ) 6 ) ] ) ) ] ) ) 2 ) 1 ) 0 ) 7 ) 2 ) 2 ) ] )

6  ( ( ( ( ( ( ( ( [MED 9 ) 6 ) ( ( ( ( ( ( ( ( [SM 2 ) 4 ) 2 ) 5 ) 2 ) 2 ) ( ( ( ( [MAX 9 ) 0 ) ( ( ( (
   [MAX 1 ) 9 ) 2 ) ] ) ) ] ) ) ] ) ) 1 ) ( ( ( ( ( ( ( ( ( [MAX 2 ) 4 ) 9 ) 7 ) ( ( ( ( [SM 5 ) 0 ) 5 ) ] )
   ) 8 ) 8 ) 2 ) ] ) ) 2 ) 7 ) ] )

7  ( ( ( ( ( ( ( ( ( [MAX 1 ) 0 ) 6 ) 3 ) 7 ) 6 ) ( ( ( ( ( ( ( [MAX 5 ) ( ( ( ( ( ( [MED 2 ) 3 ) 1 ) 0 ) 5
   ) ] ) ) 4 ) 2 ) 1 ) 4 ) ] ) ) 7 ) ] )

4  ( ( ( ( ( ( [MED 4 ) ( ( ( ( ( ( [MIN 0 ) 8 ) 9 ) ( ( ( ( ( ( ( ( [MED 3 ) 8 ) 3 ) 0 ) 3 ) 8 ) 3 ) ] ) )
   7 ) ] ) ) 9 ) 0 ) 5 ) ] )

1  ( ( ( ( [MIN 8 ) 1 ) ( ( ( ( ( ( ( ( [MAX 6 ) ( ( ( [MIN 9 ) 1 ) ] ) ) 1 ) 3 ) ( ( ( ( ( ( ( ( ( [MAX 5 )
   4 ) 6 ) 8 ) 6 ) 6 ) 4 ) 0 ) ] ) ) 3 ) 6 ) ] ) ) ] )

5  ( ( ( ( ( ( ( ( ( ( ( [SM 8 ) 2 ) 5 ) 2 ) 3 ) ( ( ( ( ( ( [SM 0 ) 0 ) 8 ) 8 ) 8 ) ] ) ) 8 ) 1 ) 3 ) ( ( (
   ( [MAX 9 ) 2 ) 8 ) ] ) ) ] )

3  ( ( ( ( [MED ( ( ( ( ( ( ( [SM ( ( ( [MED 6 ) 6 ) ] ) ) 7 ) 6 ) 0 ) ( ( ( [MIN 0 ) ( ( ( ( [MIN 8 ) 0 ) 7
   ) ] ) ) ] ) ) 4 ) ] ) ) 5 ) 2 ) ] )

2  ( ( ( ( ( [SM 1 ) 2 ) ( ( ( ( ( ( [MIN 1 ) 6 ) 9 ) 9 ) 7 ) ] ) ) ( ( ( ( ( ( ( [MAX ( ( ( ( ( ( ( [SM 8 )
   0 ) 3 ) ( ( ( ( [MED 4 ) 6 ) 5 ) ] ) ) 8 ) 4 ) ] ) ) 4 ) 5 ) 5 ) 5 ) 1 ) ] ) ) ] )

3  ( ( ( ( [MED ( ( ( ( ( ( [MED 9 ) 5 ) 5 ) 0 ) 3 ) ] ) ) 0 ) ( ( ( ( ( [MED 6 ) 3 ) 4 ) 1 ) ] ) ) ] )

9  ( ( ( ( [MED 9 ) 6 ) 9 ) ] )

4  ( ( ( [MED 1 ) ( ( ( ( [MAX 1 ) 7 ) 0 ) ] ) ) ] )

9  ( ( ( ( ( [MAX 9 ) ( ( ( [MAX 2 ) 8 ) ] ) ) 8 ) 9 ) ] )

1  ( ( ( ( ( [SM 0 ) ( ( ( [SM ( ( ( ( ( ( [MIN 1 ) 5 ) 4 ) 2 ) 7 ) ] ) ) 2 ) ] ) ) 8 ) 0 ) ] )

2  ( ( ( ( ( ( [MED 8 ) 2 ) 5 ) 2 ) 0 ) ] )

6  ( ( ( ( [MED 7 ) 6 ) ( ( ( [MED 2 ) ( ( ( ( [MED ( ( ( [MIN 6 ) 3 ) ] ) ) 3 ) 4 ) ] ) ) ] ) ) ] )
"""

published = pytest.mark.parametrize(
    ("value", "source"),
    [(int(entry.split()[0]), " ".join(entry.split()[1:])) for entry in PUBLISHED.split("\n\n")],
    ids=range(PUBLISHED.count("\n\n") + 1),
)


def rows_of(*sources: str) -> Rows:
    ids = [encode(source) for source in sources]
    offsets = np.cumsum([0, *map(len, ids)])
    return Rows(np.concatenate(ids), offsets, np.array([evaluate(i) for i in ids], dtype=np.uint8))


@pytest.fixture(scope="module")
def small() -> dict[str, Rows]:
    return small_splits()


class TestNotation:
    def test_ids_are_the_symbols_in_order_and_leave_out_the_padding(self):
        assert encode(" ".join(SYMBOLS)).tolist() == list(range(1, 16))
        assert encode("").dtype == np.uint8
        assert PAD == 0

    @published
    def test_published_strings_come_back_in_both_forms(self, value, source):
        ids = encode(source)
        plain = " ".join(token for token in source.split() if token not in "()")
        assert decode(ids) == plain
        assert to_lra(ids) == source
        assert np.array_equal(encode(plain), ids)

    def test_generated_rows_come_back(self, small):
        for ids in each_row(small["test"]):
            assert np.array_equal(encode(decode(ids)), ids)
            assert np.array_equal(encode(to_lra(ids)), ids)

    def test_simplest_forms(self):
        assert to_lra(encode("[MAX 4 3 ]")) == "( ( ( [MAX 4 ) 3 ) ] )"
        assert to_lra(encode("7")) == decode(encode("7")) == "7"

    def test_padding_at_the_end_is_dropped(self):
        ids = np.concatenate([encode("[MAX 4 [MIN 2 3 ] ]"), np.zeros(5, dtype=np.uint8)])
        assert decode(ids) == "[MAX 4 [MIN 2 3 ] ]"
        assert evaluate(ids) == 4

    @pytest.mark.parametrize(
        ("source", "token", "position"),
        [("( [MAX 4 ) 3]", "3]", 4), ("[AVG 1 2 ]", "[AVG", 0), ("10", "10", 0)],
    )
    def test_unknown_token_is_named(self, source, token, position):
        with pytest.raises(ValueError, match="unknown ListOps token") as error:
            encode(source)
        assert repr(token) in str(error.value)
        assert str(error.value).endswith(f"position {position}")

    @pytest.mark.parametrize("ids", [[12, 5, 0, 5, 15], [16], [-1], [[1, 2]]])
    def test_what_is_no_row_of_ids_is_refused(self, ids):
        with pytest.raises(ValueError, match="expected a row of ListOps ids"):
            decode(ids)


class TestEvaluate:
    @published
    def test_published_values(self, value, source):
        assert evaluate(encode(source)) == value

    @pytest.mark.parametrize(
        ("source", "value"),
        [
            ("5", 5),
            ("[MED 1 2 ]", 1),
            ("[MED 0 9 ]", 4),
            ("[MED 9 0 5 ]", 5),
            ("[MED 1 8 4 6 ]", 5),
            ("[SM 9 9 9 ]", 7),
            ("[SM 5 5 ]", 0),
            ("[MIN 3 [MAX 0 9 ] ]", 3),
            ("[MAX [MIN [SM 8 8 ] 7 ] [MED 2 3 ] ]", 6),
        ],
    )
    def test_values_by_hand(self, source, value):
        assert evaluate(encode(source)) == value

    @pytest.mark.parametrize(
        ("source", "complaint"),
        [
            ("", "ends with 0 lists open"),
            ("[MAX 1 2", "ends with 1 lists open"),
            ("[MAX 1 [MIN 2 ]", "ends with 1 lists open"),
            ("]", "position 0 was never opened"),
            ("1 2", "ended before position 1"),
            ("[MAX 1 2 ] ]", "ended before position 4"),
            ("[MAX 1 2 ] 3", "ended before position 4"),
            ("[MAX 1 [MIN ] ]", "position 3 has no arguments"),
        ],
    )
    def test_malformed_expressions_are_refused(self, source, complaint):
        for function in (evaluate, to_lra):
            with pytest.raises(ValueError, match=complaint):
                function(encode(source))


class TestReferences:
    def test_values_by_hand(self):
        train = rows_of("[MAX 9 1 ]", "[MAX 9 2 ]", "[MAX 5 5 ]", "[MIN 3 4 ]", "[MIN 3 5 ]", "[MIN 3 7 ]")
        test = rows_of(
            "[MAX 9 [MIN 2 3 ] ]",  # 9: all but the majority, 3
            "[MAX 2 [MAX 4 [MIN 6 7 ] ] ]",  # 6: none
            "[MIN 3 8 ]",  # 3: all
            "[MIN [SM 1 [MAX 1 2 ] ] 5 ]",  # 3: majority and root
            "[MAX [MAX 8 1 ] [MIN 8 2 ] ]",  # 8: two levels; the root has no digits, so one level says 9
            "[MIN [MAX [SM 2 2 ] [SM 1 1 ] ] [SM [SM 1 2 ] [SM 1 2 ] ] ]",  # 4: none; no digits in two levels
            "[SM 1 1 ]",  # 2: both levels; the root was never seen, so its line says 3
            "[SM [MAX 1 2 ] [SM 1 0 ] ]",  # 3: all, since the root has no digits and one level falls back
        )
        assert test.labels.tolist() == [9, 6, 3, 3, 8, 4, 2, 3]
        assert references(train, test) == {
            "majority": 3 / 8,
            "root_operator": 4 / 8,
            "one_level": 4 / 8,
            "two_levels": 5 / 8,
        }

    def test_lines_on_lra_rows(self):
        splits = generate({"train": 4000, "test": 2000}, seed=2)
        lines = references(splits["train"], splits["test"])
        # Known values, from far more rows; 0.045 is four standard errors of 2,000.
        known = {"majority": 0.170, "root_operator": 0.363, "one_level": 0.480, "two_levels": 0.674}
        assert lines == pytest.approx(known, abs=0.045)

    def test_splits_without_rows_are_refused(self, small):
        empty = generate({"none": 0}, seed=0)["none"]
        with pytest.raises(ValueError, match="train has none"):
            references(empty, small["test"])
        with pytest.raises(ValueError, match="test has none"):
            references(small["train"], empty)
