"""Scaled dot-product attention, with whole scores."""
import math

import numpy as np

from case import case, f32, restart_random, wide


def scores_of(q, k, scale, causal, mask):
    """[B, N, S, T], -infinity where a query does not see a key."""
    k = np.repeat(k, q.shape[2] // k.shape[2], axis=2)
    scores = scale * np.einsum("bsnd,btnd->bnst", q, k)
    if causal:
        s, t = scores.shape[2:]
        scores = np.where(np.tri(s, t, dtype=bool), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask != 0, scores, -np.inf)
    return scores


def attend(q, k, v, scale, causal, mask):
    scores = scores_of(q, k, scale, causal, mask)
    most = scores.max(-1, keepdims=True)
    sums = np.exp(scores - most).sum(-1, keepdims=True)
    log_sums = most + np.log(sums)
    weights = np.exp(scores - log_sums)
    wide_v = np.repeat(v, q.shape[2] // v.shape[2], axis=2)
    y = np.einsum("bnst,btnd->bsnd", weights, wide_v)
    return y, log_sums[..., 0], weights


def per_key_head(gradient, heads):
    """Gradients of neighbouring query heads that share a head of keys."""
    b, t, n, d = gradient.shape
    return gradient.reshape(b, t, heads, n // heads, d).sum(3)


def attend_grad(dy, q, k, v, y, weights, scale):
    heads = k.shape[2]
    wide_k = np.repeat(k, q.shape[2] // heads, axis=2)
    wide_v = np.repeat(v, q.shape[2] // heads, axis=2)
    dv = np.einsum("bnst,bsnd->btnd", weights, dy)
    dweights = np.einsum("bsnd,btnd->bnst", dy, wide_v)
    row = np.einsum("bsnd,bsnd->bns", dy, y)[..., None]
    dscores = weights * (dweights - row) * scale
    dq = np.einsum("bnst,btnd->bsnd", dscores, wide_k)
    dk = np.einsum("bnst,bsnd->btnd", dscores, q)
    return dq, per_key_head(dk, heads), per_key_head(dv, heads)


def attention():
    """From numbers of their own: other cases stay as they are."""
    restart_random(11)
    for name, causal, masked, scale in (("plain", False, False, 0),
                                        ("causal", True, False, 0.5),
                                        ("masked", False, True, 0)):
        q, k, v = f32(2, 5, 4, 6), f32(2, 7, 2, 6), f32(2, 7, 2, 6)
        mask = None
        attrs = {"causal": {"bool": True}} if causal else {}
        if scale:
            attrs["scale"] = {"double": scale}
        if masked:
            mask = (f32(2, 1, 1, 7) > -0.3).astype(np.float32)
            mask[..., 0] = 1  # something to see
        factor = scale or 1 / math.sqrt(6)
        Q, K, V = wide(q, k, v)
        y, log_sums, weights = attend(Q, K, V, factor, causal, mask)
        more = [] if mask is None else [mask]
        case("attention", "attention", [q, k, v, *more], (y, log_sums), attrs,
             name="attention_" + name)
        dy = f32(2, 5, 4, 6)
        y32, sums32 = y.astype(np.float32), log_sums.astype(np.float32)
        given = np.exp(scores_of(Q, K, factor, causal, mask)
                       - wide(sums32)[..., None])
        case("attention", "attention_grad",
             [dy, q, k, v, y32, sums32, *more],
             attend_grad(wide(dy), Q, K, V, wide(y32), given, factor), attrs,
             name="attention_grad_" + name)
