"""Models of the load and of the machine: what a batch costs, its level, its cycles. Pure numbers."""
