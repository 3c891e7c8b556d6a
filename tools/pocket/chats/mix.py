"""The mixture of chats the model is trained on."""

from chats.chat import Chat
from chats.distractions import distract
from chats.list_tasks import look_up
from chats.memory import Memory, facts_chat
from chats.needles import INTROS, Needle, draw_needles, hide, needle_chat
from chats.passages import filler, one_line, paragraph, split_sentences
from chats.sampler import Sampler
from chats.system import system_message
from chats.tools import tools_chat
from chats.words import ORDINALS


def short_chat(s: Sampler) -> Chat:
    """A chat of any kind, usually below 2000 tokens."""
    return s.mix(
        (0.30, lambda: facts_chat(s)),
        (0.54, lambda: needle_chat(s)),
        (0.68, lambda: tasks_chat(s)),
        (0.84, lambda: tools_chat(s)),
        (0.92, lambda: table_chat(s)),
        (1.00, lambda: copy_chat(s)),
    )


def long_chat(s: Sampler, chars: int) -> Chat:
    """A chat of about `chars` characters, all of it about recall."""
    return s.mix(
        (0.62, lambda: needle_chat(s, chars=int(chars * 0.93),
                                   needles=s.choose([1, 2, 4, 6, 8, 8, 12]),
                                   questions=s.between(6, 16))),
        (0.86, lambda: facts_chat(s, turns=400, max_chars=chars * 0.9)),
        (0.93, lambda: table_chat(s, rows=min(240, chars // 14),
                                  questions=s.between(8, 24))),
        (1.00, lambda: document_and_facts_chat(s, chars)),
    )


def tasks_chat(s: Sampler) -> Chat:
    """One to four everyday tasks."""
    chat = Chat(system=system_message(s))
    for _ in range(s.choose([1, 1, 1, 2, 3, 4])):
        distract(s, chat)
    return chat


def table_chat(s: Sampler, rows: int = 0, questions: int = 0) -> Chat:
    chat = Chat(system=system_message(s))
    look_up(s, chat, rows, questions)
    return chat


def copy_chat(s: Sampler) -> Chat:
    """A question that is answered by copying from a text."""
    chat = Chat(system=system_message(s))
    text = one_line(paragraph(s, 1200, 150))
    sentences = [sentence for sentence in split_sentences(text) if len(sentence) > 10]
    if len(sentences) < 2:
        return tasks_chat(s)
    text = " ".join(sentences)
    i = s.between(0, min(len(sentences), 6) - 1)
    s.mix(
        (0.3, lambda: _copy_nth_sentence(s, chat, text, sentences[i], ORDINALS[i])),
        (0.6, lambda: _copy_sentence_by_start(s, chat, text, sentences[i])),
        (1.0, lambda: _copy_all(s, chat, text)),
    )
    return chat


def _copy_nth_sentence(s: Sampler, chat: Chat, text: str, sentence: str, nth: str) -> None:
    question = s.choose([
        "What is the %s sentence?", "Repeat the %s sentence of the text.",
        "Quote the %s sentence.",
    ]) % nth
    chat.exchange(f"Text: {text}\n\n{question}", sentence, f"I look for the {nth} sentence.")


def _copy_sentence_by_start(s: Sampler, chat: Chat, text: str, sentence: str) -> None:
    words = sentence.split()
    start = " ".join(words[:min(len(words) - 1, s.between(2, 4))])
    question = s.choose([
        'Which sentence starts with "%s"?', 'Complete the sentence that begins with "%s".',
    ]) % start
    chat.exchange(f"Text: {text}\n\n{question}", sentence, "I look for these words in the text.")


def _copy_all(s: Sampler, chat: Chat, text: str) -> None:
    chat.exchange(s.choose([
        "Repeat this text:\n%s", "Copy the text below.\n%s", "Write this text again:\n\n%s",
    ]) % text, text, "I copy the text.")


def document_and_facts_chat(s: Sampler, chars: int) -> Chat:
    """A document first, then facts and tasks, with questions on both."""
    memory = Memory(s)
    chat = Chat(system=system_message(s, memory.learn))
    needles = draw_needles(s, 4)
    units = filler(s, int(chars * 0.5))
    intro = s.choose(INTROS)
    text = "\n".join(hide(s, units, [needle.hidden for needle in needles]))
    chat.exchange(f"{intro}\n\n{text}", "I have read the text.", "The user gives me a text.")
    total = 0
    while total < chars * 0.35:
        first_new = len(chat.messages)
        s.mix(
            (0.20 if memory else 1.0, lambda: memory.state(chat)),
            (0.45, lambda: memory.ask(chat)),
            (0.70, lambda: _ask_plainly(s, chat, needles)),
            (1.00, lambda: distract(s, chat)),
        )
        total += chat.chars_since(first_new)
    _ask_plainly(s, chat, needles)
    return chat


def _ask_plainly(s: Sampler, chat: Chat, needles: list[Needle]) -> None:
    needle = s.choose(needles)
    chat.exchange(s.choose(needle.questions), needle.answer, f"The text says: {needle.hidden}")
