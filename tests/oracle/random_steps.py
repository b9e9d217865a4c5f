"""Random training steps in JAX: small networks of layers of many kinds, with gradients and an optimizer whose state is donated.

text(seed) -> (StableHLO, number of arguments that results replace). Results: the next parameters and state, then what the forward pass
gave, the loss and the gradients, so that an error in a gradient is not lost in the larger numbers that it is added to. For children
that may import jax."""
import random

WIDTHS, LENGTHS, BATCHES = (4, 6, 7, 8, 12), (3, 4, 6, 8), (4, 6, 8)
WORDS = 9  # tokens are -4 .. 4


class Net:
    """Parameters by name, and functions of (parameters, x) on x of (batch, length, width)."""

    def __init__(self, seed):
        self.r = random.Random("step %s" % seed)
        self.batch, self.length, self.width = self.r.choice(BATCHES), self.r.choice(LENGTHS), self.r.choice(WIDTHS)
        self.low = "bfloat16" if self.r.random() < .15 else "float32"  # of products
        self.shapes, self.layers = {}, []
        kinds = sorted(k[5:] for k in dir(self) if k.startswith("make_"))
        for _ in range(self.r.randint(1, 4)):
            kind = self.r.choice(kinds)
            self.layers.append(getattr(self, "make_" + kind)("%d_%s" % (len(self.layers), kind)))
        self.shapes["words"] = (WORDS, self.width)
        self.classes = self.r.choice((5, 8, 9))
        self.shapes["head"] = (self.width, self.classes)

    def new(self, name, *shape):
        self.shapes[name] = shape
        return name

    def product(self, equation, x, w):
        import jax.numpy as jnp
        return jnp.einsum(equation, x.astype(self.low), w.astype(self.low)).astype(jnp.float32)

    def make_dense(self, n):
        import jax
        import jax.numpy as jnp
        hidden = self.r.choice(WIDTHS)
        a, b, c = self.new(n + "a", self.width, hidden), self.new(n + "b", hidden), self.new(n + "c", hidden, self.width)
        f = self.r.choice((jnp.tanh, jax.nn.gelu, jax.nn.silu, jax.nn.softplus))
        return lambda p, x: x + self.product("bsh,hw->bsw", f(self.product("bsw,wh->bsh", x, p[a]) + p[b]), p[c])

    def make_norm(self, n):
        import jax.numpy as jnp
        g = self.new(n, self.width)
        axes = self.r.choice(((2,), (0, 1), (1, 2)))

        def layer(p, x):
            y = x - jnp.mean(x, axes, keepdims=True)
            return y / jnp.sqrt(jnp.mean(y * y, axes, keepdims=True) + .1) * (1 + p[g])
        return layer

    def make_attention(self, n):
        import jax
        import jax.numpy as jnp
        heads, size = self.r.choice((1, 2, 3)), self.r.choice((2, 4))
        names = [self.new(n + k, self.width, heads, size) for k in "qkv"]
        out, causal = self.new(n + "o", heads, size, self.width), self.r.random() < .5

        def layer(p, x):
            q, k, v = (self.product("bsw,whd->bshd", x, p[name]) for name in names)
            logits = self.product("bshd,bthd->bhst", q, k)
            if causal:
                logits = jnp.where(jnp.tril(jnp.ones(logits.shape[-2:], bool)), logits, -1e9)
            return x + self.product("bshd,hdw->bsw", self.product("bhst,bthd->bshd", jax.nn.softmax(logits), v), p[out])
        return layer

    def make_convolution(self, n):
        import jax
        taps, depthwise = self.r.choice((1, 2, 3)), self.r.random() < .3
        w = self.new(n, taps, 1 if depthwise else self.width, self.width)
        hole = self.r.choice((1, 1, 2))
        return lambda p, x: x + jax.lax.conv_general_dilated(x, p[w], (1,), "SAME", rhs_dilation=(hole,), dimension_numbers=("NWC", "WIO", "NWC"),
                                                             feature_group_count=self.width if depthwise else 1)

    def make_pool(self, n):
        import jax
        import jax.numpy as jnp
        if self.r.random() < .5:
            return lambda p, x: x + jax.lax.reduce_window(x, 0., jax.lax.add, (1, 3, 1), (1, 1, 1), "SAME") / 3
        return lambda p, x: x + jax.lax.reduce_window(jnp.tanh(x), -jnp.inf, jax.lax.max, (1, 2, 1), (1, 1, 1), "SAME")

    def make_cumulative(self, n):
        import jax.numpy as jnp
        g, axis = self.new(n, self.width), self.r.choice((0, 1))
        return lambda p, x: x + jnp.cumsum(x * p[g], axis) / 4

    def make_recurrence(self, n):
        import jax
        import jax.numpy as jnp
        w, u = self.new(n + "w", self.width, self.width), self.new(n + "u", self.width)

        def layer(p, x):
            def body(h, y):
                h = jnp.tanh(h * p[u] + y @ p[w])
                return h, h
            return x + jnp.swapaxes(jax.lax.scan(body, jnp.zeros_like(x[:, 0]), jnp.swapaxes(x, 0, 1))[1], 0, 1)
        return layer

    def make_experts(self, n):
        import jax
        import jax.numpy as jnp
        e, k = self.r.choice((2, 4, 5)), self.r.choice((1, 2))
        gate, w = self.new(n + "g", self.width, e), self.new(n + "w", e, self.width, self.width)

        def layer(p, x):
            weights, chosen = jax.lax.top_k(jax.nn.softmax(x @ p[gate]), k)
            spread = jnp.einsum("bsk,bske->bse", weights, jax.nn.one_hot(chosen, e))
            return x + self.product("bse,bsew->bsw", spread, jnp.tanh(self.product("bsw,ewv->bsev", x, p[w])))
        return layer

    def make_table(self, n):
        """A look-up by position, whose gradient is a scatter."""
        import jax.numpy as jnp
        w, rows = self.new(n, 6, self.width), [self.r.randrange(6) for _ in range(self.length)]
        return lambda p, x: x + p[w][jnp.array(rows)]

    def make_fold(self, n):
        """Other dims: heads apart, batch and length as one, and a turn along the length."""
        import jax.numpy as jnp
        by = self.r.choice([d for d in range(1, self.width + 1) if self.width % d == 0])
        w = self.new(n, by, by)

        def layer(p, x):
            b, s, d = x.shape
            y = jnp.roll(x, 1, 1).reshape(b * s, d // by, by) @ p[w]
            return x + jnp.concatenate([y[:, :, ::-1], y], 1)[:, :d // by].reshape(b, s, d)
        return layer

    def make_dropout(self, n):
        import jax
        import jax.numpy as jnp
        seed = self.r.randrange(99)
        return lambda p, x: jnp.where(jax.random.bernoulli(jax.random.key(seed), .8, x.shape), x / .8, 0)

    def make_ordered(self, n):
        import jax.numpy as jnp
        axis = self.r.choice((0, 1, 2))
        return lambda p, x: x + jnp.sort(jnp.tanh(x), axis)

    def make_branch(self, n):
        import jax
        import jax.numpy as jnp
        g, limit = self.new(n, self.width), self.r.choice((-10., 10.))
        return lambda p, x: jax.lax.cond(jnp.sum(x) > limit, lambda: x * (1 + p[g]), lambda: jnp.sin(x + p[g]))

    def forward(self, p, tokens):
        x = p["words"][tokens]
        for layer in self.layers:
            x = layer(p, x)
        return self.product("bsw,wc->bsc", x, p["head"])


def text(seed):
    import jax
    import jax.numpy as jnp
    net = Net(seed)
    adam = net.r.random() < .5

    def loss_of(params, batch):
        logits = net.forward(params, batch["tokens"])
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), (batch["labels"] + 4)[..., None] % net.classes, -1)
        return -jnp.mean(chosen), logits

    def step(params, state, batch):
        (loss, logits), grads = jax.value_and_grad(loss_of, has_aux=True)(params, batch)
        m = jax.tree.map(lambda m, g: .9 * m + g, state["m"], grads)
        state = {"m": m}
        if adam:  # far from a sign, which would make small errors large ones
            params = jax.tree.map(lambda p, m, g: p - .05 * m / (jnp.sqrt(g * g + .01)), params, m, grads)
        else:
            params = jax.tree.map(lambda p, m: p - .1 * m, params, m)
        return params, state, logits, loss, grads

    def array(shape, kind=jnp.float32):
        return jax.ShapeDtypeStruct(shape, kind)
    params = {name: array(shape) for name, shape in net.shapes.items()}
    batch = {name: array((net.batch, net.length), jnp.int32) for name in ("tokens", "labels")}
    lowered = jax.jit(step, donate_argnums=(0, 1), keep_unused=True).lower(params, {"m": dict(params)}, batch)
    return lowered.as_text(debug_info=True), 2 * len(params)
