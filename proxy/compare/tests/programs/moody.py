"""A judge that does what the old side's body says; with any other body it compares the bodies."""

import base64
import json
import os
import sys
import time


def say(**line):
    print(json.dumps(line), flush=True)


say(v=1, kinds=["price", "process"])
for line in sys.stdin:
    question = json.loads(line)
    id = question["id"]
    old = base64.b64decode(question["old"]["body_b64"]).decode()
    new = base64.b64decode(question["new"]["body_b64"]).decode()
    match old:
        case "pid":
            say(id=id, verdict="mismatch", kind="process", detail=str(os.getpid()))
        case "question":
            say(id=id, verdict="mismatch", kind="process", detail=line.strip())
        case "skip":
            say(id=id, verdict="skip")
        case "slow":
            time.sleep(1.2)
            say(id=id, verdict="match")
        case "noisy":
            sys.stderr.write("a line of noise\n" * 20_000)
            sys.stderr.flush()
            say(id=id, verdict="match")
        case "hang":
            time.sleep(1000)
        case "hang with closed pipes":
            os.close(2)
            time.sleep(1000)
        case "die":
            sys.exit(3)
        case "die in the middle":
            sys.stdout.write(f'{{"id":{id},"verdict":')
            sys.stdout.flush()
            os._exit(3)
        case "close":
            os.close(1)
            time.sleep(1000)
        case "eat":
            food = b"x" * (1 << 30)
            say(id=id, verdict="match")
        case "flood":
            answer = json.dumps({"id": id, "verdict": "match"})
            while True:
                sys.stdout.write(f"{answer}\n" * 100)
        case "endless line":
            while True:
                sys.stdout.write("x" * 1000)
        case "match twice":
            answer = json.dumps({"id": id, "verdict": "match"})
            sys.stdout.write(f"{answer}\n{answer}\n")
            sys.stdout.flush()
        case "talk later":
            say(id=id, verdict="match")
            say(id=id + 1, verdict="match")
        case "another id":
            say(id=id + 1, verdict="match")
        case "the last id":
            say(id=id - 1, verdict="match")
        case "id as text":
            say(id=str(id), verdict="match")
        case "unknown verdict":
            say(id=id, verdict="MATCH")
        case "no verdict":
            say(id=id)
        case "undeclared kind":
            say(id=id, verdict="mismatch", kind="currency")
        case "no kind":
            say(id=id, verdict="mismatch")
        case "no JSON":
            print("match", flush=True)
        case "empty line":
            print("", flush=True)
        case "no UTF-8":
            sys.stdout.buffer.write(b"\xff\xfe\n")
            sys.stdout.flush()
        case _ if old == new:
            say(id=id, verdict="match")
        case _:
            say(id=id, verdict="mismatch", kind="price", detail=f"{old} and {new}")
