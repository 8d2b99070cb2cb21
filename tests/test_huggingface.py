"""The real ``transformers``: `generate` on a small random Llama over GPT-2's 50,257 tokens.

The vocabulary is the one that comes with fastmask, the model's weights are random and its logits
padded to 50,304. Skipped where torch or transformers is not installed; ``test_integrations.py``
calls the processor as they do.
"""

from __future__ import annotations

import json
import re

import pytest

from fastmask.compiler import GrammarCompiler
from fastmask.integrations.huggingface import LogitsProcessor
from fastmask.vocabulary import Vocabulary

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

pytestmark = [pytest.mark.large, pytest.mark.filterwarnings("ignore")]

VOCABULARY = Vocabulary.gpt2()
COMPILER = GrammarCompiler(VOCABULARY)
(END,) = VOCABULARY.eos_token_ids
PADDED = 50_304
PROMPTS = [[464, 3290, 318], [END, END, 40]]  # the second padded on the left
SCHEMA = {
    "type": "object",
    "properties": {"name": {"enum": ["Ada", "Bob"]}, "n": {"enum": list(range(100))}},
    "required": ["name", "n"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=PADDED,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        bos_token_id=END,
        eos_token_id=END,
        pad_token_id=END,
    )
    return transformers.LlamaForCausalLM(config).eval()


def generate(model, compiled, prompts=PROMPTS, **options):
    """Answers of `generate` as texts, None where the budget ran out."""
    ids = torch.tensor(prompts)
    options = {"max_new_tokens": 40, "do_sample": False, **options}
    processor = options.pop("processor", None) or LogitsProcessor(compiled)
    torch.manual_seed(options.pop("seed", 0))
    found = model.generate(
        ids,
        attention_mask=(ids != END).long(),
        logits_processor=[processor],
        **options,
    )
    texts = []
    ends = options.get("eos_token_id", END)
    ends = set(ends) if isinstance(ends, list) else {ends}
    for row in found[:, ids.shape[1] :].tolist():
        stop = next((i for i, token in enumerate(row) if token in ends), None)
        text = b"".join(VOCABULARY.tokens[t] for t in row[:stop]).decode()
        texts.append(text if stop is not None else None)
    return texts


def is_person(text):
    value = json.loads(text)
    assert set(value) == {"name", "n"}
    return value["name"] in ("Ada", "Bob") and value["n"] in range(100)


MODES = {
    "greedy": {},
    "sampling": {"do_sample": True},
    "top k": {"do_sample": True, "top_k": 5},
    "several answers": {"do_sample": True, "num_return_sequences": 3},
    "beams": {"num_beams": 4},
    "all beams": {"num_beams": 4, "num_return_sequences": 4},
    "beams that sample": {"num_beams": 3, "do_sample": True, "temperature": 2.0},
    "without a cache": {"use_cache": False, "num_beams": 2},
}


@pytest.mark.parametrize("mode", MODES)
def test_every_answer_is_valid(model, mode):
    compiled = COMPILER.compile_json_schema(SCHEMA, whitespace="none")
    found = generate(model, compiled, **MODES[mode])
    assert len(found) == 2 * MODES[mode].get("num_return_sequences", 1)
    assert all(is_person(text) for text in found)


def test_without_a_mask_no_answer_is_valid(model):
    ids = torch.tensor(PROMPTS[:1])
    found = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=10)
    text = b"".join(VOCABULARY.tokens[t] for t in found[0, 3:].tolist() if t < VOCABULARY.size)
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(text)


def test_beams_find_the_likeliest_answer(model):
    """As many beams as answers: the best by the model's own log-probability comes first."""
    words = ["yes", "no", "maybe", "never"]
    found = generate(model, COMPILER.compile_choices(words), PROMPTS[:1], num_beams=8)

    def log_probability(word):
        best = -float("inf")
        for spelled in spellings(word):
            ids = torch.tensor([[*PROMPTS[0], *spelled, END]])
            odds = model(ids).logits.log_softmax(-1)[0]
            tokens = ids[0, 3:]
            total = odds[2:-1].gather(1, tokens[:, None]).sum().item()
            best = max(best, total / len(tokens))  # beams are ranked by mean log-probability
        return best

    def spellings(word):
        from fastmask.sampling import spellings as all_spellings

        return all_spellings(word.encode(), VOCABULARY)

    assert found == [max(words, key=log_probability)]


def test_fewer_answers_than_beams(model):
    found = generate(model, COMPILER.compile_regex("yes"), PROMPTS[:1], num_beams=5)
    assert found == ["yes"]


def test_a_grammar_for_each_prompt(model):
    compilers = [COMPILER.compile_regex("[0-9]{3}"), COMPILER.compile_regex("(la )+la")]
    for options in ({}, {"num_beams": 3}, {"do_sample": True, "num_return_sequences": 2}):
        found = generate(model, compilers, max_new_tokens=60, **options)
        half = len(found) // 2
        assert all(re.fullmatch("[0-9]{3}", text) for text in found[:half])
        assert all(text is None or re.fullmatch("(la )+la", text) for text in found[half:])


def test_several_end_ids(model):
    stop = 50_256 - 1
    vocabulary = Vocabulary(list(VOCABULARY.tokens), eos_token_ids=[stop, END])
    compiled = GrammarCompiler(vocabulary).compile_regex("[0-9]{2}")
    ends = set()
    for seed in range(12):
        ids = torch.tensor(PROMPTS[:1])
        torch.manual_seed(seed)
        found = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            logits_processor=[LogitsProcessor(compiled)],
            do_sample=True,
            max_new_tokens=8,
            eos_token_id=[END, stop],
        )
        *answer, end = found[0, 3:].tolist()
        assert re.fullmatch(b"[0-9]{2}", b"".join(VOCABULARY.tokens[t] for t in answer))
        ends.add(end)
    assert ends == {END, stop}


def test_one_processor_for_several_calls(model):
    processor = LogitsProcessor(COMPILER.compile_json_schema(SCHEMA, whitespace="none"))
    first = generate(model, None, processor=processor)
    assert generate(model, None, processor=processor) == first
    assert generate(model, None, PROMPTS[:1], processor=processor) == first[:1]
    longer = [[*PROMPTS[0], 11, 290, 340, 318, 257, 922, 530]]
    assert is_person(generate(model, None, longer, processor=processor)[0])


def test_drafts_by_prompt_lookup(model):
    """Assisted generation asks for masks along a draft and throws part of it away."""
    compiled = COMPILER.compile_regex("(la )+la")
    tokens = [t for word in ("la", " la", " la", " la") for t in VOCABULARY.ids_of(word.encode())]
    prompts = [[464, *tokens, 464, tokens[0]]]
    plain = generate(model, compiled, prompts)
    assisted = generate(model, compiled, prompts, prompt_lookup_num_tokens=3)
    assert assisted == plain


def test_logits_on_their_own_are_kept(model):
    ids = torch.tensor(PROMPTS[:1])
    found = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        logits_processor=[LogitsProcessor(COMPILER.compile_regex("yes"))],
        max_new_tokens=4,
        do_sample=False,
        output_logits=True,
        output_scores=True,
        return_dict_in_generate=True,
    )
    assert all(logits.isfinite().all() for logits in found.logits)
    assert all((~scores.isfinite()).any() for scores in found.scores)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_dtypes(dtype):
    processor = LogitsProcessor(COMPILER.compile_regex("[ab]"))
    scores = torch.zeros((1, PADDED), dtype=getattr(torch, dtype))
    found = processor(torch.tensor([[5]]), scores)
    allowed = [VOCABULARY.ids_of(b"a")[0], VOCABULARY.ids_of(b"b")[0]]
    assert found.isfinite().nonzero()[:, 1].tolist() == sorted(allowed)
    assert found.dtype == scores.dtype
    assert scores.isfinite().all()
