# SPDX-License-Identifier: Apache-2.0
"""Encoders of Hugging Face: exits are hidden states of the whole model; runs, embeddings and weights that leave."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from offramp.unitg import encoder
from offramp.unitg.encoder import Encoder
from offramp.unitg.run import train_unitg
from offramp.unitg.settings import UnitgSettings
from offramp_base.errors import OfframpError

transformers = pytest.importorskip("transformers")

WORDS = [f"topic{n}" for n in range(160)] + [f"common{n}" for n in range(400)]
SIZES = {"hidden_size": 16, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 32}
KINDS = {
    "bert": lambda n: transformers.BertConfig(vocab_size=n, **SIZES),
    "roberta": lambda n: transformers.RobertaConfig(vocab_size=n, pad_token_id=0, **SIZES),
    "electra": lambda n: transformers.ElectraConfig(vocab_size=n, embedding_size=16, **SIZES),
    "distilbert": lambda n: transformers.DistilBertConfig(vocab_size=n, dim=16, n_layers=4, n_heads=2, hidden_dim=32),
}


def saved(folder: Path, kind: str = "bert") -> str:
    """A small encoder with random weights and a tokenizer of words."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {word: n for n, word in enumerate(["[PAD]", "[UNK]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    transformers.AutoModel.from_config(KINDS[kind](len(vocabulary))).save_pretrained(folder)
    return str(folder)


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_exits_are_the_hidden_states_of_the_whole_model(kind: str, tmp_path: Path) -> None:
    folder = saved(tmp_path, kind)
    tokens, vocabulary, pad = encoder.tokenise(folder, ["topic1 common2", "topic3", "nothing known"], 8)
    assert tokens.shape == (3, 8)
    assert (vocabulary, pad) == (len(WORDS) + 2, 0)
    model = Encoder(folder, tokens, pad, 12, 5, seed=1)
    rows = torch.from_numpy(tokens).long()
    whole = model.model(input_ids=rows, attention_mask=(rows != pad).long(), output_hidden_states=True).hidden_states
    for number, depth in enumerate(model.depths):
        embedding, scores = model(rows, number)
        torch.testing.assert_close(embedding, model.exits[number](whole[depth]))
        assert scores.shape == (3, 5)
    assert len(list(model.units())) == 1 + 4 + 4


@pytest.fixture
def settings() -> UnitgSettings:
    small = {"graph": "sbm:n=80,k=4,degree=6,features=12", "text": "topics", "stages": 1, "layers": 3, "epochs": 12}
    return UnitgSettings(**small, hidden=12, lm_length=12, lm_batch=8, lm_epochs=6, lm_lr=5e-3, split="0.6/0.2/0.2")


@pytest.mark.full
@pytest.mark.parametrize("stages", [1, 2])
def test_a_run_trains_the_encoder_and_its_results_leave(stages: int, settings, tmp_path: Path) -> None:
    folder = saved(tmp_path / "before")
    asked = replace(
        settings,
        stages=stages,
        encoder=folder,
        embeddings=str(tmp_path / "rows.npy"),
        save_encoder=str(tmp_path / "after"),
    )
    result = train_unitg(asked.load(), asked)
    losses = result.stages[0].progress.losses
    assert result.stages[0].progress.fault is None
    assert np.mean(losses[-3:]) < 0.8 * np.mean(losses[:3])
    rows = np.load(tmp_path / "rows.npy")
    assert rows.shape == (80, 12)
    assert np.isfinite(rows).all()
    assert (rows.std(0) > 0).all()
    before, after = (transformers.AutoModel.from_pretrained(tmp_path / name) for name in ("before", "after"))
    moved = [not torch.equal(a, b) for a, b in zip(before.parameters(), after.parameters(), strict=True)]
    assert sum(moved) > len(moved) / 2
    assert transformers.AutoTokenizer.from_pretrained(tmp_path / "after")("topic1")["input_ids"] == [2 + 1]


@pytest.mark.full
@pytest.mark.parametrize(("kind", "most"), [("bert", 512), ("roberta", 511)])
def test_texts_that_an_encoder_cannot_read_are_one_line(kind: str, most: int, tmp_path: Path) -> None:
    folder = saved(tmp_path, kind)
    tokens, _, pad = encoder.tokenise(folder, ["topic1"], most + 1)
    Encoder(folder, tokens[:, :most], pad, 12, 5, seed=1)
    with pytest.raises(OfframpError, match=f"lm_length {most + 1}: encoder takes up to {most} tokens"):
        Encoder(folder, tokens, pad, 12, 5, seed=1)
    with pytest.raises(OfframpError, match="knows 562 tokens, its tokenizer makes token 565"):
        Encoder(folder, tokens[:, :8] + 562, pad, 12, 5, seed=1)


def test_folders_that_hold_no_encoder_are_one_line(settings, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    graph = settings.load()
    with pytest.raises(OfframpError, match=r"encoder .*empty: expected a folder with config.json"):
        train_unitg(graph, replace(settings, encoder=str(tmp_path / "empty")))
    folder = Path(saved(tmp_path / "damaged"))
    (folder / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(OfframpError, match=r"encoder .*damaged: cannot be read: "):
        train_unitg(graph, replace(settings, encoder=str(folder)))
    shared = tmp_path / "shared"
    saved(shared)
    transformers.AlbertModel(transformers.AlbertConfig(vocab_size=600, embedding_size=8, **SIZES)).save_pretrained(
        shared
    )
    with pytest.raises(OfframpError, match="AlbertModel: expected an encoder with a list of layers"):
        train_unitg(graph, replace(settings, encoder=str(shared)))
    with pytest.raises(OfframpError, match="save_encoder x: goes with encoder only"):
        replace(settings, save_encoder="x")
