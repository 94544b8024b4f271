"""Kernels that are there already; users find them in `penstock.kernels`.

All take columns of doubles or integers and return doubles. A NaN in the window makes the outputs NaN; an empty window
has a sum of 0, and NaN for everything else. Loops and scalars in one fixed order, so that all devices on a CPU give the
same bits.
"""
