"""The linear recurrence ``h_t = lambda h_(t-1) + u_t`` on any device of PyTorch.

Steps are cut into chunks of R. All chunks are walked side by side, first only to learn what each
adds to the state; these sums obey the same recurrence with ``lambda**R`` and are cut in turn, until
a few are left. On the way back every chunk is walked again from the state before it. Both sweeps
are loops over levels: work is of the order of T, with some R log T operations on whole arrays, each
of which a device runs in parallel. Steps that fill no chunk are walked first. Long levels are cut
into longer chunks, which leave less to do for the levels after them.
"""

from typing import Any

from paralesn.runtime.pytorch import torch

_WALKED = 24  # steps that are walked: cutting them takes as many operations
_LONG, _LONGEST = 2048, 16384  # steps from which chunks of 16 and of 32 were measured to be faster


def radix(steps: int) -> int:
    """Steps in a chunk of a level: a power of two, so that eigenvalues are raised by squaring."""
    return 8 if steps < _LONG else 16 if steps < _LONGEST else 32


def scan(eigenvalues: torch.Tensor, u: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    """States (B, T, N) of a recurrence driven by `u` (B, T, N) from `before` (B, N).

    Without gradients to keep track of, `u` is overwritten and returned.
    """
    if not u.shape[1]:
        return u
    wanted = eigenvalues.requires_grad or u.requires_grad or before.requires_grad
    if wanted and torch.is_grad_enabled():
        return _Scan.apply(eigenvalues, u, before)
    return scan_(eigenvalues, u, before)


def scan_(eigenvalues: torch.Tensor, u: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    """Turn `u` (B, T, N) into the states, in place."""
    levels = []
    factor, level = eigenvalues, u
    while level.shape[1] > _WALKED:
        head, chunks = _cut(level)
        before = walk(factor, head, before)
        levels.append((factor, level, chunks, before))
        level = _sums(factor, chunks)
        factor = _raised(factor, chunks.shape[2])
    walk(factor, level, before)
    for factor, finer, chunks, start in reversed(levels):
        h = torch.cat([start.unsqueeze(1), level[:, :-1]], 1)  # the states before the chunks
        for j in range(chunks.shape[2]):
            h = chunks[:, :, j].addcmul_(factor, h)
        level = finer
    return u


def final(eigenvalues: torch.Tensor, u: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    """State (B, N) after the last step only: the first of both sweeps is enough."""
    factor, level = eigenvalues, u
    while level.shape[1] > _WALKED:
        head, chunks = _cut(level)
        before = _followed(factor, head, before)
        level = _sums(factor, chunks)
        factor = _raised(factor, chunks.shape[2])
    return _followed(factor, level, before)


def walk(factor: torch.Tensor, steps: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
    """Turn `steps` (B, T, N) into states one after the other, and return the last of them."""
    for t in range(steps.shape[1]):
        h = steps[:, t].addcmul_(factor, h)
    return h


def _followed(factor: torch.Tensor, steps: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
    """The last of the states that `walk` would leave."""
    for t in range(steps.shape[1]):
        h = torch.addcmul(steps[:, t], factor, h)
    return h


def _cut(level: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The steps that fill no chunk, and the chunks (B, chunks, R, N)."""
    size = radix(level.shape[1])
    odd = level.shape[1] % size
    return level[:, :odd], level[:, odd:].unflatten(1, (-1, size))


def _sums(factor: torch.Tensor, chunks: torch.Tensor) -> torch.Tensor:
    """What each chunk adds to the state after it, (B, chunks, N)."""
    total = chunks[:, :, 0]
    for j in range(1, chunks.shape[2]):
        total = torch.addcmul(chunks[:, :, j], factor, total)
    return total


def _raised(factor: torch.Tensor, power: int) -> torch.Tensor:
    for _ in range(power.bit_length() - 1):
        factor = factor * factor
    return factor


class _Scan(torch.autograd.Function):
    """The scan with its derivative: the same recurrence, backwards, with conjugate eigenvalues."""

    @staticmethod
    def forward(eigenvalues: torch.Tensor, u: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        return scan_(eigenvalues, u.clone(), before)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        eigenvalues, _, before = inputs
        states = (output, before) if ctx.needs_input_grad[0] else (None, None)
        ctx.save_for_backward(eigenvalues, *states)

    @staticmethod
    def backward(ctx: Any, slope: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        eigenvalues, h, before = ctx.saved_tensors
        factor = eigenvalues.conj().resolve_conj()
        nothing = torch.zeros_like(slope[:, 0])
        back = scan(factor, slope.flip(1), nothing).flip(1)
        by_eigenvalues = None
        if ctx.needs_input_grad[0]:
            earlier = torch.cat([before.unsqueeze(1), h[:, :-1]], 1)
            by_eigenvalues = (back * earlier.conj()).sum((0, 1))
        return by_eigenvalues, back, factor * back[:, 0]
