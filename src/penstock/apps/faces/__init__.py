"""The person recogniser: denoise, detect, recognise and mark the people in the frames of a video.

Reading order: `people` (who they are, and their faces), `input` (frames, and the truth about them), `vision` (OpenCV),
`gallery` (what the recogniser learns from), `stages`, `video` (the user's own), `app`.
"""
