"""The sections of docs/results.md, and `make results`, which makes them anew."""
