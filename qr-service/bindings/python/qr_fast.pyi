# Made from the definition of the options: qr-service/options/tests/files.rs.

from os import PathLike
from typing import Any, Literal

class QrError(ValueError):
    """Options that are wrong, or ask for a picture that there is none of."""

    faults: list[dict[str, Any]]
    """Each has parameter, code, detail, and of minimum, maximum, allowed and suggestion what would work."""

def draw(
    text: str | bytes,
    /,
    *,
    kind: Literal["qr", "micro", "rmqr"] | None = None,
    level: Literal["L", "M", "Q", "H"] | None = None,
    boost: bool | None = None,
    version_min: int | None = None,
    version_max: int | None = None,
    rmqr_height: int | None = None,
    rmqr_width: int | None = None,
    mask: int | None = None,
    mode: Literal["auto", "numeric", "alphanumeric", "byte", "kanji", "auto-kanji"] | None = None,
    eci: int | None = None,
    gs1: bool | None = None,
    part: int | None = None,
    format: Literal["png", "svg", "pdf", "eps", "txt", "json"] | None = None,
    margin: int | None = None,
    size: int | None = None,
    scale: int | None = None,
    compression: Literal["fast", "smallest"] | None = None,
    width_mm: float | None = None,
    dark: str | None = None,
    light: str | None = None,
    shape: Literal["square", "dots", "rounded"] | None = None,
    finder_shape: Literal["square", "rounded", "circle"] | None = None,
    style: Literal["blocks", "ascii"] | None = None,
    ink: Literal["light", "dark"] | None = None,
    title: str | None = None,
    caption: str | None = None,
) -> bytes:
    """Draws a QR code: the picture that qr-service sends for the same options.

    kind: The kind of symbol.
    level: Error correction level. The default is M; Micro QR has L, M and Q and by default any, rMQR M and H.
    boost: Raises the level as far as the version has room. Only for `qr`.
    version_min: The smallest version allowed: 1 to 40, for Micro QR 1 to 4.
    version_max: The largest version allowed.
    rmqr_height: Height of an rMQR symbol in modules: 7, 9, 11, 13, 15 or 17. The default is what takes least area.
    rmqr_width: Width of an rMQR symbol in modules: 27, 43, 59, 77, 99 or 139.
    mask: Mask pattern: 0 to 7, for Micro QR 0 to 3. The default is the one with the best score.
    mode: Mode of the data. `auto` takes the fewest bits; `auto-kanji` adds Kanji mode.
    eci: Declares the encoding by an ECI assignment number; UTF-8 is 26, and Shift JIS, which Kanji mode has, is 20.
        Old readers print the header.
    gs1: The data is GS1 element strings, with the character 0x1D as separator. Only for `qr`.
    part: Splits data that are too long for one symbol of `version_max` over up to 16 (structured append),
        and draws this one of them, counted from 1. Only for `qr`.
    format: The format. The path's extension or `Accept` chooses it too; the default is `png`.
    margin: Quiet zone in modules. The default is the standard's: 4, for Micro QR and rMQR 2.
    size: Width in pixels, for `png` and `svg`. The modules of a PNG are whole pixels, and the symbol is centred.
    scale: Pixels a module instead of `size`, for `png` and `svg`. The default is 8 for `png`; an `svg` has no
        size by default and fills the room it gets.
    compression: How a `png` is compressed: `smallest` is Zopfli's, up to a width of 570 pixels, and takes up to 0.3 s. Not with
        shapes or a logo.
    width_mm: Width in millimetres with the quiet zone, for `pdf` and `eps`.
    dark: Colour of the dark modules, but for `txt` and `json`: 3, 4, 6 or 8 hexadecimal digits, the last ones
        opacity, `#` before them or not. For `pdf` and `eps` also inks in per cent, such as `cmyk(100,70,0,30)`; the
        default there is black ink alone.
    light: Colour of the light modules and the quiet zone; `transparent`, or `0000`, draws none. `pdf` and `eps` leave
        the paper by default.
    shape: Shape of the modules, for `png`, `svg`, `pdf` and `eps`. Only for `qr`.
    finder_shape: Shape of the three finder patterns, for `png`, `svg`, `pdf` and `eps`. Only for `qr`.
    style: The characters of `txt`.
    ink: The modules that the characters of `txt` draw: `light` for a dark terminal, `dark` for paper.
    title: Title for screen readers, for `svg`.
    caption: A line below the symbol, for `svg`, `pdf` and `eps`, and for a `png` of the service. A long one has smaller
        letters. `pdf` and `eps` have the characters of Windows-1252, those of western Europe; a `png` also Greek
        and Cyrillic.
    """

def save(text: str | bytes, path: str | PathLike[str], /, **options: Any) -> None:
    """Draws into a file, with the options of draw. Its extension is the format, unless that is given."""

def matrix(text: str | bytes, /, **options: Any) -> list[list[bool]]:
    """The modules row by row, without quiet zone: True is dark. Takes draw's options of the symbol."""

def make_sequence(text: str | bytes, /, **options: Any) -> list[bytes]:
    """Draws a text over as many codes of version_max as it takes, at most 16, linked by structured append."""
