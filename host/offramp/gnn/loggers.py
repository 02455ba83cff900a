# SPDX-License-Identifier: Apache-2.0
"""Destinations of a training run's numbers besides the terminal: TensorBoard's event files, Weights & Biases.

A logger is called with a step and its numbers by name; rank 0 alone has one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from offramp_base.errors import OfframpError
from offramp_base.extras import missing_extra

if TYPE_CHECKING:
    from offramp.gnn.settings import GnnSettings

Log = Callable[[int, Mapping[str, float]], None]
"""Takes in a step, from 1, and its numbers."""


class TensorBoard:
    """Scalars in an event file that ``tensorboard --logdir FOLDER`` shows, by PyTorch's own writer.

    A context manager: the file is complete when it ends.
    """

    def __init__(self, folder: str | Path, settings: Mapping[str, Any] | None = None) -> None:
        """Args: folder: one run each; settings: of the run, shown as text.

        Raises:
            OfframpError: the package is missing, or the folder cannot be written.
        """
        with _extra():
            from torch.utils.tensorboard import SummaryWriter
        try:
            self._writer: Any = SummaryWriter(str(folder))
        except OSError as error:
            raise OfframpError(f"{folder}: {error.strerror or error}") from None
        if settings:
            self._writer.add_text("settings", "```\n" + json.dumps(dict(settings), indent=2, default=str) + "\n```")

    def __call__(self, step: int, numbers: Mapping[str, float]) -> None:
        """Write the numbers of a step; a slash in a name makes a group of curves."""
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, step)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()


class WandB:
    """A run of a Weights & Biases project; ``WANDB_MODE=offline`` and other variables of its client hold.

    A context manager: a run that ends by an exception is marked as failed.
    """

    def __init__(self, project: str, settings: Mapping[str, Any] | None = None) -> None:
        """Args: project: its name; settings: the run's configuration.

        Raises:
            OfframpError: the package is missing, or its client does not start a run.
        """
        with _extra():
            import wandb
        try:
            self._run: Any = wandb.init(project=project, config=dict(settings or {}))
        except wandb.errors.Error as error:
            raise OfframpError(f"wandb: {' '.join(str(error).split())}") from None

    def __call__(self, step: int, numbers: Mapping[str, float]) -> None:
        """Log the numbers of a step."""
        self._run.log(dict(numbers), step=step)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run.finish(exit_code=0 if kind is None else 1)


@contextmanager
def open_loggers(settings: GnnSettings, described: Mapping[str, Any]) -> Iterator[list[Log]]:
    """The loggers that ``settings`` ask for, until the block ends.

    Raises:
        OfframpError: as theirs.
    """
    with ExitStack() as stack:
        logs: list[Log] = []
        if settings.tensorboard is not None:
            logs.append(stack.enter_context(TensorBoard(settings.tensorboard, described)))
        if settings.wandb is not None:
            logs.append(stack.enter_context(WandB(settings.wandb, described)))
        yield logs


@contextmanager
def _extra() -> Iterator[None]:
    """Name the extra where an import fails for want of its package.

    Raises:
        OfframpError: says what to install.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing_extra(error) or error from None
