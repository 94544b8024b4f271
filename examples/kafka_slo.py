"""Keep a query on Kafka within its objective: `python examples/kafka_slo.py BROKER:PORT TOPIC FOLDER [SECONDS]`.

Needs Spark's Kafka connector, e.g. `PYSPARK_SUBMIT_ARGS="--packages
org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0 pyspark-shell"`; docs/kafka.md has the way for closed networks.
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import penstock


def main(bootstrap: str, topic: str, folder: str, seconds: float | None = None) -> None:
    """Read orders, write them as Parquet, for so long or until the query is stopped."""
    spark = penstock.configure(SparkSession.builder.appName("orders")).getOrCreate()
    reader = spark.readStream.format("kafka").option("subscribe", topic).option("startingOffsets", "earliest")
    reader = reader.option("kafka.bootstrap.servers", bootstrap)
    orders = penstock.gated(reader).load()  # the first batch is limited too
    order = F.from_json(F.col("value").cast("string"), "id BIGINT, amount DOUBLE")
    # A record that does not parse gives nulls: it goes to the output with its value and is counted there, not lost.
    rows = orders.select(order.alias("order"), "value").select("order.*", "value", F.expr("order.id IS NULL AS bad"))
    writer = rows.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
    query = writer.queryName("orders").start(f"{folder}/orders")
    # Batches start at once; for the fewest batches that keep the bound: wait=True.
    with penstock.attach(query, "<= 2 s end-to-end", max_lag="1 h", journal=f"{folder}/journal.jsonl") as handle:
        query.awaitTermination(seconds)
        query.stop()
    print(handle.summary())


if __name__ == "__main__":
    main(*sys.argv[1:4], *(float(text) for text in sys.argv[4:5]))
