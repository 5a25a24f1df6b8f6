"""How typed SQL is cut into words before the database parses it."""

import pytest

from ledger.store.errors import QueryRefused
from ledger.store.guard import check_tree, one_statement


@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        ("SELECT 1", "SELECT 1"),
        ("SELECT 1;", "SELECT 1"),
        ("SELECT 1 ; ;\n-- end", "SELECT 1 "),
        ("SELECT ';' -- a; b\n", "SELECT ';' -- a; b\n"),
        (
            "SELECT 'a\\';b', ';''', `x;y`, \"z;\" /* ; \n ; */ # c;",
            "SELECT 'a\\';b', ';''', `x;y`, \"z;\" /* ; \n ; */ # c;",
        ),
    ],
)
def test_a_semicolon_at_the_end_goes_and_one_in_quotes_stays(sql: str, kept: str):
    assert one_statement(sql) == kept


@pytest.mark.parametrize(
    "sql",
    [
        "",
        " ; ",
        "-- x",
        "/* x */",
        "SELECT 1; SELECT 2",
        "SELECT 'a' ; -- b\n SELECT 2",
        "SELECT 'open",
        "SELECT `open",
        "SELECT /* open",
        "SELECT 1 AS `a\nb`",
        "SELECT $x$;$x$",
        "SELECT “a”",
    ],
)
def test_what_cannot_be_one_statement_is_refused(sql: str):
    with pytest.raises(QueryRefused):
        one_statement(sql)


TREE = """SelectWithUnionQuery (children 1)
 ExpressionList (children 1)
  SelectQuery (children 2)
   ExpressionList (children 1)
    {function}
   TablesInSelectQuery (children 1)
    TablesInSelectQueryElement (children 1)
     TableExpression (children 1)
      {table}
"""
TABLES = {"accounts", "postings", "report_runs"}


def tree(function: str = "Function count (children 1)", table: str = "TableIdentifier report_runs") -> str:
    return TREE.format(function=function, table=table)


@pytest.mark.parametrize(
    "table", ["report_runs", "report_unknown", "some_cte", "book.report_runs", "report_runs (alias accounts)"]
)
def test_public_views_and_names_of_no_table_pass(table: str):
    check_tree(tree(table=f"TableIdentifier {table}"), "book", TABLES)


@pytest.mark.parametrize("table", ["accounts", "book.accounts", "other.report_runs", "system.one", "book.some_cte"])
def test_other_tables_do_not(table: str):
    with pytest.raises(QueryRefused, match=table.partition(" ")[0]):
        check_tree(tree(table=f"TableIdentifier {table}"), "book", TABLES)


@pytest.mark.parametrize("name", ["numbers", "generateSeries", "view"])
def test_tables_out_of_nothing_pass(name: str):
    check_tree(tree(table=f"Function {name} (alias n) (children 1)"), "book", TABLES)


@pytest.mark.parametrize("name", ["file", "url", "merge", "python", "remote", "s3", "sum"])
def test_other_table_functions_do_not(name: str):
    with pytest.raises(QueryRefused, match=name):
        check_tree(tree(table=f"Function {name} (children 1)"), "book", TABLES)


@pytest.mark.parametrize(
    "name", ["file", "FILE", "joinGet", "dictGetOrNull", "aiGenerate", "AIClassify", "catboostEvaluate"]
)
def test_functions_that_reach_outside_are_refused(name: str):
    with pytest.raises(QueryRefused, match=name):
        check_tree(tree(f"Function {name} (children 1)"), "book", TABLES)


@pytest.mark.parametrize("name", ["profile", "dateDiff", "avg", "filesystem_free", "has"])
def test_others_pass(name: str):
    check_tree(tree(f"Function {name} (children 1)"), "book", TABLES)


@pytest.mark.parametrize(
    "root", ["SelectWithUnionQuery (children 2)\n", "InsertQuery   (children 2)\n", "Explain EXPLAIN\n", ""]
)
def test_only_a_plain_select_passes(root: str):
    with pytest.raises(QueryRefused, match="only SELECT"):
        check_tree(root + tree().partition("\n")[2], "book", TABLES)
