"""What keeps a perceptron from learning by heart: dropout, smoothed labels, a falling step size."""

import numpy as np
import pytest

from paralesn.readouts import mlp_network
from paralesn.readouts.mlp import MLP

torch = pytest.importorskip("torch")


def quick(**options):
    return MLP(hidden=16, learning_rate=5e-3, batch_size=32, epochs=5, **options)


def same_weights(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one.weights_, other.weights_, strict=True))


def test_input_dropout_leaves_states_out_at_random_and_keeps_the_mean(rng):
    x = torch.ones(500, 40)
    mlp_network.drop(x, 0.25, torch.Generator().manual_seed(0))
    assert x.unique().tolist() == [0.0, pytest.approx(4 / 3)]
    assert float(x.mean()) == pytest.approx(1.0, rel=0.02)
    X, y = rng.normal(size=(100, 3)), rng.normal(size=100)
    assert quick(input_dropout=0.5).fit(X, y).loss_curve_ != quick().fit(X, y).loss_curve_
    assert same_weights(quick(input_dropout=0.5).fit(X, y), quick(input_dropout=0.5).fit(X, y))


def test_label_smoothing_is_that_of_torch(rng):
    network = mlp_network.Network(mlp_network.draw_weights((3, 8, 4), rng), torch.device("cpu"))
    x, t, one = torch.randn(20, 3), torch.arange(20) % 4, torch.ones(20, 1)
    loss = network.backward(x, t, one, 0.0, None, 0.2)
    leaves = [part.clone().requires_grad_() for part in network.weights]
    out = torch.relu(x @ leaves[0] + leaves[1]) @ leaves[2] + leaves[3]
    expected = torch.nn.functional.cross_entropy(out, t, label_smoothing=0.2)
    expected.backward()
    assert float(loss) / 20 == pytest.approx(float(expected.detach()), rel=1e-5)
    for ours, leaf in zip(network.gradients, leaves, strict=True):
        np.testing.assert_allclose(ours.numpy(), leaf.grad.numpy(), atol=1e-6)


@pytest.mark.slow
def test_cosine_schedule_is_that_of_torch(rng, monkeypatch):
    shares = []
    step = mlp_network.Adam.step
    monkeypatch.setattr(
        mlp_network.Adam, "step", lambda self, share=1.0: (shares.append(share), step(self, share))
    )
    X, y = rng.normal(size=(70, 3)), rng.normal(size=70)
    quick(schedule="cosine", validation_fraction=0.0).fit(X, y)  # 5 epochs of 3 batches
    theirs = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(theirs, 15)
    expected = []
    for _ in range(15):
        expected.append(falling.get_last_lr()[0])
        theirs.step()
        falling.step()
    np.testing.assert_allclose(shares, expected, atol=1e-12)
