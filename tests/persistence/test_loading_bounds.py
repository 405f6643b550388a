"""What loading may take: regular files, and memory that their size explains."""

import os
import stat
import sys
import tracemalloc

import numpy as np
import pytest
from typer.testing import CliRunner

import paralesn as pe
from forging import forged, whole
from paralesn.cli import app
from paralesn.persistence import load_metadata, model_file

X = np.random.default_rng(3).normal(size=(60, 2))


@pytest.mark.skipif(os.name != "posix", reason="devices and pipes of POSIX")
@pytest.mark.parametrize("kind", ["device", "pipe", "folder"])
def test_only_regular_files_are_read(kind, tmp_path):
    path = {"device": "/dev/zero", "pipe": tmp_path / "pipe", "folder": tmp_path}[kind]
    if kind == "pipe":
        os.mkfifo(path)
    for read in (pe.load, load_metadata):
        with pytest.raises(ValueError, match=rf"{path} cannot be loaded: .* not a regular one"):
            read(path)
    done = CliRunner().invoke(app, ["inspect", str(path)])
    assert done.exit_code != 0
    assert str(path) in done.output.replace("\n", "") or kind == "folder"


def test_an_array_is_referred_to_once(tmp_path):
    """A file of 10 MB would otherwise become hundreds of gigabytes."""
    array = np.zeros(1 << 20)

    def repeat(body, arrays):
        arrays["big"] = array
        body["model"]["content"]["parameters"]["dict"]["inter"] = {
            "list": [{"array": "big"}] * 10_000
        }

    path = forged(pe.ParalESN(), tmp_path / "model", repeat)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="'big', or one that is referred to twice"):
            pe.load(path)
        assert tracemalloc.get_traced_memory()[1] < 8 * array.nbytes
    finally:
        tracemalloc.stop()


def test_an_array_that_nothing_refers_to_is_refused(tmp_path):
    path = forged(pe.Ridge(), tmp_path / "model", lambda _, arrays: arrays.update(a=np.zeros(2)))
    with pytest.raises(ValueError, match="nothing refers to its array 'a'"):
        pe.load(path)


def test_an_empty_array_of_a_giant_shape_is_refused(tmp_path):
    def grow(body, arrays):
        arrays["a"] = np.zeros((10**12, 0))
        body["model"]["content"]["parameters"]["dict"]["inter"] = {"array": "a"}

    path = forged(pe.ParalESN(), tmp_path / "model", grow)
    with pytest.raises(ValueError, match=r"\(1000000000000, 0\) is larger than the file"):
        pe.load(path)


def test_one_long_text_does_not_make_many_long_ones(tmp_path):
    def lengthen(body, arrays):
        texts = ["x" * 100_000, *[""] * 100_000]
        body["model"]["content"]["parameters"]["dict"]["inter"] = {"text": texts}

    path = forged(pe.ParalESN(), tmp_path / "model", lengthen)
    with pytest.raises(ValueError, match="a single long text makes all others as long"):
        pe.load(path)
    with pytest.raises(ValueError, match="a single long text makes all others as long"):
        pe.save(pe.ParalESN(inter=np.array(["x" * 10_000, *[""] * 10_000])), tmp_path / "saved")
    pe.save(pe.ParalESN(inter=np.array(["x" * 1000, *[""] * 1000])), tmp_path / "saved")
    assert pe.load(tmp_path / "saved").inter.dtype == "U1000"


@pytest.mark.parametrize("number", [float("nan"), -5, 0, 2.0, True, "2", None, [2]])
def test_a_format_is_a_whole_number(number, tmp_path):
    path = forged(pe.Ridge(), tmp_path / "model", lambda body, _: body.update(format=number))
    with pytest.raises(ValueError, match="its format must be a whole number from 1 to 2"):
        pe.load(path)
    with pytest.raises(ValueError, match="its format must be a whole number from 1 to 2"):
        load_metadata(path)


GENERATORS = {
    "past the end": ("MT19937", lambda s: s["state"]["dict"].update(pos=10**6)),
    "before the start": ("Philox", lambda s: s.update(buffer_pos=-5)),
    "stuck": ("PCG64", lambda s: s["state"]["dict"].update(inc=0)),
    "no name": ("PCG64", lambda s: s.update(bit_generator="RandomState")),
    "too large": ("PCG64", lambda s: s["state"]["dict"].update(state=10**60)),
    "no dict": ("SFC64", lambda s: s.update(state=3)),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_random_generators_are_at_a_state_they_can_be_in(name, tmp_path):
    """NumPy reads its buffers wherever a state says, in bounds or not."""
    kind, change = GENERATORS[name]
    model = pe.ParalESN(seed=np.random.Generator(getattr(np.random, kind)(1)))
    pe.save(model, tmp_path / "good")
    again = pe.load(tmp_path / "good").seed
    assert again.integers(2**62, size=9).tolist() == model.seed.integers(2**62, size=9).tolist()

    def damage(body, _):
        change(body["model"]["content"]["parameters"]["dict"]["seed"]["generator"]["dict"])

    with pytest.raises(ValueError, match=r"forged cannot be loaded|is not a model file"):
        pe.load(forged(model, tmp_path / "forged", damage))


def test_values_lie_within_a_hundred_others(tmp_path):
    nested, deep = {}, {"list": [1]}
    for _ in range(150):
        nested, deep = {"a": nested}, {"list": [deep]}
    with pytest.raises(ValueError, match="must not lie deeper than 100 values"):
        pe.save(pe.ParalESN(inter=nested), tmp_path / "model")
    body = {
        "format": model_file.FORMAT,
        "model": {"object": "ParalESN", "content": {"parameters": deep}},
    }
    (tmp_path / "model").write_bytes(whole(body, {}))
    with pytest.raises(ValueError, match="must lie within at most 100 others"):
        pe.load(tmp_path / "model")


def test_arrays_of_one_name_are_both_kept(tmp_path):
    """The key of one dict may look like the path to another's."""
    one, other = np.arange(3.0), np.arange(4.0)
    inter = {"a.b": one, "a": {"b": other}, "c": one + 1j, "c.re": other, "c.im": other + 1}
    pe.save(pe.ParalESN(inter=inter), tmp_path / "model")
    again = pe.load(tmp_path / "model").inter
    for name in ("a.b", "c", "c.re", "c.im"):
        np.testing.assert_array_equal(again[name], inter[name], strict=True)
    np.testing.assert_array_equal(again["a"]["b"], other)


@pytest.mark.parametrize("letter", ["m", "é", "模", "🌊"])
def test_names_may_be_as_long_as_the_system_takes(letter, tmp_path):
    most = os.pathconf(tmp_path, "PC_NAME_MAX") if hasattr(os, "pathconf") else 200
    size = len(letter.encode(sys.getfilesystemencoding()))
    for length in (most // size, (most - 6) // size):
        path = tmp_path / (letter * length)
        pe.save(pe.ParalESN(units=3), path)
        assert pe.load(path).units == 3
        assert stat.S_ISREG(path.stat().st_mode)
    assert not list(tmp_path.glob(".*"))
    with pytest.raises(OSError, match="long"):
        pe.save(pe.ParalESN(units=3), tmp_path / (letter * (most // size + 1)))
