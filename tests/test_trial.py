"""The trial of a real model: tasks, judges, and the comparison with a stand-in for llama.cpp.

``test_llama_cpp.py`` runs it on the real model where that is installed.
"""

from __future__ import annotations

import ctypes
import json
import sys
import types

import numpy as np
import pytest

from fastmask import toy
from fastmask.cli import main
from fastmask.compiler import GrammarCompiler
from fastmask.grammar.core import Grammar
from fastmask.integrations.llama_cpp import Model
from fastmask.matcher import GrammarMatcher
from fastmask.sampling import sample, shortest_completion
from fastmask.trial import answers, compare, model, tasks
from fastmask.vocabulary import Vocabulary

pytest.importorskip("jsonschema_rs", reason="jsonschema-rs is not installed")

BYTES = Vocabulary([*(bytes([b]) for b in range(256)), b""], eos_token_ids=[256])
COMPILER = GrammarCompiler(BYTES)
TASKS = {task.name: task for task in (*tasks.demo_tasks(), *tasks.schema_tasks())}


def test_twenty_schemas_with_ten_questions_each():
    found = list(tasks.schema_tasks())
    assert len(found) == len({task.name for task in found}) == 20
    questions = [question for task in found for question in task.questions]
    assert len(questions) == len(set(questions)) == 200


@pytest.mark.large
@pytest.mark.parametrize("name", TASKS)
def test_whatever_a_grammar_lets_through_the_judge_accepts(name):
    """The shortest answer, and some of a model that knows nothing, steered to an end."""
    task = TASKS[name]
    compiled = COMPILER.compile(task.grammar)
    assert task.judge(shortest_completion(GrammarMatcher(compiled)).text.decode())
    rng = np.random.default_rng(0)
    for budget in (100, 150, 250):
        answer = sample(
            lambda _: rng.normal(0, 1, 257),
            BYTES,
            GrammarMatcher(compiled),
            rng=rng,
            max_tokens=budget,
            steer=True,
        )
        assert answer.finished
        assert task.judge(answer.text.decode()), answer.text


@pytest.mark.parametrize(
    ("text", "valid"),
    [("1969-07-20", True), (" 2031-12-21\n", True), ("2031-02-30", False), ("20310221", False)],
)
def test_dates(text, valid):
    assert TASKS["date"].judge(text) is valid


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("SELECT title FROM books WHERE author = 'Jane Austen' ORDER BY year;", True),
        ("select avg(price) from books", True),
        ("SELECT editor FROM books;", False),
        ("DROP TABLE books;", False),
        ("SELECT 1; SELECT 2;", False),
        ("", False),
    ],
)
def test_queries(text, valid):
    assert TASKS["SQL"].judge(text) is valid


def test_values():
    judge = TASKS["contact"].judge
    assert judge('{"name": "Ida", "email": "ida@holm.org"}')
    assert not judge('{"name": "Ida", "email": "nobody"}')
    assert not judge('```json\n{"name": "Ida", "email": "ida@holm.org"}\n```')
    assert not judge("no JSON")


# Answers and their times


def toy_logits():
    rng = np.random.default_rng(0)
    logits = toy.ToyModel(toy.AGE_REFERENCE).on_tokens(rng)
    return lambda ids: logits(ids).astype(np.float32)


def test_an_answer_and_its_times():
    compiled = GrammarCompiler(toy.VOCABULARY).compile_regex(toy.AGE_PATTERN)
    for grammar in (None, compiled):
        found = answers.write_answer(
            toy_logits(),
            toy.VOCABULARY,
            grammar,
            rng=np.random.default_rng(1),
            max_tokens=40,
            temperature=0.1,
        )
        assert found.text == toy.AGE_REFERENCE
        assert found.finished
        assert len(found.mask_seconds) == found.n_tokens
        assert min(found.first_seconds, found.model_seconds, found.draw_seconds) > 0


def test_an_answer_is_cut_off_or_steered():
    compiled = GrammarCompiler(toy.VOCABULARY).compile_regex(r"[0-9]+\}")

    def more(_):
        return np.zeros(toy.VOCABULARY.size, np.float32)

    for steer in (False, True):
        found = answers.write_answer(
            more,
            toy.VOCABULARY,
            compiled,
            rng=np.random.default_rng(5),
            max_tokens=3,
            steer=steer,
        )
        assert found.finished is steer
        assert found.n_tokens == 3


# The comparison, with a stand-in for llama.cpp


class Llama:
    """What `Model` uses of ``llama_cpp.Llama``: it wants to repeat the last word of the prompt."""

    ctx = "context"

    def __init__(self):
        self.input_ids = np.zeros(4096, np.intc)
        self.n_tokens = 0
        self.n_evaluated = 0

    def tokenize(self, text, add_bos, special):
        assert (add_bos, special) == (False, True)
        return list(text)

    def n_vocab(self):
        return BYTES.size

    def eval(self, tokens):
        self.input_ids[self.n_tokens : self.n_tokens + len(tokens)] = tokens
        self.n_tokens += len(tokens)
        self.n_evaluated += len(tokens)

    def logits(self):
        written = bytes(self.input_ids[: self.n_tokens].astype(np.uint8))
        answer = written.rpartition(b"assistant\n")[2]
        wanted = b"Yes, 7."
        logits = np.random.default_rng(list(written[-3:])).normal(0, 1, BYTES.size)
        logits[wanted[len(answer)] if len(answer) < len(wanted) else 256] += 12
        return logits.astype(np.float32)


@pytest.fixture
def llama(monkeypatch):
    found = Llama()
    module = types.ModuleType("llama_cpp")

    def llama_get_logits_ith(context, place):
        assert (context, place) == ("context", -1)
        module.logits = found.logits()
        return module.logits.ctypes.data_as(ctypes.POINTER(ctypes.c_float))

    module.llama_get_logits_ith = llama_get_logits_ith
    monkeypatch.setitem(sys.modules, "llama_cpp", module)
    return found


def test_a_model_reads_nothing_twice(llama):
    logits = Model(llama, list(b"assistant\n"))
    first = logits([])
    assert llama.n_evaluated == 10
    assert first.argmax() == ord("Y")
    assert logits(list(b"Ye")).argmax() == ord("s")
    assert llama.n_evaluated == 12
    assert (logits([]) == first).all()  # its last id is read again
    assert llama.n_evaluated == 13
    other = Model(llama, list(b"assistant\nN"))
    other([])
    assert llama.n_evaluated == 14
    with pytest.raises(ValueError, match="at least one id"):
        Model(llama, [])


DIGIT = tasks.Task(
    "digit",
    Grammar.from_regex("[0-9]"),
    lambda text: len(text) == 1 and text.isdigit(),
    ("Which digit?", "Which other digit?"),
)
LIST = tasks.Task(
    "list",
    Grammar.from_regex(r"\[[0-9]{2}\]"),
    tasks.json_judge({"type": "array", "items": {"type": "integer", "maximum": 50}}),
    ("Which list?",),
)


def test_the_same_questions_twice(llama, tmp_path):
    lines = []
    judged = compare.compare(llama, BYTES, [DIGIT, LIST], max_tokens=20, progress=lines.append)
    assert [(item.task, item.way) for item in judged[:3]] == [
        ("digit", "free"),
        ("digit", "masked"),
        ("digit", "free"),
    ]
    assert lines[0] == "1 of 3 questions, digit, free"
    assert judged[0].answer.text == "Yes, 7."
    assert not judged[0].valid
    assert all(item.valid for item in judged if item.task == "digit" and item.way == "masked")
    found = compare.summary(judged)
    assert (found["free"]["answers"], found["free"]["valid"]) == (3, 0)
    assert found["masked"]["finished"] == 3
    assert 0 < found["masked"]["mask_share"] < 1
    assert found["masked"]["tokens_per_second"] > 0
    shown = compare.side_by_side(judged)
    assert "digit: Which digit?" in shown
    assert "Yes, 7." in shown
    assert json.dumps([item.as_record() for item in judged])
    again = compare.compare(llama, BYTES, [DIGIT, LIST], max_tokens=20)
    assert [item.answer.text for item in again] == [item.answer.text for item in judged]
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    compare.draw(judged).savefig(tmp_path / "drawn.png")
    assert (tmp_path / "drawn.png").read_bytes().startswith(b"\x89PNG")


def test_an_answer_inside_chatter_counts_apart(llama, monkeypatch):
    text = "Sure! ```json\n[7]\n``` Well?"
    fixed = answers.Answer(text, True, 9, 0.1, 0.1, 0.1, (0.0,))
    monkeypatch.setattr(compare, "write_answer", lambda *_, **__: fixed)
    free, _ = compare.compare(llama, BYTES, [LIST])
    assert (free.valid, free.valid_inside) == (False, True)


# Without the packages


def test_missing_packages_are_named(monkeypatch, capsys):
    monkeypatch.setattr(model, "_PACKAGE", "no_such_package")
    with pytest.raises(ImportError, match=r"fastmask\[demo-model\]"):
        model.load()
    assert main(["demo", "--model", "smollm2"]) == 1
    assert "fastmask[demo-model]" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    with pytest.raises(ImportError, match=r"fastmask\[demo-model\]"):
        tasks.json_judge(True)
