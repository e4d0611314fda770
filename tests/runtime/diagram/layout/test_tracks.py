"""Tracks in a channel: no two wires lie on each other, and few cross."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from gradwire.runtime.diagram.layout.tracks import Net, assign_tracks

PLACES = st.integers(0, 40).map(lambda place: 18.0 * place)


@given(st.lists(st.tuples(PLACES, st.sets(PLACES, min_size=1, max_size=3)), max_size=8))
def test_nets_that_meet_have_tracks_of_their_own(wanted):
    nets = [Net([near], sorted(far)) for near, far in wanted]
    used = assign_tracks(nets, 12.0)
    for net in nets:
        assert (net.track is None) is net.is_straight()
        assert net.track is None or 0 <= net.track < used
    for one, other in combinations([net for net in nets if net.track is not None], 2):
        (low, high), (start, end) = one.span(), other.span()
        if low < end + 12.0 and start < high + 12.0:
            assert one.track != other.track


def test_wires_that_need_not_cross_do_not():
    """Two wires that both go down: the lower one turns first, nearer to where it begins."""
    upper, lower = Net([0.0], [100.0]), Net([50.0], [150.0])
    assert assign_tracks([upper, lower], 12.0) == 2
    assert (lower.track, upper.track) == (0, 1)
