"""Records that come with the package: compact lines, what is shipped, what is refused, who fills."""

import json

import pytest

import stored_records as made
from paralesn.files import DamagedFileError
from paralesn.paper import configurations, record_files, runs, shipped_records, shipping
from paralesn.paper.compact_records import compact, expand, rounded
from paralesn.paper.selection import recorded, table_cells

MNIST = configurations.shipped("smnist", "ParalESN", "extended")


def _runs():
    """Runs of two protocols, whose seeds share some of their costs only."""
    spent = {"by": "counters", "country": "ITA", "estimate": False}
    digits = [
        made.run(MNIST, seed, 0.97 + seed / 700, 1 / 3)
        | {"energy": spent | {"kwh": 0.1234567891 * (seed + 1)} if seed else None}
        for seed in range(3)
    ]
    return [*made.regression()[::-1], *digits]


def _by_identity(records):
    return {runs.identity(record): record for record in records}


# -- compact lines ---------------------------------------------------------------------------------


def test_compact_lines_give_back_every_run_as_rounded():
    original = _runs()
    text = [json.dumps(line) for line in compact(original)]
    assert len(text) < len(original) / 2
    back = [run for line in text for run in expand(json.loads(line))]
    assert len(back) == len(original)
    assert all(runs.problem(run) is None for run in back)
    assert _by_identity(back) == _by_identity(map(rounded, original))


def test_rounding_keeps_what_tells_runs_apart_and_the_metric_of_the_tables():
    third = made.run(MNIST, 0, 1 / 3, 2 / 3)
    third["metrics"]["best validation"] = 2 / 3
    short = rounded(third)
    assert runs.identity(short) == runs.identity(third)
    assert short["validation"] == third["validation"]
    assert short["metrics"] == {"accuracy": 1 / 3, "best validation": 0.666667}
    assert (short["seconds"], short["timing"]) == (0.666667, {"total": 1.33333})
    assert third["seconds"] == 2 / 3  # a copy was rounded


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"by_seed": {"seed": [0, 1], "seconds": [1.0]}}, "has no lists of one length"),
        ({"by_seed": {"seed": []}}, "has no lists of one length"),
        ({"by_seed": {"seed": 3}}, "has no lists of one length"),
        ({"by_seed": 3}, "has no lists of one length"),
        ({"metrics": 1, "by_seed": {"metrics": {"mse": [1, 2]}}}, "has metrics for all seeds and"),
    ],
)
def test_compact_lines_that_are_none_say_why(line, reason):
    with pytest.raises(ValueError, match=f"^{reason}"):
        expand(line)


# -- shipping --------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """A folder of shipped records."""
    path = tmp_path / "shipped"
    path.mkdir()
    return path


def test_what_makes_the_tables_is_shipped_and_no_trial(tmp_path, folder):
    paths = made.write_all(tmp_path)
    beaten = configurations.shipped("narma10", "ParalESN", "extended")
    worse = made.run(beaten, 0, 0.01) | {"configuration": {"tau": 0.5}, "validation": 99.0}
    trial = {
        "kind": "lra trial", "task": "lra-text", "model": "ParalESN (deep)", "seed": 0,
        "configuration": {"units": 8}, "validation": 0.7, "chosen": 10.0, "seconds": 3.0,
    }  # fmt: skip
    made.write(tmp_path / "results", [worse, trial])
    written = shipping.ship(paths, folder)
    assert {path.stem for path in written} == {
        "regression", "mnist", "ucr", "lra", "long-term", "small-mnist", "race",
        "complexity", "sensitivity", "universality",
    }  # fmt: skip
    found = shipped_records.read(folder)
    assert all(record["shipped"] for record in (*found.runs, *found.experiments))
    given = [r for _, held in record_files.named(paths) for r in held]
    rows = {runs.identity(run): run for _, run in recorded(r for r in given if "kind" in r)}
    plain = [{n: v for n, v in run.items() if n != "shipped"} for run in found.runs]
    back = {key: run for key, run in _by_identity(plain).items() if run["kind"] != "race"}
    assert back == {key: rounded(run) for key, run in rows.items()}
    assert runs.identity(worse) not in back
    for name in ("complexity", "sensitivity", "universality"):
        (study,) = (one for one in found.experiments if one["experiment"] == name)
        (before,) = (one for one in given if one.get("experiment") == name)
        assert study == rounded(before) | {"shipped": True}
    assert table_cells(found.runs).keys() == table_cells(rows.values()).keys()


def test_cells_that_are_shipped_again_replace_their_own_only(tmp_path, folder):
    made.write(tmp_path / "first", made.regression())
    shipping.ship([tmp_path / "first"], folder)
    text = (folder / "regression.jsonl").read_text()
    shipping.ship([tmp_path / "first"], folder)
    assert (folder / "regression.jsonl").read_text() == text
    mine = [r for r in made.regression() if (r["task"], r["model"]) == ("mg", "ESN")]
    made.write(tmp_path / "second", [r | {"metrics": {"nrmse": 0.125}} for r in mine])
    assert shipping.main([str(tmp_path / "second")], folder) == 0
    before = {runs.identity(r): r["metrics"] for r in made.regression()}
    for run in shipped_records.read(folder).runs:
        again = (run["task"], run["model"]) == ("mg", "ESN")
        assert run["metrics"] == ({"nrmse": 0.125} if again else before[runs.identity(run)])


def test_shipping_says_what_is_wrong(tmp_path, capsys):
    for arguments, words in (
        ([str(tmp_path / "absent")], "absent, which does not exist"),
        ([str(tmp_path)], "holds none"),
    ):
        with pytest.raises(SystemExit):
            shipping.main(arguments, tmp_path / "shipped")
        assert words in capsys.readouterr().err
    assert not (tmp_path / "shipped").exists()


# -- what is refused -------------------------------------------------------------------------------

_STUDY = made.complexity()
DAMAGED = {
    "is not JSON from character 10 on": b'{"kind": ',
    "is no JSON object": b"[1]",
    "is without kind": b'{"kind": 7}',
    "is without kind or experiment": b'{"task": "mg"}',
    "has no lists of one length for by_seed": b'{"kind": "regression", "by_seed": {}}',
    "is without task, model": b'{"kind": "regression", "by_seed": {"seed": [1, 2]}}',
    "is damaged: it is without rounds": json.dumps(_STUDY | {"rounds": None}).encode(),
}


@pytest.mark.parametrize(("reason", "line"), DAMAGED.items(), ids=list(DAMAGED))
def test_damaged_lines_are_refused_in_one_line(reason, line, folder):
    (whole,) = compact([made.regression()[0]])
    (folder / "one.jsonl").write_bytes(json.dumps(whole).encode() + b"\n\n" + line + b"\n")
    with pytest.raises(DamagedFileError) as raised:
        shipped_records.read(folder)
    said = str(raised.value)
    assert said.startswith(f"{folder / 'one.jsonl'}, line 3 {reason}")
    assert "\n" not in said


# -- those of the package --------------------------------------------------------------------------


def test_the_packages_own_are_whole_and_small():
    ours = shipped_records.shipped()
    assert {run["kind"] for run in ours.runs} >= {"regression", "classification", "mnist"}
    for record in (*ours.runs, *ours.experiments):
        assert record["versions"]["paralesn"]
        assert record["machine"]["cores"] > 0
    folder = shipped_records.files("paralesn.paper").joinpath("data", shipped_records.FOLDER)
    assert sum(len(file.read_bytes()) for file in folder.iterdir()) < 800_000
    known = [r for r in ours.runs if r["kind"] == "regression"]
    assert len(recorded(known)) >= len(known)  # each is in a row, some in two


def test_reproduce_takes_slow_models_alone_from_the_package():
    slow = shipped_records.of_slow_models().values()
    assert {run["model"] for run in slow if run["kind"] == "classification"} == {
        "ESN", "ESN (deep)",
    }  # fmt: skip
    assert not [run for run in slow if run["kind"] == "regression"]


def test_a_cell_on_record_replaces_the_shipped_one_as_a_whole():
    ours = made.regression()
    mine = next(run for run in ours if (run["task"], run["model"]) == ("mg", "ESN"))
    left = shipped_records.beside([mine], ours)
    gone = [run for run in ours if run not in left]
    assert {(run["task"], run["model"]) for run in gone} == {("mg", "ESN")}
    assert {run["space"] for run in gone} == {"paper", "extended"}
    # Of another kind is another cell; a race is replaced with all of its models.
    assert shipped_records.beside([mine | {"kind": "earlier"}], ours) == ours
    assert shipped_records.beside([made.race()[0]], made.race()) == []
    other = made.sensitivity() | {"model": "ESN"}
    assert shipped_records.beside([made.sensitivity()], [made.sensitivity(), other]) == [other]
