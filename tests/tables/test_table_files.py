"""Files as programs write them: separators, encodings, compression, Excel."""

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest

from paralesn import compressed
from paralesn.tables.clock import format_times
from paralesn.tables.observations import read_observations
from paralesn.tables.reader import TableError, read_table
from paralesn.tables.reading import Reading

PLAIN = "date,a,b\n2020-01-01,1.5,x\n2020-01-02,-2,y\n2020-01-03,3,z\n"
EXPECTED = [1.5, -2, 3]


def check(path, note=None, **options):
    found = read_observations(path, **options)
    assert (found.targets, found.y.ravel().tolist()) == (("a",), EXPECTED)
    assert format_times(found.times)[0] == "2020-01-01"
    assert "column not used: 'b'" in found.notes
    if note is not None:
        assert note in found.notes
    again = read_observations(path, reading=Reading.from_dict(found.reading.to_dict()))
    np.testing.assert_array_equal(again.values, found.values)
    return found


# -- layout ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sep", "words"),
    [(";", "';'"), ("\t", "tabs"), ("|", "'|'"), ("   ", "blanks")],
)
def test_separators(write, sep, words):
    found = check(write(PLAIN.replace(",", sep)), f"columns are separated by {words}")
    assert found.reading.sep == sep[0]


def test_a_separator_that_is_said(write):
    check(write(PLAIN.replace(",", "^")), reading=Reading(sep="^"))
    with pytest.raises(TableError, match="`sep` is ', ', expected one character"):
        Reading(sep=", ")


@pytest.mark.parametrize(
    ("before", "header", "note"),
    [
        (
            "# from: here\n# to: there\n",
            3,
            "2 lines before the header skipped, the first '# from: here'",
        ),
        ("Sales of 2020\n\n", 3, "2 lines before the header skipped, the first 'Sales of 2020'"),
        ("Sales,,\n,,\n", 3, "2 lines before the header skipped, the first 'Sales,,'"),
    ],
)
def test_lines_before_the_header(write, before, header, note):
    path = write(before + PLAIN)
    assert check(path, note).reading.header == header
    with pytest.raises(
        TableError, match=rf"line {header + 2}: column 'a' is 'no', expected a number"
    ):
        read_observations(write(before + PLAIN.replace("-2", "no")), ["a"])


def test_names_behind_a_sign_of_comments(write):
    found = read_observations(write("# t x\n0.0 1.5\n0.1 1.6\n"), ["x"], time="t")
    assert found.y.ravel().tolist() == [1.5, 1.6]


def test_empty_lines_at_the_end_are_left_out(write):
    check(write(PLAIN + ",,\n,,\n"), "2 lines without any value at the end left out")
    check(write(PLAIN.replace("\n", "\r\n") + "\r\n"))
    check(write(PLAIN.replace("\n", "\r")))


# -- numbers -----------------------------------------------------------------------------------------


def test_decimal_commas(write):
    path = write("date;a;b\n2020-01-01;1,5;x\n2020-01-02;-2;y\n2020-01-03;3,00;z\n")
    assert check(path, "numbers have decimal commas: a").reading.decimal == ","
    check(write('date,a,b\n2020-01-01,"1,5",x\n2020-01-02,-2,y\n2020-01-03,"3,0",z\n'))
    one = read_observations(write("wert\n5,82\n6,1\n7\n"))
    assert one.y.ravel().tolist() == [5.82, 6.1, 7]


def test_points_between_thousands_beside_decimal_commas(write):
    path = write("d;umsatz;preis\n01.01.2020;1.234;5,82\n02.01.2020;2.345;1.006,10\n")
    for columns in (["umsatz"], ["umsatz", "preis"]):
        found = read_observations(path, columns, time="d")
        assert found.y[:, 0].tolist() == [1234, 2345]
    assert found.y[:, 1].tolist() == [5.82, 1006.1]
    assert (found.reading.decimal, found.reading.thousands) == (",", ".")
    late = write("d;u;p\n" + "".join(f"{k};1.234;5\n" for k in range(300)) + "300;1.234;5,5\n")
    assert read_observations(late, ["u", "p"], time="d").y[0, 0] == 1234


def test_thousands_or_decimals_is_a_decision(write):
    path = write('a,b\n2020-01-01,"1,234"\n2020-01-02,"5,678"\n')
    words = (
        r"line 2: column 'b' is '1,234', which may be 1.234 \(`decimal=','`\) or 1234 "
        r"\(`thousands=','`\)"
    )
    with pytest.raises(TableError, match=words) as error:
        read_observations(path)
    assert error.value.parameter == "decimal"
    for reading, value in ((Reading(decimal=","), 1.234), (Reading(thousands=","), 1234), (Reading(decimal="."), 1234)):  # fmt: skip
        assert read_observations(path, reading=reading).y[0, 0] == value


def test_signs_of_currencies(write):
    text = 'Date,Close/Last,Change\n01/31/2012,"$1,234.50",-0.5%\n01/30/2012,$999.00,1%\n'
    found = read_observations(write(text), ["Close/Last"], ["Change"])
    assert found.values.tolist() == [[999, 1], [1234.5, -0.5]]
    assert "the sign '$' of numbers is left out: Close/Last" in found.notes


# -- encodings and compression -----------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "utf-8-sig", "utf-8"])
def test_encodings(write, encoding):
    text = "datum;größe;straße\n01.02.2020;5,8;Köln\n02.02.2020;6;Trier\n"
    found = read_observations(write(text, encoding=encoding))
    assert (found.targets, found.y.ravel().tolist()) == (("größe",), [5.8, 6])
    said = [note for note in found.notes if "UTF-8" in note]
    expected = [] if "utf-8" in encoding else [f"the file is not in UTF-8: read as {encoding}"]
    assert said == expected
    assert found.reading.encoding == encoding


def test_a_newer_file_in_utf8_is_not_read_as_the_older_one(write):
    old = read_observations(write("größe\n1\n2\n", "old.csv", "cp1252"))
    new = read_observations(write("größe\n1\n2\n3\n", "new.csv"), reading=old.reading)
    assert (new.targets, new.rows) == (("größe",), 3)


def test_compressed_files(write, tmp_path):
    for suffix, module in (("gz", gzip), ("bz2", bz2), ("xz", lzma)):
        check(write(module.compress(PLAIN.encode()), f"data.csv.{suffix}"))
    check(write(gzip.compress(PLAIN.encode()), "no-suffix"))
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("inner.csv", PLAIN)
    check(tmp_path / "data.zip", "'inner.csv' is read out of data.zip")
    with zipfile.ZipFile(tmp_path / "data.zip", "a") as archive:
        archive.writestr("other.csv", PLAIN)
    with pytest.raises(TableError, match=r"holds 2 files \(inner.csv, other.csv\), expected one"):
        read_table(tmp_path / "data.zip")
    with pytest.raises(TableError, match="is damaged"):
        read_table(write(gzip.compress(PLAIN.encode())[:-12], "cut.csv.gz"))


def test_zstandard(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    with pyarrow.CompressedOutputStream(str(tmp_path / "data.csv.zst"), "zstd") as file:
        file.write(PLAIN.encode())
    check(tmp_path / "data.csv.zst")


# -- Excel -------------------------------------------------------------------------------------------


@pytest.fixture
def workbook(tmp_path):
    pytest.importorskip("openpyxl")

    def workbook(**sheets):
        with pd.ExcelWriter(tmp_path / "data.xlsx") as writer:
            for name, (frame, options) in sheets.items():
                frame.to_excel(writer, sheet_name=name, index=False, **options)
        return tmp_path / "data.xlsx"

    return workbook


def test_excel_with_decimal_commas_as_text(workbook):
    frame = pd.DataFrame({"date": pd.date_range("2020-01-01", periods=3), "a": ["1,5", "-2", 3], "b": list("xyz")})  # fmt: skip
    found = check(workbook(one=(frame, {}), two=(frame, {})), "numbers have decimal commas: a")
    assert "the sheet 'one' is read; others in the workbook: two" in found.notes
    assert found.reading.sheet == "one"
    second = read_observations(found.path, reading=Reading(sheet="two"))
    np.testing.assert_array_equal(second.values, found.values)
    with pytest.raises(TableError, match="no sheet 'three'; its sheets: one, two"):
        read_observations(found.path, reading=Reading(sheet="three"))


def test_rows_of_excel_are_named_as_in_the_sheet(workbook):
    frame = pd.DataFrame(
        {"date": pd.date_range("2020-01-31", periods=3, freq="ME"), "a": [1, "low", 3]}
    )
    path = workbook(one=(frame, {"startrow": 3, "startcol": 1}))
    with pytest.raises(
        TableError, match=r"data.xlsx, row 6: column 'a' is 'low', expected a number"
    ):
        read_observations(path, ["a"])
    frame["a"] = [1, None, 3]
    found = read_observations(workbook(one=(frame, {"startrow": 3, "startcol": 1})))
    assert (str(found.clock), found.time) == ("every month", "date")
    assert "1 value of 'a' missing, the first in row 6: kept as missing" in found.notes


def test_old_workbooks_and_other_documents(write, tmp_path):
    with pytest.raises(TableError, match=r"save it as .xlsx or as CSV"):
        read_table(write(b"\xd0\xcf\x11\xe0\xa1\xb1", "old.xls"))
    with zipfile.ZipFile(tmp_path / "data.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
    with pytest.raises(TableError, match="export it as CSV"):
        read_table(tmp_path / "data.ods")


def as_zip(content, name):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("pack", "name"),
    [
        (gzip.compress, "bomb.csv.gz"),
        (lzma.compress, "bomb.csv.xz"),
        (bz2.compress, "bomb.csv.bz2"),
        (lambda content: as_zip(content, "bomb.csv"), "bomb.zip"),
        (lambda content: as_zip(content, "xl/workbook.xml"), "bomb.xlsx"),
    ],
)
def test_a_small_file_does_not_fill_the_memory(write, monkeypatch, pack, name):
    monkeypatch.setattr(compressed, "SMALL", 10_000)
    path = write(pack(b"0\n" * 200_000), name)
    with pytest.raises(TableError, match=rf"^{name} is refused: its content is larger than \d+ "):
        read_table(path)


def test_zstandard_has_the_same_limit(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    monkeypatch.setattr(compressed, "SMALL", 10_000)
    with pyarrow.CompressedOutputStream(str(tmp_path / "data.csv.zst"), "zstd") as file:
        file.write(b"0\n" * 200_000)
    with pytest.raises(TableError, match="is refused: its content is larger"):
        read_table(tmp_path / "data.csv.zst")


def test_an_encrypted_archive_is_refused(write):
    packed = bytearray(as_zip(b"a,b\n1,2\n", "data.csv"))
    packed[packed.index(b"PK\1\2") + 8] |= 1
    with pytest.raises(TableError, match="encrypted"):
        read_table(write(bytes(packed), "data.zip"))


# -- line ends and huge values ---------------------------------------------------------------------

DAYS = "day,y\n2024-01-01,1\n2024-01-02,2\n2024-01-03,3\n"


@pytest.mark.parametrize("before", ["", "# " + "x" * 5000 + "\n"])
@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_lines_end_in_any_way(write, before, end):
    observations = read_observations(write((before + DAYS).replace("\n", end)))
    assert observations.y.ravel().tolist() == [1, 2, 3]


def test_lines_end_in_several_ways(write):
    assert read_observations(write(DAYS.replace("\n", "\r", 2))).y.ravel().tolist() == [1, 2, 3]
    quoted = 'day,y,note\r2024-01-01,1,"a\nb"\r2024-01-02,2,c\r'
    with pytest.raises(TableError, match=r"data\.csv: a carriage return without a line feed"):
        read_observations(write(quoted))


@pytest.mark.parametrize(
    "text",
    [
        "day,y,note\n2024-01-01,1," + "x" * 140_000 + "\n2024-01-02,2,a\n",
        'day,y,note\n2024-01-01,1,"' + "x" * 140_000 + '"\n2024-01-02,2,a\n',
        "day,y," + "x" * 140_000 + "\n2024-01-01,1,2\n2024-01-02,2,3\n",
    ],
)
def test_huge_values_and_names_are_refused(write, text):
    with pytest.raises(TableError, match=r"data\.csv.*more than 131072 characters"):
        read_observations(write(text), ["y"])


def test_a_huge_value_further_down_is_refused_where_lines_are_told_apart(write):
    rows = [f"2024-01-01 {k // 60:02}:{k % 60:02},{k},a\n" for k in range(300)]
    rows[250] = '2024-01-01 04:10,250,"' + "x" * 140_000 + '"\n'
    with pytest.raises(TableError, match=r"data\.csv, line 25\d: .*more than 131072 characters"):
        read_observations(write("day,y,note\n" + "".join(rows)), ["y"])
