"""Imports run one way, and the encoder needs torch alone."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from reference import PROJECT

SOURCE = PROJECT / "src" / "longdoc"

# What of longdoc a package may import; scripts, train.py and the modules beside the packages know all.
MAY_IMPORT = {
    "feature_maps": {"feature_maps"},
    "attention": {"feature_maps", "attention"},
    "models": {"feature_maps", "attention", "models"},
    "training": {"feature_maps", "attention", "models", "training", "build", "speed"},
    "baselines": {"baselines"},
    "tasks": {"tasks", "baselines"},
    "results": {"results"},
    "benchmark": {"feature_maps", "attention", "models", "benchmark", "build", "speed", "results"},
    "analysis": {"feature_maps", "attention", "analysis", "build", "speed", "benchmark"},
}
TORCH_ALONE = ("feature_maps", "attention", "models")


def imports(path: Path) -> set[str]:
    """The full names that a file imports anywhere in it, also within functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide their direction"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def files(package: str) -> list[Path]:
    found = sorted((SOURCE / package).rglob("*.py"))
    assert found, f"{package} has no files"
    return found


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_run_one_way(package):
    for path in files(package):
        for name in imports(path):
            if name.split(".")[0] == "longdoc":
                assert name.split(".")[1] in MAY_IMPORT[package], f"{path.relative_to(PROJECT)} imports {name}"


@pytest.mark.parametrize("package", TORCH_ALONE)
def test_the_encoder_imports_torch_alone(package):
    for path in files(package):
        for name in imports(path):
            top = name.split(".")[0]
            assert top in {"torch", "longdoc", *sys.stdlib_module_names}, f"{path.relative_to(PROJECT)} imports {name}"


def test_a_fresh_process_with_the_encoder_loads_nothing_else():
    """Neither directly nor through something else: what is loaded is read from the process itself."""
    code = "import sys, longdoc.attention, longdoc.models; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "torch" in loaded
    heavy = {
        "pytorch_lightning",
        "lightning",
        "datasets",
        "hydra",
        "omegaconf",
        "wandb",
        "torchmetrics",
        "pandas",
    }
    assert heavy.isdisjoint(loaded)
    packages = {name.split(".")[1] for name in loaded if name.startswith("longdoc.")}
    assert packages == set(TORCH_ALONE)


def test_only_build_calls_instantiate():
    for path in [*SOURCE.rglob("*.py"), *PROJECT.glob("*.py"), *(PROJECT / "scripts").rglob("*.py")]:
        if path != SOURCE / "build.py":
            found = {name.rsplit(".", 1)[-1] for name in imports(path) if name.startswith("hydra")}
            assert found.isdisjoint({"instantiate", "call", "get_object"}), path.relative_to(PROJECT)
