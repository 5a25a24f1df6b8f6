"""Mapping rules: the first rule that gives a value decides it, then the job's comment."""

import pytest

from streams.sources.config import Rule, source_config
from streams.sources.terms import Book, Labels, Terms, account_path, commented, matches, terms_of

RULES = source_config(
    """
    cluster = "c"

    [[rules]]
    qos = "protected"
    min_runtime = "4h"

    [[rules]]
    account = ["vision-*", "video"]
    budget = "lab/vision/{account}"
    min_runtime = "1h"
    resumable = true

    [[rules]]
    partition = "interactive"
    kind = "session"
    priority = 7

    [[rules]]
    budget = "lab/rest/{user}"
    """
).rules


@pytest.mark.parametrize(
    ("labels", "terms"),
    [
        (Labels("vision-a", "gpu", "normal", "eve"), Terms("lab/vision/vision-a", 3_600, resumable=True)),
        (Labels("video", "gpu", "protected", "eve"), Terms("lab/vision/video", 14_400, resumable=True)),
        (Labels("nlp", "gpu", "protected", "eve"), Terms("lab/rest/eve", 14_400)),
        (Labels("nlp", "interactive", "normal", "bob"), Terms("lab/rest/bob", 0, kind="session", priority=7)),
        (Labels("Vision-a", "gpu", "normal", "eve"), Terms("lab/rest/eve")),
        (Labels("nlp", "gpu", "normal", ""), Terms(None)),
    ],
)
def test_each_value_is_from_the_first_rule_that_gives_it(labels, terms):
    assert terms_of(RULES, labels) == terms
    assert Book(RULES).terms(labels) == terms


def test_without_rules_the_budget_is_the_schedulers_account():
    assert terms_of((), Labels("team a/b")) == Terms("team_a_b")
    assert terms_of((), Labels("")) == Terms(None)


def test_a_rule_needs_every_pattern():
    rule = Rule(account="a*", partition="gpu", reservation="r1", budget="x")
    assert matches(rule, Labels("abc", "gpu", reservation="r1"))
    assert not matches(rule, Labels("abc", "gpu"))
    assert not matches(rule, Labels("bc", "gpu", reservation="r1"))


def test_a_name_cannot_add_a_level_to_the_path():
    assert account_path("lab/{user}", Labels(user="eve/../root")) == "lab/eve_.._root"


@pytest.mark.parametrize(
    ("comment", "terms"),
    [
        (
            "tenure: min_runtime=2h resumable=yes budget=lab/x",
            Terms("lab/x", 7_200, resumable=True),
        ),
        ("wandb=abc; tenure: min_runtime=90m", Terms("lab/own", 5_400)),
        ("tenure: kind=debug, resumable=no", Terms("lab/own", 60, kind="debug")),
        ("tenure: budget=lab/a/b/c and a remark", Terms("lab/a/b/c", 60)),
        ("tenure:min_runtime=0", Terms("lab/own", 0)),
    ],
)
def test_a_comment_overrides_the_rules(comment, terms):
    assert commented(Terms("lab/own", 60), comment) == terms


@pytest.mark.parametrize(
    "comment",
    ["tenure: min_runtime=soon", "tenure: color=red", "tenure: hello", "tenure: budget=/x", "tenure: resumable=maybe",
     "tenure: min_runtime=99w budget=lab/x min_runtime=x", "tenure: min_runtime=9999999d",
     f"tenure: budget={'x' * 600}"],
)  # fmt: skip
def test_a_comment_that_is_wrong_leaves_the_rules_and_a_note(comment):
    """A user must not keep a job out of the book by what he writes into its comment."""
    before = Terms("lab/own", 60)
    after = commented(before, comment)
    assert (after.account, after.min_runtime_s, after.resumable, after.kind) == ("lab/own", 60, False, "batch")
    assert after.note


@pytest.mark.parametrize(
    ("trust", "account", "min_runtime_s", "noted"),
    [("all", "lab/rich", 7_200, False), ("contract", "lab/own", 0, True), ("none", "lab/own", 0, False)],
)
def test_comments_are_trusted_as_far_as_the_source_says(trust, account, min_runtime_s, noted):
    book = Book((Rule(budget="lab/own"),), comments=trust)
    terms = book.terms(Labels("a"), "tenure: min_runtime=2h budget=lab/rich")
    assert (terms.account, terms.min_runtime_s, bool(terms.note)) == (account, min_runtime_s, noted)
    assert book.terms(Labels("a"), "tenure: min_runtime=3h").min_runtime_s == (0 if trust == "none" else 10_800)
