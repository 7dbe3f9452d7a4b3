#!/usr/bin/env python3
"""Trains three small SentencePiece models and records what the library makes of token ids.

Usage: make_golden.py [OUTDIR]     default: the folder of this script

Needs the Debian packages python3-sentencepiece and sentencepiece (0.1.97). Writes NAME.model and decoded.json: for every
model its pieces with scores and kinds, and lists of ids with the text and the share of each id in it.
"""
import json
import os
import pathlib
import random
import sys
import tempfile

import sentencepiece

TEXT = """Мой дядя самых честных правил, когда не в шутку занемог, он уважать себя заставил и лучше выдумать не мог.
Его пример другим наука; но, боже мой, какая скука с больным сидеть и день и ночь, не отходя ни шагу прочь!
Какое низкое коварство полуживого забавлять, ему подушки поправлять, печально подносить лекарство,
вздыхать и думать про себя: когда же чёрт возьмёт тебя! Так думал молодой повеса, летя в пыли на почтовых,
всевышней волею Зевеса наследник всех своих родных. Друзья Людмилы и Руслана!
С героем моего романа без предисловий, сей же час позвольте познакомить вас: Онегин, добрый мой приятель,
родился на брегах Невы, где, может быть, родились вы или блистали, мой читатель; там некогда гулял и я:
но вреден север для меня. It was the best of times, it was the worst of times, it was the age of wisdom,
it was the age of foolishness, it was the epoch of belief, it was the epoch of incredulity.
"""

MODELS = {
    "unigram_bytes": {"vocab_size": 380, "byte_fallback": True},
    "unigram_symbols": {"vocab_size": 120, "control_symbols": "<noise>", "user_defined_symbols": "<sep>,▁да",
                        "pad_id": 3, "unk_surface": "?"},
    "bpe": {"vocab_size": 120, "model_type": "bpe", "add_dummy_prefix": False, "remove_extra_whitespaces": False},
}


def kind(model, index):
    for name in ("unknown", "control", "unused", "byte"):
        if getattr(model, "is_" + name)(index):
            return name
    return "normal"


def record(model, ids):
    found = model._DecodeIdsAsImmutableProto(ids)
    shares = [piece.surface for piece in found.pieces]
    assert "".join(shares) == found.text == model.decode(ids)
    return {"ids": ids, "text": found.text, "shares": shares}


def id_lists(model, rng):
    size = model.get_piece_size()
    lists = [[], [0], [size - 1]]
    lists += [model.encode(line) for line in TEXT.split("\n")[:3]]
    lists += [model.encode("Привет, мир! Ёж 🦔 съел 字 naïve."), model.encode("  да  нет ")]
    lists += [[index] for index in range(8)]
    space = model.piece_to_id("▁")
    lists += [[space, space, 20, space], [1, space, 20], [0, space, 20, 0]]
    lists += [[rng.randrange(size) for _ in range(rng.randrange(1, 20))] for _ in range(150)]
    if model.is_byte(10):
        first = model.piece_to_id("<0x00>")
        for text in ("Ё", "🦔", "a字b", "\ufffd"):
            lists.append([first + byte for byte in text.encode()])
        # Cut, overlong, a surrogate, beyond U+10FFFF, continuation bytes alone.
        for data in (b"\xd0", b"\xf0\x9f\xa6", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80\x80", b"\xff a",
                     b"\xf0\x9f\xa6\xd0\x81", b"\xe0\x80\x80", b"\xf0\x80\x80\x80", b"\xe5\xad\xe5\xad\x97"):
            lists.append([first + byte for byte in data])
        lists.append([space, first + 0xD0, 300, first + 0x81])
        lists += [[first + rng.randrange(256) for _ in range(rng.randrange(1, 9))] for _ in range(150)]
    return lists


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent).resolve()
    rng = random.Random(1)
    golden = {"library": "sentencepiece " + sentencepiece.__version__, "models": {}}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # The names of the files stand in the model.
        pathlib.Path("corpus.txt").write_text(TEXT, encoding="utf-8")
        for name, options in MODELS.items():
            sentencepiece.SentencePieceTrainer.train(
                input="corpus.txt", model_prefix=name, normalization_rule_name="identity",
                num_threads=1, minloglevel=2, **options)
            data = pathlib.Path(name + ".model").read_bytes()
            (out / (name + ".model")).write_bytes(data)
            model = sentencepiece.SentencePieceProcessor(model_proto=data)
            pieces = [[model.id_to_piece(i), model.get_score(i), kind(model, i)] for i in range(model.get_piece_size())]
            golden["models"][name] = {"pieces": pieces, "cases": [record(model, ids) for ids in id_lists(model, rng)]}
    text = json.dumps(golden, ensure_ascii=False, separators=(",", ":"))
    (out / "decoded.json").write_text(text.replace('{"ids"', '\n{"ids"') + "\n", encoding="utf-8")


main()
