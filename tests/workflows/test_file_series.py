"""Series of files in the form that forecasters take."""

import numpy as np
import pytest

from paralesn.tables.cleaning import Cleaning
from paralesn.tables.file_panel import read_panel
from paralesn.tables.observations import read_observations
from paralesn.workflows.file_series import FileSeries

pd = pytest.importorskip("pandas")


@pytest.fixture
def write(tmp_path):
    def written(text):
        (tmp_path / "data.csv").write_text(text)
        return tmp_path / "data.csv"

    return written


def test_columns_side_by_side_become_a_wide_frame(write):
    path = write("day,a,b,x\n2024-01-01,1,5,7\n2024-01-02,2,6,8\n2024-01-03,,,9\n")
    series = FileSeries.of(read_observations(path, ["a", "b"], ["x"]))
    assert (series.names, len(series), series.future) == (["a", "b"], 2, 1)
    given = series.fit_arguments(known=True)
    days = pd.DatetimeIndex(["2024-01-01", "2024-01-02"], name="day")
    pd.testing.assert_frame_equal(
        given.y, pd.DataFrame({"a": [1.0, 2], "b": [5.0, 6]}, days), check_index_type=False
    )
    assert given.past is None
    assert given.X["x"].tolist() == [7, 8]
    assert series.inputs_ahead(1)["x"].tolist() == [9]
    assert series.inputs_ahead(1).index[0] == pd.Timestamp("2024-01-03")
    assert series.fit_arguments(known=False).X is None
    assert series.without_last(1).fit_arguments(known=False).y["b"].tolist() == [5]


def test_long_tables_become_long_frames(write):
    rows = "2024-01-01,u,1,5,7\n2024-01-01,v,2,6,8\n2024-01-02,u,3,7,9\n2024-01-02,v,4,8,1\n"
    path = write("day,shop,a,b,x\n" + rows)
    series = FileSeries.of(read_panel(path, ["shop"], ["a", "b"], ["x"]))
    assert series.names == ["u/a", "u/b", "v/a", "v/b"]
    assert (series.target_of(3), series.part_of(3).y[:, 1].tolist()) == ("b", [6, 8])
    given = series.fit_arguments(known=False)
    assert given.names == {"id": "series", "time": "day", "target": "value"}
    assert given.y["value"].tolist() == [1, 3, 5, 7, 2, 4, 6, 8]
    assert given.past["x"].tolist() == [7, 9, 7, 9, 8, 1, 8, 1]
    one = FileSeries.of(read_panel(path, ["shop"], ["a"]))
    assert one.fit_arguments(known=False).names == {"id": "shop", "time": "day", "target": "a"}
    assert one.subset([1]).names == ["v"]


def test_names_that_mean_something_are_not_taken_for_it(write):
    path = write("when,ds,y\n2024-01-01,1,5\n2024-01-02,2,6\n2024-01-03,3,7\n2024-01-04,5,2\n")
    series = FileSeries.of(read_observations(path, ["ds", "y"], time="when"))
    given = series.fit_arguments(known=False)
    assert given.names == {"id": "unique_id", "time": "ds_", "target": "y_"}
    from paralesn import ReservoirForecaster

    model = ReservoirForecaster(horizon=1).fit(given.y, **given.names)
    assert model.names_ == ["ds", "y"]


def test_kept_gaps_hide_the_times_from_the_model(write):
    path = write("day,a\n2024-01-01,1\n2024-01-02,2\n2024-01-04,3\n")
    kept = FileSeries.of(read_observations(path, ["a"]))
    assert not kept.has_times
    assert kept.fit_arguments(known=False, first=9).y.index.tolist() == [9, 10, 11]
    filled = FileSeries.of(read_observations(path, ["a"], cleaning=Cleaning(gaps="fill")))
    assert filled.has_times
    np.testing.assert_array_equal(filled.values[0], [1, 2, np.nan, 3])


def test_years_are_written_as_in_the_file(write):
    path = write("year,a\n1871,1\n1872,2\n1873,3\n")
    series = FileSeries.of(read_observations(path, ["a"]))
    assert series.when(series.ahead(0, 2)) == ["1874", "1875"]
