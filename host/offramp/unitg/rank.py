# SPDX-License-Identifier: Apache-2.0
"""One process of a run: a stage of the pipeline, and next to it a replica of the language model in a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
import torch

from offramp.unitg.collaborator import EmbeddingTable
from offramp.unitg.device import EmulatedDevice
from offramp.unitg.encoder import Encoder
from offramp.unitg.finetune import FineTuner, FineTuningProgress, Texts
from offramp.unitg.gate import Gate
from offramp.unitg.pipeline import Stage
from offramp.unitg.results import StageRecord
from offramp.workers.accelerator import open_device, wait_for
from offramp.workers.mailbox import Mailbox
from offramp_base.ending.files import written
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from typing import Self

    from offramp.unitg.job import UnitgJob
    from offramp.workers.group import Group
    from offramp_base.archive import Arrays


class Rank:
    """Stage, gate and language model of one device; a context manager, so that no thread outlives it.

    Attributes:
        stage: stage of the pipeline.
        gate: gate between the two.
        tuner: fine-tuner of the language model; None if there is none.
        table: table of embeddings, at the first stage.
    """

    def __init__(self, group: Group, job: UnitgJob) -> None:
        settings = job.settings
        device = open_device(settings.device, group)
        self._group, self._job, self.gate = group, job, Gate(EmulatedDevice(partial(wait_for, device)))
        self._mailbox: Mailbox = group.mailbox(settings.timeout_s, settings.link_bps)
        self.stage = Stage(job, self._mailbox, self.gate, device)
        if job.resumed is not None:
            self.stage.restore(job.resumed.state.as_dict())
        self.table: EmbeddingTable | None = None
        self.tuner: FineTuner | None = None
        self._lm_mailbox: Mailbox | None = None
        self._thread: threading.Thread | None = None
        corpus = job.corpus
        if corpus is None:
            return
        width = job.widths[0]
        self._lm_mailbox = group.mailbox(settings.timeout_s, None)
        if job.place.first:
            self.table = EmbeddingTable(len(corpus.labels), width)
        model = corpus.model(settings, width, job.widths[-1]).to(device)
        if settings.compile:
            model.compile_dense()
        self.tuner = FineTuner(
            model,
            Texts(torch.from_numpy(corpus.tokens).long().to(device), torch.from_numpy(corpus.labels).to(device)),
            corpus.batches,
            self._lm_mailbox,
            self.gate,
            lr=settings.lm_lr,
            table=self.table,
            module_s=settings.lm_ms / 1000,
            precision=settings.precision,
        )
        if job.resumed is not None:
            self._restore(job.resumed.state.as_dict())

    def _restore(self, arrays: Arrays) -> None:
        assert self.tuner is not None
        self.tuner.restore(arrays)
        if self.table is not None:
            self.table.restore(torch.from_numpy(arrays["embeddings"]), torch.from_numpy(arrays["encoded"]))

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Within the block, the language models of all ranks rest after the same step; whether they are well.

        Every rank calls it.
        """
        tuner = self.tuner
        if tuner is None:
            yield True
            return
        was_open = self.gate.is_open
        step = int(self._group.max(torch.tensor([tuner.hold()], dtype=torch.float64)).item())
        self.gate.resume()
        well = tuner.reach(step)
        if not was_open:
            self.gate.pause()
        try:
            yield self._group.max(torch.tensor([float(not well)], dtype=torch.float64)).item() == 0
        finally:
            tuner.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.tuner is not None:
            self.tuner.release()
        self.gate.stop()
        if self._thread is not None:
            self._thread.join()
        if kind is None:
            self._mailbox.close()
            if self._lm_mailbox is not None:
                self._lm_mailbox.close()

    @property
    def lm_steps(self) -> int:
        """Number of steps that the language model has made."""
        return self.tuner.progress.steps if self.tuner is not None else 0

    def start_lm(self, steps: int) -> None:
        """Let the language model make ``steps`` more steps, whenever the gate is open."""
        if self.tuner is not None:
            self._thread = threading.Thread(target=self.tuner.run, args=(steps,), daemon=True)
            self._thread.start()

    def finish_lm(self) -> None:
        """Open the gate permanently, and wait until the language model is done."""
        self.gate.open_for_good()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    @property
    def lm_runs(self) -> bool:
        """Whether the language model still has work."""
        return self._thread is not None and self._thread.is_alive()

    def ready(self) -> None:
        """Prepare for the first iteration: the first stage has work at once, the others are in a bubble."""
        self.gate.again()
        if not self._job.place.first:
            self.gate.resume()

    def save(self) -> None:
        """Write the embeddings and the encoder at rank 0, if the settings name paths, after the model has ended.

        Raises:
            SettingsError: a file cannot be written.
        """
        settings, tuner = self._job.settings, self.tuner
        if tuner is None:
            return
        if settings.embeddings is not None:
            try:
                with written(Path(settings.embeddings)) as file:
                    np.save(file, tuner.embeddings(self._job.widths[0]).numpy())
            except OSError as error:
                raise SettingsError("embeddings", f"cannot be written: {error.strerror}", settings.embeddings) from None
        if settings.save_encoder is not None and settings.encoder is not None and isinstance(tuner.model, Encoder):
            tuner.model.save(settings.save_encoder, settings.encoder)

    def record(self) -> StageRecord:
        """A record of the work done so far."""
        lm = self._lm_mailbox
        return StageRecord(
            self._job.place,
            self.stage.spans,
            self.gate.openings,
            list(self.gate.intervals),
            self.stage.live,
            self._mailbox.traffic,
            lm.traffic if lm is not None else type(self._mailbox.traffic)(),
            self.tuner.progress if self.tuner is not None else FineTuningProgress(),
        )
