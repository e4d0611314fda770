from gradwire.runtime.programs.assertions import (
    Gradients as Gradients,
    assert_all_trained as assert_all_trained,
    gradients as gradients,
)
