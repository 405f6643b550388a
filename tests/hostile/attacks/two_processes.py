"""Two processes of the same command on the same files at once, one of them slow at some step.

Together they do what one would have done: nothing is lost, nothing is there twice, every file is
whole. Two streams cannot share a state, so the second one must be told who has it.
"""

from hypothesis import strategies as st

from hostile import jobs, nursery
from hostile.attacks import kills
from paralesn.paper import bayesian
from paralesn.persistence import load

CASES = 4

PAUSES = st.fixed_dictionaries({"at": st.integers(1, 45), "pause": st.sampled_from([0.05, 0.2])})
RECIPES = st.fixed_dictionaries(
    {
        "what": st.sampled_from(["save", "stream", "search", "reproduce", "report", "forecast"]),
        "pauses": st.tuples(PAUSES, PAUSES).map(list),
    }
)


def attack(recipe, folder):
    """Start both, wait for both, and look at what they made."""
    (folder / "work").mkdir()
    outcome = globals()[f"_attack_{recipe['what']}"](recipe["pauses"], folder, folder / "work")
    assert not kills.leftovers(folder / "work")
    return outcome


def _both(folder, pauses, job, *arguments, **more):
    """Run a job twice at once."""
    child = {"job": job, "arguments": [str(a) for a in arguments], **more}
    ended = nursery.run(folder / "io", *({**child, "fault": pause} for pause in pauses))
    assert not any("Traceback" in each.err for each in ended), [each.err for each in ended]
    return ended


def _all_done(ended):
    assert [each.code for each in ended] == [0, 0], [each.err for each in ended]
    return "held"


def _attack_save(pauses, folder, work):
    children = [
        {"job": "save", "arguments": [kind, str(work / "model")], "fault": pause}
        for kind, pause in zip(("old", "new"), pauses, strict=True)
    ]
    outcome = _all_done(nursery.run(folder / "io", *children))
    assert type(load(work / "model")).__name__ in ("ParalESN", "ESN")
    return outcome


def _attack_stream(pauses, folder, work):
    expected, last = kills.answered(False)
    arguments = kills._stream_arguments(work, 0, False)
    ended = _both(folder, pauses, "command", *arguments, input=kills._text(0))
    codes = sorted(each.code for each in ended)
    if codes == [1, 4]:  # the usual end, and one that was refused
        (refused,) = (each for each in ended if each.code == 1)
        assert "state is in use by process " in refused.err
        assert refused.out == ""
        (ended,) = (each for each in ended if each.code == 4)
        assert kills.read_answers(ended.out) == expected
        assert kills.digest(work / "state") == last
        return "refused"
    assert codes == [4, 4], [each.err for each in ended]  # one after the other
    assert load(work / "state").lines == 2 * len(kills.LINES)
    assert any(kills.read_answers(each.out) == expected for each in ended)
    return "held"


def _attack_search(pauses, folder, work):
    trials = 4
    outcome = _all_done(_both(folder, pauses, "search", work, trials))
    kills.check_trials(bayesian.existing_study(*jobs.STUDY, str(work)), trials)
    return outcome


def _attack_reproduce(pauses, folder, work):
    outcome = _all_done(_both(folder, pauses, "command", *kills.reproducing(work)))
    assert sorted(kills.seeds_on_record(work / "records.jsonl")) == [0, 1, 2, 3, 4]
    assert kills.files_of(work, "bell.*") == kills.reproduced()
    return outcome


def _attack_report(pauses, folder, work):
    kills.reproduced()
    records = f"{kills.prepared()}/reproduced"
    outcome = _all_done(_both(folder, pauses, "command", "report", records, "--out", work))
    assert kills.check_pages(work) == 1
    return outcome


def _attack_forecast(pauses, folder, work):
    outcome = _all_done(_both(folder, pauses, "command", *kills.forecasting(work)))
    kills.check_forecast(work)
    return outcome
