"""How an odd model is described: a small builder, and the table of cases that the other files of this folder fill."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

CASES = {}
FLOAT = TensorProto.FLOAT


class Model:
    """Builds a model; constants are initializers unless said otherwise."""

    def __init__(self, opset=13, ir=8):
        self.opset, self.ir = opset, ir
        self.nodes, self.inputs, self.outputs, self.initializers = [], [], [], []
        self.feeds = {}
        self.target, self.recipe = "generic-int8", ""
        self.rng = np.random.default_rng(7)

    def input(self, name, shape, low=-1.0, high=1.0, declared=None, dtype=np.float32, data=None):
        """Samples are uniform in [low, high); `declared` is the shape in the file where it differs."""
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.inputs.append(helper.make_tensor_value_info(name, kind, declared if declared is not None else shape))
        if data is None:
            data = (self.rng.random((SAMPLES, *shape)) * (high - low) + low).astype(dtype)
        self.feeds[name] = data
        return name

    def const(self, name, array, dtype=np.float32):
        self.initializers.append(numpy_helper.from_array(np.asarray(array, dtype=dtype), name))
        return name

    def weights(self, name, *shape, scale=None):
        fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        return self.const(name, self.rng.normal(size=shape) * (scale if scale is not None else 1 / np.sqrt(fan_in)))

    def add(self, op, inputs, output, name=None, **attributes):
        outputs = [output] if isinstance(output, str) else output
        self.nodes.append(helper.make_node(op, inputs, outputs, name=output if name is None and isinstance(output, str) else (name or ""), **attributes))
        return output

    def output(self, *names, dtype=FLOAT):
        for name in names:
            self.outputs.append(helper.make_tensor_value_info(name, dtype, None))
        return self

    def proto(self):
        graph = helper.make_graph(self.nodes, "odd", self.inputs, self.outputs, self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=self.ir)


SAMPLES = 8


def case(name=None, db=25.0, refused=None, options=(), finite=True):
    """Registers a case. db: least SQNR of the integers against the floats (None: any). refused: words of the error;
    a model with `either` may be accepted as well. finite: whether outputs of infinity are wrong."""
    def register(build):
        CASES[name or build.__name__] = {"build": build, "db": db, "refused": refused, "options": list(options), "finite": finite}
        return build
    return register


def conv_relu(m, x="x", channels=3, out=8, name="c"):
    m.weights(f"{name}.w", out, channels, 3, 3)
    m.add("Conv", [x, f"{name}.w"], f"{name}.conv", pads=[1, 1, 1, 1])
    return m.add("Relu", [f"{name}.conv"], f"{name}.relu")
