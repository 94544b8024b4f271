"""Windows beside their peers: rates, plumbing, aggregates, latency and devices, as the issue and Gasser's paper ask.

Reading order: `cases` (queries, windows and sizes), `job` (one measurement, and a file of finished ones), `machine`
(what a measurement runs on), `files` and `streaming` (saturated streams), then the programs, each a function
`jobs(size)`: `rates`, `peers` (with `plain_spark`, `numpy_kernels`, `flink`), `plumbing`, `aggregates`, `black_box`,
`latency`, `devices`, `planner`. `programs` has them all, `results` reads what they left.
"""
