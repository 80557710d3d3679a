# Made from the definition of the options: qr-service/options/tests/files.rs.

from os import PathLike
from typing import Any, Literal

class QrError(ValueError):
    """The options are wrong, or the picture that they describe cannot be made."""

    faults: list[dict[str, Any]]
    """Each has parameter, code and detail, and may have minimum, maximum, allowed and suggestion."""

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
    format: Literal["png", "svg", "pdf", "eps", "txt", "json", "zpl", "epl"] | None = None,
    margin: int | None = None,
    size: int | None = None,
    scale: int | None = None,
    compression: Literal["fast", "smallest"] | None = None,
    width_mm: float | None = None,
    dpi: int | None = None,
    dark: str | None = None,
    light: str | None = None,
    shape: Literal["square", "dots", "rounded"] | None = None,
    finder_shape: Literal["square", "rounded", "circle"] | None = None,
    finder_color: str | None = None,
    top_left_color: str | None = None,
    top_left_shape: Literal["square", "rounded", "circle"] | None = None,
    top_right_color: str | None = None,
    top_right_shape: Literal["square", "rounded", "circle"] | None = None,
    bottom_left_color: str | None = None,
    bottom_left_shape: Literal["square", "rounded", "circle"] | None = None,
    gradient_color: str | None = None,
    gradient: Literal["linear", "radial"] | None = None,
    gradient_angle: int | None = None,
    frame: Literal["square", "rounded"] | None = None,
    background: str | None = None,
    style: Literal["blocks", "ascii"] | None = None,
    ink: Literal["light", "dark"] | None = None,
    title: str | None = None,
    caption: str | None = None,
) -> bytes:
    """Draws a QR code, with the same bytes as qr-service for the same options.

    kind: The kind of symbol.
    level: Error correction level. The default is M. Micro QR has L, M and Q, and uses any of them by default; rMQR has
        M and H.
    boost: Raises the level as far as the version has room for it. Only for `qr`.
    version_min: The smallest version allowed: 1 to 40, for Micro QR 1 to 4.
    version_max: The largest version allowed.
    rmqr_height: Height of an rMQR symbol in modules: 7, 9, 11, 13, 15 or 17. The default is the size with the smallest area.
    rmqr_width: Width of an rMQR symbol in modules: 27, 43, 59, 77, 99 or 139.
    mask: Mask pattern: 0 to 7, for Micro QR 0 to 3. The default is the one with the best score.
    mode: Mode of the data. `auto` mixes modes to take the fewest bits; `auto-kanji` uses Kanji mode as well.
    eci: ECI assignment number that declares the encoding of the data: 26 is UTF-8, 20 is Shift JIS, which Kanji mode
        uses. Old readers print this header as text.
    gs1: Declares the data as GS1 element strings, with the character 0x1D as separator. Only for `qr`.
    part: Splits data that is too long for one symbol of `version_max` into up to 16 symbols (structured append),
        and draws the symbol with this number, counted from 1. Only for `qr`.
    format: The format. In the service, the path's extension or `Accept` can choose it too. The default is `png`.
    margin: Quiet zone in modules. The default is the standard's: 4, for Micro QR and rMQR 2.
    size: Width in pixels, for `png` and `svg`. In a PNG all modules have the same whole number of pixels, and the
        symbol is centred.
    scale: Pixels per module instead of `size`, for `png` and `svg`. The default is 8 for `png`. An `svg` has no
        size by default: it fills the space that the page gives it. For `zpl` and `epl` dots per module instead of
        `width_mm`.
    compression: Compression of a `png`. `smallest` uses Zopfli up to a width of about 570 pixels, which takes up to 0.3 s;
        it excludes shapes, a logo and a caption.
    width_mm: Width in millimetres with the quiet zone, for `pdf` and `eps`. For `zpl` and `epl` the most, because modules
        have whole dots.
    dpi: Dots per inch of a label printer, for `zpl` and `epl`: 203, 300 or 600; for `epl` 203 or 300.
    dark: Colour of the dark modules, for `png`, `svg`, `pdf` and `eps`: 3, 4, 6 or 8 hexadecimal digits, with or
        without `#`; with 4 or 8 digits the last ones are the opacity. For `pdf` and `eps` also inks in per cent,
        such as `cmyk(100,70,0,30)`; there the default is black ink alone.
    light: Colour of the light modules and the quiet zone. `transparent` or `0000` draws no background, which is the
        default for `pdf` and `eps`.
    shape: Shape of the modules, for `png`, `svg`, `pdf` and `eps`. Only for `qr`.
    finder_shape: Shape of the three finder patterns, for `png`, `svg`, `pdf` and `eps`. Only for `qr`.
    finder_color: Colour of the finder patterns, if it is not that of the dark modules.
    top_left_color: Colour of the finder pattern at the top left, instead of `finder_color`.
    top_left_shape: Shape of the finder pattern at the top left, instead of `finder_shape`.
    top_right_color: Colour of the finder pattern at the top right.
    top_right_shape: Shape of the finder pattern at the top right.
    bottom_left_color: Colour of the finder pattern at the bottom left.
    bottom_left_shape: Shape of the finder pattern at the bottom left.
    gradient_color: Colour to which `dark` changes across the symbol, for `png`, `svg` and `pdf`. Only for `qr`.
    gradient: The way from `dark` to `gradient_color`.
    gradient_angle: Direction of a linear gradient in degrees: 0 is to the right, 90 is down.
    frame: A line around the quiet zone in the dark colour, which also holds the caption, in the light one. Only for `qr`.
    background: Colour of what is below the picture, by which transparent colours are judged. With it, `dark=transparent`
        leaves the dark modules out, so that a dark page shows through.
    style: The characters of `txt`: half blocks, or ASCII.
    ink: The modules to draw as characters in `txt`: `light` for a dark terminal, `dark` for paper.
    title: Title for screen readers, for `svg`.
    caption: A line of text below the symbol, for `svg`, `pdf` and `eps`, and in the service also for `png`. A long line
        gets smaller letters. `pdf` and `eps` can show the characters of Windows-1252 (western Europe), a `png` also
        Greek and Cyrillic.
    """

def save(text: str | bytes, path: str | PathLike[str], /, **options: Any) -> None:
    """Draws into a file, with the options of draw. The default format is the file's extension."""

def matrix(text: str | bytes, /, **options: Any) -> list[list[bool]]:
    """The modules row by row, without quiet zone: True is dark. Takes draw's options for the symbol."""

def make_sequence(text: str | bytes, /, **options: Any) -> list[bytes]:
    """Splits a text into as few codes of up to version_max as hold it, at most 16 (structured append)."""
