"""Programs as users of JAX packages write them: prints one, lowered, as StableHLO text.

    programs.py NAME > program.mlir
    programs.py --list
"""
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.setdefault("KERAS_BACKEND", "jax")

import jax
import jax.numpy as jnp
from common import F32, I32, SHAPE, cross_entropy, key, shapes, trained
from kinds import KINDS


def gpt2(**sizes):
    from transformers import FlaxGPT2LMHeadModel, GPT2Config
    model = FlaxGPT2LMHeadModel(GPT2Config(**sizes), _do_init=False)
    params = jax.eval_shape(lambda k: model.init_weights(k, (1, 8)), key())

    def loss(p, tokens, k):
        return cross_entropy(model(tokens[:, :-1], params=p, train=True, dropout_rng=k).logits, tokens[:, 1:])
    return trained(loss, params, SHAPE((32, 513), I32))


def transformers_gpt2():
    """FlaxGPT2LMHeadModel, 12 layers, training with dropout"""
    return gpt2()


def transformers_gpt2_xl():
    """FlaxGPT2LMHeadModel of GPT-2 XL, 48 layers, training with dropout"""
    return gpt2(n_embd=1600, n_layer=48, n_head=25)


def bert(**sizes):
    from transformers import BertConfig, FlaxBertForMaskedLM
    model = FlaxBertForMaskedLM(BertConfig(**sizes), _do_init=False)
    params = jax.eval_shape(lambda k: model.init_weights(k, (1, 8)), key())

    def loss(p, b, k):
        return cross_entropy(model(b["ids"], params=p, train=True, dropout_rng=k).logits, b["labels"])
    return trained(loss, params, {"ids": SHAPE((32, 512), I32), "labels": SHAPE((32, 512), I32)})


def transformers_bert():
    """FlaxBertForMaskedLM, 12 layers, training with dropout"""
    return bert()


def transformers_bert_large():
    """FlaxBertForMaskedLM of BERT large, 24 layers, training with dropout"""
    return bert(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)


def t5(**sizes):
    from transformers import FlaxT5ForConditionalGeneration, T5Config
    clip = jnp.clip  # the package calls it by names that JAX has dropped since
    jnp.clip = lambda x, a_min=None, a_max=None, **more: clip(x, a_min, a_max, **more)
    model = FlaxT5ForConditionalGeneration(T5Config(decoder_start_token_id=0, **sizes), _do_init=False)
    params = jax.eval_shape(lambda k: model.init_weights(k, (1, 8)), key())

    def loss(p, b, k):
        return cross_entropy(model(b["ids"], decoder_input_ids=b["shifted"], params=p, train=True, dropout_rng=k).logits, b["labels"])
    return trained(loss, params, {"ids": SHAPE((32, 512), I32), "shifted": SHAPE((32, 128), I32), "labels": SHAPE((32, 128), I32)})


def transformers_t5():
    """FlaxT5ForConditionalGeneration, 8 + 8 layers, training"""
    return t5(num_layers=8)


def transformers_t5_3b():
    """FlaxT5ForConditionalGeneration of T5-3B, 24 + 24 layers, training"""
    return t5(d_model=1024, d_kv=128, d_ff=16384, num_layers=24, num_heads=32)


def transformers_vit():
    """FlaxViTForImageClassification, 12 layers, training with dropout"""
    from transformers import FlaxViTForImageClassification, ViTConfig
    model = FlaxViTForImageClassification(ViTConfig(num_labels=1024, hidden_dropout_prob=0.1), _do_init=False)
    params = jax.eval_shape(lambda k: model.init_weights(k, (1, 224, 224, 3)), key())

    def loss(p, b, k):
        return cross_entropy(model(b["images"], params=p, train=True, dropout_rng=k).logits, b["labels"])
    return trained(loss, params, {"images": SHAPE((256, 3, 224, 224), F32), "labels": SHAPE((256,), I32)})


def diffusers_unet():
    """FlaxUNet2DConditionModel, widths 320 640 1280 1280, training"""
    from diffusers import FlaxUNet2DConditionModel
    model = FlaxUNet2DConditionModel(sample_size=64, cross_attention_dim=768)
    params = jax.eval_shape(model.init_weights, key())

    def loss(p, b, k):
        noise = jax.random.normal(k, b["x"].shape)
        return jnp.mean((model.apply({"params": p}, b["x"] + noise, b["t"], b["text"]).sample - noise) ** 2)
    return trained(loss, params, {"x": SHAPE((16, 4, 64, 64), F32), "t": SHAPE((16,), I32), "text": SHAPE((16, 77, 768), F32)})


def mamba2():
    """Mamba2ForCausalLM, 8 layers, training"""
    from flax import nnx
    from mamba2_jax import Mamba2Config, Mamba2ForCausalLM
    config = Mamba2Config(vocab_size=32768, hidden_size=1024, num_hidden_layers=8, head_dim=64, state_size=128)
    model = nnx.eval_shape(lambda: Mamba2ForCausalLM(config, rngs=nnx.Rngs(0)))
    graph, params, rest = nnx.split(model, nnx.Param, ...)

    def loss(p, tokens, k):
        out = nnx.merge(graph, p, jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), rest))(tokens[:, :-1])
        return cross_entropy(out["logits"] if isinstance(out, dict) else out.logits, tokens[:, 1:])
    return trained(loss, params, SHAPE((32, 1025), I32))


def flax_nnx():
    """nnx transformer with dropout, 8 layers, training"""
    from flax import nnx

    class Block(nnx.Module):
        def __init__(self, width, rngs):
            self.ln1, self.ln2 = nnx.LayerNorm(width, rngs=rngs), nnx.LayerNorm(width, rngs=rngs)
            self.attention = nnx.MultiHeadAttention(16, width, decode=False, rngs=rngs)
            self.up, self.down = nnx.Linear(width, 4 * width, rngs=rngs), nnx.Linear(4 * width, width, rngs=rngs)
            self.dropout = nnx.Dropout(0.1, rngs=rngs)

        def __call__(self, x):
            x = x + self.dropout(self.attention(self.ln1(x)))
            return x + self.down(nnx.gelu(self.up(self.ln2(x))))

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.embed = nnx.Embed(32768, 1024, rngs=rngs)
            self.blocks = nnx.List([Block(1024, rngs) for _ in range(8)])

        def __call__(self, tokens):
            x = self.embed(tokens)
            for block in self.blocks:
                x = block(x)
            return self.embed.attend(x)

    model = nnx.eval_shape(lambda: Model(nnx.Rngs(0)))
    graph, params, rest = nnx.split(model, nnx.Param, ...)

    def step(params, state, rest, tokens):
        def loss(p, rest):
            m = nnx.merge(graph, p, jax.tree.map(lambda x: x, rest))  # variables of this trace
            return cross_entropy(m(tokens[:, :-1]), tokens[:, 1:]), nnx.state(m, nnx.Not(nnx.Param))
        (value, after), grads = jax.value_and_grad(loss, has_aux=True, allow_int=True)(params, rest)
        updates, state = opt.update(grads, state, params)
        return optax.apply_updates(params, updates), state, after, value
    import optax
    opt = optax.adamw(1e-4)
    return step, (0, 1, 2), (params, jax.eval_shape(opt.init, params), rest, SHAPE((32, 513), I32))


def haiku_transformer():
    """hk.MultiHeadAttention and hk.Linear, 12 layers, training with lamb"""
    import haiku as hk
    import optax

    def forward(tokens):
        x = hk.Embed(32768, 1024)(tokens)
        for _ in range(12):
            y = hk.LayerNorm(-1, True, True)(x)
            x = x + hk.MultiHeadAttention(16, 64, w_init=hk.initializers.VarianceScaling(), model_size=1024)(y, y, y)
            x = x + hk.Linear(1024)(jax.nn.gelu(hk.Linear(4096)(hk.LayerNorm(-1, True, True)(x))))
        return hk.Linear(32768)(x)
    model = hk.without_apply_rng(hk.transform(forward))
    params = jax.eval_shape(model.init, key(), SHAPE((1, 8), I32))
    return trained(lambda p, t, k: cross_entropy(model.apply(p, t[:, :-1]), t[:, 1:]), params, SHAPE((32, 513), I32), optax.lamb(1e-3))


def jraph_network():
    """jraph.GraphNetwork with haiku MLPs, 6 rounds of message passing, training"""
    import haiku as hk
    import jraph
    nodes, edges, width = 65536, 262144, 256

    def forward(b):
        g = jraph.GraphsTuple(nodes=b["nodes"], edges=b["edges"], senders=b["senders"], receivers=b["receivers"], globals=None,
                              n_node=jnp.array([nodes]), n_edge=jnp.array([edges]))
        for _ in range(6):
            g = jraph.GraphNetwork(lambda e, s, r, _: hk.nets.MLP([width, width])(jnp.concatenate([e, s, r], -1)),
                                   lambda n, s, r, _: hk.nets.MLP([width, width])(jnp.concatenate([n, s, r], -1)))(g)
        return hk.Linear(1)(g.nodes)[:, 0]
    model = hk.without_apply_rng(hk.transform(forward))
    batch = {"nodes": SHAPE((nodes, width), F32), "edges": SHAPE((edges, width), F32), "senders": SHAPE((edges,), I32),
             "receivers": SHAPE((edges,), I32), "labels": SHAPE((nodes,), F32)}
    params = jax.eval_shape(model.init, key(), batch)
    return trained(lambda p, b, k: jnp.mean((model.apply(p, b) - b["labels"]) ** 2), params, batch)


def keras_transformer():
    """keras.Model of MultiHeadAttention and Dense layers, 6 blocks, stateless training step"""
    import keras
    x = inputs = keras.Input((512,), dtype="int32")
    x = keras.layers.Embedding(32768, 512)(x)
    for _ in range(6):
        y = keras.layers.LayerNormalization()(x)
        x = x + keras.layers.MultiHeadAttention(8, 64)(y, y)
        x = x + keras.layers.Dense(512)(keras.layers.Dense(2048, activation="gelu")(keras.layers.LayerNormalization()(x)))
    model = keras.Model(inputs, keras.layers.Dense(32768)(x))
    optimizer = keras.optimizers.Adam(1e-4)
    optimizer.build(model.trainable_variables)

    def values(variables):
        return [SHAPE(v.shape, v.value.dtype) for v in variables]
    fixed = values(model.non_trainable_variables)

    def step(trainable, state, fixed, batch):
        def loss(t):
            logits, after = model.stateless_call(t, fixed, batch["tokens"])
            return cross_entropy(logits, batch["labels"]), after
        (value, after), grads = jax.value_and_grad(loss, has_aux=True)(trainable)
        trainable, state = optimizer.stateless_apply(state, grads, trainable)
        return trainable, state, after, value
    tokens = SHAPE((64, 512), I32)
    return step, (0, 1, 2), (values(model.trainable_variables), values(optimizer.variables), fixed, {"tokens": tokens, "labels": tokens})


def equinox_transformer():
    """eqx.nn.MultiheadAttention and Linear under vmap, 8 layers, training"""
    import equinox as eqx

    def build(k):
        layers = []
        for k in jax.random.split(k, 8):
            a, b, c = jax.random.split(k, 3)
            layers.append((eqx.nn.LayerNorm(512), eqx.nn.MultiheadAttention(8, 512, key=a), eqx.nn.LayerNorm(512), eqx.nn.MLP(512, 512, 2048, 1, key=b)))
        return eqx.nn.Embedding(32768, 512, key=c), layers
    model = eqx.filter_eval_shape(build, key())
    params, static = eqx.partition(model, lambda x: isinstance(x, SHAPE))

    def loss(p, tokens, k):
        embed, layers = eqx.combine(p, static)

        def one(t):
            x = jax.vmap(embed)(t)
            for ln1, attention, ln2, mlp in layers:
                y = jax.vmap(ln1)(x)
                x = x + attention(y, y, y)
                x = x + jax.vmap(lambda z: mlp(ln2(z)))(x)
            return x @ embed.weight.T
        return cross_entropy(jax.vmap(one)(tokens[:, :-1]), tokens[:, 1:])
    return trained(loss, params, SHAPE((64, 257), I32))


def diffrax_ode():
    """neural ODE solved with Tsit5, adaptive steps, training through the solver"""
    import diffrax
    import equinox as eqx
    model = eqx.filter_eval_shape(lambda k: eqx.nn.MLP(64, 64, 1024, 3, activation=jax.nn.softplus, key=k), key())
    params, static = eqx.partition(model, lambda x: isinstance(x, SHAPE))

    def loss(p, b, k):
        field = eqx.combine(p, static)

        def one(y0):
            return diffrax.diffeqsolve(diffrax.ODETerm(lambda t, y, _: field(y)), diffrax.Tsit5(), 0.0, 1.0, 0.1, y0,
                                       stepsize_controller=diffrax.PIDController(1e-3, 1e-6), saveat=diffrax.SaveAt(t1=True)).ys[0]
        return jnp.mean((jax.vmap(one)(b["x"]) - b["y"]) ** 2)
    return trained(loss, params, {"x": SHAPE((4096, 64), F32), "y": SHAPE((4096, 64), F32)})


def numpyro_svi():
    """stochastic variational inference of a Bayesian neural network"""
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal

    def model(x, y):
        w1 = numpyro.sample("w1", dist.Normal(jnp.zeros((256, 1024)), 1.0).to_event(2))
        w2 = numpyro.sample("w2", dist.Normal(jnp.zeros((1024, 1024)), 1.0).to_event(2))
        w3 = numpyro.sample("w3", dist.Normal(jnp.zeros((1024,)), 1.0).to_event(1))
        with numpyro.plate("data", x.shape[0]):
            numpyro.sample("y", dist.Normal(jnp.tanh(jnp.tanh(x @ w1) @ w2) @ w3, 1.0), obs=y)
    svi = SVI(model, AutoNormal(model), numpyro.optim.Adam(1e-3), Trace_ELBO())
    x, y = SHAPE((65536, 256), F32), SHAPE((65536,), F32)
    state = shapes(svi.init(jax.random.PRNGKey(0), jnp.zeros((8, 256)), jnp.zeros(8)))
    return svi.update, (0,), (state, x, y)


def blackjax_hmc():
    """one step of Hamiltonian Monte Carlo, 1024 chains of a logistic regression"""
    import blackjax

    def step(keys, states, x, y):
        kernel = blackjax.hmc(lambda w: -jnp.sum(jnp.logaddexp(0.0, -y * (x @ w))) - 0.5 * jnp.sum(w * w), 1e-3, jnp.ones(256), 10)
        return jax.vmap(kernel.step)(keys, states)
    x, y = SHAPE((16384, 256), F32), SHAPE((16384,), F32)
    state = jax.eval_shape(lambda x, y, w: jax.vmap(lambda w: blackjax.hmc.init(w, lambda w: jnp.sum(x @ w)))(w), x, y, SHAPE((1024, 256), F32))
    return step, (1,), (SHAPE((1024, 2), jnp.uint32), state, x, y)


def evosax_open_es():
    """Open_ES: ask, evaluate a policy network, tell; 4096 members"""
    from evosax.algorithms import Open_ES
    es = Open_ES(population_size=4096, solution=jnp.zeros((64 * 256 + 256 * 16,)))
    state = shapes(es.init(jax.random.PRNGKey(0), jnp.zeros((64 * 256 + 256 * 16,)), es.default_params))
    params = shapes(es.default_params)

    def step(key, state, params, x, y):
        members, state = es.ask(key, state, params)

        def loss(m):
            return jnp.mean((jnp.tanh(x @ m[:64 * 256].reshape(64, 256)) @ m[64 * 256:].reshape(256, 16) - y) ** 2)
        state, _ = es.tell(key, members, jax.vmap(loss)(members), state, params)
        return state
    return step, (1,), (key(), state, params, SHAPE((512, 64), F32), SHAPE((512, 16), F32))


def jax_md_nve():
    """100 steps of NVE dynamics, 4096 soft spheres"""
    from jax_md import energy, simulate, space
    displacement, shift = space.periodic(40.0)
    init, apply = simulate.nve(energy.soft_sphere_pair(displacement), shift, 1e-3)

    def step(state):
        return jax.lax.fori_loop(0, 100, lambda _, s: apply(s), state)
    return step, (0,), (jax.eval_shape(lambda k, r: init(k, r, kT=0.1), key(), SHAPE((4096, 3), F32)),)


def brax_env():
    """ant with spring dynamics, 4096 environments, one step"""
    from brax import envs
    env = envs.create("ant", backend="spring", auto_reset=True)
    state = jax.eval_shape(jax.vmap(env.reset), SHAPE((4096, 2), jnp.uint32))
    return jax.vmap(env.step), (0,), (state, SHAPE((4096, env.action_size), F32))


def mujoco_mjx():
    """mjx.step of a chain of links, 4096 environments"""
    import mujoco
    from mujoco import mjx
    links = "".join('<body pos="0 0 -0.2"><joint type="hinge" axis="0 1 0"/><geom type="capsule" size="0.04" fromto="0 0 0 0 0 -0.2"/>' for _ in range(5))
    xml = "<mujoco><worldbody>" + links + "</body>" * 5 + "</worldbody></mujoco>"
    model = mjx.put_model(mujoco.MjModel.from_xml_string(xml))
    data = jax.eval_shape(lambda n: jax.vmap(lambda _: mjx.make_data(model))(n), SHAPE((4096,), F32))
    return jax.vmap(lambda d: mjx.step(model, d)), (0,), (data,)


def penzai_transformer():
    """penzai's Llama-like transformer, 4 layers, forward"""
    from penzai import pz
    from penzai.models.transformer.variants import llamalike_common as common
    config = common.LlamalikeTransformerConfig(num_kv_heads=8, query_head_multiplier=1, embedding_dim=1024, projection_dim=128,
                                               mlp_hidden_dim=4096, num_decoder_blocks=4, vocab_size=32768, mlp_variant="swiglu",
                                               tie_embedder_and_logits=False)
    model, params = jax.eval_shape(lambda k: pz.unbind_params(common.build_llamalike_transformer(config, init_base_rng=k), freeze=True), key())

    def forward(model, params, tokens):
        bound = pz.bind_variables(model, params)
        tokens = pz.nx.wrap(tokens).tag("batch", "seq")
        return bound(tokens, token_positions=pz.nx.arange("seq", 512)).unwrap("batch", "seq", "vocabulary")
    return forward, (), (model, params, SHAPE((32, 512), I32))


def nano_moe():
    """NanoMoE, 8 layers of 8 experts, top 2, training with dropout"""
    from nano_moe.config import NanoMoEConfig
    from nano_moe.train import create_train_state, train_step
    config = NanoMoEConfig(vocab_size=32768, n_layers=8, n_heads=16, d_model=1024, d_ff=4096, n_experts=8, block_size=512)
    state = jax.eval_shape(lambda k: create_train_state(k, config), key())
    tokens = SHAPE((32, 512), I32)
    return lambda state, x, y: train_step(state, x, y, config), (0,), (state, tokens, tokens)


def e1jax_masked():
    """E1 of 150M parameters, 20 layers, masked protein sequences, training"""
    import equinox as eqx
    from e1jax import E1
    from e1jax._model import MODEL_HYPERPARAMS
    model = eqx.filter_eval_shape(lambda k: E1(**MODEL_HYPERPARAMS["E1-150m"], key=k), key())
    params, static = eqx.partition(model, lambda x: isinstance(x, SHAPE))

    def loss(p, b, k):
        whole = eqx.combine(p, static)

        def one(tokens):
            places = jnp.arange(tokens.shape[0])
            return whole(tokens, places, places, jnp.zeros_like(tokens), tokens == 0)[0]
        return cross_entropy(jax.vmap(one)(b["tokens"]), b["labels"])
    return trained(loss, params, {"tokens": SHAPE((32, 512), I32), "labels": SHAPE((32, 512), I32)})


def tunix_step(config, batch, adapt=None):
    """A step with Tunix's own loss; the base of low-rank adapters comes with the batch, as it does not change."""
    from flax import nnx
    from tunix.models.qwen3 import model as qwen3
    from tunix.sft.peft_trainer import _default_loss_fn

    def build():
        model = qwen3.Qwen3(getattr(qwen3.ModelConfig, config)(), rngs=nnx.Rngs(params=0, lora=0))
        return adapt(model) if adapt else model
    graph, trainable, base = nnx.split(nnx.eval_shape(build), nnx.LoRAParam if adapt else nnx.Param, ...)

    def loss(p, b, k):
        tokens = b["tokens"]
        n = tokens.shape[1]
        places = jnp.broadcast_to(jnp.arange(n), tokens.shape)
        causal = jnp.broadcast_to(jnp.tril(jnp.ones((n, n), jnp.bool_)), (tokens.shape[0], n, n))
        return _default_loss_fn(nnx.merge(graph, p, b["base"]), tokens, b["mask"], places, causal)
    return trained(loss, shapes(trainable), {"tokens": SHAPE(batch, I32), "mask": SHAPE(batch, jnp.bool_), "base": shapes(base)})


def tunix_tuning():
    """Qwen3 0.6B, 28 layers, supervised fine-tuning of all weights"""
    return tunix_step("qwen3_0p6b", (16, 1024))


def tunix_lora():
    """Qwen3 1.7B, 28 layers, fine-tuning of low-rank adapters of Qwix"""
    import qwix
    from flax import nnx

    def adapt(model):
        provider = qwix.LoraProvider(module_path=".*(q_proj|kv_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj)", rank=16, alpha=16.0)
        return qwix.apply_lora_to_model(model, provider, rngs=nnx.Rngs(0), **model.get_model_input())
    return tunix_step("qwen3_1p7b", (16, 1024), adapt)


PROGRAMS = {
    "transformers-gpt2": ("transformers", transformers_gpt2), "transformers-gpt2-xl": ("transformers", transformers_gpt2_xl),
    "transformers-bert": ("transformers", transformers_bert), "transformers-bert-large": ("transformers", transformers_bert_large),
    "transformers-t5": ("transformers", transformers_t5), "transformers-t5-3b": ("transformers", transformers_t5_3b),
    "transformers-vit": ("transformers", transformers_vit),
    "diffusers-unet": ("diffusers", diffusers_unet), "mamba2": ("mamba2-jax", mamba2), "flax-nnx": ("flax", flax_nnx),
    "haiku-lamb": ("dm-haiku", haiku_transformer), "jraph": ("jraph", jraph_network), "keras": ("keras", keras_transformer),
    "equinox": ("equinox", equinox_transformer), "diffrax": ("diffrax", diffrax_ode), "numpyro": ("numpyro", numpyro_svi),
    "blackjax": ("blackjax", blackjax_hmc), "evosax": ("evosax", evosax_open_es), "jax-md": ("jax-md", jax_md_nve),
    "brax": ("brax", brax_env), "mujoco-mjx": ("mujoco-mjx", mujoco_mjx), "penzai": ("penzai", penzai_transformer),
    "nano-moe": ("nano-moe-jax", nano_moe), "e1jax": ("e1jax", e1jax_masked),
    "tunix": ("google-tunix", tunix_tuning), "tunix-lora": ("google-tunix", tunix_lora),
} | KINDS

if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(*PROGRAMS, sep="\n")
        sys.exit()
    out, sys.stdout = sys.stdout, sys.stderr  # some packages print when they are imported
    step, donated, arguments = PROGRAMS[sys.argv[1]][1]()
    print(jax.jit(step, donate_argnums=donated).lower(*arguments).as_text(debug_info=True), file=out)
