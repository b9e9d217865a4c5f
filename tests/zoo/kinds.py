"""Kinds of training steps that no package of the zoo has by default: optimizers of optax, callbacks and checks."""
import jax
import jax.numpy as jnp
from common import F32, I32, SHAPE, cross_entropy, key, trained

DEPTH, WIDTH, VOCABULARY = 8, 1024, 32768


def model():
    """A language model of gated perceptrons over words, in stacked matrices: its loss, parameters and batch."""
    def loss(p, tokens, k):
        x = p["embedding"][tokens[:, :-1]]
        for layer in p["layers"]:
            x = x + (jax.nn.silu(x @ layer["gate"]) * (x @ layer["up"])) @ layer["down"]
            x = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * layer["scale"]
        return cross_entropy(x @ p["embedding"].T, tokens[:, 1:])
    wide, back = SHAPE((WIDTH, 4 * WIDTH), F32), SHAPE((4 * WIDTH, WIDTH), F32)
    layers = [{"gate": wide, "up": wide, "down": back, "scale": SHAPE((WIDTH,), F32)} for _ in range(DEPTH)]
    return loss, {"embedding": SHAPE((VOCABULARY, WIDTH), F32), "layers": layers}, SHAPE((32, 513), I32)


def optimized(optimizer):
    return trained(*model(), optimizer)


def adafactor():
    """gated perceptrons, 8 layers, training with adafactor"""
    import optax
    return optimized(optax.adafactor(1e-3))


def lion():
    """gated perceptrons, 8 layers, training with lion"""
    import optax
    return optimized(optax.lion(1e-4))


def muon():
    """gated perceptrons, 8 layers, training with muon"""
    import optax
    return optimized(optax.contrib.muon(1e-3))


def schedule_free():
    """gated perceptrons, 8 layers, training with schedule_free_adamw"""
    import optax
    return optimized(optax.contrib.schedule_free_adamw(1e-3))


def multi_steps():
    """gated perceptrons, 8 layers, training with MultiSteps of 4 around adamw"""
    import optax
    return optimized(optax.MultiSteps(optax.adamw(1e-4), 4).gradient_transformation())


def debug_print():
    """gated perceptrons, 8 layers, a step with jax.debug.print of its loss"""
    step, donated, arguments = optimized(None)

    def printing(*of):
        answer = step(*of)
        jax.debug.print("loss {}", answer[2])
        return answer
    return printing, donated, arguments


def pure_callback():
    """gated perceptrons, 8 layers, words weighted by a jax.pure_callback"""
    loss, params, batch = model()

    def weighted(p, tokens, k):
        weight = jax.pure_callback(lambda t: t[:, 0].astype("float32"), SHAPE((tokens.shape[0],), F32), tokens)
        return loss(p, tokens, k) * jnp.mean(weight)
    return trained(weighted, params, batch)


def checkified():
    """gated perceptrons, 8 layers, a step under checkify of NaNs"""
    from jax.experimental import checkify
    step, _, arguments = optimized(None)
    return checkify.checkify(step, errors=checkify.nan_checks), (), arguments


def typed_keys():
    """gated perceptrons, 8 layers, dropout by a typed key that the step splits"""
    loss, params, batch = model()
    step, donated, arguments = trained(lambda p, t, k: loss(dict(p, embedding=p["embedding"] * jax.random.bernoulli(k, 0.9, (VOCABULARY, WIDTH))), t, k), params, batch)

    def split(p, state, batch, k):
        k, own = jax.random.split(k)
        return step(p, state, batch, own) + (k,)
    return split, donated, arguments[:3] + (jax.eval_shape(jax.random.wrap_key_data, key()),)


KINDS = {name.replace("_", "-"): ("jax" if name in ("debug_print", "pure_callback", "checkified", "typed_keys") else "optax", program)
         for name, program in (("adafactor", adafactor), ("lion", lion), ("muon", muon), ("schedule_free", schedule_free), ("multi_steps", multi_steps),
                               ("debug_print", debug_print), ("pure_callback", pure_callback), ("checkified", checkified), ("typed_keys", typed_keys))}
