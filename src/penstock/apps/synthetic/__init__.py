"""A synthetic application: three stages of calibrated work, of a processor or of waiting for another system.

Reading order: `kernel` (a unit of work that gives its input back), `calibration` (how long a unit takes), `stages`
(what an item asks of each stage), `app`.
"""
