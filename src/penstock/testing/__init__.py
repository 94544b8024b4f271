"""For tests of plug-ins: the contract that every controller keeps, and fakes to run the loop without Spark."""
