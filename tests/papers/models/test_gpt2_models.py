"""GPT-2 and its twins: their curvature, sinks, losses and files, against dense autograd."""

import copy
import itertools
import math
import socket
from dataclasses import replace

import pytest
import torch
from torch import nn

from hessian_papers.models import gpt2 as language
from hessian_papers.studies.gpt2 import seeds
from hessian_spectra import curvature as cv

transformers = pytest.importorskip("transformers")

TINY = language.Shape(layers=2, width=4, heads=2, context=5, vocabulary=7, variant="attention")
SMALL = language.Shape(
    layers=12, width=768, heads=12, context=1024, vocabulary=50257, variant="attention"
)
DEMO = language.Shape(layers=4, width=48, heads=4, context=64, vocabulary=512, variant="attention")
TOKENS = torch.randint(0, 7, (3, 5), generator=torch.Generator().manual_seed(1))
each_variant = pytest.mark.parametrize("variant", language.VARIANTS)


def draw(*size, seed=0):
    return torch.randn(size, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def built(variant="attention", bias=0.0, layers=2):
    """A tiny model in float64, away from its initial weights, at which little is curved."""
    shape = replace(TINY, variant=variant, layers=layers)
    model = language.gpt2(shape, seed=0).double().eval()
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.add_(0.3 * draw(*parameter.shape, seed=number))
    if bias:
        language.set_sink(model, bias)
    return model


def eager(model):
    """The same weights in transformers' own model, with its own attention."""
    config = copy.deepcopy(model.config)
    config._attn_implementation = "eager"
    with torch.random.fork_rng():
        other = transformers.GPT2LMHeadModel(config).to(model.dtype)
    other.load_state_dict(model.state_dict())
    return other.eval()


def rows_of(outputs, parameters):
    """The derivatives of each output by all parameters, ``(outputs, p)``."""
    each = torch.eye(len(outputs), dtype=outputs.dtype)
    blocks = torch.autograd.grad(
        outputs, parameters, each, retain_graph=True, is_grads_batched=True
    )
    return torch.cat([block.flatten(1) for block in blocks], dim=1)


def dense_hessian(model, loss):
    """The derivatives of each entry of the gradient."""
    parameters = list(model.parameters())
    gradient = torch.autograd.grad(loss(model, TOKENS)[0], parameters, create_graph=True)
    return rows_of(torch.cat([piece.reshape(-1) for piece in gradient]), parameters)


def dense_gauss_newton(model, loss):
    """``Jᵀ (∇²_f L) J`` with the dense Jacobian of the logits and the formula of ``∇²_f L``."""
    parameters = list(model.parameters())
    logits = loss(model, TOKENS)[1]
    jacobian = rows_of(logits.flatten(), parameters)
    jacobian = jacobian.view(-1, 7, jacobian.shape[1])
    curvature = torch.eye(7, dtype=torch.float64).expand(len(jacobian), 7, 7)
    if loss is language.language_loss:
        q = logits.detach().flatten(0, 1).softmax(dim=-1)
        curvature = torch.diag_embed(q) - q[:, :, None] * q[:, None, :]
    return torch.einsum("nap,nab,nbq->pq", jacobian, curvature, jacobian) / len(jacobian)


CASES = [
    *((variant, 0.0, language.language_loss) for variant in language.ARMS),
    ("attention", 0.0, language.language_loss),
    ("attention", 2.0, language.language_loss),
    ("attention", 2.0, language.squared_loss),
    ("no attention", 0.0, language.language_loss),
    ("no norm weights", 2.0, language.language_loss),
]


@pytest.mark.parametrize(("variant", "bias", "loss"), CASES)
def test_products_are_those_of_dense_autograd(variant, bias, loss):
    model = built(variant, bias, layers=1)
    # Two batches of different sizes, which the first names and the second has measured.
    data = [TOKENS[:1], TOKENS[1:]]
    vectors = draw(sum(parameter.numel() for parameter in model.parameters()), 3)
    named = cv.Problem(model, loss_fn=loss, data=data, weights=len)
    measured = cv.Problem(model, loss_fn=loss, data=data)
    hessian, gauss_newton = dense_hessian(model, loss), dense_gauss_newton(model, loss)
    for problem in (named, measured)[: 2 if variant == "attention" else 1]:
        product = cv.hessian(problem, check=False) @ vectors
        torch.testing.assert_close(product, hessian @ vectors, rtol=1e-9, atol=1e-10)
        product = cv.ggn(problem, check=False) @ vectors
        torch.testing.assert_close(product, gauss_newton @ vectors, rtol=1e-9, atol=1e-10)
    # The loss is far from its linearisation here.
    assert (hessian - gauss_newton).norm() > 0.1 * hessian.norm()


@pytest.mark.parametrize("variant", ["attention", "no norm weights"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_logits_are_those_of_transformers_eager_attention(variant, dtype):
    model = built(variant).to(dtype)
    other = eager(model) if variant == "attention" else copy.deepcopy(model)
    other.set_attn_implementation("eager")
    assert torch.equal(model(TOKENS).logits, other(TOKENS).logits)
    language.fuse_attention(other)
    assert other.config._attn_implementation == "sdpa"
    torch.testing.assert_close(model(TOKENS).logits, other(TOKENS).logits)


def test_claims_call_the_networks_as_they_are_called():
    """Claims load no torch, and have the names in a module of their own."""
    names = {seeds.ATTENTION, seeds.TWIN, seeds.NO_NORM_WEIGHTS}
    assert names == {*language.VARIANTS} - {*language.ARMS}


def test_without_attention_no_token_sees_another():
    model = built("no attention")
    changed = TOKENS.clone()
    changed[:, 0] = (changed[:, 0] + 1) % 7
    assert torch.equal(model(TOKENS).logits[:, 1:], model(changed).logits[:, 1:])
    assert not torch.equal(model(TOKENS).logits[:, 0], model(changed).logits[:, 0])


@pytest.mark.parametrize("variant", ["uniform attention", "fixed attention"])
def test_patterns_are_those_of_positions_alone(variant):
    shape = replace(TINY, variant=variant)
    model, other = (language.gpt2(shape, seed).eval() for seed in (0, 1))
    patterns = [block.attn.pattern for block in model.transformer.h]
    for pattern in patterns:
        torch.testing.assert_close(pattern.sum(dim=-1), torch.ones(2, 5))
        assert not pattern.triu(1).any()
    uniform = torch.ones(5, 5).tril() / torch.arange(1, 6)[:, None]
    if variant == "uniform attention":
        assert all(torch.allclose(pattern, uniform) for pattern in patterns)
    else:
        heads = torch.cat([*patterns, *(block.attn.pattern for block in other.transformer.h)])
        assert all(not torch.allclose(*pair) for pair in itertools.combinations(heads, 2))
    # The first attention's output is the pattern's mean of the values, and nothing of the queries.
    attention = model.transformer.h[0].attn
    hidden = draw(1, 4, 4).float()
    values = attention.c_attn(hidden)[..., 8:].view(1, 4, 2, 2)
    mixed = torch.einsum("hqk,bkhd->bqhd", patterns[0][:, :4, :4], values).flatten(2)
    torch.testing.assert_close(attention(hidden)[0], attention.c_proj(mixed))
    language.fuse_attention(model)  # torch's kernel has no patterns
    mass = language.attention_mass(model, TOKENS)
    expected = torch.stack([pattern[:, :4, 0].mean(dim=-1) for pattern in patterns])
    torch.testing.assert_close(mass, expected)


def test_one_part_is_changed_and_no_other():
    models = {name: built(name, layers=1) for name in ("attention", "ReLU", "RMS norm", "no norm")}
    hidden = draw(2, 3, 4)
    own = models["attention"].transformer
    torch.testing.assert_close(models["ReLU"].transformer.h[0].mlp.act(hidden), hidden.relu())
    assert not torch.equal(own.h[0].mlp.act(hidden), hidden.relu())
    root = (hidden.square().mean(dim=-1, keepdim=True) + own.ln_f.eps).sqrt()
    norm = models["RMS norm"].transformer.ln_f
    torch.testing.assert_close(norm(hidden), norm.weight * hidden / root)
    assert torch.equal(models["no norm"].transformer.ln_f(hidden), hidden)
    names = {name: {key for key, _ in model.named_parameters()} for name, model in models.items()}
    norms = {key for key in names["attention"] if ".ln_" in key}
    assert names["ReLU"] == names["attention"]
    assert names["RMS norm"] == names["attention"] - {key for key in norms if key.endswith("bias")}
    assert names["no norm"] == names["attention"] - norms


@pytest.mark.parametrize("shape", [SMALL, DEMO], ids=["124M", "demo"])
def test_the_twin_without_attention_is_as_large(shape):
    own = language.parameter_count(shape)
    twin = language.parameter_count(replace(shape, variant="no attention"))
    assert own != twin
    assert abs(twin - own) < 0.01 * own
    w, blocks = shape.width, 3 * shape.layers // 2
    embeddings, norm = (shape.vocabulary + shape.context) * w, 2 * w
    assert twin == embeddings + blocks * (8 * w**2 + 5 * w + norm) + norm


def test_without_norm_weights_nothing_else_is_missing():
    own, twin = (built(variant) for variant in ("attention", "no norm weights"))
    names = {name for name, _ in own.named_parameters()}
    without = {name for name, _ in twin.named_parameters()}
    assert without < names
    assert {name.split(".")[-2] for name in names - without} == {"ln_1", "ln_2", "ln_f"}
    with torch.no_grad():
        for name, parameter in own.named_parameters():
            if name in without:
                parameter.copy_(twin.get_parameter(name))
            else:
                parameter.fill_(1.0 if name.endswith("weight") else 0.0)
    torch.testing.assert_close(own(TOKENS).logits, twin(TOKENS).logits, rtol=1e-12, atol=1e-12)


def test_weights_are_drawn_by_seed_and_purpose():
    shape = replace(DEMO, width=64)
    state = torch.random.get_rng_state()
    first, again, other = (language.gpt2(shape, seed) for seed in (0, 0, 1))
    assert torch.equal(state, torch.random.get_rng_state())
    for name, parameter in first.named_parameters():
        assert parameter.dtype == torch.float32
        assert torch.equal(parameter, again.get_parameter(name))
        if parameter.ndim == 1:
            assert set(parameter.tolist()) == ({0.0} if name.endswith("bias") else {1.0}), name
            continue
        assert not torch.equal(parameter, other.get_parameter(name))
        expected = 0.02 / math.sqrt(8) if name.endswith("c_proj.weight") else 0.02
        error = expected / math.sqrt(2 * parameter.numel())
        assert abs(float(parameter.detach().square().mean().sqrt()) - expected) < 5 * error, name
    assert first.lm_head.weight is first.transformer.wte.weight


def test_variants_share_what_they_have_in_common():
    models = {
        variant: language.gpt2(replace(TINY, variant=variant), seed=3)
        for variant in language.VARIANTS
    }
    own, without = (models.pop(variant) for variant in ("attention", "no attention"))
    for model in models.values():
        for name, parameter in model.named_parameters():
            assert torch.equal(parameter, own.get_parameter(name)), name
    for name in ("wte", "wpe"):
        both = [model.transformer.get_submodule(name).weight for model in (own, without)]
        assert torch.equal(*both)
    last = without.transformer.h[2].mlp.c_proj.weight
    assert float(last.detach().std()) == pytest.approx(0.02 / math.sqrt(3), rel=0.4)


def test_nothing_is_printed_and_nothing_stays_changed(capfd, tmp_path, monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    logging = transformers.utils.logging
    before = logging.get_verbosity(), logging.is_progress_bar_enabled(), torch.get_default_dtype()
    model = language.gpt2(TINY, seed=0).eval()
    language.save(model, tmp_path, "own")
    language.load(tmp_path, "own")
    eager(model).save_pretrained(tmp_path / "theirs", variant=None)
    capfd.readouterr()
    model(TOKENS)
    language.attention_mass(model, TOKENS)
    language.load(tmp_path, "theirs")
    assert tuple(capfd.readouterr()) == ("", "")
    after = logging.get_verbosity(), logging.is_progress_bar_enabled(), torch.get_default_dtype()
    assert before == after
    assert model.transformer.h[0].attn._forward_hooks == {}


def attentions(model):
    """The weights ``(B, heads, T, T)`` of each layer, as transformers gives them."""
    return eager(model)(TOKENS[:, :-1], output_attentions=True).attentions


@pytest.mark.parametrize("token", [0, 2, 3])
def test_attention_mass_is_the_mean_over_those_that_can_see(token):
    model = built()
    expected = torch.zeros(2, 2, dtype=torch.float64)
    for layer, weights in enumerate(attentions(model)):
        for head in range(2):
            seen = [w[head][query][token] for w in weights for query in range(token, 4)]
            expected[layer, head] = sum(seen) / len(seen)
    torch.testing.assert_close(language.attention_mass(model, TOKENS, token), expected)


@pytest.mark.parametrize(("token", "head"), [(0, 0), (2, 1)])
def test_a_sink_multiplies_the_odds_of_one_key_in_one_head(token, head):
    model = built()
    bias = 1.5
    before = attentions(model)[0]
    odds = before[:, head, token:, token] / (1 - before[:, head, token:, token])
    # The first token sees itself alone.
    odds = odds[:, 1:] if token == 0 else odds
    expected = (odds * math.exp(bias) / (1 + odds * math.exp(bias))).sum(dim=1)
    expected = (expected + (token == 0)) / (4 - token)
    mass = language.attention_mass(model, TOKENS, token)
    language.set_sink(model, bias, token, head)
    changed = language.attention_mass(model, TOKENS, token)
    torch.testing.assert_close(changed[0, head], expected.mean())
    assert torch.equal(changed[0, 1 - head], mass[0, 1 - head])
    # In every block: the second one is changed beyond what its inputs change.
    assert changed[1, head] > mass[1, head]


def test_a_sink_is_a_models_own_and_zero_is_none_bit_for_bit():
    model = built()
    original, short = model(TOKENS).logits, model(TOKENS[:, :2]).logits
    language.set_sink(model, 2.0)
    twin, with_sink = copy.deepcopy(model), model(TOKENS).logits
    assert not torch.equal(with_sink, original)
    assert torch.equal(twin(TOKENS).logits, with_sink)
    language.set_sink(twin, 5.0, token=4)
    assert torch.equal(twin(TOKENS[:, :2]).logits, short), "it is beyond the sequence"
    assert not torch.equal(twin(TOKENS).logits, with_sink)
    assert torch.equal(model(TOKENS).logits, with_sink)
    language.set_sink(model, 0.0)
    assert torch.equal(model(TOKENS).logits, original)


def test_losses_are_what_they_are_called():
    model = built()
    loss, logits = language.language_loss(model, TOKENS)
    torch.testing.assert_close(loss.float(), model(TOKENS, labels=TOKENS).loss.float())
    assert logits.shape == (3, 4, 7)
    targets = nn.functional.one_hot(TOKENS[:, 1:], 7).double()
    squared, same = language.squared_loss(model, TOKENS)
    assert torch.equal(same, logits)
    torch.testing.assert_close(squared, (logits - targets).square().sum(-1).mean() / 2)
    (gradient,) = torch.autograd.grad(12 * loss, logits)  # 12 positions
    norm = language.residual_norm(logits, TOKENS)
    assert norm == pytest.approx(float(gradient.norm(dim=-1).mean()), rel=1e-12)


@each_variant
def test_a_file_gives_the_same_model_again(variant, tmp_path):
    shape = replace(TINY, variant=variant, dropout=0.25)
    model = language.gpt2(shape, seed=5).eval()
    language.save(model, tmp_path / "weights", "10")
    actual = language.load(tmp_path / "weights", "10")
    assert language.shape_of(actual) == shape
    assert not actual.training
    assert torch.equal(actual(TOKENS).logits, model(TOKENS).logits)
    assert [path.name for path in (tmp_path / "weights").iterdir()] == ["10.safetensors"]


def test_a_file_that_is_not_there_cut_off_or_foreign_is_named(tmp_path):
    from safetensors.torch import save_file

    language.save(language.gpt2(TINY, seed=0), tmp_path, "whole")
    whole = (tmp_path / "whole.safetensors").read_bytes()
    with pytest.raises(FileNotFoundError, match=r"none\.safetensors: expected a file with weights"):
        language.load(tmp_path, "none")
    for length in (0, 5, 200, len(whole) - 1):
        (tmp_path / "cut.safetensors").write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"cut\.safetensors: cut off or no safetensors file"):
            language.load(tmp_path, "cut")
    save_file({"x": torch.ones(1)}, tmp_path / "foreign.safetensors")
    with pytest.raises(ValueError, match=r"foreign\.safetensors: expected the shape of a GPT-2"):
        language.load(tmp_path, "foreign")
    shape = '{"layers": 1, "width": 2, "heads": 1, "context": 1, "vocabulary": 3, "variant": "%s"}'
    save_file({"x": torch.ones(1)}, tmp_path / "odd.safetensors", {"shape": shape % "other"})
    with pytest.raises(ValueError, match="expected the shape of a GPT-2"):
        language.load(tmp_path, "odd")
    save_file({"x": torch.ones(1)}, tmp_path / "few.safetensors", {"shape": shape % "attention"})
    with pytest.raises(
        ValueError, match=r"expected transformer\.h\.0\S+ of shape \(.*\), got none"
    ):
        language.load(tmp_path, "few")


def test_a_folder_of_something_else_is_named(tmp_path):
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "gpt2"
    eager(language.gpt2(TINY, seed=0)).save_pretrained(folder)
    weights = load_file(folder / "model.safetensors")
    dropped = {key: value for key, value in weights.items() if "h.1.ln_2" not in key}
    save_file(dropped, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ValueError, match=r"expected weights transformer\.h\.1\.ln_2\.bias"):
        language.load(tmp_path, "gpt2")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ValueError, match=r"gpt2: no weights of a GPT2LMHeadModel \(.*\)$"):
        language.load(tmp_path, "gpt2")
