"""SQL over documents and logs: types, citations, and what a query must not do."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from shared.deadline import Deadline
from shared.documents import tables as tables_module
from shared.documents.catalog import name_tables
from shared.documents.document import Document
from shared.documents.registry import parse
from shared.documents.tables import Tables
from shared.documents.tools import ReadOnlyTools
from shared.errors import DeadlinePassed, ToolError
from shared.models import Source

AGENTS = b"""id,team,joined,score,test,code
a-1,red,2026-01-02,1.5,false,007
a-2,blue,2026-01-03,2,true,010
a-3,red,,,false,100
"""
TOKENS = [
    {"id": "T1", "holder": "a-1", "uses": 3},
    {"id": "T2", "holder": "a-1"},
    {"id": "T3", "holder": "a-2"},
]
EVENTS = [
    {"ts": "2026-11-14T03:00:00Z", "agent": "a-1", "action": "read", "target": "db", "info": {"bytes": 5}},
    {"ts": "2026-11-14T04:00:00Z", "agent": "a-2", "action": "write", "target": "db"},
    {"ts": "2026-11-14T05:00:00Z", "agent": "a-1", "action": "write", "target": "fs", "info": {"bytes": 7}},
]
FILES = {
    "/fleet/agents.csv": AGENTS,
    "/fleet/tokens.json": json.dumps({"tokens": TOKENS}).encode(),
    "/logs/audit/2026-11-14.jsonl": "\n".join(map(json.dumps, EVENTS)).encode(),
}


def agent(name: str) -> Source:
    return Source(path="/fleet/agents.csv", record=name)


def token(name: str) -> Source:
    return Source(path="/fleet/tokens.json", record=name)


def event(line: int) -> Source:
    return Source(path="/logs/audit/2026-11-14.jsonl", line=line)


def open_tables(files: Mapping[str, bytes]) -> Tables:
    documents = {path: parse(data, path) for path, data in files.items()}
    shas = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
    return Tables(shas, documents.__getitem__, ReadOnlyTools(files).logbook)


@pytest.fixture(scope="module")
def tables() -> Tables:
    return open_tables(FILES)


def test_csv_columns_get_types_and_leading_zeros_stay_text(tables: Tables) -> None:
    described = tables.sql("describe agents").records()
    assert {row["column_name"]: row["column_type"] for row in described} == {
        "id": "VARCHAR", "team": "VARCHAR", "joined": "DATE", "score": "DOUBLE", "test": "BOOLEAN",
        "code": "VARCHAR", "_path": "VARCHAR", "_line": "BIGINT", "_record": "VARCHAR",
    }  # fmt: skip


def test_empty_cells_are_null(tables: Tables) -> None:
    assert tables.sql("select id from agents where score is null and joined is null").rows == (("a-3",),)


def test_events_are_one_relation_in_utc_with_flat_fields(tables: Tables) -> None:
    result = tables.sql("select * from events order by time limit 1")
    assert result.records() == [
        {
            "time": "2026-11-14T03:00:00", "agent": "a-1", "action": "read", "target": "db", "trace": None,
            "info_bytes": 5,
        }
    ]  # fmt: skip
    assert result.sources == ((event(1),),)


def test_places_are_columns_for_whoever_names_them(tables: Tables) -> None:
    assert tables.sql("select _path, _line, _record from agents limit 1").rows == (
        ("/fleet/agents.csv", 2, "a-1"),
    )
    assert tables.sql("select *, _record as r from agents limit 1").columns == (
        "id", "team", "joined", "score", "test", "code", "r",
    )  # fmt: skip


CITED: list[tuple[str, list[list[Source]]]] = [
    ("select id from agents where team = 'blue'", [[agent("a-2")]]),
    (
        "select e.action, a.team from events e join agents a on a.id = e.agent where e.target = 'fs'",
        [[event(3), agent("a-1")]],
    ),
    (
        "select a.id, t.id from agents a left join tokens t on t.holder = a.id where a.team = 'red' "
        "order by 1, 2",
        [[agent("a-1"), token("T1")], [agent("a-1"), token("T2")], [agent("a-3")]],
    ),
    (
        "select team, count(*) from agents group by team order by team",
        [[agent("a-2")], [agent("a-1"), agent("a-3")]],
    ),
    ("select max(info_bytes) from events where action = 'write'", [[event(2), event(3)]]),
    ("select distinct team from agents order by team", [[agent("a-2")], [agent("a-1"), agent("a-3")]]),
    (
        "with events as (select * from events where action = 'write') "
        "select agent from events order by time desc",
        [[event(3)], [event(2)]],
    ),
    (
        "select team, n from (select a.team, count(*) n from agents a join tokens t on t.holder = a.id "
        "group by a.team) where n > 1",
        [[agent("a-1"), token("T1"), token("T2")]],
    ),
    (
        "select id from agents where id = 'a-3' union all select holder from tokens where id = 'T3'",
        [[agent("a-3")], [token("T3")]],
    ),
    (
        "select x.id from (select * from agents) x, (select * from tokens where id = 'T1') y "
        "where x.id = y.holder",
        [[agent("a-1"), token("T1")]],
    ),
    (
        "select agent, row_number() over (order by time desc) r from events qualify r = 1",
        [[event(3)]],
    ),
    (
        "select id from agents where id in (select holder from tokens) order by id",
        [[agent("a-1")], [agent("a-2")]],
    ),
    ("select agent from events order by time limit 1 offset 1", [[event(2)]]),
    ("select * from (select id, team from agents) where id = 'a-2'", [[agent("a-2")]]),
    (
        "with x as (select * from agents) "
        "select x.*, t.id from x join tokens t on t.holder = x.id and t.id = 'T3'",
        [[agent("a-2"), token("T3")]],
    ),
    ("from agents select id where score > 1.7", [[agent("a-2")]]),
    ("select count(*) from agents a semi join tokens t on t.holder = a.id", [[agent("a-1"), agent("a-2")]]),
]  # fmt: skip


@pytest.mark.parametrize(("query", "sources"), CITED)
def test_rows_carry_the_places_that_they_came_from(
    tables: Tables, query: str, sources: list[list[Source]]
) -> None:
    result = tables.sql(query)
    assert [sorted(row, key=str) for row in result.sources] == [sorted(row, key=str) for row in sources]
    assert result.sources_total == tuple(map(len, sources))
    assert result.note is None


@pytest.mark.parametrize(
    "query",
    [
        "select id from agents union select holder from tokens",
        "with recursive r as (select 1 n union all select n + 1 from r where n < 3) select * from r, agents",
        "select distinct count(*) from agents group by team",
        "select columns(*) from (select id from agents)",
        "describe agents",
    ],
)
def test_rows_that_cannot_be_followed_come_without_citations_and_say_so(tables: Tables, query: str) -> None:
    result = tables.sql(query)
    assert result.rows
    assert result.sources == ()
    assert result.note is not None
    assert "no citations" in result.note


def test_a_query_that_names_no_relation_needs_no_citations(tables: Tables) -> None:
    assert tables.sql("select 1 + 1 as two").records() == [{"two": 2}]
    assert tables.sql("select 1").note is None


def test_citations_of_one_row_are_bounded_and_counted() -> None:
    many = b"id\n" + b"".join(b"r%d\n" % n for n in range(100))
    result = open_tables({"/a.csv": many}).sql("select count(*) from a")
    assert len(result.sources[0]) == tables_module.MOST_SOURCES
    assert result.sources_total == (100,)


def test_rows_are_bounded_and_say_that_there_are_more(tables: Tables) -> None:
    result = tables.sql("select id from agents order by id", limit=2)
    assert (result.rows, result.truncated) == ((("a-1",), ("a-2",)), True)
    assert len(result.sources) == 2
    assert not tables.sql("select id from agents", limit=3).truncated


def test_sheets_of_a_workbook_are_relations_cited_by_sheet_and_row(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Costs 2026"
    for row in (["team", "sum"], ["red", 3], ["blue", 4]):
        sheet.append(row)
    book.create_sheet("other").append(["x", "y"])
    book["other"].append([1, 2])
    book.save(tmp_path / "b.xlsx")
    opened = open_tables({"/money/Year Plan.xlsx": (tmp_path / "b.xlsx").read_bytes()})
    assert opened.names() == ("year_plan_costs_2026", "year_plan_other")
    result = opened.sql("select team from year_plan_costs_2026 where sum = 4")
    assert result.sources == ((Source(path="/money/Year Plan.xlsx", sheet="Costs 2026", row=3),),)


def test_a_formula_without_a_value_is_null_and_said(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    assert book.active is not None
    for row in (["team", "sum"], ["red", 3], ["blue", "=B2*2"]):
        book.active.append(row)
    book.save(tmp_path / "b.xlsx")
    opened = open_tables({"/b.xlsx": (tmp_path / "b.xlsx").read_bytes()})
    result = opened.sql("select sum(sum) from b")
    assert result.rows == ((3,),)
    assert result.note is not None
    assert "sum: 1" in result.note
    assert "1 without a value" in opened.profile()


@pytest.mark.parametrize(
    "query",
    [
        "attach '/tmp/x.db'",
        "copy agents to '/tmp/x.csv'",
        "copy agents from '/etc/passwd'",
        "install httpfs",
        "load httpfs",
        "pragma database_list",
        "set memory_limit = '8GB'",
        "set enable_external_access = true",
        "reset lock_configuration",
        "create table x as select 1",
        "insert into agents select * from agents",
        "drop table agents",
        "export database '/tmp/x'",
        "call pragma_version()",
        "checkpoint",
        "use memory",
        "select 1; select 2",
        "",
        "from '/etc/passwd'",
        "from 'https://example.com/x.csv'",
        "select * from read_csv('/etc/passwd')",
        "select * from read_text('/etc/passwd')",
        "select * from read_json('/etc/passwd')",
        "select * from glob('/etc/*')",
        "select * from sniff_csv('/etc/passwd')",
        "select * from parquet_scan('/etc/passwd')",
        "select * from duckdb_settings()",
        "select * from duckdb_secrets()",
        "select * from query('select 1')",
        "select * from query_table('agents')",
        "select * from json_execute_serialized_sql('{}')",
        "select * from information_schema.tables",
        "select * from main.__relation_1",
        "select * from __relation_1",
        "select getenv('HOME')",
        "select repeat('x', 2000000000)",
        "select (select repeat('x', 2000000000))",
        "select lpad('x', 2000000000, 'y') from agents",
        "show tables",
        "select * from agents natural join tokens",
        "select * from nowhere",
        "select nothing from agents",
        "selec 1",
        "select '\ud800'",
    ],
)
def test_what_a_query_must_not_do_is_refused(tables: Tables, query: str) -> None:
    with pytest.raises(ToolError, match="SQL:"):
        tables.sql(query)


def test_the_database_itself_reaches_nothing(tmp_path: Path) -> None:
    """The second wall: even a statement that passed the parser could neither read nor write."""
    import duckdb

    from shared.documents.database import database

    (tmp_path / "secret.csv").write_text("a\n1\n")
    for statement in (
        f"select * from read_csv('{tmp_path}/secret.csv')",
        f"attach '{tmp_path}/x.db'",
        f"copy (select 1) to '{tmp_path}/out.csv'",
        "install httpfs",
        "set enable_external_access = true",
        "set lock_configuration = false",
    ):
        with pytest.raises(duckdb.Error):
            database().cursor().execute(statement)
    assert [file.name for file in tmp_path.iterdir()] == ["secret.csv"]


def test_an_unknown_relation_is_answered_with_the_nearest_ones(tables: Tables) -> None:
    with pytest.raises(ToolError, match="no relation 'agent'; there is agents"):
        tables.sql("select * from agent")


ENDLESS = "select sum((i * j) % 7) from range(3000000) a(i), range(1000000) b(j)"


def test_a_table_may_be_called_by_another_name_in_one_query(tables: Tables) -> None:
    aliases = {"crew": ("/fleet/agents.csv", ""), "keys": ("/fleet/tokens.json", "tokens")}
    query = (
        "SELECT crew.team, count(*) AS n FROM crew, Keys WHERE keys.holder = crew.id GROUP BY 1 ORDER BY 1"
    )
    result = tables.sql(query, aliases=aliases)
    assert result.rows == (("blue", 1), ("red", 2))
    assert agent("a-2") in result.sources[0]
    assert set(aliases.values()) - {("/fleet/agents.csv", "")} <= set(tables.files().values())
    with pytest.raises(ToolError, match=r"no table 'sheet2'"):
        tables.sql("SELECT * FROM crew", aliases={"crew": ("/fleet/agents.csv", "sheet2")})
    with pytest.raises(ToolError, match="no relation 'crew'"):
        tables.sql("SELECT * FROM crew")


def test_a_query_that_takes_too_long_is_stopped(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables_module, "SECONDS", 0.3)
    with pytest.raises(ToolError, match="took longer"):
        tables.sql(ENDLESS)
    assert tables.sql("select count(*) from agents").rows == ((3,),)


def test_a_query_ends_with_its_task(tables: Tables) -> None:
    with pytest.raises(DeadlinePassed):
        tables.sql(ENDLESS, deadline=Deadline.after(0.2))


def test_a_query_that_needs_too_much_memory_is_refused(tables: Tables) -> None:
    with pytest.raises(ToolError, match="256MB"):
        tables.sql("select list(i || 'some text that takes room') from range(30000000) t(i)")


def test_threads_share_the_database(tables: Tables) -> None:
    failures: list[BaseException] = []

    def ask(number: int) -> None:
        try:
            for _ in range(10):
                rows = tables.sql(f"select id, {number} from agents where id = 'a-2'").rows
                assert rows == (("a-2", number),)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_equal_files_of_two_workspaces_are_loaded_once_and_dropped_when_nobody_needs_them() -> None:
    from shared.documents.database import database

    def count() -> int:
        rows = database().cursor().execute("select count(*) from duckdb_tables()").fetchall()
        return int(rows[0][0])

    files = {"/only/here.csv": b"id\n1\n2\n"}
    other = {"/only/there.csv": b"id\n1\n"}
    first, second = open_tables(files), open_tables(files)
    first.sql("select * from here")
    before = count()
    second.sql("select * from here")
    assert count() == before
    del first, second
    third = open_tables(other)
    third.sql("select * from there")
    assert count() == before


NAMES: list[tuple[list[tuple[str, str]], list[str]]] = [
    ([("/fleet/tokens.csv", "")], ["tokens"]),
    ([("/a/x.csv", ""), ("/b/x.csv", "")], ["a_x", "b_x"]),
    ([("/a/x.csv", ""), ("/a/x.json", "")], ["a_x_csv", "a_x_json"]),
    ([("/b.xlsx", "Sheet 1"), ("/b.xlsx", "Sheet 2")], ["b_sheet_1", "b_sheet_2"]),
    ([("/b.json", "tokens")], ["b"]),
    ([("/x/events.csv", "")], ["x_events"]),
    ([("/2026-11.csv", "")], ["t_2026_11"]),
    ([("/a b.csv", ""), ("/a-b.csv", "")], ["a_b_csv_2", "a_b_csv_3"]),
    ([("/ü.csv", "")], ["table"]),
]


@pytest.mark.parametrize(("tables", "names"), NAMES)
def test_relations_get_short_names_that_stay_the_same(
    tables: list[tuple[str, str]], names: list[str]
) -> None:
    assert [name_tables(tables)[key] for key in tables] == names
    assert name_tables(reversed(tables)) == name_tables(tables)


def test_a_profile_tells_what_there_is(tables: Tables) -> None:
    assert tables.profile().splitlines() == [
        "events (1 log files, UTC; 3 rows)",
        "  time time, 2026-11-14 03:00:00 to 2026-11-14 05:00:00; agent text: a-1 | a-2; "
        "action text: read | write; target text: db | fs; trace text, 3 null; info_bytes int, 1 null, 5 to 7",
        "agents (/fleet/agents.csv; 3 rows)",
        "  id text: a-1 | a-2 | a-3; team text: red | blue; joined date, 1 null, 2026-01-02 to 2026-01-03; "
        "score float, 1 null, 1.5 to 2; test bool: FALSE | TRUE; code text: 007 | 010 | 100",
        "tokens (/fleet/tokens.json [tokens]; 3 rows)",
        "  id text: T1 | T2 | T3; holder text: a-1 | a-2; uses int, 2 null, 3 to 3",
        "single logs, as written: t_2026_11_14",
        "every relation also has _path, _line, _record, _sheet, _row where it applies; "
        "results carry citations",
    ]


def test_a_column_called_like_a_place_or_rowid_keeps_its_values() -> None:
    result = open_tables({"/a.csv": b"id,rowid,_path\n1,x,y\n"}).sql("select rowid_2, _path_2 from a")
    assert result.rows == (("x", "y"),)
    assert result.sources == ((Source(path="/a.csv", record="1"),),)


def test_values_of_every_kind_come_out_as_json(tables: Tables) -> None:
    row: dict[str, Any] = tables.sql(
        "select 1.5::decimal(4, 2) d, sum(info_bytes) s, 'nan'::double n, interval 1 day i, [1, 2] l, "
        "{'a': date '2026-01-02'} o, time '03:04:05' t from events"
    ).records()[0]
    assert json.loads(json.dumps(row)) == {
        "d": 1.5, "s": 12, "n": None, "i": "1 day, 0:00:00", "l": [1, 2], "o": {"a": "2026-01-02"},
        "t": "03:04:05",
    }  # fmt: skip


def test_an_unreadable_document_has_no_relation() -> None:
    files = {"/a.csv": b"id\n1\n", "/b.xlsx": b"broken"}
    documents = {"/a.csv": parse(files["/a.csv"], "a.csv"), "/b.xlsx": Document("xlsx", unreadable="damaged")}
    opened = Tables({path: path for path in files}, documents.__getitem__, ReadOnlyTools(files).logbook)
    assert opened.names() == ("a",)
