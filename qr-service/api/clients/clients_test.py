"""Runs published clients of goQR and Google Image Charts, and QuickChart's documented Python, against SERVER.

Prints the pictures in Base64 and the decoded text as a JSON object. The clients are unmodified. Only the host of their
requests is replaced, in the libraries that send them.
"""

import base64
import json
import sys
import tempfile
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import getmyqr
import pygooglechart
import pygoqrme
import requests
from requests.adapters import HTTPAdapter

SERVER = urlsplit(sys.argv[1])
TEXT = "https://example.com/job/17"


def moved(url):
    return urlunsplit(urlsplit(url)._replace(scheme=SERVER.scheme, netloc=SERVER.netloc))


send = HTTPAdapter.send


def send_moved(self, request, **options):
    request.url = moved(request.url)
    return send(self, request, **options)


HTTPAdapter.send = send_moved


class Moved(urllib.request.BaseHandler):
    # Runs before the handler that sets the header Host.
    handler_order = 100

    def http_request(self, request):
        request.full_url = moved(request.full_url)
        return request


urllib.request.install_opener(urllib.request.build_opener(Moved))


def google(folder):
    file = folder / "google.png"
    for use_post in (False, True):
        chart = pygooglechart.QRChart(200, 200)
        chart.add_data(TEXT)
        chart.set_encoding("UTF-8")
        chart.set_ec("H", 2)
        chart.download(str(file), use_post)
        yield f"pygooglechart by {'POST' if use_post else 'GET'}", file.read_bytes()


def goqr(folder):
    file = str(folder / "getmyqr.png")
    assert getmyqr.generate_qr_code(TEXT, file) == file
    yield "getmyqr", Path(file).read_bytes()
    yield "pygoqrme", pygoqrme.Api().text(TEXT)
    styled = pygoqrme.Api(size="300x300", ecc="Q", color="0-51-102", bgcolor="255-255-240", margin=10, qzone=2)
    yield "pygoqrme with colours", styled.text(TEXT)


def quickchart():
    options = {"text": TEXT, "size": 300, "format": "png"}
    answer = requests.get("https://quickchart.io/qr", params=options)
    answer.raise_for_status()
    image = base64.b64encode(answer.content).decode("ascii")
    read = requests.post("https://quickchart.io/qr-read", json={"image": image})
    read.raise_for_status()
    return answer.content, read.json()["result"]


with tempfile.TemporaryDirectory() as name:
    pictures = dict(google(Path(name))) | dict(goqr(Path(name)))
pictures["requests to QuickChart"], text = quickchart()
encoded = {name: base64.b64encode(picture).decode("ascii") for name, picture in pictures.items()}
json.dump({"text": TEXT, "read": text, "pictures": encoded}, sys.stdout)
