"""The benchmark, run for real on tiny sizes, and the costs it reads off a model."""

import importlib.util
import json
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

from longdoc.attention import LinearAttention, SoftmaxAttention
from longdoc.benchmark import measure, stream
from longdoc.feature_maps import Elu, Favor
from longdoc.models import Classifier, Encoder
from longdoc.speed import ProcessMemory, crossover, flops_per_token, largest_tensor

ROOT = Path(__file__).resolve().parents[2]
MAPS = sorted(path.stem for path in (ROOT / "conf" / "feature_map").glob("*.yaml"))
TINY = "--no-compile --precision float32 --tokens 128 --width 16 --depth 1 --heads 2 --feedforward 32 --vocab 50"

WIDTH, DEPTH, HEADS, FEEDFORWARD, CLASSES, FEATURES = 16, 2, 2, 40, 3, 12


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("benchmark_script", ROOT / "scripts" / "benchmark.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    module.keep_freed_memory = lambda: None  # it cannot be undone, and later tests want memory given back
    yield module
    del sys.modules[spec.name]


def model(attention):
    return Classifier(Encoder(50, 64, WIDTH, DEPTH, HEADS, FEEDFORWARD, attention), "mean", CLASSES)


def run(benchmark, folder: Path, options: str) -> dict:
    assert benchmark.main([*TINY.split(), *options.split(), "--output", str(folder)]) == 0
    return json.loads((folder / "benchmark.json").read_text())


class TestScript:
    def test_all_variants_and_lengths_are_timed(self, benchmark, tmp_path, capsys):
        variants = ["softmax", *MAPS]
        record = run(benchmark, tmp_path, f"--no-memory --lengths 64 32 --repeats 2 --variants {' '.join(variants)}")
        shown = capsys.readouterr().out
        assert record["complete"]
        assert [(p["variant"], p["length"], p["rows"], p["tokens"]) for p in record["points"]] == [
            (variant, length, rows, length * rows) for length, rows in ((32, 4), (64, 2)) for variant in variants
        ]
        for point in record["points"]:
            for mode in ("train", "forward"):
                timed = point[mode]
                assert timed["repeats"] == timed["ratio_rounds"] == len(timed["seconds"]) == 2
                assert 0 < timed["min"] <= timed["tokens_per_second"] <= timed["max"]
                assert timed["ratio_min"] <= timed["ratio"] <= timed["ratio_max"]
                assert timed["first_step_seconds"] > 0
                assert f"N={point['length']} {point['variant']} {mode}: " in shown
                if point["variant"] == "softmax":
                    assert timed["ratio"] == 1
            assert point["parameters"] > 50 * 16
            assert "memory" not in point
        for mode in ("train", "forward"):
            assert sorted(record["crossover"][mode]) == MAPS
            assert f"{MAPS[0]}, {mode}: faster than softmax" in shown
        assert record["arguments"]["lengths"] == [32, 64]
        environment = record["environment"]
        assert environment["torch"] == torch.__version__
        assert (environment["precision"], environment["compiled"]) == ("float32", False)
        assert environment["threads"] == torch.get_num_threads()
        assert {"cpu", "commit", "python", "platform", "longdoc", "device"} <= set(environment)
        assert (tmp_path / "benchmark.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")

    def test_memory_is_measured_in_fresh_processes(self, benchmark, tmp_path):
        # Enough tokens that a step's tensors are far larger than the noise of a process's pages.
        options = "--tokens 32768 --variants elu --lengths 512 2048 --repeats 1 --modes train"
        record = run(benchmark, tmp_path, options)
        per_token = {}
        for point in record["points"]:
            memory = point["memory"]
            assert memory["method"] in ("VmHWM", "ru_maxrss")
            assert memory["steps"] == 2
            assert memory["model_bytes"] == point["parameters"] * 4
            assert 0 < memory["optimizer_bytes"] - 2 * memory["model_bytes"] < 1000  # AdamW: two moments
            assert 0 < memory["bare_bytes"] < memory["idle_bytes"] < memory["peak_bytes"]
            above = memory["peak_bytes"] - memory["idle_bytes"]
            assert memory["bytes_per_token"] == above / point["tokens"]
            assert memory["bytes_per_token_with_model"] > memory["bytes_per_token"]
            per_token[point["length"]] = memory["bytes_per_token"]
        # The feed-forward hidden layer alone, kept for the backward pass before and after its GELU.
        assert min(per_token.values()) > 2 * 32 * 4
        assert per_token[2048] == pytest.approx(per_token[512], rel=0.15)

    def test_streams(self, benchmark, tmp_path, monkeypatch, capsys):
        monkeypatch.setattr(stream, "PIECE", 64)
        monkeypatch.setattr(stream, "SETTLED", 1024)
        monkeypatch.setattr(stream, "LATE", 100)
        variants = ["softmax", "elu", "elu decay=selective", "efficient"]
        options = ["--stream", "20000", "--variants", *variants, "--output", str(tmp_path)]
        assert benchmark.main([*TINY.split(), *options]) == 0
        shown = capsys.readouterr().out
        record = json.loads((tmp_path / "stream.json").read_text())
        assert [point["variant"] for point in record["points"]] == variants[1:3]
        for point in record["points"]:
            assert point["step"]["ratio"] > 0
            assert point["text"]["tokens"] == point["agreement"]["tokens"] == 20_000
            assert point["text"]["growth_bytes"] < 20_000 * 16 * 4  # one vector a token would be more
            assert point["agreement"]["relative_error"] < 1e-4
            assert f"{point['variant']}: one token takes " in shown
        assert "feature_map=efficient needs the whole sequence" in shown
        assert record["environment"]["precision"] == "float32"

    def test_whole_documents(self, benchmark, tmp_path, capsys):
        options = ["--whole", "1000", "--variants", "softmax", "elu decay=fixed", "--output", str(tmp_path)]
        assert benchmark.main([*TINY.split(), *options]) == 0
        shown = capsys.readouterr().out
        (point,) = json.loads((tmp_path / "whole.json").read_text())["points"]
        assert (point["variant"], point["tokens"]) == ("elu decay=fixed", 1000)
        assert 0 < point["bare_bytes"] <= point["peak_bytes"]
        assert point["relative_error"] < 1e-4
        assert "softmax: block 1 mixes by SoftmaxAttention" in shown
        assert "elu decay=fixed: 1,000 tokens at " in shown

    def test_interruption_keeps_finished_points(self, benchmark, tmp_path, monkeypatch, capsys):
        time_length = measure.time_length

        def interrupted(settings, length):
            if length == 64:
                raise KeyboardInterrupt
            return time_length(settings, length)

        monkeypatch.setattr(measure, "time_length", interrupted)
        options = "--no-memory --variants softmax relu --lengths 32 64 --repeats 1 --modes train"
        assert benchmark.main([*TINY.split(), *options.split(), "--output", str(tmp_path)]) == 130
        record = json.loads((tmp_path / "benchmark.json").read_text())
        assert not record["complete"]
        assert [(p["variant"], p["length"]) for p in record["points"]] == [("softmax", 32), ("relu", 32)]
        assert "interrupted" in capsys.readouterr().out

    def test_budget_ends_the_repeats_and_says_so(self, benchmark, tmp_path, capsys):
        options = "--no-memory --variants relu --lengths 256 --repeats 3 --modes train --max-seconds-per-point 0"
        point = run(benchmark, tmp_path, options)["points"][0]
        assert (point["rows"], point["tokens"]) == (1, 256)  # a document longer than --tokens
        assert (point["train"]["repeats"], point["train"]["ratio"]) == (1, None)
        assert "1 of 3 repeats" in capsys.readouterr().out


class TestCrossover:
    def test_is_interpolated_where_the_ratio_passes_one(self):
        assert crossover([16, 64, 256], [0.5, 2.0, 4.0]) == pytest.approx(32)
        assert crossover([100, 400], [0.25, 2.0]) == pytest.approx(100 * 4 ** (2 / 3))

    def test_counts_the_last_passing(self):
        assert crossover([10, 100, 1000, 10000], [2.0, 0.1, 10.0, 20.0]) == pytest.approx(10**2.5)

    def test_equal_speed_is_not_faster(self):
        assert crossover([16, 64], [1.0, 2.0]) == 16
        assert crossover([16, 64], [2.0, 1.0]) is None

    def test_ends(self):
        assert crossover([16, 64], [1.5, 2.0]) == 16
        assert crossover([16, 64], [0.5, 0.9]) is None
        assert crossover([16], [0.5]) is None


class TestCosts:
    @pytest.mark.parametrize("n", [7, 64, 65_536])
    @pytest.mark.parametrize("name", ["softmax", "elu", "favor"])
    def test_flops_are_the_closed_form(self, name, n):
        d = WIDTH // HEADS
        attention, mixing = {
            # q kᵀ and its product with v
            "softmax": (SoftmaxAttention, 4 * n * n * d),
            # kᵀ v, q (kᵀ v) and the denominator
            "elu": (partial(LinearAttention, feature_map=Elu), 4 * n * d * d + 2 * n * d),
            # the same with F features, and the projections of q and k
            "favor": (
                partial(LinearAttention, feature_map=partial(Favor, features=FEATURES)),
                4 * n * FEATURES * d + 2 * n * FEATURES + 2 * 2 * n * d * FEATURES,
            ),
        }[name]
        projections = 2 * n * WIDTH * (3 * WIDTH + WIDTH + 2 * FEEDFORWARD)
        ends = 2 * n * WIDTH + 2 * WIDTH * CLASSES  # mean and head
        subject = model(attention)
        assert flops_per_token(subject, n) * n == DEPTH * (projections + HEADS * mixing) + ends
        subject.compile()
        assert flops_per_token(subject, n) * n == DEPTH * (projections + HEADS * mixing) + ends

    @pytest.mark.parametrize("attention", [SoftmaxAttention, partial(LinearAttention, feature_map=Elu)])
    def test_no_tensor_grows_with_the_square_of_the_length(self, attention):
        rows, length = 2, 65_536
        subject = model(attention)
        assert largest_tensor(subject, rows, length) == rows * length * max(FEEDFORWARD, WIDTH)
        assert all(p.grad is None for p in subject.parameters())

    def test_a_square_tensor_would_show(self):
        class Quadratic(torch.nn.Module):
            causal = False

            def __init__(self, head_dim, heads):
                super().__init__()

            def forward(self, q, k, v, *_):
                return (q @ k.mT).softmax(-1) @ v

        assert largest_tensor(model(Quadratic), 1, 4096) == HEADS * 4096**2


class TestProcessMemory:
    def test_peak_rises_with_a_tensor_and_is_reset(self):
        memory = ProcessMemory(torch.device("cpu"))
        if memory.method != "VmHWM":
            pytest.skip("this system cannot reset the peak")
        size, slack = 256 * 2**20, 32 * 2**20
        before = memory.now()
        memory.reset_peak()
        torch.ones(size // 4)
        assert abs(memory.peak() - before - size) < slack
        assert abs(memory.now() - before) < slack  # which gives back what the allocator kept
        memory.reset_peak()
        assert memory.peak() - before < slack
