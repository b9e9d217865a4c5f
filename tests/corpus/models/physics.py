"""A simulation: a policy steers many articulated bodies for some steps. Each body's accelerations come from its own mass matrix; what a
call replaces are positions and velocities, not weights."""
import jax
import jax.numpy as jnp

BODIES, JOINTS, MOTORS, HIDDEN, STEPS = 64, 6, 3, 32, 10


def arguments(key):
    inward, outward = jax.random.split(key)
    policy = {"inward": jax.random.normal(inward, (2 * JOINTS, HIDDEN)), "bias": jnp.zeros(HIDDEN), "outward": jax.random.normal(outward, (HIDDEN, MOTORS))}
    return policy, jnp.zeros((BODIES, JOINTS)), jnp.zeros((BODIES, JOINTS))


def accelerate(position, velocity, force):
    jacobian = jnp.sin(position[:, None] * jnp.arange(1., JOINTS + 1))
    factor = jnp.linalg.cholesky(jacobian @ jacobian.T + jnp.eye(JOINTS))
    passive = -.1 * velocity - jnp.cos(position)
    return jax.scipy.linalg.cho_solve((factor, True), passive.at[:MOTORS].add(force))


def rollout(policy, position, velocity):
    def step(state, _):
        position, velocity = state
        seen = jnp.tanh(jnp.concatenate(state, -1) @ policy["inward"] + policy["bias"])
        velocity = velocity + .01 * jax.vmap(accelerate)(position, velocity, jnp.tanh(seen @ policy["outward"]))
        position = position + .01 * velocity
        return (position, velocity), -jnp.mean(position ** 2)
    (position, velocity), reward = jax.lax.scan(step, (position, velocity), None, length=STEPS)
    return position, velocity, reward.sum()
