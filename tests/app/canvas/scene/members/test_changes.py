"""What an edit has changed of a mapping, by numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gradwire.app.canvas.scene.members import changes_of

MAPPINGS = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from(["one", "other"])), unique_by=lambda pair: pair[0]
).map(dict)


@given(MAPPINGS, MAPPINGS)
def test_entries_are_found_by_their_keys(was, now):
    found, old, new = changes_of(was, now), list(was), list(now)
    assert found.before.tolist() == [old.index(key) if key in was else -1 for key in new]
    assert found.now.tolist() == [new.index(key) if key in now else -1 for key in old]
    assert found.fresh == [i for i, key in enumerate(new) if was.get(key) is not now[key]]
    assert found.gone.tolist() == [i for i, key in enumerate(old) if key not in now]
    assert len(found) == len(found.fresh) + len(found.gone)
    assert found.are_numbered_alike == (new[: len(old)] == old)
    assert list(found.listed(old)) == [key if key in was else None for key in new]
    rows = found.rows(np.array([[key, 1.0] for key in old]).reshape(-1, 2), np.nan)
    assert rows[found.before >= 0, 0].tolist() == [key for key in new if key in was]
    assert np.isnan(rows[found.before < 0]).all()


def test_the_same_mapping_has_not_changed():
    same = {"a": 1, "b": 2}
    assert len(changes_of(same, same)) == 0
    assert changes_of(same, dict(same)).before.tolist() == [0, 1]
