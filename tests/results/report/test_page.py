"""The page in a browser: it draws, sorts, filters and reaches for nothing outside."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import browser
import pytest
from results.made_runs import write_many
from results.records import made

from longdoc.results import collect_paths, write_record
from longdoc.results.report import page

RUNS = "tbody tr"


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    yield from browser.start()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    write_many(folder / "runs", steps=600)
    (folder / "report.html").write_text(page(*collect_paths([folder / "runs"]), "runs"))
    (folder / "empty.html").write_text(page(*collect_paths([folder / "none"]), "none"))
    for pairs in (4, 32):
        for attention in ("linear", "softmax"):
            run = made(attention, accuracy=1 / pairs, protocol="skyformer", references={"guess": 1 / pairs})
            run["config"]["task"]["pairs"] = pairs
            write_record(folder / "kinds" / f"{attention}{pairs}", run | {"config_hash": f"{pairs}"})
    (folder / "kinds.html").write_text(page(*collect_paths([folder / "kinds"]), "kinds", published=True))
    return folder


@pytest.fixture
def shown(driver: Any, written: Path) -> Any:
    driver.get((written / "report.html").as_uri())
    return driver


def column(driver: Any, table: int, title: str) -> list[str]:
    """The texts of a column of the n-th table on the page, top to bottom."""
    script = """
        const table = document.querySelectorAll("table")[arguments[0]];
        const heads = [...table.tHead.rows[0].cells].map((cell) => cell.querySelector("button").textContent);
        return [...table.tBodies[0].rows].map((row) => row.cells[heads.indexOf(arguments[1])].innerText.trim());
    """
    return driver.execute_script(script, table, title)


def press(driver: Any, table: int, title: str) -> str:
    """Sorts by a column; returns what the head then says."""
    script = """
        const head = [...document.querySelectorAll("table")[arguments[0]].tHead.rows[0].cells]
            .find((cell) => cell.querySelector("button").textContent === arguments[1]);
        head.querySelector("button").click();
        return head.ariaSort;
    """
    return driver.execute_script(script, table, title)


def find(driver: Any, words: str) -> None:
    script = """
        const box = document.getElementById("filter");
        box.value = arguments[0];
        box.dispatchEvent(new Event("input"));
    """
    driver.execute_script(script, words)


def wait_for_paint(driver: Any) -> None:
    driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(() => arguments[0]()))")


def test_no_error_and_nothing_is_fetched(shown: Any) -> None:
    wait_for_paint(shown)
    assert shown.get_log("browser") == []
    asked = [json.loads(entry["message"])["message"] for entry in shown.get_log("performance")]
    urls = [each["params"]["request"]["url"] for each in asked if each["method"] == "Network.requestWillBeSent"]
    assert urls
    assert all(url.startswith(("file:", "data:")) for url in urls)


@pytest.mark.parametrize(
    ("width", "theme", "paper"), [(1280, "light", "rgb(252, 252, 250)"), (390, "dark", "rgb(20, 22, 26)")]
)
def test_figures_have_size_and_the_page_fits(driver: Any, written: Path, width: int, theme: str, paper: str) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    )
    try:
        driver.get((written / "report.html").as_uri())
        wait_for_paint(driver)
        found = driver.execute_script("""
            return [...document.querySelectorAll("figure")].map((figure) => {
                const box = figure.querySelector("svg").getBoundingClientRect();
                const marks = figure.querySelectorAll("svg [data-variant] *").length;
                return [figure.dataset.figure, box.width, box.height, marks];
            });
        """)
        titles = {title for title, *_ in found}
        assert {"Accuracy against training speed", "Accuracy against memory", "Training speed against length"} <= titles
        assert {"Accuracy by length of the document", "Validation accuracy against optimizer steps"} <= titles
        assert len(found) == 3 * 4 + 2
        assert all(wide > 300 and high > 200 and marks > 0 for _, wide, high, marks in found)
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        assert driver.execute_script("return getComputedStyle(document.body).backgroundColor") == paper
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_table_sorts_both_ways_with_what_is_missing_last(shown: Any) -> None:
    accuracies = column(shown, 1, "test acc")
    assert accuracies == [*sorted(accuracies[:-1], reverse=True), "nan"]
    assert press(shown, 1, "test acc") == "ascending"
    assert column(shown, 1, "test acc") == [*accuracies[-2::-1], "nan"]
    assert press(shown, 1, "variant") == "ascending"
    assert column(shown, 1, "variant") == ["elu", "elu+selective", "favor", "hedgehog", "relu", "relu (2)", "softmax"]


def test_the_filter_takes_rows_from_tables_and_figures(shown: Any) -> None:
    find(shown, "elu -selective -relu")
    assert column(shown, 1, "variant") == ["elu"]
    wait_for_paint(shown)
    drawn = shown.execute_script(
        "return [...new Set([...document.querySelectorAll('svg.chart g[data-variant]')].map((g) => g.dataset.variant))]"
    )
    assert drawn == ["elu"]
    find(shown, "failed")
    assert column(shown, 1, "variant") == []
    assert column(shown, 2, "status") == ["failed\nthe training loss is nan at step 812; the checkpoints stay"]
    find(shown, "")
    assert len(column(shown, 1, "variant")) == 7


def test_the_axis_switches(shown: Any) -> None:
    shown.execute_script("document.querySelector('[data-axis=tokens]').click()")
    titles = shown.execute_script("return [...document.querySelectorAll('figure')].map((f) => f.dataset.figure)")
    assert "Validation accuracy against tokens read" in titles


def test_a_figure_gives_its_data(shown: Any) -> None:
    href = shown.execute_script("""
        const link = document.querySelector('[data-figure="Accuracy against memory"] a.csv');
        link.addEventListener("click", (event) => event.preventDefault());
        link.click();
        return link.href;
    """)
    head, _, text = href.partition(",")
    assert head == "data:text/csv;charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(unquote(text))))
    assert {row["variant"] for row in rows} == {"softmax", "elu", "elu+selective", "favor", "hedgehog", "relu"}
    softmax = next(row for row in rows if row["variant"] == "softmax")
    assert float(softmax["peak_memory_mb"]) == pytest.approx(600 + 1024 * 0.2)
    assert softmax["interval"] == "Student's t over 3 seeds"


def test_a_legends_button_hides_a_variant_everywhere(shown: Any) -> None:
    shown.execute_script("document.querySelector('[data-variant-button=favor]').click()")
    wait_for_paint(shown)
    assert "favor" not in column(shown, 1, "variant")
    assert shown.execute_script("return document.querySelectorAll('svg.chart g[data-variant=favor]').length") == 0
    assert shown.execute_script("return document.querySelectorAll('svg.chart g[data-variant=elu]').length") > 0


def test_a_point_says_what_it_is(shown: Any) -> None:
    wait_for_paint(shown)
    said = shown.execute_script("""
        const figure = document.querySelector('[data-figure="Accuracy against memory"]');
        const point = figure.querySelector("g[data-variant=softmax] .glyph").getBoundingClientRect();
        const at = { clientX: point.left + point.width / 2, clientY: point.top + point.height / 2 };
        figure.querySelector("svg").dispatchEvent(new PointerEvent("pointermove", at));
        const tip = document.getElementById("tip");
        return [tip.hidden, tip.textContent];
    """)
    assert said[0] is False
    assert said[1].startswith("softmax\ntest accuracy 0.4163 [0.413, 0.419]\n805 MB, peak of the training process\nAMD")


def test_what_is_odd_is_said(shown: Any) -> None:
    said = shown.execute_script("return document.getElementById('alerts').innerText")
    for sentence in (
        "schema_version is 0, this longdoc reads 1: an older record; compare it with the longdoc of its commit",
        "3 runs not finished, in no mean (1 failed, 1 interrupted, 1 running)",
        "2 runs have this name",
        "test/accuracy is nan",
    ):
        assert sentence in said
    apart = shown.execute_script("return document.querySelector('.apart').innerText")
    assert apart.startswith("Not to be compared with the other 2 groups of listops: length 1,024 tokens (elsewhere")


def test_documents_of_another_kind_are_in_figures_of_their_own_and_published_numbers_below(
    driver: Any, written: Path
) -> None:
    driver.get((written / "kinds.html").as_uri())
    wait_for_paint(driver)
    found = driver.execute_script("""
        return [...document.querySelectorAll("figure")].map((figure) => [
            figure.dataset.figure,
            [...new Set([...figure.querySelectorAll("svg g[data-variant]")].map((layer) => layer.dataset.variant))],
        ]);
    """)
    assert {title: sorted(shown) for title, shown in found} == {
        f"Accuracy against {cost}, task.pairs {pairs}": names
        for cost in ("training speed", "memory")
        for pairs, names in ((4, ["elu", "softmax"]), (32, ["elu (2)", "softmax (2)"]))
    }
    foot = driver.execute_script("return document.querySelector('tfoot').innerText")
    assert "Transformer, published" in foot
    assert "0.384" in foot
    assert [entry["message"] for entry in driver.get_log("browser")] == []


def test_no_results_is_a_page_that_says_so(driver: Any, written: Path) -> None:
    driver.get((written / "empty.html").as_uri())
    said = driver.execute_script("return document.body.innerText")
    assert "No results found in none." in said
    assert "does not exist." in said
    assert [entry["message"] for entry in driver.get_log("browser")] == []
