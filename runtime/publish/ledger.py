"""The ledger's report: what adds up to each gradient, and losses against variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blocks import Tensor
from runtime.flow import ledger, loss_matrix
from runtime.flow.words.formatting import number, size
from runtime.publish.text import Part, Table

if TYPE_CHECKING:
    from runtime.flow import FlowRun


def ledger_parts(reading: FlowRun) -> list[Part]:
    """A table of shares by port and, with several losses, one of losses against variables.

    A share is of the size of the sum; the shares of a port add up to 1.
    """
    run = reading.run()
    if run is None:
        return []
    rows = []
    for port, account in ledger(reading.program, run).items():
        shares = account.shares
        for row in account.rows:
            share = shares[row.by]
            told = "-" if share is None else number(share)
            rows.append((port, row.by, size(row.amount), told))
        if len(account.rows) > 1:
            rows.append((port, "sum", size(account.total), ""))
    parts: list[Part] = [Table("Ledger", ("port", "by", "brings", "share"), tuple(rows))]
    if len(reading.losses) > 1:
        parts.append(_matrix(reading))
    return parts


def ledger_json(reading: FlowRun) -> dict[str, Any]:
    """``{"ledger": {port: …}, "matrix": {loss: {variable: …}}}``."""
    run = reading.run()
    accounts = {} if run is None else ledger(reading.program, run)
    matrix = loss_matrix(reading)
    return {
        "ledger": {
            port: {
                "rows": [
                    {"by": row.by, "kind": row.kind, "value": Tensor(row.amount).to_json()}
                    for row in account.rows
                ],
                "sum": None if account.total is None else Tensor(account.total).to_json(),
            }
            for port, account in accounts.items()
        },
        "matrix": {
            loss: {
                name: {"rms": _json(rms), "cosine": _json(matrix.cosines[loss][name])}
                for name, rms in row.items()
            }
            for loss, row in matrix.norms.items()
        },
    }


def _matrix(reading: FlowRun) -> Table:
    """In each cell the root mean square, and the cosine with the gradient of all losses."""
    matrix = loss_matrix(reading)
    rows = tuple(
        (name, *(_cell(matrix.norms[a][name], matrix.cosines[a][name]) for a in matrix.losses))
        for name in matrix.variables
    )
    return Table("Losses against variables: rms, cosine", ("variable", *matrix.losses), rows)


def _cell(rms: float | None, cosine: float | None) -> str:
    if rms is None:
        return "None"
    return number(rms) if cosine is None else f"{number(rms)}, {number(cosine)}"


def _json(x: float | None) -> Any:
    return None if x is None else Tensor(x).to_json()
