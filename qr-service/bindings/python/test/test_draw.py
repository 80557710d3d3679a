"""Tests the wheel: the service's bytes, an outside decoder, errors."""

import hashlib
import inspect
import io
import json
import re
import threading
from pathlib import Path

import pytest
import zxingcpp
from PIL import Image

import qr_fast
from qr_fast import QrError, draw, make_sequence, matrix, save

HERE = Path(__file__).parent
# tests/files.rs of qr-options makes them; the service's tests ask for the same pictures.
CASES = json.loads((HERE / "../../../options/cases.json").read_text())


def is_for_python(options):
    # Python takes bytes instead of Base64, and requires a text.
    return options.get("text") is not None


@pytest.mark.parametrize("case", [case for case in CASES if is_for_python(case["options"])], ids=str)
def test_every_case_has_the_bytes_or_the_faults_of_the_service(case):
    options = dict(case["options"])
    text = options.pop("text")
    if "faults" not in case:
        assert hashlib.sha256(draw(text, **options)).hexdigest() == case["sha256"]
        return
    with pytest.raises(QrError) as raised:
        draw(text, **options)
    assert [f"{fault['parameter']} {fault['code']}" for fault in raised.value.faults] == case["faults"]


def test_there_are_pictures_and_faults_among_the_cases():
    used = [case for case in CASES if is_for_python(case["options"])]
    assert sum("sha256" in case for case in used) > 15
    assert sum("faults" in case for case in used) > 5


@pytest.mark.parametrize("text", ["https://example.com/", "grüße, 世界 🦀\n", "a\0b", "x" * 2331])
def test_a_png_decodes_to_its_text(text):
    [found] = zxingcpp.read_barcodes(Image.open(io.BytesIO(draw(text))))
    assert found.bytes == text.encode()


def test_bytes_are_encoded_as_they_are():
    [found] = zxingcpp.read_barcodes(Image.open(io.BytesIO(draw(bytes(range(256)), scale=6, level="H"))))
    assert found.bytes == bytes(range(256))
    [case] = [case for case in CASES if case["options"].get("data") == "AAH/gA==" and len(case["options"]) == 3]
    assert hashlib.sha256(draw(b"\x00\x01\xff\x80", eci=3, mode="byte")).hexdigest() == case["sha256"]


def test_micro_and_rmqr_decode():
    for kind in ["micro", "rmqr"]:
        [found] = zxingcpp.read_barcodes(Image.open(io.BytesIO(draw("12345", kind=kind))))
        assert found.text == "12345"


def test_none_is_as_if_the_option_were_not_given():
    assert draw("hello", size=None, dark=None) == draw("hello")


def test_faults_come_all_at_once_and_say_what_would_work():
    with pytest.raises(QrError, match="level: use L, M, Q, H; size: use 1 to 4096") as raised:
        draw("secret", size=0, level="X")
    level, size = raised.value.faults
    assert (size["code"], size["minimum"], size["maximum"]) == ("out-of-range", 1, 4096)
    assert (level["code"], level["allowed"]) == ("not-allowed", ["L", "M", "Q", "H"])
    assert isinstance(raised.value, ValueError)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("size", [10**30, -(10**30), 1.5, True, "300"])
def test_a_size_that_is_no_size_is_refused(size):
    with pytest.raises(QrError):
        draw("hello", size=size)


@pytest.mark.parametrize("call", [lambda: draw(1), lambda: draw("x", size=[1]), lambda: draw("x", width_mm=float("nan"))])
def test_wrong_types_are_type_errors(call):
    with pytest.raises(TypeError):
        call()


def test_a_lone_surrogate_is_refused():
    with pytest.raises(UnicodeEncodeError):
        draw("\ud800")


def test_a_file_has_the_format_of_its_extension(tmp_path):
    for name, options in [("a.png", {}), ("a.svg", {"dark": "036"}), ("a.PDF", {"width_mm": 25})]:
        save("hello", tmp_path / name, **options)
        expected = draw("hello", format=name[2:].lower(), **options)
        assert (tmp_path / name).read_bytes() == expected
    save("hello", str(tmp_path / "b"), format="txt")
    assert (tmp_path / "b").read_text() == draw("hello", format="txt").decode()
    with pytest.raises(QrError, match="format: use png"):
        save("hello", tmp_path / "a.bmp")
    with pytest.raises(FileNotFoundError):
        save("hello", tmp_path / "none" / "a.png")


def test_a_matrix_has_the_modules_of_the_picture():
    rows = matrix("hello", level="Q")
    assert (len(rows), {len(row) for row in rows}) == (21, {21})
    drawn = Image.open(io.BytesIO(draw("hello", level="Q", scale=1, margin=0))).convert("L")
    assert rows == [[drawn.getpixel((x, y)) == 0 for x in range(21)] for y in range(21)]
    assert (len(matrix("12345", kind="rmqr")), len(matrix("12345", kind="rmqr")[0])) == (11, 27)


def test_a_sequence_has_all_of_the_text():
    text = "one text over several symbols, " * 5
    made = make_sequence(text, version_max=3, dark="036", scale=6)
    assert len(made) > 2
    read = [zxingcpp.read_barcodes(Image.open(io.BytesIO(png)))[0] for png in made]
    assert "".join(found.text for found in read) == text
    assert make_sequence("hello") == [draw("hello", part=1)]


def test_threads_get_the_same_picture():
    expected, drawn = draw("hello", size=2000, dark="036"), []
    threads = [threading.Thread(target=lambda: drawn.append(draw("hello", size=2000, dark="036"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert drawn == [expected] * 8


@pytest.mark.skipif(not hasattr(qr_fast, "__path__"), reason="the module alone, without its wheel")
def test_the_wheel_has_types_and_the_version_of_the_project():
    installed = Path(qr_fast.__file__).parent
    assert (installed / "__init__.pyi").exists() and (installed / "py.typed").exists()
    manifest = (HERE / "../../../../Cargo.toml").read_text()
    assert qr_fast.__version__ == re.search(r'\nversion = "(.*?)"', manifest)[1]
    assert inspect.getdoc(draw)
