# SPDX-License-Identifier: Apache-2.0
"""A Hugging Face encoder in place of the small language model, with the same exits (specification, section 3.4).

It is read from a folder that ``save_pretrained`` wrote, with its tokenizer; nothing is downloaded, weights are
safetensors, and no code from the folder is run. Its own dropout stays off, so that a run is repeatable.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from offramp.unitg.hooks import Unit
from offramp.unitg.language_model import ExitLayer, exit_depths
from offramp.unitg.text import Tokens
from offramp_base.errors import first_line
from offramp_base.extras import needs
from offramp_base.settings.error import SettingsError


def tokenise(folder: str, texts: list[str], length: int) -> tuple[Tokens, int, int]:
    """``(n, length)`` padded tokens; the size of the vocabulary; the padding token.

    Raises:
        SettingsError: the folder has no tokenizer, or one without padding.
    """
    tokenizer = _read("AutoTokenizer", folder)
    if tokenizer.pad_token_id is None:
        raise SettingsError("encoder", "its tokenizer has no token for padding", folder)
    encoding = tokenizer(texts, truncation=True, padding="max_length", max_length=length, return_attention_mask=False)
    return np.asarray(encoding["input_ids"], np.int32), len(tokenizer), int(tokenizer.pad_token_id)


def _read(kind: str, folder: str, **options: Any) -> Any:
    if not (Path(folder) / "config.json").exists():
        raise SettingsError("encoder", "expected a folder with config.json, as save_pretrained writes it", folder)
    try:
        import transformers
    except ImportError:
        raise SettingsError("encoder", needs("transformers"), folder) from None
    transformers.utils.logging.disable_progress_bar()
    try:
        read = getattr(transformers, kind).from_pretrained
        return read(folder, local_files_only=True, trust_remote_code=False, **options)
    except Exception as error:
        raise SettingsError("encoder", f"cannot be read: {first_line(error)}", folder) from None


class Encoder(nn.Module):
    """Embeddings of texts by exit, and their class scores, like :class:`~offramp.unitg.language_model.LanguageModel`.

    Attributes:
        model: the Hugging Face model.
        depths: layers until each exit.

    Args:
        folder: folder of the encoder.
        tokens: ``(n, length)`` tokens of all texts.
        pad: the padding token.
        out: width of the embeddings.
        classes: number of classes of the vertices.
        seed: seed of the exits; the encoder's weights come from the folder.

    Raises:
        SettingsError: the folder has no encoder, its layers cannot be found, or it is for other or shorter texts.
    """

    def __init__(self, folder: str, tokens: Tokens, pad: int, out: int, classes: int, seed: int) -> None:
        super().__init__()
        self.model = _read("AutoModel", folder, dtype=torch.float32, use_safetensors=True).eval()
        config, self._pad = self.model.config, pad
        count = getattr(config, "num_hidden_layers", None)
        lists = [
            (owner, name, child)
            for owner in self.model.modules()
            for name, child in owner.named_children()
            if isinstance(child, nn.ModuleList) and len(child) == count
        ]
        if getattr(config, "is_encoder_decoder", False) or not lists:
            raise SettingsError(
                "encoder", f"{type(self.model).__name__}: expected an encoder with a list of layers", folder
            )
        words = self.model.get_input_embeddings().num_embeddings
        if tokens.size and int(tokens.max()) >= words:
            raise SettingsError("encoder", f"knows {words} tokens, its tokenizer makes token {tokens.max()}", folder)
        places = getattr(getattr(self.model, "embeddings", None), "position_embeddings", None)
        if isinstance(places, nn.Embedding):
            # RoBERTa counts from behind the number of the token of padding.
            most = places.num_embeddings - (0 if places.padding_idx is None else places.padding_idx + 1)
            if tokens.shape[1] > most:
                raise SettingsError("lm_length", f"{{encoder}} takes up to {most} tokens", tokens.shape[1])
        self._owner: list[tuple[nn.Module, str]] = [lists[0][:2]]  # in a list: it is no child of this module
        self._layers: list[nn.Module] = list(lists[0][2])
        self.depths = exit_depths(len(self._layers))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.exits = nn.ModuleList(ExitLayer(config.hidden_size, out) for _ in self.depths)
            self.classify = nn.Linear(out, classes)

    def forward(self, tokens: torch.Tensor, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Embeddings ``(b, out)`` of exit ``number`` (from 0) and their class scores; later layers do not run."""
        with self._cut(self.depths[number]):
            states = self.model(input_ids=tokens, attention_mask=(tokens != self._pad).long()).last_hidden_state
        embedding = self.exits[number](states)
        return embedding, self.classify(embedding)

    @contextmanager
    def _cut(self, depth: int) -> Iterator[None]:
        """Within the block, the encoder has only its first layers."""
        owner, name = self._owner[0]
        setattr(owner, name, nn.ModuleList(self._layers[:depth]))
        try:
            yield
        finally:
            setattr(owner, name, nn.ModuleList(self._layers))

    def units(self) -> Iterator[Unit]:
        """The modules at whose boundaries the model can be paused."""
        yield "embed", self.model.get_input_embeddings(), False
        for number, layer in enumerate(self._layers, 1):
            yield f"layer {number}", layer, True
        for number, each in enumerate(self.exits, 1):
            yield f"exit {number}", each, True

    def compile_dense(self) -> None:
        """Compile each layer; hooks stay outside, so that the model can be paused as before."""
        for layer in self._layers:
            layer.forward = torch.compile(layer.forward)

    def save(self, folder: str, source: str) -> None:
        """Write encoder and tokenizer in Hugging Face's format; exits are left out.

        Args:
            folder: the output folder.
            source: folder of the tokenizer.

        Raises:
            SettingsError: the folder cannot be written.
        """
        try:
            self.model.save_pretrained(folder)
            _read("AutoTokenizer", source).save_pretrained(folder)
        except OSError as error:
            raise SettingsError("save_encoder", f"cannot be written: {error.strerror or error}", folder) from None
