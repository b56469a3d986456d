"""metrics.csv: exact floats, no row lost, none that the weights know nothing of."""

import pytest

from transformer.training.metrics import COLUMNS, Metrics, MetricsTable, read_metrics


def row(step, **changes):
    values = {"loss": 1 / (step + 2), "rate": 1e-3 / 3, "gradient_norm": 0.1, "tokens": 7, "cpu_seconds": 0.1 * step}
    return Metrics(**(values | {"step": step, "wall_seconds": 0.2 * step} | changes))


def test_rows_come_back_to_the_last_bit(tmp_path):
    path = tmp_path / "metrics.csv"
    rows = [row(1), row(2, exact_match=1 / 3, token_accuracy=0.5), row(3, exact_match=0.0, token_accuracy=1.0)]
    with MetricsTable(path) as table:
        for one in rows:
            table.append(one)
        assert read_metrics(path) == rows  # on disk at once
    assert path.read_text().splitlines()[0] == ",".join(COLUMNS)


def test_going_on_keeps_the_rows_up_to_the_saved_step_and_drops_those_after(tmp_path):
    path = tmp_path / "metrics.csv"
    with MetricsTable(path) as table:
        for step in range(1, 6):
            table.append(row(step))
    with MetricsTable(path, step=3) as table:
        assert [one.step for one in table.rows] == [1, 2, 3]
        table.append(row(4, loss=9.0))
    assert [(one.step, one.loss) for one in read_metrics(path)][2:] == [(3, 1 / 5), (4, 9.0)]


def test_a_new_table_starts_empty_whatever_was_there(tmp_path):
    path = tmp_path / "metrics.csv"
    with MetricsTable(path) as table:
        table.append(row(1))
    assert MetricsTable(path).rows == read_metrics(path) == []


@pytest.mark.parametrize("torn", ["4,0.25,0.0003", "4,0.2,a,b,c,d,e,,", "\x00\x00\x00"])
def test_a_torn_last_line_is_left_out(tmp_path, torn):
    path = tmp_path / "metrics.csv"
    with MetricsTable(path) as table:
        table.append(row(1))
    with path.open("a") as file:
        file.write(torn)
    assert read_metrics(path) == [row(1)]


@pytest.mark.parametrize(
    "garbage", [b"\xff\xfe\x80" * 50, b'"' + b"x" * 200_000, b"2,nan,1,1,1,1,1,,\n", b"2,1,inf,1,1,1,1,,\n"]
)
def test_damage_costs_only_what_comes_after_it(tmp_path, garbage):
    path = tmp_path / "metrics.csv"
    with MetricsTable(path) as table:
        table.append(row(1))
    whole = path.read_bytes()
    path.write_bytes(whole + garbage + whole)
    assert read_metrics(path) == [row(1)]
    path.write_bytes(garbage)
    assert read_metrics(path) == []


def test_a_missing_table_is_an_empty_one(tmp_path):
    assert read_metrics(tmp_path / "metrics.csv") == []


def test_appending_outside_with_is_refused(tmp_path):
    with pytest.raises(ValueError, match="inside `with`"):
        MetricsTable(tmp_path / "metrics.csv").append(row(1))
