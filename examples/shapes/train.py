#!/usr/bin/env python3
"""Trains the example network on train.npz of make_data.py and writes shapes.onnx.

    pip install jax optax onnx numpy
    make_data.py FOLDER && train.py FOLDER

The network has what a quantizer has to deal with: batch normalisation, a residual block, a depthwise block with ReLU6,
an inverted residual with SiLU. Batch normalisation is exported as nodes of its own.
"""
import sys

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import optax
from onnx import TensorProto, helper, numpy_helper

MEAN, STD = 127.5, 63.75  # the same for all channels; also in recipe.yaml
EPSILON = 1e-5

# name, kind, in, out, kernel, stride, groups, activation
LAYERS = [
    ("stem", 3, 16, 3, 1, 1, "silu"),
    ("dw1", 16, 16, 3, 2, 16, "relu6"),
    ("pw1", 16, 32, 1, 1, 1, "relu"),
    ("res_a", 32, 32, 3, 1, 1, "relu"),
    ("res_b", 32, 32, 3, 1, 1, None),      # + pw1, then relu
    ("dw2", 32, 32, 3, 2, 32, "relu6"),
    ("pw2", 32, 40, 1, 1, 1, None),
    ("expand", 40, 80, 1, 1, 1, "silu"),
    ("dw3", 80, 80, 3, 1, 80, "silu"),
    ("project", 80, 40, 1, 1, 1, None),    # + pw2
]
CLASSES = 8


def init(key):
    params, state = {}, {}
    for name, cin, cout, k, _, groups, _ in LAYERS:
        key, sub = jax.random.split(key)
        fan_in = k * k * cin // groups
        params[name] = {"w": jax.random.normal(sub, (cout, cin // groups, k, k)) * np.sqrt(2 / fan_in),
                        "gamma": jnp.ones(cout), "beta": jnp.zeros(cout)}
        state[name] = {"mean": jnp.zeros(cout), "var": jnp.ones(cout)}
    key, sub = jax.random.split(key)
    params["fc"] = {"w": jax.random.normal(sub, (CLASSES, 40)) * 0.1, "b": jnp.zeros(CLASSES)}
    return params, state


def activate(x, kind):
    if kind == "relu":
        return jax.nn.relu(x)
    if kind == "relu6":
        return jnp.clip(x, 0, 6)
    if kind == "silu":
        return jax.nn.silu(x)
    return x


def forward(params, state, x, training):
    new_state = {}

    def layer(x, index):
        name, _, _, k, stride, groups, act = LAYERS[index]
        p = params[name]
        pad = k // 2
        x = jax.lax.conv_general_dilated(x, p["w"], (stride, stride), [(pad, pad)] * 2, feature_group_count=groups)
        if training:
            mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
            new_state[name] = {"mean": 0.95 * state[name]["mean"] + 0.05 * mean, "var": 0.95 * state[name]["var"] + 0.05 * var}
        else:
            mean, var = state[name]["mean"], state[name]["var"]
        x = (x - mean[:, None, None]) / jnp.sqrt(var + EPSILON)[:, None, None]
        return activate(x * p["gamma"][:, None, None] + p["beta"][:, None, None], act)

    x = layer(x, 0)
    x = layer(layer(x, 1), 2)
    x = jax.nn.relu(layer(layer(x, 3), 4) + x)
    x = layer(layer(x, 5), 6)
    x = layer(layer(layer(x, 7), 8), 9) + x
    x = x.mean((2, 3))
    return x @ params["fc"]["w"].T + params["fc"]["b"], new_state


def export(params, state, path):
    nodes, tensors = [], []

    def tensor(name, value):
        tensors.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
        return name

    def layer(x, index):
        name, _, _, k, stride, groups, act = LAYERS[index]
        p, s = params[name], state[name]
        nodes.append(helper.make_node("Conv", [x, tensor(f"{name}.weight", p["w"])], [f"{name}_conv"], f"{name}/conv",
                                      kernel_shape=[k, k], strides=[stride] * 2, pads=[k // 2] * 4, group=groups))
        nodes.append(helper.make_node("BatchNormalization",
                                      [f"{name}_conv", tensor(f"{name}.gamma", p["gamma"]), tensor(f"{name}.beta", p["beta"]),
                                       tensor(f"{name}.mean", s["mean"]), tensor(f"{name}.var", s["var"])],
                                      [f"{name}_bn"], f"{name}/bn", epsilon=EPSILON))
        return activation(f"{name}_bn", name, act)

    def activation(x, name, act):
        if act == "relu":
            nodes.append(helper.make_node("Relu", [x], [f"{name}_relu"], f"{name}/relu"))
            return f"{name}_relu"
        if act == "relu6":
            nodes.append(helper.make_node("Clip", [x, "zero", "six"], [f"{name}_relu6"], f"{name}/relu6"))
            return f"{name}_relu6"
        if act == "silu":
            nodes.append(helper.make_node("Sigmoid", [x], [f"{name}_sigmoid"], f"{name}/sigmoid"))
            nodes.append(helper.make_node("Mul", [x, f"{name}_sigmoid"], [f"{name}_silu"], f"{name}/silu"))
            return f"{name}_silu"
        return x

    def add(a, b, name):
        nodes.append(helper.make_node("Add", [a, b], [name], name))
        return name

    tensor("zero", 0.0)
    tensor("six", 6.0)
    x = layer("image", 0)
    x = layer(layer(x, 1), 2)
    x = activation(add(layer(layer(x, 3), 4), x, "res_add"), "res", "relu")
    x = layer(layer(x, 5), 6)
    x = add(layer(layer(layer(x, 7), 8), 9), x, "inverted_add")
    nodes.append(helper.make_node("GlobalAveragePool", [x], ["pooled"], "pool"))
    nodes.append(helper.make_node("Flatten", ["pooled"], ["features"], "flatten"))
    nodes.append(helper.make_node("Gemm", ["features", tensor("fc.weight", params["fc"]["w"]), tensor("fc.bias", params["fc"]["b"])],
                                  ["logits"], "fc", transB=1))
    graph = helper.make_graph(nodes, "shapes", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 3, 32, 32])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", CLASSES])], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8, producer_name="narrow-example")
    onnx.checker.check_model(model)
    onnx.save(model, path)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "."
    data = np.load(f"{folder}/train.npz")
    normalise = lambda images: (images.astype(np.float32).transpose(0, 3, 1, 2) - MEAN) / STD
    images, labels = normalise(data["images"]), data["labels"].astype(np.int32)
    test = normalise(np.load(f"{folder}/test256_u8.npy"))
    test_labels = np.load(f"{folder}/test256_labels_u8.npy")
    epochs, batch = 14, 64
    steps = epochs * (len(images) // batch)
    params, state = init(jax.random.PRNGKey(0))
    optimiser = optax.adamw(optax.cosine_decay_schedule(4e-3, steps), weight_decay=1e-3)
    opt_state = optimiser.init(params)

    @jax.jit
    def step(params, state, opt_state, x, y):
        def loss(p):
            logits, new_state = forward(p, state, x, True)
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), new_state
        (value, new_state), grads = jax.value_and_grad(loss, has_aux=True)(params)
        updates, opt_state = optimiser.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), new_state, opt_state, value

    rng = np.random.default_rng(0)
    predict = jax.jit(lambda p, s, x: forward(p, s, x, False)[0])
    for epoch in range(epochs):
        order = rng.permutation(len(images))
        for i in range(0, len(order) - batch + 1, batch):
            pick = order[i:i + batch]
            params, state, opt_state, value = step(params, state, opt_state, images[pick], labels[pick])
        accuracy = (np.argmax(predict(params, state, test), 1) == test_labels).mean()
        print(f"epoch {epoch + 1}: loss {value:.3f}, test accuracy {100 * accuracy:.1f} %", flush=True)
    export(params, state, f"{folder}/shapes.onnx")


if __name__ == "__main__":
    main()
