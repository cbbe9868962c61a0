"""JSON of users: a key that is there twice is refused, with file and key."""

from pathlib import Path

import pytest
from conftest import QUICK, SMALL_SETTINGS, flashweir, refused

from flashweir import jsontext


def test_a_key_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    run = flashweir("simulate", QUICK, *SMALL_SETTINGS, "--json", "-").out
    twice = run.replace('"iops": ', '"iops": 1, "iops": ', 1)
    device = '{"channels": 2, "gc": {"victim": "fifo", "victim": "greedy"}}'
    health = '{"critical_warning": 0, "critical_warning": 1, "data_units_written": 3}'
    grades = '{"format": "flashweir-bench-1", "scale": 1, "scale": 2}'
    fio = '{"fio version": "fio-3.36", "jobs": [{"jobname": "a", "read": {"iops": 1, "iops": 2}}]}'
    for name, text, args, said in (
        ("d.json", device, ("simulate", QUICK, "--device", "d.json"), 'd.json: key "victim" is there twice'),
        ("d.json", device, ("compare", QUICK, "--device", "d.json"), 'd.json: key "victim" is there twice'),
        ("r.json", twice, ("report", "r.json", "-o", "r.html"), 'r.json: key "iops" is there twice'),
        ("r.json", twice, ("compare", "r.json"), 'r.json: key "iops" is there twice'),
        ("f.json", fio, ("report", "f.json", "-o", "r.html"), 'f.json: key "iops" is there twice'),
        ("g.json", grades, ("bench", "--compare", "g.json", "g.json"), 'g.json: key "scale" is there twice'),
        ("h.json", health, ("bench", "sim:slc-2006,capacity=16MiB", "--pts", "latency", "--health-before", "h.json",
                            "--health-after", "h.json"), 'h.json: key "critical_warning" is there twice'),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
        assert said in refused(*args, cwd=tmp_path), args
    # The same value says one thing.
    assert jsontext.loads('{"a": [1], "a": [1]}') == {"a": [1]}
    with pytest.raises(ValueError, match='key "b" is there twice'):
        jsontext.loads('[{"b": 1, "b": true, "b": 2}]')
