"""Reports: one HTML file for a run or a comparison, which opens anywhere and asks no network for anything."""
