"""Plans carried out over files at hand."""

from __future__ import annotations

from typing import Any

import pytest

from shared.models import Source
from workers.solvers.agent.execute import Done, Execution, Means, StepFailed
from workers.solvers.agent.plan import BadPlan, parse
from workers.testing import local_context

FILES = {
    "/AGENTS.md": b"# Rules\n\n- **R1** Count it's all.\n- **R10** Another.\n",
    "/sheds.csv": b"shed,place\nNorth,O'Hara\nSouth,Dale\n",
    "/engines.csv": b"engine,shed,weight\nE-1,North,3\nE-2,South,5\nE-3,South,9\n",
    "/notes.txt": b"first line\nEngine E-2 is red.\nEngine E-3 is blue.\n",
}


def run(*steps: dict[str, Any], **plan: Any) -> Done:
    context = local_context(FILES)
    assert context.workspace is not None
    means = Means(
        context.workspace, context.tools, lambda path: f"seen in {path}", {"depots": ("/sheds.csv", "")}
    )
    return Execution(parse({"outcome": "OK", "steps": [*steps], **plan}), means).run()


def sql(query: str, name: str = "it", shape: str = "list", **more: Any) -> dict[str, Any]:
    return {"kind": "sql", "query": query, "name": name, "shape": shape, **more}


def engine(name: str) -> Source:
    return Source(path="/engines.csv", record=name)


def test_rows_are_followed_back_to_their_records() -> None:
    step = sql("SELECT engine FROM engines WHERE weight > 4 ORDER BY 1", cite="all")
    done = run(step, answer="$it", form={"kind": "list"})
    assert (done.answer, done.sources) == (["E-2", "E-3"], (engine("E-2"), engine("E-3")))
    ends = run(sql("SELECT engine FROM engines ORDER BY weight", cite="ends"), answer="$it")
    assert ends.sources == (engine("E-1"), engine("E-3"))


def test_tables_go_by_aliases_and_by_the_names_in_the_prompt() -> None:
    query = "SELECT d.place FROM crew JOIN depots d ON crew.shed = d.shed WHERE crew.engine = 'E-1'"
    assert (
        run(sql(query, shape="value", tables={"crew": {"path": "/engines.csv"}}), answer="$it").answer
        == "O'Hara"
    )


def test_results_go_into_later_texts_and_queries_quoted() -> None:
    done = run(
        sql("SELECT place FROM sheds ORDER BY 1 DESC", "places"),
        sql("SELECT count(*) FROM sheds WHERE place IN ({$places})", "n", "value"),
        answer={"n": "$n", "text": "{$n} places"},
    )
    assert done.answer == {"n": 2, "text": "2 places"}


def test_an_operation_on_a_list_stands_for_one_per_item() -> None:
    wanted = {
        "tool": "containment",
        "args": {"ops": [{"op": "revoke", "token": "$it"}, {"op": "note", "text": "x"}]},
    }
    done = run(sql("SELECT engine FROM engines WHERE shed = 'South' ORDER BY 1"), effects=[wanted])
    assert done.effects[0].args["ops"] == [
        {"op": "revoke", "token": "E-2"},
        {"op": "revoke", "token": "E-3"},
        {"op": "note", "text": "x"},
    ]


def test_documents_rules_images_and_tools_are_steps_too() -> None:
    done = run(
        {"kind": "rule", "path": "/AGENTS.md", "id": "R1", "cite": True},
        {
            "kind": "find",
            "path": "/notes.txt",
            "pattern": r"^Engine (\S+) is",
            "all": True,
            "name": "f",
            "cite": True,
        },
        {"kind": "look", "path": "/sheds.csv", "pattern": r"seen in (\S+)", "name": "l", "cite": False},
        {"kind": "tool", "tool": "search", "args": {"pattern": "blue"}, "take": "hits", "cite": True},
        answer=["$f", "$l"],
    )
    assert done.answer == [["E-2", "E-3"], "/sheds.csv"]
    lines = [Source(path="/notes.txt", line=2), Source(path="/notes.txt", line=3)]
    assert done.sources == (Source(path="/AGENTS.md", line=3), *lines)


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (sql("SELECT nothing FROM engines"), r"step 1 \(sql, it\): SQL"),
        ({"kind": "find", "path": "/gone.txt", "pattern": "x"}, "file not found"),
        ({"kind": "find", "path": "/notes.txt", "pattern": "(green)"}, "nothing matches"),
        ({"kind": "find", "path": "/notes.txt", "pattern": "(a"}, "not a regular expression"),
        ({"kind": "rule", "path": "/AGENTS.md", "id": "R7"}, "no rule 'R7'"),
        (sql("SELECT 1 WHERE 'x' IN ({$unknown})"), "no step before has the name 'unknown'"),
        ({"kind": "tool", "tool": "read", "args": {"path": "/notes.txt"}, "take": "lines"}, "has no 'lines'"),
    ],
)
def test_a_step_that_fails_says_which_and_why(step: dict[str, Any], what: str) -> None:
    with pytest.raises(StepFailed, match=what):
        run(step)


def test_what_was_found_before_a_failure_is_kept() -> None:
    with pytest.raises(StepFailed) as failure:
        run(sql("SELECT engine FROM engines LIMIT 1", cite="all"), sql("SELECT broken"))
    assert failure.value.done.sources == (engine("E-1"),)


def test_steps_that_find_nothing_are_told() -> None:
    assert run(sql("SELECT engine FROM engines WHERE weight > 100"), answer="$it").empty != ()


def test_what_is_no_plan_says_where() -> None:
    with pytest.raises(BadPlan, match=r"steps\.0"):
        parse({"outcome": "OK", "steps": [{"kind": "dance"}]})
    for value in (None, "text", {"path": "/a"}):
        with pytest.raises(BadPlan, match="not a plan"):
            parse(value)  # type: ignore[arg-type]
