"""What a face says of the gradient of a variable: nothing, where another program has another."""

from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.annotations import PageResult
from gradwire.app.canvas.state.looks import look_of
from gradwire.app.evaluation.evaluator import evaluate
from tests.runtime.flow.test_disagreements import compared, net, of_w


def said_of(diagram, name):
    scene = Scene(diagram, "main")
    page = PageResult(scene, evaluate(diagram))
    look = look_of(page, scene.names.index(name), dimmed=False)
    return [str(section) for section in look.sections][1:], page.knows_gradient(name)


def test_a_gradient_in_doubt_has_no_number():
    assert said_of(net(), "w")[1] and said_of(compared(net(), of_w()), "v")[1]
    numbers, known = said_of(compared(net(), of_w()), "w")
    assert not known and numbers != said_of(net(), "w")[0]
