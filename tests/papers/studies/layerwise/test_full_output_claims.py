"""The statements on all layers' output Hessian hold on what was recorded, and fail disturbed."""

from claims_contract import of_records

test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records("full_output")
