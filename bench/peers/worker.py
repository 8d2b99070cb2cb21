"""One engine in a process of its own, told schemas and token sequences through a pipe.

Started by ``maskbench.py``. Messages are pickles; the first says what to make, each next one is a
schema with its texts as token ids. Everything a library prints goes to standard error.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
import time
from typing import Any

import numpy as np

from fastmask.benchmarking.engines import RefusedError, make, versions
from fastmask.benchmarking.records import encoded, peak_memory
from fastmask.benchmarking.vocabularies import read_npz

#: What became of a text; else the number of the token that was refused.
COMPLETE, OUT_OF_TIME = -1, -2
_COLLECTED_EVERY = 10  # schemas


class Walker:
    """Takes texts through an engine, every mask and every acceptance timed."""

    def __init__(self, engine: Any, ends: list[int]) -> None:
        self.engine, self.ends = engine, ends
        self.disagreements = 0
        self.measured = 0

    def walk(self, compiled: Any, tokens: list[int], deadline: float) -> tuple[list, list, int]:
        """Nanoseconds of each mask and of each acceptance, and what became of the text.

        A time is the smaller of wall clock and processor time of this thread: an engine is not
        charged for what the machine did meanwhile. Work on other threads is counted by `main`.
        """
        matcher = self.engine.start(compiled)
        mask, accept = matcher.mask, matcher.accept
        row, wall, own = self.engine.row[0], time.perf_counter_ns, time.thread_time_ns
        answers = self.engine.accept_answers
        masks: list[int] = []
        accepts: list[int] = []
        for place, token in enumerate(tokens):
            own_start, start = own(), wall()
            mask()
            end, own_end = wall(), own()
            masks.append(min(end - start, own_end - own_start))
            allowed = bool((int(row[token >> 5]) >> (token & 31)) & 1)
            own_start, start = own(), wall()
            accepted = accept(token)
            end, own_end = wall(), own()
            if allowed:
                accepts.append(min(end - start, own_end - own_start))
            if answers and bool(accepted) != allowed:
                self.disagreements += 1
            if not allowed or (answers and not accepted):
                return masks, accepts, place
            if end > deadline:
                return masks, accepts, OUT_OF_TIME
        own_start, start = own(), wall()
        mask()
        end, own_end = wall(), own()
        masks.append(min(end - start, own_end - own_start))
        complete = any((int(row[end >> 5]) >> (end & 31)) & 1 for end in self.ends)
        return masks, accepts, COMPLETE if complete else len(tokens)

    def measure(self, schema: Any, texts: list[list[int]], seconds: float) -> dict[str, Any]:
        """Everything about one schema."""
        gc.disable()
        # Not before each: it reads all that Python holds, and leaves the caches cold.
        if self.measured % _COLLECTED_EVERY == 0:
            gc.collect()
        self.measured += 1
        started = time.perf_counter_ns()
        deadline = started + seconds * 1e9
        processor, thread = time.process_time_ns(), time.thread_time_ns()
        found: dict[str, Any] = {"status": "ok"}
        masks: list[int] = []
        accepts: list[int] = []
        counts, verdicts = [], []
        try:
            compiled = self.engine.compile({"schema": schema})
            found["compile_ns"] = time.perf_counter_ns() - started
            self.engine.start(compiled).mask()
            found["first_mask_ns"] = time.perf_counter_ns() - started
            found["first_mask_cpu_ns"] = time.process_time_ns() - processor
            for tokens in texts:
                found_masks, found_accepts, verdict = self.walk(compiled, tokens, deadline)
                masks += found_masks
                accepts += found_accepts
                counts.append((len(found_masks), len(found_accepts)))
                verdicts.append(verdict)
                if verdict == OUT_OF_TIME or time.perf_counter_ns() > deadline:
                    found["status"] = "time"
                    break
        except RefusedError as error:
            found |= {"status": "refused", "error": str(error)[:300]}
        except Exception as error:  # whatever an engine fails with while it masks
            found |= {"status": "error", "error": f"{type(error).__name__}: {error}"[:300]}
        gc.enable()
        processor, thread = time.process_time_ns() - processor, time.thread_time_ns() - thread
        return found | {
            "helpers_ns": max(0, processor - thread),
            "masks": encoded(masks),
            "accepts": encoded(accepts),
            "counts": np.array(counts, np.uint32).reshape(-1, 2),
            "verdicts": verdicts,
            "disagreements": self.disagreements,
            "peak_bytes": peak_memory(),
        }


def main() -> None:
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def send(message: dict[str, Any]) -> None:
        pickle.dump(message, pipe)
        pipe.flush()

    order = pickle.load(sys.stdin.buffer)
    vocabulary = read_npz(order["vocabulary"])
    before, started = peak_memory(), time.perf_counter()
    engine = make(order["engine"], vocabulary, order["variant"])
    prepared = time.perf_counter() - started
    walker = Walker(engine, vocabulary.ends)
    # Libraries load the rest of themselves with the first grammar.
    walker.measure({"enum": [1, "a"]}, [vocabulary.tokenize(b"1")], 60)
    send(
        {
            "prepare_s": prepared,
            "versions": versions(order["engine"]),
            "peak_bytes": peak_memory(),
            "vocabulary_bytes": before,
        }
    )
    while True:
        try:
            order = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        walker.disagreements = 0
        send(walker.measure(order["schema"], order["texts"], order["seconds"]))


if __name__ == "__main__":
    main()
