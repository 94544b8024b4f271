"""What the commands share: views of a run, tables, bars, a run beside them."""
