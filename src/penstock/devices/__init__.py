"""Kernels on devices: one user function for one window, run over many windows on a CPU or a GPU."""
