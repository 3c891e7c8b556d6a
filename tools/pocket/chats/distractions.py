"""The everyday tasks that stand between a fact and the question about it."""

from chats.chat import Chat
from chats.list_tasks import count_items, extract, list_some, nth_item, rearrange_list, write_json
from chats.number_tasks import arithmetic, capital, recite
from chats.sampler import Sampler
from chats.talk_tasks import corpus_topic, poem, recap, small_talk, story, write_code
from chats.word_tasks import change_case, define, neighbour_word, repeat, say_times, spell

# A task listed n times is n times as likely. The repeats at the end are stage 2's: they weigh up
# the tasks that stage 1 learned worst (neighbour word, define, case) and spelling.
DISTRACTIONS = (
    repeat, define, change_case, spell, count_items, nth_item, rearrange_list, arithmetic,
    recite, capital, small_talk, small_talk, write_json, extract, neighbour_word, arithmetic,
    capital, story, corpus_topic, repeat, say_times, list_some, poem, write_code, recap, recap,
    change_case, change_case, neighbour_word, neighbour_word, define, spell, corpus_topic,
)


def distract(s: Sampler, chat: Chat) -> None:
    s.choose(DISTRACTIONS)(s, chat)
