"""A folder as the hub has a set: parquet files of one configuration, features in their metadata."""

import datasets

CARD = """---
configs:
- config_name: {config}
  data_files:
{files}
---
"""


def write_hub(folder, config, features, splits):
    """features: of ``datasets``; splits: a dict of columns each, values as they are stored."""
    schema = datasets.Features(features).arrow_schema
    (folder / config).mkdir(parents=True, exist_ok=True)
    for split, columns in splits.items():
        table = datasets.table.InMemoryTable.from_pydict(columns, schema=schema)
        datasets.table.pa.parquet.write_table(table.table, folder / config / f"{split}-00000-of-00001.parquet")
    files = "\n".join(f"  - split: {split}\n    path: {config}/{split}-*" for split in splits)
    (folder / "README.md").write_text(CARD.format(config=config, files=files))
    return str(folder)
