"""Compares modules with those of segno and zint, two encoders that share nothing with ours."""

import functools
import io
import json
import operator

import pytest
import segno
import zxingcpp
from PIL import Image
from zint import InputMode, StructApp, Symbol, Symbology

from qr_fast import QrError, draw

LEVELS = "LMQH"
SYMBOLOGIES = {"qr": Symbology.QRCODE, "micro": Symbology.MICROQR, "rmqr": Symbology.RMQR}
# The sizes of rMQR in the order in which zint numbers them: heights 7 to 17, each with its widths.
RMQR_SIZES = [
    (height, width)
    for height in range(7, 18, 2)
    for width in (27, 43, 59, 77, 99, 139)
    if width > 27 or height in (11, 13)
]


def ours(text, **options):
    """Returns the symbol for these options as JSON."""
    return json.loads(draw(text, format="json", **options))


def by_zint(data, symbol, *, mode=InputMode.UNICODE, eci=0, part=None):
    """Returns the rows of zint's symbol of the same kind, version, level and mask as `symbol`."""
    other = Symbol()
    other.symbology = SYMBOLOGIES[symbol["kind"]]
    other.input_mode = mode
    other.option_1 = LEVELS.index(symbol["level"]) + 1 if symbol["level"] else 0
    if symbol["kind"] == "rmqr":
        other.option_2 = RMQR_SIZES.index((symbol["height"], symbol["width"])) + 1
    else:
        other.option_2 = int(symbol["version"].removeprefix("M"))
        other.option_3 = (symbol["mask"] + 1) << 8
    other.eci = eci
    if part:
        other.structapp = part
    other.encode(data)
    bits = other.encoded_data
    return ["".join(str(bits[y, x // 8] >> x % 8 & 1) for x in range(symbol["width"])) for y in range(symbol["height"])]


def by_segno(code):
    return ["".join(str(int(module)) for module in row) for row in code.matrix]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("version", [1, 2, 6, 7, 9, 10, 26, 27, 40])
@pytest.mark.parametrize("text", ["grüße", "plain", "0123456789"])
def test_eci_equals_segnos_and_zints_modules(text, version, level):
    # segno declares the encoding with byte mode only, zint with digits too.
    symbol = ours(text, eci=26, mode="numeric" if text.isdigit() else "byte", version_min=version, level=level)
    assert symbol["rows"] == by_zint(text, symbol, eci=26)
    if not text.isdigit():
        code = segno.make(
            text,
            error=level,
            version=int(symbol["version"]),
            mode="byte",
            encoding="utf-8",
            eci=True,
            mask=symbol["mask"],
            micro=False,
            boost_error=False,
        )
        assert symbol["rows"] == by_segno(code)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "elements",
    [
        ["0109501101530003"],
        ["0109501101530003", "10AB"],
        ["10AB12", "21X"],
        ["10abc/def", "0109501101530003"],
        ["10A%B", "21%C"],
    ],
)
def test_gs1_equals_zints_modules(elements, level):
    # A separator ends each element of variable length but the last. Identifiers have two digits here.
    ends = ["" if element.startswith("01") else "\x1d" for element in elements[:-1]] + [""]
    text = "".join(element + end for element, end in zip(elements, ends))
    written = "".join(f"[{element[:2]}]{element[2:]}" for element in elements)
    # Byte mode needs one character less for a percent sign, so both modes can be equally short.
    mode = "alphanumeric" if "%" in text else "auto"
    symbol = ours(text, gs1=True, mode=mode, level=level)
    assert symbol["rows"] == by_zint(written, symbol, mode=InputMode.GS1 | InputMode.GS1NOCHECK)


@pytest.mark.parametrize(("version", "count"), [(1, 2), (1, 5), (1, 16), (5, 7), (10, 13), (27, 2)])
@pytest.mark.parametrize(("mode", "letters"), [("numeric", "9876543210"), ("alphanumeric", "AB $%"), ("byte", "abcd")])
def test_structured_append_equals_segnos_and_zints_modules(version, count, mode, letters):
    options = {"mode": mode, "version_min": version, "version_max": version, "level": "M", "mask": 3}
    # We fill each symbol before the next, segno divides evenly: with full symbols both give the same.
    long = letters * 1000
    [first] = zxingcpp.read_barcodes(Image.open(io.BytesIO(draw(long[: 150 * version], part=1, **options))))
    length = len(first.bytes)
    text = long[: length * count]
    symbols = [ours(text, part=part, **options) for part in range(1, count + 1)]
    assert {symbol["parts"] for symbol in symbols} == {count}
    sequence = segno.make_sequence(text, error="M", mode=mode, mask=3, boost_error=False, symbol_count=count)
    assert [symbol["rows"] for symbol in symbols] == [by_segno(code) for code in sequence]
    parity = str(functools.reduce(operator.xor, text.encode())).encode()
    for index, symbol in enumerate(symbols):
        part = StructApp(index + 1, count, parity)
        assert symbol["rows"] == by_zint(text[length * index : length * (index + 1)], symbol, part=part)


MICRO = [("M1", None), ("M2", "L"), ("M2", "M"), ("M3", "L"), ("M3", "M"), ("M4", "L"), ("M4", "M"), ("M4", "Q")]


@pytest.mark.parametrize(("version", "level"), MICRO)
@pytest.mark.parametrize(("mode", "letters"), [("numeric", "9876"), ("alphanumeric", "QR $%"), ("byte", "qrst"), ("kanji", "点茗漢字")])
def test_micro_qr_equals_zints_modules(mode, letters, version, level):
    number, compared = int(version[1]), 0
    for length in range(1, 36):
        text = (letters * 9)[:length]
        try:
            symbol = ours(text, kind="micro", level=level, mode=mode, version_min=number, version_max=number)
        except QrError:
            continue
        assert (symbol["version"], symbol["level"]) == (version, level)
        # segno 1.6.6 draws some of these differently from zint and us.
        assert symbol["rows"] == by_zint(text, symbol)
        compared += 1
    least = {"numeric": 1, "alphanumeric": 2, "byte": 3, "kanji": 3}[mode]
    assert (compared > 0) == (number >= least)


@pytest.mark.parametrize("level", "MH")
@pytest.mark.parametrize(("mode", "letters"), [("byte", "qrst"), ("kanji", "点茗漢字")])
@pytest.mark.parametrize(("height", "width"), RMQR_SIZES)
def test_rmqr_equals_zints_modules(height, width, mode, letters, level):
    options = {"kind": "rmqr", "rmqr_height": height, "rmqr_width": width, "mode": mode, "level": level}
    compared = 0
    for length in (1, 2, 5, 10, 20, 40, 60, 100, 150):
        text = (letters * 99)[:length]
        try:
            symbol = ours(text, **options)
        except QrError:
            break
        assert symbol["rows"] == by_zint(text, symbol)
        compared += 1
    assert compared > 0
