"""Servers under measurement, and a client that asks them as a chat front end does."""
import http.client
import json
import os
import signal
import subprocess
import threading
import time

WORDS = ("river stone market lantern winter copper garden signal harbour paper mountain letter engine "
         "silver window forest bridge candle morning shadow orchard compass valley thunder").split()


def document(seed, tokens, words_a_token):
    """Text of about this many tokens that no other seed has."""
    parts, value = [f"Report {seed}."], seed * 2654435761 % 2**32 or 1
    for _ in range(int(tokens * words_a_token)):
        value = (value * 1103515245 + 12345) % 2**31
        parts.append(WORDS[(value >> 8) % len(WORDS)])
    return " ".join(parts)


class Server:
    """One process on 127.0.0.1, its log beside it."""

    def __init__(self, name, command, port, log):
        self.name, self.port = name, port
        self.log = open(log, "ab")
        self.process = subprocess.Popen(command + ["--host", "127.0.0.1", "--port", str(port)],
                                        stdout=self.log, stderr=self.log, start_new_session=True)
        begun = time.monotonic()
        while not self._healthy():
            if self.process.poll() is not None:
                raise RuntimeError(f"{name} ended while it loaded; see {log}")
            if time.monotonic() - begun > 300:
                raise RuntimeError(f"{name} did not load within five minutes; see {log}")
            time.sleep(0.1)

    def _healthy(self):
        try:
            return self.request("GET", "/health", timeout=5)[0] == 200
        except OSError:
            return False

    def request(self, method, path, body=None, timeout=600):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None,
                               {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read()
            return response.status, json.loads(text) if text[:1] in b"{[" else text
        finally:
            connection.close()

    def tokens(self, text):
        return len(self.request("POST", "/tokenize", {"content": text})[1]["tokens"])

    def resident_mib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            for line in status:
                if line.startswith("VmRSS"):
                    return int(line.split()[1]) // 1024
        return 0

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.log.close()


class Answer:
    """What came of one request: seconds to the first token and to the end, gaps, reuse, text."""

    def __init__(self):
        self.first = self.whole = 0.0
        self.gaps, self.text, self.cached, self.prompt = [], "", 0, 0


def ask(server, messages, tokens=1):
    """Streams one answer of exactly `tokens` tokens."""
    body = {"messages": messages, "max_tokens": tokens, "temperature": 0, "stream": True,
            "ignore_eos": True, "cache_prompt": True, "stream_options": {"include_usage": True}}
    answer = Answer()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
    begun = last = time.monotonic()
    connection.request("POST", "/v1/chat/completions", json.dumps(body),
                       {"Content-Type": "application/json"})
    response = connection.getresponse()
    if response.status != 200:
        raise RuntimeError(f"{server.name}: {response.status} {response.read()[:300]}")
    while line := response.readline():
        if not line.startswith(b"data: {"):
            continue
        event = json.loads(line[6:])
        now = time.monotonic()
        if usage := event.get("usage"):
            answer.prompt = usage["prompt_tokens"]
            answer.cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
        delta = (event.get("choices") or [{}])[0].get("delta", {})
        piece = delta.get("content") or delta.get("reasoning_content")
        if piece:
            if answer.first:
                answer.gaps.append(now - last)
            else:
                answer.first = now - begun
            last = now
            answer.text += piece
    answer.whole = time.monotonic() - begun
    answer.first = answer.first or answer.whole  # a token that is no text
    connection.close()
    return answer


def at_once(jobs):
    """Runs all jobs at the same time and returns their results in order."""
    results = [None] * len(jobs)

    def run(i):
        results[i] = jobs[i]()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if any(result is None for result in results):
        raise RuntimeError("a request failed")
    return results
