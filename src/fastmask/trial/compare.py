"""The same questions with and without a mask: run them, count, and put the texts side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..compiler import GrammarCompiler
from ..integrations.llama_cpp import Model
from ..vocabulary import Vocabulary
from .answers import Answer, write_answer
from .model import chat_prompt
from .tasks import Task

__all__ = ["Judged", "compare", "draw", "side_by_side", "summary"]

FREE, MASKED = "free", "masked"


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer and what the judge says of it.

    Attributes
    ----------
    task, question : str
    way : {"free", "masked"}
    answer : Answer
    valid : bool
        The whole text, white space around it left out.
    valid_inside : bool
        The text, or what stands in it from the first bracket to the last: what a patient reader
        would take from a free answer.
    """

    task: str
    question: str
    way: str
    answer: Answer
    valid: bool
    valid_inside: bool

    def as_record(self) -> dict[str, Any]:
        """Plain values, for a file; times to a tenth of a microsecond."""
        record = asdict(self)
        answer = record["answer"]
        for name in ("first_seconds", "model_seconds", "draw_seconds"):
            answer[name] = round(answer[name], 7)
        answer["mask_seconds"] = [round(second, 7) for second in answer["mask_seconds"]]
        return record


def compare(
    llama: Any,
    vocabulary: Vocabulary,
    tasks: Sequence[Task],
    *,
    max_tokens: int = 120,
    seed: int = 0,
    questions: int | None = None,
    steer: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Judged]:
    """Ask every question twice, with the same random numbers.

    Parameters
    ----------
    llama : llama_cpp.Llama
    vocabulary : Vocabulary
        The model's.
    tasks : sequence of Task
    max_tokens : int
        Budget of an answer.
    seed : int
    questions : int, optional
        Of each task only the first so many.
    steer : bool
        Whether masked answers are steered to an end within the budget.
    progress : callable
        Given a line to show before each question.
    """
    compiler = GrammarCompiler(vocabulary)
    judged: list[Judged] = []
    total = sum(len(task.questions[:questions]) for task in tasks)
    for task in tasks:
        compiled = compiler.compile(task.grammar)
        for question in task.questions[:questions]:
            model = Model(llama, chat_prompt(llama, question))
            number = len(judged) // 2
            for way in (FREE, MASKED):
                progress(f"{number + 1} of {total} questions, {task.name}, {way}")
                answer = write_answer(
                    model,
                    vocabulary,
                    compiled if way == MASKED else None,
                    rng=np.random.default_rng([seed, number]),
                    max_tokens=max_tokens,
                    steer=steer,
                )
                valid = answer.finished and task.judge(answer.text.strip())
                inside = valid or task.judge(_bracketed(answer.text))
                judged.append(Judged(task.name, question, way, answer, valid, inside))
    return judged


def _bracketed(text: str) -> str:
    """From the first bracket to the last."""
    starts = [place for place in (text.find("{"), text.find("[")) if place >= 0]
    return text[min(starts, default=0) : max(text.rfind("}"), text.rfind("]")) + 1]


def summary(judged: Sequence[Judged]) -> dict[str, Any]:
    """Counts and rates of each way.

    Returns
    -------
    dict
        For "free" and "masked": ``answers``, ``finished``, ``valid``, ``valid_inside``,
        ``valid_of_finished`` (a share), ``tokens``, ``tokens_per_second`` (of processor time,
        reading the prompt left out) and ``mask_share``, the part of that time spent in fastmask.
    """
    found = {}
    for way in (FREE, MASKED):
        own = [item for item in judged if item.way == way]
        answers = [item.answer for item in own]
        finished = sum(answer.finished for answer in answers)
        masking = sum(sum(answer.mask_seconds) for answer in answers)
        seconds = masking + sum(a.model_seconds + a.draw_seconds for a in answers)
        # The first token's logits came with the prompt.
        steps = sum(answer.n_tokens - 1 for answer in answers)
        valid = sum(item.valid for item in own)
        found[way] = {
            "answers": len(own),
            "finished": finished,
            "valid": valid,
            "valid_inside": sum(item.valid_inside for item in own),
            "valid_of_finished": valid / max(finished, 1),
            "tokens": sum(answer.n_tokens for answer in answers),
            "tokens_per_second": steps / seconds if seconds else 0.0,
            "mask_share": masking / seconds if seconds else 0.0,
        }
    return found


def side_by_side(judged: Sequence[Judged], width: int = 38) -> str:
    """Free and masked answers to each question in two columns."""
    lines = []
    for free, masked in zip(judged[::2], judged[1::2], strict=True):
        lines += [f"\n{free.task}: {textwrap.shorten(free.question, 2 * width - len(free.task))}"]
        columns = []
        for item in (free, masked):
            verdict = "valid" if item.valid else "not valid"
            if not item.answer.finished:
                verdict = "cut off"
            text = [
                part
                for line in item.answer.text.strip().splitlines()
                for part in textwrap.wrap(line, width, drop_whitespace=False) or [""]
            ]
            columns.append([f"[{item.way}: {verdict}]", *text[:12], *["..."][: len(text) > 12]])
        rows = max(map(len, columns))
        left, right = (column + [""] * (rows - len(column)) for column in columns)
        lines += [f"  {a:<{width}} | {b}".rstrip() for a, b in zip(left, right, strict=True)]
    return "\n".join(lines)


def draw(judged: Sequence[Judged]) -> Any:
    """Validity by task, speed, and where a step's time goes, as a ``matplotlib`` figure.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'fastmask[plot]'") from None
    found = summary(judged)
    tasks = list(dict.fromkeys(item.task for item in judged))
    colors = {FREE: "#c2703d", MASKED: "#2f6f8f"}
    widths = [max(5.0, 0.5 * len(tasks)), 2.2, 4.0]
    figure = Figure(figsize=(sum(widths), 4.2), layout="constrained")
    validity, speed, time = figure.subplots(1, 3, gridspec_kw={"width_ratios": widths})
    for shift, way in ((-0.2, FREE), (0.2, MASKED)):
        shares = []
        for task in tasks:
            own = [item for item in judged if item.way == way and item.task == task]
            shares.append(100 * sum(item.valid for item in own) / len(own))
        places = np.arange(len(tasks)) + shift
        bars = validity.bar(places, shares, 0.4, color=colors[way], label=way)
        validity.bar_label(bars, fmt="%.0f", fontsize=7)
    validity.set_xticks(np.arange(len(tasks)), tasks, rotation=0 if len(tasks) < 6 else 60)
    validity.set_ylabel("valid answers, %")
    validity.set_ylim(0, 118)
    validity.legend(frameon=False, ncols=2, loc="upper left")
    validity.set_title("valid as they stand")
    rates = [found[way]["tokens_per_second"] for way in (FREE, MASKED)]
    bars = speed.bar([FREE, MASKED], rates, 0.6, color=[colors[FREE], colors[MASKED]])
    speed.bar_label(bars, fmt="%.0f")
    speed.set_ylabel("tokens a second")
    speed.set_title("speed, one thread")
    answers = [item.answer for item in judged if item.way == MASKED]
    steps = max(1, sum(answer.n_tokens for answer in answers))
    parts = {
        "model": sum(a.model_seconds for a in answers),
        "drawing": sum(a.draw_seconds for a in answers),
        "fastmask": sum(sum(a.mask_seconds) for a in answers),
    }
    bars = time.barh(
        list(parts), [1e6 * seconds / steps for seconds in parts.values()], color=colors[MASKED]
    )
    time.bar_label(bars, fmt="{:,.0f}", padding=3)
    time.set_xscale("log")
    time.set_xlim(1, 2e7 * max(parts.values()) / steps)
    time.set_xlabel("microseconds a token")
    time.set_title(f"fastmask: {100 * found[MASKED]['mask_share']:.2f}% of a step")
    for axes in (validity, speed, time):
        axes.spines[["top", "right"]].set_visible(False)
    return figure
