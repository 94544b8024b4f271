"""What a user may choose of a windowed query, from text: the window, the number of keys, the device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.devices import registry
from penstock.devices.auto import AUTO
from penstock.errors import BadInputError
from penstock.stages.windows.spec import WindowSpec
from penstock.units import parse_count

OPTIONS: Mapping[str, str] = {
    "window": "rows of a window and rows from one to the next: 10k/25",
    "keys": "windows of each of so many keys, e.g. 500; without it one window over all rows",
    "device": f"{AUTO}, {', '.join(registry.ORDER)}",
}
# A number of a window that is unique over all keys has 40 bits for the window and the rest for the key.
MOST_KEYS = 2**23


@dataclass(frozen=True)
class Chosen:
    """The window, the keys (None: the stream is one) and the device of a query."""

    window: WindowSpec
    keys: int | None = None
    device: str = AUTO

    @property
    def window_text(self) -> str:
        """The window as users write it.

        >>> Chosen(parse_window("10k/25")).window_text
        '10000/25'
        """
        return f"{self.window.length}/{self.window.every}"


def parse_options(options: Mapping[str, str], window: str) -> Chosen:
    """What options say; `window` is the one where they do not.

    >>> parse_options({"keys": "0.5k"}, window="1k/25").keys
    500
    """
    device = options.get("device", AUTO)
    if device != AUTO:
        if device not in registry.ORDER:
            remedy = f"choose one of: {', '.join((AUTO, *registry.ORDER))}"
            raise BadInputError("device", device, "no such device", remedy)
        # Refused where it is not here, with the reason.
        registry.device(device)
    keys = parse_keys(options["keys"]) if "keys" in options else None
    return Chosen(parse_window(options.get("window", window)), keys, device)


def parse_window(text: str) -> WindowSpec:
    """Windows of rows from LENGTH/SLIDE.

    >>> str(parse_window("0.5M/2.5k"))
    'rows(500000, every=2500)'
    """
    length_text, slash, every_text = text.partition("/")
    if not slash:
        raise BadInputError("window", text, "not LENGTH/SLIDE", "write e.g. 10k/25")
    length, every = (_whole(part, "window", text) for part in (length_text, every_text))
    if length < 1 or every < 1:
        raise BadInputError("window", text, "a window and its slide are of rows", "give 1 or more of each, e.g. 10k/25")
    if every > length:
        reason = "the slide is above the length, so that some rows would be in no window"
        raise BadInputError("window", text, reason, f"write e.g. {length_text.strip()}/{length_text.strip()}")
    return WindowSpec(length, every)


def parse_keys(text: str) -> int:
    """A number of keys.

    >>> parse_keys("500")
    500
    """
    keys = _whole(text, "keys", text)
    if not 1 <= keys <= MOST_KEYS:
        raise BadInputError("keys", text, "no number of keys", f"give 1 to {MOST_KEYS:,}, or leave it out")
    return keys


def _whole(part: str, field: str, text: str) -> int:
    try:
        number = parse_count(part, field)
    except BadInputError as error:
        raise BadInputError(field, text, f"{part!r} is not a number", "write e.g. 500, 10k or 0.5M") from error
    if not number.is_integer():
        raise BadInputError(field, text, f"{part!r} is not a whole number", "write e.g. 500, 10k or 0.5M")
    return int(number)
