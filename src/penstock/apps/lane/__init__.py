"""Lane detection on frames of a road: grey and blur, Canny, a region of interest, Hough, lanes.

Reading order: `road` (where the markings of a frame are), `input` (the frame), `stages`, `lines` (segments into lanes),
`app`; `video` is the user's own frames instead.
"""
