# SPDX-License-Identifier: Apache-2.0
"""Names of PyTorch's functions by what they do to rows. A name in no table is computed from whole tensors.

:data:`POINTWISE` is what ATen tags as pointwise, with Python's names for the same (tests/unit/gnn/test_operators.py
compares).
"""

from __future__ import annotations

from typing import Final


def _words(text: str) -> list[str]:
    return text.split()


_ATEN: Final = _words(
    """
    __ilshift__ __irshift__ __ixor__ __lshift__ __rshift__ __xor__ abs acos acosh add addcdiv addcmul angle asin asinh
    atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil celu
    clamp clamp_max clamp_min clip clone conj_physical copysign cos cosh deg2rad digamma div elu eq erf erfc erfinv exp
    exp2 expm1 float_power floor fmax fmin fmod frac frexp gcd ge gelu gt hardshrink hardsigmoid hardtanh heaviside
    hypot i0 igamma igammac isfinite isinf isnan isneginf isposinf lcm ldexp le leaky_relu lerp lgamma log log10 log1p
    log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit lt masked_fill maximum minimum mish
    mul mvlgamma nan_to_num ne neg nextafter polygamma positive pow rad2deg reciprocal relu relu6 remainder round rsqrt
    rsub selu sgn sigmoid sign signbit silu sin sinc sinh softplus softshrink special_airy_ai special_bessel_j0
    special_bessel_j1 special_bessel_y0 special_bessel_y1 special_entr special_erfcx special_i0e special_i1 special_i1e
    special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0
    special_modified_bessel_k1 special_ndtri special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
    special_spherical_bessel_j0 special_xlog1py special_zeta sqrt square sub tan tanh threshold true_divide trunc xlogy
    """
)

_PYTHON: Final = _words(
    """
    absolute arccos arccosh arcsin arcsinh arctan arctan2 arctanh divide fix floor_divide greater greater_equal
    hardswish isreal less less_equal logsigmoid multiply negative not_equal softsign special_digamma special_erf
    special_erfc special_erfinv special_exp2 special_expit special_expm1 special_gammaln special_i0 special_log1p
    special_logit special_ndtr special_polygamma special_psi special_round special_sinc special_xlogy
    special_multigammaln subtract tanhshrink copy fill zero bfloat16 bool byte char cfloat chalf cdouble double float
    half int long short to type_as conj resolve_conj resolve_neg real imag contiguous cpu cuda detach alias __deepcopy__
    get.data get.real get.imag _threshold
    """
)

_DUNDER: Final = _words(
    """
    add and div eq floordiv ge gt le lshift lt mod mul ne or pow rshift sub truediv xor
    """
)

POINTWISE: Final = frozenset(
    [*_ATEN, *_PYTHON, *(f"{name}_" for name in (*_ATEN, *_PYTHON) if not name.startswith(("__", "get.")))]
    + [f"__{letter}{name}__" for letter in ("", "r", "i") for name in _DUNDER]
    + ["__neg__", "__pos__", "__abs__", "__invert__"]
)
"""Each element of a result is a function of the elements at its place; tensors are broadcast."""

KEEPS_NUMBERS: Final = frozenset(
    _words(
        """
    clone contiguous cpu cuda detach alias to long type_as resolve_conj get.data
    """
    )
)
"""Row-wise functions that leave numbers of vertices as they are, where these are still int64."""

METADATA: Final = frozenset(
    _words(
        """
    get.dtype get.device get.requires_grad get.grad_fn get.is_leaf get.ndim get.layout get.is_sparse get.is_cuda
    get.is_cpu get.is_mps get.is_quantized get.is_nested get.is_meta get.is_xpu get.is_mkldnn get.is_sparse_csr
    get.output_nr get._version get.retains_grad get.itemsize get.is_vulkan get.is_ipu get.is_xla get.is_maia get.is_mtia
    get.name get._backward_hooks dim ndimension is_floating_point is_complex is_signed element_size get_device
    is_inference is_conj is_neg is_contiguous requires_grad_ __hash__ result_type is_tensor set.requires_grad
    retain_grad _is_view is_shared is_pinned
    """
    )
)
"""What these answer is the same for some rows as for all."""

REFUSED: Final = dict.fromkeys(
    _words(
        """
    data_ptr untyped_storage storage _typed_storage storage_offset stride as_strided as_strided_ __dlpack__ set_ resize_
    resize resize_as_ resize_as share_memory_ __reduce_ex__ __reduce__ __setstate__ apply_ map_ map2_
    get.__cuda_array_interface__ set.data set.names as_strided_scatter as_strided_copy is_set_to storage_type
    module_load pin_memory to_mkldnn get.__array_interface__ get.grad get._grad set.grad
    """
    ),
    "shows the memory of this rank's rows; gnn.gather(x) has those of all ranks",
) | dict.fromkeys(
    ["register_hook", "register_post_accumulate_grad_hook", "backward", "grad", "autograd.grad"],
    "shows gradients of this rank's share; compute them outside of the model",
)
"""Functions that show or change one rank's memory, which is no whole tensor, with the reason."""

RANDOM: Final = frozenset(
    _words(
        """
    alpha_dropout bernoulli bernoulli_ binomial cauchy_ dropout dropout1d dropout2d dropout3d exponential_
    feature_alpha_dropout feature_dropout fractional_max_pool2d fractional_max_pool3d geometric_ gru gumbel_softmax
    log_normal_ lstm multi_head_attention_forward multinomial native_dropout normal normal_ poisson rand rand_like
    randint randint_like randn randn_like random_ randperm rnn_relu rnn_tanh rrelu rrelu_ scaled_dot_product_attention
    uniform_ _standard_gamma _sample_dirichlet alpha_dropout_ dropout_ feature_dropout_ feature_alpha_dropout_
    fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices rrelu_with_noise svd_lowrank pca_lowrank
    kaiming_uniform_ lobpcg _fractional_max_pool2d _fractional_max_pool3d
    """
    )
)
"""Functions that may draw random numbers."""

SAME_DIM: Final = {
    "softmax": 1, "log_softmax": 1, "softmin": 1, "cumsum": 1, "cumprod": 1, "logcumsumexp": 1, "cummax": 1,
    "cummin": 1, "sort": 1, "argsort": 1, "msort": None, "flip": 1, "roll": 2, "normalize": 2, "topk": 2, "glu": 1,
    "special_softmax": 1, "special_log_softmax": 1, "cumsum_": 1, "cumprod_": 1, "renorm": None,
}  # fmt: skip
"""Functions along one or more dimensions, after which there are as many, with the dimension's place in arguments."""

DROPS: Final = {
    "sum": 1, "mean": 1, "prod": 1, "amax": 1, "amin": 1, "max": 1, "min": 1, "median": 1, "nanmedian": 1, "mode": 1,
    "std": 1, "var": 1, "logsumexp": 1, "special_logsumexp": 1, "argmax": 1, "argmin": 1, "any": 1, "all": 1,
    "nansum": 1, "nanmean": 1, "norm": 2, "linalg_vector_norm": 2, "linalg_norm": 2, "std_mean": 1, "var_mean": 1,
    "aminmax": None, "count_nonzero": 1, "quantile": 2, "nanquantile": 2, "kthvalue": 2, "cosine_similarity": 2,
    "unbind": 1, "select": 1,
}  # fmt: skip
"""Functions that reduce dimensions, with their place in arguments."""

DEFAULTS: Final = {
    "sort": -1, "argsort": -1, "topk": -1, "glu": -1, "normalize": 1, "unbind": 0, "median": None, "kthvalue": -1,
    "mode": -1, "cosine_similarity": 1,
}  # fmt: skip
"""Dimensions where none is given, if that is not all of them."""
