"""Controllers: a `BatchSample` in, a `Decision` out; nothing here knows Spark, a clock or a file."""
