"""Two ledgers beside each other: which statements moved, by how much, and in which order."""

from dataclasses import replace

import pytest
import sample_reports

from hessian_papers.ledger.changes import IN_PRINT, against_print, moves, of_recorded
from hessian_papers.ledger.record import StatementRecord


@pytest.fixture
def ledger():
    return [StatementRecord.of(each, "made up", "nothing") for each in sample_reports.statements()]


def with_case(statement, **values):
    """A statement of which the first case has other values."""
    first, *rest = statement.cases
    return replace(statement, cases=[replace(first, **values), *rest])


def test_a_ledger_has_not_moved_against_itself(ledger):
    assert moves(ledger, ledger) == []


def test_round_off_has_not_moved(ledger):
    assert moves(ledger, [with_case(ledger[1], measured=9e-13)]) == []
    identity = replace(ledger[1], identity=True)
    assert moves([identity], [with_case(identity, measured=1e-4)]) == []
    assert moves([identity], [with_case(identity, measured=1e-4, outcome="fails")]) != []


def test_a_number_that_moved_stands_beside_the_old_one(ledger):
    old = with_case(ledger[1], measured=0.25, interval=[0.2, 0.3])
    new = with_case(ledger[1], measured=0.5, interval=[0.4, 0.6], outcome="fails")
    (move,) = moves([old], [new])
    (row,) = move.rows
    assert row.numbers == ("0.25 [0.2, 0.3]", "0.5 [0.4, 0.6]")
    assert row.outcomes == ("holds", "fails")
    assert row.size == pytest.approx(0.25 / 0.15)
    assert not move.turned


def test_verdicts_come_first_then_outcomes_then_sizes(ledger):
    far, farther = with_case(ledger[1], measured=1.0), with_case(ledger[2], measured=1e3)
    fails = with_case(ledger[3], outcome="fails")
    turned = replace(ledger[5], verdict="differs")
    old = [with_case(each, measured=0.5) for each in ledger[1:3]]
    actual = moves([*old, *ledger[3:]], [far, farther, fails, turned])
    assert [move.statement.id for move in actual] == [
        turned.id, fails.id, farther.id, far.id
    ]  # fmt: skip


def test_where_one_ledger_has_more_cases_verdicts_are_of_what_is_common(ledger):
    statement = with_case(replace(ledger[1], quantifier="always"), outcome="holds")
    (case,) = statement.cases
    other = replace(case, id=f"{case.id}, other", outcome="fails")
    more = replace(statement, cases=[case, other], verdict="differs")
    assert moves([more], [replace(statement, verdict="reproduced")]) == []
    fails = with_case(replace(statement, verdict="differs"), outcome="fails")
    (move,) = moves([more], [fails])
    assert move.verdicts == ("reproduced", "differs")


def test_what_was_paired_by_replicates_is_not_decided_again(ledger):
    """A record has the cases' intervals alone: pooled without replicates they leave it open."""
    statement = with_case(replace(ledger[1], quantifier="typically", book="beyond"),
                          measured=0.25, interval=[-0.5, 1.0], relation=">=")  # fmt: skip
    paired = replace(statement, pooled=0.25, pooled_interval=[0.1, 0.4], verdict="reproduced")
    more = replace(paired.cases[0], id=f"{paired.cases[0].id}, other", outcome="open")
    both = replace(paired, cases=[*paired.cases, more])
    assert moves([paired], [both]) == moves([both], [paired]) == []
    (move,) = moves([replace(paired, verdict="differs")], [both])
    assert move.verdicts == ("differs", "reproduced")
    assert move.statement == both


def test_a_misprint_corrects_its_own_part_alone(ledger):
    """Where that part is not common, what is common is not corrected."""
    plain = with_case(replace(ledger[1], quantifier="always", book="theorems"), outcome="holds")
    (case,) = plain.cases
    part = replace(case, id=f"{case.id}, part", sentence="It is 2x.", printed="3x")
    both = replace(plain, cases=[case, part], verdict="corrected", printed="3x")
    assert moves([both], [replace(plain, verdict="reproduced")]) == []


def test_without_a_common_case_nothing_is_said(ledger):
    assert moves([ledger[1]], [with_case(ledger[1], id="mine/other")]) == []


def test_recorded_runs_alone_are_as_if_of_today(ledger):
    alone = of_recorded(ledger)
    cases = [case for each in alone for case in each.cases]
    known = [run for each in ledger for case in each.cases for run in case.runs if run.recorded]
    assert [case.id for case in cases] == [run.id for run in known]
    assert not any(case.recorded or case.beside for case in cases)
    assert {move.statement.id for move in moves(alone, ledger)} <= {each.id for each in alone}


def test_against_print_stand_the_papers_statements_that_do_not_hold(ledger):
    fails = with_case(replace(ledger[1], book="theorems", verdict="differs"),
                      outcome="fails", measured=0.5)  # fmt: skip
    (move,) = against_print([fails, ledger[0], replace(fails, book="beyond")])
    assert move.verdicts == (IN_PRINT, "differs")
    (row,) = move.rows
    assert row.numbers == ("≤ 1e-10", "0.5")
