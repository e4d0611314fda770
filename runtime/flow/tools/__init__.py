"""Tools built on flow: what-if, repairs, the ledger, contracts, the doctor, dialects."""
