"""What is measured. Each scenario gets a fresh server, the words that make a token, and the number
of the round, and returns figures by name; `shape` is its slots and the context of each."""
import statistics
import time

from talk import ask, at_once, document

SYSTEM = {"role": "system", "content": "You are a careful assistant. Answer from the report alone."}


def about(text, question):
    return [SYSTEM, {"role": "user", "content": text + "\n\n" + question}]


def median_ms(answers):
    return statistics.median(answer.first for answer in answers) * 1000


def p95(values):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * 0.95))] * 1000 if values else 0.0


def cold(server, scale, number):
    """A document is read for the first time, asked again, asked something else, continued."""
    read, other, turns, cached = [], [], [], []
    for i in range(3):
        text = document(100 * number + i, 16000, scale)
        messages = about(text, "What is the report about?")
        answer = ask(server, messages, 16)
        read.append(answer)
        turns.append(ask(server, messages + [{"role": "assistant", "content": answer.text},
                                             {"role": "user", "content": "Say that in a word."}]))
        other.append(ask(server, about(text, "Who wrote it, and when did they?")))
        cached.append(other[-1].cached)
    return {"first token, 16K cold, ms": median_ms(read), "next turn, ms": median_ms(turns),
            "other question, ms": median_ms(other), "other question, cached": statistics.median(cached),
            "prompt tokens": read[0].prompt}


cold.shape = (4, 40960)


def deep(server, scale, number):
    """A context of 120,000 tokens on the only slot, another conversation, and back."""
    long = document(7000 + number, 117000, scale)
    first = ask(server, about(long, "What is the report about?"), 8)
    ask(server, about(document(8000 + number, 16000, scale), "And this one?"), 8)
    back = ask(server, about(long, "Who wrote it?"))
    live = ask(server, about(long, "Where was it written?"))
    return {"first token, 117K cold, ms": first.first * 1000, "back to it, ms": back.first * 1000,
            "back, cached": back.cached, "other question, live, ms": live.first * 1000,
            "prompt tokens": first.prompt}


deep.shape = (1, 131072)


def turns(server, scale, number):
    """Eight conversations by turns on four slots; then eight questions at once on one document."""
    texts = [document(500 + 10 * number + i, 4000, scale) for i in range(8)]
    talks = [about(text, "What is the report about?") for text in texts]
    begun = time.monotonic()
    for _ in range(3):
        for messages in talks:
            answer = ask(server, messages, 32)
            messages += [{"role": "assistant", "content": answer.text},
                         {"role": "user", "content": "Go on."}]
    in_turns = time.monotonic() - begun
    text = document(900 + number, 8000, scale)
    begun = time.monotonic()
    fans = at_once([lambda i=i: ask(server, about(text, f"Question {i}?"), 32) for i in range(8)])
    return {"eight by turns, s": in_turns, "fan-out of eight, s": time.monotonic() - begun,
            "fan-out, first token, ms": median_ms(fans)}


turns.shape = (4, 16384)


def load(server, scale, number):
    """Twelve clients on four slots, four turns each."""
    def client(i):
        messages = about(document(2000 + 20 * number + i, 2000, scale), "What is it about?")
        gaps = []
        for _ in range(4):
            answer = ask(server, messages, 96)
            gaps += answer.gaps
            messages += [{"role": "assistant", "content": answer.text},
                         {"role": "user", "content": "And then?"}]
        return gaps

    begun = time.monotonic()
    gaps = sum(at_once([lambda i=i: client(i) for i in range(12)]), [])
    return {"twelve clients, s": time.monotonic() - begun, "gap p95, ms": p95(gaps),
            "gap longest, ms": max(gaps) * 1000}


load.shape = (4, 16384)


def beside(server, scale, number):
    """A long prompt is read while somebody else's answer is written."""
    long = about(document(3000 + number, 32000, scale), "What is it about?")

    def later():
        time.sleep(0.5)
        return ask(server, long)

    writer, reader = at_once([lambda: ask(server, about("Hello.", "Go on."), 1500), later])
    return {"longest gap, ms": max(writer.gaps) * 1000, "gap p95, ms": p95(writer.gaps),
            "its own first token, ms": reader.first * 1000}


beside.shape = (4, 40960)


def writing(server, scale, number):
    """Tokens a second, for one, four and sixteen who write."""
    figures = {}
    for count in (1, 4, 16):
        begun = time.monotonic()
        at_once([lambda i=i: ask(server, about(f"{number} {count} {i}", "Go on."), 256)
                 for i in range(count)])
        figures[f"{count} write, tokens/s"] = 256 * count / (time.monotonic() - begun)
    return figures


writing.shape = (16, 4096)

ALL = [cold, deep, turns, load, beside, writing]
