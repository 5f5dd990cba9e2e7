"""A call of mint, ops or a method of Tensor with one argument of a kind that it cannot use is refused, by an error in words."""
import drawn_answers
import pytest
from drawn_calls import Array, Kind, arguments_of

from mindlite.common import errors

WRONG = {bool: ("x", None, 2.5), str: ("nope", 3), Kind: ("nope",), int: ("x",), float: ("x",), Array: ("x", None)}
# None stands for an operand that is left out; 3 is a padding, too; a whole number is filled in as such
MEANT = {("align_corners", None), ("weights", None), ("weight", None), ("clamp", 1, None), ("clamp", 2, None),
         ("clip", 1, None), ("clip", 2, None), ("linear", 2, None), ("conv1d", 2, None), ("conv2d", 2, None),
         ("conv3d", 2, None), ("conv1d", 4, 3), ("conv2d", 4, 3), ("conv3d", 4, 3), ("conv_transpose2d", 2, None),
         ("layer_norm", 2, None), ("attn_mask", None), ("max", "keepdim", None), ("min", "keepdim", None),
         ("batch_norm", 3, None), ("batch_norm", 4, None), ("group_norm", 2, None), ("group_norm", 3, None),
         ("full_like", 1, 2.5)}


def mistaken(room, name, number):
    """(what was changed, (args, settings)) for each argument of the drawn call and each value of another kind."""
    args, settings = arguments_of(room, name, "mistakes", number)
    for place, value in [*enumerate(args), *settings.items()]:
        for wrong in WRONG.get(type(value), ()):
            if not {(place, wrong), (name, place, wrong)} & MEANT and (room, place) != ("Tensor", 0):
                at = {place: wrong}
                changed = tuple(at.get(k, v) for k, v in enumerate(args)), settings | (at if place in settings else {})
                yield (place, wrong), changed


def walked(calls):
    """{(room, name, place, wrong value): the error that is none in words, or what was computed}"""
    world, found = drawn_answers.Mindlite(), {}
    for room, name, number in calls:
        for change, given in mistaken(room, name, number):
            made = drawn_answers.answer(world, room, name, "mistakes", number, given)
            if not issubclass(getattr(errors, made.get("error", ""), int), errors.MindliteError):
                found[room, name, *change] = made.get("text", "taken")
    return found


@pytest.mark.filterwarnings("ignore")
def test_what_decides_about_a_result_is_of_its_kind():
    names = ("sort", "argsort", "unique", "searchsorted", "median", "kthvalue", "max_pool2d", "adaptive_max_pool2d", "avg_pool2d",
             "avg_pool3d", "conv_transpose2d", "triangular_solve", "cdist", "cosine_embedding_loss")
    assert not walked(drawn_answers.numbers_of(2, names))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_drawn_calls_with_one_argument_of_another_kind_are_refused_in_words():
    assert not walked(drawn_answers.numbers_of(4, ()))
