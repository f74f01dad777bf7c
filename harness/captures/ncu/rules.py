"""What Nsight Compute's own rules say of a launch, with the speed-up that each estimates.

The estimates are evidence at most: the exam of the diagnosis holds them against planted
bottlenecks.
"""

from typing import Any


def rules(action: Any) -> list[tuple[str, str, float]]:
    """Return the rules that estimate a speed-up: identifier, title, and percent of the time.

    The title is the message's, or the rule's name where the message has none.
    """
    estimates = []
    for result in action.rule_results_as_dicts():
        estimate = result.get("speedup_estimation")
        if estimate:
            title = result["rule_message"]["title"] or result["name"]
            estimates.append((result["rule_identifier"], title, float(estimate["speedup"])))
    return estimates
