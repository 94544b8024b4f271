from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.errors import BadInputError
from penstock.spark.session import configure, fast_settings

LOCAL_FS = "spark.hadoop.fs.file.impl"
STATE = "spark.sql.streaming.stateStore.providerClass"
MANAGER = "spark.sql.streaming.checkpointFileManagerClass"


class Builder:
    """A session builder as far as `configure` looks at it."""

    def __init__(self, **options: str) -> None:
        self._options = {key.replace("__", "."): value for key, value in options.items()}

    def config(self, key: str, value: str) -> Builder:
        self._options[key] = value
        return self


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "MASTER",
        "SPARK_HOME",
        "SPARK_CONF_DIR",
        "SPARK_REMOTE",
        "PYSPARK_GATEWAY_PORT",
        "PYSPARK_PYTHON",
        "PYSPARK_DRIVER_PYTHON",
    ):
        # Set first, so that what configure() sets is undone after the test even where nothing was there before.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def test_fast_adds_its_settings_to_a_local_session():
    builder = Builder(spark__master="local[2]")
    assert configure(builder) is builder
    assert {key: builder._options[key] for key in fast_settings()} == fast_settings()


def test_fast_leaves_the_file_system_alone_whatever_the_state_store():
    options = configure(Builder(spark__master="local[2]"))._options
    assert LOCAL_FS not in options
    assert MANAGER in options


def test_raw_local_files_are_asked_for_by_name():
    options = configure(Builder(spark__master="local[2]"), raw_local_files=True)._options
    assert options[LOCAL_FS] == "org.apache.hadoop.fs.RawLocalFileSystem"
    assert MANAGER in options


def test_raw_local_files_are_refused_with_rocksdb_and_under_safe():
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    with pytest.raises(BadInputError, match=r"raw_local_files.*RocksDBStateStoreProvider.*leave it out"):
        configure(Builder(spark__sql__streaming__stateStore__providerClass=provider), raw_local_files=True)
    with pytest.raises(BadInputError, match=r"raw_local_files.*no part of profile 'safe'"):
        configure(Builder(), profile="safe", raw_local_files=True)


@pytest.mark.parametrize("master", ["local[2]", "yarn", "spark://host:7077"])
@pytest.mark.parametrize("profile", ["fast", "safe"])
def test_workers_run_this_interpreter_whatever_the_master(profile: str, master: str):
    configure(Builder(spark__master=master), profile)
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    assert os.environ["PYSPARK_DRIVER_PYTHON"] == sys.executable


@pytest.mark.parametrize("options", [{"spark__master": "k8s://https://host"}, {"spark__remote": "sc://host"}])
def test_an_image_and_a_connect_server_choose_their_own_interpreter(options: dict[str, str]):
    configure(Builder(**options))
    assert "PYSPARK_PYTHON" not in os.environ


@pytest.mark.parametrize("wrong", [None, "local[2]", object()])
def test_what_is_no_builder_is_refused(wrong: object):
    with pytest.raises(
        BadInputError, match=r"builder = .*not a session builder; write penstock.configure\(SparkSession"
    ):
        configure(wrong)


def test_safe_sets_only_the_interpreter():
    assert configure(Builder(), profile="safe")._options == {}
    assert os.environ["PYSPARK_PYTHON"] == sys.executable


def test_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python/bin/python3")
    options = configure(Builder(spark__hadoop__fs__file__impl="mine.FileSystem"), raw_local_files=True)._options
    assert options[LOCAL_FS] == "mine.FileSystem"
    assert MANAGER in options
    assert os.environ["PYSPARK_PYTHON"] == "/opt/python/bin/python3"


def test_what_spark_defaults_set_stays_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    defaults = tmp_path / "spark-defaults.conf"
    defaults.write_text(f"{MANAGER} mine.Manager\n")
    assert MANAGER not in configure(Builder())._options
    defaults.write_text("spark.master yarn\n")
    assert configure(Builder())._options == {}
    assert MANAGER in configure(Builder(spark__master="local"))._options
    defaults.write_text(f"{STATE} org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider\n")
    assert MANAGER in configure(Builder())._options
    with pytest.raises(BadInputError, match=r"raw_local_files.*RocksDBStateStoreProvider"):
        configure(Builder(), raw_local_files=True)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"spark__master": "yarn"}, "master yarn"),
        ({"spark__master": "spark://host:7077"}, "master spark://host:7077"),
        ({"spark__sql__streaming__checkpointLocation": "hdfs://host/c"}, "hdfs://host/c is not on a local disk"),
        ({"spark__hadoop__fs__defaultFS": "s3a://bucket"}, "s3a://bucket is not on a local disk"),
        ({"spark__remote": "sc://host"}, "Spark Connect"),
    ],
)
def test_fast_changes_nothing_where_the_checkpoint_is_not_local_and_says_so(
    caplog: pytest.LogCaptureFixture, options: dict[str, str], why: str
):
    before = Builder(**options)._options
    with caplog.at_level(logging.WARNING, "penstock"):
        assert configure(Builder(**options))._options == before
    assert why in caplog.text


@pytest.mark.parametrize(
    ("name", "value"), [("MASTER", "yarn"), ("SPARK_REMOTE", "sc://host"), ("PYSPARK_GATEWAY_PORT", "4711")]
)
def test_fast_changes_nothing_where_the_environment_chose_the_master(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
):
    monkeypatch.setenv(name, value)
    assert configure(Builder())._options == {}


def test_a_local_checkpoint_by_its_url_is_local():
    assert MANAGER in configure(Builder(spark__sql__streaming__checkpointLocation="file:///data/c"))._options


def test_an_unknown_profile_is_refused():
    with pytest.raises(BadInputError, match=r"profile = 'quick': no such profile; write one of fast, safe"):
        configure(Builder(), profile="quick")


@pytest.mark.parametrize(("version", "package"), [("4.0.0", "streaming"), ("4.2.0", "streaming.checkpointing")])
def test_the_checkpoint_class_is_named_where_that_spark_has_it(
    monkeypatch: pytest.MonkeyPatch, version: str, package: str
):
    monkeypatch.setattr("pyspark.__version__", version)
    name = f"org.apache.spark.sql.execution.{package}.FileSystemBasedCheckpointFileManager"
    assert fast_settings()[MANAGER] == name


def test_importing_penstock_imports_neither_spark_nor_numba_nor_a_server():
    code = (
        "import sys, penstock; heavy = {'pyspark', 'py4j', 'numba', 'pandas', 'pyarrow', 'matplotlib'}; "
        "print(sorted((heavy | {'prometheus_client', 'socketserver'}) & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
