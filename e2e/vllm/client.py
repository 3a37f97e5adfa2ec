"""The official openai client as a co-process of the tests.

usage: client.py BASE_URL        for example http://127.0.0.1:8080/v1

Standard input takes one request a line: {"id", "api": "chat" | "completions", "prompt", "max_tokens", "stream",
"extra": {...}}; requests run at the same time. Standard output has one JSON object a line, each with the "id":
{"event": "chunk", "text"} for every chunk of a stream that carries text, and at last one of
{"event": "end", "text", "finish_reason", "prompt_tokens", "cached_tokens"} and {"event": "error", "error", "text"}.

The client does not retry: an error that reaches it is an error that a user would have seen.
"""

import json
import sys
import threading

import openai

MODEL = "tiny"
TIMEOUT_SECONDS = 90

output_lock = threading.Lock()


def say(**fields):
    with output_lock:
        print(json.dumps(fields), flush=True)


def send(client, request):
    """Call the API and return the response object or the stream."""
    common = {
        "model": MODEL,
        "max_tokens": request["max_tokens"],
        "temperature": 0,
        "extra_body": request.get("extra") or {},
    }
    if request["stream"]:
        common |= {"stream": True, "stream_options": {"include_usage": True}}
    if request["api"] == "chat":
        return client.chat.completions.create(messages=[{"role": "user", "content": request["prompt"]}], **common)
    return client.completions.create(prompt=request["prompt"], **common)


def text_of(choice):
    """The text of a choice of either API, whole or as a piece of a stream."""
    for holder in ("message", "delta"):
        if hasattr(choice, holder):
            return getattr(choice, holder).content or ""
    return choice.text or ""


class Result:
    """Collects what a response consists of; a whole response is a stream of one piece."""

    def __init__(self):
        self.text = ""
        self.finish_reason = None
        self.usage = None

    def add(self, piece):
        added = "".join(text_of(choice) for choice in piece.choices)
        self.text += added
        for choice in piece.choices:
            self.finish_reason = choice.finish_reason or self.finish_reason
        self.usage = piece.usage or self.usage
        return added

    def cached_tokens(self):
        details = self.usage.prompt_tokens_details
        return details.cached_tokens if details else None


def run(client, request):
    result = Result()
    try:
        response = send(client, request)
        for piece in response if request["stream"] else [response]:
            added = result.add(piece)
            if request["stream"] and added:
                say(id=request["id"], event="chunk", text=added)
        say(
            id=request["id"],
            event="end",
            text=result.text,
            finish_reason=result.finish_reason,
            prompt_tokens=result.usage.prompt_tokens,
            cached_tokens=result.cached_tokens(),
        )
    except Exception as error:  # whatever goes wrong is the answer to this request
        say(id=request["id"], event="error", error=f"{type(error).__name__}: {error}", text=result.text)


def main(base_url):
    client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0, timeout=TIMEOUT_SECONDS)
    for line in sys.stdin:
        threading.Thread(target=run, args=(client, json.loads(line)), daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1])
