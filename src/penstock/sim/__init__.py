"""Virtual time: the loop against a modelled machine, deterministic by seed, thousands of runs a minute.

Reading order: `load` (what items cost), `plant` (what a batch takes), `kernel` (the loop in plain numbers), `form`
(which controllers the kernel knows), `run` (one simulation), `fit` (a plant from the journals of real runs).
"""
