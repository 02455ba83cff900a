# SPDX-License-Identifier: Apache-2.0
"""Kernels on a GPU beside what PyTorch has, in one run: ``pytest -s -m bench tests/bench/test_gpu.py``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from triton.testing import do_bench  # noqa: E402

from offramp.sylvie import quantiser, triton_kernel  # noqa: E402
from offramp.torchgt import kernel  # noqa: E402
from offramp.torchgt.pattern import Pattern, pair_keys, pattern_of  # noqa: E402
from offramp.workers.accelerator import to_host  # noqa: E402

pytestmark = [pytest.mark.bench, pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")]
CUDA = torch.device("cuda")
MOST_DENSE, MOST_GATHERED = 16_384, 1 << 33


def clustered(tokens: int, degree: int) -> Pattern:
    """Nine tenths of the pairs near the diagonal, as after clustering, the others anywhere."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(tokens), degree)
    near = np.clip(rows + rng.integers(-256, 257, len(rows)), 0, tokens - 1)
    columns = np.where(rng.random(len(rows)) < 0.9, near, rng.integers(0, tokens, len(rows)))
    return pattern_of(tokens, pair_keys(tokens, rows, columns), lambda r, _: np.zeros(len(r), np.int64))


def gathered(rows: Any, columns: Any) -> Callable[..., Any]:
    """Scores at edge ends, a softmax by scatter_reduce and index_add, values at edge ends."""

    def attend(q: Any, k: Any, v: Any) -> Any:
        score = (q[:, rows] * k[:, columns]).sum(-1) / math.sqrt(q.shape[-1])
        index = rows.expand_as(score)
        most = score.new_full(q.shape[:2], -math.inf).scatter_reduce(1, index, score.detach(), "amax")
        weight = (score - most[:, rows]).exp()
        total = weight.new_zeros(q.shape[:2]).index_add(1, rows, weight)
        return torch.zeros_like(v).index_add(1, rows, (weight / total[:, rows])[..., None] * v[:, columns])

    return attend


def flex(pattern: Pattern) -> Callable[..., Any]:
    """PyTorch's FlexAttention with a mask of the pairs, in blocks of 128."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    dense = torch.from_numpy(pattern.dense()).to(CUDA)
    mask = create_block_mask(lambda b, h, i, j: dense[i, j], None, None, pattern.tokens, pattern.tokens, device="cuda")
    compiled = torch.compile(flex_attention)
    return lambda q, k, v: compiled(q[None], k[None], v[None], block_mask=mask)[0]


def timed(attend: Callable[..., Any], inputs: list[Any]) -> tuple[float, float]:
    """Milliseconds of forward, and of forward and backward."""
    direction = torch.randn_like(inputs[0])

    def forward_and_backward() -> None:
        for x in inputs:
            x.grad = None
        attend(*inputs).backward(direction)

    with torch.no_grad():
        forward = do_bench(lambda: attend(*inputs), return_mode="median")
    return forward, do_bench(forward_and_backward, return_mode="median")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("tokens", "degree"), [(2_048, 16), (16_384, 16), (262_144, 32), (1_048_576, 16)])
def test_attention_over_pairs(tokens: int, degree: int, dtype: Any, monkeypatch: Any) -> None:
    pattern = clustered(tokens, degree)
    rows, columns = (torch.from_numpy(x).to(CUDA) for x in (pattern.rows, pattern.indices))
    heads, d = 8, 64
    inputs = [torch.randn(heads, tokens, d, device=CUDA, dtype=dtype).requires_grad_() for _ in range(3)]
    ours = kernel.PatternTensors(pattern, CUDA)
    monkeypatch.setattr(kernel, "find_spec", lambda _: None)
    plain = kernel.PatternTensors(pattern, CUDA)
    ways: dict[str, Callable[..., Any]] = {
        "Triton": lambda q, k, v: kernel.sparse_attention(q, k, v, None, ours),
        "sparse products": lambda q, k, v: kernel.sparse_attention(q, k, v, None, plain),
    }
    if heads * pattern.pairs * d * dtype.itemsize < MOST_GATHERED:
        ways["gather/scatter"] = gathered(rows, columns)
    if tokens <= MOST_DENSE:
        mask = torch.from_numpy(pattern.dense()).to(CUDA)
        ways["masked SDPA"] = lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(
            q[None], k[None], v[None], attn_mask=mask
        )[0]
        ways["FlexAttention"] = flex(pattern)
    expected = ways["Triton"](*inputs)
    times = {}
    for name, attend in ways.items():
        near = 0.1 if dtype == torch.bfloat16 else 1e-3  # of float32 masked products may be TF32's
        torch.testing.assert_close(attend(*inputs), expected, atol=near, rtol=near)
        times[name] = timed(attend, inputs)
    best = times["Triton"][1]
    words = ", ".join(f"{n} {f:.3f} + {b - f:.3f} ms ({b / best:.1f})" for n, (f, b) in times.items())
    print(f"\n{tokens} tokens, {pattern.pairs} pairs, {heads} heads of {d}, {dtype}: {words}")  # noqa: T201
    assert best < times["sparse products"][1]


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_codes_leave_a_gpu_faster_than_floats(bits: int) -> None:
    count, columns = 1_000_000, 128
    x = torch.randn(count, columns, device=CUDA)
    rows = torch.randperm(count, device=CUDA)[: count // 2]

    def codes() -> Any:
        return triton_kernel.quantise(x, rows, bits, 5, compact=True)

    quantised = codes()
    out = torch.empty_like(x)
    bounds = quantised.least, quantised.greatest
    quantise = do_bench(codes, return_mode="median")
    back = do_bench(lambda: triton_kernel.dequantise(quantised.packed, bounds, bits, out, rows, add=False))
    leave = do_bench(lambda: to_host(codes().packed), return_mode="median")
    floats = do_bench(lambda: to_host(x[rows]), return_mode="median")
    host, numbers = x.cpu().numpy(), rows.cpu().numpy()
    processor = do_bench(lambda: quantiser.quantise(host, numbers, bits, 5, compact=True, threads=8), rep=500)
    size = len(rows) * columns * 4 / 1e9
    rate = size / quantise * 1000
    table = f"{bits} bits, {size:.2f} GB: quantise {quantise:.3f} ms ({rate:.0f} GB/s), back {back:.3f} ms"
    leaves = f"into main memory {leave:.2f} ms, floats {floats:.2f}; eight threads of the processor {processor:.1f} ms"
    print(f"\n{table}; {leaves}")  # noqa: T201
    assert leave < floats


@pytest.mark.parametrize("name", ["GCN", "GraphSAGE", "GAT"])
def test_a_distributed_model_beside_pyg_on_the_same_gpu(name: str) -> None:
    pyg = pytest.importorskip("torch_geometric")
    from torch_geometric.data import Data

    from offramp import gnn

    vertices, edges, width, classes = 200_000, 4_000_000, 128, 40
    g = torch.Generator().manual_seed(0)
    data = Data(
        x=torch.randn(vertices, width, generator=g),
        y=torch.randint(classes, (vertices,), generator=g),
        edge_index=torch.randint(vertices, (2, edges), generator=g),
    )

    def model() -> Any:
        torch.manual_seed(1)
        return getattr(pyg.nn, name)(width, 128, 2, classes).to(CUDA)

    part = gnn.partition(data).to(CUDA)
    whole = data.clone().to("cuda")
    timings = {}
    for label, network, of in (("PyG", model(), whole), ("offramp.gnn", gnn.distribute(model(), part), part)):
        optimizer = torch.optim.Adam(network.parameters(), lr=0.01)

        def epoch(trained: Any = network, of: Any = of, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(trained(of.x, of.edge_index), of.y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        first = float(epoch())
        timings[label] = first, do_bench(epoch, warmup=200, rep=1000, return_mode="median")
    print(f"\n{name}: " + ", ".join(f"{label} {ms:.1f} ms" for label, (_, ms) in timings.items()))  # noqa: T201
    assert timings["PyG"][0] == pytest.approx(timings["offramp.gnn"][0], rel=1e-4)
    assert timings["offramp.gnn"][1] < 1.5 * timings["PyG"][1]
