"""All commands under one name, and what becomes of their errors."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tenure.cli import (
    accounts,
    collect,
    dead_letters,
    demo,
    doctor,
    enforce,
    enforcement_log,
    exits,
    explain,
    grants,
    ingest,
    jobs,
    maintenance,
    metrics,
    output,
    plans,
    policy,
    queue,
    replay,
    report,
    shares,
    sql,
    topics,
    up,
    verify,
    what_if,
    why_not,
    worker,
)


class Commands(TyperGroup):
    """Tells errors that a person can do something about as a sentence, with their exit code."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 -- typer keeps its own copy of click to itself
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader of our output has gone, as `head` does; what is left has nowhere to go.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(exits.DONE) from None
        except KeyboardInterrupt:
            output.note("Stopped. What was taken is kept; run the command again for the rest.")
            raise typer.Exit(exits.INTERRUPTED) from None
        except Exception as error:
            code = exits.code_of(error)
            if code is None:
                raise
            output.note(f"Error: {exits.sentence_of(error)}", style="red")
            raise typer.Exit(code) from None


app = typer.Typer(
    name="tenure",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": output.WIDTH},
    help="GPU-time budgets for research clusters: what everybody was owed, what they got, and why.",
    epilog="Exit codes: 0 done, 1 done with findings, 2 wrong usage, 3 nothing there, 4 busy, 5 disk full, "
    "6 store trouble. docs/cli.md shows every command.",
)


def _version(asked: bool) -> None:
    if asked:
        output.say(f"tenure {version('tenure')}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    pass


app.command()(demo.demo)
app.command()(ingest.ingest)
app.add_typer(collect.app, name="collect")
app.command()(accounts.accounts)
app.add_typer(shares.app, name="shares")
app.add_typer(grants.app, name="grants")
app.command()(jobs.jobs)
app.command()(explain.explain)
app.command()(queue.queue)
app.command()(plans.plans)
app.command("why-not")(why_not.why_not)
app.command("enforcement-log")(enforcement_log.enforcement_log)
app.add_typer(policy.app, name="policy")
app.add_typer(maintenance.app, name="maintenance")
app.command()(metrics.metrics)
app.command()(report.report)
app.command("what-if")(what_if.what_if_command)
app.command()(sql.sql)
app.command()(verify.verify)
app.command()(replay.replay)
app.add_typer(dead_letters.app, name="dead-letters")
app.command()(worker.worker)
app.command()(up.up)
app.command()(enforce.enforce)
app.add_typer(topics.app, name="topics")
app.command()(doctor.doctor)


def main() -> None:
    """The program `tenure`."""
    app()
