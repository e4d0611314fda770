"""Copies of sessions on the NumPy engine."""

from __future__ import annotations

from gradwire.runtime.engine.plan.numpy_engine import NumpyEngine
from gradwire.runtime.engine.session.session import Session


def on_numpy(session: Session) -> Session:
    """The session if it is on NumPy, or else a copy that is, with all that was set and trained.

    What does not depend on a change has the same bits there before and after it. An engine that
    compiles whole programs may round it in another way in each, and takes long to compile them.
    """
    if isinstance(session.engine, NumpyEngine):
        return session
    with session._lock:
        copy = Session(session.diagram, partial=session.partial, page=session._page)
        for path, array in session._store.assigned.items():
            copy.set(path, array)
        copy.step_number, copy.phase = session.step_number, session.phase
        copy.updated |= session.updated
        return copy
