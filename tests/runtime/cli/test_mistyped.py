"""What was mistyped is answered with the nearest names, or with what is accepted."""

import pytest


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ("runn {seed}", "There is no command 'runn'.\n    next      Did you mean run?"),
        ("runn", "Did you mean gradwire run?"),
        ("run --losss add {seed}", "--loss"),
        ("run --loss los {seed}", "Did you mean loss?"),
        ("flow --wire stp.x {seed}", "Did you mean stop.x"),
        ("run --set aa=1 {seed}", "Did you mean a?"),
        ("run --threshold partia=1 {seed}", "Did you mean partial?"),
        ("whatif --open stp {seed}", "Did you mean stop?"),
        ("whatif --cut ad.a {seed}", "Did you mean add"),
        ("whatif --freeze stap {seed}", "Did you mean stop?"),
        ("blocks Mull", "Did you mean Mul"),
        ("run --engine jaxx {seed}", "Did you mean jax?"),
        ("bench --seconds x {seed}", "expected  a number from 0 to 3600"),
        ("bench --seconds nan {seed}", "expected  a number from 0 to 3600"),
        ("bench --seconds -1 {seed}", "expected  a number from 0 to 3600"),
        ("run {seed}x", "Did you mean seed.gradwire.json?"),
        ("run nowhere/seed.json", "There is no folder nowhere either."),
        ("run zzz", "`gradwire demo` shows an example."),
        ("doctor --contracts zzz {seed}", "No such file or directory.\n    next"),
        ("check --junit nowhere/x.xml {seed}", "There is no folder nowhere: make it first."),
    ],
)
def test_the_nearest_is_suggested(gradwire, seed, arguments, answer):
    done = gradwire(*arguments.format(seed=seed).split())
    assert answer in done.err
    assert "Errno" not in done.err and "Input should" not in done.err
    assert done.code in (1, 2)
