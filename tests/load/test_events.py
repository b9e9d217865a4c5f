"""Long polls and event streams."""

import threading
import time

from daemon import events, eventually


def test_long_poll_ends_with_the_search(daemon):
    search = daemon.search(daemon.long(1)).json()["id"]
    answer = daemon.request("GET", f"/v1/searches/{search}?wait=60s", timeout=50)  # one that waits for its own end is not answered by then
    assert answer.json()["state"] == "succeeded"


def test_long_poll_ends_with_its_time(daemon):
    search = daemon.search(daemon.long()).json()["id"]
    start = time.monotonic()
    answer = daemon.get(f"/v1/searches/{search}?wait=700ms")
    assert answer.json()["state"] in ("queued", "running")
    assert time.monotonic() - start > 0.6
    daemon.cancel(search)
    assert daemon.get(f"/v1/searches/{search}?wait=0").status == 200
    assert daemon.get(f"/v1/searches/{search}?wait=soon").status == 400


def test_poll_for_a_change(daemon):
    search = daemon.search(daemon.long()).json()["id"]
    daemon.until(search, "running")
    tag = daemon.get(f"/v1/searches/{search}").headers["ETag"]
    changed = daemon.get(f"/v1/searches/{search}?wait=20s", {"If-None-Match": tag})
    assert changed.status == 200 and changed.headers["ETag"] != tag
    daemon.cancel(search)
    daemon.wait(search)
    tag = daemon.get(f"/v1/searches/{search}").headers["ETag"]
    assert daemon.get(f"/v1/searches/{search}", {"If-None-Match": tag}).status == 304


def test_stream_tells_the_whole_story(daemon):
    question = daemon.long()
    question["evaluations"] = question.pop("seconds") * 10
    search = daemon.search(question).json()["id"]
    answer = daemon.get(f"/v1/searches/{search}/events")
    assert answer.headers["Content-Type"] == "text/event-stream"
    story = events(answer.body)
    assert [n for n, _, _ in story] == sorted({n for n, _, _ in story})
    states = [data["state"] for _, kind, data in story if kind == "state"]
    assert states == ["queued", "running", "succeeded"]
    assert story[-1][2]["strategy"].startswith("sha256:")
    incumbents = [data for _, kind, data in story if kind == "incumbent"]
    assert incumbents and all(set(i) == {"evaluation", "seconds", "runtime_ns", "peak_bytes", "fits"} for i in incumbents)


def test_stream_tells_of_the_tree(daemon):
    """Baselines and the search tree come while the search runs, only the newest is kept, and that one stays."""
    search = daemon.search(daemon.long()).json()["id"]
    conn = daemon.connect()
    conn.request("GET", f"/v1/searches/{search}/events")
    stream, told = conn.getresponse(), b""
    while told.count(b'"tree":[{') < 3:  # of a search that is under way
        line = stream.readline()
        assert line, told
        told += line
    daemon.cancel(search)
    told += stream.read()
    conn.close()
    live = [data for _, kind, data in events(told) if "tree" in data]
    assert len(live) > 2
    assert {b["name"] for b in live[0]["baselines"]} >= {"replicated", "data_parallel", "zero2", "zero3"}
    for event in live:
        assert len(event["tree"]) <= 64
        for i, node in enumerate(event["tree"]):
            assert node["what"] and node["costed"] <= node["plans"] and (i == 0) == ("parent" not in node)
            if i:
                parent = event["tree"][node["parent"]]
                assert node["parent"] < i and node["evaluations"] <= parent["evaluations"]
                assert "runtime_ns" not in node or parent["runtime_ns"] <= node["runtime_ns"] or not node["fits"]
    trees = [e["tree"] for e in live if e["tree"]]
    assert trees and trees[-1][0]["evaluations"] > 0
    kept = [data for _, kind, data in events(daemon.get(f"/v1/searches/{search}/events").body) if kind == "progress"]
    assert kept == [live[-1]]


def test_stream_goes_on_where_it_was_cut(daemon):
    search = daemon.search(daemon.long(0.5)).json()["id"]
    daemon.wait(search)
    story = events(daemon.get(f"/v1/searches/{search}/events").body)
    assert len(story) >= 3
    rest = events(daemon.get(f"/v1/searches/{search}/events", {"Last-Event-ID": str(story[0][0])}).body)
    assert rest == story[1:]
    assert events(daemon.get(f"/v1/searches/{search}/events?last_event_id={story[-1][0]}").body) == []
    assert daemon.get(f"/v1/searches/{search}/events", {"Last-Event-ID": "x"}).status == 400


def test_many_streams_of_one_search(daemon):
    search = daemon.search(daemon.long(1)).json()["id"]
    stories = []
    threads = [threading.Thread(target=lambda: stories.append(events(daemon.get(f"/v1/searches/{search}/events").body))) for _ in range(40)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(stories) == 40 and all(s[-1] == stories[0][-1] for s in stories)
    eventually(lambda: daemon.metric("shardwright_streams_open") == 0)


def test_stream_limit_and_heartbeat(own):
    d = own("--streams", "1", "--stream-heartbeat", "1")
    search = d.search(d.long()).json()["id"]
    s = d.socket()
    s.sendall(f"GET /v1/searches/{search}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert b"200 OK" in s.recv(4096)
    assert d.get(f"/v1/searches/{search}/events").status == 429
    s.close()  # a hang-up is noticed with the next event or heartbeat
    eventually(lambda: d.metric("shardwright_streams_open") == 0)


def test_stop_answers_those_who_wait(own):
    d = own()
    search = d.search(d.long()).json()["id"]
    d.until(search, "running")
    got = []
    poll = threading.Thread(target=lambda: got.append(d.get(f"/v1/searches/{search}?wait=60s").status))
    stream = threading.Thread(target=lambda: got.append(d.get(f"/v1/searches/{search}/events").status))
    poll.start(), stream.start()
    eventually(lambda: d.metric("shardwright_streams_open") == 1 and d.metric("shardwright_requests_open") == 3)  # who asks is the third
    assert d.stop() == 0
    poll.join(), stream.join()
    assert got == [200, 200]
