"""Gasser's two queries (table 2): any function over sliding windows, here a regression and a clustering."""
