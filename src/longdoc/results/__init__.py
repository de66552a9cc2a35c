"""One plain JSON record per run, and the comparison of many. Knows no task and no model."""

from longdoc.results.collect import Problem, collect, collect_paths
from longdoc.results.record import (
    FILE_NAME,
    SCHEMA_VERSION,
    Record,
    config_hash,
    git_state,
    machine,
    mixing,
    read_record,
    versions,
    write_record,
)

__all__ = [
    "FILE_NAME",
    "SCHEMA_VERSION",
    "Problem",
    "Record",
    "collect",
    "collect_paths",
    "config_hash",
    "git_state",
    "machine",
    "mixing",
    "read_record",
    "versions",
    "write_record",
]
