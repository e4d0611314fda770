"""The ledger's report: what adds up to each gradient, and losses against variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradwire.blocks import Tensor
from gradwire.runtime.flow import ledger, loss_matrix
from gradwire.runtime.flow.words.formatting import number, size
from gradwire.runtime.publish.text import Part, TextTable

if TYPE_CHECKING:
    from gradwire.runtime.flow import ObservedFlow


def ledger_parts(observed: ObservedFlow) -> list[Part]:
    """A table of shares by port and, with several losses, one of losses against variables.

    A share is of the size of the sum; the shares of a port add up to 1.
    """
    run = observed.run()
    if run is None:
        return []
    rows = []
    for port, account in ledger(observed.program, run).items():
        shares = account.shares
        for entry in account.entries:
            share = shares[entry.by]
            shown = "-" if share is None else number(share)
            rows.append((port, entry.by, size(entry.amount), shown))
        if len(account.entries) > 1:
            rows.append((port, "sum", size(account.total), ""))
    parts: list[Part] = [
        TextTable("Ledger", ("port", "from", "contribution", "share"), tuple(rows))
    ]
    if len(observed.losses) > 1:
        parts.append(_matrix(observed))
    return parts


def ledger_json(observed: ObservedFlow) -> dict[str, Any]:
    """``{"ledger": {port: …}, "matrix": {loss: {variable: …}}}``."""
    run = observed.run()
    accounts = {} if run is None else ledger(observed.program, run)
    matrix = loss_matrix(observed)
    return {
        "ledger": {
            port: {
                "rows": [
                    {"by": entry.by, "kind": entry.kind, "value": Tensor(entry.amount).to_json()}
                    for entry in account.entries
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


def _matrix(observed: ObservedFlow) -> TextTable:
    """In each cell the root mean square, and the cosine with the gradient of all losses."""
    matrix = loss_matrix(observed)
    rows = tuple(
        (name, *(_cell(matrix.norms[a][name], matrix.cosines[a][name]) for a in matrix.losses))
        for name in matrix.variables
    )
    return TextTable("Losses against variables: rms, cosine", ("variable", *matrix.losses), rows)


def _cell(rms: float | None, cosine: float | None) -> str:
    if rms is None:
        return "None"
    return number(rms) if cosine is None else f"{number(rms)}, {number(cosine)}"


def _json(x: float | None) -> Any:
    return None if x is None else Tensor(x).to_json()
