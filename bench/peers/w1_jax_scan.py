"""w1 in JAX: whole windows of steps as one lax.scan on the device."""
import sys

import w1

try:
    import jax
    import jax.numpy as jnp
    import optax
except ImportError as missing:
    sys.exit(f"this peer needs jax and optax: {missing}")


def initial(key):
    weights, width = [], w1.COLUMNS
    for hidden in (*w1.HIDDEN, 1):
        key, one, two = jax.random.split(key, 3)
        bound = width**-0.5
        weights.append((jax.random.uniform(one, (width, hidden), minval=-bound, maxval=bound),
                        jax.random.uniform(two, (hidden,), minval=-bound, maxval=bound)))
        width = hidden
    return weights


def outputs(weights, values, key, dropout):
    for weight, bias in weights[:-1]:
        key, own = jax.random.split(key)
        values = jax.nn.relu(values @ weight + bias)
        if dropout > 0:
            kept = jax.random.bernoulli(own, 1 - dropout, values.shape)
            values = jnp.where(kept, values / (1 - dropout), 0)
    weight, bias = weights[-1]
    return (values @ weight + bias)[:, 0]


def main():
    settings = w1.options()
    device = jax.devices()[0] if settings.device == "auto" else jax.devices(settings.device)[0]
    features, targets = (jax.device_put(array, device) for array in w1.rows())
    optimizer = optax.adam(w1.RATE)
    weights = jax.device_put(initial(jax.random.key(0)), device)

    def loss_of(current, rows, key):
        return jnp.mean((outputs(current, features[rows], key, settings.dropout) - targets[rows]) ** 2)

    def step(state, _):
        current, moments, key = state
        key, for_rows, for_dropout = jax.random.split(key, 3)
        rows = jax.random.randint(for_rows, (settings.batch,), 0, w1.ROWS)
        loss, gradients = jax.value_and_grad(loss_of)(current, rows, for_dropout)
        updates, moments = optimizer.update(gradients, moments)
        return (optax.apply_updates(current, updates), moments, key), loss

    chain = 1000 if device.platform != "cpu" else 50
    run_chain = jax.jit(lambda state: jax.lax.scan(step, state, None, length=chain))
    state = (weights, optimizer.init(weights), jax.random.key(1))

    def run_chains(count):
        nonlocal state
        for _ in range(count):
            state, losses = run_chain(state)
        losses.block_until_ready()

    microseconds, spread, processor, processor_spread = w1.measure(run_chains, settings.seconds, warm_up=1)
    w1.report("jax scan", device.platform, settings.batch,
              (microseconds / chain, spread, processor / chain, processor_spread), {"jax": jax.__version__})


if __name__ == "__main__":
    main()
