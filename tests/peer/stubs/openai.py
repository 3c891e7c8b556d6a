"""The part of OpenAI's Python package that llama-server's tests use, which Debian does not have."""
import base64
import json
import struct

import requests

TIMEOUT = 60


class APIStatusError(Exception):
    def __init__(self, response):
        super().__init__(f"HTTP {response.status_code}: {response.text}")
        self.status_code = response.status_code


class Reply:
    """A JSON object whose fields are attributes; what is absent is None."""

    def __init__(self, fields):
        self._fields = fields

    def __getattr__(self, name):
        return with_attributes(self._fields.get(name))

    @property
    def output_text(self):
        texts = [part["text"] for item in self._fields.get("output", [])
                 for part in item.get("content") or [] if part.get("type") == "output_text"]
        return "".join(texts)

    def model_dump(self):
        return self._fields


def with_attributes(value):
    if isinstance(value, dict):
        return Reply(value)
    if isinstance(value, list):
        return [with_attributes(item) for item in value]
    return value


def events(response):
    for line in response.iter_lines():
        data = line.decode().partition("data:")[2].strip()
        if data and data != "[DONE]":
            yield Reply(json.loads(data))


def decode_vectors(fields):
    for entry in fields["data"]:
        raw = base64.b64decode(entry["embedding"])
        entry["embedding"] = list(struct.unpack(f"<{len(raw) // 4}f", raw))


class Endpoint:
    def __init__(self, client, path):
        self._client, self._path = client, path

    def create(self, extra_body=None, **fields):
        body = {**fields, **(extra_body or {})}
        # The package asks for base64 and gives out numbers.
        coded = self._path == "/embeddings" and "encoding_format" not in body
        if coded:
            body["encoding_format"] = "base64"
        response = requests.post(
            self._client.base_url.rstrip("/") + self._path, json=body,
            headers={"Authorization": f"Bearer {self._client.api_key}"},
            stream=bool(body.get("stream")), timeout=TIMEOUT)
        if response.status_code >= 400:
            raise APIStatusError(response)
        if body.get("stream"):
            return events(response)
        answer = response.json()
        if coded:
            decode_vectors(answer)
        return Reply(answer)


class Chat:
    def __init__(self, client):
        self.completions = Endpoint(client, "/chat/completions")


class OpenAI:
    def __init__(self, api_key=None, base_url=None):
        self.api_key, self.base_url = api_key, base_url
        self.chat = Chat(self)
        self.completions = Endpoint(self, "/completions")
        self.embeddings = Endpoint(self, "/embeddings")
        self.responses = Endpoint(self, "/responses")
