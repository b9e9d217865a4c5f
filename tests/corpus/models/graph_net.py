"""A graph network on a mesh-like graph: node features are gathered along edges, messages summed by receiving node.
Encoder, several message-passing steps with residual edge and node updates, decoder; the loss is per node."""
import dataclasses

import jax
import jax.numpy as jnp

from models import adam


@dataclasses.dataclass(frozen=True)
class Shape:
    nodes: int
    edges: int
    features: int     # of a node, given and predicted
    edge_features: int
    width: int
    hidden: int
    steps: int


WIDE = Shape(nodes=65536, edges=262144, features=16, edge_features=8, width=256, hidden=512, steps=6)
TINY = Shape(nodes=32, edges=64, features=8, edge_features=4, width=16, hidden=32, steps=2)
DONATED = (0, 1)


def init_mlp(key, fan_in, hidden, fan_out):
    k1, k2 = jax.random.split(key)
    return {"w1": jax.random.normal(k1, (fan_in, hidden)) * fan_in ** -0.5, "b1": jnp.zeros((hidden,)),
            "w2": jax.random.normal(k2, (hidden, fan_out)) * hidden ** -0.5, "b2": jnp.zeros((fan_out,)),
            "scale": jnp.ones((fan_out,))}


def init(key, s):
    keys = jax.random.split(key, 3 + 2 * s.steps)
    steps = [{"edge": init_mlp(keys[3 + 2 * i], 3 * s.width, s.hidden, s.width),
              "node": init_mlp(keys[4 + 2 * i], 2 * s.width, s.hidden, s.width)} for i in range(s.steps)]
    return {"encode_nodes": init_mlp(keys[0], s.features, s.hidden, s.width),
            "encode_edges": init_mlp(keys[1], s.edge_features, s.hidden, s.width),
            "steps": steps, "decode": init_mlp(keys[2], s.width, s.hidden, s.features)}


def batch_of(key, s):
    ks = jax.random.split(key, 5)
    return {"nodes": jax.random.normal(ks[0], (s.nodes, s.features)), "edges": jax.random.normal(ks[1], (s.edges, s.edge_features)),
            "senders": jax.random.randint(ks[2], (s.edges,), 0, s.nodes, jnp.int32),
            "receivers": jax.random.randint(ks[3], (s.edges,), 0, s.nodes, jnp.int32),
            "targets": jax.random.normal(ks[4], (s.nodes, s.features))}


def arguments(key, s):
    params = init(key, s)
    return params, adam.init(params), batch_of(key, s)


def mlp(x, p):
    h = jax.nn.relu(x @ p["w1"].astype(x.dtype) + p["b1"].astype(x.dtype))
    y = (h @ p["w2"].astype(x.dtype) + p["b2"].astype(x.dtype)).astype(jnp.float32)
    mean = jnp.mean(y, axis=-1, keepdims=True)
    var = jnp.mean(jnp.square(y - mean), axis=-1, keepdims=True)
    return ((y - mean) * jax.lax.rsqrt(var + 1e-5) * p["scale"]).astype(x.dtype)


def forward(params, batch):
    nodes = mlp(batch["nodes"].astype(jnp.bfloat16), params["encode_nodes"])
    edges = mlp(batch["edges"].astype(jnp.bfloat16), params["encode_edges"])
    for p in params["steps"]:
        inputs = jnp.concatenate([edges, nodes[batch["senders"]], nodes[batch["receivers"]]], axis=-1)
        edges = edges + mlp(inputs, p["edge"])
        received = jax.ops.segment_sum(edges, batch["receivers"], nodes.shape[0])
        nodes = nodes + mlp(jnp.concatenate([nodes, received], axis=-1), p["node"])
    return mlp(nodes, params["decode"])


def loss_of(params, batch):
    return jnp.mean((forward(params, batch).astype(jnp.float32) - batch["targets"]) ** 2)


def step_of(_):
    def step(params, opt_state, batch):
        loss, grads = jax.value_and_grad(loss_of)(params, batch)
        params, opt_state = adam.update(params, opt_state, grads)
        return params, opt_state, loss
    return step
