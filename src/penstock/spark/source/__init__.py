"""Our own data source, which replays a workload and admits what its gate says."""
