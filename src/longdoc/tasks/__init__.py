"""Tasks: data, encoding and scoring, each a LightningDataModule in a file of its own."""
