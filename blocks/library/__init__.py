"""The blocks that come with Gradwire, a module or a package of modules a family."""

from collections.abc import Mapping

MODULES: Mapping[str, str] = {
    "sources": "Variable Constant Input",
    "data.dataset": "Dataset",
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
    "linear_algebra.diagonals": "Triangle Diagonal Trace DiagonalMatrix",
    "linear_algebra.solutions": "Inverse Solve Cholesky Determinant LogDeterminant",
    "shape": "Reshape Flatten Transpose ExpandDims Squeeze Broadcast Flip Sort ArgSort TopK "
    "OneHot Cast",
    "parts": "Concat Stack Slice Pad Gather PickAlong TakeAlong ScatterRows ScatterAlong",
    "convolution.convolutions": "Conv1D Conv2D Conv3D",
    "convolution.pooling": "MaxPool1D MaxPool2D MaxPool3D AvgPool1D AvgPool2D AvgPool3D",
    "convolution.transposed": "ConvTranspose1D ConvTranspose2D ConvTranspose3D",
    "sampling.grid": "GridSample",
    "sampling.resize": "Resize",
    "layers.attention": "Embedding Attention",
    "layers.normalisation": "LayerNorm RMSNorm GroupNorm BatchNorm LRN",
    "containers": "Pack Unpack Pick Merge",
    "gradient": "StopGradient GradientScale GradientReversal GradientClip StraightThrough Gradient",
    "recorded": "Recorded",
    "losses": "Loss MeanSquaredError MeanAbsoluteError Huber CrossEntropy BinaryCrossEntropy",
    "random": "RandomNormal RandomUniform Dropout",
    "views": "Display Plot Scatter Image Histogram Field",
    "pages.page": "Page PageInput PageOutput",
    "pages.scan": "Scan",
    "formula": "Formula",
}
"""Modules in the order the palette shows them, with the types of their blocks: so that a diagram
imports only the modules of the types that it has. A type that is missing here is found by importing
all of them.
"""
FAMILIES: Mapping[str, str] = {"formula": "pages"}
"""The families of modules that have not the name of theirs or of their package."""
