"""A run that is said to go on: still there, or gone."""

import ast
import os
import subprocess
import sys

import pytest

from longdoc.results.process import PROC, gone, process

pytestmark = pytest.mark.skipif(not (PROC / "self" / "stat").exists(), reason="needs Linux's /proc")
CODE = "import sys; from longdoc.results.process import process; print(process(), flush=True); sys.stdin.read()"


def test_a_process_is_there_until_it_has_ended():
    with subprocess.Popen([sys.executable, "-c", CODE], stdin=-1, stdout=-1, text=True) as child:
        assert child.stdout
        assert child.stdin
        record = {"status": "running", "process": ast.literal_eval(child.stdout.readline())}
        assert record["process"]["pid"] == child.pid
        assert not gone(record)
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert gone(record)  # a zombie as yet
    assert gone(record)


def test_another_process_under_the_same_number_is_not_the_run():
    assert not gone({"status": "running", "process": process()})
    assert gone({"status": "running", "process": process() | {"started": 1}})


def test_of_other_machines_older_records_and_other_states_nothing_is_said():
    dead = process() | {"started": 1}
    assert not gone({"status": "running", "process": dead | {"boot": "another"}})
    assert not gone({"status": "running", "process": dead | {"boot": None}})
    boot, container = dead["boot"].split()  # the processes of another container have numbers of their own
    assert container == os.readlink("/proc/self/ns/pid")
    assert not gone({"status": "running", "process": dead | {"boot": f"{boot} pid:[1]"}})
    assert not gone({"status": "running"})
    assert not gone({"status": "failed", "process": dead})
