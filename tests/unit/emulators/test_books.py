import pytest

from emulators.books import Account, Books, Peaks
from emulators.clock import Clock


def test_peaks_are_those_of_the_fullest_window():
    peaks = Peaks(20.0)
    for number in range(30):
        peaks.arrive(10 + number / 100)
    for number in range(50):
        peaks.arrive(15 + number / 10)
    report = peaks.report()
    assert report["1s"] == 30
    assert report["10s"] == 80
    assert report["60s"] == 80


@pytest.mark.parametrize(("gap", "burst"), [(0.0, 50), (1 / 20, 1), (1 / 40, 25.5)])
def test_the_burst_is_the_smallest_bucket_that_had_let_all_pass(gap, burst):
    peaks = Peaks(20.0)
    for number in range(50):
        peaks.arrive(number * gap)
    assert peaks.report()["burst"] == pytest.approx(burst, abs=0.01)


def test_a_retry_before_its_time_is_told_from_other_requests_in_the_pause():
    page = Account(20.0)
    page.arrive("GET /a", 0.0)
    page.refused("GET /a", 0.0, after=2.0)
    page.arrive("GET /b", 0.5)
    page.arrive("GET /a", 1.9)
    assert (page.during_pause, page.early_retries) == (2, 1)
    page.arrive("GET /a", 2.0)
    assert (page.during_pause, page.early_retries) == (2, 1)


def test_a_count_with_too_many_names_stays_bounded(monkeypatch):
    monkeypatch.setattr("emulators.books._NAMES", 3)
    page = Account(20.0)
    for number in range(10):
        page.count("blobs", f"sha-{number}")
    assert page.report()["blobs"] == {"sha-0": 1, "sha-1": 1, "sha-2": 1, "(others)": 7}


def test_the_report_names_every_account():
    books = Books(20.0, 100, Clock(wall=lambda: 0.0, ticks=lambda: 0.0))
    books.account("team-2").arrive("GET /a", 0.0)
    books.account("team-1")
    report = books.report()
    assert list(report["accounts"]) == ["team-1", "team-2"]
    assert report["since"] == "1970-01-01T00:00:00.000Z"
    assert report["limit"] == {"rate": 20.0, "burst": 100}
