"""The blocks that come with Gradwire, one module a family."""

from collections.abc import Mapping

MODULES: Mapping[str, str] = {
    "sources": "Variable Constant Input",
    "data": "Dataset",
    "arithmetic": "Add Sub Mul Div Mod Neg Pow Maximum Minimum AddN",
    "functions": "Abs Square Sqrt Exp Expm1 Log Log1p Sin Cos Tan Arcsin Arccos Arctan Arctan2 "
    "Sinh Cosh Arcsinh Arccosh Arctanh Erf Sign Round Floor Ceil Clip",
    "activations": "Tanh Sigmoid Relu LeakyRelu Elu Selu Celu PRelu HardSigmoid HardSwish Mish "
    "Gelu Silu Softplus Softmax LogSoftmax",
    "logic": "Greater GreaterEqual Less LessEqual Equal NotEqual And Or Xor Not "
    "IsFinite IsNaN IsInf Bits Where",
    "reduce": "Sum Mean Variance Prod Max Min LogSumExp Norm AllTrue AnyTrue ArgMax ArgMin "
    "CumulativeSum CumulativeProduct",
    "linear": "MatMul Dot CosineSimilarity Linear Einsum",
    "linear_algebra": "Diagonal DiagonalMatrix Trace Triangle Cholesky Determinant Inverse "
    "LogDeterminant Solve",
    "shape": "Reshape Flatten Transpose ExpandDims Squeeze Broadcast Flip Sort ArgSort TopK "
    "OneHot Cast",
    "parts": "Concat Stack Slice Pad Gather PickAlong TakeAlong ScatterRows ScatterAlong",
    "convolution": "Conv1D Conv2D Conv3D AvgPool1D AvgPool2D AvgPool3D "
    "MaxPool1D MaxPool2D MaxPool3D ConvTranspose1D ConvTranspose2D ConvTranspose3D",
    "sampling": "GridSample Resize",
    "layers": "Attention Embedding LRN BatchNorm GroupNorm LayerNorm RMSNorm",
    "containers": "Pack Unpack Pick Merge",
    "gradient": "StopGradient GradientScale GradientReversal GradientClip StraightThrough Gradient",
    "losses": "Loss MeanSquaredError MeanAbsoluteError Huber CrossEntropy BinaryCrossEntropy",
    "random": "RandomNormal RandomUniform Dropout",
    "views": "Display Plot Scatter Image Histogram Field",
    "pages": "Page PageInput PageOutput Scan",
    "formula": "Formula",
}
"""Modules in the order the palette shows them, with the types of their blocks: so that a diagram
imports only the modules of the types that it has. A type that is missing here is found by importing
all of them.
"""
FAMILIES: Mapping[str, str] = {"formula": "pages"}
"""The families of modules that have none of their own."""
