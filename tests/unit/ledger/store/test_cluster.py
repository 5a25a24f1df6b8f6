"""Our statements on a replicated cluster: every one of them, read by ClickHouse itself."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from clickhouse_connect import get_client
from clickhouse_connect.driver.client import Client

from ledger.store import migrate
from ledger.store.clickhouse import ClickHouse
from ledger.store.cluster import Cluster, NotForClusters, catching_up, check_shards
from ledger.store.errors import StoreError
from ledger.store.sql import read, statements
from tests.contract.store.rows import event
from tests.support.chdb import ROOT, folder, run_python, shared_store

LAB = Cluster("lab")
STATEMENTS = [
    migrate.MIGRATIONS_TABLE,
    *(statement for part in ("migrations", "views") for text in read(part).values() for statement in statements(text)),
]
IDS = [re.sub(r"--[^\n]*\n", "", text).strip().splitlines()[0] for text in STATEMENTS]


@pytest.mark.parametrize("statement", STATEMENTS, ids=IDS)
def test_every_statement_stays_sql(statement: str):
    made = LAB.statement(statement)
    ((formatted,),) = shared_store().query("SELECT formatQuery({text:String})", {"text": made}).rows
    assert str(formatted).startswith("INSERT ") or "ON CLUSTER lab" in str(formatted)


def test_every_table_replicates_and_is_otherwise_the_same():
    for statement in STATEMENTS:
        if "\nENGINE = " not in statement:
            continue
        made = LAB.statement(statement)
        place = r"\('/clickhouse/tables/\{shard\}/\{database\}/\{table\}', '\{replica\}'(, )?"
        undone = made.replace(" ON CLUSTER 'lab'", "").replace(", min_compressed_bytes_to_fsync_after_fetch = 1", "")
        undone = re.sub(rf"Replicated(\w*MergeTree){place}", r"\1(", undone).replace("MergeTree()", "MergeTree")
        assert undone == statement
        assert ("fsync_after_insert = 1" in made) == ("fsync_after_fetch = 1" in made)


def test_a_view_and_a_database_are_made_everywhere():
    assert LAB.statement("CREATE OR REPLACE VIEW v AS\nSELECT 1") == (
        "CREATE OR REPLACE VIEW v ON CLUSTER 'lab' AS\nSELECT 1"
    )
    assert LAB.statement("CREATE DATABASE IF NOT EXISTS t") == "CREATE DATABASE IF NOT EXISTS t ON CLUSTER 'lab'"


def test_rows_are_inserted_once_and_a_dropped_table_frees_its_place():
    assert LAB.statement("INSERT INTO a SELECT * FROM b") == "INSERT INTO a SELECT * FROM b"
    assert LAB.statement("DROP TABLE IF EXISTS a") == "DROP TABLE IF EXISTS a ON CLUSTER 'lab' SYNC"
    assert LAB.statement("CREATE TABLE IF NOT EXISTS a AS b") == (
        "CREATE TABLE IF NOT EXISTS a ON CLUSTER 'lab' AS b\nENGINE = Memory"
    )
    assert LAB.statement("ALTER TABLE a ADD COLUMN b Int8") == "ALTER TABLE a ON CLUSTER 'lab' ADD COLUMN b Int8"


@pytest.mark.parametrize(
    "statement", ["RENAME TABLE a TO b", "TRUNCATE TABLE a", "-- a remark\nOPTIMIZE TABLE a FINAL"]
)
def test_a_statement_that_nobody_thought_of_is_refused(statement: str):
    with pytest.raises(NotForClusters, match=r"say in ledger\.store\.cluster how this runs on a cluster"):
        LAB.statement(statement)


@pytest.mark.parametrize("name", ["", "a b", "it's", "x` y"])
def test_a_name_is_a_name(name: str):
    with pytest.raises(ValueError, match="cannot be the name of a cluster"):
        Cluster(name)


def test_a_cluster_is_known_and_of_one_shard():
    check_shards(LAB, {"lab": "1", "other": "3"}, "the server")
    with pytest.raises(StoreError, match=r"^the server knows no cluster 'lab': name one that it has, of a, b$"):
        check_shards(LAB, {"b": "1", "a": "2"}, "the server")
    with pytest.raises(StoreError, match=r"^the cluster lab has 3 shards, and a book wants one, of replicas$"):
        check_shards(LAB, {"lab": "3"}, "the server")


# ---------------------------------------------------------------- made by the engine

KEEPER = """
<clickhouse>
  <zookeeper><implementation>testkeeper</implementation></zookeeper>
  <macros><shard>01</shard><replica>r1</replica></macros>
</clickhouse>
"""

MAKES = """
import chdb, json, os, sys
connection = chdb.connect(f"{sys.argv[1]}?config-file={sys.argv[2]}")
connection.query("CREATE DATABASE tenure")
connection.query("USE tenure")
for statement in json.load(open(sys.argv[3])):
    connection.query(statement)
found = "SELECT name, engine, engine_full FROM system.tables WHERE database = 'tenure'"
print(connection.query(found, "JSONCompactEachRow"), flush=True)
os._exit(0)  # the engine does not end well with this Keeper
"""


def test_the_engine_makes_every_table(tmp_path: Path):
    """Against ClickHouse's own Keeper for tests, which has no other replica; nothing can be inserted there."""
    made = [LAB.statement(s).replace(" ON CLUSTER 'lab'", "") for s in STATEMENTS if "\nENGINE = " in s]
    (tmp_path / "config.xml").write_text(KEEPER)
    (tmp_path / "statements.json").write_text(json.dumps(made))
    ran = run_python(MAKES, str(tmp_path / "data"), str(tmp_path / "config.xml"), str(tmp_path / "statements.json"))
    assert ran.returncode == 0, ran.stderr
    found = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("[")]
    assert len(found) == len(made)
    for name, engine, full in found:
        assert engine in {"ReplicatedMergeTree", "ReplicatedReplacingMergeTree"}
        assert f"'/clickhouse/tables/{{shard}}/tenure/{name}', '{{replica}}'" in full


# ---------------------------------------------------------------- the store on a cluster


class Replica:
    """A client of chDB that understands what a cluster is told, and keeps it."""

    def __init__(self, told: list[str]) -> None:
        self._client: Client = get_client(interface="chdb", path=folder(), tz_mode="aware")
        self._told = told

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            super().__setattr__(name, value)
        else:
            setattr(self._client, name, value)

    def command(self, text: str, **given: Any) -> Any:
        self._told.append(text.strip())
        if text.startswith("SYSTEM SYNC REPLICA "):
            return None
        text = text.replace(" ON CLUSTER 'lab'", "")
        return self._client.command(re.sub(r"Replicated(\w*MergeTree)\('[^']*', '[^']*'(, )?", r"\1(", text), **given)

    def query(self, text: str, *args: Any, **given: Any) -> Any:
        self._told.append(text.strip())
        if "system.clusters" in text:
            text = "SELECT 'lab', 1"
        return self._client.query(text, *args, **given)

    def set_client_setting(self, key: str, value: Any) -> None:
        self._told.append(f"SET {key}")
        self._client.set_client_setting(key, value)


def test_a_book_in_use_is_opened_without_a_word_to_the_others():
    told: list[str] = []
    store = ClickHouse(lambda: Replica(told), where="here", database="on_lab", cluster=LAB)  # type: ignore[arg-type,return-value]
    store.migrate()
    assert "CREATE DATABASE IF NOT EXISTS on_lab ON CLUSTER 'lab'" in told
    assert {"SET insert_quorum", "SET insert_deduplicate"} <= set(told)
    told.clear()
    store.migrate()
    assert [text for text in told if "ON CLUSTER" in text] == []
    assert told.index(catching_up("schema_migrations")) < told.index(migrate.APPLIED)
    store._command("DROP DATABASE on_lab SYNC")
    store.close()


def test_what_must_be_the_latest_is_read_when_the_replica_has_caught_up():
    told: list[str] = []
    store = ClickHouse(lambda: Replica(told), where="here", database="on_lab_2", cluster=LAB)  # type: ignore[arg-type,return-value]
    store.migrate()
    store.append([event(0)])
    for call, tables in (
        (lambda: store.last_offset("tenure.events", 0), ["events"]),
        (lambda: store.read_events("tenure.events", 0, -1, 10), ["events"]),
        (lambda: store.checkpoints("g1"), ["partition_checkpoints"]),
        (store.live_generation, ["generations"]),
        (lambda: store.set_live_generation("g1"), ["generations"]),
        (lambda: store.settle_log("here"), ["log_homes"]),
        (lambda: store.roll_up_samples("g1", "c", 0, 3600, 1), ["gpu_samples", "runs", "run_gpu_hours"]),
    ):
        told.clear()
        call()
        assert told[: len(tables)] == [catching_up(table) for table in tables]
    store._command("DROP DATABASE on_lab_2 SYNC")
    store.close()


# ---------------------------------------------------------------- the configuration we hand out

READS = """
import chdb, os, sys
connection = chdb.connect(f"{sys.argv[1]}?config-file={sys.argv[2]}")
for text in (
    "SELECT macro, substitution FROM system.macros ORDER BY macro",
    "SELECT shard_num, replica_num, host_name, port FROM system.clusters WHERE cluster = 'tenure'",
):
    print(connection.query(text, "TSV"), flush=True)
os._exit(0)
"""


def test_the_engine_reads_the_configuration_of_three_replicas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TENURE_REPLICA", "2")
    config = ROOT / "deploy" / "clickhouse" / "config.d" / "replicas.xml"
    ran = run_python(READS, str(tmp_path / "data"), str(config))
    assert ran.stdout.split() == [
        *("replica", "2", "shard", "1"),
        *(word for n in (1, 2, 3) for word in ("1", str(n), f"clickhouse-{n}", "9000")),
    ], ran.stderr
